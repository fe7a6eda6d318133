//! Routes in every topology, by the names of the links they cross.

use vazao_engine::{Duration, Rate};
use vazao_network::topology::{self, LinkSpec, NamedLink};
use vazao_network::{Capacity, Direction, Given, Graph, GraphError, Node, NodeKind, QueueSpec, Routing};

fn direction(delay_ms: u64) -> Direction {
    let (rate, delay) = (Rate::from_bps(1_000_000), Duration::from_millis(delay_ms));
    Direction::new(rate, delay, QueueSpec::drop_tail(Capacity::Packets(10)))
}

/// A link with this delay each way.
pub fn link(delay_ms: u64) -> LinkSpec {
    LinkSpec { forward: direction(delay_ms).into(), reverse: direction(delay_ms).into(), given: Given::default() }
}

pub fn nodes(hosts: &[&str], routers: &[&str]) -> Vec<Node> {
    let node = |kind| move |name: &&str| Node { name: (*name).into(), kind };
    hosts.iter().map(node(NodeKind::Host)).chain(routers.iter().map(node(NodeKind::Router))).collect()
}

pub fn named(name: &str, from: &str, to: &str, link: LinkSpec) -> NamedLink {
    NamedLink { name: name.into(), from: from.into(), to: to.into(), link }
}

/// The route as text: links in order, with `-` before those crossed against their direction.
fn route(graph: &Graph, from: &str, to: &str) -> String {
    let steps = graph.route(from, to).unwrap_or_else(|e| panic!("{from} to {to}: {e}"));
    let names =
        steps.iter().map(|&(link, forward)| format!("{}{}", if forward { "" } else { "-" }, graph.links[link].name));
    names.collect::<Vec<_>>().join(" ")
}

/// Each way, as told; and what comes back crosses the same links backwards.
fn assert_routes(graph: &Graph, routes: &[(&str, &str, &str)]) {
    for &(from, to, there) in routes {
        let back: Vec<_> =
            there.rsplit(' ').map(|link| link.strip_prefix('-').map_or(format!("-{link}"), str::to_owned)).collect();
        assert_eq!(route(graph, from, to), there);
        assert_eq!(route(graph, to, from), back.join(" "));
    }
}

fn pairs(graph: &Graph) -> Vec<(&str, &str)> {
    graph.pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect()
}

#[test]
fn point_to_point_is_one_link() {
    let graph = topology::point_to_point(&link(1));
    assert_routes(&graph, &[("a", "b", "link")]);
    assert_eq!(pairs(&graph), [("a", "b")]);
}

#[test]
fn a_path_is_a_chain() {
    let graph = topology::path(&[link(1), link(2), link(3)]);
    assert_routes(&graph, &[("a", "b", "link1 link2 link3")]);
    assert_eq!(graph.delay(&graph.route("a", "b").unwrap()), Duration::from_millis(6));
    assert_eq!(pairs(&graph), [("a", "b")]);
}

#[test]
fn pairs_of_a_dumbbell_share_its_bottleneck() {
    let graph = topology::dumbbell(2, &[link(1), link(5)], &link(10));
    assert_routes(
        &graph,
        &[
            ("left1", "right1", "left1 bottleneck right1"),
            ("left2", "right1", "left2 bottleneck right1"),
            ("left1", "left2", "left1 -left2"),
        ],
    );
    // Each pair has its access delay at both ends.
    assert_eq!(graph.delay(&graph.route("right2", "left2").unwrap()), Duration::from_millis(20));
    assert_eq!(pairs(&graph), [("left1", "right1"), ("left2", "right2")]);
}

#[test]
fn a_parking_lot_has_one_long_flow_and_one_a_hop() {
    let graph = topology::parking_lot(3, &link(1), &link(10));
    assert_routes(
        &graph,
        &[
            ("a", "b", "a bottleneck1 bottleneck2 bottleneck3 b"),
            ("left1", "right1", "left1 bottleneck1 right1"),
            ("left3", "right3", "left3 bottleneck3 right3"),
            ("left1", "right2", "left1 bottleneck1 bottleneck2 right2"),
        ],
    );
    assert_eq!(pairs(&graph), [("a", "b"), ("left1", "right1"), ("left2", "right2"), ("left3", "right3")]);
}

/// Interfaces choose the path: the sender's, and the receiver's where the sender names none.
#[test]
fn interfaces_choose_among_disjoint_paths() {
    let graph = topology::multipath(&[link(30), link(10), link(20)]);
    assert_routes(&graph, &[("a.1", "b.1", "path1"), ("a.2", "b.2", "path2"), ("a.3", "b.3", "path3")]);
    // Without one, the shortest; with one end's, that end's; with two different ones, the sender's.
    assert_routes(&graph, &[("a", "b", "path2"), ("a.3", "b", "path3"), ("a", "b.1", "path1")]);
    assert_eq!((route(&graph, "a.1", "b.3"), route(&graph, "b.3", "a.1")), ("path1".into(), "-path3".into()));
    assert_eq!(pairs(&graph), [("a.1", "b.1"), ("a.2", "b.2"), ("a.3", "b.3")]);
    assert_eq!(graph.route("a.4", "b"), Err(GraphError::NoInterface("a".into(), 3, 4)));
    assert_eq!(graph.route("a.0", "b"), Err(GraphError::NoInterface("a".into(), 3, 0)));
    assert_eq!(graph.route("a.1", "a.2"), Err(GraphError::Itself("a".into())));

    let (routing, place) = (Routing::new(&graph), |host, number| (graph.address(host).unwrap().0, number));
    for (client, server) in [(0, 0), (0, 2), (1, 0)] {
        // It arrives where the path of the sender's interface ends, whatever the address.
        let steps = graph.route(&format!("a.{}", client + 1), "b").unwrap();
        assert_eq!(routing.way(place("a", client), place("b", server)), Some((steps, client)));
    }
    for (from, to) in [(("a", 3), ("b", 0)), (("a", 0), ("b", 3)), (("a", 0), ("a", 1)), (("a", 0), ("a", 0))] {
        assert_eq!(routing.way(place(from.0, from.1), place(to.0, to.1)), None);
    }
}

/// A diamond with a slow short cut: least delay wins, then fewest links; a host never forwards.
#[test]
fn a_custom_graph_takes_the_shortest_way() {
    let build = |links: &[(&str, &str, &str, u64)]| {
        let links: Vec<_> = links.iter().map(|&(name, from, to, ms)| named(name, from, to, link(ms))).collect();
        topology::custom(nodes(&["a", "b", "c"], &["R1", "R2"]), &links)
    };
    let mut links = vec![("up", "a", "R1", 1), ("slow", "R1", "b", 9), ("in", "R1", "R2", 2), ("out", "R2", "b", 3)];
    let graph = build(&links).unwrap();
    assert_routes(&graph, &[("a", "b", "up in out")]);
    assert!(matches!(graph.route("a", "c"), Err(GraphError::Unreachable(..))));
    // Equal delays: two links rather than three.
    links[1].3 = 5;
    assert_routes(&build(&links).unwrap(), &[("a", "b", "up slow")]);
    // Through host c it would be shorter still.
    links.extend([("tempting", "a", "c", 0), ("offer", "c", "b", 0)]);
    assert_routes(&build(&links).unwrap(), &[("a", "b", "up slow"), ("a", "c", "tempting")]);
    assert_eq!(pairs(&build(&links).unwrap()), [("a", "b")]);

    let problem = |change: (&'static str, &'static str, &'static str, u64)| {
        build(&[links.clone(), vec![change]].concat()).unwrap_err()
    };
    assert!(problem(("up", "b", "R1", 1)).contains("two links are called \"up\""));
    assert!(problem(("self", "R1", "R1", 1)).contains("to itself"));
    assert!(problem(("new", "R1", "R3", 1)).contains("\"R3\""));
}

/// There and back need not be one path: each direction has its own delay, so each goes its own shortest way.
#[test]
fn directions_have_routes_of_their_own() {
    let asymmetric = |there, back| LinkSpec {
        forward: direction(there).into(),
        reverse: direction(back).into(),
        given: Given::default(),
    };
    let links = [named("one", "a", "b", asymmetric(1, 100)), named("two", "a", "b", asymmetric(100, 1))];
    let graph = topology::custom(nodes(&["a", "b"], &[]), &links).unwrap();
    assert_eq!((route(&graph, "a", "b"), route(&graph, "b", "a")), ("one".into(), "-two".into()));
}
