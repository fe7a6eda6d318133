//! Networks for tests, and packets whose body is their number.

use std::collections::BTreeMap;
use vazao_engine::registry::{Parameters, Raw};
use vazao_engine::{Duration, EventScheduler, Heap, RandomStream, Rate, Time};
use vazao_network::queue::{Discipline, DropTail, QUEUES, Setting};
use vazao_network::rate::Service;
use vazao_network::{
    DropCause, Ecn, Fate, Impairments, Inspection, LinkId, LossModel, Network, Outgoing, Path, RouteId,
};

/// Fate of a packet: its number, when, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Arrived(u32, u64),
    Refused(u32, u64),
    Lost(u32, u64),
    Corrupt(u32, u64),
}

/// Links in a row with one route over all of them. Events are in a heap, as a wheel takes nothing back once it has moved on.
pub struct Lab {
    pub network: Network<u32>,
    pub scheduler: Heap,
    route: RouteId,
    pub log: Vec<Event>,
    /// Packets at the ends of links, if they are followed: the number, the link, and when.
    pub crossed: Vec<(u32, LinkId, u64)>,
    next: u32,
    /// The flow and the codepoint of what is sent next.
    pub flow: u32,
    pub ecn: Ecn,
}

/// One link: bits per second, delay in nanoseconds, overhead in bytes, limits in packets and bytes.
pub type Line = (u64, u64, u32, (u32, u64));

/// A queue from the registry for a link of this rate and a base round-trip time of 100 ms.
pub fn queue(rate: u64, name: &str, changed: &[(&str, Raw)]) -> Box<dyn Discipline> {
    let entry = QUEUES.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("no queue {name}"));
    let given: BTreeMap<_, _> = changed.iter().map(|(name, raw)| ((*name).to_owned(), raw.clone())).collect();
    let parameters = Parameters::resolve(entry.parameters, &given).unwrap();
    let stream = RandomStream::new(1, "queue/bottleneck/forward");
    let setting = Setting { rate: Rate::from_bps(rate), base_rtt: Duration::from_millis(100), stream };
    (entry.build)(&parameters, &setting)
}

/// A limit that nothing reaches.
pub const ENDLESS: (u32, u64) = (u32::MAX, u64::MAX);

/// Added to the number of a packet whose content a middlebox is to alter.
pub const ALTERED: u32 = 1 << 20;

impl Lab {
    /// Links in a row on the one-event path.
    pub fn new(lines: &[Line]) -> Lab {
        let (mut network, mut scheduler) = (Network::with_links(0), Heap::default());
        let links: Vec<LinkId> = lines
            .iter()
            .map(|&(rate, delay, overhead, limits)| {
                let delay = Duration::from_nanos(delay);
                network.add_link(Rate::from_bps(rate), delay, overhead, limits, &mut scheduler)
            })
            .collect();
        let route = network.add_route(&links);
        Lab { network, scheduler, route, log: Vec::new(), crossed: Vec::new(), next: 0, flow: 0, ecn: Ecn::NotEct }
    }

    /// A laboratory on the two-event path, with the queue as a discipline of its own.
    pub fn served(lines: &[Line]) -> Lab {
        let mut lab = Lab::new(lines);
        for (link, line) in lines.iter().enumerate() {
            let discipline: Box<dyn Discipline> = Box::new(DropTail::new(line.3));
            lab.network.set_discipline(link as LinkId, discipline, &mut lab.scheduler);
        }
        lab
    }

    /// One link of this rate and no delay behind the queue that the registry calls `name`, at its defaults but for
    /// `changed`.
    pub fn queued(rate: u64, name: &str, changed: &[(&str, Raw)]) -> Lab {
        let mut lab = Lab::new(&[(rate, 0, 0, ENDLESS)]);
        lab.network.set_discipline(0, queue(rate, name, changed), &mut lab.scheduler);
        lab
    }

    /// Has packets go ahead of time up to `horizon`, in nanoseconds.
    pub fn ahead(mut self, horizon: u64) -> Lab {
        self.network.look_ahead(&[Path { route: self.route, from: 1, to: self.flow, is_isolated: true }]);
        self.network.set_horizon(Time::from_nanos(horizon));
        self
    }

    pub fn lossy(self, model: Box<dyn LossModel>) -> Lab {
        self.impaired(Impairments { loss: Some(model), ..Impairments::default() })
    }

    pub fn impaired(mut self, impairments: Impairments) -> Lab {
        self.network.set_impairments(0, impairments);
        self
    }

    pub fn varied(mut self, service: impl Service + 'static) -> Lab {
        self.network.set_service(0, Box::new(service));
        self
    }

    /// Handles every event up to `until`, that instant included.
    pub fn run(&mut self, until: u64) {
        while let Some((time, slot)) = self.scheduler.pop() {
            if time.as_nanos() > until {
                self.scheduler.set(slot, time);
                break;
            }
            let fate = self.network.advance(time, slot, &mut self.scheduler);
            self.note(time.as_nanos(), fate);
            self.go_ahead();
        }
    }

    pub fn finish(&mut self) -> &[Event] {
        self.run(u64::MAX - 1);
        &self.log
    }

    /// Sends the next packet at `now`, after everything that happens at that instant.
    pub fn send(&mut self, now: u64, size: u32) {
        self.run(now);
        let (number, time) = (self.next, Time::from_nanos(now));
        self.next += 1;
        let packet = Outgoing { route: self.route, to: self.flow, size, ecn: self.ecn, body: number };
        let fate = self.network.send(time, packet, &mut self.scheduler);
        self.note(now, fate);
        self.go_ahead();
    }

    /// Moves packets on that go ahead of time.
    fn go_ahead(&mut self) {
        while let Some(link) = self.network.next_ready() {
            let (time, fate) = self.network.go_ahead(link, &mut self.scheduler);
            self.note(time.as_nanos(), fate);
        }
    }

    fn note(&mut self, now: u64, fate: Fate) {
        let event = match fate {
            Fate::Moving => return,
            Fate::Crossed(id) => {
                self.crossed.push((self.network.packet(id).body, self.network.link_of(id), now));
                let fate = self.network.go_on(Time::from_nanos(now), id, &mut self.scheduler);
                return self.note(now, fate);
            }
            Fate::Duplicated(id) => {
                let copy = self.network.duplicate(id, self.network.packet(id).body);
                for id in [id, copy] {
                    let fate = self.network.pass(Time::from_nanos(now), id, &mut self.scheduler);
                    self.note(now, fate);
                }
                return;
            }
            Fate::Inspected(id, Inspection { middlebox, alters }) => {
                self.network.packet_mut(id).body += u32::from(middlebox) + if alters { ALTERED } else { 0 };
                let fate = self.network.pass(Time::from_nanos(now), id, &mut self.scheduler);
                return self.note(now, fate);
            }
            Fate::Delivered(id) => Event::Arrived(self.network.take(id).body, now),
            Fate::Foreseen(id, time) => Event::Arrived(self.network.take(id).body, time.as_nanos()),
            Fate::Dropped(id, DropCause::Queue) => Event::Refused(self.network.take(id).body, now),
            Fate::Dropped(id, DropCause::Loss) => Event::Lost(self.network.take(id).body, now),
            Fate::Dropped(id, DropCause::Corruption) => Event::Corrupt(self.network.take(id).body, now),
        };
        self.log.push(event);
        while let Some(id) = self.network.next_dropped() {
            self.log.push(Event::Refused(self.network.take(id).body, now));
        }
    }

    /// The numbers of the packets that were refused.
    pub fn refused(&self) -> Vec<u32> {
        self.log.iter().filter_map(|e| if let Event::Refused(n, _) = e { Some(*n) } else { None }).collect()
    }

    /// The numbers of the packets that were lost.
    pub fn lost(&self) -> Vec<u32> {
        self.log.iter().filter_map(|e| if let Event::Lost(n, _) = e { Some(*n) } else { None }).collect()
    }

    /// When each packet that arrived did.
    pub fn arrivals(&self) -> Vec<u64> {
        self.log.iter().filter_map(|e| if let Event::Arrived(_, t) = e { Some(*t) } else { None }).collect()
    }
}
