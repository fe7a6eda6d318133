//! The receiving half: putting octets in order, and what to acknowledge when.

use super::clock::Clock;
use super::config::{Config, Host};
use super::segment::SackBlocks;
use crate::RangeSet;
use std::ops::Range;
use vazao_engine::{Duration, Time};

/// When the next acknowledgement is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckDue {
    Never,
    /// At this time, if no second segment makes it due before.
    At(Time),
    Now,
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
    buffer: u64,
    /// What is offered of the buffer at most. It grows as data proves that it is wanted.
    offer: u64,
    /// The least amount by which an offer differs from the last one: a window scale can express no less.
    granule: u64,
    tuning: Option<Tuning>,
    due: AckDue,
    /// What arrived last asks for an acknowledgement as soon as it is read.
    pushed: bool,
    unacknowledged: u32,
    delayed_ack: u32,
    delayed_ack_timeout: Duration,
    clock: Clock,
    quick_acks: u32,
    compression: Option<Compression>,
    /// An octet of a block to be reported not by the next acknowledgement but by the one after.
    late: Option<u64>,
    mss: u64,
}

/// Linux's compression of SACK (`__tcp_ack_snd_check`, net/ipv4/tcp_input.c): beyond a hole three segments are acknowledged
/// at once, the others together after a twentieth of the round-trip time, but 1 ms or 44 segments at most. What is put off
/// leaves before a block begins that might push another out of the next acknowledgement; that block waits for the one after.
#[derive(Clone, Copy, Debug, Default)]
struct Compression {
    delay: Duration,
    /// What was expected when segments beyond it were last counted; how many were acknowledged at once, and how many wait.
    expected: u64,
    at_once: u32,
    waiting: u32,
}

impl Compression {
    const LONGEST: Duration = Duration::from_millis(1);
    /// How much later the kernel may let the timer expire; if nothing else wakes it, it does.
    const SLACK: Duration = Duration::from_micros(100);
    const RTT_PART: u64 = 20;
    const AT_ONCE: u32 = 3;
    const MOST_WAITING: u32 = 44;
    const BLOCKS: usize = 2;

    /// How long the acknowledgement may wait of a segment that arrived while `expected` was.
    fn wait(&mut self, expected: u64) -> Option<Duration> {
        if self.expected != expected {
            (self.expected, self.at_once) = (expected, 0);
        }
        if self.at_once < Self::AT_ONCE {
            self.at_once += 1;
            return None;
        }
        self.waiting += 1;
        (self.waiting <= Self::MOST_WAITING).then_some(self.delay)
    }
}

/// Receive-buffer auto-tuning after Fisk and Feng (dynamic right-sizing, 2001): the buffer holds several times what the
/// application took in the last round-trip time, so that it never limits a sender that doubles its window.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    rtt: Duration,
    since: Time,
    from: u64,
    /// When octets arrived last.
    arrived: Time,
    /// Linux's rule, applied when they are read: the most that was taken in a round trip so far, and the time stamp that was echoed last.
    most: Option<u64>,
    echo: Option<u32>,
}

/// What a buffer that is not given starts with and may grow to.
const AUTO_BUFFER: Range<u64> = 128 << 10..64 << 20;
/// Linux accounts for memory, not for octets (`tcp_scaling_ratio`, include/net/tcp.h): a segment of 1448 octets takes a page's
/// part of 1536 and 640 for what is noted of it, so 170/256 of a buffer are offered. Segments that join beyond a hole are
/// noted as one: in window they take `JOINED` of their octets and `NOTED` for each block.
const LINUX_BUFFER: u64 = 512 * 170;
const JOINED: (u64, u64) = (1536 * 170 / 256, 1448);
const NOTED: u64 = 640 * 170 / 256;
/// Before it is known what segments take, half is offered, one segment less.
const LINUX_UNKNOWN: u64 = 64 << 10;
/// The most that a window may be before it is scaled: with this Linux begins.
const UNSCALED: u64 = 65_535;

impl Receiver {
    /// A receiver whose windows will be scaled by `scale`, and which may send SACK blocks if `selective`.
    pub fn new(config: &Config, mss: u64, scale: u8, selective: bool) -> Self {
        let linux = config.host == Host::Linux;
        let most = linux.then_some(10 * mss);
        let (since, arrived) = (Time::ZERO, Time::ZERO);
        let tuning = Tuning { rtt: Duration::MAX, since, from: 1, arrived, most, echo: None };
        let start = if linux { LINUX_BUFFER } else { AUTO_BUFFER.start };
        let buffer = config.receive_buffer.unwrap_or(start);
        let grows = linux && config.receive_buffer.is_none();
        let offer = if grows { LINUX_UNKNOWN - mss } else { u64::MAX };
        let first = if grows { UNSCALED / mss * mss } else { u64::MAX };
        Receiver {
            nxt: 1,
            read: 1,
            ranges: RangeSet::default(),
            beyond: 0,
            recent: [0; 4],
            duplicate: None,
            fin: None,
            acknowledged: 1,
            edge: 1 + first.min(buffer),
            buffer,
            offer,
            granule: 1 << scale,
            tuning: config.receive_buffer.is_none().then_some(tuning),
            due: AckDue::Never,
            pushed: false,
            unacknowledged: 0,
            delayed_ack: config.delayed_ack,
            delayed_ack_timeout: config.delayed_ack_timeout,
            clock: Clock::new(config.tick),
            quick_acks: config.quick_acks,
            compression: (linux && selective).then(Compression::default),
            late: None,
            mss,
        }
    }

    /// The largest buffer there may come to be, which the window scale must be able to express.
    pub fn largest_buffer(config: &Config) -> u64 {
        config.receive_buffer.unwrap_or(AUTO_BUFFER.end)
    }

    /// The handshake's round-trip time, which paces the auto-tuning and the compression of SACK.
    pub fn set_rtt(&mut self, rtt: Duration, now: Time) {
        if let Some(compression) = &mut self.compression {
            compression.delay = Compression::LONGEST.min(rtt / Compression::RTT_PART) + Compression::SLACK;
        }
        if let Some(tuning) = &mut self.tuning {
            tuning.rtt = rtt;
            tuning.since = now;
        }
    }

    /// Data came that answers an acknowledgement sent so long ago, at `echo`: Linux's rule paces the auto-tuning by that,
    /// queues included. The first segment of those that answer it tells; a shorter time counts at once, a longer one as an
    /// eighth.
    #[inline]
    pub fn on_echo(&mut self, echo: u32, rtt: Duration) {
        if let Some(tuning) = self.tuning.as_mut().filter(|tuning| tuning.most.is_some() && tuning.echo != Some(echo)) {
            let shorter = tuning.echo.is_none() || rtt < tuning.rtt;
            tuning.rtt = if shorter { rtt } else { (tuning.rtt * 7 + rtt) / 8 };
            tuning.echo = Some(echo);
        }
    }

    /// Octets `start..start + span` have arrived, the last of them FIN if `fin`.
    #[inline]
    pub fn on_data(&mut self, now: Time, start: u64, span: u64, fin: bool) -> Arrival {
        let end = start + span;
        if start == self.nxt && self.ranges.is_empty() && end <= self.edge && !fin {
            self.nxt = end;
            self.note_in_order(now);
            self.note_arrival(now);
            return Arrival::InOrder;
        }
        self.on_irregular_data(now, start, end, fin)
    }

    fn on_irregular_data(&mut self, now: Time, start: u64, end: u64, fin: bool) -> Arrival {
        // What lies beyond the window, or beyond FIN, is cut off; FIN itself needs no room.
        let limit = self.fin.map_or(self.edge + u64::from(fin && end == self.edge + 1), |fin| fin + 1);
        let fin = fin && end <= limit && end > self.ranges.end();
        let end = end.min(limit);
        if start >= end {
            self.due = AckDue::Now;
            return Arrival::Outside;
        }
        if let Some(duplicate) = self.find_duplicate(start, end) {
            self.duplicate = Some(duplicate);
            self.due = AckDue::Now;
            if duplicate == (start, end) {
                return Arrival::Duplicate;
            }
        }
        if fin {
            self.fin = Some(end - 1);
        }
        let had_holes = !self.ranges.is_empty();
        if start <= self.nxt {
            self.nxt = self.ranges.take_through(end).unwrap_or(end).max(end);
            while let Some(further) = self.ranges.take_through(self.nxt) {
                self.nxt = further;
            }
            self.ranges.remove_below(self.nxt);
            self.beyond = if self.ranges.is_empty() { 0 } else { self.beyond.saturating_sub(self.nxt - end) };
            self.note_in_order(now);
            // RFC 5681 section 4.2: a segment that fills a hole is acknowledged at once; so is FIN.
            if had_holes || self.fin_reached() {
                self.due = AckDue::Now;
            }
            self.note_arrival(now);
            return Arrival::InOrder;
        }
        let place = self.place_of(start, end);
        // What begins a block is not accounted for yet when Linux lets its window grow.
        let begins = self.ranges.range_at(start - 1).is_none();
        let early = begins && self.is_quick_beyond();
        let beyond = &mut self.beyond;
        self.ranges.insert(start, end, |from, to| *beyond += to - from);
        let quick = early || !begins && self.is_quick_beyond();
        self.note_out_of_order(now, start, place, quick);
        Arrival::OutOfOrder
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

    /// What is left of the buffer, as Linux counts it.
    fn room(&self) -> u64 {
        let (takes, of) = JOINED;
        let beyond = self.beyond * takes / of + self.ranges.len() as u64 * NOTED;
        self.buffer.saturating_sub(self.nxt - self.read + beyond)
    }

    /// Whether a segment that came is to be acknowledged at once because the connection is new or its window grows.
    fn is_quick(&mut self) -> bool {
        let room = self.room();
        if self.offer < room {
            // As Linux does: room for two more for each that came, and the sender is told at once.
            self.offer = (self.offer + 2 * self.mss).min(room);
            self.quick_acks |= 1;
        }
        let quick = self.quick_acks > 0;
        self.quick_acks -= u32::from(quick);
        quick
    }

    /// The place, among the blocks that arrived last, of the first that `start..end` touches; one beyond them if there is
    /// none.
    fn place_of(&self, start: u64, end: u64) -> usize {
        let blocks = || self.recent.iter().filter_map(|&octet| self.ranges.range_at(octet));
        blocks().position(|(s, e)| start <= e && s <= end).unwrap_or_else(|| blocks().count())
    }

    /// The same of one beyond a hole: without SACK the window stays, so that duplicates can be told.
    fn is_quick_beyond(&mut self) -> bool {
        self.compression.is_some() && self.is_quick()
    }

    fn note_out_of_order(&mut self, now: Time, start: u64, place: usize, quick: bool) {
        if self.compression.is_some_and(|compression| place >= Compression::BLOCKS && compression.waiting > 0) {
            self.late = Some(start);
            self.due = AckDue::Now;
            return;
        }
        self.note_recent(start);
        let wait = self.compression.as_mut().filter(|_| !quick).and_then(|compression| compression.wait(self.nxt));
        self.due = match (wait, self.due) {
            (None, _) | (_, AckDue::Now) => AckDue::Now,
            (Some(wait), AckDue::At(time)) => AckDue::At(time.min(now + wait)),
            (Some(wait), AckDue::Never) => AckDue::At(now + wait),
        };
    }

    fn note_in_order(&mut self, now: Time) {
        self.unacknowledged += 1;
        if self.is_quick() || self.unacknowledged >= self.delayed_ack {
            self.due = AckDue::Now;
        } else if self.due == AckDue::Never {
            self.due = AckDue::At(self.clock.expiry(now, self.delayed_ack_timeout));
        }
    }

    #[inline]
    fn note_arrival(&mut self, now: Time) {
        let Some(tuning) = &mut self.tuning else { return };
        tuning.arrived = now;
        if tuning.most.is_none() {
            self.tune();
        }
    }

    fn tune(&mut self) {
        let Some(tuning) = &mut self.tuning else { return };
        let now = tuning.arrived;
        if now.since(tuning.since) < tuning.rtt {
            return;
        }
        let taken = self.read - tuning.from;
        tuning.since = now;
        tuning.from = self.read;
        let wanted = match tuning.most {
            None => 4 * taken,
            Some(most) if taken <= most => return,
            Some(most) => {
                // Twice that, and twice again in proportion to how much faster it grew than before.
                tuning.most = Some(taken);
                let twice = 2 * taken + 16 * self.mss;
                twice.saturating_add((2.0 * twice as f64 * (taken - most) as f64 / most as f64) as u64)
            }
        };
        self.buffer = self.buffer.max(wanted.min(AUTO_BUFFER.end));
    }

    /// What just arrived in order is the end of what its sender had to send: it may wait for the acknowledgement.
    pub fn on_push(&mut self) {
        self.pushed = true;
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
        self.unacknowledged = 1;
        let later = self.clock.expiry(now, self.delayed_ack_timeout);
        self.due = if self.delayed_ack > 1 { AckDue::At(later) } else { AckDue::Now };
    }

    /// Nothing will be acknowledged any more.
    pub fn fall_silent(&mut self) {
        self.due = AckDue::Never;
    }

    /// How far the window's right edge moves at least: a segment or half the buffer (receiver's silly-window
    /// avoidance, RFC 9293 section 3.8.6.2.2).
    #[inline]
    fn step(&self) -> u64 {
        self.mss.max(self.granule).min(self.buffer / 2)
    }

    /// An acknowledgement leaves: the window to put into it. Its right edge never moves back.
    #[inline]
    pub fn on_ack_sent(&mut self) -> u64 {
        self.due = AckDue::Never;
        self.pushed = false;
        self.unacknowledged = 0;
        if let Some(compression) = &mut self.compression {
            compression.waiting = 0;
        }
        self.acknowledged = self.nxt;
        if self.offer == u64::MAX {
            let edge = self.read + self.buffer;
            if edge >= self.edge + self.step() {
                self.edge = edge;
            }
        } else {
            // Linux rounds up, lest the scale cut a part off.
            let window = self.offer.min(self.room()).max(self.edge.saturating_sub(self.nxt));
            let below = if self.nxt > 1 { self.granule - 1 } else { 0 };
            self.edge = self.nxt + ((window + below) & !below);
        }
        // FIN occupies an octet that no buffer holds.
        self.edge.saturating_sub(self.nxt)
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
        if self.tuning.is_some_and(|tuning| tuning.most.is_some()) {
            self.tune();
        }
        // The window opens again: tell a sender that may be waiting.
        let step = self.step();
        if self.nxt + step.max(self.mss) > self.edge && self.read + self.offer.min(self.buffer) >= self.edge + step {
            self.due = AckDue::Now;
        }
        if self.pushed && count == available && self.due != AckDue::Never {
            self.due = AckDue::Now;
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
