//! Comparison of two stacks' packets to the same peer.

use super::write::{TAGS, TSN};
use crate::Piece;
use std::fmt;
use vazao_engine::{Duration, Time};
use vazao_wire::sctp::{self, kind, parameter};
use vazao_wire::{be16, be32, ipv4};

/// A packet as far as two stacks can be compared in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Since the first one.
    pub at: Duration,
    /// Verification tag.
    pub tag: Tag,
    /// Chunks except HEARTBEATs.
    pub chunks: Vec<Chunk>,
}

/// Owner of a packet's verification tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Zero, as in the packet of an INIT.
    Zero,
    /// The peer's, in its first or its second life.
    Peer(usize),
    /// The stack's own.
    Own,
    /// Another.
    Other,
}

/// A chunk, as far as it is compared; numbers count from the first TSNs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk {
    /// Type.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// Bytes of payload, or of what is no number.
    pub length: usize,
    /// TSN of data.
    pub tsn: Option<u32>,
    /// Stream and stream sequence number of data; what INIT and INIT ACK offer.
    pub stream: Option<(u16, u16)>,
    /// The cumulative TSN of a SACK or SHUTDOWN.
    pub cumulative: Option<u32>,
    /// The window that is offered.
    pub window: Option<u32>,
    /// Gap ack blocks.
    pub gaps: Vec<(u16, u16)>,
    /// TSNs that came twice.
    pub duplicates: Vec<u32>,
    /// Causes of ERROR and ABORT, parameters that an INIT ACK reports.
    pub causes: Vec<(u16, Vec<u8>)>,
}

/// Class of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One sends a packet more.
    Count,
    /// Departure of a packet, by more than timers may be late.
    Time,
    /// The verification tag.
    Tag,
    /// Distribution over packets of the same chunks at the same time.
    Bundling,
    /// The types of a packet's chunks.
    Kinds,
    /// A chunk's flags.
    Flags,
    /// Data.
    Tsn,
    /// Stream, and the number in it.
    Stream,
    /// Bytes of data, or of a HEARTBEAT ACK or COOKIE ECHO.
    Length,
    /// Acknowledged data.
    Cumulative,
    /// Gap ack blocks.
    Gaps,
    /// Duplicates.
    Duplicates,
    /// Causes, and parameters that are not known.
    Causes,
    /// The window that is offered.
    Window,
    /// The streams that are offered.
    Offers,
}

impl crate::Class for Class {
    const COUNT: Class = Class::Count;

    fn parts(self) -> bool {
        !matches!(self, Class::Window | Class::Offers | Class::Causes)
    }
}

/// Time before the end of the run from which the other stack, whose timers were late again and again, may send after
/// the end.
const HORIZON: Duration = Duration::from_secs(27);

/// The kernel's clock.
const TICK: Duration = Duration::from_millis(10);

/// Returns the most lateness of a kernel's timer of this span: one tick and the wheel's step, which is a tick up to 64
/// ticks, 8 up to 512, and 64 beyond.
fn lateness(span: Duration) -> Duration {
    let ticks = span.as_nanos() / TICK.as_nanos();
    let bucket = if ticks < 60 {
        1
    } else if ticks < 500 {
        8
    } else {
        64
    };
    TICK * bucket + TICK + TICK / 10
}

/// Returns the packets that came to the peer.
pub fn packets(seen: &[(Time, Vec<u8>)]) -> Vec<Packet> {
    let mut reader = Reader::default();
    let packets = seen.iter().filter_map(|(time, packet)| {
        let (_, inside) = ipv4::decode(packet).ok()?;
        let (header, chunks) = sctp::decode(&packet[inside]).ok()?;
        reader.packet(*time, header.verification_tag, &chunks)
    });
    packets.collect()
}

/// State of reading a stack's packets.
#[derive(Default)]
struct Reader {
    start: Option<Time>,
    tags: Vec<u32>,
    /// First TSNs.
    firsts: Vec<u32>,
}

impl Reader {
    fn packet(&mut self, time: Time, tag: u32, chunks: &[sctp::Chunk<'_>]) -> Option<Packet> {
        let chunks: Vec<_> = chunks.iter().filter(|chunk| chunk.kind != kind::HEARTBEAT).collect();
        if chunks.is_empty() {
            return None;
        }
        let start = *self.start.get_or_insert(time);
        let chunks = chunks.into_iter().map(|chunk| self.chunk(chunk)).collect();
        Some(Packet { at: time.since(start), tag: self.tag(tag), chunks })
    }

    fn tag(&self, tag: u32) -> Tag {
        match TAGS.iter().position(|known| *known == tag) {
            Some(life) => Tag::Peer(life),
            None if tag == 0 => Tag::Zero,
            None if self.tags.contains(&tag) => Tag::Own,
            None => Tag::Other,
        }
    }

    /// Counted from the nearest of the first TSNs.
    fn tsn(&self, tsn: u32) -> u32 {
        self.firsts.iter().map(|first| tsn.wrapping_sub(*first)).min().unwrap_or(tsn)
    }

    fn chunk(&mut self, chunk: &sctp::Chunk<'_>) -> Chunk {
        let value = chunk.value;
        let read = Chunk { kind: chunk.kind, flags: chunk.flags, ..Chunk::default() };
        match chunk.kind {
            kind::DATA if value.len() >= 12 => Chunk {
                tsn: Some(self.tsn(be32(value, 0))),
                stream: Some((be16(value, 4), be16(value, 6))),
                length: value.len() - 12,
                ..read
            },
            kind::INIT | kind::INIT_ACK if value.len() >= 16 => {
                self.tags.push(be32(value, 0));
                self.firsts.push(be32(value, 12));
                let mut causes = items(&value[16..]);
                causes.retain(|(code, _)| *code == parameter::UNRECOGNIZED_PARAMETER);
                Chunk { window: Some(be32(value, 4)), stream: Some((be16(value, 8), be16(value, 10))), causes, ..read }
            }
            kind::SACK if value.len() >= 12 => {
                let gaps = usize::from(be16(value, 8));
                let words = value[12..].chunks_exact(4);
                Chunk {
                    cumulative: Some(be32(value, 0).wrapping_sub(TSN)),
                    window: Some(be32(value, 4)),
                    gaps: words.clone().take(gaps).map(|gap| (be16(gap, 0), be16(gap, 2))).collect(),
                    duplicates: words.skip(gaps).map(|tsn| be32(tsn, 0).wrapping_sub(TSN)).collect(),
                    ..read
                }
            }
            kind::SHUTDOWN if value.len() >= 4 => Chunk { cumulative: Some(be32(value, 0).wrapping_sub(TSN)), ..read },
            kind::ABORT | kind::ERROR => Chunk { causes: items(value), ..read },
            _ => Chunk { length: value.len(), ..read },
        }
    }
}

/// Causes or parameters.
fn items(mut rest: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    while rest.len() >= 4 {
        let length = usize::from(be16(rest, 2)).clamp(4, rest.len());
        found.push((be16(rest, 0), rest[4..length].to_vec()));
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// Returns the class in which one packet differs from the other, which have chunks of the same types; `gaps` are the
/// times since the packets before them.
fn classes(ours: &Packet, linux: &Packet, gaps: [Duration; 2]) -> Vec<Class> {
    let early = gaps[0] + lateness(gaps[0]) < gaps[1];
    let late = gaps[1] + TICK + TICK / 10 < gaps[0];
    let differs = |differ: fn(&Chunk, &Chunk) -> bool| {
        ours.chunks.iter().zip(&linux.chunks).any(|(one, other)| differ(one, other))
    };
    let offers = |one: &Chunk, other: &Chunk| one.kind != kind::DATA && one.stream != other.stream;
    let streams = |one: &Chunk, other: &Chunk| one.kind == kind::DATA && one.stream != other.stream;
    let checks = [
        (Class::Time, early || late),
        (Class::Tag, ours.tag != linux.tag),
        (Class::Flags, differs(|one, other| one.flags != other.flags)),
        (Class::Tsn, differs(|one, other| one.tsn != other.tsn)),
        (Class::Stream, differs(streams)),
        (Class::Length, differs(|one, other| one.length != other.length)),
        (Class::Cumulative, differs(|one, other| one.cumulative != other.cumulative)),
        (Class::Gaps, differs(|one, other| one.gaps != other.gaps)),
        (Class::Duplicates, differs(|one, other| one.duplicates != other.duplicates)),
        (Class::Causes, differs(|one, other| one.causes != other.causes)),
        (Class::Window, differs(|one, other| one.window != other.window)),
        (Class::Offers, differs(offers)),
    ];
    checks.into_iter().filter(|(_, differs)| *differs).map(|(class, _)| class).collect()
}

/// Returns the types of all chunks from this packet on that leave with it.
fn burst(packets: &[Packet]) -> Vec<(u8, Option<u32>)> {
    let Some(first) = packets.first() else { return Vec::new() };
    let together = packets.iter().take_while(|packet| packet.at - first.at < Duration::from_micros(500));
    let mut all: Vec<_> =
        together.flat_map(|packet| packet.chunks.iter().map(|chunk| (chunk.kind, chunk.tsn))).collect();
    all.sort_unstable();
    all
}

impl Piece for Packet {
    type Class = Class;

    fn at(&self) -> Duration {
        self.at
    }

    fn compare(ours: &[Packet], linux: &[Packet], gaps: [Duration; 2]) -> Option<Vec<Class>> {
        let kinds = |packet: &Packet| packet.chunks.iter().map(|chunk| chunk.kind).collect::<Vec<_>>();
        if kinds(&ours[0]) == kinds(&linux[0]) {
            return Some(classes(&ours[0], &linux[0], gaps));
        }
        let same = burst(ours) == burst(linux);
        Some(vec![if same { Class::Bundling } else { Class::Kinds }])
    }

    fn counts(&self) -> bool {
        self.at < HORIZON
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9.4}", self.at.as_secs())?;
        if self.tag != Tag::Peer(0) {
            write!(f, " {:?}", self.tag)?;
        }
        self.chunks.iter().try_for_each(|chunk| write!(f, " {chunk}"))
    }
}

impl fmt::Display for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            "DATA",
            "INIT",
            "INIT-ACK",
            "SACK",
            "HB",
            "HB-ACK",
            "ABORT",
            "SHUTDOWN",
            "SHUTDOWN-ACK",
            "ERROR",
            "COOKIE-ECHO",
            "COOKIE-ACK",
            "12",
            "13",
            "SHUTDOWN-COMPLETE",
        ];
        match names.get(usize::from(self.kind)) {
            Some(name) => write!(f, "{name}")?,
            None => write!(f, "{:#x}", self.kind)?,
        }
        if self.flags != 0 {
            write!(f, "/{}", self.flags)?;
        }
        self.tsn.map_or(Ok(()), |tsn| write!(f, " {tsn}"))?;
        self.stream.map_or(Ok(()), |(stream, number)| write!(f, " s{stream}:{number}"))?;
        if self.length > 0 {
            write!(f, "+{}", self.length)?;
        }
        self.cumulative.map_or(Ok(()), |tsn| write!(f, " ack {}", tsn as i32))?;
        self.window.map_or(Ok(()), |window| write!(f, " win {window}"))?;
        if !self.gaps.is_empty() {
            write!(f, " {:?}", self.gaps)?;
        }
        if !self.duplicates.is_empty() {
            write!(f, " dup {:?}", self.duplicates)?;
        }
        for (code, details) in &self.causes {
            write!(f, " !{code}+{}", details.len())?;
        }
        Ok(())
    }
}
