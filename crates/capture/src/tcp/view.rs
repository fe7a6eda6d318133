//! A connection as its sender sees it, which a capture elsewhere shows too early and too late.

use crate::limits::{Limit, Limits};
use std::collections::VecDeque;

/// Most acknowledgements under way to a sender that are remembered.
const MOST_UNDER_WAY: usize = 1 << 12;

/// Acknowledgement on its way from the capture to the sender.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// Its sender's clock, which data that it lets out echoes.
    stamp: Option<u32>,
    /// When data that it lets out passes the capture, if it does.
    due: u64,
    una: u64,
    edge: u64,
}

/// What the sender knew when it sent what passes the capture now: acknowledgements that had passed a round trip between the
/// two before.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub una: u64,
    /// Right edge of the peer's window.
    pub edge: u64,
    /// Whether the last data sent was no full segment: nothing more was there to send.
    pub is_short: bool,
    /// Limit since the last event.
    pub limit: Option<Limit>,
    /// Latest time at which data passed or was acknowledged.
    pub heard: u64,
    /// Since when the sender may have answered an acknowledgement, and has not.
    pub unanswered: Option<u64>,
    since: Option<u64>,
    /// Latest round trip to the sender: from an acknowledgement to the first data that echoes its timestamp.
    round_trip: Option<u64>,
    /// Timestamps that no data has echoed, and when an acknowledgement first had them.
    stamps: VecDeque<(u32, u64)>,
    under_way: VecDeque<Answer>,
}

impl View {
    /// Takes note of an acknowledgement that passes at `passed`. The sender is `to_sender` away, there and back, unless
    /// timestamps have shown otherwise.
    pub fn expect(&mut self, passed: u64, stamp: Option<u32>, to_sender: u64, una: u64, edge: u64) {
        if self.under_way.len() == MOST_UNDER_WAY {
            self.arrive();
        }
        let due = passed + self.round_trip.unwrap_or(to_sender);
        let due = self.under_way.back().map_or(due, |last| last.due.max(due));
        self.under_way.push_back(Answer { stamp, due, una, edge });
        if let Some(stamp) = stamp.filter(|&stamp| self.stamps.back().is_none_or(|&(last, _)| last != stamp)) {
            if self.stamps.len() == MOST_UNDER_WAY {
                self.stamps.pop_front();
            }
            self.stamps.push_back((stamp, passed));
        }
    }

    /// Learns from data that echoes a timestamp which acknowledgements have reached the sender, and how far it is now.
    pub fn on_echo(&mut self, now: u64, echo: u32) {
        let is_echoed = |stamp: u32| (echo.wrapping_sub(stamp) as i32) >= 0;
        while let Some(&(stamp, passed)) = self.stamps.front().filter(|(stamp, _)| is_echoed(*stamp)) {
            if stamp == echo {
                self.round_trip = Some(now.saturating_sub(passed));
            }
            self.stamps.pop_front();
        }
        while self.under_way.front().is_some_and(|answer| answer.stamp.is_some_and(is_echoed)) {
            self.arrive();
        }
    }

    /// Returns the window of the latest acknowledgement that passed.
    pub fn window(&self) -> Option<u64> {
        self.under_way.back().map(|answer| answer.edge - answer.una).or_else(|| self.edge.checked_sub(self.una))
    }

    fn arrive(&mut self) -> Option<u64> {
        let Answer { due, una, edge, .. } = self.under_way.pop_front()?;
        (self.una, self.edge) = (self.una.max(una), self.edge.max(edge));
        Some(due)
    }

    /// Lets the next acknowledgement arrive that has by `now`; returns when it did.
    pub fn take_due(&mut self, now: u64) -> Option<u64> {
        self.under_way.front().filter(|answer| answer.due <= now)?;
        self.arrive()
    }

    /// Accounts for the time until `until`, in which `limit` held.
    pub fn charge(&mut self, until: u64, limit: Option<Limit>, limits: &mut Limits) {
        let since = *self.since.get_or_insert(until);
        if let Some(limit) = limit.filter(|_| until > since) {
            limits.charge(limit, until - since);
        }
        self.since = Some(since.max(until));
    }
}
