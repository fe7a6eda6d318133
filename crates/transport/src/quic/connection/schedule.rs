//! Which path takes what: the schedulers of Multipath TCP decide, as RFC 10069 leaves to implementations (section 5.5). Data is
//! bound to a path when it leaves; only what a scheduler assigns beforehand, or sends twice, waits in a path's queue.

use super::multipath::Stage;
use super::outgoing::{LEAST_ROOM, Scope};
use super::*;
use crate::common::PathState;
use crate::common::scheduler::{Decision, PacketScheduler, Situation, fastest};
use crate::quic::frame::StreamFrame;
use crate::quic::packet::{Datagram, Header, number_bytes};
use crate::quic::sent::{Content, Sent};
use crate::quic::stream::Turn;
use crate::quic::stream::stamp;
use vazao_congestion::Sibling;
use vazao_engine::Ecn;

/// Bytes of a packet that STREAM frames of a queue leave for its header and an acknowledgement.
const RESERVE: u32 = 80;

/// A part of a stream that was sent, or left out.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Which of all bytes of streams its first is, in the order in which they were sent.
    octet: u64,
    frame: StreamFrame,
    /// By which path it went first; `None`: it was left out.
    path: Option<usize>,
}

/// How data is spread over paths.
pub(super) struct Spread {
    scheduler: Box<dyn PacketScheduler>,
    /// The paths as schedulers see them.
    views: Vec<PathState>,
    /// What was sent first to last, from the oldest that is not acknowledged on.
    parts: VecDeque<Part>,
    /// The path that the scheduler has chosen for the next.
    decided: Option<usize>,
    pub wake_at: Time,
    siblings: Vec<Sibling>,
}

impl Spread {
    pub fn new(scheduler: Box<dyn PacketScheduler>) -> Spread {
        Spread {
            scheduler,
            views: Vec::new(),
            parts: VecDeque::new(),
            decided: None,
            wake_at: Time::NEVER,
            siblings: Vec::new(),
        }
    }

    /// Whether there is anything to decide: a path with room, or one for which data may wait.
    fn can_decide(&self) -> bool {
        let queues = self.scheduler.queues();
        self.views.iter().any(|view| view.usable && (queues || view.has_room))
    }

    /// Data leaves by a path for the first time, or is assigned to it: now so many bytes of streams have been.
    pub fn on_sent(&mut self, number: usize, path: &mut Path, sent: u64, frame: StreamFrame) {
        let octet = sent - u64::from(frame.length);
        if path.copied >= octet {
            path.copied = path.copied.max(sent);
        }
        self.parts.push_back(Part { octet, frame, path: Some(number) });
    }

    /// So many bytes went to a path that had not been sent before. The scheduler hears of what it has decided.
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
            if self.speaks(&self.paths[path]) && self.poll_path(now, path, out) {
                return true;
            }
        }
        while let Some((path, scope)) = self.choose(now) {
            if self.path_datagram(now, path, scope, out) {
                return true;
            }
            // What waited for a path may have arrived by another.
            if scope != Scope::Queue || !self.paths[path].queue.is_empty() {
                break;
            }
        }
        let alone = !self.paths.iter().any(|path| self.is_answered(path));
        for path in 0..self.paths.len() {
            if self.speaks(&self.paths[path]) {
                // With a probe goes whatever there is (RFC 9002 section 6.2.4), if that cannot go by a path that answers.
                let scope = if alone && self.paths[path].is_probing() { Scope::All } else { Scope::Nothing };
                if self.path_datagram(now, path, scope, out) {
                    return true;
                }
            }
        }
        self.report_abandoned(now, out)
    }

    /// Whether a path could carry data, and what is under way on it is being answered.
    fn is_answered(&self, path: &Path) -> bool {
        self.is_open(path) && path.validated && path.recovery.pto_count == 0
    }

    /// The path by which something is said that belongs to none: of those that answer, the fastest.
    pub(super) fn messenger(&self) -> Option<usize> {
        let open = self.paths.iter().enumerate().filter(|(_, path)| self.is_open(path) && path.validated);
        open.min_by_key(|(_, path)| (path.recovery.pto_count, path.recovery.rtt.srtt())).map(|(number, _)| number)
    }

    /// When the scheduler is to be asked again though nothing happens.
    #[inline]
    pub(super) fn next_decision(&self) -> Time {
        self.multipath.as_ref().map_or(Time::NEVER, |multipath| multipath.spread.wake_at)
    }

    /// When what came by a path that was abandoned since is acknowledged by another.
    pub(super) fn next_report(&self) -> Time {
        let abandoned = self.paths.iter().filter(|path| path.stage == Stage::Abandoned);
        let due = abandoned.map(|path| path.acks[Space::Data as usize].due()).min();
        due.filter(|_| self.messenger().is_some()).unwrap_or(Time::NEVER)
    }

    /// Acknowledges it (section 3.4.3).
    fn report_abandoned(&mut self, now: Time, out: &mut Datagram) -> bool {
        let is_due = |path: &Path| path.stage == Stage::Abandoned && path.acks[Space::Data as usize].due() <= now;
        let Some((gone, carrier)) = self.paths.iter().position(is_due).zip(self.messenger()) else { return false };
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
        self.commit(now, carrier, Sent::new(now, 0, false, None, Content::Nothing, Space::Data), Ecn::NotEct);
        self.conclude(now, carrier, false, out);
        true
    }

    // ---- which path takes what ----------------------------------------------------------------------------------------

    /// The path of the next packet that is more than an acknowledgement, and what goes into it.
    fn choose(&mut self, now: Time) -> Option<(usize, Scope)> {
        loop {
            let rooms = self.look(now);
            let has_room = |path: &usize| rooms & 1 << *path != 0;
            if let Some(path) = (0..self.paths.len()).filter(has_room).find(|&path| !self.paths[path].queue.is_empty())
            {
                return Some((path, Scope::Queue));
            }
            let rules = !self.frames.is_empty() || self.datagrams.is_waiting();
            let decision = match self.has_content() {
                true if rules => Decision::send(self.fastest_with_room()),
                true => self.decide(now),
                false => Decision::Wait,
            };
            let done = match decision {
                Decision::Wait => false,
                Decision::Send { path, .. } if rules => return Some((path, Scope::Rules)),
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
                self.rest(now, rooms);
                return None;
            }
        }
    }

    /// Looks at all paths. Bits of those by which a packet may leave.
    fn look(&mut self, now: Time) -> u64 {
        let Some(mut multipath) = self.multipath.take() else { return 0 };
        multipath.spread.decided = None;
        let (wanted, paces) = (self.has_content(), self.paces());
        let alone = !self.paths.iter().any(|path| self.is_answered(path));
        let mut rooms = 0;
        multipath.spread.views.clear();
        for number in 0..self.paths.len() {
            let path = &self.paths[number];
            let usable = self.is_open(path) && path.validated && (alone || path.recovery.pto_count == 0);
            let path = &mut self.paths[number];
            let has_room = usable && path.may_send(now, wanted || !path.queue.is_empty(), paces);
            rooms |= u64::from(has_room) << number;
            multipath.spread.views.push(path.view(usable, has_room && path.queue.is_empty()));
        }
        let views = &mut multipath.spread.views;
        if views.iter().any(|view| view.usable && !view.backup) {
            views.iter_mut().filter(|view| view.backup).for_each(|view| (view.usable, view.has_room) = (false, false));
        }
        self.multipath = Some(multipath);
        rooms
    }

    /// Nothing leaves by the paths that have room.
    fn rest(&mut self, now: Time, rooms: u64) {
        let paces = self.paces();
        for (number, path) in self.paths.iter_mut().enumerate().filter(|(number, _)| rooms & 1 << number != 0) {
            debug_assert!(number < 64);
            path.may_send(now, false, paces);
        }
    }

    fn views(&self) -> &[PathState] {
        self.multipath.as_ref().map_or(&[], |multipath| &multipath.spread.views)
    }

    fn fastest_with_room(&self) -> Option<usize> {
        let available = self.views().iter().enumerate().filter(|(_, view)| view.is_available());
        available.min_by_key(|(_, view)| view.srtt).map(|(number, _)| number)
    }

    /// Asks the scheduler.
    fn decide(&mut self, now: Time) -> Decision {
        self.prune();
        let Some(mut multipath) = self.multipath.take_if(|multipath| multipath.spread.can_decide()) else {
            return Decision::Wait;
        };
        let Spread { scheduler, views, parts, decided, wake_at, .. } = &mut multipath.spread;
        let streams = &self.streams;
        let is_repeating = |turn: &Turn| streams.map.get(&turn.2).is_some_and(|stream| stream.out.is_repeating());
        // Where the peer's window is shut, what was lost may be all that opens it again, whichever stream comes first.
        let is_shut = streams.data_sent >= streams.peer_limit;
        let repeats =
            streams.ready.first().is_some_and(is_repeating) || is_shut && streams.ready.iter().any(is_repeating);
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
            waiting,
            window,
            buffer: streams.peer_limit - una,
            outstanding: sent - una,
            sent,
            blocker,
        });
        if decision == Decision::Wait && bare {
            // What is new may wait for a path that is busy, not what was lost, or the end of a stream, for one that is free.
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

    /// What is next of the streams is left for others.
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
            multipath.spread.parts.push_back(Part { octet: octet + at, frame, path: None });
        }
    }

    /// What is next of the streams is for a path, as soon as that has room. False: there is nothing.
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

    /// A path sends what is not acknowledged and it has not sent itself. False: there is nothing of the kind.
    fn copy(&mut self, number: usize) -> bool {
        let Some(multipath) = &self.multipath else { return false };
        let parts = &multipath.spread.parts;
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

    /// A path sends the oldest that is not acknowledged, if it is another's, and that one is slowed down (Raiciu et al., NSDI 2012,
    /// section 4.2).
    fn repeat(&mut self, now: Time, number: usize, penalised: Option<usize>) -> bool {
        if let Some(slow) = penalised.and_then(|slow| self.paths.get_mut(slow)) {
            slow.penalise(now);
        }
        let available = self.views().get(number).is_some_and(PathState::is_available);
        let front = self.multipath.as_ref().and_then(|multipath| multipath.spread.parts.front());
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

    // ---- what was sent ------------------------------------------------------------------------------------------------

    /// Forgets what is acknowledged from the oldest on.
    fn prune(&mut self) {
        let streams = &self.streams;
        let Some(multipath) = &mut self.multipath else { return };
        let parts = &mut multipath.spread.parts;
        while parts.front().is_some_and(|part| is_done(streams, &part.frame)) {
            parts.pop_front();
        }
    }

    /// Fills a packet with what waits for its path.
    pub(super) fn fill_queue(&mut self, path: usize, left: &mut u32, out: &mut Datagram) {
        while let Some(frame) = self.paths[path].queue.pop_front() {
            if is_done(&self.streams, &frame) {
                continue;
            }
            let header = StreamFrame::header(frame.id, frame.offset.max(1), u64::from(frame.length));
            let fits = left.saturating_sub(header).min(u32::from(frame.length)) as u16;
            if fits < frame.length && u64::from(fits) < LEAST_ROOM || frame.bytes() > *left && fits == frame.length {
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

    /// Shows a path's control its siblings, if it wants to see them.
    #[inline]
    pub(super) fn couple(&mut self, number: usize) {
        if self.multipath.is_none() || self.paths[number].control.siblings().is_none() {
            return;
        }
        let Some(mut multipath) = self.multipath.take() else { return };
        let siblings = &mut multipath.spread.siblings;
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
fn is_done(streams: &Streams, frame: &StreamFrame) -> bool {
    let is_done = |stream: &Flow| stream.out.reset.is_some() || stream.out.has(frame.offset, frame.end(), frame.fin);
    streams.map.get(&frame.id).is_none_or(is_done)
}
