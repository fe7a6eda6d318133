//! Time (RFC 9002 appendix A.9), and silence (RFC 9000 section 10.1).

use super::outgoing::LEAST_ROOM;
use super::*;

impl Connection {
    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        let acks = if self.is_settled_path() { self.acks[Space::Data as usize].due() } else { self.next_answer() };
        if self.life == Life::Open {
            self.timer.min(self.idle_at).min(self.keep_at).min(self.release).min(self.change_at).min(acks)
        } else {
            Time::NEVER
        }
    }

    /// When an acknowledgement is due in the handshake: what cannot be acknowledged yet is once something has come that allows it.
    #[cold]
    fn next_answer(&self) -> Time {
        let says = |space: &Space| self.progress.sends[*space as usize] && self.progress.allowance() >= LEAST_ROOM;
        let due = Space::ALL.into_iter().filter(says).map(|space| self.acks[space as usize].due()).min();
        due.unwrap_or(Time::NEVER)
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
        if self.change_at <= now {
            self.on_change_due(now);
            self.change_at = self.next_change();
        }
        if self.keep_at <= now {
            // Once: what is under way keeps it alive as well.
            self.keep_at = Time::NEVER;
            if self.progress.confirmed {
                self.frames.push_back(Frame::Ping);
            }
        }
        if self.timer > now {
            return; // An acknowledgement, or paced data: `poll_transmit` sees that it is due.
        }
        if let Some(space) = self.recovery.due_loss(now) {
            let found = self.recovery.detect(now, space);
            self.stats.lost_by_time += found.lost.iter().filter(|sent| sent.bytes > 0).count() as u64;
            self.on_lost(now, found);
        } else {
            self.on_probe_timeout(now);
        }
        self.arm(now);
    }

    fn on_probe_timeout(&mut self, now: Time) {
        self.stats.probes += 1;
        // The handshake comes first: nothing else is answered before.
        match self.kept_back().or_else(|| self.recovery.pto_space(self.counts_data())) {
            Some(space) => {
                let (packets, closes) = self.recovery.on_timer(space);
                (self.probe_space, self.probes) = (space, packets);
                if closes {
                    self.on_timeout(now);
                }
                self.repeat_oldest(space);
            }
            // The server may be waiting for more bytes from an address that it does not know.
            None => {
                (self.probe_space, self.probes) = (self.deadlock_space().unwrap_or(Space::Initial), 1);
                self.recovery.on_timer(self.probe_space);
            }
        }
    }

    /// The space of the handshake that has something to send, and nothing under way that could bring an answer: data of the
    /// application's fills the window.
    fn kept_back(&self) -> Option<Space> {
        let spaces = &Space::ALL[..2];
        let silent = spaces.iter().all(|&space| self.recovery.spaces[space as usize].eliciting == 0);
        let pending = |space: &&Space| {
            self.progress.sends[**space as usize] && self.progress.crypto[**space as usize].out.is_pending(u64::MAX)
        };
        spaces.iter().find(pending).copied().filter(|_| silent)
    }

    /// Whether what is under way in the data space is probed for: once the handshake is confirmed (section 6.2.1), or if it is
    /// all that is under way though the handshake is not over.
    fn counts_data(&self) -> bool {
        self.progress.confirmed || self.kept_back().is_some()
    }

    /// What has waited longest goes again with the probe (section 6.2.4).
    fn repeat_oldest(&mut self, space: Space) {
        let Some(frames) = self.recovery.space(space).oldest_frames() else { return };
        for frame in frames {
            self.miss(frame, space);
        }
    }

    fn deadlock_space(&self) -> Option<Space> {
        let waits = self.role == Role::Client && !self.progress.confirmed && !self.progress.complete;
        waits.then_some(if self.progress.sends[1] { Space::Handshake } else { Space::Initial })
    }

    /// Sets the timer.
    pub(super) fn arm(&mut self, now: Time) {
        self.timer = if self.life != Life::Open || self.progress.allowance() < LEAST_ROOM {
            // A server that may not send has nothing to wait for but the client.
            Time::NEVER
        } else {
            self.recovery.timer(now, self.counts_data(), self.deadlock_space())
        };
    }
}
