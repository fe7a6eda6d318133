//! Time that a sender was busy, and time that only the receiver's window or its own send buffer limited it.

use vazao_engine::{Duration, Time};

/// Sender-limited times as in Linux's `tcp_chrono`, reported as `tcpi_busy_time`, `tcpi_rwnd_limited` (RFC 4898's
/// tcpEStatsPerfSndLimTimeRwin) and `tcpi_sndbuf_limited`. They change only where the sender finds that it can, or cannot,
/// send.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chronograph {
    /// Reason why the sender stopped sending last.
    pub wait: Wait,
    /// Time with data to send or unacknowledged.
    pub busy: Stopwatch,
    /// Time with data that the congestion window and the pacer admit but the receiver's window does not.
    pub rwnd_limited: Stopwatch,
    /// Time with everything sent that the send buffer holds, while it keeps the application from writing more and the
    /// congestion window would let more out.
    pub sndbuf_limited: Stopwatch,
    /// Whether the send buffer did not take all of the application's last write.
    pub blocked: bool,
}

/// Reason why a sender stops sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Everything is acknowledged.
    #[default]
    Finished,
    /// Everything written is sent; whether only the send buffer keeps the application from writing more.
    Application { lacks_buffer: bool },
    /// The receiver's window is closed, or too small for a segment.
    PeerWindow,
    /// The congestion window is full.
    CongestionWindow,
    /// The pacer delays the next segment.
    Pacer,
    /// Nagle's algorithm keeps a short segment back.
    Nagle,
    /// A burst waits for the application to enlarge it.
    Burst,
    /// F-RTO waits for the answer to the new data that it let out (RFC 5682).
    Answer,
}

impl Chronograph {
    /// Records why the sender stopped sending.
    #[inline]
    pub fn on_wait(&mut self, now: Time, wait: Wait) {
        self.wait = wait;
        match wait {
            Wait::PeerWindow => self.rwnd_limited.begin(now),
            // Nagle's algorithm is asked before the windows are.
            Wait::Nagle => {}
            _ => self.rwnd_limited.end(now),
        }
        match wait {
            Wait::Finished => {
                self.sndbuf_limited.end(now);
                self.busy.end(now);
            }
            Wait::Application { lacks_buffer: true } => self.sndbuf_limited.begin(now),
            _ => {}
        }
    }
}

/// Stopwatch: total time that a condition has held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    /// Start of the current interval; `Time::NEVER` while the condition does not hold.
    since: Time,
    /// Total of the intervals before.
    before: Duration,
}

impl Default for Stopwatch {
    fn default() -> Self {
        Stopwatch { since: Time::NEVER, before: Duration::ZERO }
    }
}

impl Stopwatch {
    /// Starts an interval unless one is running.
    #[inline]
    pub fn begin(&mut self, now: Time) {
        if self.since == Time::NEVER {
            self.since = now;
        }
    }

    /// Ends the interval, if one is running.
    #[inline]
    pub fn end(&mut self, now: Time) {
        if self.since != Time::NEVER {
            self.before += now.since(self.since);
            self.since = Time::NEVER;
        }
    }

    /// Total time including the running interval.
    pub fn total(&self, now: Time) -> Duration {
        let mut all = *self;
        all.end(now);
        all.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_add_up() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut stopwatch = Stopwatch::default();
        stopwatch.end(at(5));
        assert_eq!(stopwatch.total(at(7)), Duration::ZERO);
        stopwatch.begin(at(10));
        stopwatch.begin(at(12));
        assert_eq!(stopwatch.total(at(13)), Duration::from_millis(3));
        stopwatch.end(at(20));
        stopwatch.begin(at(30));
        assert_eq!(stopwatch.total(at(31)), Duration::from_millis(11));
    }
}
