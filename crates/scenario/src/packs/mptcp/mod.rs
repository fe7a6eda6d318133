//! Multipath TCP: connections whose segments go by several ways.

pub(crate) mod bytes;
mod kernel;
mod ways;

use super::{
    IP_HEADER, Means, default_entry, forward, measured,
    tcp::{SETTINGS, dissector::Segments, host, like, metrics},
};
use crate::document::ScenarioError;
use crate::document::reader::Table;
use crate::endpoint::{Arrival, Body, Contents, Departure, Endpoint, Inflow, Turn, known};
use crate::measures::counts::{Counts, PathReport, Tally};
use crate::measures::measure::FlowMeasure;
use crate::measures::series::{PathState, Repair, SenderState, Sent};
use crate::model::address::initial_sequences;
use crate::model::multipath::MultipathSpec;
use crate::model::plugin::SchedulerSpec;
use crate::model::protocol::{Front, Named, Reading, Rule};
use crate::model::routes::PlannedWay;
use crate::model::scenario::{Making, Pack, TransportSpec};
use crate::stacks::{count, join, with_keys};
use std::borrow::Cow;
use std::iter::once;
use std::sync::Arc;
use vazao_application::{Application, Sides};
use vazao_engine::registry::{Entry, Parameter};
use vazao_engine::{Histogram, RandomStream, Time};
use vazao_transport::ByteStream;
use vazao_transport::common::Limit;
use vazao_transport::mptcp::{self, Connection, PATH_MANAGERS, Subflow};
use vazao_transport::tcp;

/// One end of a Multipath TCP connection.
pub(crate) struct Mptcp {
    pub connection: Connection,
    /// Dropped packets to this end, by the subflow's port.
    lost: Vec<u64>,
    windows: Means,
}

impl Mptcp {
    pub fn new(connection: Connection) -> Mptcp {
        Mptcp { connection, lost: Vec::new(), windows: Means::default() }
    }

    /// Returns the number of dropped packets of a subflow to this end.
    fn lost(&self, subflow: &Subflow) -> u64 {
        self.lost.get(usize::from(subflow.tuple().port)).copied().unwrap_or(0)
    }

    /// Records the windows that may have changed.
    #[inline]
    fn watch(&mut self, now: Time) {
        let mut updated = self.connection.take_updated();
        while updated != 0 {
            let number = updated.trailing_zeros() as usize;
            self.windows.watch(now, number, self.connection.subflows()[number].tcp().cwnd());
            updated &= updated - 1;
        }
    }

    /// Sums a count over the subflows.
    fn sum(&self, count: impl Fn(&tcp::Stats) -> u64) -> u64 {
        self.connection.subflows().iter().map(|subflow| count(subflow.tcp().stats())).sum()
    }
}

impl Endpoint for Mptcp {
    forward!(connection, then watch);
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool {
        let Body::Tcp(segment) = arrival.body else { return false };
        self.connection.handle(now, segment, arrival.contents.extra(segment));
        self.watch(now);
        segment.length > 0
    }
    fn drive(&mut self, now: Time, application: &mut Application) {
        application.drive(now, &mut self.connection);
    }
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool) {
        turn.on(&mut self.connection)
    }
    fn poll_transmit(&mut self, now: Time, contents: &mut Contents) -> Option<Departure> {
        let (number, extra) = contents.fresh_extra();
        let Some(mut segment) = self.connection.poll_transmit(now, extra) else {
            contents.give_back_extra(number);
            return None;
        };
        let size = IP_HEADER + segment.header_bytes(extra) + u32::from(segment.length);
        let way = extra.multipath.as_ref().map_or(0, |multipath| multipath.tuple.pair);
        segment.extra = number;
        Some(Departure { body: Body::Tcp(segment), size, way: usize::from(way), ecn: segment.ecn })
    }
    fn ready(&self) -> Option<Time> {
        self.connection.stats().established
    }
    fn is_isolated(&self) -> bool {
        self.connection.is_isolated()
    }
    fn unsent(&self) -> u64 {
        self.connection.unsent()
    }
    fn stands_until(&self, now: Time) -> Option<Time> {
        Some(self.connection.stands_until(now))
    }
    /// Returns the counts of all subflows together; data reinjected for another subflow is no retransmission.
    fn counts(&self, _end: Time) -> Counts<'_> {
        let subflows = self.connection.subflows();
        let mut rtt = Histogram::default();
        subflows.iter().for_each(|subflow| rtt.merge(&subflow.tcp().stats().rtt));
        let srtt = subflows.iter().map(|subflow| subflow.tcp().rtt().srtt()).filter(|_| rtt.count() > 0).min();
        let stats = self.connection.stats();
        let all = subflows.iter().map(|subflow| Tally::of(subflow.tcp().stats().counts()));
        Counts {
            tally: Tally::sum(all).with_all(stats.counts()),
            rtt: Cow::Owned(rtt),
            srtt,
            is_over: self.connection.is_over(),
        }
    }
    fn arrivals(&self, dropped: u64) -> Tally {
        // A server that nothing has reached yet has no subflow, and no duplicates.
        let nothing = tcp::Stats::default();
        let all = once(&nothing).chain(self.connection.subflows().iter().map(|subflow| subflow.tcp().stats()));
        Tally::sum(all.map(|stats| Tally::of(stats.arrivals()))).with("packets_lost", dropped)
    }
    /// Reports each subflow; losses are unknown if a guest is the receiver.
    fn paths(&self, receiver: Option<&dyn Endpoint>, start: Time, end: Time) -> Option<Vec<PathReport>> {
        let receiver = receiver.and_then(known::<Mptcp>);
        let subflows = self.connection.subflows().iter().zip(self.windows.over(start, end));
        let report = |(subflow, cwnd_mean): (&Subflow, Option<f64>)| {
            let stats = subflow.tcp().stats();
            PathReport {
                way: Some(usize::from(subflow.tuple().pair)),
                tally: Tally::of(stats.counts())
                    .with("bytes", stats.bytes)
                    .and("packets_lost", receiver.map(|receiver| receiver.lost(subflow)))
                    .and("srtt_s", measured(subflow.tcp().rtt().srtt()))
                    .and("cwnd_mean_bytes", cwnd_mean),
            }
        };
        Some(subflows.map(report).collect())
    }
    fn inflows(&self) -> Vec<Inflow> {
        let beyond = self.connection.beyond().iter().map(|(start, end)| start..end).collect();
        vec![Inflow::bytes(0, self.connection.read_bytes(), beyond)]
    }
    fn misplaced(&self) -> u64 {
        self.connection.stats().misplaced + self.sum(|stats| stats.misplaced)
    }
    /// Counts a drop; a segment without options of Multipath TCP belongs to the first subflow.
    fn note_drop(&mut self, body: &Body, contents: &Contents) -> bool {
        let Body::Tcp(segment) = body else { return false };
        let multipath = contents.extra(segment).and_then(|extra| extra.multipath.as_ref());
        let port = usize::from(multipath.map_or(0, |multipath| multipath.tuple.port));
        self.lost.resize(self.lost.len().max(port + 1), 0);
        self.lost[port] += 1;
        false
    }
}

/// Parameters of Multipath TCP and of its subflows.
const OWN: &[Parameter] =
    &join::<{ mptcp::Config::PARAMETERS.len() + SETTINGS.len() }>(&[mptcp::Config::PARAMETERS, SETTINGS]);

/// Registry entry.
pub(super) const ENTRY: Entry<Pack> = Entry {
    name: "mptcp",
    aliases: &[],
    title: "Multipath TCP",
    source: "RFC 8684",
    help: "one byte stream over several TCP subflows; TCP's parameters are those of each",
    parameters: &with_keys::<{ count("mptcp", OWN) }>("mptcp", OWN),
    build: Pack {
        expand: like::apply_to_subflows,
        take,
        rules: RULES,
        is_multipath: |_| true,
        memory: (64_000, 0),
        leaves_by_several: |parameters| !parameters.schedule("changes").is_empty(),
        misnamed: ways::misnamed,
        ways: |routing, flow| {
            let planned = |(way, routes)| PlannedWay { routes, addresses: Some(way) };
            ways::subflow_ways(routing, flow).into_iter().map(planned).collect()
        },
        codec: |_, addresses, number| Ok(Box::new(bytes::CaptureCodec::new(addresses, number))),
        dissector: |_| Box::new(Segments::default()),
        kernel: Some(kernel::KERNEL),
        front: Front { hidden: &["like"], ..Front::new(&["scheduler", "path_manager", "cc", "receive_buffer"]) },
        ..Pack::new(ends)
    },
};

const RULES: &[Rule] = &[
    Rule {
        breaks: |_, parameters| parameters.flag("fast_open"),
        problem: "has fast_open, but Multipath TCP's subflows are opened without data; leave fast_open out",
    },
    Rule {
        breaks: |stacks, parameters| stacks[0].is_guest() && !parameters.schedule("changes").is_empty(),
        problem: "has changes, but a guest's interfaces stay as they are; leave changes out, or write \
                  stack = { client = \"vazao\" }",
    },
];

fn take(table: &mut Table, reading: &Reading<'_>) -> Result<Named, ScenarioError> {
    let [scheduler, manager] = ["scheduler", "path_manager"]
        .map(|key| table.take(key).unwrap_or_else(|| default_entry(mptcp::Config::PARAMETERS, key)));
    let scheduler = SchedulerSpec::read(scheduler, reading.schedulers)?;
    let whole = manager.clone();
    let (manager, parameters) = manager.entry("path manager", PATH_MANAGERS)?;
    if reading.has_guest() && manager.build.mesh.is_none() {
        let known = PATH_MANAGERS.iter().filter(|entry| entry.build.mesh.is_some()).map(|entry| entry.name);
        let known = known.rev().collect::<Vec<_>>().join(" or ");
        return Err(whole.error(format!("is not one of Linux's; with stack = \"linux\" write {known}")));
    }
    let path_manager = Some((manager, parameters.parameters(manager.parameters)?));
    Ok(Named { multipath: Some(MultipathSpec { scheduler, path_manager }), ..Named::default() })
}

fn ends(making: &mut Making<'_>, number: usize, _sides: &Sides) -> [Box<dyn Endpoint>; 2] {
    let (scenario, addresses) = (making.scenario, making.addresses);
    let flow = &scenario.flows[number];
    let ways: Vec<_> = ways::subflow_ways(making.routing, flow).into_iter().map(|(way, _)| way).collect();
    let sequences = initial_sequences(scenario.seed, number);
    [0, 1].map(|side| -> Box<dyn Endpoint> {
        let spec = flow.transport.of_side(side);
        let config = making.settings(spec, || config(spec));
        let mut keys = RandomStream::new(scenario.seed, &format!("MPTCP keys/flow {number}/{side}"));
        let identity = mptcp::Identity {
            pairs: ways.clone(),
            addresses: addresses.of_flow(number),
            key: keys.bits(),
            iss: sequences[side],
            metrics: metrics(making, flow, [host(&flow.client), host(&flow.server)], side),
        };
        let open = if side == 0 { Connection::connect } else { Connection::listen };
        Box::new(Mptcp::new(open(config.clone(), identity)))
    })
}

fn config(spec: &Arc<TransportSpec>) -> mptcp::Config {
    let multipath = spec.multipath.as_ref().expect("MPTCP has a scheduler and a path manager");
    let (manager, parameters) = multipath.path_manager.clone().expect("MPTCP has a path manager");
    let tcp = tcp::Config::new(&spec.parameters, spec.control_factory());
    let manager = (manager.build, parameters);
    mptcp::Config::new(&spec.parameters, tcp, multipath.scheduler_factory(), manager)
}

/// State of a connection: its window is the sum over open subflows; it is in slow start while its first subflow is.
impl SenderState for Connection {
    fn cwnd(&self) -> u64 {
        Connection::cwnd(self)
    }
    fn in_slow_start(&self) -> bool {
        SenderState::in_slow_start(self.subflows()[0].tcp())
    }
    fn is_repairing(&self) -> bool {
        self.subflows().iter().any(|subflow| subflow.tcp().is_repairing())
    }
    fn cuts(&self) -> u64 {
        self.subflows().iter().map(|subflow| SenderState::cuts(subflow.tcp())).sum()
    }
    fn sent(&self) -> Sent {
        Sent {
            segments: self.subflows().iter().map(|subflow| subflow.tcp().stats().segments).sum(),
            bytes: self.sent_bytes(),
            flight: self.outstanding(),
        }
    }
    fn paths(&self) -> usize {
        self.subflows().len()
    }
    fn path(&self, number: usize) -> PathState {
        SenderState::path(self.subflows()[number].tcp(), 0)
    }
    fn repair(&self, number: usize) -> Option<Repair> {
        SenderState::repair(self.subflows()[number].tcp(), 0)
    }
}
