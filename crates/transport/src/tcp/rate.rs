//! Delivery-rate sampling for congestion controls that need it: keeps a little state per packet and reports an
//! acknowledgement to the congestion control after loss detection.

use super::sent::Sent;
use crate::common::{DeliveryRate, PacketState};
use std::collections::VecDeque;
use vazao_congestion::Ack;
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
    pub fn count_losses(&mut self, losses: u64) {
        self.sampler.on_lost(losses - self.lost);
        self.lost = losses;
    }
}
