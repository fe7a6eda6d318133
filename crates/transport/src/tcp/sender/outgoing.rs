//! Transmission of data: what is sent and when.

use super::{Chunk, Purpose, Sender};
use crate::tcp::config::SackProfile;
use crate::tcp::recovery::{DUP_THRESHOLD, Episode, Recovery};
use crate::tcp::sent::{Sent, Status};
use vazao_engine::Time;

impl Sender {
    /// Returns the next chunk that may be sent now, for the caller to send; it is already on the scoreboard.
    #[inline(always)]
    pub fn next(&mut self, now: Time) -> Option<Chunk> {
        // The normal case of a connection that only receives.
        if self.finish() == 1 {
            return None;
        }
        if self.continues() { self.next_full(now) } else { self.next_chunk(now) }
    }

    #[inline(never)]
    fn next_chunk(&mut self, now: Time) -> Option<Chunk> {
        if self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.probe.due) {
            return self.next_probe(now);
        }
        if self.paced.is_some() && self.is_pacing_blocked(now) {
            return None;
        }
        if self.board.outstanding() == 0 && self.nxt == self.finish() {
            self.window_limited = false;
            self.chronograph.rwnd_limited.end(now);
            self.chronograph.sndbuf_limited.end(now);
            self.chronograph.busy.end(now);
            return None;
        }
        self.chronograph.busy.begin(now);
        let allowed = self.allowance();
        if self.board.has_pending() && !self.is_resting(now) {
            return self.next_lost(now, allowed);
        }
        if self.defers(now, allowed) {
            return None;
        }
        if self.rules.nagle && self.keeps_back() {
            self.window_limited = false;
            return None;
        }
        if let Some(chunk) = self.next_new(now, allowed) {
            return Some(chunk);
        }
        if self.recovery == Recovery::Sack && self.episode.is_fast() {
            self.next_possibly_lost(now, allowed)
        } else {
            None
        }
    }

    /// Whether a segment of new data would leave at once.
    #[inline]
    pub fn has_room(&self, now: Time) -> bool {
        self.fits() && !self.board.has_pending() && self.paced.as_ref().is_none_or(|paced| paced.pacer.is_open(now))
    }

    /// Octets counted as in the network.
    #[inline]
    pub(in crate::tcp) fn pipe(&self) -> u64 {
        let octets = if let Episode::Pipe { pipe, .. } = self.episode { pipe.max(0) as u64 } else { self.board.pipe() };
        octets + self.pipe_padding()
    }

    fn fits(&self) -> bool {
        let pipe = self.pipe();
        pipe == 0 || pipe + self.mss <= self.allowance()
    }

    /// Records that nothing is left to send.
    #[inline]
    fn note_emptiness(&mut self, now: Time) {
        self.window_limited = false;
        self.chronograph.rwnd_limited.end(now);
        if self.lacks_buffer() {
            self.chronograph.sndbuf_limited.begin(now);
        }
    }

    /// Whether only the send buffer keeps more from being sent: it is full of what is in flight, and the congestion window
    /// is not (tcp_cwnd_validate in Linux).
    fn lacks_buffer(&self) -> bool {
        let full = self.bursts.as_ref().map_or(self.chronograph.blocked, |bursts| bursts.buffer.is_blocking());
        full && self.fits() && !(self.host.counts_use_of_window && self.uses_window())
    }

    /// Records that data is waiting for room: the sender is window-limited, or the pacer will wake it.
    pub fn wait_for_room(&mut self, now: Time) {
        self.window_limited = !self.fits();
        if let Some(paced) = self.paced.as_ref().filter(|paced| !paced.pacer.is_open(now)) {
            self.release = paced.pacer.release();
        }
    }

    /// Maximum octets in flight.
    #[inline]
    pub(in crate::tcp) fn allowance(&self) -> u64 {
        let mut allowed = self.cwnd.saturating_add_signed(self.episode.inflation());
        // RFC 3042: each of the first two duplicate ACKs releases a new segment. With SACK, pipe accounts for that.
        if self.rules.limited_transmit && !self.selective && self.episode == Episode::None {
            allowed += u64::from(self.duplicates.min(DUP_THRESHOLD - 1)) * self.mss;
        }
        allowed
    }

    #[cold]
    fn next_lost(&mut self, now: Time, allowed: u64) -> Option<Chunk> {
        if let Some(end) = self.undo.tests_up_to() {
            if self.nxt < end {
                return self.next_new(now, allowed);
            }
            self.chronograph.rwnd_limited.end(now);
            return None;
        }
        let (number, sent) = self.board.next_lost()?;
        if !self.may_resend(number, &sent) {
            self.window_limited = false;
            self.chronograph.rwnd_limited.begin(now);
            return None;
        }
        let pipe = self.pipe();
        if !self.force && pipe > 0 && pipe + u64::from(sent.span) > allowed {
            self.window_limited = true;
            self.chronograph.rwnd_limited.end(now);
            return None;
        }
        Some(self.resend(number, sent, now))
    }

    /// Whether the receiver's window allows a retransmission. The first segment always leaves, as a probe if the window
    /// is closed. Others beyond the edge leave once (RFC 7323 section 2.4), in Linux never (tcp_retransmit_skb).
    pub(in crate::tcp) fn may_resend(&self, number: u64, sent: &Sent) -> bool {
        sent.start < self.edge
            || number == self.board.first_number()
            || !self.host.keeps_to_window_edge && !sent.state.has(Status::AMBIGUOUS)
    }

    pub(in crate::tcp) fn resend(&mut self, number: u64, sent: Sent, now: Time) -> Chunk {
        if self.board.measures_rates() {
            self.before_send(now);
        }
        if self.bursts.is_some() {
            self.begin_retransmit_burst(now, number, sent.start);
        }
        self.force = false;
        self.stats.retransmissions += 1;
        if sent.state.has(Status::TIMED_OUT) {
            self.stats.timeout_retransmissions += 1;
        } else {
            self.stats.fast_retransmissions += 1;
        }
        self.board.resend(number, now);
        self.undo.on_resent(sent.start, now);
        self.note_sent(now);
        match &mut self.rack_tlp {
            Some(rack_tlp) => rack_tlp.rack.on_resent(number, now),
            None => self.vegas_checks = 2,
        }
        self.reduction.on_sent(sent.span);
        self.episode.count(i64::from(sent.span));
        if self.paced.is_some() {
            self.pace(now, sent.span);
        }
        let overdue =
            self.rack_tlp.is_some() && self.purpose != Purpose::Reordering && number == self.board.first_number();
        if self.timer == Time::NEVER || overdue {
            // The retransmission of the first segment gets a full RTO, and the tail is not probed in recovery (RFC 8985
            // section 7.2; tcp_xmit_retransmit_queue in Linux).
            self.restart_timer(now);
        }
        Chunk { start: sent.start, span: sent.span, fin: sent.start + u64::from(sent.span) > self.end, new: false }
    }

    /// Returns new data: a full segment, or the rest of what was written.
    #[inline]
    pub(in crate::tcp) fn next_new(&mut self, now: Time, allowed: u64) -> Option<Chunk> {
        let data = self.next_segment(now);
        let fin = self.fin && self.nxt + data == self.end;
        if data == 0 && !fin {
            self.note_emptiness(now);
            return None;
        }
        self.chronograph.sndbuf_limited.end(now);
        let mut span = data + u64::from(fin);
        let pipe = self.pipe();
        if self.idle_since < Time::NEVER {
            self.after_pause(now);
        }
        let counted = if self.rules.counts_segments && data > 0 { data.max(self.mss) } else { data };
        if pipe + counted > allowed && pipe > 0 {
            self.window_limited = true;
            self.chronograph.rwnd_limited.end(now);
            return None;
        }
        let room = self.edge.saturating_sub(self.nxt);
        if data > room {
            self.window_limited = false;
            // Silly-window avoidance (RFC 9293 section 3.8.6.2.1): at least half the largest window, unless a probe is
            // due.
            if room == 0 || (room < self.mss.min(self.largest_window / 2) && !self.probe) {
                self.chronograph.rwnd_limited.begin(now);
                self.persist(now);
                return None;
            }
            span = room;
        }
        let start = self.nxt;
        if self.persisting {
            self.resume();
        }
        if self.board.measures_rates() {
            self.before_send(now);
        }
        self.board.push(start, span as u32, now);
        self.note_sent(now);
        self.nxt += span;
        if span < self.mss {
            self.note_short(span);
        }
        if self.paced.is_some() {
            self.pace(now, span as u32);
        }
        if self.timer == Time::NEVER {
            self.restart_timer(now);
        }
        self.reduction.on_sent(span as u32);
        self.episode.count(span as i64);
        if self.rack_tlp.is_some() {
            self.arm_probe(now);
        }
        Some(Chunk { start, span: span as u32, fin: fin && self.nxt == self.finish(), new: self.is_new() })
    }

    /// Whether the octets just sent had not left with the SYN.
    #[inline]
    fn is_new(&mut self) -> bool {
        let new = self.nxt > self.early;
        self.stats.retransmissions += u64::from(!new);
        self.stats.fast_retransmissions += u64::from(!new);
        new
    }

    /// RFC 6675 section 4, NextSeg rules 3 and 4: with nothing known lost and no new data, retransmits what may be
    /// lost, and once per episode the very last segment.
    #[cold]
    fn next_possibly_lost(&mut self, now: Time, allowed: u64) -> Option<Chunk> {
        if self.board.pipe() + self.mss > allowed {
            return None;
        }
        if let Some((number, sent)) = self.board.next_possibly_lost(self.rules.sack_profile == SackProfile::Ns3) {
            return Some(self.resend(number, sent, now));
        }
        if self.rules.sack_profile == SackProfile::Ns3
            || self.rescued
            || self.edge > self.nxt && self.nxt < self.finish()
        {
            return None;
        }
        self.rescued = true;
        let (number, sent) = self.board.last_unsacked().filter(|(_, sent)| !sent.state.has(Status::RESENT))?;
        Some(self.resend(number, sent, now))
    }
}
