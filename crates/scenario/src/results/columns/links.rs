//! Columns of `links`.

use super::{ColumnSpec, Rows, found, row};
use crate::measures::table::Row;
use vazao_network::LinkReport;

/// Table of links.
pub enum Links {}

impl Rows for Links {
    type Row<'a> = LinkRow<'a>;
}

/// Source of a row of `links`.
pub struct LinkRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) link: &'a str,
    pub(crate) direction: &'static str,
    pub(crate) report: &'a LinkReport,
}

impl LinkRow<'_> {
    pub(crate) fn cells(&self) -> Row {
        row(LINKS, self, &[])
    }
}

/// Columns of the table with one row a direction of a link.
pub const LINKS: &[ColumnSpec<Links>] = &[
    found("run_id", |link| link.id.into(), "the run"),
    found("link", |link| link.link.into(), "the link"),
    found("direction", |link| link.direction.into(), "`forward` or `reverse`"),
    found(
        "utilisation",
        |link| link.report.utilisation.into(),
        "bits sent, link headers included, over what the rate allows in `sim_s`",
    ),
    found("packets", |link| link.report.packets.into(), "packets sent, those lost on the wire included"),
    found("bytes", |link| link.report.bytes.into(), "bytes sent, those lost on the wire included"),
    found(
        "waiting",
        |link| link.report.waiting.into(),
        "packets that were in the queue when the run ended: what came to the link is `packets`, these and `drops_queue`",
    ),
    found("drops_queue", |link| link.report.drops_queue.into(), "packets that the queue dropped"),
    found(
        "drops_early",
        |link| link.report.drops_early.into(),
        "those of them for which there was room: an active queue slows their senders down",
    ),
    found("drops_loss", |link| link.report.drops_loss.into(), "packets that the loss model took after they were sent"),
    found(
        "drops_corrupt",
        |link| link.report.drops_corrupt.into(),
        "packets that came over this link at the host they were for with bits changed, and failed its checksum",
    ),
    found(
        "marks",
        |link| link.report.marks.into(),
        "packets that the queue marked with \"congestion experienced\" (ECN) and sent",
    ),
    found(
        "queue_delay_mean_s",
        |link| link.report.queue_delay_mean.into(),
        "mean time from arrival at the link to the start of transmission",
    ),
    found("queue_delay_p95_s", |link| link.report.queue_delay_p95.into(), "its 95th percentile"),
];
