//! Columns of `links`.

use super::columns;
use vazao_network::LinkReport;

/// Source of a row of `links`.
pub struct LinkRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) link: &'a str,
    pub(crate) direction: &'static str,
    pub(crate) report: &'a LinkReport,
    /// Utilisation in the window of `measure`.
    pub(crate) measured: Option<f64>,
}

columns! {
    /// Columns of the table with one row a direction of a link.
    LINKS, Links, LinkRow: link =>
    "run_id" = link.id, "the run";
    "link" = link.link, "the link";
    "direction" = link.direction, "`forward` or `reverse`";
    "utilisation" = link.report.utilisation, "bits sent, link headers included, over what the rate allows in `sim_s`";
    "measured_utilisation" = link.measured, "the same in the window of the scenario's `measure`; NULL without one";
    "packets" = link.report.packets, "packets sent, those lost on the wire included";
    "bytes" = link.report.bytes, "bytes sent, those lost on the wire included";
    "waiting" = link.report.waiting,
        "packets that were in the queue when the run ended: what came to the link is `packets`, these, `drops_queue` and \
         `drops_policer`";
    "drops_queue" = link.report.drops_queue, "packets that the queue dropped";
    "drops_early" = link.report.drops_early,
        "those of them for which there was room: an active queue slows their senders down";
    "drop_runs" = link.report.queue_runs.count,
        "runs of packets that the queue dropped one directly after the other; `drops_queue / drop_runs` is their mean length";
    "drop_run_max" = link.report.queue_runs.longest, "packets of the longest of those runs";
    "drops_policer" = link.report.drops_policer, "packets that a `policer` dropped before they came to the queue";
    "drops_loss" = link.report.drops_loss, "packets that the loss model took after they were sent";
    "loss_runs" = link.report.loss_runs.count,
        "runs of packets lost on the wire one directly after the other (loss periods, RFC 3357); `drops_loss / loss_runs` is \
         their mean length";
    "loss_run_max" = link.report.loss_runs.longest, "packets of the longest of those runs";
    "drops_corrupt" = link.report.drops_corrupt,
        "packets that came over this link at the host they were for with bits changed, and failed its checksum";
    "marks" = link.report.marks, "packets that the queue marked with \"congestion experienced\" (ECN) and sent";
    "queue_delay_mean_s" = link.report.queue_delay_mean,
        "mean time from arrival at the link to the start of transmission";
    "queue_delay_p95_s" = link.report.queue_delay_p95, "its 95th percentile";
    "queue_delay_max_s" = link.report.queue_delay_max, "the longest";
}
