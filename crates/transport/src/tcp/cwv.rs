//! Congestion window validation: handling of a window that the application does not fill.

use super::octets::Octets;
use super::window::CongestionWindow;
use crate::common::RttEstimator;
use std::collections::VecDeque;
use std::ops::Range;
use vazao_engine::registry::choice;
use vazao_engine::{Duration, Time};

choice! {
    /// Rule for a window that the application does not fill: it no longer reflects what the path can carry.
    pub enum Validation or "auto" {
        /// The window is kept.
        None = "none",
        /// The window is kept and, unless the host counts its use as Linux does, grows with every acknowledgement even if
        /// unused, as RFC 2581 allowed and ns-3 (3.37) still does. It may grow far above a receive buffer that limits
        /// the flight, so that halving it on loss has no effect.
        Grow = "grow",
        /// After an idle period of more than an RTO the window is the initial one at most (RFC 5681 section 4.1).
        Restart = "restart",
        /// After an idle period the window is halved for each RTO elapsed, down to the initial one, and ssthresh is at
        /// least three quarters of the old window (RFC 2861, Linux's `tcp_slow_start_after_idle`).
        Decay = "decay",
        /// A window of which less than half is used is not validated: a loss reduces what was used of it, and it is
        /// halved after five minutes (RFC 7661).
        PipeAck = "rfc7661",
    }
}

/// Window usage and validation phase of RFC 7661.
///
/// Section 4.4.1 also subtracts retransmitted data from the window at the end of recovery. That is not needed here: the
/// flight has come down by itself (PRR), or the window is set to it (RFC 6582).
#[derive(Debug, Default)]
pub(crate) struct PipeAck {
    /// Amounts acknowledged per round trip and when; only those not followed by a larger one.
    samples: VecDeque<(Time, u64)>,
    /// Octets at which the measured round trip began and ends.
    round: (u64, u64),
    /// Time of the last sample; `None` at the start, when any window counts as validated (section 4.2).
    last: Option<Time>,
    /// Start of the non-validated phase.
    since: Option<Time>,
}

impl PipeAck {
    /// The non-validated period (section 4.4).
    const NVP: Duration = Duration::from_secs(300);

    /// Handles an acknowledgement: everything before `una` is acknowledged, everything before `nxt` sent.
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

    /// Returns pipeACK (section 4.2): the maximum sample in the sampling period of three round trips or a second.
    fn used(&mut self, now: Time, srtt: Duration) -> Option<u64> {
        let period = (srtt * 3).max(Duration::from_secs(1));
        while self.samples.front().is_some_and(|&(at, _)| now.since(at) > period) {
            self.samples.pop_front();
        }
        self.last.map(|_| self.samples.front().map_or(0, |&(_, used)| used))
    }

    /// Section 4.3: the window is not validated if less than half of it is used.
    fn update_validation(&mut self, now: Time, srtt: Duration, cwnd: u64) {
        let validated = self.used(now, srtt).is_none_or(|used| 2 * used >= cwnd);
        // An idle period began with the last sample.
        self.since = if validated { None } else { self.since.or(self.last) };
    }
}

/// Linux's test of whether the window is used (tcp_cwnd_validate, net/ipv4/tcp_output.c). For a window's worth of data
/// it remembers that the window was the limit, or else the maximum flight. In slow start, using half of the window
/// suffices, since the next round trip may need all of it (tcp_is_cwnd_limited).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Whether the window was the limit.
    limited: bool,
    /// Maximum flight.
    most: u64,
    /// Octet whose acknowledgement ends the memory.
    until: u64,
    /// Send position at the last update.
    sent: u64,
}

impl Usage {
    /// Records the octets `una..nxt` in flight, `flight` bytes, and whether the window keeps more data back.
    #[inline]
    fn update(&mut self, una: u64, nxt: u64, flight: u64, limited: bool) {
        let changed = limited || self.sent != nxt;
        self.sent = nxt;
        if changed && (limited || una >= self.until || !self.limited && flight > self.most) {
            *self = Usage { limited, most: flight, until: nxt, sent: nxt };
        }
    }

    /// Whether the window is used: it was the limit, or in slow start half of it is in use.
    #[inline]
    fn uses(&self, window: &CongestionWindow) -> bool {
        self.limited || window.cwnd < 2 * self.most && window.control.in_slow_start()
    }
}

/// Use that the application makes of the congestion window, and the rule for what it does not use.
#[derive(Debug)]
pub(crate) struct WindowUse {
    rule: Validation,
    /// Whether only the congestion window kept data back when the sender last stopped.
    pub is_limited: bool,
    /// Linux's record of it, if the host keeps one.
    recent: Option<Usage>,
    pipe_ack: Option<Box<PipeAck>>,
    /// Initial congestion window.
    initial: u64,
    /// Time since which nothing is in flight, counted from the last transmission if that is known.
    pub idle_since: Time,
}

impl WindowUse {
    /// Creates the record for a rule and an initial window; `like_linux` says whether tcp_is_cwnd_limited applies.
    pub fn new(rule: Validation, like_linux: bool, initial: u64) -> Self {
        WindowUse {
            rule,
            is_limited: false,
            recent: like_linux.then(Usage::default),
            pipe_ack: (rule == Validation::PipeAck).then(Box::default),
            initial,
            idle_since: Time::NEVER,
        }
    }

    /// Whether RFC 7661 measures every acknowledgement.
    #[inline]
    pub fn is_measured(&self) -> bool {
        self.pipe_ack.is_some()
    }

    /// Records the use of the window when an acknowledgement came, with `flight` bytes of `octets` outstanding; returns whether the
    /// window was the limit.
    #[inline]
    pub fn update(&mut self, octets: Range<u64>, flight: u64, window: &CongestionWindow) -> bool {
        match &mut self.recent {
            None => self.is_limited || self.rule == Validation::Grow,
            Some(recent) => {
                recent.update(octets.start, octets.end, flight, self.is_limited);
                recent.uses(window)
            }
        }
    }

    /// Whether the window is used by Linux's measure (tcp_is_cwnd_limited); false for other hosts.
    #[inline]
    pub fn uses(&self, window: &CongestionWindow) -> bool {
        self.recent.is_some_and(|recent| recent.uses(window))
    }

    /// Adjusts the window when data of segments of `mss` bytes leaves after an idle period.
    #[cold]
    pub fn after_pause(
        &mut self,
        now: Time,
        window: &mut CongestionWindow,
        octets: &Octets,
        rtt: &RttEstimator,
        mss: u64,
    ) {
        let idle = now.since(std::mem::replace(&mut self.idle_since, Time::NEVER));
        let (rto, cwnd) = (rtt.rto(), window.control.cwnd());
        let floor = self.initial.min(cwnd);
        match self.rule {
            Validation::Restart if idle > rto => window.restrict(floor, 0),
            Validation::Decay if idle > rto => {
                let halvings = ((idle.as_nanos() - 1) / rto.as_nanos()).min(63);
                let left = ((cwnd / mss) >> halvings) * mss;
                window.restrict(left.max(floor), cwnd / 4 * 3);
            }
            Validation::PipeAck => self.validate(now, window, octets, rtt.srtt()),
            _ => {}
        }
    }

    /// Validates the window after an acknowledgement.
    #[inline]
    pub fn revalidate(&mut self, now: Time, window: &mut CongestionWindow, octets: &Octets, srtt: Duration) {
        if self.pipe_ack.is_some() {
            self.validate(now, window, octets, srtt);
        }
    }

    /// RFC 7661: measures the usage of the window and validates it if it is used or holds data back. After five minutes
    /// without validation the window is halved (section 4.4.3). As everywhere here, it grows only while it is the
    /// limit.
    #[cold]
    fn validate(&mut self, now: Time, window: &mut CongestionWindow, octets: &Octets, srtt: Duration) {
        let Some(pipe) = &mut self.pipe_ack else { return };
        pipe.on_ack(now, octets.una, octets.nxt);
        if self.is_limited {
            pipe.since = None;
        } else {
            pipe.update_validation(now, srtt, window.cwnd);
        }
        while let Some(since) = pipe.since.filter(|&since| now.since(since) >= PipeAck::NVP) {
            pipe.since = Some(since + PipeAck::NVP);
            let cwnd = window.control.cwnd();
            window.control.restrict((cwnd / 2).max(self.initial.min(cwnd)), cwnd / 4 * 3);
        }
        window.cwnd = window.control.cwnd();
    }

    /// Section 4.4.1: returns the flight that a reduction starts from, at least pipeACK in the non-validated phase.
    #[inline]
    pub fn judged_flight(&mut self, now: Time, flight: u64, srtt: Duration) -> u64 {
        let pipe = self.pipe_ack.as_mut();
        let used = pipe.filter(|pipe| pipe.since.is_some()).and_then(|pipe| pipe.used(now, srtt));
        used.map_or(flight, |used| used.max(flight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tcp_cwnd_validate: "limited" holds for a window's worth of data; afterwards the maximum flight counts, and can
    /// grow. Without a transmission nothing changes.
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
