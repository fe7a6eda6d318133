//! SCTP: associations whose packets go by several paths.

pub(crate) mod bytes;
mod dissector;
mod guest;
mod kernel;
mod read;

use super::{IP_HEADER, Means, forward, measured, path_state};
use crate::endpoint::{Arrival, Body, Content, Contents, Departure, Endpoint, Inflow, Notice, Turn, known};
use crate::measures::counts::{Counts, PathReport, Tally};
use crate::measures::measure::FlowMeasure;
use crate::measures::series::{PathState, SenderState, Sent};
use crate::model::address::initial_sequences;
use crate::model::protocol::{Controls, Front, Needs, Rule, Service};
use crate::model::routes::PlannedWay;
use crate::model::scenario::{Making, Pack};
use crate::model::ways::{paired_ways, ways_between};
use crate::stacks::{count, join, with_keys};
use std::borrow::Cow;
use vazao_application::{Application, Sides};
use vazao_engine::registry::{Entry, Parameter, Parameters};
use vazao_engine::{Ecn, RandomStream, Time};
use vazao_transport::ByteStream;
use vazao_transport::common::Limit;
use vazao_transport::sctp::{self, Association, Subject};
use vazao_transport::tls::{self, Session};

/// One end of an association.
pub(crate) struct Sctp {
    pub association: Association,
    /// DTLS over it.
    session: Option<Box<Session>>,
    /// Dropped packets to this end, by path.
    lost: Vec<u64>,
    windows: Means,
}

impl Content for sctp::Packet {
    fn clear(&mut self) {
        sctp::Packet::clear(self);
    }
}

impl Sctp {
    pub fn new(association: Association) -> Sctp {
        Sctp { lost: vec![0; association.paths().len()], windows: Means::default(), session: None, association }
    }

    /// Records the current windows.
    fn watch(&mut self, now: Time) {
        for (number, path) in self.association.paths().iter().enumerate() {
            self.windows.watch(now, number, path.cwnd());
        }
    }
}

impl Endpoint for Sctp {
    forward!(association, then watch);
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool {
        let Body::Kept { content, path } = *arrival.body else { return false };
        let packet: &sctp::Packet = arrival.contents.get(content);
        self.association.handle(now, usize::from(path), packet);
        self.watch(now);
        !packet.data.is_empty()
    }
    fn drive(&mut self, now: Time, application: &mut Application) {
        self.association.set_clock(now);
        match &mut self.session {
            None => application.drive(now, &mut self.association),
            Some(session) => {
                session.pump(now, &mut self.association);
                application.drive(now, &mut session.over(&mut self.association));
            }
        }
        while let Some(message) = self.association.next_settled() {
            application.abandon_message(message);
        }
    }
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool) {
        match &mut self.session {
            None => turn.on(&mut self.association),
            Some(session) => turn.on(&mut session.over(&mut self.association)),
        }
    }
    fn poll_transmit(&mut self, now: Time, contents: &mut Contents) -> Option<Departure> {
        let (content, packet) = contents.fresh::<sctp::Packet>();
        let Some(path) = self.association.poll_transmit(now, packet) else {
            packet.clear();
            contents.give_back::<sctp::Packet>(content);
            return None;
        };
        let body = Body::Kept { content, path: path as u8 };
        Some(Departure { body, size: IP_HEADER + packet.bytes(), way: path, ecn: Ecn::NotEct })
    }
    fn ready(&self) -> Option<Time> {
        self.session.as_ref().map_or(self.association.stats().established, |session| session.ready())
    }
    fn is_isolated(&self) -> bool {
        self.session.is_none()
    }
    fn unsent(&self) -> u64 {
        self.association.unsent()
    }
    fn stands_until(&self, now: Time) -> Option<Time> {
        self.association.stands_until(now)
    }
    fn shrink(&mut self) {
        self.association.shrink();
    }
    /// Returns the counts; retransmissions are chunks, of all paths together.
    fn counts(&self, _end: Time) -> Counts<'_> {
        let sender = &self.association;
        let stats = sender.stats();
        let of_paths = Tally::sum(sender.paths().iter().map(|path| Tally::of(path.stats().counts())));
        Counts {
            tally: of_paths.with_all(stats.counts()),
            rtt: Cow::Borrowed(&stats.rtt),
            srtt: measured(sender.paths()[0].rtt().srtt()),
            is_over: sender.is_over(),
        }
    }
    fn arrivals(&self, dropped: u64) -> Tally {
        Tally::of(self.association.stats().arrivals()).with("packets_lost", dropped)
    }
    fn paths(&self, receiver: Option<&dyn Endpoint>, start: Time, end: Time) -> Option<Vec<PathReport>> {
        let receiver: &Sctp = known(receiver?)?;
        let paths = self.association.paths().iter().zip(self.windows.over(start, end));
        let report = |(way, (path, cwnd_mean)): (usize, (&sctp::Path, Option<f64>))| {
            let stats = path.stats();
            PathReport {
                way: Some(way),
                tally: Tally::of(stats.counts())
                    .with("bytes", stats.bytes)
                    .with("packets_sent", stats.packets)
                    .with("packets_lost", receiver.lost[way])
                    .and("srtt_s", measured(path.rtt().srtt()))
                    .and("cwnd_mean_bytes", cwnd_mean),
            }
        };
        Some(paths.enumerate().map(report).collect())
    }
    fn inflows(&self) -> Vec<Inflow> {
        let streams = (0..).zip(self.association.inbound_streams());
        let inflow =
            |(stream, (read, waiting))| Inflow { stream, read, counts_messages: true, waiting, ..Inflow::default() };
        streams.map(inflow).collect()
    }
    fn misplaced(&self) -> u64 {
        self.association.stats().misplaced
    }
    /// After a restart a message may have been both delivered and abandoned.
    fn accounts_for(&self, sender: &dyn Endpoint) -> Option<bool> {
        let (sender, receiver) = (&known::<Sctp>(sender)?.association, &self.association);
        let stats = sender.stats();
        let all = stats.messages_sent + stats.abandoned_unsent;
        if stats.reopened + receiver.stats().reopened > 0 {
            return Some(receiver.stats().messages_delivered + stats.messages_abandoned >= all);
        }
        let mut either = sender.abandoned_messages()?.clone();
        receiver.delivered_messages()?.iter().for_each(|(start, end)| either.insert(start, end, |_, _| {}));
        let count: u64 = either.iter().map(|(start, end)| end - start).sum();
        Some(count == all)
    }
    fn watch_messages(&mut self, is_receiver: bool) {
        // With DTLS messages are records, which the application does not see.
        if is_receiver && self.session.is_none() {
            self.association.watch_messages();
        }
    }
    fn watch_notices(&mut self) {
        self.association.watch_notifications();
    }
    /// Credits message by message: with several streams they are read out of order.
    fn credit(&mut self, now: Time, own: &Application, _: &mut dyn Endpoint, application: &mut Application) {
        if let (Some(_), Some(sink)) = (&self.session, own.sink()) {
            application.deliver(now, sink.received());
        }
        while let Some(message) = self.association.next_read() {
            application.deliver_message(now, message);
        }
    }
    fn notices(&mut self) -> Vec<Notice> {
        let notice = |what: sctp::Notification| {
            let Subject { path, number } = what.subject();
            Notice { code: what.code(), path, number }
        };
        self.association.notifications().into_iter().map(notice).collect()
    }
    fn note_drop(&mut self, body: &Body, _contents: &Contents) -> bool {
        if let Body::Kept { path, .. } = body {
            self.lost[usize::from(*path)] += 1;
        }
        false
    }
}

/// Parameters of SCTP and of DTLS.
const OWN: &[Parameter] = &join::<{ sctp::Config::PARAMETERS.len() + tls::DatagramSettings::PARAMETERS.len() }>(&[
    sctp::Config::PARAMETERS,
    tls::DatagramSettings::PARAMETERS,
]);

/// Registry entry.
pub(super) const ENTRY: Entry<Pack> = Entry {
    name: "sctp",
    aliases: &[],
    title: "Stream Control Transmission Protocol",
    source: "RFC 9260",
    help: "reliable messages in streams over one path, several in turn (failover), or several at once (cmt); \
           trace = [\"notifications\"] records what its applications are told (RFC 6458)",
    parameters: &with_keys::<{ count("sctp", OWN) }>("sctp", OWN),
    build: Pack {
        tls: tls::Config::over_messages,
        // SCTP's own control is RFC 9260 section 7's, or the kernel's.
        controls: Controls::Own("sctp"),
        slow_start: ("standard", false),
        rules: RULES,
        needs: NEEDS,
        is_multipath: |_| true,
        service,
        memory: (32_000, 150),
        load: |_| (1448.0, 0.5),
        // One segment for a SACK, and about the initial window of RFC 3390 (RFC 9260 section 7.2.1).
        growth: |parameters, mss| (1.0, parameters.size("initial_window").unwrap_or(3 * mss)),
        ways: |routing, flow| {
            let is_multihomed = flow.transport.parameters.flag("multihomed");
            let ways = if is_multihomed { paired_ways(routing, flow) } else { vec![flow.routes.clone()] };
            ways.into_iter().map(PlannedWay::from).collect()
        },
        every_way: ways_between,
        codec: |_, addresses, number| Ok(Box::new(bytes::Bytes::new(addresses, number, false))),
        dissector: |_| Box::new(dissector::Chunks::default()),
        kernel: Some(kernel::KERNEL),
        front: Front {
            sequence: "",
            ..Front::new(&["cmt", "cc", "cwnd_growth", "streams", "scheduler", "receive_buffer", "buffer_split"])
        },
        ..Pack::new(ends)
    },
};

const RULES: &[Rule] = &[
    Rule {
        breaks: |[client, server], parameters| client != server && mixes(parameters),
        problem: "a guest reads one stream, in order; leave streams and unordered out, or stack",
    },
    Rule {
        breaks: |_, parameters| {
            let is_whole = parameters.text("partial_reliability") == "none" && parameters.duration("restart").is_none();
            parameters.text("dtls") != "none" && (mixes(parameters) || !is_whole)
        },
        problem: "dtls is modelled for one stream, in order, from which nothing is left out; leave streams, unordered, \
                  partial_reliability and restart out, or dtls",
    },
];

const NEEDS: &[Needs] = &[
    Needs {
        key: "lifetime",
        has_effect: |parameters| parameters.text("partial_reliability") == "timed",
        problem: "has an effect with partial_reliability = \"timed\" only; write that beside it, or leave it out",
    },
    Needs {
        key: "max_retransmissions",
        has_effect: |parameters| parameters.text("partial_reliability") == "retransmissions",
        problem: "has an effect with partial_reliability = \"retransmissions\" only; write that beside it, or leave it out",
    },
    Needs {
        key: "weights",
        has_effect: |parameters| parameters.text("scheduler") == "weighted-fair-queueing",
        problem: "has an effect with scheduler = \"weighted-fair-queueing\" only; write that beside it, or leave it out",
    },
];

fn mixes(parameters: &Parameters) -> bool {
    parameters.integer("streams") > 1 || parameters.flag("unordered")
}

fn service(parameters: &Parameters) -> Service {
    let is_partial = parameters.text("partial_reliability") != "none";
    Service {
        mixes: mixes(parameters),
        has_messages: true,
        keeps_requests_apart: true,
        http: &["2", "1.1"],
        gives_up: if is_partial {
            Some("partial_reliability gives up")
        } else {
            parameters.duration("restart").map(|_| "a restart loses")
        },
        ..Service::default()
    }
}

fn ends(making: &mut Making<'_>, number: usize, _sides: &Sides) -> [Box<dyn Endpoint>; 2] {
    let scenario = making.scenario;
    let flow = &scenario.flows[number];
    let spec = &flow.transport;
    let config = making.settings(spec, || {
        let control = (spec.control.name != "sctp").then(|| spec.control_factory());
        let mut config = sctp::Config::from((&spec.parameters, flow.application.1.size("message"), control));
        if let Some(tls) = spec.tls {
            // A message is a record with what DTLS adds to it, and without a size of its own fills a packet.
            let whole = u64::from(config.largest_fragment(config.interleaving));
            config.message = Some(config.message.map_or(whole, |bytes| bytes.min(MESSAGE) + tls.overhead()));
        }
        config
    });
    let sessions = spec.tls.map(|tls| {
        let record = config.message.map(|message| message - tls.overhead());
        Session::pair(tls::Config { datagram: record, ..tls })
    });
    let [first, second] = sessions.map_or([None, None], |pair| pair.map(|session| Some(Box::new(session))));
    let mut sessions = [first, second];
    let paths = flow.ways(making.routing).len();
    let tags = initial_sequences(scenario.seed, number);
    [0, 1].map(|side| -> Box<dyn Endpoint> {
        let tsn = RandomStream::new(scenario.seed, &format!("initial TSN/flow {number}/{side}")).bits() as u32;
        let open = if side == 0 { Association::connect } else { Association::listen };
        let association = open(config.clone(), paths, tags[side], tsn);
        Box::new(Sctp { session: sessions[side].take(), ..Sctp::new(association) })
    })
}

/// Largest message over DTLS: it is one record (RFC 6083 section 3.2).
const MESSAGE: u64 = 1 << 14;

/// State of an association: its window is the sum over usable paths; it is in slow start while its primary path is.
impl SenderState for Association {
    #[inline]
    fn cwnd(&self) -> u64 {
        Association::paths(self).iter().filter(|path| path.is_usable()).map(|path| path.cwnd()).sum()
    }
    fn in_slow_start(&self) -> bool {
        Association::paths(self)[0].in_slow_start()
    }
    fn is_repairing(&self) -> bool {
        (0..Association::paths(self).len()).any(|path| self.is_recovering(path))
    }
    fn cuts(&self) -> u64 {
        self.sum(|path| path.recoveries + path.timeouts)
    }
    fn sent(&self) -> Sent {
        Sent { segments: self.stats().packets, bytes: self.sent_bytes(), flight: self.flight() }
    }
    fn paths(&self) -> usize {
        Association::paths(self).len()
    }
    fn path(&self, number: usize) -> PathState {
        let path = &Association::paths(self)[number];
        let state = path_state(path.cwnd(), path.ssthresh(), path.rtt(), path.flight());
        PathState { phase: path.phase(), ..state }
    }
}
