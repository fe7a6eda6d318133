//! Account of what a flow's sender waited for.

use vazao_engine::{Duration, Time};
use vazao_network::LinkId;
use vazao_transport::common::Limit;

/// Times by limit, whose sum is the life of the connection: from its opening until everything is sent, closed and acknowledged.
///
/// Between two events of the sender nothing changes, so that an account of its events is one of all instants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// Limit since `since`.
    pub limit: Limit,
    since: Time,
    /// Latest time at which the sender received or sent anything.
    pub seen: Time,
    totals: [Duration; Limit::ALL.len()],
    /// Account of the path, if somebody asks for it.
    pub path: Option<Box<PathWork>>,
}

/// Account of the narrowest links of a flow's ways: how long they were busy, with packets of any flow, while its sender waited.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathWork {
    /// Narrowest link of each way, with its part of the rate of all.
    pub links: Vec<(LinkId, f64)>,
    /// Time for which they had been busy at the sender's latest event, each counted by its part.
    before: Duration,
    parts: [Duration; Limit::ALL.len()],
}

impl PathWork {
    /// Creates the account of links with these rates.
    pub fn of(links: &[(LinkId, u64)]) -> PathWork {
        let whole: u64 = links.iter().map(|(_, rate)| rate).sum();
        let links = links.iter().map(|&(link, rate)| (link, rate as f64 / whole as f64)).collect();
        PathWork { links, ..PathWork::default() }
    }

    /// Records that at the sender's next event the links have been busy for `worked`; since the latest one `limit` held.
    fn charge(&mut self, worked: Duration, limit: Limit) {
        let more = worked.saturating_sub(self.before);
        self.before = self.before.max(worked);
        if let Some(part) = self.parts.get_mut(limit as usize) {
            *part += more;
        }
    }
}

impl Limits {
    /// Creates the account of a connection that opens at `start`.
    pub fn since(start: Time) -> Limits {
        Limits { since: start, seen: start, ..Limits::default() }
    }

    /// Records that after an event at `now` the sender sends nothing more because of `limit`.
    #[inline(always)]
    pub fn on_event(&mut self, now: Time, limit: Limit) {
        if limit != self.limit {
            self.change(now, limit);
        }
    }

    #[inline]
    fn change(&mut self, now: Time, limit: Limit) {
        // Who is done stays so.
        if self.limit != Limit::Done {
            self.charge(now, self.limit);
            self.limit = limit;
        }
    }

    /// Records the expiry of a timeout: nothing could leave since the sender received or sent anything. Returns that
    /// time, unless the handshake was waited for, or nothing any more.
    #[cold]
    pub fn on_expiry(&mut self) -> Option<Time> {
        if matches!(self.limit, Limit::Handshake | Limit::Done) {
            return None;
        }
        let seen = self.seen.max(self.since);
        self.charge(seen, self.limit);
        self.limit = Limit::Timeout;
        Some(seen)
    }

    /// Records for how long the links of the path have been busy at an event, before the event itself.
    pub fn on_work(&mut self, worked: Duration) {
        let limit = self.limit;
        if let Some(path) = &mut self.path {
            path.charge(worked, limit);
        }
    }

    fn charge(&mut self, until: Time, limit: Limit) {
        if let Some(total) = self.totals.get_mut(limit as usize) {
            *total += until.since(self.since);
        }
        self.since = until;
    }

    /// Returns the life of the connection until `end`.
    fn life(&self, start: Time, end: Time) -> Duration {
        let until = if self.limit == Limit::Done { self.since } else { end.max(self.since) };
        until.since(start)
    }

    /// Returns the account until `end` of a connection that opened at `start`.
    pub fn until(&self, start: Time, end: Time) -> Life {
        let mut all = self.clone();
        all.charge(end.max(self.since), self.limit);
        let path = self.path.as_ref().map(|path| path.parts);
        Life { whole: self.life(start, end), parts: all.totals, path }
    }
}

/// Life of a connection, or of several: their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    /// Time from its opening until everything was sent, closed and acknowledged, or until the end of the run.
    pub whole: Duration,
    /// Time of each limit in it, in the order of [`Limit::ALL`].
    pub parts: [Duration; Limit::ALL.len()],
    /// Of these, time in which the path was busy, if that was asked for.
    pub path: Option<[Duration; Limit::ALL.len()]>,
}

impl Life {
    /// Adds the life of another connection.
    pub fn join(&mut self, other: &Life) {
        self.whole += other.whole;
        let add = |own: &mut [Duration], part: [Duration; Limit::ALL.len()]| {
            own.iter_mut().zip(part).for_each(|(own, part)| *own += part);
        };
        add(&mut self.parts, other.parts);
        self.path = self.path.zip(other.path).map(|(mut own, part)| {
            add(&mut own, part);
            own
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender whose tail is lost: 10 ms of handshake, 5 in slow start, then nothing to send, an acknowledgement at 40 ms,
    /// and a timeout at 240 ms.
    #[test]
    fn a_timeout_is_the_limit_since_the_latest_event() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut limits = Limits::since(at(1));
        limits.on_event(at(11), Limit::SlowStart);
        limits.on_event(at(16), Limit::Application);
        limits.seen = at(40);
        limits.on_event(at(40), Limit::Application);
        limits.on_expiry();
        limits.on_event(at(240), Limit::Recovery);
        limits.on_event(at(260), Limit::Done);
        limits.on_event(at(300), Limit::Done);
        let expected = [
            (Limit::Handshake, 10),
            (Limit::SlowStart, 5),
            (Limit::Application, 24),
            (Limit::Timeout, 200),
            (Limit::Recovery, 20),
        ];
        let mut all = [Duration::ZERO; Limit::ALL.len()];
        expected.into_iter().for_each(|(limit, ms)| all[limit as usize] = Duration::from_millis(ms));
        assert_eq!(limits.until(at(1), at(500)), Life { whole: Duration::from_millis(259), parts: all, path: None });
    }
}
