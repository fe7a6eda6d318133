//! Running a scenario: its world is built, its guests are started, and what happens is recorded.

use crate::build::{Cast, build};
use crate::capture::{Capture, Output};
use crate::collect::{Outcome, collect};
use crate::flow::FlowSpec;
use crate::library::{Connect, Libraries};
use crate::measure::SenderState;
use crate::plan::HostPlan;
use crate::probe::{Crossing, FlowEnd, Probe, Silent};
use crate::qlog::Log;
use crate::samples::Sample;
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::transport::Protocol;
use crate::world::{Body, Stopped, World};
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vazao_application::Progress;
use vazao_engine::{Ecn, Time};
use vazao_network::{Host, Network};
use vazao_transport::tcp::Extra;
use vazao_transport::{library, quic, sctp};
use vazao_wire::pcapng::Direction;

/// The version of the engine with a digest of its sources: part of every result's identity.
pub const ENGINE_VERSION: &str = env!("VAZAO_ENGINE_VERSION");

impl Scenario {
    /// The identity of its run: a digest of the resolved scenario, seed included, and the engine's version; 16 hex digits.
    pub fn run_id(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(self.json().to_string());
        digest.update(ENGINE_VERSION);
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Starts a guest: the machine that plays it, or why there is none.
pub type Start<'a> = &'a dyn Fn(&HostPlan) -> Result<Box<dyn Host>, String>;

/// Takes records of samples, in their order, off a run's hands.
pub type Spill<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), String>;

/// A run holds about so many samples at most, where there is who takes them.
const HELD: usize = 1 << 16;

/// What a run is given beside its scenario.
#[derive(Default)]
pub struct Options<'a> {
    /// The run's identity, for who knows it already: finding it takes as long as a short run.
    pub id: Option<&'a str>,
    /// Where every packet at a host interface goes as pcapng bytes.
    pub capture: Option<Output<'a>>,
    /// Where qlog of QUIC connections goes: the file's name, without what says that it is qlog, and what to append.
    pub qlog: Option<Output<'a>>,
    /// Where samples go as [records](Sample::to_record) while the run goes on, those but the last; without it all are held.
    pub samples: Option<Spill<'a>>,
    /// Starts guests; without it there are none to be had.
    pub start: Option<Start<'a>>,
    /// Makes the ends that a library plays; without it there are none to be had.
    pub connect: Option<Connect<'a>>,
    /// Where the time of the run, in nanoseconds, is told while it goes on.
    pub clock: Option<&'a AtomicU64>,
}

/// Runs a scenario.
///
/// # Errors
/// When `stop` became true, the capture's output failed, a guest failed, or what the scenario needs is not there.
pub fn run(scenario: &Scenario, stop: &AtomicBool, options: Options<'_>) -> Result<Outcome, Stopped> {
    let Options { id, capture, qlog, samples, start, connect, clock } = options;
    let unwatched = AtomicU64::default();
    let clock = clock.unwrap_or(&unwatched);
    let id = id.map_or_else(|| scenario.run_id(), str::to_owned);
    if qlog.is_some() && !scenario.flows.iter().any(|flow| flow.transport.entry.build == Protocol::Quic) {
        let problem = "there is nothing to log for --qlog: no flow is a QUIC connection";
        return Err(Stopped::NotRun(problem.to_owned()));
    }
    if let (Some(number), true) = (scenario.flows.iter().position(is_unwritable), capture.is_some()) {
        let problem =
            format!("flow {number}: Google's handshake and parity are not written to captures; leave --pcap out");
        return Err(Stopped::NotRun(problem));
    }
    let cast = Cast::new(scenario, capture.is_some() || qlog.is_some()).map_err(Stopped::NotRun)?;
    let libraries = Libraries::new(scenario, connect, qlog.is_some()).map_err(Stopped::NotRun)?;
    if scenario.trace.measures.is_empty() && capture.is_none() && qlog.is_none() {
        let mut world = build(scenario, &cast, libraries, Silent);
        add_guests(&mut world, &cast, start, stop)?;
        world.run(scenario.until, stop, clock)?;
        return Ok(collect(&id, scenario, &mut world, &[]));
    }
    let trace = Trace::new(&scenario.trace, scenario.flows.len(), scenario.graph.links.len());
    let interval = trace.queue_interval();
    let output = capture.map(|output| (Capture::new(scenario, &cast.addresses), output));
    let log = qlog.map(|output| (Log::new(scenario, &cast.addresses), output));
    let mut world = build(scenario, &cast, libraries, Recorder { trace, output, log, spill: samples });
    add_guests(&mut world, &cast, start, stop)?;
    if let Some(interval) = interval {
        world.sample_links(interval);
    }
    world.run(scenario.until, stop, clock)?;
    world.probe.flush(true).map_err(Stopped::Probe)?;
    world.probe.trace.finish();
    let samples = std::mem::take(&mut world.probe.trace.samples);
    Ok(collect(&id, scenario, &mut world, &samples))
}

/// Whether a flow's packets have parts of Google's QUIC that RFC 9000 does not know.
fn is_unwritable(flow: &FlowSpec) -> bool {
    let FlowSpec { transport, .. } = flow;
    let parameters = &transport.parameters;
    transport.entry.build == Protocol::Quic
        && (parameters.text("handshake").starts_with("gquic") || parameters.integer("fec") > 0)
}

/// Starts the guests one after the other, each until it first sleeps.
fn add_guests<P: Probe>(
    world: &mut World<P>,
    cast: &Cast,
    start: Option<Start<'_>>,
    stop: &AtomicBool,
) -> Result<(), Stopped> {
    for guest in &cast.guests {
        let Some(start) = start else {
            return Err(Stopped::NotRun(format!("host {:?}: this build of Vazão has no guests", guest.host.name)));
        };
        let machine = start(&guest.host).map_err(|problem| {
            // That a guest cannot be started is this machine's doing, or its kernel's: no result of the scenario.
            if stop.load(Ordering::Relaxed) { Stopped::Cancelled } else { Stopped::NotRun(problem) }
        })?;
        world.add_guest(guest, machine);
    }
    Ok(())
}

/// Time series, captures and logs.
struct Recorder<'a> {
    trace: Trace,
    output: Option<(Capture, Output<'a>)>,
    log: Option<(Log, Output<'a>)>,
    spill: Option<Spill<'a>>,
}

impl Recorder<'_> {
    fn flush(&mut self, all: bool) -> Result<(), String> {
        self.output.as_mut().map_or(Ok(()), |(capture, output)| capture.flush(all, *output))?;
        self.log.as_mut().map_or(Ok(()), |(log, output)| log.flush(all, *output))
    }

    fn spill(&mut self) -> Result<(), String> {
        let Some(spill) = &mut self.spill else { return Ok(()) };
        if self.trace.samples.len() < HELD {
            return Ok(());
        }
        let records: Vec<u8> = self.trace.samples.drain(..).flat_map(Sample::to_record).collect();
        spill(&records)
    }
}

impl Probe for Recorder<'_> {
    const ON: bool = true;

    fn on_send(&mut self, now: Time, end: FlowEnd, body: &Body, extra: &Extra) {
        if let Some((capture, _)) = &mut self.output {
            capture.body(now, end, Direction::Outbound, body, Some(extra));
        }
    }
    fn on_receive(&mut self, now: Time, end: FlowEnd, body: &Body, extra: Option<&Extra>) {
        if let Some((capture, _)) = &mut self.output {
            capture.body(now, end, Direction::Inbound, body, extra);
        }
    }
    fn on_parcel(&mut self, now: Time, end: FlowEnd, way: Direction, path: u8, packet: &sctp::Packet) {
        if let Some((capture, _)) = &mut self.output {
            capture.parcel(now, end, way, path, packet);
        }
    }
    fn watches_connections(&self) -> bool {
        self.log.is_some()
    }
    fn on_datagram(&mut self, now: Time, end: FlowEnd, crossing: Crossing<'_>, connection: &mut quic::Connection) {
        if let Some((capture, _)) = &mut self.output {
            capture.datagram(now, end, crossing);
        }
        if let Some((log, _)) = &mut self.log {
            log.datagram(now, end, crossing, connection);
        }
    }
    fn on_timeout(&mut self, now: Time, end: FlowEnd, connection: &mut quic::Connection) {
        if let Some((log, _)) = &mut self.log {
            log.timeout(now, end, connection);
        }
    }
    fn on_payload(&mut self, now: Time, end: FlowEnd, way: Direction, datagram: &library::Datagram, ecn: Ecn) {
        if let Some((capture, _)) = &mut self.output {
            capture.payload(now, end, way, datagram, ecn);
        }
        if let Some((log, _)) = &mut self.log {
            log.payload(end, way, &datagram.payload);
        }
    }
    fn on_log(&mut self, now: Time, end: FlowEnd, records: &[u8]) {
        if let Some((log, _)) = &mut self.log {
            log.records(now, end, records);
        }
    }
    fn on_secrets(&mut self, flow: usize, lines: &str) {
        if let Some((capture, _)) = &mut self.output {
            capture.secrets(flow, lines);
        }
        if let Some((log, _)) = &mut self.log {
            log.secrets(flow, lines);
        }
    }
    fn on_bytes(&mut self, now: Time, interface: usize, direction: Direction, packet: &[u8]) {
        if let Some((capture, _)) = &mut self.output {
            capture.bytes(now, interface, direction, packet);
        }
    }
    #[inline]
    fn on_sender(&mut self, now: Time, flow: u32, sender: &impl SenderState) {
        self.trace.on_sender(now, flow, sender);
    }
    fn on_notification(&mut self, now: Time, end: FlowEnd, what: sctp::Notification) {
        self.trace.on_notification(now, end, what);
    }
    fn on_progress(&mut self, now: Time, flow: usize, progress: Progress) {
        self.trace.on_progress(now, flow, progress);
    }
    fn on_links(&mut self, now: Time, network: &mut Network<Body>) -> bool {
        self.trace.on_links(now, network)
    }
    fn check(&mut self) -> Result<(), String> {
        self.spill()?;
        self.flush(false)
    }
}
