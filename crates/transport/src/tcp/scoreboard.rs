//! What was sent and not yet acknowledged, segment by segment, and what is known of each.

use crate::RangeSet;
use std::collections::VecDeque;
use vazao_engine::Time;

/// A segment in flight. Offsets count from the SYN, which is octet 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub start: u64,
    pub at: Time,
    /// Sequence space: payload and FIN.
    pub span: u32,
    pub state: Mark,
}

/// What is known of a segment in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark(u8);

impl Mark {
    pub const SACKED: Mark = Mark(1);
    /// Presumed lost: not in the network, unless `RESENT` too.
    pub const LOST: Mark = Mark(2);
    /// Resent since it was marked lost.
    pub const RESENT: Mark = Mark(4);
    /// Sent more than once in its life: no round-trip time can be told from it (Karn).
    pub const AMBIGUOUS: Mark = Mark(8);
    /// It was the retransmission timer that marked it lost.
    pub const TIMED_OUT: Mark = Mark(16);

    #[inline]
    pub fn has(self, other: Mark) -> bool {
        self.0 & other.0 != 0
    }
    fn set(&mut self, other: Mark) {
        self.0 |= other.0;
    }
    fn clear(&mut self, other: Mark) {
        self.0 &= !other.0;
    }
}

/// What a cumulative acknowledgement took off the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// When the first and the last segment left; nothing if any of them was sent more than once (Karn).
    pub first_sent: Option<Time>,
    pub last_sent: Option<Time>,
    /// Octets among them that were SACKed before.
    pub sacked: u64,
}

/// All segments between the first unacknowledged octet and the next to send, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Absolute number of the front segment: cursors below are absolute, so acknowledging moves none of them.
    base: u64,
    /// Octets in all segments, in those SACKed, in those lost, in those resent, and in those lost and not yet resent.
    total: u64,
    sacked: u64,
    lost: u64,
    resent: u64,
    pending: u64,
    ranges: RangeSet,
    /// Newly SACKed ranges, kept so that a SACK allocates nothing.
    fresh: Vec<(u64, u64)>,
    /// Every segment before this one has been looked at for loss.
    judged: u64,
    /// No segment before this one is lost and not yet resent.
    next_lost: u64,
}

impl Scoreboard {
    #[inline]
    pub fn push(&mut self, start: u64, span: u32, now: Time) {
        self.segments.push_back(Sent { start, at: now, span, state: Mark::default() });
        self.total += u64::from(span);
    }

    /// Octets believed to be in the network (RFC 6675's pipe).
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.total - self.sacked - self.lost + self.resent
    }
    /// Octets not cumulatively acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.total
    }
    /// Whether something lost waits to be resent.
    #[inline]
    pub fn has_pending(&self) -> bool {
        self.pending > 0
    }
    pub fn front(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// Counts everything anew. Only where debug assertions are on, and only short boards: it costs what it checks.
    fn is_consistent(&self) -> bool {
        let sum = |is: fn(Mark) -> bool| -> u64 {
            self.segments.iter().filter(|s| is(s.state)).map(|s| u64::from(s.span)).sum()
        };
        self.segments.len() > 64
            || (self.total, self.sacked, self.lost, self.resent, self.pending)
                == (
                    sum(|_| true),
                    sum(|mark| mark.has(Mark::SACKED)),
                    sum(|mark| mark.has(Mark::LOST)),
                    sum(|mark| mark.has(Mark::RESENT)),
                    sum(|mark| mark.has(Mark::LOST) && !mark.has(Mark::RESENT)),
                )
    }

    /// The cumulative acknowledgement has reached `offset`.
    #[inline]
    pub fn acknowledge(&mut self, offset: u64) -> Acked {
        let mut acked = Acked::default();
        let mut ambiguous = false;
        let sacked = self.sacked;
        while let Some(front) = self.segments.front_mut() {
            let span = u64::from(front.span);
            if front.start + span > offset {
                if front.start < offset {
                    self.trim_front(offset);
                }
                break;
            }
            let Sent { at, state, .. } = *front;
            if state == Mark::default() {
                acked.first_sent = acked.first_sent.or(Some(at));
                acked.last_sent = Some(at);
            } else {
                ambiguous |= state.has(Mark::AMBIGUOUS);
                self.forget(state, span);
            }
            self.total -= span;
            self.segments.pop_front();
            self.base += 1;
        }
        if !self.ranges.is_empty() {
            self.ranges.remove_below(offset);
        }
        acked.sacked = sacked - self.sacked;
        if ambiguous {
            // What was sent once may have waited at the receiver for what was sent twice: it tells no time either.
            (acked.first_sent, acked.last_sent) = (None, None);
        }
        debug_assert!(self.is_consistent());
        acked
    }

    /// A peer may acknowledge part of a segment (a middlebox, another segmentation).
    #[cold]
    fn trim_front(&mut self, offset: u64) {
        let Some(front) = self.segments.front_mut() else { return };
        let cut = offset - front.start;
        front.start = offset;
        front.span -= cut as u32;
        let state = front.state;
        self.total -= cut;
        self.forget(state, cut);
    }

    fn forget(&mut self, state: Mark, octets: u64) {
        if state.has(Mark::SACKED) {
            self.sacked -= octets;
        }
        if state.has(Mark::LOST) {
            self.lost -= octets;
        }
        if state.has(Mark::RESENT) {
            self.resent -= octets;
        } else if state.has(Mark::LOST) {
            self.pending -= octets;
        }
    }

    /// A SACK block covers `start..end`. Returns the octets that were not known to have arrived.
    pub fn sack(&mut self, start: u64, end: u64) -> u64 {
        let before = self.sacked;
        let mut fresh = std::mem::take(&mut self.fresh);
        self.ranges.insert(start, end, |a, b| fresh.push((a, b)));
        for (a, b) in fresh.drain(..) {
            let mut index = self.segments.partition_point(|s| s.start + u64::from(s.span) <= a);
            while let Some(&Sent { start, span, state, .. }) = self.segments.get(index).filter(|s| s.start < b) {
                if !state.has(Mark::SACKED) && self.ranges.contains(start, start + u64::from(span)) {
                    self.forget(state, u64::from(span));
                    let mark = &mut self.segments[index].state;
                    mark.clear(Mark(Mark::LOST.0 | Mark::RESENT.0));
                    mark.set(Mark::SACKED);
                    self.sacked += u64::from(span);
                }
                index += 1;
            }
        }
        self.fresh = fresh;
        debug_assert!(self.is_consistent());
        self.sacked - before
    }

    /// RFC 6675's IsLost for every segment at once: marks those below the point above which three ranges, or more than
    /// two segments' worth of octets, have been SACKed.
    pub fn judge(&mut self, mss: u64) {
        let (mut count, mut octets, mut point) = (0, 0, 0);
        for (start, end) in self.ranges.iter().rev() {
            count += 1;
            octets += end - start;
            if count >= super::recovery::DUP_THRESHOLD || octets > 2 * mss {
                point = start;
                break;
            }
        }
        let mut index = self.judged.max(self.base) - self.base;
        while let Some(segment) = self.segments.get(index as usize).filter(|s| s.start < point) {
            if !segment.state.has(Mark(Mark::SACKED.0 | Mark::LOST.0)) {
                self.lose(index as usize, Mark::LOST);
            }
            index += 1;
        }
        self.judged = self.base + index;
    }

    fn lose(&mut self, index: usize, mark: Mark) {
        let segment = &mut self.segments[index];
        segment.state.set(mark);
        self.lost += u64::from(segment.span);
        if !segment.state.has(Mark::RESENT) {
            self.pending += u64::from(segment.span);
        }
        self.next_lost = self.next_lost.min(self.base + index as u64);
    }

    /// The first segment is lost; also if it was resent, unless `once`.
    pub fn lose_front(&mut self, once: bool) {
        let Some(front) = self.segments.front_mut() else { return };
        if front.state.has(Mark::SACKED) || (once && front.state.has(Mark::RESENT)) {
            return;
        }
        if front.state.has(Mark::RESENT) {
            // Lost again: it has left the network.
            front.state.clear(Mark::RESENT);
            self.resent -= u64::from(front.span);
            if front.state.has(Mark::LOST) {
                self.pending += u64::from(front.span);
                self.next_lost = self.base;
            } else {
                self.lose(0, Mark::LOST);
            }
        } else if !front.state.has(Mark::LOST) {
            self.lose(0, Mark::LOST);
        }
    }

    /// Everything that is not SACKed is lost, also what was resent: after a timeout, or Tahoe's restart. If the first
    /// segment was SACKed, its receiver has thrown away what it reported (RFC 2018 section 8), and nothing is known.
    pub fn lose_all(&mut self, timed_out: bool) {
        let mark = if timed_out { Mark(Mark::LOST.0 | Mark::TIMED_OUT.0) } else { Mark::LOST };
        if self.segments.front().is_some_and(|front| front.state.has(Mark::SACKED)) {
            self.segments.iter_mut().for_each(|segment| segment.state.clear(Mark::SACKED));
            self.ranges.clear();
            self.sacked = 0;
        }
        self.lost = 0;
        self.resent = 0;
        for segment in &mut self.segments {
            if !segment.state.has(Mark::SACKED) {
                segment.state.clear(Mark::RESENT);
                segment.state.set(mark);
                self.lost += u64::from(segment.span);
            }
        }
        self.pending = self.lost;
        self.next_lost = self.base;
        self.judged = self.base + self.segments.len() as u64;
    }

    /// The first segment that is lost and not yet resent.
    pub fn next_lost(&mut self) -> Option<(u64, Sent)> {
        if self.pending == 0 {
            return None;
        }
        let mut index = self.next_lost.max(self.base) - self.base;
        while let Some(segment) = self.segments.get(index as usize) {
            if segment.state.has(Mark::LOST) && !segment.state.has(Mark::RESENT) {
                self.next_lost = self.base + index;
                return Some((self.base + index, *segment));
            }
            index += 1;
        }
        None
    }

    /// RFC 6675's NextSeg rule 3: the first segment below the highest SACKed octet that is neither SACKed nor resent.
    pub fn next_doubtful(&self) -> Option<(u64, Sent)> {
        let highest = self.ranges.end();
        let unknown = |s: &Sent| !s.state.has(Mark(Mark::SACKED.0 | Mark::RESENT.0));
        let index = self.judged.max(self.base) - self.base;
        let range = self.segments.range((index as usize).min(self.segments.len())..);
        range
            .enumerate()
            .take_while(|(_, s)| s.start < highest)
            .find(|(_, s)| unknown(s))
            .map(|(i, s)| (self.base + index + i as u64, *s))
    }

    /// The last segment, for RFC 6675's rescue retransmission (NextSeg rule 4).
    pub fn last_unsacked(&self) -> Option<(u64, Sent)> {
        let (index, sent) = self.segments.iter().enumerate().rev().find(|(_, s)| !s.state.has(Mark::SACKED))?;
        Some((self.base + index as u64, *sent))
    }

    /// Segment `number`, as `next_lost` and its siblings named it, is sent again.
    pub fn resend(&mut self, number: u64, now: Time) {
        let segment = &mut self.segments[(number - self.base) as usize];
        segment.at = now;
        if !segment.state.has(Mark::RESENT) {
            self.resent += u64::from(segment.span);
            if segment.state.has(Mark::LOST) {
                self.pending -= u64::from(segment.span);
            }
        }
        segment.state.set(Mark(Mark::RESENT.0 | Mark::AMBIGUOUS.0));
    }
}
