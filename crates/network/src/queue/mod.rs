//! Queues in front of links, one page a discipline.
//!
//! A discipline that decides on arrival and serves in order (drop-tail) costs one event a packet, because the departure
//! is known on arrival. One that decides on departure, marks, or reorders implements [`Discipline`] and costs two.

mod codel;
mod device;
pub(crate) mod drop_tail;
mod fifo;
mod fq_codel;
mod netem;
mod pie;
mod red;
mod threshold;

pub use codel::CoDel;
pub use drop_tail::DropTail;
pub use fifo::{Fifo, Limit};
pub use fq_codel::FqCoDel;
pub use netem::Netem;
pub use pie::{Control as PieControl, Pie};
pub use red::Red;
pub use threshold::Threshold;

use crate::packet::PacketId;
use vazao_engine::Ecn;
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters};
use vazao_engine::{Capacity, Duration, RandomStream, Rate, Time};

/// Waiting packet, as its discipline sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Number.
    pub id: PacketId,
    /// Size in bytes, network header included.
    pub size: u32,
    /// Flow's number, which is another one in each direction.
    pub flow: u32,
    /// ECN codepoint; use [`mark`](Self::mark) to change it.
    pub ecn: Ecn,
    /// Time of its arrival.
    pub arrival: Time,
}

impl Queued {
    /// Marks it with "congestion experienced", or says that it cannot be: its transport does not understand ECN.
    pub fn mark(&mut self) -> bool {
        let capable = self.ecn != Ecn::NotEct;
        if capable {
            self.ecn = Ecn::Ce;
        }
        capable
    }

    /// Returns its waiting time.
    pub fn sojourn(&self, now: Time) -> Duration {
        now.since(self.arrival)
    }
}

/// The packets that a discipline drops in one event.
#[derive(Clone, Debug, Default)]
pub struct Drops {
    pub(crate) packets: Vec<PacketId>,
    pub(crate) bytes: u64,
    pub(crate) early: u64,
}

impl Drops {
    /// Drops a packet for want of room.
    pub fn full(&mut self, packet: Queued) {
        self.packets.push(packet.id);
        self.bytes += u64::from(packet.size);
    }
    /// Drops a packet for which there is room, so that its sender slows down.
    pub fn early(&mut self, packet: Queued) {
        self.early += 1;
        self.full(packet);
    }
    /// Returns the packets dropped so far.
    pub fn packets(&self) -> &[PacketId] {
        &self.packets
    }
    /// Returns the number of early drops.
    pub fn early_count(&self) -> u64 {
        self.early
    }
}

/// Queue discipline that is asked when a packet arrives and again when the link is free.
///
/// Each packet that it is given it gives back once: from [`dequeue`](Self::dequeue), or to `drops`. The link counts the
/// packets that it gives back marked.
pub trait Discipline: Send {
    /// Takes a packet in, or drops it, or drops others for it.
    fn enqueue(&mut self, now: Time, packet: Queued, drops: &mut Drops);

    /// Gives the next packet to send; `None` when none is left, or none after what it drops now.
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued>;

    /// Passes a packet through that finds the transmitter idle, and so the queue empty.
    fn pass(&mut self, now: Time, packet: Queued, drops: &mut Drops) -> Option<Queued> {
        self.enqueue(now, packet, drops);
        self.dequeue(now, drops)
    }

    /// Returns the limit of everything that the link holds, packets under way included, if there is one. The link drops
    /// what exceeds it before the discipline sees it.
    fn holds(&self) -> Option<Limit> {
        None
    }
}

/// Properties of the link in front of a discipline.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Rate of the link; where it varies, its mean.
    pub rate: Rate,
    /// The longest base round-trip time among the flows that cross it.
    pub base_rtt: Duration,
    /// The discipline's own random stream.
    pub stream: RandomStream,
}

impl Setting {
    /// Converts a capacity at this link to packets and bytes.
    pub fn limits(&self, capacity: Capacity) -> (u32, u64) {
        capacity.limits(self.rate, self.base_rtt)
    }
}

/// Makes a discipline from its parameters for a link.
pub type Constructor = fn(&Parameters, &Setting) -> Box<dyn Discipline>;

const LIMIT: Parameter =
    Parameter::shared(Kind::Capacity, "1000 packets", "what may wait, the packet being sent not counted");

/// Bytes of an ordinary packet, where a discipline counts packets in bytes or the other way.
const MTU: f64 = 1500.0;

const ECN: Parameter =
    Parameter::shared(Kind::Flag, "true", "marks what can be marked instead of dropping it (RFC 3168)");

/// All queues.
pub const QUEUES: &[Entry<Constructor>] =
    &[drop_tail::ENTRY, red::ENTRY, codel::ENTRY, fq_codel::ENTRY, pie::ENTRY, threshold::ENTRY, netem::ENTRY];
