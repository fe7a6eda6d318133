//! Common state of all window-based congestion controls.

use crate::slow_start::SlowStart;
use crate::window::Window;
use crate::{Ack, Congestion, Sending, Siblings, Signal, Steering};
use vazao_engine::{Duration, Rate, Time, fetch};

/// A congestion control as a transport protocol sees it. Built-in and user-written ones are called through this.
pub trait CongestionControl: Send {
    /// Handles the end of the handshake, with its round-trip time if a SYN that was sent once measured one.
    fn on_established(&mut self, _rtt: Option<Duration>) {}
    /// Takes over the slow-start threshold that an earlier connection left (RFC 9040), before data flows.
    fn recall(&mut self, _threshold: u64) {}
    /// Takes an acknowledgement's measurements before losses are looked for, after which [`on_ack`](Self::on_ack) adjusts the
    /// window, as in Linux (pkts_acked before cong_control). Returns whether it took them.
    fn observe(&mut self, _ack: &Ack) -> bool {
        false
    }
    /// New data was acknowledged, or a duplicate acknowledgement arrived.
    fn on_ack(&mut self, ack: &Ack);
    /// Handles a sign of congestion.
    fn on_congestion(&mut self, congestion: &Congestion);
    /// Handles the end of a recovery with `flight` bytes in the network: a window that is far above must not become a burst
    /// (RFC 6582 section 3.2 step 3, option 1). A sender that came down to the threshold by itself says `u64::MAX`.
    fn on_recovered(&mut self, _flight: u64) {}
    /// Restricts the window to `cwnd` at most and the threshold to `threshold` at least: an unused window is not known
    /// to be available any more (RFC 5681 section 4.1, RFC 7661). Rate-based controls probe for it anyway.
    fn restrict(&mut self, _cwnd: u64, _threshold: u64) {}
    /// Undoes the last reduction, which was spurious: late data was taken for lost (RFC 4015, RFC 3708).
    fn on_spurious(&mut self, _now: Time) {}
    /// Data is about to leave; told only to a control that [wants rates](Self::wants_rate).
    fn on_send(&mut self, _sending: &Sending) {}
    /// Returns whether it wants delivery rates: acknowledgements then carry a [sample](Ack::rate), which costs the sender a
    /// little for each packet.
    fn wants_rate(&self) -> bool {
        false
    }
    /// Returns whether it may ever name a [pacing rate](Self::pacing_rate); asked once, at the start.
    fn paces(&self) -> bool {
        self.pacing_rate().is_some()
    }
    /// Returns whether a window that falls on an acknowledgement, without a loss, may come down over a round trip as it
    /// does for a loss. Most that step back mean it at once.
    fn falls_gradually(&self) -> bool {
        false
    }
    /// Returns whether it lives by marks (RFC 8257): ECN is offered, and the receiver is to tell of each marked byte.
    fn wants_marks(&self) -> bool {
        false
    }
    /// Returns whether it wants the [one-way delay](Ack::one_way) of what is acknowledged.
    fn wants_one_way(&self) -> bool {
        false
    }
    /// Returns its view of the other paths of its connection: the owner of several paths is to
    /// [show](Siblings::see) it them just before each event. `None`: it looks at no other path.
    fn siblings(&mut self) -> Option<&mut Siblings> {
        None
    }
    /// Returns the window and the rate that the outside sets, if it is [steered](crate::Steered). `None`: it decides by itself.
    fn steering(&mut self) -> Option<&mut Steering> {
        None
    }
    /// Returns the rate at which data is to leave, where the control knows one; a sender that paces derives it from the
    /// window otherwise.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Congestion window in bytes, at least one segment.
    fn cwnd(&self) -> u64;
    /// Slow-start threshold in bytes; `u64::MAX` while there is none.
    fn ssthresh(&self) -> u64;
    /// Returns whether the window is below the threshold and doubling.
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
    /// Returns the name of the phase that the control is in, where its source names any beyond slow start, avoidance and
    /// recovery.
    fn phase(&self) -> Option<&'static str> {
        None
    }
    /// Returns whether a first or second duplicate acknowledgement suffices to retransmit data sent `age` ago (TCP Vegas).
    fn retransmit_early(&self, _age: Duration) -> bool {
        false
    }
    /// Fetches what every acknowledgement needs into the cache.
    fn fetch(&self) {}
}

/// Initial state of every control.
pub struct Setup {
    /// Payload bytes of a full packet.
    pub mss: u64,
    /// Initial window in bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold in bytes; `None`: as high as possible (RFC 5681 section 3.1).
    pub initial_ssthresh: Option<u64>,
    /// Growth of the window below the threshold.
    pub slow_start: Box<dyn SlowStart>,
    /// The connection's own seed, for what a control leaves to chance: streams are named by their purpose.
    pub seed: u64,
}

/// The state of a window, in bytes (fractions accumulate, so they are floats).
#[derive(Clone, Copy, Debug)]
pub struct WindowState {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold; infinite while there is none.
    pub ssthresh: f64,
    /// Payload bytes of a full packet.
    pub mss: f64,
}

impl WindowState {
    /// Returns the window in segments, the unit most papers reason in.
    pub fn segments(&self) -> f64 {
        self.cwnd / self.mss
    }
    /// Returns whether slow start rules.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// Returns the part of the window that was in use: RFC 5681's FlightSize, which an application-limited sender's window
    /// may far exceed, without the segments that limited transmit sent beyond the window.
    pub fn in_use(&self, congestion: &Congestion) -> f64 {
        self.cwnd.min(congestion.flight as f64)
    }
}

/// A window-based congestion control: one algorithm's growth and decrease inside what all of them share.
pub struct Controller<W> {
    state: WindowState,
    slow_start: Box<dyn SlowStart>,
    window: W,
    /// Window and threshold before the last reduction.
    before: (f64, f64),
    /// Bytes by which slow start goes on beyond the threshold.
    beyond_threshold: f64,
}

impl<W: Window> Controller<W> {
    /// Creates a controller at the start of a connection.
    pub fn new(setup: Setup, window: W) -> Self {
        let state = WindowState {
            cwnd: setup.initial_window as f64,
            ssthresh: setup.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes as f64),
            mss: setup.mss as f64,
        };
        Controller {
            state,
            slow_start: setup.slow_start,
            window,
            before: (state.cwnd, state.ssthresh),
            beyond_threshold: 0.0,
        }
    }

    /// Lets slow start go on at the threshold, to one segment beyond it, as Linux's did before 4.3.
    pub(crate) fn through_threshold(self) -> Self {
        Controller { beyond_threshold: self.state.mss, ..self }
    }

    /// Returns the window in bytes from which slow start no longer rules.
    fn end_of_slow_start(&self) -> f64 {
        self.state.ssthresh + self.beyond_threshold
    }

    /// Grows the window to the threshold at most, and lets the algorithm have what `ack` covers beyond.
    fn grow_to_threshold(&mut self, ack: &Ack) {
        let state = &mut self.state;
        let grown = self.slow_start.grow(state, ack).max(state.mss);
        state.cwnd = grown.min(state.ssthresh.max(state.mss));
        if grown > state.cwnd && self.window.counts_what_slow_start_leaves() {
            let left = Ack { acked: (grown - state.cwnd) as u64, ..*ack };
            state.cwnd = self.window.grow(state, &left).max(state.mss);
        }
    }

    /// Ends slow start without a loss. The algorithm may want to step back from the overshoot it noticed.
    fn end_slow_start(&mut self) {
        self.state.cwnd = self.window.after_slow_start(&self.state).max(self.state.mss);
        self.state.ssthresh = self.state.cwnd - self.beyond_threshold;
    }
}

impl<W: Window> CongestionControl for Controller<W> {
    fn on_established(&mut self, rtt: Option<Duration>) {
        if let Some(window) = self.window.initial(&self.state, rtt) {
            self.state.cwnd = window.max(self.state.mss);
        }
    }

    fn observe(&mut self, ack: &Ack) -> bool {
        self.window.observe(&self.state, ack);
        if self.slow_start.observe(&self.state, ack) {
            self.end_slow_start();
        }
        true
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.observed {
            self.window.observe(&self.state, ack);
        }
        if !ack.in_recovery
            && let Some(lower) = self.window.yield_early(&self.state, ack)
        {
            self.state.cwnd = lower.cwnd.clamp(self.state.mss, self.state.cwnd);
            self.state.ssthresh = lower.ssthresh.max(2.0 * self.state.mss);
            return;
        }
        if ack.acked == 0 || ack.in_recovery || !ack.window_limited {
            return;
        }
        let end = self.end_of_slow_start();
        let state = &mut self.state;
        if state.cwnd >= end {
            state.cwnd = self.window.grow(state, ack).max(state.mss);
            if self.window.rests_below_threshold() {
                state.ssthresh = state.ssthresh.min(state.cwnd - self.beyond_threshold);
            }
        } else if self.window.leave_slow_start(state, ack) || self.slow_start.leave(state, ack) {
            self.end_slow_start();
        } else {
            match self.window.slow_start(state, ack) {
                None if end == state.ssthresh && self.slow_start.stops_at_threshold() => self.grow_to_threshold(ack),
                own => {
                    let grown = own.unwrap_or_else(|| self.slow_start.grow(state, ack));
                    // One acknowledgement may cover much: beyond the threshold it adds RFC 3465's two segments at most.
                    let beyond = if end > state.ssthresh { end } else { state.cwnd + 2.0 * state.mss };
                    state.cwnd = grown.min(state.ssthresh.max(beyond)).max(state.mss);
                }
            }
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let state = &mut self.state;
        if congestion.signal != Signal::RepeatedTimeout {
            self.before = (state.cwnd, state.ssthresh);
            let least = self.window.least_threshold() * state.mss;
            state.ssthresh = self.window.shrink(state, congestion).max(least);
        }
        state.cwnd = match congestion.signal {
            // A threshold may lie above the window (Westwood's); a loss never raises the window.
            Signal::Loss | Signal::Mark => state.ssthresh.min(state.cwnd),
            Signal::Restart | Signal::Timeout | Signal::RepeatedTimeout => state.mss,
        };
        if !matches!(congestion.signal, Signal::Loss | Signal::Mark) {
            self.slow_start.restart(congestion.now);
        }
    }

    fn on_recovered(&mut self, flight: u64) {
        let state = &mut self.state;
        if let Some(window) = self.window.recovered(state) {
            state.cwnd = window.max(2.0 * state.mss);
            state.ssthresh = state.cwnd;
        }
        state.cwnd = state.cwnd.min((flight as f64).max(state.mss) + state.mss);
    }

    fn recall(&mut self, threshold: u64) {
        self.state.ssthresh = threshold as f64;
    }

    fn restrict(&mut self, cwnd: u64, threshold: u64) {
        self.state.cwnd = self.state.cwnd.min(cwnd as f64);
        self.state.ssthresh = self.state.ssthresh.max(threshold as f64);
    }

    fn on_spurious(&mut self, now: Time) {
        let (cwnd, ssthresh) = self.before;
        self.state.cwnd = self.state.cwnd.max(cwnd);
        self.state.ssthresh = self.state.ssthresh.max(ssthresh);
        self.window.undo(now);
    }

    fn falls_gradually(&self) -> bool {
        self.window.falls_gradually()
    }
    fn wants_marks(&self) -> bool {
        self.window.wants_marks()
    }
    fn wants_one_way(&self) -> bool {
        self.window.wants_one_way()
    }
    fn siblings(&mut self) -> Option<&mut Siblings> {
        self.window.siblings()
    }
    fn cwnd(&self) -> u64 {
        self.state.cwnd as u64
    }
    fn ssthresh(&self) -> u64 {
        self.state.ssthresh as u64
    }
    fn in_slow_start(&self) -> bool {
        self.state.cwnd < self.end_of_slow_start()
    }
    fn phase(&self) -> Option<&'static str> {
        self.slow_start.phase().filter(|_| self.in_slow_start())
    }
    fn retransmit_early(&self, age: Duration) -> bool {
        self.window.retransmit_early(age)
    }
    fn fetch(&self) {
        fetch(&self.state);
        fetch(&self.window);
        fetch(&self.before);
    }
}
