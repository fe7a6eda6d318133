//! Packets in flight: 64-byte nodes of one slab, threaded into the queues and links they are in.

use vazao_engine::Ecn;
use vazao_engine::Time;

/// The place of a packet in the slab, valid until the packet leaves the network.
pub type PacketId = u32;

pub(crate) const NIL: u32 = u32::MAX;

/// A packet that is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<B> {
    /// Route.
    pub route: u32,
    /// Receiver, as a number of the sender's choice. Fair queues tell flows apart by it.
    pub to: u32,
    /// Size on the wire in bytes, network header included.
    pub size: u32,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Body.
    pub body: B,
}

/// A packet: what the network needs to move it, and a body it does not look into. One cache line, not parts of two.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Packet<B> {
    /// Body.
    pub body: B,
    /// Time at which its sender sent it.
    pub sent: Time,
    /// Size on the wire in bytes, network header included.
    pub size: u32,
    /// Receiver, as a number of the sender's choice.
    pub to: u32,
    /// Time at which it reaches the end of its current link.
    pub(crate) arrival: u64,
    /// Position in the table of routes (`HOP`), and above it flags of the network such as `LOST`.
    pub(crate) hop: u32,
    /// The packet behind it in the same queue or link.
    pub(crate) next: u32,
}

/// Set in `hop` for a packet that the link it is on will lose.
pub(crate) const LOST: u32 = 1 << 31;
/// Set in `hop` for a packet in which a link has changed bits: whom it is for will find its checksum wrong.
pub(crate) const CORRUPT: u32 = 1 << 30;
/// Set in `hop` for a packet that arrives twice at the end of the link it is on.
pub(crate) const TWICE: u32 = 1 << 27;
/// Set in `hop` for a packet that a middlebox at the end of the link it is on may change.
pub(crate) const INSPECTED: u32 = 1 << 26;
/// Set in `hop` for a packet whose content a middlebox at the end of the link it is on alters.
pub(crate) const ALTERED: u32 = 1 << 25;
/// Set in `hop` for a packet whose way is followed from link to link.
pub(crate) const FOLLOWED: u32 = 1 << 24;
/// All these flags.
pub(crate) const FLAGS: u32 = LOST | CORRUPT | TWICE | INSPECTED | ALTERED | FOLLOWED;
/// Position of the ECN codepoint in `hop`.
const ECN: u32 = 28;
/// The bits of `hop` that are the position in the table of routes.
pub(crate) const HOP: u32 = (1 << 24) - 1;

impl<B> Packet<B> {
    /// Returns its ECN codepoint, as queues on the way have left it.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.hop >> ECN)
    }

    /// Changes its ECN codepoint.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.hop = self.hop & !(3 << ECN) | ecn_bits(ecn);
    }
}

/// Returns an ECN codepoint in its position of `hop`.
#[inline]
pub(crate) const fn ecn_bits(ecn: Ecn) -> u32 {
    (ecn as u32) << ECN
}

/// All packets in the network. Freed nodes are reused last in, first out, so an answer lands in a warm cache line.
#[derive(Clone, Debug)]
pub(crate) struct Slab<B> {
    pub nodes: Vec<Packet<B>>,
    free: u32,
}

impl<B: Copy> Slab<B> {
    pub fn new() -> Self {
        Slab { nodes: Vec::new(), free: NIL }
    }

    #[inline]
    pub fn insert(&mut self, packet: Packet<B>) -> PacketId {
        if self.free == NIL {
            self.nodes.push(packet);
            return (self.nodes.len() - 1) as u32;
        }
        let id = self.free;
        let node = &mut self.nodes[id as usize];
        self.free = node.next;
        *node = packet;
        id
    }

    /// Returns the place that the next packet will get.
    pub fn next(&self) -> PacketId {
        if self.free == NIL { self.nodes.len() as u32 } else { self.free }
    }

    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.nodes[id as usize].next = self.free;
        self.free = id;
    }
}
