//! A peer of an association that does what a seed says: it opens or is opened to, accepts, loses, reorders, repeats, shrinks its
//! window, aborts, shuts down, and says what is out of season. It draws by the packets that come, so that two stacks that do
//! the same meet the same peer. HEARTBEATs, which leave at random times, it answers without drawing.

use super::habits::{Event, Habits, Odd, Tag};
use super::write::{self, Chunk, TAGS, TSN, bare};
use crate::pick;
use crate::post::{Post, Script};
use std::collections::BTreeMap;
use vazao_engine::{Duration, RandomStream, Time};
use vazao_wire::sctp::{self, kind, parameter};
use vazao_wire::{be16, be32, ipv4};

/// The addresses and ports of the client and the server.
const ENDS: [([u8; 4], u16); 2] = [([10, 0, 0, 1], 49_152), ([10, 0, 0, 2], 5_001)];

/// Time at which a peer opens, if it does.
const START: Time = Time::from_nanos(100_000_000);

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Phase {
    Closed,
    /// State after sending a COOKIE ECHO.
    Echoed,
    Up,
    /// State after beginning to close, or answering that the other side did.
    Shutting,
    Gone,
}

/// The peer of one association.
pub struct Peer {
    habits: Habits,
    draws: RandomStream,
    post: Post,
    /// Addresses and ports, the peer's own first.
    ends: [([u8; 4], u16); 2],
    phase: Phase,
    /// Own tag, and the stack's.
    tag: u32,
    other: u32,
    cookie: Vec<u8>,
    stale: u32,
    irs: u32,
    /// The next TSN that is expected, counted from the first, what came beyond it, and what came twice.
    expected: u64,
    beyond: BTreeMap<u64, u64>,
    duplicates: Vec<u32>,
    /// Packets with data since the last acknowledgement, and packets that came at all.
    unanswered: u32,
    packets: u32,
    deaf_until: Time,
    closed_until: Time,
    /// Own chunks of data so far.
    sent: u32,
    has_sent: bool,
}

impl Peer {
    /// Creates a peer with these habits.
    pub fn new(habits: Habits, opens: bool, draws: RandomStream) -> Peer {
        let ends = if opens { ENDS } else { [ENDS[1], ENDS[0]] };
        let mut peer = Peer {
            stale: habits.stale,
            habits,
            draws,
            post: Post::default(),
            ends,
            phase: Phase::Closed,
            tag: TAGS[0],
            other: 0,
            cookie: Vec::new(),
            irs: 0,
            expected: 0,
            beyond: BTreeMap::new(),
            duplicates: Vec::new(),
            unanswered: 0,
            packets: 0,
            deaf_until: Time::ZERO,
            closed_until: Time::ZERO,
            sent: 0,
            has_sent: false,
        };
        if opens {
            peer.send_tagged(START, 0, &[peer.init(kind::INIT)]);
        }
        peer
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.draws.uniform() < probability
    }

    /// Returns the time at which an answer arrives.
    fn answer_at(&mut self, now: Time) -> Time {
        let late = self.draws.uniform() * self.habits.jitter.as_nanos() as f64;
        now + self.habits.rtt + Duration::from_nanos(late as u64)
    }

    fn send_tagged(&mut self, at: Time, tag: u32, chunks: &[Chunk]) {
        let bytes = write::packet(self.ends, tag, chunks, |_| {});
        self.post.put(at, bytes);
    }

    fn send(&mut self, at: Time, chunks: &[Chunk]) {
        self.send_tagged(at, self.other, chunks);
    }

    /// Answers with chunks, perhaps twice.
    fn answer(&mut self, now: Time, chunks: &[Chunk]) {
        let at = self.answer_at(now);
        self.send(at, chunks);
        if self.chance(self.habits.repeats) {
            let late = pick(&mut self.draws, &[0, 10, 300]);
            self.send(at + Duration::from_millis(late), chunks);
        }
    }

    fn init(&self, kind: u8) -> Chunk {
        write::init(kind, self.tag, &self.habits.offer, self.ends[0].0)
    }

    /// Acknowledges received data.
    fn sack(&mut self, at: Time) -> Chunk {
        let offset = |tsn: u64| (tsn + 1 - self.expected) as u16;
        let gaps: Vec<_> = self.beyond.iter().map(|(&from, &to)| (offset(from), offset(to - 1))).take(20).collect();
        let duplicates = std::mem::take(&mut self.duplicates);
        let window = if at < self.closed_until { 0 } else { self.habits.window };
        write::sack(self.cumulative(), window, &gaps, &duplicates)
    }

    fn cumulative(&self) -> u32 {
        self.irs.wrapping_add(self.expected as u32).wrapping_sub(1)
    }

    fn acknowledge(&mut self, now: Time) {
        self.unanswered = 0;
        let sack = self.sack(now + self.habits.rtt);
        self.answer(now, &[sack]);
    }

    /// Sends chunks at intervals, some later and some twice, and its SHUTDOWN.
    fn send_data(&mut self, now: Time) {
        if std::mem::replace(&mut self.has_sent, true) || self.habits.sends == 0 {
            return;
        }
        let size = self.habits.sends;
        let mut at = now + self.habits.rtt;
        let (mut offset, mut left, mut numbers) = (0, 0, [0_u16; 3]);
        let (mut stream, mut unordered) = (0, 0);
        while offset < size {
            let mut flags = 0;
            if left == 0 {
                (left, flags) = (1, 2);
                if self.habits.mixes {
                    left = pick(&mut self.draws, &[1, 2, 5]);
                    stream = self.draws.below(u64::from(self.habits.offer.streams.0.clamp(1, 3))) as usize;
                    unordered = pick(&mut self.draws, &[0, 0, 4]);
                }
            }
            let length = pick(&mut self.draws, &[1, 100, 1_000, 1_452, 1_452, 1_452]).min(size - offset);
            left -= 1;
            if offset + length == size {
                left = 0;
            }
            flags |= u8::from(left == 0) | unordered;
            let tsn = TSN.wrapping_add(self.sent);
            let chunk = write::data(tsn, stream as u16, numbers[stream], flags, offset, length as usize);
            if left == 0 && unordered == 0 {
                numbers[stream] += 1;
            }
            self.sent += 1;
            offset += length;
            self.launch(&mut at, chunk);
        }
        let last = self.post.last().map_or(at, |time| time.max(at));
        self.shut_down(last + Duration::from_millis(1));
    }

    /// Sends one of its chunks.
    fn launch(&mut self, at: &mut Time, chunk: Chunk) {
        *at += Duration::from_micros(pick(&mut self.draws, &[0, 0, 0, 20, 1_000, 30_000]));
        // Lost, and repaired a while later.
        let late = pick(&mut self.draws, &[1, 40, 300]);
        let late = if self.chance(self.habits.loss) { late } else { 0 };
        self.send(*at + Duration::from_millis(late), std::slice::from_ref(&chunk));
        if self.chance(self.habits.repeats) {
            let late = Duration::from_millis(pick(&mut self.draws, &[0, 5, 100]));
            self.send(*at + late, &[chunk]);
        }
    }

    /// Closes its application.
    fn shut_down(&mut self, at: Time) {
        if self.phase != Phase::Up {
            return;
        }
        self.phase = Phase::Shutting;
        let shutdown = write::shutdown(self.cumulative());
        self.send(at, &[shutdown]);
    }

    fn take(&mut self, tsn: u64) {
        let known = tsn < self.expected || self.beyond.range(..=tsn).next_back().is_some_and(|(_, &to)| tsn < to);
        if known {
            self.duplicates.push(self.irs.wrapping_add(tsn as u32));
            return;
        }
        let (mut from, mut to) = (tsn, tsn + 1);
        if let Some((&left, _)) = self.beyond.range(..tsn).next_back().filter(|&(_, &right)| right == tsn) {
            self.beyond.remove(&left);
            from = left;
        }
        if let Some(right) = self.beyond.remove(&to) {
            to = right;
        }
        if from == self.expected {
            self.expected = to;
        } else {
            self.beyond.insert(from, to);
        }
    }

    fn happen(&mut self, now: Time, event: Event) {
        let at = now + self.habits.rtt;
        match event {
            Event::Window(bytes) => self.habits.window = bytes,
            Event::Closed(span) => {
                self.closed_until = at + span;
                if self.phase == Phase::Up {
                    let sack = self.sack(self.closed_until);
                    self.send(self.closed_until, &[sack]);
                }
            }
            Event::Silence(span) => self.deaf_until = now + span,
            Event::Renege => self.beyond.clear(),
            Event::Wild { ahead } => {
                let far = if ahead { 1_000 } else { 1_u32.wrapping_sub(1_000) };
                let sack = write::sack(self.cumulative().wrapping_add(far), self.habits.window, &[], &[]);
                self.send(at, &[sack]);
            }
            Event::Shutdown => self.shut_down(at),
            Event::Abort(tag, explained) => {
                let flags = u8::from(tag == Tag::Reflected);
                let (kind, code) = (kind::ABORT, 12);
                let chunk =
                    if explained { write::with_cause(kind, flags, code, b"bye") } else { (kind, flags, Vec::new()) };
                self.send_tagged(at, self.tagged(tag), &[chunk]);
            }
            Event::Unknown { kind, followed } => {
                let mut chunks = vec![(kind, 0, b"unknown".to_vec())];
                chunks.extend(followed.then(|| write::heartbeat(8)));
                self.send(at, &chunks);
            }
            Event::Error => self.send(at, &[write::with_cause(kind::ERROR, 0, 99, b"odd")]),
            Event::Heartbeat { bytes, tag } => {
                self.send_tagged(at, self.tagged(tag), &[write::heartbeat(bytes)]);
            }
            Event::Init { again } => {
                if !again {
                    self.tag = TAGS[1];
                }
                let init = self.init(kind::INIT);
                self.send_tagged(at, 0, &[init]);
            }
            Event::Stray(kind) => self.send(at, &[bare(kind)]),
            Event::StrayInitAck => {
                let chunk = self.init(kind::INIT_ACK);
                self.send(at, &[chunk]);
            }
            Event::StrayCookie => {
                let cookie = if self.cookie.is_empty() { vec![7; 100] } else { self.cookie.clone() };
                self.send(at, &[(kind::COOKIE_ECHO, 0, cookie)]);
            }
            Event::Data(odd) => self.send_odd(at, odd),
            Event::Malformed { long } => self.send_malformed(at, long),
        }
    }

    fn tagged(&self, tag: Tag) -> u32 {
        match tag {
            Tag::Right => self.other,
            Tag::Reflected => self.tag,
            Tag::Wrong => 0x3333_3333,
        }
    }

    fn send_odd(&mut self, at: Time, odd: Odd) {
        let tsn = TSN.wrapping_add(self.sent);
        let chunk = match odd {
            Odd::Stream => write::data(tsn, 65_535, 0, 3, 0, 50),
            Odd::Empty => write::data(tsn, 0, 0, 3, 0, 0),
            Odd::Ahead => write::data(tsn.wrapping_add(100_000), 0, 9, 3, 0, 50),
        };
        if odd == Odd::Stream {
            self.sent += 1;
        }
        self.send(at, &[chunk]);
    }

    /// Behind a HEARTBEAT goes a chunk whose length is wrong.
    fn send_malformed(&mut self, at: Time, long: bool) {
        let chunks = [write::heartbeat(8), bare(kind::COOKIE_ACK)];
        let bytes = write::packet(self.ends, self.other, &chunks, |inside| {
            let last = inside.len() - 2;
            inside[last..].copy_from_slice(&if long { [0, 40] } else { [0, 2] });
        });
        self.post.put(at, bytes);
    }

    fn on_init(&mut self, now: Time, value: &[u8]) {
        (self.other, self.irs) = (be32(value, 0), be32(value, 12));
        (self.expected, self.phase) = (0, Phase::Closed);
        self.beyond.clear();
        let chunk = self.init(kind::INIT_ACK);
        self.answer(now, &[chunk]);
    }

    fn on_init_ack(&mut self, now: Time, value: &[u8]) {
        (self.other, self.irs) = (be32(value, 0), be32(value, 12));
        self.expected = 0;
        self.beyond.clear();
        let Some(mut cookie) = find(value, parameter::STATE_COOKIE) else { return };
        if self.habits.spoils {
            cookie[5] ^= 1;
        }
        self.cookie = cookie;
        self.phase = Phase::Echoed;
        let echo = (kind::COOKIE_ECHO, 0, self.cookie.clone());
        let now = now + self.habits.keeps;
        self.habits.keeps = Duration::ZERO;
        self.answer(now, &[echo]);
        if self.habits.eager {
            self.send_data(now + self.habits.jitter);
        }
    }

    fn on_cookie_echo(&mut self, now: Time) {
        if self.stale > 0 {
            self.stale -= 1;
            let error = write::with_cause(kind::ERROR, 0, 3, &500_000_u32.to_be_bytes());
            return self.answer(now, &[error]);
        }
        self.answer(now, &[bare(kind::COOKIE_ACK)]);
        self.phase = self.phase.max_of(Phase::Up);
        self.send_data(now + if self.habits.eager { self.habits.jitter } else { self.habits.rtt });
    }

    /// False: nothing more of the packet is looked at.
    fn on_chunk(&mut self, now: Time, chunk: &sctp::Chunk<'_>) -> bool {
        let value = chunk.value;
        match chunk.kind {
            kind::INIT if value.len() >= 16 => self.on_init(now, value),
            kind::INIT_ACK if value.len() >= 16 => self.on_init_ack(now, value),
            kind::COOKIE_ECHO => self.on_cookie_echo(now),
            kind::COOKIE_ACK if self.phase == Phase::Echoed => {
                self.phase = Phase::Up;
                self.send_data(now);
            }
            kind::SHUTDOWN => {
                self.phase = Phase::Shutting;
                self.answer(now, &[bare(kind::SHUTDOWN_ACK)]);
            }
            kind::SHUTDOWN_ACK => {
                self.answer(now, &[bare(kind::SHUTDOWN_COMPLETE)]);
                self.phase = Phase::Gone;
            }
            kind::SHUTDOWN_COMPLETE | kind::ABORT => {
                self.phase = Phase::Gone;
                return false;
            }
            _ => {}
        }
        true
    }

    fn on_data(&mut self, now: Time, chunks: &[sctp::Chunk<'_>]) {
        let before = (self.expected, self.beyond.is_empty(), self.duplicates.len());
        let data = chunks.iter().filter(|chunk| chunk.kind == kind::DATA && chunk.value.len() >= 12);
        let tsns: Vec<u64> = data.map(|chunk| u64::from(be32(chunk.value, 0).wrapping_sub(self.irs))).collect();
        if tsns.is_empty() {
            return;
        }
        tsns.iter().filter(|&&tsn| tsn < 1 << 20).for_each(|&tsn| self.take(tsn));
        let in_order = before.1 && self.beyond.is_empty() && self.duplicates.len() == before.2;
        self.unanswered += 1;
        let bytes: usize = chunks.iter().map(|chunk| chunk.value.len()).sum();
        if !in_order || self.unanswered >= self.habits.every || bytes < 1_400 || self.phase == Phase::Shutting {
            self.acknowledge(now);
        }
    }

    fn on_packet(&mut self, now: Time, tag: u32, chunks: &[sctp::Chunk<'_>]) {
        let is_there = self.phase != Phase::Gone;
        for chunk in chunks.iter().filter(|chunk| chunk.kind == kind::HEARTBEAT && is_there) {
            self.send(now + self.habits.rtt, &[(kind::HEARTBEAT_ACK, 0, chunk.value.to_vec())]);
        }
        if chunks.iter().all(|chunk| chunk.kind == kind::HEARTBEAT) {
            return;
        }
        let is_init = chunks.iter().any(|chunk| chunk.kind == kind::INIT);
        self.packets += 1;
        let lost = self.chance(self.habits.loss) || now < self.deaf_until;
        let due: Vec<Event> = self.habits.events.iter().filter(|(n, _)| *n == self.packets).map(|(_, e)| *e).collect();
        due.into_iter().for_each(|event| self.happen(now, event));
        if lost || self.phase == Phase::Gone || tag != if is_init { 0 } else { self.tag } {
            return;
        }
        if chunks.iter().all(|chunk| self.on_chunk(now, chunk)) {
            self.on_data(now, chunks);
        }
    }
}

impl Phase {
    fn max_of(self, other: Phase) -> Phase {
        if self < other { other } else { self }
    }
}

/// Returns the value of a parameter of an INIT ACK.
fn find(value: &[u8], wanted: u16) -> Option<Vec<u8>> {
    let mut rest = value.get(16..)?;
    while rest.len() >= 4 {
        let (kind, length) = (be16(rest, 0), usize::from(be16(rest, 2)));
        if kind == wanted {
            return rest.get(4..length).map(<[u8]>::to_vec);
        }
        rest = rest.get(length.next_multiple_of(4).max(4)..)?;
    }
    None
}

impl Script for Peer {
    fn post(&self) -> &Post {
        &self.post
    }

    fn post_mut(&mut self) -> &mut Post {
        &mut self.post
    }

    fn on_arrival(&mut self, now: Time, packet: &[u8]) {
        let Ok((_, inside)) = ipv4::decode(packet) else { return };
        let Ok((header, chunks)) = sctp::decode(&packet[inside]) else { return };
        self.on_packet(now, header.verification_tag, &chunks);
    }
}
