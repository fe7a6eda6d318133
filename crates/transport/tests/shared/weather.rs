//! How a path treats what passes it, whatever that is: for the laboratories of the protocols.

use std::ops::Range;
use vazao_engine::{Duration, Stream, Time};

/// How a path treats packets, both ways.
#[derive(Clone, Debug)]
pub struct Weather {
    /// One way, without jitter, in milliseconds.
    pub delay: u64,
    /// Most that a packet may be late, which reorders, in milliseconds.
    pub jitter: u64,
    /// Probability of each fate, in per cent. A corrupted packet fails its checksum at the host: it is a lost one.
    pub loss: u64,
    pub duplication: u64,
    /// Of packets that may be: how many are marked.
    pub marking: u64,
    /// Nothing passes in these milliseconds.
    pub outages: Vec<Range<u64>>,
}

impl Weather {
    pub fn fair(delay: u64) -> Weather {
        Weather { delay, jitter: 0, loss: 0, duplication: 0, marking: 0, outages: Vec::new() }
    }

    /// When each copy arrives of what is sent now, and whether it is marked if it may be. In a `calm` one arrives in time, unless
    /// nothing passes at all.
    pub fn arrivals(&self, now: Time, calm: bool, may_be_marked: bool, random: &mut Stream) -> Vec<(Time, bool)> {
        let ms = now.as_nanos() / 1_000_000;
        if self.outages.iter().any(|outage| outage.contains(&ms)) || (!calm && random.below(100) < self.loss) {
            return Vec::new();
        }
        let copies = if !calm && random.below(100) < self.duplication { 2 } else { 1 };
        let mut copy = || {
            let late = if calm { 0 } else { random.below(self.jitter * 1_000_000 + 1) };
            let at = now + Duration::from_millis(self.delay) + Duration::from_nanos(late);
            (at, may_be_marked && random.below(100) < self.marking)
        };
        (0..copies).map(|_| copy()).collect()
    }
}
