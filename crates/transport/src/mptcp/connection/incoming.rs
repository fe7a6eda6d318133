//! Segments in: what their options say, then TCP, then what of the data is in order now.

use super::*;
use crate::common::stamp;
use crate::mptcp::subflow::Mapped;
use crate::tcp::multipath::{DataAck, Dss, Mapping, Multipath, Signal, digest, reason};
use crate::tcp::{Extra, Flags, Segment, timestamp};

impl Connection {
    /// Handles a segment that has arrived for the connection.
    pub fn handle(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        let Multipath { tuple, dss, signal } = extra.and_then(|extra| extra.multipath).unwrap_or_default();
        let known = self.ports.get(usize::from(tuple.port)).copied().flatten();
        let Some(number) = known.or_else(|| self.admit(tuple, segment, signal)) else {
            if !segment.flags.has(Flags::RST) {
                // RFC 8684 section 3.2: an unknown token.
                self.refused.push((tuple, segment.sequence.wrapping_add(segment.span() as u32)));
            }
            return;
        };
        if self.withdrawn & 1 << self.own_address(number) != 0 && self.failure.is_none() {
            return; // It comes to an interface that is gone.
        }
        let mut segment = *segment;
        (self.silence, self.heard) = (0, number);
        self.stirred |= 1 << number;
        if !self.heed_handshake(now, number, &segment, dss, signal) {
            if self.subflows[number].is_gone() {
                // It is answered as what comes for no subflow: by a reset.
                self.subflows[number].tcp.handle(now, &segment, extra);
            }
            return;
        }
        self.heed_window(now, number, &mut segment, dss);
        if segment.length > 0 && !self.heed_mapping(now, number, &mut segment, dss, signal) {
            return;
        }
        self.couple(number);
        let subflow = &mut self.subflows[number];
        if segment.has_timestamps {
            let clock = timestamp(now);
            subflow.note_way_back(clock.wrapping_sub(segment.timestamp) as i32);
            if segment.length > 0 && segment.echo != 0 {
                let rtt = Duration::from_millis(u64::from(clock.wrapping_sub(segment.echo)));
                subflow.note_loop(rtt.max(Duration::from_micros(1)));
            }
        }
        subflow.tcp.handle(now, &segment, extra);
        subflow.forget_acknowledged();
        if segment.length > 0 || segment.flags.has(Flags::FIN) {
            self.collect(now, number);
        }
        let is_reset = segment.flags.has(Flags::RST);
        self.after_segment(now, number, dss, signal);
        if self.mode == Mode::Multipath && dss.is_none() && signal.is_none() && !is_reset {
            self.doubt(number);
        }
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
        let una = match (self.mode, dss.and_then(|dss| dss.ack).map(DataAck::low)) {
            (Mode::Fallback, _) => self.infinite_una(number, segment.acknowledgment),
            (Mode::Multipath, Some(ack)) => self.acknowledged(ack),
            // The handshake's. It may come late, and says nothing of data.
            (Mode::Multipath, None) => Some(0).filter(|_| !subflow.joins),
        };
        if let Some(una) = una
            && self.outbox.acknowledge(una, window)
        {
            self.persist_at = Time::NEVER;
            self.backoff = 0;
        }
        if !syn {
            segment.window = u16::MAX;
        }
        if dss.is_some() && subflow.is_connected() {
            self.confirm(now);
        }
    }

    /// Which octets of the connection a segment carries. The stamp that stands for its payload is checked against that; TCP is
    /// shown the one that it expects. Whether the segment may go on to TCP.
    #[inline]
    fn heed_mapping(
        &mut self,
        now: Time,
        number: usize,
        segment: &mut Segment,
        dss: Option<Dss>,
        signal: Option<Signal>,
    ) -> bool {
        let octet = self.subflows[number].tcp.arrived_octet(segment.sequence);
        if self.mode == Mode::Fallback {
            self.check(segment, octet, self.shifts[1].wrapping_add(octet.wrapping_sub(1)));
            return true;
        }
        let mapping = match (signal, dss) {
            (Some(Signal::Capable { length: Some((length, checksum)), .. }), _) => {
                Some(Mapping { dsn: self.first[1], subflow: 1, length, checksum })
            }
            (_, Some(Dss { map: Some(Mapping { length: 0, .. }), fin: false, .. })) => {
                // An infinite mapping: the peer has fallen back.
                return self.fall_back_to(number) && self.heed_mapping(now, number, segment, None, None);
            }
            (_, Some(Dss { map: Some(map), fin, .. })) if map.subflow != 0 => {
                // DATA_FIN takes a place in the mapping that no octet of the subflow has.
                Some(Mapping { length: map.length.saturating_sub(u16::from(fin)), ..map })
            }
            _ => None,
        };
        let Some(map) = mapping else {
            // It goes on with what was said before.
            if let Some(carried) = self.subflows[number].known_meaning(octet) {
                self.check(segment, octet, carried);
            }
            return true;
        };
        if map.checksum.is_some_and(|sum| map.length == segment.length && sum != digest(segment.stamp)) {
            return self.on_altered(now, number, segment, map);
        }
        // The subflow's sequence numbers are relative to its start, in 32 bits.
        let start = octet.wrapping_add_signed(i64::from(map.subflow.wrapping_sub(octet as u32) as i32));
        self.answer_in_full();
        let data = self.peer_octet(map.dsn);
        let subflow = &mut self.subflows[number];
        subflow.note_mapping(Mapped { octet: start, data, length: u32::from(map.length) });
        self.check(segment, octet, data.wrapping_add(octet.wrapping_sub(start)));
        true
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
                    let shift = self.shifts[1];
                    self.inbox.insert(shift.wrapping_add(octet - 1), shift.wrapping_add(end - 1));
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
            self.inbox.finish(self.inbox.nxt());
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
        if number == 0 && self.subflows.len() == 1 && self.inbox.nxt() == range.start - 1 {
            self.fall_back();
            self.inbox.insert(range.start - 1, range.end - 1);
        } else {
            self.reset(now, number, Signal::Reset(reason::MIDDLEBOX));
        }
    }

    /// Someone on the way has altered data. Where there are other subflows this one is given up, and what it had goes by them;
    /// the only one goes on as plain TCP, if it can (RFC 8684 section 3.7). Whether the segment may go on to TCP.
    #[cold]
    fn on_altered(&mut self, now: Time, number: usize, segment: &mut Segment, map: Mapping) -> bool {
        self.stats.checksum_failures += 1;
        let fail = Signal::Fail(map.dsn);
        if self.fall_back_to(number) {
            let subflow = &mut self.subflows[number];
            subflow.signals.push_front(fail);
            subflow.tcp.acknowledge_now();
            return self.heed_mapping(now, number, segment, None, None);
        }
        self.reset(now, number, fail);
        false
    }

    #[inline]
    fn after_segment(&mut self, now: Time, number: usize, dss: Option<Dss>, signal: Option<Signal>) {
        if self.subflows[number].stage != Stage::Open {
            self.advance_stage(now, number);
            self.admit_proven(now, number, signal);
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
        // Timeouts are answered: should there be another, what it has by then is given to others again.
        let subflow = &mut self.subflows[number];
        subflow.timeouts = subflow.tcp.stats().timeouts;
        self.conclude(now);
        self.refresh(now, number);
    }

    /// A client's joining subflow whose proof was answered is open.
    fn admit_proven(&mut self, now: Time, number: usize, signal: Option<Signal>) {
        let is_proving = self.subflows[number].stage == Stage::Proving;
        if is_proving && !matches!(signal, Some(Signal::JoinAnswer { .. })) {
            self.on_open(now, number);
        }
    }

    /// Where the only subflow's data is acknowledged without a word of Multipath TCP, the peer has fallen back, or hears of
    /// none (RFC 8684 section 3.7).
    fn doubt(&mut self, number: usize) {
        let subflow = &self.subflows[number];
        if !subflow.is_gone() && subflow.delivered > self.outbox.una && self.fall_back_to(number) {
            self.outbox.una = self.subflows[number].delivered;
        }
    }

    /// Closes the subflows once both sides have said that they are done.
    pub(super) fn conclude(&mut self, now: Time) {
        if self.closing {
            return;
        }
        if self.mode == Mode::Fallback {
            let number = self.survivor();
            let subflow = &mut self.subflows[number];
            if self.outbox.is_all_given() && subflow.queue.is_empty() {
                subflow.tcp.close();
                self.stirred |= 1 << number;
                self.closing = true;
                self.refresh(now, number);
            }
            return;
        }
        if self.outbox.is_finished() && self.inbox.is_finished() {
            self.closing = true;
            self.stop_timers();
            for number in 0..self.subflows.len() {
                let subflow = &mut self.subflows[number];
                subflow.timeouts_before_close = subflow.tcp.stats().timeouts;
                // Others have sent what still waits for it.
                subflow.give_up(false, 0);
                match subflow.stage {
                    Stage::Gone => continue,
                    // The peer must hear that its end was heard, too: by the one at least that the last of it came by.
                    Stage::Open if number == self.heard || !subflow.tcp.is_after_timeout() => subflow.tcp.close(),
                    // What is not heard of is not waited for.
                    _ => subflow.tcp.abort(),
                }
                self.stirred |= 1 << number;
                self.refresh(now, number);
            }
        }
    }
}
