//! Transmission: assignment of data to subflows, and the options of their segments.

use super::*;
use crate::common::scheduler::{Decision, Situation};
use crate::common::stamp;
use crate::mptcp::outbox::Piece;
use crate::tcp::multipath::{DataAck, Dss, Mapping, Multipath, Signal, digest, reason};
use crate::tcp::{Extra, Flags, Segment};

/// Maximum bytes of a TCP header.
const MAX_HEADER: u32 = 60;

/// Reset that answers an unacceptable MP_JOIN.
fn refusal(tuple: Tuple, acknowledgment: u32, extra: &mut Extra) -> Segment {
    let signal = Some(Signal::Reset(reason::MPTCP));
    *extra = Extra { multipath: Some(Multipath { tuple, dss: None, signal }), ..Extra::default() };
    Segment { acknowledgment, flags: Flags::RST.with(Flags::ACK), has_extra: true, ..Segment::default() }
}

impl Connection {
    /// Returns the next segment to send, its options in `extra`; call again until there is none.
    pub fn poll_transmit(&mut self, now: Time, extra: &mut Extra) -> Option<Segment> {
        if let Some((tuple, acknowledgment)) = self.refused.pop() {
            return Some(refusal(tuple, acknowledgment, extra));
        }
        loop {
            while self.pollable != 0 {
                let number = self.pollable.trailing_zeros() as usize;
                self.share_memory(number);
                let Some(subflow) = self.subflows.get_mut(number) else {
                    self.pollable = 0;
                    break;
                };
                if let Some(segment) = subflow.tcp.poll_transmit(now, extra) {
                    return Some(self.add_options(number, segment, extra));
                }
                if subflow.stage == Stage::Open && subflow.feed() {
                    continue;
                }
                self.pollable &= !(1 << number);
                self.refresh(now, number);
            }
            if self.failure.is_some() || self.closing && self.mode == Mode::Multipath || !self.schedule(now) {
                self.overview.settle_due();
                return None;
            }
        }
    }

    // ---- scheduling -------------------------------------------------------------------------------------------------

    /// Gives a subflow something to send; returns false if there is nothing or no subflow for it.
    fn schedule(&mut self, now: Time) -> bool {
        if self.stats.established.is_none() {
            return false;
        }
        if self.schedule_reinjection(now) {
            return true;
        }
        if self.mode == Mode::Fallback && self.outbox.is_all_given() {
            if !self.closing {
                self.close_if_done(now);
            }
            return self.pollable != 0;
        }
        if self.outbox.is_fin_due() && self.outbox.una == self.outbox.end {
            return self.schedule_fin(now);
        }
        let idle = self.outbox.waiting() == 0 && self.outbox.una == self.outbox.nxt;
        if idle {
            return false;
        }
        self.overview.settle(now, &self.subflows);
        if self.overview.with_room == 0 && !self.scheduler.queues() {
            self.wait_for_room(now);
            return false;
        }
        let decision = self.decide(now);
        let done = match decision {
            Decision::Wait => false,
            Decision::Send { path, skip } => self.send_new(path, skip),
            Decision::Copy { path } => self.copy(path),
            Decision::Repeat { path, penalised } => self.repeat(now, path, penalised),
        };
        if !done {
            self.wait_for_room(now);
            self.wake_at = self.scheduler.wake();
        }
        done
    }

    /// Assigns data that may be lost on one subflow to another, chosen by the scheduler.
    fn schedule_reinjection(&mut self, now: Time) -> bool {
        while let Some(piece) = self.outbox.next_reinjection() {
            if self.is_tried_by_all(&piece) {
                self.outbox.take_reinjection(piece.length);
                continue;
            }
            self.overview.settle(now, &self.subflows);
            let queues = self.scheduler.queues();
            if self.overview.with_room == 0 && !queues {
                return false;
            }
            let path = match self.ask(now, 0, None, piece.tried) {
                Decision::Send { path, .. } | Decision::Copy { path } | Decision::Repeat { path, .. } => path,
                Decision::Wait => return false,
            };
            let asked = if self.filtered_views.is_empty() { &self.overview.views } else { &self.filtered_views };
            if !asked[path].usable || !queues && !asked[path].has_room {
                return false;
            }
            let length = piece.length.min(self.overview.views[path].mss as u32);
            self.outbox.take_reinjection(length);
            self.stats.reinjected += u64::from(length);
            self.subflows[path].assign_reinjection(Piece { length, ..piece });
            self.pollable |= 1 << path;
            return true;
        }
        false
    }

    /// Asks the scheduler for a path among those not in `tried`; backups are included only if nothing else is usable
    /// (RFC 8684 section 3.3.8).
    fn ask(&mut self, now: Time, waiting: u64, blocker: Option<usize>, tried: u64) -> Decision {
        self.filtered_views.clear();
        if self.backups || tried != 0 {
            let untried = |(number, view): (usize, &PathState)| PathState {
                usable: view.usable && tried & 1 << number == 0,
                ..*view
            };
            self.filtered_views.extend(self.overview.views.iter().enumerate().map(untried));
            if self.filtered_views.iter().any(|view| view.usable && !view.backup) {
                self.filtered_views.iter_mut().for_each(|view| view.usable &= !view.backup);
            }
        }
        let outbox = &self.outbox;
        self.scheduler.decide(&Situation {
            now,
            paths: if self.filtered_views.is_empty() { &self.overview.views } else { &self.filtered_views },
            with_room: self.overview.with_room,
            waiting,
            window: outbox.room(),
            buffer: outbox.window,
            sent: outbox.nxt,
            outstanding: outbox.nxt.saturating_sub(outbox.una),
            blocker,
        })
    }

    /// Asks the scheduler what to do with new data.
    fn decide(&mut self, now: Time) -> Decision {
        let blocker = if self.outbox.waiting() > 0 && self.outbox.room() == 0 { self.find_blocker() } else { None };
        let decision = self.ask(now, self.outbox.waiting(), blocker, 0);
        match (decision, blocker) {
            (Decision::Send { path, .. }, Some(blocker)) => self.unblock(now, path, blocker).unwrap_or(decision),
            _ => decision,
        }
    }

    /// Decision for `path` when the receiver's window is blocked by data on `blocker`: the mechanisms of Raiciu et al.,
    /// NSDI 2012, section 4.2, with Linux MPTCP v0.90's conditions (mptcp_rcv_buf_optimization).
    fn unblock(&mut self, now: Time, path: usize, blocker: usize) -> Option<Decision> {
        let (fast, slow) = (*self.overview.views.get(path)?, *self.overview.views.get(blocker)?);
        if self.config.penalisation && fast.srtt < slow.srtt && slow.usable && !slow.recovering {
            self.penalise(now, blocker);
        }
        let is_stuck = slow.cwnd <= 4 * slow.mss || fast.srtt * 4 < slow.srtt;
        (self.config.opportunistic_retransmission && is_stuck).then_some(Decision::Repeat { path, penalised: None })
    }

    fn find_blocker(&mut self) -> Option<usize> {
        let una = self.outbox.una;
        if self.blocker.0 != una {
            self.overview.catch_up(&mut self.subflows);
            let thorough = || self.subflows.iter().position(|subflow| subflow.piece_at(una).is_some());
            self.blocker = (una, self.overview.front_at(una).or_else(thorough));
        }
        self.blocker.1
    }

    fn send_new(&mut self, path: usize, skip: u64) -> bool {
        let Some(view) = self.overview.views.get(path).filter(|view| view.usable) else { return false };
        if !view.has_room && !self.scheduler.queues() {
            return false;
        }
        // The first data carries the keys.
        let skip = if self.outbox.nxt == 0 { 0 } else { skip };
        let Some(piece) = self.outbox.next_new(view.mss, skip) else { return false };
        self.outbox.take_new(&piece);
        self.scheduler.on_sent(path, u64::from(piece.length));
        self.assign(path, piece);
        true
    }

    /// Sends on `path` the oldest data that it has not sent itself.
    fn copy(&mut self, path: usize) -> bool {
        let Some(view) = self.overview.views.get(path).filter(|view| view.is_available()) else { return false };
        let start = self.subflows[path].copied.max(self.outbox.una);
        self.subflows[path].copied = start;
        if start >= self.outbox.nxt {
            return self.send_new(path, 0);
        }
        let length = view.mss.min(self.outbox.nxt - start) as u32;
        self.assign(path, Piece { start, length, tried: 0 });
        true
    }

    /// Retransmits on `path` the data that blocks the receiver's window, and penalises the subflow that carries it
    /// (Raiciu et al., NSDI 2012, section 4.2).
    fn repeat(&mut self, now: Time, path: usize, penalised: Option<usize>) -> bool {
        if let Some(slow) = penalised.filter(|&slow| slow < self.subflows.len()) {
            self.penalise(now, slow);
        }
        let Some(&view) = self.overview.views.get(path).filter(|view| view.is_available()) else { return false };
        let una = self.outbox.una;
        let holder = self.find_blocker().filter(|&holder| holder != path && self.subflows[path].repeated <= una);
        let Some(piece) = holder.and_then(|holder| self.subflows[holder].piece_at(una)) else { return false };
        let length = piece.length.min(view.mss as u32);
        self.subflows[path].repeated = una + u64::from(length);
        self.stats.repeated += u64::from(length);
        self.assign(path, Piece { length, ..piece });
        true
    }

    /// Halves a subflow's window, once per round-trip time.
    fn penalise(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        let srtt = subflow.tcp.rtt().srtt();
        if subflow.penalised.is_none_or(|last| now.since(last) >= srtt) {
            subflow.penalised = Some(now);
            subflow.tcp.limit_cwnd((subflow.tcp.cwnd() / 2).max(2 * subflow.tcp.payload()));
            self.stats.penalties += 1;
            self.refresh(now, number);
            self.overview.settle(now, &self.subflows);
        }
    }

    #[inline]
    fn assign(&mut self, path: usize, piece: Piece) {
        let subflow = &mut self.subflows[path];
        if piece.start <= subflow.copied {
            subflow.copied = subflow.copied.max(piece.end());
        }
        subflow.assign(piece);
        self.pollable |= 1 << path;
    }

    /// Sends DATA_FIN without data when all data is acknowledged; otherwise it goes with the last data.
    fn schedule_fin(&mut self, now: Time) -> bool {
        if self.fin_at != Time::NEVER {
            return false;
        }
        let Some(number) = self.control_subflow(now) else { return false };
        let subflow = &mut self.subflows[number];
        subflow.fin_due = true;
        subflow.tcp.acknowledge_now();
        self.pollable |= 1 << number;
        self.fin_at = now + self.answer_timeout(number);
        true
    }

    /// Handles data that cannot leave: either the subflows' windows limit it, or the receiver's window is closed with
    /// nothing in flight and must be probed.
    fn wait_for_room(&mut self, now: Time) {
        let reinjects = self.outbox.next_reinjection().is_some();
        if self.outbox.waiting() == 0 && !reinjects {
            return;
        }
        if self.outbox.room() == 0 && !reinjects {
            if self.persist_at == Time::NEVER && self.outbox.una == self.outbox.nxt {
                self.persist_at = now + self.answer_timeout(0);
            }
            return;
        }
        self.overview.wait_for_room(now, &mut self.subflows);
    }

    // ---- options ------------------------------------------------------------------------------------------------------

    /// Adds the connection-level window and options to a subflow's segment.
    fn add_options(&mut self, number: usize, mut segment: Segment, extra: &mut Extra) -> Segment {
        if !segment.has_extra {
            *extra = Extra::default();
            segment.has_extra = true;
        }
        let empty = Multipath { tuple: self.subflows[number].tuple, dss: None, signal: None };
        let multipath = extra.multipath.insert(empty);
        if segment.flags.has(Flags::SYN) {
            multipath.signal = self.syn_signal(number, segment.flags.has(Flags::ACK));
        } else {
            segment.window = self.window(number, segment.window);
            if self.mode == Mode::Multipath {
                self.fill_options(number, &mut segment, multipath);
            } else {
                self.fill_fallback_options(number, &mut segment, multipath);
            }
        }
        // Connection-level options take precedence over SACK blocks, which can be repeated.
        while !extra.sack.is_empty() && segment.header_bytes(extra) > MAX_HEADER {
            extra.sack.pop();
        }
        segment
    }

    /// Shows a subflow the memory that all share, if they do.
    pub(super) fn share_memory(&mut self, number: usize) {
        if let Some(memory) = self.inbox.share(self.segment())
            && let Some(subflow) = self.subflows.get_mut(number)
        {
            subflow.tcp.share_memory(memory);
        }
    }

    /// Returns the window to advertise with a segment of a subflow that has chosen `own`, both scaled.
    fn window(&mut self, number: usize, own: u16) -> u16 {
        let tcp = &mut self.subflows[number].tcp;
        let scale = tcp.scales().0;
        let window = match self.inbox.furthest_window(u64::from(own) << scale) {
            Some(furthest) => {
                tcp.raise_window(furthest);
                furthest
            }
            None => self.inbox.window(2 * self.segment()),
        };
        (window >> scale).min(u64::from(u16::MAX)) as u16
    }

    #[cold]
    fn fill_fallback_options(&mut self, number: usize, segment: &mut Segment, multipath: &mut Multipath) {
        if segment.length == 0 {
            multipath.signal = self.subflows[number].signals.pop_front();
            return;
        }
        let octet = self.subflows[number].tcp.sent_octet(segment.sequence);
        let data = self.data_offsets[0].wrapping_add(octet - 1);
        segment.stamp = stamp(data);
        if std::mem::take(&mut self.infinite_mapping_due) {
            let map = Mapping { dsn: self.own_dsn(data), subflow: octet as u32, length: 0, checksum: None };
            multipath.dss = Some(Dss { ack: None, map: Some(map), fin: false });
        }
    }

    fn fill_options(&mut self, number: usize, segment: &mut Segment, multipath: &mut Multipath) {
        if segment.flags.has(Flags::RST) {
            multipath.signal = self.reset_reason(number);
            return;
        }
        if self.subflows[number].stage == Stage::PreEstablished {
            multipath.signal = self.proof(number);
            return;
        }
        let dss = self.data_signal(number, segment);
        if let Some(keys) = self.keys_to_repeat(number, segment, &dss) {
            multipath.signal = Some(keys);
            return;
        }
        multipath.dss = Some(dss);
        if segment.length > 0 {
            // A data segment has no room for more options; pending ones leave with the next pure ACK.
            let subflow = &mut self.subflows[number];
            if subflow.fin_due || !subflow.signals.is_empty() {
                subflow.tcp.acknowledge_now();
            }
        } else if dss.map.is_none() {
            multipath.signal = self.subflows[number].signals.pop_front();
            if !self.subflows[number].signals.is_empty() {
                self.subflows[number].tcp.acknowledge_now();
            }
        }
    }

    /// Option of a reset: MP_FASTCLOSE for the whole connection, otherwise the reason for resetting the subflow.
    fn reset_reason(&mut self, number: usize) -> Option<Signal> {
        match self.peer_key {
            Some(peer) if self.failure == Some(Failure::Reset) => Some(Signal::FastClose(peer)),
            _ => {
                let is_reason = |signal: &Signal| matches!(signal, Signal::Reset(_) | Signal::Fail(_));
                self.subflows[number].signals.pop_front().filter(is_reason)
            }
        }
    }

    /// DSS option of a segment: DATA_ACK, mapping and DATA_FIN.
    #[inline]
    fn data_signal(&mut self, number: usize, segment: &mut Segment) -> Dss {
        // Segments created before the switch to 64-bit DATA_ACKs have no room for them.
        let fits = u64::from(segment.length) <= self.subflows[number].tcp.payload();
        let ack = self.peer_key.map(|_| {
            let next = self.first[1].wrapping_add(self.inbox.nxt());
            if self.long_acks && fits { DataAck::Long(next) } else { DataAck::Short(next as u32) }
        });
        if segment.length > 0 {
            let octet = self.subflows[number].tcp.sent_octet(segment.sequence);
            let data = self.subflows[number].sent_data(octet).expect("what is sent was assigned");
            segment.stamp = stamp(data);
            let end = data + u64::from(segment.length);
            if end < self.outbox.end {
                // Subflows are written segment by segment: PSH is kept only at the end of the application's data.
                segment.flags = segment.flags.without(Flags::PSH);
            }
            let fin = self.outbox.closing && end == self.outbox.end;
            let length = segment.length + u16::from(fin);
            let checksum = self.checksum.then(|| digest(segment.stamp));
            let map = Mapping { dsn: self.own_dsn(data), subflow: octet as u32, length, checksum };
            return Dss { ack, map: Some(map), fin };
        }
        if !std::mem::take(&mut self.subflows[number].fin_due) {
            return Dss { ack, map: None, fin: false };
        }
        let checksum = self.checksum.then_some(0);
        let map = Mapping { dsn: self.own_dsn(self.outbox.end), subflow: 0, length: 1, checksum };
        Dss { ack, map: Some(map), fin: true }
    }

    /// MP_CAPABLE with both keys, which the client repeats on the initial subflow until the server confirms it (RFC
    /// 8684 section 3.1); with the first data it also serves as the mapping.
    #[inline]
    fn keys_to_repeat(&mut self, number: usize, segment: &Segment, dss: &Dss) -> Option<Signal> {
        if self.role != Role::Client || self.subflows[number].joins || self.confirmed {
            return None;
        }
        let opens = |map: Mapping| map.dsn == self.first[0] && map.subflow == 1;
        let first = segment.length > 0 && dss.map.is_some_and(opens);
        if !first && (segment.length > 0 || dss.map.is_some()) {
            return None;
        }
        // The option has no room for DATA_FIN.
        self.subflows[number].fin_due |= dss.fin;
        if dss.fin {
            self.subflows[number].tcp.acknowledge_now();
        }
        let checksum = self.checksum;
        let length = first.then(|| (segment.length, checksum.then(|| digest(segment.stamp))));
        Some(Signal::Capable { key: Some(self.identity.key), peer: self.peer_key, length, checksum })
    }
}
