//! Dynamic right-sizing of receive buffers.

use vazao_engine::{Duration, Time};

/// Dynamic right-sizing (`tcp_rcv_space_adjust`, and `mptcp_rcv_space_adjust` for a whole connection): the buffer holds
/// several times what the application read in the last round trip, so that it never limits a sender that doubles its
/// window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RightSizing {
    pub since: Time,
    /// First octet that was not read then.
    from: u64,
    /// Most octets read in a round trip.
    pub most: u64,
}

impl RightSizing {
    /// Starts at octet `from`, as if `most` octets had been read in a round trip.
    pub fn new(from: u64, most: u64) -> Self {
        RightSizing { since: Time::ZERO, from, most }
    }

    /// Returns how many octets the buffer must hold, once in a round trip if more was read than in any before; all before
    /// octet `read` was.
    pub fn measure(&mut self, now: Time, rtt: Duration, read: u64, advertised: u64) -> Option<u64> {
        if rtt == Duration::ZERO || now.since(self.since) < rtt {
            return None;
        }
        let taken = read - self.from;
        (self.since, self.from) = (now, read);
        if taken <= self.most {
            return None;
        }
        // Twice the octets read, plus as much again in proportion to the growth over the previous round trip.
        let twice = 2 * taken + 16 * advertised;
        let growth = (taken - self.most) as f64 / self.most as f64;
        self.most = taken;
        Some(twice.saturating_add((2.0 * twice as f64 * growth) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice 20 000 octets and 16 segments of 1000, and twice that again as the rate has doubled; nothing within a round
    /// trip, nor where no more is read.
    #[test]
    fn the_buffer_keeps_ahead_of_what_is_read() {
        let mut sizing = RightSizing::new(0, 10_000);
        let mut at =
            |ms: u64, read| sizing.measure(Time::from_nanos(ms * 1_000_000), Duration::from_millis(10), read, 1000);
        assert_eq!([at(9, 20_000), at(10, 20_000), at(19, 60_000), at(20, 30_000)], [None, Some(168_000), None, None]);
    }
}
