//! Columns of `paths`.

use super::{ColumnSpec, Rows, counted, found, measured, row};
use crate::measures::counts::{Combine, Tally};
use crate::measures::table::Row;

/// Table of paths.
pub enum Paths {}

impl Rows for Paths {
    type Row<'a> = PathRow<'a>;
}

/// Source of a row of `paths`.
pub struct PathRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) flow: usize,
    pub(crate) path: usize,
    /// Interface of the client.
    pub(crate) client: Option<String>,
    /// Interface of the server.
    pub(crate) server: Option<String>,
    /// Links from the client to the server.
    pub(crate) route: Option<String>,
    pub(crate) tally: Tally,
}

impl PathRow<'_> {
    pub(crate) fn cells(&self) -> Row {
        row(PATHS, self, &[&self.tally])
    }
}

/// Columns of the table with one row a path of a flow.
pub const PATHS: &[ColumnSpec<Paths>] = &[
    found("run_id", |path| path.id.into(), "the run"),
    found("flow", |path| (path.flow as u64).into(), "the flow"),
    found("path", |path| (path.path as u64).into(), "its path, from 0"),
    found(
        "client_interface",
        |path| path.client.clone().into(),
        "the client's interface whose address it is from, as in `a.2`; NULL where a guest does not say",
    ),
    found("server_interface", |path| path.server.clone().into(), "the server's"),
    found(
        "route",
        |path| path.route.clone().into(),
        "the links from the client to the server, in their order, with spaces between; NULL where a guest's kernel decides",
    ),
    counted(
        "bytes",
        Combine::None,
        "of a flow's only path `app_bytes`; of a connection of a page or a video what was acknowledged (tcp) or sent for the first \
         time (quic), headers included, else NULL; of several paths what was sent over each, over quic for the first time, over \
         sctp and Multipath TCP with what was sent again",
    ),
    counted("packets_sent", Combine::None, "as in flows, whose it is in sum where it is told; so are the next five"),
    counted("packets_lost", Combine::None, "as in flows"),
    counted("retransmissions", Combine::None, "as in flows"),
    counted("fast_retransmissions", Combine::None, "as in flows"),
    counted("timeout_retransmissions", Combine::None, "as in flows"),
    counted("timeouts", Combine::None, "as in flows"),
    measured("srtt_s", Combine::None, "smoothed round-trip time at the end"),
    measured("cwnd_mean_bytes", Combine::None, "congestion window, mean over time"),
];
