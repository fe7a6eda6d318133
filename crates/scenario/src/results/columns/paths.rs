//! Columns of `paths`.

use super::columns;
use crate::measures::counts::Tally;

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

columns! {
    /// Columns of the table with one row a path of a flow.
    PATHS, Paths, PathRow: path =>
    "run_id" = path.id, "the run";
    "flow" = path.flow as u64, "the flow";
    "path" = path.path as u64, "its path, from 0";
    "client_interface" = path.client.clone(),
        "the client's interface whose address it is from, as in `a.2`; NULL where a guest does not say";
    "server_interface" = path.server.clone(), "the server's";
    "route" = path.route.clone(),
        "the links from the client to the server, in their order, with spaces between; NULL where a guest's kernel decides";
    "bytes" => Counted(None),
        "of a flow's only path `app_bytes`; of a connection of a page or a video what was acknowledged (tcp) or sent for the first \
         time (quic), headers included, else NULL; of several paths what was sent over each, over quic for the first time, over \
         sctp and Multipath TCP with what was sent again";
    "packets_sent" => Counted(None), "as in flows, whose it is in sum where it is told; so are the next five";
    "packets_lost" => Counted(None), "as in flows";
    "retransmissions" => Counted(None), "as in flows";
    "fast_retransmissions" => Counted(None), "as in flows";
    "timeout_retransmissions" => Counted(None), "as in flows";
    "timeouts" => Counted(None), "as in flows";
    "srtt_s" => Measured(None), "smoothed round-trip time at the end";
    "cwnd_mean_bytes" => Measured(None), "congestion window, mean over time";
}
