//! Start parameters of each guest, and the plan of its first program.

mod flow;
mod setup;

use crate::model::address::{Addresses, Socket};
use crate::model::flow::FlowSpec;
use crate::model::scenario::Scenario;
use crate::model::stack::{Kernel, LINUX_CONTROLS, Stack};
use crate::model::transport::KernelProtocol;
use vazao_application::Sides;
use vazao_engine::{Duration, RandomStream};
use vazao_guest_protocol::{Plan, Role};
use vazao_network::{Graph, Routing};
use vazao_transport::mptcp::path_manager::Mesh;

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
            if *stack == Stack::Linux && !guests.iter().any(|(known, _)| *known == node) {
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
    if let Some(what) = conflict(addresses, &ends) {
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
    let flows = ends.iter().map(|end| flow::flow(addresses, end)).collect::<Result<_, String>>();
    let plan = Plan {
        setup: setup::setup(&scenario.graph, addresses, node, &ends),
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
        has_programs: ends.iter().any(|end| end.is_program()),
        plan,
    };
    Ok(GuestPlan { node, host })
}

/// Returns the memory of a guest: its kernel's, and the buffers of each flow, tuned by the kernel or as given.
/// Untouched memory costs the machine nothing.
fn memory_mib(graph: &Graph, ends: &[End<'_>]) -> u32 {
    const TUNED: u64 = 12 << 20;
    let of = |end: &End<'_>| {
        let transport = &end.flow.transport;
        let given = |name| {
            if transport.pack().kernel == Some(KernelProtocol::Tcp) { transport.parameters.size(name) } else { None }
        };
        let buffers = given("receive_buffer").unwrap_or(0) + given("send_buffer").unwrap_or(0);
        TUNED.max(8 * end.flow.routes.bdp(graph, end.sides.client_sends)) + 2 * buffers
    };
    let programs = if ends.iter().any(End::is_program) { 448 } else { 0 };
    64 + programs + ends.iter().map(of).sum::<u64>().div_ceil(1 << 20).min(1984) as u32
}

/// Returns a setting of the host in which the flows of a guest disagree.
fn conflict(addresses: &Addresses, ends: &[End<'_>]) -> Option<&'static str> {
    let of = |protocol| {
        ends.iter().filter(move |end| end.flow.transport.pack().kernel == Some(protocol) && !end.is_program())
    };
    let tcp = || of(KernelProtocol::Tcp);
    let parameters = |end: &End<'_>| end.flow.transport.parameters.clone();
    let peer = |end: &End<'_>| addresses.interfaces[end.peer.interface].node;
    let mut programs: Vec<usize> = ends.iter().filter(|end| end.is_program()).map(peer).collect();
    let all = programs.len();
    programs.sort_unstable();
    programs.dedup();
    let rules: [(&'static str, bool); 7] = [
        ("kernel, sysctl, module, moderation or sample", differ(ends.iter(), |end| end.flow.transport.guest.clone())),
        ("mss", differ(tcp(), |end| parameters(end).integer("mss"))),
        ("sack or timestamps", differ(tcp(), |end| (parameters(end).flag("sack"), parameters(end).flag("timestamps")))),
        ("initial_window towards one host", {
            tcp().any(|a| {
                tcp().any(|b| {
                    let window = |end| parameters(end).integer("initial_window");
                    peer(a) == peer(b) && window(a) != window(b)
                })
            })
        }),
        ("the congestion control of programs", {
            differ(ends.iter().filter(|end| end.is_program()), |end| kernel_control(end.flow))
        }),
        ("what its packets belong to: several programs between two hosts", programs.len() < all),
        ("path_manager, or in being client and server of MPTCP", {
            differ(of(KernelProtocol::Mptcp), |end| (end.role, mesh(end)))
        }),
    ];
    rules.iter().find(|(_, broken)| *broken).map(|(what, _)| *what)
}

/// Returns the mesh of an MPTCP flow's subflows.
fn mesh(end: &End<'_>) -> Option<Mesh> {
    end.flow.transport.multipath.as_ref()?.mesh()
}

/// Returns whether a value differs between ends.
fn differ<'a, T: PartialEq>(mut ends: impl Iterator<Item = &'a End<'a>>, what: impl Fn(&End<'_>) -> T) -> bool {
    let Some(first) = ends.next().map(&what) else { return false };
    ends.any(|end| what(end) != first)
}

/// End of a flow on the guest that plays it.
struct End<'a> {
    number: usize,
    flow: &'a FlowSpec,
    sides: Sides,
    role: Role,
    own: Socket,
    peer: Socket,
}

impl End<'_> {
    fn is_program(&self) -> bool {
        self.sides.is_program()
    }
}

/// Returns the ends of flows that a guest plays.
fn ends<'a>(scenario: &'a Scenario, addresses: &Addresses, node: usize) -> Vec<End<'a>> {
    let mut ends = Vec::new();
    for (number, (flow, sockets)) in scenario.flows.iter().zip(&addresses.sockets).enumerate() {
        for (side, role) in [Role::Client, Role::Server].into_iter().enumerate() {
            let own = sockets[side];
            if flow.transport.stacks[side] == Stack::Linux && addresses.interfaces[own.interface].node == node {
                let sides = flow.sides();
                ends.push(End { number, flow, sides, role, own, peer: sockets[1 - side] });
            }
        }
    }
    ends
}

/// Returns the kernel's name of a flow's congestion control, and `cubic` for one that no kernel has: it belongs to a sender
/// of ours.
fn kernel_control(flow: &FlowSpec) -> &'static str {
    let name = &flow.transport.control.name;
    LINUX_CONTROLS.iter().find(|(ours, _)| ours == name).map_or("cubic", |(_, theirs)| theirs)
}
