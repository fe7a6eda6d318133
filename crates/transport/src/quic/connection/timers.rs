//! Timers (RFC 9002 appendix A.9) and keep-alive (RFC 9000 section 10.1).

use super::outgoing::MIN_ROOM;
use super::path::Stage;
use super::*;

impl Connection {
    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        if self.life != Life::Open {
            return Time::NEVER;
        }
        let all = self.idle_at.min(self.keep_at).min(self.change_at).min(self.next_decision());
        if self.is_settled_path() {
            let path = &self.paths[0];
            return all.min(path.timer).min(path.release).min(path.acks[Space::Data as usize].due());
        }
        let speaking = self.paths.iter().filter(|path| self.can_send(path));
        let of_paths = speaking.map(|path| path.timer.min(path.release).min(self.next_ack(path)));
        of_paths.fold(all.min(self.next_report()), Time::min)
    }

    /// Time at which an acknowledgement is due during the handshake; one that cannot be sent yet waits for the keys or
    /// the amplification limit.
    #[cold]
    fn next_ack(&self, path: &Path) -> Time {
        let says = |space: &Space| self.progress.sends[*space as usize] && path.allowance() >= MIN_ROOM;
        let due = Space::ALL.into_iter().filter(says).map(|space| path.acks[space as usize].due()).min();
        due.unwrap_or(Time::NEVER)
    }

    /// Handles every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.start(now);
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
            // Only once, and only if nothing ack-eliciting is in flight: such packets keep the connection alive as
            // well, and are probed at most once per probe timeout.
            self.keep_at = Time::NEVER;
            let is_quiet = |path: &Path| path.recovery.spaces[Space::Data as usize].eliciting == 0;
            if self.paths.len() > 1 {
                // Each path separately (RFC 10069 section 5.9).
                for path in self.paths.iter_mut().filter(|path| path.stage == Stage::Open && is_quiet(path)) {
                    (path.probe_space, path.probes) = (Space::Data, path.probes.max(1));
                }
            } else if self.progress.confirmed && is_quiet(&self.paths[0]) {
                self.frames.push_back(Frame::Ping);
            }
        }
        if let Some(multipath) = &mut self.multipath
            && multipath.scheduling.wake_at <= now
        {
            multipath.scheduling.wake_at = Time::NEVER;
        }
        for path in 0..self.paths.len() {
            self.handle_path_timeout(now, path);
        }
    }

    fn handle_path_timeout(&mut self, now: Time, number: usize) {
        let path = &mut self.paths[number];
        if path.release <= now {
            path.release = Time::NEVER;
        }
        if path.timer > now || !self.can_send(&self.paths[number]) {
            return; // A delayed acknowledgement or paced data, which `poll_transmit` handles.
        }
        self.update_coupling(number);
        let path = &mut self.paths[number];
        if let Some(space) = path.recovery.due_loss(now) {
            if let Some(found) = path.recovery.detect(now, space) {
                self.stats.lost_by_time += found.lost.iter().filter(|sent| sent.bytes > 0).count() as u64;
                self.on_lost(now, number, found);
            }
        } else {
            self.on_probe_timeout(now, number);
        }
        self.arm(now, number);
    }

    fn on_probe_timeout(&mut self, now: Time, number: usize) {
        self.stats.probes += 1;
        self.paths[number].stats.probes += 1;
        // The handshake comes first: nothing else is acknowledged before.
        let blocked_handshake_space = self.blocked_handshake_space();
        let counts_data = self.counts_data();
        let path = &mut self.paths[number];
        match blocked_handshake_space.or_else(|| path.recovery.pto_space(counts_data)) {
            Some(space) => {
                let (packets, closes) = path.recovery.on_timer(space);
                (path.probe_space, path.probes) = (space, packets);
                if closes {
                    path.on_timeout(now);
                }
                self.requeue_oldest(number, space);
                if self.control_path().is_some_and(|other| other != number) {
                    self.reassign(number);
                }
            }
            // The server may be blocked by the amplification limit.
            None => {
                let space = self.deadlock_space().unwrap_or(Space::Initial);
                let path = &mut self.paths[number];
                (path.probe_space, path.probes) = (space, 1);
                path.recovery.on_timer(space);
            }
        }
    }

    /// Handshake space with data to send but nothing ack-eliciting in flight: application data fills the window.
    #[cold]
    fn blocked_handshake_space(&self) -> Option<Space> {
        let spaces = &Space::ALL[..2];
        let recovery = &self.paths[0].recovery;
        let silent = spaces.iter().all(|&space| recovery.spaces[space as usize].eliciting == 0);
        let pending = |space: &&Space| {
            self.progress.sends[**space as usize] && self.progress.crypto[**space as usize].out.is_pending(u64::MAX)
        };
        spaces.iter().find(pending).copied().filter(|_| silent)
    }

    /// Whether probe timeouts apply to the data space: once the handshake is confirmed (section 6.2.1), or if only data
    /// is in flight although the handshake is unfinished.
    fn counts_data(&self) -> bool {
        self.progress.confirmed || self.blocked_handshake_space().is_some()
    }

    /// Retransmits the oldest outstanding packet's content with the probe (section 6.2.4).
    fn requeue_oldest(&mut self, path: usize, space: Space) {
        let Some(frames) = self.paths[path].recovery.space(space).oldest_frames() else { return };
        for frame in frames {
            self.requeue(frame, space);
        }
    }

    /// Reassigns the outstanding data of an unresponsive path to others (RFC 10069 section 5.7).
    fn reassign(&mut self, number: usize) {
        let frames = self.paths[number].recovery.space(Space::Data).outstanding_frames();
        let queue = std::mem::take(&mut self.paths[number].queue);
        for frame in frames.into_iter().chain(queue.into_iter().map(Frame::Stream)) {
            self.requeue(frame, Space::Data);
        }
    }

    /// Reassigns the data of unresponsive paths when another path becomes responsive.
    #[cold]
    pub(super) fn reassign_unresponsive(&mut self) {
        for number in 0..self.paths.len() {
            if self.paths[number].recovery.pto_count > 0 && self.paths[number].stage == Stage::Open {
                self.reassign(number);
            }
        }
    }

    #[cold]
    fn deadlock_space(&self) -> Option<Space> {
        let waits = self.role == Role::Client && !self.progress.confirmed && !self.progress.complete;
        waits.then_some(if self.progress.sends[1] { Space::Handshake } else { Space::Initial })
    }

    /// Sets a path's timer.
    pub(super) fn arm(&mut self, now: Time, number: usize) {
        let path = &self.paths[number];
        let timer = if self.life != Life::Open || path.allowance() < MIN_ROOM {
            // A server at its amplification limit can only wait for the client.
            Time::NEVER
        } else if self.progress.confirmed {
            path.recovery.timer(now, true, None)
        } else {
            path.recovery.timer(now, self.counts_data(), self.deadlock_space())
        };
        self.paths[number].timer = timer;
    }
}
