//! Places of nodes in a drawing, in columns and rows.

use crate::routes::{link, named, nodes};
use vazao_network::{Graph, topology};

/// Places of a graph's nodes by name, of which flows join these pairs.
fn places(graph: &Graph, flows: &[(&str, &str)]) -> impl Fn(&str) -> (f64, f64) + use<> {
    let at = |name: &str| graph.nodes.iter().position(|node| node.name == name).expect("a node");
    let places = graph.places(flows.iter().map(|(client, server)| (at(client), at(server))));
    let names: Vec<_> = graph.nodes.iter().map(|node| node.name.clone()).collect();
    move |name| {
        let place = places[names.iter().position(|other| other == name).expect("a node")];
        (place.x, place.y)
    }
}

#[test]
fn pairs_of_a_dumbbell_fan_out_around_its_bottleneck() {
    let at = places(&topology::dumbbell(2, &[link(1)], &link(1)), &[("left1", "right1"), ("left2", "right2")]);
    assert_eq!([at("left1"), at("R1"), at("R2"), at("right1")], [(0.0, -0.5), (1.0, 0.0), (2.0, 0.0), (3.0, -0.5)]);
    assert_eq!([at("left2"), at("right2")], [(0.0, 0.5), (3.0, 0.5)]);
}

#[test]
fn hosts_along_a_parking_lot_hang_below_their_routers() {
    let at = places(&topology::parking_lot(2, &link(1), &link(1)), &[("a", "b"), ("left1", "right1")]);
    assert_eq!([at("a"), at("R1"), at("R2"), at("R3"), at("b")].map(|(x, _)| x), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(at("left1"), (1.0, 1.7));
    assert!(at("left2").0 < 2.0 && at("right1").0 > 2.0 || at("right1").0 < 2.0 && at("left2").0 > 2.0);
}

#[test]
fn nodes_stand_in_columns_by_their_distance() {
    let joined = |from: &str, to: &str| named(&format!("{from}{to}"), from, to, link(1));
    let links = [joined("a", "b"), joined("a", "c"), joined("b", "d"), joined("c", "d"), joined("x", "y")];
    let graph = topology::custom(nodes(&["a", "d", "x", "y", "z"], &["b", "c"]), &links).expect("a graph");
    let at = places(&graph, &[("a", "d")]);
    assert_eq!((at("a").0, at("d").0), (0.0, 2.0));
    assert_eq!(at("b").0, at("c").0);
    assert_ne!(at("b").1, at("c").1);
    assert!(["a", "b", "c", "d", "x", "y"].iter().all(|name| at(name).1 < at("z").1), "z has no link");
    assert!(at("x").1 != at("y").1 && at("x") != at("a") && at("y") != at("a"), "no node is on another");
}

#[test]
fn a_graph_without_flows_runs_from_its_first_node_to_its_last() {
    assert!(Graph::default().places([]).is_empty());
    let at = places(&topology::path(&[link(1), link(1)]), &[]);
    assert_eq!(at("a").0, 0.0);
}
