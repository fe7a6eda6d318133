//! A peer of a TCP connection that does what a seed says: it accepts, loses, reorders, repeats, shrinks its window, resets and
//! half-closes. It draws by the packets that come, so that two stacks that do the same meet the same peer.

use crate::pick;
use crate::post::{Post, Script};
use std::collections::BTreeMap;
use vazao_engine::{Duration, RandomStream, Time};
use vazao_wire::tcp::{Flags, Header, Options, SackBlock};
use vazao_wire::{content, ipv4, tcp};

/// The peer's initial sequence number.
pub const ISS: u32 = 1_000_000;

/// Event that happens once, after so many packets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    /// The window that is offered is so large from now on.
    Window(u32),
    /// No window is offered for so long.
    Closed(Duration),
    /// A reset, at the expected sequence number or inside the window (RFC 5961 section 3).
    Reset { exact: bool },
    /// A SYN inside the window (RFC 5961 section 4).
    Syn,
    /// An acknowledgement of long ago, or of what was never sent (RFC 5961 section 5).
    Wild { ahead: bool },
    /// The peer's side of the connection ends.
    Fin,
    /// The peer hears nothing for so long.
    Silence(Duration),
}

/// Habits of a peer.
#[derive(Clone, Debug)]
pub struct Habits {
    /// Maximum segment size in its SYN.
    mss: Option<u16>,
    sack: bool,
    timestamps: bool,
    scale: Option<u8>,
    window: u32,
    /// Time from a packet's arrival to that of its answer at the stack, and its variation.
    rtt: Duration,
    jitter: Duration,
    /// Probabilities that what arrives is lost, and that an answer goes twice.
    loss: f64,
    repeats: f64,
    /// Every so many segments are acknowledged.
    every: u32,
    events: Vec<(u32, Event)>,
    /// Bytes that it sends itself, cut, ordered, lost and repeated at random.
    sends: u64,
}

impl Habits {
    /// Draws the habits of a peer, which sends data if the stack `downloads` and else receives.
    pub fn draw(draws: &mut RandomStream, downloads: bool) -> Habits {
        let rtt = Duration::from_millis(pick(draws, &[1, 7, 23, 60, 150]));
        let loss = pick(draws, &[0.0, 0.0, 0.02, 0.1, 0.3]);
        let events = (0..pick(draws, &[0, 0, 1, 1, 2])).map(|_| {
            let event = match draws.below(9) {
                0 => Event::Window(pick(draws, &[500, 1_000, 3_000, 20_000])),
                1 | 2 => Event::Closed(Duration::from_millis(pick(draws, &[50, 400, 1_500]))),
                3 => Event::Reset { exact: draws.below(2) == 0 },
                4 => Event::Syn,
                5 | 6 => Event::Wild { ahead: draws.below(2) == 0 },
                7 => Event::Fin,
                _ => Event::Silence(Duration::from_millis(pick(draws, &[100, 700, 2_500]))),
            };
            (2 + draws.below(20) as u32, event)
        });
        let events = events.collect();
        Habits {
            mss: pick(draws, &[None, Some(536), Some(1000), Some(1460), Some(1460), Some(1460)]),
            sack: draws.below(4) > 0,
            timestamps: draws.below(4) > 0,
            scale: pick(draws, &[None, Some(0), Some(7), Some(7)]),
            window: pick(draws, &[2_000, 8_000, 30_000, 65_535, 65_535]),
            rtt,
            jitter: rtt * pick(draws, &[0, 0, 1, 10]) / 10,
            loss,
            repeats: pick(draws, &[0.0, 0.0, 0.05]),
            every: pick(draws, &[1, 2, 2, 3]),
            events,
            sends: if downloads { pick(draws, &[1, 3_000, 20_000, 60_000]) } else { 0 },
        }
    }
}

/// The peer of one connection.
pub struct Peer {
    habits: Habits,
    draws: RandomStream,
    post: Post,
    /// Addresses and ports, the peer's own first; known from the first SYN.
    ends: Option<[([u8; 4], u16); 2]>,
    irs: u32,
    standing: bool,
    /// The next octet that is expected, counted from the SYN, and what came beyond it.
    expected: u64,
    beyond: BTreeMap<u64, u64>,
    /// Data segments since the last acknowledgement, and packets that came at all.
    unanswered: u32,
    packets: u32,
    deaf_until: Time,
    closed_until: Time,
    recent: u32,
    /// Position of its own FIN, counted from its SYN.
    fin: Option<u64>,
    gone: bool,
}

impl Peer {
    /// Creates a peer with these habits.
    pub fn new(habits: Habits, draws: RandomStream) -> Peer {
        Peer {
            habits,
            draws,
            post: Post::default(),
            ends: None,
            irs: 0,
            standing: false,
            expected: 0,
            beyond: BTreeMap::new(),
            unanswered: 0,
            packets: 0,
            deaf_until: Time::ZERO,
            closed_until: Time::ZERO,
            recent: 0,
            fin: None,
            gone: false,
        }
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.draws.uniform() < probability
    }

    /// Sends a segment that arrives at the stack at `at`: `sequence` and `acknowledgment` count from the SYNs.
    fn send(&mut self, at: Time, flags: Flags, sequence: u64, length: u32, more: impl FnOnce(&mut Header)) {
        let Some([own, other]) = self.ends else { return };
        let mut header = Header {
            source_port: own.1,
            destination_port: other.1,
            sequence: ISS.wrapping_add(sequence as u32),
            acknowledgment: self.irs.wrapping_add(self.expected as u32),
            flags,
            window: self.window(at),
            ..Header::default()
        };
        if self.habits.timestamps {
            header.options.timestamps = Some(((at.as_nanos() / 1_000_000) as u32 + 7_000, self.recent));
        }
        if self.habits.sack && self.standing {
            header.options.sack = self.blocks();
        }
        more(&mut header);
        let mut payload = vec![0; length as usize];
        content::fill(sequence.saturating_sub(1), &mut payload);
        let total = ipv4::HEADER_LENGTH + tcp::header_length(&header.options) + payload.len();
        let ip = ipv4::Header::new(own.0, other.0, tcp::PROTOCOL, total as u16);
        let mut bytes = Vec::with_capacity(total);
        ipv4::encode(&ip, &mut bytes);
        tcp::encode(&header, &payload, ip.pseudo_header(), &mut bytes);
        self.post.put(at, bytes);
    }

    fn blocks(&self) -> tcp::SackBlocks {
        let block = |(&left, &right): (&u64, &u64)| SackBlock {
            left: self.irs.wrapping_add(left as u32),
            right: self.irs.wrapping_add(right as u32),
        };
        self.beyond.iter().map(block).take(3).collect()
    }

    /// Returns the offered window in units of its scale.
    fn window(&self, at: Time) -> u16 {
        if at < self.closed_until {
            return 0;
        }
        let shift = self.habits.scale.filter(|_| self.standing).unwrap_or(0);
        (self.habits.window >> shift).min(65_535) as u16
    }

    /// Returns the time at which an answer arrives.
    fn answer_at(&mut self, now: Time) -> Time {
        let late = self.draws.uniform() * self.habits.jitter.as_nanos() as f64;
        now + self.habits.rtt + Duration::from_nanos(late as u64)
    }

    fn acknowledge(&mut self, now: Time) {
        self.unanswered = 0;
        let at = self.answer_at(now);
        let next = self.fin.map_or(1, |fin| fin + 1);
        self.send(at, Flags::ACK, next, 0, |_| {});
        if self.chance(self.habits.repeats) {
            self.send(at + Duration::from_micros(50), Flags::ACK, next, 0, |_| {});
        }
    }

    fn on_syn(&mut self, now: Time, header: &Header) {
        self.irs = header.sequence;
        self.expected = 1;
        let offers = Options {
            mss: self.habits.mss,
            window_scale: self.habits.scale.filter(|_| header.options.window_scale.is_some()),
            sack_permitted: self.habits.sack && header.options.sack_permitted,
            ..Options::default()
        };
        self.habits.sack = offers.sack_permitted;
        self.habits.scale = offers.window_scale;
        self.habits.timestamps &= header.options.timestamps.is_some();
        self.recent = header.options.timestamps.map_or(0, |(value, _)| value);
        let at = now + self.habits.rtt;
        self.send(at, Flags::SYN | Flags::ACK, 0, 0, |header| {
            header.options = Options { timestamps: header.options.timestamps, ..offers };
        });
    }

    /// Sends segments at intervals, some later and some twice, and its FIN.
    fn send_data(&mut self, now: Time) {
        let size = self.habits.sends;
        let mut at = now + self.habits.rtt;
        let mut offset = 0;
        while offset < size {
            let length = pick(&mut self.draws, &[1, 100, 1_000, 1_400, 1_400, 1_400]).min(size - offset);
            let step = pick(&mut self.draws, &[0, 0, 0, 20, 1_000, 30_000]);
            at += Duration::from_micros(step);
            let segment = |peer: &mut Peer, at| peer.send(at, Flags::ACK, 1 + offset, length as u32, |_| {});
            if self.chance(self.habits.loss) {
                // Lost, and repaired a while later.
                let late = self.habits.rtt + Duration::from_millis(pick(&mut self.draws, &[1, 40, 300]));
                segment(self, at + late);
            } else {
                segment(self, at);
            }
            if self.chance(self.habits.repeats) {
                let late = Duration::from_millis(pick(&mut self.draws, &[0, 5, 100]));
                segment(self, at + late);
            }
            offset += length;
        }
        self.fin = Some(size + 1);
        let last = self.post.last().map_or(at, |time| time.max(at));
        self.send(last + Duration::from_millis(1), Flags::FIN | Flags::ACK, size + 1, 0, |_| {});
    }

    fn take(&mut self, from: u64, to: u64) {
        if to <= self.expected {
            return;
        }
        let (mut from, mut to) = (from.max(self.expected), to);
        while let Some((&left, &right)) = self.beyond.range(..=to).next_back().filter(|&(_, &right)| right >= from) {
            self.beyond.remove(&left);
            (from, to) = (from.min(left), to.max(right));
        }
        if from <= self.expected {
            self.expected = to;
        } else {
            self.beyond.insert(from, to);
        }
    }

    fn happen(&mut self, now: Time, event: Event) {
        let at = now + self.habits.rtt;
        let next = self.fin.map_or(1, |fin| fin + 1);
        match event {
            Event::Window(bytes) => self.habits.window = bytes,
            Event::Closed(span) => {
                self.closed_until = at + span;
                self.send(self.closed_until, Flags::ACK, next, 0, |_| {});
            }
            Event::Reset { exact } => {
                self.send(at, Flags::RST | Flags::ACK, if exact { next } else { next + 5 }, 0, |_| {})
            }
            Event::Syn => self.send(at, Flags::SYN, next + 7, 0, |_| {}),
            Event::Wild { ahead } => self.send(at, Flags::ACK, next, 0, |header| {
                let far = if ahead { 1 << 30 } else { 1_u32.wrapping_sub(1 << 30) };
                header.acknowledgment = header.acknowledgment.wrapping_add(far);
            }),
            Event::Fin if self.fin.is_none() => {
                self.fin = Some(1);
                self.send(at, Flags::FIN | Flags::ACK, 1, 0, |_| {});
            }
            Event::Fin => {}
            Event::Silence(span) => self.deaf_until = now + span,
        }
    }

    fn on_segment(&mut self, now: Time, header: &Header, length: usize) {
        if header.flags.contains(Flags::RST) {
            self.gone = true;
            return;
        }
        self.packets += 1;
        let lost = self.chance(self.habits.loss) || now < self.deaf_until;
        let due: Vec<Event> = self.habits.events.iter().filter(|(n, _)| *n == self.packets).map(|(_, e)| *e).collect();
        due.into_iter().for_each(|event| self.happen(now, event));
        if lost || self.gone {
            return;
        }
        if header.flags.contains(Flags::SYN) {
            return self.on_syn(now, header);
        }
        let from = u64::from(header.sequence.wrapping_sub(self.irs));
        let fin = header.flags.contains(Flags::FIN);
        let to = from + length as u64 + u64::from(fin);
        if !self.standing {
            self.standing = true;
            if self.habits.sends > 0 {
                self.send_data(now);
            }
        }
        if from <= self.expected
            && let Some((value, _)) = header.options.timestamps
        {
            self.recent = value;
        }
        if to == from || from > self.expected + (1 << 30) {
            return;
        }
        let in_order = from == self.expected && self.beyond.is_empty();
        self.take(from, to);
        self.unanswered += 1;
        if !in_order || fin || self.unanswered >= self.habits.every || length < 536 {
            self.acknowledge(now);
        }
        if fin && self.fin.is_none() {
            self.fin = Some(1);
            let at = now + self.habits.rtt + self.habits.rtt;
            self.send(at, Flags::FIN | Flags::ACK, 1, 0, |_| {});
        }
    }
}

impl Script for Peer {
    fn post(&self) -> &Post {
        &self.post
    }

    fn post_mut(&mut self) -> &mut Post {
        &mut self.post
    }

    fn on_arrival(&mut self, now: Time, packet: &[u8]) {
        let Ok((ip, inside)) = ipv4::decode(packet) else { return };
        let Ok((header, data)) = tcp::decode(&packet[inside], ip.pseudo_header()) else { return };
        self.ends = Some([(ip.destination, header.destination_port), (ip.source, header.source_port)]);
        self.on_segment(now, &header, data.len());
    }
}
