//! Streams of a connection (RFC 9000 sections 2 to 4): opening and closing, flow control, and scheduling.

use super::table::Table;
use super::*;
use crate::quic::stream::{ALL, Incoming, Outgoing, Turn};
use std::collections::BTreeSet;

/// Streams of a connection and their limits.
pub(super) struct StreamSet {
    pub map: Table<StreamState>,
    /// Streams with data to send, in the order of scheduling.
    pub ready: BTreeSet<Turn>,
    /// New bytes of the streams in `ready`.
    pub waiting: u64,
    turn: u64,
    /// Streams opened of each kind: client's and server's, bidirectional and unidirectional (section 2.1).
    opened: [u64; 4],
    /// Total streams that the peer allows us, and that we allow the peer; bidirectional and unidirectional.
    allowed: [u64; 2],
    pub granted: [u64; 2],
    /// Whether MAX_STREAMS must be sent.
    pub granted_due: [bool; 2],
    /// Streams of the peer that the application has not accepted yet.
    fresh: VecDeque<u64>,
    /// Streams with new data for the application.
    readable: BTreeSet<u64>,
    /// Streams reset by the peer, not yet reported to the application.
    resets: VecDeque<(u64, u64)>,
    /// The peer's connection-level limit, and bytes sent.
    pub peer_limit: u64,
    pub data_sent: u64,
    /// Our connection-level window, bytes received, and bytes read.
    pub window: Window,
    pub data_received: u64,
    pub data_read: u64,
    pub window_due: bool,
    /// STREAM frames that brought something new.
    pub fresh_frames: u64,
}

impl StreamSet {
    pub fn new(config: &Config) -> StreamSet {
        let most = config.max_streams.max(config.streams);
        StreamSet {
            map: Table::default(),
            ready: BTreeSet::new(),
            waiting: 0,
            turn: 0,
            opened: [0; 4],
            allowed: [most; 2],
            granted: [most; 2],
            granted_due: [false; 2],
            fresh: VecDeque::new(),
            readable: BTreeSet::new(),
            resets: VecDeque::new(),
            peer_limit: config.connection_window,
            data_sent: 0,
            window: Window::new(config.connection_window, config.receive_buffer, config.window_update),
            data_received: 0,
            data_read: 0,
            window_due: false,
            fresh_frames: 0,
        }
    }

    /// Scheduling key of a stream queued now.
    fn place(&mut self, id: u64, urgency: u8, quantum: u64) -> Turn {
        self.turn += 1;
        (urgency, if quantum < ALL { self.turn } else { 0 }, id)
    }

    /// Queues a stream that may have something to send.
    pub fn enqueue(&mut self, id: u64) {
        let Some(stream) = self.map.get_mut(&id) else { return };
        if stream.queued.is_none() && stream.out.is_pending(stream.peer_limit) {
            stream.turn_left = stream.quantum;
            let (urgency, quantum) = (stream.urgency, stream.quantum);
            let place = self.place(id, urgency, quantum);
            let stream = self.map.get_mut(&id).expect("it is there");
            stream.queued = Some(place);
            self.waiting += stream.out.unsent();
            self.ready.insert(place);
        }
    }

    /// Records that the first stream in the queue has sent `bytes`; it is queued again if it `stays` after its turn.
    #[inline]
    pub fn end_turn(&mut self, place: Turn, bytes: u64, stays: bool) {
        if stays && self.ready.len() == 1 {
            return;
        }
        let stream = self.map.get_mut(&place.2).expect("what is ready is there");
        stream.turn_left = if stream.quantum < ALL { stream.turn_left.saturating_sub(bytes) } else { ALL };
        if stays && stream.turn_left > 0 {
            return;
        }
        stream.queued = None;
        self.waiting -= stream.out.unsent();
        self.ready.remove(&place);
        if stays {
            self.enqueue(place.2);
        }
    }

    /// Removes a stream from the queue.
    fn withdraw(&mut self, id: u64) {
        let Some(stream) = self.map.get_mut(&id) else { return };
        if let Some(place) = stream.queued.take() {
            self.waiting -= stream.out.unsent();
            self.ready.remove(&place);
        }
    }
}

impl crate::common::Streams for Connection {
    fn open_stream(&mut self) -> Option<u64> {
        Connection::open_stream(self, true)
    }
    fn write_stream(&mut self, id: u64, bytes: u64) {
        Connection::write_stream(self, id, bytes);
    }
    fn finish_stream(&mut self, id: u64) {
        Connection::finish_stream(self, id);
    }
    fn share_stream(&mut self, id: u64, turn: Option<u64>) {
        self.prioritise_stream(id, 3, turn);
    }
    fn next_readable(&mut self) -> Option<u64> {
        self.streams.readable.pop_first()
    }
    fn read_stream(&mut self, id: u64) -> Option<Range<u64>> {
        Connection::read_stream(self, id, u64::MAX)
    }
}

/// Whether a stream is unidirectional, as an index.
fn one_way(id: u64) -> usize {
    (id >> 1 & 1) as usize
}

impl Connection {
    /// Opens a bidirectional or unidirectional stream. `None`: the peer's limit is reached.
    pub fn open_stream(&mut self, both_ways: bool) -> Option<u64> {
        let kind = u64::from(!both_ways) << 1 | u64::from(self.role == Role::Server);
        let count = self.streams.opened[kind as usize];
        (count < self.streams.allowed[usize::from(!both_ways)]).then(|| {
            let id = count << 2 | kind;
            self.admit(id);
            id
        })
    }

    /// Accepts the next stream that the peer has opened.
    pub fn accept_stream(&mut self) -> Option<u64> {
        self.streams.fresh.pop_front()
    }

    /// Writes to a stream; returns the bytes accepted: none once it was closed or reset.
    pub fn write_stream(&mut self, id: u64, bytes: u64) -> u64 {
        let Some(stream) = self.streams.map.get_mut(&id).filter(|stream| !stream.out.closed) else { return 0 };
        stream.out.end += bytes;
        match stream.queued {
            Some(_) => self.streams.waiting += bytes,
            None => self.streams.enqueue(id),
        }
        bytes
    }

    /// Closes the sending side of a stream.
    pub fn finish_stream(&mut self, id: u64) {
        if let Some(stream) = self.streams.map.get_mut(&id) {
            stream.out.closed = true;
            self.streams.enqueue(id);
        }
    }

    /// Resets the sending side of a stream: unsent and unacknowledged data is abandoned (RESET_STREAM).
    pub fn reset_stream(&mut self, id: u64, code: u64) {
        let Some(size) = self.streams.map.get_mut(&id).and_then(|stream| stream.out.reset_with(code)) else { return };
        self.streams.withdraw(id);
        self.frames.push_back(Frame::ResetStream { id, code, size });
    }

    /// Asks the peer to reset its side of a stream (STOP_SENDING). All of its data counts as read.
    pub fn stop_stream(&mut self, id: u64, code: u64) {
        let Some(stream) = self.streams.map.get_mut(&id) else { return };
        stream.inc.unwanted = true;
        if stream.inc.fin.is_none() {
            self.frames.push_back(Frame::StopSending { id, code });
        }
        self.read_stream(id, u64::MAX);
    }

    /// Sets the priority of a stream (RFC 9218): lower urgency goes first; streams of the same urgency take turns of
    /// `turn` bytes (at least a packet), or are served one after another.
    pub fn prioritise_stream(&mut self, id: u64, urgency: u8, turn: Option<u64>) {
        self.streams.withdraw(id);
        if let Some(stream) = self.streams.map.get_mut(&id) {
            (stream.urgency, stream.quantum) = (urgency, turn.unwrap_or(ALL));
        }
        self.streams.enqueue(id);
    }

    /// Reads at most `limit` bytes of in-order data from a stream.
    pub fn read_stream(&mut self, id: u64, limit: u64) -> Option<Range<u64>> {
        let stream = self.streams.map.get_mut(&id)?;
        let range = stream.inc.order.take(limit)?;
        self.streams.data_read += range.end - range.start;
        self.update_windows(id);
        self.retire(id);
        Some(range)
    }

    /// Whether the peer has closed a stream and all data was read, or has reset it.
    pub fn stream_ended(&self, id: u64) -> bool {
        self.streams.map.get(&id).is_none_or(|stream| stream.inc.is_drained())
    }

    /// Next stream reset by the peer, with its error code.
    pub fn take_reset(&mut self) -> Option<(u64, u64)> {
        self.streams.resets.pop_front()
    }

    /// Creates the state of a new stream.
    pub(super) fn admit(&mut self, id: u64) {
        let config = &self.config;
        let window = Window::new(config.stream_window, config.receive_buffer, config.window_update);
        let mut stream = StreamState::new(config.stream_window, window);
        let ours = id & 1 == u64::from(self.role == Role::Server);
        match (one_way(id), ours) {
            (1, true) => stream.inc = Incoming::none(),
            (1, false) => stream.out = Outgoing::none(),
            _ => {}
        }
        self.streams.map.insert(id, stream);
        let opened = &mut self.streams.opened[(id & 3) as usize];
        *opened = (*opened).max((id >> 2) + 1);
    }

    /// Returns the stream named in a frame of the peer. Naming a stream of the peer's opens it and all before it
    /// (section 3.2). `None`: it is closed, or invalid.
    #[inline]
    pub(super) fn named(&mut self, id: u64) -> Option<&mut StreamState> {
        if !self.streams.map.contains_key(&id) {
            self.open_through(id)?;
        }
        self.streams.map.get_mut(&id)
    }

    #[cold]
    fn open_through(&mut self, id: u64) -> Option<()> {
        let (count, kind) = (self.streams.opened[(id & 3) as usize], id & 3);
        let ours = id & 1 == u64::from(self.role == Role::Server);
        if ours || id >> 2 < count {
            return None;
        }
        if id >> 2 >= self.streams.granted[one_way(id)] {
            self.give_up(Failure::StreamLimit);
            return None;
        }
        for index in count..=id >> 2 {
            self.admit(index << 2 | kind);
            self.streams.fresh.push_back(index << 2 | kind);
        }
        Some(())
    }

    /// Records that data has arrived on a stream.
    pub(super) fn note_readable(&mut self, id: u64) {
        self.streams.readable.insert(id);
    }

    /// Removes a finished stream and lets the peer open another at once, to keep the number of concurrent streams
    /// constant. (Section 4.6 leaves this open; quic-go does the same, while quinn waits for an eighth of them and
    /// Chromium for half.)
    #[inline]
    pub(super) fn retire(&mut self, id: u64) {
        if !self.carries(id) && self.streams.map.get(&id).is_some_and(StreamState::is_settled) {
            self.remove(id);
        }
    }

    #[inline(never)]
    fn remove(&mut self, id: u64) {
        // Data to be retransmitted has arrived after all.
        self.streams.withdraw(id);
        self.streams.map.remove(&id);
        if id & 1 == u64::from(self.role == Role::Server) {
            return;
        }
        let direction = one_way(id);
        self.streams.granted[direction] += 1;
        if !std::mem::replace(&mut self.streams.granted_due[direction], true) {
            self.frames.push_back(Frame::MaxStreams { both_ways: direction == 0, count: 0 });
        }
    }

    /// Handles flow control and stream state frames.
    pub(super) fn on_stream_frame(&mut self, frame: Frame) {
        match frame {
            Frame::MaxData(limit) => {
                self.streams.peer_limit = self.streams.peer_limit.max(limit);
                let ids: Vec<u64> = self.streams.map.ids().collect();
                ids.into_iter().for_each(|id| self.streams.enqueue(id));
            }
            Frame::MaxStreamData(id, limit) => {
                if let Some(stream) = self.named(id) {
                    stream.peer_limit = stream.peer_limit.max(limit);
                    self.streams.enqueue(id);
                }
            }
            Frame::MaxStreams { both_ways, count } => {
                let allowed = &mut self.streams.allowed[usize::from(!both_ways)];
                *allowed = count.max(*allowed);
            }
            Frame::ResetStream { id, code, size } => {
                let Some((grown, unread)) = self.named(id).and_then(|stream| stream.inc.on_reset(code, size)) else {
                    return;
                };
                self.streams.resets.push_back((id, code));
                self.streams.data_received += grown;
                self.streams.data_read += unread;
                self.check_flow_control(self.streams.map[&id].window.limit < size);
                self.update_windows(id);
                self.retire(id);
            }
            // Section 3.5: STOP_SENDING is answered with RESET_STREAM.
            Frame::StopSending { id, code } if self.named(id).is_some() => self.reset_stream(id, code),
            _ => {}
        }
    }

    /// Checks flow control: of a stream, whose limit was exceeded if `beyond`, and of the connection.
    #[inline]
    pub(super) fn check_flow_control(&mut self, beyond: bool) {
        if beyond || self.streams.data_received > self.streams.window.limit {
            self.give_up(Failure::FlowControl);
        }
    }

    /// Updates flow control windows after a read.
    fn update_windows(&mut self, id: u64) {
        let (now, rtt) = (self.last_heard, self.longest_rtt());
        if let Some(stream) = self.streams.map.get_mut(&id)
            && stream.inc.fin.is_none()
            && stream.window.on_read(now, stream.inc.order.read, rtt).is_some()
            && !stream.limit_due
        {
            stream.limit_due = true;
            self.frames.push_back(Frame::MaxStreamData(id, 0));
        }
        let read = self.streams.data_read;
        if self.streams.window.on_read(now, read, rtt).is_some() && !self.streams.window_due {
            self.streams.window_due = true;
            self.frames.push_back(Frame::MaxData(0));
        }
    }

    /// Returns a frame with current values: limits are those at the time of sending.
    pub(super) fn current(&mut self, frame: Frame) -> Frame {
        match frame {
            Frame::MaxData(_) => {
                self.streams.window_due = false;
                Frame::MaxData(self.streams.window.limit)
            }
            Frame::MaxStreamData(id, _) => {
                let limit = self.streams.map.get_mut(&id).map_or(0, |stream| {
                    stream.limit_due = false;
                    stream.window.limit
                });
                Frame::MaxStreamData(id, limit)
            }
            Frame::MaxStreams { both_ways, .. } => {
                let direction = usize::from(!both_ways);
                self.streams.granted_due[direction] = false;
                Frame::MaxStreams { both_ways, count: self.streams.granted[direction] }
            }
            other => other,
        }
    }
}
