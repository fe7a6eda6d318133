//! Subflow: a TCP connection and the data mapped to it.

use super::outbox::Piece;
use crate::common::PathState;
use crate::tcp::multipath::{Dss, Signal, Tuple};
use crate::tcp::{self, State};
use std::collections::VecDeque;
use std::ops::Range;
use vazao_engine::{Duration, Time};

/// Stage of a subflow's lifecycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Handshake under way.
    Opening,
    /// Client has sent its HMAC and waits for the fourth ACK (RFC 8684 section 3.2).
    PreEstablished,
    /// Established: data may flow.
    Open,
    /// Closed.
    Gone,
}

/// Mapping of subflow octets to connection-level octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub octet: u64,
    pub data: u64,
    pub length: u32,
}

impl Mapped {
    fn end(&self) -> u64 {
        self.octet + u64::from(self.length)
    }
}

/// Translates subflow octet `octet` to the connection level by the ordered mappings in `all`. New data is of the last one.
#[inline]
fn translate(all: &VecDeque<Mapped>, octet: u64) -> Option<u64> {
    let last = all.back().filter(|last| last.octet <= octet && octet < last.end());
    let search = || all.get(all.partition_point(|mapped| mapped.end() <= octet));
    let mapped = last.or_else(search).filter(|mapped| mapped.octet <= octet)?;
    Some(mapped.data + (octet - mapped.octet))
}

/// Subflow of a connection.
pub struct Subflow {
    pub(crate) tcp: tcp::Connection,
    pub(crate) tuple: Tuple,
    pub(crate) stage: Stage,
    /// Time at which data could first flow.
    pub(crate) opened: Option<Time>,
    /// Whether it joined an existing connection.
    pub(crate) joins: bool,
    pub(crate) backup: bool,
    /// Our nonce and the peer's.
    pub(crate) nonces: [u32; 2],
    /// Mappings of sent octets that the peer's TCP has not acknowledged.
    sent: VecDeque<Mapped>,
    /// Mappings received for octets not read yet.
    arrived: VecDeque<Mapped>,
    /// Assigned data that waits for earlier data to leave.
    pub(crate) queue: VecDeque<Piece>,
    pub(crate) queued: u64,
    /// Options to send with the next segments.
    pub(crate) signals: VecDeque<Signal>,
    /// Whether the next pure ACK carries DATA_FIN.
    pub(crate) fin_due: bool,
    /// Connection-level octet after the last one acknowledged on this subflow.
    pub(crate) delivered: u64,
    /// Timeouts handled, and the subflow octet before which data was reinjected.
    pub(crate) timeouts: u64,
    reinjected: u64,
    /// Connection-level octets below which it has sent everything itself, and has repeated data for others.
    pub(crate) copied: u64,
    pub(crate) repeated: u64,
    pub(crate) penalised: Option<Time>,
    /// Receiver-side round-trip time, from an acknowledgement to the data that echoes its timestamp.
    pub(crate) receiver_rtt: Duration,
    /// Smoothed one-way delay from the peer in nanoseconds, by both clocks.
    return_delay: Option<i64>,
    /// Whether segments reserve space for 64-bit DATA_ACKs.
    reserves_long_acks: bool,
    /// Time of the next retransmission of the third ACK, and number of them so far.
    pub(crate) proof_at: Time,
    proofs: u32,
    /// Timeouts before the connection finished and only the subflow remained.
    pub(crate) timeouts_before_close: u64,
}

impl Subflow {
    pub(crate) fn new(tcp: tcp::Connection, tuple: Tuple, joins: bool, backup: bool, nonce: u32) -> Subflow {
        Subflow {
            tcp,
            tuple,
            stage: Stage::Opening,
            opened: None,
            joins,
            backup,
            nonces: [nonce, 0],
            sent: VecDeque::new(),
            arrived: VecDeque::new(),
            queue: VecDeque::new(),
            queued: 0,
            signals: VecDeque::new(),
            fin_due: false,
            delivered: 0,
            timeouts: 0,
            reinjected: 1,
            copied: 0,
            repeated: 0,
            penalised: None,
            receiver_rtt: Duration::ZERO,
            return_delay: None,
            reserves_long_acks: false,
            proof_at: Time::NEVER,
            proofs: 0,
            timeouts_before_close: 0,
        }
    }

    /// TCP connection of the subflow.
    pub fn tcp(&self) -> &tcp::Connection {
        &self.tcp
    }
    /// Addresses and ports.
    pub fn tuple(&self) -> Tuple {
        self.tuple
    }
    /// Whether data may flow.
    pub fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }
    /// Whether it is closed; it keeps its number.
    pub(crate) fn is_gone(&self) -> bool {
        self.stage == Stage::Gone
    }
    /// Whether it is a backup.
    pub fn is_backup(&self) -> bool {
        self.backup
    }
    /// Whether it is finished: closed, or a join that the peer withdrew.
    pub(crate) fn is_over(&self) -> bool {
        self.tcp.is_over() || self.joins && self.tcp.state() == State::Listen
    }
    /// Whether its TCP connection is established, with or without MPTCP authentication.
    pub(crate) fn is_connected(&self) -> bool {
        !matches!(self.tcp.state(), State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Reserves space for 64-bit DATA_ACKs in segments.
    pub(crate) fn reserve_long_acks(&mut self) {
        if !std::mem::replace(&mut self.reserves_long_acks, true) {
            self.tcp.shorten_segments(u64::from(Dss::LONG_BYTES));
        }
    }

    /// State for schedulers.
    #[inline]
    pub(crate) fn view(&self, now: Time) -> PathState {
        let (tcp, rtt) = (&self.tcp, self.tcp.rtt());
        let usable = self.stage == Stage::Open && !tcp.is_after_timeout();
        let queued = self.queued + tcp.unsent();
        PathState {
            cwnd: tcp.cwnd(),
            ssthresh: tcp.control().ssthresh(),
            flight: tcp.pipe(),
            queued,
            held: tcp.flight() + queued,
            pacing_rate: tcp.pacing_rate(),
            mss: tcp.payload(),
            srtt: rtt.srtt(),
            rttvar: rtt.variation(),
            rtt: rtt.latest(),
            min_rtt: rtt.min(),
            forward: rtt.srtt().as_nanos() as i64 - self.return_delay.unwrap_or(0),
            rto: rtt.rto(),
            acknowledged: tcp.acknowledged_bytes(),
            copied: self.copied,
            retransmissions: tcp.stats().retransmissions,
            segments: tcp.stats().segments,
            usable,
            has_room: usable && queued == 0 && tcp.has_room(now),
            slow_start: tcp.control().in_slow_start(),
            recovering: tcp.in_recovery(),
            backup: self.backup,
        }
    }

    /// Waits for the acknowledgement of the third ACK.
    pub(crate) fn await_proof_ack(&mut self, now: Time) {
        self.stage = Stage::PreEstablished;
        self.proof_at = now + self.tcp.rtt().rto();
    }

    /// Retransmits the third ACK after it or the fourth was lost, as often as a SYN.
    pub(crate) fn retransmit_proof(&mut self, now: Time) {
        const RETRIES: u32 = 6;
        self.proofs += 1;
        if self.proofs > RETRIES {
            return self.tcp.abort();
        }
        self.proof_at = now + self.tcp.rtt().rto() * (1 << self.proofs);
        self.tcp.acknowledge_now();
    }

    // ---- sending --------------------------------------------------------------------------------------------------

    /// Assigns a piece. It first fills up the last one that waits, which the receiver's window may have cut short.
    #[inline]
    pub(crate) fn assign(&mut self, mut piece: Piece) {
        let most = self.tcp.payload() as u32;
        if let Some(last) = self.queue.back_mut().filter(|last| last.end() == piece.start && last.tried == piece.tried)
        {
            let more = most.saturating_sub(last.length).min(piece.length);
            last.length += more;
            self.queued += u64::from(more);
            piece = Piece { start: piece.start + u64::from(more), length: piece.length - more, ..piece };
        }
        if piece.length > 0 {
            self.enqueue(self.queue.len(), piece);
        }
    }

    /// Assigns a reinjected piece, ahead of later data.
    pub(crate) fn assign_reinjection(&mut self, piece: Piece) {
        self.enqueue(self.queue.partition_point(|known| known.start < piece.start), piece);
    }

    #[inline]
    fn enqueue(&mut self, at: usize, piece: Piece) {
        self.queued += u64::from(piece.length);
        self.queue.insert(at, piece);
        self.feed();
    }

    /// Gives the TCP connection the next piece once everything before has left, so that no segment spans two pieces.
    #[inline]
    pub(crate) fn feed(&mut self) -> bool {
        if self.tcp.unsent() > 0 {
            self.push_short();
            return false;
        }
        let Some(piece) = self.queue.pop_front() else { return false };
        self.push_short();
        self.queued -= u64::from(piece.length);
        self.sent.push_back(Mapped { octet: self.tcp.written_octet(), data: piece.start, length: piece.length });
        self.tcp.take(u64::from(piece.length));
        true
    }

    /// Lets TCP send a short piece where others wait behind it: Nagle's algorithm holds back only the last one
    /// (`tcp_write_xmit` in Linux).
    #[inline]
    fn push_short(&mut self) {
        if !self.queue.is_empty() {
            self.tcp.forget_short();
        }
    }

    /// Connection-level octet that subflow octet `octet` carries.
    #[inline]
    pub(crate) fn sent_data(&self, octet: u64) -> Option<u64> {
        translate(&self.sent, octet)
    }

    /// Offset from subflow octets to data, if all unacknowledged data up to `nxt` is contiguous on this subflow.
    pub(crate) fn data_offset(&self, una: u64, nxt: u64) -> Option<u64> {
        let queued = self.queue.iter().map(|piece| (piece.start, piece.length));
        let mut pieces = self.sent.iter().map(|mapped| (mapped.data, mapped.length)).chain(queued).peekable();
        let first = self.sent.front().map_or(self.tcp.written_octet(), |mapped| mapped.octet);
        let start = pieces.peek().map_or(nxt, |&(data, _)| data);
        let end = pieces.try_fold(start, |end, (data, length)| (data == end).then_some(end + u64::from(length)))?;
        (end == nxt && start <= una.max(self.delivered)).then(|| start.wrapping_sub(first - 1))
    }

    /// Removes mappings of acknowledged octets.
    #[inline]
    pub(crate) fn forget_acknowledged(&mut self) {
        let una = self.tcp.acknowledged_octet();
        while let Some(mapped) = self.sent.front().filter(|mapped| mapped.end() <= una) {
            self.delivered = mapped.data + u64::from(mapped.length);
            self.sent.pop_front();
        }
    }

    /// Returns the data of the first unacknowledged mapping.
    pub(crate) fn first_sent(&self) -> Range<u64> {
        self.sent.front().map_or(0..0, |mapped| mapped.data..mapped.data + u64::from(mapped.length))
    }

    /// Returns the sent piece that begins at connection-level octet `data`.
    pub(crate) fn piece_at(&self, data: u64) -> Option<Piece> {
        self.sent.iter().find_map(|mapped| {
            let end = mapped.data + u64::from(mapped.length);
            (mapped.data <= data && data < end).then(|| Piece { start: data, length: (end - data) as u32, tried: 0 })
        })
    }

    /// Returns the data for others to reinject: sent data, each part once unless `all`, marked as tried by `own`; and
    /// the queued data.
    pub(crate) fn take_pieces(&mut self, all: bool, own: u64) -> Vec<Piece> {
        let fresh = self.sent.iter().filter(|mapped| all || mapped.octet >= self.reinjected);
        let mut pieces: Vec<_> =
            fresh.map(|mapped| Piece { start: mapped.data, length: mapped.length, tried: own }).collect();
        pieces.extend(self.queue.drain(..));
        self.queued = 0;
        self.reinjected = self.tcp.written_octet();
        pieces
    }

    // ---- receiving ------------------------------------------------------------------------------------------------

    /// Records a mapping received from the peer.
    #[inline]
    pub(crate) fn note_mapping(&mut self, mapped: Mapped) {
        match self.arrived.back() {
            Some(last) if mapped.octet < last.end() => {
                let at = self.arrived.partition_point(|known| known.octet < mapped.octet);
                if self.arrived.get(at).is_none_or(|known| known.octet != mapped.octet) {
                    self.arrived.insert(at, mapped);
                }
            }
            _ => self.arrived.push_back(mapped),
        }
    }

    /// Connection-level octet of subflow octet `octet`, if mapped.
    pub(crate) fn mapped_octet(&self, octet: u64) -> Option<u64> {
        translate(&self.arrived, octet)
    }

    /// Connection-level octets that have arrived beyond a hole in the subflow.
    pub(crate) fn beyond(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.tcp.beyond().flat_map(|range| {
            let (start, end) = (range.start + 1, range.end + 1);
            let mapped = self.arrived.iter().filter(move |mapped| mapped.octet < end && start < mapped.end());
            mapped.map(move |mapped| {
                let at = |octet: u64| mapped.data + (octet.clamp(mapped.octet, mapped.end()) - mapped.octet);
                at(start)..at(end)
            })
        })
    }

    /// Connection-level octet of subflow octet `octet`, and how many contiguous octets follow.
    #[inline]
    pub(crate) fn mapped_run(&mut self, octet: u64) -> Option<(u64, u64)> {
        while self.arrived.front().is_some_and(|mapped| mapped.end() <= octet) {
            self.arrived.pop_front();
        }
        let mapped = self.arrived.front().filter(|mapped| mapped.octet <= octet)?;
        Some((mapped.data + (octet - mapped.octet), mapped.end() - octet))
    }

    /// Takes a receiver-side RTT sample; it may be too long, since the sender may have been idle.
    #[inline]
    pub(crate) fn sample_receiver_rtt(&mut self, rtt: Duration) {
        let shorter = self.receiver_rtt == Duration::ZERO || rtt < self.receiver_rtt;
        self.receiver_rtt = if shorter { rtt } else { (self.receiver_rtt * 7 + rtt) / 8 };
    }

    /// Takes a one-way delay sample, in milliseconds by the two clocks.
    #[inline]
    pub(crate) fn sample_return_delay(&mut self, ms: i32) {
        let sample = i64::from(ms) * 1_000_000;
        self.return_delay = Some(self.return_delay.map_or(sample, |smoothed| smoothed + (sample - smoothed) / 8));
    }
}
