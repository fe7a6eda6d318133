//! The networks that have a name.

use crate::direction::Direction;
use crate::graph::{Duplex, Given, Graph, Node, NodeKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

/// Both directions of a link that has no place yet.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Direction from left to right, or from `a` to `b`.
    pub forward: Arc<Direction>,
    /// The other way.
    pub reverse: Arc<Direction>,
    /// Where it was described.
    pub given: Given,
}

impl Graph {
    /// Makes room for so many nodes and links: a list that doubles as it grows holds half its memory for nothing.
    fn reserve(&mut self, nodes: usize, links: usize) {
        self.nodes.reserve_exact(nodes);
        self.links.reserve_exact(links);
    }
    fn join(&mut self, name: impl Into<String>, source: usize, target: usize, link: &LinkSpec) {
        let (forward, reverse) = (link.forward.clone(), link.reverse.clone());
        self.links.push(Duplex { name: name.into(), source, target, forward, reverse, given: link.given });
    }
    fn host(&mut self, name: impl Into<String>) -> usize {
        self.add(name, NodeKind::Host)
    }
    fn router(&mut self, name: impl Into<String>) -> usize {
        self.add(name, NodeKind::Router)
    }
    fn pair(&mut self, left: impl Into<String>, right: impl Into<String>) {
        self.pairs.push((left.into(), right.into()));
    }
}

/// Hosts `a` and `b` joined by one link, named `link`.
pub fn point_to_point(link: &LinkSpec) -> Graph {
    let mut graph = Graph::default();
    let (a, b) = (graph.host("a"), graph.host("b"));
    graph.join("link", a, b, link);
    graph.pair("a", "b");
    graph
}

/// Hosts `a` and `b` joined by a chain of links with routers `R1`, `R2`, … between them. Links are named `link1`, …
pub fn path(links: &[LinkSpec]) -> Graph {
    let mut graph = Graph::default();
    let mut node = graph.host("a");
    for (i, link) in links.iter().enumerate() {
        let next = if i + 1 == links.len() { graph.host("b") } else { graph.router(format!("R{}", i + 1)) };
        graph.join(format!("link{}", i + 1), node, next, link);
        node = next;
    }
    graph.pair("a", "b");
    graph
}

/// Pairs of hosts `left1`-`right1`, … around the link `bottleneck` between routers `R1` and `R2`. Access links bear the
/// name of their host; `access` gives each pair's, or one for all.
pub fn dumbbell(pairs: usize, access: &[LinkSpec], bottleneck: &LinkSpec) -> Graph {
    let mut graph = Graph::default();
    graph.reserve(2 + 2 * pairs, 1 + 2 * pairs);
    let (r1, r2) = (graph.router("R1"), graph.router("R2"));
    graph.join("bottleneck", r1, r2, bottleneck);
    for i in 0..pairs {
        let link = &access[i.min(access.len() - 1)];
        let (left, right) = (format!("left{}", i + 1), format!("right{}", i + 1));
        let (l, r) = (graph.host(&left), graph.host(&right));
        graph.join(&left, l, r1, link);
        graph.join(&right, r2, r, link);
        graph.pair(left, right);
    }
    graph
}

/// Returns a chain of `hops` links `bottleneck1`, …: hosts `a` and `b` use all of them, and each pair `left1`-`right1`,
/// … only its own. Flow 1 joins `a` and `b`, the others the pairs in order.
pub fn parking_lot(hops: usize, access: &LinkSpec, bottleneck: &LinkSpec) -> Graph {
    let mut graph = Graph::default();
    let routers: Vec<_> = (0..=hops).map(|i| graph.router(format!("R{}", i + 1))).collect();
    for i in 0..hops {
        graph.join(format!("bottleneck{}", i + 1), routers[i], routers[i + 1], bottleneck);
    }
    let (a, b) = (graph.host("a"), graph.host("b"));
    graph.join("a", a, routers[0], access);
    graph.join("b", routers[hops], b, access);
    graph.pair("a", "b");
    for i in 0..hops {
        let (left, right) = (format!("left{}", i + 1), format!("right{}", i + 1));
        let (l, r) = (graph.host(&left), graph.host(&right));
        graph.join(&left, l, routers[i], access);
        graph.join(&right, routers[i + 1], r, access);
        graph.pair(left, right);
    }
    graph
}

/// Hosts `a` and `b` joined by disjoint links `path1`, `path2`, …; interface `a.2` and interface `b.2` are the ends of
/// `path2`.
pub fn multipath(links: &[LinkSpec]) -> Graph {
    let mut graph = Graph::default();
    let (a, b) = (graph.host("a"), graph.host("b"));
    for (i, link) in links.iter().enumerate() {
        graph.join(format!("path{}", i + 1), a, b, link);
        graph.pair(format!("a.{}", i + 1), format!("b.{}", i + 1));
    }
    graph
}

/// Link with its name and the nodes that it joins.
#[derive(Clone, Debug)]
pub struct NamedLink {
    /// Name.
    pub name: String,
    /// Node where it begins.
    pub from: String,
    /// Node where it ends.
    pub to: String,
    /// Both directions.
    pub link: LinkSpec,
}

/// Any graph: nodes, and named links between them. Flows name their hosts.
///
/// # Errors
/// A sentence when a name is used twice or a link ends at a node that does not exist.
pub fn custom(nodes: Vec<Node>, links: &[NamedLink]) -> Result<Graph, String> {
    let mut numbers = BTreeMap::new();
    for (number, node) in nodes.iter().enumerate() {
        if numbers.insert(node.name.clone(), number).is_some() {
            return Err(format!("two nodes are called {:?}", node.name));
        }
    }
    let mut graph = Graph { nodes, ..Graph::default() };
    graph.reserve(0, links.len());
    let mut names = BTreeSet::new();
    for NamedLink { name, from, to, link } in links {
        let node = |end: &String| {
            numbers.get(end).copied().ok_or_else(|| {
                let names = graph.nodes.iter().map(|node| node.name.as_str());
                format!("link {name:?}: {}", vazao_engine::registry::unknown("node", end, names))
            })
        };
        let (source, target) = (node(from)?, node(to)?);
        if source == target {
            return Err(format!("link {name:?} joins {from:?} to itself"));
        }
        if !names.insert(name) {
            return Err(format!("two links are called {name:?}"));
        }
        graph.join(name, source, target, link);
    }
    let names: Vec<String> = graph.hosts().map(str::to_owned).collect();
    for pair in names.chunks_exact(2) {
        graph.pair(&pair[0], &pair[1]);
    }
    Ok(graph)
}

/// A kind of network.
pub enum Topology {
    /// Topology made from links under certain keys.
    Links {
        /// The keys, in the order in which they are asked for.
        keys: &'static [Key],
        /// Function that returns the number of links made from one given link.
        copies: fn(&Parameters) -> u64,
        /// Makes it from its parameters and the links under each key.
        build: fn(&Parameters, &[Vec<LinkSpec>]) -> Graph,
    },
    /// Topology whose links are named one by one under the key [`NAMED`]: made from its parameters and them.
    Named(fn(&Parameters, &[NamedLink]) -> Result<Graph, String>),
}

/// Key under which links of a topology are given.
pub struct Key {
    /// Name as a user types it.
    pub name: &'static str,
    /// Word for one of its links.
    pub noun: &'static str,
    /// Number of links.
    pub count: Count,
}

/// Number of links under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// One.
    One,
    /// One or more.
    Many,
    /// One for all, or as many as a parameter says.
    OneOrEach(&'static str),
    /// Any number, each with a name and the nodes that it joins.
    Named,
}

/// Number of additional links: none.
const NO_COPIES: fn(&Parameters) -> u64 = |_| 0;
const LINK: Key = Key { name: "link", noun: "link", count: Count::One };
const CHAIN: Key = Key { name: "link", noun: "hop", count: Count::Many };
const PATHS: Key = Key { name: "path", noun: "path", count: Count::Many };
const BOTTLENECK: Key = Key { name: "bottleneck", noun: "bottleneck", count: Count::One };
const ACCESS: Key = Key { name: "access", noun: "access link", count: Count::One };
const ACCESS_EACH: Key = Key { name: "access", noun: "access link", count: Count::OneOrEach("pairs") };
/// Key under which links are named one by one.
pub const NAMED: Key = Key { name: "link", noun: "link", count: Count::Named };

impl Topology {
    /// Returns the keys under which its links are given.
    pub fn keys(&self) -> &'static [Key] {
        match self {
            Topology::Links { keys, .. } => keys,
            Topology::Named(_) => &[NAMED],
        }
    }
}

parameters! {
    struct Dumbbell { pairs: u64 = Kind::Integer(1, 100_000), "1", "host pairs left1-right1, …"; }

    struct ParkingLot { hops: usize = Kind::Integer(1, 1_000), "3", "bottlenecks in the chain"; }

    struct Custom {
        hosts: Vec<String> = Kind::Names, "names of the hosts";
        routers: Option<Vec<String>> = Kind::Names, "", "names of the routers";
    }
}

/// All topologies: what `network` takes besides its links.
pub const TOPOLOGIES: &[Entry<Topology>] = &[
    Entry {
        name: "point-to-point",
        aliases: &[],
        title: "Point to point",
        source: "two hosts, one link",
        help: "hosts a and b joined by network.link = { rate, delay, … }",
        parameters: &[],
        build: Topology::Links { keys: &[LINK], copies: NO_COPIES, build: |_, links| point_to_point(&links[0][0]) },
    },
    Entry {
        name: "path",
        aliases: &[],
        title: "Path",
        source: "a chain of links",
        help: "hosts a and b joined by a chain, one [[network.link]] table a link, routers R1, R2, … between",
        parameters: &[],
        build: Topology::Links { keys: &[CHAIN], copies: NO_COPIES, build: |_, links| path(&links[0]) },
    },
    Entry {
        name: "dumbbell",
        aliases: &[],
        title: "Dumbbell",
        source: "RFC 5166; Floyd and Kohler 2003",
        help: "pairs of hosts around one network.bottleneck, each behind network.access (a table, or one a pair)",
        parameters: Dumbbell::PARAMETERS,
        build: Topology::Links {
            keys: &[BOTTLENECK, ACCESS_EACH],
            copies: |p| 2 * Dumbbell::from(p).pairs,
            build: |p, links| dumbbell(Dumbbell::from(p).pairs as usize, &links[1], &links[0][0]),
        },
    },
    Entry {
        name: "parking-lot",
        aliases: &[],
        title: "Parking lot",
        source: "draft-irtf-iccrg-tcpeval; RFC 5166",
        help: "a-b over a chain of equal network.bottleneck links, and one pair across each of them",
        parameters: ParkingLot::PARAMETERS,
        build: Topology::Links {
            keys: &[BOTTLENECK, ACCESS],
            copies: NO_COPIES,
            build: |p, links| parking_lot(ParkingLot::from(p).hops, &links[1][0], &links[0][0]),
        },
    },
    Entry {
        name: "multipath",
        aliases: &[],
        title: "Disjoint paths",
        source: "multihomed hosts",
        help: "hosts a and b joined by disjoint links, one [[network.path]] table each; a.2 is a's second interface",
        parameters: &[],
        build: Topology::Links { keys: &[PATHS], copies: NO_COPIES, build: |_, links| multipath(&links[0]) },
    },
    Entry {
        name: "custom",
        aliases: &[],
        title: "Any graph",
        source: "shortest paths by propagation delay",
        help: "network.hosts, network.routers, and [[network.link]] tables with name, from and to",
        parameters: Custom::PARAMETERS,
        build: Topology::Named(|p, links| {
            let Custom { hosts, routers } = p.into();
            let hosts = hosts.into_iter().map(|name| Node { name, kind: NodeKind::Host });
            let routers = routers.into_iter().flatten().map(|name| Node { name, kind: NodeKind::Router });
            custom(hosts.chain(routers).collect(), links)
        }),
    },
];
