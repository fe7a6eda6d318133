//! Settings of a guest's kernel and network before any flow starts.

use crate::model::address::Addresses;
use crate::model::guest::Offloads;
use crate::model::scenario::{KernelEnd, Scenario};
use std::collections::BTreeMap;
use vazao_engine::RandomStream;
use vazao_guest_protocol::{Route, Setup};
use vazao_network::{Graph, Routing};

/// Settings of every guest: the buffers of a host with gigabytes of memory, whatever its own size; and no cache of past
/// connections, so that flows do not depend on each other.
const SETTINGS: &[(&str, &str)] = &[
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_mem", "196608 262144 393216"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.core.rmem_max", "67108864"),
    ("net.core.wmem_max", "67108864"),
    // Packets may arrive by another interface than answers leave by.
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
];

/// Initial window of the kernel in segments, unless a route has another.
const INITIAL_WINDOW: u64 = 10;

/// Returns all settings of the guest at `node`, which plays `ends`.
pub(super) fn setup(scenario: &Scenario, addresses: &Addresses, node: usize, ends: &[KernelEnd<'_>]) -> Vec<Setup> {
    let graph = &scenario.graph;
    let mtu = ends.iter().map(|end| (end.protocol().mtu)(end.parameters())).min().unwrap_or(1500) as u32;
    let interfaces = addresses.of(node).map(|index| {
        let interface = &addresses.interfaces[index];
        Setup::Interface { number: interface.number as u32, address: interface.address.into(), mtu }
    });
    let cards = addresses.of(node).map(|index| addresses.interfaces[index].number as u32);
    let queues = cards.flat_map(|card| queue(scenario, &graph.nodes[node].name, card, &ends[0]));
    let sysctls = sysctls(ends).into_iter().map(|(name, value)| Setup::Sysctl { name, value });
    let modules = ends[0].flow.transport.guest.module.iter().cloned();
    let modules = modules.map(|(name, value)| Setup::Module { name, value });
    let routes = routes(graph, addresses, node, ends).into_iter().map(Setup::Route);
    let path_manager = ends.iter().map(|end| (end.protocol().path_manager)(end)).find(|setup| !setup.is_empty());
    interfaces
        .chain(queues)
        .chain(sysctls)
        .chain(modules)
        .chain(routes)
        .chain(path_manager.into_iter().flatten())
        .collect()
}

/// Returns the settings of the queue of a host's card, in which its flows agree.
fn queue(scenario: &Scenario, host: &str, interface: u32, end: &KernelEnd<'_>) -> impl Iterator<Item = Setup> + use<> {
    const UNIT: f64 = (1_u64 << 32) as f64;
    let spec = &end.flow.transport.guest;
    let segments = (spec.offloads == Offloads::None).then_some(Setup::Segments { interface, most: 1 });
    let loss = spec.netem[end.role as usize];
    // The kernel loses what draws at most this, of 2^32 numbers from 0.
    let most = (loss * UNIT).round() as u64;
    let seed = || RandomStream::new(scenario.seed, &format!("guest/{host}/netem/{interface}")).bits();
    let netem = most.checked_sub(1).map(|most| Setup::Netem { interface, loss: most as u32, seed: seed() });
    segments.into_iter().chain(netem)
}

/// Returns the kernel's settings. Settings of flows override the common ones.
fn sysctls(ends: &[KernelEnd<'_>]) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = SETTINGS.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
    for end in ends {
        let own = (end.protocol().sysctls)(end.parameters());
        all.extend(own.into_iter().map(|(name, value)| (name.into(), value)));
        if end.is_program() {
            all.insert("net.ipv4.tcp_congestion_control".into(), end.control().into());
        }
        all.extend(end.flow.transport.guest.sysctl.iter().cloned());
    }
    all
}

/// Returns routes to the addresses of all peers, by the interfaces from which they can be reached.
fn routes(graph: &Graph, addresses: &Addresses, node: usize, ends: &[KernelEnd<'_>]) -> Vec<Route> {
    let routing = Routing::new(graph);
    let mut windows = BTreeMap::new();
    for end in ends {
        let window = windows.entry(end.peer_node()).or_insert(INITIAL_WINDOW);
        if let Some(wanted) = (end.protocol().initial_window)(end.parameters()).filter(|_| !end.is_program()) {
            *window = wanted;
        }
    }
    // The ways of the flows come first: the main table has these.
    let named = ends.iter().map(|end| {
        let window = windows[&end.peer_node()];
        (end.own.interface, end.peer.interface, window)
    });
    let place = |index: usize| addresses.interfaces[index].place();
    let mut ways = Vec::new();
    for (&peer, &window) in &windows {
        for (from, to) in addresses.of(node).flat_map(|from| addresses.of(peer).map(move |to| (from, to))) {
            if let Some((_, arrives)) = routing.way(place(from), place(to)) {
                ways.push((arrives != addresses.interfaces[to].number, (from, to, window)));
            }
        }
    }
    // A way that ends at the interface with the address comes before one that ends at another of the host.
    ways.sort_by_key(|(ends_elsewhere, _)| *ends_elsewhere);
    let mut routes = Vec::new();
    for (from, to, window) in named.chain(ways.into_iter().map(|(_, way)| way)) {
        let (from, to) = (&addresses.interfaces[from], &addresses.interfaces[to]);
        let route = Route {
            destination: to.address.into(),
            interface: from.number as u32,
            source: from.address.into(),
            initial_window: (window != INITIAL_WINDOW).then_some(window as u32),
        };
        if !routes.contains(&route) {
            routes.push(route);
        }
    }
    routes
}
