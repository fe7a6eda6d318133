//! What senders wait for, and what their paths do meanwhile.

use crate::measures::limits::{Limits, PathWork};
use crate::world::probe::Probe;
use crate::world::{End, World};
use vazao_engine::Duration;
use vazao_transport::common::Limit;

impl<P: Probe> World<P> {
    /// Accounts for what limits a sender after an event.
    #[inline(always)]
    pub(super) fn account_for_limit(&mut self, index: usize) {
        let end = &self.ends[index];
        let Some(limit) = end.machine.limit(self.now) else { return };
        let flow = end.flow;
        if P::ON {
            let Limits { limit: before, seen, .. } = self.flows[flow as usize].measure.limits;
            if limit != before || seen == self.now {
                self.account_for_path(index);
            }
            if limit != before && before != Limit::Done {
                self.probe.on_limit(self.now, flow, limit);
            }
        }
        self.flows[flow as usize].measure.limits.on_event(self.now, limit);
    }

    /// Accounts for timers of a sender, of which some were due or none, and for those of its application. Retransmission and
    /// probe timeouts had expired `expiries` times before. Where nothing is due, the slot was left behind by a deadline that
    /// has moved.
    #[inline]
    pub(super) fn account_for_wake(&mut self, index: usize, is_due: bool, expiries: u64) {
        let end = &self.ends[index];
        if is_due && end.machine.expiries() > expiries {
            let (flow, limits) = (end.flow, &mut self.flows[end.flow as usize].measure.limits);
            let since = limits.on_expiry();
            if let (true, Some(since)) = (P::ON, since) {
                self.probe.on_limit(since, flow, Limit::Timeout);
            }
        }
        let end = &self.ends[index];
        if is_due || end.application.next_wake() <= self.now {
            self.flows[end.flow as usize].measure.limits.seen = self.now;
        }
    }

    /// Has the narrowest links of all flows' ways watched. Links must then not be behind the ends, so that nothing may go
    /// ahead of time.
    pub fn watch_paths(&mut self) {
        for flow in &mut self.flows {
            let End::Machine(sender) = flow.sender() else { continue };
            let end = &self.ends[sender as usize];
            let links: Vec<_> = end.routes().iter().map(|way| self.network.narrowest(*way)).collect();
            flow.measure.limits.path = Some(Box::new(PathWork::of(&links)));
        }
    }

    /// Accounts for the path since the latest event of an end, if it sends and its path is watched.
    pub(super) fn account_for_path(&mut self, index: usize) {
        let end = &self.ends[index];
        let limits = &mut self.flows[end.flow as usize].measure.limits;
        if let Some(path) = limits.path.as_ref().filter(|_| end.sends) {
            let share = |&(link, part): &(_, f64)| self.network.worked(link, self.now).as_nanos() as f64 * part;
            let worked = path.links.iter().map(share).sum::<f64>();
            limits.on_work(Duration::from_nanos(worked as u64));
        }
    }
}
