//! Overview of a connection's subflows: what is asked of all of them at every segment, kept in a few cache lines.

use crate::common::PathState;
use crate::mptcp::subflow::Subflow;
use std::ops::Range;
use vazao_congestion::Sibling;
use vazao_engine::Time;

/// State of all subflows, each updated when its subflow may have changed; a list has one element a subflow.
#[derive(Default)]
pub(super) struct Overview {
    /// State for schedulers; see [`settle`](Self::settle).
    pub views: Vec<PathState>,
    /// Subflows with an outdated view, as a bitmask.
    outdated: u64,
    /// Subflows of which siblings and front are outdated, as a bitmask: see [`catch_up`](Self::catch_up).
    behind: u64,
    /// Usable subflows by their views, as bitmasks: those with room, those without, and those of the latter that know since
    /// their last update that data waits.
    pub with_room: u64,
    full: u64,
    waiting: u64,
    dues: Vec<Time>,
    /// Earliest of `dues`, or an earlier time if `due_is_stale`.
    due: Time,
    due_is_stale: bool,
    /// Sum of the congestion windows of open subflows, and each one's part of it.
    cwnd: u64,
    windows: Vec<u64>,
    /// Open subflows as a bitmask, and their state for coupled congestion controls, one after the other.
    open: u64,
    siblings: Vec<Sibling>,
    coupled: bool,
    /// Data of each subflow's first unacknowledged mapping.
    fronts: Vec<Range<u64>>,
    /// Subflows whose window has changed since [`take_updated`](Self::take_updated), as a bitmask.
    updated: u64,
}

impl Overview {
    /// Adds a subflow.
    pub fn push(&mut self, subflow: &mut Subflow) {
        let number = self.views.len();
        self.views.push(PathState::UNKNOWN);
        self.dues.push(Time::NEVER);
        self.windows.push(0);
        self.coupled = subflow.tcp.siblings().is_some();
        self.fronts.push(0..0);
        self.updated |= 1 << number;
        if number == 0 {
            self.due = Time::NEVER;
        }
    }

    /// Updates timeout and window of a subflow, and marks the rest as outdated.
    #[inline]
    pub fn update(&mut self, number: usize, subflow: &mut Subflow) {
        self.set_due(number, subflow.tcp.next_timeout().min(subflow.proof_at));
        self.update_window(number, subflow);
        self.outdated |= 1 << number;
        self.behind |= 1 << number;
        self.waiting &= !(1 << number);
    }

    /// Brings siblings and fronts up to date. Only coupled congestion controls and a full receiver's window ask for them.
    #[inline]
    pub fn catch_up(&mut self, subflows: &mut [Subflow]) {
        while self.behind != 0 {
            let number = self.behind.trailing_zeros() as usize;
            let subflow = &mut subflows[number];
            if self.coupled {
                self.update_sibling(number, subflow);
            }
            self.fronts[number] = subflow.first_sent();
            self.behind &= self.behind - 1;
        }
    }

    /// Updates the window of a subflow, which is all that others ask for before its next [`update`](Self::update).
    #[inline]
    pub fn update_window(&mut self, number: usize, subflow: &Subflow) {
        let window = if subflow.is_open() { subflow.tcp.cwnd() } else { 0 };
        if window != self.windows[number] {
            self.cwnd = self.cwnd - self.windows[number] + window;
            self.windows[number] = window;
            self.updated |= 1 << number;
        }
    }

    #[inline]
    fn update_sibling(&mut self, number: usize, subflow: &mut Subflow) {
        let at = self.place(number);
        match (self.open & 1 << number != 0, subflow.is_open()) {
            (true, true) => self.siblings[at] = subflow.tcp.sibling(),
            (false, true) => self.siblings.insert(at, subflow.tcp.sibling()),
            (true, false) => drop(self.siblings.remove(at)),
            (false, false) => {}
        }
        self.open = self.open & !(1 << number) | u64::from(subflow.is_open()) << number;
    }

    /// Place of a subflow among the open ones.
    fn place(&self, number: usize) -> usize {
        (self.open & ((1 << number) - 1)).count_ones() as usize
    }

    /// Brings the views up to date. Only who has data to send asks for them.
    #[inline]
    pub fn settle(&mut self, now: Time, subflows: &[Subflow]) {
        while self.outdated != 0 {
            let number = self.outdated.trailing_zeros() as usize;
            let view = subflows[number].view(now);
            let others = !(1 << number);
            self.with_room = self.with_room & others | u64::from(view.has_room) << number;
            self.full = self.full & others | u64::from(view.usable && !view.has_room) << number;
            self.views[number] = view;
            self.outdated &= self.outdated - 1;
        }
    }

    /// Tells the usable subflows without room that data waits, unless they know.
    #[inline]
    pub fn wait_for_room(&mut self, now: Time, subflows: &mut [Subflow]) {
        let mut untold = self.full & !self.waiting;
        self.waiting |= untold;
        while untold != 0 {
            let number = untold.trailing_zeros() as usize;
            let tcp = &mut subflows[number].tcp;
            tcp.wait_for_room(now);
            self.set_due(number, tcp.next_timeout());
            untold &= untold - 1;
        }
    }

    /// Returns the earliest timeout of all subflows.
    #[inline]
    pub fn due(&self) -> Time {
        if self.due_is_stale { self.dues.iter().fold(Time::NEVER, |least, &due| least.min(due)) } else { self.due }
    }

    /// Finds the earliest timeout, once after many have changed.
    #[inline]
    pub fn settle_due(&mut self) {
        self.due = self.due();
        self.due_is_stale = false;
    }

    /// Whether a subflow has a timeout at `now`.
    pub fn is_due(&self, number: usize, now: Time) -> bool {
        self.dues[number] <= now
    }

    /// Sets the next timeout of a subflow.
    #[inline]
    pub fn set_due(&mut self, number: usize, due: Time) {
        let before = std::mem::replace(&mut self.dues[number], due);
        if due <= self.due {
            (self.due, self.due_is_stale) = (due, false);
        } else {
            self.due_is_stale |= before == self.due;
        }
    }

    /// Removes all timeouts.
    pub fn stop(&mut self) {
        self.dues.fill(Time::NEVER);
        (self.due, self.due_is_stale) = (Time::NEVER, false);
    }

    /// Returns the sum of the congestion windows of open subflows in bytes.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Whether the overview is what an update of every subflow would make it.
    pub fn is_current(&mut self, subflows: &mut [Subflow]) -> bool {
        self.catch_up(subflows);
        let mut siblings = Vec::new();
        for (number, subflow) in subflows.iter_mut().enumerate() {
            let window = if subflow.is_open() { subflow.tcp.cwnd() } else { 0 };
            if self.windows[number] != window || self.fronts[number] != subflow.first_sent() {
                return false;
            }
            if self.coupled && subflow.is_open() {
                siblings.push(subflow.tcp.sibling());
            }
        }
        self.cwnd == self.windows.iter().sum() && self.siblings == siblings
    }

    /// Returns the subflow whose first unacknowledged mapping has an octet of the connection.
    pub fn front_at(&self, octet: u64) -> Option<usize> {
        self.fronts.iter().position(|front| front.contains(&octet))
    }

    /// Returns the subflows whose window has changed since the last call, as a bitmask.
    pub fn take_updated(&mut self) -> u64 {
        std::mem::take(&mut self.updated)
    }

    /// Shows the coupled congestion control of a subflow the open subflows and itself.
    #[inline]
    pub fn show_siblings(&mut self, number: usize, subflows: &mut [Subflow]) {
        if !self.coupled {
            return;
        }
        self.catch_up(subflows);
        let subflow = &mut subflows[number];
        let (own, is_open) = (self.place(number), self.open & 1 << number != 0);
        if !is_open {
            self.siblings.insert(own, subflow.tcp.sibling());
        }
        if let Some(siblings) = subflow.tcp.siblings() {
            siblings.see(&self.siblings, own);
        }
        if !is_open {
            self.siblings.remove(own);
        }
    }
}
