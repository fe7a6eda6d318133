//! Time: of the subflows, and of the connection itself.

use super::*;
use crate::mptcp::option::Signal;

impl Connection {
    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        let own = self.persist_at.min(self.fin_at).min(self.announce_at).min(self.wake_at);
        let reopen = self.reopen.iter().map(|&(time, _)| time).min().unwrap_or(Time::NEVER);
        self.dues.iter().fold(own.min(reopen), |least, &due| least.min(due))
    }

    /// Handles every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        for number in 0..self.subflows.len() {
            if self.dues[number] <= now {
                self.wake_subflow(now, number);
            }
        }
        if self.persist_at <= now {
            self.probe(now);
        }
        if self.fin_at <= now {
            self.fin_at = Time::NEVER;
        }
        if self.announce_at <= now {
            self.announce(now);
        }
        if self.wake_at <= now {
            self.wake_at = Time::NEVER;
        }
        while let Some(at) = self.reopen.iter().position(|&(time, _)| time <= now) {
            let (_, way) = self.reopen.swap_remove(at);
            self.open(way);
        }
    }

    fn wake_subflow(&mut self, now: Time, number: usize) {
        self.couple(number);
        let subflow = &mut self.subflows[number];
        if subflow.prove_at <= now {
            // The third segment was lost, or the fourth.
            subflow.prove_at = now + subflow.tcp.rtt().rto();
            subflow.tcp.acknowledge_now();
        }
        if subflow.tcp.next_timeout() <= now {
            subflow.tcp.handle_timeout(now);
        }
        self.stirred |= 1 << number;
        let timeouts = subflow.tcp.stats().timeouts;
        if timeouts > subflow.timeouts {
            subflow.timeouts = timeouts;
            if self.closing {
                // All data is where it should be: what does not answer is not waited for.
                subflow.tcp.abort();
            } else {
                self.reinject(number);
            }
        }
        self.refresh(now, number);
    }

    /// The receiver's window is shut and nothing is under way that would bring news of it.
    fn probe(&mut self, now: Time) {
        self.persist_at = Time::NEVER;
        let open = self.subflows.iter().position(|subflow| subflow.is_open() && !subflow.tcp.is_after_timeout());
        if let Some(number) = open
            && self.outbox.waiting() > 0
            && self.outbox.room() == 0
        {
            self.stats.probes += 1;
            let subflow = &mut self.subflows[number];
            subflow.tcp.probe();
            self.persist_at = now + subflow.tcp.rtt().rto();
            self.stirred |= 1 << number;
        }
    }

    /// Makes a subflow a backup, or one that is used like others, and tells the peer (MP_PRIO, RFC 8684 section 3.3.8).
    pub fn set_backup(&mut self, now: Time, number: usize, backup: bool) {
        let subflow = &mut self.subflows[number];
        subflow.backup = backup;
        subflow.signals.push_back(Signal::Priority { backup });
        subflow.tcp.acknowledge_now();
        self.backups |= backup;
        self.stirred |= 1 << number;
        self.refresh(now, number);
    }

    /// One of our addresses is gone, and with it its subflows; the peer hears of it by the others (REMOVE_ADDR, RFC 8684
    /// section 3.4.2).
    pub fn remove_address(&mut self, now: Time, address: u8) {
        let own = |way: Way, role: Role| if role == Role::Client { way.client } else { way.server };
        let removed = Signal::RemoveAddress(self.named(address));
        let mut told = false;
        for number in 0..self.subflows.len() {
            let way = self.identity.ways[usize::from(self.subflows[number].tuple.way)];
            if own(way, self.role) == address {
                self.subflows[number].tcp.abort();
                self.refresh(now, number);
            } else if self.subflows[number].is_open() && !told {
                told = true;
                self.subflows[number].signals.push_back(removed);
                self.subflows[number].tcp.acknowledge_now();
                self.stirred |= 1 << number;
            }
        }
    }
}
