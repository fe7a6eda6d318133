//! Partial delivery (RFC 9260 section 6.9, RFC 6458 section 8.1.21): the application is given the available part of an
//! incomplete message, and the rest as it arrives. This frees a receive buffer too small for the message; without it,
//! peers whose messages are together larger than the buffer would deadlock.
//!
//! Only the next message of a stream can be delivered in part. Without I-DATA the application cannot tell streams apart
//! during a partial delivery, so all other messages wait for its end (RFC 6458 section 8.1.20, level 0); with I-DATA
//! they do not (level 2).

use super::{Inbound, Message, Run, ahead};
use crate::sctp::chunk::{Data, DataFlags};

#[derive(Clone, Debug, Default)]
pub(in crate::sctp) struct PartialDeliveries {
    /// Partially delivered message that blocks all others.
    under_way: Option<u32>,
    /// Complete messages blocked by it.
    pub waiting: Vec<Message>,
    /// Partially delivered messages that were aborted, until queried.
    aborted: Vec<u32>,
    /// Number of partially delivered messages.
    pub messages: u64,
}

impl PartialDeliveries {
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    fn begin(&mut self, message: u32, interleaved: bool) {
        self.messages += 1;
        self.under_way = Some(message).filter(|_| !interleaved);
    }

    /// Records that the rest of a message was delivered.
    pub fn finish(&mut self) {
        self.under_way = None;
    }

    /// Records that the rest of a message will not come.
    pub fn abort(&mut self, message: u32) {
        self.under_way = None;
        self.aborted.push(message);
    }

    pub fn next_aborted(&mut self) -> Option<u32> {
        if self.aborted.is_empty() { None } else { Some(self.aborted.remove(0)) }
    }
}

impl Inbound {
    /// Delivers the available part of every incomplete message.
    #[cold]
    pub fn deliver_all_parts(&mut self, next: u64, interleaved: bool) {
        if !interleaved {
            return self.deliver_next_part(next, 1);
        }
        let keys: Vec<(u16, u32)> = self.parts.keys().copied().collect();
        keys.into_iter().for_each(|key| self.deliver_parts(key, 1));
    }

    /// Delivers the available part of the next message in DATA chunks, if it has at least `least` bytes. All TSNs
    /// before `next` have arrived, so the message's available part ends there.
    pub fn deliver_next_part(&mut self, next: u64, least: u64) {
        if let Some((&start, Run { end, flags, .. })) = self.runs.range(..next).next_back()
            && *end == next
            && flags.has(DataFlags::BEGIN)
        {
            self.deliver_run(start, least);
        }
    }

    /// Delivers the available part of the message whose fragments begin with TSN `start`.
    pub fn deliver_run(&mut self, start: u64, least: u64) {
        let Some(run) = self.runs.get(&start) else { return };
        let (of, given, bytes) = (run.of, run.given, run.bytes);
        if bytes < least {
            return;
        }
        let Some(place) = self.place(&of, false) else { return };
        if given == 0 {
            if self.given.is_under_way() {
                return;
            }
            self.given.begin(of.message, false);
        }
        let run = self.runs.get_mut(&start).expect("it was there");
        (run.given, run.bytes) = (given + bytes, 0);
        let fragments = std::mem::take(&mut run.fragments);
        self.deliver_bytes(&of, place, given, &fragments);
    }

    /// Delivers the available part, up to the first missing fragment, of a message in I-DATA chunks.
    pub fn deliver_parts(&mut self, key: (u16, u32), least: u64) {
        let Some(parts) = self.parts.get(&key) else { return };
        let (of, (_, given)) = (parts.of, parts.given);
        if parts.ready.1 - given < least {
            return;
        }
        let Some(place) = self.place(&of, true) else { return };
        if given == 0 {
            self.given.begin(of.message, true);
        }
        let parts = self.parts.get_mut(&key).expect("it was there");
        parts.given = parts.ready;
        let later = parts.fragments.split_off(&parts.ready.0);
        let fragments: Vec<_> = std::mem::replace(&mut parts.fragments, later).into_values().collect();
        self.deliver_bytes(&of, place, given, &fragments);
    }

    /// Position of a message according to its stamps; `None` if earlier messages of its stream are missing.
    fn place(&mut self, of: &Data, interleaved: bool) -> Option<u64> {
        if of.flags.has(DataFlags::UNORDERED) {
            return Some(u64::from(of.message));
        }
        self.open(usize::from(of.stream));
        let next = self.streams[usize::from(of.stream)].next;
        (ahead(of.number, next, interleaved) == 0).then_some(next)
    }

    fn deliver_bytes(&mut self, of: &Data, place: u64, offset: u64, fragments: &[(u16, u32)]) {
        let bytes = self.verify(of.stream, place, offset, fragments);
        self.held -= bytes;
        self.delivered += bytes;
    }

    /// Ends partial delivery before another association: incomplete messages are aborted, blocked ones delivered.
    pub fn stop_partial_delivery(&mut self) {
        let runs = self.runs.values().filter(|run| run.given > 0).map(|run| run.of.message);
        let parts = self.parts.values().filter(|parts| parts.given.0 > 0).map(|parts| parts.of.message);
        let unfinished: Vec<u32> = runs.chain(parts).collect();
        unfinished.into_iter().for_each(|message| self.given.abort(message));
        self.deliver_waiting();
    }
}
