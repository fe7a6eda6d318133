//! Two connections in the shared laboratory, and invariants for every datagram.

use crate::application::{Application, User};
use crate::exchange::{Exchange, Talker};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vazao_congestion::{CONGESTION_CONTROLS, Constructor, Setup, build, build_slow_start};
use vazao_engine::registry::{Entry, Parameters, Raw, find};
use vazao_engine::{Duration, Ecn, Time};
use vazao_laboratory::{Arrival, Paths, Sent};
pub use vazao_laboratory::{Laboratory, Weather, at};
use vazao_transport::RangeSet;
use vazao_transport::common::SCHEDULERS;
use vazao_transport::quic::{Config, Connection, Datagram, Frame, Kind, Space};

/// Settings by name, as in a scenario; the rest are defaults.
pub fn config(given: &[(&str, Raw)]) -> Config {
    let cc = given.iter().find(|(name, _)| *name == "cc").map_or("cubic", |(_, value)| match value {
        Raw::Text(name) => name,
        _ => panic!("a control has a name"),
    });
    let rest = given.iter().filter(|(name, _)| *name != "cc");
    let given = rest.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let parameters = Parameters::resolve(Config::PARAMETERS, &given).expect("settings that exist");
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
    Config::new(&parameters, Arc::new(control), None)
}

/// Multipath settings with a scheduler by name.
pub fn over_paths(config: Config, scheduler: &str) -> Config {
    let scheduler = find("packet scheduler", SCHEDULERS, scheduler).expect("it exists");
    let create = || (scheduler.build)(&Parameters::defaults(scheduler.parameters));
    Config { packet_scheduler: Some(Arc::new(create)), ..config }
}

pub fn text(text: &str) -> Raw {
    Raw::Text(text.into())
}

/// One endpoint.
pub struct End {
    pub quic: Connection,
    pub user: User,
    /// Exchange of streams opened by the application, instead of a byte stream.
    pub talker: Option<Talker>,
}

impl End {
    fn new(quic: Connection, sends: u64) -> End {
        End { quic, user: User::new(Application::sends(sends)), talker: None }
    }

    fn act(&mut self, now: Time) {
        let Some(talker) = &mut self.talker else { return self.user.act(now, &mut self.quic) };
        if self.quic.stats().ready.is_some() && !self.quic.is_over() {
            talker.act(&mut self.quic);
        }
    }
}

/// State that an observer derives from an endpoint's datagrams.
#[derive(Default)]
struct Seen {
    /// Bytes received and sent, by client address.
    bytes_sent: BTreeMap<u16, u64>,
    bytes_received: BTreeMap<u16, u64>,
    /// Highest limits announced: of the connection, of streams.
    data_limit: u64,
    stream_limits: BTreeMap<u64, u64>,
    /// Highest byte sent on each stream.
    highest: BTreeMap<u64, u64>,
    /// Next packet number, and packets received, of each space of each path.
    next: BTreeMap<(u8, usize), u64>,
    arrived: BTreeMap<(u8, usize), RangeSet>,
    /// Abandoned paths.
    abandoned: BTreeSet<u8>,
    /// Whether the peer's address is validated.
    validated: BTreeSet<u16>,
}

impl Seen {
    /// Checks that data stays within what the peer allowed, or the `initial` limits of all data and of each stream.
    fn inspect_flow_control(&mut self, peer: &Seen, initial: (u64, u64), frame: &Frame) {
        match *frame {
            Frame::Stream(stream) => {
                let highest = self.highest.entry(stream.id).or_default();
                *highest = stream.end().max(*highest);
                let limit = peer.stream_limits.get(&stream.id).map_or(initial.1, |limit| *limit);
                assert!(stream.end() <= limit, "stream {}: {} of {limit}", stream.id, stream.end());
                let total: u64 = self.highest.values().sum();
                assert!(total <= peer.data_limit.max(initial.0), "{total} bytes");
            }
            Frame::MaxData(limit) => self.data_limit = self.data_limit.max(limit),
            Frame::MaxStreamData(id, limit) => {
                let told = self.stream_limits.entry(id).or_insert(initial.1);
                *told = limit.max(*told);
            }
            _ => {}
        }
    }

    /// Records an arriving datagram.
    fn note(&mut self, datagram: &Datagram) {
        let address = datagram.address.number;
        *self.bytes_received.entry(address).or_default() += u64::from(datagram.bytes);
        if datagram.frames.iter().any(|frame| matches!(frame, Frame::PathResponse(_))) {
            self.validated.insert(address);
        }
        for packet in &datagram.packets {
            let space = (datagram.path, packet.kind.space() as usize);
            self.arrived.entry(space).or_default().insert(packet.number, packet.number + 1, |_, _| {});
            if matches!(packet.kind, Kind::Handshake | Kind::Initial(1..)) {
                self.validated.insert(address);
            }
        }
    }
}

/// Loss function: decides by the sending endpoint and datagram.
pub type Losses = dyn FnMut(usize, &Datagram) -> bool;

pub struct Lab {
    pub ends: [End; 2],
    /// One path per client interface.
    pub paths: Paths<Datagram>,
    pub most: u32,
    pub lose: Box<Losses>,
    seen: [Seen; 2],
    initial: (u64, u64),
    /// Whether the handshake is Google's, whose full CHLO validates the address.
    google: bool,
}

impl Laboratory for Lab {
    type Packet = Datagram;

    fn paths(&self) -> &Paths<Datagram> {
        &self.paths
    }
    fn paths_mut(&mut self) -> &mut Paths<Datagram> {
        &mut self.paths
    }

    fn wake(&self, end: usize) -> Time {
        let End { quic, user, .. } = &self.ends[end];
        quic.next_timeout().min(user.next_read(quic.is_over()))
    }

    fn handle(&mut self, arrival: Arrival<Datagram>) {
        let Arrival { to, ecn, packet: datagram, .. } = arrival;
        self.seen[to].note(&datagram);
        self.ends[to].quic.handle(self.paths.now, &datagram, ecn);
    }

    fn handle_timeout(&mut self, end: usize) {
        let quic = &mut self.ends[end].quic;
        if quic.next_timeout() <= self.paths.now {
            quic.handle_timeout(self.paths.now);
        }
    }

    fn serve(&mut self, from: usize) {
        let at = self.paths.now;
        self.ends[from].act(at);
        let mut datagram = Datagram::default();
        let mut burst = 0;
        while self.ends[from].quic.poll_transmit(at, &mut datagram) {
            burst += 1;
            assert!(burst < 100_000, "it sends without end: {datagram:?}");
            let packet = std::mem::take(&mut datagram);
            self.inspect(from, &packet);
            let way = usize::from(packet.address.interface);
            let path = if way < self.paths.weather.len() { way } else { 0 };
            let sent = Sent { at, from, path, size: 0, ecn: packet.ecn, packet };
            self.paths.note(&sent);
            if !(self.lose)(from, &sent) {
                self.paths.send(sent);
            }
        }
    }
}

impl Lab {
    /// Creates a lab in which client and server send this many bytes each.
    pub fn new(config: Config, sends: [u64; 2], weather: Weather, seed: u64) -> Lab {
        let initial = (config.connection_window, config.stream_window);
        let google = config.handshake.is_google();
        let (most, config) = (config.datagram, Arc::new(config));
        let first = End::new(Connection::connect(config.clone(), seed), sends[0]);
        let second = End::new(Connection::listen(config, seed + 1), sends[1]);
        Lab {
            ends: [first, second],
            paths: Paths::new(vec![weather], seed),
            most,
            lose: Box::new(|_, _| false),
            seen: Default::default(),
            initial,
            google,
        }
    }

    /// Creates a lab in which neither side sends or closes by itself.
    pub fn quiet(mut config: Config, weather: Weather, seed: u64) -> Lab {
        config.streams = 0;
        let mut lab = Lab::new(config, [0, 0], weather, seed);
        lab.ends.iter_mut().for_each(|end| end.user.application.stays = true);
        lab
    }

    /// Adds client interfaces, each with its weather, before anything is sent.
    pub fn with_ways(mut self, ways: Vec<Weather>) -> Lab {
        self.ends[0].quic.set_interfaces(ways.len() as u8 + 1);
        let random = self.paths.random;
        self.paths = Paths::new(self.paths.weather.into_iter().chain(ways).collect(), 0);
        self.paths.random = random;
        self
    }

    /// Creates a lab in which both sides open streams; the client closes when all are finished.
    pub fn talking(mut config: Config, plans: [Vec<Exchange>; 2], weather: Weather, seed: u64) -> Lab {
        config.streams = 0;
        let mut lab = Lab::new(config, [0, 0], weather, seed);
        let [ours, theirs] = plans;
        lab.ends[0].talker = Some(Talker::new(true, ours.clone(), theirs.clone()));
        lab.ends[1].talker = Some(Talker::new(false, theirs, ours));
        lab
    }

    /// Whether all streams are finished.
    pub fn is_said(&self) -> bool {
        self.ends.iter().all(|end| end.talker.as_ref().is_none_or(Talker::is_done))
    }

    /// Invariants for every datagram sent.
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
            // Section 19.3.1: ranges descend and do not touch; nobody acknowledges packets that have not arrived.
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
                    _ => seen.inspect_flow_control(peer, self.initial, frame),
                }
            }
        }
        seen.abandoned.append(&mut ended);
    }

    /// Runs until both ends are finished or nothing is pending; at most `seconds`.
    pub fn run(&mut self, seconds: u64) {
        self.run_until(seconds, |lab| lab.ends.iter().all(|end| end.quic.is_over()));
    }

    /// Lets both ends send what they have now.
    pub fn serve_both(&mut self) {
        (0..2).for_each(|end| self.serve(end));
    }

    /// Injects a forged datagram that arrives in `ms` milliseconds.
    pub fn forge(&mut self, to: usize, packet: Datagram, ms: u64) {
        let arrival = Arrival { to, path: 0, ecn: Ecn::NotEct, packet };
        self.paths.arrive(self.paths.now + Duration::from_millis(ms), arrival);
    }

    /// Runs up to a time in milliseconds; returns the number of datagrams sent.
    pub fn run_to(&mut self, ms: u64) -> u64 {
        let before = self.paths.packets;
        self.serve_both();
        self.set_timers();
        while self.next_event() <= at(ms) && self.step() {}
        self.paths.now = self.paths.now.max(at(ms));
        self.paths.packets - before
    }

    /// Asserts that everything arrived once, in order, and that both sides know.
    pub fn assert_delivered(&self) {
        for (end, peer) in [(0, 1), (1, 0)] {
            assert_eq!(
                self.ends[end].user.received, self.ends[peer].user.application.sends,
                "bytes delivered to {end}"
            );
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

/// Whether a datagram has a packet of this space.
pub fn has(datagram: &Datagram, space: Space) -> bool {
    datagram.packets.iter().any(|packet| packet.kind.space() == space)
}
