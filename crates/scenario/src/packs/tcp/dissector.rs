//! Segments as a viewer draws them, of TCP and of Multipath TCP's subflows.

use super::bytes::{open, segment};
use crate::endpoint::dissector::{Dissection, Dissector, Unwrapped, kind};
use crate::endpoint::{Body, Crossing};
use std::collections::BTreeMap;
use std::fmt::Write;
use vazao_transport::tcp::{Extra, Flags, Segment};

/// Reader of a connection's segments, or of all its subflows'.
#[derive(Default)]
pub(crate) struct Segments {
    /// State by the subflow's port pair.
    connections: BTreeMap<u8, [Side; 2]>,
}

/// Stream that one side sends, and its receive window's scale.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    stream: Unwrapped,
    scale: Option<u8>,
}

const FLAGS: [(Flags, &str, u8); 7] = [
    (Flags::SYN, "SYN", kind::OPENS),
    (Flags::FIN, "FIN", kind::CLOSES),
    (Flags::RST, "RST", kind::RESETS),
    (Flags::PSH, "PSH", 0),
    (Flags::ACK, "ACK", kind::ACK),
    (Flags::ECE, "ECE", 0),
    (Flags::CWR, "CWR", 0),
];

impl Segments {
    fn read(&mut self, from: usize, segment: &Segment, extra: Option<&Extra>, out: &mut Dissection) {
        let multipath = extra.and_then(|extra| extra.multipath);
        let sides = self.connections.entry(multipath.map_or(0, |multipath| multipath.tuple.port)).or_default();
        let is_syn = segment.flags.has(Flags::SYN);
        if is_syn {
            let scale = extra.and_then(|extra| extra.syn).and_then(|syn| syn.window_scale);
            // The SYN takes the number before the stream's first byte.
            sides[from] = Side { stream: Unwrapped::from(segment.sequence.wrapping_add(1)), scale };
        }
        let scales = sides.iter().all(|side| side.scale.is_some()) && !is_syn;
        let scale = if scales { sides[from].scale.unwrap_or_default() } else { 0 };
        let [own, peer] = sides.get_disjoint_mut([from, 1 - from]).expect("two sides");
        let start = if is_syn { 0 } else { own.stream.of(segment.sequence) };
        if segment.length > 0 {
            out.data = Some(start..start + u64::from(segment.length));
        }
        if segment.flags.has(Flags::ACK) {
            let ack = peer.stream.of(segment.acknowledgment);
            (out.ack, out.edge) = (Some(ack), Some(ack + (u64::from(segment.window) << scale)));
        }
        for &(left, right) in extra.map_or(&[][..], |extra| extra.sack.as_slice()) {
            // Blocks lie near the acknowledgement, which they do not move.
            let mut near = peer.stream;
            out.sacks.push(near.of(left)..near.of(right));
        }
        tell(segment, extra, out);
    }
}

/// Tells a segment's kind and its words, once its data, acknowledgement, edge and blocks are known.
pub(crate) fn tell(segment: &Segment, extra: Option<&Extra>, out: &mut Dissection) {
    let named = FLAGS.iter().filter(|(flag, ..)| segment.flags.has(*flag));
    out.kind |= named.clone().fold(0, |bits, (_, _, bit)| bits | bit);
    let names: Vec<&str> = named.map(|(_, name, _)| *name).collect();
    out.say(&names.join(" "));
    if let Some(data) = &out.data {
        out.kind |= kind::DATA;
        let _ = write!(out.text, ", bytes {} to {} ({} B)", data.start, data.end - 1, data.end - data.start);
    }
    if let Some(ack) = out.ack {
        let _ = write!(out.text, ", ack {ack}");
        if let Some(edge) = out.edge {
            let _ = write!(out.text, ", window {} B", edge - ack);
        }
    }
    for block in &out.sacks {
        let _ = write!(out.text, ", SACK {} to {}", block.start, block.end.saturating_sub(1));
    }
    if segment.has_timestamps {
        let _ = write!(out.text, ", timestamp {} echo {}", segment.timestamp, segment.echo);
    }
    if let Some(extra) = extra {
        tell_options(extra, out);
    }
}

/// Tells the options of a SYN and of a subflow.
fn tell_options(extra: &Extra, out: &mut Dissection) {
    if let Some(syn) = extra.syn {
        let _ = write!(out.text, ", MSS {}", syn.mss);
        if let Some(scale) = syn.window_scale {
            let _ = write!(out.text, ", window scale {scale}");
        }
        if syn.sack_permitted {
            out.say("SACK permitted");
        }
    }
    if let Some(multipath) = extra.multipath {
        let _ = write!(out.text, ", subflow {}", multipath.tuple.port);
        if let Some(dss) = multipath.dss {
            if let Some(map) = dss.map {
                let _ = write!(out.text, ", DSS maps {} octets at {}", map.length, map.dsn);
            }
            if let Some(ack) = dss.ack {
                let _ = write!(out.text, ", DATA_ACK {ack:?}");
            }
        }
        if let Some(signal) = multipath.signal {
            let _ = write!(out.text, ", {signal:?}");
        }
    }
}

impl Dissector for Segments {
    fn dissect(&mut self, crossing: &Crossing<'_>, out: &mut Dissection) {
        if let Body::Tcp(segment) = crossing.body {
            self.read(crossing.from(), segment, crossing.contents.extra(segment), out);
        }
    }

    fn dissect_bytes(&mut self, from: usize, packet: &[u8], out: &mut Dissection) {
        match open(packet) {
            Ok((header, payload, ecn)) => {
                let (segment, extra) = segment(&header, payload.len(), ecn);
                self.read(from, &segment, Some(&extra), out);
            }
            Err(_) => out.say("IP packet that holds no segment"),
        }
    }
}
