//! Treatment of the packets that pass a path.

use std::ops::Range;
use vazao_engine::{Duration, RandomStream, Rate, Time};

/// Treatment of packets by a path, both ways.
#[derive(Clone, Debug)]
pub struct Weather {
    /// Rate at which packets are sent, one after the other; `None`: they take no time. Fixed at the start.
    pub rate: Option<Rate>,
    /// Bytes that may wait to be sent. Fixed at the start.
    pub queue: u64,
    /// One-way delay without jitter, in milliseconds.
    pub delay: u64,
    /// Largest delay on top of it, in milliseconds: packets overtake each other.
    pub jitter: u64,
    /// Probability of a loss, in per cent. A corrupted packet fails its checksum at the host: it is a lost one.
    pub loss: u64,
    /// Probability that a packet arrives twice, in per cent.
    pub duplication: u64,
    /// Probability that a packet that may be marked is (ECN), in per cent.
    pub marking: u64,
    /// Times in which nothing passes, in milliseconds.
    pub outages: Vec<Range<u64>>,
    /// Times in which someone on the path resets what passes, in milliseconds: a protocol's laboratory knows how.
    pub resets: Vec<Range<u64>>,
}

/// Fate of one copy of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    pub delay: Duration,
    pub marked: bool,
}

impl Weather {
    /// A path with a delay and nothing else.
    pub fn fair(delay: u64) -> Weather {
        Weather {
            rate: None,
            queue: u64::MAX,
            delay,
            jitter: 0,
            loss: 0,
            duplication: 0,
            marking: 0,
            outages: Vec::new(),
            resets: Vec::new(),
        }
    }

    /// Decides on a packet that is sent now: the copies of it that will arrive. When it is `calm` one arrives in time, unless
    /// there is an outage.
    pub(crate) fn copies(&self, now: Time, calm: bool, markable: bool, random: &mut RandomStream) -> Vec<Copied> {
        let ms = now.as_nanos() / 1_000_000;
        if self.outages.iter().any(|outage| outage.contains(&ms)) || (!calm && random.below(100) < self.loss) {
            return Vec::new();
        }
        let copies = if !calm && random.below(100) < self.duplication { 2 } else { 1 };
        let mut copy = || {
            let late = if calm { 0 } else { random.below(self.jitter * 1_000_000 + 1) };
            let delay = Duration::from_millis(self.delay) + Duration::from_nanos(late);
            Copied { delay, marked: markable && random.below(100) < self.marking }
        };
        (0..copies).map(|_| copy()).collect()
    }
}
