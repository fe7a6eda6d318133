//! The receiving half: putting octets in order, and what to acknowledge when.

mod linux;
mod rfc;

use super::config::{Config, Host};
use super::segment::SackBlocks;
use crate::common::RangeSet;
use linux::LinuxReceiver;
use rfc::RfcReceiver;
use std::ops::Range;
use vazao_engine::{Duration, Time};

/// The most that a buffer grows to.
const LARGEST_BUFFER: u64 = 64 << 20;

/// When the next acknowledgement is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckDue {
    Never,
    /// At this time, if nothing makes it due before.
    At(Time),
    Now,
}

impl AckDue {
    fn sooner(self, other: AckDue) -> AckDue {
        match (self, other) {
            (AckDue::Never, due) | (due, AckDue::Never) => due,
            (AckDue::At(one), AckDue::At(another)) => AckDue::At(one.min(another)),
            _ => AckDue::Now,
        }
    }
}

/// What became of a segment's octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// They continue what has arrived.
    InOrder,
    /// They lie beyond a hole.
    OutOfOrder,
    /// They had all arrived before.
    Duplicate,
    /// They reach beyond the window.
    Outside,
}

/// What Linux goes by besides a segment's place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrived {
    /// Octets of payload, and of time stamps.
    pub length: u64,
    pub options: u64,
    /// Whether it carries PSH.
    pub push: bool,
    /// The sender's timeout and smoothed round-trip time.
    pub rto: Duration,
    pub srtt: Duration,
}

/// What has arrived, for those who decide about acknowledgements.
struct Order {
    nxt: u64,
    read: u64,
    acknowledged: u64,
    /// One beyond what the peer may send.
    edge: u64,
    /// Blocks beyond holes.
    blocks: u64,
    due: AckDue,
}

impl Order {
    /// What the peer knows that it may send. FIN occupies an octet that no buffer holds.
    #[inline]
    fn offered(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }
}

/// Octets beyond a hole, before a segment that reached them and after.
#[derive(Clone, Copy, Debug)]
struct Reached {
    before: u64,
    after: u64,
}

/// Who decides when to acknowledge and what to offer.
enum Policy {
    Rfc(RfcReceiver),
    Linux(Box<LinuxReceiver>),
}

pub(crate) struct Receiver {
    /// Next octet expected.
    pub nxt: u64,
    /// Next octet the application will read.
    read: u64,
    /// What has arrived beyond `nxt`.
    ranges: RangeSet,
    /// Octets that have arrived beyond a hole.
    beyond: u64,
    /// Octets of the blocks that arrived last, most recent first: the order in which RFC 2018 wants them reported.
    recent: [u64; 4],
    /// A duplicate to report (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// Octet of the peer's FIN, once known.
    fin: Option<u64>,
    /// What was expected when the last acknowledgement left.
    pub acknowledged: u64,
    /// One beyond the last octet offered to the peer.
    edge: u64,
    due: AckDue,
    /// The acknowledgement that is due is decided: what it offers does not wait for what the application will read.
    settled: bool,
    /// An octet of a block to be reported not by the next acknowledgement but by the one after.
    late: Option<u64>,
    policy: Policy,
}

impl Receiver {
    /// A receiver whose windows will be scaled by `scale`, and which may send SACK blocks if `selective`. It sends segments of
    /// `mss`; those that it gets hold `sizes` octets, by the SYN itself and by the options that were agreed on.
    pub fn new(config: &Config, sizes: [u64; 2], mss: u64, scale: u8, selective: bool) -> Self {
        let policy = match config.host {
            Host::Rfc => Policy::Rfc(RfcReceiver::new(config, mss, scale)),
            Host::Linux => {
                let sizes = [sizes[0], sizes[1], mss];
                Policy::Linux(Box::new(LinuxReceiver::new(config, sizes, scale, selective)))
            }
        };
        let first = match &policy {
            Policy::Rfc(rfc) => rfc.first_window(),
            Policy::Linux(linux) => linux.first_window(),
        };
        Receiver {
            nxt: 1,
            read: 1,
            ranges: RangeSet::default(),
            beyond: 0,
            recent: [0; 4],
            duplicate: None,
            fin: None,
            acknowledged: 1,
            edge: 1 + first,
            due: AckDue::Never,
            settled: false,
            late: None,
            policy,
        }
    }

    /// The largest buffer there may come to be, which the window scale must be able to express.
    pub fn largest_buffer(config: &Config) -> u64 {
        config.receive_buffer.unwrap_or(LARGEST_BUFFER)
    }

    /// A SYN leaves, and acknowledges what came with the peer's: the window to put into it.
    pub fn on_syn_sent(&mut self) -> u64 {
        (self.due, self.settled) = (AckDue::Never, false);
        self.acknowledged = self.nxt;
        self.edge - self.nxt
    }

    /// The handshake's round-trip time.
    pub fn set_rtt(&mut self, rtt: Duration, now: Time) {
        match &mut self.policy {
            Policy::Rfc(rfc) => rfc.set_rtt(rtt, now),
            Policy::Linux(linux) => linux.on_established(now),
        }
    }

    /// Data came that answers an acknowledgement sent so long ago, at `echo`.
    #[inline]
    pub fn on_echo(&mut self, length: u64, echo: u32, rtt: Duration) {
        if let Policy::Linux(linux) = &mut self.policy {
            linux.on_echo(length, echo, rtt);
        }
    }

    #[inline]
    fn order(&self) -> Order {
        Order {
            nxt: self.nxt,
            read: self.read,
            acknowledged: self.acknowledged,
            edge: self.edge,
            blocks: self.ranges.len() as u64,
            due: self.due,
        }
    }

    /// Octets `start..start + span` have arrived, the last of them FIN if `fin`.
    #[inline]
    pub fn on_data(&mut self, now: Time, start: u64, span: u64, fin: bool, arrived: &Arrived) -> Arrival {
        let end = start + span;
        if start == self.nxt && self.ranges.is_empty() && end <= self.edge && !fin {
            if self.is_out_of_memory() {
                return Arrival::Outside;
            }
            self.nxt = end;
            self.note_in_order(now, arrived, None, false);
            return Arrival::InOrder;
        }
        self.on_irregular_data(now, start, end, fin, arrived)
    }

    fn on_irregular_data(&mut self, now: Time, start: u64, end: u64, fin: bool, arrived: &Arrived) -> Arrival {
        // What lies beyond the window, or beyond FIN, is cut off; FIN itself needs no room.
        let limit = self.fin.map_or(self.edge + u64::from(fin && end == self.edge + 1), |fin| fin + 1);
        let fin = fin && end <= limit && end > self.ranges.end();
        let end = end.min(limit);
        if start >= end {
            self.due = AckDue::Now;
            return Arrival::Outside;
        }
        if self.is_out_of_memory() {
            return Arrival::Outside;
        }
        if let Some(duplicate) = self.find_duplicate(start, end) {
            self.duplicate = Some(duplicate);
            if duplicate == (start, end) {
                self.note_duplicate(now, start, arrived);
                return Arrival::Duplicate;
            }
            if matches!(self.policy, Policy::Rfc(_)) {
                self.due = AckDue::Now;
            }
        }
        if fin {
            self.fin = Some(end - 1);
        }
        if start <= self.nxt {
            let (had_holes, before) = (!self.ranges.is_empty(), self.beyond);
            self.nxt = self.ranges.take_through(end);
            self.beyond = if self.ranges.is_empty() { 0 } else { self.beyond.saturating_sub(self.nxt - end) };
            let reached = had_holes.then_some(Reached { before, after: self.beyond });
            self.note_in_order(now, arrived, reached, self.fin_reached());
            return Arrival::InOrder;
        }
        let place = self.place_of(start, end);
        let joined = self.ranges.range_at(start - 1).is_some();
        let beyond = &mut self.beyond;
        self.ranges.insert(start, end, |from, to| *beyond += to - from);
        self.note_out_of_order(now, start, arrived, joined, Some(place));
        Arrival::OutOfOrder
    }

    /// Whether Linux has no memory for what came: it is dropped, and the sender told that there is no window.
    #[inline]
    fn is_out_of_memory(&mut self) -> bool {
        let blocks = self.ranges.len() as u64;
        let Policy::Linux(linux) = &mut self.policy else { return false };
        if linux.admits(blocks) {
            return false;
        }
        (self.edge, self.acknowledged) = (self.nxt, self.nxt);
        (self.due, self.settled) = (AckDue::Now, true);
        true
    }

    /// The first part of `start..end` that has arrived before, which is what RFC 2883 section 4 wants reported; the
    /// block it is in is reported next.
    fn find_duplicate(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        if start < self.nxt {
            return Some((start, end.min(self.nxt)));
        }
        let (s, e) = self.ranges.first_beyond(start).filter(|&(s, _)| s < end)?;
        self.note_recent(s);
        Some((start.max(s), end.min(e)))
    }

    /// No acknowledgement reports a duplicate: of a connection that waits for its end, Linux knows nothing of SACK any more
    /// (tcp_timewait_state_process, net/ipv4/tcp_minisocks.c).
    pub fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// The block that holds `octet` is the most recent one; none is remembered twice.
    fn note_recent(&mut self, octet: u64) {
        let block = self.ranges.range_at(octet).unwrap_or_default();
        let others = self.recent.into_iter().filter(|&o| !(block.0..block.1).contains(&o));
        let mut recent = [octet, 0, 0, 0];
        recent[1..].iter_mut().zip(others).for_each(|(place, other)| *place = other);
        self.recent = recent;
    }

    /// The place, among the blocks that arrived last, of the first that `start..end` touches; one beyond them if there is
    /// none.
    fn place_of(&self, start: u64, end: u64) -> usize {
        let blocks = || self.recent.iter().filter_map(|&octet| self.ranges.range_at(octet));
        blocks().position(|(s, e)| start <= e && s <= end).unwrap_or_else(|| blocks().count())
    }

    /// A segment came in order, and is the last of all if it `ends`; where there were holes, `reached` says what lay beyond.
    #[inline]
    fn note_in_order(&mut self, now: Time, arrived: &Arrived, reached: Option<Reached>, ends: bool) {
        let order = self.order();
        match &mut self.policy {
            // RFC 5681 section 4.2: a segment that fills a hole is acknowledged at once; so is FIN.
            Policy::Rfc(rfc) => self.due = rfc.on_in_order(now, &order, reached.is_some() || ends),
            Policy::Linux(linux) => {
                self.due = linux.on_in_order(now, &order, arrived, reached, ends);
                self.settle();
            }
        }
    }

    #[cold]
    fn note_out_of_order(&mut self, now: Time, start: u64, arrived: &Arrived, joined: bool, place: Option<usize>) {
        let order = self.order();
        let Policy::Linux(linux) = &mut self.policy else {
            self.note_recent(start);
            self.due = AckDue::Now;
            return;
        };
        let (due, late) = linux.on_out_of_order(now, &order, arrived, joined, place);
        self.due = due;
        if late {
            self.late = Some(start);
        } else {
            self.note_recent(start);
        }
        self.settle();
    }

    #[cold]
    fn note_duplicate(&mut self, now: Time, start: u64, arrived: &Arrived) {
        if start >= self.nxt && matches!(self.policy, Policy::Linux(_)) {
            return self.note_out_of_order(now, start, arrived, true, None);
        }
        if let Policy::Linux(linux) = &mut self.policy {
            linux.on_duplicate();
        }
        self.due = AckDue::Now;
    }

    /// What is acknowledged at once offers what Linux's memory has room for now, before the application reads.
    #[inline]
    fn settle(&mut self) {
        let early = matches!(&self.policy, Policy::Linux(linux) if linux.accounts_for_memory());
        if early && self.due == AckDue::Now {
            self.offer(false);
            self.settled = true;
        }
    }

    /// An acknowledgement is to be sent at once: a segment was out of window, or a probe.
    pub fn acknowledge_now(&mut self) {
        self.due = AckDue::Now;
    }
    /// Whether a pure acknowledgement is to be sent at `now`.
    #[inline]
    pub fn is_ack_due(&self, now: Time) -> bool {
        match self.due {
            AckDue::Never => false,
            AckDue::Now => true,
            AckDue::At(time) => time <= now,
        }
    }
    /// When a delayed acknowledgement is due.
    #[inline]
    pub fn timer(&self) -> Time {
        match self.due {
            AckDue::At(time) => time,
            _ => Time::NEVER,
        }
    }

    /// The octet up to which data has come that waits to be acknowledged; nothing if none does.
    #[inline]
    pub fn waiting(&self) -> Option<u64> {
        (self.due != AckDue::Never && self.nxt > self.acknowledged).then_some(self.nxt)
    }

    /// An acknowledgement has left that leaves out the segment which came last.
    pub fn acknowledge_later(&mut self, now: Time) {
        self.due = match &mut self.policy {
            Policy::Rfc(rfc) => rfc.acknowledge_later(now),
            Policy::Linux(linux) => linux.acknowledge_later(now),
        };
    }

    /// Nothing will be acknowledged any more.
    pub fn fall_silent(&mut self) {
        self.due = AckDue::Never;
    }

    /// An acknowledgement leaves: the window to put into it, whose right edge never moves back.
    #[inline]
    pub fn on_ack_sent(&mut self, now: Time) -> u64 {
        if !std::mem::take(&mut self.settled) {
            self.offer(matches!(self.due, AckDue::At(due) if due <= now));
        }
        self.due = AckDue::Never;
        self.order().offered()
    }

    #[inline]
    fn offer(&mut self, overdue: bool) {
        self.acknowledged = self.nxt;
        let order = self.order();
        self.edge = match &mut self.policy {
            Policy::Rfc(rfc) => rfc.on_ack_sent(&order),
            Policy::Linux(linux) => self.nxt + linux.on_ack_sent(overdue, &order),
        };
    }

    /// Data of ours left, with or without an acknowledgement of what came shortly before.
    #[inline]
    pub fn on_data_sent(&mut self, now: Time) {
        if let Policy::Linux(linux) = &mut self.policy {
            linux.on_data_sent(now);
        }
    }

    /// Whether there is something to report in SACK blocks.
    #[inline]
    pub fn has_blocks(&self) -> bool {
        !self.ranges.is_empty() || self.duplicate.is_some()
    }

    /// At most `limit` SACK blocks: a duplicate first (RFC 2883), then the blocks that changed last (RFC 2018 section 4).
    pub fn blocks(&mut self, limit: usize, wire: impl Fn(u64) -> u32) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut left = limit;
        let mut push = |(start, end): (u64, u64)| {
            if left > 0 {
                blocks.push(wire(start), wire(end));
                left -= 1;
            }
        };
        if let Some(duplicate) = self.duplicate.take() {
            push(duplicate);
        }
        self.recent.iter().filter_map(|&octet| self.ranges.range_at(octet)).for_each(&mut push);
        if let Some(octet) = self.late.take() {
            self.note_recent(octet);
        }
        blocks
    }

    /// Takes at most `limit` octets that have arrived in order, as stream offsets (the SYN not counted).
    #[inline]
    pub fn take(&mut self, limit: u64) -> Option<Range<u64>> {
        let available = self.nxt - u64::from(self.fin_reached()) - self.read;
        let count = available.min(limit);
        if count == 0 {
            return None;
        }
        let start = self.read - 1;
        self.read += count;
        let order = self.order();
        let opens = match &mut self.policy {
            Policy::Rfc(rfc) => rfc.on_read(&order),
            Policy::Linux(linux) => linux.on_read(&order, available - count, count),
        };
        if opens {
            // One that was decided before the application read would not tell of the room that there is now.
            (self.due, self.settled) = (AckDue::Now, false);
        }
        Some(start..start + count)
    }

    /// The next octet that the application takes.
    pub fn read_octet(&self) -> u64 {
        self.read
    }
    /// Whether FIN and everything before it has arrived.
    #[inline]
    pub fn fin_reached(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }
    /// Whether the application has read all there will be.
    pub fn is_drained(&self) -> bool {
        self.fin_reached() && self.read + 1 == self.nxt
    }
    /// Whether an octet range touches the window (RFC 9293 section 3.10.7.4).
    #[inline]
    pub fn accepts(&self, start: u64, span: u64) -> bool {
        let end = start + span;
        if span == 0 {
            // An acknowledgement at the edge itself comes from a peer that has filled the window: were it refused, two
            // such peers would answer each other without end.
            return start == self.nxt || (start > self.nxt && start <= self.edge);
        }
        start < self.edge.max(self.nxt + 1) && end > self.nxt
    }
}
