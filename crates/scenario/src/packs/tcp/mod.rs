//! TCP, with or without TLS.

pub(crate) mod bytes;
pub(crate) mod dissector;
mod kernel;
pub(crate) mod like;
pub(crate) mod strip;

pub(super) use kernel::{METRICS, memory};

use super::{IP_HEADER, path_state};
use crate::document::ScenarioError;
use crate::endpoint::{Arrival, Body, Contents, Departure, Endpoint, Inflow, Turn};
use crate::measures::counts::{Counts, Tally};
use crate::measures::measure::FlowMeasure;
use crate::measures::series::{PathState, Repair, SenderState, Sent};
use crate::model::address::initial_sequences;
use crate::model::multipath::MultipathSpec;
use crate::model::protocol::{Front, Named, Needs, Reading};
use crate::model::scenario::{FlowSpec, Making, Pack};
use crate::stacks::{count, join, with_keys};
use std::borrow::Cow;
use std::sync::Arc;
use vazao_application::{Application, Sides};
use vazao_congestion::Steering;
use vazao_engine::registry::{Entry, Parameter, Parameters};
use vazao_engine::{Duration, RandomStream, Time};
use vazao_transport::ByteStream;
use vazao_transport::common::Limit;
use vazao_transport::tcp::{Config, Connection, Cookies, Metrics};
use vazao_transport::tls::{self, Session};

/// One end of a TCP connection.
pub(crate) struct Tcp {
    pub connection: Connection,
    pub tls: Option<Box<Session>>,
}

impl Tcp {
    /// Returns the smoothed round-trip time, if there is one.
    pub fn srtt(&self) -> Option<Duration> {
        super::measured(self.connection.rtt().srtt())
    }
}

impl Endpoint for Tcp {
    #[inline(always)]
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool {
        let Body::Tcp(segment) = arrival.body else { return false };
        self.connection.handle(now, segment, arrival.contents.extra(segment));
        segment.length > 0
    }
    #[inline]
    fn next_timeout(&self) -> Time {
        self.connection.next_timeout()
    }
    #[inline(always)]
    fn handle_timeout(&mut self, now: Time) -> bool {
        let is_due = self.connection.next_timeout() <= now;
        if is_due {
            self.connection.handle_timeout(now);
        }
        is_due
    }
    #[inline]
    fn drive(&mut self, now: Time, application: &mut Application) {
        match &mut self.tls {
            None => application.drive(now, &mut self.connection),
            Some(session) => drive_over_tls(now, &mut self.connection, session, application),
        }
    }
    fn steer(&mut self, see: &mut dyn FnMut(&mut Steering)) {
        self.connection.steer(see);
    }
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool) {
        match &mut self.tls {
            None => turn.on(&mut self.connection),
            Some(session) => turn.on(&mut session.over(&mut self.connection)),
        }
    }
    #[inline(always)]
    fn poll_transmit(&mut self, now: Time, contents: &mut Contents) -> Option<Departure> {
        let mut segment = self.connection.poll_transmit(now, &mut contents.scratch)?;
        let size = IP_HEADER + segment.header_bytes(&contents.scratch) + u32::from(segment.length);
        if segment.has_extra {
            segment.extra = contents.keep_scratch();
        }
        Some(Departure { body: Body::Tcp(segment), size, way: 0, ecn: segment.ecn })
    }
    #[inline]
    fn is_over(&self) -> bool {
        self.connection.is_over()
    }
    fn failure(&self) -> Option<String> {
        self.connection.failure().map(|failure| failure.to_string())
    }
    fn ready(&self) -> Option<Time> {
        self.tls.as_ref().map_or(self.connection.stats().ready, |session| session.ready())
    }
    fn is_isolated(&self) -> bool {
        self.tls.is_none() && self.connection.is_isolated()
    }
    fn unsent(&self) -> u64 {
        self.connection.unsent()
    }
    fn stands_until(&self, now: Time) -> Option<Time> {
        Some(self.connection.stands_until(now))
    }
    fn shrink(&mut self) {
        self.connection.shrink();
    }
    fn with_state(&self, see: &mut dyn FnMut(&dyn SenderState)) {
        see(&self.connection);
    }
    fn inflows(&self) -> Vec<Inflow> {
        let (tcp, beyond) = (&self.connection, self.connection.beyond());
        vec![match &self.tls {
            None => Inflow::bytes(0, tcp.read_bytes(), beyond.collect()),
            Some(tls) => Inflow::bytes(0, tls.read_bytes(), beyond.flat_map(|range| tls.data_in(&range)).collect()),
        }]
    }
    #[inline(always)]
    fn limit(&self, _now: Time) -> Option<Limit> {
        let is_ready = self.tls.as_ref().is_none_or(|session| session.ready().is_some());
        Some(if is_ready { self.connection.limit() } else { Limit::Handshake })
    }
    #[inline(always)]
    fn expiries(&self) -> u64 {
        self.connection.expiries()
    }
    #[inline(always)]
    fn observe(&self, now: Time, measure: &mut FlowMeasure) {
        measure.on_sender_event(now, &self.connection);
    }
    fn counts(&self, end: Time) -> Counts<'_> {
        let sender = &self.connection;
        let rtt = &sender.stats().rtt;
        Counts {
            tally: Tally::of(sender.stats().counts())
                .with("busy_s", sender.busy_time(end))
                .with("rwnd_limited_s", sender.rwnd_limited(end))
                .with("sndbuf_limited_s", sender.sndbuf_limited(end))
                .and("reordering", sender.reordering()),
            rtt: Cow::Borrowed(rtt),
            srtt: (rtt.count() > 0).then(|| sender.rtt().srtt()),
            is_over: sender.is_over(),
        }
    }
    fn arrivals(&self, dropped: u64) -> Tally {
        Tally::of(self.connection.stats().arrivals()).with("packets_lost", dropped)
    }
    fn delivered(&self) -> Option<u64> {
        Some(self.connection.acknowledged_bytes())
    }
    fn misplaced(&self) -> u64 {
        self.connection.stats().misplaced
    }
}

#[cold]
fn drive_over_tls(now: Time, connection: &mut Connection, session: &mut Session, application: &mut Application) {
    session.pump(now, connection);
    application.drive(now, &mut session.over(connection));
}

/// Parameters of TCP, and the personality.
pub(super) const SETTINGS: &[Parameter] =
    &join::<{ Config::PARAMETERS.len() + 1 }>(&[Config::PARAMETERS, &[like::KEY]]);

/// Parameters of TCP and of TLS.
const OWN: &[Parameter] =
    &join::<{ SETTINGS.len() + tls::Settings::PARAMETERS.len() }>(&[SETTINGS, tls::Settings::PARAMETERS]);

/// Registry entry.
pub(super) const ENTRY: Entry<Pack> = Entry {
    name: "tcp",
    aliases: &[],
    title: "Transmission Control Protocol",
    source: "RFC 9293",
    help: "reliable byte stream; loss recovery, congestion control and timers are chosen by parameters",
    parameters: &with_keys::<{ count("tcp", OWN) }>("tcp", OWN),
    build: Pack {
        expand: like::apply,
        tls: tls::Config::new,
        needs: NEEDS,
        settle,
        codec: |_, addresses, number| Ok(Box::new(bytes::Bytes::new(addresses, number))),
        dissector: |_| Box::new(dissector::Segments::default()),
        recovery: Some("recovery"),
        kernel: Some(kernel::KERNEL),
        is_steerable: true,
        front: Front {
            hidden: &["like"],
            ..Front::new(&["cc", "recovery", "slow_start", "initial_window", "receive_buffer", "ecn"])
        },
        ..Pack::new(ends)
    },
};

/// Parameters of TCP that have no effect without others.
pub(super) const NEEDS: &[Needs] = &[
    Needs {
        key: "cookie",
        has_effect: |parameters| parameters.flag("fast_open"),
        problem: "has no effect without fast_open; write fast_open = true beside it, or leave it out",
    },
    Needs {
        key: "prr",
        has_effect: |parameters| parameters.text("recovery") == "sack",
        problem: "has an effect with recovery = \"sack\" only; write that beside it, or leave it out",
    },
    Needs {
        key: "sack_profile",
        has_effect: |parameters| parameters.text("recovery") == "sack",
        problem: "has an effect with recovery = \"sack\" only; write that beside it, or leave it out",
    },
    Needs {
        key: "rtt",
        has_effect: |parameters| parameters.flag("timestamps"),
        problem: "has no effect with timestamps = false, which leaves segments to measure by; leave it out",
    },
];

fn settle(
    reading: &Reading<'_>,
    named: Named,
    parameters: &Parameters,
) -> Result<Option<MultipathSpec>, ScenarioError> {
    let most = if parameters.flag("timestamps") { 1448 } else { 1460 };
    let mss = parameters.integer("mss");
    if reading.has_guest() && mss > most {
        let problem = format!("mss {mss} does not fit a guest's card, an Ethernet one; write at most {most}");
        return Err(reading.whole.error(problem));
    }
    Ok(named.multipath)
}

fn ends(making: &mut Making<'_>, number: usize, _sides: &Sides) -> [Box<dyn Endpoint>; 2] {
    let flow = &making.scenario.flows[number];
    let spec = &flow.transport;
    let configs = [0, 1].map(|side| {
        let spec = spec.of_side(side);
        making.settings(spec, || Config::new(&spec.parameters, spec.control_factory()))
    });
    let [client, server] = initial_sequences(making.scenario.seed, number);
    let [ours, theirs] = configs;
    let [known, remembered] = [0, 1].map(|side| metrics(making, flow, [&flow.client, &flow.server], side));
    let mut connections = [
        Connection::connect(ours, client).with_metrics(known, 0),
        Connection::listen(theirs, server).with_metrics(remembered, 0),
    ];
    if spec.parameters.flag("fast_open") {
        let cookies = cookies(making, flow);
        connections = connections.map(|connection| connection.with_fast_open(cookies.clone()));
    }
    let [first, second] = spec.tls.map_or([None, None], |config| Session::pair(config).map(|s| Some(Box::new(s))));
    let [client, server] = connections;
    [Box::new(Tcp { connection: client, tls: first }), Box::new(Tcp { connection: server, tls: second })]
}

/// Returns the Fast Open cookies of a flow's hosts. The first flow between two hosts decides whether the client has one
/// already.
fn cookies(making: &mut Making<'_>, flow: &FlowSpec) -> Arc<Cookies> {
    let hosts = format!("cookie/{}/{}", host(&flow.client), host(&flow.server));
    let mut stream = RandomStream::new(making.scenario.seed, &hosts);
    let is_warm = flow.transport.parameters.text("cookie") == "cached";
    making.between(hosts, || Cookies::new((1 + stream.below(u64::MAX - 1)).into(), is_warm))
}

/// Returns what a side's host remembers of the paths between `pair`, if the flow uses it.
pub(super) fn metrics(making: &mut Making<'_>, flow: &FlowSpec, pair: [&str; 2], side: usize) -> Option<Arc<Metrics>> {
    let spec = flow.transport.of_side(side);
    let hosts = format!("metrics/{}/{}/{side}", spec.entry.name, pair.join("/"));
    spec.parameters.flag("metrics").then(|| making.between(hosts, Metrics::default))
}

/// Name of the host of an interface.
pub(super) fn host(interface: &str) -> &str {
    interface.split('.').next().unwrap_or(interface)
}

impl SenderState for Connection {
    #[inline]
    fn cwnd(&self) -> u64 {
        Connection::cwnd(self)
    }
    // Asked for once, at the end of slow start: kept out of the inner loop.
    #[inline(never)]
    fn ssthresh(&self) -> Option<u64> {
        super::set(self.control().ssthresh())
    }
    fn in_slow_start(&self) -> bool {
        self.control().in_slow_start()
    }
    fn is_repairing(&self) -> bool {
        Connection::is_repairing(self)
    }
    #[inline]
    fn cuts(&self) -> u64 {
        self.stats().recoveries + self.stats().timeouts + self.stats().mark_reductions
    }
    fn sent(&self) -> Sent {
        Sent { segments: self.stats().segments, bytes: self.sent_bytes(), flight: self.flight() }
    }
    fn path(&self, _number: usize) -> PathState {
        PathState {
            pacing_rate: self.pacing_rate(),
            phase: self.control().phase(),
            ..path_state(Connection::cwnd(self), self.control().ssthresh(), self.rtt(), self.flight())
        }
    }
    fn repair(&self, _number: usize) -> Option<Repair> {
        let (ca_state, lost, sacked) = (self.ca_state() as u8, self.lost_segments(), self.sacked_segments());
        Some(Repair { ca_state, lost, sacked })
    }
}
