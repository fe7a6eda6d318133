//! QUIC.

pub(crate) mod bytes;
mod dissector;
pub(crate) mod json;
pub(crate) mod log;
mod ways;

use super::ends::Ends;
use super::library;
use super::{IP_HEADER, default_entry, forward};
use crate::document::ScenarioError;
use crate::endpoint::codec::{Codec, Logger};
use crate::endpoint::dissector::Unread;
use crate::endpoint::{Arrival, Body, Content, Contents, Departure, Endpoint, Inflow, Turn, known_mut};
use crate::measures::counts::{Counts, PathReport, Tally};
use crate::measures::measure::FlowMeasure;
use crate::measures::series::{PathState, SenderState, Sent};
use crate::model::address::{Addresses, initial_sequences};
use crate::model::multipath::MultipathSpec;
use crate::model::plugin::SchedulerSpec;
use crate::model::protocol::{Front, Named, Reading, Rule, Service};
use crate::model::routes::PlannedWay;
use crate::model::scenario::{FlowSpec, Making, Pack, Scenario, TransportSpec};
use crate::stacks::{count, with_keys};
use log::View;
use std::borrow::Cow;
use std::sync::Arc;
use vazao_application::{Application, Sides};
use vazao_congestion::Steering;
use vazao_engine::Time;
use vazao_engine::registry::{Entry, Parameters};
use vazao_network::Routing;
use vazao_transport::ByteStream;
use vazao_transport::common::Limit;
use vazao_transport::quic::{self, Connection, Frame, PathView};
use vazao_transport::udp::HEADER as UDP_HEADER;
use vazao_wire::pcapng::Direction;

/// Size on the wire of a full packet: the least that every path carries (RFC 9000 section 14).
const FULL: u32 = IP_HEADER + UDP_HEADER + 1200;

/// One end of a QUIC connection.
pub(crate) struct Quic {
    pub connection: Connection,
    /// Log, if it keeps one.
    log: Option<Box<View>>,
}

impl Content for quic::Datagram {
    fn clear(&mut self) {
        quic::Datagram::clear(self);
    }
}

/// Returns whether a frame brings data. Parity does: lost data is recovered from it.
fn is_data(frame: &Frame) -> bool {
    matches!(frame, Frame::Stream(_) | Frame::Datagram { .. } | Frame::Parity(_))
}

impl Quic {
    pub fn new(mut connection: Connection, log: Option<Box<View>>) -> Quic {
        if log.is_some() {
            connection.watch();
        }
        Quic { connection, log }
    }

    fn log_timeout(&mut self, now: Time) {
        if let Some(log) = &mut self.log {
            log.timeout(now, &mut self.connection);
        }
    }
}

impl Endpoint for Quic {
    forward!(connection, then log_timeout);
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool {
        let Body::Kept { content, .. } = *arrival.body else { return false };
        let datagram: &quic::Datagram = arrival.contents.get(content);
        self.connection.handle(now, datagram, arrival.ecn);
        if let Some(log) = &mut self.log {
            log.datagram(now, Direction::Inbound, datagram, &mut self.connection);
        }
        datagram.frames.iter().any(is_data)
    }
    fn drive(&mut self, now: Time, application: &mut Application) {
        application.drive(now, &mut self.connection);
    }
    fn steer(&mut self, see: &mut dyn FnMut(&mut Steering)) {
        self.connection.steer(see);
    }
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool) {
        turn.on_streams(&mut self.connection)
    }
    fn poll_transmit(&mut self, now: Time, contents: &mut Contents) -> Option<Departure> {
        let (content, datagram) = contents.fresh::<quic::Datagram>();
        if !self.connection.poll_transmit(now, datagram) {
            contents.give_back::<quic::Datagram>(content);
            return None;
        }
        if let Some(log) = &mut self.log {
            log.datagram(now, Direction::Outbound, datagram, &mut self.connection);
        }
        let (size, way, ecn) = (IP_HEADER + UDP_HEADER + datagram.bytes, datagram.address.interface, datagram.ecn);
        Some(Departure { body: Body::Kept { content, path: 0 }, size, way: usize::from(way), ecn })
    }
    fn ready(&self) -> Option<Time> {
        self.connection.stats().ready
    }
    fn is_isolated(&self) -> bool {
        true
    }
    fn unsent(&self) -> u64 {
        self.connection.unsent()
    }
    fn stands_until(&self, now: Time) -> Option<Time> {
        // What is unreliable need not cross the network before it is done.
        (!self.connection.is_unreliable()).then(|| self.connection.stands_until(now))
    }
    fn shrink(&mut self) {
        self.connection.shrink();
    }
    /// Returns the counts: retransmissions are packets with data sent before, timeouts are the probe timer's.
    fn counts(&self, _end: Time) -> Counts<'_> {
        let sender = &self.connection;
        let stats = sender.stats();
        Counts {
            tally: Tally::of(stats.counts()),
            rtt: Cow::Borrowed(&stats.rtt),
            srtt: sender.is_measured().then(|| sender.rtt().srtt()),
            is_over: sender.is_over(),
        }
    }
    fn arrivals(&self, dropped: u64) -> Tally {
        Tally::of(self.connection.stats().arrivals()).with("packets_lost", dropped)
    }
    fn paths(&self, _receiver: Option<&dyn Endpoint>, _start: Time, _end: Time) -> Option<Vec<PathReport>> {
        let report = |path: PathView| PathReport {
            way: Some(usize::from(path.interface)),
            tally: Tally::of(path.stats.counts()).and("srtt_s", path.srtt),
        };
        Some(self.connection.paths().map(report).collect())
    }
    fn delivered(&self) -> Option<u64> {
        Some(self.connection.paths().map(|path| path.stats.bytes).sum())
    }
    fn inflows(&self) -> Vec<Inflow> {
        let streams = self.connection.received();
        streams.map(|(stream, order)| Inflow::bytes(stream, order.read, order.beyond().collect())).collect()
    }
    fn misplaced(&self) -> u64 {
        self.connection.stats().misplaced
    }
    fn is_reliable(&self) -> bool {
        !self.connection.is_unreliable()
    }
    fn watch_messages(&mut self, _is_receiver: bool) {
        self.connection.watch_messages();
    }
    /// Credits messages by their offset in the only stream, else by their number.
    fn credit(&mut self, now: Time, _: &Application, peer: &mut dyn Endpoint, application: &mut Application) {
        let receiver = &mut self.connection;
        if !receiver.is_unreliable() && receiver.carriers() == 1 {
            return application.deliver(now, receiver.read_of(0));
        }
        let Some(Quic { connection: sender, .. }) = known_mut(peer) else { return };
        if receiver.is_unreliable() {
            while let Some(datagram) = receiver.take_read_datagram() {
                if let Some(message) = sender.settle_datagram(datagram) {
                    application.deliver_message(now, message);
                }
            }
            return;
        }
        for carrier in 0..receiver.carriers() {
            let read = receiver.read_of(carrier);
            while let Some(message) = sender.next_delivered(carrier, read) {
                application.deliver_message(now, message);
            }
        }
    }
    fn take_log(&mut self, take: &mut dyn FnMut(&[u8])) {
        self.log.iter_mut().for_each(|log| log.take(take));
    }
}

/// Registry entry.
pub(super) const ENTRY: Entry<Pack> = Entry {
    name: "quic",
    aliases: &[],
    title: "QUIC",
    source: "RFC 9000, RFC 9001, RFC 9002",
    help: "streams over UDP: handshake and encryption in one, losses found packet by packet",
    parameters: &with_keys::<{ count("quic", quic::Config::PARAMETERS) }>("quic", quic::Config::PARAMETERS),
    build: Pack {
        take: |table, _| Ok(Named { path_scheduler: table.take("path_scheduler"), ..Named::default() }),
        rules: RULES,
        settle,
        is_multipath: |spec| spec.multipath.is_some(),
        service: |parameters| Service {
            mixes: parameters.integer("streams") > 1,
            is_unreliable: parameters.flag("unreliable"),
            http: &["3"],
            ..Service::default()
        },
        memory: (32_000, 1_300),
        load: |parameters| (parameters.number("datagram"), 0.5),
        leaves_by_several: |parameters| !parameters.schedule("changes").is_empty() || parameters.flag("multipath"),
        misnamed,
        ways: |routing, flow| ways::client_ways(routing, flow).into_iter().map(PlannedWay::from).collect(),
        codec,
        dissector: |flow| match flow.transport.has_library() {
            // A library encrypts its packets and keeps the keys.
            true => Box::new(Unread),
            false => Box::new(dissector::Datagrams),
        },
        logger,
        is_steerable: true,
        front: Front {
            hidden: &["address_token"],
            sequence: "",
            full: FULL,
            ..Front::new(&["cc", "slow_start", "initial_window", "handshake", "streams", "ecn"])
        },
        ..Pack::new(ends)
    },
};

const RULES: &[Rule] = &[Rule {
    breaks: |_, parameters| {
        let with_token = ["1-rtt", "0-rtt", "0-rtt-rejected"].contains(&parameters.text("handshake"));
        parameters.get("address_token").is_some() && !with_token
    },
    problem: "address_token goes with 1-rtt, 0-rtt and 0-rtt-rejected: retry is for clients without one, and Google's CHLO \
              has its own",
}];

/// Returns whether the handshake is Google's own, of before TLS.
fn is_before_tls(parameters: &Parameters) -> bool {
    parameters.text("handshake").starts_with("gquic")
}

/// Returns whether packets have parts of Google's QUIC that RFC 9000 does not know.
fn is_googles(parameters: &Parameters) -> bool {
    is_before_tls(parameters) || parameters.integer("fec") > 0
}

fn settle(
    reading: &Reading<'_>,
    named: Named,
    parameters: &Parameters,
) -> Result<Option<MultipathSpec>, ScenarioError> {
    let has_change = |wanted: &[&str]| {
        parameters.schedule("changes").iter().map(|change| change.what).find(|what| wanted.contains(what))
    };
    let refuse = |problem: &str| Err(reading.whole.error(problem));
    if !parameters.flag("multipath") {
        if let Some(scheduler) = named.path_scheduler {
            return Err(scheduler.error("spreads data over paths; write multipath = true beside it, or leave it out"));
        }
        if !parameters.integers("backups").is_empty() {
            return refuse("has backups, but one path; write multipath = true beside them, or leave them out");
        }
        return match has_change(&["remove", "add", "backup", "regular"]) {
            Some(what) => {
                refuse(&format!("has {what:?} in changes, but one path; write multipath = true, or migrate or rebind"))
            }
            None => Ok(None),
        };
    }
    if is_googles(parameters) {
        return refuse("has multipath, but Google's QUIC has one path; leave multipath out, or gquic and fec");
    }
    if has_change(&["migrate"]).is_some() {
        return refuse(
            "has \"migrate\" in changes, but multipath uses all interfaces already; write remove or add, or leave \
             multipath out",
        );
    }
    let scheduler = named.path_scheduler.unwrap_or_else(|| default_entry(quic::Config::PARAMETERS, "path_scheduler"));
    let scheduler = SchedulerSpec::read(scheduler, reading.schedulers)?;
    Ok(Some(MultipathSpec { scheduler, path_manager: None }))
}

fn misnamed(routing: &Routing<'_>, flow: &FlowSpec) -> Option<String> {
    let count = ways::client_ways(routing, flow).len() as u64;
    let parameters = &flow.transport.parameters;
    let changed = parameters.schedule("changes").iter().map(|change| ("changes", change.which));
    let named = changed.chain(parameters.integers("backups").iter().map(|&number| ("backups", number)));
    let (key, which) = named.into_iter().find(|&(_, number)| number > count)?;
    Some(format!("{key}: {} has no interface {which}; {count} of its lead to the server", flow.client))
}

fn ends(making: &mut Making<'_>, number: usize, _sides: &Sides) -> [Box<dyn Endpoint>; 2] {
    let (scenario, addresses) = (making.scenario, making.addresses);
    let flow = &scenario.flows[number];
    let config = making.settings(&flow.transport, || bytes::settings(flow));
    let ways = ways::client_ways(making.routing, flow).len() as u8;
    let seeds = initial_sequences(scenario.seed, number);
    [0, 1].map(|side| -> Box<dyn Endpoint> {
        let open = if side == 0 { Connection::connect } else { Connection::listen };
        let mut connection = open(config.clone(), u64::from(seeds[side]));
        connection.set_interfaces(ways);
        let log = making.logs.then(|| Box::new(View::new(scenario, addresses, (number, side))));
        Box::new(Quic::new(connection, log))
    })
}

fn codec(scenario: &Scenario, addresses: &Addresses, number: usize) -> Result<Box<dyn Codec>, &'static str> {
    let transport = &scenario.flows[number].transport;
    if is_googles(&transport.parameters) {
        return Err("Google's handshake and parity are not written to captures");
    }
    Ok(if transport.has_library() {
        Box::new(library::Bytes(Ends::new(addresses, number)))
    } else {
        Box::new(bytes::Bytes::new(scenario, addresses, number))
    })
}

fn logger(scenario: &Scenario, number: usize) -> Option<Box<dyn Logger>> {
    Some(if scenario.flows[number].transport.has_library() {
        Box::new(library::Records::new())
    } else {
        Box::new(bytes::Records { original: bytes::Sealer::new(scenario, number).original() })
    })
}

/// Returns the settings of a connection.
pub(crate) fn config(spec: &Arc<TransportSpec>) -> quic::Config {
    let scheduler = spec.multipath.as_ref().map(|multipath| multipath.scheduler_factory());
    quic::Config::new(&spec.parameters, spec.control_factory(), scheduler)
}

impl SenderState for Connection {
    fn cwnd(&self) -> u64 {
        Connection::cwnd(self)
    }
    fn ssthresh(&self) -> Option<u64> {
        super::set(self.control().ssthresh())
    }
    fn in_slow_start(&self) -> bool {
        self.control().in_slow_start()
    }
    fn is_repairing(&self) -> bool {
        Connection::is_repairing(self)
    }
    fn cuts(&self) -> u64 {
        self.stats().recoveries + self.stats().mark_reductions + self.stats().persistent_congestions
    }
    fn sent(&self) -> Sent {
        Sent { segments: self.stats().datagrams, bytes: self.sent_bytes(), flight: self.flight() }
    }
    fn paths(&self) -> usize {
        Connection::paths(self).len()
    }
    fn path(&self, number: usize) -> PathState {
        let path = Connection::paths(self).nth(number).expect("a path that was used");
        let PathView { cwnd, ssthresh, srtt, latest_rtt, timeout: rto, pacing_rate, phase, flight, .. } = path;
        PathState { cwnd, ssthresh, srtt, latest_rtt, rto, pacing_rate, phase, flight }
    }
}
