//! Timers of the subflows and of the connection, and interface changes.

use super::*;
use crate::tcp::multipath::Signal;
use vazao_engine::registry::Change;

impl Connection {
    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        let own = self.persist_at.min(self.fin_at).min(self.announce_at).min(self.wake_at).min(self.linger_at);
        let own = own.min(self.change_at());
        let reopen = self.reopen.iter().map(|&(time, _)| time).min().unwrap_or(Time::NEVER);
        own.min(reopen).min(self.overview.due())
    }

    /// Handles every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        for number in 0..self.subflows.len() {
            if self.overview.is_due(number, now) {
                self.wake_subflow(now, number);
            }
        }
        if self.persist_at <= now {
            self.probe(now);
        }
        if self.fin_at <= now {
            self.fin_at = Time::NEVER;
            self.count_unanswered();
        }
        if self.announce_at <= now {
            self.announce(now);
        }
        if self.wake_at <= now {
            self.wake_at = Time::NEVER;
        }
        while self.change_at() <= now {
            self.changed += 1;
            self.change(now, self.changed - 1);
        }
        while let Some(at) = self.reopen.iter().position(|&(time, _)| time <= now) {
            let (_, pair) = self.reopen.swap_remove(at);
            self.open(pair);
        }
        if self.linger_at <= now {
            self.give_up(Failure::TimedOut);
        }
    }

    /// Counts a probe or DATA_FIN that was not answered in time.
    fn count_unanswered(&mut self) {
        self.unanswered += 1;
        self.backoff += 1;
        if self.unanswered > self.config.tcp.retries {
            self.give_up(Failure::TimedOut);
        }
    }

    /// Subflow for messages that need an answer: the fastest, and after each timeout the next one, since the first may
    /// have failed unnoticed with no data of its own in flight.
    pub(super) fn control_subflow(&mut self, now: Time) -> Option<usize> {
        self.overview.settle(now, &self.subflows);
        let views = &self.overview.views;
        let mut usable: Vec<usize> = (0..views.len()).filter(|&number| views[number].usable).collect();
        usable.sort_by_key(|&number| views[number].srtt);
        (!usable.is_empty()).then(|| usable[self.backoff as usize % usable.len()])
    }

    /// Current timeout for an answer, with back-off.
    pub(super) fn answer_timeout(&self, number: usize) -> Duration {
        let rto = self.subflows[number].tcp.rtt().rto();
        rto.saturating_mul(1 << self.backoff.min(16)).min(self.config.tcp.max_rto.max(rto))
    }

    fn wake_subflow(&mut self, now: Time, number: usize) {
        self.update_coupling(number);
        let subflow = &mut self.subflows[number];
        if subflow.proof_at <= now {
            subflow.retransmit_proof(now);
        }
        if subflow.tcp.next_timeout() <= now {
            subflow.tcp.handle_timeout(now);
        }
        self.pollable |= 1 << number;
        let timeouts = subflow.tcp.stats().timeouts;
        if timeouts > subflow.timeouts {
            subflow.timeouts = timeouts;
            match (self.mode, self.closing) {
                (Mode::Fallback, _) => {}
                (Mode::Multipath, false) => self.reinject(number, false),
                (Mode::Multipath, true) => self.abort_unresponsive(number),
            }
        }
        self.refresh(now, number);
    }

    /// Aborts a subflow that does not answer after both sides' data is complete: if the peer has acknowledged the FIN
    /// of another, or after as many retries as for an orphaned socket in Linux.
    fn abort_unresponsive(&mut self, number: usize) {
        const ORPHAN_RETRIES: u64 = 8;
        let is_known = self.subflows.iter().any(|subflow| subflow.tcp.is_fin_acknowledged());
        let late = &mut self.subflows[number];
        if is_known || late.timeouts - late.timeouts_before_close > ORPHAN_RETRIES {
            late.tcp.abort();
        }
    }

    /// Probes the closed receive window when nothing is in flight.
    fn probe(&mut self, now: Time) {
        self.persist_at = Time::NEVER;
        if let Some(number) = self.control_subflow(now)
            && self.outbox.waiting() > 0
            && self.outbox.room() == 0
        {
            self.stats.probes += 1;
            self.count_unanswered();
            self.persist_at = now + self.answer_timeout(number);
            self.subflows[number].tcp.probe();
            self.pollable |= 1 << number;
        }
    }

    #[inline]
    fn change_at(&self) -> Time {
        let Some(change) = self.config.changes.get(self.changed) else { return Time::NEVER };
        let is_client = self.role == Role::Client && !self.closing && self.failure.is_none();
        self.stats.established.filter(|_| is_client).map_or(Time::NEVER, |established| established + change.at)
    }

    fn change(&mut self, now: Time, number: usize) {
        let Change { what, which, .. } = self.config.changes[number];
        let address = (which - 1).min(u64::from(u8::MAX)) as u8;
        match what {
            "remove" => self.remove_address(now, address),
            "add" => self.add_address(address),
            _ => {
                for subflow in 0..self.subflows.len() {
                    if self.own_address(subflow) == address && !self.subflows[subflow].is_gone() {
                        self.set_backup(now, subflow, what == "backup");
                    }
                }
            }
        }
    }

    pub(super) fn own_address(&self, number: usize) -> u8 {
        let pair = self.identity.pairs[usize::from(self.subflows[number].tuple.pair)];
        if self.role == Role::Client { pair.client } else { pair.server }
    }

    /// Changes the backup flag of a subflow and tells the peer (MP_PRIO, RFC 8684 section 3.3.8).
    pub fn set_backup(&mut self, now: Time, number: usize, backup: bool) {
        let subflow = &mut self.subflows[number];
        subflow.backup = backup;
        subflow.signals.push_back(Signal::Priority { backup });
        subflow.tcp.acknowledge_now();
        self.backups |= backup;
        self.pollable |= 1 << number;
        self.refresh(now, number);
    }

    /// Removes one of our addresses and its subflows, and tells the peer (REMOVE_ADDR, RFC 8684 section 3.4.2).
    pub fn remove_address(&mut self, now: Time, address: u8) {
        let removed = Signal::RemoveAddress(self.announced(address));
        self.withdrawn |= 1 << address;
        self.unannounced &= !self.withdrawn;
        for number in 0..self.subflows.len() {
            if self.own_address(number) == address {
                self.subflows[number].tcp.close_silently();
                self.refresh(now, number);
            }
        }
        let open = self.subflows.iter().position(Subflow::is_open);
        // A subflow being opened sends it once it is open.
        if let Some(number) = open.or_else(|| self.subflows.iter().position(|subflow| !subflow.is_gone())) {
            self.subflows[number].signals.push_back(removed);
            self.subflows[number].tcp.acknowledge_now();
            self.pollable |= 1 << number;
        }
    }

    /// Restores one of our addresses: reopens its subflows, and those that the path manager has wanted meanwhile.
    fn add_address(&mut self, address: u8) {
        self.withdrawn &= !(1 << address);
        let had = |pair: usize| self.subflows.iter().filter(move |subflow| usize::from(subflow.tuple.pair) == pair);
        let is_missing = |&pair: &usize| {
            self.identity.pairs[pair].client == address && had(pair).next().is_some() && had(pair).all(Subflow::is_gone)
        };
        let missed: Vec<usize> = (0..self.identity.pairs.len()).filter(is_missing).collect();
        missed.into_iter().for_each(|pair| self.open(pair));
        self.manage_paths();
    }

    /// Whether a client interface may come back, as far as this side knows.
    pub(super) fn expects_address(&self) -> bool {
        self.config.changes[self.changed..].iter().any(|change| change.what == "add")
    }
}
