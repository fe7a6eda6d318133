use vazao_engine::Rate;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        rate: Rate = Kind::Rate, "committed information rate: IP packets pass at it in the long run";
        burst: u64 = Kind::Size(1, u64::MAX), "committed burst size: what may pass at once; a larger packet never passes";
    }
}

pub(super) const ENTRY: Entry<super::Build> = Entry {
    name: "policer",
    aliases: &[],
    title: "Policer",
    source: "RFC 2697 with an excess burst of 0, colour-blind, red packets dropped; as Linux's police action",
    help: "a token bucket in front of the queue that drops what exceeds it, where a shaper lets it wait: policer = { rate = \"5 Mbps\", burst = \"20 kB\" }",
    parameters: Settings::PARAMETERS,
    build: super::Build::Entrance(|p, _, wire| {
        wire.policer = Some(Policer::from(p));
        Ok(())
    }),
};

/// A byte in bits times nanoseconds a second.
const BYTE: u128 = 8_000_000_000;

/// A single rate meter (RFC 2697 section 3) whose red packets are dropped: the bucket holds `burst` bytes at first and at
/// most, fills at `rate`, and a packet passes if it holds as many bytes as the packet has.
#[derive(Clone, Debug)]
pub struct Policer {
    rate: u128,
    /// Tokens in bits times nanoseconds a second, at `time`; and how many it may hold.
    tokens: u128,
    burst: u128,
    time: u64,
}

impl Policer {
    /// Returns a full bucket with the registry's parameters.
    pub fn from(p: &Parameters) -> Policer {
        let Settings { rate, burst } = p.into();
        let burst = u128::from(burst) * BYTE;
        Policer { rate: rate.as_bps().into(), tokens: burst, burst, time: 0 }
    }

    /// Returns whether a packet of `size` bytes that comes at `now` passes; it then takes its tokens.
    pub fn admits(&mut self, now: u64, size: u32) -> bool {
        self.tokens = (self.tokens + self.rate * u128::from(now - self.time)).min(self.burst);
        self.time = now;
        let rest = self.tokens.checked_sub(u128::from(size) * BYTE);
        self.tokens = rest.unwrap_or(self.tokens);
        rest.is_some()
    }
}
