//! Streams of a connection (RFC 9000 sections 2 to 4): which there are, what each may send, and in what order.

use super::table::Table;
use super::*;
use crate::quic::stream::{ALL, Incoming, Outgoing, Turn};
use std::collections::BTreeSet;

/// The streams of a connection, and what the two sides let each other do.
pub(super) struct Streams {
    pub map: Table<Flow>,
    /// Those with something to send.
    pub ready: BTreeSet<Turn>,
    /// What these have never sent.
    pub waiting: u64,
    turn: u64,
    /// How many were opened of each kind: the client's and the server's of two ways, and of one (section 2.1).
    opened: [u64; 4],
    /// How many the peer lets us open in all, and we it; of two ways, and of one.
    allowed: [u64; 2],
    pub granted: [u64; 2],
    /// The latter is to be told.
    pub tell_granted: [bool; 2],
    /// The peer's that the application has not asked for yet.
    fresh: VecDeque<u64>,
    /// Those of the application's own of which something has arrived that it has not asked for.
    heard: BTreeSet<u64>,
    /// Those that the peer has given up, of which the application has not heard yet.
    resets: VecDeque<(u64, u64)>,
    /// What the peer lets us send in all, and what was sent.
    pub peer_limit: u64,
    pub data_sent: u64,
    /// What we let the peer send, what it has sent and what was read.
    pub window: Window,
    pub data_received: u64,
    pub data_read: u64,
    pub tell_window: bool,
}

impl Streams {
    pub fn new(config: &Config) -> Streams {
        let most = config.max_streams.max(config.streams);
        Streams {
            map: Table::default(),
            ready: BTreeSet::new(),
            waiting: 0,
            turn: 0,
            opened: [0; 4],
            allowed: [most; 2],
            granted: [most; 2],
            tell_granted: [false; 2],
            fresh: VecDeque::new(),
            heard: BTreeSet::new(),
            resets: VecDeque::new(),
            peer_limit: config.connection_window,
            data_sent: 0,
            window: Window::new(config.connection_window, config.most_window),
            data_received: 0,
            data_read: 0,
            tell_window: false,
        }
    }

    /// The place of a stream that is queued now, among its like.
    fn place(&mut self, id: u64, urgency: u8, quantum: u64) -> Turn {
        self.turn += 1;
        (urgency, if quantum < ALL { self.turn } else { 0 }, id)
    }

    /// A stream may have something to send.
    pub fn stir(&mut self, id: u64) {
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

    /// The first of those with something to send has sent so many bytes; if it `stays` and its turn is over, it comes again.
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
            self.stir(place.2);
        }
    }

    /// A stream has nothing to send any more.
    fn withdraw(&mut self, id: u64) {
        let Some(stream) = self.map.get_mut(&id) else { return };
        if let Some(place) = stream.queued.take() {
            self.waiting -= stream.out.unsent();
            self.ready.remove(&place);
        }
    }
}

/// Streams of two ways.
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
        self.streams.heard.pop_first()
    }
    fn read_stream(&mut self, id: u64) -> Option<Range<u64>> {
        Connection::read_stream(self, id, u64::MAX)
    }
}

/// Whether a stream has one way only, as an index.
fn one_way(id: u64) -> usize {
    (id >> 1 & 1) as usize
}

impl Connection {
    /// Opens a stream, of two ways or of one. `None`: the peer allows no more now.
    pub fn open_stream(&mut self, both_ways: bool) -> Option<u64> {
        let kind = u64::from(!both_ways) << 1 | u64::from(self.role == Role::Server);
        let count = self.streams.opened[kind as usize];
        (count < self.streams.allowed[usize::from(!both_ways)]).then(|| {
            let id = count << 2 | kind;
            self.admit(id);
            id
        })
    }

    /// The next stream that the peer has opened.
    pub fn accept_stream(&mut self) -> Option<u64> {
        self.streams.fresh.pop_front()
    }

    /// Writes to a stream; returns how many bytes were taken: none once it was closed or given up.
    pub fn write_stream(&mut self, id: u64, bytes: u64) -> u64 {
        let Some(stream) = self.streams.map.get_mut(&id).filter(|stream| !stream.out.closed) else { return 0 };
        stream.out.end += bytes;
        match stream.queued {
            Some(_) => self.streams.waiting += bytes,
            None => self.streams.stir(id),
        }
        bytes
    }

    /// Nothing more will be written to a stream.
    pub fn finish_stream(&mut self, id: u64) {
        if let Some(stream) = self.streams.map.get_mut(&id) {
            stream.out.closed = true;
            self.streams.stir(id);
        }
    }

    /// Gives up what was not sent of a stream, and what was not heard of by the peer (RESET_STREAM).
    pub fn reset_stream(&mut self, id: u64, code: u64) {
        let Some(size) = self.streams.map.get_mut(&id).and_then(|stream| stream.out.abandon(code)) else { return };
        self.streams.withdraw(id);
        self.frames.push_back(Frame::ResetStream { id, code, size });
    }

    /// Asks the peer to give up the rest of a stream (STOP_SENDING). What has come and still comes of it counts as read.
    pub fn stop_stream(&mut self, id: u64, code: u64) {
        let Some(stream) = self.streams.map.get_mut(&id) else { return };
        stream.inc.unwanted = true;
        if stream.inc.fin.is_none() {
            self.frames.push_back(Frame::StopSending { id, code });
        }
        self.read_stream(id, u64::MAX);
    }

    /// Of several streams that with the least urgency goes first; those of the same take turns of so many bytes, at least a
    /// packet's, or follow each other (RFC 9218).
    pub fn prioritise_stream(&mut self, id: u64, urgency: u8, turn: Option<u64>) {
        self.streams.withdraw(id);
        if let Some(stream) = self.streams.map.get_mut(&id) {
            (stream.urgency, stream.quantum) = (urgency, turn.unwrap_or(ALL));
        }
        self.streams.stir(id);
    }

    /// Takes what has arrived in order of a stream, at most `limit` bytes.
    pub fn read_stream(&mut self, id: u64, limit: u64) -> Option<Range<u64>> {
        let stream = self.streams.map.get_mut(&id)?;
        let range = stream.inc.order.take(limit)?;
        self.streams.data_read += range.end - range.start;
        self.retune(id);
        self.retire(id);
        Some(range)
    }

    /// Whether the peer has closed a stream and everything on it was read, or it was given up.
    pub fn stream_ended(&self, id: u64) -> bool {
        self.streams.map.get(&id).is_none_or(|stream| stream.inc.is_drained())
    }

    /// The next stream that the peer has given up, and why.
    pub fn take_reset(&mut self) -> Option<(u64, u64)> {
        self.streams.resets.pop_front()
    }

    /// A stream is there from now on.
    pub(super) fn admit(&mut self, id: u64) {
        let config = &self.config;
        let mut stream = Flow::new(config.stream_window, Window::new(config.stream_window, config.most_window));
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

    /// The stream that a frame of the peer's names. Naming one of the peer's opens it and all before it (section 3.2). `None`: it
    /// was over long ago, or may not be.
    #[inline]
    pub(super) fn named(&mut self, id: u64) -> Option<&mut Flow> {
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

    /// Something has arrived of a stream that is the application's own.
    pub(super) fn note_heard(&mut self, id: u64) {
        self.streams.heard.insert(id);
    }

    /// Forgets a stream that is over, and lets the peer open another one for it at once, so that it has as many as ever
    /// (section 4.6, which leaves it to us: so does quic-go, while quinn waits for an eighth of them, Chromium for half).
    #[inline]
    pub(super) fn retire(&mut self, id: u64) {
        if !self.carries(id) && self.streams.map.get(&id).is_some_and(Flow::is_settled) {
            self.remove(id);
        }
    }

    #[inline(never)]
    fn remove(&mut self, id: u64) {
        // What was to be sent again has arrived after all.
        self.streams.withdraw(id);
        self.streams.map.remove(&id);
        if id & 1 == u64::from(self.role == Role::Server) {
            return;
        }
        let way = one_way(id);
        self.streams.granted[way] += 1;
        if !std::mem::replace(&mut self.streams.tell_granted[way], true) {
            self.frames.push_back(Frame::MaxStreams { both_ways: way == 0, count: 0 });
        }
    }

    /// Frames that rule streams.
    pub(super) fn on_stream_ruled(&mut self, frame: Frame) {
        match frame {
            Frame::MaxData(limit) => {
                self.streams.peer_limit = self.streams.peer_limit.max(limit);
                let ids: Vec<u64> = self.streams.map.ids().collect();
                ids.into_iter().for_each(|id| self.streams.stir(id));
            }
            Frame::MaxStreamData(id, limit) => {
                if let Some(stream) = self.named(id) {
                    stream.peer_limit = stream.peer_limit.max(limit);
                    self.streams.stir(id);
                }
            }
            Frame::MaxStreams { both_ways, count } => {
                let allowed = &mut self.streams.allowed[usize::from(!both_ways)];
                *allowed = count.max(*allowed);
            }
            Frame::ResetStream { id, code, size } => {
                let Some((grown, unread)) = self.named(id).and_then(|stream| stream.inc.cut(code, size)) else {
                    return;
                };
                self.streams.resets.push_back((id, code));
                self.streams.data_received += grown;
                self.streams.data_read += unread;
                self.heed_limits(self.streams.map[&id].window.limit < size);
                self.retune(id);
                self.retire(id);
            }
            // Section 3.5: who is asked to stop says how far it has come.
            Frame::StopSending { id, code } if self.named(id).is_some() => self.reset_stream(id, code),
            _ => {}
        }
    }

    /// More has come than was allowed: of a stream, if it is `beyond` its limit, or in all.
    #[inline]
    pub(super) fn heed_limits(&mut self, beyond: bool) {
        if beyond || self.streams.data_received > self.streams.window.limit {
            self.give_up(Failure::FlowControl);
        }
    }

    /// What was read may let the peer send more.
    fn retune(&mut self, id: u64) {
        let (now, rtt) = (self.last_heard, self.longest_rtt());
        if let Some(stream) = self.streams.map.get_mut(&id)
            && stream.inc.fin.is_none()
            && stream.window.on_read(now, stream.inc.order.read, rtt).is_some()
            && !stream.tell
        {
            stream.tell = true;
            self.frames.push_back(Frame::MaxStreamData(id, 0));
        }
        let read = self.streams.data_read;
        if self.streams.window.on_read(now, read, rtt).is_some() && !self.streams.tell_window {
            self.streams.tell_window = true;
            self.frames.push_back(Frame::MaxData(0));
        }
    }

    /// A frame as it is now: limits are told as they are when they are sent.
    pub(super) fn current(&mut self, frame: Frame) -> Frame {
        match frame {
            Frame::MaxData(_) => {
                self.streams.tell_window = false;
                Frame::MaxData(self.streams.window.limit)
            }
            Frame::MaxStreamData(id, _) => {
                let limit = self.streams.map.get_mut(&id).map_or(0, |stream| {
                    stream.tell = false;
                    stream.window.limit
                });
                Frame::MaxStreamData(id, limit)
            }
            Frame::MaxStreams { both_ways, .. } => {
                let way = usize::from(!both_ways);
                self.streams.tell_granted[way] = false;
                Frame::MaxStreams { both_ways, count: self.streams.granted[way] }
            }
            other => other,
        }
    }
}
