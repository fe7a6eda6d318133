//! Streams: sending and receiving state and flow control limits (RFC 9000 sections 2 to 4).

use super::frame::{StreamFrame, stamp};
use crate::common::{RangeSet, Reassembly};
use vazao_engine::{Duration, Time};

/// Sending half of a stream, or of the CRYPTO data of a space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    /// Offset after the last byte written.
    pub end: u64,
    /// Whether nothing more will be written.
    pub closed: bool,
    /// Offset before which everything was sent at least once.
    pub sent: u64,
    fin_sent: bool,
    fin_acked: bool,
    acked: RangeSet,
    /// Lost data to retransmit.
    lost: RangeSet,
    /// Data skipped when later data was sent.
    skipped: RangeSet,
    fin_lost: bool,
    /// Whether the peer must learn of the stream although there is no data yet.
    pub opens: bool,
    /// Error code of a reset, and whether the peer has acknowledged it.
    pub reset: Option<u64>,
    pub reset_known: bool,
}

impl Outgoing {
    /// State of a stream without a sending half.
    pub fn none() -> Outgoing {
        Outgoing { closed: true, reset: Some(0), reset_known: true, ..Outgoing::default() }
    }

    /// Whether there is anything to send below the flow control `limit`.
    #[inline]
    pub fn is_pending(&self, limit: u64) -> bool {
        let ends = self.closed && !self.fin_sent && self.sent == self.end;
        let late = !self.lost.is_empty() || !self.skipped.is_empty() || self.fin_lost;
        let any = late || self.sent < self.end.min(limit) || ends || self.opens;
        any && self.reset.is_none()
    }
    /// Whether data was written that was never sent.
    pub fn has_unsent(&self) -> bool {
        self.sent < self.end && self.reset.is_none()
    }
    /// Whether all data and the end were acknowledged, or the reset was.
    pub fn is_finished(&self) -> bool {
        match self.reset {
            Some(_) => self.reset_known,
            None => self.fin_acked && (self.end == 0 || self.acked.contains(0, self.end)),
        }
    }
    /// Resets the stream; returns its final size. `None`: nothing is left to reset.
    pub fn reset_with(&mut self, code: u64) -> Option<u64> {
        if self.reset.is_some() || self.is_finished() {
            return None;
        }
        (self.reset, self.closed) = (Some(code), true);
        Some(self.sent)
    }
    /// Bytes acknowledged contiguously from the start.
    pub fn acknowledged(&self) -> u64 {
        self.acked.range_at(0).map_or(0, |(_, end)| end)
    }

    /// Returns the next part to send, at most `most` bytes: offset, length, and whether it has FIN.
    #[inline]
    pub fn next(&mut self, most: u64, limit: u64) -> Option<(u64, u64, bool)> {
        let late = if self.lost.is_empty() { &mut self.skipped } else { &mut self.lost };
        let missing = late.iter().next();
        if let Some((start, end)) = missing {
            let length = (end - start).min(most);
            if length == 0 {
                return None;
            }
            late.remove_below(start + length);
            let fin = self.closed && start + length == self.end;
            self.fin_lost &= !fin;
            self.fin_sent |= fin;
            return Some((start, length, fin));
        }
        if self.fin_lost {
            self.fin_lost = false;
            return Some((self.end, 0, true));
        }
        let length = most.min(self.end.min(limit).saturating_sub(self.sent));
        let fin = self.closed && self.sent + length == self.end && !self.fin_sent;
        let opens = std::mem::take(&mut self.opens);
        if length == 0 && !fin && !opens {
            return None;
        }
        let start = self.sent;
        self.sent += length;
        self.fin_sent |= fin;
        Some((start, length, fin))
    }

    /// Whether the next part is a retransmission.
    pub fn is_retransmitting(&self) -> bool {
        !self.lost.is_empty() || self.fin_lost
    }

    /// Skips up to `bytes` of new data below `most`, which is sent before all later data; returns the bytes skipped.
    pub fn skip(&mut self, bytes: u64, most: u64) -> u64 {
        let skipped = bytes.min(self.end.min(most).saturating_sub(self.sent));
        self.skipped.insert(self.sent, self.sent + skipped, |_, _| {});
        self.sent += skipped;
        skipped
    }

    /// Bytes never sent.
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.end - self.sent
    }

    /// Whether a part was acknowledged, including the end of the stream if `fin`.
    pub fn has(&self, start: u64, end: u64, fin: bool) -> bool {
        (start == end || self.acked.contains(start, end)) && (!fin || self.fin_acked)
    }

    /// Restarts sending from the beginning.
    pub fn rewind(&mut self) {
        *self = Outgoing { end: self.end, closed: self.closed, ..Outgoing::default() };
    }

    #[inline]
    pub fn acknowledge(&mut self, start: u64, end: u64, fin: bool) {
        self.fin_acked |= fin;
        self.fin_lost &= !fin;
        self.acked.insert(start, end, |_, _| {});
        if self.lost.first_beyond(start).is_some_and(|(from, _)| from < end) {
            self.lost = difference(&self.lost, start, end);
        }
    }

    pub fn on_lost(&mut self, start: u64, end: u64, fin: bool) {
        self.opens |= end == 0 && self.sent == 0;
        self.fin_lost |= fin && !self.fin_acked;
        // Data delivered by another copy is not missing.
        let mut at = start;
        while at < end {
            match self.acked.first_beyond(at) {
                Some((from, to)) if from < end => {
                    self.lost.insert(at, from.max(at), |_, _| {});
                    at = to;
                }
                _ => {
                    self.lost.insert(at, end, |_, _| {});
                    break;
                }
            }
        }
    }
}

/// Returns a set without `start..end`.
fn difference(set: &RangeSet, start: u64, end: u64) -> RangeSet {
    let mut rest = RangeSet::default();
    for (s, e) in set.iter() {
        rest.insert(s, e.min(start), |_, _| {});
        rest.insert(s.max(end), e, |_, _| {});
    }
    rest
}

/// Receiving half of a stream, or of the CRYPTO data of a space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incoming {
    pub order: Reassembly,
    /// Offset after the highest byte received, which flow control counts.
    pub highest: u64,
    pub fin: Option<u64>,
    /// Error code of the peer's reset.
    pub reset: Option<u64>,
    /// Whether the application has asked the peer to stop sending.
    pub unwanted: bool,
}

impl Incoming {
    /// Inserts received data; returns the growth of `highest` and the number of new bytes.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64, fin: bool) -> (u64, u64) {
        let grown = end.saturating_sub(self.highest);
        self.highest += grown;
        if fin {
            self.fin = Some(end);
        }
        (grown, self.order.insert(start, end))
    }

    /// State of a stream without a receiving half.
    pub fn none() -> Incoming {
        Incoming { fin: Some(0), ..Incoming::default() }
    }

    /// Handles the peer's reset with final size `size`: returns the growth of `highest` and the bytes that will never
    /// be read. `None`: everything has arrived already.
    pub fn on_reset(&mut self, code: u64, size: u64) -> Option<(u64, u64)> {
        if self.reset.is_some() || self.fin == Some(self.order.next) || size < self.highest {
            return None;
        }
        let (grown, unread) = (size - self.highest, size - self.order.read);
        self.order.skip_to(size);
        self.highest = size;
        (self.fin, self.reset) = (Some(size), Some(code));
        Some((grown, unread))
    }

    /// Whether all data has arrived and been read.
    pub fn is_drained(&self) -> bool {
        self.fin == Some(self.order.read)
    }
}

/// Flow control window of a receiver. It advances as data is read, and is auto-tuned: it doubles when half of it was
/// read in less than two round-trip times, as in Chromium and quic-go.
///
/// RFC 9000 section 4.2 leaves open when a new limit is announced, but not so late that the sender waits for it. If it
/// is announced once a part `p` of the window was read, up to `p` of each window is not announced while the sender waits, which
/// therefore sends `1 - p` of a window in a round trip at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Limit announced to the sender.
    pub limit: u64,
    size: u64,
    most: u64,
    /// Part of the window that is read before a new limit is announced.
    part: f64,
    /// When half of the window was last read, and the bytes read by then.
    half: Option<(Time, u64)>,
}

impl Window {
    pub fn new(size: u64, most: u64, part: f64) -> Window {
        Window { limit: size, size, most, part, half: None }
    }

    /// Records that `read` bytes were read; returns the new limit, if it should be announced.
    #[inline]
    pub fn on_read(&mut self, now: Time, read: u64, rtt: Duration) -> Option<u64> {
        let before = self.size;
        if read - self.half.map_or(0, |(_, at)| at) >= self.size.div_ceil(2) {
            if self.half.is_some_and(|(since, _)| rtt > Duration::ZERO && now.since(since) < rtt * 2) {
                self.size = (2 * self.size).min(self.most);
            }
            self.half = Some((now, read));
        }
        let limit = read + self.size;
        let enough = ((self.size as f64 * self.part) as u64).max(1);
        // A wider window is announced at once.
        let is_due = limit - self.limit >= enough || self.size > before;
        is_due.then(|| {
            self.limit = limit;
            limit
        })
    }
}

/// Scheduling key of a stream with data: urgency, turn, stream number.
pub(crate) type Turn = (u8, u64, u64);

/// Quantum of a packet per turn.
pub(crate) const PACKET: u64 = 0;
/// Quantum of everything a stream has.
pub(crate) const ALL: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(crate) struct StreamState {
    pub out: Outgoing,
    pub inc: Incoming,
    /// Limit set by the peer, and our window.
    pub peer_limit: u64,
    pub window: Window,
    /// Whether the limit must be announced.
    pub limit_due: bool,
    /// Scheduling key, while the stream has data to send.
    pub queued: Option<Turn>,
    /// RFC 9218's urgency, lowest first; streams of the same urgency take turns or follow each other.
    pub urgency: u8,
    /// Bytes per turn: [`PACKET`], [`ALL`], or between; and those left of this turn.
    pub quantum: u64,
    pub turn_left: u64,
}

impl StreamState {
    pub fn new(peer_limit: u64, window: Window) -> StreamState {
        StreamState {
            out: Outgoing::default(),
            inc: Incoming::default(),
            peer_limit,
            window,
            limit_due: false,
            queued: None,
            urgency: 3,
            quantum: PACKET,
            turn_left: 0,
        }
    }

    /// Whether both halves are finished.
    pub fn is_settled(&self) -> bool {
        self.out.is_finished() && self.inc.is_drained()
    }

    /// Returns the next frame of at most `room` bytes, while the connection's flow control permits `credit` new bytes.
    #[inline]
    pub fn frame(&mut self, id: u64, room: u32, credit: u64) -> Option<StreamFrame> {
        let header = StreamFrame::header(id, self.out.sent.max(1), u64::from(room));
        let most = u64::from(room.checked_sub(header)?);
        let limit = self.peer_limit.min(self.out.sent + credit);
        let (offset, length, fin) = self.out.next(most, limit)?;
        Some(StreamFrame { id, offset, length: length as u16, fin, stamp: stamp(id, offset) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lost_data_is_retransmitted_and_delivered_data_is_not() {
        let mut out = Outgoing { end: 300, closed: true, ..Outgoing::default() };
        let parts: Vec<_> = std::iter::from_fn(|| out.next(100, u64::MAX)).collect();
        assert_eq!(parts, [(0, 100, false), (100, 100, false), (200, 100, true)]);
        out.acknowledge(100, 200, false);
        out.on_lost(0, 300, true);
        let parts: Vec<_> = std::iter::from_fn(|| out.next(100, u64::MAX)).collect();
        assert_eq!(parts, [(0, 100, false), (200, 100, true)]);
        out.acknowledge(0, 100, false);
        assert!(!out.is_finished());
        out.acknowledge(200, 300, true);
        assert!(out.is_finished());
    }

    #[test]
    fn a_bare_fin_is_sent_and_retransmitted() {
        let mut out = Outgoing { closed: true, ..Outgoing::default() };
        assert_eq!(out.next(100, 0), Some((0, 0, true)));
        assert_eq!(out.next(100, 0), None);
        out.on_lost(0, 0, true);
        assert_eq!(out.next(100, 0), Some((0, 0, true)));
        out.acknowledge(0, 0, true);
        assert!(out.is_finished());
    }

    #[test]
    fn an_acknowledged_fin_is_not_retransmitted() {
        let mut out = Outgoing { end: 100, closed: true, ..Outgoing::default() };
        assert_eq!(out.next(100, 100), Some((0, 100, true)));
        out.on_lost(0, 100, true);
        out.acknowledge(0, 100, true);
        assert!(!out.is_pending(100) && out.next(100, 100).is_none());
    }

    #[test]
    fn a_limiting_window_grows() {
        let mut window = Window::new(100, 1000, 0.5);
        let (rtt, ms) = (Duration::from_millis(10), |ms: u64| Time::from_nanos(ms * 1_000_000));
        assert_eq!(window.on_read(ms(0), 40, rtt), None);
        assert_eq!(window.on_read(ms(5), 50, rtt), Some(150));
        assert_eq!(window.on_read(ms(10), 100, rtt), Some(300));
        // Slow reading: the window is not the limit.
        assert_eq!(window.on_read(ms(100), 200, rtt), Some(400));
    }

    /// An eighth of 100 bytes is 12: limits follow what is read in steps of that, and the window widens as late as it does
    /// when they follow in halves.
    #[test]
    fn limits_are_announced_in_steps() {
        let mut window = Window::new(100, 1000, 0.125);
        let (rtt, ms) = (Duration::from_millis(10), |ms: u64| Time::from_nanos(ms * 1_000_000));
        let told = [(0, 11), (1, 12), (2, 23), (3, 24), (5, 60), (10, 109), (11, 110)];
        let told = told.map(|(at, read)| window.on_read(ms(at), read, rtt));
        assert_eq!(told, [None, Some(112), None, Some(124), Some(160), Some(209), Some(310)]);
    }

    proptest! {
        /// Whatever is lost and acknowledged in whatever order, everything arrives.
        #[test]
        fn everything_arrives(end in 1_u64..2000, most in 1_u64..300, fates in prop::collection::vec(0_u8..4, 1..200)) {
            let mut out = Outgoing { end, closed: true, ..Outgoing::default() };
            let mut inc = Incoming::default();
            let mut fates = fates.into_iter().cycle();
            let mut last_lost = Vec::new();
            for step in 0..10_000 {
                let Some((start, length, fin)) = out.next(most, u64::MAX) else {
                    if out.is_finished() {
                        break;
                    }
                    for (start, end, fin) in std::mem::take(&mut last_lost) {
                        out.on_lost(start, end, fin);
                    }
                    fates.next();
                    continue;
                };
                // In the end everything is delivered, as the test requires.
                if step < 1_000 && fates.next() == Some(0) {
                    last_lost.push((start, start + length, fin));
                } else {
                    inc.insert(start, start + length, fin);
                    out.acknowledge(start, start + length, fin);
                }
            }
            prop_assert!(out.is_finished());
            prop_assert_eq!((inc.order.next, inc.fin), (end, Some(end)));
        }
    }
}
