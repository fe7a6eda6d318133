//! Places of a network's nodes in a drawing.
//!
//! The longest of the flows' shortest paths is the *spine*, which runs from left to right. Hosts at its two end routers fan
//! out left and right (a dumbbell); hosts at a router in between hang below it (a parking lot); any other node is in the
//! column of its distance from the spine, and nodes without a link are in a row of their own.

use crate::graph::{Graph, NodeKind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Place of a node: columns to the right of the spine's first node, and rows below the spine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Columns.
    pub x: f64,
    /// Rows.
    pub y: f64,
}

/// Rows between the spine and a router beside it, or hosts that hang below all else.
const ASIDE: f64 = 1.7;
/// Columns between two hosts that hang below the same router.
const BETWEEN: f64 = 0.43;
/// Maximum number of pairs of hosts among which the spine is looked for.
const MOST: usize = 100;

impl Graph {
    /// Returns the place of each node. `ends` are the pairs of nodes that flows join.
    pub fn places(&self, ends: impl IntoIterator<Item = (usize, usize)>) -> Vec<Place> {
        if self.nodes.is_empty() {
            return Vec::new();
        }
        let mut near = vec![Vec::new(); self.nodes.len()];
        for link in &self.links {
            near[link.source].push(link.target);
            near[link.target].push(link.source);
        }
        let drawing = Drawing { graph: self, near };
        let spine = drawing.spine(ends);
        let columns = drawing.columns(&spine);
        let below = drawing.hanging(&spine);
        let mut places: Vec<_> = columns.iter().map(|&x| Place { x: x.into(), y: 0.0 }).collect();
        for column in columns.iter().collect::<BTreeSet<_>>() {
            let is_stacked = |node: &usize| {
                columns[*node] == *column && !below.contains_key(node) && !drawing.near[*node].is_empty()
            };
            let stack = (0..columns.len()).filter(is_stacked).collect();
            drawing.stack(stack, &spine, &mut places);
        }
        let depth = lowest(&places);
        for router in below.values().collect::<BTreeSet<_>>() {
            let hosts: Vec<_> = below.iter().filter(|(_, at)| *at == router).map(|(host, _)| *host).collect();
            for (nth, &host) in hosts.iter().enumerate() {
                let x = places[*router].x + centred(nth, hosts.len()) * BETWEEN;
                places[host] = Place { x, y: depth + ASIDE };
            }
        }
        let depth = lowest(&places);
        for (nth, node) in (0..columns.len()).filter(|&node| drawing.near[node].is_empty()).enumerate() {
            places[node] = Place { x: nth as f64, y: depth + 1.0 };
        }
        places
    }
}

/// Returns the lowest row with a node.
fn lowest(places: &[Place]) -> f64 {
    places.iter().map(|place| place.y).fold(0.0, f64::max)
}

/// Returns the distance of one of `all` equally spaced things from their middle.
fn centred(nth: usize, all: usize) -> f64 {
    nth as f64 - (all as f64 - 1.0) / 2.0
}

/// Graph with the neighbours of each node, in order of the links.
struct Drawing<'g> {
    graph: &'g Graph,
    near: Vec<Vec<usize>>,
}

impl Drawing<'_> {
    fn is_host(&self, node: usize) -> bool {
        self.graph.nodes[node].kind == NodeKind::Host
    }

    /// Returns the longest of the shortest paths between `ends`; without ends, the shortest from the first node to the last.
    fn spine(&self, ends: impl IntoIterator<Item = (usize, usize)>) -> Vec<usize> {
        let (mut longest, mut known) = (Vec::new(), BTreeSet::new());
        for (start, goal) in ends.into_iter().filter(|pair| known.insert(*pair)).take(MOST) {
            let path = self.shortest(start, goal);
            if path.len() > longest.len() {
                longest = path;
            }
        }
        if longest.is_empty() { self.shortest(0, self.near.len() - 1) } else { longest }
    }

    fn shortest(&self, start: usize, goal: usize) -> Vec<usize> {
        let mut before = vec![None; self.near.len()];
        let mut queue = VecDeque::from([start]);
        before[start] = Some(start);
        while let Some(here) = queue.pop_front().filter(|_| before[goal].is_none()) {
            for &there in &self.near[here] {
                if before[there].is_none() {
                    before[there] = Some(here);
                    queue.push_back(there);
                }
            }
        }
        let mut path = vec![if before[goal].is_some() { goal } else { start }];
        while let Some(previous) = path.last().and_then(|&node| before[node]).filter(|at| Some(at) != path.last()) {
            path.push(previous);
        }
        path.reverse();
        path
    }

    /// Returns each node's column: its index on the spine; a host's one outwards from its router; else by distance.
    fn columns(&self, spine: &[usize]) -> Vec<i32> {
        let mut columns = vec![None; self.near.len()];
        for (column, &node) in spine.iter().enumerate() {
            columns[node] = Some(column as i32);
        }
        let mut queue: VecDeque<_> = spine.iter().copied().collect();
        while let Some(here) = queue.pop_front() {
            let column = columns[here].unwrap_or_default();
            for &there in &self.near[here] {
                if columns[there].is_none() {
                    let is_left = self.is_host(there) && 2 * column < spine.len() as i32 - 1;
                    columns[there] = Some(column + if is_left { -1 } else { 1 });
                    queue.push_back(there);
                }
            }
        }
        columns.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Returns the hosts that hang below a router, with it: those at a router inside the spine, away from its two ends.
    fn hanging(&self, spine: &[usize]) -> BTreeMap<usize, usize> {
        let Some(inside) = spine.get(2..spine.len().saturating_sub(2)).filter(|inside| !inside.is_empty()) else {
            return BTreeMap::new();
        };
        // If any hang, those of the end routers hang too.
        let routers: BTreeSet<_> = spine[1..spine.len() - 1].iter().collect();
        let ends = [spine[0], spine[spine.len() - 1]];
        let hangs = |node: &usize| {
            self.is_host(*node)
                && !ends.contains(node)
                && self.near[*node].len() == 1
                && routers.contains(&self.near[*node][0])
        };
        let found: BTreeMap<_, _> = (0..self.near.len()).filter(hangs).map(|node| (node, self.near[node][0])).collect();
        if found.values().any(|router| inside.contains(router)) { found } else { BTreeMap::new() }
    }

    /// Spreads one column's nodes around the spine.
    fn stack(&self, mut nodes: Vec<usize>, spine: &[usize], places: &mut [Place]) {
        let central = nodes.iter().find(|node| spine.contains(node));
        if central.is_some_and(|node| !self.is_host(*node)) {
            // Nodes beside the spine, alternately below and above it.
            nodes.retain(|node| !spine.contains(node));
            for (nth, &node) in nodes.iter().enumerate() {
                let side = if nth % 2 == 0 { ASIDE } else { -ASIDE };
                places[node].y = side * (nth / 2 + 1) as f64;
            }
            return;
        }
        let pull: BTreeMap<_, _> = nodes.iter().map(|&node| (node, self.pull(node, places))).collect();
        nodes.sort_by(|a, b| pull[a].total_cmp(&pull[b]));
        for (nth, &node) in nodes.iter().enumerate() {
            places[node].y = centred(nth, nodes.len());
        }
    }

    /// Returns the mean row of a node's neighbours, which determines its order in its column.
    fn pull(&self, node: usize, places: &[Place]) -> f64 {
        let near = &self.near[node];
        near.iter().map(|&other| places[other].y).sum::<f64>() / near.len().max(1) as f64
    }
}
