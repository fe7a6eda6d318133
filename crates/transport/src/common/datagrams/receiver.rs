//! The receiving half: what came, what came twice, what came late.

use super::Datagram;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use vazao_engine::{Histogram, Time};

/// What a receiver counted.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Datagrams that arrived, each counted once.
    pub datagrams: u64,
    /// Datagrams that had arrived before (RFC 5560).
    pub duplicates: u64,
    /// Datagrams with a number below one that had arrived before them: Type-P-Reordered (RFC 4737 section 3.3).
    pub reordered: u64,
    /// From the departure of a message to the arrival of all of it.
    pub latency: Histogram,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    pub stats: Stats,
    pub expected: Option<u64>,
    arrived: Numbers,
    lost: Numbers,
    /// Datagrams that arrived though they, or another copy of them, were called lost.
    recovered: u64,
    /// RFC 4737's NextExp: one above the highest number so far.
    next_expected: u32,
    bytes: u64,
    read: u64,
    /// Messages of several datagrams of which some are missing: how many, and when the first left.
    partial: BTreeMap<u32, (u16, Time)>,
    /// Messages that came whole and were not taken, if anybody asks for them.
    whole: Option<VecDeque<u32>>,
}

/// How many incomplete messages are remembered; older ones have lost a part.
const PARTIAL: usize = 1024;

impl Receiver {
    pub fn handle(&mut self, now: Time, datagram: &Datagram) {
        if !self.arrived.insert(datagram.sequence) {
            self.stats.duplicates += 1;
            return;
        }
        self.stats.datagrams += 1;
        self.recovered += u64::from(self.lost.contains(datagram.sequence));
        self.bytes += u64::from(datagram.payload);
        if datagram.sequence < self.next_expected {
            self.stats.reordered += 1;
        } else {
            self.next_expected = datagram.sequence + 1;
        }
        if datagram.parts == 1 {
            self.complete(now, datagram.message, datagram.sent);
        } else {
            self.assemble(now, datagram);
        }
    }

    fn assemble(&mut self, now: Time, part: &Datagram) {
        let (missing, sent) = self.partial.entry(part.message).or_insert((part.parts, part.sent));
        (*missing, *sent) = (*missing - 1, part.sent.min(*sent));
        if *missing == 0 {
            let sent = *sent;
            self.partial.remove(&part.message);
            self.complete(now, part.message, sent);
        } else if self.partial.len() > PARTIAL {
            self.partial.pop_first();
        }
    }

    fn complete(&mut self, now: Time, message: u32, sent: Time) {
        self.stats.latency.record(now.since(sent));
        if let Some(whole) = &mut self.whole {
            whole.push_back(message);
        }
    }

    /// Keeps the numbers of messages that come whole, for [`take_message`](Self::take_message).
    pub fn watch_messages(&mut self) {
        self.whole = Some(VecDeque::new());
    }
    /// The number of the next message that came whole.
    pub fn take_message(&mut self) -> Option<u32> {
        self.whole.as_mut()?.pop_front()
    }
    /// Whether everything that came was read.
    pub fn is_drained(&self) -> bool {
        self.read == self.bytes
    }

    pub fn lose(&mut self, datagram: &Datagram) {
        if self.lost.insert(datagram.sequence) {
            self.recovered += u64::from(self.arrived.contains(datagram.sequence));
        }
    }

    pub fn lost(&self) -> u64 {
        self.lost.count - self.recovered
    }

    pub fn is_complete(&self) -> bool {
        self.expected.is_some_and(|expected| self.stats.datagrams + self.lost() >= expected) && self.is_drained()
    }

    pub fn read(&mut self, limit: u64) -> Option<Range<u64>> {
        let start = self.read;
        self.read += limit.min(self.bytes - start);
        (self.read > start).then_some(start..self.read)
    }
}

/// A set of sequence numbers, a bit each.
#[derive(Clone, Debug, Default)]
struct Numbers {
    words: Vec<u64>,
    count: u64,
}

impl Numbers {
    /// Whether `number` is new.
    fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.count += u64::from(is_new);
        is_new
    }

    fn contains(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
}
