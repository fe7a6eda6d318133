//! Paths between two ends, what is on its way over them, and the events of a run in order.

use crate::weather::{Copied, Weather};
use std::collections::BTreeMap;
use std::ops::Deref;
use vazao_engine::{Duration, Ecn, EventScheduler, Heap, Kind, RandomStream, Rate, Slot, Time};
use vazao_network::{Fate, Network, Outgoing};

/// A packet as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<P> {
    /// When it was sent.
    pub at: Time,
    /// Which end sent it.
    pub from: usize,
    /// By which path.
    pub path: usize,
    /// Size in bytes, where that matters to the path.
    pub size: u32,
    /// ECN mark.
    pub ecn: Ecn,
    /// Packet.
    pub packet: P,
}

impl<P> Deref for Sent<P> {
    type Target = P;
    fn deref(&self) -> &P {
        &self.packet
    }
}

/// A packet that has arrived.
#[derive(Clone, Debug)]
pub struct Arrival<P> {
    /// At which end.
    pub to: usize,
    /// By which path.
    pub path: usize,
    /// ECN mark.
    pub ecn: Ecn,
    /// Packet.
    pub packet: P,
}

/// Next event.
#[derive(Clone, Debug)]
pub enum Event<P> {
    /// A packet arrives.
    Arrival(Arrival<P>),
    /// An end is to be woken.
    Wake(usize),
}

/// Events that may happen in one run, and at one time.
const EVENTS: u64 = 2_000_000;
const EVENTS_AT_ONCE: u64 = 100_000;

/// Paths between two ends, both ways: links of the network crate for rate and queue, [`Weather`] for all else. Events are in the
/// engine's order, but that packets arrive before timers expire that are due at the same time.
pub struct Paths<P> {
    /// The time.
    pub now: Time,
    /// Treatment of packets by each path: may be changed but for its rate and queue.
    pub weather: Vec<Weather>,
    /// Packets sent.
    pub packets: u64,
    /// After so many packets none is lost, late or duplicated, so that every run ends.
    pub calm_after: u64,
    /// After this time none is either.
    pub calm_from: Time,
    /// Events so far, and how many of them at this time.
    pub events: u64,
    at_once: u64,
    /// Chance.
    pub random: RandomStream,
    /// Whether what is sent is kept in the log.
    pub logs: bool,
    /// Packets sent.
    pub log: Vec<Sent<P>>,
    network: Network<u32>,
    scheduler: Heap,
    routes: [Vec<u32>; 2],
    /// The slots of the ends, with when they are due, and that of the first arrival.
    ends: [(Slot, Time); 2],
    arriving: Slot,
    /// Packets in the network, and the copies of each that are to arrive.
    carried: Vec<(Arrival<P>, Vec<Copied>)>,
    free: Vec<u32>,
    /// Arrivals of packets that have left the links, by time and then in the order of sending.
    flying: BTreeMap<(Time, u64), Arrival<P>>,
    order: u64,
}

impl<P: Clone> Paths<P> {
    /// Paths that treat packets so, with chance that follows from `seed`.
    pub fn new(weather: Vec<Weather>, seed: u64) -> Paths<P> {
        let (mut network, mut scheduler) = (Network::with_links(0), Heap::default());
        let routes = [0, 1].map(|_| {
            let link = |path: &Weather| {
                let rate = path.rate.unwrap_or(Rate::from_bps(1));
                let link = network.add_link(rate, Duration::ZERO, 0, (u32::MAX, path.queue), &mut scheduler);
                network.add_route(&[link])
            };
            weather.iter().map(link).collect()
        });
        let ends = [0, 1].map(|_| (scheduler.add_slot(Kind::Timer), Time::NEVER));
        Paths {
            now: Time::ZERO,
            weather,
            packets: 0,
            calm_after: u64::MAX,
            calm_from: Time::NEVER,
            events: 0,
            at_once: 0,
            random: RandomStream::new(seed, "lab"),
            logs: false,
            log: Vec::new(),
            network,
            arriving: scheduler.add_slot(Kind::Arrival),
            scheduler,
            routes,
            ends,
            carried: Vec::new(),
            free: Vec::new(),
            flying: BTreeMap::new(),
            order: 0,
        }
    }

    /// Notes a packet that is sent, whatever becomes of it.
    pub fn note(&mut self, sent: &Sent<P>) {
        self.packets += 1;
        if self.logs {
            self.log.push(sent.clone());
        }
    }

    /// Sends a packet that was [noted](Self::note) through the weather of its path.
    pub fn send(&mut self, sent: Sent<P>) {
        let calm = self.packets > self.calm_after || self.now > self.calm_from;
        let copies = self.weather[sent.path].copies(self.now, calm, sent.ecn != Ecn::NotEct, &mut self.random);
        if !copies.is_empty() {
            self.launch(sent, copies);
        }
    }

    /// Sends a packet of which a copy arrives after each of these delays.
    pub fn send_copies(&mut self, sent: Sent<P>, delays: impl IntoIterator<Item = Duration>) {
        self.launch(sent, delays.into_iter().map(|delay| Copied { delay, marked: false }).collect());
    }

    fn launch(&mut self, sent: Sent<P>, copies: Vec<Copied>) {
        let Sent { from, path, size, ecn, packet, .. } = sent;
        let carried = (Arrival { to: 1 - from, path, ecn, packet }, copies);
        if self.weather[path].rate.is_none() {
            return self.leave(carried);
        }
        let body = match self.free.pop() {
            Some(place) => {
                self.carried[place as usize] = carried;
                place
            }
            None => {
                self.carried.push(carried);
                self.carried.len() as u32 - 1
            }
        };
        let outgoing = Outgoing { route: self.routes[from][path], to: 0, size, ecn, body };
        let fate = self.network.send(self.now, outgoing, &mut self.scheduler);
        self.conclude(fate);
    }

    /// Handles a packet that has left its link, or was dropped there.
    fn conclude(&mut self, fate: Fate) {
        let (Fate::Delivered(id) | Fate::Dropped(id, _)) = fate else { return };
        let place = self.network.take(id).body;
        self.free.push(place);
        let (arrival, copies) = &mut self.carried[place as usize];
        let carried = (arrival.clone(), std::mem::take(copies));
        if matches!(fate, Fate::Delivered(_)) {
            self.leave(carried);
        }
    }

    /// Has the copies of a packet that leaves now arrive.
    fn leave(&mut self, (arrival, copies): (Arrival<P>, Vec<Copied>)) {
        for Copied { delay, marked } in copies {
            let ecn = if marked { Ecn::Ce } else { arrival.ecn };
            self.arrive(self.now + delay, Arrival { ecn, ..arrival.clone() });
        }
    }

    /// Has a packet arrive at a time, whoever sent it.
    pub fn arrive(&mut self, time: Time, arrival: Arrival<P>) {
        self.order += 1;
        self.flying.insert((time, self.order), arrival);
        self.await_arrival();
    }

    fn await_arrival(&mut self) {
        match self.flying.first_key_value() {
            Some((&(time, _), _)) => self.scheduler.set(self.arriving, time),
            None => self.scheduler.cancel(self.arriving),
        }
    }

    /// Has an end woken at a time, in place of whichever it was to be woken at.
    pub fn wake_at(&mut self, end: usize, time: Time) {
        let (slot, due) = &mut self.ends[end];
        if *due == time {
            return;
        }
        *due = time;
        match time {
            Time::NEVER => self.scheduler.cancel(*slot),
            _ => self.scheduler.set(*slot, time.max(self.now)),
        }
    }

    /// Time of the next event.
    pub fn next_time(&self) -> Time {
        self.scheduler.next_time()
    }

    /// Whether nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.flying.is_empty() && self.free.len() == self.carried.len()
    }

    fn count(&mut self, time: Time) {
        self.at_once = if time > self.now { 0 } else { self.at_once + 1 };
        self.now = self.now.max(time);
        self.events += 1;
        assert!(self.at_once < EVENTS_AT_ONCE, "time stands still at {:?}", self.now);
        assert!(self.events < EVENTS, "it goes on for ever");
    }

    /// Moves on to the next event.
    pub fn next_event(&mut self) -> Option<Event<P>> {
        loop {
            let (time, slot) = self.scheduler.pop()?;
            self.count(time);
            let end = self.ends.iter().position(|end| end.0 == slot);
            if end.is_none() && slot != self.arriving {
                let fate = self.network.advance(time, slot, &mut self.scheduler);
                self.conclude(fate);
                continue;
            }
            if let Some(first) = self.flying.first_entry().filter(|first| first.key().0 <= time) {
                let arrival = first.remove();
                if end.is_some() {
                    self.scheduler.set(slot, time);
                }
                self.await_arrival();
                return Some(Event::Arrival(arrival));
            }
            if let Some(end) = end {
                self.ends[end].1 = Time::NEVER;
                return Some(Event::Wake(end));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::at;

    fn sent(paths: &Paths<u8>, packet: u8) -> Sent<u8> {
        Sent { at: paths.now, from: 0, path: 0, size: 1000, ecn: Ecn::NotEct, packet }
    }

    /// Each event as its time in milliseconds and the packet that arrives or the end that is woken.
    fn events(paths: &mut Paths<u8>) -> Vec<(u64, Result<u8, usize>)> {
        let next = || {
            paths.next_event().map(|event| {
                let what = match event {
                    Event::Arrival(arrival) => Ok(arrival.packet),
                    Event::Wake(end) => Err(end),
                };
                (paths.now.as_nanos() / 1_000_000, what)
            })
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_packet_arrives_before_a_timer_expires_that_was_set_earlier_for_then() {
        let mut paths = Paths::new(vec![Weather::fair(5)], 1);
        paths.wake_at(1, at(5));
        paths.wake_at(0, at(4));
        paths.send(sent(&paths, 7));
        assert_eq!(events(&mut paths), [(4, Err(0)), (5, Ok(7)), (5, Err(1))]);
    }

    /// 1000 bytes take a millisecond: the second packet waits for the first, the third finds no room.
    #[test]
    fn packets_take_their_time_and_their_room() {
        let path = Weather { rate: Some(Rate::from_bps(8_000_000)), queue: 1000, ..Weather::fair(5) };
        let mut paths = Paths::new(vec![path], 1);
        (0..3).for_each(|packet| paths.send(sent(&paths, packet)));
        assert_eq!(events(&mut paths), [(6, Ok(0)), (7, Ok(1))]);
        assert!(paths.is_empty());
    }

    #[test]
    fn an_outage_outlasts_rough_weather() {
        let mut path = Weather { loss: 100, jitter: 9, duplication: 100, ..Weather::fair(5) };
        path.outages.push(10..20);
        let mut paths = Paths::new(vec![path], 1);
        paths.send(sent(&paths, 0));
        assert!(paths.is_empty());
        paths.calm_from = at(1);
        for (ms, arrives) in [(2, true), (10, false), (20, true)] {
            paths.now = at(ms);
            paths.send(sent(&paths, 0));
            assert_eq!(events(&mut paths).len(), usize::from(arrives), "at {ms} ms");
        }
    }
}
