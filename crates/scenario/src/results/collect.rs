//! Collection of a run's results in tables.

use super::visits::{accounts, whole};
use crate::measures::table::{Builder, Table};
use crate::model::guest::Kernel;
use crate::model::routes::{direction_name, link_id};
use crate::model::scenario::Scenario;
use crate::record::samples::{Legend, Sample};
use crate::results::account::Account;
use crate::results::columns::{FLOWS, FlowRow, LINKS, LinkRow, PATHS, RUNS, RunRow, row};
use crate::results::path_table::path_rows;
use crate::world::probe::Probe;
use crate::world::window::Windowed;
use crate::world::{End, World};
use vazao_network::Routing;

/// Tables of one run, keyed by `run_id`.
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
    /// One row a sample of a time series, except samples that were taken while the run went on
    /// ([`Options`](crate::Options)).
    pub samples: Table,
    /// Legend that converts samples taken during the run to rows.
    pub legend: Legend,
}

/// Collects the results of a run so far.
pub(crate) fn collect<P: Probe>(id: &str, scenario: &Scenario, world: &mut World<P>, samples: &[Sample]) -> Outcome {
    let window = world.windowed();
    let flows = flow_tables(id, scenario, world, window);
    complete(id, scenario, world, flows, samples)
}

/// Collects the results of a run that is over. Its flows are given up before the links' table is made: together they
/// would take more memory than the run.
pub(crate) fn conclude<P: Probe>(id: &str, scenario: &Scenario, mut world: World<P>, samples: &[Sample]) -> Outcome {
    let window = world.windowed();
    let flows = flow_tables(id, scenario, &world, window);
    (world.ends, world.flows) = (Vec::new(), Vec::new());
    complete(id, scenario, &mut world, flows, samples)
}

/// Tables of the flows and of their paths, and what the others need of them.
struct FlowTables {
    flows: Table,
    paths: Table,
    /// Rate of each row of the flows.
    shares: Vec<f64>,
    /// Row of each flow of the world, and its first path there.
    places: Vec<(usize, usize)>,
    /// Part of the run that is measured by itself.
    window: Option<Windowed>,
    /// Bytes that each row's flow has read in it.
    measured: Vec<u64>,
}

fn flow_tables<P: Probe>(id: &str, scenario: &Scenario, world: &World<P>, window: Option<Windowed>) -> FlowTables {
    let rows = scenario.rows();
    let routing = Routing::new(&scenario.graph);
    let mut flows = Builder::with_rows(rows.len());
    let mut paths = Builder::default();
    let mut shares = Vec::with_capacity(rows.len());
    let mut places = vec![(0, 0); scenario.flows.len()];
    let seconds = window.as_ref().and_then(Windowed::seconds);
    let mut measured = Vec::new();
    // One row after the other: the accounts of ten thousand flows would take more memory than their connections.
    for (number, range) in rows.iter().enumerate() {
        let parts = accounts(world, scenario, range);
        let mut before = 0;
        for (flow, account) in &parts {
            places[*flow] = (number, before);
            let found = path_rows(id, places[*flow], *flow, &scenario.flows[*flow], &routing, account, world);
            before += found.len();
            found.iter().for_each(|path| paths.push(row(PATHS, path, &[&path.tally])));
        }
        let account = whole(world, range, parts);
        shares.push(account.share(world.flows[range.start].start, world.now));
        let bytes = window.as_ref().and_then(|window| window.bytes(range.start));
        measured.extend(bytes);
        let source =
            FlowRow { measured: bytes.zip(seconds), ..flow_row(id, number, range.start, scenario, &account, world) };
        flows.push(row(FLOWS, &source, &[&account.sender.tally, &account.arrivals]));
    }
    FlowTables { flows: flows.finish(), paths: paths.finish(), shares, places, window, measured }
}

/// Adds the links and the run itself to the tables of the flows.
fn complete<P: Probe>(
    id: &str,
    scenario: &Scenario,
    world: &mut World<P>,
    tables: FlowTables,
    samples: &[Sample],
) -> Outcome {
    let FlowTables { flows, paths, shares, places, window, measured } = tables;
    let mut links = Builder::with_rows(2 * scenario.graph.links.len());
    let mut utilisation: f64 = 0.0;
    for (number, link) in scenario.graph.links.iter().enumerate() {
        for forward in [true, false] {
            let id_of_link = link_id((number, forward));
            let report = &world.network.report(id_of_link, world.now);
            let measured = window.as_ref().and_then(|window| window.utilisation(id_of_link as usize));
            utilisation = utilisation.max(report.utilisation);
            let direction = direction_name(forward);
            links.push(row(LINKS, &LinkRow { id, link: &link.name, direction, report, measured }, &[]));
        }
    }
    let run = RunRow {
        id,
        seed: scenario.seed,
        jain: jain(&shares),
        measured: window.as_ref().and_then(Windowed::seconds).map(|seconds| {
            let rates: Vec<f64> = measured.iter().map(|&bytes| bytes as f64 / seconds).collect();
            (seconds, jain(&rates))
        }),
        utilisation,
        end: world.now,
        events: world.events + world.network.passed(),
        hops: world.network.hops(),
        kernels: kernels(scenario),
    };
    let mut runs = Builder::with_rows(1);
    runs.push(row(RUNS, &run, &[]));
    let legend = Legend::new(id, scenario, places);
    let (runs, links, samples) = (runs.finish(), links.finish(), legend.rows(samples));
    Outcome { runs, flows, paths, links, samples, legend }
}

fn flow_row<'a, P>(
    id: &'a str,
    number: usize,
    first: usize,
    scenario: &'a Scenario,
    account: &'a Account<'a>,
    world: &World<P>,
) -> FlowRow<'a> {
    let flow = &world.flows[first];
    FlowRow {
        id,
        number,
        spec: &scenario.flows[first],
        account,
        start: flow.start,
        is_ours: matches!(flow.sender(), End::Machine(_)),
        measured: None,
        printed: world.guests.printed(first).map_or([None, None], |printed| printed.map(Some)),
    }
}

/// Returns the kernels of a scenario's guests, each once, in the order of the flows.
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

/// Returns Jain's fairness index of flows' rates: 1 when all are equal, 1/n when one has everything.
pub fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}
