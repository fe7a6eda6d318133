//! Running a scenario and collecting what was measured.

use crate::build::{build, build_capture, link_id};
use crate::capture::{Capture, Output};
use crate::probe::{Probe, Silent};
use crate::scenario::{MEASURES, Scenario};
use crate::table::{Cell, Column, Table, table};
use crate::trace::{QUEUE, Sample, Trace};
use crate::world::{Endpoint, Flow, Stopped, World};
use sha2::{Digest, Sha256};
use std::sync::atomic::AtomicBool;
use vazao_application::{Application, Sink};
use vazao_engine::Time;
use vazao_network::{LinkReport, Network, Packet};
use vazao_transport::tcp::{Connection, Extra, Segment};
use vazao_wire::pcapng::Direction;

/// The version of the engine with a digest of its sources: part of every result's identity.
pub const ENGINE_VERSION: &str = env!("VAZAO_ENGINE_VERSION");

/// The tables of one run, keyed by `run_id`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// One row: the run as a whole.
    pub runs: Table,
    /// One row a flow.
    pub flows: Table,
    /// One row a path of a flow.
    pub paths: Table,
    /// One row a direction of a link.
    pub links: Table,
    /// One row a sample of a time series.
    pub samples: Table,
}

impl Scenario {
    /// The identity of its run: a digest of the resolved scenario, seed included, and the engine's version; 16 hex digits.
    pub fn run_id(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(self.json().to_string());
        digest.update(ENGINE_VERSION);
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Runs a scenario. With `capture`, every packet at a host interface goes there as pcapng bytes.
///
/// # Errors
/// When `stop` became true, or the capture's output failed.
pub fn run(scenario: &Scenario, stop: &AtomicBool, capture: Option<Output<'_>>) -> Result<Outcome, Stopped> {
    run_as(&scenario.run_id(), scenario, stop, capture)
}

/// The same for who knows the run's identity already: finding it takes as long as a short run.
///
/// # Errors
/// As [`run`].
pub fn run_as(
    run_id: &str,
    scenario: &Scenario,
    stop: &AtomicBool,
    capture: Option<Output<'_>>,
) -> Result<Outcome, Stopped> {
    if scenario.trace.measures.is_empty() && capture.is_none() {
        let mut world = build(scenario, Silent);
        world.run(scenario.until, stop)?;
        return Ok(collect(run_id, scenario, &mut world, &[]));
    }
    let trace = Trace::new(&scenario.trace, scenario.flows.len(), scenario.graph.links.len());
    let interval = trace.queue_interval();
    let output = capture.map(|output| (build_capture(scenario), output));
    let mut world = build(scenario, Recorder { trace, output });
    if let Some(interval) = interval {
        world.sample_links(interval);
    }
    world.run(scenario.until, stop)?;
    world.probe.flush(true).map_err(Stopped::Probe)?;
    world.probe.trace.finish();
    let samples = std::mem::take(&mut world.probe.trace.samples);
    Ok(collect(run_id, scenario, &mut world, &samples))
}

/// Time series and captures.
struct Recorder<'a> {
    trace: Trace,
    output: Option<(Capture, Output<'a>)>,
}

impl Recorder<'_> {
    fn flush(&mut self, all: bool) -> Result<(), String> {
        self.output.as_mut().map_or(Ok(()), |(capture, output)| capture.flush(all, *output))
    }
}

impl Probe for Recorder<'_> {
    const ON: bool = true;

    fn on_send(&mut self, now: Time, endpoint: usize, segment: &Segment, extra: &Extra) {
        if let Some((capture, _)) = &mut self.output {
            let extra = segment.flags.has(vazao_transport::tcp::Flags::EXTRA).then_some(extra);
            capture.record(now, endpoint, Direction::Outbound, segment, extra);
        }
    }
    fn on_receive(&mut self, now: Time, endpoint: usize, packet: &Packet<Segment>, extra: Option<&Extra>) {
        if let Some((capture, _)) = &mut self.output {
            capture.record(now, endpoint, Direction::Inbound, &packet.body, extra);
        }
    }
    #[inline]
    fn on_sender(&mut self, now: Time, flow: u32, sender: &Connection) {
        self.trace.on_sender(now, flow, sender);
    }
    fn on_links(&mut self, now: Time, network: &mut Network<Segment>) {
        self.trace.on_links(now, network);
    }
    fn check(&mut self) -> Result<(), String> {
        self.flush(false)
    }
}

fn collect<P: Probe>(id: &str, scenario: &Scenario, world: &mut World<P>, samples: &[Sample]) -> Outcome {
    let links: Vec<_> = scenario
        .graph
        .links
        .iter()
        .enumerate()
        .flat_map(|(i, link)| [(i, true, &link.name), (i, false, &link.name)])
        .map(|(i, forward, name)| (name.as_str(), way(forward), world.network.report(link_id((i, forward)), world.now)))
        .collect();
    let utilisation = links.iter().map(|(_, _, report)| report.utilisation).fold(0.0, f64::max);
    let results: Vec<_> = world.flows.iter().map(|flow| FlowResult::new(flow, &world.endpoints)).collect();
    let shares: Vec<f64> = world.flows.iter().zip(&results).map(|(flow, r)| r.share(flow.start, world.now)).collect();
    Outcome {
        runs: table(vec![vec![
            ("run_id", id.into()),
            ("seed", scenario.seed.into()),
            ("jain", jain(&shares).into()),
            ("utilisation", utilisation.into()),
            ("sim_s", world.now.as_secs().into()),
            ("events", world.events.into()),
            ("packet_hops", world.network.hops().into()),
        ]]),
        flows: table(results.iter().enumerate().map(|(i, r)| flow_row(id, i, &scenario.flows[i], r, world))),
        paths: table(results.iter().enumerate().map(|(i, r)| path_row(id, i, r, world))),
        links: table(links.iter().map(|(name, way, report)| link_row(id, name, way, report))),
        samples: sample_table(id, scenario, samples),
    }
}

fn link_row(id: &str, name: &str, way: &str, report: &LinkReport) -> Vec<(&'static str, Cell)> {
    vec![
        ("run_id", id.into()),
        ("link", name.into()),
        ("direction", way.into()),
        ("utilisation", report.utilisation.into()),
        ("packets", report.packets.into()),
        ("bytes", report.bytes.into()),
        ("drops_queue", report.drops_queue.into()),
        ("drops_loss", report.drops_loss.into()),
        ("marks", 0.into()),
        ("queue_delay_mean_s", report.queue_delay_mean.into()),
        ("queue_delay_p95_s", report.queue_delay_p95.into()),
    ]
}

fn way(forward: bool) -> &'static str {
    if forward { "forward" } else { "reverse" }
}

/// Jain's fairness index of flows' rates: 1 when all are equal, 1/n when one has everything.
pub fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// What a flow came to.
struct FlowResult {
    app_bytes: u64,
    first_byte: Option<Time>,
    last_byte: Option<Time>,
    goodput: Option<f64>,
    throughput: Option<f64>,
    completed: Option<bool>,
    intact: bool,
}

impl FlowResult {
    fn new(flow: &Flow, endpoints: &[Endpoint]) -> FlowResult {
        let (sender, receiver) = (&endpoints[flow.sender as usize], &endpoints[flow.receiver as usize]);
        let (Application::Source(source), Application::Sink(sink)) = (&sender.application, &receiver.application)
        else {
            unreachable!("data goes from a source to a sink");
        };
        let last_byte = sink.last_byte();
        let rate = |bytes: u64| {
            let span = last_byte?.since(flow.start).as_secs();
            (span > 0.0).then(|| 8.0 * bytes as f64 / span)
        };
        let done = source.is_finished() && sink.is_closed() && sink.received() == source.written();
        FlowResult {
            app_bytes: sink.received(),
            first_byte: sink.first_byte(),
            last_byte,
            goodput: rate(sink.received()),
            throughput: rate(flow.measure.delivered_bytes),
            completed: (!source.is_endless()).then_some(done),
            intact: is_intact(sink, source.written(), &receiver.connection),
        }
    }
}

impl FlowResult {
    /// The rate that counts for fairness: over the flow's own time if it completed, else over all the time it had, so
    /// that a flow which starved or stalled counts as the slow one it was.
    fn share(&self, start: Time, end: Time) -> f64 {
        let over = if self.completed == Some(true) { self.last_byte.unwrap_or(end) } else { end };
        let span = over.since(start).as_secs();
        if span > 0.0 { 8.0 * self.app_bytes as f64 / span } else { 0.0 }
    }
}

/// Every byte read once, in order, from where its sender took it, and none more than was written.
fn is_intact(sink: &Sink, written: u64, receiver: &Connection) -> bool {
    !sink.is_disordered()
        && receiver.stats().misplaced == 0
        && sink.received() <= written
        && (!sink.is_closed() || sink.received() == written)
}

fn flow_row<P: Probe>(
    id: &str,
    number: usize,
    spec: &crate::flow::FlowSpec,
    result: &FlowResult,
    world: &World<P>,
) -> Vec<(&'static str, Cell)> {
    let flow = &world.flows[number];
    let (m, sender) = (&flow.measure, &world.endpoints[flow.sender as usize].connection);
    let stats = sender.stats();
    let start = flow.start;
    let seconds = |t: Option<Time>| t.map(Time::as_secs);
    let since = |t: Option<Time>| t.map(|t| t.since(start).as_secs());
    let established = world.endpoints[flow.client as usize].connection.stats().established;
    let ended = (m.slow_start_end != Time::NEVER).then_some(m.slow_start_end);
    let slow_start_loss = ended.map(|_| m.slow_start_lost as f64 / m.slow_start_sent.max(1) as f64);
    vec![
        ("run_id", id.into()),
        ("flow", (number as u64).into()),
        ("transport", "tcp".into()),
        ("cc", spec.transport.control.name.as_str().into()),
        ("recovery", spec.transport.tcp.text("recovery").into()),
        ("app", spec.application.0.name.into()),
        ("client", spec.client.as_str().into()),
        ("server", spec.server.as_str().into()),
        ("app_bytes", result.app_bytes.into()),
        ("start_s", start.as_secs().into()),
        ("first_byte_s", seconds(result.first_byte).into()),
        ("last_byte_s", seconds(result.last_byte).into()),
        ("completion_s", since(result.last_byte.filter(|_| result.completed == Some(true))).into()),
        ("goodput_bps", result.goodput.into()),
        ("throughput_bps", result.throughput.into()),
        ("packets_sent", stats.segments.into()),
        ("packets_lost", m.lost.into()),
        ("retransmissions", stats.retransmissions.into()),
        ("fast_retransmissions", stats.fast_retransmissions.into()),
        ("timeout_retransmissions", stats.timeout_retransmissions.into()),
        ("timeouts", stats.timeouts.into()),
        ("recoveries", stats.recoveries.into()),
        ("duplicate_acks", stats.duplicate_acks.into()),
        ("handshake_s", since(established).into()),
        ("rtt_mean_s", stats.rtt.mean().into()),
        ("rtt_p50_s", stats.rtt.quantile(0.50).into()),
        ("rtt_p95_s", stats.rtt.quantile(0.95).into()),
        ("rtt_p99_s", stats.rtt.quantile(0.99).into()),
        ("owd_p50_s", m.owd.quantile(0.50).into()),
        ("jitter_s", m.jitter().into()),
        ("slow_start_s", since(ended).into()),
        ("slow_start_loss", slow_start_loss.into()),
        ("slow_start_sent", m.slow_start_sent.into()),
        ("slow_start_lost", m.slow_start_lost.into()),
        ("first_ssthresh_bytes", m.first_ssthresh.map(|bytes| bytes as f64).into()),
        ("cwnd_min_bytes", m.cwnd_min.map(|bytes| bytes as f64).into()),
        ("bdp_bytes", m.bdp.into()),
        ("refill_s", m.refilled.map(|t| t.since(m.slow_start_end).as_secs()).into()),
        ("recovery_s", m.recovery.map(|d| d.as_secs()).into()),
        ("completed", result.completed.into()),
        ("intact", result.intact.into()),
    ]
}

fn path_row<P: Probe>(id: &str, number: usize, result: &FlowResult, world: &World<P>) -> Vec<(&'static str, Cell)> {
    let flow = &world.flows[number];
    let sender = &world.endpoints[flow.sender as usize].connection;
    let stats = sender.stats();
    // A flow that is over has no window any more.
    let end = if sender.is_over() { flow.measure.last_event() } else { world.now };
    vec![
        ("run_id", id.into()),
        ("flow", (number as u64).into()),
        ("path", 0.into()),
        ("bytes", result.app_bytes.into()),
        ("packets_sent", stats.segments.into()),
        ("packets_lost", flow.measure.lost.into()),
        ("retransmissions", stats.retransmissions.into()),
        ("fast_retransmissions", stats.fast_retransmissions.into()),
        ("timeout_retransmissions", stats.timeout_retransmissions.into()),
        ("timeouts", stats.timeouts.into()),
        ("srtt_s", (stats.rtt.count() > 0).then(|| sender.rtt().srtt().as_secs()).into()),
        ("cwnd_mean_bytes", flow.measure.cwnd_mean(end).into()),
    ]
}

fn sample_table(id: &str, scenario: &Scenario, samples: &[Sample]) -> Table {
    let links = &scenario.graph.links;
    let is_link = |s: &Sample| s.measure as usize == QUEUE;
    let of_link = |s: &Sample, code: u32| is_link(s).then_some(code);
    let integer = |f: &dyn Fn(&Sample) -> Option<i64>| Column::Integer(samples.iter().map(f).collect());
    let label = |f: &dyn Fn(&Sample) -> Option<u32>, names: Vec<String>| Column::Label {
        codes: samples.iter().map(f).collect(),
        names,
    };
    vec![
        ("run_id", label(&|_| Some(0), vec![id.to_owned()])),
        ("time_s", Column::Dense(samples.iter().map(|s| s.time.as_secs()).collect())),
        ("flow", integer(&|s| (!is_link(s)).then_some(i64::from(s.source)))),
        ("path", integer(&|s| (!is_link(s)).then_some(0))),
        ("link", label(&|s| of_link(s, s.source / 2), links.iter().map(|l| l.name.clone()).collect())),
        ("direction", label(&|s| of_link(s, s.source % 2), vec![way(true).into(), way(false).into()])),
        ("measure", label(&|s| Some(s.measure), MEASURES.iter().map(|m| (*m).to_owned()).collect())),
        ("value", Column::Dense(samples.iter().map(|s| s.value).collect())),
    ]
}
