//! DRAIN (section 4.3.3): the queue that STARTUP made is emptied in about a round trip.

use super::{Bbr, Mode};
use crate::Ack;

impl Bbr {
    /// Into DRAIN once the pipe is full, out of it once no more than a bandwidth-delay product is in flight.
    pub(super) fn check_drain(&mut self, ack: &Ack) {
        if matches!(self.mode, Mode::Startup) && self.full_pipe.reached {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(1.0) as u64;
        }
        if matches!(self.mode, Mode::Drain) && self.in_network(ack.pipe as f64, ack, false) <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }
}
