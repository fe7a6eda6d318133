//! Which subflows there are: opening, joining, dying, taking their place.

use super::*;
use crate::mptcp::option::Signal;
use crate::mptcp::outbox::Piece;
use crate::tcp::State;

/// How often a subflow that is refused is opened over the same way.
const MOST_ATTEMPTS: usize = 4;

/// Subflows of a connection at most.
const MOST_SUBFLOWS: usize = 64;

impl Connection {
    pub(super) fn add_subflow(&mut self, tcp: tcp::Connection, tuple: Tuple, joins: bool) -> usize {
        let number = self.subflows.len();
        let way = self.identity.ways[usize::from(tuple.way)];
        let backup = self.config.backups.contains(&(u64::from(way.client) + 1));
        let nonce = (self.identity.key >> 17) as u32 ^ (number as u32).wrapping_mul(0x9e37_79b9);
        self.subflows.push(Subflow::new(tcp, tuple, joins, backup, nonce));
        self.ports.resize(self.ports.len().max(usize::from(tuple.port) + 1), None);
        self.ports[usize::from(tuple.port)] = Some(number);
        self.views.push(PathState::UNKNOWN);
        self.dues.push(Time::NEVER);
        self.backups |= backup;
        self.stirred |= 1 << number;
        number
    }

    /// The initial sequence number of the subflow with these ports.
    pub(super) fn iss(&self, port: u8) -> u32 {
        self.identity.iss.wrapping_add(u32::from(port).wrapping_mul(0x9e37_79b1))
    }

    /// Opens what the path manager wants and is not there.
    pub(super) fn manage_paths(&mut self) {
        if self.role == Role::Server || self.mode == Mode::Fallback || self.closing || !self.confirmed {
            return;
        }
        let numbers: Vec<usize> = (0..self.identity.ways.len())
            .filter(|&way| self.known & 1 << self.identity.ways[way].server != 0)
            .collect();
        let known: Vec<Way> = numbers.iter().map(|&way| self.identity.ways[way]).collect();
        let (manager, parameters) = &self.config.manager;
        let mut missing: Vec<usize> = manager(&known, parameters).into_iter().map(|index| numbers[index]).collect();
        for subflow in &self.subflows {
            // What has died is opened again on its own terms.
            if let Some(at) = missing.iter().position(|&way| way == usize::from(subflow.tuple.way)) {
                missing.swap_remove(at);
            }
        }
        missing.sort_unstable();
        missing.into_iter().for_each(|way| self.open(way));
    }

    /// Opens a subflow over a way.
    pub(super) fn open(&mut self, way: usize) {
        if self.subflows.len() >= MOST_SUBFLOWS {
            return;
        }
        let tuple = Tuple { way: way as u8, port: self.ports.len() as u8 };
        let tcp = tcp::Connection::connect(self.config.tcp.clone(), self.iss(tuple.port));
        self.add_subflow(tcp, tuple, true);
    }

    /// A subflow's state may have changed: what follows from it.
    #[inline]
    pub(super) fn refresh(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        self.dues[number] = subflow.tcp.next_timeout().min(subflow.prove_at);
        let view = subflow.view(now);
        self.roomy = self.roomy & !(1 << number) | u64::from(view.has_room) << number;
        self.views[number] = view;
        if subflow.tcp.is_over() && !subflow.is_gone() {
            self.on_gone(now, number);
        }
    }

    /// A subflow's handshake may be over.
    pub(super) fn advance_stage(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        if subflow.stage != Stage::Opening || !subflow.is_connected() {
            return;
        }
        if !subflow.joins {
            subflow.stage = Stage::Open;
            self.stats.established = Some(now);
        } else if self.role == Role::Client {
            subflow.stage = Stage::Proving;
            subflow.prove_at = now + subflow.tcp.rtt().rto();
        } else {
            subflow.stage = Stage::Open;
            // The fourth segment: the client waits for it before it sends data.
            subflow.tcp.acknowledge_now();
            self.stats.joined += 1;
        }
    }

    /// A subflow is over.
    #[cold]
    fn on_gone(&mut self, now: Time, number: usize) {
        let subflow = &mut self.subflows[number];
        let refused = subflow.stage == Stage::Opening && subflow.joins && subflow.tcp.failure() == Some(Failure::Reset);
        subflow.stage = Stage::Gone;
        subflow.prove_at = Time::NEVER;
        let way = usize::from(subflow.tuple.way);
        let died = subflow.tcp.failure().is_some() || !self.closing && subflow.tcp.state() == State::Closed;
        self.dues[number] = subflow.tcp.next_timeout();
        self.views[number].usable = false;
        self.views[number].has_room = false;
        self.roomy &= !(1 << number);
        if self.closing || self.failure.is_some() {
            return;
        }
        self.reinject(number);
        if self.outbox.is_finished() && self.inbox.is_finished() {
            return;
        }
        self.stats.died += u64::from(died);
        if let (Some(wait), Role::Client, true) =
            (self.config.reestablish, self.role, number > 0 || self.subflows.len() > 1)
        {
            self.reopen.push((now + wait, way));
        }
        let of_way = |subflow: &&Subflow| usize::from(subflow.tuple.way) == way;
        if refused && self.role == Role::Client && self.subflows.iter().filter(of_way).count() < MOST_ATTEMPTS {
            // It may only have come too early.
            self.reopen.push((now + self.subflows[0].tcp.rtt().rto(), way));
        }
        let alive = self.subflows.iter().any(|subflow| !subflow.is_gone());
        if !alive && (self.reopen.is_empty() || self.peer_key.is_none()) {
            let failure = self.subflows[number].tcp.failure();
            self.fail(failure.unwrap_or(Failure::Reset));
        }
    }

    /// What a subflow has and may have lost is for others to send.
    pub(super) fn reinject(&mut self, number: usize) {
        for piece in self.subflows[number].give_up() {
            if piece.end() > self.outbox.una {
                self.outbox.send_again(piece, number);
            }
        }
    }

    /// Whether anyone may still send a piece, or has it under way: else it would be lost.
    pub(super) fn is_tried_by_all(&self, piece: &Piece) -> bool {
        self.subflows.iter().enumerate().all(|(number, subflow)| subflow.is_gone() || piece.tried & 1 << number != 0)
    }

    /// A subflow cannot go on: it is reset, for a reason that the peer is told (RFC 8684 section 3.6).
    pub(super) fn reset(&mut self, now: Time, number: usize, reason: u8) {
        let subflow = &mut self.subflows[number];
        subflow.signals.push_front(Signal::Reset(reason));
        subflow.tcp.abort();
        self.stirred |= 1 << number;
        self.refresh(now, number);
    }

    /// Shows a subflow's control its siblings, if it wants to see them.
    #[inline]
    pub(super) fn couple(&mut self, number: usize) {
        if self.subflows[number].tcp.siblings().is_none() {
            return;
        }
        self.siblings.clear();
        let mut own = 0;
        for (index, subflow) in self.subflows.iter_mut().enumerate() {
            if index == number {
                own = self.siblings.len();
            }
            if subflow.is_open() || index == number {
                self.siblings.push(subflow.tcp.sibling());
            }
        }
        if let Some(siblings) = self.subflows[number].tcp.siblings() {
            siblings.see(&self.siblings, own);
        }
    }
}
