//! Transmission of data: the next segment to send, or the reason why there is none.

use super::{Chunk, Sender};
use crate::tcp::burst::Decision;
use crate::tcp::chronograph::Wait;
use crate::tcp::config::SackProfile;
use crate::tcp::octets::Octets;
use crate::tcp::recovery::{Episode, Recovery};
use crate::tcp::sent::{Sent, Status};
use crate::tcp::timer::Purpose;
use vazao_engine::Time;

impl Sender {
    /// Returns the next chunk that may be sent now, for the caller to send; it is already on the scoreboard.
    #[inline(always)]
    pub fn next(&mut self, now: Time) -> Option<Chunk> {
        // The normal case of a connection that only receives.
        if self.octets.finish() == 1 {
            return None;
        }
        if self.continues() { self.next_full(now) } else { self.next_chunk(now) }
    }

    #[inline(never)]
    fn next_chunk(&mut self, now: Time) -> Option<Chunk> {
        if self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.probe.due) {
            return self.next_probe(now);
        }
        if self.waits_for_pacer(now) {
            return None;
        }
        if self.board.outstanding() == 0 && self.octets.nxt == self.octets.finish() {
            self.wait(now, Wait::Finished);
            return None;
        }
        self.chronograph.busy.begin(now);
        let allowed = self.allowance();
        if self.board.has_pending() && !self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.is_resting(now)) {
            return self.next_lost(now, allowed);
        }
        if self.defers(now) {
            return None;
        }
        if self.rules.nagle && self.keeps_back() {
            self.wait(now, Wait::Nagle);
            return None;
        }
        if let Some(chunk) = self.next_new(now, allowed) {
            return Some(chunk);
        }
        if self.repair.algorithm == Recovery::Sack && self.in_recovery() {
            self.next_possibly_lost(now, allowed)
        } else {
            None
        }
    }

    /// Whether the congestion window and the pacer admit a segment of new data.
    #[inline]
    pub fn has_room(&self, now: Time) -> bool {
        self.fits() && !self.board.has_pending() && self.paced.as_ref().is_none_or(|paced| paced.pacer.is_open(now))
    }

    /// Octets counted as in the network.
    #[inline]
    pub(super) fn pipe(&self) -> u64 {
        let octets = match self.repair.episode {
            Episode::Pipe { pipe, .. } => pipe.max(0) as u64,
            _ => self.board.pipe(),
        };
        octets + self.short.pipe_padding(&self.board, self.peer.mss)
    }

    fn fits(&self) -> bool {
        let pipe = self.pipe();
        pipe == 0 || pipe + self.peer.mss <= self.allowance()
    }

    /// Whether only the send buffer limits the sender: it is full of what is in flight, and the congestion window
    /// is not (tcp_cwnd_validate in Linux).
    fn lacks_buffer(&self) -> bool {
        let full = self.bursts.as_ref().map_or(self.chronograph.blocked, |bursts| bursts.buffer.is_blocking());
        full && self.fits() && !self.usage.uses(&self.window)
    }

    /// Whether pacing holds back data that could be sent; if so, sets the time to wake up.
    fn waits_for_pacer(&mut self, now: Time) -> bool {
        let Some(paced) = &self.paced else { return false };
        let held = !paced.pacer.is_open(now);
        let waiting = self.board.has_pending() || self.octets.nxt < self.octets.finish();
        self.timer.release = if held && waiting { paced.pacer.release() } else { Time::NEVER };
        if held {
            self.wait(now, Wait::Pacer);
            if waiting {
                self.chronograph.busy.begin(now);
            }
        }
        held
    }

    /// Records that new data waits for the congestion window or for the pacer.
    pub fn wait_for_room(&mut self, now: Time) {
        self.usage.is_limited = !self.fits();
        if let Some(paced) = self.paced.as_ref().filter(|paced| !paced.pacer.is_open(now)) {
            self.timer.release = paced.pacer.release();
        }
    }

    /// Octets that may be in the network.
    #[inline]
    pub(super) fn allowance(&self) -> u64 {
        let allowed = self.window.cwnd.saturating_add_signed(self.repair.episode.inflation());
        allowed + if self.rules.limited_transmit { self.repair.limited_transmit(self.peer.mss) } else { 0 }
    }

    /// Whether new data is deferred although the windows admit it, to leave in a burst.
    #[inline]
    fn defers(&mut self, now: Time) -> bool {
        let decided = |nxt| self.bursts.as_ref().is_none_or(|bursts| bursts.rest(now, nxt).is_some());
        !decided(self.octets.nxt) && !self.begins_burst(now)
    }

    /// Begins a burst if there is data that need not be deferred. The application writes before that, or afterwards,
    /// when freed buffer space wakes it.
    fn begins_burst(&mut self, now: Time) -> bool {
        let Some(mut bursts) = self.bursts.take() else { return true };
        let mut begins = self.apply(now, bursts.begin(now, &self.view()));
        let has_data = begins && bursts.has_data_for(&self.view());
        if !has_data && bursts.wake_writer(&self.view()) {
            begins = self.apply(now, bursts.begin(now, &self.view()));
        }
        self.bursts = Some(bursts);
        begins
    }

    /// Applies a decision about a burst; returns whether new data may leave.
    fn apply(&mut self, now: Time, decision: Decision) -> bool {
        match decision {
            Decision::Begin => {}
            Decision::Closed => {
                self.usage.is_limited = false;
                self.persist(now);
            }
            Decision::Defer(reason) => self.wait(now, reason),
        }
        !matches!(decision, Decision::Defer(_))
    }

    /// Whether Nagle's algorithm keeps back the rest of what was written: it fills no segment and does not end the stream.
    #[cold]
    fn keeps_back(&self) -> bool {
        let waits = !self.host.waits_for_short || self.short.is_outstanding(self.octets.una);
        let is_short = (1..self.peer.mss).contains(&self.octets.unsent());
        self.board.outstanding() > 0 && waits && !self.octets.fin && is_short
    }

    #[cold]
    fn next_lost(&mut self, now: Time, allowed: u64) -> Option<Chunk> {
        if let Some(end) = self.undo.tests_up_to() {
            if self.octets.nxt < end {
                return self.next_new(now, allowed);
            }
            self.wait(now, Wait::Answer);
            return None;
        }
        let (number, sent) = self.board.next_lost()?;
        if !self.may_resend(number, &sent) {
            self.wait(now, Wait::PeerWindow);
            return None;
        }
        let pipe = self.pipe();
        if !self.repair.force && pipe > 0 && pipe + u64::from(sent.span) > allowed {
            self.wait(now, Wait::CongestionWindow);
            return None;
        }
        Some(self.resend(number, sent, now))
    }

    /// Whether the receiver's window allows a retransmission. The first segment always leaves, as a probe if the window
    /// is closed. Others beyond the edge leave once (RFC 7323 section 2.4), in Linux never (tcp_retransmit_skb).
    pub(super) fn may_resend(&self, number: u64, sent: &Sent) -> bool {
        sent.start < self.peer.edge
            || number == self.board.first_number()
            || !self.host.keeps_to_window_edge && !sent.state.has(Status::AMBIGUOUS)
    }

    /// Retransmits segment `number`.
    pub(super) fn resend(&mut self, number: u64, sent: Sent, now: Time) -> Chunk {
        if self.board.measures_rates() {
            self.before_send(now);
        }
        if let Some(mut bursts) = self.bursts.take() {
            bursts.begin_retransmission(now, number, sent.start, &self.view());
            self.bursts = Some(bursts);
        }
        self.repair.force = false;
        self.stats.retransmissions += 1;
        if sent.state.has(Status::TIMED_OUT) {
            self.stats.timeout_retransmissions += 1;
        } else {
            self.stats.fast_retransmissions += 1;
        }
        self.board.resend(number, now);
        self.undo.on_resent(sent.start, now);
        match &mut self.rack_tlp {
            Some(rack_tlp) => rack_tlp.rack.on_resent(number, now),
            None => self.repair.vegas_checks = 2,
        }
        self.on_sent(now, sent.span);
        let restarts =
            self.rack_tlp.is_some() && self.timer.purpose != Purpose::Reordering && number == self.board.first_number();
        if !self.timer.is_set() || restarts {
            // The retransmission of the first segment gets a full RTO, and the tail is not probed in recovery (RFC 8985
            // section 7.2; tcp_xmit_retransmit_queue in Linux).
            self.restart_timer(now);
        }
        let fin = sent.start + u64::from(sent.span) > self.octets.end;
        Chunk { start: sent.start, span: sent.span, fin, new: false }
    }

    /// Counts `span` octets that leave.
    #[inline]
    fn on_sent(&mut self, now: Time, span: u32) {
        if let Some(bursts) = &mut self.bursts {
            bursts.on_sent(now);
        }
        if let Some(paced) = &mut self.paced {
            paced.on_sent(now, span, self.peer.mss, &self.window, self.board.outstanding(), &self.rtt);
        }
        self.reduction.on_sent(span);
        self.repair.episode.count(i64::from(span));
    }

    /// Returns new data: a full segment, or the rest of what was written.
    #[inline]
    pub(super) fn next_new(&mut self, now: Time, allowed: u64) -> Option<Chunk> {
        let Octets { nxt, end, .. } = self.octets;
        let mss = self.peer.mss;
        let rest = self.bursts.as_ref().and_then(|bursts| bursts.rest(now, nxt)).unwrap_or(u64::MAX);
        let data = self.unsent().min(mss).min(rest);
        let fin = self.octets.fin && nxt + data == end;
        if data == 0 && !fin {
            self.wait(now, Wait::Application { lacks_buffer: self.lacks_buffer() });
            return None;
        }
        self.chronograph.sndbuf_limited.end(now);
        let mut span = data + u64::from(fin);
        let pipe = self.pipe();
        if self.usage.idle_since < Time::NEVER {
            self.usage.after_pause(now, &mut self.window, &self.octets, &self.rtt, mss);
        }
        let counted = if self.rules.counts_segments && data > 0 { data.max(mss) } else { data };
        if pipe + counted > allowed && pipe > 0 {
            self.wait(now, Wait::CongestionWindow);
            return None;
        }
        let room = self.peer.edge.saturating_sub(nxt);
        if data > room {
            // Silly-window avoidance (RFC 9293 section 3.8.6.2.1): at least half the largest window, unless a probe is
            // due.
            if room == 0 || (room < mss.min(self.peer.largest / 2) && !self.peer.probe) {
                self.wait(now, Wait::PeerWindow);
                return None;
            }
            self.usage.is_limited = false;
            span = room;
        }
        if self.peer.persisting {
            self.resume();
        }
        if self.board.measures_rates() {
            self.before_send(now);
        }
        self.board.push(nxt, span as u32, now);
        self.octets.nxt += span;
        if span < mss {
            self.note_short(span);
        }
        if !self.timer.is_set() {
            self.restart_timer(now);
        }
        self.on_sent(now, span as u32);
        if self.rack_tlp.is_some() {
            self.arm_probe(now);
        }
        let fin = fin && self.octets.nxt == self.octets.finish();
        Some(Chunk { start: nxt, span: span as u32, fin, new: self.is_new() })
    }

    /// Records that the last segment sent, of `span` octets, is not full.
    fn note_short(&mut self, span: u64) {
        let number = self.board.first_number() + self.board.count() - 1;
        self.short.push(self.octets.nxt, self.rules.counts_segments.then_some((number, span)));
    }

    /// Returns whether the octets just sent had not left with the SYN, and counts those that had as retransmissions.
    #[inline]
    fn is_new(&mut self) -> bool {
        let new = self.octets.nxt > self.octets.early;
        self.stats.retransmissions += u64::from(!new);
        self.stats.fast_retransmissions += u64::from(!new);
        new
    }

    /// RFC 6675 section 4, NextSeg rules 3 and 4: with nothing known lost and no new data, retransmits what may be
    /// lost, and once per episode the very last segment.
    #[cold]
    fn next_possibly_lost(&mut self, now: Time, allowed: u64) -> Option<Chunk> {
        if self.board.pipe() + self.peer.mss > allowed {
            return None;
        }
        let like_ns3 = self.rules.sack_profile == SackProfile::Ns3;
        if let Some((number, sent)) = self.board.next_possibly_lost(like_ns3) {
            return Some(self.resend(number, sent, now));
        }
        let has_new = self.peer.edge > self.octets.nxt && self.octets.nxt < self.octets.finish();
        if like_ns3 || self.repair.rescued || has_new {
            return None;
        }
        self.repair.rescued = true;
        let (number, sent) = self.board.last_unsacked().filter(|(_, sent)| !sent.state.has(Status::RESENT))?;
        Some(self.resend(number, sent, now))
    }
}
