//! Packets on their way: routes, and the step from one link to the next.

use crate::impairment::Impairments;
use crate::link::{Link, LinkReport};
use crate::packet::{
    ALTERED, CORRUPT, FLAGS, FOLLOWED, HOP, INSPECTED, LOST, NIL, Outgoing, Packet, PacketId, Slab, TWICE, ecn_bits,
};
use crate::queue::{Discipline, Drops};
use crate::rate::Service;
use vazao_engine::{Duration, EventScheduler, Kind, Rate, Slot, Time, fetch_element};

/// The number of one direction of a link. It is also its scheduler slot.
pub type LinkId = u32;
/// The number of a route.
pub type RouteId = u32;

/// Cause of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The queue had no room, or dropped it early.
    Queue,
    /// The link's loss model took it.
    Loss,
    /// Bits of it were changed on the way, and the host that it reached found its checksum wrong.
    Corruption,
}

/// Changes that a middlebox makes to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The middlebox; see [`Impairments::middlebox`](crate::Impairments::middlebox).
    pub middlebox: u16,
    /// Whether it alters the content.
    pub alters: bool,
}

/// Fate of a packet after one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Packet on its way over the next link, or no packet moved.
    Moving,
    /// [Followed](Network::follow) packet at the end of a link: [`Network::go_on`] with it.
    Crossed(PacketId),
    /// Packet at the end of its route: [`Network::take`] it.
    Delivered(PacketId),
    /// Packet that is known to be at the end of its route at this time, and whose addressee may have it
    /// [ahead of time](crate::ahead): [`Network::take`] it.
    Foreseen(PacketId, Time),
    /// Dropped packet: [`Network::take`] it, and then those of [`Network::next_dropped`], as a queue may drop several.
    Dropped(PacketId, DropCause),
    /// Duplicated packet at the end of a link: [`Network::duplicate`] it and [`Network::pass`] both on.
    Duplicated(PacketId),
    /// Packet at a middlebox: apply it, then [`Network::pass`] the packet on.
    Inspected(PacketId, Inspection),
}

/// Set in the table of routes where packets may go on [ahead of time](crate::ahead).
pub(crate) const AHEAD: u32 = 1 << 31;
/// Marks the end of a route in the table.
pub(crate) const END: u32 = AHEAD - 1;

/// Number of links of which all stay in the cache.
const IN_CACHE: usize = 1 << 10;

/// All links, routes and packets of a run. `B` is what a packet carries.
pub struct Network<B> {
    pub(crate) links: Vec<Link>,
    /// Links of the servers' slots, from slot `links.len()` on.
    servers: Vec<LinkId>,
    /// The links of every route in order, each route closed by `END`; with `AHEAD`, where that applies.
    pub(crate) routes: Vec<u32>,
    /// Time up to which packets may move ahead; zero: none does.
    pub(crate) horizon: u64,
    /// Links whose first packet goes on ahead of time.
    ready: Vec<LinkId>,
    packets: Slab<B>,
    /// Drops of the last used queue that nobody has taken yet.
    drops: Drops,
    hops: u64,
    /// Hops that packets made in one step with an earlier one.
    passed: u64,
    /// Flag of the packets to be sent: `FOLLOWED`, or none.
    mark: u32,
}

impl<B: Copy> Network<B> {
    /// Creates a network without links, with room for so many directions of them.
    pub fn with_links(directions: usize) -> Self {
        Network {
            links: Vec::with_capacity(directions),
            servers: Vec::new(),
            routes: Vec::new(),
            horizon: 0,
            ready: Vec::new(),
            packets: Slab::new(),
            drops: Drops::default(),
            hops: 0,
            passed: 0,
            mark: 0,
        }
    }

    /// Adds one direction of a link with a drop-tail queue of at most `limits` (packets, bytes).
    ///
    /// Links own the scheduler's first slots: add all of them before any other slot exists.
    pub fn add_link(
        &mut self,
        rate: Rate,
        delay: Duration,
        overhead: u32,
        limits: (u32, u64),
        scheduler: &mut impl EventScheduler,
    ) -> LinkId {
        let slot = scheduler.add_slot(Kind::Arrival);
        assert_eq!(slot as usize, self.links.len(), "links own the first slots");
        self.links.push(Link::new(rate, delay, overhead, limits));
        slot
    }

    /// Sets the impairments of a link's wire. If they move arrivals, the link needs a discipline of its own,
    /// as departures can no longer be told from them.
    pub fn set_impairments(&mut self, link: LinkId, impairments: Impairments) {
        self.links[link as usize].impair(impairments);
    }

    /// Has `service` send in place of a transmitter of a fixed rate; the rate that the link was added with is then its mean.
    pub fn set_service(&mut self, link: LinkId, service: Box<dyn Service>) {
        self.links[link as usize].vary(service);
    }

    /// Gives a link a queue discipline of its own, on the two-event path. Call after all links were added.
    pub fn set_discipline(
        &mut self,
        link: LinkId,
        discipline: Box<dyn Discipline>,
        scheduler: &mut impl EventScheduler,
    ) {
        let slot = scheduler.add_slot(Kind::Departure);
        assert_eq!(slot as usize, self.links.len() + self.servers.len(), "servers own the slots after the links");
        self.servers.push(link);
        self.links[link as usize].serve(discipline, slot);
    }

    /// Returns the number of links, each direction counted; their numbers are those below it.
    pub fn links(&self) -> u32 {
        self.links.len() as u32
    }

    /// Returns the number of the scheduler's slots, from 0, that belong to the network.
    pub fn slots(&self) -> u32 {
        (self.links.len() + self.servers.len()) as u32
    }

    /// Adds a route over `links`, which must not be empty.
    pub fn add_route(&mut self, links: &[LinkId]) -> RouteId {
        assert!(!links.is_empty(), "a route crosses at least one link");
        let route = self.routes.len() as u32;
        self.routes.extend(links);
        self.routes.push(END);
        assert!(self.routes.len() < HOP as usize, "the table of routes is full");
        route
    }

    /// Sends a packet.
    #[inline(always)]
    pub fn send(&mut self, now: Time, packet: Outgoing<B>, scheduler: &mut impl EventScheduler) -> Fate {
        let Outgoing { route, to, size, ecn, body } = packet;
        let hop = route | ecn_bits(ecn) | self.mark;
        let id = self.packets.insert(Packet { body, sent: now, size, to, arrival: 0, hop, next: NIL });
        self.enter(now, id, scheduler, true)
    }

    /// Lets a packet enter the next link of its route; for `waits` see [`walk`](Self::walk).
    #[inline(always)]
    fn enter(&mut self, now: Time, id: PacketId, scheduler: &mut impl EventScheduler, waits: bool) -> Fate {
        let nodes = &mut self.packets.nodes[..];
        let Packet { hop, size, .. } = nodes[id as usize];
        let position = (hop & HOP) as usize;
        let link = self.routes[position] & !AHEAD;
        let l = &mut self.links[link as usize];
        if l.serves() {
            return self.enqueue(now, link, id, scheduler);
        }
        if !l.has_room(now.as_nanos(), size) {
            l.refuse();
            return Fate::Dropped(id, DropCause::Queue);
        }
        let first = if l.is_impaired() {
            l.accept(now.as_nanos(), id, nodes)
        } else {
            let arrival = l.pass(now.as_nanos(), size);
            if arrival <= self.horizon && self.routes[position + 1] & AHEAD != 0 {
                return self.walk(link, id, arrival, scheduler, waits);
            }
            l.push(id, arrival, nodes).then_some(arrival)
        };
        if let Some(time) = first {
            scheduler.set(link, Time::from_nanos(time));
        }
        Fate::Moving
    }

    /// Moves a packet that will be at the end of `link` at `arrival` over the links behind it as far as it may go ahead. If it
    /// `waits`, its addressee may not have it at once.
    #[inline(always)]
    fn walk(
        &mut self,
        mut link: LinkId,
        id: PacketId,
        mut arrival: u64,
        scheduler: &mut impl EventScheduler,
        waits: bool,
    ) -> Fate {
        let Packet { mut hop, size, .. } = self.packets.nodes[id as usize];
        let goes_on = loop {
            let next = self.routes[(hop & HOP) as usize + 1];
            if next & AHEAD == 0 || arrival > self.horizon || hop & FLAGS != 0 {
                break false;
            }
            if next == END | AHEAD {
                if !waits && self.links[link as usize].is_empty() {
                    self.hops += 1;
                    self.passed += 1;
                    self.packets.nodes[id as usize].hop = hop;
                    return Fate::Foreseen(id, Time::from_nanos(arrival));
                }
                break true;
            }
            let next = next & !AHEAD;
            // Nothing overtakes what is stored, and where there is no room, the packet is dropped when it comes.
            if !self.links[link as usize].is_empty() || !self.links[next as usize].has_room(arrival, size) {
                break false;
            }
            arrival = self.links[next as usize].pass(arrival, size);
            (link, hop) = (next, hop + 1);
            self.hops += 1;
            self.passed += 1;
        };
        self.packets.nodes[id as usize].hop = hop;
        if self.links[link as usize].push(id, arrival, &mut self.packets.nodes) {
            if goes_on {
                self.ready.push(link);
            } else {
                scheduler.set(link, Time::from_nanos(arrival));
            }
        }
        Fate::Moving
    }

    /// Lets a link's first packet go ahead if it may; otherwise schedules its arrival.
    #[inline(always)]
    fn await_first(&mut self, link: LinkId, first: PacketId, arrival: u64, scheduler: &mut impl EventScheduler) {
        if arrival <= self.horizon && self.goes_ahead(first, arrival) {
            self.ready.push(link);
        } else {
            scheduler.set(link, Time::from_nanos(arrival));
        }
    }

    /// Returns whether a packet at the end of a link may go on ahead of time.
    #[inline(always)]
    fn goes_ahead(&mut self, id: PacketId, arrival: u64) -> bool {
        let Packet { hop, size, .. } = self.packets.nodes[id as usize];
        let next = self.routes[(hop & HOP) as usize + 1];
        if next & AHEAD == 0 || hop & FLAGS != 0 {
            return false;
        }
        next == END | AHEAD || self.links[(next & !AHEAD) as usize].has_room(arrival, size)
    }

    /// Returns whether a packet may go ahead of time.
    #[inline(always)]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns a link whose first packet is to go ahead of time; pass it to [`go_ahead`](Self::go_ahead). Call it until there is
    /// none after anything that sends or moves packets.
    #[inline(always)]
    pub fn next_ready(&mut self) -> Option<LinkId> {
        self.ready.pop()
    }

    /// Moves the first packet of a link on. Returns when it is at the end of the link, and its fate there. If it is
    /// [delivered](Fate::Delivered), its addressee must first do what it does earlier by itself.
    #[inline(always)]
    pub fn go_ahead(&mut self, link: LinkId, scheduler: &mut impl EventScheduler) -> (Time, Fate) {
        let (id, next) = self.links[link as usize].deliver(&self.packets.nodes);
        let time = Time::from_nanos(self.packets.nodes[id as usize].arrival);
        self.hops += 1;
        let fate = self.forward(time, id, scheduler);
        if let Some((first, arrival)) = next {
            self.await_first(link, first, arrival, scheduler);
        }
        (time, fate)
    }

    /// Hands a packet to a link's discipline. Apart, so that what most links do stays small enough to be inlined.
    #[inline(never)]
    fn enqueue(&mut self, now: Time, link: LinkId, id: PacketId, scheduler: &mut impl EventScheduler) -> Fate {
        let (slot, wake) = self.links[link as usize].enqueue(now, id, &mut self.packets.nodes, &mut self.drops);
        if let Some(time) = wake {
            scheduler.set(slot, Time::from_nanos(time));
        }
        self.dropped()
    }

    /// Returns the drops of a queue as a fate.
    #[inline]
    fn dropped(&mut self) -> Fate {
        self.next_dropped().map_or(Fate::Moving, |id| Fate::Dropped(id, DropCause::Queue))
    }

    /// Another packet that the same queue dropped in the same event, if there is one.
    pub fn next_dropped(&mut self) -> Option<PacketId> {
        self.drops.packets.pop()
    }

    /// Handles the event of one of the network's slots.
    #[inline(always)]
    pub fn advance(&mut self, now: Time, slot: Slot, scheduler: &mut impl EventScheduler) -> Fate {
        if slot as usize >= self.links.len() {
            return self.serve(now, slot, scheduler);
        }
        let link = &mut self.links[slot as usize];
        let (id, next) = link.deliver(&self.packets.nodes);
        self.hops += 1;
        let hop = self.packets.nodes[id as usize].hop;
        let fate = if hop & (LOST | TWICE | INSPECTED | FOLLOWED) == 0 {
            self.forward(now, id, scheduler)
        } else if hop & FOLLOWED == 0 {
            self.go_on(now, id, scheduler)
        } else {
            Fate::Crossed(id)
        };
        if let Some((first, arrival)) = next {
            self.await_first(slot, first, arrival, scheduler);
            if self.links.len() > IN_CACHE {
                self.fetch_next_link(first);
            }
        }
        fate
    }

    /// Moves a packet on that has [crossed](Fate::Crossed) a link, after the impairments left for it there: a duplicated one is
    /// changed first.
    #[inline]
    pub fn go_on(&mut self, now: Time, id: PacketId, scheduler: &mut impl EventScheduler) -> Fate {
        let link = self.link_of(id);
        let hop = &mut self.packets.nodes[id as usize].hop;
        if *hop & LOST != 0 {
            self.links[link as usize].count_loss();
            return Fate::Dropped(id, DropCause::Loss);
        }
        if *hop & (TWICE | INSPECTED) == 0 {
            return self.forward(now, id, scheduler);
        }
        if *hop & INSPECTED == 0 {
            return Fate::Duplicated(id);
        }
        let inspection = Inspection { middlebox: self.links[link as usize].middlebox(), alters: *hop & ALTERED != 0 };
        *hop &= !(INSPECTED | ALTERED);
        Fate::Inspected(id, inspection)
    }

    /// Moves a packet that has reached the end of a link on.
    #[inline(always)]
    fn forward(&mut self, now: Time, id: PacketId, scheduler: &mut impl EventScheduler) -> Fate {
        let node = &mut self.packets.nodes[id as usize];
        node.hop += 1;
        match self.routes[(node.hop & HOP) as usize] & !AHEAD {
            END if node.hop & CORRUPT != 0 => self.refuse(id),
            END => Fate::Delivered(id),
            _ => self.enter(now, id, scheduler, false),
        }
    }

    /// Drops a packet whose checksum its host finds wrong.
    #[cold]
    fn refuse(&mut self, id: PacketId) -> Fate {
        let end = (self.packets.nodes[id as usize].hop & HOP) as usize;
        self.links[(self.routes[end - 1] & !AHEAD) as usize].count_corrupt();
        Fate::Dropped(id, DropCause::Corruption)
    }

    /// Copies a [duplicated](Fate::Duplicated) packet; the copy carries `body`. Then [`pass`](Self::pass)
    /// both on.
    pub fn duplicate(&mut self, id: PacketId, body: B) -> PacketId {
        self.packets.nodes[id as usize].hop &= !TWICE;
        self.packets.insert(Packet { body, ..self.packets.nodes[id as usize] })
    }

    /// Moves a packet that was [duplicated](Fate::Duplicated), or its copy, or one that was
    /// [inspected](Fate::Inspected), on from where it is.
    #[cold]
    pub fn pass(&mut self, now: Time, id: PacketId, scheduler: &mut impl EventScheduler) -> Fate {
        if self.packets.nodes[id as usize].hop & TWICE != 0 {
            return Fate::Duplicated(id);
        }
        self.forward(now, id, scheduler)
    }

    #[inline(never)]
    fn serve(&mut self, now: Time, slot: Slot, scheduler: &mut impl EventScheduler) -> Fate {
        let id = self.servers[slot as usize - self.links.len()];
        let (first, free) = self.links[id as usize].sent(now, &mut self.packets.nodes, &mut self.drops);
        if let Some(time) = first {
            scheduler.set(id, Time::from_nanos(time));
        }
        if let Some(time) = free {
            scheduler.set(slot, Time::from_nanos(time));
        }
        self.dropped()
    }

    /// Fetches what the events of `slots` will need into the cache, and calls `arrives` with the addressee of each packet
    /// that will reach the end of its route. One kind of thing after the other, as each tells where the next one is.
    pub fn fetch_ahead(&self, slots: &[Slot], mut arrives: impl FnMut(u32)) {
        let nodes = &self.packets.nodes[..];
        let links = || slots.iter().filter_map(|&slot| self.links.get(slot as usize));
        links().for_each(Link::fetch);
        links().for_each(|link| fetch_element(nodes, link.next_arrival() as usize));
        for packet in links().filter_map(|link| nodes.get(link.next_arrival() as usize)) {
            let mut places = self.routes[(packet.hop & HOP) as usize + 1..].iter();
            let next = places.next();
            // With the next place all that it will reach at once.
            for &place in next.into_iter().chain(places.take_while(|&&place| place & AHEAD != 0)) {
                match place & !AHEAD {
                    END => {
                        arrives(packet.to);
                        break;
                    }
                    link => self.links[link as usize].fetch(),
                }
            }
        }
    }

    /// Fetches the link after that on which a packet is into the cache: behind a link that many share, each packet goes to
    /// a link that none of the last ones went to.
    #[inline]
    fn fetch_next_link(&self, id: PacketId) {
        let hop = self.packets.nodes[id as usize].hop & HOP;
        if let Some(link) = self.links.get((self.routes[hop as usize + 1] & !AHEAD) as usize) {
            link.fetch();
        }
    }

    /// Returns the first link of a route.
    fn first_link(&self, route: RouteId) -> &Link {
        &self.links[(self.routes[route as usize] & !AHEAD) as usize]
    }

    /// Fetches the first link of a route into the cache.
    pub fn fetch_first_link(&self, route: RouteId) {
        self.first_link(route).fetch();
    }

    /// Fetches what the first link of a route points to.
    pub fn fetch_first_queue(&self, route: RouteId) {
        self.first_link(route).fetch_cold();
    }

    /// Returns the place that the next packet to be sent will have.
    pub fn next_packet(&self) -> PacketId {
        self.packets.next()
    }

    /// Follows all packets: each is [`Fate::Crossed`] at the end of each link.
    pub fn follow(&mut self) {
        self.mark = FOLLOWED;
    }

    /// Returns the link that a packet is on or has just crossed, or in whose queue it waits: the last one of its route if it
    /// has arrived.
    pub fn link_of(&self, id: PacketId) -> LinkId {
        let hop = (self.packets.nodes[id as usize].hop & HOP) as usize;
        match self.routes[hop] & !AHEAD {
            END => self.routes[hop - 1] & !AHEAD,
            link => link,
        }
    }

    /// Looks at a packet.
    #[inline]
    pub fn packet(&self, id: PacketId) -> &Packet<B> {
        &self.packets.nodes[id as usize]
    }

    /// Changes a packet.
    pub fn packet_mut(&mut self, id: PacketId) -> &mut Packet<B> {
        &mut self.packets.nodes[id as usize]
    }

    /// Takes a delivered or dropped packet out.
    #[inline]
    pub fn take(&mut self, id: PacketId) -> Packet<B> {
        let node = &self.packets.nodes[id as usize];
        // Field by field where the network has just written: a copy of the whole would wait for what it wrote.
        let packet = Packet { arrival: 0, hop: node.hop, next: NIL, ..*node };
        self.packets.remove(id);
        packet
    }

    /// Returns the number of times that a packet has crossed a link.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Returns the number of hops that packets made in one step with an earlier one, and that took no event of their own.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the slowest link of a route, by the mean where a rate varies, and its rate in bits per second.
    pub fn narrowest(&self, route: RouteId) -> (LinkId, u64) {
        let rated = self
            .route(route)
            .iter()
            .map(|link| link & !AHEAD)
            .map(|link| (link, self.links[link as usize].mean_rate()));
        rated.min_by_key(|(_, rate)| *rate).expect("a route crosses at least one link")
    }

    /// Returns for how long a link has sent by `now`; where its rate varies, at the mean of it.
    pub fn worked(&self, link: LinkId, now: Time) -> Duration {
        Duration::from_nanos(self.links[link as usize].worked(now.as_nanos()))
    }

    /// Bytes that wait at a link, the packet being sent not counted.
    pub fn queue_bytes(&mut self, link: LinkId, now: Time) -> u64 {
        self.links[link as usize].queue_bytes(now.as_nanos())
    }

    /// Returns a link's counts from the start to `now`.
    pub fn report(&mut self, link: LinkId, now: Time) -> LinkReport {
        self.links[link as usize].report(now.as_nanos())
    }
}
