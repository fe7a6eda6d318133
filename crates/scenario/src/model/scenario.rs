//! A scenario: what a user describes, checked and with every default filled in.

use super::flow::FlowSpec;
use vazao_engine::{Duration, Time};
use vazao_network::Graph;

/// What is recorded over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSpec {
    /// Names of [measures](crate::MEASURES).
    pub measures: Vec<&'static str>,
    /// Least time between two samples of a measure; `None`: every change.
    pub every: Option<Duration>,
}

/// A scenario, resolved.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name; not part of what it does.
    pub name: String,
    /// Every random stream of the run derives from it.
    pub seed: u64,
    /// When the run ends even if flows have not: as written, or an hour after the last of its programs was started.
    pub until: Option<Time>,
    /// The network.
    pub graph: Graph,
    /// The flows in order.
    pub flows: Vec<FlowSpec>,
    /// What is recorded over time.
    pub trace: TraceSpec,
}
