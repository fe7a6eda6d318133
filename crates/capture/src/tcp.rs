//! One direction of a TCP connection: what its sender sends and what comes back for it.

mod segment;
mod view;

use crate::holes::Holes;
use crate::limits::{Limit, Limits};
use crate::moment::Moment;
pub(crate) use segment::Segment;
use std::collections::VecDeque;
use vazao_engine::{Duration, Histogram};
use vazao_wire::tcp::{Flags, Options};
use view::View;

/// Most segments of a direction that are remembered until they are acknowledged.
const MOST_OUTSTANDING: usize = 1 << 16;
/// Latest segments that copies are looked for among, and latest retransmissions that reports are.
const MOST_RECENT: usize = 256;
const MOST_RESENT: usize = 4096;
/// Time within which a segment that comes late has been overtaken, where the round trip to its sender is not known.
const OVERTAKEN_NS: u64 = 3_000_000;
/// Least timeout of a sender: Linux's, of which clocks take a little.
const LEAST_TIMEOUT_NS: u64 = 180_000_000;

/// Segment that has passed and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Passed {
    end: u64,
    moment: Moment,
}

/// What happened to a direction at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A segment of the handshake passed.
    Opening,
    /// Its sender sent something.
    Data,
    /// Its sender sent again what a timer had expired for.
    Expiry,
    /// Something came from the other side.
    Answer,
}

/// Judgement on a segment: whether its octets were sent again, and whether a timer did that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub is_again: bool,
    pub is_expiry: bool,
}

/// What the first segment of a direction offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// Largest segment that its sender accepts, in bytes.
    pub mss: Option<u16>,
    /// Shift of its windows.
    pub window_scale: Option<u8>,
    /// Whether it has timestamps.
    pub timestamps: bool,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub struct Half {
    /// What the SYN said, if it was seen.
    pub handshake: Option<Handshake>,
    /// Full segments that were sent again, as far as that passed the capture.
    pub retransmissions: u64,
    /// Retransmissions of octets that had been acknowledged when they passed.
    pub late_retransmissions: u64,
    /// Segments that the receiver reported to have twice (D-SACK, RFC 2883).
    pub reported_duplicates: u64,
    /// Segments of which it reports a copy that nobody sent.
    pub reported_copies: u64,
    /// Segments that came out of order, overtaken by others on the way to the capture.
    pub reordered: u64,
    /// Packets that passed twice, copied on the way.
    pub duplicates: u64,
    /// Acknowledgements of segments that did not pass, of packets that the capture lacks.
    pub unseen: u64,
    /// Acknowledgements for this direction that repeat the one before.
    pub duplicate_acks: u64,
    /// Times that the receiver closed its window.
    pub zero_windows: u64,
    /// Packets of this direction that the network marked.
    pub marks: u64,
    /// Largest window of the receiver in bytes.
    pub window_max: u64,
    /// Most octets under way.
    pub flight_max: u64,
    /// Packets that held several segments: captured before the card took them apart, or after it put them together.
    pub bundles: u64,
    /// Round trips between the capture and the receiver.
    pub rtt: Histogram,
    /// The least of them in nanoseconds.
    pub rtt_min: Option<u64>,
    /// When the first payload passed, in nanoseconds since 1970.
    pub first_data: Option<u64>,
    /// When the last payload passed.
    pub last_data: u64,
    /// When the last acknowledgement of new data passed.
    pub last_ack: u64,
    /// What its sender waited for.
    pub limits: Limits,
    /// Sequence number before the first octet; octets count from 1, so that the SYN is octet 0.
    base: Option<u32>,
    /// Octet after the highest one that passed, and after the last one acknowledged.
    highest: u64,
    una: u64,
    /// Octet after the FIN.
    end: Option<u64>,
    holes: Holes,
    outstanding: VecDeque<Passed>,
    /// Latest segments that passed, by which copies of the network are told from retransmissions.
    recent: VecDeque<Passed>,
    /// Latest octets that were sent again, by which spurious retransmissions are told from copies.
    resent: VecDeque<(u64, u64)>,
    /// Octet up to which acknowledgements tell no round trip, since something was lost, late or repeated.
    disturbed: u64,
    /// Octet whose acknowledgement ends the repair of losses.
    recover: u64,
    is_closed: bool,
    view: View,
}

impl Half {
    /// Returns the octets that were sent, each once.
    pub fn app_bytes(&self) -> u64 {
        self.highest.saturating_sub(1) - u64::from(self.end == Some(self.highest))
    }

    /// Returns retransmissions of what had arrived: as the receiver reports it, or as it looks here.
    pub fn spurious_retransmissions(&self) -> u64 {
        self.reported_duplicates.max(self.late_retransmissions).min(self.retransmissions)
    }

    /// Returns whether everything was sent and acknowledged.
    pub fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.una >= end)
    }

    /// Returns whether anything is known of its sequence numbers.
    pub(crate) fn has_begun(&self) -> bool {
        self.base.is_some()
    }

    /// Returns whether its SYN has this sequence number.
    pub(crate) fn begins_at(&self, sequence: u32) -> bool {
        self.base == Some(sequence)
    }

    /// Returns the sequence number of its SYN, if that was seen.
    pub fn initial(&self) -> Option<u32> {
        self.base.filter(|_| self.handshake.is_some())
    }

    /// Returns the offset in the stream of a sequence number near the latest ones; the SYN is at 0, as the first octet is.
    pub fn offset(&self, sequence: u32) -> Option<u64> {
        self.octet(sequence, self.highest).map(|octet| octet.saturating_sub(1))
    }

    /// Returns the octets that have passed and are not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.highest - self.una
    }

    fn octet(&self, sequence: u32, near: u64) -> Option<u64> {
        let distance = sequence.wrapping_sub(self.base?).wrapping_sub(near as u32) as i32;
        near.checked_add_signed(i64::from(distance))
    }

    /// Handles a segment that this direction's sender sends. A segment's payload counts as so many of `unit` bytes; `to_sender` is
    /// the round trip between the capture and the sender, as far as it is known.
    pub(crate) fn on_segment(&mut self, segment: &Segment, unit: u64, to_sender: Option<u64>) -> Judgement {
        self.marks += u64::from(segment.is_marked);
        if segment.flags.contains(Flags::SYN) {
            self.on_syn(segment);
            return Judgement::default();
        }
        let span = segment.payload + u64::from(segment.flags.contains(Flags::FIN));
        if self.base.is_none() {
            self.base = Some(segment.sequence.wrapping_sub(1));
            (self.highest, self.una) = (1, 1);
        }
        let Some(start) = self.octet(segment.sequence, self.highest).filter(|_| span > 0) else {
            return Judgement::default();
        };
        if segment.payload > 0 {
            self.first_data.get_or_insert(segment.moment.time);
            self.last_data = segment.moment.time;
        }
        let end = start + span;
        let units = segment.payload.div_ceil(unit).max(1);
        self.bundles += u64::from(units > 1);
        if segment.flags.contains(Flags::FIN) && end >= self.highest {
            self.end = Some(end);
        }
        let is_keep_alive = span == 1 && end == self.highest && self.una == self.highest && self.end.is_none();
        if is_keep_alive {
            return Judgement::default();
        }
        if let Some((_, echo)) = segment.options.timestamps {
            self.view.on_echo(segment.moment.time, echo);
        }
        let quiet = segment.moment.time.saturating_sub(self.view.heard);
        let is_again = self.note(start, end, units, segment.moment, to_sender);
        self.view.is_short = !segment.payload.is_multiple_of(unit) && end >= self.highest;
        self.flight_max = self.flight_max.max(self.highest - self.una);
        let is_expiry = is_again && quiet > LEAST_TIMEOUT_NS && quiet > 2 * self.rtt_min.unwrap_or(0);
        Judgement { is_again, is_expiry }
    }

    fn on_syn(&mut self, segment: &Segment) {
        if self.handshake.is_some() {
            return; // Sent again.
        }
        let Options { mss, window_scale, timestamps, .. } = segment.options;
        self.handshake = Some(Handshake { mss, window_scale, timestamps: timestamps.is_some() });
        self.base = Some(segment.sequence);
        (self.highest, self.una) = (1 + segment.payload, 0);
    }

    /// Takes note of octets that pass. Returns whether they were sent again.
    fn note(&mut self, start: u64, end: u64, units: u64, moment: Moment, to_sender: Option<u64>) -> bool {
        self.view.heard = moment.time;
        if start >= self.highest {
            if start > self.highest {
                self.holes.open(self.highest, start, moment);
            }
            self.push(end, moment);
            return false;
        }
        let shown_by = self.holes.fill(start, end.min(self.highest));
        let was_overtaken = shown_by.is_some_and(|later| is_overtaken(moment, later, to_sender));
        if end > self.highest {
            self.push(end, moment);
        }
        self.disturbed = self.highest;
        if was_overtaken {
            self.reordered += units;
            return false;
        }
        if shown_by.is_none() && self.is_copy(end, moment) {
            self.duplicates += units;
            return false;
        }
        self.retransmissions += units;
        remember(&mut self.resent, (start, end), MOST_RESENT);
        if shown_by.is_none() && end <= self.una {
            self.late_retransmissions += units;
        } else {
            self.recover = self.highest;
        }
        remember(&mut self.recent, Passed { end, moment }, MOST_RECENT);
        true
    }

    fn push(&mut self, end: u64, moment: Moment) {
        self.highest = end;
        remember(&mut self.outstanding, Passed { end, moment }, MOST_OUTSTANDING);
        remember(&mut self.recent, Passed { end, moment }, MOST_RECENT);
    }

    /// Returns whether a packet up to octet `end` is one that has passed, copied by the network: with the number of the same
    /// packet, or else the same timestamp, sooner than anything could have asked for it again.
    fn is_copy(&self, end: u64, moment: Moment) -> bool {
        let Some(before) = self.recent.iter().rev().find(|passed| passed.end == end) else { return false };
        let before = before.moment;
        match (moment.identification, before.identification) {
            (Some(one), Some(other)) => one == other,
            _ => {
                let is_soon = moment.time.saturating_sub(before.time) < self.rtt_min.unwrap_or(0).max(OVERTAKEN_NS);
                is_soon && moment.stamp.is_some() && moment.stamp == before.stamp
            }
        }
    }

    /// Handles what a segment of the other direction, which advertises this `window`, acknowledges. The sender sees it
    /// `to_sender` later than the capture, less what its data takes to here. Returns the round trip that it tells, if it does.
    pub(crate) fn on_answer(&mut self, segment: &Segment, unit: u64, window: u64, to_sender: u64) -> Option<u64> {
        if !segment.flags.contains(Flags::ACK) || segment.flags.contains(Flags::RST) {
            return None;
        }
        if self.base.is_none() {
            self.base = Some(segment.acknowledgment.wrapping_sub(1));
            (self.highest, self.una) = (1, 1);
        }
        let offset = self.octet(segment.acknowledgment, self.una)?;
        self.window_max = self.window_max.max(window);
        self.zero_windows += u64::from(window == 0 && !self.is_closed);
        self.is_closed = window == 0;
        self.on_blocks(segment, offset, unit);
        let (time, newly) = (segment.moment.time, offset > self.una);
        let mut round_trip = None;
        if newly {
            round_trip = self.on_advance(offset, time);
        } else if offset == self.una && segment.payload == 0 && self.highest > self.una {
            let is_same = self.view.window() == Some(window) && !segment.flags.contains(Flags::FIN);
            self.duplicate_acks += u64::from(is_same);
        }
        self.view.expect(time, segment.moment.stamp, to_sender, self.una, self.una + window);
        round_trip
    }

    fn on_advance(&mut self, offset: u64, time: u64) -> Option<u64> {
        if offset > self.highest {
            self.unseen += u64::from(self.highest > 1);
            self.highest = offset;
            self.disturbed = offset;
        }
        // What is acknowledged is no longer missing, even if it was never seen.
        while self.holes.fill(self.una, offset).is_some() {
            self.unseen += 1;
            self.disturbed = self.disturbed.max(offset);
        }
        let mut last = None;
        while let Some(passed) = self.outstanding.front().filter(|passed| passed.end <= offset) {
            last = Some(*passed);
            self.outstanding.pop_front();
        }
        let told = last.filter(|passed| passed.end > self.disturbed);
        let round_trip = told.map(|passed| time.saturating_sub(passed.moment.time));
        if let Some(rtt) = round_trip {
            self.rtt.record(Duration::from_nanos(rtt));
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
        (self.una, self.last_ack) = (offset, time);
        self.view.heard = time;
        round_trip
    }

    /// RFC 2883 section 4: a first block below the acknowledgement, or inside the second, reports a duplicate.
    fn on_blocks(&mut self, segment: &Segment, offset: u64, unit: u64) {
        let blocks = segment.options.sack.as_slice();
        let octets = |number: usize| {
            let block = blocks.get(number)?;
            let start = self.octet(block.left, self.una)?;
            Some((start, start + u64::from(block.right.wrapping_sub(block.left))))
        };
        let (first, second) = (octets(0), octets(1));
        if let Some((start, end)) = first {
            let is_inside = second.is_some_and(|(from, to)| from <= start && end <= to);
            if start < end && end - start < 1 << 31 && (end <= offset || is_inside) {
                let was_resent = self.resent.iter().rev().any(|&(from, to)| from < end && start < to);
                let count = if was_resent { &mut self.reported_duplicates } else { &mut self.reported_copies };
                *count += (end - start).div_ceil(unit);
            }
            if end > offset {
                self.disturbed = self.disturbed.max(self.highest);
            }
        }
    }

    /// Reason why the sender sends nothing more, as it sees the connection.
    fn limit(&self, unit: u64, to_sender: u64) -> Option<Limit> {
        let (una, edge) = (self.view.una, self.view.edge);
        // From afar it is known to some packets only which acknowledgements had reached the sender.
        let is_afar = to_sender > self.rtt_min.unwrap_or(0) / 8;
        let slack = if is_afar { edge.saturating_sub(una) / 8 } else { 0 };
        if self.end.is_some_and(|end| una >= end) {
            return None;
        }
        Some(if una < self.recover {
            Limit::Recovery
        } else if edge < self.highest + unit.min(self.window_max) + slack {
            Limit::ReceiveWindow
        } else if una >= self.highest || self.view.is_short || self.end.is_some() {
            Limit::Application
        } else {
            Limit::CongestionWindow
        })
    }

    /// Accounts for the time until `now`, after what happened then was noted.
    pub(crate) fn account(&mut self, now: u64, event: Event, unit: u64, to_sender: u64) {
        if event == Event::Opening {
            return self.view.charge(now, Some(Limit::Handshake), &mut self.limits);
        }
        while let Some(due) = self.view.take_due(now) {
            self.view.unanswered.get_or_insert(due);
        }
        // What an acknowledgement lets out takes longer than the shortest way: until it comes, the limit was the one before.
        let patience = to_sender / 2;
        if let Some(since) = self.view.unanswered.filter(|since| now > since + patience) {
            self.view.charge(since, self.view.limit, &mut self.limits);
            self.view.unanswered = None;
            self.view.limit = self.limit(unit, to_sender);
        }
        let waited = if event == Event::Expiry { Some(Limit::Timeout) } else { self.view.limit };
        self.view.charge(now, waited, &mut self.limits);
        if event != Event::Answer || self.view.limit.is_none() {
            self.view.unanswered = None;
            self.view.limit = self.limit(unit, to_sender);
        }
    }
}

/// Appends to the latest `most` of a kind.
fn remember<T>(latest: &mut VecDeque<T>, one: T, most: usize) {
    if latest.len() == most {
        latest.pop_front();
    }
    latest.push_back(one);
}

/// Returns whether a segment that passes after `later` was sent before it.
fn is_overtaken(moment: Moment, later: Moment, to_sender: Option<u64>) -> bool {
    if let (Some(stamp), Some(other)) = (moment.stamp, later.stamp)
        && stamp != other
    {
        return (stamp.wrapping_sub(other) as i32) < 0;
    }
    if let (Some(number), Some(other)) = (moment.identification, later.identification)
        && number != other
    {
        return (number.wrapping_sub(other) as i16) < 0;
    }
    // What is sent again because of what the receiver says comes a round trip to the sender later, or more.
    let least = to_sender.map_or(OVERTAKEN_NS, |round_trip| round_trip / 4 * 3);
    moment.time.saturating_sub(later.time) < least
}
