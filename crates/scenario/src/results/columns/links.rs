//! Columns of `links`.

use super::columns;
use vazao_network::LinkReport;

/// Source of a row of `links`.
pub struct LinkRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) link: &'a str,
    pub(crate) direction: &'static str,
    pub(crate) report: &'a LinkReport,
}

columns! {
    /// Columns of the table with one row a direction of a link.
    LINKS, Links, LinkRow: link =>
    "run_id" = link.id, "the run";
    "link" = link.link, "the link";
    "direction" = link.direction, "`forward` or `reverse`";
    "utilisation" = link.report.utilisation, "bits sent, link headers included, over what the rate allows in `sim_s`";
    "packets" = link.report.packets, "packets sent, those lost on the wire included";
    "bytes" = link.report.bytes, "bytes sent, those lost on the wire included";
    "waiting" = link.report.waiting,
        "packets that were in the queue when the run ended: what came to the link is `packets`, these and `drops_queue`";
    "drops_queue" = link.report.drops_queue, "packets that the queue dropped";
    "drops_early" = link.report.drops_early,
        "those of them for which there was room: an active queue slows their senders down";
    "drops_loss" = link.report.drops_loss, "packets that the loss model took after they were sent";
    "drops_corrupt" = link.report.drops_corrupt,
        "packets that came over this link at the host they were for with bits changed, and failed its checksum";
    "marks" = link.report.marks, "packets that the queue marked with \"congestion experienced\" (ECN) and sent";
    "queue_delay_mean_s" = link.report.queue_delay_mean,
        "mean time from arrival at the link to the start of transmission";
    "queue_delay_p95_s" = link.report.queue_delay_p95, "its 95th percentile";
}
