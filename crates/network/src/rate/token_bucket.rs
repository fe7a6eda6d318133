use super::Service;
use vazao_engine::Rate;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        rate: Rate = Kind::Rate, "tokens a second: what passes in the long run";
        burst: u64 = Kind::Size(1, u64::MAX), "what may pass at once; a larger packet goes when it is full";
        peak: Option<Rate> = Kind::Rate, "", "rate within a burst, where less than the link's";
    }
}

pub(super) const ENTRY: Entry<super::Shape> = Entry {
    name: "token-bucket",
    aliases: &["tbf"],
    title: "Token bucket",
    source: "Turner 1986; as Linux's tbf",
    help: "a shaper on a link: bursts pass at the link's rate, the long run at the bucket's; packets wait for tokens",
    parameters: Settings::PARAMETERS,
    build: |p, link| Box::new(TokenBucket::from(p, link)),
};

/// A token bucket in front of a transmitter (Turner, *New directions in communications*, 1986): it fills at `rate` up to
/// `burst`, and a packet leaves when it holds as much as the packet takes.
pub struct TokenBucket {
    rate: i128,
    /// Tokens in bits times nanoseconds a second, at `time`; and how many it may hold.
    tokens: i128,
    burst: i128,
    time: u64,
    peak: Option<Rate>,
    busy: u64,
    link: Box<dyn Service>,
}

impl TokenBucket {
    /// Returns a full bucket with the registry's parameters, in front of what sends.
    pub fn from(p: &Parameters, link: Box<dyn Service>) -> TokenBucket {
        let Settings { rate, burst, peak } = p.into();
        let burst = i128::from(burst) * 8_000_000_000;
        TokenBucket { rate: rate.as_bps().into(), tokens: burst, burst, time: 0, peak, busy: 0, link }
    }

    /// Takes `work` tokens as soon as they are there, not before `now`: when that is.
    fn take(&mut self, now: u64, work: i128) -> u64 {
        // What exceeds the bucket goes when that is full, and leaves a debt.
        let needed = work.min(self.burst);
        let now = now.max(self.time);
        let held = (self.tokens + self.rate * i128::from(now - self.time)).min(self.burst);
        let wait = (needed - held).max(0);
        let wait = (wait + self.rate - 1) / self.rate;
        self.time = now + wait as u64;
        self.tokens = (held + wait * self.rate).min(self.burst) - work;
        self.time
    }
}

impl Service for TokenBucket {
    fn send(&mut self, now: u64, bytes: u32) -> (u64, u64) {
        let ready = self.take(now.max(self.busy), i128::from(bytes) * 8_000_000_000);
        let (start, end) = self.link.send(ready, bytes);
        let slowest = self.peak.map_or(0, |peak| start + peak.time_for(bytes.into()).as_nanos());
        self.busy = end.max(slowest);
        (start, self.busy)
    }

    fn capacity(&self, until: u64) -> f64 {
        let bucket = (self.burst as f64 + self.rate as f64 * until as f64) / 1e9;
        self.link.capacity(until).min(bucket)
    }
}
