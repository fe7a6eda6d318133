//! Nodes, links and the routes between hosts.

use crate::direction::Direction;
use std::sync::Arc;
use thiserror::Error;
use vazao_engine::Duration;

/// Where a network's description has a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Key of the `network` table.
    pub key: &'static str,
    /// Index in the list under that key.
    pub index: u32,
}

/// Both directions of a link. `forward` leads from `source` to `target`.
#[derive(Clone, Debug)]
pub struct Duplex {
    /// Name, unique in the graph.
    pub name: String,
    /// Index of the node at its first end.
    pub source: usize,
    /// Index of the node at its second end.
    pub target: usize,
    /// From `source` to `target`.
    pub forward: Arc<Direction>,
    /// From `target` to `source`.
    pub reverse: Arc<Direction>,
    /// Where it was described.
    pub given: Given,
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives; never forwards.
    Host,
    /// Forwards.
    Router,
}

/// A host or router.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name, unique in the graph.
    pub name: String,
    /// Kind.
    pub kind: NodeKind,
}

/// A network as nodes and links. A host's interfaces are its links, numbered from 1 in the order in which they were
/// added; `"a.2"` is the second interface of host `a`.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All hosts and routers.
    pub nodes: Vec<Node>,
    /// All links.
    pub links: Vec<Duplex>,
    /// The pairs of hosts that flows join unless they say otherwise: the i-th pair for the i-th flow.
    pub pairs: Vec<(String, String)>,
}

/// Reason for which a route does not exist.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GraphError {
    /// No host has this name.
    #[error("there is no host {0:?}; {1}")]
    NoHost(String, String),
    /// The host has fewer interfaces.
    #[error("host {0:?} has {1} interface(s), so there is no {0}.{2}")]
    NoInterface(String, usize, usize),
    /// No route leads there.
    #[error("no path leads from {0:?} to {1:?}")]
    Unreachable(String, String),
    /// Both ends are the same host.
    #[error("a flow from {0:?} to itself; client and server must be different hosts")]
    Itself(String),
}

/// One step of a route: the link's index and whether it is crossed forward.
pub type Step = (usize, bool);

impl Graph {
    /// Adds a node and returns its index.
    pub fn add(&mut self, name: impl Into<String>, kind: NodeKind) -> usize {
        self.nodes.push(Node { name: name.into(), kind });
        self.nodes.len() - 1
    }

    /// Returns the names of all hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter(|n| n.kind == NodeKind::Host).map(|n| n.name.as_str())
    }

    /// Returns one direction of a link.
    pub fn direction(&self, (link, forward): Step) -> &Direction {
        if forward { &self.links[link].forward } else { &self.links[link].reverse }
    }

    /// Returns the propagation delay along a route.
    pub fn delay(&self, route: &[Step]) -> Duration {
        route.iter().fold(Duration::ZERO, |sum, &step| sum + self.direction(step).delay)
    }
}
