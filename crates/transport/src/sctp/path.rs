//! Path: one of the peer's addresses, with its window, timers and reachability state.

use super::changeover::Changeover;
use super::chunk::Probe;
use super::config::Config;
use super::growth::{PseudoCumack, SackProgress};
use super::notification::Notification;
use super::order::Order;
use super::recovery::Newly;
use super::stats::PathStats;
use crate::common::RttEstimator;
use vazao_congestion::{Ack, Congestion, CongestionControl, Sibling, Siblings, Signal};
use vazao_engine::registry::choice;
use vazao_engine::{Duration, Time};

choice! {
    /// Unit of congestion windows.
    pub enum WindowUnit {
        /// A whole packet (PMTU).
        Packet = "packet",
        /// The DATA chunk that fits in one (PMDCS, RFC 9260).
        Chunk = "chunk",
        /// The data in that chunk.
        Data = "data",
    }
}

/// SCTP's own congestion window (RFC 9260 section 7.2), in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnWindow {
    pub cwnd: u64,
    pub ssthresh: u64,
    /// partial_bytes_acked.
    pub partial: u64,
    pub segment: u64,
    /// Minimum of ssthresh.
    pub floor: u64,
}

impl OwnWindow {
    /// Sections 7.2.1 and 7.2.2: grows by `acked` bytes; `used` says whether a full window was outstanding.
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

    /// Section 7.2.3: halves the window, to at least four segments (two in RFC 2960).
    pub fn shrink(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(self.floor);
        self.cwnd = self.ssthresh;
        self.partial = 0;
    }

    /// Section 7.2.3: reduces the window to one segment on a timeout.
    pub fn collapse(&mut self) {
        self.shrink();
        self.cwnd = self.segment;
    }
}

pub(super) enum Window {
    Own(OwnWindow),
    Common(Box<dyn CongestionControl>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Heartbeat {
    pub due: Time,
    /// Nonce of the unanswered heartbeat.
    pub pending: Option<u32>,
    pub nonce: u32,
    /// Whether a heartbeat must be sent.
    pub wanted: bool,
}

/// Reachability as reported to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Unconfirmed,
    Well,
    PotentiallyFailed,
    Inactive,
}

/// Path to one of the peer's addresses.
pub struct Path {
    pub(super) window: Window,
    /// Bytes in flight on this path.
    pub(super) flight: u64,
    /// Bytes last sent on this path that the send buffer still holds, and the limit up to which new data may be sent.
    pub(super) held: u64,
    /// See `held`.
    pub(super) share: u64,
    pub(super) changeover: Changeover,
    /// Bytes in flight before the current SACK.
    pub(super) flight_before: u64,
    /// Max.Burst: maximum flight until the next packet arrives or timer expires.
    pub(super) allowance: u64,
    pub(super) rtt: RttEstimator,
    /// T3-rtx.
    pub(super) timer: Time,
    /// Chunk timed for an RTT sample, and its send time.
    pub(super) timed: Option<(u64, Time)>,
    /// Consecutive timeouts and unanswered heartbeats.
    pub(super) errors: u32,
    pub(super) active: bool,
    /// Errors above which the path is potentially failed.
    pub(super) pf_limit: u32,
    /// Whether only heartbeats are sent, because the path is potentially failed and another one is not.
    pub(super) avoided: bool,
    /// Whether the path is used although all are inactive.
    pub(super) last_resort: bool,
    /// Whether the peer's address is confirmed (section 5.4).
    pub(super) confirmed: bool,
    pub(super) heartbeat: Heartbeat,
    pub(super) order: Order,
    pub(super) cumacks: [PseudoCumack; 2],
    pub(super) progress: SackProgress,
    pub(super) newly: Newly,
    /// Whether the cumulative TSN passed a chunk last sent on this path.
    pub(super) passed: bool,
    /// TSN whose acknowledgement ends the path's own fast recovery.
    pub(super) exit: Option<u64>,
    /// Highest TSN that was outstanding on the path when a loss last cut its window.
    pub(super) recover: Option<u64>,
    /// Whether one packet at most is in flight after a timeout, until data is acknowledged (section 7.2.3).
    one_after_timeout: bool,
    /// Whether one packet, a fast retransmission, may exceed the window.
    pub(super) window_exempt: bool,
    /// Time of the last data transmission.
    pub(super) used: Time,
    /// TSN whose acknowledgement ends the round trip.
    pub(super) round: u64,
    /// Whether a timeout has occurred since the last acknowledgement.
    pub(super) silent: bool,
    pub(super) stats: PathStats,
    /// Reachability last reported to the application.
    reported: Health,
}

impl Path {
    pub(super) fn new(config: &Config, number: u8, seed: u64) -> Path {
        let window = match &config.control {
            None => Window::Own(OwnWindow {
                cwnd: config.first_window(),
                ssthresh: config.initial_ssthresh.unwrap_or(u64::MAX),
                partial: 0,
                segment: config.segment(),
                floor: config.min_ssthresh(),
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
            rtt: config.estimator(),
            timer: Time::NEVER,
            timed: None,
            errors: 0,
            active: true,
            pf_limit: config.pf_retries.unwrap_or(u32::MAX),
            avoided: false,
            last_resort: false,
            confirmed: number == 0,
            heartbeat: Heartbeat { due: Time::NEVER, pending: None, nonce: 0, wanted: false },
            order: Order::new(number),
            cumacks: [PseudoCumack::default(); 2],
            progress: SackProgress::default(),
            newly: Newly::NOTHING,
            passed: false,
            exit: None,
            recover: None,
            one_after_timeout: config.one_after_timeout,
            window_exempt: false,
            used: Time::ZERO,
            round: 0,
            silent: false,
            stats: PathStats::default(),
            reported: if number == 0 { Health::Well } else { Health::Unconfirmed },
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
    /// Whether the window is in slow start.
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
    /// Round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    /// Phase of the congestion control, where it names any.
    pub fn phase(&self) -> Option<&'static str> {
        match &self.window {
            Window::Own(_) => None,
            Window::Common(control) => control.phase(),
        }
    }
    /// Counters.
    pub fn stats(&self) -> &PathStats {
        &self.stats
    }
    /// Whether the path has not failed.
    pub fn is_active(&self) -> bool {
        self.active
    }
    /// Whether data may be sent on it.
    #[inline]
    pub fn is_usable(&self) -> bool {
        (self.active || self.last_resort) && self.confirmed && !self.avoided
    }
    /// Whether it is potentially failed (RFC 7829).
    pub fn is_potentially_failed(&self) -> bool {
        self.active && self.errors > self.pf_limit
    }
    /// Section 6.1 rule B: whether a packet may leave, less than the window being in flight.
    #[inline]
    pub fn has_room(&self) -> bool {
        let waits = self.silent && self.one_after_timeout && self.flight > 0;
        self.flight < self.cwnd().min(self.allowance) && !waits
    }
    /// Whether there is room for new data, in the window and in its share of the buffers.
    #[inline]
    pub fn takes_new(&self) -> bool {
        self.has_room() && self.held < self.share
    }
    /// Free bytes of the window.
    #[inline]
    pub fn free(&self) -> u64 {
        self.cwnd().saturating_sub(self.flight)
    }
    /// Fraction of its chunks that were presumed lost.
    pub fn loss_rate(&self) -> f64 {
        self.stats.losses as f64 / self.stats.chunks.max(1) as f64
    }

    /// State of the other paths, if the congestion control is coupled.
    pub(super) fn siblings(&mut self) -> Option<&mut Siblings> {
        match &mut self.window {
            Window::Own(_) => None,
            Window::Common(control) => control.siblings(),
        }
    }
    /// State of this path for the other paths' congestion controls.
    pub(super) fn sibling(&mut self) -> Sibling {
        let told = self.siblings().map_or(0.0, |siblings| siblings.told());
        Sibling::new(self.cwnd() as f64, self.ssthresh() as f64, self.rtt.srtt(), told)
    }

    /// Sets ssthresh to the peer's receive buffer if none is configured (section 7.2.1).
    pub(super) fn set_peer_window(&mut self, bytes: u64) {
        if let Window::Own(window) = &mut self.window
            && window.ssthresh == u64::MAX
        {
            window.ssthresh = bytes;
        }
    }

    pub(super) fn begin_sack(&mut self, advances: bool) {
        self.flight_before = self.flight;
        self.progress = SackProgress { advances, ..SackProgress::default() };
        self.newly = Newly::NOTHING;
        self.passed = false;
        self.cumacks.iter_mut().for_each(PseudoCumack::begin);
    }

    /// Grows the window by `counted` of the newly acknowledged bytes.
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
                    delivered: self.progress.acked,
                    advance: counted,
                    flight: self.flight_before,
                    pipe: self.flight,
                    rtt: Some(self.rtt.latest()).filter(|&rtt| rtt > Duration::ZERO),
                    srtt: self.rtt.srtt(),
                    min_rtt: self.rtt.min(),
                    round,
                    window_limited: used,
                    in_recovery: recovering,
                    untimed: true,
                    ..Ack::default()
                });
            }
        }
    }

    /// Cuts the window for a loss shown by missing reports, with `flight` bytes in flight.
    pub(super) fn cut(&mut self, now: Time, flight: u64) {
        self.stats.recoveries += 1;
        match &mut self.window {
            Window::Own(window) => window.shrink(),
            Window::Common(_) => self.signal(now, Signal::Loss, flight),
        }
    }

    /// Reduces the window for an expiry of T3-rtx, with `flight` bytes in flight.
    pub(super) fn collapse(&mut self, now: Time, flight: u64) {
        let signal = if self.silent { Signal::RepeatedTimeout } else { Signal::Timeout };
        self.silent = true;
        match &mut self.window {
            Window::Own(window) => window.collapse(),
            Window::Common(_) => self.signal(now, signal, flight),
        }
    }

    fn signal(&mut self, now: Time, signal: Signal, flight: u64) {
        if let Window::Common(control) = &mut self.window {
            let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min());
            control.on_congestion(&Congestion { now, signal, flight, srtt, min_rtt });
        }
    }

    /// Section 7.2.1: halves an unused window every RTO, down to four segments.
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

    /// Reachability change of this path, `number`, since the last call.
    pub(super) fn change(&mut self, number: u8) -> Option<Notification> {
        let now = self.health();
        let before = std::mem::replace(&mut self.reported, now);
        match (before, now) {
            _ if before == now => None,
            (_, Health::Inactive) => Some(Notification::PathDown(number)),
            (_, Health::PotentiallyFailed) => Some(Notification::PathDoubtful(number)),
            (Health::Unconfirmed, Health::Well) => Some(Notification::PathConfirmed(number)),
            (_, Health::Well) => Some(Notification::PathUp(number)),
            (_, Health::Unconfirmed) => None,
        }
    }

    /// Adjusts the window when a heartbeat leaves, which Linux takes for the end of an idle period
    /// (`SCTP_LOWER_CWND_INACTIVE`); a window reduced by a timeout even grows.
    pub(super) fn lower_idle_window(&mut self) {
        if let Window::Own(window) = &mut self.window {
            window.cwnd = (window.cwnd / 2).max(4 * window.segment);
            window.ssthresh = window.cwnd;
            window.partial = 0;
        }
    }

    /// Records an acknowledgement or an answered heartbeat; returns whether the path became active again.
    pub(super) fn on_response(&mut self) -> bool {
        self.errors = 0;
        !std::mem::replace(&mut self.active, true)
    }

    /// Counts a timeout or unanswered heartbeat (section 8.2); more than `limit` in a row make the path inactive.
    pub(super) fn on_error(&mut self, limit: u32) {
        self.errors += 1;
        if self.errors > limit && self.active {
            self.active = false;
            self.stats.failures += 1;
        }
    }

    /// Handles a HEARTBEAT ACK; returns whether it was expected (section 8.3).
    pub(super) fn on_heartbeat_ack(&mut self, now: Time, probe: &Probe, interval: Option<Duration>) -> bool {
        if self.heartbeat.pending != Some(probe.nonce) {
            return false;
        }
        self.heartbeat.pending = None;
        self.rtt.sample(now.since(probe.sent));
        self.confirmed = true;
        self.on_response();
        self.heartbeat.due = interval.map_or(Time::NEVER, |interval| now + interval + self.rtt.rto());
        true
    }
}
