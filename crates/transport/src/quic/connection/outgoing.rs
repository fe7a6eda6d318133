//! Transmission of datagrams.

use super::*;
use crate::quic::packet::{Datagram, Header, number_bytes};
use crate::quic::sent::{Content, Sent};
use vazao_engine::Ecn;

/// Minimum size of a datagram with an ack-eliciting Initial packet (RFC 9000 section 14.1).
const MIN_INITIAL: u32 = 1200;
/// Maximum size of a long-header packet, whose length field has two bytes (RFC 9000 section 16).
const MAX_LONG_PACKET: u32 = 16_383;
/// Minimum room for which a packet is worth sending.
pub(super) const MIN_ROOM: u64 = 64;
/// Minimum room of an ACK frame, which otherwise takes at most half of a packet.
const ACK_ROOM: u32 = 32;
/// Error codes (RFC 9000 section 20.1); the last one replaces an application's code in packets readable by others.
const FLOW_CONTROL_ERROR: u64 = 0x03;
const STREAM_LIMIT_ERROR: u64 = 0x04;
const APPLICATION_ERROR: u64 = 0x0c;

/// Content that a packet may have besides acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Nothing,
    /// Frames queued for its path.
    Queue,
    /// Queued and control frames.
    Control,
    All,
}

impl Scope {
    /// Everything if `free` to send, otherwise nothing.
    #[inline]
    fn of(free: bool) -> Scope {
        if free { Scope::All } else { Scope::Nothing }
    }
}

/// Content of a packet besides acknowledgements.
#[derive(Clone, Copy)]
pub(super) struct PacketPlan {
    scope: Scope,
    content: bool,
    /// Whether it is a probe, sent as PING if there is no content.
    probing: bool,
}

/// Packet added to a datagram.
struct BuiltPacket {
    space: Space,
    /// Bytes that count as in flight.
    in_flight: u32,
    eliciting: bool,
    reported: Option<u64>,
    /// Range of its frames, without the ACK frame.
    content_start: usize,
    end: usize,
}

impl BuiltPacket {
    /// Creates the record of the sent packet, in place.
    #[inline(always)]
    fn sent(&self, now: Time, frames: &[Frame]) -> Sent {
        let content = match &frames[self.content_start..self.end] {
            [] | [Frame::Ping] | [Frame::Ping, Frame::Padding(_)] => Content::Nothing,
            [Frame::Stream(frame)] => Content::Stream(*frame),
            several => Content::Frames(several.into()),
        };
        Sent::new(now, self.in_flight, self.eliciting, self.reported, content, self.space)
    }
}

impl Connection {
    /// Fills `out` with the next datagram and returns whether there was one; call again until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, out: &mut Datagram) -> bool {
        self.close_if_finished();
        if !self.is_settled_path() || self.life != Life::Open || self.config.fec > 0 {
            return self.poll_otherwise(now, out);
        }
        // A probe carries whatever data there is (RFC 9002 section 6.2.4).
        let probing = self.paths[0].is_probing();
        let (wanted, paces) = (self.has_content_in(Space::Data), self.paces());
        let free = self.paths[0].may_send(now, wanted, paces) || probing;
        let plan = PacketPlan { scope: Scope::of(free), content: free && wanted, probing };
        self.data_datagram(now, (0, self.config.datagram), plan, out)
    }

    /// Sends a datagram with one packet of the data space and this content on a path.
    #[inline(always)]
    pub(super) fn data_datagram(
        &mut self,
        now: Time,
        (path, room): (usize, u32),
        plan: PacketPlan,
        out: &mut Datagram,
    ) -> bool {
        let Some(packet) = self.packet(now, Space::Data, (path, room), plan, out) else { return false };
        out.ecn = self.paths[path].marking.mark(1);
        self.on_packet_sent(now, path, packet.sent(now, &out.frames), out.ecn);
        self.on_datagram_sent(now, path, packet.eliciting, out);
        true
    }

    /// Sends a datagram with one packet of the data space on one of several paths.
    pub(super) fn path_datagram(&mut self, now: Time, path: usize, scope: Scope, out: &mut Datagram) -> bool {
        let content = match scope {
            Scope::Nothing => false,
            Scope::Queue => true,
            Scope::Control | Scope::All => self.has_content_in(Space::Data),
        };
        let room = u64::from(self.config.datagram).min(self.paths[path].allowance()) as u32;
        let plan = PacketPlan { scope, content, probing: self.paths[path].is_probing() };
        self.data_datagram(now, (path, room), plan, out)
    }

    /// Whether only one packet number space is in use, and the client's only address is validated.
    #[inline]
    pub(super) fn is_settled_path(&self) -> bool {
        self.progress.confirmed && self.paths.len() == 1 && self.paths[0].is_settled()
    }

    /// Sends the next datagram during handshake, closing, or path validation, and with multipath or FEC.
    #[cold]
    fn poll_otherwise(&mut self, now: Time, out: &mut Datagram) -> bool {
        self.start(now);
        if self.life != Life::Open {
            return self.close_datagram(now, out);
        }
        if self.paths.len() > 1 && self.progress.confirmed {
            return self.poll_paths(now, out);
        }
        if std::mem::take(&mut self.progress.retry_due) {
            let kind = Kind::Retry(super::handshake::TOKEN);
            out.packets.push(Header { kind, number: 0, number_bytes: 0, frames: 0, ranges: 0 });
            out.bytes = kind.overhead(0);
            self.count(0, out);
            return true;
        }
        if self.is_parity_due() {
            self.parity_datagram(now, out);
            return true;
        }
        let limit = u64::from(self.config.datagram).min(self.paths[0].allowance()) as u32;
        if self.poll_path(now, 0, out) {
            return true;
        }
        let (wanted, paces) = (self.has_content(), self.paces());
        let free = self.paths[0].may_send(now, wanted, paces) || self.paths[0].probes > 0;
        let mut packets: Vec<BuiltPacket> = Vec::new();
        let mut first = false;
        for space in Space::ALL {
            let left_free = if space == Space::Data { self.parity_header() } else { 0 };
            let room = limit.min(self.config.datagram - left_free).saturating_sub(out.bytes);
            if !self.progress.sends[space as usize] || u64::from(room) < MIN_ROOM {
                continue;
            }
            let probing = self.paths[0].probes > 0 && self.paths[0].probe_space == space;
            let plan = PacketPlan { scope: Scope::of(free), content: free && self.has_content_in(space), probing };
            if let Some(packet) = self.packet(now, space, (0, room), plan, out) {
                first |= space == Space::Initial && (packet.eliciting || self.role == Role::Client);
                packets.push(packet);
            }
        }
        let Some(last) = packets.last_mut() else { return false };
        if first && out.bytes < MIN_INITIAL {
            // Padded packets count as in flight (RFC 9002 section 2).
            last.in_flight += pad(out, MIN_INITIAL.min(limit.max(out.bytes)));
        }
        out.ecn = self.paths[0].marking.mark(out.packets.len() as u64);
        let eliciting = packets.iter().any(|packet| packet.eliciting);
        packets.iter().for_each(|packet| self.on_packet_sent(now, 0, packet.sent(now, &out.frames), out.ecn));
        self.on_datagram_sent(now, 0, eliciting, out);
        true
    }

    /// Sends a datagram with only PATH_CHALLENGE or PATH_RESPONSE. It is padded to 1200 bytes if the amplification
    /// limit permits, to validate the path MTU (section 8.2.1).
    pub(super) fn poll_path(&mut self, now: Time, path: usize, out: &mut Datagram) -> bool {
        let used = &mut self.paths[path];
        let Some(&(address, frame)) = used.answers.front() else { return false };
        // Toward another address, a response is never larger than the challenge.
        let most = if address == used.address { used.allowance() } else { u64::from(MIN_INITIAL) };
        let sent = &used.recovery.spaces[Space::Data as usize];
        let (number, number_bytes) = (sent.next_number(), number_bytes(sent.unacknowledged()));
        let bytes = Kind::OneRtt.overhead(number_bytes) + frame.bytes();
        if most < u64::from(bytes) {
            return false;
        }
        used.answers.pop_front();
        out.frames.push(frame);
        out.packets.push(Header { kind: Kind::OneRtt, number, number_bytes: number_bytes as u8, frames: 1, ranges: 0 });
        out.bytes = bytes;
        pad(out, MIN_INITIAL.min(most.min(u64::from(MIN_INITIAL)) as u32));
        let packet = Sent::new(now, 0, true, None, Content::Nothing, Space::Data);
        self.on_packet_sent(now, path, packet, Ecn::NotEct);
        self.on_datagram_sent(now, path, true, out);
        let used = &mut self.paths[path];
        if address != used.address && !used.validated {
            // Does not count toward the current address's amplification limit.
            used.sent -= u64::from(out.bytes);
            self.arm(now, path);
        }
        out.address = address;
        true
    }

    pub(super) fn paces(&self) -> bool {
        self.config.pacing && self.progress.complete
    }

    pub(super) fn has_content(&self) -> bool {
        !self.frames.is_empty()
            || !self.streams.ready.is_empty()
            || self.datagrams.is_waiting()
            || !self.progress.confirmed && self.progress.crypto.iter().any(|c| c.out.is_pending(u64::MAX))
    }

    #[inline]
    fn kind(&self, space: Space) -> Kind {
        match space {
            Space::Initial => Kind::Initial(self.progress.token),
            Space::Handshake => Kind::Handshake,
            Space::Data if self.progress.complete || self.role == Role::Server => Kind::OneRtt,
            Space::Data => Kind::ZeroRtt,
        }
    }

    /// Adds a packet of a space with at most `room` bytes to a datagram, if there is content. Inlined so that the
    /// record of a sent packet is built in place.
    #[inline(always)]
    fn packet(
        &mut self,
        now: Time,
        space: Space,
        (path, room): (usize, u32),
        PacketPlan { scope, content, probing }: PacketPlan,
        out: &mut Datagram,
    ) -> Option<BuiltPacket> {
        let index = space as usize;
        let kind = self.kind(space);
        let room = if kind == Kind::OneRtt { room } else { room.min(MAX_LONG_PACKET) };
        let can_acknowledge = kind != Kind::ZeroRtt;
        let named = (kind == Kind::OneRtt && self.paths.len() > 1).then_some(path as u8);
        let recently = if space == Space::Data { self.config.max_ack_delay } else { Duration::ZERO };
        let used = &mut self.paths[path];
        let acks = &mut used.acks[index];
        let due = can_acknowledge && acks.due() <= now;
        if !due && !content && !probing {
            return None;
        }
        let number_bytes = number_bytes(used.recovery.spaces[index].unacknowledged());
        let overhead = kind.overhead(number_bytes);
        let (first, ranges) = (out.frames.len(), out.ranges.len());
        // A packet with only PING is padded.
        let mut left = room.checked_sub(overhead).filter(|&left| left >= 4)?;
        let mut reported = None;
        if can_acknowledge
            && acks.should_report(now, recently)
            && let Some(ack) = acks.frame(now, &mut out.ranges, (left / 2).max(ACK_ROOM).min(left - 1), named)
        {
            reported = out.ranges.get(ranges).map(|range| range.1);
            left -= ack.bytes();
            out.frames.push(Frame::Ack(ack));
        }
        let content_start = out.frames.len();
        if scope != Scope::Nothing {
            self.fill(space, path, scope, &mut left, out);
        }
        if probing && out.frames.len() == content_start {
            out.frames.push(Frame::Ping);
            left -= 1;
        }
        if out.frames.len() == first {
            return None;
        }
        let eliciting = out.frames.len() > content_start;
        // Packet number and payload need four bytes or more, for the header protection sample (RFC 9001 section 5.4.2).
        let short = 4_u32.saturating_sub(number_bytes + room - overhead - left);
        if short > 0 {
            out.frames.push(Frame::Padding(short as u16));
            left -= short;
        }
        let bytes = room - left;
        out.bytes += bytes;
        let number = self.paths[path].recovery.spaces[index].next_number();
        let (frames, ranges) = ((out.frames.len() - first) as u16, (out.ranges.len() - ranges) as u16);
        out.packets.push(Header { kind, number, number_bytes: number_bytes as u8, frames, ranges });
        let in_flight = if eliciting { bytes } else { 0 };
        Some(BuiltPacket { space, in_flight, eliciting, reported, content_start, end: out.frames.len() })
    }

    fn has_content_in(&self, space: Space) -> bool {
        let crypto = !self.progress.confirmed && self.progress.crypto[space as usize].out.is_pending(u64::MAX);
        let data = !self.frames.is_empty() || !self.streams.ready.is_empty() || self.datagrams.is_waiting();
        crypto || space == Space::Data && data
    }

    /// Fills a packet with the frames of its space: CRYPTO first, then control frames, then stream data.
    #[inline]
    fn fill(&mut self, space: Space, path: usize, scope: Scope, left: &mut u32, out: &mut Datagram) {
        if !self.progress.confirmed {
            self.fill_handshake(space, left, out);
        }
        if space != Space::Data {
            return;
        }
        if self.paths.len() > 1 {
            self.fill_queue(path, left, out);
            if scope == Scope::Queue {
                return;
            }
        }
        if !self.frames.is_empty() || self.datagrams.is_waiting() {
            self.fill_control(left, out);
        }
        if scope == Scope::All {
            self.fill_streams(path, left, out);
        }
    }

    #[cold]
    fn fill_handshake(&mut self, space: Space, left: &mut u32, out: &mut Datagram) {
        /// Maximum bytes of type, offset and length of a CRYPTO frame.
        const CRYPTO_HEADER: u32 = 1 + 4 + 2;
        let crypto = &mut self.progress.crypto[space as usize].out;
        while *left > CRYPTO_HEADER + 8
            && let Some((offset, length, _)) = crypto.next(u64::from(*left - CRYPTO_HEADER), u64::MAX)
        {
            let frame = Frame::Crypto { offset, length: length as u16 };
            *left -= frame.bytes();
            out.frames.push(frame);
        }
    }

    /// Adds control frames and datagrams.
    #[inline(never)]
    fn fill_control(&mut self, left: &mut u32, out: &mut Datagram) {
        while let Some(&frame) = self.frames.front() {
            let frame = self.current(frame);
            if frame.bytes() > *left {
                break;
            }
            self.frames.pop_front();
            *left -= frame.bytes();
            out.frames.push(frame);
        }
        while self.datagrams.is_waiting()
            && let Some(frame) = self.datagrams.frame(*left, self.max_datagram_data())
        {
            *left -= frame.bytes();
            out.frames.push(frame);
        }
    }

    #[inline]
    pub(super) fn fill_streams(&mut self, path: usize, left: &mut u32, out: &mut Datagram) {
        let (mut again, mut fresh) = (false, 0);
        while u64::from(*left) >= MIN_ROOM
            && let Some(&place) = self.streams.ready.first()
        {
            let streams = &mut self.streams;
            let id = place.2;
            let stream = streams.map.get_mut(&id).expect("what is ready is there");
            let (mut sends, mut bytes) = (true, 0);
            while sends && u64::from(*left) >= MIN_ROOM {
                let (before, repeats) = (stream.out.sent, stream.out.is_retransmitting());
                let frame = stream.frame(id, *left, streams.peer_limit - streams.data_sent);
                sends = frame.is_some();
                if let Some(frame) = frame {
                    let first = stream.out.sent - before;
                    streams.data_sent += first;
                    streams.waiting -= first;
                    again |= repeats && frame.length > 0;
                    if !repeats {
                        fresh += u64::from(frame.length);
                    }
                    if let (true, Some(multipath)) = (first > 0, &mut self.multipath) {
                        multipath.scheduling.on_sent(path, &mut self.paths[path], streams.data_sent, frame);
                    }
                    bytes += u64::from(frame.length);
                    *left -= frame.bytes();
                    out.frames.push(Frame::Stream(frame));
                }
            }
            // A stream blocked by flow control, or without data, is queued again when that changes.
            let stays = sends && stream.out.is_pending(stream.peer_limit);
            streams.end_turn(place, bytes, stays);
        }
        self.stats.retransmissions += u64::from(again);
        let stats = &mut self.paths[path].stats;
        stats.retransmissions += u64::from(again);
        stats.bytes += fresh;
        if let Some(multipath) = &mut self.multipath {
            multipath.scheduling.on_given(path, fresh);
        }
    }

    #[inline]
    pub(super) fn on_packet_sent(&mut self, now: Time, path: usize, mut packet: Sent, ecn: Ecn) {
        let space = packet.space;
        let used = &mut self.paths[path];
        if packet.eliciting {
            if used.probe_space == space {
                used.probes = used.probes.saturating_sub(1);
            }
            if space == Space::Data {
                used.announce(now);
            }
        }
        packet.capable = ecn != Ecn::NotEct;
        used.recovery.space(space).push(packet);
        if space == Space::Handshake && self.role == Role::Client {
            // RFC 9001 section 4.9.1.
            self.discard(Space::Initial);
        }
    }

    #[inline]
    pub(super) fn on_datagram_sent(&mut self, now: Time, path: usize, eliciting: bool, out: &mut Datagram) {
        self.count(path, out);
        if eliciting {
            let paces = self.paces();
            let used = &mut self.paths[path];
            if paces {
                used.pace(now, u64::from(out.bytes));
            }
            if std::mem::take(&mut self.answered) {
                // Section 10.1: the first ack-eliciting packet since the last one received restarts the idle timer.
                self.idle_at = now + self.idle_timeout();
            }
            self.keep_at = now + self.config.keep_alive;
        }
        if eliciting || !self.paths[path].validated {
            self.arm(now, path);
        }
        if self.config.fec > 0 {
            self.protect(out);
        }
    }

    fn count(&mut self, path: usize, out: &mut Datagram) {
        let used = &mut self.paths[path];
        (out.address, out.path, out.identifier) = (used.address, path as u8, used.identifiers.current().unwrap_or(0));
        used.stats.datagrams += 1;
        used.stats.packets += out.packets.len() as u64;
        if !used.validated {
            used.sent += u64::from(out.bytes);
        }
        self.stats.datagrams += 1;
        self.stats.packets += out.packets.len() as u64;
    }

    /// Sends CONNECTION_CLOSE in every space that has keys, since the peer's keys are unknown (section 10.2.3).
    fn close_datagram(&mut self, now: Time, out: &mut Datagram) -> bool {
        if self.life != Life::Closing || !self.closes {
            return false;
        }
        let speaking = self.paths.iter().position(|path| self.can_send(path));
        // A closing endpoint follows no migration: it answers where the packet came from (section 10.2.1).
        let asked = self.closes_to.take().filter(|&(path, ..)| self.can_send(&self.paths[path]));
        let Some(path) = asked.map(|(path, ..)| path).or(self.control_path()).or(speaking) else { return false };
        let moved = asked.filter(|&(_, from, _)| self.role == Role::Server && from != self.paths[path].address);
        let allowance = moved.map_or(self.paths[path].allowance(), |(.., bytes)| 3 * u64::from(bytes));
        let limit = self.config.datagram.min(allowance.try_into().unwrap_or(u32::MAX));
        for space in Space::ALL.into_iter().filter(|&space| self.progress.sends[space as usize]) {
            let (kind, frame) = (self.kind(space), self.close_frame(space));
            let bytes = kind.overhead(2) + frame.bytes();
            if out.bytes + bytes > limit {
                break;
            }
            out.bytes += bytes;
            let sent = self.paths[path].recovery.space(space);
            out.packets.push(Header { kind, number: sent.next_number(), number_bytes: 2, frames: 1, ranges: 0 });
            out.frames.push(frame);
            sent.push(Sent::new(now, 0, false, None, Content::Nothing, space));
        }
        let Some(first) = out.packets.first() else { return false };
        if first.kind.space() == Space::Initial && self.role == Role::Client {
            pad(out, MIN_INITIAL);
        }
        self.closes = false;
        self.count(path, out);
        if let Some((_, from, _)) = moved {
            out.address = from;
        }
        true
    }

    /// CONNECTION_CLOSE with the transport error, or the application's code, which only 1-RTT packets may contain.
    fn close_frame(&self, space: Space) -> Frame {
        let code = match self.failure {
            Some(Failure::FlowControl) => FLOW_CONTROL_ERROR,
            Some(Failure::StreamLimit) => STREAM_LIMIT_ERROR,
            _ if space == Space::Data => return Frame::Close { code: 0, application: true },
            _ => APPLICATION_ERROR,
        };
        Frame::Close { code, application: false }
    }
}

/// Pads a datagram; returns the bytes of padding.
fn pad(out: &mut Datagram, size: u32) -> u32 {
    let missing = size - out.bytes;
    out.bytes = size;
    out.frames.push(Frame::Padding(missing as u16));
    if let Some(last) = out.packets.last_mut() {
        last.frames += 1;
    }
    missing
}
