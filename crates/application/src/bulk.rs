//! Streams of data: a source that writes all at once or message by message, and a sink that checks what arrives.

use crate::{Messages, Pattern};
use vazao_engine::{Duration, Rate, Time};
use vazao_transport::ByteStream;

/// Writes a number of bytes, or for a time, or until the run ends; then closes.
#[derive(Clone, Debug)]
pub struct Source {
    size: Option<u64>,
    duration: Option<Duration>,
    /// Pace of messages; `None`: all data is sent as fast as the connection takes it.
    paced: Option<Box<Paced>>,
    deadline: Time,
    started: bool,
    finished: bool,
    /// Whether the connection was lost and may be established again: nothing is to be done meanwhile.
    is_cut_off: bool,
    written: u64,
}

/// A source whose data comes message by message.
#[derive(Clone, Debug)]
struct Paced {
    pattern: Pattern,
    /// Number of messages.
    count: Option<u64>,
    /// Time of the next message.
    next: Time,
    /// Bytes and messages that have come up to now.
    offered: u64,
    come: u64,
    messages: Messages,
}

/// A byte in bit-nanoseconds at one bit a second.
const BYTE: u128 = 8_000_000_000;

/// Size of a source without a size: more than any run can send.
const ENDLESS: u64 = 1 << 56;

impl Source {
    /// Creates a source of `size` bytes, or for `duration` from the moment the connection stands, or without end.
    pub fn new(size: Option<u64>, duration: Option<Duration>) -> Self {
        let deadline = Time::NEVER;
        Source { size, duration, paced: None, deadline, started: false, finished: false, is_cut_off: false, written: 0 }
    }

    /// Paces a source by messages, `count` of them if it is given.
    pub fn paced(self, pattern: Pattern, count: Option<u64>) -> Self {
        let messages = Messages::default();
        let paced = Paced { pattern, count, next: Time::NEVER, offered: 0, come: 0, messages };
        Source { paced: Some(Box::new(paced)), ..self }
    }

    /// Replaces the pattern of a paced source.
    pub(crate) fn scripted(&mut self, pattern: Pattern) {
        if let Some(paced) = &mut self.paced {
            paced.pattern = pattern;
        }
    }

    #[inline]
    pub(crate) fn drive(&mut self, now: Time, stream: &mut impl ByteStream) {
        self.is_cut_off = !stream.is_connected();
        if self.finished || self.is_cut_off {
            return;
        }
        if !self.started {
            self.started = true;
            self.deadline = self.duration.map_or(Time::NEVER, |span| now.saturating_add(span));
            if let Some(paced) = &mut self.paced {
                paced.next = now;
            }
        }
        let all = match &mut self.paced {
            None => {
                let goal = self.size.unwrap_or(ENDLESS);
                if self.written < goal {
                    self.written += stream.write(goal - self.written);
                }
                self.size == Some(self.written)
            }
            Some(paced) => paced.drive(now.min(self.deadline), self.size, &mut self.written, stream),
        };
        let timed_out = now >= self.deadline;
        if timed_out {
            self.written = stream.discard_unsent();
        }
        if timed_out || all {
            stream.close();
            self.finished = true;
            self.deadline = Time::NEVER;
        }
    }

    pub(crate) fn next_wake(&self) -> Time {
        match &self.paced {
            _ if self.is_cut_off => Time::NEVER,
            Some(paced) if !self.finished => self.deadline.min(paced.next),
            _ => self.deadline,
        }
    }

    /// Returns whether it has neither a size nor a duration nor a number of messages, nor a script, which may end it.
    pub fn is_endless(&self) -> bool {
        self.duration.is_none() && self.is_unbounded()
    }
    /// Returns whether nothing but its duration ends it.
    fn is_unbounded(&self) -> bool {
        self.size.is_none() && self.count().is_none() && !self.is_scripted()
    }
    /// Returns the time up to which it writes, if it is not before `start` that it begins to: zero if that is not known.
    pub fn writes_until(&self, start: Time) -> Time {
        match self.duration {
            _ if self.finished || !self.is_unbounded() => Time::ZERO,
            None => Time::NEVER,
            Some(duration) if !self.started => start.saturating_add(duration),
            Some(_) => self.deadline,
        }
    }
    /// Returns the bytes that are still to be written and sent, of which `unsent` are written; none, if something else than its size
    /// may end it before.
    pub fn remaining(&self, unsent: u64) -> u64 {
        let may_end = self.duration.is_some() || self.count().is_some() || self.is_scripted();
        if may_end { 0 } else { self.size.map_or(0, |size| size - self.written) + unsent }
    }
    fn is_scripted(&self) -> bool {
        self.paced.as_ref().is_some_and(|paced| paced.pattern.is_scripted())
    }
    /// Bytes it will send, if it has a size.
    pub fn size(&self) -> Option<u64> {
        self.size.or_else(|| Some(self.count()? * self.pace()?.0))
    }
    /// Returns the number of messages to send, if that is given.
    pub fn count(&self) -> Option<u64> {
        self.paced.as_ref()?.count
    }
    /// Returns whether its data comes message by message.
    pub fn is_paced(&self) -> bool {
        self.paced.is_some()
    }
    /// Bytes of each message and the time between two, if that is how its data comes.
    pub fn pace(&self) -> Option<(u64, Duration)> {
        self.paced.as_ref()?.pattern.constant()
    }
    /// Returns the duration of sending, if not forever.
    pub fn duration(&self) -> Option<Duration> {
        self.duration
    }
    /// Bytes given to the connection; final once [`is_finished`](Self::is_finished).
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Returns whether it has written all its data.
    pub fn is_finished(&self) -> bool {
        self.finished
    }
    /// Returns its messages, if its data comes as such.
    pub fn messages(&self) -> Option<&Messages> {
        self.paced.as_ref().map(|paced| &paced.messages)
    }
    /// Returns its messages, if its data comes as such.
    pub(crate) fn messages_mut(&mut self) -> Option<&mut Messages> {
        self.paced.as_mut().map(|paced| &mut paced.messages)
    }
    /// Notes that everything before a stream offset has been read at the other end.
    pub(crate) fn deliver(&mut self, now: Time, offset: u64) {
        if let Some(paced) = &mut self.paced {
            paced.messages.read(offset, now);
        }
    }
    /// Notes that a message will not be read at the other end any more.
    pub(crate) fn abandon_message(&mut self, number: u32) {
        if let Some(paced) = &mut self.paced {
            paced.messages.abandon(number);
        }
    }
    /// Notes that a message has been read at the other end, by its number.
    pub(crate) fn deliver_message(&mut self, now: Time, number: u32) {
        if let Some(paced) = &mut self.paced {
            paced.messages.read_message(number, now);
        }
    }
}

impl Paced {
    /// Writes the messages that have come by `now`, each on its own as far as the connection takes it. Says whether
    /// those were all.
    #[inline(never)]
    fn drive(&mut self, now: Time, size: Option<u64>, written: &mut u64, stream: &mut impl ByteStream) -> bool {
        *written += stream.write(self.offered - *written);
        while self.next <= now {
            let Some((bytes, gap)) = self.pattern.next_at(self.next) else {
                self.next = Time::NEVER;
                break;
            };
            let bytes = size.map_or(bytes, |size| bytes.min(size - self.offered));
            stream.begin_message(bytes);
            self.offered += bytes;
            self.come += 1;
            self.messages.write(self.offered, self.next);
            *written += stream.write(self.offered - *written);
            let last = size == Some(self.offered) || self.count == Some(self.come);
            self.next = if last { Time::NEVER } else { self.next.saturating_add(gap) };
        }
        self.next == Time::NEVER && *written == self.offered
    }
}

/// Reads everything, at once or at a limited rate, and keeps the ledger: whether each byte came once and in order, and
/// when the first and the last one did.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    read_rate: Option<Rate>,
    next_read: Option<Time>,
    /// Remainder of the rate after rounding to whole bytes, in bit-nanoseconds.
    carry: u64,
    received: u64,
    first: Option<Time>,
    last: Option<Time>,
    disorder: bool,
    closed: bool,
}

impl Sink {
    /// Creates a sink that reads at `read_rate`, or as fast as data comes.
    pub fn new(read_rate: Option<Rate>) -> Self {
        Sink { read_rate, ..Sink::default() }
    }

    /// Interval between the reads of a slow reader.
    const READ_INTERVAL: Duration = Duration::from_millis(10);

    #[inline]
    pub(crate) fn drive(&mut self, now: Time, stream: &mut impl ByteStream) {
        let range = match self.read_rate {
            None => stream.read(),
            Some(rate) => self.read_slowly(now, rate, stream),
        };
        if let Some(range) = range {
            self.disorder |= range.start != self.received;
            self.received = range.end;
            self.first.get_or_insert(now);
            self.last = Some(now);
        }
        if !self.closed && stream.peer_closed() {
            self.closed = true;
            self.next_read = None;
            stream.close();
        }
    }

    fn read_slowly(&mut self, now: Time, rate: Rate, stream: &mut impl ByteStream) -> Option<std::ops::Range<u64>> {
        // A connection that has ended may have left data to read.
        let is_early = self.next_read.map_or(!stream.is_connected(), |time| now < time);
        if self.closed || is_early {
            return None;
        }
        self.next_read = Some(now + Self::READ_INTERVAL);
        let budget = u128::from(rate.as_bps()) * u128::from(Self::READ_INTERVAL.as_nanos()) + u128::from(self.carry);
        self.carry = (budget % BYTE) as u64;
        stream.read_at_most((budget / BYTE) as u64)
    }

    pub(crate) fn next_wake(&self) -> Time {
        self.next_read.unwrap_or(Time::NEVER)
    }

    /// Returns the reading rate, if it does not read at once.
    pub fn read_rate(&self) -> Option<Rate> {
        self.read_rate
    }
    /// Bytes received in order.
    pub fn received(&self) -> u64 {
        self.received
    }
    /// Returns the time at which the first byte was read.
    pub fn first_byte(&self) -> Option<Time> {
        self.first
    }
    /// Returns the time at which the last byte so far was read.
    pub fn last_byte(&self) -> Option<Time> {
        self.last
    }
    /// Returns whether a byte came twice, or out of order.
    pub fn is_disordered(&self) -> bool {
        self.disorder
    }
    /// Returns whether the peer closed and everything was read.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RandomStreams;
    use vazao_engine::Law;

    /// A stream that takes and delivers everything at once, or `room` bytes at most.
    #[derive(Default)]
    struct Pipe {
        room: Option<u64>,
        written: u64,
        sent: u64,
        read: u64,
        closed: bool,
    }

    impl ByteStream for Pipe {
        fn write(&mut self, bytes: u64) -> u64 {
            let taken = self.room.map_or(bytes, |room| bytes.min(room));
            self.written += taken;
            taken
        }
        fn discard_unsent(&mut self) -> u64 {
            self.written = self.sent;
            self.sent
        }
        fn read(&mut self) -> Option<std::ops::Range<u64>> {
            self.read_at_most(u64::MAX)
        }
        fn read_at_most(&mut self, limit: u64) -> Option<std::ops::Range<u64>> {
            let start = self.read;
            self.read += limit.min(self.sent - start);
            (self.read > start).then_some(start..self.read)
        }
        fn close(&mut self) {
            self.closed = true;
        }
        fn is_connected(&self) -> bool {
            true
        }
        fn peer_closed(&self) -> bool {
            self.closed && self.read == self.written
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_size_is_written_as_fast_as_the_buffer_takes_it() {
        let (mut source, mut pipe) = (Source::new(Some(2_500), None), Pipe { room: Some(1_000), ..Pipe::default() });
        for (written, closed) in [(1_000, false), (2_000, false), (2_500, true), (2_500, true)] {
            source.drive(at(0), &mut pipe);
            assert_eq!((pipe.written, pipe.closed), (written, closed));
        }
    }

    #[test]
    fn a_duration_ends_with_what_was_sent_by_then() {
        let (mut source, mut pipe) = (Source::new(None, Some(Duration::from_millis(100))), Pipe::default());
        source.drive(at(5), &mut pipe);
        assert_eq!((pipe.closed, source.next_wake()), (false, at(105)));
        pipe.sent = 40_000;
        source.drive(at(104), &mut pipe);
        assert!(!pipe.closed);
        source.drive(at(105), &mut pipe);
        assert!(pipe.closed && source.is_finished());
        assert_eq!((source.written(), source.next_wake()), (40_000, Time::NEVER));
    }

    #[test]
    fn messages_come_one_by_one() {
        let streams = RandomStreams { seed: 1, flow: 0 };
        let pattern = Pattern::new(Law::Constant(10e6), Law::Constant(100.0), streams);
        let (mut source, mut pipe) = (Source::new(Some(250), None).paced(pattern, None), Pipe::default());
        for (ms, written, closed) in [(0, 100, false), (9, 100, false), (10, 200, false), (20, 250, true)] {
            source.drive(at(ms), &mut pipe);
            assert_eq!((pipe.written, pipe.closed), (written, closed), "after {ms} ms");
        }
        assert_eq!(source.next_wake(), Time::NEVER);
        // Written at 0, 10 and 20 ms.
        source.deliver(at(15), 199);
        source.deliver(at(50), 250);
        let latency = source.messages().expect("it has messages").latency();
        assert_eq!(latency.count(), 3);
        assert!((latency.mean().expect("three") - 0.085 / 3.0).abs() < 1e-9, "{latency:?}");
    }

    #[test]
    fn a_source_without_an_end_never_closes() {
        let (mut source, mut pipe) = (Source::new(None, None), Pipe::default());
        source.drive(at(0), &mut pipe);
        source.drive(at(1_000_000), &mut pipe);
        assert!(!pipe.closed && source.is_endless());
    }

    #[test]
    fn a_slow_reader_reads_at_its_rate_and_in_order() {
        let (mut sink, mut pipe) = (Sink::new(Some(Rate::from_bps(8_000_000))), Pipe::default());
        (pipe.written, pipe.sent) = (25_000, 25_000);
        for ms in (0..50).step_by(5) {
            sink.drive(at(ms), &mut pipe);
            // 1 MB/s, read every 10 ms.
            assert_eq!(sink.received(), (10_000 * (ms / 10 + 1)).min(25_000));
        }
        assert!(!sink.is_disordered());
        assert_eq!((sink.first_byte(), sink.last_byte()), (Some(at(0)), Some(at(20))));
    }
}
