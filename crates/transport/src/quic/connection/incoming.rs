//! Processing of arriving datagrams.

use super::path::Stage;
use super::*;
use crate::quic::config::Handshake;
use crate::quic::frame::StreamFrame;
use crate::quic::frame::stamp;
use crate::quic::packet::{Address, Datagram, Header};
use vazao_engine::Ecn;

impl Connection {
    /// Handles a datagram that arrived with ECN codepoint `ecn`.
    pub fn handle(&mut self, now: Time, datagram: &Datagram, ecn: Ecn) {
        let path = usize::from(datagram.path);
        let is_ours = |path: &Path| path.identifiers.is_ours(datagram.identifier);
        if !self.reaches(datagram.address) || !self.paths.get(path).is_some_and(is_ours) {
            return;
        }
        if self.role == Role::Server && matches!(self.paths[path].stage, Stage::Reserved | Stage::Opening) {
            self.on_opened(now, path, datagram.address);
        }
        self.last_heard = now;
        let used = &mut self.paths[path];
        if !used.validated && datagram.address == used.address {
            used.received += u64::from(datagram.bytes);
        }
        if self.life != Life::Open {
            if self.life == Life::Closing && !datagram.frames.iter().any(|f| matches!(f, Frame::Close { .. })) {
                self.closes = true;
                self.closes_to = Some((path, datagram.address, datagram.bytes));
            }
            return;
        }
        let (mut frames, mut ranges) = (0, 0);
        for header in &datagram.packets {
            let own = frames..frames + usize::from(header.frames);
            let acked = ranges..ranges + usize::from(header.ranges);
            (frames, ranges) = (own.end, acked.end);
            self.handle_packet(now, path, datagram, header, (own, acked), ecn);
            // Coalesced packets may need keys that this one has made available.
            if !self.progress.confirmed {
                self.advance(now);
            }
        }
        if self.parity.is_waiting() || !datagram.protected.is_empty() {
            self.recover_lost(now, &datagram.protected, datagram.address);
        }
        self.close_if_finished();
        self.arm(now, path);
    }

    fn handle_packet(
        &mut self,
        now: Time,
        path: usize,
        datagram: &Datagram,
        header: &Header,
        (own, acked): (Range<usize>, Range<usize>),
        ecn: Ecn,
    ) {
        let (frames, ranges) = (&datagram.frames[own], &datagram.ranges[acked]);
        let (space, early) = (header.kind.space(), header.kind != Kind::OneRtt || !self.progress.confirmed);
        let index = space as usize;
        if early && !self.can_read(header) {
            return;
        }
        if self.paths[path].acks[index].is_known(header.number) {
            self.stats.duplicates_received += 1;
            return self.drop_packet(header.kind, header.number, DropReason::Duplicate);
        }
        if early {
            self.note_packet_kind(path, header.kind);
        }
        self.idle_at = now + self.idle_timeout();
        self.answered = true;
        self.keep_at = now + self.config.keep_alive;
        if space == Space::Data {
            self.check_address(now, path, datagram, header.number, frames);
        }
        let (mut eliciting, mut carries_data, fresh) = (false, false, self.streams.fresh_frames);
        for frame in frames {
            eliciting |= frame.is_ack_eliciting();
            carries_data |= matches!(frame, Frame::Stream(_));
            self.handle_frame(now, path, space, frame, ranges, datagram.address);
        }
        self.stats.duplicates_received += u64::from(carries_data && self.streams.fresh_frames == fresh);
        let (every, wait) = match space {
            Space::Data => match self.asked {
                Some((_, every, wait)) => (every, wait),
                None => (self.config.ack_every, self.config.max_ack_delay),
            },
            _ => (1, Duration::ZERO),
        };
        // The packet's frames may have caused the keys to be discarded.
        if self.progress.reads[index] {
            self.paths[path].acks[index].on_packet(now, header.number, eliciting, ecn, every, wait);
        }
    }

    /// Whether a packet that may precede the end of the handshake can be decrypted.
    #[cold]
    fn can_read(&mut self, header: &Header) -> bool {
        if let Kind::Retry(token) = header.kind {
            self.on_retry(token);
            return false;
        }
        let (space, server) = (header.kind.space(), self.role == Role::Server);
        if let (Kind::Initial(token), true) = (header.kind, server)
            && !self.admits(token)
        {
            self.drop_packet(header.kind, header.number, DropReason::NoToken);
            return false;
        }
        // Packets that cannot be decrypted are dropped (RFC 9001 section 5.7 permits that).
        let unreadable = match header.kind {
            Kind::ZeroRtt => self.config.handshake == Handshake::Rejected,
            // A server that accepts 0-RTT packets cannot read 1-RTT packets before the client's Finished.
            Kind::OneRtt => !self.progress.complete,
            _ => false,
        };
        if self.progress.reads[space as usize] && !unreadable {
            return true;
        }
        if space == Space::Initial {
            self.send_confirmation();
        }
        self.drop_packet(header.kind, header.number, DropReason::NoKeys);
        false
    }

    /// Advances the handshake on receipt of a packet of this kind.
    #[cold]
    fn note_packet_kind(&mut self, path: usize, kind: Kind) {
        let server = self.role == Role::Server;
        if kind == Kind::Handshake && server {
            // A Handshake packet validates the client's address (RFC 9000 section 8.1).
            self.paths[path].validated = true;
            self.discard(Space::Initial);
        }
        if kind == Kind::OneRtt && server && !self.progress.confirmed {
            // Google's handshake has no message that confirms it.
            self.confirm();
        }
    }

    /// RFC 9000 section 10.1: idle timeout, at least three probe timeouts.
    pub(super) fn idle_timeout(&self) -> Duration {
        self.config.idle_timeout.max(self.longest_pto() * 3)
    }

    #[inline]
    pub(super) fn handle_frame(
        &mut self,
        now: Time,
        path: usize,
        space: Space,
        frame: &Frame,
        ranges: &[(u64, u64)],
        from: Address,
    ) {
        match frame {
            Frame::Stream(frame) => self.on_stream(frame),
            Frame::Ack(ack) => self.on_ack(now, ack.path.map_or(0, usize::from), space, ack, ranges),
            Frame::Crypto { offset, length } => {
                let crypto = &mut self.progress.crypto[space as usize];
                let before = crypto.inc.order.next;
                crypto.inc.insert(*offset, offset + u64::from(*length), false);
                if crypto.inc.order.next == before && self.role == Role::Server {
                    // A retransmission from the client means that our flight may be lost (RFC 9002 section 6.2.3).
                    self.paths[path].recovery.pto_count = 0;
                }
            }
            Frame::Recovered(frame) => self.on_stream_arrived(frame),
            Frame::HandshakeDone if !self.progress.confirmed => self.confirm(),
            Frame::Close { .. } => {
                self.life = Life::Closed;
                if !self.is_nearly_settled() {
                    self.failure = Some(Failure::Closed);
                }
            }
            Frame::Datagram { length, number } => self.datagrams.on_arrived(*number, *length),
            Frame::AckFrequency(number, packets, wait) => {
                // The latest frame counts, regardless of reordering (section 4 of the draft).
                if self.asked.is_none_or(|(last, ..)| *number > last) {
                    self.asked = Some((*number, *packets as u32 + 1, Duration::from_micros(*wait)));
                }
            }
            Frame::PathChallenge(_)
            | Frame::PathResponse(_)
            | Frame::NewConnectionId(..)
            | Frame::RetireConnectionId(_) => self.on_path_frame(now, path, from, *frame),
            Frame::PathAbandon { .. }
            | Frame::PathStatus { .. }
            | Frame::PathNewConnectionId { .. }
            | Frame::PathRetireConnectionId { .. }
            | Frame::MaxPathId(_) => self.on_multipath(now, *frame),
            other => self.on_stream_frame(*other),
        }
    }

    /// Whether only acknowledgements are missing, which a peer need not send before an orderly close.
    fn is_nearly_settled(&self) -> bool {
        self.streams.map.values().all(|stream| stream.out.closed && stream.inc.fin == Some(stream.inc.order.next))
    }

    #[inline]
    fn on_stream(&mut self, frame: &StreamFrame) {
        if frame.length > 0 && frame.stamp != stamp(frame.id, frame.offset) {
            self.stats.misplaced += 1;
        }
        self.knows_streams = true;
        let Some(stream) = self.named(frame.id) else { return };
        let beyond = frame.end() > stream.window.limit;
        let opens = frame.end() == 0 && stream.inc.highest == 0;
        let ends = frame.fin && stream.inc.fin.is_none();
        let (grown, new) = stream.inc.insert(frame.offset, frame.end(), frame.fin);
        let empty_end = frame.fin && stream.inc.is_drained();
        let unwanted = stream.inc.unwanted;
        self.streams.fresh_frames += u64::from(new > 0 || ends || opens);
        self.streams.data_received += grown;
        self.check_flow_control(beyond);
        if unwanted {
            self.read_stream(frame.id, u64::MAX);
        } else if !self.carries(frame.id) {
            self.note_readable(frame.id);
        }
        if empty_end {
            self.retire(frame.id);
        }
    }

    /// Closes the connection once all streams are finished.
    #[inline]
    pub(super) fn close_if_finished(&mut self) {
        if (self.finishes || self.carrier.is_closed()) && self.life == Life::Open {
            self.end();
        }
    }

    #[cold]
    fn end(&mut self) {
        if self.datagrams.carries() && !self.datagrams.is_waiting() {
            // The end of unreliable data is signalled reliably.
            self.finish_carrying();
        }
        if !self.datagrams.is_waiting() && self.streams.map.values().all(StreamState::is_settled) {
            self.abort();
        }
    }
}
