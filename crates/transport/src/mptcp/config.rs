//! Settings of a Multipath TCP endpoint.

use super::path_manager::Manager;
use crate::common::SchedulerFactory;
use crate::tcp;
use std::sync::Arc;
use vazao_engine::Duration;
use vazao_engine::registry::{Change, Parameters};

/// Configuration of a Multipath TCP endpoint.
#[derive(Clone)]
pub struct Config {
    /// Configuration of each subflow.
    pub tcp: Arc<tcp::Config>,
    /// Factory of the packet scheduler.
    pub scheduler: SchedulerFactory,
    /// Path manager with its parameters.
    pub manager: (Manager, Parameters),
    /// Whether DSS checksums are used (RFC 8684 section 3.3).
    pub checksum: bool,
    /// Whether data that blocks the receiver's window is also retransmitted on another subflow.
    pub opportunistic_retransmission: bool,
    /// Whether the window of a subflow that blocks the receiver's window is halved.
    pub penalisation: bool,
    /// Delay after which a failed subflow is opened again; `None`: never.
    pub reestablish: Option<Duration>,
    /// Client addresses, counted from 1, whose subflows are backups.
    pub backups: Vec<u64>,
    /// Changes of the client's interfaces (counted from 1), timed from the end of the handshake.
    pub changes: Vec<Change>,
    /// Receive buffer in bytes, out-of-order data included; `None`: grows with the rate.
    pub receive_buffer: Option<u64>,
    /// Send buffer in bytes, for unacknowledged and unsent data; `None`: no limit.
    pub send_buffer: Option<u64>,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("tcp", &self.tcp).field("checksum", &self.checksum).finish_non_exhaustive()
    }
}
