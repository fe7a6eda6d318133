//! Reading scenarios, and their canonical form.

use super::flow::{Context, Flows, flow_json, read_flows};
use super::network::{links_json, nodes_json, read_network};
use super::transport::transport_json;
use crate::document::reader::{Item, LONGEST, duration};
use crate::document::{self, Result, ScenarioError, Toml};
use crate::measures::series;
use crate::model::extensions::Extensions;
use crate::model::memory::Budget;
use crate::model::scenario::{FlowSpec, Scenario, TraceSpec, TransportSpec, Window};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::sync::Arc;
use vazao_engine::registry::Kind;
use vazao_engine::{Duration, Time};
use vazao_network::Routing;

impl Scenario {
    /// Reads a scenario from the table at `path` (empty: all) of a TOML document, after `overrides` were set in it.
    ///
    /// # Errors
    /// The first error, with its key, its line and what would be accepted.
    pub fn load(text: &str, path: &str, overrides: Vec<(String, Toml)>, seed: Option<u64>) -> Result<Scenario> {
        Scenario::load_with(text, path, overrides, seed, &Extensions::default())
    }

    /// Reads a scenario like [`load`](Self::load), where plugins, kernels and files may be named too.
    ///
    /// # Errors
    /// As in [`load`](Self::load).
    pub fn load_with(
        text: &str,
        path: &str,
        overrides: Vec<(String, Toml)>,
        seed: Option<u64>,
        extensions: &Extensions,
    ) -> Result<Scenario> {
        let document = document::of(text)?;
        let missing = || ScenarioError::new(None, path, "is missing; the scenario belongs there");
        let mut node = document.at(path).cloned().ok_or_else(missing)?;
        for (key, value) in overrides {
            node.set(&key, value)?;
        }
        let mut table = Item::root(node).into_table()?;
        let name = match table.take("name") {
            Some(item) => item.text()?.to_owned(),
            None => "scenario".into(),
        };
        let seed = seed.or(table.whole("seed", Kind::Integer(0, 1 << 53))?).unwrap_or(1);
        if seed > 1 << 53 {
            return Err(table.error(format!("seed {seed} is too large; the largest is 2^53")));
        }
        let until = table.duration("until", Duration::from_nanos(1), LONGEST)?.map(|until| Time::ZERO + until);
        let network = table.require("network", "a table with topology and links")?;
        let budget = Budget::new(extensions.memory);
        let graph = read_network(network.into_table()?, extensions, &budget)?;
        let flows = table.require("flow", "one [[flow]] table for each flow")?;
        let routing = Routing::new(&graph);
        let context = Context { graph: &graph, routing, until, seed, extensions, budget: &budget };
        let Flows { all: flows, drawn: draws_flows, .. } = read_flows(flows, &context)?;
        let trace = table.take("trace").map(read_trace).transpose()?.unwrap_or_default();
        let measure = table.take("measure").map(|item| read_window(item, until)).transpose()?;
        table.finish()?;
        let until = until.or_else(|| last_resort(&flows));
        Ok(Scenario { name, seed, until, graph, flows, trace, measure, draws_flows, actions: None })
    }

    /// Describes everything that decides the run's results, in one canonical form: an object of JSON.
    ///
    /// The text is made flow by flow and link by link. As one value it would take more memory than the run of many flows.
    pub fn json(&self) -> String {
        let (before, after) = self.json_around_seed();
        format!("{before}{}{after}", self.seed)
    }

    /// Returns the canonical form before and behind the seed.
    pub(crate) fn json_around_seed(&self) -> (String, String) {
        // Flows described together share their transport: written once, it keeps 10 000 flows legible.
        let mut transports: Vec<&Arc<TransportSpec>> = Vec::new();
        // Further connections of a visit follow from the first.
        let flows = list(self.flows.iter().filter(|flow| flow.part == 0).map(|flow| {
            if !transports.last().is_some_and(|last| Arc::ptr_eq(last, &flow.transport)) {
                transports.push(&flow.transport);
            }
            flow_json(flow, transports.len() - 1)
        }));
        let transports = list(transports.into_iter().map(|spec| transport_json(spec)));
        let nodes = nodes_json(&self.graph);
        let links = list(links_json(&self.graph));
        let trace = json!({ "every": self.trace.every.map(|d| d.to_string()), "measures": self.trace.measures });
        let until = json!(self.until.map(|t| t.to_string()));
        // Absent, it leaves no trace.
        let measure = self.measure.map_or_else(String::new, |Window { from, to }| {
            format!(",\"measure\":{}", json!({ "from": from.to_string(), "to": to.map(|to| to.to_string()) }))
        });
        let actions =
            self.actions.as_ref().map_or_else(String::new, |digest| format!(",\"actions\":{}", json!(digest)));
        let before = format!(
            "{{\"flows\":{flows},\"transports\":{transports},\"network\":{{\"nodes\":{nodes},\"links\":{links}}},\"seed\":"
        );
        (before, format!(",\"trace\":{trace},\"until\":{until}{measure}{actions}}}"))
    }
}

/// Writes a JSON array item by item, so that only one of them is a value at a time.
fn list(items: impl Iterator<Item = Json>) -> String {
    let mut text = String::from("[");
    for item in items {
        if text.len() > 1 {
            text.push(',');
        }
        let _ = write!(text, "{item}"); // A text takes whatever is written.
    }
    text.push(']');
    text
}

/// Returns the end of a run with programs, which might run for ever: nobody can tell from a command.
fn last_resort(flows: &[FlowSpec]) -> Option<Time> {
    const PROGRAMS: Duration = Duration::from_secs(3600);
    let programs = flows.iter().filter(|flow| flow.sides().is_program());
    programs.map(|flow| flow.start + PROGRAMS).max()
}

/// Reads the part of a run that is measured by itself, which lies before the run's end.
fn read_window(item: Item, until: Option<Time>) -> Result<Window> {
    let mut table = item.into_table()?;
    let from = table.take("from");
    let to = table.take("to");
    let error = table.error("has neither from nor to; write { from = \"10 s\" }");
    table.finish()?;
    let whole = [&from, &to].into_iter().flatten().next().cloned().ok_or(error)?;
    let read = |item: Option<Item>| item.map(|item| duration(&item, Duration::ZERO, LONGEST)).transpose();
    let (begins, ends) = (Time::ZERO + read(from.clone())?.unwrap_or_default(), read(to)?.map(|to| Time::ZERO + to));
    if let Some(end) = ends.or(until)
        && begins >= end
    {
        return Err(from.unwrap_or(whole).error(format!("{begins} is not before the end, {end}; nothing is measured")));
    }
    Ok(Window { from: begins, to: ends })
}

/// Reads a trace: a list of measures, or a table with an interval too.
fn read_trace(item: Item) -> Result<TraceSpec> {
    let (measures, every) = if matches!(item.node.value, Toml::Table(_)) {
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
