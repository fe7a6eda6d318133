//! Two Multipath TCP endpoints in the shared laboratory, and what must hold at every event.

pub use crate::application::Application;
use crate::application::User;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use vazao_congestion::{CONGESTION_CONTROLS, SLOW_STARTS, Setup, build, build_slow_start};
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, Ecn, Rate, Time};
use vazao_laboratory::{Arrival, Paths};
pub use vazao_laboratory::{Laboratory, Weather, at};
use vazao_transport::ByteStream;
use vazao_transport::common::{ControlFactory, SCHEDULERS};
use vazao_transport::mptcp::keys::Hash;
use vazao_transport::mptcp::{self, AddressPair, Config, Connection, Dss, Identity, PATH_MANAGERS, Signal, Tuple};
use vazao_transport::tcp::{self, Extra, Failure, Flags, Segment};

/// Path with a transmission time of 200 µs per packet, whatever its size, and an unlimited queue.
pub fn paced(delay: u64) -> Weather {
    Weather { rate: Some(Rate::from_bps(8 * 5_000)), ..Weather::fair(delay) }
}

/// Path that drops everything from a given millisecond on.
pub fn dead_after(delay: u64, ms: u64) -> Weather {
    Weather { outages: std::iter::once(ms..u64::MAX).collect(), ..paced(delay) }
}

/// TCP settings by name, as in a scenario; the rest are defaults.
pub fn config(given: &[(&str, Raw)]) -> Config {
    with(given, "reno", "lowest-rtt", "full-mesh")
}

/// Settings with a congestion control, scheduler and path manager by name.
pub fn with(given: &[(&str, Raw)], cc: &str, scheduler: &str, manager: &str) -> Config {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let parameters = Parameters::resolve(tcp::Config::PARAMETERS, &given).expect("settings that exist");
    let scheduler = find("packet scheduler", SCHEDULERS, scheduler).expect("a scheduler");
    let manager = find("path manager", PATH_MANAGERS, manager).expect("a path manager");
    Config::new(
        &Parameters::defaults(Config::PARAMETERS),
        tcp::Config::new(&parameters, control(cc)),
        Arc::new(move || (scheduler.build)(&Parameters::defaults(scheduler.parameters))),
        (manager.build, Parameters::defaults(manager.parameters)),
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

/// One endpoint.
pub struct End {
    pub mptcp: Connection,
    pub user: User,
    wire: Wire,
}

/// State that an observer derives from an endpoint's wire.
#[derive(Default)]
struct Wire {
    /// Data sequence number of its first octet.
    first: Option<u64>,
    /// Window scale announced on each of its subflows.
    scales: BTreeMap<u8, u8>,
    /// Whether it has received a DSS, so that options are known to pass.
    heard: bool,
    /// Right edge of the data that it may send.
    allowed: u64,
    /// Last octet that it has acknowledged on each of its subflows.
    acknowledgments: BTreeMap<u8, u32>,
    /// Data carried by each segment of a subflow, by port pair and sequence number.
    mappings: BTreeMap<(u8, u32), (u64, u16)>,
}

impl End {
    fn new(mptcp: Connection, application: Application) -> End {
        End { mptcp, user: User::new(application), wire: Wire::default() }
    }

    fn is_done(&self) -> bool {
        self.mptcp.is_over() && (self.mptcp.peer_closed() || self.mptcp.failure().is_some())
    }
}

/// Middlebox on all paths: it may alter a segment of an endpoint; returns false to drop it.
pub type Middlebox = dyn FnMut(Time, usize, &mut Segment, &mut Extra) -> bool;

/// Segment with its options.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub segment: Segment,
    pub extra: Extra,
}

/// Packet in transit.
pub type Sent = vazao_laboratory::Sent<Packet>;

/// Both endpoints and the paths between them.
pub struct Lab {
    pub ends: [End; 2],
    /// One path per address pair.
    pub paths: Paths<Packet>,
    pub middlebox: Box<Middlebox>,
    /// Whether segments may be altered, so that the observer's expectations do not hold.
    pub altered: bool,
    /// Digest of everything that was sent, and when.
    pub digest: u64,
}

impl Packet {
    pub fn dss(&self) -> Dss {
        self.extra.multipath.and_then(|multipath| multipath.dss).unwrap_or_default()
    }
    pub fn signal(&self) -> Option<Signal> {
        self.extra.multipath.and_then(|multipath| multipath.signal)
    }
    pub fn pair(&self) -> u16 {
        tuple(&self.extra).pair
    }
}

/// All pairs of this many client and server addresses, the first pair first.
pub fn mesh(clients: u8, servers: u8) -> Vec<AddressPair> {
    (0..clients).flat_map(|client| (0..servers).map(move |server| AddressPair { client, server, relay: 0 })).collect()
}

/// Disjoint pairs of addresses.
pub fn pairs(count: u8) -> Vec<AddressPair> {
    (0..count).map(|at| AddressPair { client: at, server: at, relay: 0 }).collect()
}

impl Laboratory for Lab {
    type Packet = Packet;

    fn paths(&self) -> &Paths<Packet> {
        &self.paths
    }
    fn paths_mut(&mut self) -> &mut Paths<Packet> {
        &mut self.paths
    }

    fn wake(&self, end: usize) -> Time {
        let end = &self.ends[end];
        let reads = end.mptcp.is_connected() && !end.is_done();
        end.mptcp.next_timeout().min(end.user.next_read(!reads))
    }

    fn handle(&mut self, arrival: Arrival<Packet>) {
        let Packet { segment, extra } = arrival.packet;
        self.learn(arrival.to, &segment, &extra);
        self.ends[arrival.to].mptcp.handle(self.paths.now, &segment, segment.has_extra.then_some(&extra));
    }

    fn handle_timeout(&mut self, end: usize) {
        let mptcp = &mut self.ends[end].mptcp;
        if mptcp.next_timeout() <= self.paths.now {
            mptcp.handle_timeout(self.paths.now);
        }
    }

    fn serve(&mut self, from: usize) {
        let at = self.paths.now;
        let End { mptcp, user, .. } = &mut self.ends[from];
        user.act(at, mptcp);
        let mut extra = Extra::default();
        let mut burst = 0;
        while let Some(segment) = self.ends[from].mptcp.poll_transmit(at, &mut extra) {
            burst += 1;
            assert!(burst < 100_000, "a burst ends");
            self.observe(from, &segment, &extra);
            let numbers = u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgment);
            self.digest = (self.digest ^ at.as_nanos() ^ numbers).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ burst;
            let path = usize::from(tuple(&extra).pair);
            // Packets count as one byte: their transmission time does not depend on their size.
            self.send(Sent { at, from, path, size: 1, ecn: Ecn::NotEct, packet: Packet { segment, extra } });
        }
        self.check(from);
    }
}

impl Lab {
    /// Creates a lab in which the client sends `bytes` and closes, over disjoint paths.
    pub fn new(config: Config, bytes: u64, paths: Vec<Weather>) -> Lab {
        let pairs = pairs(paths.len() as u8);
        let server = (config.clone(), Application::sends(0));
        Lab::between((config, Application::sends(bytes)), server, (pairs, paths), 1)
    }

    /// Creates a lab of two endpoints, each with its settings, and a path for each address pair.
    pub fn between(
        client: (Config, Application),
        server: (Config, Application),
        (pairs, paths): (Vec<AddressPair>, Vec<Weather>),
        seed: u64,
    ) -> Lab {
        let mut paths = Paths::new(paths, seed);
        let addresses = [0, 1].map(|side| (0..8).map(|address| [10, side, address, 1]).collect::<Vec<_>>());
        let mut identity = || Identity {
            pairs: pairs.clone(),
            addresses: addresses.clone(),
            key: paths.random.below(u64::MAX),
            iss: paths.random.below(1 << 32) as u32,
            metrics: None,
        };
        let first = Connection::connect(Arc::new(client.0), identity());
        let second = Connection::listen(Arc::new(server.0), identity());
        let ends = [End::new(first, client.1), End::new(second, server.1)];
        Lab { ends, paths, middlebox: Box::new(|_, _, _, _| true), altered: false, digest: 0 }
    }

    /// Runs until both endpoints are finished or nothing is pending; at most `seconds`.
    pub fn run(&mut self, seconds: u64) {
        self.run_until(seconds, |lab| lab.ends.iter().all(End::is_done) || lab.is_half_open());
        for end in &mut self.ends {
            end.user.read_rest(self.paths.now, &mut end.mptcp);
        }
    }

    /// Invariants after every event.
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

    /// Checks a departing segment against everything seen before.
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

    /// Updates how far an endpoint may send from an arriving segment.
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

    fn send(&mut self, mut sent: Sent) {
        self.paths.note(&sent);
        let Packet { segment, extra } = &mut sent.packet;
        if !(self.middlebox)(sent.at, sent.from, segment, extra) {
            return;
        }
        let covers =
            |ranges: &[Range<u64>]| ranges.iter().any(|range| range.contains(&(sent.at.as_nanos() / 1_000_000)));
        let weather = &self.paths.weather[sent.path];
        if covers(&weather.resets) && !covers(&weather.outages) && !segment.flags.has(Flags::SYN) {
            return self.forge_resets(sent.from, &sent.packet.segment, &sent.packet.extra);
        }
        self.paths.send(sent);
    }

    /// An attacker on the path resets a subflow, as far as he can, towards both ends.
    fn forge_resets(&mut self, from: usize, segment: &Segment, extra: &Extra) {
        let delay = Duration::from_millis(self.paths.weather[usize::from(tuple(extra).pair)].delay);
        let known = self.ends[1 - from].wire.acknowledgments.get(&tuple(extra).port).copied();
        let multipath = mptcp::Multipath { tuple: tuple(extra), ..Default::default() };
        let forged = Extra { multipath: Some(multipath), ..Extra::default() };
        // The last acknowledged octet, or one received since that is not acknowledged yet.
        let there = [known, Some(segment.sequence), Some(segment.sequence.wrapping_add(segment.span() as u32))];
        let there = there.into_iter().flatten().map(|sequence| (1 - from, sequence));
        for (to, sequence) in std::iter::once((from, segment.acknowledgment)).chain(there) {
            let segment = Segment { sequence, flags: Flags::RST, has_extra: true, ..Segment::default() };
            let packet = Packet { segment, extra: forged };
            self.paths.arrive(self.paths.now + delay, Arrival { to, path: 0, ecn: Ecn::NotEct, packet });
        }
    }

    /// Asserts that both ends received everything and closed.
    pub fn assert_complete(&self) {
        self.assert_delivered();
        let told = || self.ends.each_ref().map(|end| (end.user.received, end.mptcp.failure(), states(end)));
        for end in &self.ends {
            assert_eq!(end.mptcp.failure(), None, "{:?}", told());
            assert!(end.mptcp.is_over(), "{:?}", told());
            assert!(end.mptcp.peer_closed());
            assert_eq!(end.mptcp.outstanding(), 0);
        }
    }

    /// Asserts that both ends received everything. If the last subflow is reset after one has closed, the other may
    /// never learn of it.
    pub fn assert_delivered(&self) {
        for (end, peer) in [(&self.ends[0], &self.ends[1]), (&self.ends[1], &self.ends[0])] {
            let told = || [end, peer].map(|end| (end.user.received, end.mptcp.failure(), states(end)));
            assert_eq!(end.user.received, peer.user.application.sends, "bytes delivered: {:?}", told());
        }
        assert!(self.ends.iter().any(|end| end.mptcp.is_over() && end.mptcp.failure().is_none()), "one has closed");
    }

    /// Whether one end has lost its last subflow, or all by a reset, and given up, while the other waits for it and
    /// cannot know: an end with nothing to send does not learn of a lost reset.
    pub fn is_half_open(&self) -> bool {
        let waits =
            |end: &End| !end.mptcp.is_over() && end.mptcp.outstanding() == 0 && end.mptcp.next_timeout() == Time::NEVER;
        let gave_up = |end: &End| matches!(end.mptcp.failure(), Some(Failure::TimedOut | Failure::Reset));
        let [client, server] = &self.ends;
        self.paths.is_empty() && (waits(client) && gave_up(server) || waits(server) && gave_up(client))
    }

    /// Whether the client knows that the server speaks Multipath TCP: before that it may open no other subflow, and a
    /// reset ends the connection. The server, which has the client's key before it sends data, waits for one.
    pub fn is_confirmed(&self) -> bool {
        self.ends[0].wire.heard
    }

    /// Number of open subflows of an endpoint.
    pub fn open(&self, end: usize) -> usize {
        self.ends[end].mptcp.subflows().iter().filter(|subflow| subflow.is_open()).count()
    }
}

/// States of an endpoint's subflows.
pub fn states(end: &End) -> Vec<tcp::State> {
    end.mptcp.subflows().iter().map(|subflow| subflow.tcp().state()).collect()
}

/// Subflow that a segment belongs to.
pub fn tuple(extra: &Extra) -> Tuple {
    extra.multipath.map_or(Tuple::default(), |multipath| multipath.tuple)
}
