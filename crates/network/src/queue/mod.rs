//! Queues in front of links.
//!
//! A discipline that decides on arrival and serves in order (drop-tail) costs one event a packet, because the departure
//! is known on arrival. One that decides on departure, or reorders, implements [`Discipline`] and costs two.

mod drop_tail;

pub use drop_tail::{Capacity, DropTail};

use crate::packet::PacketId;
use vazao_engine::Time;

/// A queue discipline that is asked when a packet arrives and again when the link is free.
pub trait Discipline: Send {
    /// Takes a packet of `size` bytes, or refuses it.
    fn enqueue(&mut self, now: Time, packet: PacketId, size: u32) -> bool;
    /// Gives the next packet to send.
    fn dequeue(&mut self, now: Time) -> Option<PacketId>;
}
