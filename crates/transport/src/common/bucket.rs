//! Data leaves no faster than a rate in the long run, and in bursts that time without sending has earned.

use vazao_engine::{Duration, Rate, Time};

/// The leaky bucket of RFC 9002 section 7.7: it fills at a rate until it holds a burst, and what leaves is taken out of it. Unlike
/// with a [`Pacer`](crate::common::Pacer), time in which something else kept the sender back is not lost; and nothing waits for more
/// than what it takes itself.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    /// When it is full again, and when there is enough in it for a packet.
    full: Time,
    release: Time,
    /// The rate that it last filled at, and what a burst takes at it but for one packet.
    rate: Rate,
    margin: Duration,
}

impl Bucket {
    /// Whether a packet may leave now.
    #[inline]
    pub fn is_open(&self, now: Time) -> bool {
        self.release <= now
    }

    /// When the next packet may leave; in the past, or now, if nothing keeps it.
    #[inline]
    pub fn release(&self) -> Time {
        self.release
    }

    /// A packet of `bytes` leaves, of `datagram` at most as all do; `burst` of those fill the bucket.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: u64, rate: Rate, burst: u64, datagram: u64) {
        if self.rate != rate {
            (self.rate, self.margin) = (rate, rate.time_for((burst - 1) * datagram));
        }
        self.full = self.full.max(now).saturating_add(rate.time_for(bytes));
        self.release = Time::from_nanos(self.full.as_nanos().saturating_sub(self.margin.as_nanos()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 1000 bytes a millisecond, and ten in a burst.
    const RATE: Rate = Rate::from_bps(8_000_000);

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    /// Sends while it may, at most so many: how many went.
    fn send(bucket: &mut Bucket, now: Time, most: usize) -> usize {
        let mut sent = 0;
        while sent < most && bucket.is_open(now) {
            bucket.on_sent(now, 1000, RATE, 10, 1000);
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

    /// Section 7.7 lets what has filled up leave, however long it took: a packet each millisecond, ten at most.
    #[test]
    fn silence_earns_as_much_as_a_burst() {
        for (silence_us, earned) in [(0, 0), (999, 0), (1000, 1), (3500, 3), (9999, 9), (10_000, 10), (1_000_000, 10)] {
            let mut bucket = Bucket::default();
            assert_eq!(send(&mut bucket, at(5000), 100), 10);
            assert_eq!(send(&mut bucket, at(5000 + silence_us), 100), earned, "{silence_us} us");
        }
    }

    /// What its window keeps back for two milliseconds of each ten a sender makes up for: a burst, and a packet each of 1002 ms.
    #[test]
    fn a_sender_that_others_hold_back_keeps_its_rate() {
        let mut bucket = Bucket::default();
        let mut sent = send(&mut bucket, at(0), 100);
        for round in 1..=100 {
            sent += send(&mut bucket, at(10_000 * round), 2);
            sent += send(&mut bucket, at(10_000 * round + 2000), 100);
        }
        assert_eq!(sent, 10 + 1002);
    }

    /// The bound by which a token bucket is defined, for senders that come at any time with any number of packets.
    #[test]
    fn no_interval_lets_out_more_than_a_burst_and_its_share() {
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
