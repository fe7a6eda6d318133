//! Packets on their way: routes, and the step from one link to the next.

use crate::link::{Link, LinkReport};
use crate::loss::LossModel;
use crate::packet::{LOST, NIL, Packet, PacketId, Slab};
use crate::queue::Discipline;
use vazao_engine::{Duration, Rate, Scheduler, Slot, Time};

/// The number of one direction of a link. It is also its scheduler slot.
pub type LinkId = u32;
/// The number of a route.
pub type RouteId = u32;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The queue had no room.
    Queue,
    /// The link's loss model took it.
    Loss,
}

/// What became of a packet in one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is on its way over the next link, or nothing moved.
    Moving,
    /// It reached the end of its route: [`Network::take`] it.
    Delivered(PacketId),
    /// It was dropped: [`Network::take`] it.
    Dropped(PacketId, Cause),
}

/// Marks the end of a route in the table.
const END: u32 = NIL;

/// All links, routes and packets of a run. `B` is what a packet carries.
pub struct Network<B> {
    links: Vec<Link>,
    /// Which link a server's slot belongs to, from slot `links.len()` on.
    servers: Vec<LinkId>,
    /// The links of every route in order, each route closed by `END`.
    routes: Vec<u32>,
    packets: Slab<B>,
    hops: u64,
}

impl<B: Copy> Default for Network<B> {
    fn default() -> Self {
        Network { links: Vec::new(), servers: Vec::new(), routes: Vec::new(), packets: Slab::new(), hops: 0 }
    }
}

impl<B: Copy> Network<B> {
    /// Adds one direction of a link with a drop-tail queue of at most `limits` (packets, bytes).
    ///
    /// Links own the scheduler's first slots: add all of them before any other slot exists.
    pub fn add_link(
        &mut self,
        rate: Rate,
        delay: Duration,
        overhead: u32,
        limits: (u32, u64),
        scheduler: &mut impl Scheduler,
    ) -> LinkId {
        let slot = scheduler.add_slot();
        assert_eq!(slot as usize, self.links.len(), "links own the first slots");
        self.links.push(Link::new(rate, delay, overhead, limits));
        slot
    }

    /// Gives a link a loss model.
    pub fn set_loss(&mut self, link: LinkId, loss: Box<dyn LossModel>) {
        self.links[link as usize].lose(loss);
    }

    /// Gives a link a queue discipline of its own, on the two-event path. Call after all links were added.
    pub fn set_discipline(&mut self, link: LinkId, discipline: Box<dyn Discipline>, scheduler: &mut impl Scheduler) {
        let slot = scheduler.add_slot();
        assert_eq!(slot as usize, self.links.len() + self.servers.len(), "servers own the slots after the links");
        self.servers.push(link);
        self.links[link as usize].serve(discipline, slot);
    }

    /// How many of the scheduler's slots, from 0, belong to the network.
    pub fn slots(&self) -> u32 {
        (self.links.len() + self.servers.len()) as u32
    }

    /// Adds a route over `links`, which must not be empty.
    pub fn add_route(&mut self, links: &[LinkId]) -> RouteId {
        assert!(!links.is_empty(), "a route crosses at least one link");
        let route = self.routes.len() as u32;
        self.routes.extend(links);
        self.routes.push(END);
        route
    }

    /// Sends a packet of `size` bytes, network header included, along `route`.
    #[inline]
    pub fn send(
        &mut self,
        now: Time,
        route: RouteId,
        to: u32,
        size: u32,
        body: B,
        scheduler: &mut impl Scheduler,
    ) -> Fate {
        let id = self.packets.insert(Packet { body, sent: now, size, to, arrival: 0, hop: route, next: NIL });
        self.enter(now, self.routes[route as usize], id, scheduler)
    }

    #[inline]
    fn enter(&mut self, now: Time, link: LinkId, id: PacketId, scheduler: &mut impl Scheduler) -> Fate {
        let l = &mut self.links[link as usize];
        let nodes = &mut self.packets.nodes;
        let (slot, wake) = match l.server_slot() {
            None => (link, l.accept(now.as_nanos(), id, nodes)),
            Some(slot) => (slot, l.enqueue(now.as_nanos(), id, nodes)),
        };
        match wake {
            Ok(Some(time)) => scheduler.set(slot, Time::from_nanos(time)),
            Ok(None) => {}
            Err(()) => return Fate::Dropped(id, Cause::Queue),
        }
        Fate::Moving
    }

    /// Handles the event of one of the network's slots.
    #[inline]
    pub fn advance(&mut self, now: Time, slot: Slot, scheduler: &mut impl Scheduler) -> Fate {
        if slot as usize >= self.links.len() {
            self.serve(now, slot, scheduler);
            return Fate::Moving;
        }
        let link = &mut self.links[slot as usize];
        let (id, next) = link.deliver(&self.packets.nodes);
        if let Some(time) = next {
            scheduler.set(slot, Time::from_nanos(time));
        }
        self.hops += 1;
        let node = &mut self.packets.nodes[id as usize];
        if node.hop & LOST != 0 {
            link.count_loss();
            return Fate::Dropped(id, Cause::Loss);
        }
        node.hop += 1;
        match self.routes[node.hop as usize] {
            END => Fate::Delivered(id),
            link => self.enter(now, link, id, scheduler),
        }
    }

    fn serve(&mut self, now: Time, slot: Slot, scheduler: &mut impl Scheduler) {
        let id = self.servers[slot as usize - self.links.len()];
        let (first, free) = self.links[id as usize].sent(now.as_nanos(), &mut self.packets.nodes);
        if let Some(time) = first {
            scheduler.set(id, Time::from_nanos(time));
        }
        if let Some(time) = free {
            scheduler.set(slot, Time::from_nanos(time));
        }
    }

    /// Looks at a packet.
    #[inline]
    pub fn packet(&self, id: PacketId) -> &Packet<B> {
        &self.packets.nodes[id as usize]
    }

    /// Takes a delivered or dropped packet out.
    #[inline]
    pub fn take(&mut self, id: PacketId) -> Packet<B> {
        let packet = self.packets.nodes[id as usize];
        self.packets.remove(id);
        packet
    }

    /// How often a packet has crossed a link.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Bytes that wait at a link, the packet being sent not counted.
    pub fn queue_bytes(&mut self, link: LinkId, now: Time) -> u64 {
        self.links[link as usize].queue_bytes(now.as_nanos(), &self.packets.nodes)
    }

    /// What a link saw from the start to `now`.
    pub fn report(&mut self, link: LinkId, now: Time) -> LinkReport {
        self.links[link as usize].report(now.as_nanos(), &self.packets.nodes)
    }
}
