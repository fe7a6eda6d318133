//! Reading scenarios, and their canonical form.

use super::flow::{Context, Flows, read_flows, write_flows};
use super::network::{links_json, nodes_json, read_network};
use crate::document::reader::{Item, LATEST, LONGEST, Table, duration};
use crate::document::{self, Result, ScenarioError, Toml};
use crate::measures::series;
use crate::model::extensions::Extensions;
use crate::model::memory::{self, Budget};
use crate::model::scenario::{FlowSpec, Scenario, TraceSpec, Window};
use serde_json::{Value as Json, json};
use std::fmt::Write;
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
        Ok(Scenario { name, ..Scenario::read(table, seed, LONGEST, extensions)? })
    }

    /// Reads a scenario that was resolved: [`json`](Self::json), under a name, which is no part of it.
    ///
    /// # Errors
    /// As in [`load`](Self::load); and what it says of files, code and programs must be as it says.
    pub fn from_json(text: &str, name: &str, extensions: &Extensions) -> Result<Scenario> {
        let budget = Budget::new(extensions.memory);
        let take = budget.take(text.len() as u64, "bytes of JSON", memory::JSON);
        take.map_err(|problem| ScenarioError::new(None, "", problem))?;
        let mut table = Item::resolved(document::json::parse(text)?).into_table()?;
        let schema = table.require("schema", &SCHEMA.to_string())?;
        if schema.whole(Kind::Integer(0, 1 << 53))? != SCHEMA {
            return Err(schema.error(format!("is not a version that is read here, which is {SCHEMA}")));
        }
        let draws_flows = table.take("draws_flows").map_or(Ok(false), |item| item.flag())?;
        let actions = table.take("actions").map(|item| item.text().map(str::to_owned)).transpose()?;
        let scenario = Scenario::read(table, None, LATEST, extensions)?;
        Ok(Scenario { name: name.to_owned(), draws_flows, actions, ..scenario })
    }

    /// Reads a scenario without its name, which ends `latest` at most.
    fn read(mut table: Table, seed: Option<u64>, latest: Duration, extensions: &Extensions) -> Result<Scenario> {
        let seed = seed.or(table.whole("seed", Kind::Integer(0, 1 << 53))?).unwrap_or(1);
        if seed > 1 << 53 {
            return Err(table.error(format!("seed {seed} is too large; the largest is 2^53")));
        }
        let until = table.duration("until", Duration::from_nanos(1), latest)?.map(|until| Time::ZERO + until);
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
        Ok(Scenario { name: String::new(), seed, until, graph, flows, trace, measure, draws_flows, actions: None })
    }

    /// Checks that the scenario can be had under another seed.
    ///
    /// # Errors
    /// The seed decided more than the random numbers of a run, or agents acted in it.
    pub fn check_seed(&self, seed: u64) -> std::result::Result<(), &'static str> {
        if seed > 1 << 53 {
            return Err("the largest seed is 2^53");
        }
        if self.draws_flows {
            return Err(
                "its seed also drew which flows there are, or when they start; read what it was drawn from under another",
            );
        }
        if self.actions.is_some() {
            return Err("agents acted in it; what they would do under another seed only they know");
        }
        Ok(())
    }

    /// Returns the scenario under another seed.
    ///
    /// # Errors
    /// As [`check_seed`](Self::check_seed).
    pub fn with_seed(&self, seed: u64) -> std::result::Result<Scenario, &'static str> {
        self.check_seed(seed)?;
        let mut other = Scenario { seed, ..self.clone() };
        other.flows.iter_mut().for_each(|flow| flow.streams.seed = seed);
        Ok(other)
    }

    /// Describes everything that decides the run's results, in one canonical form: an object of JSON, which
    /// [`from_json`](Self::from_json) reads. It is the document itself with every default, drawn flows listed.
    ///
    /// The text is made flow by flow and link by link. As one value it would take more memory than the run of many flows.
    pub fn json(&self) -> String {
        let (before, after) = self.json_around_seed();
        format!("{before}{}{after}", self.seed)
    }

    /// Returns the canonical form before and behind the seed.
    pub fn json_around_seed(&self) -> (String, String) {
        let mut before = format!("{{\"schema\":{SCHEMA},\"network\":{{\"nodes\":{},\"link\":", nodes_json(&self.graph));
        write_list(links_json(&self.graph), &mut before);
        before.push_str("},\"flow\":");
        write_flows(&self.flows, &mut before);
        before.push_str(",\"seed\":");
        // What is absent leaves no trace.
        let measures = |trace: &TraceSpec| match trace.every {
            Some(every) => json!({ "measures": trace.measures, "every": every.to_string() }),
            None => json!({ "measures": trace.measures }),
        };
        let window = |Window { from, to }| match to {
            Some(to) => json!({ "from": from.to_string(), "to": to.to_string() }),
            None => json!({ "from": from.to_string() }),
        };
        let rest = [
            ("trace", Some(measures(&self.trace))),
            ("until", self.until.map(|until| until.to_string().into())),
            ("measure", self.measure.map(window)),
            ("draws_flows", self.draws_flows.then(|| true.into())),
            ("actions", self.actions.as_deref().map(Json::from)),
        ];
        let mut after = String::new();
        for (key, value) in rest {
            if let Some(value) = value {
                let _ = write!(after, ",\"{key}\":{value}");
            }
        }
        (before, after + "}")
    }
}

/// Version of the canonical form.
pub(super) const SCHEMA: u64 = 1;

/// Writes a JSON array item by item, so that only one of them is a value at a time.
fn write_list(items: impl Iterator<Item = Json>, text: &mut String) {
    let mut separator = '[';
    for item in items {
        let _ = write!(text, "{separator}{item}"); // A text takes whatever is written.
        separator = ',';
    }
    text.push_str(if separator == '[' { "[]" } else { "]" });
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
