//! Leaky-bucket pacing: a long-term rate, with bursts allowed after idle time.

use vazao_engine::{Duration, Rate, Time};

/// Leaky bucket of RFC 9002 section 7.7: it fills at a rate up to the size of a burst, and each packet takes its size
/// out of it. Unlike a [`Pacer`](crate::common::Pacer), it keeps the credit of time in which the sender was blocked by
/// something else. What waits for credit waits for that of a whole [train](Burst::train).
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    /// When the bucket will be full, and when it will hold enough for what comes next.
    full: Time,
    release: Time,
    /// Rate of the last filling, and the time that a burst takes at that rate less one packet, and less a train.
    rate: Rate,
    margins: [Duration; 2],
}

/// Sizes of what leaves at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    /// Full datagrams that the bucket holds.
    pub datagrams: u64,
    /// Datagrams that a sender hands on together as a super-packet (UDP GSO); 1: each by itself. Less than `datagrams`:
    /// rounding may take one.
    pub train: u64,
    /// Bytes of a full datagram.
    pub size: u64,
}

impl Bucket {
    /// Whether a packet may leave now.
    #[inline]
    pub fn is_open(&self, now: Time) -> bool {
        self.release <= now
    }

    /// Returns the earliest time at which the next packet may leave; now or in the past if pacing does not delay it.
    #[inline]
    pub fn release(&self) -> Time {
        self.release
    }

    /// Records that a packet of `bytes`, at most a full datagram, leaves.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: u64, rate: Rate, burst: &Burst) {
        if self.rate != rate {
            self.rate = rate;
            let packet = rate.time_for((burst.datagrams - 1) * burst.size);
            // In whole datagrams, as `full` grows: rounding must not keep the last of a train back.
            let train = packet.saturating_sub(rate.time_for(burst.size) * (burst.train - 1));
            self.margins = [packet, train];
        }
        self.full = self.full.max(now).saturating_add(rate.time_for(bytes));
        let before = |margin: Duration| Time::from_nanos(self.full.as_nanos().saturating_sub(margin.as_nanos()));
        let [packet, train] = self.margins;
        self.release = before(packet);
        if self.release > now {
            self.release = before(train);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 1000 bytes a millisecond, and ten in a burst.
    const RATE: Rate = Rate::from_bps(8_000_000);
    const SINGLY: Burst = Burst { datagrams: 10, train: 1, size: 1000 };

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    /// Sends until pacing blocks, at most `most` packets; returns how many left.
    fn send(bucket: &mut Bucket, now: Time, most: usize) -> usize {
        send_as(bucket, now, most, &SINGLY)
    }

    fn send_as(bucket: &mut Bucket, now: Time, most: usize, burst: &Burst) -> usize {
        let mut sent = 0;
        while sent < most && bucket.is_open(now) {
            bucket.on_sent(now, 1000, RATE, burst);
            sent += 1;
        }
        sent
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut bucket = Bucket::default();
        assert_eq!(send(&mut bucket, at(5000), 100), 10);
        for us in [6000, 7000, 8000] {
            assert_eq!(bucket.release(), at(us));
            assert_eq!(send(&mut bucket, at(us), 100), 1);
        }
    }

    /// Section 7.7: accumulated credit can be used later: a packet per millisecond, ten at most.
    #[test]
    fn idle_time_earns_at_most_a_burst() {
        for (silence_us, earned) in [(0, 0), (999, 0), (1000, 1), (3500, 3), (9999, 9), (10_000, 10), (1_000_000, 10)] {
            let mut bucket = Bucket::default();
            assert_eq!(send(&mut bucket, at(5000), 100), 10);
            assert_eq!(send(&mut bucket, at(5000 + silence_us), 100), earned, "{silence_us} us");
        }
    }

    /// A sender blocked by its window for two milliseconds in ten catches up: a burst, plus a packet for each of 1002
    /// ms.
    #[test]
    fn a_blocked_sender_catches_up() {
        let mut bucket = Bucket::default();
        let mut sent = send(&mut bucket, at(0), 100);
        for round in 1..=100 {
            sent += send(&mut bucket, at(10_000 * round), 2);
            sent += send(&mut bucket, at(10_000 * round + 2000), 100);
        }
        assert_eq!(sent, 10 + 1002);
    }

    /// A super-packet of four waits until there is credit for all of it, and then leaves whole.
    #[test]
    fn a_train_leaves_whole() {
        let (mut bucket, burst) = (Bucket::default(), Burst { train: 4, ..SINGLY });
        assert_eq!(send_as(&mut bucket, at(5000), 100, &burst), 10);
        for us in [9000, 13_000, 17_000] {
            assert_eq!(bucket.release(), at(us));
            assert_eq!(send_as(&mut bucket, at(us), 100, &burst), 4);
        }
    }

    /// At a rate of which a datagram takes no whole number of nanoseconds.
    #[test]
    fn rounding_divides_no_train() {
        let (mut bucket, burst) = (Bucket::default(), Burst { datagrams: 11, train: 10, size: 1452 });
        let mut now = at(0);
        for _ in 0..1000 {
            let mut sent = 0;
            while bucket.is_open(now) {
                bucket.on_sent(now, 1452, Rate::from_bps(7_654_321), &burst);
                sent += 1;
            }
            assert_eq!(sent, 10);
            now = bucket.release();
        }
    }

    /// Defining bound of a token bucket, for senders that send any number of packets at any time.
    #[test]
    fn no_interval_exceeds_a_burst_plus_the_rate() {
        let mut stream = vazao_engine::RandomStream::new(1, "arrivals");
        let (mut bucket, mut now) = (Bucket::default(), 0);
        let mut sent: Vec<(u64, usize)> = Vec::new();
        for _ in 0..500 {
            now += (stream.uniform() * 6000.0) as u64;
            sent.push((now, send(&mut bucket, at(now), (stream.uniform() * 20.0) as usize)));
        }
        for (i, &(start, _)) in sent.iter().enumerate() {
            let mut total = 0;
            for &(end, count) in &sent[i..] {
                total += count as u64;
                assert!(total <= 10 + (end - start) / 1000, "{total} in {} us", end - start);
            }
        }
    }
}
