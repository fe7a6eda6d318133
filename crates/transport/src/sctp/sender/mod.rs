//! Sending half: fragmentation of messages into chunks, assignment to paths, and acknowledgement.

mod limit;
mod notices;
mod partial;
mod sack;
#[cfg(test)]
mod tests;
mod timeout;

use super::backlog::{Backlog, Fragment};
use super::chunk::{DataFlags, Packet, data_header, stamp};
use super::config::Config;
use super::growth::PseudoCumack;
use super::init::Extensions;
use super::notification::Notices;
use super::outstanding::{Outstanding, Place, Record};
use super::path::Path;
use super::retransmission::View;
use super::stats::Stats;
use partial::Partial;
use std::sync::Arc;
use vazao_congestion::Sibling;
use vazao_engine::{RandomStream, Time};

/// Next transmission.
pub(super) struct Turn {
    pub path: usize,
    /// Bytes of its first chunk.
    pub bytes: u32,
    what: Content,
}

enum Content {
    /// Retransmission of chunks lost on a path, from the lowest TSN on.
    Retransmission(usize),
    /// New data, from this fragment on.
    New(Fragment),
}

pub(super) struct Sender {
    config: Arc<Config>,
    pub paths: Vec<Path>,
    pub records: Outstanding,
    /// Initial TSN on the wire.
    initial: u32,
    /// TSNs acknowledged by gap reports.
    gaps: crate::common::RangeSet,
    /// TSNs reported by the current SACK.
    reported: crate::common::RangeSet,
    /// Newly acknowledged TSNs of the current SACK; kept for its capacity.
    scratch: Vec<(u64, u64)>,
    views: Vec<View>,
    siblings: Vec<Sibling>,
    /// Data not yet fragmented into chunks.
    pub backlog: Backlog,
    /// Whether the send buffer did not take all of the application's last write.
    lacks_buffer: bool,
    /// Whether data is sent in I-DATA chunks.
    interleaved: bool,
    /// Bytes cumulatively acknowledged.
    pub acknowledged: u64,
    /// Bytes above the cumulative TSN that the send buffer need not keep either.
    released: u64,
    /// Bytes in flight on all paths.
    pub flight: u64,
    /// The peer's last a_rwnd, less what was sent since.
    peer_window: u64,
    /// TSN that ends the association's fast recovery.
    exit: Option<u64>,
    /// Consecutive timeouts and unanswered heartbeats of all paths.
    pub errors: u32,
    /// Whether every path is inactive.
    is_dormant: bool,
    /// Linux's retransmission path.
    retran: usize,
    /// Path for new data, without CMT.
    current: usize,
    /// Path of the last packet with new data.
    last: usize,
    rng: RandomStream,
    /// Partial reliability state, if both sides support it.
    pub partial: Option<Box<Partial>>,
    pub stats: Stats,
    /// Notifications of the whole association.
    pub notices: Notices,
}

impl Sender {
    pub fn new(config: &Arc<Config>, paths: usize, initial: u32, seed: u64) -> Sender {
        Sender {
            paths: (0..paths).map(|i| Path::new(config, i as u8, seed ^ i as u64)).collect(),
            records: Outstanding::default(),
            initial,
            gaps: crate::common::RangeSet::default(),
            reported: crate::common::RangeSet::default(),
            scratch: Vec::new(),
            views: Vec::new(),
            siblings: Vec::new(),
            backlog: Backlog::new(config),
            lacks_buffer: false,
            interleaved: false,
            acknowledged: 0,
            released: 0,
            flight: 0,
            peer_window: 0,
            exit: None,
            errors: 0,
            is_dormant: false,
            retran: 1.min(paths - 1),
            current: 0,
            last: paths - 1,
            rng: RandomStream::new(seed, "sctp retransmission"),
            partial: None,
            stats: Stats::default(),
            notices: Notices::default(),
            config: config.clone(),
        }
    }

    /// Handles a restart of the peer (RFC 9260 section 5.2.4 A): data sent and not acknowledged is abandoned, since
    /// nobody knows whether it arrived. Unsent data waits for the new association, whose initial TSN is `initial`.
    pub fn restart(&mut self, initial: u32) {
        self.abandon_outstanding();
        let fresh = Sender::new(&self.config, self.paths.len(), initial, u64::from(initial));
        let old = std::mem::replace(self, fresh);
        for (path, old) in self.paths.iter_mut().zip(old.paths) {
            path.stats = old.stats;
        }
        (self.backlog, self.stats, self.notices) = (old.backlog, old.stats, old.notices);
        self.partial = old.partial.map(|partial| Box::new(partial.for_successor()));
        self.acknowledged = self.backlog.cut;
        self.backlog.reopen();
    }

    /// Starts sending with the peer's receive buffer, its maximum of inbound streams, and the common extensions.
    pub fn establish(&mut self, now: Time, window: u32, streams: u16, extensions: Extensions) {
        self.peer_window = u64::from(window);
        self.interleaved = extensions.interleaving;
        self.partial = extensions.partial.then(|| self.partial.take().unwrap_or_default());
        self.backlog.establish(self.config.streams.min(streams.max(1)), self.interleaved);
        self.stats.established.get_or_insert(now);
        for number in 0..self.paths.len() {
            let probe = self.probe_delay(number);
            let slow = self.config.has_slow_heartbeats();
            let path = &mut self.paths[number];
            path.set_peer_window(u64::from(window));
            path.used = now;
            path.heartbeat.wanted = !path.confirmed && !slow;
            let interval = self.config.heartbeat().map(|interval| interval + path.rtt.rto());
            let interval = if path.confirmed || !slow { interval } else { Some(probe) };
            path.heartbeat.due = interval.map_or(Time::NEVER, |interval| now + interval);
        }
        self.refill();
    }

    // ---- writing ------------------------------------------------------------------------------------------------

    /// Bytes in the send buffer.
    fn held(&self) -> u64 {
        self.backlog.written.saturating_sub(self.acknowledged + self.released + self.backlog.forgotten)
    }

    pub fn write(&mut self, now: Time, bytes: u64) -> u64 {
        let held = self.held();
        let taken = bytes.min(self.config.send_buffer.map_or(u64::MAX, |limit| limit.saturating_sub(held)));
        self.lacks_buffer = taken < bytes;
        let idle = self.backlog.cut == self.backlog.written;
        if self.config.host().renews_bursts && self.config.max_burst > 0 {
            // An allowance that found nothing to send has lapsed.
            let more = taken.div_ceil(self.backlog.message_size()) * self.burst();
            let over = taken > 0 && idle && self.paths.iter().all(|path| path.order.marked.is_empty());
            for path in &mut self.paths {
                path.allowance = if over { path.flight } else { path.allowance }.saturating_add(more);
            }
        } else if idle {
            self.refill();
        }
        self.backlog.write(now, taken);
        taken
    }

    /// Whether everything written was cumulatively acknowledged, or abandoned with the peer's knowledge.
    pub fn is_drained(&self) -> bool {
        self.acknowledged + self.backlog.forgotten == self.backlog.written && self.records.is_empty()
    }

    // ---- transmission -------------------------------------------------------------------------------------------

    /// Renews the burst allowance: Max.Burst counts from here (section 6.1 rule D).
    pub fn refill(&mut self) {
        let burst = self.burst();
        for path in &mut self.paths {
            path.allowance = if burst == 0 { u64::MAX } else { path.flight + burst };
        }
    }

    fn burst(&self) -> u64 {
        u64::from(self.config.max_burst) * self.config.segment()
    }

    /// Whether there is nothing to send, whatever the windows admit.
    #[inline]
    pub fn has_nothing(&self) -> bool {
        self.backlog.cut == self.backlog.written
            && self.partial.as_ref().is_none_or(|partial| !partial.is_due())
            && self.paths.iter().all(|path| path.order.marked.is_empty())
    }

    /// Returns the data to send next, if any may be sent, in a packet that is `empty` so far or not.
    #[inline]
    pub fn turn(&mut self, now: Time, empty: bool) -> Option<Turn> {
        if self.partial.is_some() {
            self.abandon_expired(now);
        }
        self.next_retransmission().or_else(|| self.next_new(now, empty))
    }

    /// Adds the data of `turn` to `out`, which has `room` bytes left, enough for at least the first chunk.
    #[inline]
    pub fn fill(&mut self, now: Time, turn: &Turn, room: u32, out: &mut Packet) {
        match &turn.what {
            Content::Retransmission(from) => self.fill_retransmissions(now, *from, turn.path, room, out),
            Content::New(fragment) => self.fill_new(now, turn.path, *fragment, room, out),
        }
    }

    /// Next retransmission; retransmissions precede new data (section 6.1 rule C).
    #[inline]
    fn next_retransmission(&mut self) -> Option<Turn> {
        if self.paths.iter().all(|path| path.order.marked.is_empty()) {
            return None;
        }
        self.views.clear();
        self.views.extend(self.paths.iter().map(View::from));
        let mut found: Option<(u64, usize, usize)> = None;
        for (from, path) in self.paths.iter().enumerate() {
            let Some(&tsn) = path.order.marked.first() else { continue };
            if found.is_some_and(|(lowest, ..)| lowest < tsn) {
                continue;
            }
            let timed_out = self.records.get(tsn).timed_out;
            let target = self.config.retransmission.target(from, timed_out, self.retran, &self.views, &mut self.rng);
            // Section 7.2.4 step 3: one packet of fast retransmissions leaves whether windows have room or not.
            let exempt = (path.window_exempt && path.is_usable()).then_some(from);
            if let Some(target) = target.filter(|&target| path.window_exempt || self.views[target].room).or(exempt) {
                found = Some((tsn, from, target));
            }
        }
        let (tsn, from, target) = found?;
        let length = self.records.get(tsn).length;
        if !self.admits_again(length) {
            return None;
        }
        Some(Turn { path: target, bytes: self.chunk_bytes(u64::from(length)), what: Content::Retransmission(from) })
    }

    fn chunk_bytes(&self, length: u64) -> u32 {
        data_header(self.interleaved) + (length as u32).next_multiple_of(4)
    }

    fn fill_retransmissions(&mut self, now: Time, from: usize, target: usize, room: u32, out: &mut Packet) {
        self.paths[from].window_exempt = false;
        let mut left = room;
        while let Some(&tsn) = self.paths[from].order.marked.first() {
            let length = self.records.get(tsn).length;
            let size = self.chunk_bytes(u64::from(length));
            if size > left || !self.admits_again(length) {
                break;
            }
            left -= size;
            self.retransmit(now, tsn, from, target, out);
        }
    }

    fn retransmit(&mut self, now: Time, tsn: u64, from: usize, target: usize, out: &mut Packet) {
        self.paths[from].order.remove(tsn, Place::Marked);
        let path = &mut self.paths[target];
        let first = path.order.lowest_in_flight(&self.records).is_none_or(|lowest| tsn < lowest);
        let record = self.records.get_mut(tsn);
        record.fast |= !record.timed_out || !self.config.fast_after_timeout;
        record.place = path.order.retransmit(tsn, record.fast);
        record.path = target as u8;
        let bytes = record.bytes();
        record.missing = 0;
        record.sent = now;
        record.transmissions = record.transmissions.saturating_add(1);
        path.stats.retransmissions += 1;
        let cause = if record.timed_out {
            &mut path.stats.timeout_retransmissions
        } else {
            &mut path.stats.fast_retransmissions
        };
        *cause += 1;
        let data = record.data(self.initial.wrapping_add(tsn as u32));
        out.interleaved = self.interleaved;
        out.data.push(data);
        self.paths[from].held -= bytes;
        self.paths[target].held += bytes;
        if from != target {
            self.paths[from].cumacks.iter_mut().for_each(PseudoCumack::on_departure);
        }
        self.count(now, target, bytes);
        // Restarts T3-rtx by sections 6.3.2 rule R1 and 7.2.4 step 4.
        let path = &mut self.paths[target];
        if (first && !self.config.host().restarts_timer_cumulatively) || path.timer == Time::NEVER {
            path.timer = now + path.rtt.rto();
        }
    }

    fn count(&mut self, now: Time, path: usize, bytes: u64) {
        self.flight += bytes;
        self.peer_window = self.peer_window.saturating_sub(bytes);
        let path = &mut self.paths[path];
        path.flight += bytes;
        path.used = now;
        path.stats.chunks += 1;
        path.stats.bytes += bytes;
    }

    #[inline]
    fn next_new(&mut self, now: Time, empty: bool) -> Option<Turn> {
        let fragment = self.peek(now, true)?;
        let waits = self.config.host().retransmits_first && self.paths.iter().any(|path| !path.order.marked.is_empty());
        if waits || !self.admits(fragment.length) || (empty && self.is_delayed(&fragment)) {
            return None;
        }
        let path = self.choose(now)?;
        Some(Turn { path, bytes: self.chunk_bytes(fragment.length), what: Content::New(fragment) })
    }

    #[inline]
    fn fill_new(&mut self, now: Time, target: usize, mut fragment: Fragment, room: u32, out: &mut Packet) {
        let mut left = room;
        loop {
            let size = self.chunk_bytes(fragment.length);
            if size > left {
                break;
            }
            left -= size;
            self.send_new(now, target, &fragment, out);
            if left < self.chunk_bytes(1) && self.partial.is_none() && self.backlog.is_in_order() {
                break; // Nothing fits, and looking at what comes next would change nothing.
            }
            match self.peek(now, false) {
                Some(next) if self.admits(next.length) && self.paths[target].takes_new() => fragment = next,
                _ => break,
            }
        }
        self.last = target;
    }

    /// Section 6.1 rule A: whether the peer has room, or nothing is in flight, so that the data probes its window.
    /// Never more than half of the range of a gap report or stream sequence number is outstanding.
    fn admits(&self, bytes: u64) -> bool {
        (bytes <= self.peer_window || self.flight == 0) && self.records.next() - self.records.first < 1 << 15
    }

    /// Whether the peer has room for a retransmission of `length` bytes, if this host asks.
    fn admits_again(&self, length: u16) -> bool {
        !self.config.host().retransmits_within_peer_window || self.admits(u64::from(length))
    }

    /// Nagle's algorithm: whether a single-chunk message waits for more.
    fn is_delayed(&self, fragment: &Fragment) -> bool {
        let header = u64::from(data_header(self.interleaved));
        self.config.host().delays_small_messages
            && self.flight > 0
            && fragment.flags.has(DataFlags::WHOLE)
            && self.backlog.waiting(header).is_some_and(|bytes| bytes + header + 4 <= u64::from(self.config.room()))
    }

    fn choose(&mut self, now: Time) -> Option<usize> {
        if self.flight == 0 && !self.config.host().keeps_idle_windows {
            self.paths.iter_mut().for_each(|path| path.decay(now));
        }
        if self.config.cmt {
            let (peer, paths) = (self.peer_window + self.flight, self.paths.len() as u64);
            let share = self.config.buffer_split.share(self.config.send_buffer, peer, paths);
            // A window probe (section 6.1 rule A) is exempt from sharing.
            let share = if self.flight == 0 { u64::MAX } else { share };
            self.paths.iter_mut().for_each(|path| path.share = share);
            return self.config.path_choice.choose(&self.paths, self.last);
        }
        // The primary path, or while it is inactive the next active one; the primary again if there is none.
        let active = self.paths.iter().position(Path::is_usable).unwrap_or(0);
        if self.current != active && self.flight > 0 {
            self.paths[active].changeover.begin(self.records.next());
        }
        self.current = active;
        self.paths[active].has_room().then_some(active)
    }

    fn send_new(&mut self, now: Time, target: usize, fragment: &Fragment, out: &mut Packet) {
        let tsn = self.records.next();
        let Fragment { stream, message, number, offset, fsn, length, flags } = *fragment;
        // The stamp identifies the position in the stream, or, for unordered messages, in the message.
        let place = if flags.has(DataFlags::UNORDERED) { u64::from(message as u32) } else { number };
        let record = Record {
            sent: now,
            expiry: self.backlog.expiry(message),
            number,
            message: message as u32,
            fsn: fsn.saturating_sub(u32::from(self.config.host().skips_first_fragment)),
            stamp: stamp(stream, place, offset),
            length: length as u16,
            stream,
            transmissions: 1,
            flags,
            path: target as u8,
            place: Place::Ahead,
            missing: 0,
            fast: false,
            timed_out: false,
            released: false,
        };
        out.interleaved = self.interleaved;
        out.data.push(record.data(self.initial.wrapping_add(tsn as u32)));
        self.records.push(record);
        self.backlog.take(fragment);
        self.stats.messages_sent += u64::from(flags.has(DataFlags::END));
        self.count(now, target, length);
        let path = &mut self.paths[target];
        path.held += length;
        path.order.send(tsn);
        path.timed.get_or_insert((tsn, now));
        if path.timer == Time::NEVER {
            path.timer = now + path.rtt.rto();
        }
    }
}
