//! Running a scenario: its world is built, its guests are started, and events are recorded.

pub(crate) mod build;
pub(crate) mod estimate;
pub(crate) mod session;
#[cfg(test)]
mod tests;

use crate::endpoint::{Body, Crossing, EndId, Endpoint, Notice};
use crate::guests::plan::HostPlan;
use crate::measures::series::SenderState;
use crate::model::scenario::Scenario;
use crate::packs::library::{Connect, Libraries};
use crate::record::Output;
use crate::record::capture::Capture;
use crate::record::journal::Journal;
use crate::record::log::Log;
use crate::record::samples::Sample;
use crate::record::trace::Trace;
use crate::results::collect::{Outcome, conclude};
use crate::world::probe::{Leaving, Moment, Probe, Silent};
use crate::world::{Stopped, World};
use build::{Planned, build};
use sha2::{Digest, Sha256};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use vazao_application::{Progress, Visit};
use vazao_engine::{Duration, Time};
use vazao_network::{DropCause, Host, LinkId, Network, PacketId};
use vazao_transport::common::Limit;
use vazao_wire::pcapng::Direction;

/// Version of the engine with a digest of its sources, dependencies and features. It is part of every result's identity.
pub const ENGINE_VERSION: &str = env!("VAZAO_ENGINE_VERSION");

impl Scenario {
    /// Returns the identity of its run: a digest of the resolved scenario, seed included, and the engine's version; 16
    /// hex digits.
    pub fn run_id(&self) -> String {
        Self::run_id_of(&self.json())
    }

    /// Returns the identity of the run of a scenario in its canonical form, [`json`](Self::json).
    pub fn run_id_of(json: &str) -> String {
        identity(Sha256::new_with_prefix(json))
    }

    /// Returns the identities of its runs under other seeds; `None` if [the seed decides more](Scenario::draws_flows) than the
    /// random numbers of a run, so that each has to be read.
    pub fn run_ids(&self, seeds: &[u64]) -> Option<Vec<String>> {
        if self.draws_flows {
            return None;
        }
        let (before, after) = self.json_around_seed();
        // Of a scenario with many flows the text before the seed is long: it is hashed once.
        let begun = Sha256::new_with_prefix(before);
        Some(seeds.iter().map(|seed| identity(begun.clone().chain_update(format!("{seed}{after}")))).collect())
    }
}

/// Returns the identity of a run whose canonical form was hashed.
fn identity(form: Sha256) -> String {
    hex(&form.chain_update(ENGINE_VERSION).finalize()[..8])
}

/// Returns bytes as hex digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Function that starts a guest, or says why it cannot.
pub type Start<'a> = &'a dyn Fn(&HostPlan) -> Result<Box<dyn Host>, String>;

/// Function that takes records of samples in their order.
pub type Spill<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), String>;

/// Number of samples from which they are handed to a [`Spill`].
const HELD: usize = 1 << 16;

/// Inputs and outputs of a run beside its scenario.
#[derive(Default)]
pub struct Options<'a> {
    /// Identity of the run, if it is known already: finding it takes as long as a short run.
    pub id: Option<&'a str>,
    /// Output of captures: the interface's name and pcapng bytes.
    pub capture: Option<Output<'a>>,
    /// Most bytes that captures keep of a packet; without it they keep all.
    pub snap: Option<u32>,
    /// Output of QUIC connections' qlog: the file's name without its extension, and bytes.
    pub qlog: Option<Output<'a>>,
    /// Output of samples as [records](Sample::to_record) while the run goes on, except the last; without it all are held.
    pub samples: Option<Spill<'a>>,
    /// Recording for viewers, of at most so many packets, and where it goes. It has all measures, whatever the scenario traces.
    pub recording: Option<(usize, &'a mut Vec<u8>)>,
    /// Starter of guests; without it there are none.
    pub start: Option<Start<'a>>,
    /// Maker of ends that a library plays; without it there are none.
    pub connect: Option<Connect<'a>>,
    /// Function that is told the time of the run now and then.
    pub clock: Option<&'a dyn Fn(Time)>,
}

/// Returns why a scenario is no run of this engine alone, if that is so.
fn runs_elsewhere(scenario: &Scenario) -> Option<String> {
    let simulated = scenario.flows.iter().enumerate().find(|(_, flow)| flow.transport.has_simulator());
    let simulated = simulated.map(|(number, flow)| {
        format!("flow {number}: {} plays it, which runs scenarios by itself", flow.transport.sender.title)
    });
    let acted = || "agents acted in it; it is no run of its scenario alone".to_owned();
    simulated.or_else(|| scenario.actions.as_ref().map(|_| acted()))
}

/// Runs a scenario.
///
/// # Errors
/// `stop` became true, an output failed, a guest failed, or a requirement of the scenario is missing.
pub fn run(scenario: &Scenario, stop: &AtomicBool, options: Options<'_>) -> Result<Outcome, Stopped> {
    let Options { id, capture, snap, qlog, samples, recording, start, connect, clock } = options;
    let clock = clock.unwrap_or(&|_| ());
    if let Some(problem) = runs_elsewhere(scenario) {
        return Err(Stopped::NotRun(problem));
    }
    let id = id.map_or_else(|| scenario.run_id(), str::to_owned);
    let log = qlog.map(|output| (Log::new(scenario), output));
    if log.as_ref().is_some_and(|(log, _)| log.is_empty()) {
        let problem = "there is nothing to log for --qlog: no flow is a QUIC connection";
        return Err(Stopped::NotRun(problem.to_owned()));
    }
    let (captures, logs) = (capture.is_some(), log.is_some());
    let planned = Planned::new(scenario, captures || logs || recording.is_some()).map_err(Stopped::NotRun)?;
    let capture = match capture {
        Some(output) => Some((Capture::new(scenario, &planned.addresses, snap).map_err(Stopped::NotRun)?, output)),
        None => None,
    };
    let libraries = Libraries::new(scenario, connect, logs).map_err(Stopped::NotRun)?;
    if scenario.trace.measures.is_empty() && !captures && !logs && recording.is_none() {
        let mut world = build(scenario, &planned, libraries, Silent, false);
        add_guests(&mut world, &planned, start, stop)?;
        if !scenario.has_own_code() {
            world.look_ahead();
        }
        guarded(&mut world, scenario, |world| world.run(scenario.until, stop, clock))?;
        return Ok(conclude(&id, scenario, world, &[]));
    }
    let series = if recording.is_some() { Journal::series() } else { scenario.trace.clone() };
    let trace = Trace::new(&series, scenario.flows.len(), scenario.graph.links.len());
    let interval = trace.queue_interval();
    let (journal, file) = match recording {
        Some((most, file)) => (Some(Journal::new(scenario, &planned.addresses, most)), Some(file)),
        None => (None, None),
    };
    let follows = journal.is_some();
    let spill = samples.filter(|_| !follows);
    let mut world = build(scenario, &planned, libraries, Recorder { trace, capture, log, spill, journal }, logs);
    if follows {
        world.network.follow();
    }
    add_guests(&mut world, &planned, start, stop)?;
    if let Some(interval) = interval {
        world.sample_links(interval);
    }
    // A recording's series are its own, and change no row.
    if scenario.trace.measures.contains(&"limit") {
        world.watch_paths();
    } else if !follows && !scenario.has_own_code() {
        world.look_ahead();
    }
    guarded(&mut world, scenario, |world| world.run(scenario.until, stop, clock))?;
    world.probe.flush(true).map_err(Stopped::Probe)?;
    world.probe.trace.finish();
    if let (Some(journal), Some(file)) = (&mut world.probe.journal, file) {
        *file = journal.file(scenario, [&id, ENGINE_VERSION], world.now, &world.probe.trace);
    }
    let samples = if follows { Vec::new() } else { std::mem::take(&mut world.probe.trace.turns.samples) };
    Ok(conclude(&id, scenario, world, &samples))
}

/// Panic in the middle of a run: of a user's own code, which says so, or a bug.
pub struct Unwound {
    /// What was thrown.
    pub cause: Box<dyn Any + Send>,
    /// Time of the run.
    pub now: Time,
    /// Row of the flow that acted last, if one did.
    pub flow: Option<usize>,
}

/// Lets a world act. A panic goes on its way as [`Unwound`], with the place in the run.
fn guarded<P: Probe, T>(world: &mut World<P>, scenario: &Scenario, act: impl FnOnce(&mut World<P>) -> T) -> T {
    catch_unwind(AssertUnwindSafe(|| act(&mut *world))).unwrap_or_else(|cause| {
        let acting = world.acting as usize;
        let flow = scenario.rows().iter().position(|row| row.contains(&acting));
        resume_unwind(Box::new(Unwound { cause, now: world.now, flow }))
    })
}

/// Starts the guests one after the other, each until it first sleeps.
fn add_guests<P: Probe>(
    world: &mut World<P>,
    planned: &Planned,
    start: Option<Start<'_>>,
    stop: &AtomicBool,
) -> Result<(), Stopped> {
    for guest in &planned.guests {
        let Some(start) = start else {
            return Err(Stopped::NotRun(format!("host {:?}: this build of Vazão has no guests", guest.host.name)));
        };
        let machine = start(&guest.host).map_err(|problem| {
            // A guest that cannot be started is a fault of this machine or of its kernel, no result of the scenario.
            if stop.load(Ordering::Relaxed) { Stopped::Cancelled } else { Stopped::NotRun(problem) }
        })?;
        world.add_guest(guest, machine);
    }
    Ok(())
}

/// Probe that records time series, captures and logs.
struct Recorder<'a> {
    trace: Trace,
    capture: Option<(Capture, Output<'a>)>,
    log: Option<(Log, Output<'a>)>,
    spill: Option<Spill<'a>>,
    journal: Option<Journal>,
}

impl Recorder<'_> {
    fn flush(&mut self, all: bool) -> Result<(), String> {
        self.capture.as_mut().map_or(Ok(()), |(capture, output)| capture.flush(all, *output))?;
        self.log.as_mut().map_or(Ok(()), |(log, output)| log.flush(all, *output))
    }

    fn spill(&mut self) -> Result<(), String> {
        let Some(spill) = &mut self.spill else { return Ok(()) };
        let samples = &mut self.trace.turns.samples;
        if samples.len() < HELD {
            return Ok(());
        }
        let records: Vec<u8> = samples.drain(..).flat_map(Sample::to_record).collect();
        spill(&records)
    }
}

impl Probe for Recorder<'_> {
    const ON: bool = true;

    fn follows_ends(&self) -> bool {
        self.capture.as_ref().is_none_or(|(capture, _)| capture.follows_ends())
            && self.log.as_ref().is_none_or(|(log, _)| log.follows_ends())
            && self.journal.is_none()
            && self.trace.queue_interval().is_none()
    }
    fn hears_ends(&self) -> bool {
        self.trace.hears_ends()
    }
    fn sees_senders(&self) -> bool {
        self.trace.sees_senders() || self.journal.is_some()
    }
    fn keeps_contents(&self) -> bool {
        self.capture.is_some() || self.log.is_some()
    }
    fn on_moment(&mut self, moment: Moment) {
        self.trace.turns.moment = Some(moment);
    }
    fn on_reached(&mut self, moment: Option<Moment>) {
        self.trace.turns.reach(moment);
    }
    fn on_packet(&mut self, now: Time, flow: usize, crossing: &Crossing<'_>) {
        if let Some((capture, output)) = &mut self.capture {
            capture.cross(now, flow, crossing, *output);
        }
        if let (Some(journal), Direction::Inbound) = (&mut self.journal, crossing.direction) {
            journal.frame_arrived(None);
        }
        if let Some((log, _)) = &mut self.log {
            log.cross(flow, crossing);
        }
    }
    fn on_log(&mut self, now: Time, end: EndId, records: &[u8]) {
        if let Some((log, output)) = &mut self.log {
            log.records(now, end, records, *output);
        }
    }
    fn on_secrets(&mut self, flow: usize, lines: &str) {
        if let Some((capture, _)) = &mut self.capture {
            capture.secrets(flow, lines);
        }
        if let Some((log, _)) = &mut self.log {
            log.secrets(flow, lines);
        }
    }
    fn on_bytes(&mut self, now: Time, interface: usize, direction: Direction, packet: &[u8]) {
        if let Some((capture, output)) = &mut self.capture {
            capture.bytes(now, interface, direction, packet, *output);
        }
        if let Some(journal) = &mut self.journal {
            match direction {
                Direction::Inbound => journal.frame_arrived(Some(interface)),
                Direction::Outbound => journal.frame_leaves(interface),
            }
        }
    }
    fn on_sender(&mut self, now: Time, flow: u32, sender: &dyn SenderState) {
        self.trace.on_sender(now, flow, sender);
        if let Some(journal) = &mut self.journal {
            journal.see(now, flow, sender);
        }
    }
    fn on_receiver(&mut self, now: Time, end: EndId, machine: &dyn Endpoint, visit: Option<(usize, &Visit)>) {
        if let Some(journal) = &mut self.journal {
            journal.receive(now, end, machine, visit);
        }
    }
    fn on_notice(&mut self, now: Time, end: EndId, notice: Notice) {
        self.trace.on_notice(now, end, notice);
    }
    fn on_limit(&mut self, since: Time, flow: u32, limit: Limit) {
        self.trace.on_limit(since, flow, limit);
    }
    fn on_message(&mut self, now: Time, flow: u32, latency: Duration) {
        self.trace.on_message(now, flow, latency);
    }
    fn on_progress(&mut self, now: Time, flow: usize, progress: Progress) {
        self.trace.on_progress(now, flow, progress);
    }
    fn on_links(&mut self, now: Time, network: &mut Network<Body>) -> bool {
        self.trace.on_links(now, network)
    }
    fn follows(&self) -> bool {
        self.journal.is_some()
    }
    fn on_departure(&mut self, now: Time, packet: PacketId, leaving: &Leaving<'_>) {
        if let Some(journal) = &mut self.journal {
            journal.depart(now, packet, leaving);
        }
    }
    fn on_reason(&mut self, packet: PacketId, sender: &dyn SenderState) {
        if let Some(journal) = &mut self.journal {
            journal.explain(packet, sender);
        }
    }
    fn on_copy(&mut self, now: Time, packet: PacketId, copy: PacketId) {
        if let Some(journal) = &mut self.journal {
            journal.copy(now, packet, copy);
        }
    }
    fn on_hop(&mut self, now: Time, packet: PacketId, link: LinkId) {
        if let Some(journal) = &mut self.journal {
            journal.hop(now, packet, link);
        }
    }
    fn on_arrival(&mut self, now: Time, packet: PacketId) {
        if let Some(journal) = &mut self.journal {
            journal.arrive(now, packet);
        }
    }
    fn on_drop(&mut self, now: Time, packet: PacketId, link: LinkId, cause: DropCause) {
        if let Some(journal) = &mut self.journal {
            journal.lose(now, packet, link, cause);
        }
    }
    fn check(&mut self) -> Result<(), String> {
        self.spill()?;
        self.flush(false)
    }
}
