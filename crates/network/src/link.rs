//! One direction of a link: a waiting room, a transmitter and a wire.

use crate::held::{Held, Runs};
use crate::impairment::Impairments;
use crate::loss::Car;
use crate::packet::{ALTERED, CORRUPT, HOP, INSPECTED, LOST, NIL, Packet, PacketId, TWICE};
use crate::queue::{Discipline, Drops, Queued};
use crate::rate::{Service, Transmitter};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use vazao_engine::{Duration, Histogram, Rate, Time, fetch, fetch_element};

/// The two-event path: a discipline that is asked again whenever the transmitter is free.
pub(crate) struct Server {
    pub discipline: Box<dyn Discipline>,
    slot: u32,
    serving: PacketId,
}

/// One direction of a link.
///
/// Fast path (drop-tail): the departure is computed on arrival, so a packet costs one event, or none where it may move
/// [ahead of time](crate::ahead). What waits is noted with the time at which the transmitter is free for it and is counted
/// down lazily, which is exact for packets of any size.
///
/// Fields that every packet touches come first and fit two cache lines; the rest is boxed.
#[repr(align(64))]
pub(crate) struct Link {
    transmitter: Transmitter,
    delay: u64,
    /// Packets accepted and not yet at the far end, in order; those that have moved ahead are not among them.
    head: PacketId,
    tail: PacketId,
    /// Fast path: time at which the last accepted packet has been sent.
    busy_until: u64,
    /// Packets and bytes that wait, that being sent not counted.
    backlog: u32,
    backlog_bytes: u64,
    max_bytes: u64,
    max_packets: u32,
    /// Whether there are impairments, and whether there is a server.
    impaired: bool,
    serves: bool,
    packets: u64,
    bytes: u64,
    /// Missing until there is something to put there: of ten thousand access links most never have anything.
    cold: Option<Box<Cold>>,
}

/// Fields that only some packets touch.
#[derive(Default)]
struct Cold {
    /// Large, and few links have any.
    impairments: Option<Box<Impairments>>,
    /// Packets on a wire on which they may overtake each other: when they arrive, in which order they were sent, which.
    wire: BinaryHeap<Reverse<(u64, u64, PacketId)>>,
    /// Arrival of the last packet that keeps its order.
    last: u64,
    /// Fast path: packets of the backlog in their order, each with the time at which the one before it has been sent.
    waiting: VecDeque<(u64, u32)>,
    /// Sends in place of the transmitter, where the rate varies.
    service: Option<Box<dyn Service>>,
    server: Option<Server>,
    /// Limit of everything that is here.
    held: Option<Held>,
    drops_queue: u64,
    drops_early: u64,
    drops_policer: u64,
    drops_loss: u64,
    drops_corrupt: u64,
    marks: u64,
    queue_runs: Runs,
    loss_runs: Runs,
    /// Packets on an impaired wire that were not lost.
    survivors: u64,
    /// Number of those before each lost packet that is under way: it is counted when it would have arrived.
    losses: VecDeque<u64>,
    /// Waits above zero.
    queueing: Histogram,
}

/// Counts of one direction of a link in a run.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// Share of the run in which the transmitter was busy, 0 to 1.
    pub utilisation: f64,
    /// Bits sent, link headers included.
    pub sent_bits: f64,
    /// Bits that it could have sent.
    pub capacity_bits: f64,
    /// Packets sent, lost ones included.
    pub packets: u64,
    /// Bytes sent, lost ones included.
    pub bytes: u64,
    /// Packets that still wait, the one being sent not counted.
    pub waiting: u64,
    /// Packets that the queue dropped, early ones included.
    pub drops_queue: u64,
    /// Packets dropped early by an active queue, so that their senders slow down.
    pub drops_early: u64,
    /// Packets that the policer dropped before they came to the queue.
    pub drops_policer: u64,
    /// Packets lost on the wire.
    pub drops_loss: u64,
    /// Packets that arrived over this link at the host they were for, with bits changed on the way.
    pub drops_corrupt: u64,
    /// Packets that the queue marked with "congestion experienced".
    pub marks: u64,
    /// Mean time from arrival to start of transmission, in seconds; `None` when nothing was sent.
    pub queue_delay_mean: Option<f64>,
    /// 95th percentile of the same.
    pub queue_delay_p95: Option<f64>,
    /// Longest of the same.
    pub queue_delay_max: Option<f64>,
    /// Runs of packets that the queue dropped one after the other, on arrival or later.
    pub queue_runs: Runs,
    /// Runs of packets that were sent one after the other and lost on the wire.
    pub loss_runs: Runs,
}

impl Link {
    pub fn new(rate: Rate, delay: Duration, overhead: u32, (max_packets, max_bytes): (u32, u64)) -> Self {
        Link {
            transmitter: Transmitter::new(rate.as_bps(), overhead),
            delay: delay.as_nanos(),
            head: NIL,
            tail: NIL,
            busy_until: 0,
            backlog: 0,
            backlog_bytes: 0,
            max_bytes,
            max_packets,
            impaired: false,
            serves: false,
            packets: 0,
            bytes: 0,
            cold: None,
        }
    }

    /// Returns the fields that only some packets touch.
    #[inline]
    fn cold(&mut self) -> &mut Cold {
        self.cold.get_or_insert_default()
    }

    /// Sets the impairments of its wire. Impairments that move arrivals need a server; see [`serve`](Self::serve).
    pub fn impair(&mut self, impairments: Impairments) {
        self.impaired = true;
        self.cold().impairments = Some(Box::new(impairments));
    }

    /// Has `service` send in place of the transmitter of a fixed rate.
    pub fn vary(&mut self, service: Box<dyn Service>) {
        self.cold().service = Some(service);
    }

    /// Returns the times at which a packet that is ready at `now` starts to be sent and has been sent.
    #[inline(always)]
    fn transmit(&mut self, now: u64, size: u32) -> (u64, u64) {
        if self.transmitter.knows(size) { self.transmitter.send(now) } else { self.transmit_another(now, size) }
    }

    /// Transmits a packet whose size differs from the last one's. A transmitter that is replaced knows no size.
    #[inline(never)]
    fn transmit_another(&mut self, now: u64, size: u32) -> (u64, u64) {
        if let Some(service) = self.cold.as_mut().and_then(|cold| cold.service.as_mut()) {
            return service.send(now, size + self.transmitter.overhead);
        }
        self.transmitter.learn(size);
        self.transmitter.send(now)
    }

    /// Fetches it into the cache.
    pub fn fetch(&self) {
        fetch(&self.transmitter);
        fetch(&self.packets);
    }

    /// Fetches what most packets that wait need besides.
    pub fn fetch_cold(&self) {
        if let Some(cold) = &self.cold {
            fetch(&cold.queueing);
            cold.queueing.fetch();
        }
    }

    /// Returns the packet that arrives next; `NIL` if there is none, or arrivals are moved.
    pub fn next_arrival(&self) -> PacketId {
        self.head
    }

    /// Counts a packet that was lost on the wire.
    pub fn count_loss(&mut self) {
        let cold = self.cold();
        cold.drops_loss += 1;
        if let Some(survivors) = cold.losses.pop_front() {
            cold.loss_runs.add(survivors);
        }
    }

    /// Returns the middlebox at its end.
    pub fn middlebox(&self) -> u16 {
        self.cold.as_ref().and_then(|cold| cold.impairments.as_ref()).map_or(0, |impairments| impairments.middlebox)
    }

    /// Counts a packet of this link that was found corrupt.
    pub fn count_corrupt(&mut self) {
        self.cold().drops_corrupt += 1;
    }

    /// Returns whether the link is on the two-event path.
    #[inline]
    pub fn serves(&self) -> bool {
        self.serves
    }

    /// Replaces the drop-tail queue by a discipline that needs the two-event path.
    pub fn serve(&mut self, discipline: Box<dyn Discipline>, slot: u32) {
        self.serves = true;
        if let Some(limit) = discipline.holds() {
            // What is on the wire is counted where the wire does something to it.
            self.impaired = true;
            self.cold().held = Some(Held::new(limit));
        }
        self.cold().server = Some(Server { discipline, slot, serving: NIL });
    }

    /// Returns whether nothing happens to a packet but that it is sent, or dropped where the queue is full: all that becomes of
    /// it follows from when it comes.
    pub fn is_plain(&self) -> bool {
        !self.serves && !self.impaired
    }

    /// Returns whether no packet is on the way to its far end, but for those that have moved ahead.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// Returns its rate in bits per second, or the mean of it where it varies.
    pub fn mean_rate(&self) -> u64 {
        self.transmitter.rate
    }

    /// Returns its rate in bits per second; `None`: it varies.
    pub fn rate(&self) -> Option<u64> {
        let varies = self.cold.as_ref().is_some_and(|cold| cold.service.is_some());
        (!varies).then_some(self.transmitter.rate)
    }

    /// Returns whether every packet, of a header's 20 bytes at least, takes time to pass it.
    pub fn takes_time(&self) -> bool {
        self.delay > 0 || self.rate().is_some_and(|rate| rate <= 160_000_000_000)
    }

    /// Takes what is being sent by `now` off the backlog.
    #[inline(always)]
    fn settle(&mut self, now: u64) {
        if self.backlog > 0 {
            self.settle_backlog(now);
        }
    }

    #[inline]
    fn settle_backlog(&mut self, now: u64) {
        let Some(cold) = &mut self.cold else { return };
        while let Some(&(free, size)) = cold.waiting.front()
            && free <= now
        {
            cold.waiting.pop_front();
            self.backlog -= 1;
            self.backlog_bytes -= u64::from(size);
        }
    }

    /// Fast path: returns whether the queue takes a packet of `size` bytes at `now`; an idle transmitter always does.
    #[inline(always)]
    pub fn has_room(&mut self, now: u64, size: u32) -> bool {
        self.settle(now);
        self.busy_until <= now
            || self.backlog < self.max_packets && self.backlog_bytes + u64::from(size) <= self.max_bytes
    }

    /// Fast path: counts a packet that the queue has refused.
    #[cold]
    pub fn refuse(&mut self) {
        let admitted = 2 * self.packets;
        let cold = self.cold();
        cold.drops_queue += 1;
        cold.queue_runs.add(admitted);
    }

    /// Fast path: takes a packet for which there [is room](Self::has_room) at `now`. Returns when it has been sent.
    #[inline(always)]
    fn admit(&mut self, now: u64, size: u32) -> u64 {
        let free = self.busy_until;
        let (start, end) = self.transmit(now, size);
        self.busy_until = end;
        self.count(size, start - now);
        if free > now {
            self.cold().waiting.push_back((free, size));
            self.backlog += 1;
            self.backlog_bytes += u64::from(size);
        }
        end
    }

    /// Fast path: takes a packet for which there [is room](Self::has_room) at `now` on a [plain](Self::is_plain) link. Returns
    /// when it will arrive at the far end.
    #[inline(always)]
    pub fn pass(&mut self, now: u64, size: u32) -> u64 {
        self.admit(now, size) + self.delay
    }

    /// Fast path: takes a packet for which there [is room](Self::has_room) at `now` on an impaired link. `Some(time)` when its
    /// next delivery is now at `time`.
    pub fn accept<B>(&mut self, now: u64, id: PacketId, nodes: &mut [Packet<B>]) -> Option<u64> {
        let end = self.admit(now, nodes[id as usize].size);
        self.launch(id, end, nodes)
    }

    /// Returns whether its wire does something to packets.
    #[inline]
    pub fn is_impaired(&self) -> bool {
        self.impaired
    }

    /// Puts a packet that will arrive at `arrival` behind all others. Returns whether it is the first.
    #[inline(always)]
    pub fn push<B>(&mut self, id: PacketId, arrival: u64, nodes: &mut [Packet<B>]) -> bool {
        let node = &mut nodes[id as usize];
        node.arrival = arrival;
        node.next = NIL;
        let is_first = self.head == NIL;
        if is_first {
            self.head = id;
        } else {
            nodes[self.tail as usize].next = id;
        }
        self.tail = id;
        is_first
    }

    #[inline]
    fn count(&mut self, size: u32, waited: u64) {
        self.packets += 1;
        self.bytes += u64::from(size);
        if waited > 0 {
            self.cold().queueing.record(Duration::from_nanos(waited));
        }
    }

    /// Puts a packet that leaves the transmitter at `end` on the wire. `Some(time)` when the next delivery is now at `time`.
    fn launch<B>(&mut self, id: PacketId, end: u64, nodes: &mut [Packet<B>]) -> Option<u64> {
        if self.impaired
            && let Some(first) = self.harm(id, end, &mut nodes[id as usize])
        {
            return first;
        }
        let arrival = end + self.delay;
        self.push(id, arrival, nodes).then_some(arrival)
    }

    /// Does to a packet what the wire does; and where packets arrive in another order, puts it on that wire.
    #[inline(never)]
    fn harm<B>(&mut self, id: PacketId, end: u64, node: &mut Packet<B>) -> Option<Option<u64>> {
        let cold = self.cold.get_or_insert_default();
        let mut arrival = end + self.delay;
        let Some(impairments) = &mut cold.impairments else {
            if let Some(held) = &mut cold.held {
                held.leaves(arrival, node.size);
            }
            return None;
        };
        let time = u64::from(node.size + self.transmitter.overhead) * 8_000_000_000 / self.transmitter.rate;
        let car = Car { to: node.to, hop: node.hop & HOP, sent: node.sent };
        let harm = impairments.harm(end, car, node.size, time);
        match harm.lost {
            true => cold.losses.push_back(cold.survivors),
            false => cold.survivors += 1,
        }
        let inspected = impairments.middlebox != 0 || harm.altered;
        let flags = [
            (LOST, harm.lost),
            (CORRUPT, harm.corrupt),
            (ALTERED, harm.altered),
            (TWICE, harm.twice),
            (INSPECTED, inspected),
        ];
        node.hop |= flags.into_iter().filter(|&(_, set)| set).fold(0, |all, (flag, _)| all | flag);
        let moves = impairments.moves_arrivals();
        if moves {
            arrival = arrival.saturating_add_signed(harm.shift).max(end);
            if impairments.keeps_order() {
                arrival = arrival.max(cold.last);
                cold.last = arrival;
            }
            arrival += harm.late;
        }
        if let Some(held) = &mut cold.held {
            held.leaves(if harm.lost { end } else { arrival }, node.size);
        }
        if !moves {
            return None;
        }
        let first = cold.wire.peek().is_none_or(|Reverse((earliest, ..))| arrival < *earliest);
        cold.wire.push(Reverse((arrival, self.packets, id)));
        Some(first.then_some(arrival))
    }

    /// Takes the packet that has reached the far end off the wire, and says which one will next, and when.
    #[inline(always)]
    pub fn deliver<B>(&mut self, nodes: &[Packet<B>]) -> (PacketId, Option<(PacketId, u64)>) {
        let id = self.head;
        if id == NIL {
            return self.deliver_first();
        }
        self.head = nodes[id as usize].next;
        if self.head == NIL {
            return (id, None);
        }
        let first = &nodes[self.head as usize];
        fetch_element(nodes, first.next as usize);
        (id, Some((self.head, first.arrival)))
    }

    /// Delivers the first packet where packets may overtake each other.
    #[cold]
    fn deliver_first(&mut self) -> (PacketId, Option<(PacketId, u64)>) {
        let wire = &mut self.cold().wire;
        let Reverse((_, _, id)) = wire.pop().expect("a delivery has a packet");
        (id, wire.peek().map(|&Reverse((arrival, _, next))| (next, arrival)))
    }

    /// Two-event path: queues a packet. The slot of the transmitter, and `Some(time)` when that, idle until now, is busy
    /// until `time`.
    pub fn enqueue<B>(
        &mut self,
        now: Time,
        id: PacketId,
        nodes: &mut [Packet<B>],
        drops: &mut Drops,
    ) -> (u32, Option<u64>) {
        let Packet { size, to: flow, .. } = nodes[id as usize];
        let packet = Queued { id, size, flow, ecn: nodes[id as usize].ecn(), arrival: now };
        let refused = self.refuses(now.as_nanos(), size);
        let server = self.cold().server.as_mut().expect("the two-event path has a server");
        let slot = server.slot;
        if refused {
            drops.packets.push(id);
            return (slot, None);
        }
        let is_busy = server.serving != NIL;
        let next = match is_busy {
            true => {
                server.discipline.enqueue(now, packet, drops);
                None
            }
            false => server.discipline.pass(now, packet, drops),
        };
        self.backlog += 1;
        self.backlog_bytes += u64::from(size);
        self.account(drops, true);
        (slot, next.map(|packet| self.start(now, packet, nodes)))
    }

    /// Returns whether a packet is dropped before the discipline sees it: by the policer, or as the link holds too many.
    fn refuses(&mut self, now: u64, size: u32) -> bool {
        let admitted = self.admitted();
        let cold = self.cold();
        let policer = cold.impairments.as_mut().and_then(|wire| wire.policer.as_mut());
        if policer.is_some_and(|policer| !policer.admits(now, size)) {
            cold.drops_policer += 1;
            return true;
        }
        let refuses = cold.held.as_mut().is_some_and(|held| !held.admits(now, size));
        if refuses {
            cold.drops_queue += 1;
            cold.queue_runs.add(admitted);
        }
        refuses
    }

    /// Two-event path: counts the packets that were let in and are neither dropped nor forgotten, as a place for runs of
    /// drops. It is even; where the queue drops what it has, the place is odd.
    fn admitted(&self) -> u64 {
        2 * (self.packets + u64::from(self.backlog))
    }

    /// Notes what the discipline has dropped, on the arrival of a packet or when it looked for the next one.
    fn account(&mut self, drops: &mut Drops, on_arrival: bool) {
        if !drops.packets.is_empty() {
            self.backlog -= drops.packets.len() as u32;
            self.backlog_bytes -= std::mem::take(&mut drops.bytes);
            let place = if on_arrival { self.admitted() } else { 2 * self.packets + 1 };
            let cold = self.cold();
            cold.drops_queue += drops.packets.len() as u64;
            cold.drops_early += std::mem::take(&mut drops.early);
            drops.packets.iter().for_each(|_| cold.queue_runs.add(place));
        }
    }

    /// Starts to send a packet that has waited.
    fn start<B>(&mut self, now: Time, packet: Queued, nodes: &mut [Packet<B>]) -> u64 {
        let Queued { id, size, ecn, .. } = packet;
        self.backlog -= 1;
        self.backlog_bytes -= u64::from(size);
        let node = &mut nodes[id as usize];
        if node.ecn() != ecn {
            node.set_ecn(ecn);
            self.cold().marks += 1;
        }
        self.cold().server.as_mut().expect("the two-event path has a server").serving = id;
        let (start, end) = self.transmit(now.as_nanos(), size);
        self.count(size, start - packet.arrival.as_nanos());
        end
    }

    /// Two-event path: the transmitter has sent its packet. Returns the link's next delivery if that is new, and when
    /// the transmitter will be free again if there is more to send.
    pub fn sent<B>(&mut self, now: Time, nodes: &mut [Packet<B>], drops: &mut Drops) -> (Option<u64>, Option<u64>) {
        let server = self.cold().server.as_mut().expect("the two-event path has a server");
        let done = std::mem::replace(&mut server.serving, NIL);
        let next = server.discipline.dequeue(now, drops);
        self.account(drops, false);
        let first = self.launch(done, now.as_nanos(), nodes);
        (first, next.map(|packet| self.start(now, packet, nodes)))
    }

    /// Returns for how long its transmitter has sent by `now`, in nanoseconds; where its rate varies, at the mean of it.
    pub fn worked(&self, now: u64) -> u64 {
        self.transmitter.worked(now, self.packets, self.bytes)
    }

    /// Bytes that wait, the packet being sent not counted.
    pub fn queue_bytes(&mut self, now: u64) -> u64 {
        if !self.serves {
            self.settle(now);
        }
        self.backlog_bytes
    }

    /// Returns the link's counts from the start to `now`.
    pub fn report(&mut self, now: u64) -> LinkReport {
        let waiting_bytes = self.queue_bytes(now);
        let waiting = u64::from(self.backlog);
        // The fast path counts a packet when it comes.
        let (unsent_packets, unsent_bytes) = if self.serves { (0, 0) } else { (waiting, waiting_bytes) };
        let packets = self.packets - unsent_packets;
        let bytes = self.bytes - unsent_bytes;
        let bits = 8.0 * (bytes + packets * u64::from(self.transmitter.overhead)) as f64;
        let fixed = self.transmitter.rate as f64 * now as f64 / 1e9;
        let none = Cold::default();
        let cold = self.cold.as_deref().unwrap_or(&none);
        let capacity = cold.service.as_ref().map_or(fixed, |service| service.capacity(now));
        // Packets that did not wait are in no histogram: they are its zeros.
        let mut queueing = cold.queueing.clone();
        queueing.record_zeros(self.packets - queueing.count());
        LinkReport {
            utilisation: if capacity == 0.0 { 0.0 } else { (bits / capacity).min(1.0) },
            sent_bits: bits,
            capacity_bits: capacity,
            packets,
            bytes,
            waiting,
            drops_queue: cold.drops_queue,
            drops_early: cold.drops_early,
            drops_policer: cold.drops_policer,
            drops_loss: cold.drops_loss,
            drops_corrupt: cold.drops_corrupt,
            marks: cold.marks,
            queue_delay_mean: queueing.mean(),
            queue_delay_p95: queueing.quantile(0.95),
            queue_delay_max: queueing.max(),
            queue_runs: cold.queue_runs,
            loss_runs: cold.loss_runs,
        }
    }
}
