//! From a world that has run to tables.

use crate::account::Account;
use crate::build::link_id;
use crate::flow::FlowSpec;
use crate::path_table::path_rows;
use crate::probe::Probe;
use crate::samples::{Legend, Sample};
use crate::scenario::Scenario;
use crate::stack::{Kernel, Stack};
use crate::table::{Cell, Table, table};
use crate::transport::Protocol;
use crate::visits::{accounts, whole};
use crate::world::{End, World};
use vazao_engine::{Duration, Histogram, Time};
use vazao_network::{LinkReport, Routing};
use vazao_transport::mptcp;

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
    /// One row a sample of a time series, but for those that went elsewhere while the run went on ([`Options`](crate::Options)).
    pub samples: Table,
    /// Turns samples that went elsewhere into rows.
    pub legend: Legend,
}

/// What was measured, as tables.
pub(crate) fn collect<P: Probe>(id: &str, scenario: &Scenario, world: &mut World<P>, samples: &[Sample]) -> Outcome {
    let links: Vec<_> = scenario
        .graph
        .links
        .iter()
        .enumerate()
        .flat_map(|(i, link)| [(i, true, &link.name), (i, false, &link.name)])
        .map(|(i, forward, name)| (name.as_str(), way(forward), world.network.report(link_id((i, forward)), world.now)))
        .collect();
    let utilisation = links.iter().map(|(_, _, report)| report.utilisation).fold(0.0, f64::max);
    let world = &*world;
    let rows = scenario.rows();
    let parts: Vec<_> = rows.iter().map(|row| accounts(world, scenario, row)).collect();
    let wholes: Vec<_> = rows.iter().zip(&parts).map(|(row, parts)| whole(world, row, parts)).collect();
    let starts = rows.iter().map(|row| world.flows[row.start].start);
    let shares: Vec<f64> = starts.zip(&wholes).map(|(start, whole)| whole.share(start, world.now)).collect();
    let routing = Routing::new(&scenario.graph);
    let mut paths = Vec::new();
    // Where each flow of the world stands in results: as a flow, and its first path there.
    let mut places = vec![(0, 0); scenario.flows.len()];
    for (row, parts) in parts.iter().enumerate() {
        let before = paths.len();
        for (flow, account) in parts {
            places[*flow] = (row, paths.len() - before);
            paths.extend(path_rows(id, places[*flow], *flow, &scenario.flows[*flow], &routing, account, world));
        }
    }
    let kernels = kernels(scenario);
    let joined = |what: fn(&Kernel) -> &str| -> Option<String> {
        (!kernels.is_empty()).then(|| kernels.iter().map(|kernel| what(kernel)).collect::<Vec<_>>().join(" + "))
    };
    let hz = kernels.first().filter(|first| kernels.iter().all(|other| other.hz == first.hz));
    let legend = Legend::new(id, scenario, places);
    Outcome {
        runs: table(vec![vec![
            ("run_id", id.into()),
            ("seed", scenario.seed.into()),
            ("jain", jain(&shares).into()),
            ("utilisation", utilisation.into()),
            ("sim_s", world.now.as_secs().into()),
            ("events", world.events.into()),
            ("packet_hops", world.network.hops().into()),
            ("kernel", joined(|kernel| &kernel.version).into()),
            ("kernel_config", joined(|kernel| &kernel.config).into()),
            ("kernel_sha256", joined(|kernel| &kernel.digest).into()),
            ("kernel_hz", hz.map(|kernel| u64::from(kernel.hz)).into()),
        ]]),
        flows: table(
            rows.iter()
                .zip(&wholes)
                .enumerate()
                .map(|(i, (row, whole))| flow_row(id, (i, row.start), &scenario.flows[row.start], whole, world)),
        ),
        paths: table(paths),
        links: table(links.iter().map(|(name, way, report)| link_row(id, name, way, report))),
        samples: legend.rows(samples),
        legend,
    }
}

/// The kernels of its guests, each once, in the order of the flows.
fn kernels(scenario: &Scenario) -> Vec<&Kernel> {
    let mut kernels: Vec<&Kernel> = Vec::new();
    for transport in scenario.flows.iter().map(|flow| &flow.transport).filter(|transport| transport.has_guest()) {
        if let Some(kernel) = &transport.guest.kernel.1
            && !kernels.contains(&kernel)
        {
            kernels.push(kernel);
        }
    }
    kernels
}

fn link_row(id: &str, name: &str, way: &str, report: &LinkReport) -> Vec<(&'static str, Cell)> {
    vec![
        ("run_id", id.into()),
        ("link", name.into()),
        ("direction", way.into()),
        ("utilisation", report.utilisation.into()),
        ("packets", report.packets.into()),
        ("bytes", report.bytes.into()),
        ("waiting", report.waiting.into()),
        ("drops_queue", report.drops_queue.into()),
        ("drops_early", report.drops_early.into()),
        ("drops_loss", report.drops_loss.into()),
        ("drops_corrupt", report.drops_corrupt.into()),
        ("marks", report.marks.into()),
        ("queue_delay_mean_s", report.queue_delay_mean.into()),
        ("queue_delay_p95_s", report.queue_delay_p95.into()),
    ]
}

pub(crate) fn way(forward: bool) -> &'static str {
    if forward { "forward" } else { "reverse" }
}

/// Jain's fairness index of flows' rates: 1 when all are equal, 1/n when one has everything.
pub fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

fn flow_row<P>(
    id: &str,
    (row, number): (usize, usize),
    spec: &FlowSpec,
    account: &Account<'_>,
    world: &World<P>,
) -> Vec<(&'static str, Cell)> {
    let flow = &world.flows[number];
    let (m, sender) = (&account.measure, &account.sender);
    let start = flow.start;
    let seconds = |t: Option<Time>| t.map(Time::as_secs);
    let since = |t: Option<Time>| t.map(|t| t.since(start).as_secs());
    let ended = (m.slow_start_end != Time::NEVER).then_some(m.slow_start_end);
    let slow_start_loss = ended.map(|_| m.slow_start_lost as f64 / m.slow_start_sent.max(1) as f64);
    let transport = &spec.transport;
    let message = |what: &dyn Fn(&Histogram) -> Option<f64>| account.messages.and_then(what);
    // Several connections have several windows.
    let has_window = transport.entry.build != Protocol::Udp && account.connections.is_none_or(|count| count == 1);
    let viewing = account.viewing;
    let (client_output, server_output) = world.guests.printed(number).map(|[client, server]| (client, server)).unzip();
    // How losses are repaired is ours to choose only where the sender is ours.
    let ours = matches!(flow.sender(), End::Machine(_));
    let multipath = spec.transport.multipath.as_ref().filter(|_| ours);
    let counted = |count: &dyn Fn(&mptcp::Stats) -> u64| sender.multipath.map(count);
    let recovery = (ours && transport.entry.build == Protocol::Tcp).then(|| transport.parameters.text("recovery"));
    vec![
        ("run_id", id.into()),
        ("flow", (row as u64).into()),
        ("group", (spec.group as u64).into()),
        ("transport", transport.entry.name.into()),
        ("stack", stack_name(transport.stacks).into()),
        ("cc", transport.control.name.as_str().into()),
        ("recovery", recovery.into()),
        ("scheduler", multipath.map(|multipath| multipath.scheduler.name.as_str()).into()),
        (
            "path_manager",
            multipath.and_then(|multipath| multipath.path_manager.as_ref()).map(|manager| manager.0.name).into(),
        ),
        ("app", spec.application.0.name.into()),
        ("client", spec.client.as_str().into()),
        ("server", spec.server.as_str().into()),
        ("connections", account.connections.into()),
        ("size_class", spec.size_class().into()),
        ("app_bytes", account.app_bytes.into()),
        ("start_s", start.as_secs().into()),
        ("first_byte_s", seconds(account.first_byte).into()),
        ("last_byte_s", seconds(account.last_byte).into()),
        ("completion_s", since(account.last_byte.filter(|_| account.completed == Some(true))).into()),
        ("goodput_bps", account.rate(start, account.app_bytes).into()),
        ("throughput_bps", account.rate(start, m.delivered_bytes).into()),
        ("packets_sent", sender.packets.into()),
        ("packets_lost", account.arrivals.lost.into()),
        ("duplicates", account.arrivals.duplicates.into()),
        ("reordered", account.arrivals.reordered.into()),
        ("retransmissions", sender.retransmissions.into()),
        ("fast_retransmissions", sender.fast_retransmissions.into()),
        ("timeout_retransmissions", sender.timeout_retransmissions.into()),
        ("timeouts", sender.timeouts.into()),
        ("recoveries", sender.recoveries.into()),
        ("duplicate_acks", sender.duplicate_acks.into()),
        ("spurious_retransmissions", sender.spurious_retransmissions.into()),
        ("spurious_timeouts", sender.spurious_timeouts.into()),
        ("mark_reductions", sender.mark_reductions.into()),
        ("busy_s", sender.busy.map(Duration::as_secs).into()),
        ("rwnd_limited_s", sender.rwnd_limited.map(Duration::as_secs).into()),
        ("reordering", sender.reordering.into()),
        ("parity_packets", sender.parity_packets.into()),
        ("recovered_packets", account.arrivals.recovered.into()),
        ("subflows_joined", counted(&|stats| stats.joined).into()),
        ("subflows_died", counted(&|stats| stats.died).into()),
        ("reinjected_bytes", counted(&|stats| stats.reinjected).into()),
        ("repeated_bytes", counted(&|stats| stats.repeated).into()),
        ("penalties", counted(&|stats| stats.penalties).into()),
        ("handshake_s", since(account.established).into()),
        ("rtt_mean_s", sender.rtt.mean().into()),
        ("rtt_p50_s", sender.rtt.quantile(0.50).into()),
        ("rtt_p95_s", sender.rtt.quantile(0.95).into()),
        ("rtt_p99_s", sender.rtt.quantile(0.99).into()),
        ("owd_p50_s", m.owd.quantile(0.50).into()),
        ("jitter_s", m.jitter().into()),
        ("messages_delivered", account.messages.map(Histogram::count).into()),
        ("messages_abandoned", sender.messages_abandoned.into()),
        ("message_latency_mean_s", message(&Histogram::mean).into()),
        ("message_latency_p50_s", message(&|h| h.quantile(0.50)).into()),
        ("message_latency_p95_s", message(&|h| h.quantile(0.95)).into()),
        ("message_latency_p99_s", message(&|h| h.quantile(0.99)).into()),
        ("startup_s", viewing.and_then(|viewing| viewing.startup).map(Duration::as_secs).into()),
        ("stalls", viewing.map(|viewing| viewing.stalls).into()),
        ("stalled_s", viewing.map(|viewing| viewing.stalled.as_secs()).into()),
        ("bitrate_mean_bps", viewing.and_then(|viewing| viewing.bitrate).into()),
        ("bitrate_switches", viewing.map(|viewing| viewing.switches).into()),
        ("slow_start_s", since(ended).into()),
        ("slow_start_loss", slow_start_loss.into()),
        ("slow_start_sent", ended.filter(|_| has_window).map(|_| m.slow_start_sent).into()),
        ("slow_start_lost", ended.filter(|_| has_window).map(|_| m.slow_start_lost).into()),
        ("first_ssthresh_bytes", m.first_ssthresh.map(|bytes| bytes as f64).into()),
        ("cwnd_min_bytes", m.cwnd_min.map(|bytes| bytes as f64).into()),
        ("bdp_bytes", m.bdp.into()),
        ("refill_s", m.refilled.map(|t| t.since(m.slow_start_end).as_secs()).into()),
        ("recovery_s", m.recovery.map(|d| d.as_secs()).into()),
        ("completed", account.completed.into()),
        ("intact", account.intact.into()),
        ("failure", account.failure.as_deref().into()),
        ("client_output", client_output.into()),
        ("server_output", server_output.into()),
    ]
}

/// One word for both sides where they agree.
fn stack_name([client, server]: [Stack; 2]) -> String {
    if client == server { client.name().into() } else { format!("{}-{}", client.name(), server.name()) }
}
