/// Sends at an exact rate: the fraction of a nanosecond that each packet leaves over is carried to the next, so that
/// long-run throughput is exact. The quotient and remainder of the last size are kept, as most packets are alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmitter {
    pub rate: u64,
    /// Link-header bytes added to each packet.
    pub overhead: u32,
    size: u32,
    quotient: u64,
    remainder: u64,
    carry: u64,
    /// Time at which the last accepted packet has been sent.
    busy: u64,
}

impl Transmitter {
    pub fn new(rate: u64, overhead: u32) -> Transmitter {
        Transmitter { rate, overhead, size: u32::MAX, quotient: 0, remainder: 0, carry: 0, busy: 0 }
    }

    /// Returns for how long it has sent by `now`, in nanoseconds, if it has taken so many packets and bytes, to the nanosecond a
    /// packet.
    pub fn worked(&self, now: u64, packets: u64, bytes: u64) -> u64 {
        let bits = 8 * (u128::from(bytes) + u128::from(packets) * u128::from(self.overhead));
        let all = bits * 1_000_000_000 / u128::from(self.rate);
        u64::try_from(all).unwrap_or(u64::MAX).saturating_sub(self.busy.saturating_sub(now))
    }

    /// Returns whether the last packet had this size.
    #[inline]
    pub fn knows(&self, size: u32) -> bool {
        size == self.size
    }

    /// Learns how long a packet of this size takes.
    pub fn learn(&mut self, size: u32) {
        let work = u64::from(size + self.overhead) * 8_000_000_000;
        self.size = size;
        self.quotient = work / self.rate;
        self.remainder = work % self.rate;
    }

    /// Returns the times at which a packet of the known size, ready at `now`, starts to be sent and has been sent.
    #[inline]
    pub fn send(&mut self, now: u64) -> (u64, u64) {
        // A packet that is ready just when the last one has been sent still has that one's fraction ahead of it.
        let start = if self.busy >= now {
            self.busy
        } else {
            self.carry = 0;
            now
        };
        self.carry += self.remainder;
        self.busy = start + self.quotient;
        if self.carry >= self.rate {
            self.carry -= self.rate;
            self.busy += 1;
        }
        (start, self.busy)
    }
}
