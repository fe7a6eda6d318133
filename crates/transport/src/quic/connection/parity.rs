//! Forward error correction as in Google's QUIC up to version 31 (*QUIC FEC v1*, Swett, 2016): each group of packets is
//! followed by their XOR, from which one lost packet can be recovered without retransmission. Parity packets count as
//! in flight but are not subject to the window; a recovered packet still counts as lost for the congestion control.

use super::*;
use crate::quic::packet::{Address, Datagram, Header, Kind, number_bytes};
use crate::quic::sent::{Content, Sent};

/// Maximum incomplete groups kept.
const MAX_WAITING: usize = 16;

/// FEC groups in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct Parity {
    /// Frames of the group being sent, by packet number; number of packets, and bytes of the longest one.
    group: Vec<(u64, Frame)>,
    packets: usize,
    longest: u32,
    /// Received groups that lack more than one packet.
    waiting: VecDeque<Vec<(u64, Frame)>>,
}

impl Parity {
    /// Whether an incomplete group is kept.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl Connection {
    /// Bytes left free in packets for the header of their parity packet.
    pub(super) fn parity_header(&self) -> u32 {
        if self.config.fec > 0 { Frame::Parity(0).bytes() + 2 } else { 0 }
    }

    /// Adds a departing datagram's data packet to the group.
    pub(super) fn protect(&mut self, out: &Datagram) {
        let mut frames = &out.frames[..];
        for header in &out.packets {
            let (own, rest) = frames.split_at(usize::from(header.frames));
            frames = rest;
            if header.kind == Kind::OneRtt && own.iter().any(|frame| matches!(frame, Frame::Stream(_))) {
                // Control frames are retransmitted anyway; only stream data is recovered.
                let stream_frames = own.iter().filter(|frame| matches!(frame, Frame::Stream(_)));
                self.parity.group.extend(stream_frames.map(|frame| (header.number, *frame)));
                self.parity.packets += 1;
                self.parity.longest = self.parity.longest.max(own.iter().map(Frame::bytes).sum());
            }
        }
    }

    /// Whether the current group is complete: it has its full size, or there is no more data.
    pub(super) fn is_parity_due(&self) -> bool {
        let complete = self.parity.packets >= self.config.fec || !self.has_content();
        self.parity.packets > 0 && complete && self.paths[0].allowance() >= u64::from(self.config.datagram)
    }

    /// Fills `out` with the group's parity packet.
    pub(super) fn parity_datagram(&mut self, now: Time, out: &mut Datagram) {
        let space = &self.paths[0].recovery.spaces[Space::Data as usize];
        let (number, number_bytes) = (space.next_number(), number_bytes(space.unacknowledged()));
        let frame = Frame::Parity(self.parity.longest as u16);
        out.frames.push(frame);
        out.packets.push(Header { kind: Kind::OneRtt, number, number_bytes: number_bytes as u8, frames: 1, ranges: 0 });
        out.bytes = Kind::OneRtt.overhead(number_bytes) + frame.bytes();
        out.protected.append(&mut self.parity.group);
        (self.parity.packets, self.parity.longest) = (0, 0);
        self.stats.parities += 1;
        let packet = Sent::new(now, out.bytes, true, None, Content::Nothing, Space::Data);
        out.ecn = self.paths[0].marking.mark(1);
        self.on_packet_sent(now, 0, packet, out.ecn);
        self.on_datagram_sent(now, 0, true, out);
    }

    /// Recovers packets of groups that now lack only one, after a datagram that may carry parity.
    pub(super) fn recover_lost(&mut self, now: Time, protected: &[(u64, Frame)], from: Address) {
        if !protected.is_empty() && self.progress.reads[Space::Data as usize] {
            self.parity.waiting.push_back(protected.to_vec());
        }
        if self.parity.waiting.len() > MAX_WAITING {
            self.parity.waiting.pop_front();
        }
        for _ in 0..self.parity.waiting.len() {
            let Some(group) = self.parity.waiting.pop_front() else { break };
            let known = |number| self.paths[0].acks[Space::Data as usize].is_known(number);
            let mut missing = group.iter().map(|&(number, _)| number).filter(|&number| !known(number));
            let Some(first) = missing.next() else { continue };
            if missing.any(|number| number != first) {
                self.parity.waiting.push_back(group);
                continue;
            }
            self.stats.recovered += 1;
            for (_, frame) in group.iter().filter(|(number, _)| *number == first) {
                self.handle_frame(now, 0, Space::Data, frame, &[], from);
                if let Frame::Stream(frame) = frame {
                    self.frames.push_back(Frame::Recovered(*frame));
                }
            }
        }
    }
}
