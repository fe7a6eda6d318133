//! What becomes of messages: when each was written, and when all of it had arrived.

use std::collections::VecDeque;
use vazao_engine::{Histogram, Time};

/// The messages of a byte stream that are under way, and the latency of those that have arrived.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Where each ends in the stream, and when it was written.
    waiting: VecDeque<(u64, Time)>,
    latency: Histogram,
}

impl Messages {
    /// A message that ends at a stream offset was written.
    pub(crate) fn write(&mut self, end: u64, now: Time) {
        self.waiting.push_back((end, now));
    }

    /// Everything before a stream offset has been read in order. Says how many messages that completed.
    pub(crate) fn read(&mut self, offset: u64, now: Time) -> usize {
        let mut completed = 0;
        while let Some(&(end, written)) = self.waiting.front()
            && end <= offset
        {
            self.latency.record(now.since(written));
            self.waiting.pop_front();
            completed += 1;
        }
        completed
    }

    pub(crate) fn are_under_way(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// From the write of a message to its complete delivery in order, of each that was delivered.
    pub fn latency(&self) -> &Histogram {
        &self.latency
    }
}
