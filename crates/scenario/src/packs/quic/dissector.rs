//! Datagrams of connections as a viewer draws them: packet numbers of 1-RTT packets, and frames in words.

use super::json::space_name;
use crate::endpoint::dissector::{Dissection, Dissector, kind};
use crate::endpoint::{Body, Crossing};
use std::fmt::Write;
use vazao_transport::quic::{Datagram, Frame, Kind, Space};

/// Reader of a connection's datagrams.
pub(crate) struct Datagrams;

impl Dissector for Datagrams {
    fn dissect(&mut self, crossing: &Crossing<'_>, out: &mut Dissection) {
        let Body::Kept { content, .. } = *crossing.body else { return };
        let datagram: &Datagram = crossing.contents.get(content);
        for (header, frames, ranges) in datagram.split() {
            let space = header.kind.space();
            out.say(space_name(space, header.kind == Kind::ZeroRtt));
            let _ = write!(out.text, " packet {}", header.number);
            if space != Space::Data {
                out.kind |= kind::OPENS;
            }
            for frame in frames {
                read(frame, ranges, space, out);
            }
            let is_eliciting = frames.iter().any(|frame| !matches!(frame, Frame::Ack(_) | Frame::Padding(_)));
            if space == Space::Data && is_eliciting {
                out.data = Some(header.number..header.number + 1);
            }
        }
    }
}

fn read(frame: &Frame, ranges: &[(u64, u64)], space: Space, out: &mut Dissection) {
    match *frame {
        Frame::Padding(_) => {}
        Frame::Stream(stream) => {
            out.kind |= kind::DATA;
            let fin = if stream.fin { " FIN" } else { "" };
            let _ = write!(out.text, ", STREAM {} bytes {} to {}{fin}", stream.id, stream.offset, stream.end());
        }
        Frame::Datagram { length, number } => {
            out.kind |= kind::DATA;
            let _ = write!(out.text, ", DATAGRAM {number} ({length} B)");
        }
        Frame::Ack(_) => {
            out.kind |= kind::ACK;
            let _ = write!(out.text, ", ACK");
            for &(first, last) in ranges {
                let _ = write!(out.text, " {first} to {last}");
            }
            if space == Space::Data {
                // The lowest range reaches down to what was acknowledged before.
                out.ack = ranges.last().map(|&(_, last)| last + 1);
                out.sacks.extend(ranges.iter().rev().skip(1).map(|&(first, last)| first..last + 1));
            }
        }
        Frame::Ping => {
            out.kind |= kind::PROBES;
            out.say("PING");
        }
        Frame::Close { code, .. } => {
            out.kind |= kind::CLOSES;
            let _ = write!(out.text, ", CONNECTION_CLOSE {code}");
        }
        ref frame => {
            let _ = write!(out.text, ", {frame:?}");
        }
    }
}
