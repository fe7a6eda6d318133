//! Sender: packets in flight, loss detection and the window of CCID 2, TCP-like congestion control (RFC 4341 section 5).

use super::Config;
use super::packet::{Fate, Run};
use crate::common::counters;
use crate::common::{DeliveryRate, Limit, Pacer, PacketState, RtoRule, RttEstimator, Spread};
use std::collections::VecDeque;
use vazao_congestion::{Ack, Congestion, CongestionControl, Sending, Signal};
use vazao_engine::{Duration, Histogram, Time};

/// NUMDUPACK: number of later packets whose arrival shows that a packet is lost.
const LATER_PACKETS: usize = 3;

/// The longest retransmission timeout.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(64);

/// A packet with data that left.
#[derive(Clone, Copy, Debug)]
struct Sent {
    sequence: u64,
    at: Time,
    bytes: u32,
    /// Whether it is neither acknowledged nor lost.
    in_flight: bool,
    has_arrived: bool,
    /// State for delivery-rate samples, if rates are measured.
    state: Option<PacketState>,
}

counters! {
    /// Statistics of a sender.
    pub struct Stats {
        /// Packets with data that were sent.
        pub packets: u64,
        /// How many of them were declared lost.
        pub lost: u64,
        /// Bytes of payload acknowledged.
        pub delivered: u64,
        /// Windows of data in which something was lost.
        pub recoveries: u64 = "recoveries",
        /// Windows cut for a mark.
        pub mark_reductions: u64 = "mark_reductions",
        /// How often the timer expired.
        pub timeouts: u64 = "timeouts",
        /// Round-trip times measured.
        pub rtt: Histogram,
    }
}

/// The sending half of a connection.
pub(super) struct Sender {
    pub control: Box<dyn CongestionControl>,
    pub rtt: RttEstimator,
    pub stats: Stats,
    /// Packets from the first that is in flight on, in the order of sending.
    sent: VecDeque<Sent>,
    /// Bytes of payload in flight: RFC 4341's pipe.
    flight: u64,
    /// When the retransmission timer expires.
    deadline: Time,
    /// Whether it has expired since anything was acknowledged.
    is_backed_off: bool,
    /// The greatest sequence number when the window was last cut: losses and marks up to there are the same congestion event.
    cut_at: Option<u64>,
    /// A round trip is over when something after this is acknowledged.
    round_end: u64,
    /// The greatest sequence number of a packet with data, and the greatest that was acknowledged.
    last: u64,
    largest_acked: u64,
    /// Whether the window kept something back since the last acknowledgement.
    is_limited: bool,
    pacer: Pacer,
    sampler: Option<DeliveryRate>,
}

/// Result of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    delivered: u64,
    /// Part of `delivered` that was sent since the window was last cut.
    fresh: u64,
    lost: u64,
    marked: u64,
    /// The greatest sequence number that was lost, and the greatest that was marked, since the window was last cut.
    last_lost: Option<u64>,
    last_marked: Option<u64>,
    /// When the packet acknowledged was sent, if it is newly acknowledged.
    acknowledged: Option<Time>,
    /// The greatest sequence number that is newly acknowledged.
    largest: Option<u64>,
}

impl Sender {
    pub fn new(config: &Config, seed: u64) -> Sender {
        let control = (config.control)(u64::from(config.payload), seed);
        Sender {
            sampler: control.wants_rate().then(DeliveryRate::default),
            control,
            rtt: RttEstimator::new(Duration::from_secs(1), config.min_rto, LONGEST_TIMEOUT, RtoRule::Rfc6298),
            stats: Stats::default(),
            sent: VecDeque::new(),
            flight: 0,
            deadline: Time::NEVER,
            is_backed_off: false,
            cut_at: None,
            round_end: 0,
            last: 0,
            largest_acked: 0,
            is_limited: false,
            pacer: Pacer::default(),
        }
    }

    /// Bytes of payload in flight.
    pub fn flight(&self) -> u64 {
        self.flight
    }
    /// Whether the window has been cut for losses or marks, and nothing sent since then has been acknowledged.
    pub fn is_recovering(&self) -> bool {
        self.cut_at.is_some()
    }
    /// Time at which its timer expires, or its pacer releases the next packet, of `bytes` (0: none waits).
    pub fn next_timeout(&self, bytes: u64) -> Time {
        if bytes > 0 && self.has_room(bytes) { self.deadline.min(self.pacer.release()) } else { self.deadline }
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.flight == 0 || self.flight + bytes <= self.control.cwnd()
    }

    /// Reason why a packet with the next `bytes` of payload does not leave.
    pub fn limit(&self, now: Time, bytes: u64) -> Limit {
        match self.has_room(bytes) && !self.pacer.is_open(now) {
            true => Limit::Pacing,
            false => Limit::of_window(self.control.in_slow_start(), self.is_recovering()),
        }
    }

    /// Whether a packet with the next `bytes` of payload may leave.
    pub fn may_send(&mut self, now: Time, bytes: u64) -> bool {
        let has_room = self.has_room(bytes);
        self.is_limited |= !has_room;
        has_room && self.pacer.is_open(now)
    }

    /// Nothing is waiting, though the window would let it go.
    pub fn on_idle(&mut self) {
        if let Some(sampler) = &mut self.sampler
            && self.flight < self.control.cwnd()
        {
            sampler.set_app_limited(self.flight);
        }
    }

    /// A packet with data leaves.
    pub fn on_sent(&mut self, now: Time, sequence: u64, bytes: u32) {
        if let Some(sampler) = &self.sampler {
            let app_limited = sampler.is_app_limited();
            let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min());
            self.control.on_send(&Sending { now, flight: self.flight, app_limited, srtt, min_rtt });
        }
        let before = self.flight;
        self.flight += u64::from(bytes);
        let state = self.sampler.as_mut().map(|sampler| sampler.on_sent(now, before, self.flight));
        self.sent.push_back(Sent { sequence, at: now, bytes, in_flight: true, has_arrived: false, state });
        self.stats.packets += 1;
        self.last = sequence;
        if let Some(rate) = self.control.pacing_rate() {
            let spread = Spread { rate, quantum: 0, catches_up: false };
            self.pacer.on_sent(now, u64::from(bytes), &spread);
        }
        if self.deadline == Time::NEVER {
            self.deadline = now + self.rtt.rto();
        }
    }

    /// An Ack Vector has come, for the packet `acknowledged` and those before it.
    pub fn on_ack(&mut self, now: Time, acknowledged: u64, vector: &[Run], elapsed: Duration) {
        let flight = self.flight;
        let mut found = self.take_vector(acknowledged, vector);
        if found.delivered == 0 {
            return;
        }
        let rtt = found.acknowledged.map(|at| now.since(at).saturating_sub(elapsed));
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
            self.stats.rtt.record(rtt);
        }
        self.is_backed_off = false;
        if found.fresh > 0 && self.cut_at.take().is_some() {
            self.control.on_recovered(u64::MAX);
        }
        self.largest_acked = self.largest_acked.max(acknowledged);
        self.pass_settled();
        self.find_lost(&mut found);
        self.pass_settled();
        if let Some(sequence) = found.last_lost {
            self.stats.recoveries += u64::from(self.cut(now, sequence, Signal::Loss, flight));
        }
        if let Some(sequence) = found.last_marked {
            self.stats.mark_reductions += u64::from(self.cut(now, sequence, Signal::Mark, flight));
        }
        self.tell_control(now, flight, rtt, &found);
        self.deadline = if self.flight > 0 { now + self.rtt.rto() } else { Time::NEVER };
    }

    fn take_vector(&mut self, acknowledged: u64, vector: &[Run]) -> Found {
        let mut found = Found::default();
        let mut end = acknowledged + 1;
        for run in vector {
            let start = end.saturating_sub(u64::from(run.length));
            if run.fate != Fate::Missing {
                let first = self.sent.partition_point(|sent| sent.sequence < start);
                let count = self.sent.range(first..).take_while(|sent| sent.sequence < end).count();
                (first..first + count).for_each(|place| self.take_arrival(place, acknowledged, run.fate, &mut found));
            }
            end = start;
            if self.sent.front().is_none_or(|first| first.sequence >= end) {
                break;
            }
        }
        found
    }

    fn take_arrival(&mut self, place: usize, acknowledged: u64, fate: Fate, found: &mut Found) {
        let sent = &mut self.sent[place];
        if !std::mem::take(&mut sent.in_flight) {
            return;
        }
        sent.has_arrived = true;
        let bytes = u64::from(sent.bytes);
        self.flight -= bytes;
        self.stats.delivered += bytes;
        found.delivered += bytes;
        found.largest = found.largest.max(Some(sent.sequence));
        if sent.sequence == acknowledged {
            found.acknowledged = Some(sent.at);
        }
        if self.cut_at.is_none_or(|cut| sent.sequence > cut) {
            found.fresh += bytes;
        }
        if fate == Fate::Marked {
            found.marked += bytes;
            found.last_marked = found.last_marked.max(Some(sent.sequence));
        }
        if let (Some(sampler), Some(state)) = (&mut self.sampler, &sent.state) {
            sampler.on_delivered(sent.sequence, state);
        }
    }

    /// Declares packets lost of which enough later ones have arrived.
    fn find_lost(&mut self, found: &mut Found) {
        let arrived = self.sent.partition_point(|sent| sent.sequence <= self.largest_acked);
        let mut latest = self.sent.range(..arrived).rev().filter(|sent| sent.has_arrived);
        let Some(limit) = latest.nth(LATER_PACKETS - 1).map(|sent| sent.sequence) else { return };
        let lost = self.sent.iter_mut().take_while(|sent| sent.sequence < limit).filter(|sent| sent.in_flight);
        for sent in lost {
            sent.in_flight = false;
            found.lost += u64::from(sent.bytes);
            found.last_lost = Some(sent.sequence);
            self.stats.lost += 1;
        }
        self.flight -= found.lost;
        if let Some(sampler) = &mut self.sampler {
            sampler.on_lost(found.lost);
        }
    }

    /// Forgets packets before the first in flight.
    fn pass_settled(&mut self) {
        while self.sent.front().is_some_and(|first| !first.in_flight) {
            self.sent.pop_front();
        }
    }

    /// Cuts the window, once for what was in flight when it was cut. Returns whether it was.
    fn cut(&mut self, now: Time, sequence: u64, signal: Signal, flight: u64) -> bool {
        if self.cut_at.is_some_and(|cut| sequence <= cut) {
            return false;
        }
        self.cut_at = Some(self.last);
        self.signal(now, signal, flight);
        true
    }

    fn signal(&mut self, now: Time, signal: Signal, flight: u64) {
        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min());
        self.control.on_congestion(&Congestion { now, signal, flight, srtt, min_rtt });
    }

    fn tell_control(&mut self, now: Time, flight: u64, rtt: Option<Duration>, found: &Found) {
        let is_recovering = self.is_recovering();
        let round = found.largest.is_some_and(|largest| largest >= self.round_end);
        if round {
            self.round_end = self.last + 1;
        }
        let min_rtt = self.rtt.min();
        let acked = match self.control.in_slow_start() {
            _ if is_recovering => 0,
            // A packet for every two that are acknowledged (RFC 4341 section 5).
            true => found.fresh / 2,
            false => found.fresh,
        };
        let rate = self.sampler.as_mut().and_then(|sampler| sampler.sample(now, found.delivered, min_rtt));
        self.control.on_ack(&Ack {
            now,
            acked,
            delivered: found.delivered,
            advance: found.delivered,
            flight,
            pipe: self.flight,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt,
            round,
            window_limited: std::mem::take(&mut self.is_limited),
            in_recovery: is_recovering,
            held: self.pacer.release().since(now),
            lost: found.lost,
            marked: found.marked,
            rate,
            untimed: true,
            ..Ack::default()
        });
    }

    /// Handles the retransmission timer if it is due: all that is in flight is lost, and the window begins with one packet.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.deadline > now {
            return;
        }
        let flight = self.flight;
        let lost = self.sent.iter().filter(|sent| sent.in_flight).count();
        self.stats.lost += lost as u64;
        self.stats.timeouts += 1;
        self.sent.clear();
        self.flight = 0;
        self.rtt.back_off();
        self.deadline = Time::NEVER;
        self.cut_at = None;
        let again = std::mem::replace(&mut self.is_backed_off, true);
        self.signal(now, if again { Signal::RepeatedTimeout } else { Signal::Timeout }, flight);
        self.round_end = self.last + 1;
    }
}
