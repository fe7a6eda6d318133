//! Packets of associations as a viewer draws them: TSNs, and chunks in words.

use crate::endpoint::dissector::{Dissection, Dissector, Unwrapped, kind};
use crate::endpoint::{Body, Crossing};
use std::fmt::Write;
use vazao_transport::sctp::{Control, Packet};

/// Reader of an association's packets.
#[derive(Default)]
pub(crate) struct Chunks {
    /// TSNs of each side.
    tsns: [Unwrapped; 2],
}

impl Chunks {
    fn control(&mut self, from: usize, chunk: &Control, out: &mut Dissection) {
        let (name, bit) = match chunk {
            Control::Init(init) | Control::InitAck(init, _) => {
                self.tsns[from] = Unwrapped::from(init.tsn);
                (if matches!(chunk, Control::Init(_)) { "INIT" } else { "INIT ACK" }, kind::OPENS)
            }
            Control::CookieEcho(_) => ("COOKIE ECHO", kind::OPENS),
            Control::CookieAck => ("COOKIE ACK", kind::OPENS),
            Control::Error(_) => ("ERROR", 0),
            Control::Heartbeat(_) => ("HEARTBEAT", kind::PROBES),
            Control::HeartbeatAck(_) => ("HEARTBEAT ACK", kind::PROBES),
            Control::Shutdown(_) => ("SHUTDOWN", kind::CLOSES),
            Control::ShutdownAck => ("SHUTDOWN ACK", kind::CLOSES),
            Control::ShutdownComplete(_) => ("SHUTDOWN COMPLETE", kind::CLOSES),
            Control::Abort(..) => ("ABORT", kind::RESETS),
            Control::Unknown(_) => ("unknown chunk", 0),
        };
        out.kind |= bit;
        out.say(name);
    }
}

impl Dissector for Chunks {
    fn dissect(&mut self, crossing: &Crossing<'_>, out: &mut Dissection) {
        let Body::Kept { content, .. } = *crossing.body else { return };
        let (packet, from): (&Packet, _) = (crossing.contents.get(content), crossing.from());
        packet.control.iter().for_each(|chunk| self.control(from, chunk, out));
        if let Some(sack) = packet.sack {
            let peer = &mut self.tsns[1 - from];
            out.kind |= kind::ACK;
            // The cumulative TSN is the last one that has come, and what is asked for is the next.
            let ack = peer.of(sack.cumulative.wrapping_add(1));
            out.ack = Some(ack);
            out.say(if sack.non_renegable { "NR-SACK" } else { "SACK" });
            let _ = write!(out.text, " of TSNs below {ack}, window {} B", sack.window);
            for &(first, last) in &packet.gaps {
                let block = ack - 1 + u64::from(first)..ack + u64::from(last);
                let _ = write!(out.text, ", gap block {} to {}", block.start, block.end - 1);
                out.sacks.push(block);
            }
            if !packet.duplicates.is_empty() {
                let _ = write!(out.text, ", {} duplicates", packet.duplicates.len());
            }
        }
        if let Some(cumulative) = packet.forward {
            let _ = write!(out.text, "; FORWARD TSN {}", self.tsns[from].of(cumulative));
        }
        for data in &packet.data {
            let tsn = self.tsns[from].of(data.tsn);
            out.kind |= kind::DATA;
            let known = out.data.take().unwrap_or(tsn..tsn + 1);
            out.data = Some(known.start.min(tsn)..known.end.max(tsn + 1));
            out.say(if packet.interleaved { "I-DATA" } else { "DATA" });
            let _ = write!(out.text, " TSN {tsn}, stream {} message {} ({} B)", data.stream, data.number, data.length);
        }
    }
}
