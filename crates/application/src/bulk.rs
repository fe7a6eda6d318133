//! Bulk transfer: a source that always has data, and a sink that checks what arrives.

use vazao_engine::{Duration, Rate, Time};
use vazao_transport::Stream;

/// Writes a number of bytes, or for a time, or until the run ends; then closes.
#[derive(Clone, Debug)]
pub struct Source {
    size: Option<u64>,
    duration: Option<Duration>,
    deadline: Time,
    started: bool,
    finished: bool,
    written: u64,
}

/// What a source without a size offers: more than any run can send.
const ENDLESS: u64 = 1 << 56;

impl Source {
    /// A source of `size` bytes, or for `duration` from the moment the connection stands, or without end.
    pub fn new(size: Option<u64>, duration: Option<Duration>) -> Self {
        Source { size, duration, deadline: Time::NEVER, started: false, finished: false, written: 0 }
    }

    #[inline]
    pub(crate) fn drive(&mut self, now: Time, stream: &mut impl Stream) {
        if self.finished || !stream.is_connected() {
            return;
        }
        if !self.started {
            self.started = true;
            self.deadline = self.duration.map_or(Time::NEVER, |span| now.saturating_add(span));
        }
        let goal = self.size.unwrap_or(ENDLESS);
        if self.written < goal {
            self.written += stream.write(goal - self.written);
        }
        if now >= self.deadline {
            self.written = stream.discard_unsent();
        }
        if now >= self.deadline || self.written == goal {
            stream.close();
            self.finished = true;
            self.deadline = Time::NEVER;
        }
    }

    pub(crate) fn next_wake(&self) -> Time {
        self.deadline
    }

    /// Whether it has neither a size nor a duration.
    pub fn is_endless(&self) -> bool {
        self.size.is_none() && self.duration.is_none()
    }
    /// Bytes it will send, if it has a size.
    pub fn size(&self) -> Option<u64> {
        self.size
    }
    /// How long it sends, if not forever.
    pub fn duration(&self) -> Option<Duration> {
        self.duration
    }
    /// Bytes given to the connection; final once [`is_finished`](Self::is_finished).
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Whether it has written all it ever will.
    pub fn is_finished(&self) -> bool {
        self.finished
    }
}

/// Reads everything, at once or at a limited rate, and keeps the ledger: whether each byte came once and in order, and
/// when the first and the last one did.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    read_rate: Option<Rate>,
    next_read: Option<Time>,
    received: u64,
    first: Option<Time>,
    last: Option<Time>,
    disorder: bool,
    closed: bool,
}

impl Sink {
    /// A sink that reads at `read_rate`, or as fast as data comes.
    pub fn new(read_rate: Option<Rate>) -> Self {
        Sink { read_rate, ..Sink::default() }
    }

    /// How often a slow reader reads.
    const READ_INTERVAL: Duration = Duration::from_millis(10);

    #[inline]
    pub(crate) fn drive(&mut self, now: Time, stream: &mut impl Stream) {
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

    fn read_slowly(&mut self, now: Time, rate: Rate, stream: &mut impl Stream) -> Option<std::ops::Range<u64>> {
        if self.closed || !stream.is_connected() || self.next_read.is_some_and(|time| now < time) {
            return None;
        }
        self.next_read = Some(now + Self::READ_INTERVAL);
        stream.read_at_most(rate.bytes_in(Self::READ_INTERVAL).get().max(1))
    }

    pub(crate) fn next_wake(&self) -> Time {
        self.next_read.unwrap_or(Time::NEVER)
    }

    /// Bytes received in order.
    pub fn received(&self) -> u64 {
        self.received
    }
    /// When the first byte was read.
    pub fn first_byte(&self) -> Option<Time> {
        self.first
    }
    /// When the last byte so far was read.
    pub fn last_byte(&self) -> Option<Time> {
        self.last
    }
    /// Whether a byte came twice, or out of order.
    pub fn is_disordered(&self) -> bool {
        self.disorder
    }
    /// Whether the peer closed and everything was read.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}
