//! Shortest paths between hosts.

use crate::graph::{Graph, GraphError, NodeKind, Step};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Finds addresses and routes in a graph, after looking at it once: 10 000 flows are as quick to route as one.
#[derive(Clone, Debug)]
pub struct Routing<'g> {
    graph: &'g Graph,
    hosts: BTreeMap<&'g str, usize>,
    /// The links at each node, in order.
    interfaces: Vec<Vec<usize>>,
    /// Links that lead to a router: hosts never forward, so no route passes through one.
    onward: Vec<Vec<usize>>,
}

/// Best way to a node so far: propagation delay in ns, links crossed, and the last of them.
type Reached = (u64, u32, Option<Step>);

impl<'g> Routing<'g> {
    /// Looks at a graph.
    pub fn new(graph: &'g Graph) -> Self {
        let mut hosts = BTreeMap::new();
        for (index, node) in graph.nodes.iter().enumerate().rev() {
            if node.kind == NodeKind::Host {
                hosts.insert(node.name.as_str(), index);
            }
        }
        let mut interfaces = vec![Vec::new(); graph.nodes.len()];
        let mut onward = interfaces.clone();
        for (index, link) in graph.links.iter().enumerate() {
            for (node, far) in [(link.source, link.target), (link.target, link.source)] {
                interfaces[node].push(index);
                if graph.nodes[far].kind == NodeKind::Router {
                    onward[node].push(index);
                }
            }
        }
        Routing { graph, hosts, interfaces, onward }
    }

    /// Returns the graph.
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Returns the links at `node`: for a host, its interfaces in order.
    pub fn interfaces(&self, node: usize) -> &[usize] {
        &self.interfaces[node]
    }

    /// Finds the host and, where `address` names one (`"a.2"`), the link at that interface.
    ///
    /// # Errors
    /// When there is no such host or interface.
    pub fn address(&self, address: &str) -> Result<(usize, Option<usize>), GraphError> {
        if let Some(&node) = self.hosts.get(address) {
            return Ok((node, None));
        }
        if let Some((host, number)) = address.rsplit_once('.')
            && let (Some(&node), Ok(number)) = (self.hosts.get(host), number.parse::<usize>())
        {
            let interfaces = &self.interfaces[node];
            return match number.checked_sub(1).and_then(|i| interfaces.get(i)) {
                Some(link) => Ok((node, Some(*link))),
                None => Err(GraphError::NoInterface(host.into(), interfaces.len(), number)),
            };
        }
        let hosts: Vec<_> = self.graph.hosts().collect();
        let hint = match vazao_engine::units::nearest(address, hosts.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("hosts: {}", hosts.join(", ")),
        };
        Err(GraphError::NoHost(address.into(), hint))
    }

    /// Returns the path of least propagation delay (then fewest links, then lowest numbers) from one address to another. An
    /// address with an interface fixes the link at its end.
    ///
    /// # Errors
    /// When an address does not exist, both are the same host, or nothing leads there.
    pub fn route(&self, from: &str, to: &str) -> Result<Vec<Step>, GraphError> {
        let ((start, first), (goal, last)) = (self.address(from)?, self.address(to)?);
        if start == goal {
            return Err(GraphError::Itself(self.graph.nodes[start].name.clone()));
        }
        self.path((start, first), (goal, last)).ok_or_else(|| GraphError::Unreachable(from.into(), to.into()))
    }

    /// Returns the route from one interface to another's address, and the number of the interface at which it arrives:
    /// where paths are disjoint, the sender's interface decides that. Interfaces are places: the host's node and a
    /// number from 0. `None`: there is no such interface, both are one host's, or nothing leads there.
    pub fn way(&self, from: (usize, usize), to: (usize, usize)) -> Option<(Vec<Step>, usize)> {
        let link = |(node, number): (usize, usize)| self.interfaces[node].get(number).copied();
        let steps = self.path((from.0, Some(link(from)?)), (to.0, Some(link(to)?)))?;
        let &(arrives, _) = steps.last()?;
        let number = self.interfaces[to.0].iter().position(|&link| link == arrives)?;
        Some((steps, number))
    }

    /// Finds a route through a router, like [`way`](Self::way).
    pub fn way_through(&self, from: (usize, usize), router: &str, to: (usize, usize)) -> Option<(Vec<Step>, usize)> {
        let router = self.router(router)?;
        let link = |(node, number): (usize, usize)| self.interfaces[node].get(number).copied();
        let mut steps = self.path((from.0, Some(link(from)?)), (router, None))?;
        steps.extend(self.path((router, None), (to.0, Some(link(to)?)))?);
        let &(arrives, _) = steps.last()?;
        let number = self.interfaces[to.0].iter().position(|&link| link == arrives)?;
        Some((steps, number))
    }

    /// Returns the router of this name.
    pub fn router(&self, name: &str) -> Option<usize> {
        self.graph.nodes.iter().position(|node| node.kind == NodeKind::Router && node.name == name)
    }

    /// Returns the path between two hosts with, where it is given, the link at its end.
    fn path(&self, (start, first): (usize, Option<usize>), (goal, last): (usize, Option<usize>)) -> Option<Vec<Step>> {
        let mut reached: BTreeMap<usize, Reached> = BTreeMap::from([(start, (0, 0, None))]);
        let mut queue = BinaryHeap::from([Reverse((0, 0, start))]);
        while let Some(Reverse((delay, hops, node))) = queue.pop() {
            if node == goal {
                break;
            }
            if reached[&node].0 != delay || reached[&node].1 != hops {
                continue;
            }
            for link in self.leading(node, goal) {
                let wrong_first = node == start && first.is_some_and(|f| f != link);
                let (next, step) = self.cross(link, node);
                // A link that ends at the goal must be the one the address names, unless the first link already
                // leads there: disjoint paths are chosen by the sender's interface.
                let wrong_last = next == goal && last.is_some_and(|l| l != link) && first != Some(link);
                if wrong_first || wrong_last {
                    continue;
                }
                let cost = (delay + self.graph.direction(step).delay.as_nanos(), hops + 1);
                if reached.get(&next).is_none_or(|&(d, h, _)| cost < (d, h)) {
                    reached.insert(next, (cost.0, cost.1, Some(step)));
                    queue.push(Reverse((cost.0, cost.1, next)));
                }
            }
        }
        self.trace(&reached, goal)
    }

    /// Returns the links from `node` that can be of use: to routers, and to the goal.
    fn leading(&self, node: usize, goal: usize) -> impl Iterator<Item = usize> {
        let ends_here = move |&&link: &&usize| {
            let link = &self.graph.links[link];
            link.source == node || link.target == node
        };
        self.onward[node].iter().chain(self.interfaces[goal].iter().filter(ends_here)).copied()
    }

    /// Returns the node at the other end of a link, and the step that leads there.
    fn cross(&self, link: usize, node: usize) -> (usize, Step) {
        let ends = &self.graph.links[link];
        if ends.source == node { (ends.target, (link, true)) } else { (ends.source, (link, false)) }
    }

    /// Returns the steps that led to the goal, in order.
    fn trace(&self, reached: &BTreeMap<usize, Reached>, goal: usize) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        let mut node = goal;
        while let Some((link, forward)) = reached.get(&node)?.2 {
            steps.push((link, forward));
            let ends = &self.graph.links[link];
            node = if forward { ends.source } else { ends.target };
        }
        steps.reverse();
        Some(steps)
    }
}

impl Graph {
    /// Finds the host and, where `address` names one (`"a.2"`), the link at that interface. [`Routing`] does it faster
    /// for many.
    ///
    /// # Errors
    /// When there is no such host or interface.
    pub fn address(&self, address: &str) -> Result<(usize, Option<usize>), GraphError> {
        Routing::new(self).address(address)
    }

    /// Returns the route between two addresses; see [`Routing::route`], which does it faster for many.
    ///
    /// # Errors
    /// When an address does not exist, both are the same host, or nothing leads there.
    pub fn route(&self, from: &str, to: &str) -> Result<Vec<Step>, GraphError> {
        Routing::new(self).route(from, to)
    }
}
