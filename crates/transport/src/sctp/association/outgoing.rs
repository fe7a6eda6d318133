//! Packets out: control chunks first, then a SACK, then data, as much as fits (RFC 9260 section 6.10).

use super::*;
use crate::sctp::chunk::Packet;

impl Association {
    /// Puts the next packet to send into `out`, which was cleared, and says by which path it goes; call again until there
    /// is none.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Packet) -> Option<usize> {
        self.clock = now;
        let path = self.fill(now, out).or_else(|| {
            // What was waited for may just have been given up.
            self.tx.partial.as_ref()?;
            self.advance_shutdown(now);
            self.fill(now, out)
        })?;
        self.tx.stats.packets += 1;
        self.tx.paths[path].stats.packets += 1;
        Some(path)
    }

    fn fill(&mut self, now: Time, out: &mut Packet) -> Option<usize> {
        if !self.outbox.is_empty() {
            let (path, tag, chunk) = self.outbox.remove(0);
            if matches!(chunk, Control::Init(_)) && self.timer == Time::NEVER {
                self.start_timer(now);
            }
            out.tag = tag;
            out.control.push(chunk);
            return Some(path);
        }
        if !self.is_connected() {
            return None;
        }
        out.tag = self.peer.tag;
        let room = self.config.room();
        if self.rx.due() > now {
            if !self.has_data_timers() {
                return None;
            }
            // Heartbeats come last: one in front of what is sent again may take the only place in a full queue each time, and
            // its answer would keep a path alive by which no data come through.
            return self.fill_data(now, room, out).or_else(|| {
                let (path, beat) = self.tx.next_heartbeat(now)?;
                out.control.push(beat);
                Some(path)
            });
        }
        // By itself, as it goes where data came from.
        self.rx.sack(now, room, out);
        Some(self.answer_path())
    }

    /// Data, and before it a FORWARD TSN, if one is due.
    fn fill_data(&mut self, now: Time, room: u32, out: &mut Packet) -> Option<usize> {
        let forward = self.tx.forward(now, room, out);
        let path = self.tx.next(now, room - forward, out);
        if forward > 0 { path.or(Some(self.usable_path())) } else { path }
    }
}
