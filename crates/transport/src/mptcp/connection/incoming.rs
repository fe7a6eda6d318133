//! Processing of arriving segments: options, then TCP, then connection-level reassembly.

use super::*;
use crate::common::stamp;
use crate::mptcp::subflow::Mapped;
use crate::tcp::multipath::{DataAck, Dss, Mapping, Multipath, Signal, digest, reason};
use crate::tcp::{Extra, Flags, Segment, timestamp};

impl Connection {
    /// Handles an arriving segment.
    pub fn handle(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        debug_assert!(self.overview.is_current(&mut self.subflows), "each change of a subflow updates the overview");
        let none = Multipath::default();
        let multipath = extra.and_then(|extra| extra.multipath.as_ref()).unwrap_or(&none);
        let Multipath { tuple, dss, signal } = multipath;
        let known = self.ports.get(usize::from(tuple.port)).copied().flatten();
        let Some(number) = known.or_else(|| self.admit(*tuple, segment, signal)) else {
            if !segment.flags.has(Flags::RST) {
                // RFC 8684 section 3.2: unknown token.
                self.refused.push((*tuple, segment.sequence.wrapping_add(segment.span() as u32)));
            }
            return;
        };
        if self.withdrawn & 1 << self.own_address(number) != 0 && self.failure.is_none() {
            return; // Addressed to an interface that is gone.
        }
        let mut segment = *segment;
        (self.unanswered, self.last_heard) = (0, number);
        self.pollable |= 1 << number;
        if !self.handle_handshake(now, number, &segment, multipath) {
            if self.subflows[number].is_gone() {
                // TCP answers it with a reset, as for a closed connection.
                self.subflows[number].tcp.handle(now, &segment, extra);
            }
            return;
        }
        self.handle_window(now, number, &mut segment, dss);
        if segment.length > 0 && !self.handle_mapping(now, number, &mut segment, multipath) {
            return;
        }
        if self.subflows[number].tcp.flight() > 0 {
            self.update_coupling(number);
        }
        self.share_memory(number);
        let subflow = &mut self.subflows[number];
        if segment.has_timestamps {
            let clock = timestamp(now);
            subflow.sample_return_delay(clock.wrapping_sub(segment.timestamp) as i32);
            if segment.length > 0 && segment.echo != 0 {
                let rtt = Duration::from_millis(u64::from(clock.wrapping_sub(segment.echo)));
                subflow.sample_receiver_rtt(rtt.max(Duration::from_micros(1)));
            }
        }
        subflow.tcp.handle(now, &segment, extra.filter(|extra| extra.concerns_tcp()));
        subflow.forget_acknowledged();
        if segment.length > 0 || segment.flags.has(Flags::FIN) {
            self.collect(now, number);
        }
        let is_reset = segment.flags.has(Flags::RST);
        self.after_segment(now, number, multipath);
        if self.mode == Mode::Multipath && dss.is_none() && signal.is_none() && !is_reset {
            self.detect_fallback(number);
        }
    }

    /// Applies the receive window, relative to the DATA_ACK (RFC 8684 section 3.3.4); the subflow has no window.
    #[inline]
    fn handle_window(&mut self, now: Time, number: usize, segment: &mut Segment, dss: &Option<Dss>) {
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        let subflow = &self.subflows[number];
        let syn = segment.flags.has(Flags::SYN);
        let scale = if syn { 0 } else { subflow.tcp.scales().1 };
        let window = u64::from(segment.window) << scale;
        let una = match (self.mode, dss.as_ref().and_then(|dss| dss.ack).map(DataAck::low)) {
            (Mode::Fallback, _) => self.infinite_una(number, segment.acknowledgment),
            (Mode::Multipath, Some(ack)) => self.acknowledged(ack),
            // Handshake window. The segment may be late, and says nothing about data.
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

    /// Processes the mapping of a segment. The payload's stamp is checked against the mapped data and replaced by the
    /// one that the subflow's TCP expects. Returns whether TCP may process the segment.
    #[inline]
    fn handle_mapping(&mut self, now: Time, number: usize, segment: &mut Segment, multipath: &Multipath) -> bool {
        let octet = self.subflows[number].tcp.arrived_octet(segment.sequence);
        if self.mode == Mode::Fallback {
            self.check(segment, octet, self.data_offsets[1].wrapping_add(octet.wrapping_sub(1)));
            return true;
        }
        let mapping = match (multipath.signal, multipath.dss) {
            (Some(Signal::Capable { length: Some((length, checksum)), .. }), _) => {
                Some(Mapping { dsn: self.first[1], subflow: 1, length, checksum })
            }
            (_, Some(Dss { map: Some(Mapping { length: 0, .. }), fin: false, .. })) => {
                // Infinite mapping: the peer has fallen back.
                return self.fall_back_to(number) && self.handle_mapping(now, number, segment, &Multipath::default());
            }
            (_, Some(Dss { map: Some(map), fin, .. })) if map.subflow != 0 => {
                // DATA_FIN occupies an octet of the mapping but none of the subflow.
                Some(Mapping { length: map.length.saturating_sub(u16::from(fin)), ..map })
            }
            _ => None,
        };
        let Some(map) = mapping else {
            // Covered by an earlier mapping.
            if let Some(data) = self.subflows[number].mapped_octet(octet) {
                self.check(segment, octet, data);
            }
            return true;
        };
        if map.checksum.is_some_and(|sum| map.length == segment.length && sum != digest(segment.stamp)) {
            return self.on_altered(now, number, segment, map);
        }
        // Subflow sequence numbers are relative and have 32 bits.
        let start = octet.wrapping_add_signed(i64::from(map.subflow.wrapping_sub(octet as u32) as i32));
        self.use_long_acks();
        let data = self.peer_octet(map.dsn);
        let subflow = &mut self.subflows[number];
        subflow.note_mapping(Mapped { octet: start, data, length: u32::from(map.length) });
        self.check(segment, octet, data.wrapping_add(octet.wrapping_sub(start)));
        true
    }

    #[inline]
    fn check(&mut self, segment: &mut Segment, octet: u64, data: u64) {
        if segment.stamp == stamp(data) {
            segment.stamp = stamp(octet.wrapping_sub(1));
        } else {
            self.stats.misplaced += 1;
            segment.stamp = !stamp(octet.wrapping_sub(1));
        }
    }

    /// Moves in-order data of a subflow to the connection-level receive queue.
    #[inline]
    fn collect(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        let mut unmapped = None;
        while let Some(range) = subflow.tcp.read() {
            let (mut octet, end) = (range.start + 1, range.end + 1);
            while octet < end {
                if self.mode == Mode::Fallback {
                    let shift = self.data_offsets[1];
                    self.inbox.insert(shift.wrapping_add(octet - 1), shift.wrapping_add(end - 1));
                    break;
                }
                let Some((data, length)) = subflow.mapped_run(octet) else {
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
            let rtt = self.max_receiver_rtt();
            self.inbox.tune(now, rtt);
            self.inbox.tune_memory(now, &self.subflows);
        }
    }

    /// Handles data without a mapping. On the only subflow ever opened, a middlebox removes options, and the connection
    /// falls back to TCP; any other subflow is reset (RFC 8684 section 3.7).
    #[cold]
    fn on_unmapped(&mut self, now: Time, number: usize, range: Range<u64>) {
        if number == 0 && self.subflows.len() == 1 && self.inbox.nxt() == range.start - 1 {
            self.fall_back();
            self.inbox.insert(range.start - 1, range.end - 1);
        } else {
            self.reset(now, number, Signal::Reset(reason::MIDDLEBOX));
        }
    }

    /// Handles data altered on the path. With other subflows this one is reset and its data reinjected; a single
    /// subflow falls back to TCP if possible (RFC 8684 section 3.7). Returns whether TCP may process the segment.
    #[cold]
    fn on_altered(&mut self, now: Time, number: usize, segment: &mut Segment, map: Mapping) -> bool {
        self.stats.checksum_failures += 1;
        let fail = Signal::Fail(map.dsn);
        if self.fall_back_to(number) {
            let subflow = &mut self.subflows[number];
            subflow.signals.push_front(fail);
            subflow.tcp.acknowledge_now();
            return self.handle_mapping(now, number, segment, &Multipath::default());
        }
        self.reset(now, number, fail);
        false
    }

    #[inline]
    fn after_segment(&mut self, now: Time, number: usize, Multipath { dss, signal, .. }: &Multipath) {
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
            Some(signal) => self.handle_signal(now, number, *signal),
        }
        // Timeouts have been answered; the next one causes reinjection again.
        let subflow = &mut self.subflows[number];
        subflow.timeouts = subflow.tcp.stats().timeouts;
        self.close_if_done(now);
        // Once it has sent what it has to send, all of it is looked at.
        let subflow = &self.subflows[number];
        self.overview.update_window(number, subflow);
        if subflow.is_over() {
            self.refresh(now, number);
        }
    }

    /// Opens a client's joining subflow once its proof is acknowledged.
    fn admit_proven(&mut self, now: Time, number: usize, signal: &Option<Signal>) {
        let is_pre_established = self.subflows[number].stage == Stage::PreEstablished;
        if is_pre_established && !matches!(signal, Some(Signal::JoinAnswer { .. })) {
            self.on_open(now, number);
        }
    }

    /// Detects that the peer has fallen back: data on the only subflow is acknowledged without any Multipath TCP option
    /// (RFC 8684 section 3.7).
    fn detect_fallback(&mut self, number: usize) {
        let subflow = &self.subflows[number];
        if !subflow.is_gone() && subflow.delivered > self.outbox.una && self.fall_back_to(number) {
            self.outbox.una = self.subflows[number].delivered;
        }
    }

    /// Closes the subflows once both sides have sent DATA_FIN and it was acknowledged.
    pub(super) fn close_if_done(&mut self, now: Time) {
        if self.closing {
            return;
        }
        if self.mode == Mode::Fallback {
            let number = self.fallback_subflow();
            let subflow = &mut self.subflows[number];
            if self.outbox.is_all_given() && subflow.queue.is_empty() {
                subflow.tcp.close();
                self.pollable |= 1 << number;
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
                // Other subflows have sent its remaining data.
                subflow.take_pieces(false, 0);
                match subflow.stage {
                    Stage::Gone => continue,
                    // The peer must learn that its DATA_FIN arrived, at least on the subflow that last delivered data.
                    Stage::Open if number == self.last_heard || !subflow.tcp.is_after_timeout() => subflow.tcp.close(),
                    // Unresponsive subflows are not waited for.
                    _ => subflow.tcp.abort(),
                }
                self.pollable |= 1 << number;
                self.refresh(now, number);
            }
        }
    }
}
