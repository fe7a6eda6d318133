//! Assignment of data to paths by the schedulers of Multipath TCP, as RFC 10069 leaves it to implementations (section
//! 5.5). Data is bound to a path when it leaves; only data that a scheduler assigns in advance, or sends twice, waits
//! in a path's queue.

use super::outgoing::{MIN_ROOM, Scope};
use super::path::Stage;
use super::*;
use crate::common::PathState;
use crate::common::scheduler::{Decision, PacketScheduler, Situation, fastest};
use crate::quic::frame::{StreamFrame, stamp};
use crate::quic::packet::{Datagram, Header, number_bytes};
use crate::quic::sent::{Content, Sent};
use crate::quic::stream::Turn;
use vazao_congestion::Sibling;
use vazao_engine::Ecn;

/// Bytes that queued STREAM frames leave free in a packet for its header and an ACK frame.
const RESERVE: u32 = 80;

/// Part of a stream that was sent or skipped.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Position of its first byte among all stream bytes, in the order of sending.
    octet: u64,
    frame: StreamFrame,
    /// Path of the first transmission; `None`: skipped.
    path: Option<usize>,
}

/// Packet scheduling over several paths.
pub(super) struct PathScheduling {
    scheduler: Box<dyn PacketScheduler>,
    /// Paths as schedulers see them.
    views: Vec<PathState>,
    /// Parts in the order of first transmission, from the oldest unacknowledged one on.
    parts: VecDeque<Part>,
    /// Path that the scheduler has chosen for the next data.
    decided: Option<usize>,
    pub wake_at: Time,
    siblings: Vec<Sibling>,
}

impl PathScheduling {
    pub fn new(scheduler: Box<dyn PacketScheduler>) -> PathScheduling {
        PathScheduling {
            scheduler,
            views: Vec::new(),
            parts: VecDeque::new(),
            decided: None,
            wake_at: Time::NEVER,
            siblings: Vec::new(),
        }
    }

    /// Whether there is anything to decide: a path has room, or data may be queued for one.
    fn can_decide(&self) -> bool {
        let queues = self.scheduler.queues();
        self.views.iter().any(|view| view.usable && (queues || view.has_room))
    }

    /// Records the first transmission or assignment of a frame to a path; `sent` counts all stream bytes including it.
    pub fn on_sent(&mut self, number: usize, path: &mut Path, sent: u64, frame: StreamFrame) {
        let octet = sent - u64::from(frame.length);
        if path.copied >= octet {
            path.copied = path.copied.max(sent);
        }
        self.parts.push_back(Part { octet, frame, path: Some(number) });
    }

    /// Informs the scheduler that `bytes` of new data went to the path it chose.
    pub fn on_given(&mut self, number: usize, bytes: u64) {
        if self.decided == Some(number) {
            self.scheduler.on_sent(number, bytes);
        }
    }
}

impl Connection {
    /// Fills `out` with the next datagram of any path.
    pub(super) fn poll_paths(&mut self, now: Time, out: &mut Datagram) -> bool {
        for path in 0..self.paths.len() {
            if self.can_send(&self.paths[path]) && self.poll_path(now, path, out) {
                return true;
            }
        }
        while let Some((path, scope)) = self.choose(now) {
            if self.path_datagram(now, path, scope, out) {
                return true;
            }
            // Data queued for a path may have arrived on another.
            if scope != Scope::Queue || !self.paths[path].queue.is_empty() {
                break;
            }
        }
        let alone = !self.paths.iter().any(|path| self.is_answered(path));
        for path in 0..self.paths.len() {
            if self.can_send(&self.paths[path]) {
                // A probe carries data (RFC 9002 section 6.2.4), unless a responsive path can carry it.
                let scope = if alone && self.paths[path].is_probing() { Scope::All } else { Scope::Nothing };
                if self.path_datagram(now, path, scope, out) {
                    return true;
                }
            }
        }
        self.report_abandoned(now, out)
    }

    /// Whether a path can carry data and its packets are being acknowledged.
    fn is_answered(&self, path: &Path) -> bool {
        self.is_open(path) && path.validated && path.recovery.pto_count == 0
    }

    /// Path for frames that belong to no path: the fastest responsive one.
    pub(super) fn control_path(&self) -> Option<usize> {
        let open = self.paths.iter().enumerate().filter(|(_, path)| self.is_open(path) && path.validated);
        open.min_by_key(|(_, path)| (path.recovery.pto_count, path.recovery.rtt.srtt())).map(|(number, _)| number)
    }

    /// Time at which the scheduler must be called even if nothing happens.
    #[inline]
    pub(super) fn next_decision(&self) -> Time {
        self.multipath.as_ref().map_or(Time::NEVER, |multipath| multipath.scheduling.wake_at)
    }

    /// Time at which packets received on a path abandoned since must be acknowledged on another.
    pub(super) fn next_report(&self) -> Time {
        let abandoned = self.paths.iter().filter(|path| path.stage == Stage::Abandoned);
        let due = abandoned.map(|path| path.acks[Space::Data as usize].due()).min();
        due.filter(|_| self.control_path().is_some()).unwrap_or(Time::NEVER)
    }

    /// Acknowledges packets received on an abandoned path (section 3.4.3).
    fn report_abandoned(&mut self, now: Time, out: &mut Datagram) -> bool {
        let is_due = |path: &Path| path.stage == Stage::Abandoned && path.acks[Space::Data as usize].due() <= now;
        let Some((gone, carrier)) = self.paths.iter().position(is_due).zip(self.control_path()) else { return false };
        let sent = &self.paths[carrier].recovery.spaces[Space::Data as usize];
        let (number, bytes) = (sent.next_number(), number_bytes(sent.unacknowledged()));
        let overhead = Kind::OneRtt.overhead(bytes);
        let acks = &mut self.paths[gone].acks[Space::Data as usize];
        let room = self.config.datagram - overhead;
        let Some(ack) = acks.frame(now, &mut out.ranges, room, Some(gone as u8)) else { return false };
        out.frames.push(Frame::Ack(ack));
        out.packets.push(Header {
            kind: Kind::OneRtt,
            number,
            number_bytes: bytes as u8,
            frames: 1,
            ranges: ack.ranges,
        });
        out.bytes = overhead + ack.bytes();
        self.on_packet_sent(now, carrier, Sent::new(now, 0, false, None, Content::Nothing, Space::Data), Ecn::NotEct);
        self.on_datagram_sent(now, carrier, false, out);
        true
    }

    // ---- scheduling ---------------------------------------------------------------------------------------------------

    /// Returns the path of the next packet with more than an acknowledgement, and its content.
    fn choose(&mut self, now: Time) -> Option<(usize, Scope)> {
        loop {
            let rooms = self.look(now);
            let has_room = |path: &usize| rooms & 1 << *path != 0;
            if let Some(path) = (0..self.paths.len()).filter(has_room).find(|&path| !self.paths[path].queue.is_empty())
            {
                return Some((path, Scope::Queue));
            }
            let control = !self.frames.is_empty() || self.datagrams.is_waiting();
            let decision = match self.has_content() {
                true if control => Decision::send(self.fastest_with_room()),
                true => self.decide(now),
                false => Decision::Wait,
            };
            let done = match decision {
                Decision::Wait => false,
                Decision::Send { path, .. } if control => return Some((path, Scope::Control)),
                Decision::Send { path, skip } => {
                    let view = *self.views().get(path)?;
                    self.skip(skip);
                    if view.is_available() {
                        return Some((path, Scope::All));
                    }
                    view.usable && self.assign(path)
                }
                Decision::Copy { path } if self.views().get(path).is_some_and(PathState::is_available) => {
                    if !self.copy(path) {
                        return Some((path, Scope::All));
                    }
                    true
                }
                Decision::Copy { .. } => false,
                Decision::Repeat { path, penalised } => self.repeat(now, path, penalised),
            };
            if !done {
                self.mark_app_limited(now, rooms);
                return None;
            }
        }
    }

    /// Updates the paths' state for the scheduler; returns a bitmask of the paths on which a packet may leave.
    fn look(&mut self, now: Time) -> u64 {
        let Some(mut multipath) = self.multipath.take() else { return 0 };
        multipath.scheduling.decided = None;
        let (wanted, paces) = (self.has_content(), self.paces());
        let alone = !self.paths.iter().any(|path| self.is_answered(path));
        let mut rooms = 0;
        multipath.scheduling.views.clear();
        for number in 0..self.paths.len() {
            let path = &self.paths[number];
            let usable = self.is_open(path) && path.validated && (alone || path.recovery.pto_count == 0);
            let path = &mut self.paths[number];
            let has_room = usable && path.may_send(now, wanted || !path.queue.is_empty(), paces);
            rooms |= u64::from(has_room) << number;
            multipath.scheduling.views.push(path.view(usable, has_room && path.queue.is_empty()));
        }
        let views = &mut multipath.scheduling.views;
        if views.iter().any(|view| view.usable && !view.backup) {
            views.iter_mut().filter(|view| view.backup).for_each(|view| (view.usable, view.has_room) = (false, false));
        }
        self.multipath = Some(multipath);
        rooms
    }

    fn mark_app_limited(&mut self, now: Time, rooms: u64) {
        let paces = self.paces();
        for (number, path) in self.paths.iter_mut().enumerate().filter(|(number, _)| rooms & 1 << number != 0) {
            debug_assert!(number < 64);
            path.may_send(now, false, paces);
        }
    }

    fn views(&self) -> &[PathState] {
        self.multipath.as_ref().map_or(&[], |multipath| &multipath.scheduling.views)
    }

    fn fastest_with_room(&self) -> Option<usize> {
        let available = self.views().iter().enumerate().filter(|(_, view)| view.is_available());
        available.min_by_key(|(_, view)| view.srtt).map(|(number, _)| number)
    }

    /// Asks the scheduler.
    fn decide(&mut self, now: Time) -> Decision {
        self.prune();
        let Some(mut multipath) = self.multipath.take_if(|multipath| multipath.scheduling.can_decide()) else {
            return Decision::Wait;
        };
        let PathScheduling { scheduler, views, parts, decided, wake_at, .. } = &mut multipath.scheduling;
        let streams = &self.streams;
        let is_retransmitting =
            |turn: &Turn| streams.map.get(&turn.2).is_some_and(|stream| stream.out.is_retransmitting());
        // If the peer's window is closed, only a retransmission may open it again, whichever stream is first.
        let is_shut = streams.data_sent >= streams.peer_limit;
        let repeats = streams.ready.first().is_some_and(is_retransmitting)
            || is_shut && streams.ready.iter().any(is_retransmitting);
        debug_assert_eq!(streams.waiting, streams.ready.iter().map(|turn| streams.map[&turn.2].out.unsent()).sum());
        let waiting = if repeats { 0 } else { streams.waiting };
        let bare = waiting == 0;
        let (sent, window) = (streams.data_sent, streams.peer_limit - streams.data_sent);
        let oldest = parts.front();
        let una = oldest.map_or(sent, |part| part.octet);
        let blocker = if waiting > 0 && window == 0 { oldest.and_then(|part| part.path) } else { None };
        let mut decision = scheduler.decide(&Situation {
            now,
            paths: views,
            with_room: u64::MAX,
            waiting,
            window,
            buffer: streams.peer_limit - una,
            outstanding: sent - una,
            sent,
            blocker,
        });
        if decision == Decision::Wait && bare {
            // New data may wait for a busy path, but a retransmission or the end of a stream uses a free one.
            decision = Decision::send(fastest(views).filter(|&path| views[path].has_room));
        }
        *decided = match decision {
            Decision::Send { path, .. } | Decision::Copy { path } => Some(path),
            Decision::Wait | Decision::Repeat { .. } => None,
        };
        *wake_at = if decision == Decision::Wait { scheduler.wake() } else { Time::NEVER };
        self.multipath = Some(multipath);
        decision
    }

    /// Skips the next stream data, leaving it for other paths.
    fn skip(&mut self, bytes: u64) {
        let Some(&(_, _, id)) = self.streams.ready.first().filter(|_| bytes > 0) else { return };
        let credit = self.streams.peer_limit - self.streams.data_sent;
        let Some(stream) = self.streams.map.get_mut(&id) else { return };
        let (start, limit) = (stream.out.sent, stream.peer_limit.min(stream.out.sent + credit));
        let skipped = stream.out.skip(bytes, limit);
        let octet = self.streams.data_sent;
        self.streams.data_sent += skipped;
        self.streams.waiting -= skipped;
        let Some(multipath) = &mut self.multipath else { return };
        let step = u64::from(self.config.datagram - RESERVE);
        for at in (0..skipped).step_by(step as usize) {
            let frame = StreamFrame {
                id,
                offset: start + at,
                length: step.min(skipped - at) as u16,
                fin: false,
                stamp: stamp(id, start + at),
            };
            multipath.scheduling.parts.push_back(Part { octet: octet + at, frame, path: None });
        }
    }

    /// Queues the next stream data for a path; returns false if there is none.
    fn assign(&mut self, path: usize) -> bool {
        let mut taken = Datagram::default();
        let mut left = self.config.datagram - RESERVE;
        self.fill_streams(path, &mut left, &mut taken);
        let frames = taken.frames.into_iter().filter_map(|frame| match frame {
            Frame::Stream(frame) => Some(frame),
            _ => None,
        });
        let before = self.paths[path].queue.len();
        self.paths[path].queue.extend(frames);
        self.paths[path].queue.len() > before
    }

    /// Queues the oldest unacknowledged data that a path has not sent itself; returns false if there is none.
    fn copy(&mut self, number: usize) -> bool {
        let Some(multipath) = &self.multipath else { return false };
        let parts = &multipath.scheduling.parts;
        let path = &mut self.paths[number];
        path.copied = path.copied.max(parts.front().map_or(self.streams.data_sent, |part| part.octet));
        let at = parts.partition_point(|part| part.octet + u64::from(part.frame.length) <= path.copied);
        let missing = parts.range(at..).find(|part| !is_done(&self.streams, &part.frame));
        let Some(&Part { octet, frame, .. }) = missing else { return false };
        path.copied = octet + u64::from(frame.length);
        path.queue.push_back(frame);
        self.stats.copies += 1;
        true
    }

    /// Queues the oldest unacknowledged data of another path for retransmission, and penalises that path (Raiciu et
    /// al., NSDI 2012, section 4.2).
    fn repeat(&mut self, now: Time, number: usize, penalised: Option<usize>) -> bool {
        if let Some(slow) = penalised.and_then(|slow| self.paths.get_mut(slow)) {
            slow.penalise(now);
        }
        let available = self.views().get(number).is_some_and(PathState::is_available);
        let front = self.multipath.as_ref().and_then(|multipath| multipath.scheduling.parts.front());
        let Some(&Part { octet, frame, path: Some(holder) }) = front.filter(|_| available) else { return false };
        let path = &mut self.paths[number];
        if holder == number || path.repeated > octet {
            return false;
        }
        path.repeated = octet + u64::from(frame.length);
        path.queue.push_back(frame);
        self.stats.copies += 1;
        true
    }

    // ---- sent data ----------------------------------------------------------------------------------------------------

    /// Removes acknowledged parts from the front.
    fn prune(&mut self) {
        let streams = &self.streams;
        let Some(multipath) = &mut self.multipath else { return };
        let parts = &mut multipath.scheduling.parts;
        while parts.front().is_some_and(|part| is_done(streams, &part.frame)) {
            parts.pop_front();
        }
    }

    pub(super) fn fill_queue(&mut self, path: usize, left: &mut u32, out: &mut Datagram) {
        while let Some(frame) = self.paths[path].queue.pop_front() {
            if is_done(&self.streams, &frame) {
                continue;
            }
            let header = StreamFrame::header(frame.id, frame.offset.max(1), u64::from(frame.length));
            let fits = left.saturating_sub(header).min(u32::from(frame.length)) as u16;
            if fits < frame.length && u64::from(fits) < MIN_ROOM || frame.bytes() > *left && fits == frame.length {
                self.paths[path].queue.push_front(frame);
                return;
            }
            let part = if fits < frame.length {
                let (part, rest) = frame.split(fits);
                self.paths[path].queue.push_front(rest);
                part
            } else {
                frame
            };
            *left -= part.bytes();
            out.frames.push(Frame::Stream(part));
        }
    }

    // ---- coupling -------------------------------------------------------------------------------------------------------

    /// Shows a coupled congestion control the state of the other paths.
    #[inline]
    pub(super) fn update_coupling(&mut self, number: usize) {
        if self.multipath.is_none() || self.paths[number].control.siblings().is_none() {
            return;
        }
        let Some(mut multipath) = self.multipath.take() else { return };
        let siblings = &mut multipath.scheduling.siblings;
        siblings.clear();
        let mut own = 0;
        for index in 0..self.paths.len() {
            if index == number {
                own = siblings.len();
            }
            if index == number || self.is_open(&self.paths[index]) {
                siblings.push(self.paths[index].sibling());
            }
        }
        if let Some(shown) = self.paths[number].control.siblings() {
            shown.see(siblings, own);
        }
        self.multipath = Some(multipath);
    }
}

/// Whether a part of a stream need not be sent any more.
fn is_done(streams: &StreamSet, frame: &StreamFrame) -> bool {
    let is_done =
        |stream: &StreamState| stream.out.reset.is_some() || stream.out.has(frame.offset, frame.end(), frame.fin);
    streams.map.get(&frame.id).is_none_or(is_done)
}
