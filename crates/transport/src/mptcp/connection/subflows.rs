//! Lifecycle of subflows: opening, joining, failure and replacement.

use super::*;
use crate::mptcp::outbox::Piece;
use crate::tcp::State;
use crate::tcp::multipath::Signal;

/// Maximum attempts to open a refused subflow on the same address pair.
const MAX_ATTEMPTS: usize = 4;

/// Maximum number of subflows over a connection's lifetime.
pub(super) const MAX_SUBFLOWS: usize = 64;

/// How long a connection without subflows waits for another (Linux's net.mptcp.close_timeout).
const LINGER: Duration = Duration::from_secs(60);

impl Connection {
    pub(super) fn add_subflow(&mut self, tcp: tcp::Connection, tuple: Tuple, joins: bool) -> usize {
        let number = self.subflows.len();
        let pair = self.identity.pairs[usize::from(tuple.pair)];
        let backup = self.config.backups.contains(&(u64::from(pair.client) + 1));
        let nonce = (self.identity.key >> 17) as u32 ^ (number as u32).wrapping_mul(0x9e37_79b9);
        let metrics = self.identity.metrics.clone();
        let tcp = tcp.with_metrics(metrics, u16::from_be_bytes([pair.client, pair.server]));
        let mut subflow = Subflow::new(tcp, tuple, joins, backup, nonce);
        self.overview.push(&mut subflow);
        self.subflows.push(subflow);
        self.ports.resize(self.ports.len().max(usize::from(tuple.port) + 1), None);
        self.ports[usize::from(tuple.port)] = Some(number);
        self.backups |= backup;
        self.pollable |= 1 << number;
        number
    }

    /// Initial sequence number of the subflow with this port pair.
    pub(super) fn iss(&self, port: u8) -> u32 {
        self.identity.iss.wrapping_add(u32::from(port).wrapping_mul(0x9e37_79b1))
    }

    /// Opens the subflows that the path manager wants and that are missing.
    pub(super) fn manage_paths(&mut self) {
        if self.role == Role::Server || self.mode == Mode::Fallback || self.closing || !self.confirmed {
            return;
        }
        // A removed interface of ours may come back.
        let is_announced = |pair: &usize| self.known & 1 << self.identity.pairs[*pair].server != 0;
        let numbers: Vec<usize> = (0..self.identity.pairs.len()).filter(is_announced).collect();
        let known: Vec<AddressPair> = numbers.iter().map(|&pair| self.identity.pairs[pair]).collect();
        if known.is_empty() {
            return;
        }
        let (manager, parameters) = &self.config.manager;
        let mut missing: Vec<usize> =
            (manager.subflows)(&known, parameters).into_iter().map(|index| numbers[index]).collect();
        for subflow in &self.subflows {
            // Failed subflows are reopened separately.
            if let Some(at) = missing.iter().position(|&pair| pair == usize::from(subflow.tuple.pair)) {
                missing.swap_remove(at);
            }
        }
        missing.sort_unstable();
        missing.into_iter().for_each(|pair| self.open(pair));
    }

    /// Whether both addresses of a pair are available, as far as known.
    fn is_known(&self, pair: usize) -> bool {
        let AddressPair { client, server, .. } = self.identity.pairs[pair];
        self.known & 1 << server != 0 && self.withdrawn & 1 << client == 0
    }

    /// Opens a subflow on an address pair, if possible.
    pub(super) fn open(&mut self, pair: usize) {
        if self.subflows.len() >= MAX_SUBFLOWS || !self.is_known(pair) {
            return;
        }
        let tuple = Tuple { pair: pair as u16, port: self.ports.len() as u8 };
        let tcp = tcp::Connection::connect(self.config.tcp.clone(), self.iss(tuple.port));
        self.add_subflow(tcp, tuple, true);
    }

    /// Updates the overview of a subflow after it may have changed, and notices its end.
    #[inline]
    pub(super) fn refresh(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        self.overview.update(number, subflow);
        if subflow.is_over() && !subflow.is_gone() {
            self.on_gone(now, number);
        }
    }

    /// Handles a subflow that becomes usable. Data possibly lost on others is reinjected.
    pub(super) fn on_open(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        subflow.stage = Stage::Open;
        subflow.proof_at = Time::NEVER;
        subflow.opened = Some(now);
        self.stats.joined += u64::from(subflow.joins);
        self.linger_at = Time::NEVER;
        for other in 0..self.subflows.len() {
            if self.subflows[other].tcp.is_after_timeout() {
                self.reinject(other, true);
            }
        }
        if self.announce_at == Time::NEVER {
            self.announce(now);
        }
    }

    /// Switches to 64-bit DATA_ACKs because the peer's data sequence numbers have 64 bits (RFC 8684 section 3.3.2);
    /// segments then hold less data.
    #[inline]
    pub(super) fn use_long_acks(&mut self) {
        if !self.long_acks {
            self.long_acks = true;
            self.subflows.iter_mut().filter(|subflow| subflow.is_connected()).for_each(Subflow::reserve_long_acks);
        }
    }

    /// Advances a subflow whose handshake may be complete.
    pub(super) fn advance_stage(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        if subflow.stage != Stage::Opening || !subflow.is_connected() {
            return;
        }
        if self.long_acks {
            subflow.reserve_long_acks();
        }
        if !subflow.joins {
            self.stats.established = Some(now);
            self.on_open(now, number);
        } else if self.role == Role::Client {
            subflow.await_proof_ack(now);
        } else {
            // The fourth ACK: the client waits for it before it sends data.
            subflow.tcp.acknowledge_now();
            self.on_open(now, number);
        }
    }

    /// Handles the end of a subflow.
    #[cold]
    fn on_gone(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        let refused = subflow.stage == Stage::Opening && subflow.joins && subflow.tcp.failure() == Some(Failure::Reset);
        subflow.stage = Stage::Gone;
        if subflow.tcp.state() == State::Listen {
            subflow.tcp.abort();
        }
        subflow.proof_at = Time::NEVER;
        let pair = usize::from(subflow.tuple.pair);
        let failure = subflow.tcp.failure();
        self.overview.update(number, subflow);
        if self.failure.is_some() || self.closing && (self.mode == Mode::Multipath || failure.is_none()) {
            return;
        }
        self.stats.died += 1;
        let alive = self.subflows.iter().any(|subflow| !subflow.is_gone());
        if !alive && (self.mode == Mode::Fallback || !self.can_be_joined()) {
            return self.fail(failure.unwrap_or(Failure::Reset));
        }
        self.reinject(number, true);
        self.plan_reopening(now, pair, refused);
        let more = self.config.reestablish.is_some() || !self.reopen.is_empty() || self.expects_address();
        if more && !self.subflows.iter().any(Subflow::is_open) {
            // Another subflow may come: one being opened, or one that the client opens.
            self.linger_at = self.linger_at.min(now + LINGER);
        } else if !alive {
            self.give_up(failure.unwrap_or(Failure::Reset));
        }
    }

    /// Whether another subflow may still join. A client opens none before it has received a DSS (RFC 8684 section 3.1).
    /// The server cannot know when that is, and accepts joins as soon as it has the client's key.
    fn can_be_joined(&self) -> bool {
        match self.role {
            Role::Client => self.confirmed,
            Role::Server => self.peer_key.is_some(),
        }
    }

    /// Schedules the replacement of a failed subflow, if configured; each unsuccessful attempt doubles the delay. A
    /// refused subflow may just have come too early.
    fn plan_reopening(&mut self, now: Time, pair: usize, refused: bool) {
        if self.role == Role::Server {
            return;
        }
        let before = || self.subflows.iter().rev().filter(|subflow| usize::from(subflow.tuple.pair) == pair);
        if let Some(wait) = self.config.reestablish {
            let failed = before().take_while(|subflow| subflow.opened.is_none()).count();
            self.reopen.push((now + wait.saturating_mul(1 << failed), pair));
        } else if refused && before().count() < MAX_ATTEMPTS {
            self.reopen.push((now + self.subflows[0].tcp.rtt().rto(), pair));
        }
    }

    /// Gives unacknowledged data of a subflow to the others.
    pub(super) fn reinject(&mut self, number: usize, all: bool) {
        for piece in self.subflows[number].take_pieces(all, 1 << number) {
            if piece.end() > self.outbox.una {
                self.outbox.reinject(piece);
            }
        }
    }

    /// Whether all remaining subflows have tried a piece. (If none is left, it waits for a new one.)
    pub(super) fn is_tried_by_all(&self, piece: &Piece) -> bool {
        let mut left = self.subflows.iter().enumerate().filter(|(_, subflow)| !subflow.is_gone()).peekable();
        left.peek().is_some() && left.all(|(number, _)| piece.tried & 1 << number != 0)
    }

    /// Resets a subflow with a reason for the peer (RFC 8684 section 3.6).
    pub(super) fn reset(&mut self, now: Time, number: usize, reason: Signal) {
        let subflow = &mut self.subflows[number];
        subflow.signals.push_front(reason);
        subflow.tcp.abort();
        self.pollable |= 1 << number;
        self.refresh(now, number);
    }

    /// Shows a coupled congestion control the state of the other subflows.
    #[inline]
    pub(super) fn update_coupling(&mut self, number: usize) {
        self.overview.show_siblings(number, &mut self.subflows);
    }
}
