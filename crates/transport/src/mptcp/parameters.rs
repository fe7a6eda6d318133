//! User-visible parameters of a Multipath TCP endpoint, besides those of TCP for its subflows.

use super::config::Config;
use super::path_manager::Manager;
use crate::common::SchedulerFactory;
use crate::tcp;
use crate::tcp::multipath::Dss;
use std::sync::Arc;
use vazao_engine::Duration;
use vazao_engine::registry::{Kind, Parameter, Parameters};

const ANY: Kind = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(3600));

/// Multipath TCP's own parameters.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new("scheduler", Kind::Entry("packet scheduler"), "lowest-rtt", "which subflow takes the next segment"),
    Parameter::new("path_manager", Kind::Entry("path manager"), "single-mesh", "which subflows there are"),
    Parameter::new(
        "opportunistic_retransmission",
        Kind::Flag,
        "false",
        "with any scheduler: where the receiver's window is full, the subflow that would have taken new data repeats what keeps it so, if the one that has that is four times slower or its window at most four segments, as in Linux MPTCP v0.90",
    ),
    Parameter::new(
        "penalisation",
        Kind::Flag,
        "false",
        "with any scheduler: where the receiver's window is full, the window of the slower subflow that keeps it so is halved, once in its round-trip time",
    ),
    Parameter::new("reestablish", ANY, "", "how long after a subflow has died it is opened again; without it, none is"),
    Parameter::new(
        "checksum",
        Kind::Flag,
        "false",
        "whether data is covered by checksums, so that a path that alters it is found out (RFC 8684 section 3.7)",
    ),
    Parameter::new(
        "backups",
        Kind::Integers,
        "",
        "the client's interfaces, counted from 1, whose subflows are used only while no other can be (RFC 8684 section 3.3.8)",
    ),
    Parameter::new(
        "changes",
        Kind::Schedule(&["remove", "add", "backup", "regular"]),
        "",
        "what becomes of the client's interfaces, so long after the handshake: one goes (REMOVE_ADDR), comes back, becomes a \
         backup or one like others (MP_PRIO)",
    ),
    Parameter::new("relays", Kind::Names, "", "routers through which the path manager binder leads subflows"),
];

impl Config {
    /// Builds the configuration from `parameters`, which were resolved from [`PARAMETERS`], and TCP's. The subflows'
    /// TCP reserves space for options in every segment and no longer has windows of its own.
    pub fn new(
        parameters: &Parameters,
        mut tcp: tcp::Config,
        scheduler: SchedulerFactory,
        manager: (Manager, Parameters),
    ) -> Config {
        let (receive_buffer, send_buffer) = (tcp.receive_buffer, tcp.send_buffer.take());
        let mut changes = parameters.schedule("changes").to_vec();
        changes.sort_by_key(|change| change.at);
        tcp.multipath = [Dss::MAP_BYTES as u16, Dss::ACK_BYTES as u16];
        tcp.receive_buffer = Some(receive_buffer.unwrap_or(super::inbox::AUTO_BUFFER.end));
        Config {
            tcp: Arc::new(tcp),
            scheduler,
            manager,
            checksum: parameters.flag("checksum"),
            opportunistic_retransmission: parameters.flag("opportunistic_retransmission"),
            penalisation: parameters.flag("penalisation"),
            reestablish: parameters.duration("reestablish"),
            backups: parameters.integers("backups").to_vec(),
            changes,
            receive_buffer,
            send_buffer,
        }
    }
}
