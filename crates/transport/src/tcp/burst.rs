//! Sending in bursts, as Linux does.

use super::config::{Bursting, Config};
use super::recovery::Episode;
use super::send_buffer::SendBuffer;
use super::sender::Sender;
use std::ops::Range;
use vazao_engine::{Duration, Time};

/// State of sending in bursts. Linux passes its NIC several segments at once (`tcp_write_xmit`, net/ipv4/tcp_output.c).
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

impl Bursts {
    /// Creates the state, or `None` if segments leave one by one.
    pub fn for_config(config: &Config, mss: u64) -> Option<Box<Self>> {
        let bursts = config.bursts;
        let defer = bursts == Bursting::Deferred;
        let buffer = SendBuffer::new(1, mss, config.send_buffer, config.largest_send_buffer());
        let new = || Bursts { defer, last_sent: Time::ZERO, octets: 0..0, at: Time::ZERO, buffer };
        (bursts != Bursting::Off).then(|| Box::new(new()))
    }
}

impl Sender {
    /// Records the time of a transmission.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Time) {
        if let Some(bursts) = &mut self.bursts {
            bursts.last_sent = now;
        }
    }

    /// Begins a burst of retransmissions at segment `number`: it extends over the following segments of the same
    /// send-buffer run that are lost too and fit in the window.
    #[cold]
    pub(super) fn begin_retransmit_burst(&mut self, now: Time, number: u64, start: u64) {
        let Some(bursts) = &self.bursts else { return };
        if bursts.at == now && bursts.octets.contains(&start) {
            return;
        }
        let run = bursts.buffer.run_end(start);
        let room = self.allowance().saturating_sub(self.pipe()) / self.mss;
        let lost = (number..).map_while(|number| self.board.get(number)).take_while(|sent| sent.is_pending());
        let ends = lost.map(|sent| sent.start + u64::from(sent.span)).take_while(|&end| end <= run);
        let end = ends.take(room.max(1) as usize).last().unwrap_or(start);
        if let Some(bursts) = &mut self.bursts {
            (bursts.octets, bursts.at) = (start..end, now);
        }
    }

    /// Whether a push by the application, or a burst of several segments, ends at octet `end`.
    #[inline]
    pub fn ends_burst(&self, end: u64) -> bool {
        let ends = |octets: &Range<u64>| octets.end == end && octets.end - octets.start > self.mss;
        self.bursts.as_ref().is_some_and(|bursts| ends(&bursts.octets) || bursts.buffer.is_pushed(end))
    }

    /// Unsent octets available for sending; with bursts, those that the send buffer has taken from the application.
    #[inline]
    pub(super) fn unsent(&self) -> u64 {
        let end = self.bursts.as_ref().map_or(self.end, |bursts| bursts.buffer.written.min(self.end));
        end.saturating_sub(self.nxt)
    }

    /// End of the octets that the application cannot take back.
    pub fn taken(&self) -> u64 {
        if self.bursts.is_some() { self.nxt + self.unsent() } else { self.nxt }
    }

    /// Octets of the next segment: a full one, or the rest of the burst.
    #[inline]
    pub(super) fn next_segment(&self, now: Time) -> u64 {
        let most = match &self.bursts {
            Some(bursts) if bursts.at == now && self.nxt < bursts.octets.end => bursts.octets.end - self.nxt,
            _ => u64::MAX,
        };
        self.unsent().min(self.mss).min(most)
    }

    /// Whether new data is deferred although the windows admit it.
    #[inline]
    pub(super) fn defers(&mut self, now: Time, allowed: u64) -> bool {
        let decided = |bursts: &Bursts| bursts.at == now && self.nxt < bursts.octets.end;
        self.bursts.as_ref().is_some_and(|bursts| !decided(bursts)) && !self.begins_burst(now, allowed)
    }

    /// Begins a burst if there is data that need not be deferred. The application writes before that, or afterwards,
    /// when freed buffer space wakes it.
    fn begins_burst(&mut self, now: Time, allowed: u64) -> bool {
        let opening = allowed.saturating_sub(self.pipe()) / self.mss * self.mss;
        let begins = self.fill_and_begin(now, allowed, opening);
        if begins && opening > 0 && self.unsent() > 0 {
            return true;
        }
        self.make_room(0);
        let resumes = self.bursts.as_mut().is_some_and(|bursts| bursts.buffer.resume());
        if resumes { self.fill_and_begin(now, allowed, opening) } else { begins }
    }

    /// Updates the free space of the send buffer, when `leaving` octets are sent or an acknowledgement came.
    fn make_room(&mut self, leaving: u64) {
        let (una, mss, segments) = (self.una, self.mss, self.cwnd / self.mss);
        let spare = self.pipe() + leaving + mss <= self.cwnd;
        if let Some(bursts) = &mut self.bursts {
            bursts.buffer.make_room(una, mss, segments, spare);
        }
    }

    fn fill_and_begin(&mut self, now: Time, allowed: u64, opening: u64) -> bool {
        let can_leave = opening > 0 && self.nxt + self.mss <= self.edge;
        let urgent = self.fill_buffer(can_leave);
        let begins = self.next_burst(now, allowed, opening, urgent);
        if !begins {
            self.fill_buffer(false);
        }
        begins
    }

    fn fill_buffer(&mut self, can_leave: bool) -> bool {
        // Half the largest window seen, so that two runs are in flight.
        let much = self.largest_window / 2;
        let goal = (much.min(MAX_BURST) / self.mss).max(1) * self.mss;
        let (una, nxt, end) = (self.una, self.nxt, self.end);
        self.bursts.as_mut().is_some_and(|bursts| bursts.buffer.fill(una, nxt, end, (goal, much), can_leave))
    }

    fn next_burst(&mut self, now: Time, allowed: u64, opening: u64, urgent: bool) -> bool {
        let offered = self.edge.saturating_sub(self.nxt);
        let largest = self.largest_burst();
        // Half a window at most, so that two bursts are in flight.
        let most = opening.min(largest).min((allowed / 2 / self.mss).max(1) * self.mss);
        let Some(bursts) = &mut self.bursts else { return false };
        let run = bursts.buffer.grow(self.nxt, most);
        if !urgent && self.waits(now, opening.min(offered), largest, run) {
            self.window_limited = opening < offered;
            // A larger run waits for the receiver's window (tcp_tso_should_defer).
            if self.window_limited || offered > run - self.nxt {
                self.chronograph.rwnd_limited.end(now);
            } else {
                self.chronograph.rwnd_limited.begin(now);
            }
            return false;
        }
        let leaving = self.admitted(run - self.nxt, most, offered);
        let octets = self.nxt..self.nxt + leaving;
        if leaving == 0 && offered < self.mss {
            self.window_limited = false;
            self.persist(now);
            if run > self.nxt {
                self.chronograph.rwnd_limited.begin(now);
            }
            return run == self.nxt;
        }
        if let (Some(bursts), 1..) = (&mut self.bursts, leaving) {
            bursts.buffer.take(octets.end, self.probe);
            (bursts.octets, bursts.at) = (octets, now);
            self.make_room(leaving);
        }
        true
    }

    /// Octets of a run of `length` that may leave when the congestion window admits `most` and the peer's window
    /// `offered` (tcp_mss_split_point, net/ipv4/tcp_output.c). A whole segment must fit: all of a short run, or the
    /// first segment of a long one. What fits after it leaves too, even as a partial segment, unless another partial
    /// segment is unacknowledged (Minshall's variant of Nagle's algorithm). A probe takes whatever fits.
    fn admitted(&self, length: u64, most: u64, offered: u64) -> u64 {
        if offered < length.min(self.mss) {
            return if self.probe { offered } else { 0 };
        }
        let needed = length.min(offered);
        if most <= needed {
            return most;
        }
        if self.short_end > self.una { needed - needed % self.mss } else { needed }
    }

    /// Whether to defer because the `room` in the windows is too small for a burst and an acknowledgement that would
    /// open them further is due. A run that the application will not extend is not deferred.
    fn waits(&self, now: Time, room: u64, largest: u64, run: u64) -> bool {
        let Some(bursts) = self.bursts.as_ref().filter(|bursts| bursts.defer) else { return false };
        let Some(front) = self.board.front() else { return false };
        let left = self.end.saturating_sub(self.nxt);
        let more_would_come =
            left > self.mss && !(self.fin && left <= room) && (bursts.buffer.is_last(run) || room < run - self.nxt);
        let small = largest.min(self.cwnd.min(self.window) / WINDOW_PART);
        let srtt = self.rtt.srtt();
        self.episode == Episode::None
            && more_would_come
            && (1..small).contains(&room)
            && now.since(bursts.last_sent) <= SHORT
            && front.at + srtt <= now + SHORT.min(srtt / 2)
    }

    /// Returns the largest burst: the pacing rate times about a millisecond (`tcp_tso_autosize`). The rate is twice the
    /// window per round trip in slow start and 1.2 times near its end and later. Nearby peers get more at once.
    fn largest_burst(&self) -> u64 {
        let percent = if self.cwnd < self.control.ssthresh() / 2 { 200 } else { 120 };
        // Bytes per nanosecond times 10^9 / 1024 / 100, which does not overflow below a window of a terabyte.
        let window = self.cwnd.max(self.board.outstanding());
        let moment = (window * percent).saturating_mul(78_125) / 8 / self.rtt.srtt().as_nanos().max(1);
        let distance = (self.rtt.min().as_nanos() / 1_000) >> 9;
        let near = if distance < 32 { MAX_BURST >> distance } else { 0 };
        (moment.saturating_add(near).min(MAX_BURST) / self.mss).max(MIN_SEGMENTS) * self.mss
    }
}
