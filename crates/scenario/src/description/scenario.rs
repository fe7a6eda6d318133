//! Scenarios: read and checked, and written down again in one canonical form.

use super::flow::{Context, flow_json, read_flows};
use super::network::{network_json, read_network};
use super::transport::transport_json;
use crate::document::reader::{Item, LONGEST, duration};
use crate::document::{self, Node, ScenarioError, Value};
use crate::measures::series;
use crate::model::flow::FlowSpec;
use crate::model::memory::Budget;
use crate::model::scenario::{Scenario, TraceSpec};
use crate::model::transport::{Extensions, TransportSpec};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use vazao_engine::registry::Kind;
use vazao_engine::{Duration, Time};
use vazao_network::Routing;

type Result<T> = std::result::Result<T, ScenarioError>;

impl Scenario {
    /// Reads a scenario from the table at `path` (empty: all) of a TOML document, after `overrides` were set in it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its key, its line and what would be accepted.
    pub fn load(text: &str, path: &str, overrides: Vec<(String, Value)>, seed: Option<u64>) -> Result<Scenario> {
        Scenario::load_with(text, path, overrides, seed, &Extensions::default())
    }

    /// The same where congestion controls of the user's own and kernels may be named too.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_with(
        text: &str,
        path: &str,
        overrides: Vec<(String, Value)>,
        seed: Option<u64>,
        extensions: &Extensions,
    ) -> Result<Scenario> {
        let document = document::parse(text)?;
        let node = document
            .at(path)
            .cloned()
            .ok_or_else(|| ScenarioError::new(None, path, "is missing; the scenario belongs there"))?;
        Scenario::read(node, overrides, seed, extensions)
    }

    fn read(
        mut node: Node,
        overrides: Vec<(String, Value)>,
        seed: Option<u64>,
        extensions: &Extensions,
    ) -> Result<Scenario> {
        for (key, value) in overrides {
            node.set(&key, value)?;
        }
        let mut table = Item::root(node).into_table()?;
        let name = match table.take("name") {
            Some(item) => item.text()?.to_owned(),
            None => "scenario".into(),
        };
        let written = table.take("seed").map(|i| i.whole(Kind::Integer(0, 1 << 53))).transpose()?;
        let seed = seed.or(written).unwrap_or(1);
        if seed > 1 << 53 {
            return Err(table.error(format!("seed {seed} is too large; the largest is 2^53")));
        }
        let until = match table.take("until") {
            Some(item) => Some(Time::ZERO + duration(&item, Duration::from_nanos(1), LONGEST)?),
            None => None,
        };
        let network = table.require("network", "a table with topology and links")?;
        let budget = Budget::new(extensions.memory);
        let graph = read_network(network.into_table()?, &extensions.files, &budget)?;
        let flows = table.require("flow", "one [[flow]] table for each flow")?;
        let flows = read_flows(
            flows,
            &Context { graph: &graph, routing: Routing::new(&graph), until, seed, extensions, budget: &budget },
        )?;
        let trace = match table.take("trace") {
            Some(item) => read_trace(item)?,
            None => TraceSpec::default(),
        };
        table.finish()?;
        let until = until.or_else(|| last_resort(&flows));
        Ok(Scenario { name, seed, until, graph, flows, trace })
    }

    /// Everything that decides what the run does, in one canonical form.
    pub fn json(&self) -> Json {
        // Flows described together share their transport: written once, it keeps 10 000 flows legible.
        let mut transports: Vec<&Arc<TransportSpec>> = Vec::new();
        let mut flows = Vec::new();
        // The further connections of a visit are the first one's.
        for flow in self.flows.iter().filter(|flow| flow.part == 0) {
            if !transports.last().is_some_and(|last| Arc::ptr_eq(last, &flow.transport)) {
                transports.push(&flow.transport);
            }
            flows.push(flow_json(flow, transports.len() - 1));
        }
        json!({
            "flows": flows,
            "transports": transports.into_iter().map(|spec| transport_json(spec)).collect::<Vec<_>>(),
            "network": network_json(&self.graph),
            "seed": self.seed,
            "trace": { "every": self.trace.every.map(|d| d.to_string()), "measures": self.trace.measures },
            "until": self.until.map(|t| t.to_string()),
        })
    }
}

/// When a run ends whose programs may never do so: nobody can tell from a command, so that none may run for ever.
fn last_resort(flows: &[FlowSpec]) -> Option<Time> {
    const PROGRAMS: Duration = Duration::from_secs(3600);
    let programs = flows.iter().filter(|flow| flow.sides().is_program());
    programs.map(|flow| flow.start + PROGRAMS).max()
}

fn read_trace(item: Item) -> Result<TraceSpec> {
    // A list of measures, or a table with more.
    let (measures, every) = if matches!(item.node.value, Value::Table(_)) {
        let mut table = item.into_table()?;
        let measures = table.require("measures", "a list such as [\"cwnd\", \"rtt\"]")?;
        let every = table.take("every");
        table.finish()?;
        (measures, every)
    } else {
        (item, None)
    };
    let measures = measures
        .into_list()
        .iter()
        .map(|item| {
            let name = item.text()?;
            series::names()
                .find(|known| *known == name)
                .ok_or_else(|| item.error(vazao_engine::registry::unknown("measure", name, series::names())))
        })
        .collect::<Result<Vec<_>>>()?;
    let every = every.map(|i| duration(&i, Duration::from_micros(1), LONGEST)).transpose()?;
    Ok(TraceSpec { measures, every })
}
