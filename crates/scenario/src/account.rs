//! What a flow came to, whoever played its ends.

use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::measure::{FlowMeasure, SenderState};
use crate::multipath::Bundle;
use crate::transport::Protocol;
use crate::world::{End, Endpoint, Flow, World};
use std::borrow::Cow;
use vazao_application::{Sides, Viewing};
use vazao_engine::{Duration, Histogram, Time};
use vazao_transport::library::Library;
use vazao_transport::mptcp;
use vazao_transport::quic;
use vazao_transport::sctp::Association;
use vazao_transport::tcp::Connection;
use vazao_transport::udp;

/// What a flow came to.
#[derive(Clone)]
pub(crate) struct Account<'a> {
    /// Bytes that the receiving application has read.
    pub app_bytes: u64,
    pub first_byte: Option<Time>,
    pub last_byte: Option<Time>,
    /// `None`: the flow has no end of its own.
    pub completed: Option<bool>,
    /// `None`: nobody has checked its bytes.
    pub intact: Option<bool>,
    /// When the client's connection stood.
    pub established: Option<Time>,
    pub sender: Counts<'a>,
    pub arrivals: Arrivals,
    pub measure: Cow<'a, FlowMeasure>,
    /// How long each message took that was delivered, if there are such.
    pub messages: Option<&'a Histogram>,
    /// Why an end gave up, in its own words.
    pub failure: Option<String>,
    /// How many connections it had, if that is its application's choice.
    pub connections: Option<u64>,
    /// What the viewer of a video has seen.
    pub viewing: Option<Viewing>,
}

/// What a sender counted. `None`: its stack does not say.
#[derive(Clone, Default)]
pub(crate) struct Counts<'a> {
    pub packets: u64,
    pub retransmissions: Option<u64>,
    pub fast_retransmissions: Option<u64>,
    pub timeout_retransmissions: Option<u64>,
    pub timeouts: Option<u64>,
    pub recoveries: Option<u64>,
    pub duplicate_acks: Option<u64>,
    pub spurious_retransmissions: Option<u64>,
    pub spurious_timeouts: Option<u64>,
    pub mark_reductions: Option<u64>,
    pub parity_packets: Option<u64>,
    pub messages_abandoned: Option<u64>,
    /// Of one TCP connection: for how long it had something to do, for how long the receiver's window alone kept it from that,
    /// and by how many segments it believes the network to reorder.
    pub busy: Option<Duration>,
    pub rwnd_limited: Option<Duration>,
    pub reordering: Option<u64>,
    /// What only a connection over several subflows counts.
    pub multipath: Option<&'a mptcp::Stats>,
    pub rtt: Cow<'a, Histogram>,
    pub srtt: Option<Duration>,
    /// Whether its connection has ended, so that it has no window any more.
    pub is_over: bool,
}

/// What a receiver counted beside bytes. `None`: its protocol or its stack does not say.
#[derive(Clone, Copy, Default)]
pub(crate) struct Arrivals {
    /// Packets that never came; where a receiver cannot tell, those that the network dropped.
    pub lost: u64,
    /// Packets with nothing that had not arrived before.
    pub duplicates: Option<u64>,
    /// Packets overtaken by later ones.
    pub reordered: Option<u64>,
    /// Packets that came only as what parity made of the others.
    pub recovered: Option<u64>,
}

/// What the two applications of a flow agree on once both are done.
struct Ends {
    written: Option<u64>,
    closed: bool,
    in_order: bool,
    /// Where messages may be given up: whether each was delivered, or reported to be given up.
    accounted: Option<bool>,
}

impl<'a> Account<'a> {
    /// The account of flow `number`, whose application was started as `sides`.
    pub fn of<P>(world: &'a World<P>, number: usize, sides: &Sides) -> Account<'a> {
        let flow = &world.flows[number];
        let machine = |end| match end {
            End::Machine(index) => Some(&world.endpoints[index as usize]),
            End::Guest(_) => None,
        };
        let (sender, receiver) = (machine(flow.sender()), machine(flow.receiver()));
        let ledger = if sender.is_none() || receiver.is_none() { Some(world.guests.ledger(number)) } else { None };
        let written = match sender {
            Some(sender) => sender.application.written(),
            None => ledger.and_then(|ledger| ledger.written),
        };
        let mut account = Account {
            app_bytes: 0,
            first_byte: None,
            last_byte: None,
            completed: None,
            intact: None,
            established: match machine(flow.ends[0]) {
                Some(client) => client.ready(),
                None => ledger.and_then(|ledger| ledger.established),
            },
            sender: match (sender, ledger) {
                (Some(sender), _) => Counts::of_machine(&sender.machine, world.now, flow.measure.last_event()),
                (None, Some(ledger)) => Counts::of_guest(ledger),
                (None, None) => unreachable!("a flow without a machine has a ledger"),
            },
            arrivals: Arrivals::of(flow, receiver.map(|receiver| &receiver.machine), ledger),
            messages: sender.zip(receiver).and_then(|(sender, receiver)| message_latency(sender, receiver)),
            measure: Cow::Borrowed(&flow.measure),
            failure: ledger.and_then(|ledger| ledger.failure.clone()),
            connections: None,
            viewing: None,
        };
        match (receiver, ledger) {
            (Some(receiver), _) => account.read_machine(sender, receiver, written),
            (None, Some(ledger)) => {
                account.read_guest(flow, ledger, written, world.guests.protocol(number), sides.is_program());
            }
            (None, None) => unreachable!("a flow without a machine has a ledger"),
        }
        // What happens to a connection whose work is done is no failure of the flow.
        if account.completed != Some(true) && account.failure.is_none() {
            account.failure = machine_failure(sender, receiver, flow);
        }
        if sides.is_endless() {
            account.completed = None;
        }
        account
    }

    /// What one of our receivers read.
    fn read_machine(&mut self, sender: Option<&Endpoint>, receiver: &Endpoint, written: Option<u64>) {
        let Some(sink) = receiver.application.sink() else {
            // What was read of a visit the visit knows.
            self.intact = Some(receiver.machine.misplaced() == 0);
            return;
        };
        self.app_bytes = sink.received();
        (self.first_byte, self.last_byte) = (sink.first_byte(), sink.last_byte());
        let closed = sink.is_closed();
        let in_order = !sink.is_disordered() && receiver.machine.misplaced() == 0;
        match &receiver.machine {
            Machine::Quic(connection) if connection.is_unreliable() => {
                self.conclude_datagrams(Ends { written, closed, in_order, accounted: None });
            }
            Machine::Tcp(_) | Machine::Mptcp(_) | Machine::Quic(_) | Machine::Library(_) => {
                self.conclude(Ends { written, closed, in_order, accounted: None });
            }
            Machine::Udp(_) => self.conclude_datagrams(Ends { written, closed, in_order, accounted: None }),
            Machine::Sctp(end) => {
                let accounted = sender.and_then(|sender| is_accounted(&sender.machine, &end.association));
                self.conclude(Ends { written, closed, in_order, accounted });
            }
        }
    }

    /// What a guest's receiver reported.
    fn read_guest(&mut self, flow: &Flow, ledger: &Ledger, written: Option<u64>, protocol: Protocol, program: bool) {
        self.app_bytes = ledger.received;
        (self.first_byte, self.last_byte) = (ledger.first, ledger.last);
        if program || protocol == Protocol::Udp {
            // The end of a datagram flow is no data, and programs do not report: the arrivals are what there is.
            (self.first_byte, self.last_byte) = ledger.arrived.unzip();
        }
        if program {
            self.app_bytes = ledger.delivered;
            // Commands are done when the client's is; a server often never ends.
            self.completed = Some(flow.is_over(0) && ledger.failure.is_none());
            return;
        }
        let ends = Ends { written, closed: ledger.closed, in_order: !ledger.wrong, accounted: None };
        if protocol == Protocol::Udp {
            return self.conclude_datagrams(ends);
        }
        self.conclude(ends);
    }

    /// What a datagram flow loses is lost: it is complete when its end was heard of, and anything of it.
    fn conclude_datagrams(&mut self, ends: Ends) {
        let is_heard = self.app_bytes > 0 || ends.written == Some(0);
        self.completed = Some(ends.closed && ends.written.is_some() && is_heard);
        self.intact = Some(ends.in_order && ends.written.is_none_or(|written| self.app_bytes <= written));
    }

    /// Every byte read once, in order, from where its sender took it, and none more than was written.
    fn conclude(&mut self, Ends { written, closed, in_order, accounted }: Ends) {
        let all = accounted.map_or(written == Some(self.app_bytes), |accounted| accounted && written.is_some());
        self.completed = Some(closed && all);
        let none_more = written.is_none_or(|written| self.app_bytes <= written);
        // A sender that gave up never said how much it has written.
        self.intact = Some(in_order && none_more && (!closed || written.is_none() || all));
    }

    /// The rate that counts for fairness: over the flow's own time if it completed, else over all the time it had, so
    /// that a flow which starved or stalled counts as the slow one it was.
    pub fn share(&self, start: Time, end: Time) -> f64 {
        let over = if self.completed == Some(true) { self.last_byte.unwrap_or(end) } else { end };
        let span = over.since(start).as_secs();
        if span > 0.0 { 8.0 * self.app_bytes as f64 / span } else { 0.0 }
    }

    /// Bits a second from the flow's start to its last byte.
    pub fn rate(&self, start: Time, bytes: u64) -> Option<f64> {
        let span = self.last_byte?.since(start).as_secs();
        (span > 0.0).then(|| 8.0 * bytes as f64 / span)
    }
}

/// Why ends of ours gave up, and at which side.
fn machine_failure(sender: Option<&Endpoint>, receiver: Option<&Endpoint>, flow: &Flow) -> Option<String> {
    let ends = if flow.client_sends { [sender, receiver] } else { [receiver, sender] };
    let said: Vec<String> = ["client", "server"]
        .iter()
        .zip(ends)
        .filter_map(|(side, end)| Some(format!("{side}: {}", end?.machine.failure()?)))
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Whether every message of a sender's was delivered or reported to be given up, if they may be: what an association has
/// lost with its restart may be both.
fn is_accounted(sender: &Machine, receiver: &Association) -> Option<bool> {
    let Machine::Sctp(sender) = sender else { return None };
    let (sender, stats) = (&sender.association, sender.association.stats());
    let all = stats.messages_sent + stats.abandoned_unsent;
    if stats.reopened + receiver.stats().reopened > 0 {
        return Some(receiver.stats().messages_delivered + stats.messages_abandoned >= all);
    }
    let mut either = sender.abandoned_messages()?.clone();
    receiver.delivered_messages()?.iter().for_each(|(start, end)| either.insert(start, end, |_, _| {}));
    let count: u64 = either.iter().map(|(start, end)| end - start).sum();
    Some(count == all)
}

/// How long messages took between two ends that are ours: as the side that wrote them knows, or the datagrams' receiver.
fn message_latency<'a>(sender: &'a Endpoint, receiver: &'a Endpoint) -> Option<&'a Histogram> {
    let messages = sender.application.messages().or(receiver.application.messages())?;
    match &receiver.machine {
        Machine::Udp(endpoint) => Some(&endpoint.stats().latency),
        _ => Some(messages.latency()),
    }
}

impl Arrivals {
    fn of(flow: &Flow, receiver: Option<&Machine>, ledger: Option<&Ledger>) -> Arrivals {
        let dropped = Arrivals { lost: flow.measure.lost, ..Arrivals::default() };
        match (receiver, ledger) {
            (Some(Machine::Tcp(connection)), _) => {
                Arrivals { duplicates: Some(connection.stats().duplicates_received), ..dropped }
            }
            (Some(Machine::Mptcp(end)), _) => {
                Arrivals { duplicates: Some(end.sum(|stats| stats.duplicates_received)), ..dropped }
            }
            (Some(Machine::Quic(connection)), _) => {
                let stats = connection.stats();
                Arrivals { duplicates: Some(stats.duplicates_received), recovered: Some(stats.recovered), ..dropped }
            }
            (Some(Machine::Sctp(end)), _) => {
                Arrivals { duplicates: Some(end.association.stats().duplicates_received), ..dropped }
            }
            (Some(Machine::Udp(endpoint)), _) => {
                let stats = endpoint.stats();
                let (duplicates, reordered) = (Some(stats.duplicates), Some(stats.reordered));
                Arrivals { lost: endpoint.lost(), duplicates, reordered, recovered: None }
            }
            (None, Some(ledger)) => {
                let stats = ledger.datagrams.as_ref().map(udp::Endpoint::stats);
                let (duplicates, reordered) = stats.map(|stats| (stats.duplicates, stats.reordered)).unzip();
                Arrivals { duplicates, reordered, ..dropped }
            }
            (Some(Machine::Library(_)), _) | (None, None) => dropped,
        }
    }
}

impl<'a> Counts<'a> {
    /// What an end of ours counted by `now`; it handled something for the last time at `last_event`.
    fn of_machine(sender: &'a Machine, now: Time, last_event: Time) -> Counts<'a> {
        match sender {
            Machine::Tcp(connection) => {
                Counts::of_connection(connection, if connection.is_over() { last_event } else { now })
            }
            Machine::Udp(endpoint) => Counts::of_datagrams(endpoint.sent()),
            Machine::Sctp(end) => Counts::of_association(&end.association),
            Machine::Mptcp(end) => Counts::of_bundle(end),
            Machine::Quic(connection) => Counts::of_quic(connection),
            Machine::Library(end) => Counts::of_library(&**end),
        }
    }

    /// A sender that hears nothing knows only what it sent.
    fn of_datagrams(packets: u64) -> Counts<'a> {
        Counts { packets, is_over: true, ..Counts::default() }
    }

    fn of_connection(sender: &'a Connection, end: Time) -> Counts<'a> {
        let stats = sender.stats();
        Counts {
            packets: stats.segments,
            retransmissions: Some(stats.retransmissions),
            fast_retransmissions: Some(stats.fast_retransmissions),
            timeout_retransmissions: Some(stats.timeout_retransmissions),
            timeouts: Some(stats.timeouts),
            recoveries: Some(stats.recoveries),
            duplicate_acks: Some(stats.duplicate_acks),
            spurious_retransmissions: Some(stats.spurious_retransmissions),
            spurious_timeouts: Some(stats.spurious_timeouts),
            mark_reductions: Some(stats.mark_reductions),
            busy: Some(sender.busy_time(end)),
            rwnd_limited: Some(sender.rwnd_limited(end)),
            reordering: sender.reordering(),
            rtt: Cow::Borrowed(&stats.rtt),
            srtt: (stats.rtt.count() > 0).then(|| sender.rtt().srtt()),
            is_over: sender.is_over(),
            ..Counts::default()
        }
    }

    /// Retransmissions are packets with data that had been sent before; timeouts are the probe timer's.
    fn of_quic(sender: &'a quic::Connection) -> Counts<'a> {
        let stats = sender.stats();
        Counts {
            packets: stats.datagrams,
            retransmissions: Some(stats.retransmissions),
            timeouts: Some(stats.probes),
            recoveries: Some(stats.recoveries),
            mark_reductions: Some(stats.mark_reductions),
            parity_packets: Some(stats.parities),
            spurious_retransmissions: Some(stats.spurious_losses),
            rtt: Cow::Borrowed(&stats.rtt),
            srtt: sender.is_measured().then(|| sender.rtt().srtt()),
            is_over: sender.is_over(),
            ..Counts::default()
        }
    }

    /// Retransmissions are packets declared lost: the content of each is sent again. How often its timer expired a library
    /// does not say.
    fn of_library(sender: &dyn Library) -> Counts<'a> {
        let report = sender.report();
        Counts {
            packets: report.datagrams,
            retransmissions: Some(report.lost),
            recoveries: Some(report.cuts),
            rtt: Cow::Owned(sender.rtt()),
            srtt: report.srtt,
            is_over: sender.is_over(),
            ..Counts::default()
        }
    }

    /// Of all subflows together; what a subflow sends for another is not a retransmission of its own.
    fn of_bundle(end: &'a Bundle) -> Counts<'a> {
        let rtt = end.rtt();
        let srtts = end.connection.subflows().iter().map(|subflow| subflow.tcp().rtt().srtt());
        Counts {
            packets: end.sum(|stats| stats.segments),
            retransmissions: Some(end.sum(|stats| stats.retransmissions)),
            fast_retransmissions: Some(end.sum(|stats| stats.fast_retransmissions)),
            timeout_retransmissions: Some(end.sum(|stats| stats.timeout_retransmissions)),
            timeouts: Some(end.sum(|stats| stats.timeouts)),
            recoveries: Some(end.sum(|stats| stats.recoveries)),
            duplicate_acks: Some(end.sum(|stats| stats.duplicate_acks)),
            spurious_retransmissions: Some(end.sum(|stats| stats.spurious_retransmissions)),
            spurious_timeouts: Some(end.sum(|stats| stats.spurious_timeouts)),
            mark_reductions: Some(end.sum(|stats| stats.mark_reductions)),
            multipath: Some(end.connection.stats()),
            srtt: srtts.filter(|_| rtt.count() > 0).min(),
            rtt: Cow::Owned(rtt),
            is_over: end.connection.is_over(),
            ..Counts::default()
        }
    }

    /// Retransmissions are chunks, of all paths together.
    fn of_association(sender: &'a Association) -> Counts<'a> {
        let stats = sender.stats();
        Counts {
            packets: stats.packets,
            retransmissions: Some(sender.sum(|path| path.retransmissions)),
            fast_retransmissions: Some(sender.sum(|path| path.fast_retransmissions)),
            timeout_retransmissions: Some(sender.sum(|path| path.timeout_retransmissions)),
            timeouts: Some(sender.sum(|path| path.timeouts)),
            recoveries: Some(sender.sum(|path| path.recoveries)),
            spurious_retransmissions: Some(stats.duplicate_reports),
            messages_abandoned: Some(stats.messages_abandoned),
            rtt: Cow::Borrowed(&stats.rtt),
            srtt: sender.srtt(),
            is_over: sender.is_over(),
            ..Counts::default()
        }
    }

    fn of_guest(ledger: &'a Ledger) -> Counts<'a> {
        let connections = &ledger.connections;
        let is_tcp = !connections.is_empty();
        let sum =
            |count: fn(&crate::meter::TcpMeter) -> u64| is_tcp.then(|| connections.iter().map(|(_, m)| count(m)).sum());
        let mut rtt = Histogram::default();
        connections.iter().for_each(|(_, meter)| rtt.merge(&meter.rtt));
        Counts {
            packets: ledger.packets,
            retransmissions: sum(|meter| meter.retransmissions).or(ledger.paths.retransmissions),
            timeouts: ledger.info.timeouts.or_else(|| ledger.paths.timeouts()),
            duplicate_acks: sum(|meter| meter.duplicate_acks),
            busy: ledger.info.busy,
            rwnd_limited: ledger.info.rwnd_limited,
            reordering: ledger.info.reordering,
            rtt: Cow::Owned(rtt),
            srtt: ledger.info.srtt().or(ledger.paths.paths.first().and_then(|path| path.srtt)),
            is_over: ledger.written.is_some(),
            ..Counts::default()
        }
    }
}
