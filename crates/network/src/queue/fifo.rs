use super::Queued;
use std::collections::VecDeque;

/// Packets in the order of their arrival, with their sum in bytes: what most disciplines keep.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    packets: VecDeque<Queued>,
    bytes: u64,
}

impl Fifo {
    /// Adds a packet at the end.
    pub fn push(&mut self, packet: Queued) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back(packet);
    }
    /// Takes the first packet out.
    pub fn pop(&mut self) -> Option<Queued> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }
    /// The first packet.
    pub fn head(&self) -> Option<&Queued> {
        self.packets.front()
    }
    /// How many packets wait.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }
    /// How many bytes wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// How much an active queue may hold, in packets and bytes. An empty one has room for any packet.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// So many packets.
    pub packets: u32,
    /// So many bytes.
    pub bytes: u64,
}

impl Limit {
    /// Whether a queue has room for a packet.
    pub fn admits(&self, packet: &Queued, queue: &Fifo) -> bool {
        queue.is_empty()
            || queue.packets() < u64::from(self.packets) && queue.bytes() + u64::from(packet.size) <= self.bytes
    }
}

impl From<(u32, u64)> for Limit {
    fn from((packets, bytes): (u32, u64)) -> Limit {
        Limit { packets, bytes }
    }
}
