//! Scoreboard: the unacknowledged segments and their state.

use super::newly_acked::NewlyAcked;
use super::rate::Rates;
use super::sent::{Sent, Status};
use crate::common::RangeSet;
use std::collections::VecDeque;
use vazao_engine::{Time, fetch};

/// Segments that a cumulative acknowledgement removed from the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// Send times of the first and the last segment; `None` if any segment was sent more than once (Karn's algorithm).
    pub first_sent: Option<Time>,
    pub last_sent: Option<Time>,
    /// Octets that had been SACKed before.
    pub sacked: u64,
    /// Whether any segment was retransmitted and not SACKed since.
    pub resent: bool,
}

/// All segments between the first unacknowledged octet and the next to send, in order.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Number of the front segment. Segment numbers are absolute, so acknowledgements do not move the cursors below.
    base: u64,
    /// Octets in all segments; in those SACKed, lost, and resent; and in those lost and not yet resent.
    total: u64,
    sacked: u64,
    lost: u64,
    resent: u64,
    pending: u64,
    sacked_segments: u64,
    /// Octets ever presumed lost, counting each copy.
    losses: u64,
    ranges: RangeSet,
    /// Newly SACKed ranges, kept to avoid allocations.
    fresh: Vec<(u64, u64)>,
    /// Segments before this number have been examined for loss.
    examined: u64,
    /// No segment before this number is lost and not yet resent.
    next_lost: u64,
    /// Newly acknowledged segments, if recorded.
    newly_acked: Option<Box<NewlyAcked>>,
    /// An octet, and whether a segment sent once that begins before it has arrived.
    late: (u64, bool),
    /// Rate samples, if the congestion control needs them.
    rates: Option<Box<Rates>>,
}

impl Scoreboard {
    /// Frees unused memory.
    pub fn shrink(&mut self) {
        self.segments.shrink_to_fit();
        self.ranges.shrink();
        self.fresh = Vec::new();
        if let Some(rates) = &mut self.rates {
            rates.shrink();
        }
    }
    /// Fetches what every event needs into the cache.
    pub fn fetch(&self) {
        fetch(&self.segments);
        fetch(&self.total);
        fetch(&self.losses);
    }

    /// Fetches what its pointers lead to.
    pub fn fetch_parts(&self) {
        if let Some(front) = self.segments.front() {
            fetch(front);
        }
        if let Some(newly_acked) = &self.newly_acked {
            fetch(&**newly_acked);
        }
    }

    #[inline]
    pub fn push(&mut self, start: u64, span: u32, now: Time) {
        self.segments.push_back(Sent { start, at: now, span, state: Status::default() });
        self.total += u64::from(span);
        let (span, pipe) = (u64::from(span), self.pipe());
        if let Some(rates) = &mut self.rates {
            rates.push(now, self.total - span, pipe);
        }
    }

    /// Octets estimated to be in the network (RFC 6675's pipe).
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.total - self.sacked - self.lost + self.resent
    }
    /// Octets not cumulatively acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.total
    }
    /// Whether lost data waits to be retransmitted.
    #[inline]
    pub fn has_pending(&self) -> bool {
        self.pending > 0
    }
    /// Whether a retransmitted segment is outstanding.
    pub fn has_resent(&self) -> bool {
        self.resent > 0
    }
    /// Number of retransmitted segments outstanding; only counted where there are any.
    pub fn resent_segments(&self) -> u64 {
        if self.resent == 0 { 0 } else { self.segments.iter().filter(|s| s.state.has(Status::RESENT)).count() as u64 }
    }
    /// Ends of segments within `start..end` that were sent more than once.
    pub fn copies_within(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        let from = self.segments.partition_point(|s| s.start < start);
        let ends = self.segments.range(from..).filter(|s| s.state.has(Status::AMBIGUOUS)).map(|s| s.order().1);
        ends.take_while(move |&last| last <= end)
    }
    /// Whether a repair is under way: a retransmitted segment is outstanding, or the first segment was retransmitted.
    pub fn is_repairing(&self) -> bool {
        self.has_resent() || self.front().is_some_and(|front| front.state.has(Status::AMBIGUOUS))
    }
    /// Whether lost data has not arrived yet, resent or not.
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }
    /// Octets lost that have not arrived yet, resent or not.
    pub fn lost(&self) -> u64 {
        self.lost
    }
    /// Whether everything in flight was sent once and nothing of it is lost or SACKed.
    pub fn is_orderly(&self) -> bool {
        self.sacked == 0 && self.lost == 0 && !self.is_repairing()
    }
    /// Whether nothing outstanding is SACKed, and all of it counts as in the network.
    #[inline]
    pub fn is_all_in_network(&self) -> bool {
        self.sacked == 0 && self.pipe() == self.total
    }
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }
    pub fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }
    /// Number of segments outstanding.
    pub fn count(&self) -> u64 {
        self.segments.len() as u64
    }
    pub fn front(&self) -> Option<&Sent> {
        self.segments.front()
    }
    pub fn first_number(&self) -> u64 {
        self.base
    }
    /// Returns segment `number`, if it is still unacknowledged.
    pub fn get(&self, number: u64) -> Option<&Sent> {
        self.segments.get(number.checked_sub(self.base)? as usize)
    }

    /// Starts recording newly acknowledged segments.
    pub fn record_newly_acked(&mut self) {
        self.newly_acked = Some(Box::default());
    }

    pub fn measure_rates(&mut self) {
        self.rates = Some(Box::default());
    }
    /// Whether the congestion control needs delivery rates; its report about an acknowledgement then waits for loss
    /// detection.
    #[inline]
    pub fn measures_rates(&self) -> bool {
        self.rates.is_some()
    }
    /// Rate samples, if measured.
    pub fn rates(&mut self) -> Option<&mut Rates> {
        self.rates.as_deref_mut()
    }
    /// Octets ever presumed lost.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// Send time of the last newly acknowledged segment that was sent once, if recorded.
    pub fn last_newly_acked(&self) -> Option<Time> {
        self.newly_acked.as_ref()?.once.map(|(at, _)| at)
    }

    /// Send time of the first newly SACKed segment that was sent once. Linux takes its RTT sample from it if the
    /// cumulative acknowledgement gives none (sack_rtt_us, net/ipv4/tcp_input.c).
    pub fn first_newly_sacked(&self) -> Option<Time> {
        self.newly_acked.as_ref()?.first
    }

    /// Send time of the last newly SACKed segment that was sent once.
    pub fn last_newly_sacked(&self) -> Option<Time> {
        self.newly_acked.as_ref()?.last_sacked.map(|(_, at)| at)
    }

    /// Starts watching for the arrival of a segment that was sent once and begins before `octet`.
    pub fn watch_below(&mut self, octet: u64) {
        self.late = (octet, false);
    }

    /// Takes whether such a segment has arrived.
    pub fn take_late(&mut self) -> bool {
        std::mem::take(&mut self.late.1)
    }

    fn note(&mut self, sent: &Sent, cumulative: bool) {
        if let Some(newly_acked) = &mut self.newly_acked {
            newly_acked.note(sent, cumulative);
        }
        self.late.1 |= sent.start < self.late.0 && !sent.state.has(Status::AMBIGUOUS);
    }

    /// Newly acknowledged segments since the last reset, if recorded.
    #[inline]
    pub fn newly_acked(&self) -> Option<&NewlyAcked> {
        self.newly_acked.as_deref()
    }

    /// Handles a D-SACK for retransmitted octets `start..end`: the original arrived late, unless a cumulative
    /// acknowledgement already covers it (tcp_sacktag_one in Linux).
    pub fn on_late_original(&mut self, start: u64, end: u64) {
        if let Some(newly_acked) = &mut self.newly_acked
            && self.ranges.contains(start, end)
        {
            newly_acked.lowest = newly_acked.lowest.min(start);
        }
    }

    /// Reordering distance in octets if a segment arrived late, with everything before `una` acknowledged
    /// (tcp_check_sack_reordering in Linux).
    #[inline]
    pub fn lateness(&self, una: u64) -> Option<u64> {
        let lowest =
            self.newly_acked.as_ref().map(|newly_acked| newly_acked.lowest).filter(|&lowest| lowest < u64::MAX)?;
        Some(self.highest(una).saturating_sub(lowest))
    }

    /// Octet after the highest one received.
    pub fn highest(&self, una: u64) -> u64 {
        self.ranges.end().max(una)
    }

    /// Resets the newly acknowledged segments, with everything before `una` acknowledged.
    #[inline]
    pub fn clear_newly_acked(&mut self, una: u64) {
        let highest = self.highest(una);
        if let Some(newly_acked) = &mut self.newly_acked {
            newly_acked.clear(highest);
        }
    }

    /// Recounts everything, for debug assertions; only for short scoreboards, since the cost is linear.
    fn is_consistent(&self) -> bool {
        let sum = |is: fn(Status) -> bool| -> u64 {
            self.segments.iter().filter(|s| is(s.state)).map(|s| u64::from(s.span)).sum()
        };
        self.segments.len() > 64
            || (self.total, self.sacked, self.lost, self.resent, self.pending)
                == (
                    sum(|_| true),
                    sum(|mark| mark.has(Status::SACKED)),
                    sum(|mark| mark.has(Status::LOST)),
                    sum(|mark| mark.has(Status::RESENT)),
                    sum(|mark| mark.has(Status::LOST) && !mark.has(Status::RESENT)),
                )
    }

    /// Removes everything before `offset`, which was cumulatively acknowledged.
    #[inline]
    pub fn acknowledge(&mut self, offset: u64) -> Acked {
        let mut acked = Acked::default();
        let mut ambiguous = false;
        let sacked = self.sacked;
        let (mut first, mut last): (Option<Sent>, Option<Sent>) = (None, None);
        while let Some(front) = self.segments.front_mut() {
            let span = u64::from(front.span);
            if front.start + span > offset {
                if front.start < offset {
                    self.trim_front(offset);
                }
                break;
            }
            let sent = *front;
            if sent.state.is_plain() {
                first = first.or(Some(sent));
                last = Some(sent);
            } else {
                ambiguous |= sent.state.has(Status::AMBIGUOUS);
                acked.resent |= sent.state.has(Status::RESENT);
                self.acknowledge_marked(sent);
            }
            if let Some(rates) = &mut self.rates {
                rates.pop(&sent, !sent.state.has(Status::SACKED));
            }
            self.total -= span;
            self.segments.pop_front();
            self.base += 1;
        }
        if !self.ranges.is_empty() {
            self.ranges.remove_below(offset);
        }
        acked.sacked = sacked - self.sacked;
        if let (Some(newly_acked), Some(first), Some(last)) = (&mut self.newly_acked, &first, &last) {
            newly_acked.note_run(first, last, true);
        }
        self.late.1 |= first.is_some_and(|sent| sent.start < self.late.0);
        // Data sent once may have waited at the receiver for data sent twice, so it gives no RTT sample either.
        if !ambiguous {
            (acked.first_sent, acked.last_sent) = (first.map(|sent| sent.at), last.map(|sent| sent.at));
        }
        debug_assert!(self.is_consistent());
        acked
    }

    /// Removes the segments before `offset` if it ends a segment, each was sent once, nothing in flight is SACKed, lost or sent
    /// again, and nothing arrived out of order before. Returns when the first and the last of them were sent; `None`: nothing is done.
    #[inline(always)]
    pub fn acknowledge_in_order(&mut self, offset: u64) -> Option<(Time, Time)> {
        if self.sacked | self.lost | self.resent != 0 || !self.ranges.is_empty() {
            return None;
        }
        let first = *self.segments.front()?;
        if self.newly_acked.as_ref().is_some_and(|newly_acked| first.start < newly_acked.highest) {
            return None;
        }
        let (mut sent, mut count) = (first, 1);
        while sent.state.is_plain() && sent.order().1 < offset {
            sent = *self.segments.get(count)?;
            count += 1;
        }
        if !sent.state.is_plain() || sent.order().1 != offset {
            return None;
        }
        self.segments.drain(..count);
        self.base += count as u64;
        self.total -= offset - first.start;
        if let Some(newly_acked) = &mut self.newly_acked {
            newly_acked.highest = offset;
        }
        self.late.1 |= first.start < self.late.0;
        debug_assert!(self.is_consistent());
        Some((first.at, sent.at))
    }

    #[cold]
    fn acknowledge_marked(&mut self, sent: Sent) {
        self.forget(sent.state, u64::from(sent.span));
        if sent.state.has(Status::SACKED) {
            self.sacked_segments -= 1;
            return;
        }
        self.note(&sent, true);
    }

    /// Handles the acknowledgement of part of a segment (middleboxes, other segmentation).
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

    fn forget(&mut self, state: Status, octets: u64) {
        if state.has(Status::SACKED) {
            self.sacked -= octets;
        }
        if state.has(Status::LOST) {
            self.lost -= octets;
        }
        if state.has(Status::RESENT) {
            self.resent -= octets;
        } else if state.has(Status::LOST) {
            self.pending -= octets;
        }
    }

    /// Applies a SACK block `start..end`; returns the newly SACKed octets.
    pub fn sack(&mut self, start: u64, end: u64) -> u64 {
        let before = self.sacked;
        let mut fresh = std::mem::take(&mut self.fresh);
        self.ranges.insert(start, end, |a, b| fresh.push((a, b)));
        for (a, b) in fresh.drain(..) {
            let mut index = self.segments.partition_point(|s| s.start + u64::from(s.span) <= a);
            while let Some(&sent) = self.segments.get(index).filter(|s| s.start < b) {
                let Sent { start, span, state, .. } = sent;
                if !state.has(Status::SACKED) && self.ranges.contains(start, start + u64::from(span)) {
                    self.forget(state, u64::from(span));
                    self.note(&sent, false);
                    if let Some(newly_acked) = self.newly_acked.as_mut().filter(|_| !sent.state.has(Status::AMBIGUOUS))
                    {
                        newly_acked.first.get_or_insert(sent.at);
                    }
                    if let Some(rates) = &mut self.rates {
                        rates.deliver(index, &sent);
                    }
                    self.sacked_segments += 1;
                    let mark = &mut self.segments[index].state;
                    mark.clear(Status::LOST.or(Status::RESENT));
                    mark.set(Status::SACKED);
                    self.sacked += u64::from(span);
                }
                index += 1;
            }
        }
        self.fresh = fresh;
        debug_assert!(self.is_consistent());
        self.sacked - before
    }

    /// RFC 6675's IsLost for all segments at once: marks those below the point above which `threshold` (three) ranges, or
    /// more than two segments' worth of octets, have been SACKed.
    pub fn mark_losses(&mut self, threshold: u32, mss: u64) {
        let (mut count, mut octets, mut point) = (0, 0, 0);
        for (start, end) in self.ranges.iter().rev() {
            count += 1;
            octets += end - start;
            if count >= threshold || octets > 2 * mss {
                point = start;
                break;
            }
        }
        let mut index = self.examined.max(self.base) - self.base;
        while let Some(segment) = self.segments.get(index as usize).filter(|s| s.start < point) {
            if !segment.state.has(Status::SACKED.or(Status::LOST)) {
                self.mark_lost(index as usize);
            }
            index += 1;
        }
        self.examined = self.base + index;
    }

    fn mark_lost(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        segment.state.set(Status::LOST);
        self.lost += u64::from(segment.span);
        self.losses += u64::from(segment.span);
        if !segment.state.has(Status::RESENT) {
            self.pending += u64::from(segment.span);
        }
        self.next_lost = self.next_lost.min(self.base + index as u64);
    }

    /// Marks segment `number` lost, including its retransmission.
    pub fn declare_lost(&mut self, number: u64) {
        let index = (number - self.base) as usize;
        let segment = &mut self.segments[index];
        if segment.state.has(Status::RESENT) {
            segment.state.clear(Status::RESENT);
            self.resent -= u64::from(segment.span);
            if segment.state.has(Status::LOST) {
                self.losses += u64::from(segment.span);
                self.pending += u64::from(segment.span);
                self.next_lost = self.next_lost.min(number);
                return;
            }
        }
        if !segment.state.has(Status::LOST) {
            self.mark_lost(index);
        }
    }

    /// Marks segment `number` lost, and has RACK pass over it until it is sent again.
    pub fn judge_lost(&mut self, number: u64) {
        self.declare_lost(number);
        self.segments[(number - self.base) as usize].state.set(Status::JUDGED);
    }

    /// Marks the first segment lost; also if it was resent, unless `once`.
    pub fn declare_front_lost(&mut self, once: bool) {
        let Some(front) = self.segments.front() else { return };
        if front.state.has(Status::SACKED) || (once && front.state.has(Status::RESENT)) {
            return;
        }
        self.declare_lost(self.base);
    }

    /// Whether the receiver reneged: the first segment was SACKed but not acknowledged (RFC 2018 section 8).
    pub fn is_reneged(&self) -> bool {
        self.segments.front().is_some_and(|front| front.state.has(Status::SACKED))
    }

    /// Marks everything lost that is not SACKed, including retransmissions, after a timeout or Tahoe's restart. If the
    /// receiver [reneged](Self::is_reneged), SACK information is discarded.
    pub fn declare_all_lost(&mut self, timed_out: bool) {
        self.declare_lost_sent_by(Time::NEVER, timed_out);
    }

    /// Discards SACK information.
    pub fn forget_sacked(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.state.clear(Status::SACKED));
        self.ranges.clear();
        (self.sacked, self.sacked_segments) = (0, 0);
    }

    /// Marks lost what was sent at `time` or before, and the first segment.
    pub fn declare_lost_sent_by(&mut self, time: Time, timed_out: bool) {
        let mark = if timed_out { Status::LOST.or(Status::TIMED_OUT) } else { Status::LOST };
        if self.is_reneged() {
            self.forget_sacked();
        }
        let missing = self.pending;
        (self.lost, self.resent, self.pending) = (0, 0, 0);
        for (index, segment) in self.segments.iter_mut().enumerate() {
            if segment.state.has(Status::SACKED) {
                continue;
            }
            if index == 0 || segment.at <= time {
                segment.state.clear(Status::RESENT);
                segment.state.set(mark);
            }
            let span = u64::from(segment.span);
            let (lost, resent) = (segment.state.has(Status::LOST), segment.state.has(Status::RESENT));
            self.lost += if lost { span } else { 0 };
            self.resent += if resent { span } else { 0 };
            self.pending += if lost && !resent { span } else { 0 };
        }
        self.losses += self.pending.saturating_sub(missing);
        self.next_lost = self.base;
        self.examined = self.base + self.segments.len() as u64;
    }

    /// Send times and numbers of segments sent more than once that have not arrived.
    pub fn copies(&self) -> impl Iterator<Item = (Time, u64)> {
        let again =
            |sent: &Sent| sent.state.has(Status::AMBIGUOUS) && !sent.state.has(Status::SACKED.or(Status::JUDGED));
        let numbered = self.segments.iter().zip(self.base..);
        numbered.filter(move |(sent, _)| again(sent)).map(|(sent, number)| (sent.at, number))
    }

    /// Marks nothing as lost any more; retransmitted segments remain in flight twice.
    pub fn unmark_losses(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.state.clear(Status::LOST.or(Status::TIMED_OUT)));
        (self.lost, self.pending) = (0, 0);
        (self.examined, self.next_lost) = (self.base, self.base);
        debug_assert!(self.is_consistent());
    }

    /// Returns the first segment that is lost and not yet resent.
    pub fn next_lost(&mut self) -> Option<(u64, Sent)> {
        if self.pending == 0 {
            return None;
        }
        let mut index = self.next_lost.max(self.base) - self.base;
        while let Some(segment) = self.segments.get(index as usize) {
            if segment.is_pending() {
                self.next_lost = self.base + index;
                return Some((self.base + index, *segment));
            }
            index += 1;
        }
        None
    }

    /// RFC 6675's NextSeg rule 3: returns the first segment that is neither SACKed nor resent, below the highest SACKed
    /// octet (criterion 1.b) unless `anywhere`.
    pub fn next_possibly_lost(&self, anywhere: bool) -> Option<(u64, Sent)> {
        let highest = if anywhere { u64::MAX } else { self.ranges.end() };
        let unknown = |s: &Sent| !s.state.has(Status::SACKED.or(Status::RESENT));
        let index = self.examined.max(self.base) - self.base;
        let range = self.segments.range((index as usize).min(self.segments.len())..);
        range
            .enumerate()
            .take_while(|(_, s)| s.start < highest)
            .find(|(_, s)| unknown(s))
            .map(|(i, s)| (self.base + index + i as u64, *s))
    }

    /// Returns the last segment not SACKed, for RFC 6675's rescue retransmission (NextSeg rule 4).
    pub fn last_unsacked(&self) -> Option<(u64, Sent)> {
        let (index, sent) = self.segments.iter().enumerate().rev().find(|(_, s)| !s.state.has(Status::SACKED))?;
        Some((self.base + index as u64, *sent))
    }

    /// Records the retransmission of segment `number`.
    pub fn resend(&mut self, number: u64, now: Time) {
        let segment = &mut self.segments[(number - self.base) as usize];
        segment.at = now;
        if !segment.state.has(Status::RESENT) {
            self.resent += u64::from(segment.span);
            if segment.state.has(Status::LOST) {
                self.pending -= u64::from(segment.span);
            }
        }
        segment.state.clear(Status::JUDGED);
        segment.state.set(Status::RESENT.or(Status::AMBIGUOUS));
        let (index, total, pipe) = ((number - self.base) as usize, self.total, self.pipe());
        if let Some(rates) = &mut self.rates {
            rates.resend(index, now, total, pipe);
        }
    }
}
