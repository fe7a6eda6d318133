//! The settings of a Multipath TCP endpoint.

use super::path_manager::Manager;
use crate::common::SchedulerFactory;
use crate::tcp;
use std::sync::Arc;
use vazao_engine::Duration;
use vazao_engine::registry::{Change, Parameters};

/// The settings of a Multipath TCP endpoint.
#[derive(Clone)]
pub struct Config {
    /// Those of each subflow.
    pub tcp: Arc<tcp::Config>,
    /// Makes the scheduler.
    pub scheduler: SchedulerFactory,
    /// Which subflows there are to be, with the path manager's own parameters.
    pub manager: (Manager, Parameters),
    /// Whether the server announces its other addresses.
    pub announces: bool,
    /// Whether data is covered by checksums (RFC 8684 section 3.3).
    pub checksum: bool,
    /// Where the receiver's window is full, what keeps it so is sent by another subflow too.
    pub opportunistic_retransmission: bool,
    /// Where the receiver's window is full, the window of the subflow that keeps it so is halved.
    pub penalisation: bool,
    /// How long after a subflow has died another takes its place; `None`: none does.
    pub reestablish: Option<Duration>,
    /// The client's addresses whose subflows are backups, counted from 1.
    pub backups: Vec<u64>,
    /// What becomes of the client's interfaces (counted from 1), so long after the handshake.
    pub changes: Vec<Change>,
    /// Bytes that may wait for the application, or for what is missing before them; `None`: grows with the rate.
    pub receive_buffer: Option<u64>,
    /// Bytes that may be unacknowledged or unsent; `None`: no limit.
    pub send_buffer: Option<u64>,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("tcp", &self.tcp).field("checksum", &self.checksum).finish_non_exhaustive()
    }
}
