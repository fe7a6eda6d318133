//! Datagrams out.

use super::*;
use crate::Spread;
use crate::quic::packet::{Datagram, Header, number_bytes};
use crate::quic::sent::{Content, Sent};
use vazao_congestion::Sending;
use vazao_engine::Ecn;

/// The least size of a datagram with an Initial packet that asks for an answer (RFC 9000 section 14.1).
const LEAST_INITIAL: u32 = 1200;
/// The longest packet with a long header, whose length stands in two bytes (RFC 9000 section 16).
const LONGEST: u32 = 16_383;
/// Less room than this is not worth a packet.
pub(super) const LEAST_ROOM: u64 = 64;
/// Datagrams that leave together at most (RFC 9002 section 7.7).
const BURST: u64 = 10;
/// In place of an application's error code, where that would be open to others (RFC 9000 section 20.1).
const APPLICATION_ERROR: u64 = 0x0c;

impl Connection {
    /// Fills `out` with the next datagram to send, if there is one; call again until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, out: &mut Datagram) -> bool {
        self.settle();
        if !self.is_settled_path() || self.life != Life::Open || self.config.fec > 0 {
            return self.poll_otherwise(now, out);
        }
        // With a probe goes whatever there is (RFC 9002 section 6.2.4).
        // Probes of a space that is no more are not due any more.
        let probing = self.probes > 0 && self.probe_space == Space::Data;
        let free = self.may_send(now) || probing;
        let Some(packet) = self.packet(now, Space::Data, self.config.datagram, free, probing, out) else {
            return false;
        };
        out.ecn = self.marking.mark(1);
        let eliciting = packet.eliciting;
        self.commit(now, packet, out.ecn);
        self.conclude(now, eliciting, out);
        true
    }

    /// Whether there is one packet number space, and one address that is known to be the client's.
    #[inline]
    pub(super) fn is_settled_path(&self) -> bool {
        self.progress.confirmed && self.progress.validated && self.paths.frames.is_empty()
    }

    /// The same while there are several spaces, or none any more, or an address is being validated.
    #[cold]
    fn poll_otherwise(&mut self, now: Time, out: &mut Datagram) -> bool {
        self.start(now);
        if self.life != Life::Open {
            return self.close_datagram(now, out);
        }
        if std::mem::take(&mut self.progress.retry_due) {
            let kind = Kind::Retry(super::handshake::TOKEN);
            out.packets.push(Header { kind, number: 0, number_bytes: 0, frames: 0, ranges: 0 });
            out.bytes = kind.overhead(0);
            self.count(out);
            return true;
        }
        if self.is_parity_due() {
            self.parity_datagram(now, out);
            return true;
        }
        let limit = u64::from(self.config.datagram).min(self.progress.allowance()) as u32;
        if self.poll_path(now, out) {
            return true;
        }
        let free = self.may_send(now) || self.probes > 0;
        let mut sent: Vec<Sent> = Vec::new();
        let mut first = false;
        for space in Space::ALL {
            let left_free = if space == Space::Data { self.parity_header() } else { 0 };
            let room = limit.min(self.config.datagram - left_free).saturating_sub(out.bytes);
            if !self.progress.sends[space as usize] || u64::from(room) < LEAST_ROOM {
                continue;
            }
            let probing = self.probes > 0 && self.probe_space == space;
            if let Some(packet) = self.packet(now, space, room, free, probing, out) {
                first |= space == Space::Initial && (packet.eliciting || self.role == Role::Client);
                sent.push(packet);
            }
        }
        let Some(last) = sent.last_mut() else { return false };
        if first && out.bytes < LEAST_INITIAL {
            // What is padded counts as in flight (RFC 9002 section 2).
            last.bytes += pad(out, LEAST_INITIAL.min(limit.max(out.bytes)));
        }
        out.ecn = self.marking.mark(out.packets.len() as u64);
        let eliciting = sent.iter().any(|packet| packet.eliciting);
        sent.into_iter().for_each(|packet| self.commit(now, packet, out.ecn));
        self.conclude(now, eliciting, out);
        true
    }

    /// A datagram that only asks or answers whether an address is the client's. It has 1200 bytes, so that as many are known to get
    /// through, where amplification lets it (section 8.2.1).
    fn poll_path(&mut self, now: Time, out: &mut Datagram) -> bool {
        let Some(&(address, frame)) = self.paths.frames.front() else { return false };
        // What is another address' is bounded by what has just come from it: an answer is no larger than its question.
        let most = if address == self.paths.current { self.progress.allowance() } else { u64::from(LEAST_INITIAL) };
        let number_bytes = number_bytes(self.recovery.spaces[Space::Data as usize].unacknowledged());
        let bytes = Kind::OneRtt.overhead(number_bytes) + frame.bytes();
        if most < u64::from(bytes) {
            return false;
        }
        self.paths.frames.pop_front();
        let number = self.recovery.spaces[Space::Data as usize].next_number();
        out.frames.push(frame);
        out.packets.push(Header { kind: Kind::OneRtt, number, number_bytes: number_bytes as u8, frames: 1, ranges: 0 });
        out.bytes = bytes;
        pad(out, LEAST_INITIAL.min(most.min(u64::from(LEAST_INITIAL)) as u32));
        let packet = Sent::new(now, 0, true, None, Content::Nothing, Space::Data);
        self.commit(now, packet, Ecn::NotEct);
        self.conclude(now, true, out);
        out.address = address;
        true
    }

    /// Whether what asks for an acknowledgement may leave: the window has room, and the pacer lets it.
    fn may_send(&mut self, now: Time) -> bool {
        let wants = self.has_content();
        if self.recovery.in_flight() + u64::from(self.config.datagram) > self.cwnd {
            self.window_limited |= wants;
            return false;
        }
        if !self.pacer.is_open(now) && self.paces() {
            self.release = if wants { self.pacer.release() } else { Time::NEVER };
            return false;
        }
        if !wants {
            self.window_limited = false;
            let flight = self.recovery.in_flight();
            if let Some(sampler) = self.recovery.space(Space::Data).sampler() {
                // Neither the window nor the pacer keeps anything back: what follows says little of the path.
                sampler.set_app_limited(flight);
            }
        }
        true
    }

    fn paces(&self) -> bool {
        self.config.pacing && self.progress.complete
    }

    pub(super) fn has_content(&self) -> bool {
        !self.frames.is_empty()
            || !self.streams.ready.is_empty()
            || self.datagrams.is_waiting()
            || !self.progress.confirmed && self.progress.crypto.iter().any(|c| c.out.is_pending(u64::MAX))
    }

    /// Adds a packet of a space to a datagram, if there is anything to say in it. In line, as most are of the data space, and what
    /// is kept of a packet is then made where it is kept.
    #[inline(always)]
    fn packet(
        &mut self,
        now: Time,
        space: Space,
        room: u32,
        free: bool,
        probing: bool,
        out: &mut Datagram,
    ) -> Option<Sent> {
        let index = space as usize;
        let kind = match space {
            Space::Initial => Kind::Initial(self.progress.token),
            Space::Handshake => Kind::Handshake,
            Space::Data if self.progress.complete || self.role == Role::Server => Kind::OneRtt,
            Space::Data => Kind::ZeroRtt,
        };
        let room = if kind == Kind::OneRtt { room } else { room.min(LONGEST) };
        let number_bytes = number_bytes(self.recovery.spaces[index].unacknowledged());
        let overhead = kind.overhead(number_bytes);
        let content = free && self.has_content_in(space);
        let can_acknowledge = kind != Kind::ZeroRtt;
        let due = can_acknowledge && self.acks[index].due() <= now;
        if !due && !content && !probing {
            return None;
        }
        let (first, ranges) = (out.frames.len(), out.ranges.len());
        let mut left = room.checked_sub(overhead)?;
        let mut reported = None;
        if can_acknowledge
            && self.acks[index].has_news()
            && let Some(ack) = self.acks[index].frame(now, &mut out.ranges, left / 2)
        {
            reported = out.ranges.get(ranges).map(|range| range.1);
            left -= ack.bytes();
            out.frames.push(Frame::Ack(ack));
        }
        let said = out.frames.len();
        if free {
            self.fill(space, &mut left, out);
        }
        if probing && out.frames.len() == said {
            out.frames.push(Frame::Ping);
            left -= 1;
        }
        if out.frames.len() == first {
            return None;
        }
        let eliciting = out.frames.len() > said;
        // Number and payload have four bytes at least, for the sample that protects the header (RFC 9001 section 5.4.2).
        let short = 4_u32.saturating_sub(number_bytes + room - overhead - left);
        if short > 0 {
            out.frames.push(Frame::Padding(short as u16));
            left -= short;
        }
        let bytes = room - left;
        out.bytes += bytes;
        let number = self.recovery.spaces[index].next_number();
        let (frames, ranges) = ((out.frames.len() - first) as u16, (out.ranges.len() - ranges) as u16);
        out.packets.push(Header { kind, number, number_bytes: number_bytes as u8, frames, ranges });
        let content = match &out.frames[said..] {
            [] | [Frame::Ping] | [Frame::Ping, Frame::Padding(_)] => Content::Nothing,
            [Frame::Stream(frame)] => Content::Stream(*frame),
            several => Content::Frames(several.into()),
        };
        Some(Sent::new(now, if eliciting { bytes } else { 0 }, eliciting, reported, content, space))
    }

    fn has_content_in(&self, space: Space) -> bool {
        let crypto = !self.progress.confirmed && self.progress.crypto[space as usize].out.is_pending(u64::MAX);
        let data = !self.frames.is_empty() || !self.streams.ready.is_empty() || self.datagrams.is_waiting();
        crypto || space == Space::Data && data
    }

    /// Fills a packet with what is to be said in its space: the handshake first, then what rules streams, then their data.
    #[inline]
    fn fill(&mut self, space: Space, left: &mut u32, out: &mut Datagram) {
        /// Type, offset and length of a CRYPTO frame, at most.
        const CRYPTO_HEADER: u32 = 1 + 4 + 2;
        let crypto = &mut self.progress.crypto[space as usize].out;
        while !self.progress.confirmed
            && *left > CRYPTO_HEADER + 8
            && let Some((offset, length, _)) = crypto.next(u64::from(*left - CRYPTO_HEADER), u64::MAX)
        {
            let frame = Frame::Crypto { offset, length: length as u16 };
            *left -= frame.bytes();
            out.frames.push(frame);
        }
        if space != Space::Data {
            return;
        }
        while let Some(&frame) = self.frames.front() {
            let frame = self.current(frame);
            if frame.bytes() > *left {
                break;
            }
            self.frames.pop_front();
            *left -= frame.bytes();
            out.frames.push(frame);
        }
        while let Some(frame) = self.datagrams.frame(*left) {
            *left -= frame.bytes();
            out.frames.push(frame);
        }
        self.fill_streams(left, out);
    }

    #[inline]
    fn fill_streams(&mut self, left: &mut u32, out: &mut Datagram) {
        let mut again = false;
        while u64::from(*left) >= LEAST_ROOM
            && let Some(&place) = self.streams.ready.first()
        {
            let streams = &mut self.streams;
            let id = place.2;
            let stream = streams.map.get_mut(&id).expect("what is ready is there");
            let mut says = true;
            while says && u64::from(*left) >= LEAST_ROOM {
                let before = stream.out.sent;
                let frame = stream.frame(id, *left, streams.peer_limit - streams.data_sent);
                says = frame.is_some();
                if let Some(frame) = frame {
                    streams.data_sent += stream.out.sent - before;
                    again |= frame.offset < before;
                    *left -= frame.bytes();
                    out.frames.push(Frame::Stream(frame));
                }
            }
            // Where the receiver's limits keep it back, or it has nothing any more, it comes again with news.
            let stays = says && stream.out.is_pending(stream.peer_limit);
            streams.end_turn(place, stays);
        }
        self.stats.retransmissions += u64::from(again);
    }

    /// A packet leaves.
    #[inline]
    pub(super) fn commit(&mut self, now: Time, mut packet: Sent, ecn: Ecn) {
        let space = packet.space;
        if packet.eliciting {
            if self.probe_space == space {
                self.probes = self.probes.saturating_sub(1);
            }
            if self.rated && space == Space::Data {
                self.announce(now);
            }
        }
        packet.capable = ecn != Ecn::NotEct;
        self.recovery.space(space).push(packet);
        if space == Space::Handshake && self.role == Role::Client {
            // RFC 9001 section 4.9.1.
            self.discard(Space::Initial);
        }
    }

    /// Its datagram leaves.
    #[inline]
    pub(super) fn conclude(&mut self, now: Time, eliciting: bool, out: &mut Datagram) {
        if eliciting {
            if self.paces() {
                self.pace(now, u64::from(out.bytes));
            }
            self.idle_at = self.idle_at.max(now + self.recovery.pto(Space::Data));
            self.keep_at = now + self.config.keep_alive;
            self.arm(now);
        }
        if self.config.fec > 0 {
            self.protect(out);
        }
        self.count(out);
    }

    fn announce(&mut self, now: Time) {
        let flight = self.recovery.in_flight();
        let app_limited = self.recovery.space(Space::Data).sampler().is_some_and(|sampler| sampler.is_app_limited());
        let (srtt, min_rtt) = (self.recovery.rtt.srtt(), self.recovery.rtt.min());
        self.control.on_send(&Sending { now, flight, app_limited, srtt, min_rtt });
        self.follow_control();
    }

    fn pace(&mut self, now: Time, bytes: u64) {
        let srtt = self.recovery.rtt.srtt();
        // Section 7.7: a little more than a window in a round-trip time.
        let rate = self.control.pacing_rate().unwrap_or_else(|| {
            let part = if self.control.in_slow_start() { self.config.slow_start_pacing } else { 1250 };
            let from = (self.cwnd, srtt, part);
            // Several packets leave for each acknowledgement, and division is slow.
            if self.derived.0 != from {
                let rate = self.cwnd as f64 * 8.0 * part as f64 / 1000.0 / srtt.as_secs().max(1e-9);
                self.derived = (from, Rate::from_bps(rate as u64 + 1));
            }
            self.derived.1
        });
        let quantum = BURST * u64::from(self.config.datagram);
        self.pacer.on_sent(now, bytes, &Spread { rate, quantum, catches_up: false });
    }

    fn count(&mut self, out: &mut Datagram) {
        (out.address, out.identifier) = (self.paths.current, self.paths.identifiers.current);
        self.stats.datagrams += 1;
        self.stats.packets += out.packets.len() as u64;
        if !self.progress.validated {
            self.progress.sent += u64::from(out.bytes);
        }
    }

    /// CONNECTION_CLOSE, in the highest space there are keys for.
    fn close_datagram(&mut self, now: Time, out: &mut Datagram) -> bool {
        if self.life != Life::Closing || self.progress.allowance() < LEAST_ROOM || !std::mem::take(&mut self.closes) {
            return false;
        }
        let kind = match Space::ALL.into_iter().rev().find(|&space| self.progress.sends[space as usize]) {
            Some(Space::Data) if self.progress.complete || self.role == Role::Server => Kind::OneRtt,
            Some(Space::Data) => Kind::ZeroRtt,
            Some(Space::Handshake) => Kind::Handshake,
            Some(Space::Initial) => Kind::Initial(self.progress.token),
            None => return false,
        };
        // What the application says is for protected packets alone (RFC 9000 section 10.2.3).
        let application = kind.space() == Space::Data;
        let code = if application { 0 } else { APPLICATION_ERROR };
        let frame = Frame::Close { code, application };
        let number = self.recovery.spaces[kind.space() as usize].next_number();
        out.packets.push(Header { kind, number, number_bytes: 2, frames: 1, ranges: 0 });
        out.frames.push(frame);
        let packet = Sent::new(now, 0, false, None, Content::Nothing, kind.space());
        self.recovery.space(kind.space()).push(packet);
        out.bytes = kind.overhead(2) + frame.bytes();
        self.count(out);
        true
    }
}

/// Pads a datagram: how many bytes it takes.
fn pad(out: &mut Datagram, size: u32) -> u32 {
    let missing = size - out.bytes;
    out.bytes = size;
    out.frames.push(Frame::Padding(missing as u16));
    if let Some(last) = out.packets.last_mut() {
        last.frames += 1;
    }
    missing
}
