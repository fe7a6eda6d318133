//! Delivery-rate sampling for congestion controls that need it: keeps a little state per packet and reports an
//! acknowledgement to the congestion control after loss detection.

use super::recovery::Episode;
use super::sender::Sender;
use super::sent::Sent;
use crate::common::{DeliveryRate, PacketState};
use std::collections::VecDeque;
use vazao_congestion::{Ack, Sending};
use vazao_engine::Time;

/// Rate sampler and its per-segment state, in the order of the scoreboard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    pub sampler: DeliveryRate,
    packets: VecDeque<PacketState>,
    /// Octets lost that were reported to the sampler.
    lost: u64,
    /// Report about the current acknowledgement, which waits for loss detection.
    pub pending: Option<Ack>,
}

impl Rates {
    /// Frees unused memory.
    pub fn shrink(&mut self) {
        self.packets.shrink_to_fit();
    }
    /// Records the first transmission of a segment; see [`DeliveryRate::on_sent`].
    pub fn push(&mut self, now: Time, outstanding: u64, in_flight: u64) {
        let packet = self.sampler.on_sent(now, outstanding, in_flight);
        self.packets.push_back(packet);
    }

    /// Records the retransmission of the segment at `index`.
    pub fn resend(&mut self, index: usize, now: Time, outstanding: u64, in_flight: u64) {
        self.packets[index] = self.sampler.on_sent(now, outstanding, in_flight);
    }

    /// Records the arrival of the segment at `index`.
    pub fn deliver(&mut self, index: usize, sent: &Sent) {
        self.sampler.on_delivered(sent.start + u64::from(sent.span), &self.packets[index]);
    }

    /// Removes the first segment, cumulatively acknowledged; `arrives` says whether it had not been SACKed.
    pub fn pop(&mut self, sent: &Sent, arrives: bool) {
        if arrives {
            self.deliver(0, sent);
        }
        self.packets.pop_front();
    }

    /// Reports the octets lost so far, by acknowledgements or a timer.
    fn count_losses(&mut self, losses: u64) {
        self.sampler.on_lost(losses - self.lost);
        self.lost = losses;
    }
}

impl Sender {
    /// Informs the congestion control that data is about to leave.
    #[inline(never)]
    pub(super) fn before_send(&mut self, now: Time) {
        let losses = self.board.losses();
        let Some(rates) = self.board.rates() else { return };
        rates.count_losses(losses);
        let app_limited = rates.sampler.is_app_limited();
        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min());
        self.control.on_send(&Sending { now, flight: self.board.pipe(), app_limited, srtt, min_rtt });
        self.cwnd = self.control.cwnd();
    }

    /// Reports an acknowledgement to the congestion control after loss detection; `losses` octets were lost before.
    #[inline(never)]
    pub(super) fn report_with_rate(&mut self, now: Time, losses: u64) {
        let (pipe, min_rtt, total) = (self.board.pipe(), self.rtt.min(), self.board.losses());
        let lost = total - losses;
        let Some(rates) = self.board.rates() else { return };
        rates.count_losses(total);
        let (in_recovery, is_repairing) = (self.episode.is_fast(), self.episode != Episode::None);
        let held = self.pacing_delay(now);
        let Some(Rates { sampler, pending, .. }) = self.board.rates() else { return };
        let Some(ack) = pending else { return };
        // Updated in place to avoid copying the large struct.
        ack.rate = sampler.sample(now, ack.delivered, min_rtt);
        (ack.pipe, ack.lost, ack.held) = (pipe, lost, held);
        (ack.in_recovery, ack.after_timeout) = (in_recovery, is_repairing && !in_recovery);
        self.control.on_ack(ack);
        *pending = None;
        self.cwnd = self.control.cwnd();
    }

    /// Before a write: marks the connection application-limited if the application kept it waiting (section 3.4).
    pub fn on_write(&mut self) {
        let idle = self.finish() - self.nxt < self.mss && !self.board.has_pending();
        let pipe = self.board.pipe();
        if let (Some(rates), true) = (self.board.rates(), idle && pipe < self.cwnd) {
            rates.sampler.set_app_limited(pipe);
        }
    }
}
