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
    /// Returns the first packet.
    pub fn head(&self) -> Option<&Queued> {
        self.packets.front()
    }
    /// Returns the number of waiting packets.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }
    /// Returns the number of waiting bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Returns whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// Limit of an active queue in packets and bytes. An empty one takes any packet.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u64,
}

impl Limit {
    /// Returns whether a queue takes another packet.
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
