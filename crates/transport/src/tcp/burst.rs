//! Sending in bursts, as Linux does.

use super::chronograph::Wait;
use super::config::{Bursting, Config};
use super::octets::Octets;
use super::peer_window::PeerWindow;
use super::scoreboard::Scoreboard;
use super::send_buffer::SendBuffer;
use super::window::CongestionWindow;
use crate::common::RttEstimator;
use std::ops::Range;
use vazao_engine::{Duration, Time};

/// State of burst transmission. Linux passes its NIC several segments at once (`tcp_write_xmit`, net/ipv4/tcp_output.c).
/// The last segment of a burst carries PSH, which a Linux receiver acknowledges at once. A burst that could be larger
/// is deferred to the next acknowledgement if that is due soon (`tcp_tso_should_defer`). The delay itself costs little,
/// but data sent in a burst is lost in a burst.
#[derive(Debug)]
pub(crate) struct Bursts {
    /// Whether bursts are deferred to become larger.
    defer: bool,
    last_sent: Time,
    /// Octets of the last burst, and when it was decided on.
    octets: Range<u64>,
    at: Time,
    pub buffer: SendBuffer,
}

/// Bursts are not deferred this long after the last segment, nor for an acknowledgement due later than this.
const SHORT: Duration = Duration::from_millis(1);

/// Limits of a burst: the data of 1/1024 s (sk_pacing_shift), at least two segments and at most `MAX_BURST` bytes.
const MIN_SEGMENTS: u64 = 2;
const MAX_BURST: u64 = 65_215;

/// Newly opened window is used at once if it is at least 1 / this of the window (tcp_tso_win_divisor).
const WINDOW_PART: u64 = 3;

/// Sender as its bursts see it.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub octets: &'a Octets,
    pub peer: &'a PeerWindow,
    pub window: &'a CongestionWindow,
    pub board: &'a Scoreboard,
    pub rtt: &'a RttEstimator,
    /// Octets that may be in the network, and those that are.
    pub allowed: u64,
    pub pipe: u64,
    /// Whether nothing is being repaired.
    pub is_calm: bool,
    /// Whether a segment that is not full is unacknowledged.
    pub has_short: bool,
}

impl View<'_> {
    /// Octets of full segments that the congestion window lets out.
    fn opening(&self) -> u64 {
        self.allowed.saturating_sub(self.pipe) / self.peer.mss * self.peer.mss
    }

    /// Octets that the peer's window lets out.
    fn offered(&self) -> u64 {
        self.peer.edge.saturating_sub(self.octets.nxt)
    }
}

/// Decision about new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It leaves.
    Begin,
    /// The send buffer holds none, and the peer's window is closed.
    Closed,
    /// It waits.
    Defer(Wait),
}

impl Bursts {
    /// Creates the state, or `None` if segments leave one by one.
    pub fn for_config(config: &Config, mss: u64) -> Option<Box<Self>> {
        let bursts = config.bursts;
        let defer = bursts == Bursting::Deferred;
        let buffer = SendBuffer::new(1, mss, config.send_buffer, config.largest_send_buffer());
        let new = || Bursts { defer, last_sent: Time::ZERO, octets: 0..0, at: Time::ZERO, buffer };
        (bursts != Bursting::Off).then(|| Box::new(new()))
    }

    /// Records the time of a transmission.
    #[inline]
    pub fn on_sent(&mut self, now: Time) {
        self.last_sent = now;
    }

    /// Begins a burst of retransmissions at segment `number`, which begins at octet `start`: it extends over the following
    /// segments of the same send-buffer run that are lost too and fit in the window.
    #[cold]
    pub fn begin_retransmission(&mut self, now: Time, number: u64, start: u64, view: &View<'_>) {
        if self.at == now && self.octets.contains(&start) {
            return;
        }
        let run = self.buffer.run_end(start);
        let room = view.allowed.saturating_sub(view.pipe) / view.peer.mss;
        let lost = (number..).map_while(|number| view.board.get(number)).take_while(|sent| sent.is_pending());
        let ends = lost.map(|sent| sent.start + u64::from(sent.span)).take_while(|&end| end <= run);
        let end = ends.take(room.max(1) as usize).last().unwrap_or(start);
        (self.octets, self.at) = (start..end, now);
    }

    /// Whether a push by the application, or a burst of several segments of `mss`, ends at octet `end`.
    #[inline]
    pub fn ends_at(&self, end: u64, mss: u64) -> bool {
        let Range { start, end: last } = self.octets;
        last == end && last - start > mss || self.buffer.is_pushed(end)
    }

    /// Unsent octets that the send buffer has taken from the application.
    #[inline]
    pub fn unsent(&self, octets: &Octets) -> u64 {
        self.buffer.written.min(octets.end).saturating_sub(octets.nxt)
    }

    /// Octets left of the burst that was decided on now, if one is under way.
    #[inline]
    pub fn rest(&self, now: Time, nxt: u64) -> Option<u64> {
        (self.at == now && nxt < self.octets.end).then(|| self.octets.end - nxt)
    }

    /// Whether the burst that the windows admit now can leave at once, as there is data in the buffer for it.
    pub fn has_data_for(&self, view: &View<'_>) -> bool {
        view.opening() > 0 && self.unsent(view.octets) > 0
    }

    /// Gives the application room in the send buffer; returns whether that wakes it, so that it writes.
    pub fn wake_writer(&mut self, view: &View<'_>) -> bool {
        self.make_room(0, view);
        self.buffer.resume()
    }

    /// Updates the free space of the send buffer, when `leaving` octets are sent or an acknowledgement came.
    fn make_room(&mut self, leaving: u64, view: &View<'_>) {
        let (mss, cwnd) = (view.peer.mss, view.window.cwnd);
        let spare = view.pipe + leaving + mss <= cwnd;
        self.buffer.make_room(view.octets.una, mss, cwnd / mss, spare);
    }

    /// Begins a burst if there is data that need not be deferred: what the application has written, or else writes now.
    pub fn begin(&mut self, now: Time, view: &View<'_>) -> Decision {
        let can_leave = view.opening() > 0 && view.octets.nxt + view.peer.mss <= view.peer.edge;
        let urgent = self.fill(view, can_leave);
        let decision = self.next(now, view, urgent);
        if matches!(decision, Decision::Defer(_)) {
            self.fill(view, false);
        }
        decision
    }

    fn fill(&mut self, view: &View<'_>, can_leave: bool) -> bool {
        // Half the largest window seen, so that two runs are in flight.
        let much = view.peer.largest / 2;
        let goal = (much.min(MAX_BURST) / view.peer.mss).max(1) * view.peer.mss;
        let &Octets { una, nxt, end, .. } = view.octets;
        self.buffer.fill(una, nxt, end, (goal, much), can_leave)
    }

    /// Decides on the next burst.
    fn next(&mut self, now: Time, view: &View<'_>, urgent: bool) -> Decision {
        let (nxt, mss) = (view.octets.nxt, view.peer.mss);
        let (opening, offered, largest) = (view.opening(), view.offered(), largest_burst(view));
        // Half a window at most, so that two bursts are in flight.
        let most = opening.min(largest).min((view.allowed / 2 / mss).max(1) * mss);
        let run = self.buffer.grow(nxt, most);
        if !urgent && self.waits(now, opening.min(offered), largest, run, view) {
            // A larger run waits for the receiver's window (tcp_tso_should_defer).
            let is_run_short = offered > run - nxt;
            let reason = if is_run_short { Wait::Burst } else { Wait::PeerWindow };
            return Decision::Defer(if opening < offered { Wait::CongestionWindow } else { reason });
        }
        let leaving = admitted(run - nxt, most, offered, view);
        if leaving == 0 && offered < mss {
            return if run > nxt { Decision::Defer(Wait::PeerWindow) } else { Decision::Closed };
        }
        if leaving > 0 {
            self.buffer.take(nxt + leaving, view.peer.probe);
            (self.octets, self.at) = (nxt..nxt + leaving, now);
            self.make_room(leaving, view);
        }
        Decision::Begin
    }

    /// Whether to defer because the `room` in the windows is too small for a burst and an acknowledgement that would
    /// open them further is due. A run that the application will not extend is not deferred.
    fn waits(&self, now: Time, room: u64, largest: u64, run: u64, view: &View<'_>) -> bool {
        let Some(front) = view.board.front().filter(|_| self.defer) else { return false };
        let (left, srtt) = (view.octets.unsent(), view.rtt.srtt());
        let more_would_come = left > view.peer.mss
            && !(view.octets.fin && left <= room)
            && (self.buffer.is_last(run) || room < run - view.octets.nxt);
        let small = largest.min(view.window.cwnd.min(view.peer.window) / WINDOW_PART);
        view.is_calm
            && more_would_come
            && (1..small).contains(&room)
            && now.since(self.last_sent) <= SHORT
            && front.at + srtt <= now + SHORT.min(srtt / 2)
    }
}

/// Octets of a run of `length` that may leave when the congestion window admits `most` and the peer's window
/// `offered` (tcp_mss_split_point, net/ipv4/tcp_output.c). A whole segment must fit: all of a short run, or the
/// first segment of a long one. What fits after it leaves too, even as a partial segment, unless another partial
/// segment is unacknowledged (Minshall's variant of Nagle's algorithm). A probe takes whatever fits.
fn admitted(length: u64, most: u64, offered: u64, view: &View<'_>) -> u64 {
    let mss = view.peer.mss;
    if offered < length.min(mss) {
        return if view.peer.probe { offered } else { 0 };
    }
    let needed = length.min(offered);
    if most <= needed {
        return most;
    }
    if view.has_short { needed - needed % mss } else { needed }
}

/// Returns the largest burst: the pacing rate times about a millisecond (`tcp_tso_autosize`). The rate is twice the
/// window per round trip in slow start and 1.2 times near its end and later. Nearby peers get more at once.
fn largest_burst(view: &View<'_>) -> u64 {
    let mss = view.peer.mss;
    let percent = if view.window.is_far_below_threshold() { 200 } else { 120 };
    // Bytes per nanosecond times 10^9 / 1024 / 100, which does not overflow below a window of a terabyte.
    let window = view.window.cwnd.max(view.board.outstanding());
    let moment = (window * percent).saturating_mul(78_125) / 8 / view.rtt.srtt().as_nanos().max(1);
    let distance = (view.rtt.min().as_nanos() / 1_000) >> 9;
    let near = if distance < 32 { MAX_BURST >> distance } else { 0 };
    (moment.saturating_add(near).min(MAX_BURST) / mss).max(MIN_SEGMENTS) * mss
}
