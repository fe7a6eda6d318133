//! Transmission of resets, SYNs, data, probes and acknowledgements.

use super::*;
use crate::common::stamp;
use crate::tcp::fast_open::CookieOption;
use crate::tcp::segment::{Extra, Flags, OPTIONS_BYTES, Segment, SynOptions};
use crate::tcp::sender::Chunk;
use vazao_engine::Ecn;

impl Connection {
    /// Returns the next segment to send, if there is one; call again until there is none. Rare options are put into
    /// `extra` if the segment [has any](Segment::has_extra).
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time, extra: &mut Extra) -> Option<Segment> {
        match self.state {
            State::Established
            | State::CloseWait
            | State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck => {
                if self.immediate_ack_due || self.ecn_echo.owes_immediate_ack() {
                    return Some(self.immediate_ack(now, extra));
                }
                if let Some(chunk) = self.tx.next(now) {
                    return Some(self.data_segment(now, chunk, extra));
                }
                if self.tx.peer.probe {
                    return Some(self.probe_segment(now, extra));
                }
            }
            _ => {
                if self.reset_due.is_some() || self.syn_due {
                    return self.control_segment(now, extra);
                }
                if self.state == State::SynReceived
                    && self.is_open_early()
                    && let Some(chunk) = self.tx.next(now)
                {
                    return Some(self.data_segment(now, chunk, extra));
                }
            }
        }
        if self.rx.is_ack_due(now) && !matches!(self.state, State::Closed | State::Listen | State::SynSent) {
            return Some(self.pure_ack(now, self.tx.octets.nxt, extra));
        }
        None
    }

    /// Acknowledgement that precedes everything else: of a SYN, or of data received before a change of CE marks.
    #[cold]
    fn immediate_ack(&mut self, now: Time, extra: &mut Extra) -> Segment {
        self.immediate_ack_due = false;
        let immediate_ack = self.ecn_echo.take_immediate_ack();
        let mut segment = self.pure_ack(now, self.tx.octets.nxt, extra);
        if let Some((octet, flags)) = immediate_ack {
            segment.acknowledgment = self.irs.wrapping_add(octet as u32);
            segment.flags = Flags::ACK.with(flags);
            // Data received since must be acknowledged too.
            self.rx.schedule_ack(now);
        }
        segment
    }

    /// Returns an RST, SYN or SYN-ACK.
    fn control_segment(&mut self, now: Time, extra: &mut Extra) -> Option<Segment> {
        self.tx.stats.segments += 1;
        if let Some(reset) = self.reset_due.take() {
            return Some(self.reset_segment(now, reset));
        }
        self.syn_due = false;
        self.syn_sent.get_or_insert(now);
        if !self.tx.timer.is_set() {
            self.tx.timer.set(now, self.tx.rtt.rto());
        }
        let answer = self.state == State::SynReceived;
        let mut flags = if answer { Flags::SYN.with(Flags::ACK) } else { Flags::SYN };
        if answer && self.negotiated.ecn {
            flags = flags.with(Flags::ECE);
        } else if !answer && !self.syn_resent && self.wants_ecn() {
            // A SYN without an answer may have been dropped because of its ECN flags (RFC 3168 section 6.1.1.1).
            flags = flags.with(Flags::ECE.with(Flags::CWR));
        }
        // A SYN-ACK has only the options that the peer offered.
        let timestamps = if answer { self.negotiated.timestamps } else { self.config.timestamps };
        let scaled = !answer || self.negotiated.own_scale > 0 || self.negotiated.peer_scale > 0;
        *extra = Extra::default();
        extra.syn = Some(SynOptions {
            // It does not depend on the options that are used (RFC 6691).
            mss: full_segment(&self.config) as u16,
            window_scale: scaled.then(|| own_scale(&self.config)),
            sack_permitted: if answer { self.negotiated.sack } else { self.config.sack },
            fast_open: None,
        });
        let length = self.add_fast_open(now, answer, extra);
        Some(Segment {
            length,
            stamp: if length > 0 { stamp(0) } else { 0 },
            sequence: self.iss,
            acknowledgment: if answer { self.wire_acknowledgment() } else { 0 },
            timestamp: if timestamps { timestamp(now) } else { 0 },
            echo: if timestamps && answer { self.recent_timestamp } else { 0 },
            window: self.rx.on_syn_sent().min(65_535) as u16,
            flags,
            has_timestamps: timestamps,
            has_extra: true,
            ..Segment::default()
        })
    }

    fn reset_segment(&self, now: Time, reset: Reset) -> Segment {
        let Reset { sequence, acknowledgment, own } = reset;
        let flags = if acknowledgment.is_some() { Flags::RST.with(Flags::ACK) } else { Flags::RST };
        let has_timestamps = own && self.negotiated.timestamps;
        let (timestamp, echo) = if has_timestamps { (timestamp(now), self.recent_timestamp) } else { (0, 0) };
        let acknowledgment = acknowledgment.unwrap_or(0);
        Segment { sequence, acknowledgment, flags, has_timestamps, timestamp, echo, ..Segment::default() }
    }

    /// Adds the Fast Open option and returns the bytes of data in the SYN, which leaves once (RFC 7413 section 4.2.1).
    fn add_fast_open(&mut self, now: Time, answer: bool, extra: &mut Extra) -> u16 {
        let (Some(fast), Some(syn)) = (&mut self.fast_open, &mut extra.syn) else { return 0 };
        if answer {
            syn.fast_open = fast.answer();
            return 0;
        }
        if self.syn_resent {
            return 0;
        }
        let option = fast.ask();
        syn.fast_open = Some(option);
        if option == CookieOption::Request {
            return 0;
        }
        self.tx.stats.ready = Some(now);
        let mss = u64::from(syn.mss.min(fast.peer_mss()));
        // Options take space from the payload. Linux reserves the maximum option space, since middleboxes may add
        // options (tcp_send_syn_data, net/ipv4/tcp_output.c).
        let options = if self.config.host.personality().reserves_syn_options {
            OPTIONS_BYTES
        } else {
            let bare = Segment { has_timestamps: self.config.timestamps, has_extra: true, ..Segment::default() };
            bare.header_bytes(extra) - 20
        };
        let room = mss.saturating_sub(u64::from(options));
        let length = (self.tx.octets.end - 1).min(room) as u16;
        fast.sent = Some(length);
        if length > 0 {
            self.tx.chronograph.busy.begin(now);
        }
        self.tx.stats.bytes += u64::from(length);
        length
    }

    #[inline(always)]
    fn data_segment(&mut self, now: Time, chunk: Chunk, extra: &mut Extra) -> Segment {
        let length = chunk.span - u32::from(chunk.fin);
        let mut flags = Flags::ACK;
        if chunk.fin {
            flags = flags.with(Flags::FIN);
        }
        let end = chunk.start + u64::from(chunk.span);
        // Linux sets PSH on data only, not on a FIN without data.
        if (end >= self.tx.octets.end || self.tx.ends_burst(end))
            && (length > 0 || !self.config.host.personality().keeps_push_from_fin)
        {
            flags = flags.with(Flags::PSH);
        }
        let mut segment = self.segment(now, chunk.start, flags, extra, self.negotiated.blocks[0]);
        if chunk.new && length > 0 && self.negotiated.ecn {
            // Retransmissions must not be ECN-capable (RFC 3168 section 6.1.5).
            segment.ecn = Ecn::Ect0;
            if self.tx.marks.take_cwr() {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
        segment.length = length as u16;
        segment.stamp = stamp(chunk.start - 1);
        self.tx.stats.bytes += u64::from(length);
        if length > 0 {
            self.rx.on_data_sent(now);
        }
        segment
    }

    /// Zero-window probe: an old sequence number, which makes the peer answer with its window.
    #[cold]
    fn probe_segment(&mut self, now: Time, extra: &mut Extra) -> Segment {
        self.tx.peer.probe = false;
        self.tx.stats.probes += 1;
        self.pure_ack(now, self.tx.octets.una - 1, extra)
    }

    /// Segment without data.
    #[inline(always)]
    fn pure_ack(&mut self, now: Time, octet: u64, extra: &mut Extra) -> Segment {
        self.segment(now, octet, Flags::ACK, extra, self.negotiated.blocks[1])
    }

    /// Segment with the current acknowledgement and at most `blocks` SACK blocks. Inlined, so that its fields are written
    /// where the packet is kept: a copy would wait for each of them.
    #[inline(always)]
    fn segment(&mut self, now: Time, octet: u64, flags: Flags, extra: &mut Extra, blocks: u8) -> Segment {
        self.tx.stats.segments += 1;
        let acknowledgment = self.wire_acknowledgment();
        let window = self.rx.on_ack_sent(now) >> self.negotiated.own_scale;
        let (mut stamp_value, mut echo) = (0, 0);
        if self.negotiated.timestamps {
            stamp_value = timestamp(now);
            echo = self.recent_timestamp;
        }
        let has_extra = self.negotiated.sack && blocks > 0 && self.rx.has_blocks();
        if has_extra {
            let irs = self.irs;
            (extra.syn, extra.multipath) = (None, None);
            extra.sack = self.rx.blocks(usize::from(blocks), |octet| irs.wrapping_add(octet as u32));
        }
        Segment {
            sequence: self.wire_sequence(octet),
            acknowledgment,
            timestamp: stamp_value,
            echo,
            window: window.min(65_535) as u16,
            flags: flags.with(self.ecn_echo.flags),
            has_timestamps: self.negotiated.timestamps,
            has_extra,
            ..Segment::default()
        }
    }
}
