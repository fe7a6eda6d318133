//! Delivery of messages: when each was written, and when all of it had arrived.

use std::collections::VecDeque;
use vazao_engine::{Duration, Histogram, Time};

/// The messages of a stream that are under way, and the latency of those that have arrived.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// End of each message in the stream and its time of writing; no time: it has arrived before an earlier one.
    waiting: VecDeque<(u64, Option<Time>)>,
    /// Number of messages before the first of these.
    gone: u64,
    latency: Histogram,
    /// Latencies of those that have arrived since they were asked for, if anybody asks.
    recent: Option<Vec<Duration>>,
}

impl Messages {
    /// Notes the writing of a message that ends at a stream offset.
    pub(crate) fn write(&mut self, end: u64, now: Time) {
        self.waiting.push_back((end, Some(now)));
    }

    /// Notes that everything before a stream offset has been read in order. Returns the number of completed messages.
    pub(crate) fn read(&mut self, offset: u64, now: Time) -> usize {
        let mut completed = 0;
        while self.waiting.front().is_some_and(|&(end, _)| end <= offset) {
            self.read_one(self.gone, now);
            completed += 1;
        }
        completed
    }

    /// Notes that a message has been read, by its number among all, counted from 0 in 32 bits.
    pub(crate) fn read_message(&mut self, number: u32, now: Time) {
        self.read_one(self.gone + u64::from(number.wrapping_sub(self.gone as u32)), now);
    }

    /// Notes that a message will not arrive any more, if it has not.
    pub(crate) fn abandon(&mut self, number: u32) {
        self.take(self.gone + u64::from(number.wrapping_sub(self.gone as u32)));
    }

    fn read_one(&mut self, number: u64, now: Time) {
        if let Some(written) = self.take(number) {
            let latency = now.since(written);
            self.latency.record(latency);
            self.recent.iter_mut().for_each(|recent| recent.push(latency));
        }
    }

    /// Returns the time of writing of a message that was awaited until now.
    fn take(&mut self, number: u64) -> Option<Time> {
        let place = number.checked_sub(self.gone).and_then(|index| self.waiting.get_mut(index as usize));
        let written = place.and_then(|(_, written)| written.take());
        while self.waiting.front().is_some_and(|(_, written)| written.is_none()) {
            self.waiting.pop_front();
            self.gone += 1;
        }
        written
    }

    /// Keeps the latency of each message for [`take_latencies`](Self::take_latencies).
    pub(crate) fn watch(&mut self) {
        self.recent = Some(Vec::new());
    }

    /// Takes the latencies of the messages that have arrived since the last call, in their order.
    pub(crate) fn take_latencies(&mut self) -> Vec<Duration> {
        self.recent.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(crate) fn are_under_way(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the latencies of delivered messages, from the write to the complete delivery in order.
    pub fn latency(&self) -> &Histogram {
        &self.latency
    }
}
