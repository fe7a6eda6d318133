//! Applications that open their own streams, of both kinds, from both sides.

use std::collections::BTreeMap;
use vazao_transport::quic::Connection;

/// Stream that one side opens, and its course.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub both_ways: bool,
    /// Bytes that its opener writes, and bytes of the answer.
    pub bytes: u64,
    pub answer: u64,
    pub urgency: u8,
    /// Bytes per turn.
    pub turn: Option<u64>,
    pub fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Read to the end.
    Whole,
    /// Reset by its opener after writing.
    Reset,
    /// Stopped by its reader.
    Stopped,
}

/// Side that opens the streams of its plan as limits permit, and answers those of its peer.
#[derive(Debug, Default)]
pub struct Talker {
    plan: Vec<Exchange>,
    peers: Vec<Exchange>,
    client: bool,
    opened: usize,
    /// Bytes read of each unfinished stream, and whether it is the peer's.
    reading: BTreeMap<u64, u64>,
    /// Streams opened of each kind, in order: indices in a plan.
    places: BTreeMap<u64, usize>,
    pub whole: usize,
    pub reset: usize,
}

impl Talker {
    pub fn new(client: bool, plan: Vec<Exchange>, peers: Vec<Exchange>) -> Talker {
        Talker { plan, peers, client, ..Talker::default() }
    }

    /// Index of stream `id` in a plan.
    fn planned(plan: &[Exchange], id: u64) -> usize {
        let both_ways = id & 2 == 0;
        let mut like = plan.iter().enumerate().filter(|(_, exchange)| exchange.both_ways == both_ways);
        like.nth((id >> 2) as usize).expect("nobody opens more than is planned").0
    }

    /// Number of streams to be read here: the peer's, and the answers to ours.
    fn expected(&self) -> usize {
        self.peers.len() + self.plan.iter().filter(|exchange| exchange.both_ways).count()
    }

    pub fn is_done(&self) -> bool {
        self.opened == self.plan.len() && self.whole + self.reset == self.expected()
    }

    pub fn act(&mut self, quic: &mut Connection) {
        while let Some(exchange) = self.plan.get(self.opened)
            && let Some(id) = quic.open_stream(exchange.both_ways)
        {
            assert_eq!(Self::planned(&self.plan, id), self.opened, "streams are numbered in order");
            self.opened += 1;
            quic.prioritise_stream(id, exchange.urgency, exchange.turn);
            assert_eq!(quic.write_stream(id, exchange.bytes), exchange.bytes);
            quic.finish_stream(id);
            if exchange.both_ways {
                self.reading.insert(id, 0);
            }
            if exchange.fate == Fate::Reset {
                quic.reset_stream(id, 7);
            }
        }
        while let Some(id) = quic.accept_stream() {
            let place = Self::planned(&self.peers, id);
            assert!(self.places.insert(id, place).is_none(), "opened once");
            self.reading.insert(id, 0);
            let exchange = &self.peers[place];
            if exchange.both_ways {
                quic.write_stream(id, exchange.answer);
                quic.finish_stream(id);
            }
            if exchange.fate == Fate::Stopped {
                quic.stop_stream(id, 9);
            }
        }
        for id in self.reading.keys().copied().collect::<Vec<_>>() {
            self.read(quic, id);
        }
        while let Some((id, code)) = quic.take_reset() {
            let exchange = &self.peers[Self::planned(&self.peers, id)];
            let why = if exchange.fate == Fate::Reset { 7 } else { 9 };
            assert!(exchange.fate != Fate::Whole && code == why, "{exchange:?}: {code}");
            if self.reading.remove(&id).is_some() {
                self.reset += 1;
            } else {
                // It had ended already: a reset stream is read up to its final size.
                self.whole -= 1;
                self.reset += 1;
            }
        }
    }

    fn read(&mut self, quic: &mut Connection, id: u64) {
        let ours = (id & 1 == 0) == self.client;
        let bytes =
            if ours { self.plan[Self::planned(&self.plan, id)].answer } else { self.peers[self.places[&id]].bytes };
        let read = self.reading.get_mut(&id).expect("it is being read");
        while let Some(range) = quic.read_stream(id, 3_000) {
            assert_eq!(range.start, *read, "every byte once and in order");
            *read = range.end;
        }
        assert!(*read <= bytes);
        if quic.stream_ended(id) {
            let fate = if ours { Fate::Whole } else { self.peers[self.places[&id]].fate };
            assert!(*read == bytes || fate != Fate::Whole, "{read} of {bytes} bytes");
            self.reading.remove(&id);
            self.whole += 1;
        }
    }
}
