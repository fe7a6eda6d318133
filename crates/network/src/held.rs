//! Everything that a link holds, and runs of packets with the same fate.

use crate::queue::Limit;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Packets that a link holds, from their arrival at its queue to the end of its wire, behind one limit.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    limit: Limit,
    packets: u32,
    bytes: u64,
    /// When those that have been sent leave, and their bytes.
    leaving: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Held {
    pub fn new(limit: Limit) -> Held {
        Held { limit, packets: 0, bytes: 0, leaving: BinaryHeap::new() }
    }

    /// Takes a packet of `size` bytes in at `now`, or says that there is no room; an empty link always has some.
    pub fn admits(&mut self, now: u64, size: u32) -> bool {
        while let Some(&Reverse((at, gone))) = self.leaving.peek()
            && at <= now
        {
            self.leaving.pop();
            self.packets -= 1;
            self.bytes -= u64::from(gone);
        }
        let has_room = self.packets < self.limit.packets && self.bytes + u64::from(size) <= self.limit.bytes;
        let admits = self.packets == 0 || has_room;
        if admits {
            self.packets += 1;
            self.bytes += u64::from(size);
        }
        admits
    }

    /// Notes when a packet that has been sent leaves.
    pub fn leaves(&mut self, at: u64, size: u32) {
        self.leaving.push(Reverse((at, size)));
    }
}

/// Runs of packets of one fate, one directly after the other (the loss periods of RFC 3357).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Number of runs.
    pub count: u64,
    /// Packets of the longest run.
    pub longest: u64,
    length: u64,
    place: Option<u64>,
}

impl Runs {
    /// Adds a packet. `place` counts the packets of another fate before it: those between which it does not change are one
    /// run.
    pub(crate) fn add(&mut self, place: u64) {
        if self.place.replace(place) != Some(place) {
            self.count += 1;
            self.length = 0;
        }
        self.length += 1;
        self.longest = self.longest.max(self.length);
    }
}
