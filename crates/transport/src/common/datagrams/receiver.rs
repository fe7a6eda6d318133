//! Receiving half: arrivals, duplicates, reordering and losses.

use super::Datagram;
use crate::common::counters;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use vazao_engine::{Duration, Histogram, Time};

counters! {
    /// Counters of a receiver.
    pub struct Stats {
        /// Datagrams that arrived, each counted once.
        pub datagrams: u64,
        /// Duplicate datagrams (RFC 5560).
        pub duplicates: u64 = receiver "duplicates",
        /// Datagrams with a lower number than an earlier arrival: Type-P-Reordered (RFC 4737 section 3.3).
        pub reordered: u64 = receiver "reordered",
        /// Time from the transmission of a message until all of it has arrived.
        pub latency: Histogram,
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    pub stats: Stats,
    pub expected: Option<u64>,
    arrived: Numbers,
    lost: Numbers,
    /// Datagrams that arrived although a copy of them was reported lost.
    recovered: u64,
    /// RFC 4737's NextExp: highest number so far plus one.
    next_expected: u32,
    bytes: u64,
    read: u64,
    /// Incomplete messages: datagrams missing, and send time of the first.
    partial: BTreeMap<u32, (u16, Time)>,
    /// Messages that came whole and were not taken, if anybody asks for them.
    whole: Option<VecDeque<u32>>,
    /// Latencies of messages that came whole and were not taken, if anybody asks for them.
    recent: Option<Vec<Duration>>,
}

/// Maximum incomplete messages kept; older ones have lost a datagram.
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
        let latency = now.since(sent);
        self.stats.latency.record(latency);
        self.recent.iter_mut().for_each(|recent| recent.push(latency));
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
    /// Keeps the latency of each message that comes whole, for [`take_latencies`](Self::take_latencies).
    pub fn watch_latencies(&mut self) {
        self.recent = Some(Vec::new());
    }
    /// Takes the latencies of the messages that came whole since the last call.
    pub fn take_latencies(&mut self) -> Vec<Duration> {
        self.recent.as_mut().map(std::mem::take).unwrap_or_default()
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

/// Set of sequence numbers as a bitmap.
#[derive(Clone, Debug, Default)]
struct Numbers {
    words: Vec<u64>,
    count: u64,
}

impl Numbers {
    /// Inserts `number`; returns whether it is new.
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
