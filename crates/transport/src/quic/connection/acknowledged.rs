//! Processing of acknowledgements and losses (RFC 9002 section 7 and appendices A.7, B).

use super::*;
use crate::quic::event::Loss;
use crate::quic::frame::{AckFrame, StreamFrame};
use crate::quic::recovery::Losses;
use crate::quic::sent::{Content, Sent};
use vazao_congestion::{Ack, Signal};

/// Newly acknowledged packets of an ACK frame.
#[derive(Default)]
struct Newly {
    /// Send time of the largest acknowledged packet, if it is newly acknowledged.
    largest: Option<Time>,
    eliciting: bool,
    /// Number of packets, and of those sent as ECN-capable.
    packets: u64,
    capable: u64,
    /// Bytes that counted as in flight.
    delivered: u64,
    /// Bytes among them sent since the window was last reduced.
    fresh: u64,
}

impl Connection {
    /// OnAckReceived (appendix A.7) for packets of a path.
    pub(super) fn on_ack(&mut self, now: Time, number: usize, space: Space, ack: &AckFrame, ranges: &[(u64, u64)]) {
        let Some(&(_, largest)) = ranges.first() else { return };
        let path = &mut self.paths[number];
        if largest >= path.recovery.space(space).next_number() {
            return; // Acknowledges a packet never sent.
        }
        let flight = path.recovery.in_flight();
        self.update_coupling(number);
        let mut newly = Newly::default();
        for &(first, last) in ranges {
            self.take_range(now, number, space, (first, last), largest, &mut newly);
        }
        let path = &mut self.paths[number];
        path.stats.delivered += newly.delivered;
        let sent = path.recovery.space(space);
        let advances = sent.largest_acked < Some(largest);
        sent.largest_acked = sent.largest_acked.max(Some(largest));
        if newly.packets == 0 {
            return;
        }
        // Packets sent before a migration give no RTT sample for the new path (RFC 9000 section 9.4).
        newly.largest = newly.largest.filter(|_| space != Space::Data || largest >= path.first);
        let rtt = newly.largest.filter(|_| newly.eliciting).map(|at| now.since(at));
        if let Some(rtt) = rtt {
            let delay = if space == Space::Data { Duration::from_nanos(ack.delay * 8_000) } else { Duration::ZERO };
            path.recovery.sample(now, rtt, delay, self.progress.confirmed);
            self.stats.rtt.record(rtt);
        }
        if self.progress.complete || self.role == Role::Server {
            let was_silent = std::mem::take(&mut path.recovery.pto_count) > 0;
            if was_silent && self.paths.len() > 1 {
                self.reassign_unresponsive();
            }
        }
        let path = &mut self.paths[number];
        if path.cut_at.is_some() && newly.fresh > 0 {
            // A packet sent after the window reduction was acknowledged, so the recovery is over (section 7.3.2).
            path.cut_at = None;
            path.control.on_recovered(u64::MAX);
        }
        let marks = if advances { path.marking.on_ack(space, newly.capable, ack.ecn) } else { 0 };
        let found = path.recovery.detect(now, space);
        let lost = found.map_or(0, |found| self.on_lost(now, number, found));
        let path = &mut self.paths[number];
        if let (1.., Some(at)) = (marks, newly.largest) {
            self.stats.mark_reductions += u64::from(path.on_congestion(now, at, Signal::Mark, flight));
        }
        path.report_ack(now, space, &newly, flight, rtt, (lost, marks));
        // Packets declared lost are kept for three probe timeouts, in case they arrive after all.
        let long_ago = Time::from_nanos(now.as_nanos().saturating_sub((path.recovery.pto(space) * 3).as_nanos()));
        path.recovery.space(space).forget_settled(long_ago);
    }

    fn take_range(
        &mut self,
        now: Time,
        number: usize,
        space: Space,
        (first, last): (u64, u64),
        largest: u64,
        newly: &mut Newly,
    ) {
        let mut parts = std::mem::take(&mut self.parts);
        self.paths[number].recovery.space(space).note_acked(first, last + 1, &mut parts);
        for packet in parts.iter().flat_map(|&(from, to)| from..to) {
            let path = &mut self.paths[number];
            let Some(sent) = path.recovery.space(space).acknowledge(packet) else {
                self.on_late(now, number, space, packet);
                continue;
            };
            newly.packets += 1;
            newly.capable += u64::from(sent.capable);
            newly.eliciting |= sent.eliciting;
            newly.delivered += u64::from(sent.bytes);
            if packet == largest {
                newly.largest = Some(sent.at);
            }
            if path.cut_at.is_none_or(|cut| sent.at > cut) {
                newly.fresh += u64::from(sent.bytes);
            }
            if let Some(reported) = sent.reported {
                path.acks[space as usize].forget_through(reported);
            }
            self.on_arrived(space, sent.content);
        }
        parts.clear();
        self.parts = parts;
    }

    /// Handles the acknowledgement of a packet that was acknowledged before, or declared lost and only late.
    #[cold]
    fn on_late(&mut self, now: Time, number: usize, space: Space, packet: u64) {
        let path = &mut self.paths[number];
        let Some(late) = path.recovery.space(space).acknowledge_lost(packet) else { return };
        path.recovery.on_late(now, space, packet, late.at);
        self.stats.spurious_losses += 1;
        self.stats.spurious_recoveries += u64::from(path.on_late(now, late.at));
        // What waits to be sent again has arrived.
        self.on_arrived(space, late.content);
    }

    /// Handles the acknowledgement of a packet's content.
    #[inline]
    fn on_arrived(&mut self, space: Space, content: Content) {
        match content {
            Content::Nothing => {}
            Content::Stream(frame) => self.on_stream_arrived(&frame),
            Content::Frames(frames) => self.on_frames_arrived(space, &frames),
        }
    }

    #[inline]
    pub(super) fn on_stream_arrived(&mut self, frame: &StreamFrame) {
        let Some(stream) = self.streams.map.get_mut(&frame.id) else { return };
        stream.out.acknowledge(frame.offset, frame.end(), frame.fin);
        if stream.out.closed {
            self.retire(frame.id);
        }
    }

    #[inline(never)]
    fn on_frames_arrived(&mut self, space: Space, frames: &[Frame]) {
        for frame in frames {
            match *frame {
                Frame::Stream(frame) => self.on_stream_arrived(&frame),
                Frame::Crypto { offset, length } => {
                    let out = &mut self.progress.crypto[space as usize].out;
                    out.acknowledge(offset, offset + u64::from(length), false);
                }
                Frame::ResetStream { id, .. } => {
                    if let Some(stream) = self.streams.map.get_mut(&id) {
                        stream.out.reset_known = true;
                    }
                    self.retire(id);
                }
                _ => {}
            }
        }
    }

    /// OnPacketsLost (appendix B.8); returns the bytes lost.
    pub(super) fn on_lost(&mut self, now: Time, number: usize, found: Losses) -> u64 {
        if let (Some(events), Some(first)) = (&mut self.events, found.lost.first()) {
            let reason = |number| if number < found.near { Loss::Reordering } else { Loss::Time };
            let lost = |&number: &u64| Event::Lost { space: first.space, number, reason: reason(number) };
            events.extend(found.numbers.iter().map(lost));
        }
        let in_flight = found.lost.iter().filter(|sent| sent.bytes > 0);
        let Some(last) = in_flight.clone().map(|sent| sent.at).max() else {
            found.lost.into_iter().for_each(|sent| self.requeue_content(sent));
            return 0;
        };
        let bytes = in_flight.map(|sent| u64::from(sent.bytes)).sum();
        let path = &mut self.paths[number];
        let flight = path.recovery.in_flight() + bytes;
        path.marking.on_lost(found.lost.iter().filter(|sent| sent.capable).count() as u64);
        self.stats.recoveries += u64::from(path.on_congestion(now, last, Signal::Loss, flight));
        if let Some(reduction) = &mut path.reduction {
            found.lost.iter().filter(|sent| sent.bytes > 0).for_each(|sent| reduction.on_lost(sent.at));
        }
        for sent in found.lost {
            self.stats.lost += u64::from(sent.bytes > 0);
            self.paths[number].stats.lost += u64::from(sent.bytes > 0);
            self.requeue_content(sent);
        }
        let path = &mut self.paths[number];
        if let Some(sampler) = path.recovery.space(Space::Data).sampler() {
            sampler.on_lost(bytes);
        }
        if found.persistent {
            self.stats.persistent_congestions += 1;
            path.signal(now, Signal::RepeatedTimeout, flight);
            path.cut_at = None;
            path.recovery.rtt.restart_min();
        }
        bytes
    }

    /// Schedules the content of a lost packet for retransmission.
    pub(super) fn requeue_content(&mut self, sent: Sent) {
        match sent.content {
            Content::Nothing => {}
            Content::Stream(frame) => self.requeue(Frame::Stream(frame), Space::Data),
            Content::Frames(frames) => {
                for frame in frames {
                    if let Frame::Datagram { number, .. } = frame {
                        self.datagrams.on_lost(number);
                    }
                    self.requeue(frame, sent.space);
                }
            }
        }
    }

    pub(super) fn requeue(&mut self, frame: Frame, space: Space) {
        match frame {
            Frame::Stream(frame) => {
                if let Some(stream) = self.streams.map.get_mut(&frame.id) {
                    stream.out.on_lost(frame.offset, frame.end(), frame.fin);
                    self.streams.enqueue(frame.id);
                }
            }
            Frame::Crypto { offset, length } => {
                self.progress.crypto[space as usize].out.on_lost(offset, offset + u64::from(length), false);
            }
            Frame::MaxData(_) => {
                if !std::mem::replace(&mut self.streams.window_due, true) {
                    self.frames.push_back(frame);
                }
            }
            Frame::MaxStreamData(id, _) => {
                if let Some(stream) = self.streams.map.get_mut(&id)
                    && !std::mem::replace(&mut stream.limit_due, true)
                {
                    self.frames.push_back(frame);
                }
            }
            Frame::MaxStreams { both_ways, .. } => {
                if !std::mem::replace(&mut self.streams.granted_due[usize::from(!both_ways)], true) {
                    self.frames.push_back(frame);
                }
            }
            Frame::Ping
            | Frame::Padding(_)
            | Frame::Ack(_)
            | Frame::Datagram { .. }
            | Frame::PathChallenge(_)
            | Frame::PathResponse(_) => {}
            // A later status supersedes it.
            Frame::PathStatus { path, number, .. } if number < self.paths[usize::from(path)].statuses.0 => {}
            other => self.frames.push_back(other),
        }
    }
}

impl Path {
    /// OnPacketsAcked (appendix B.5); the ACK revealed `lost` bytes as lost and `marks` packets as CE-marked.
    fn report_ack(
        &mut self,
        now: Time,
        space: Space,
        newly: &Newly,
        flight: u64,
        rtt: Option<Duration>,
        (lost, marks): (u64, u64),
    ) {
        // If the window has just been reduced, everything acknowledged was sent before.
        let fresh = if self.cut_at == Some(now) { 0 } else { newly.fresh };
        let sent = &self.recovery.spaces[space as usize];
        let round = space == Space::Data
            && newly.fresh > 0
            && sent.largest_acked.is_some_and(|largest| largest >= self.round_end);
        if round {
            self.round_end = sent.next_number();
        }
        let rtt_state = &self.recovery.rtt;
        let min_rtt = rtt_state.min();
        let mut ack = Ack {
            now,
            acked: fresh,
            delivered: newly.delivered,
            advance: newly.delivered,
            flight,
            pipe: self.recovery.in_flight(),
            rtt,
            srtt: rtt_state.srtt(),
            min_rtt,
            round,
            window_limited: self.window_limited,
            in_recovery: fresh == 0,
            // Marks count packets, not bytes: the fraction of newly acknowledged packets newly reported as marked.
            marked: newly.delivered * marks.min(newly.packets) / newly.packets,
            untimed: true,
            ..Ack::default()
        };
        if self.rated {
            ack.lost = lost;
            ack.held = self.pacer.release().since(now);
            // Packets not in flight (pure ACKs) give no rate sample.
            if newly.delivered > 0
                && let Some(sampler) = self.recovery.space(Space::Data).sampler()
            {
                ack.rate = sampler.sample(now, newly.delivered, min_rtt);
            }
        }
        self.control.on_ack(&ack);
        self.follow_control();
    }
}
