//! Two endpoints joined by several paths that lose, delay, reorder, duplicate, alter and die as they are told, in virtual
//! time, with applications at both ends; and what must hold at every event.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use vazao_congestion::{CONGESTION_CONTROLS, SLOW_STARTS, Setup, build, build_slow_start};
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, Time};
use vazao_transport::Stream;
use vazao_transport::mptcp::keys::Hash;
use vazao_transport::mptcp::{self, Config, Connection, Dss, Identity, PATH_MANAGERS, SCHEDULERS, Signal, Tuple, Way};
use vazao_transport::tcp::{self, ControlFactory, Extra, Failure, Flags, Segment};

/// How a path treats packets, both ways.
#[derive(Clone, Debug)]
pub struct Weather {
    /// One way, without jitter, in milliseconds.
    pub delay: u64,
    /// What a packet takes to be sent, in microseconds; others wait for it, however many.
    pub pace: u64,
    /// Most that a packet may be late, which reorders, in milliseconds.
    pub jitter: u64,
    /// Probability of each fate, in per cent. A corrupted packet fails TCP's checksum at the host: it is a lost one.
    pub loss: u64,
    pub duplication: u64,
    /// Nothing passes in these milliseconds.
    pub outages: Vec<Range<u64>>,
    /// Whatever passes in these is made a reset.
    pub resets: Vec<Range<u64>>,
}

impl Weather {
    pub fn fair(delay: u64) -> Weather {
        Weather { delay, pace: 200, jitter: 0, loss: 0, duplication: 0, outages: Vec::new(), resets: Vec::new() }
    }
    /// Nothing passes from then on.
    pub fn dead_after(delay: u64, ms: u64) -> Weather {
        Weather { outages: std::iter::once(ms..u64::MAX).collect(), ..Weather::fair(delay) }
    }
}

/// Settings of TCP by name, as a scenario gives them; the rest are defaults.
pub fn config(given: &[(&str, Raw)]) -> Config {
    with(given, "reno", "lowest-rtt", "full-mesh")
}

/// The same with a congestion control, scheduler and path manager by name.
pub fn with(given: &[(&str, Raw)], cc: &str, scheduler: &str, manager: &str) -> Config {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let parameters = Parameters::resolve(tcp::PARAMETERS, &given).expect("settings that exist");
    let scheduler = find("packet scheduler", SCHEDULERS, scheduler).expect("a scheduler");
    let manager = find("path manager", PATH_MANAGERS, manager).expect("a path manager");
    Config::new(
        &Parameters::defaults(mptcp::PARAMETERS),
        tcp::Config::new(&parameters, control(cc)),
        Arc::new(move || (scheduler.build)(&Parameters::defaults(scheduler.parameters))),
        (manager.build, Parameters::defaults(manager.parameters)),
        manager.name != "default",
    )
}

fn control(name: &str) -> ControlFactory {
    let name = find("congestion control", CONGESTION_CONTROLS, name).expect("a control").name;
    let known = find("congestion control", CONGESTION_CONTROLS, name).expect("a control").parameters;
    let (parameters, standard) = (Parameters::defaults(known), Parameters::defaults(SLOW_STARTS[0].parameters));
    Arc::new(move |mss, seed| {
        let slow_start = build_slow_start("standard", &standard, 2.0).expect("a slow start");
        let setup = Setup { mss, initial_window: 10 * mss, initial_ssthresh: None, slow_start, seed };
        build(name, &parameters, setup).expect("a control")
    })
}

pub fn text(text: &str) -> Raw {
    Raw::Text(text.into())
}

/// What an application does at its end of the connection.
#[derive(Clone, Debug)]
pub struct Application {
    /// Bytes it sends before it closes.
    pub sends: u64,
    /// It writes at most so many at once, each time the connection is looked at.
    pub writes: u64,
    /// It reads at most so many bytes ...
    pub reads: u64,
    /// ... every so many milliseconds; 0: whenever something arrives.
    pub every: u64,
    /// Whether it closes only after its peer has.
    pub closes_second: bool,
    /// It never closes.
    pub stays: bool,
}

impl Application {
    pub fn sends(bytes: u64) -> Application {
        Application { sends: bytes, writes: u64::MAX, reads: u64::MAX, every: 0, closes_second: false, stays: false }
    }
}

/// One end.
pub struct End {
    pub mptcp: Connection,
    pub application: Application,
    next_read: Time,
    written: u64,
    pub received: u64,
    closed: bool,
    wire: Wire,
}

/// What an observer on an end's wire has seen of it.
#[derive(Default)]
struct Wire {
    /// The data sequence number of its first octet.
    first: Option<u64>,
    /// The window scale that each of its subflows announced.
    scales: BTreeMap<u8, u8>,
    /// Whether it has heard of data sequence numbers, so that the options are known to pass.
    heard: bool,
    /// One beyond the furthest octet of data that what it was told admits.
    allowed: u64,
    /// The last octet that it has acknowledged on each of its subflows.
    acknowledgments: BTreeMap<u8, u32>,
    /// What each segment of a subflow carried: by ports and sequence number.
    mappings: BTreeMap<(u8, u32), (u64, u16)>,
}

impl End {
    fn act(&mut self, now: Time) {
        if now >= self.next_read {
            let all = self.application.every == 0;
            if !all {
                self.next_read = now + Duration::from_millis(self.application.every);
            }
            while let Some(range) = self.mptcp.read_at_most(self.application.reads) {
                assert_eq!(range.start, self.received, "every byte once and in order");
                self.received = range.end;
                if !all {
                    break;
                }
            }
        }
        if !self.mptcp.is_connected() {
            return;
        }
        let offered = (self.application.sends - self.written).min(self.application.writes);
        self.written += self.mptcp.write(offered);
        let may_close = !self.application.stays && (!self.application.closes_second || self.mptcp.peer_closed());
        if self.written == self.application.sends && may_close && !self.closed {
            self.closed = true;
            self.mptcp.close();
        }
    }

    fn is_done(&self) -> bool {
        self.mptcp.is_over() && (self.mptcp.peer_closed() || self.mptcp.failure().is_some())
    }

    fn next_event(&self) -> Time {
        let reads = if self.application.every > 0 && self.mptcp.is_connected() && !self.is_done() {
            self.next_read
        } else {
            Time::NEVER
        };
        self.mptcp.next_timeout().min(reads)
    }
}

/// What stands on the way of all paths: it may alter a segment of an end; false: it drops it.
pub type Middlebox = dyn FnMut(Time, usize, &mut Segment, &mut Extra) -> bool;

/// Both ends and what is under way between them.
pub struct Lab {
    pub ends: [End; 2],
    paths: Vec<Weather>,
    /// When each of them can send again, by who sends.
    free: [Vec<Time>; 2],
    pub now: Time,
    /// By arrival, then by order of sending: who receives, what.
    flying: BTreeMap<(Time, u64), (usize, Segment, Extra)>,
    pub packets: u64,
    /// After this many packets nothing is lost, late, or twice there, so that every run ends.
    pub calm_after: u64,
    /// The same after so many milliseconds.
    pub calm_from: u64,
    random: vazao_engine::Stream,
    pub events: u64,
    pub middlebox: Box<Middlebox>,
    /// Whether what is sent may be altered, so that the observer's expectations do not hold.
    pub altered: bool,
    /// A digest of everything that was sent, and when.
    pub digest: u64,
    /// Everything that was sent, if it is to be kept.
    pub log: Vec<Seen>,
    pub logs: bool,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub at: Time,
    /// By which end.
    pub from: usize,
    pub segment: Segment,
    pub extra: Extra,
}

impl Seen {
    pub fn dss(&self) -> Dss {
        self.extra.multipath.and_then(|multipath| multipath.dss).unwrap_or_default()
    }
    pub fn signal(&self) -> Option<Signal> {
        self.extra.multipath.and_then(|multipath| multipath.signal)
    }
    pub fn way(&self) -> u16 {
        tuple(&self.extra).way
    }
}

/// The pairs of so many addresses of the client's and the server's, the first pair first.
pub fn mesh(clients: u8, servers: u8) -> Vec<Way> {
    (0..clients).flat_map(|client| (0..servers).map(move |server| Way { client, server, relay: 0 })).collect()
}

/// Disjoint pairs of addresses.
pub fn pairs(count: u8) -> Vec<Way> {
    (0..count).map(|at| Way { client: at, server: at, relay: 0 }).collect()
}

impl Lab {
    /// The client sends so many bytes and closes, by disjoint paths.
    pub fn new(config: Config, bytes: u64, paths: Vec<Weather>) -> Lab {
        let ways = pairs(paths.len() as u8);
        let server = (config.clone(), Application::sends(0));
        Lab::between((config, Application::sends(bytes)), server, (ways, paths), 1)
    }

    /// Of two ends, each with its settings, and a path for each pair of addresses.
    pub fn between(
        client: (Config, Application),
        server: (Config, Application),
        (ways, paths): (Vec<Way>, Vec<Weather>),
        seed: u64,
    ) -> Lab {
        let mut random = vazao_engine::Stream::new(seed, "lab");
        let addresses = [0, 1].map(|side| (0..8).map(|address| [10, side, address, 1]).collect::<Vec<_>>());
        let mut identity = || Identity {
            ways: ways.clone(),
            addresses: addresses.clone(),
            key: random.below(u64::MAX),
            iss: random.below(1 << 32) as u32,
        };
        let end = |mptcp, application| End {
            mptcp,
            application,
            next_read: Time::ZERO,
            written: 0,
            received: 0,
            closed: false,
            wire: Wire::default(),
        };
        let first = Connection::connect(Arc::new(client.0), identity());
        let second = Connection::listen(Arc::new(server.0), identity());
        Lab {
            ends: [end(first, client.1), end(second, server.1)],
            free: [vec![Time::ZERO; paths.len()], vec![Time::ZERO; paths.len()]],
            paths,
            now: Time::ZERO,
            flying: BTreeMap::new(),
            packets: 0,
            calm_after: u64::MAX,
            calm_from: u64::MAX,
            random,
            events: 0,
            middlebox: Box::new(|_, _, _, _| true),
            altered: false,
            digest: 0,
            log: Vec::new(),
            logs: false,
        }
    }

    /// Runs until both ends are over or nothing is going to happen; at most so many seconds.
    pub fn run(&mut self, seconds: u64) {
        self.run_until(seconds, |lab| lab.ends.iter().all(End::is_done) || lab.is_half_open());
        // What has arrived outlives the connection: a slow reader takes the rest.
        for end in &mut self.ends {
            (end.application.reads, end.application.every, end.next_read) = (u64::MAX, 0, Time::ZERO);
            end.act(self.now);
        }
    }

    pub fn run_until(&mut self, seconds: u64, mut done: impl FnMut(&Lab) -> bool) {
        (0..2).for_each(|index| self.serve(index));
        while !done(self) && self.now < at(1000 * seconds) && self.step() {}
    }

    /// The next event. False when there is none.
    pub fn step(&mut self) -> bool {
        let arrival = self.flying.first_key_value().map_or(Time::NEVER, |(&(time, _), _)| time);
        let wakes = [self.ends[0].next_event(), self.ends[1].next_event()];
        let next = arrival.min(wakes[0]).min(wakes[1]);
        if next == Time::NEVER {
            return false;
        }
        self.now = self.now.max(next);
        self.events += 1;
        assert!(self.events < 2_000_000, "it goes on for ever");
        if arrival == next {
            let (_, (index, segment, extra)) = self.flying.pop_first().expect("an arrival");
            self.learn(index, &segment, &extra);
            self.ends[index].mptcp.handle(self.now, &segment, segment.has_extra.then_some(&extra));
            self.serve(index);
            return true;
        }
        for (index, wake) in wakes.into_iter().enumerate() {
            if wake == next {
                if self.ends[index].mptcp.next_timeout() <= self.now {
                    self.ends[index].mptcp.handle_timeout(self.now);
                }
                self.serve(index);
            }
        }
        true
    }

    /// Something was done to an end: what follows from it.
    pub fn serve(&mut self, index: usize) {
        self.ends[index].act(self.now);
        let mut extra = Extra::default();
        let mut burst = 0;
        while let Some(segment) = self.ends[index].mptcp.poll_transmit(self.now, &mut extra) {
            burst += 1;
            assert!(burst < 100_000, "a burst ends");
            self.observe(index, &segment, &extra);
            let numbers = u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgment);
            self.digest = (self.digest ^ self.now.as_nanos() ^ numbers).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ burst;
            self.send(index, segment, extra);
        }
        self.check(index);
    }

    /// What must hold after every event.
    fn check(&self, index: usize) {
        let connection = &self.ends[index].mptcp;
        if !self.altered {
            assert_eq!(connection.stats().misplaced, 0, "what arrives is what its mapping says");
            for subflow in connection.subflows() {
                assert_eq!(subflow.tcp().stats().misplaced, 0);
                assert!(subflow.tcp().control().cwnd() > 0);
            }
        }
    }

    /// Checks a segment that leaves against what was seen before.
    fn observe(&mut self, index: usize, segment: &Segment, extra: &Extra) {
        let header = segment.header_bytes(extra);
        assert!(header <= 60, "a header of {header} bytes: {segment:?} {extra:?}");
        assert!(u32::from(segment.length) + header <= 1480);
        let multipath = extra.multipath.expect("every segment is of a subflow");
        let wire = &mut self.ends[index].wire;
        if let Some(Signal::Capable { key: Some(key), .. }) = multipath.signal {
            wire.first.get_or_insert(Hash::Sha256.initial_data_sequence(key).wrapping_add(1));
        }
        if segment.flags.has(Flags::SYN) {
            let scale = extra.syn.and_then(|syn| syn.window_scale).unwrap_or(0);
            wire.scales.insert(multipath.tuple.port, scale);
        }
        if segment.flags.has(Flags::ACK) {
            wire.acknowledgments.insert(multipath.tuple.port, segment.acknowledgment);
        }
        if segment.length == 0 || self.altered {
            return;
        }
        let Some(map) = multipath.dss.and_then(|dss| dss.map) else { return };
        let start = map.dsn.wrapping_sub(wire.first.expect("a client sends its key, a server answers with it"));
        let end = start + u64::from(segment.length);
        assert!(end <= wire.allowed, "the receiver's window is kept: {end} of {}", wire.allowed);
        let place = (multipath.tuple.port, segment.sequence);
        let known = wire.mappings.entry(place).or_insert((start, segment.length));
        assert_eq!(*known, (start, segment.length), "what is sent again is mapped as before");
    }

    /// A segment arrives: how far it lets this end send.
    fn learn(&mut self, index: usize, segment: &Segment, extra: &Extra) {
        let Some(multipath) = extra.multipath else { return };
        let scale = |end: &End| end.wire.scales.get(&multipath.tuple.port).copied();
        let scale = match (scale(&self.ends[index]), scale(&self.ends[1 - index])) {
            (Some(_), Some(peer)) if !segment.flags.has(Flags::SYN) => peer,
            _ => 0,
        };
        let is_alive = self.ends[index].mptcp.is_connected();
        let wire = &mut self.ends[index].wire;
        wire.heard |= is_alive && multipath.dss.is_some();
        let window = u64::from(segment.window) << scale;
        let acknowledged = match (multipath.dss.and_then(|dss| dss.ack), wire.first) {
            (Some(ack), Some(first)) => {
                let near = wire.allowed;
                let distance = ack.low().wrapping_sub(first.wrapping_add(near) as u32) as i32;
                near.saturating_add_signed(i64::from(distance))
            }
            _ => 0,
        };
        wire.allowed = wire.allowed.max(acknowledged + window);
    }

    fn send(&mut self, from: usize, mut segment: Segment, mut extra: Extra) {
        self.packets += 1;
        if self.logs {
            self.log.push(Seen { at: self.now, from, segment, extra });
        }
        if !(self.middlebox)(self.now, from, &mut segment, &mut extra) {
            return;
        }
        let millis = self.now.as_nanos() / 1_000_000;
        let way = usize::from(tuple(&extra).way);
        let weather = self.paths[way].clone();
        let covers = |ranges: &[Range<u64>]| ranges.iter().any(|range| range.contains(&millis));
        let calm = self.packets > self.calm_after || millis > self.calm_from;
        if covers(&weather.outages) || !calm && self.random.below(100) < weather.loss {
            return;
        }
        if covers(&weather.resets) && !segment.flags.has(Flags::SYN) {
            return self.forge_resets(from, &segment, &extra);
        }
        let free = &mut self.free[from][way];
        *free = self.now.max(*free) + Duration::from_micros(weather.pace);
        let leaves = *free;
        let copies = if !calm && self.random.below(100) < weather.duplication { 2 } else { 1 };
        for copy in 0..copies {
            let late = if calm { 0 } else { self.random.below(weather.jitter * 1_000_000 + 1) };
            let arrival = leaves + Duration::from_millis(weather.delay) + Duration::from_nanos(late);
            self.flying.insert((arrival, 2 * self.packets + copy), (1 - from, segment, extra));
        }
    }

    /// Someone on the way resets a subflow, as far as he can, towards both ends.
    fn forge_resets(&mut self, from: usize, segment: &Segment, extra: &Extra) {
        let delay = Duration::from_millis(self.paths[usize::from(tuple(extra).way)].delay);
        let known = self.ends[1 - from].wire.acknowledgments.get(&tuple(extra).port).copied();
        let multipath = mptcp::Multipath { tuple: tuple(extra), ..Default::default() };
        let forged = Extra { multipath: Some(multipath), ..Extra::default() };
        // What was acknowledged last, or what came since and is to be acknowledged.
        let there = [known, Some(segment.sequence), Some(segment.sequence.wrapping_add(segment.span() as u32))];
        let there = there.into_iter().flatten().map(|sequence| (1 - from, sequence));
        for (to, sequence) in std::iter::once((from, segment.acknowledgment)).chain(there) {
            let reset = Segment { sequence, flags: Flags::RST, has_extra: true, ..Segment::default() };
            self.flying.insert((self.now + delay, 2 * self.packets), (to, reset, forged));
            self.packets += 1;
        }
    }

    /// Both ends got everything and closed.
    pub fn assert_complete(&self) {
        self.assert_delivered();
        let told = || self.ends.each_ref().map(|end| (end.received, end.mptcp.failure(), states(end)));
        for end in &self.ends {
            assert_eq!(end.mptcp.failure(), None, "{:?}", told());
            assert!(end.mptcp.is_over(), "{:?}", told());
            assert!(end.mptcp.peer_closed());
            assert_eq!(end.mptcp.outstanding(), 0);
        }
    }

    /// Both ends got everything. Where the last subflow is reset once the one has closed, the other may never hear of it.
    pub fn assert_delivered(&self) {
        for (end, peer) in [(&self.ends[0], &self.ends[1]), (&self.ends[1], &self.ends[0])] {
            let told = || [end, peer].map(|end| (end.received, end.mptcp.failure(), states(end)));
            assert_eq!(end.received, peer.application.sends, "bytes delivered: {:?}", told());
        }
        assert!(self.ends.iter().any(|end| end.mptcp.is_over() && end.mptcp.failure().is_none()), "one has closed");
    }

    /// Whether one end has lost its last subflow, or all by a reset, and given up, and the other, which waits for it, cannot know: who has nothing
    /// to send does not hear of a reset that is lost.
    pub fn is_half_open(&self) -> bool {
        let waits =
            |end: &End| !end.mptcp.is_over() && end.mptcp.outstanding() == 0 && end.mptcp.next_timeout() == Time::NEVER;
        let gave_up = |end: &End| matches!(end.mptcp.failure(), Some(Failure::TimedOut | Failure::Reset));
        let [client, server] = &self.ends;
        self.flying.is_empty() && (waits(client) && gave_up(server) || waits(server) && gave_up(client))
    }

    /// Whether the client has heard that the server speaks Multipath TCP: before that it may open no other subflow, and a reset
    /// is the end. The server, which has the client's key before it sends data, waits for one.
    pub fn is_confirmed(&self) -> bool {
        self.ends[0].wire.heard
    }

    /// Open subflows of an end.
    pub fn open(&self, end: usize) -> usize {
        self.ends[end].mptcp.subflows().iter().filter(|subflow| subflow.is_open()).count()
    }
}

/// The states of an end's subflows.
pub fn states(end: &End) -> Vec<tcp::State> {
    end.mptcp.subflows().iter().map(|subflow| subflow.tcp().state()).collect()
}

/// Which subflow a segment is of.
pub fn tuple(extra: &Extra) -> Tuple {
    extra.multipath.map_or(Tuple::default(), |multipath| multipath.tuple)
}

pub fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}
