//! What each guest of a scenario is to do, written as the statements that its first process reads.

use crate::address::{Addresses, Socket};
use crate::flow::FlowSpec;
use crate::scenario::Scenario;
use crate::stack::{Kernel, Stack};
use crate::transport::{LINUX_CONTROLS, Protocol, udp_rate};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use vazao_application::{Application, Sides, Sink, Source};
use vazao_engine::{Duration, Stream};
use vazao_network::Graph;
use vazao_wire::line::escaped;

/// What a guest is started with.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// The host's name.
    pub name: String,
    /// Its number among the run's guests.
    pub number: u32,
    /// Its kernel.
    pub kernel: Kernel,
    /// How many interfaces it has.
    pub cards: u32,
    /// Its memory, in MiB.
    pub memory_mib: u32,
    /// Decides its ports and initial sequence numbers.
    pub seed: u64,
    /// How long a card may wait for more packets before it interrupts.
    pub moderation: Duration,
    /// Whether it runs programs that nobody can foresee: one that reads the clock without end must run ahead of the
    /// others, or each reading costs a switch between processes.
    pub has_programs: bool,
    /// The statements for its first process.
    pub plan: String,
}

/// A host that a guest plays: its node in the graph and what it is started with.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub node: usize,
    pub host: HostPlan,
}

/// Plans of all guests, in the order in which flows name them.
///
/// # Errors
/// Why they cannot be: a kernel that was not built, or flows that want one host in two ways.
pub(crate) fn plan(scenario: &Scenario, addresses: &Addresses) -> Result<Vec<Planned>, String> {
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
) -> Result<Planned, String> {
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
    let links = vazao_network::Routing::new(&scenario.graph).interfaces(node).len();
    let mut plan = String::new();
    write_host(&mut plan, scenario, addresses, node, &ends).expect("a string takes everything");
    let seed = Stream::new(scenario.seed, &format!("guest/{name}")).bits() >> 32;
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
    Ok(Planned { node, host })
}

/// What a kernel needs, and room for what each flow may buffer: what the kernel's own tuning allows it, or what it was
/// given. Memory that is not touched costs the machine nothing.
fn memory_mib(graph: &Graph, ends: &[End<'_>]) -> u32 {
    const TUNED: u64 = 12 << 20;
    let of = |end: &End<'_>| {
        let transport = &end.flow.transport;
        let given = |name| if transport.entry.build == Protocol::Tcp { transport.parameters.size(name) } else { None };
        let buffers = given("receive_buffer").unwrap_or(0) + given("send_buffer").unwrap_or(0);
        TUNED.max(8 * end.flow.routes.bdp(graph, end.sides.client_sends)) + 2 * buffers
    };
    let programs = if ends.iter().any(End::is_program) { 448 } else { 0 };
    64 + programs + ends.iter().map(of).sum::<u64>().div_ceil(1 << 20).min(1984) as u32
}

/// What the flows of one guest disagree in, though it can have it in one way only.
fn conflict(addresses: &Addresses, ends: &[End<'_>]) -> Option<&'static str> {
    let of = |protocol| ends.iter().filter(move |end| end.flow.transport.entry.build == protocol && !end.is_program());
    let tcp = || of(Protocol::Tcp);
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
            differ(of(Protocol::Mptcp), |end| (end.side, path_manager(end)))
        }),
    ];
    rules.iter().find(|(_, broken)| *broken).map(|(what, _)| *what)
}

/// The name of the path manager of an MPTCP flow.
fn path_manager(end: &End<'_>) -> Option<&'static str> {
    end.flow.transport.multipath.as_ref()?.path_manager.as_ref().map(|manager| manager.0.name)
}

/// Whether not all ends have the same of something.
fn differ<'a, T: PartialEq>(mut ends: impl Iterator<Item = &'a End<'a>>, what: impl Fn(&End<'_>) -> T) -> bool {
    let Some(first) = ends.next().map(&what) else { return false };
    ends.any(|end| what(end) != first)
}

/// One end of a flow, on the guest that plays it.
struct End<'a> {
    number: usize,
    flow: &'a FlowSpec,
    sides: Sides,
    /// 0: client, 1: server.
    side: usize,
    own: Socket,
    peer: Socket,
}

impl End<'_> {
    fn is_program(&self) -> bool {
        self.sides.is_program()
    }
}

/// The ends of flows that a guest plays.
fn ends<'a>(scenario: &'a Scenario, addresses: &Addresses, node: usize) -> Vec<End<'a>> {
    let mut ends = Vec::new();
    for (number, (flow, sockets)) in scenario.flows.iter().zip(&addresses.sockets).enumerate() {
        for side in 0..2 {
            let own = sockets[side];
            if flow.transport.stacks[side] == Stack::Linux && addresses.interfaces[own.interface].node == node {
                let sides = flow.sides();
                ends.push(End { number, flow, sides, side, own, peer: sockets[1 - side] });
            }
        }
    }
    ends
}

/// Settings of every guest: what a host with gigabytes of memory has, whatever its own size; and no memory of past
/// connections, so that flows do not depend on each other's ends.
const SETTINGS: &[(&str, &str)] = &[
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_mem", "196608 262144 393216"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.core.rmem_max", "67108864"),
    ("net.core.wmem_max", "67108864"),
    // Whether packets come by another interface than answers would leave by is the topology's business.
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
];

fn write_host(
    out: &mut String,
    scenario: &Scenario,
    addresses: &Addresses,
    node: usize,
    ends: &[End<'_>],
) -> std::fmt::Result {
    let graph = &scenario.graph;
    let mtu = ends.iter().map(mtu).min().unwrap_or(1500);
    for index in addresses.of(node) {
        let interface = &addresses.interfaces[index];
        writeln!(out, "card {} {} {mtu}", interface.number, Ipv4Addr::from(interface.address))?;
    }
    for (name, value) in settings(ends) {
        writeln!(out, "sysctl {name} {}", escaped(&value))?;
    }
    let spec = &ends[0].flow.transport.guest;
    for (name, value) in &spec.module {
        writeln!(out, "module {name} {}", escaped(value))?;
    }
    write_routes(out, graph, addresses, node, ends)?;
    write_mptcp(out, addresses, node, ends)?;
    writeln!(out, "sample {}", spec.sample.as_nanos())?;
    if let Some(until) = scenario.until {
        writeln!(out, "until {}", until.as_nanos())?;
    }
    ends.iter().try_for_each(|end| write_flow(out, addresses, end))
}

/// Segments of `mss` bytes with the options that go with each fill a packet.
fn mtu(end: &End<'_>) -> u64 {
    let parameters = &end.flow.transport.parameters;
    match end.flow.transport.entry.build {
        Protocol::Tcp => parameters.integer("mss") + 40 + if parameters.flag("timestamps") { 12 } else { 0 },
        _ => 1500,
    }
}

/// The kernel settings, later ones over earlier ones.
fn settings(ends: &[End<'_>]) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = SETTINGS.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
    for end in ends {
        let transport = &end.flow.transport;
        if transport.entry.build == Protocol::Tcp {
            for (name, flag) in [("sack", "net.ipv4.tcp_sack"), ("timestamps", "net.ipv4.tcp_timestamps")] {
                all.insert(flag.into(), u8::from(transport.parameters.flag(name)).to_string());
            }
        }
        if transport.entry.build == Protocol::Sctp && transport.parameters.flag("interleaving") {
            all.insert("net.sctp.intl_enable".into(), "1".into());
        }
        if matches!(end.sides.client, Application::Program(_)) {
            all.insert("net.ipv4.tcp_congestion_control".into(), kernel_control(end.flow).into());
        }
        all.extend(transport.guest.sysctl.iter().cloned());
    }
    all
}

/// The kernel's name for a flow's congestion control. One that it does not have belongs to a sender of ours.
fn kernel_control(flow: &FlowSpec) -> &'static str {
    let name = &flow.transport.control.name;
    LINUX_CONTROLS.iter().find(|(ours, _)| ours == name).map_or("cubic", |(_, theirs)| theirs)
}

/// The kernel's initial window in segments, unless a route says otherwise.
const INITIAL_WINDOW: u64 = 10;

/// Host routes to the addresses of all peers, by the interfaces from which they can be reached.
fn write_routes(
    out: &mut String,
    graph: &Graph,
    addresses: &Addresses,
    node: usize,
    ends: &[End<'_>],
) -> std::fmt::Result {
    let routing = vazao_network::Routing::new(graph);
    let mut window = BTreeMap::new();
    for end in ends {
        let peer = window.entry(addresses.interfaces[end.peer.interface].node).or_insert(INITIAL_WINDOW);
        if end.flow.transport.entry.build == Protocol::Tcp && !end.is_program() {
            *peer = end.flow.transport.parameters.integer("initial_window");
        }
    }
    for end in ends {
        // The way that the flow names comes first: it is the one that the main table has.
        let initial = window[&addresses.interfaces[end.peer.interface].node];
        write_route(out, addresses, (end.own.interface, end.peer.interface), initial)?;
    }
    let place = |index: usize| addresses.interfaces[index].place();
    let mut ways = Vec::new();
    for (peer, initial) in window {
        for (from, to) in addresses.of(node).flat_map(|from| addresses.of(peer).map(move |to| (from, to))) {
            if let Some((_, arrives)) = routing.way(place(from), place(to)) {
                ways.push((arrives != addresses.interfaces[to].number, from, to, initial));
            }
        }
    }
    // A way that ends at the interface with the address comes before one that ends at another of the host.
    ways.sort_by_key(|way| way.0);
    ways.iter().try_for_each(|&(_, from, to, initial)| write_route(out, addresses, (from, to), initial))
}

fn write_route(out: &mut String, addresses: &Addresses, (from, to): (usize, usize), initial: u64) -> std::fmt::Result {
    let (from, to) = (&addresses.interfaces[from], &addresses.interfaces[to]);
    let (peer, source) = (Ipv4Addr::from(to.address), Ipv4Addr::from(from.address));
    let mut line = format!("route {peer} card {} source {source}", from.number);
    if initial != INITIAL_WINDOW {
        write!(line, " initcwnd {initial}")?;
    }
    if out.lines().any(|known| known == line) { Ok(()) } else { writeln!(out, "{line}") }
}

/// Which addresses an MPTCP host opens subflows from, or tells its peer of.
fn write_mptcp(out: &mut String, addresses: &Addresses, node: usize, ends: &[End<'_>]) -> std::fmt::Result {
    let Some(end) = ends.iter().find(|end| end.flow.transport.entry.build == Protocol::Mptcp) else { return Ok(()) };
    let full = path_manager(end) == Some("full-mesh");
    let flags = if end.side == 0 { "subflow fullmesh" } else { "signal" };
    writeln!(out, "mptcp limits 8 8")?;
    for index in addresses.of(node).filter(|&index| full || index != end.own.interface) {
        let interface = &addresses.interfaces[index];
        // The client opens a subflow to each address that the server tells of, from the interface that its routes
        // name; from all of them if they are endpoints of a full mesh.
        if end.side == 1 || full {
            writeln!(out, "mptcp endpoint {} {flags}", Ipv4Addr::from(interface.address))?;
        }
    }
    Ok(())
}

fn write_flow(out: &mut String, addresses: &Addresses, end: &End<'_>) -> std::fmt::Result {
    let transport = &end.flow.transport;
    let role = ["client", "server"][end.side];
    let application = if end.side == 0 { &end.sides.client } else { &end.sides.server };
    if let Application::Program(program) = application {
        let sockets = if end.side == 0 { [end.own, end.peer] } else { [end.peer, end.own] };
        let [client, server] = sockets.map(|socket| Ipv4Addr::from(socket.address).to_string());
        let program = escaped(&program.replace("{client}", &client).replace("{server}", &server));
        let start = if end.side == 0 { end.flow.start.as_nanos() } else { 0 };
        return writeln!(
            out,
            "flow number={} transport=command role={role} start={start} program={program}",
            end.number
        );
    }
    write!(out, "flow number={} transport={} role={role}", end.number, transport.entry.name)?;
    write!(out, " local={}:{}", Ipv4Addr::from(end.own.address), end.own.port)?;
    write!(out, " peer={}:{}", Ipv4Addr::from(end.peer.address), end.peer.port)?;
    if end.side == 0 {
        write!(out, " start={}", end.flow.start.as_nanos())?;
    }
    match application {
        Application::Source(source) => write_source(out, source)?,
        Application::Sink(sink) => write_sink(out, sink, end.sides.source())?,
        Application::Program(_) => unreachable!("programs were written above"),
        Application::Client(_) | Application::Server(_) | Application::Visit(_) => {
            unreachable!("guests play no dialogues")
        }
    }
    match transport.entry.build {
        Protocol::Tcp => {
            write!(out, " cc={}", kernel_control(end.flow))?;
            for (name, word) in [("send_buffer", "sndbuf"), ("receive_buffer", "rcvbuf")] {
                if let Some(bytes) = transport.parameters.size(name) {
                    write!(out, " {word}={bytes}")?;
                }
            }
        }
        Protocol::Mptcp => write!(out, " cc={}", kernel_control(end.flow))?,
        Protocol::Udp => {
            write!(out, " payload={}", transport.parameters.integer("payload"))?;
            write!(out, " rate={}", udp_rate(&transport.parameters).as_bps() / 8)?;
        }
        Protocol::Quic => {}
        Protocol::Sctp => write_sctp(out, addresses, end)?,
    }
    writeln!(out)
}

fn write_sctp(out: &mut String, addresses: &Addresses, end: &End<'_>) -> std::fmt::Result {
    let parameters = &end.flow.transport.parameters;
    if parameters.flag("interleaving") {
        write!(out, " interleaving=1")?;
    }
    if !parameters.flag("multihomed") {
        return Ok(());
    }
    let all = |socket: Socket| -> String {
        let node = addresses.interfaces[socket.interface].node;
        // The first is the primary one.
        let others = addresses.of(node).filter(|&index| index != socket.interface);
        let indices = std::iter::once(socket.interface).chain(others);
        let address = |index: usize| Ipv4Addr::from(addresses.interfaces[index].address).to_string();
        indices.map(address).collect::<Vec<_>>().join(",")
    };
    write!(out, " locals={} peers={}", all(end.own), all(end.peer))
}

fn write_source(out: &mut String, source: &Source) -> std::fmt::Result {
    write!(out, " act=send")?;
    if let Some(size) = source.size() {
        write!(out, " size={size}")?;
    }
    if let Some(duration) = source.duration() {
        write!(out, " duration={}", duration.as_nanos())?;
    }
    if let Some((message, interval)) = source.pace() {
        write!(out, " message={message} interval={}", interval.as_nanos())?;
    }
    Ok(())
}

fn write_sink(out: &mut String, sink: &Sink, source: Option<&Source>) -> std::fmt::Result {
    write!(out, " act=receive")?;
    // A source with a duration may end before its size.
    if let Some(size) = source.filter(|source| source.duration().is_none()).and_then(Source::size) {
        write!(out, " size={size}")?;
    }
    if let Some(rate) = sink.read_rate() {
        write!(out, " read_rate={}", rate.as_bps() / 8)?;
    }
    Ok(())
}
