//! Comparison of two stacks' packets to the same peer.

use crate::Piece;
use std::fmt;
use vazao_engine::{Duration, Time};
use vazao_wire::tcp::Flags;
use vazao_wire::{ipv4, tcp};

/// A segment as far as two stacks can be compared in it: sequence numbers count from the SYNs.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Since the first one.
    pub at: Duration,
    /// Bits.
    pub flags: Flags,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number, 0 without ACK.
    pub acknowledgment: u32,
    /// Bytes of payload.
    pub length: u32,
    /// Window in bytes.
    pub window: u32,
    /// Options of a SYN.
    pub offers: Option<(Option<u16>, Option<u8>, bool)>,
    /// The time stamp that it echoes, if it has any.
    pub echo: Option<u32>,
    /// The blocks that it reports.
    pub blocks: Vec<(u32, u32)>,
}

/// Class of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One sends a segment more.
    Count,
    /// Departure of a segment, by more than a tick.
    Time,
    /// SYN, FIN, RST, ACK.
    Flags,
    /// PSH.
    Push,
    /// Octets.
    Sequence,
    /// Number of octets.
    Length,
    /// Acknowledgment.
    Acknowledgment,
    /// Window.
    Window,
    /// The options of a SYN.
    Offers,
    /// Time stamps.
    Echo,
    /// Blocks of SACK.
    Blocks,
}

impl crate::Class for Class {
    const COUNT: Class = Class::Count;

    fn parts(self) -> bool {
        !matches!(self, Class::Push | Class::Window | Class::Echo)
    }
}

/// Most difference between stacks' timers.
const TICK: Duration = Duration::from_millis(11);

/// Returns the segments among packets.
pub fn segments(packets: &[(Time, Vec<u8>)]) -> Vec<Segment> {
    let mut initial = None;
    let mut start = Time::ZERO;
    let mut scale = 0;
    let read = packets.iter().filter_map(|(time, packet)| {
        let (ip, inside) = ipv4::decode(packet).ok()?;
        let (header, data) = tcp::decode(&packet[inside], ip.pseudo_header()).ok()?;
        Some((*time, header, data.len() as u32))
    });
    read.map(|(time, header, length)| {
        let is_syn = header.flags.contains(Flags::SYN);
        let iss = *initial.get_or_insert_with(|| {
            start = time;
            header.sequence
        });
        if is_syn {
            scale = header.options.window_scale.unwrap_or(0);
        }
        let acknowledges = header.flags.contains(Flags::ACK);
        Segment {
            at: time.since(start),
            flags: header.flags,
            sequence: header.sequence.wrapping_sub(iss),
            acknowledgment: if acknowledges { header.acknowledgment.wrapping_sub(super::peer::ISS) } else { 0 },
            length,
            window: u32::from(header.window) << if is_syn { 0 } else { scale },
            offers: is_syn.then_some((header.options.mss, header.options.window_scale, header.options.sack_permitted)),
            echo: header.options.timestamps.map(|(_, echo)| echo),
            blocks: header
                .options
                .sack
                .as_slice()
                .iter()
                .map(|block| [block.left, block.right].map(|edge| edge.wrapping_sub(super::peer::ISS)).into())
                .collect(),
        }
    })
    .collect()
}

/// Returns whether ours ends with the data what the kernel ends behind it. The guest's program writes and then closes,
/// so that its FIN goes by itself where the data could leave before; our applications do both at a time. The peer
/// answers each, and so what follows cannot be compared.
fn ends_with_data(ours: &Segment, linux: &Segment) -> bool {
    let fin = |segment: &Segment| segment.flags.contains(Flags::FIN);
    ours.length > 0 && fin(ours) && !fin(linux) && (ours.sequence, ours.length) == (linux.sequence, linux.length)
}

/// Returns the class in which one segment differs from the other; `gaps` are the times since the segments before them.
fn classes(ours: &Segment, linux: &Segment, gaps: [Duration; 2]) -> Vec<Class> {
    let without_push = |segment: &Segment| segment.flags.0 & !Flags::PSH.0;
    let checks = [
        (Class::Time, gaps[0].abs_diff(gaps[1]) > TICK),
        (Class::Flags, without_push(ours) != without_push(linux)),
        (Class::Sequence, ours.sequence != linux.sequence),
        (Class::Length, ours.length != linux.length),
        (Class::Acknowledgment, ours.acknowledgment != linux.acknowledgment),
        (Class::Offers, ours.offers != linux.offers),
        (Class::Blocks, ours.blocks != linux.blocks),
        (Class::Push, ours.flags.contains(Flags::PSH) != linux.flags.contains(Flags::PSH)),
        (Class::Window, ours.window != linux.window),
        (Class::Echo, ours.echo != linux.echo),
    ];
    checks.into_iter().filter(|(_, differs)| *differs).map(|(class, _)| class).collect()
}

impl Piece for Segment {
    type Class = Class;

    fn at(&self) -> Duration {
        self.at
    }

    fn compare(ours: &[Segment], linux: &[Segment], gaps: [Duration; 2]) -> Option<Vec<Class>> {
        (!ends_with_data(&ours[0], &linux[0])).then(|| classes(&ours[0], &linux[0], gaps))
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(Flags::SYN, 'S'), (Flags::FIN, 'F'), (Flags::RST, 'R'), (Flags::PSH, 'P'), (Flags::ACK, '.')];
        let flags: String = names.iter().filter(|(flag, _)| self.flags.contains(*flag)).map(|(_, name)| name).collect();
        write!(
            f,
            "{:>9.4} {flags:<3} {}+{} ack {} win {}",
            self.at.as_secs(),
            self.sequence,
            self.length,
            self.acknowledgment,
            self.window
        )?;
        if let Some(echo) = self.echo {
            write!(f, " ecr {echo}")?;
        }
        if let Some((mss, scale, sack)) = self.offers {
            write!(f, " mss {mss:?} scale {scale:?} sack {sack}")?;
        }
        if !self.blocks.is_empty() {
            write!(f, " {:?}", self.blocks)?;
        }
        Ok(())
    }
}
