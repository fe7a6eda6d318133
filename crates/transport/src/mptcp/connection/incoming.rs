//! Segments in: what their options say, then TCP, then what of the data is in order now.

use super::*;
use crate::mptcp::option::{Dss, Mapping, Multipath, Signal, reason};
use crate::mptcp::subflow::Mapped;
use crate::tcp::{Extra, Flags, Segment, stamp};

impl Connection {
    /// Handles a segment that has arrived for the connection.
    pub fn handle(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        let Multipath { tuple, dss, signal } = extra.and_then(|extra| extra.multipath).unwrap_or_default();
        let known = self.ports.get(usize::from(tuple.port)).copied().flatten();
        let Some(number) = known.or_else(|| self.admit(tuple, segment, signal)) else { return };
        let mut segment = *segment;
        self.stirred |= 1 << number;
        if !self.heed_handshake(now, number, &segment, signal) {
            return;
        }
        self.heed_window(now, number, &mut segment, dss);
        if segment.length > 0 {
            self.heed_mapping(number, &mut segment, dss, signal);
        }
        self.couple(number);
        let subflow = &mut self.subflows[number];
        if segment.has_timestamps {
            let now_ms = ((now.as_nanos() / 1_000_000) as u32).wrapping_add(1);
            subflow.note_way_back(now_ms.wrapping_sub(segment.timestamp) as i32);
            if segment.length > 0 && segment.echo != 0 {
                let rtt = Duration::from_millis(u64::from(now_ms.wrapping_sub(segment.echo)));
                subflow.note_loop(rtt.max(Duration::from_micros(1)));
            }
        }
        subflow.tcp.handle(now, &segment, extra);
        subflow.forget_acknowledged();
        if segment.length > 0 || segment.flags.has(Flags::FIN) {
            self.collect(now, number);
        }
        self.after_segment(now, number, dss, signal);
    }

    /// The window counts from what the connection as a whole has acknowledged (RFC 8684 section 3.3.4); the subflow itself has
    /// none.
    #[inline]
    fn heed_window(&mut self, now: Time, number: usize, segment: &mut Segment, dss: Option<Dss>) {
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        let subflow = &self.subflows[number];
        let syn = segment.flags.has(Flags::SYN);
        let scale = if syn { 0 } else { subflow.tcp.scales().1 };
        let window = u64::from(segment.window) << scale;
        let una = match (self.mode, dss.and_then(|dss| dss.ack)) {
            (Mode::Fallback, _) => Some(subflow.tcp.sent_octet(segment.acknowledgment).saturating_sub(1)),
            (Mode::Multipath, Some(ack)) => self.acknowledged(ack),
            (Mode::Multipath, None) => Some(self.outbox.una).filter(|_| !subflow.joins),
        };
        if let Some(una) = una
            && self.outbox.acknowledge(una, window)
        {
            self.persist_at = Time::NEVER;
        }
        if !syn {
            segment.window = u16::MAX;
        }
        if dss.is_some() && subflow.is_connected() {
            self.confirm(now);
        }
    }

    /// Which octets of the connection a segment carries. The stamp that stands for its payload is checked against that; TCP is
    /// shown the one that it expects.
    #[inline]
    fn heed_mapping(&mut self, number: usize, segment: &mut Segment, dss: Option<Dss>, signal: Option<Signal>) {
        if self.mode == Mode::Fallback {
            return;
        }
        let octet = self.subflows[number].tcp.arrived_octet(segment.sequence);
        let mapping = match (signal, dss) {
            (Some(Signal::Capable { length: Some(length), .. }), _) => {
                Some(Mapping { dsn: self.first[1], subflow: 1, length, checksum: None })
            }
            (_, Some(Dss { map: Some(map), fin, .. })) if map.subflow != 0 => {
                // DATA_FIN takes a place in the mapping that no octet of the subflow has.
                Some(Mapping { length: map.length - u16::from(fin), ..map })
            }
            _ => None,
        };
        let Some(map) = mapping else {
            // It goes on with what was said before.
            if let Some(carried) = self.subflows[number].known_meaning(octet) {
                self.check(segment, octet, carried);
            }
            return;
        };
        // The subflow's sequence numbers are relative to its start, in 32 bits.
        let start = octet.wrapping_add_signed(i64::from(map.subflow.wrapping_sub(octet as u32) as i32));
        let data = self.peer_octet(map.dsn);
        let subflow = &mut self.subflows[number];
        subflow.note_mapping(Mapped { octet: start, data, length: u32::from(map.length) });
        self.check(segment, octet, data.wrapping_add(octet.wrapping_sub(start)));
    }

    /// The stamp of a segment must be that of the octet of the connection that it begins with.
    #[inline]
    fn check(&mut self, segment: &mut Segment, octet: u64, carried: u64) {
        if segment.stamp == stamp(carried) {
            segment.stamp = stamp(octet.wrapping_sub(1));
        } else {
            self.stats.misplaced += 1;
            segment.stamp = !stamp(octet.wrapping_sub(1));
        }
    }

    /// Puts in order what a subflow has in order.
    #[inline]
    fn collect(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        let mut unmapped = None;
        while let Some(range) = subflow.tcp.read() {
            let (mut octet, end) = (range.start + 1, range.end + 1);
            while octet < end {
                if self.mode == Mode::Fallback {
                    self.inbox.insert(octet - 1, end - 1);
                    break;
                }
                let Some((data, length)) = subflow.meaning(octet) else {
                    unmapped = Some(octet..end);
                    break;
                };
                let length = length.min(end - octet);
                self.inbox.insert(data, data + length);
                octet += length;
            }
        }
        if let Some(range) = unmapped {
            self.on_unmapped(now, number, range);
        }
        if self.mode == Mode::Fallback && self.subflows[number].tcp.peer_closed() {
            self.inbox.finish(self.inbox.nxt);
        }
        if self.config.receive_buffer.is_none() {
            let rtt = self.longest_loop();
            self.inbox.tune(now, rtt);
        }
    }

    /// Data came of which nothing was said. On the only subflow there ever was, someone takes options out, and it goes on as
    /// plain TCP; any other is given up (RFC 8684 section 3.7).
    #[cold]
    fn on_unmapped(&mut self, now: Time, number: usize, range: Range<u64>) {
        if number == 0 && self.subflows.len() == 1 && self.inbox.nxt == range.start - 1 {
            self.fall_back();
            self.inbox.insert(range.start - 1, range.end - 1);
        } else {
            self.reset(now, number, reason::MIDDLEBOX);
        }
    }

    #[inline]
    fn after_segment(&mut self, now: Time, number: usize, dss: Option<Dss>, signal: Option<Signal>) {
        if self.subflows[number].stage != Stage::Open {
            self.advance_stage(now, number);
            self.admit_proven(number, signal);
        }
        if let Some(Dss { map: Some(map), fin: true, .. }) = dss {
            let fin = self.peer_octet(map.dsn).wrapping_add(u64::from(map.length)).wrapping_sub(1);
            self.inbox.finish(fin);
            self.subflows[number].tcp.acknowledge_now();
        }
        match signal {
            None | Some(Signal::Capable { .. }) => {}
            Some(signal) => self.heed_signal(now, number, signal),
        }
        if !self.confirmed && self.mode == Mode::Multipath && dss.is_none() {
            self.doubt(number, signal);
        }
        if self.subflows[number].tcp.stats().timeouts != self.subflows[number].timeouts {
            // Answered: should there be another, what it has by then is given to others again.
            self.subflows[number].timeouts = self.subflows[number].tcp.stats().timeouts;
        }
        self.conclude(now);
        self.refresh(now, number);
    }

    /// A client's joining subflow whose proof was answered is open.
    fn admit_proven(&mut self, number: usize, signal: Option<Signal>) {
        let subflow = &mut self.subflows[number];
        if subflow.stage == Stage::Proving && !matches!(signal, Some(Signal::JoinAnswer { .. })) {
            subflow.stage = Stage::Open;
            subflow.prove_at = Time::NEVER;
            self.stats.joined += 1;
        }
    }

    /// A client whose data was acknowledged without a word of Multipath TCP falls back (RFC 8684 section 3.7).
    fn doubt(&mut self, number: usize, signal: Option<Signal>) {
        let subflow = &self.subflows[number];
        if self.role == Role::Client && number == 0 && signal.is_none() && subflow.tcp.acknowledged_bytes() > 0 {
            self.outbox.una = subflow.tcp.acknowledged_bytes();
            self.fall_back();
        }
    }

    /// Closes the subflows once both sides have said that they are done.
    pub(super) fn conclude(&mut self, now: Time) {
        if self.closing {
            return;
        }
        if self.mode == Mode::Fallback {
            let subflow = &mut self.subflows[0];
            if self.outbox.is_fin_due() && subflow.queue.is_empty() {
                subflow.tcp.close();
                self.stirred |= 1;
                self.closing = true;
                self.refresh(now, 0);
            }
            return;
        }
        if self.outbox.is_finished() && self.inbox.is_finished() {
            self.closing = true;
            (self.persist_at, self.fin_at, self.announce_at, self.wake_at) =
                (Time::NEVER, Time::NEVER, Time::NEVER, Time::NEVER);
            self.reopen.clear();
            for number in 0..self.subflows.len() {
                let subflow = &mut self.subflows[number];
                match subflow.stage {
                    Stage::Gone => continue,
                    Stage::Open if !subflow.tcp.is_after_timeout() => subflow.tcp.close(),
                    // What is not heard of is not waited for.
                    _ => subflow.tcp.abort(),
                }
                self.stirred |= 1 << number;
                self.refresh(now, number);
            }
        }
    }
}
