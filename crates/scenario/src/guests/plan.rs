//! Start parameters of each guest, and the plan of its first program.

mod flow;
mod setup;

use crate::model::address::Addresses;
use crate::model::guest::{Kernel, Offloads};
use crate::model::scenario::{FlowSpec, KernelEnd, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use vazao_engine::{Duration, RandomStream};
use vazao_guest_protocol::{Plan, Role};
use vazao_network::{Graph, Routing};

/// Start parameters of a guest.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// Name of the host.
    pub name: String,
    /// Number among the run's guests.
    pub number: u32,
    /// Kernel.
    pub kernel: Kernel,
    /// Number of interfaces.
    pub cards: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Seed of its ports and initial sequence numbers.
    pub seed: u64,
    /// Longest time for which a card waits for more packets before it interrupts.
    pub moderation: Duration,
    /// Whether its cards compute checksums, so that its kernel hands them data in pieces.
    pub checksums: bool,
    /// Whether it runs programs of the machine. A program may read the clock in a loop; unless the guest runs ahead of
    /// the others, each reading costs a switch between processes.
    pub has_programs: bool,
    /// Plan of its first program.
    pub plan: Plan,
}

/// Guest of a scenario: its node in the graph and its start parameters.
#[derive(Clone, Debug)]
pub(crate) struct GuestPlan {
    pub node: usize,
    pub host: HostPlan,
}

/// Plans all guests, in the order in which flows name them.
///
/// # Errors
/// A guest's kernel was not built, or its flows disagree in the host's settings.
pub(crate) fn plan(scenario: &Scenario, addresses: &Addresses) -> Result<Vec<GuestPlan>, String> {
    let mut guests: Vec<(usize, &FlowSpec)> = Vec::new();
    for (flow, sockets) in scenario.flows.iter().zip(&addresses.sockets) {
        for (stack, socket) in flow.transport.stacks.iter().zip(sockets) {
            let node = addresses.interfaces[socket.interface].node;
            if stack.is_guest() && !guests.iter().any(|(known, _)| *known == node) {
                guests.push((node, flow));
            }
        }
    }
    guests.iter().enumerate().map(|(number, (node, first))| host(scenario, addresses, *node, number, first)).collect()
}

fn host(
    scenario: &Scenario,
    addresses: &Addresses,
    node: usize,
    number: usize,
    first: &FlowSpec,
) -> Result<GuestPlan, String> {
    let name = scenario.graph.nodes[node].name.clone();
    let ends = ends(scenario, addresses, node);
    let spec = &first.transport.guest;
    if let Some(what) = conflict(&ends) {
        return Err(format!("host {name:?}: its flows differ in {what}, of which a guest has one"));
    }
    let (wanted, kernel) = &spec.kernel;
    let kernel = kernel.clone().ok_or_else(|| {
        format!(
            "host {name:?} needs kernel {wanted:?}, which is not built; `vazao kernel build` builds one without root, \
             and `vazao kernel list` says what there is"
        )
    })?;
    let links = Routing::new(&scenario.graph).interfaces(node).len();
    let flows = ends.iter().map(|end| flow::flow(end)).collect::<Result<_, String>>();
    let plan = Plan {
        setup: setup::setup(scenario, addresses, node, &ends),
        sample: Some(spec.sample.as_nanos()),
        end: scenario.until.map(|until| until.as_nanos()),
        flows: flows.map_err(|problem| format!("host {name:?}: {problem}"))?,
        power_off: false,
    };
    let seed = RandomStream::new(scenario.seed, &format!("guest/{name}")).bits() >> 32;
    let host = HostPlan {
        name,
        number: number as u32,
        kernel,
        cards: links as u32,
        memory_mib: memory_mib(&scenario.graph, &ends),
        seed,
        moderation: spec.moderation,
        checksums: spec.offloads == Offloads::All,
        has_programs: ends.iter().any(|end| end.is_program()),
        plan,
    };
    Ok(GuestPlan { node, host })
}

/// Returns the memory of a guest: its kernel's, and the buffers of each flow, tuned by the kernel or as given.
/// Untouched memory costs the machine nothing.
fn memory_mib(graph: &Graph, ends: &[KernelEnd<'_>]) -> u32 {
    const TUNED: u64 = 12 << 20;
    let of = |end: &KernelEnd<'_>| {
        let buffers = (end.protocol().buffers)(end.parameters());
        TUNED.max(8 * end.flow.routes.bdp(graph, end.sides.client_sends)) + 2 * buffers
    };
    let programs = if ends.iter().any(KernelEnd::is_program) { 448 } else { 0 };
    64 + programs + ends.iter().map(of).sum::<u64>().div_ceil(1 << 20).min(1984) as u32
}

/// Returns a setting of the host in which the flows of a guest disagree.
fn conflict(ends: &[KernelEnd<'_>]) -> Option<&'static str> {
    let programs = || ends.iter().filter(|end| end.is_program());
    let peers: BTreeSet<usize> = programs().map(KernelEnd::peer_node).collect();
    let rules = [
        (
            "kernel, sysctl, module, moderation, sample, offloads or netem",
            differ(ends.iter(), |end| end.flow.transport.guest.at(end.role)),
        ),
        ("the congestion control of programs", differ(programs(), |end| end.control())),
        ("what its packets belong to: several programs between two hosts", peers.len() < programs().count()),
    ];
    let broken = rules.iter().find(|(_, broken)| *broken).map(|(words, _)| *words);
    broken.or_else(|| {
        let mut known = BTreeMap::new();
        let transfers = ends.iter().filter(|end| !end.is_program());
        let mut settings = transfers.flat_map(|end| end.protocol().common.iter().map(move |setting| (end, setting)));
        let differing = settings.find(|(end, setting)| {
            let (peer, value) = (setting.per_peer.then(|| end.peer_node()), (setting.value)(end));
            *known.entry((setting.words, peer)).or_insert_with(|| value.clone()) != value
        });
        differing.map(|(_, setting)| setting.words)
    })
}

/// Returns whether a value differs between ends.
fn differ<'a, T: PartialEq>(
    mut ends: impl Iterator<Item = &'a KernelEnd<'a>>,
    what: impl Fn(&KernelEnd<'_>) -> T,
) -> bool {
    let Some(first) = ends.next().map(&what) else { return false };
    ends.any(|end| what(end) != first)
}

/// Returns the ends of flows that a guest plays.
fn ends<'a>(scenario: &'a Scenario, addresses: &'a Addresses, node: usize) -> Vec<KernelEnd<'a>> {
    let mut ends = Vec::new();
    for (number, (flow, sockets)) in scenario.flows.iter().zip(&addresses.sockets).enumerate() {
        for (side, role) in [Role::Client, Role::Server].into_iter().enumerate() {
            let own = sockets[side];
            if flow.transport.stacks[side].is_guest() && addresses.interfaces[own.interface].node == node {
                let sides = flow.sides();
                ends.push(KernelEnd { number, flow, addresses, sides, role, own, peer: sockets[1 - side] });
            }
        }
    }
    ends
}
