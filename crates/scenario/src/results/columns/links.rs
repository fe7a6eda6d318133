//! The columns of `links`.

use super::{Column, Rows, row};
use crate::measures::table::{Table, table};
use vazao_network::LinkReport;

/// The table of links.
pub enum Links {}

impl Rows for Links {
    type Row<'a> = LinkRow<'a>;
}

/// What a row of `links` is made from.
pub struct LinkRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) link: &'a str,
    pub(crate) direction: &'static str,
    pub(crate) report: &'a LinkReport,
}

impl LinkRow<'_> {
    pub(crate) fn table<'a>(rows: impl Iterator<Item = LinkRow<'a>>) -> Table {
        table(rows.map(|link| row(LINKS, &link, &[])))
    }
}

/// One row a direction of a link.
pub const LINKS: &[Column<Links>] = &[
    Column::found("run_id", |link| link.id.into(), "the run"),
    Column::found("link", |link| link.link.into(), "the link"),
    Column::found("direction", |link| link.direction.into(), "`forward` or `reverse`"),
    Column::found(
        "utilisation",
        |link| link.report.utilisation.into(),
        "bits sent, link headers included, over what the rate allows in `sim_s`",
    ),
    Column::found("packets", |link| link.report.packets.into(), "packets sent, those lost on the wire included"),
    Column::found("bytes", |link| link.report.bytes.into(), "bytes sent, those lost on the wire included"),
    Column::found(
        "waiting",
        |link| link.report.waiting.into(),
        "packets that were in the queue when the run ended: what came to the link is `packets`, these and `drops_queue`",
    ),
    Column::found("drops_queue", |link| link.report.drops_queue.into(), "packets that the queue dropped"),
    Column::found(
        "drops_early",
        |link| link.report.drops_early.into(),
        "those of them for which there was room: an active queue slows their senders down",
    ),
    Column::found(
        "drops_loss",
        |link| link.report.drops_loss.into(),
        "packets that the loss model took after they were sent",
    ),
    Column::found(
        "drops_corrupt",
        |link| link.report.drops_corrupt.into(),
        "packets that came over this link at the host they were for with bits changed, and failed its checksum",
    ),
    Column::found(
        "marks",
        |link| link.report.marks.into(),
        "packets that the queue marked with \"congestion experienced\" (ECN) and sent",
    ),
    Column::found(
        "queue_delay_mean_s",
        |link| link.report.queue_delay_mean.into(),
        "mean time from arrival at the link to the start of transmission",
    ),
    Column::found("queue_delay_p95_s", |link| link.report.queue_delay_p95.into(), "its 95th percentile"),
];
