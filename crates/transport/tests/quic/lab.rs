//! Two connections joined by a path that loses, delays, reorders and duplicates as it is told, in virtual time, with
//! applications at both ends; and what must hold of every datagram.

use crate::exchange::{Exchange, Talker};
pub use crate::weather::Weather;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vazao_congestion::{CONGESTION_CONTROLS, Constructor, Setup, build, build_slow_start};
use vazao_engine::registry::{Entry, Parameters, Raw, find};
use vazao_engine::{Duration, Ecn, Time};
use vazao_transport::mptcp::SCHEDULERS;
use vazao_transport::quic::{Config, Connection, Datagram, Frame, Kind, PARAMETERS, Space};
use vazao_transport::{RangeSet, Stream};

/// Settings by name, as a scenario gives them; the rest are defaults.
pub fn config(given: &[(&str, Raw)]) -> Config {
    let cc = given.iter().find(|(name, _)| *name == "cc").map_or("cubic", |(_, value)| match value {
        Raw::Text(name) => name,
        _ => panic!("a control has a name"),
    });
    let rest = given.iter().filter(|(name, _)| *name != "cc");
    let given = rest.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let parameters = Parameters::resolve(PARAMETERS, &given).expect("settings that exist");
    let (cc, window) = (cc.to_owned(), parameters.integer("initial_window"));
    let control = move |mss: u64, seed: u64| {
        let entry: &Entry<Constructor> = find("congestion control", CONGESTION_CONTROLS, &cc).expect("it exists");
        let none = BTreeMap::new();
        let defaults = Parameters::resolve(entry.parameters, &none).expect("defaults");
        let nothing = Parameters::resolve(&[], &none).expect("nothing");
        let slow_start = build_slow_start("standard", &nothing, 1000.0).expect("it exists");
        let setup = Setup { mss, initial_window: window * mss, initial_ssthresh: None, slow_start, seed };
        build(&cc, &defaults, setup).expect("it exists")
    };
    Config::new(&parameters, Arc::new(control))
}

/// The same over several paths, with a scheduler by its name.
pub fn over_paths(config: Config, scheduler: &str) -> Config {
    let scheduler = find("packet scheduler", SCHEDULERS, scheduler).expect("it exists");
    config.over_paths(Arc::new(|| (scheduler.build)(&Parameters::defaults(scheduler.parameters))), Vec::new())
}

pub fn text(text: &str) -> Raw {
    Raw::Text(text.into())
}

/// One end.
pub struct End {
    pub quic: Connection,
    pub sends: u64,
    written: u64,
    pub received: u64,
    /// It reads so many bytes each 5 ms; none: all at once.
    pub slow: Option<u64>,
    next_read: Time,
    closes: bool,
    /// Opens streams of its own, in place of all that.
    pub talker: Option<Talker>,
}

impl End {
    fn act(&mut self, now: Time) {
        if let Some(talker) = &mut self.talker {
            if self.quic.stats().ready.is_some() && !self.quic.is_over() {
                talker.act(&mut self.quic);
            }
            return;
        }
        if now >= self.next_read {
            self.next_read = if self.slow.is_some() { now + Duration::from_millis(5) } else { Time::ZERO };
            if let Some(range) = self.quic.read_at_most(self.slow.unwrap_or(u64::MAX)) {
                assert_eq!(range.start, self.received, "every byte once");
                self.received = range.end;
            }
        }
        if self.quic.is_connected() && self.closes {
            self.written += self.quic.write(self.sends - self.written);
            if self.written == self.sends {
                self.closes = false;
                self.quic.close();
            }
        }
    }
}

/// What an end has told and sent, as an observer of its datagrams knows it.
#[derive(Default)]
struct Seen {
    /// By the client's address.
    bytes_sent: BTreeMap<u16, u64>,
    bytes_received: BTreeMap<u16, u64>,
    /// Highest limits told: of the connection, of streams.
    data_limit: u64,
    stream_limits: BTreeMap<u64, u64>,
    /// The highest byte sent of each stream.
    highest: BTreeMap<u64, u64>,
    /// The next number, and what has come, of each space of each path.
    next: BTreeMap<(u8, usize), u64>,
    arrived: BTreeMap<(u8, usize), RangeSet>,
    /// Paths that are not to be used any more.
    abandoned: BTreeSet<u8>,
    /// Whether it has reason to believe that the peer is where it says.
    validated: BTreeSet<u16>,
}

/// Whether a datagram is lost: which end sends it.
pub type Losses = dyn FnMut(usize, &Datagram) -> bool;

pub struct Lab {
    pub now: Time,
    pub ends: [End; 2],
    pub weather: Weather,
    /// That of the client's second interface, and so on, where it is another.
    pub ways: Vec<Weather>,
    /// After so many datagrams everything passes, so that every run ends.
    pub calm_after: u64,
    random: vazao_engine::Stream,
    under_way: BTreeMap<(Time, u64), (usize, Datagram, Ecn)>,
    pub datagrams: u64,
    pub most: u32,
    pub lose: Box<Losses>,
    seen: [Seen; 2],
    initial: (u64, u64),
    /// Whether the handshake is Google's, whose full CHLO proves the address.
    google: bool,
}

impl Lab {
    /// The client sends so many bytes, and the server so many.
    pub fn new(config: Config, sends: [u64; 2], weather: Weather, seed: u64) -> Lab {
        let initial = (config.connection_window, config.stream_window);
        let google = config.handshake.is_google();
        let (most, config) = (config.datagram, Arc::new(config));
        let end = |quic, sends| End {
            quic,
            sends,
            written: 0,
            received: 0,
            slow: None,
            next_read: Time::ZERO,
            closes: true,
            talker: None,
        };
        Lab {
            now: Time::ZERO,
            ends: [
                end(Connection::connect(config.clone(), seed), sends[0]),
                end(Connection::listen(config, seed + 1), sends[1]),
            ],
            weather,
            ways: Vec::new(),
            calm_after: u64::MAX,
            random: vazao_engine::Stream::new(seed, "lab"),
            under_way: BTreeMap::new(),
            datagrams: 0,
            most,
            lose: Box::new(|_, _| false),
            seen: Default::default(),
            initial,
            google,
        }
    }

    /// Both sides say nothing, and close nothing, by themselves.
    pub fn quiet(mut config: Config, weather: Weather, seed: u64) -> Lab {
        config.streams = 0;
        let mut lab = Lab::new(config, [0, 0], weather, seed);
        lab.ends.iter_mut().for_each(|end| end.closes = false);
        lab
    }

    /// The client has so many interfaces beside the first, each with its weather.
    pub fn with_ways(mut self, ways: Vec<Weather>) -> Lab {
        self.ends[0].quic.use_ways(ways.len() as u8 + 1);
        self.ways = ways;
        self
    }

    /// Both sides open streams: the client ends the connection when all is said.
    pub fn talking(mut config: Config, plans: [Vec<Exchange>; 2], weather: Weather, seed: u64) -> Lab {
        config.streams = 0;
        let mut lab = Lab::new(config, [0, 0], weather, seed);
        let [ours, theirs] = plans;
        lab.ends[0].talker = Some(Talker::new(true, ours.clone(), theirs.clone()));
        lab.ends[1].talker = Some(Talker::new(false, theirs, ours));
        lab
    }

    /// Whether everything was said on all streams.
    pub fn is_said(&self) -> bool {
        self.ends.iter().all(|end| end.talker.as_ref().is_none_or(Talker::is_done))
    }

    fn service(&mut self, index: usize) {
        self.ends[index].act(self.now);
        let mut datagram = Datagram::default();
        let mut burst = 0;
        while self.ends[index].quic.poll_transmit(self.now, &mut datagram) {
            burst += 1;
            assert!(burst < 100_000, "it sends without end: {datagram:?}");
            let datagram = std::mem::take(&mut datagram);
            self.inspect(index, &datagram);
            self.launch(index, datagram);
        }
    }

    /// What must hold of every datagram that is sent.
    fn inspect(&mut self, from: usize, datagram: &Datagram) {
        if self.google && self.ends[1].quic.stats().established.is_some() {
            self.seen[1].validated.insert(0);
        }
        assert!(datagram.bytes <= self.most, "a datagram of {} bytes", datagram.bytes);
        let overhead: u32 = datagram.packets.iter().map(|p| p.kind.overhead(u32::from(p.number_bytes))).sum();
        let frames: u32 = datagram.frames.iter().map(Frame::bytes).sum();
        assert_eq!(datagram.bytes, overhead + frames, "sizes add up");
        assert_eq!(datagram.packets.iter().map(|p| usize::from(p.frames)).sum::<usize>(), datagram.frames.len());
        let [seen, peer] = {
            let [a, b] = &mut self.seen;
            if from == 0 { [a, b] } else { [b, a] }
        };
        let (address, received) = (datagram.address.number, &seen.bytes_received);
        let sent = seen.bytes_sent.entry(address).or_default();
        *sent += u64::from(datagram.bytes);
        // RFC 9000 section 8.1.
        let bounded = from == 1 && !seen.validated.contains(&address);
        assert!(!bounded || *sent <= 3 * received.get(&address).unwrap_or(&0), "amplification towards {address}");
        let (mut frames, mut ranges) = (datagram.frames.iter(), datagram.ranges.iter());
        let mut ended = BTreeSet::new();
        for packet in &datagram.packets {
            let space = packet.kind.space();
            if !matches!(packet.kind, Kind::Retry(_)) {
                let next = seen.next.entry((datagram.path, space as usize)).or_default();
                assert_eq!(packet.number, *next, "numbers follow each other");
                *next += 1;
                // RFC 10069 section 3.4.
                assert!(!seen.abandoned.contains(&datagram.path), "path {} was abandoned", datagram.path);
            }
            if matches!(packet.kind, Kind::Initial(_)) && from == 0 {
                assert!(datagram.bytes >= 1200, "section 14.1");
            }
            let told: Vec<_> = ranges.by_ref().take(usize::from(packet.ranges)).collect();
            // Section 19.3.1: ranges go down and do not touch; and nobody acknowledges what has not come.
            assert!(told.windows(2).all(|pair| pair[0].0 > pair[1].1 + 1));
            for frame in frames.by_ref().take(usize::from(packet.frames)) {
                match *frame {
                    Frame::Ack(ack) => {
                        assert_eq!(usize::from(ack.ranges), told.len());
                        let arrived = seen.arrived.get(&(ack.path.unwrap_or(0), space as usize));
                        let arrived = arrived.expect("something has come");
                        let came = |&&&(first, last): &&&(u64, u64)| arrived.contains(first, last + 1);
                        assert!(told.iter().all(|range| came(&range)), "{told:?} has not come");
                    }
                    Frame::PathAbandon { path, .. } => {
                        ended.insert(path);
                    }
                    Frame::Stream(stream) => {
                        let highest = seen.highest.entry(stream.id).or_default();
                        *highest = stream.end().max(*highest);
                        let limit = peer.stream_limits.get(&stream.id).map_or(self.initial.1, |limit| *limit);
                        assert!(stream.end() <= limit, "stream {}: {} of {limit}", stream.id, stream.end());
                        let total: u64 = seen.highest.values().sum();
                        assert!(total <= peer.data_limit.max(self.initial.0), "{total} bytes");
                    }
                    Frame::MaxData(limit) => seen.data_limit = seen.data_limit.max(limit),
                    Frame::MaxStreamData(id, limit) => {
                        let told = seen.stream_limits.entry(id).or_insert(self.initial.1);
                        *told = limit.max(*told);
                    }
                    _ => {}
                }
            }
        }
        seen.abandoned.append(&mut ended);
    }

    fn launch(&mut self, from: usize, datagram: Datagram) {
        self.datagrams += 1;
        if (self.lose)(from, &datagram) {
            return;
        }
        let (calm, may_be_marked) = (self.datagrams > self.calm_after, datagram.ecn != Ecn::NotEct);
        let way = usize::from(datagram.address.way);
        let weather = way.checked_sub(1).and_then(|way| self.ways.get(way)).unwrap_or(&self.weather);
        let arrivals = weather.arrivals(self.now, calm, may_be_marked, &mut self.random);
        for ((at, marked), copy) in arrivals.into_iter().zip(0..) {
            let ecn = if marked { Ecn::Ce } else { datagram.ecn };
            self.under_way.insert((at, 2 * self.datagrams + copy), (1 - from, datagram.clone(), ecn));
        }
    }

    fn arrive(&mut self, to: usize, datagram: &Datagram, ecn: Ecn) {
        let seen = &mut self.seen[to];
        let address = datagram.address.number;
        *seen.bytes_received.entry(address).or_default() += u64::from(datagram.bytes);
        if datagram.frames.iter().any(|frame| matches!(frame, Frame::PathResponse(_))) {
            seen.validated.insert(address);
        }
        for packet in &datagram.packets {
            let number = packet.number;
            let space = (datagram.path, packet.kind.space() as usize);
            seen.arrived.entry(space).or_default().insert(number, number + 1, |_, _| {});
            if matches!(packet.kind, Kind::Handshake | Kind::Initial(1..)) {
                seen.validated.insert(address);
            }
        }
        self.ends[to].quic.handle(self.now, datagram, ecn);
        self.service(to);
    }

    fn next_arrival(&self) -> Time {
        self.under_way.first_key_value().map_or(Time::NEVER, |(key, _)| key.0)
    }
    fn wakes(&self) -> [Time; 2] {
        self.ends.each_ref().map(|end| {
            let read = if end.slow.is_some() && !end.quic.is_over() { end.next_read } else { Time::NEVER };
            end.quic.next_timeout().min(read)
        })
    }
    pub fn next_event(&self) -> Time {
        self.wakes().into_iter().fold(self.next_arrival(), Time::min)
    }

    /// The next event. False: there is none.
    pub fn step(&mut self) -> bool {
        let (arrival, wakes, next) = (self.next_arrival(), self.wakes(), self.next_event());
        if next == Time::NEVER {
            return false;
        }
        self.now = self.now.max(next);
        if arrival == next {
            let (_, (to, datagram, ecn)) = self.under_way.pop_first().expect("an arrival");
            self.arrive(to, &datagram, ecn);
            return true;
        }
        for (i, wake) in wakes.into_iter().enumerate() {
            if wake == next {
                if self.ends[i].quic.next_timeout() <= self.now {
                    self.ends[i].quic.handle_timeout(self.now);
                }
                self.service(i);
            }
        }
        true
    }

    /// Runs until both ends are over or nothing happens any more; at most so many seconds.
    pub fn run(&mut self, seconds: u64) {
        self.run_until(seconds, |lab| lab.ends.iter().all(|end| end.quic.is_over()));
    }

    /// Lets both ends send what they have to say now.
    pub fn serve(&mut self) {
        (0..2).for_each(|end| self.service(end));
    }

    /// Somebody else's datagram arrives so many milliseconds from now.
    pub fn forge(&mut self, to: usize, datagram: Datagram, ms: u64) {
        self.datagrams += 1;
        let key = (self.now + Duration::from_millis(ms), 2 * self.datagrams);
        self.under_way.insert(key, (to, datagram, Ecn::NotEct));
    }

    /// Runs up to a millisecond: how many datagrams were sent.
    pub fn run_to(&mut self, ms: u64) -> u64 {
        self.serve();
        let before = self.datagrams;
        while self.next_event() <= at(ms) && self.step() {}
        self.now = self.now.max(at(ms));
        self.datagrams - before
    }

    pub fn run_until(&mut self, seconds: u64, mut done: impl FnMut(&Lab) -> bool) {
        self.service(0);
        let (mut events, mut since) = (0_u64, (self.now, 0_u64));
        while !done(self) && self.now < Time::ZERO + Duration::from_secs(seconds) && self.step() {
            events += 1;
            since = if since.0 == self.now { (self.now, since.1 + 1) } else { (self.now, 0) };
            assert!(since.1 < 10_000, "time stands still at {:?}", self.now);
            assert!(events < 2_000_000, "it goes on for ever");
        }
    }

    /// Everything arrived once, in order, and both sides know.
    pub fn assert_delivered(&self) {
        for (end, peer) in [(0, 1), (1, 0)] {
            assert_eq!(self.ends[end].received, self.ends[peer].sends, "bytes delivered to {end}");
            assert_eq!(self.ends[end].quic.failure(), None, "end {end}");
            assert!(self.ends[end].quic.is_over(), "end {end} is over");
            assert_eq!(self.ends[end].quic.stats().misplaced, 0);
        }
    }

    pub fn client(&self) -> &Connection {
        &self.ends[0].quic
    }
    pub fn server(&self) -> &Connection {
        &self.ends[1].quic
    }
}

pub fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Whether a datagram has a packet of a space.
pub fn has(datagram: &Datagram, space: Space) -> bool {
    datagram.packets.iter().any(|packet| packet.kind.space() == space)
}
