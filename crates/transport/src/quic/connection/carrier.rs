//! A connection used by an application as a single byte stream, which is carried by one or several QUIC streams.

use super::*;
use crate::common::{ByteStream, Reassembly};
use crate::quic::StreamScheduler;
use crate::quic::stream::{ALL, PACKET};

/// QUIC streams, opened by the client, that carry an application's single byte stream. Messages are assigned to them in
/// turn; other data is divided evenly.
#[derive(Clone, Debug, Default)]
pub(super) struct Carrier {
    count: u64,
    /// Stream of the next message.
    turn: u64,
    /// Messages begun: stream, and bytes not yet written.
    begun: VecDeque<(u64, u64)>,
    /// Bytes read by the application.
    read: u64,
    closed: bool,
    /// Ends and numbers of the messages on each stream, if recorded.
    ledger: Option<Vec<VecDeque<(u64, u32)>>>,
    messages: u32,
}

impl Carrier {
    /// Stream identifiers: bidirectional and opened by the client, hence 0, 4, 8, ... (section 2.1).
    fn ids(&self) -> impl Iterator<Item = u64> + use<> {
        (0..self.count).map(|index| index << 2)
    }
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

impl Connection {
    /// Opens the carrying streams.
    pub(super) fn begin_carrying(&mut self) {
        self.carrier.count = self.config.streams;
        if self.config.unreliable {
            self.datagrams.carry();
        }
        for index in 0..self.carrier.count {
            let id = index << 2;
            self.admit(id);
            let config = &self.config;
            let quantum = if config.scheduler == StreamScheduler::RoundRobin { PACKET } else { ALL };
            let urgency = config.priorities.get(index as usize).map_or(3, |&urgency| urgency.min(255) as u8);
            let stream = self.streams.map.get_mut(&id).expect("it was opened");
            (stream.urgency, stream.quantum) = (urgency, quantum);
            stream.out.opens = self.role == Role::Client;
            self.streams.enqueue(id);
        }
    }

    /// Whether a stream is one of the carrying streams.
    pub(super) fn carries(&self, id: u64) -> bool {
        id & 3 == 0 && id >> 2 < self.carrier.count
    }

    /// Starts recording which messages each stream has delivered.
    pub fn watch_messages(&mut self) {
        self.carrier.ledger = Some(vec![VecDeque::new(); self.carrier.count as usize]);
    }

    /// Number of carrying streams.
    pub fn carriers(&self) -> u64 {
        self.carrier.count
    }

    /// Streams that the peer may write to, with the data received on each.
    pub fn received(&self) -> impl Iterator<Item = (u64, &Reassembly)> {
        let states = self.streams.map.iter().filter(|(_, state)| state.inc.highest > 0);
        states.map(|(id, state)| (id, &state.inc.order))
    }

    /// Bytes of a carrying stream that the application has read.
    pub fn read_of(&self, carrier: u64) -> u64 {
        self.streams.map[&(carrier << 2)].inc.order.read
    }

    /// Number of the next message completed when the peer has read a carrying stream up to `read`.
    pub fn next_delivered(&mut self, carrier: u64, read: u64) -> Option<u32> {
        let ledger = &mut self.carrier.ledger.as_mut()?[carrier as usize];
        let &(end, number) = ledger.front()?;
        (end <= read).then(|| {
            ledger.pop_front();
            number
        })
    }

    /// Closes the carrying streams.
    pub(super) fn finish_carrying(&mut self) {
        self.carrier.ids().for_each(|id| self.finish_stream(id));
    }

    /// Free space in the send buffer.
    fn room(&self) -> u64 {
        let Some(limit) = self.config.send_buffer else { return u64::MAX };
        if self.datagrams.carries() {
            return limit.saturating_sub(self.datagrams.unsent());
        }
        let held = |id: u64| self.streams.map[&id].out.end - self.streams.map[&id].out.acknowledged();
        limit.saturating_sub(self.carrier.ids().map(held).sum())
    }

    fn sum(&self, count: impl Fn(&StreamState) -> u64) -> u64 {
        self.carrier.ids().map(|id| count(&self.streams.map[&id])).sum()
    }

    /// Writes data of messages that were begun.
    fn write_messages(&mut self, mut bytes: u64) {
        while let (1.., Some((id, left))) = (bytes, self.carrier.begun.front_mut()) {
            let (id, part) = (*id, bytes.min(*left));
            *left -= part;
            bytes -= part;
            if *left == 0 {
                self.carrier.begun.pop_front();
            }
            self.write_stream(id, part);
        }
    }
}

impl ByteStream for Connection {
    fn begin_message(&mut self, bytes: u64) {
        if let Some(load) = self.datagrams.load() {
            return load.begin_message(bytes);
        }
        let carrier = &mut self.carrier;
        if carrier.count < 2 {
            return;
        }
        let index = carrier.turn % carrier.count;
        carrier.turn += 1;
        carrier.begun.push_back((index << 2, bytes));
        let before: u64 = carrier.begun.iter().filter(|(id, _)| *id == index << 2).map(|(_, left)| left).sum();
        if let Some(ledger) = &mut carrier.ledger {
            let end = self.streams.map[&(index << 2)].out.end + before;
            ledger[index as usize].push_back((end, carrier.messages));
        }
        carrier.messages += 1;
    }

    fn write(&mut self, bytes: u64) -> u64 {
        if self.carrier.closed || self.carrier.count == 0 {
            return 0;
        }
        let taken = bytes.min(self.room());
        if let Some(load) = self.datagrams.load() {
            load.write(taken);
            return taken;
        }
        let count = self.carrier.count;
        if !self.carrier.begun.is_empty() {
            self.write_messages(taken);
        } else if taken > 0 {
            for index in 0..count {
                let part = taken / count + u64::from(index < taken % count);
                self.write_stream(index << 2, part);
            }
        }
        taken
    }

    fn unsent(&self) -> u64 {
        self.datagrams.unsent() + self.sum(|stream| stream.out.unsent())
    }

    fn discard_unsent(&mut self) -> u64 {
        if let Some(load) = self.datagrams.load() {
            return load.discard_unsent();
        }
        if !self.carrier.closed {
            self.carrier.begun.clear();
            for id in self.carrier.ids() {
                let stream = self.streams.map.get_mut(&id).expect("what carries is there");
                if stream.queued.is_some() {
                    self.streams.waiting -= stream.out.unsent();
                }
                stream.out.end = stream.out.sent;
            }
        }
        self.sum(|stream| stream.out.end)
    }

    fn read(&mut self) -> Option<Range<u64>> {
        self.read_at_most(u64::MAX)
    }

    #[inline]
    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        if self.datagrams.carries() {
            return self.datagrams.read();
        }
        let start = self.carrier.read;
        for id in self.carrier.ids() {
            let left = limit - (self.carrier.read - start);
            if let Some(range) = self.read_stream(id, left) {
                self.carrier.read += range.end - range.start;
            }
        }
        (self.carrier.read > start).then_some(start..self.carrier.read)
    }

    fn close(&mut self) {
        if !self.is_connected() {
            return self.abort();
        }
        self.carrier.closed = true;
        if !self.datagrams.carries() {
            self.finish_carrying();
        }
    }

    fn is_connected(&self) -> bool {
        // The server learns of the client's streams from its first STREAM frame.
        let opened = self.role == Role::Client || self.knows_streams;
        opened && (self.progress.early || self.stats.ready.is_some()) && self.life == Life::Open
    }

    fn peer_closed(&self) -> bool {
        // Without carrying streams, only the end of the connection tells.
        self.carrier.count > 0 && self.carrier.ids().all(|id| self.streams.map[&id].inc.is_drained())
    }
}
