//! Inbound messages: reassembly (RFC 9260 section 6.9, RFC 8260 section 2.2) and stream order (section 6.6).

mod partial_delivery;

use super::chunk::{Data, DataFlags, Skip, stamp};
use crate::common::RangeSet;
use partial_delivery::PartialDeliveries;
use std::collections::{BTreeMap, VecDeque};

/// Consecutive fragments of one message.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// TSN after the last one.
    pub end: u64,
    pub flags: DataFlags,
    /// Bytes of the message already delivered.
    pub given: u64,
    /// Undelivered fragments, and their bytes.
    pub fragments: Vec<(u16, u32)>,
    pub bytes: u64,
    /// One of the chunks, which identifies the message.
    pub of: Data,
}

/// Fragments of one message in I-DATA chunks, by fragment sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// Number of the last fragment, once received.
    last: Option<u32>,
    /// Number and bytes of the contiguous fragments from the first on.
    pub ready: (u32, u64),
    /// Number and bytes of those already delivered.
    pub given: (u32, u64),
    pub fragments: BTreeMap<u32, (u16, u32)>,
    /// One of the chunks, which identifies the message.
    pub of: Data,
}

/// Complete message, or the rest of one: global number and bytes.
pub(super) type Message = (u32, u64);

#[derive(Clone, Debug, Default)]
pub(super) struct InboundStream {
    /// Number of the next message to deliver.
    pub next: u64,
    /// Complete messages received out of order.
    early: BTreeMap<u64, Message>,
}

/// Data received and not delivered yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbound {
    pub streams: Vec<InboundStream>,
    /// Fragments in DATA chunks, by their first TSN.
    pub runs: BTreeMap<u64, Run>,
    /// Fragments in I-DATA chunks, by stream and message number.
    pub parts: BTreeMap<(u16, u32), Parts>,
    pub given: PartialDeliveries,
    pub held: u64,
    /// Messages delivered, their bytes, and chunks that did not match their position.
    pub messages: u64,
    pub delivered: u64,
    pub misplaced: u64,
    /// Messages delivered and not read yet, with their end among the bytes delivered; if recorded.
    pub unread: Option<VecDeque<Message>>,
    /// Numbers of all messages delivered, with partial reliability.
    pub whole: Option<RangeSet>,
}

impl Inbound {
    /// Part of the state that a replacement association keeps: what was delivered, and counters.
    pub fn emptied(mut self) -> Inbound {
        self.stop_partial_delivery();
        let Inbound { messages, delivered, misplaced, unread, given, .. } = self;
        Inbound { messages, delivered, misplaced, unread, given, ..Inbound::default() }
    }

    /// Takes a new chunk.
    pub fn take(&mut self, tsn: u64, data: &Data, interleaved: bool) {
        self.held += u64::from(data.length);
        if data.flags.has(DataFlags::WHOLE) {
            return self.complete(data, 0, &[(data.length, data.stamp)], interleaved);
        }
        let rest = if interleaved { self.collect(data) } else { self.join(tsn, data) };
        if let Some((given, fragments)) = rest {
            self.complete(data, given, &fragments, interleaved);
        }
    }

    /// Adds an I-DATA fragment to its message; if that completes it, returns the bytes already delivered and the rest.
    fn collect(&mut self, data: &Data) -> Option<(u64, Vec<(u16, u32)>)> {
        let key = (data.stream, data.number);
        let parts = self.parts.entry(key).or_insert_with(|| Parts { of: *data, ..Parts::default() });
        parts.fragments.insert(data.fsn, (data.length, data.stamp));
        if data.flags.has(DataFlags::END) {
            parts.last = Some(data.fsn);
        }
        while let Some(&(length, _)) = parts.fragments.get(&parts.ready.0) {
            parts.ready = (parts.ready.0 + 1, parts.ready.1 + u64::from(length));
        }
        if parts.last.is_some_and(|last| parts.ready.0 > last) {
            return self.parts.remove(&key).map(|parts| (parts.given.1, parts.fragments.into_values().collect()));
        }
        if parts.given.0 > 0 {
            self.deliver_parts(key, 1);
        }
        None
    }

    /// Joins a DATA fragment with its neighbours; for a complete message, returns the bytes delivered and the rest.
    fn join(&mut self, tsn: u64, data: &Data) -> Option<(u64, Vec<(u16, u32)>)> {
        let mut start = tsn;
        let fragments = vec![(data.length, data.stamp)];
        let bytes = u64::from(data.length);
        let mut run = Run { end: tsn + 1, flags: data.flags, given: 0, fragments, bytes, of: *data };
        let before = self.runs.range(..tsn).next_back();
        if let Some((&first, _)) = before.filter(|(_, r)| r.end == tsn && !data.flags.has(DataFlags::BEGIN)) {
            let mut left = self.runs.remove(&first).expect("it was found");
            left.fragments.append(&mut run.fragments);
            run = Run { end: run.end, flags: left.flags.with(run.flags), bytes: left.bytes + bytes, ..left };
            start = first;
        }
        if !data.flags.has(DataFlags::END)
            && let Some(mut right) = self.runs.remove(&run.end)
        {
            run.fragments.append(&mut right.fragments);
            run = Run { end: right.end, flags: run.flags.with(right.flags), bytes: run.bytes + right.bytes, ..run };
        }
        if run.flags.has(DataFlags::WHOLE) {
            return Some((run.given, run.fragments));
        }
        let given = run.given;
        self.runs.insert(start, run);
        if given > 0 {
            self.deliver_run(start, 1);
        }
        None
    }

    /// Handles a complete message, whose `fragments` follow the bytes already delivered.
    fn complete(&mut self, data: &Data, given: u64, fragments: &[(u16, u32)], interleaved: bool) {
        let unordered = data.flags.has(DataFlags::UNORDERED);
        let index = usize::from(data.stream);
        self.open(index);
        let inbound = &mut self.streams[index];
        let number = inbound.next + ahead(data.number, inbound.next, interleaved);
        let place = if unordered { u64::from(data.message) } else { number };
        let next = inbound.next;
        let message = (data.message, self.verify(data.stream, place, given, fragments));
        if given > 0 {
            self.given.finish();
        }
        if unordered {
            return self.deliver(message);
        }
        let inbound = &mut self.streams[index];
        if number != next {
            self.misplaced += u64::from(inbound.early.insert(number, message).is_some());
            return;
        }
        inbound.next += 1;
        self.deliver(message);
        self.deliver_early(index);
    }

    /// Counts fragments, contiguous from an offset on, whose stamps do not match their position; returns their bytes.
    pub fn verify(&mut self, stream: u16, place: u64, offset: u64, fragments: &[(u16, u32)]) -> u64 {
        let mut end = offset;
        for &(length, seen) in fragments {
            self.misplaced += u64::from(seen != stamp(stream, place, end));
            end += u64::from(length);
        }
        end - offset
    }

    /// Skips everything before TSN `next` that has not arrived (RFC 3758 section 3.6): discards incomplete messages
    /// that begin there, and lets streams pass skipped ones.
    pub fn skip(&mut self, next: u64, skips: &[Skip], interleaved: bool) {
        let later = self.runs.split_off(&next);
        let forgotten = std::mem::replace(&mut self.runs, later);
        self.held -= forgotten.values().map(|run| run.bytes).sum::<u64>();
        forgotten.values().filter(|run| run.given > 0).for_each(|run| self.given.abort(run.of.message));
        self.deliver_waiting();
        for skip in skips {
            self.skip_parts(skip);
            if !skip.unordered {
                self.skip_messages(skip, interleaved);
            }
        }
    }

    /// Discards incomplete I-DATA messages of a stream up to a number.
    fn skip_parts(&mut self, skip: &Skip) {
        let (held, given) = (&mut self.held, &mut self.given);
        let is_skipped = |number: u32| skip.number.wrapping_sub(number) as i32 >= 0;
        self.parts.retain(|&(stream, number), parts| {
            let goes = stream == skip.stream && is_skipped(number);
            if goes {
                *held -= parts.fragments.values().map(|&(length, _)| u64::from(length)).sum::<u64>();
                if parts.given.0 > 0 {
                    given.abort(parts.of.message);
                }
            }
            !goes
        });
    }

    /// Lets a stream pass all messages up to a number.
    fn skip_messages(&mut self, skip: &Skip, interleaved: bool) {
        let index = usize::from(skip.stream);
        self.open(index);
        let next = self.streams[index].next;
        let distance = ahead(skip.number, next, interleaved);
        // A distance beyond half of the number space means that it was skipped before.
        if distance < if interleaved { 1 << 31 } else { 1 << 15 } {
            let after = next + distance + 1;
            let early = self.streams[index].early.split_off(&after);
            let skipped = std::mem::replace(&mut self.streams[index].early, early);
            skipped.into_values().for_each(|message| self.deliver(message));
            self.streams[index].next = after;
            self.deliver_early(index);
        }
    }

    /// Returns the number of ordered messages delivered on each stream, and the bytes that wait there for earlier data.
    pub fn streams(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = (self.streams.iter())
            .map(|stream| (stream.next, stream.early.values().map(|&(_, bytes)| bytes).sum()))
            .collect();
        let mut wait = |of: &Data, has_begun: bool, bytes: u64| {
            let index = usize::from(of.stream);
            all.resize(all.len().max(index + 1), (0, 0));
            let is_next = of.flags.has(DataFlags::UNORDERED) || ahead(of.number, all[index].0, false) == 0;
            all[index].1 += if has_begun && is_next { 0 } else { bytes };
        };
        for run in self.runs.values() {
            wait(&run.of, run.flags.has(DataFlags::BEGIN), run.bytes);
        }
        for parts in self.parts.values() {
            let total = parts.fragments.values().map(|&(length, _)| u64::from(length)).sum::<u64>();
            let ready = parts.ready.1 - parts.given.1;
            wait(&parts.of, true, ready);
            wait(&parts.of, false, total - ready);
        }
        all
    }

    /// Makes sure that the stream exists.
    pub fn open(&mut self, index: usize) {
        if index >= self.streams.len() {
            self.streams.resize_with(index + 1, InboundStream::default);
        }
    }

    fn deliver_early(&mut self, index: usize) {
        while let Some(message) = self.streams[index].next_early() {
            self.deliver(message);
        }
    }

    fn deliver(&mut self, message: Message) {
        if self.given.is_under_way() {
            return self.given.waiting.push(message);
        }
        self.hand_over(message);
        self.deliver_waiting();
    }

    /// Delivers messages that were blocked by a partial delivery.
    pub fn deliver_waiting(&mut self) {
        if !self.given.waiting.is_empty() && !self.given.is_under_way() {
            std::mem::take(&mut self.given.waiting).into_iter().for_each(|message| self.hand_over(message));
        }
    }

    fn hand_over(&mut self, (message, bytes): Message) {
        self.messages += 1;
        self.held -= bytes;
        self.delivered += bytes;
        if let Some(whole) = &mut self.whole {
            let mut is_new = false;
            whole.insert(u64::from(message), u64::from(message) + 1, |_, _| is_new = true);
            self.misplaced += u64::from(!is_new);
        }
        if let Some(unread) = &mut self.unread {
            unread.push_back((message, self.delivered));
        }
    }
}

/// Distance of a message number, of which 16 bits (32 with I-DATA) are known, ahead of `next`.
pub(super) fn ahead(number: u32, next: u64, interleaved: bool) -> u64 {
    let distance = number.wrapping_sub(next as u32);
    u64::from(if interleaved { distance } else { distance & 0xffff })
}

impl InboundStream {
    /// Next message, if it arrived out of order.
    fn next_early(&mut self) -> Option<Message> {
        let message = self.early.remove(&self.next)?;
        self.next += 1;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(stream: u16, number: u32, offset: u64, flags: u8) -> Data {
        let stamp = stamp(stream, u64::from(number), offset);
        let fsn = offset as u32 / 100;
        Data { tsn: 0, stream, number, fsn, length: 100, flags: DataFlags(flags), message: 0, stamp }
    }

    impl Inbound {
        /// Takes a chunk; returns how many bytes that delivers.
        fn delivers(&mut self, tsn: u64, data: &Data) -> u64 {
            let before = self.delivered;
            self.take(tsn, data, false);
            self.delivered - before
        }
    }

    #[test]
    fn streams_do_not_wait_for_each_other() {
        let mut inbound = Inbound::default();
        // Message 0 of stream 0 is late; stream 1 goes on, stream 0 waits.
        assert_eq!(inbound.delivers(1, &fragment(1, 0, 0, 3)), 100);
        assert_eq!(inbound.delivers(2, &fragment(0, 1, 0, 3)), 0);
        assert_eq!(inbound.delivers(3, &fragment(1, 1, 0, 3)), 100);
        assert_eq!(inbound.streams(), [(0, 100), (2, 0)]);
        assert_eq!((inbound.held, inbound.delivers(0, &fragment(0, 0, 0, 3))), (100, 200));
        assert_eq!((inbound.held, inbound.messages, inbound.misplaced), (0, 4, 0));
    }

    /// A message of four fragments, in every order of arrival.
    #[test]
    fn fragments_join_in_any_order() {
        let flags = [2, 0, 0, 1];
        for order in 0..24_usize {
            let mut left = vec![0, 1, 2, 3];
            let order: Vec<usize> = [order / 6, order / 2 % 3, order % 2, 0].iter().map(|&i| left.remove(i)).collect();
            let mut inbound = Inbound::default();
            let delivered: Vec<u64> = order
                .iter()
                .map(|&i| inbound.delivers(10 + i as u64, &fragment(0, 0, 100 * i as u64, flags[i])))
                .collect();
            assert_eq!(delivered, [0, 0, 0, 400], "{order:?}");
            assert_eq!((inbound.misplaced, inbound.held), (0, 0));
        }
    }

    /// Adjacent TSNs that end one message and begin the next do not join.
    #[test]
    fn messages_stay_apart() {
        let mut inbound = Inbound::default();
        assert_eq!(inbound.delivers(1, &fragment(0, 0, 100, 1)), 0);
        assert_eq!(inbound.delivers(2, &fragment(0, 1, 0, 2)), 0);
        assert_eq!(inbound.delivers(0, &fragment(0, 0, 0, 2)), 200);
        assert_eq!(inbound.delivers(3, &fragment(0, 1, 100, 1)), 200);
        assert_eq!(inbound.misplaced, 0);
    }

    #[test]
    fn a_misplaced_payload_is_noticed() {
        let mut inbound = Inbound::default();
        inbound.delivers(0, &Data { stamp: stamp(0, 1, 0), ..fragment(0, 0, 0, 3) });
        assert_eq!(inbound.misplaced, 1);
    }

    /// RFC 8260: fragments of two messages interleaved, in any order; TSNs do not matter.
    #[test]
    fn interleaved_messages_are_distinguished_by_number() {
        let (first, second) = ([2, 0, 1], [2, 1]);
        let chunks = [(0, 0, first[0]), (1, 0, second[0]), (0, 100, first[1]), (1, 100, second[1]), (0, 200, first[2])];
        let mut inbound = Inbound::default();
        let delivered = [4, 0, 3, 2, 1].map(|i| {
            let (stream, offset, flags) = chunks[i];
            let before = inbound.delivered;
            inbound.take(i as u64, &fragment(stream, 0, offset, flags), true);
            inbound.delivered - before
        });
        assert_eq!((delivered, inbound.misplaced, inbound.held), ([0, 0, 0, 300, 200], 0, 0));
    }

    /// A 16-bit sequence number stands for the next possible message; a message identifier has 32 bits.
    #[test]
    fn numbers_wrap() {
        for (interleaved, number, expected) in
            [(false, 0x1_0002, 0x1_0002), (false, 2, 0x1_0002), (true, 2, 0x1_0000_0002), (true, 0x1_0002, 0x1_0002)]
        {
            assert_eq!(0xffff + ahead(number, 0xffff, interleaved), expected);
        }
    }
}
