//! What becomes of a window that is not used: congestion-window validation.

use super::sender::Sender;
use std::collections::VecDeque;
use vazao_engine::{Duration, Time};

/// A rule for windows that the application does not fill: what the path bore some time ago it may no longer bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// The window stays.
    None,
    /// It stays, and with [`Host::Rfc`](super::Host::Rfc) grows by every acknowledgement, used or not: as RFC 2581 left it, and as ns-3 still does (3.37). So it
    /// may be far above a receive buffer that limits the flight, and a loss that halves it change nothing.
    Grow,
    /// After a pause of more than a retransmission timeout the window is the initial one at most (RFC 5681 section 4.1).
    Restart,
    /// After a pause it is halved for each timeout that has passed, down to the initial one, and the threshold keeps
    /// three quarters of it (RFC 2861, as Linux does with `tcp_slow_start_after_idle`).
    Decay,
    /// A window of which less than half is used is judged by what was used of it when there is a loss, and halved after
    /// five minutes (RFC 7661).
    PipeAck,
}

impl Validation {
    /// All of them with their names.
    pub const ALL: &[(&'static str, Validation)] = &[
        ("none", Validation::None),
        ("grow", Validation::Grow),
        ("restart", Validation::Restart),
        ("decay", Validation::Decay),
        ("rfc7661", Validation::PipeAck),
    ];
}

/// RFC 7661's measure of what is used of a window, and the phase that follows from it.
///
/// Its section 4.4.1 also takes what was sent again off the window at the end of a recovery; here the flight has come down
/// by itself then (proportional rate reduction), or the window is bound to it (RFC 6582).
#[derive(Debug, Default)]
pub(crate) struct PipeAck {
    /// What was acknowledged in a round trip, and when: none that a later and larger one hides.
    samples: VecDeque<(Time, u64)>,
    /// The octets at which the round trip began that is being measured, and at which it is over.
    round: (u64, u64),
    /// The last measurement; none at the start, when any window counts as validated (section 4.2).
    last: Option<Time>,
    /// Since when the window is not validated.
    since: Option<Time>,
}

impl PipeAck {
    /// The non-validated period (section 4.4).
    const NVP: Duration = Duration::from_secs(300);

    /// Everything before `una` is acknowledged, and everything before `nxt` sent.
    fn on_ack(&mut self, now: Time, una: u64, nxt: u64) {
        let (begin, end) = self.round;
        if una < end {
            return;
        }
        if begin > 0 {
            let used = una - begin;
            while self.samples.back().is_some_and(|&(_, other)| other <= used) {
                self.samples.pop_back();
            }
            self.samples.push_back((now, used));
            self.last = Some(now);
        }
        self.round = (una, nxt.max(una + 1));
    }

    /// pipeACK (section 4.2): the most that was used of the window within the sampling period of three round trips or a
    /// second.
    fn used(&mut self, now: Time, srtt: Duration) -> Option<u64> {
        let period = (srtt * 3).max(Duration::from_secs(1));
        while self.samples.front().is_some_and(|&(at, _)| now.since(at) > period) {
            self.samples.pop_front();
        }
        self.last.map(|_| self.samples.front().map_or(0, |&(_, used)| used))
    }

    /// Section 4.3: a window of which less than half is used is not validated.
    fn judge(&mut self, now: Time, srtt: Duration, cwnd: u64) {
        let validated = self.used(now, srtt).is_none_or(|used| 2 * used >= cwnd);
        // A silence began with its last measurement.
        self.since = if validated { None } else { self.since.or(self.last) };
    }
}

/// How Linux tells whether the window is in use (tcp_cwnd_validate, net/ipv4/tcp_output.c): it remembers for a window's worth of
/// data that the window kept some back, or else how much was in flight at most. A window that doubles does so also while
/// only half of it is in use, as the next round trip may need all of it (tcp_is_cwnd_limited).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// The window kept data back.
    pub limited: bool,
    /// The most that was in flight.
    pub most: u64,
    /// It is remembered until this octet is acknowledged.
    until: u64,
    /// Up to here had been sent when last looked at.
    sent: u64,
}

impl Usage {
    /// Until now `una..nxt` was in flight, `flight` bytes, and the window kept more back if `limited`.
    #[inline]
    pub fn update(&mut self, una: u64, nxt: u64, flight: u64, limited: bool) {
        let news = limited || self.sent != nxt;
        self.sent = nxt;
        if news && (limited || una >= self.until || !self.limited && flight > self.most) {
            *self = Usage { limited, most: flight, until: nxt, sent: nxt };
        }
    }
}

impl Sender {
    /// Data is to leave after a pause.
    #[cold]
    pub(super) fn after_pause(&mut self, now: Time) {
        let idle = now.since(std::mem::replace(&mut self.quiet, Time::NEVER));
        let (rto, cwnd) = (self.rtt.rto(), self.control.cwnd());
        let floor = self.initial.min(cwnd);
        match self.validation {
            Validation::Restart if idle > rto => self.restrict(floor, 0),
            Validation::Decay if idle > rto => {
                let halvings = ((idle.as_nanos() - 1) / rto.as_nanos()).min(63);
                let left = ((cwnd / self.mss) >> halvings) * self.mss;
                self.restrict(left.max(floor), cwnd / 4 * 3);
            }
            Validation::PipeAck => self.validate(now),
            _ => {}
        }
    }

    fn restrict(&mut self, cwnd: u64, threshold: u64) {
        self.control.restrict(cwnd, threshold);
        self.cwnd = self.control.cwnd();
    }

    /// An acknowledgement has come.
    #[inline]
    pub(super) fn revalidate(&mut self, now: Time) {
        if self.pipe_ack.is_some() {
            self.validate(now);
        }
    }

    /// RFC 7661: measures what is used of the window, and whether that validates it; so does data that it keeps back. If
    /// not for five minutes, it is halved (section 4.4.3). It grows only where it keeps data back, as always here.
    #[cold]
    fn validate(&mut self, now: Time) {
        let Some(pipe) = &mut self.pipe_ack else { return };
        pipe.on_ack(now, self.una, self.nxt);
        let srtt = self.rtt.srtt();
        if self.window_limited {
            pipe.since = None;
        } else {
            pipe.judge(now, srtt, self.cwnd);
        }
        while let Some(since) = pipe.since.filter(|&since| now.since(since) >= PipeAck::NVP) {
            pipe.since = Some(since + PipeAck::NVP);
            let cwnd = self.control.cwnd();
            self.control.restrict((cwnd / 2).max(self.initial.min(cwnd)), cwnd / 4 * 3);
        }
        self.cwnd = self.control.cwnd();
    }

    /// Section 4.4.1: what a loss is to be judged by where the window was not validated: the most that was used of it.
    #[cold]
    pub(super) fn used_of_window(&mut self, now: Time, flight: u64) -> u64 {
        let srtt = self.rtt.srtt();
        let pipe = self.pipe_ack.as_mut();
        let used = pipe.filter(|pipe| pipe.since.is_some()).and_then(|pipe| pipe.used(now, srtt));
        used.map_or(flight, |used| used.max(flight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tcp_cwnd_validate: that the window kept data back holds for a window's worth; then the most in flight counts, and
    /// grows; what sends nothing changes nothing.
    #[test]
    fn linux_remembers_for_a_window_that_it_was_full() {
        let mut usage = Usage::default();
        let mut after = |una, nxt, flight, limited| {
            usage.update(una, nxt, flight, limited);
            (usage.limited, usage.most)
        };
        assert_eq!(after(1, 11, 10, true), (true, 10));
        assert_eq!(after(5, 15, 10, false), (true, 10));
        assert_eq!(after(10, 30, 20, false), (true, 10));
        assert_eq!(after(11, 31, 9, false), (false, 9));
        assert_eq!(after(12, 40, 28, false), (false, 28));
        assert_eq!(after(40, 40, 0, false), (false, 28));
        assert_eq!(after(40, 41, 1, false), (false, 1));
    }
}
