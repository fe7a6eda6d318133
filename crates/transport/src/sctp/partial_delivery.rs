//! Partial delivery (RFC 9260 section 6.9, RFC 6458 section 8.1.21): of a message that is not whole the application is
//! given what has arrived, and the rest as it comes. It frees a receive buffer that could never hold the message; without it
//! peers whose messages together are larger than the buffer would wait for each other.
//!
//! Only what is next in its stream can be given. Without I-DATA the application is told of no stream while it reads a
//! message, so that all others wait for the end of it (RFC 6458 section 8.1.20, level 0); with I-DATA they do not (level 2).

use super::chunk::{Data, DataFlags};
use super::stream::{Inbound, Message, Run, ahead};

/// The messages that the application has in part.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    /// The one for whose end all others wait.
    under_way: Option<u32>,
    /// Whole messages that do.
    pub waiting: Vec<Message>,
    /// Messages that will not be finished, until someone asks.
    aborted: Vec<u32>,
    /// How many were given in part.
    pub messages: u64,
}

impl Given {
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    fn begin(&mut self, message: u32, interleaved: bool) {
        self.messages += 1;
        self.under_way = Some(message).filter(|_| !interleaved);
    }

    /// The rest of a message is there.
    pub fn finish(&mut self) {
        self.under_way = None;
    }

    /// It will not come.
    pub fn abort(&mut self, message: u32) {
        self.under_way = None;
        self.aborted.push(message);
    }

    pub fn next_aborted(&mut self) -> Option<u32> {
        if self.aborted.is_empty() { None } else { Some(self.aborted.remove(0)) }
    }
}

impl Inbound {
    /// Gives the application what there is of every unfinished message.
    #[cold]
    pub fn give_all(&mut self, next: u64, interleaved: bool) {
        if !interleaved {
            return self.give_next(next, 1);
        }
        let keys: Vec<(u16, u32)> = self.parts.keys().copied().collect();
        keys.into_iter().for_each(|key| self.give_parts(key, 1));
    }

    /// Gives what there is of the message that came in DATA chunks and is next in order, if it is `least` bytes. Every TSN
    /// before `next` has arrived: there it ends, as far as it is here.
    pub fn give_next(&mut self, next: u64, least: u64) {
        if let Some((&start, Run { end, flags, .. })) = self.runs.range(..next).next_back()
            && *end == next
            && flags.has(DataFlags::BEGIN)
        {
            self.give_run(start, least);
        }
    }

    /// Gives what there is of the message whose fragments begin with the TSN `start`.
    pub fn give_run(&mut self, start: u64, least: u64) {
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
        self.give_bytes(&of, place, given, &fragments);
    }

    /// Gives what there is of a message that comes in I-DATA chunks, as far as no fragment is missing.
    pub fn give_parts(&mut self, key: (u16, u32), least: u64) {
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
        self.give_bytes(&of, place, given, &fragments);
    }

    /// Where a message's stamps say that it is; none if others of its stream come first.
    fn place(&mut self, of: &Data, interleaved: bool) -> Option<u64> {
        if of.flags.has(DataFlags::UNORDERED) {
            return Some(u64::from(of.message));
        }
        self.open(usize::from(of.stream));
        let next = self.streams[usize::from(of.stream)].next;
        (ahead(of.number, next, interleaved) == 0).then_some(next)
    }

    fn give_bytes(&mut self, of: &Data, place: u64, offset: u64, fragments: &[(u16, u32)]) {
        let bytes = self.verify(of.stream, place, offset, fragments);
        self.held -= bytes;
        self.delivered += bytes;
    }

    /// The association is followed by another: what is unfinished stays so, and nothing waits for it.
    pub fn stop_giving(&mut self) {
        let runs = self.runs.values().filter(|run| run.given > 0).map(|run| run.of.message);
        let parts = self.parts.values().filter(|parts| parts.given.0 > 0).map(|parts| parts.of.message);
        let unfinished: Vec<u32> = runs.chain(parts).collect();
        unfinished.into_iter().for_each(|message| self.given.abort(message));
        self.deliver_waiting();
    }
}
