//! Settings of a Multipath TCP endpoint, besides those of TCP for its subflows.

use super::path_manager::Manager;
use crate::common::{SchedulerFactory, TIMEOUT};
use crate::tcp;
use crate::tcp::host::Host;
use crate::tcp::multipath::Dss;
use std::sync::Arc;
use vazao_engine::Duration;
use vazao_engine::registry::{Change, Elsewhere, Kind, Parameters, parameters};

parameters! {
    /// Configuration of a Multipath TCP endpoint.
    pub struct Config(
        /// Configuration of each subflow.
        pub tcp: Arc<tcp::Config>,
        /// Factory of the packet scheduler.
        pub packet_scheduler: SchedulerFactory,
        /// Path manager with its parameters.
        pub manager: (Manager, Parameters),
        /// Receive buffer in bytes, out-of-order data included; `None`: grows with the rate.
        pub receive_buffer: Option<u64>,
        /// Send buffer in bytes, for unacknowledged and unsent data; `None`: no limit.
        pub send_buffer: Option<u64>,
    ) {
        pub scheduler: Elsewhere = Kind::Entry("packet scheduler"), "lowest-rtt",
            "which subflow takes the next segment";
        pub path_manager: Elsewhere = Kind::Entry("path manager"), "single-mesh", "which subflows there are";
        pub opportunistic_retransmission: bool = Kind::Flag, "false",
            "with any scheduler: where the receiver's window is full, the subflow that would have taken new data \
             repeats what keeps it so, if the one that has that is four times slower or its window at most four \
             segments, as in Linux MPTCP v0.90";
        pub penalisation: bool = Kind::Flag, "false",
            "with any scheduler: where the receiver's window is full, the window of the slower subflow that keeps it \
             so is halved, once in its round-trip time";
        pub reestablish: Option<Duration> = TIMEOUT, "",
            "how long after a subflow has died it is opened again; without it, none is";
        pub subflow_windows: bool = Kind::Flag, "false",
            "with host linux: an automatic receive buffer is a memory that grows as Linux's; each subflow has a window of \
             its own from it, and what makes that grow is acknowledged at once";
        pub checksum: bool = Kind::Flag, "false",
            "whether data is covered by checksums, so that a path that alters it is found out (RFC 8684 section 3.7)";
        pub backups: Vec<u64> = Kind::Integers, "",
            "the client's interfaces, counted from 1, whose subflows are used only while no other can be (RFC 8684 \
             section 3.3.8)";
        pub changes: Vec<Change> = Kind::Schedule(&["remove", "add", "backup", "regular"]), "",
            "what becomes of the client's interfaces, so long after the handshake: one goes (REMOVE_ADDR), comes back, \
             becomes a backup or one like others (MP_PRIO)";
        pub relays: Elsewhere = Kind::Names, "", "routers through which the path manager binder leads subflows";
    }
}

impl Config {
    /// Creates the configuration of a connection from parameters resolved from its table, and TCP's. The subflows' TCP
    /// reserves space for options in every segment and no longer has windows of its own.
    pub fn new(
        parameters: &Parameters,
        mut tcp: tcp::Config,
        packet_scheduler: SchedulerFactory,
        manager: (Manager, Parameters),
    ) -> Config {
        let (receive_buffer, send_buffer) = (tcp.receive_buffer, tcp.send_buffer.take());
        tcp.multipath = [Dss::MAP_BYTES as u16, Dss::ACK_BYTES as u16];
        let shares = parameters.flag("subflow_windows") && tcp.host == Host::Linux;
        if receive_buffer.is_some() || !shares {
            tcp.receive_buffer = Some(receive_buffer.unwrap_or(tcp.largest_receive_buffer()));
        }
        Config::from((parameters, Arc::new(tcp), packet_scheduler, manager, receive_buffer, send_buffer))
    }
}
