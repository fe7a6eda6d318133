//! One subflow: a TCP connection, and which octets of the whole it carries.

use super::outbox::Piece;
use crate::common::PathState;
use crate::tcp::multipath::{Dss, Signal, Tuple};
use crate::tcp::{self, State};
use std::collections::VecDeque;
use vazao_engine::{Duration, Time};

/// How far a subflow has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its handshake is under way.
    Opening,
    /// Its client has shown its HMAC and waits for the fourth segment (RFC 8684 section 3.2).
    Proving,
    /// Data may flow.
    Open,
    /// It is over.
    Gone,
}

/// Octets of the subflow and the octets of the connection that they are.
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

/// The octet of the connection that `octet` of the subflow is by one of these, which are in order.
#[inline]
fn image(all: &VecDeque<Mapped>, octet: u64) -> Option<u64> {
    let mapped = all.get(all.partition_point(|mapped| mapped.end() <= octet)).filter(|mapped| mapped.octet <= octet)?;
    Some(mapped.data + (octet - mapped.octet))
}

/// One subflow of a connection.
pub struct Subflow {
    pub(crate) tcp: tcp::Connection,
    pub(crate) tuple: Tuple,
    pub(crate) stage: Stage,
    /// Since when data could flow.
    pub(crate) opened: Option<Time>,
    /// Whether it joined a connection that was there.
    pub(crate) joins: bool,
    pub(crate) backup: bool,
    /// Our nonce and the peer's.
    pub(crate) nonces: [u32; 2],
    /// What it carries and the peer's TCP has not acknowledged.
    sent: VecDeque<Mapped>,
    /// What the peer has told of octets not read so far.
    arrived: VecDeque<Mapped>,
    /// What was assigned to it and waits until what was before has left.
    pub(crate) queue: VecDeque<Piece>,
    pub(crate) queued: u64,
    /// Options to go with its next segments.
    pub(crate) signals: VecDeque<Signal>,
    /// Its next segment without data carries DATA_FIN.
    pub(crate) fin_due: bool,
    /// One beyond the last octet of the connection that the peer's TCP has acknowledged on it.
    pub(crate) delivered: u64,
    /// Timeouts that were answered, and the octet before which all was given to others then.
    pub(crate) timeouts: u64,
    reinjected: u64,
    /// Octets of the connection before which it has sent everything itself, and those it has repeated for others.
    pub(crate) copied: u64,
    pub(crate) repeated: u64,
    /// When its window was last halved for keeping others back.
    pub(crate) penalised: Option<Time>,
    /// The round-trip time as the receiver sees it: from an acknowledgement to the data that echoes its time stamp.
    pub(crate) loop_rtt: Duration,
    /// Nanoseconds from the peer, by both clocks, smoothed.
    way_back: Option<i64>,
    /// Its segments leave room for DATA_ACKs in 64 bits.
    has_made_room: bool,
    /// When its third segment is sent once more, and how often it was.
    pub(crate) prove_at: Time,
    proofs: u32,
    /// Timeouts until the connection was over and only the subflow was not.
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
            loop_rtt: Duration::ZERO,
            way_back: None,
            has_made_room: false,
            prove_at: Time::NEVER,
            proofs: 0,
            timeouts_before_close: 0,
        }
    }

    /// Its TCP connection.
    pub fn tcp(&self) -> &tcp::Connection {
        &self.tcp
    }
    /// Its addresses and ports.
    pub fn tuple(&self) -> Tuple {
        self.tuple
    }
    /// Whether data may flow on it.
    pub fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }
    /// Whether it is over: it keeps its number.
    pub(crate) fn is_gone(&self) -> bool {
        self.stage == Stage::Gone
    }
    /// Whether it is a backup.
    pub fn is_backup(&self) -> bool {
        self.backup
    }
    /// Whether it will not be used again: it is closed, or its peer has taken back what was to become it.
    pub(crate) fn is_over(&self) -> bool {
        self.tcp.is_over() || self.joins && self.tcp.state() == State::Listen
    }
    /// Whether it is established as TCP, its proofs shown or not.
    pub(crate) fn is_connected(&self) -> bool {
        !matches!(self.tcp.state(), State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Its segments leave room for DATA_ACKs in 64 bits from now on.
    pub(crate) fn make_room(&mut self) {
        if !std::mem::replace(&mut self.has_made_room, true) {
            self.tcp.shorten_segments(u64::from(Dss::LONG_BYTES));
        }
    }

    /// As a scheduler sees it.
    #[inline]
    pub(crate) fn view(&self, now: Time) -> PathState {
        let (tcp, rtt) = (&self.tcp, self.tcp.rtt());
        let usable = self.stage == Stage::Open && !tcp.is_after_timeout();
        PathState {
            cwnd: tcp.cwnd(),
            ssthresh: tcp.control().ssthresh(),
            flight: tcp.pipe(),
            queued: self.queued + tcp.unsent(),
            mss: tcp.payload(),
            srtt: rtt.srtt(),
            rttvar: rtt.variation(),
            rtt: rtt.latest(),
            min_rtt: rtt.min(),
            forward: rtt.srtt().as_nanos() as i64 - self.way_back.unwrap_or(0),
            rto: rtt.rto(),
            acknowledged: tcp.acknowledged_bytes(),
            copied: self.copied,
            retransmissions: tcp.stats().retransmissions,
            segments: tcp.stats().segments,
            usable,
            has_room: usable && self.queued == 0 && tcp.unsent() == 0 && tcp.has_room(now),
            slow_start: tcp.control().in_slow_start(),
            recovering: tcp.in_recovery(),
            backup: self.backup,
        }
    }

    /// Its third segment is to be answered.
    pub(crate) fn prove(&mut self, now: Time) {
        self.stage = Stage::Proving;
        self.prove_at = now + self.tcp.rtt().rto();
    }

    /// The third segment was lost, or the fourth: it is sent as often as a SYN is.
    pub(crate) fn prove_again(&mut self, now: Time) {
        const RETRIES: u32 = 6;
        self.proofs += 1;
        if self.proofs > RETRIES {
            return self.tcp.abort();
        }
        self.prove_at = now + self.tcp.rtt().rto() * (1 << self.proofs);
        self.tcp.acknowledge_now();
    }

    // ---- what it sends --------------------------------------------------------------------------------------------

    /// It is to carry a piece of the data.
    #[inline]
    pub(crate) fn assign(&mut self, piece: Piece) {
        self.enqueue(self.queue.len(), piece);
    }

    /// It is to carry a piece that is late: before what comes after it.
    pub(crate) fn assign_late(&mut self, piece: Piece) {
        self.enqueue(self.queue.partition_point(|known| known.start < piece.start), piece);
    }

    #[inline]
    fn enqueue(&mut self, at: usize, piece: Piece) {
        self.queued += u64::from(piece.length);
        self.queue.insert(at, piece);
        self.feed();
    }

    /// Hands its TCP connection the next piece, if all before has left: so no segment has octets of two.
    #[inline]
    pub(crate) fn feed(&mut self) -> bool {
        if self.tcp.unsent() > 0 {
            return false;
        }
        let Some(piece) = self.queue.pop_front() else { return false };
        self.queued -= u64::from(piece.length);
        self.sent.push_back(Mapped { octet: self.tcp.written_octet(), data: piece.start, length: piece.length });
        self.tcp.take(u64::from(piece.length));
        true
    }

    /// The octet of the connection that `octet` of the subflow carries.
    #[inline]
    pub(crate) fn carried(&self, octet: u64) -> Option<u64> {
        image(&self.sent, octet)
    }

    /// How far the data is ahead of its octets, if all that is not acknowledged up to `nxt` is on its way here in one piece.
    pub(crate) fn lead(&self, una: u64, nxt: u64) -> Option<u64> {
        let queued = self.queue.iter().map(|piece| (piece.start, piece.length));
        let mut pieces = self.sent.iter().map(|mapped| (mapped.data, mapped.length)).chain(queued).peekable();
        let first = self.sent.front().map_or(self.tcp.written_octet(), |mapped| mapped.octet);
        let start = pieces.peek().map_or(nxt, |&(data, _)| data);
        let end = pieces.try_fold(start, |end, (data, length)| (data == end).then_some(end + u64::from(length)))?;
        (end == nxt && start <= una.max(self.delivered)).then(|| start.wrapping_sub(first - 1))
    }

    /// Forgets what its peer's TCP has.
    #[inline]
    pub(crate) fn forget_acknowledged(&mut self) {
        let una = self.tcp.acknowledged_octet();
        while let Some(mapped) = self.sent.front().filter(|mapped| mapped.end() <= una) {
            self.delivered = mapped.data + u64::from(mapped.length);
            self.sent.pop_front();
        }
    }

    /// The piece of what it has sent that begins at octet `data` of the connection, if it is the first it has not had
    /// acknowledged, or any other where `thorough`.
    pub(crate) fn holds(&self, data: u64, thorough: bool) -> Option<Piece> {
        let candidates = if thorough { self.sent.len() } else { 1 };
        self.sent.iter().take(candidates).find_map(|mapped| {
            let end = mapped.data + u64::from(mapped.length);
            (mapped.data <= data && data < end).then(|| Piece { start: data, length: (end - data) as u32, tried: 0 })
        })
    }

    /// What it has sent and others are to send too, each part once unless `all` is wanted, marked as tried by `own`; and what
    /// it was still to send, which is not.
    pub(crate) fn give_up(&mut self, all: bool, own: u64) -> Vec<Piece> {
        let fresh = self.sent.iter().filter(|mapped| all || mapped.octet >= self.reinjected);
        let mut pieces: Vec<_> =
            fresh.map(|mapped| Piece { start: mapped.data, length: mapped.length, tried: own }).collect();
        pieces.extend(self.queue.drain(..));
        self.queued = 0;
        self.reinjected = self.tcp.written_octet();
        pieces
    }

    // ---- what it receives -----------------------------------------------------------------------------------------

    /// The peer says what octets are.
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

    /// The octet of the connection that `octet` of the subflow is, as far as it was said.
    pub(crate) fn known_meaning(&self, octet: u64) -> Option<u64> {
        image(&self.arrived, octet)
    }

    /// The octet of the connection that `octet` of the subflow is, and how many follow it without a break.
    #[inline]
    pub(crate) fn meaning(&mut self, octet: u64) -> Option<(u64, u64)> {
        while self.arrived.front().is_some_and(|mapped| mapped.end() <= octet) {
            self.arrived.pop_front();
        }
        let mapped = self.arrived.front().filter(|mapped| mapped.octet <= octet)?;
        Some((mapped.data + (octet - mapped.octet), mapped.end() - octet))
    }

    /// An acknowledgement of ours took so long to come back with data; or longer, as its sender had nothing to send.
    #[inline]
    pub(crate) fn note_loop(&mut self, rtt: Duration) {
        let shorter = self.loop_rtt == Duration::ZERO || rtt < self.loop_rtt;
        self.loop_rtt = if shorter { rtt } else { (self.loop_rtt * 7 + rtt) / 8 };
    }

    /// A segment of the peer's took so many milliseconds by its clock and ours.
    #[inline]
    pub(crate) fn note_way_back(&mut self, ms: i32) {
        let sample = i64::from(ms) * 1_000_000;
        self.way_back = Some(self.way_back.map_or(sample, |smoothed| smoothed + (sample - smoothed) / 8));
    }
}
