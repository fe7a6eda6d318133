//! Timers of the paths: T3-rtx (RFC 9260 section 6.3.3) and heartbeats (section 8.3).

use super::Sender;
use crate::sctp::chunk::{Control, Probe};
use crate::sctp::path::Path;
use vazao_engine::{Duration, Time};

impl Sender {
    pub fn next_timeout(&self) -> Time {
        let due = |path: &Path| path.timer.min(path.heartbeat.due);
        self.paths.iter().map(due).min().unwrap_or(Time::NEVER)
    }

    /// Handles every timer due at `now`; returns false if the association has failed.
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        let mut expired = false;
        for i in 0..self.paths.len() {
            if self.paths[i].timer <= now {
                self.on_t3(now, i);
                expired = true;
            }
            if self.paths[i].heartbeat.due <= now {
                self.on_heartbeat_due(now, i);
            }
        }
        self.reassess_paths();
        self.refill();
        if expired && self.config.host().timeout_sends_one {
            self.paths.iter_mut().for_each(|path| path.allowance = path.flight + 1);
        }
        self.errors <= self.config.retries
    }

    /// Reassesses which paths carry data after some may have failed or recovered.
    #[inline]
    pub(super) fn reassess_paths(&mut self) {
        let is_dormant = !self.paths.iter().any(|path| path.active && path.confirmed);
        if is_dormant || self.is_dormant {
            self.choose_last_resort(is_dormant);
        }
        self.avoid_failing_paths();
    }

    /// Sections 8.1 and 8.2: if every path is inactive the association is dormant, and fails only at
    /// Association.Max.Retrans. Meanwhile data is sent on the path with the fewest errors; ties go to the current
    /// one, so that paths alternate as errors grow.
    #[cold]
    fn choose_last_resort(&mut self, is_dormant: bool) {
        self.is_dormant = is_dormant;
        let confirmed = self.paths.iter().enumerate().filter(|(_, path)| path.confirmed);
        let best = confirmed.min_by_key(|(_, path)| (path.errors, !path.last_resort)).map(|(number, _)| number);
        for (number, path) in self.paths.iter_mut().enumerate() {
            path.last_resort = is_dormant && Some(number) == best;
        }
    }

    /// RFC 7829 section 4: potentially failed paths carry data only if no better one is left, and then the one with the
    /// fewest errors; ties go to the one used so far.
    pub(super) fn avoid_failing_paths(&mut self) {
        if self.config.pf_retries.is_none() {
            return;
        }
        let is_well = |path: &Path| path.is_active() && path.confirmed && !path.is_potentially_failed();
        let any = self.paths.iter().any(is_well);
        let failing = self.paths.iter().enumerate().filter(|(_, path)| path.confirmed && path.is_potentially_failed());
        let best = failing.min_by_key(|(_, path)| (path.errors, path.avoided)).map(|(number, _)| number);
        for (number, path) in self.paths.iter_mut().enumerate() {
            path.avoided = path.is_potentially_failed() && (any || Some(number) != best);
        }
    }

    /// Handles expiry of T3-rtx: everything in flight on the path is marked lost, and the window is one packet.
    fn on_t3(&mut self, now: Time, number: usize) {
        self.paths[number].timer = Time::NEVER;
        if self.paths[number].flight == 0 {
            if self.repeat_forward() {
                self.paths[number].rtt.back_off();
                self.paths[number].on_error(self.config.path_retries);
                self.errors += 1;
                self.advance_point(now);
            }
            return;
        }
        self.update_coupling(number);
        let probe = self.probe_delay(number);
        let path = &mut self.paths[number];
        let flight = path.flight;
        path.stats.timeouts += 1;
        path.collapse(now, flight);
        path.rtt.back_off();
        path.on_error(self.config.path_retries);
        if path.is_potentially_failed() && path.heartbeat.pending.is_none() {
            if self.config.has_slow_heartbeats() {
                path.heartbeat.due = path.heartbeat.due.min(now + probe);
            } else {
                path.heartbeat.wanted = true;
            }
        }
        path.timed = None;
        path.window_exempt = false;
        // Slow start restarts, unrestricted by any recovery.
        path.exit = None;
        self.exit = None;
        self.errors += 1;
        if number == self.retran {
            self.retran = (number + 1) % self.paths.len();
        }
        for tsn in self.paths[number].order.drain_in_flight(&self.records) {
            self.mark(tsn, true);
        }
        self.repeat_forward();
    }

    /// Delay before Linux probes an unconfirmed or potentially failed path (`sctp_transport_timeout` and
    /// `sctp_transport_reset_hb_timer`): half an RTO plus a random part of another.
    pub(super) fn probe_delay(&mut self, number: usize) -> Duration {
        let rto = self.paths[number].rtt.rto();
        rto / 2 + Duration::from_nanos(self.rng.below(rto.as_nanos().max(1)))
    }

    /// Handles an unanswered heartbeat, or the time for one on an idle path.
    fn on_heartbeat_due(&mut self, now: Time, number: usize) {
        let config = &self.config;
        let path = &mut self.paths[number];
        if path.heartbeat.pending.take().is_some() {
            path.rtt.back_off();
            path.on_error(config.path_retries);
            self.errors += 1;
            // A potentially failed path is probed again at once, with exponential back-off.
            if path.confirmed
                && !path.is_potentially_failed()
                && let Some(interval) = config.heartbeat()
            {
                path.heartbeat.due = now + interval;
                return;
            }
        } else if path.confirmed && path.active && !path.is_potentially_failed() {
            let idle = path.used.saturating_add(config.heartbeat().unwrap_or_default() + path.rtt.rto());
            if idle > now {
                path.heartbeat.due = idle;
                return;
            }
        }
        path.heartbeat.due = Time::NEVER;
        path.heartbeat.wanted = true;
    }

    /// Returns a heartbeat to send and its path.
    pub fn next_heartbeat(&mut self, now: Time) -> Option<(usize, Control)> {
        let number = self.paths.iter().position(|path| path.heartbeat.wanted)?;
        let heartbeat_timeout = self.heartbeat_timeout(number);
        let path = &mut self.paths[number];
        if self.config.has_slow_heartbeats() {
            path.lower_idle_window();
        }
        path.stats.heartbeats += 1;
        let beat = &mut path.heartbeat;
        beat.wanted = false;
        beat.nonce += 1;
        beat.pending = Some(beat.nonce);
        beat.due = now + heartbeat_timeout;
        Some((number, Control::Heartbeat(Probe { path: number as u8, sent: now, nonce: beat.nonce })))
    }

    /// Timeout of a heartbeat: an RTO (section 8.3); in Linux, the time of the next one.
    fn heartbeat_timeout(&mut self, number: usize) -> Duration {
        if !self.config.has_slow_heartbeats() {
            return self.paths[number].rtt.rto();
        }
        let path = &self.paths[number];
        let is_well = path.confirmed && !path.is_potentially_failed();
        let interval = self.config.heartbeat().filter(|_| is_well).unwrap_or_default();
        interval + self.probe_delay(number)
    }

    pub fn on_heartbeat_ack(&mut self, now: Time, probe: &Probe) {
        let interval = self.config.heartbeat();
        if let Some(path) = self.paths.get_mut(usize::from(probe.path))
            && path.on_heartbeat_ack(now, probe, interval)
        {
            self.errors = 0;
            self.reassess_paths();
            self.refill();
        }
    }
}
