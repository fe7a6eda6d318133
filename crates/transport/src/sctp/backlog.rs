//! Data that the application has written and that is not yet fragmented into chunks: message boundaries and stream
//! scheduling.
//!
//! Messages are assigned to streams in turn: of S streams, stream s has messages s, s + S, s + 2S, ... of all. The
//! position of a message is computed rather than stored, so that a backlog of any length costs nothing: messages of one
//! size are contiguous, and a new [`Row`] begins only where the size changes.

use super::chunk::DataFlags;
use super::config::Config;
use super::reliability::Reliability;
use super::scheduler::{Candidate, Share, StreamScheduler};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use vazao_engine::Time;

/// Contiguous messages of one size; the last one ends where the next row begins.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Number and position of the first message.
    message: u64,
    start: u64,
    size: u64,
}

#[derive(Clone, Copy, Debug)]
struct OutboundStream {
    /// Its next message: global number, number in the stream, and how much of it is sent, in bytes and fragments.
    message: u64,
    number: u64,
    offset: u64,
    fragments: u32,
    priority: u64,
    share: Share,
    /// Whether it had nothing to send at the last check.
    idle: bool,
}

/// Fragment that may be sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub stream: u16,
    /// Number of its message, globally and in the stream.
    pub message: u64,
    pub number: u64,
    /// Position in the message, in bytes and in fragments.
    pub offset: u64,
    pub fsn: u32,
    pub length: u64,
    pub flags: DataFlags,
}

#[derive(Clone, Debug)]
pub(super) struct Backlog {
    config: Arc<Config>,
    /// Whether messages of different streams may be interleaved.
    interleaving: bool,
    /// Maximum bytes of a fragment.
    largest: u64,
    rows: VecDeque<Row>,
    /// Number and position after the last message whose size was announced.
    announced: Option<(u64, u64)>,
    streams: Vec<OutboundStream>,
    /// Bytes written, and bytes fragmented.
    pub written: u64,
    pub cut: u64,
    /// Written bytes that will never be fragmented, and the end position of the last of them.
    pub forgotten: u64,
    forgotten_to: u64,
    /// Whether the application has closed, so that the last message ends where it does; and whether no new message is
    /// begun.
    closing: bool,
    stopped: bool,
    /// Whether this association replaces an earlier one.
    reopened: bool,
    /// Stream whose message must be completed first.
    current: Option<usize>,
    /// Stream served last.
    last: usize,
    /// Next message in the order of writing.
    turn: u64,
    /// Virtual time of fair queueing.
    clock: u64,
    /// Number of messages announced one by one.
    come: u64,
    /// End and time of each write, if messages have a lifetime.
    writes: VecDeque<(u64, Time)>,
    /// Messages abandoned before earlier ones were sent.
    abandoned_early: BTreeSet<u64>,
}

impl Backlog {
    pub fn new(config: &Arc<Config>) -> Backlog {
        let size = config.message.unwrap_or(u64::from(config.largest_fragment(false)));
        let mut new = Backlog {
            interleaving: false,
            largest: 0,
            rows: VecDeque::from([Row { message: 0, start: 0, size }]),
            announced: None,
            streams: Vec::new(),
            written: 0,
            cut: 0,
            forgotten: 0,
            forgotten_to: 0,
            closing: false,
            stopped: false,
            reopened: false,
            current: None,
            last: 0,
            turn: 0,
            clock: 0,
            come: 0,
            writes: VecDeque::new(),
            abandoned_early: BTreeSet::new(),
            config: config.clone(),
        };
        new.establish(1, false);
        new
    }

    /// Restarts the streams' message numbers at 0, with no message partially sent.
    pub fn reopen(&mut self) {
        self.reopened = true;
        self.streams.iter_mut().for_each(|outbound| outbound.number = 0);
    }

    /// Streams with a partially sent message, and that message.
    pub fn begun(&self) -> Vec<(u16, u64)> {
        let streams = self.streams.iter().enumerate().filter(|(_, outbound)| outbound.offset > 0);
        streams.map(|(stream, outbound)| (stream as u16, outbound.message)).collect()
    }

    /// Sets the number of streams and whether messages may be interleaved. A replacement association keeps the number
    /// of streams, on which message positions depend.
    pub fn establish(&mut self, streams: u16, interleaving: bool) {
        self.interleaving = interleaving;
        self.largest = u64::from(self.config.largest_fragment(interleaving));
        if self.config.message.is_none() && self.announced.is_none() && self.cut == 0 {
            self.rows[0].size = self.largest;
        }
        if self.reopened {
            return;
        }
        let outbound = |stream: usize| OutboundStream {
            message: stream as u64,
            number: 0,
            offset: 0,
            fragments: 0,
            priority: self.config.priority(stream),
            share: Share { tag: 0, weight: self.config.weight(stream) },
            idle: true,
        };
        self.streams = (0..usize::from(streams)).map(outbound).collect();
        self.last = self.streams.len() - 1;
    }

    pub fn streams(&self) -> u16 {
        self.streams.len() as u16
    }

    pub fn begin_message(&mut self, bytes: u64) {
        self.come += 1;
        if self.config.message.is_some() {
            return;
        }
        let (message, start) = self.announced.unwrap_or((0, 0));
        self.announced = Some((message + 1, start + bytes));
        match self.rows.back_mut() {
            Some(row) if message > 0 && row.size == bytes => {}
            Some(row) if message == 0 => row.size = bytes,
            _ => self.rows.push_back(Row { message, start, size: bytes }),
        }
    }

    /// Ends the current message early, where messages have a fixed size.
    pub fn end_message(&mut self) {
        let row = self.rows[self.rows.len() - 1];
        let bytes = self.written - row.start;
        if self.config.message.is_some() && !bytes.is_multiple_of(row.size) {
            let message = row.message + bytes.div_ceil(row.size);
            self.rows.push_back(Row { message, start: self.written, size: row.size });
        }
    }

    pub fn message_size(&self) -> u64 {
        self.rows[self.rows.len() - 1].size
    }

    /// Bytes of unsent chunks, each with `header` bytes of header, if more data may be written.
    pub fn waiting(&self, header: u64) -> Option<u64> {
        let bytes = self.written - self.cut;
        (!self.closing).then(|| bytes + bytes.div_ceil(self.message_size().min(self.largest)) * header)
    }

    pub fn write(&mut self, now: Time, bytes: u64) {
        let before = self.written;
        self.written += bytes;
        // The rest of a message abandoned before it was complete.
        self.forgotten += self.forgotten_to.min(self.written).saturating_sub(before);
        if self.config.partial_reliability == Reliability::Timed {
            self.writes.push_back((self.written, now));
        }
    }

    /// Time at which a message's lifetime ends.
    pub fn expiry(&self, message: u64) -> Time {
        if self.config.partial_reliability != Reliability::Timed {
            return Time::NEVER;
        }
        let start = self.place(message).0;
        let write = self.writes.get(self.writes.partition_point(|&(end, _)| end <= start));
        write.map_or(Time::NEVER, |&(_, when)| when.saturating_add(self.config.lifetime))
    }

    /// Number and priority of the newest message.
    pub fn newest(&self) -> (u64, u64) {
        let message = self.come - 1;
        (message, self.streams[self.stream_of(message)].priority)
    }

    /// Next or current message of a stream: its global number and its number in the stream.
    pub fn head(&self, stream: u16) -> (u64, u64) {
        let outbound = &self.streams[usize::from(stream)];
        (outbound.message, outbound.number)
    }

    /// Next fragment of the stream with the lowest priority, if that is lower than `own`.
    pub fn lowest_priority(&self, own: u64) -> Option<Fragment> {
        let streams = (0..self.streams.len()).filter(|&index| self.streams[index].priority > own);
        streams.filter_map(|index| self.fragment(index)).max_by_key(|f| self.streams[usize::from(f.stream)].priority)
    }

    /// Abandons the rest of a stream's next message.
    pub fn skip(&mut self, stream: u16) {
        let index = usize::from(stream);
        let outbound = &self.streams[index];
        let (start, end) = self.place(outbound.message);
        self.forgotten += end.min(self.written) - start - outbound.offset;
        self.forgotten_to = self.forgotten_to.max(end);
        self.finish(index);
    }

    /// Abandons a message of `bytes`, announced or written, once its stream reaches it.
    pub fn abandon_on_arrival(&mut self, message: u64, bytes: u64) {
        self.forgotten += bytes;
        self.abandoned_early.insert(message);
        self.skip_abandoned(self.stream_of(message));
    }

    /// Index of a message's stream: they take turns.
    #[inline]
    fn stream_of(&self, message: u64) -> usize {
        // A division that most associations, which have one stream, can do without.
        if self.streams.len() == 1 { 0 } else { (message % self.streams.len() as u64) as usize }
    }

    fn skip_abandoned(&mut self, index: usize) {
        let streams = self.streams.len() as u64;
        while self.streams[index].offset == 0 && self.abandoned_early.remove(&self.streams[index].message) {
            self.streams[index].message += streams;
        }
        while self.streams[self.stream_of(self.turn)].message > self.turn {
            self.turn += 1;
        }
    }

    /// Marks the end of the data.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Discards messages not yet begun; returns the total bytes that are or will be sent. Of a single stream they are
    /// cut off, so that what is written later follows the message under way, as the alert does that ends DTLS; with
    /// several streams no message begins any more.
    pub fn discard(&mut self) -> u64 {
        self.closing = true;
        match self.streams[..] {
            [only] => self.truncate(only),
            _ => self.stopped = true,
        }
        let rest = |outbound: &OutboundStream| {
            let (start, end) = self.place(outbound.message);
            if outbound.offset > 0 { end - start - outbound.offset } else { 0 }
        };
        let begun: u64 = self.streams.iter().map(rest).sum();
        self.forgotten = self.written - self.cut - begun;
        self.cut + begun
    }

    /// Cuts off what is written after the message under way of the only stream.
    fn truncate(&mut self, only: OutboundStream) {
        let (start, end) = self.place(only.message);
        self.written = self.written.min(if only.offset > 0 { end } else { start });
        while self.rows.len() > 1 && self.rows[self.rows.len() - 1].start > self.written {
            self.rows.pop_back();
        }
    }

    /// Start and end of a message, possibly beyond what is written.
    fn place(&self, message: u64) -> (u64, u64) {
        let index = if self.rows.len() == 1 { 1 } else { self.rows.partition_point(|row| row.message <= message) };
        let row = self.rows[index - 1];
        let start = row.start + (message - row.message) * row.size;
        let mut end = start + row.size;
        if let Some(next) = self.rows.get(index) {
            end = end.min(next.start);
        } else if self.config.message.is_none() && self.announced.is_none() {
            // Messages without a configured size consist of the available data, up to a packet.
            end = end.min(self.written);
        }
        (start, if self.closing { end.min(self.written) } else { end })
    }

    #[inline]
    fn fragment(&self, index: usize) -> Option<Fragment> {
        let outbound = &self.streams[index];
        let (start, end) = self.place(outbound.message);
        let from = start + outbound.offset;
        if from >= self.written || (self.stopped && outbound.offset == 0) {
            return None;
        }
        let ready = self.written - from;
        let (rest, whole) = (end - from, (end - from).min(self.largest));
        // Whether the message continues determines the flags of its last fragment.
        let may_end = ready == whole && whole < rest;
        if (ready < whole || may_end) && !self.closing {
            return None;
        }
        let length = whole.min(ready);
        let mut flags = if outbound.offset == 0 { DataFlags::BEGIN } else { DataFlags::default() };
        if length == rest {
            flags = flags.with(DataFlags::END);
        }
        if self.config.unordered {
            flags = flags.with(DataFlags::UNORDERED);
        }
        let OutboundStream { message, number, offset, fragments: fsn, .. } = *outbound;
        Some(Fragment { stream: index as u16, message, number, offset, fsn, length, flags })
    }

    /// Whether fragments leave in the order of their messages, so that [`peek`](Self::peek) chooses nothing.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.config.scheduler == StreamScheduler::FirstComeFirstServed
    }

    /// Returns the next fragment to send, for an empty packet or one that has data already.
    #[inline]
    pub fn peek(&mut self, packet_begins: bool) -> Option<Fragment> {
        if let Some(current) = self.current.filter(|_| !self.interleaving) {
            return self.fragment(current);
        }
        match self.config.scheduler {
            StreamScheduler::FirstComeFirstServed => self.fragment(self.stream_of(self.turn)),
            scheduler if scheduler.keeps_packets_apart() && !packet_begins => self.fragment(self.last),
            scheduler => self.schedule(scheduler),
        }
    }

    fn schedule(&mut self, scheduler: StreamScheduler) -> Option<Fragment> {
        let streams = self.streams.len();
        let mut best: Option<((u64, u64), Fragment)> = None;
        for distance in 0..streams {
            let index = (self.last + 1 + distance) % streams;
            let fragment = self.fragment(index);
            let outbound = &mut self.streams[index];
            let Some(fragment) = fragment else {
                outbound.idle = true;
                continue;
            };
            if std::mem::take(&mut outbound.idle) {
                outbound.share.tag = outbound.share.tag.max(self.clock);
            }
            let rank = scheduler.rank(&Candidate {
                message: fragment.message,
                distance: distance as u64,
                priority: outbound.priority,
                finish: outbound.share.finish(fragment.length),
            });
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                best = Some((rank, fragment));
            }
        }
        best.map(|(_, fragment)| fragment)
    }

    /// Records that the fragment returned by `peek` is sent.
    #[inline]
    pub fn take(&mut self, fragment: &Fragment) {
        self.cut += fragment.length;
        let index = usize::from(fragment.stream);
        let outbound = &mut self.streams[index];
        outbound.share.tag = outbound.share.finish(fragment.length);
        self.clock = outbound.share.tag;
        outbound.offset += fragment.length;
        outbound.fragments += 1;
        self.last = index;
        self.current = Some(index);
        if fragment.flags.has(DataFlags::END) {
            self.finish(index);
        }
    }

    /// Moves a stream to its next message.
    fn finish(&mut self, index: usize) {
        let message = self.streams[index].message;
        let (start, end) = self.place(message);
        let row = self.rows[self.rows.len() - 1];
        if self.announced.is_none() && message >= row.message && end - start < row.size {
            // The message was cut short, so the rest of its row begins after it.
            self.rows.push_back(Row { message: message + 1, start: end, size: row.size });
        }
        let streams = self.streams.len() as u64;
        let outbound = &mut self.streams[index];
        outbound.message += streams;
        outbound.number += u64::from(outbound.offset > 0);
        (outbound.offset, outbound.fragments) = (0, 0);
        if self.current == Some(index) {
            self.current = None;
        }
        self.skip_abandoned(index);
        self.forget();
    }

    /// Removes rows and writes before every stream's next message, now and then.
    fn forget(&mut self) {
        let most = 2 * self.streams.len() + 64;
        if self.rows.len() > most || self.writes.len() > most {
            let first = self.streams.iter().map(|outbound| outbound.message).min().unwrap_or(0);
            let start = self.place(first).0;
            let done = self.rows.partition_point(|row| row.message <= first);
            self.rows.drain(..done - 1);
            let done = self.writes.partition_point(|&(end, _)| end <= start);
            self.writes.drain(..done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::mem;
    use vazao_engine::registry::{Parameters, Raw};

    /// The largest fragment is 1500 - 20 - 12 - 20 = 1448 bytes in an I-DATA chunk, 1452 in a DATA chunk.
    const FRAGMENT: u64 = 1448;

    fn backlog(scheduler: &str, streams: u16, interleaving: bool, message: Option<u64>) -> Backlog {
        let list = |numbers: [f64; 3]| Raw::Numbers(numbers.into());
        let given = [
            ("scheduler", Raw::Text(scheduler.into())),
            ("priorities", list([2.0, 1.0, 2.0])),
            ("weights", list([1.0, 2.0, 1.0])),
        ];
        let given = given.map(|(name, value)| (name.to_owned(), value)).into();
        let parameters = Parameters::resolve(Config::PARAMETERS, &given).expect("settings that exist");
        let mut backlog = Backlog::new(&Arc::new(Config::from((&parameters, message, None))));
        backlog.establish(streams, interleaving);
        backlog
    }

    /// Returns the streams in the order in which they are served, with two chunks per packet.
    fn served(scheduler: &str, interleaving: bool) -> String {
        let mut backlog = backlog(scheduler, 3, interleaving, Some(2 * FRAGMENT));
        backlog.written = 12 * 2 * FRAGMENT;
        let mut served = String::new();
        while let Some(fragment) = backlog.peek(true) {
            backlog.take(&fragment);
            served += &fragment.stream.to_string();
            if let Some(fragment) = backlog.peek(false) {
                backlog.take(&fragment);
                served += &fragment.stream.to_string();
            }
        }
        served
    }

    /// RFC 8260 section 3: streams 0, 1, 2 have four messages of two fragments each; stream 1 has the highest priority
    /// and twice the weight. Without I-DATA no message is interrupted.
    #[test]
    fn schedulers_order_streams_as_their_definitions_say() {
        for (scheduler, whole, interleaved) in [
            ("fcfs", "001122001122001122001122", "001122001122001122001122"),
            ("round-robin", "001122001122001122001122", "012012012012012012012012"),
            ("round-robin-per-packet", "001122001122001122001122", "001122001122001122001122"),
            ("priority", "111111112200220022002200", "111111112020202020202020"),
            ("fair-bandwidth", "001122001122001122001122", "012012012012012012012012"),
        ] {
            // A DATA fragment is four bytes longer, but messages still have two.
            assert_eq!(served(scheduler, false), whole, "{scheduler}");
            assert_eq!(served(scheduler, true), interleaved, "{scheduler} with interleaving");
        }
        // While stream 1 has messages, it gets twice the share of each other stream: two of every four.
        let shares = served("weighted-fair-queueing", true);
        for quarter in 1..=4 {
            let ones = shares[..4 * quarter].matches('1').count();
            assert!(ones.abs_diff(2 * quarter) <= 1, "{shares}");
        }
    }

    /// Adds the sizes of the messages that a write of `size` bytes completes, after `open` bytes of one: the announced
    /// size, or the fixed one unless it `ends` early.
    fn complete(sizes: &mut Vec<u64>, open: &mut u64, size: u64, message: Option<u64>, ends: bool) {
        let Some(message) = message else { return sizes.push(size) };
        *open += size;
        sizes.extend((0..*open / message).map(|_| message));
        *open %= message;
        if ends && *open > 0 {
            sizes.push(mem::take(open));
        }
    }

    proptest! {
        /// Whatever is written, announced, scheduled and closed: every byte is fragmented once, messages have the
        /// announced size, and the messages of a stream and the fragments of a message come in order; without I-DATA,
        /// in one piece.
        #[test]
        fn every_byte_is_cut_once(
            scheduler in prop::sample::select(StreamScheduler::ALL).prop_map(|(name, _)| name),
            streams in 1_u16..5, interleaving: bool, announced: bool, message in prop::option::of(1_u64..5_000),
            writes in prop::collection::vec((1_u64..4_000, 0_usize..6, any::<bool>()), 1..40),
        ) {
            let mut backlog = backlog(scheduler, streams, interleaving, message);
            let mut sizes = Vec::new();
            let mut seen: BTreeMap<u64, Fragment> = BTreeMap::new();
            let mut last: Option<Fragment> = None;
            let mut bytes = 0;
            let mut cut = |backlog: &mut Backlog, most: usize| -> Result<(), TestCaseError> {
                for i in 0..most {
                    let Some(fragment) = backlog.peek(i % 3 == 0).or_else(|| backlog.peek(true)) else { break };
                    backlog.take(&fragment);
                    bytes += fragment.length;
                    let before = seen.insert(fragment.message, fragment);
                    let begins = fragment.flags.has(DataFlags::BEGIN);
                    let follows = before.map_or((0, 0), |f| (f.offset + f.length, f.fsn + 1));
                    prop_assert_eq!((fragment.offset, fragment.fsn, before.is_none()), (follows.0, follows.1, begins));
                    prop_assert_eq!(u64::from(fragment.stream), fragment.message % u64::from(streams));
                    prop_assert_eq!(fragment.number, fragment.message / u64::from(streams));
                    if let Some(last) = last.filter(|f| !interleaving && !f.flags.has(DataFlags::END)) {
                        prop_assert_eq!(last.message, fragment.message);
                    }
                    last = Some(fragment);
                }
                Ok(())
            };
            let mut open = 0;
            for (size, turns, ends) in writes {
                if announced {
                    backlog.begin_message(size);
                }
                backlog.written += size;
                if ends {
                    backlog.end_message();
                }
                complete(&mut sizes, &mut open, size, message, ends);
                cut(&mut backlog, turns)?;
            }
            sizes.extend(Some(open).filter(|&open| open > 0));
            backlog.close();
            cut(&mut backlog, usize::MAX)?;
            prop_assert_eq!((bytes, backlog.cut), (backlog.written, backlog.written));
            prop_assert!(seen.values().all(|f| f.flags.has(DataFlags::END)));
            let lengths: Vec<u64> = seen.values().map(|f| f.offset + f.length).collect();
            if message.is_some() || announced {
                prop_assert_eq!(lengths, sizes);
            }
        }
    }
}
