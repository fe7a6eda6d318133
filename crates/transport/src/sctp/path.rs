//! A path: one of the peer's addresses, with its window, its timers, and what is known of its health.

use super::changeover::Changeover;
use super::chunk::Probe;
use super::config::Config;
use super::growth::{News, PseudoCumack};
use super::notification::Notification;
use super::order::Order;
use super::recovery::Newly;
use super::stats::PathStats;
use crate::common::{RtoRule, RttEstimator};
use vazao_congestion::{Ack, Congestion, CongestionControl, Sibling, Siblings, Signal};
use vazao_engine::{Duration, Time};

/// RFC 9260 section 7.2's own window, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnWindow {
    pub cwnd: u64,
    pub ssthresh: u64,
    /// partial_bytes_acked.
    pub partial: u64,
    pub segment: u64,
    /// The least threshold.
    pub floor: u64,
}

impl OwnWindow {
    /// Sections 7.2.1 and 7.2.2: `acked` bytes count; `used`: there was a window's worth of data outstanding.
    pub fn grow(&mut self, acked: u64, used: bool) {
        if self.in_slow_start() {
            if used {
                self.cwnd += acked.min(self.segment);
            }
            return;
        }
        self.partial += acked;
        if self.partial >= self.cwnd {
            if used {
                self.partial -= self.cwnd;
                self.cwnd += self.segment;
            } else {
                self.partial = self.cwnd;
            }
        }
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }

    /// Section 7.2.3: half of the window, and not less than four segments (two in RFC 2960).
    pub fn shrink(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(self.floor);
        self.cwnd = self.ssthresh;
        self.partial = 0;
    }

    /// Section 7.2.3: the timer expired.
    pub fn collapse(&mut self) {
        self.shrink();
        self.cwnd = self.segment;
    }
}

pub(super) enum Window {
    Own(OwnWindow),
    Common(Box<dyn CongestionControl>),
}

/// A heartbeat under way, or when the next one is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heartbeat {
    pub due: Time,
    /// The nonce of the one that was sent and not answered yet.
    pub pending: Option<u32>,
    pub nonce: u32,
    /// One is to leave.
    pub wanted: bool,
}

/// How a path is, as its application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Unconfirmed,
    Well,
    PotentiallyFailed,
    Inactive,
}

/// One of the peer's addresses.
pub struct Path {
    pub(super) window: Window,
    /// Bytes in flight by this path.
    pub(super) flight: u64,
    /// Bytes last sent by it that the send buffer still holds, and how many it may with new data.
    pub(super) held: u64,
    /// See `held`.
    pub(super) share: u64,
    pub(super) changeover: Changeover,
    /// In flight before the SACK under way.
    pub(super) flight_before: u64,
    /// Max.Burst: what may be in flight until something arrives or a timer expires.
    pub(super) allowance: u64,
    pub(super) rtt: RttEstimator,
    /// T3-rtx.
    pub(super) timer: Time,
    /// The chunk whose acknowledgement measures the round-trip time.
    pub(super) timed: Option<(u64, Time)>,
    /// Timeouts and lost heartbeats in a row.
    pub(super) errors: u32,
    pub(super) active: bool,
    /// More errors than these make it potentially failed.
    pub(super) pf_limit: u32,
    /// It is potentially failed and another path is not: nothing but heartbeats goes by it.
    pub(super) shunned: bool,
    /// It is inactive as all are, and the one that is tried nevertheless.
    pub(super) last_resort: bool,
    /// Whether the peer is known to have this address (section 5.4).
    pub(super) confirmed: bool,
    pub(super) heartbeat: Heartbeat,
    pub(super) order: Order,
    pub(super) cumacks: [PseudoCumack; 2],
    pub(super) news: News,
    pub(super) newly: Newly,
    /// Whether the cumulative TSN passed a chunk that was last sent by it.
    pub(super) passed: bool,
    /// The TSN that ends the path's fast recovery once it is acknowledged, where recoveries are a path's own.
    pub(super) exit: Option<u64>,
    /// One packet may go beyond the window: a fast retransmission.
    pub(super) pass: bool,
    /// When data was last sent by it.
    pub(super) used: Time,
    /// A round trip is over when this TSN is acknowledged.
    pub(super) round: u64,
    /// Timeouts since something was acknowledged.
    pub(super) silent: bool,
    pub(super) stats: PathStats,
    /// How the application thinks that it is.
    told: Health,
}

impl Path {
    pub(super) fn new(config: &Config, number: u8, seed: u64) -> Path {
        let [initial, min, max] = config.rto;
        let window = match &config.control {
            None => Window::Own(OwnWindow {
                cwnd: config.first_window(),
                ssthresh: config.initial_ssthresh.unwrap_or(u64::MAX),
                partial: 0,
                segment: config.segment(),
                floor: config.least_threshold(),
            }),
            Some(control) => Window::Common(control(u64::from(config.largest_fragment(false)), seed)),
        };
        Path {
            window,
            flight: 0,
            held: 0,
            share: u64::MAX,
            changeover: Changeover::default(),
            flight_before: 0,
            allowance: u64::MAX,
            rtt: RttEstimator::new(initial, min, max, RtoRule::Rfc6298),
            timer: Time::NEVER,
            timed: None,
            errors: 0,
            active: true,
            pf_limit: config.pf_retries.unwrap_or(u32::MAX),
            shunned: false,
            last_resort: false,
            confirmed: number == 0,
            heartbeat: Heartbeat { due: Time::NEVER, pending: None, nonce: 0, wanted: false },
            order: Order::new(number),
            cumacks: [PseudoCumack::default(); 2],
            news: News::default(),
            newly: Newly::NOTHING,
            passed: false,
            exit: None,
            pass: false,
            used: Time::ZERO,
            round: 0,
            silent: false,
            stats: PathStats::default(),
            told: if number == 0 { Health::Well } else { Health::Unconfirmed },
        }
    }

    /// Congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        match &self.window {
            Window::Own(window) => window.cwnd,
            Window::Common(control) => control.cwnd(),
        }
    }
    /// Slow-start threshold in bytes; `u64::MAX` while there is none.
    pub fn ssthresh(&self) -> u64 {
        match &self.window {
            Window::Own(window) => window.ssthresh,
            Window::Common(control) => control.ssthresh(),
        }
    }
    /// Whether the window grows as in slow start.
    pub fn in_slow_start(&self) -> bool {
        match &self.window {
            Window::Own(window) => window.in_slow_start(),
            Window::Common(control) => control.in_slow_start(),
        }
    }
    /// Bytes in flight.
    pub fn flight(&self) -> u64 {
        self.flight
    }
    /// Its round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    /// What it counted.
    pub fn stats(&self) -> &PathStats {
        &self.stats
    }
    /// Whether it was not given up.
    pub fn is_active(&self) -> bool {
        self.active
    }
    /// Whether data may go by it.
    #[inline]
    pub fn is_usable(&self) -> bool {
        (self.active || self.last_resort) && self.confirmed && !self.shunned
    }
    /// Whether it fails, but has not failed for good (RFC 7829).
    pub fn is_potentially_failed(&self) -> bool {
        self.active && self.errors > self.pf_limit
    }
    /// Section 6.1 rule B: a packet may leave while less than the window is in flight.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.flight < self.cwnd().min(self.allowance)
    }
    /// Whether there is room for new data, in the window and in its part of the buffers.
    #[inline]
    pub fn takes_new(&self) -> bool {
        self.has_room() && self.held < self.share
    }
    /// Bytes of the window that are free.
    #[inline]
    pub fn free(&self) -> u64 {
        self.cwnd().saturating_sub(self.flight)
    }
    /// The part of the chunks sent by it that were taken for lost.
    pub fn loss_rate(&self) -> f64 {
        self.stats.losses as f64 / self.stats.chunks.max(1) as f64
    }

    /// What its control sees of the other paths, if it wants to see them.
    pub(super) fn siblings(&mut self) -> Option<&mut Siblings> {
        match &mut self.window {
            Window::Own(_) => None,
            Window::Common(control) => control.siblings(),
        }
    }
    /// What the others see of it.
    pub(super) fn sibling(&mut self) -> Sibling {
        let told = self.siblings().map_or(0.0, |siblings| siblings.told());
        Sibling { cwnd: self.cwnd() as f64, ssthresh: self.ssthresh() as f64, srtt: self.rtt.srtt(), told }
    }

    /// The peer's receive buffer is the threshold where none is set (section 7.2.1).
    pub(super) fn set_peer_window(&mut self, bytes: u64) {
        if let Window::Own(window) = &mut self.window
            && window.ssthresh == u64::MAX
        {
            window.ssthresh = bytes;
        }
    }

    /// A SACK arrives.
    pub(super) fn begin_sack(&mut self, advances: bool) {
        self.flight_before = self.flight;
        self.news = News { advances, ..News::default() };
        self.newly = Newly::NOTHING;
        self.passed = false;
        self.cumacks.iter_mut().for_each(PseudoCumack::begin);
    }

    /// `counted` bytes of those that the SACK newly acknowledged count towards growth.
    pub(super) fn grow(&mut self, now: Time, counted: u64, recovering: bool, next: u64) {
        let used = self.flight_before >= self.cwnd();
        match &mut self.window {
            Window::Own(window) => {
                if !recovering {
                    window.grow(counted, used);
                }
                if self.flight == 0 {
                    window.partial = 0;
                }
            }
            Window::Common(control) => {
                let round = self.newly.highest > self.round;
                if round {
                    self.round = next;
                }
                control.on_ack(&Ack {
                    now,
                    acked: counted,
                    delivered: self.news.acked,
                    advance: counted,
                    flight: self.flight_before,
                    pipe: self.flight,
                    rtt: Some(self.rtt.latest()).filter(|&rtt| rtt > Duration::ZERO),
                    srtt: self.rtt.srtt(),
                    min_rtt: self.rtt.min(),
                    round,
                    window_limited: used,
                    in_recovery: recovering,
                    ..Ack::default()
                });
            }
        }
    }

    /// Missing reports showed a loss that cuts the window; `flight` was in flight.
    pub(super) fn cut(&mut self, now: Time, flight: u64) {
        self.stats.recoveries += 1;
        match &mut self.window {
            Window::Own(window) => window.shrink(),
            Window::Common(_) => self.tell(now, Signal::Loss, flight),
        }
    }

    /// T3-rtx expired with `flight` bytes in flight.
    pub(super) fn collapse(&mut self, now: Time, flight: u64) {
        let signal = if self.silent { Signal::RepeatedTimeout } else { Signal::Timeout };
        self.silent = true;
        match &mut self.window {
            Window::Own(window) => window.collapse(),
            Window::Common(_) => self.tell(now, signal, flight),
        }
    }

    fn tell(&mut self, now: Time, signal: Signal, flight: u64) {
        if let Window::Common(control) = &mut self.window {
            let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min());
            control.on_congestion(&Congestion { now, signal, flight, srtt, min_rtt });
        }
    }

    /// Section 7.2.1: a window that was not used loses half of it each RTO, down to four segments.
    pub(super) fn decay(&mut self, now: Time) {
        let rto = self.rtt.rto();
        if let Window::Own(window) = &mut self.window
            && self.flight == 0
        {
            while window.cwnd > 4 * window.segment && now.since(self.used) > rto {
                window.cwnd = (window.cwnd / 2).max(4 * window.segment);
                self.used += rto;
            }
        }
    }

    fn health(&self) -> Health {
        match () {
            () if !self.active => Health::Inactive,
            () if !self.confirmed => Health::Unconfirmed,
            () if self.is_potentially_failed() => Health::PotentiallyFailed,
            () => Health::Well,
        }
    }

    /// What there is to tell of path `number`, which it is, since it was last asked.
    pub(super) fn change(&mut self, number: u8) -> Option<Notification> {
        let now = self.health();
        let before = std::mem::replace(&mut self.told, now);
        match (before, now) {
            _ if before == now => None,
            (_, Health::Inactive) => Some(Notification::PathDown(number)),
            (_, Health::PotentiallyFailed) => Some(Notification::PathDoubtful(number)),
            (Health::Unconfirmed, Health::Well) => Some(Notification::PathConfirmed(number)),
            (_, Health::Well) => Some(Notification::PathUp(number)),
            (_, Health::Unconfirmed) => None,
        }
    }

    /// A heartbeat leaves: what Linux takes for the end of a window that was not used (`SCTP_LOWER_CWND_INACTIVE`), though
    /// one that a timeout had made smaller grows by it.
    pub(super) fn rest(&mut self) {
        if let Window::Own(window) = &mut self.window {
            window.cwnd = (window.cwnd / 2).max(4 * window.segment);
            window.ssthresh = window.cwnd;
            window.partial = 0;
        }
    }

    /// Something sent by it was acknowledged, or a heartbeat was answered. True: it is active again.
    pub(super) fn on_sign_of_life(&mut self) -> bool {
        self.errors = 0;
        !std::mem::replace(&mut self.active, true)
    }

    /// A timeout or a lost heartbeat (section 8.2): more than `limit` in a row make it inactive.
    pub(super) fn on_error(&mut self, limit: u32) {
        self.errors += 1;
        if self.errors > limit && self.active {
            self.active = false;
            self.stats.failures += 1;
        }
    }

    /// The answer to a heartbeat, if it is one that is waited for (section 8.3).
    pub(super) fn on_heartbeat_ack(&mut self, now: Time, probe: &Probe, interval: Option<Duration>) -> bool {
        if self.heartbeat.pending != Some(probe.nonce) {
            return false;
        }
        self.heartbeat.pending = None;
        self.rtt.sample(now.since(probe.sent));
        self.confirmed = true;
        self.on_sign_of_life();
        self.heartbeat.due = interval.map_or(Time::NEVER, |interval| now + interval + self.rtt.rto());
        true
    }
}
