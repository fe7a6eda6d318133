//! One end of a TCP connection: RFC 9293's state machine around a [`Sender`] and a [`Receiver`].

use super::config::Config;
use super::receiver::{Arrival, Receiver};
use super::segment::{Extra, Flags, Segment, SynOptions, TIMESTAMPS_BYTES, stamp};
use super::sender::{Acknowledgement, Chunk, Sender};
use super::stats::Stats;
use crate::{RttEstimator, Stream};
use std::ops::Range;
use std::sync::Arc;
use vazao_congestion::CongestionControl;
use vazao_engine::{Duration, Time};

/// The states of RFC 9293 section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// How a connection ended, if not by both sides closing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer reset it.
    Reset,
    /// Nothing was acknowledged however often it was sent again.
    TimedOut,
}

/// Twice RFC 9293's maximum segment lifetime of two minutes, as implementations shorten it: one minute in all.
const TIME_WAIT: Duration = Duration::from_secs(60);

/// What both sides agreed on in their SYNs.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    timestamps: bool,
    sack: bool,
    /// Shift of the windows we send and of those we receive.
    own_scale: u8,
    peer_scale: u8,
}

/// One end of a TCP connection.
pub struct Connection {
    state: State,
    config: Arc<Config>,
    iss: u32,
    irs: u32,
    agreed: Agreed,
    tx: Sender,
    rx: Receiver,
    /// RFC 7323's TS.Recent.
    recent_timestamp: u32,
    /// Opened by the peer: a reset before it is established lets it wait for another peer.
    passive: bool,
    syn_due: bool,
    syn_sent: Option<Time>,
    /// SYN was sent more than once: its round-trip time is ambiguous.
    syn_resent: bool,
    /// Sequence number of a reset to send, and what it acknowledges.
    reset_due: Option<(u32, Option<u32>)>,
    time_wait: Time,
    failure: Option<Failure>,
}

impl Connection {
    fn new(config: Arc<Config>, iss: u32, state: State) -> Self {
        let mss = u64::from(config.mss);
        let rtt = RttEstimator::new(config.initial_rto, config.min_rto, config.max_rto);
        Connection {
            state,
            iss,
            irs: 0,
            agreed: Agreed::default(),
            tx: Sender::new(&config, mss, config.sack, rtt),
            rx: Receiver::new(&config, mss, 0),
            recent_timestamp: 0,
            passive: state == State::Listen,
            syn_due: state == State::SynSent,
            syn_sent: None,
            syn_resent: false,
            reset_due: None,
            time_wait: Time::NEVER,
            failure: None,
            config,
        }
    }

    /// A connection that is being opened; `iss` is its initial sequence number.
    pub fn connect(config: Arc<Config>, iss: u32) -> Self {
        Connection::new(config, iss, State::SynSent)
    }

    /// A connection that waits for its peer's SYN.
    pub fn listen(config: Arc<Config>, iss: u32) -> Self {
        Connection::new(config, iss, State::Listen)
    }

    // ---- what the outside can see -------------------------------------------------------------------------------

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }
    /// How it failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// Whether all is done: both sides closed and everything acknowledged, or the connection failed.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }
    /// What it counted.
    pub fn stats(&self) -> &Stats {
        &self.tx.stats
    }
    /// Its congestion control.
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.tx.control
    }
    /// Its round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.tx.rtt
    }
    /// Bytes sent and not cumulatively acknowledged.
    pub fn flight(&self) -> u64 {
        self.tx.flight()
    }
    /// Bytes of the stream sent at least once.
    pub fn sent_bytes(&self) -> u64 {
        (self.tx.nxt - 1).min(self.tx.end - 1)
    }
    /// Bytes of the stream acknowledged.
    pub fn acknowledged_bytes(&self) -> u64 {
        (self.tx.una - 1).min(self.tx.end - 1)
    }
    /// Whether a fast recovery is under way.
    pub fn in_recovery(&self) -> bool {
        self.tx.in_recovery()
    }

    /// Gives the connection up and tells the peer, unless there is none or it has closed too (RFC 9293 section 3.10.5).
    pub fn abort(&mut self) {
        use State::{CloseWait, Established, FinWait1, FinWait2, SynReceived};
        if matches!(self.state, SynReceived | Established | FinWait1 | FinWait2 | CloseWait) {
            self.reset_due = Some((self.wire_sequence(self.tx.nxt), Some(self.wire_acknowledgment())));
        }
        self.enter_closed();
    }

    // ---- time ---------------------------------------------------------------------------------------------------

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.tx.timer.min(self.rx.timer()).min(self.time_wait)
    }

    /// Handles every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.time_wait <= now {
            self.enter_closed();
        }
        if self.tx.timer > now {
            return; // A delayed acknowledgement: `poll_transmit` sees that it is due.
        }
        let syn = matches!(self.state, State::SynSent | State::SynReceived);
        let go_on = if syn { self.on_syn_timeout(now) } else { self.tx.on_timeout(now) };
        if !go_on {
            self.failure = Some(Failure::TimedOut);
            self.abort();
        }
    }

    fn on_syn_timeout(&mut self, now: Time) -> bool {
        self.tx.stats.timeouts += 1;
        self.tx.rtt.back_off();
        self.tx.timer = now + self.tx.rtt.rto();
        self.syn_due = true;
        self.syn_resent = true;
        self.tx.stats.timeouts <= u64::from(self.config.retries.min(6))
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.tx.timer = Time::NEVER;
        self.time_wait = Time::NEVER;
        self.syn_due = false;
        self.rx.fall_silent();
    }

    // ---- sequence numbers: octets count from the SYN (0) in 64 bits; the wire carries 32 ---------------------------

    #[inline]
    fn wire_sequence(&self, octet: u64) -> u32 {
        self.iss.wrapping_add(octet as u32)
    }
    #[inline]
    fn wire_acknowledgment(&self) -> u32 {
        self.irs.wrapping_add(self.rx.nxt as u32)
    }
    /// The octet nearest to `near` that has this sequence number, counted from `initial`.
    #[inline]
    fn octet(initial: u32, sequence: u32, near: u64) -> Option<u64> {
        let distance = sequence.wrapping_sub(initial).wrapping_sub(near as u32) as i32;
        near.checked_add_signed(i64::from(distance))
    }

    // ---- segments in --------------------------------------------------------------------------------------------

    /// Handles an arriving segment; `extra` is its rare options, if `segment.flags` has [`Flags::EXTRA`].
    #[inline]
    pub fn handle(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        match self.state {
            State::Closed => self.handle_closed(segment),
            State::Listen => self.handle_listen(now, segment, extra),
            State::SynSent => self.handle_syn_sent(now, segment, extra),
            _ => self.handle_synchronised(now, segment, extra),
        }
    }

    /// RFC 9293 section 3.10.7.1: whatever arrives for no connection is answered by a reset.
    fn handle_closed(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        self.reset_due = Some(if segment.flags.has(Flags::ACK) {
            (segment.acknowledgment, None)
        } else {
            (0, Some(segment.sequence.wrapping_add(segment.span() as u32)))
        });
    }

    /// Section 3.10.7.2.
    fn handle_listen(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        if segment.flags.has(Flags::ACK) {
            self.reset_due = Some((segment.acknowledgment, None));
        } else if segment.flags.has(Flags::SYN) {
            self.agree(segment, extra);
            self.state = State::SynReceived;
            self.syn_due = true;
            (self.syn_sent, self.syn_resent) = (None, false);
            self.tx.timer = now + self.tx.rtt.rto();
        }
    }

    /// Section 3.10.7.3.
    fn handle_syn_sent(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        let acknowledges = segment.flags.has(Flags::ACK);
        if acknowledges && segment.acknowledgment != self.wire_sequence(1) {
            if !segment.flags.has(Flags::RST) {
                self.reset_due = Some((segment.acknowledgment, None));
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
        self.agree(segment, extra);
        if acknowledges {
            // The window of a SYN is never scaled (RFC 7323 section 2.2).
            self.establish(now, u64::from(segment.window));
            self.rx.acknowledge_now();
        } else {
            // Simultaneous open.
            self.state = State::SynReceived;
            self.syn_due = true;
        }
    }

    /// Takes over what the peer's SYN offers.
    fn agree(&mut self, segment: &Segment, extra: Option<&Extra>) {
        self.irs = segment.sequence;
        let offered = extra.and_then(|e| e.syn);
        let config = &self.config;
        let timestamps = config.timestamps && segment.flags.has(Flags::TIMESTAMPS);
        let sack = config.sack && offered.is_some_and(|o| o.sack_permitted);
        if timestamps {
            self.recent_timestamp = segment.timestamp;
        }
        self.agreed = Agreed { timestamps, sack, own_scale: 0, peer_scale: 0 };
        if let Some(scale) = offered.and_then(|o| o.window_scale) {
            self.agreed.own_scale = own_scale(config);
            self.agreed.peer_scale = scale.min(14);
        }
        // RFC 6691: the MSS option counts no options; ours does not either. 536 is the default without one (RFC 9293).
        let options = if timestamps { TIMESTAMPS_BYTES as u16 } else { 0 };
        let peer = offered.map_or(536, |o| o.mss).saturating_sub(options);
        let mss = u64::from(config.mss.min(peer.max(64)));
        let written = (self.tx.end, self.tx.fin);
        let stats = std::mem::take(&mut self.tx.stats);
        let timer = self.tx.timer;
        self.tx = Sender::new(config, mss, sack, self.tx.rtt);
        (self.tx.end, self.tx.fin) = written;
        self.tx.stats = stats;
        self.tx.timer = timer;
        self.rx = Receiver::new(config, mss, self.agreed.own_scale);
    }

    /// Our SYN was acknowledged, with the peer's first `window`.
    fn establish(&mut self, now: Time, window: u64) {
        self.state = State::Established;
        self.tx.update_window(1, window);
        self.tx.timer = Time::NEVER;
        self.syn_due = false;
        self.tx.stats.established = Some(now);
        if let Some(sent) = self.syn_sent {
            self.rx.set_rtt(now.since(sent), now);
            if !self.syn_resent {
                self.tx.rtt.sample(now.since(sent));
            }
        }
        if self.tx.stats.timeouts > 0 {
            self.tx.after_lost_syn(now);
        }
        self.advance_close();
    }

    /// Section 3.10.7.4: every state from SYN-RECEIVED on.
    #[inline]
    fn handle_synchronised(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) {
        let Some(start) = Self::octet(self.irs, segment.sequence, self.rx.nxt) else { return };
        if !self.is_acceptable(segment, start) {
            return;
        }
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        if self.state == State::SynReceived {
            if segment.acknowledgment != self.wire_sequence(1) {
                self.reset_due = Some((segment.acknowledgment, None));
                return;
            }
            if segment.flags.has(Flags::SYN) {
                // Simultaneous open: the peer's SYN is known, but not that it has ours. Its window is not scaled.
                self.establish(now, u64::from(segment.window));
                return;
            }
            self.establish(now, u64::from(segment.window) << self.agreed.peer_scale);
        }
        if self.handle_ack(now, segment, extra) && (segment.length > 0 || segment.flags.has(Flags::FIN)) {
            self.handle_data(now, segment, start);
        }
    }

    /// The first four checks of section 3.10.7.4, with RFC 5961's and RFC 7323's additions.
    #[inline]
    fn is_acceptable(&mut self, segment: &Segment, start: u64) -> bool {
        let stamped = self.agreed.timestamps && segment.flags.has(Flags::TIMESTAMPS);
        if stamped && !segment.flags.has(Flags::RST) {
            // PAWS (RFC 7323 section 5.3).
            let age = segment.timestamp.wrapping_sub(self.recent_timestamp) as i32;
            if age < 0 {
                self.rx.acknowledge_now();
                return false;
            }
        }
        if segment.flags.has(Flags::RST) {
            if start == self.rx.nxt {
                self.on_reset();
            } else if self.rx.accepts(start, 0) {
                self.rx.acknowledge_now(); // A challenge ACK (RFC 5961 section 3).
            }
            return false;
        }
        if segment.flags.has(Flags::SYN) {
            // A lost SYN-ACK's SYN again, or the answer of a peer that opens too; or RFC 5961 section 4's challenge.
            let again = self.state == State::SynReceived && start == 0;
            let answer = segment.flags.has(Flags::ACK);
            self.syn_due |= again && !answer;
            self.syn_resent |= again && !answer;
            if !again || answer {
                self.rx.acknowledge_now();
            }
            return again && answer;
        }
        if !self.rx.accepts(start, segment.span()) {
            // Old or beyond the window: its octets will not be taken, but duplicates are reported and probes answered.
            self.rx.acknowledge_now();
        } else if stamped && start <= self.rx.acknowledged {
            // TS.Recent (RFC 7323 section 4.3): of what one ACK answers, the first segment's.
            self.recent_timestamp = segment.timestamp;
        }
        true
    }

    /// A reset that is to be believed (RFC 9293 section 3.10.7.4). A passive open that is not established waits on; where
    /// both sides have closed and all data is acknowledged, nothing has failed.
    fn on_reset(&mut self) {
        let before = self.state;
        self.enter_closed();
        match before {
            State::SynReceived if self.passive => self.state = State::Listen,
            State::Closing | State::LastAck | State::TimeWait if self.tx.una >= self.tx.end => {}
            _ => self.failure = Some(Failure::Reset),
        }
    }

    /// Whether the acknowledgement is one for what was sent, so that the rest of the segment counts too.
    #[inline]
    fn handle_ack(&mut self, now: Time, segment: &Segment, extra: Option<&Extra>) -> bool {
        let Some(offset) = Self::octet(self.iss, segment.acknowledgment, self.tx.una) else { return false };
        if offset > self.tx.nxt {
            self.rx.acknowledge_now();
            return false;
        }
        if offset < self.tx.una {
            return true;
        }
        let sacked = match extra {
            Some(extra) if self.tx.selective => self.handle_sack(extra, offset),
            _ => 0,
        };
        let echoes = self.agreed.timestamps && segment.flags.has(Flags::TIMESTAMPS) && segment.echo != 0;
        let ack = Acknowledgement {
            offset,
            window: u64::from(segment.window) << self.agreed.peer_scale,
            sacked,
            bare: segment.length == 0 && !segment.flags.has(Flags::FIN),
            echo_rtt: echoes
                .then(|| Duration::from_millis(u64::from(timestamp(now).wrapping_sub(segment.echo)).max(1))),
        };
        self.tx.on_ack(now, &ack);
        if self.tx.is_finished() {
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

    /// Puts SACK blocks on the scoreboard; a first block below the acknowledgement or inside the second one is a D-SACK
    /// (RFC 2883 section 4).
    fn handle_sack(&mut self, extra: &Extra, offset: u64) -> u64 {
        let mut sacked = 0;
        let near = self.tx.una;
        let octets = |&(left, right): &(u32, u32)| {
            Some((Self::octet(self.iss, left, near)?, Self::octet(self.iss, right, near)?))
        };
        let blocks = extra.sack.as_slice();
        let second = blocks.get(1).and_then(octets);
        for (i, block) in blocks.iter().enumerate() {
            let Some((start, end)) = octets(block) else { continue };
            if i == 0 && (end <= offset || second.is_some_and(|(s, e)| s <= start && end <= e)) {
                self.tx.stats.duplicate_reports += 1;
                continue;
            }
            if start < end && end <= self.tx.nxt {
                sacked += self.tx.board.sack(start.max(offset), end);
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
            return; // There is nothing beyond FIN.
        }
        let arrival = self.rx.on_data(now, start, segment.span(), fin);
        self.tx.stats.duplicates_received += u64::from(arrival == Arrival::Duplicate);
        if self.rx.fin_reached() {
            match self.state {
                State::Established => self.state = State::CloseWait,
                State::FinWait1 => self.state = State::Closing,
                // Also FIN again: its acknowledgement was lost.
                State::FinWait2 | State::TimeWait => self.enter_time_wait(now),
                _ => {}
            }
        }
    }

    fn enter_time_wait(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.time_wait = now + TIME_WAIT;
    }

    /// Once the application has closed, the state says that FIN is on its way.
    fn advance_close(&mut self) {
        if self.tx.fin {
            self.state = match self.state {
                State::Established => State::FinWait1,
                State::CloseWait => State::LastAck,
                state => state,
            };
        }
    }

    // ---- segments out -------------------------------------------------------------------------------------------

    /// The next segment to send, if there is one; call again until there is none. Its rare options are put into `extra`
    /// when its flags have [`Flags::EXTRA`].
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, extra: &mut Extra) -> Option<Segment> {
        match self.state {
            State::Established
            | State::CloseWait
            | State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck => {
                if let Some(chunk) = self.tx.next(now) {
                    return Some(self.data_segment(now, chunk, extra));
                }
                if self.tx.probe {
                    return Some(self.probe_segment(now, extra));
                }
            }
            _ => {
                if self.reset_due.is_some() || self.syn_due {
                    return self.control_segment(now, extra);
                }
            }
        }
        if self.rx.is_ack_due(now) && !matches!(self.state, State::Closed | State::Listen | State::SynSent) {
            return Some(self.segment(now, self.tx.nxt, Flags::ACK, extra));
        }
        None
    }

    /// RST, SYN or SYN-ACK.
    fn control_segment(&mut self, now: Time, extra: &mut Extra) -> Option<Segment> {
        self.tx.stats.segments += 1;
        if let Some((sequence, acknowledgment)) = self.reset_due.take() {
            let flags = if acknowledgment.is_some() { Flags::RST.with(Flags::ACK) } else { Flags::RST };
            let acknowledgment = acknowledgment.unwrap_or(0);
            return Some(Segment { sequence, acknowledgment, flags, ..Segment::default() });
        }
        self.syn_due = false;
        self.syn_sent.get_or_insert(now);
        if self.tx.timer == Time::NEVER {
            self.tx.timer = now + self.tx.rtt.rto();
        }
        let answer = self.state == State::SynReceived;
        let mut flags = Flags::SYN.with(Flags::EXTRA);
        if answer {
            flags = flags.with(Flags::ACK);
        }
        // What the peer did not offer is not offered back.
        let timestamps = if answer { self.agreed.timestamps } else { self.config.timestamps };
        if timestamps {
            flags = flags.with(Flags::TIMESTAMPS);
        }
        let scaled = !answer || self.agreed.own_scale > 0 || self.agreed.peer_scale > 0;
        *extra = Extra::default();
        extra.syn = Some(SynOptions {
            mss: self.config.mss + if timestamps { TIMESTAMPS_BYTES as u16 } else { 0 },
            window_scale: scaled.then(|| own_scale(&self.config)),
            sack_permitted: if answer { self.agreed.sack } else { self.config.sack },
        });
        Some(Segment {
            sequence: self.iss,
            acknowledgment: if answer { self.wire_acknowledgment() } else { 0 },
            timestamp: if timestamps { timestamp(now) } else { 0 },
            echo: if timestamps && answer { self.recent_timestamp } else { 0 },
            window: self.rx.on_ack_sent().min(65_535) as u16,
            flags,
            ..Segment::default()
        })
    }

    #[inline]
    fn data_segment(&mut self, now: Time, chunk: Chunk, extra: &mut Extra) -> Segment {
        let length = chunk.span - u32::from(chunk.fin);
        let mut flags = Flags::ACK;
        if chunk.fin {
            flags = flags.with(Flags::FIN);
        }
        if chunk.start + u64::from(chunk.span) >= self.tx.end {
            flags = flags.with(Flags::PSH);
        }
        let mut segment = self.segment(now, chunk.start, flags, extra);
        segment.length = length as u16;
        segment.stamp = stamp(chunk.start - 1);
        self.tx.stats.bytes += u64::from(length);
        segment
    }

    /// A zero-window probe: an octet the peer has already, which it must answer with its window.
    fn probe_segment(&mut self, now: Time, extra: &mut Extra) -> Segment {
        self.tx.probe = false;
        self.tx.stats.probes += 1;
        self.segment(now, self.tx.una - 1, Flags::ACK, extra)
    }

    /// A segment with the acknowledgement that goes with every one.
    #[inline]
    fn segment(&mut self, now: Time, octet: u64, mut flags: Flags, extra: &mut Extra) -> Segment {
        self.tx.stats.segments += 1;
        let acknowledgment = self.wire_acknowledgment();
        let window = self.rx.on_ack_sent() >> self.agreed.own_scale;
        let (mut stamp_value, mut echo) = (0, 0);
        if self.agreed.timestamps {
            flags = flags.with(Flags::TIMESTAMPS);
            stamp_value = timestamp(now);
            echo = self.recent_timestamp;
        }
        if self.agreed.sack && self.rx.has_blocks() {
            flags = flags.with(Flags::EXTRA);
            let irs = self.irs;
            extra.syn = None;
            extra.sack =
                self.rx.blocks(if self.agreed.timestamps { 3 } else { 4 }, |octet| irs.wrapping_add(octet as u32));
        }
        Segment {
            sequence: self.wire_sequence(octet),
            acknowledgment,
            timestamp: stamp_value,
            echo,
            window: window.min(65_535) as u16,
            flags,
            ..Segment::default()
        }
    }
}

/// RFC 7323's timestamp clock: milliseconds, and never zero.
#[inline]
fn timestamp(now: Time) -> u32 {
    ((now.as_nanos() / 1_000_000) as u32).wrapping_add(1)
}

/// The least window scale that can express the largest receive buffer.
fn own_scale(config: &Config) -> u8 {
    let largest = Receiver::largest_buffer(config);
    (0..14).find(|&scale| largest >> scale <= 65_535).unwrap_or(14)
}

impl Stream for Connection {
    fn write(&mut self, bytes: u64) -> u64 {
        if self.tx.fin {
            return 0;
        }
        let room = match self.config.send_buffer {
            Some(limit) => limit.saturating_sub(self.tx.end - self.tx.una),
            None => u64::MAX,
        };
        let taken = bytes.min(room);
        self.tx.end += taken;
        taken
    }

    fn discard_unsent(&mut self) -> u64 {
        if !self.tx.fin {
            self.tx.end = self.tx.nxt;
        }
        self.tx.end - 1
    }

    fn read(&mut self) -> Option<Range<u64>> {
        self.rx.take(u64::MAX)
    }

    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        self.rx.take(limit)
    }

    fn close(&mut self) {
        if self.tx.fin {
            return;
        }
        match self.state {
            State::Listen | State::SynSent | State::Closed => self.enter_closed(),
            _ => {
                self.tx.fin = true;
                self.advance_close();
            }
        }
    }

    fn is_connected(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    fn peer_closed(&self) -> bool {
        self.rx.is_drained()
    }
}
