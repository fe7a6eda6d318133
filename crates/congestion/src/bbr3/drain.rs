//! DRAIN (section 4.3.2): the queue that STARTUP made is emptied.

use super::{Bbr3, Mode};
use crate::Ack;

impl Bbr3 {
    /// Over once no more than a bandwidth-delay product is in flight.
    pub(super) fn check_drain_done(&mut self, ack: &Ack) {
        if matches!(self.mode, Mode::Drain) && ack.pipe as f64 <= self.inflight(1.0) {
            self.start_down(ack.now);
        }
    }
}
