//! The columns of `paths`.

use super::{Column, Rows, row};
use crate::measures::counts::{Combine, Tally};
use crate::measures::table::{Table, table};

/// The table of paths.
pub enum Paths {}

impl Rows for Paths {
    type Row<'a> = PathRow<'a>;
}

/// What a row of `paths` is made from.
pub struct PathRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) flow: usize,
    pub(crate) path: usize,
    /// The interfaces of client and server, and the links between them.
    pub(crate) client: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) route: Option<String>,
    pub(crate) tally: Tally,
}

impl PathRow<'_> {
    pub(crate) fn table<'a>(rows: impl Iterator<Item = PathRow<'a>>) -> Table {
        table(rows.map(|path| row(PATHS, &path, &[&path.tally])))
    }
}

/// One row a path of a flow.
pub const PATHS: &[Column<Paths>] = &[
    Column::found("run_id", |path| path.id.into(), "the run"),
    Column::found("flow", |path| (path.flow as u64).into(), "the flow"),
    Column::found("path", |path| (path.path as u64).into(), "its path, from 0"),
    Column::found(
        "client_interface",
        |path| path.client.clone().into(),
        "the client's interface whose address it is from, as in `a.2`; NULL where a guest does not say",
    ),
    Column::found("server_interface", |path| path.server.clone().into(), "the server's"),
    Column::found(
        "route",
        |path| path.route.clone().into(),
        "the links from the client to the server, in their order, with spaces between; NULL where a guest's kernel decides",
    ),
    Column::counted(
        "bytes",
        Combine::None,
        "of a flow's only path `app_bytes`; of a connection of a page or a video what was acknowledged (tcp) or sent for the first \
         time (quic), headers included, else NULL; of several paths what was sent over each, over quic for the first time, over \
         sctp and Multipath TCP with what was sent again",
    ),
    Column::counted(
        "packets_sent",
        Combine::None,
        "as in flows, whose it is in sum where it is told; so are the next five",
    ),
    Column::counted("packets_lost", Combine::None, "as in flows"),
    Column::counted("retransmissions", Combine::None, "as in flows"),
    Column::counted("fast_retransmissions", Combine::None, "as in flows"),
    Column::counted("timeout_retransmissions", Combine::None, "as in flows"),
    Column::counted("timeouts", Combine::None, "as in flows"),
    Column::measured("srtt_s", Combine::None, "smoothed round-trip time at the end"),
    Column::measured("cwnd_mean_bytes", Combine::None, "congestion window, mean over time"),
];
