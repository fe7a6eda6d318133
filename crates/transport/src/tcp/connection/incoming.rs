//! Processing of arriving segments by state (RFC 9293 section 3.10.7).

use super::*;
use crate::common::stamp;
use crate::tcp::acknowledgement::Acknowledgement;
use crate::tcp::ecn::EcnReceiver;
use crate::tcp::receiver::{Arrival, Arrived};
use crate::tcp::segment::{Extra, Flags, OPTIONS_BYTES, Segment, TIMESTAMPS_BYTES};
use vazao_engine::Ecn;

impl Connection {
    /// Handles an arriving segment; `extra` holds its rare options, if it has any.
    #[inline]
    pub fn handle(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        match self.state {
            State::Closed => self.handle_closed(segment),
            State::Listen => self.handle_listen(now, segment, extra),
            State::SynSent => self.handle_syn_sent(now, segment, extra),
            _ => self.handle_synchronised(now, segment, extra),
        }
    }

    /// RFC 9293 section 3.10.7.1: answers any segment but RST with a reset.
    fn handle_closed(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        self.reset_due = Some(if segment.flags.has(Flags::ACK) {
            Reset::answer(segment.acknowledgment)
        } else {
            let acknowledgment = Some(segment.sequence.wrapping_add(segment.span() as u32));
            Reset { sequence: 0, acknowledgment, own: false }
        });
    }

    /// Section 3.10.7.2: LISTEN.
    fn handle_listen(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        if segment.flags.has(Flags::ACK) {
            self.reset_due = Some(Reset::answer(segment.acknowledgment));
        } else if segment.flags.has(Flags::SYN) {
            self.negotiate(segment, extra);
            self.state = State::SynReceived;
            self.syn_due = true;
            self.take_early_data(now, segment, extra);
            (self.syn_sent, self.syn_resent) = (None, false);
            self.tx.timer.set(now, self.tx.rtt.rto());
        }
    }

    /// Section 3.10.7.3: SYN-SENT.
    fn handle_syn_sent(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        let acknowledges = segment.flags.has(Flags::ACK);
        let early = self.fast_open.as_ref().and_then(|fast| fast.sent).unwrap_or(0);
        let taken = segment.acknowledgment.wrapping_sub(self.wire_sequence(1));
        if acknowledges && taken > u32::from(early) {
            self.repeat_refused_syn(now);
            if !segment.flags.has(Flags::RST) {
                self.reset_due = Some(Reset::answer(segment.acknowledgment));
            }
            return;
        }
        if segment.flags.has(Flags::RST) {
            if acknowledges {
                self.on_reset();
            }
            return;
        }
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        self.negotiate(segment, extra);
        if acknowledges {
            if let Some(fast) = &mut self.fast_open {
                let options = extra.and_then(|extra| extra.syn);
                // Without an option the MSS is the default (RFC 9293 section 3.7.1).
                fast.on_answer(options.and_then(|syn| syn.fast_open), options.map_or(536, |syn| syn.mss));
                self.tx.resume_after_syn_data(u64::from(taken), u64::from(early));
            }
            // The window in a SYN segment is never scaled (RFC 7323 section 2.2).
            self.establish(now, segment, 0);
            self.immediate_ack_due = self.config.host.personality().acknowledges_apart;
            self.rx.acknowledge_now();
            if segment.length > 0 || segment.flags.has(Flags::FIN) {
                self.take_syn_payload(now, segment);
            }
        } else {
            // Simultaneous open.
            self.state = State::SynReceived;
            self.syn_due = true;
        }
    }

    /// Accepts the data of a SYN with a valid cookie; the server may then send data after the SYN-ACK.
    fn take_early_data(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        let Some(fast) = &mut self.fast_open else { return };
        if !fast.on_request(extra.and_then(|extra| extra.syn).and_then(|syn| syn.fast_open)) {
            return;
        }
        self.tx.stats.ready = Some(now);
        self.tx.update_window(1, u64::from(segment.window));
        if segment.length > 0 {
            self.tx.stats.misplaced += u64::from(segment.stamp != stamp(0));
            self.rx.on_syn_data(u64::from(segment.length));
        }
    }

    /// Handles data or FIN in the peer's SYN segment once the connection is established.
    #[cold]
    fn take_syn_payload(&mut self, now: Time, segment: &Segment) {
        let sequence = segment.sequence.wrapping_add(1);
        let text = Segment { sequence, flags: segment.flags.without(Flags::SYN), ..*segment };
        self.handle_data(now, &text, 1);
    }

    /// Negotiates the options of the peer's SYN.
    fn negotiate(&mut self, segment: &Segment, extra: Option<&Extra>) {
        self.irs = segment.sequence;
        let offered = extra.and_then(|e| e.syn);
        let config = &self.config;
        let timestamps = config.timestamps && segment.has_timestamps;
        let sack = config.sack && offered.is_some_and(|o| o.sack_permitted);
        if timestamps {
            self.recent_timestamp = segment.timestamp;
        }
        let ecn = self.wants_ecn() && understands_ecn(segment.flags);
        let blocks = self.config.multipath.map(|others| max_blocks(timestamps, others));
        self.negotiated = Negotiated { timestamps, sack, blocks, ecn, own_scale: 0, peer_scale: 0 };
        if let Some(scale) = offered.and_then(|o| o.window_scale) {
            self.negotiated.own_scale = own_scale(config);
            self.negotiated.peer_scale = scale.min(14);
        }
        // RFC 6691: neither the MSS option nor `mss` accounts for options. 536 is the default (RFC 9293).
        let options = if timestamps { TIMESTAMPS_BYTES as u16 } else { 0 };
        let peer = offered.map_or(536, |o| o.mss).saturating_sub(options);
        // Linux uses the space of timestamps that the peer declined.
        let spared = config.host.personality().uses_declined_options && config.timestamps && !timestamps;
        let own = config.mss + if spared { TIMESTAMPS_BYTES as u16 } else { 0 };
        let mss = u64::from(own.min(peer.max(64)) - config.multipath[0]);
        self.tx.negotiate(config, mss, u64::from(self.iss), sack, ecn);
        self.ecn_echo = EcnReceiver::new(ecn, self.tx.window.control.wants_marks());
        let full = full_segment(config);
        let negotiated = full - if timestamps { u64::from(TIMESTAMPS_BYTES) } else { 0 };
        // A SYN advertises the size without options, a SYN-ACK the size with the negotiated options.
        let in_syn = if self.state == State::Listen { negotiated } else { full };
        self.rx = Receiver::new(config, [in_syn, negotiated], mss, self.negotiated.own_scale, sack);
    }

    /// Enters ESTABLISHED: `segment` acknowledged our SYN, and its window is in units of `scale`.
    fn establish(&mut self, now: Time, segment: &Segment, scale: u8) {
        self.state = State::Established;
        self.tx.update_window(1, u64::from(segment.window) << scale);
        self.tx.timer.stop();
        self.syn_due = false;
        self.tx.stats.established = Some(now);
        self.tx.stats.ready.get_or_insert(now);
        if let Some(fast) = &self.fast_open {
            self.tx.octets.fin |= fast.closing;
            self.tx.watch_flight(now);
        }
        let rtt = self.syn_sent.map(|sent| now.since(sent));
        if let Some(rtt) = rtt {
            self.rx.set_rtt(rtt, now);
        }
        // For a retransmitted SYN, Linux uses the timestamp, which tells the copies apart (RFC 7323 section 4).
        let echoes =
            self.config.host.personality().measures_resent_syn && self.negotiated.timestamps && segment.echo != 0;
        let echo_rtt = echoes.then(|| elapsed(now, segment.echo).max(Duration::from_millis(1)));
        self.tx.on_established(rtt.filter(|_| !self.syn_resent).or(echo_rtt));
        self.tx.fast &= !self.is_general;
        if let Some(threshold) = self.metrics.as_ref().and_then(|(metrics, number)| metrics.threshold(*number)) {
            self.tx.window.control.recall(threshold);
        }
        if self.tx.stats.syn_timeouts > 0 {
            self.tx.after_lost_syn(now);
        }
        self.advance_close();
    }

    /// Section 3.10.7.4: SYN-RECEIVED and all later states.
    #[inline]
    fn handle_synchronised(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        let Some(start) = Self::octet(self.irs, segment.sequence, self.rx.nxt) else { return };
        let Some(in_window) = self.check(now, segment, start) else { return };
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        if self.state == State::SynReceived {
            // Fast Open: there may be data beyond the SYN, sent since, or, in a simultaneous open, with it.
            let beyond = u64::from(segment.acknowledgment.wrapping_sub(self.wire_sequence(1)));
            let early = self.fast_open.as_ref().and_then(|fast| fast.sent).map_or(0, u64::from);
            if beyond > early.max(self.tx.octets.nxt - 1) {
                self.reset_due = Some(Reset::answer(segment.acknowledgment));
                return;
            }
            if early > 0 {
                self.tx.resume_after_syn_data(beyond, early);
            }
            if segment.flags.has(Flags::SYN) {
                // Simultaneous open: the peer's SYN was received, but it may not have ours. Its window is not scaled.
                self.establish(now, segment, 0);
                if self.config.host.personality().reports_syn_again {
                    self.rx.report_duplicate(0, 1);
                }
                return;
            }
            self.establish(now, segment, self.negotiated.peer_scale);
        }
        if !self.handle_ack(now, segment, extra, in_window.then_some(start)) {
            return;
        }
        if in_window && self.negotiated.timestamps && segment.has_timestamps && start <= self.rx.acknowledged {
            // TS.Recent (RFC 7323 section 4.3): from the first segment covered by an ACK. A segment whose
            // acknowledgement RFC 5961 section 5.2 rejects does not update it: it may be forged.
            self.recent_timestamp = self.recent_timestamp.wrapping_add(self.lead(segment).max(0) as u32);
        }
        if segment.length > 0 || segment.flags.has(Flags::FIN) {
            self.handle_data(now, segment, start);
        }
    }

    /// First four checks of section 3.10.7.4 with the additions of RFC 5961 and RFC 7323. Returns whether the segment
    /// lies in the window, or `None` if processing ends here.
    #[inline]
    fn check(&mut self, now: Time, segment: &Segment, start: u64) -> Option<bool> {
        if self.negotiated.timestamps && segment.has_timestamps && !segment.flags.has(Flags::RST) {
            // PAWS (RFC 7323 section 5.3).
            if self.lead(segment) < 0 && !self.is_forgiven(segment, start) {
                self.answer_out_of_window(now, segment);
                return None;
            }
        }
        if segment.flags.has(Flags::RST) {
            let edges = self.config.host.personality().challenges_at_edges;
            if start == self.rx.nxt {
                self.on_reset();
            } else if self.rx.window().contains(&start)
                || edges && (self.rx.acknowledged..=self.rx.window().end).contains(&start)
            {
                self.challenge(now); // RFC 5961 section 3.2.
            }
            return None;
        }
        if segment.flags.has(Flags::SYN) {
            // A retransmitted SYN whose SYN-ACK was lost, the SYN-ACK of a simultaneous open, or RFC 5961 section 4's
            // challenge ACK.
            let again = self.state == State::SynReceived && start == 0;
            let answer = segment.flags.has(Flags::ACK);
            self.syn_due |= again && !answer;
            self.syn_resent |= again && !answer;
            if !again || answer {
                self.challenge(now);
            }
            return (again && answer).then_some(false);
        }
        // Linux also accepts a segment that ends at the last acknowledgement sent (tcp_sequence): its timestamp counts.
        let is_latest =
            self.config.host.personality().accepts_last_segment && start + segment.span() == self.rx.acknowledged;
        let in_window = is_latest || self.rx.accepts(start, segment.span());
        if !in_window {
            // Old or beyond the window: the data is not accepted, but duplicates are reported and probes answered.
            self.answer_out_of_window(now, segment);
        }
        Some(in_window)
    }

    /// Ticks of the peer's clock by which a segment's timestamp is ahead of TS.Recent (RFC 7323 section 4.3).
    fn lead(&self, segment: &Segment) -> i32 {
        segment.timestamp.wrapping_sub(self.recent_timestamp) as i32
    }

    /// Whether PAWS forgives an old timestamp. Linux does so for one of the tick before, and for a duplicate
    /// acknowledgement that was overtaken by others, not older than a retransmission timeout and a fifth, for what it SACKs
    /// (tcp_paws_check, tcp_disordered_ack).
    #[cold]
    fn is_forgiven(&self, segment: &Segment, start: u64) -> bool {
        let tx = &self.tx;
        let replay = tx.rtt.rto().as_nanos() / 1_000_000 * 6 / 5;
        let window = u64::from(segment.window) << self.negotiated.peer_scale;
        let is_duplicate = segment.flags.has(Flags::ACK)
            && segment.span() == 0
            && start == self.rx.nxt
            && Self::octet(self.iss, segment.acknowledgment, tx.octets.una) == Some(tx.octets.una)
            && !tx.updates_window(tx.octets.una, Some(start), window);
        let late = u64::from(self.lead(segment).unsigned_abs());
        self.config.host.personality().forgives_old_timestamps && (late <= 1 || is_duplicate && late <= replay)
    }

    /// Answers a segment outside the window. Data always gets an ACK: it cannot start an ACK loop.
    fn answer_out_of_window(&mut self, now: Time, segment: &Segment) {
        let is_data = segment.length > 0 && !segment.flags.has(Flags::SYN);
        if is_data { self.rx.acknowledge_now() } else { self.challenge(now) }
    }

    /// Sends a challenge ACK. Linux sends two a second at most, so that two hosts cannot answer each other endlessly
    /// (tcp_oow_rate_limited; RFC 5961 section 7).
    #[cold]
    fn challenge(&mut self, now: Time) {
        const APART: Duration = Duration::from_millis(500);
        if self.config.host.personality().limits_challenges {
            if self.challenged.is_some_and(|last| now.since(last) < APART) {
                return;
            }
            self.challenged = Some(now);
        }
        self.rx.acknowledge_now();
    }

    /// Handles an acceptable reset (RFC 9293 section 3.10.7.4). A passive open returns to LISTEN from SYN-RECEIVED,
    /// unless its application already has the connection (RFC 7413). It is no failure if both sides have closed and all
    /// data is acknowledged.
    fn on_reset(&mut self) {
        let (before, early) = (self.state, self.is_open_early());
        self.enter_closed();
        match before {
            State::SynReceived if self.passive && !early => self.state = State::Listen,
            State::Closing | State::LastAck | State::TimeWait if self.tx.octets.una >= self.tx.octets.end => {}
            _ => self.failure = Some(Failure::Reset),
        }
    }

    /// Processes the acknowledgement. Returns whether it is acceptable (RFC 5961 section 5.2), so that the rest of the
    /// segment is processed too. `start` is the segment's first octet, if it lies in the window.
    #[inline]
    fn handle_ack(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>, start: Option<u64>) -> bool {
        let near = Self::octet(self.iss, segment.acknowledgment, self.tx.octets.una);
        let Some(offset) = near.filter(|&offset| self.tx.accepts_ack(offset)) else {
            let ahead = near.is_some_and(|offset| offset > self.tx.octets.nxt);
            if !(ahead && self.config.host.personality().ignores_acks_ahead && self.state == State::Established) {
                self.challenge(now);
            }
            return false;
        };
        let echo = self.negotiated.ecn && segment.flags.has(Flags::ECE);
        let window = u64::from(segment.window) << self.negotiated.peer_scale;
        if self.tx.octets.is_unused() && offset == self.tx.octets.una && extra.is_none() && !echo {
            // Most data segments come to an end that sends nothing itself.
            self.tx.on_empty_ack(start, window);
            return true;
        }
        let bare = segment.length == 0 && !segment.flags.has(Flags::FIN);
        let echoes = self.negotiated.timestamps && segment.has_timestamps && segment.echo != 0;
        let echo_rtt = || echoes.then(|| elapsed(now, segment.echo));
        let is_partial = self.tx.octets.una < offset && offset < self.tx.octets.nxt;
        if is_partial
            && bare
            && extra.is_none()
            && !echo
            && self.tx.on_ack_in_order(now, offset, start, window, echo_rtt)
        {
            return true;
        }
        let sacked = match extra {
            Some(extra) if self.tx.repair.selective => self.handle_sack(extra, offset),
            _ => 0,
        };
        let ack = Acknowledgement {
            offset,
            start,
            window,
            sacked,
            echo,
            blocks: extra.is_some(),
            bare,
            echo_rtt: echo_rtt(),
            return_delay_ms: echoes.then(|| timestamp(now).wrapping_sub(segment.timestamp) as i32),
        };
        if offset < self.tx.octets.una {
            self.tx.on_late_ack(now, &ack);
            return true;
        }
        self.tx.on_ack(now, &ack);
        if self.tx.octets.is_finished() {
            self.leave_metrics();
            self.advance_close();
            match self.state {
                State::FinWait1 => self.state = State::FinWait2,
                State::Closing => self.enter_time_wait(now),
                State::LastAck => self.enter_closed(),
                _ => {}
            }
        }
        true
    }

    /// Applies SACK blocks to the scoreboard. A first block below the acknowledgement or inside the second one is a
    /// D-SACK (RFC 2883 section 4).
    fn handle_sack(&mut self, extra: &Extra, offset: u64) -> u64 {
        let mut sacked = 0;
        let near = self.tx.octets.una;
        let octets = |&(left, right): &(u32, u32)| {
            Some((Self::octet(self.iss, left, near)?, Self::octet(self.iss, right, near)?))
        };
        let blocks = extra.sack.as_slice();
        let second = blocks.get(1).and_then(octets);
        for (i, block) in blocks.iter().enumerate() {
            let Some((start, end)) = octets(block) else { continue };
            if i == 0 && (end <= offset || second.is_some_and(|(s, e)| s <= start && end <= e)) {
                self.tx.on_duplicate_report(start, end);
                continue;
            }
            // A late ACK may report data that others have acknowledged since.
            let start = start.max(offset).max(near);
            if start < end && end <= self.tx.octets.nxt {
                sacked += self.tx.board.sack(start, end);
            }
        }
        sacked
    }

    #[inline]
    fn handle_data(&mut self, now: Time, segment: &Segment, start: u64) {
        let fin = segment.flags.has(Flags::FIN);
        if segment.length > 0 && segment.stamp != stamp(start.wrapping_sub(1)) {
            self.tx.stats.misplaced += 1;
        }
        let receives = matches!(self.state, State::Established | State::FinWait1 | State::FinWait2);
        if !receives && start + segment.span() > self.rx.nxt {
            return; // No data follows FIN.
        }
        if self.config.host.personality().weighs_segments && self.negotiated.timestamps && segment.length > 0 {
            self.rx.on_echo(u64::from(segment.length), segment.echo, elapsed(now, segment.echo));
        }
        if self.negotiated.ecn && segment.length > 0 {
            self.ecn_echo.on_data(segment.ecn == Ecn::Ce, segment.flags, self.rx.waiting());
        }
        let waits = self.state == State::TimeWait;
        let arrived = self.arrived(segment);
        let arrival = self.rx.on_data(now, start, segment.span(), fin, &arrived);
        if waits && self.config.host.personality().forgets_in_time_wait {
            self.rx.forget_duplicate();
        }
        self.tx.stats.duplicates_received += u64::from(arrival == Arrival::Duplicate);
        if self.rx.fin_reached() {
            match self.state {
                State::Established => self.state = State::CloseWait,
                State::FinWait1 => {
                    self.rx.acknowledge_now();
                    self.state = State::Closing;
                    self.immediate_ack_due |= self.config.host.personality().acknowledges_apart;
                }
                // FIN was retransmitted because its acknowledgement was lost.
                State::FinWait2 | State::TimeWait => {
                    self.rx.acknowledge_now();
                    self.enter_time_wait(now);
                }
                _ => {}
            }
        }
    }

    /// Segment information for Linux's receive algorithms.
    #[inline]
    fn arrived(&self, segment: &Segment) -> Arrived {
        if !self.config.host.personality().weighs_segments {
            return Arrived::default();
        }
        let (rto, srtt) = (self.tx.rtt.rto(), self.tx.rtt.srtt());
        let options = if segment.has_timestamps { u64::from(TIMESTAMPS_BYTES) } else { 0 };
        Arrived { length: u64::from(segment.length), options, push: segment.flags.has(Flags::PSH), rto, srtt }
    }

    fn enter_time_wait(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.time_wait = now + TIME_WAIT;
    }

    /// Advances the state once the application has closed.
    pub(super) fn advance_close(&mut self) {
        if self.tx.octets.fin {
            self.state = match self.state {
                State::Established => State::FinWait1,
                State::CloseWait => State::LastAck,
                state => state,
            };
        }
    }
}

/// SACK blocks that fit beside timestamps and `others`, after four bytes of header and padding (RFC 2018 section 3).
fn max_blocks(timestamps: bool, others: u16) -> u8 {
    let taken = if timestamps { TIMESTAMPS_BYTES } else { 0 } + u32::from(others) + 4;
    (OPTIONS_BYTES.saturating_sub(taken) / 8) as u8
}

/// RFC 3168 section 6.1.1: an ECN-setup SYN has both flags set, an ECN-setup SYN-ACK only ECE.
fn understands_ecn(flags: Flags) -> bool {
    flags.has(Flags::ECE) && flags.has(Flags::CWR) != flags.has(Flags::ACK)
}
