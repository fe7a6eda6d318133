use super::{Constructor, Discipline, Drops, Fifo, LIMIT, Queued};
use vazao_engine::registry::{Entry, parameters};
use vazao_engine::{Capacity, Time};

parameters! { struct Settings { limit: Capacity = LIMIT; } }

/// The queue that a link has unless it is given another, and the only one that costs one event a packet.
pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "drop-tail",
    aliases: &["fifo"],
    title: "Drop-tail",
    source: "first in, first out",
    help: "what does not fit is dropped; queue = \"100 packets\" is short for it",
    parameters: Settings::PARAMETERS,
    build: |p, setting| Box::new(DropTail::new(setting.limits(Settings::from(p).limit))),
};

/// First in, first out, and what does not fit is dropped. Links use a faster form of it (see `link.rs`); this one runs
/// on the two-event path, and a test holds the two against each other.
#[derive(Clone, Debug)]
pub struct DropTail {
    queue: Fifo,
    max_packets: u32,
    max_bytes: u64,
}

impl DropTail {
    /// Creates an empty queue with these limits.
    pub fn new((max_packets, max_bytes): (u32, u64)) -> Self {
        DropTail { queue: Fifo::default(), max_packets, max_bytes }
    }
}

impl Discipline for DropTail {
    fn enqueue(&mut self, _: Time, packet: Queued, drops: &mut Drops) {
        if self.queue.packets() < u64::from(self.max_packets)
            && self.queue.bytes().saturating_add(u64::from(packet.size)) <= self.max_bytes
        {
            self.queue.push(packet);
        } else {
            drops.full(packet);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Drops) -> Option<Queued> {
        self.queue.pop()
    }

    /// Waiting room is for packets that wait: one that finds the transmitter idle needs none.
    fn pass(&mut self, _: Time, packet: Queued, _: &mut Drops) -> Option<Queued> {
        Some(packet)
    }
}
