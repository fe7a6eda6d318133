//! Scenario: a user's description, checked and with every default.

use super::flow::FlowSpec;
use vazao_engine::{Duration, Time};
use vazao_network::Graph;

/// Time series to be recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSpec {
    /// Names of [measures](crate::MEASURES).
    pub measures: Vec<&'static str>,
    /// Least time between two samples of a measure; `None`: every change is recorded.
    pub every: Option<Duration>,
}

/// Scenario with every default.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name, which is no part of the run's identity.
    pub name: String,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// End of the run at the latest: as written, or an hour after the start of the last program.
    pub until: Option<Time>,
    /// Network.
    pub graph: Graph,
    /// Flows in order.
    pub flows: Vec<FlowSpec>,
    /// Time series to be recorded.
    pub trace: TraceSpec,
}
