//! Time (RFC 9002 appendix A.9), and silence (RFC 9000 section 10.1).

use super::*;

impl Connection {
    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        let acks = self.acks.iter().map(Acks::due).min().unwrap_or(Time::NEVER);
        if self.life == Life::Open { self.timer.min(self.idle_at).min(self.release).min(acks) } else { Time::NEVER }
    }

    /// Handles every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.start(now);
        if self.release <= now {
            self.release = Time::NEVER;
        }
        if self.idle_at <= now {
            self.failure = Some(Failure::Idle);
            self.life = Life::Closed;
            return;
        }
        if self.timer > now {
            return; // An acknowledgement, or paced data: `poll_transmit` sees that it is due.
        }
        if let Some(space) = self.recovery.due_loss(now) {
            let found = self.recovery.detect(now, space);
            self.stats.lost_by_time += found.lost.len() as u64;
            self.on_lost(now, found);
        } else {
            self.on_probe_timeout();
        }
        self.arm(now);
    }

    fn on_probe_timeout(&mut self) {
        self.stats.probes += 1;
        self.recovery.pto_count += 1;
        let confirmed = self.counts_data();
        match self.recovery.pto_space(confirmed) {
            Some(space) => {
                (self.probe_space, self.probes) = (space, 2);
                self.repeat_oldest(space);
            }
            // The server may be waiting for more bytes from an address that it does not know.
            None => (self.probe_space, self.probes) = (self.deadlock_space().unwrap_or(Space::Initial), 1),
        }
    }

    /// What has waited longest goes again with the probe (section 6.2.4).
    fn repeat_oldest(&mut self, space: Space) {
        let Some(frames) = self.recovery.space(space).oldest_frames() else { return };
        for frame in frames {
            self.miss(frame, space);
        }
    }

    /// Whether probes of the data space are sent: the handshake is known to be over.
    fn counts_data(&self) -> bool {
        self.progress.complete
    }

    fn deadlock_space(&self) -> Option<Space> {
        let waits = self.role == Role::Client && !self.progress.confirmed && !self.progress.complete;
        waits.then_some(if self.progress.sends[1] { Space::Handshake } else { Space::Initial })
    }

    /// Sets the timer.
    pub(super) fn arm(&mut self, now: Time) {
        self.timer = if self.life != Life::Open || self.progress.allowance() == 0 {
            // A server that may not send has nothing to wait for but the client.
            Time::NEVER
        } else {
            self.recovery.timer(now, self.counts_data(), self.deadlock_space())
        };
    }

    /// When something was last heard.
    pub(super) fn heard_at(&self) -> Time {
        self.last_heard
    }
}
