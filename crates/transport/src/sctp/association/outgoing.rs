//! Transmission of packets: control chunks first, then a SACK, then data (RFC 9260 section 6.10).

use super::*;
use crate::sctp::chunk::Packet;

/// Replies that leave before the application can act.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Replies {
    /// Number of leading control chunks that belong to it.
    chunks: usize,
    /// Whether there was no data to bundle with them.
    alone: bool,
}

/// Packet under construction with control chunks or a SACK.
#[derive(Clone, Copy)]
struct Begun {
    path: usize,
    /// Bytes left for data; zero if data must not or cannot follow.
    room: u32,
}

impl Association {
    /// Fills `out`, which must be empty, with the next packet and returns its path; call again until there is none.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Packet) -> Option<usize> {
        self.clock = now;
        let path = self.fill(now, out).or_else(|| {
            // Abandoning messages may just have completed a shutdown.
            self.tx.partial.as_ref()?;
            self.advance_shutdown(now);
            self.fill(now, out)
        })?;
        let is_signed = !out.data.is_empty() || out.forward.is_some();
        out.auth = self.config.auth.filter(|_| is_signed && self.peer.extensions.authentication);
        self.tx.stats.packets += 1;
        self.tx.paths[path].stats.packets += 1;
        Some(path)
    }

    fn fill(&mut self, now: Time, out: &mut Packet) -> Option<usize> {
        let sacks = self.rx.due() <= now && self.is_connected();
        let begun = match self.outbox.is_empty() {
            false => Some(self.fill_control(now, sacks, out)),
            true if sacks => Some(self.fill_sack(now, out)),
            true => None,
        };
        let is_full = begun.is_some_and(|begun| begun.room == 0);
        if is_full || !self.has_data_timers() {
            return begun.map(|begun| begun.path);
        }
        out.tag = self.peer.tag;
        // Heartbeats come last: one ahead of a retransmission might take the only place in a full queue each time, and
        // its answer would keep a path alive on which no data gets through.
        self.fill_data(now, begun, out).or_else(|| {
            let (path, beat) = self.tx.next_heartbeat(now)?;
            out.control.push(beat);
            Some(path)
        })
    }

    #[inline(always)]
    fn fill_sack(&mut self, now: Time, out: &mut Packet) -> Begun {
        let room = self.config.room();
        out.tag = self.peer.tag;
        self.rx.sack(now, room, out);
        let left = if self.replies.alone || self.tx.has_nothing() { 0 } else { room - sack_bytes(out) };
        Begun { path: self.answer_path(), room: left }
    }

    /// Begins a packet with control chunks, or with the SACK that is due if it was scheduled earlier.
    #[cold]
    fn fill_control(&mut self, now: Time, sacks: bool, out: &mut Packet) -> Begun {
        let waits = sacks && self.config.host().replies_first;
        let most = if waits { self.replies.chunks.min(self.outbox.len()) } else { self.outbox.len() };
        if most == 0 {
            return self.fill_sack(now, out);
        }
        let parts_from_data = self.replies.alone && self.replies.chunks > 0;
        let (path, mut room) = self.take_control(now, most, out);
        if out.tag != self.peer.tag || !self.is_connected() || out.control.iter().any(is_unbundled) {
            return Begun { path, room: 0 };
        }
        if sacks && self.answer_path() == path && self.rx.sack_bytes() <= room {
            self.rx.sack(now, room, out);
            room -= sack_bytes(out);
        }
        Begun { path, room: if parts_from_data { 0 } else { room } }
    }

    /// Takes the first of `most` control chunks and those to bundle with it; returns the path and the bytes left.
    fn take_control(&mut self, now: Time, most: usize, out: &mut Packet) -> (usize, u32) {
        let (path, tag, first) = self.outbox[0];
        if matches!(first, Control::Init(_)) && self.timer == Time::NEVER {
            self.start_timer(now);
        }
        let mut room = self.config.room().saturating_sub(first.bytes());
        let mut count = 1;
        for (other_path, other_tag, chunk) in &self.outbox[1..most] {
            // COOKIE ECHO must come first.
            let joins = !is_unbundled(&first) && !is_unbundled(chunk) && !matches!(chunk, Control::CookieEcho(_));
            if !joins || (*other_path, *other_tag) != (path, tag) || chunk.bytes() > room {
                break;
            }
            room -= chunk.bytes();
            count += 1;
        }
        out.tag = tag;
        out.control.extend(self.outbox.drain(..count).map(|(.., chunk)| chunk));
        self.replies.chunks = self.replies.chunks.saturating_sub(count);
        (path, room)
    }

    /// Adds data, preceded by a FORWARD TSN if one is due and by a pending SACK (section 6.1: outstanding
    /// acknowledgements go before data if there is room). A packet already begun takes only data for its own path.
    #[inline]
    fn fill_data(&mut self, now: Time, begun: Option<Begun>, out: &mut Packet) -> Option<usize> {
        let whole = self.config.room();
        let mut room = match begun {
            Some(begun) => begun.room,
            None => whole - self.tx.forward(now, whole, out),
        };
        let turn = self.tx.turn(now, begun.is_none() && room == whole);
        if let Some(begun) = begun {
            let path = turn.as_ref().map_or_else(|| self.usable_path(), |turn| turn.path);
            if path != begun.path || self.tx.forward_bytes() > room {
                return Some(begun.path);
            }
            room -= self.tx.forward(now, room, out);
        }
        let Some(turn) = turn else {
            let has_forward = room < whole;
            return begun.map(|begun| begun.path).or_else(|| has_forward.then(|| self.usable_path()));
        };
        if self.rx.has_pending_sack(turn.path) && !self.add_waiting_sack(now, turn.bytes, &mut room, out) {
            return Some(turn.path);
        }
        if turn.bytes > room {
            return begun.map(|begun| begun.path).or_else(|| Some(self.usable_path()));
        }
        self.tx.fill(now, &turn, room, out);
        Some(turn.path)
    }

    /// Adds a pending SACK before a chunk of `bytes`. Returns false if the chunk must wait for the next packet.
    #[inline(never)]
    fn add_waiting_sack(&mut self, now: Time, bytes: u32, room: &mut u32, out: &mut Packet) -> bool {
        let sack = self.rx.sack_bytes();
        let fits = sack + bytes <= *room;
        let parts = self.config.host().parts_sack_from_data;
        if fits || (parts && sack <= *room) {
            self.rx.sack(now, *room, out);
            *room -= sack;
        }
        fits || !parts
    }

    /// Separates replies due now from what the application triggers next, if they leave first.
    #[inline]
    pub(super) fn split_replies(&mut self) {
        if self.config.host().replies_first && (self.rx.due() <= self.clock || !self.outbox.is_empty()) {
            self.replies = Replies { chunks: self.outbox.len(), alone: self.tx.has_nothing() };
        }
    }
}

/// Whether a chunk must not be bundled (section 6.10), or nothing may follow it (ABORT).
fn is_unbundled(chunk: &Control) -> bool {
    chunk.is_solitary() || matches!(chunk, Control::Abort(..))
}

fn sack_bytes(packet: &Packet) -> u32 {
    packet.sack.map_or(0, |sack| sack.fixed_bytes() + 4 * (packet.gaps.len() + packet.duplicates.len()) as u32)
}
