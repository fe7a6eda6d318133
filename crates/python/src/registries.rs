//! Contents of the registries, and a scenario's network, as JSON.

use serde_json::{Map, Value as Json, json};
use vazao_application::COMMAND;
use vazao_engine::registry::{Entry, Parameter, Parameters};
use vazao_network::loss::INDEPENDENT;
use vazao_network::topology::{Count, Key, TOPOLOGIES, Topology};
use vazao_network::{Direction, QueueSpec};
use vazao_scenario::{
    ColumnSpec, DEFAULT_TRANSPORT, FLOWS, LINKS, MEASURES, PATHS, PERSONALITIES, Pack, Personality, RUNS, Rows,
    Scenario,
};

fn entries<B>(entries: &[Entry<B>]) -> Json {
    entries
        .iter()
        .map(|e| {
            json!({
                "name": e.name,
                "aliases": e.aliases,
                "title": e.title,
                "source": e.source,
                "help": e.help,
                "parameters": e.parameters.iter().map(parameter).collect::<Vec<_>>(),
            })
        })
        .collect()
}

/// Describes the personalities of TCP, with the settings that each stands for.
fn personalities() -> Json {
    let mut all = entries(PERSONALITIES);
    for (described, entry) in all.as_array_mut().into_iter().flatten().zip(PERSONALITIES) {
        let setting = |(key, value, with): (&str, &str, Option<&str>)| {
            let help = Personality::parameter(key).map(|parameter| parameter.help);
            json!({ "name": key, "value": value, "control": with, "help": help })
        };
        described["settings"] = entry.build.settings().map(setting).collect();
    }
    all
}

/// Adds facts for pages to the entries of a registry.
fn with<B>(registry: &[Entry<B>], facts: impl Fn(&Entry<B>) -> Json) -> Json {
    let mut all = entries(registry);
    for (described, entry) in all.as_array_mut().into_iter().flatten().zip(registry) {
        if let (Json::Object(described), Json::Object(facts)) = (described, facts(entry)) {
            described.extend(facts);
        }
    }
    all
}

/// Describes a kind of network for pages: the keys of its links, with the word for one link, and how many there are.
fn topology(entry: &Entry<Topology>) -> Json {
    let key = |key: &Key| {
        let (count, each) = match key.count {
            Count::One => ("one", None),
            Count::Many => ("many", None),
            Count::OneOrEach(parameter) => ("each", Some(parameter)),
            Count::Named => ("named", None),
        };
        json!({ "key": key.name, "noun": key.noun, "count": count, "each": each })
    };
    json!({ "links": entry.build.keys().iter().map(key).collect::<Vec<_>>() })
}

fn parameter(p: &Parameter) -> Json {
    json!({
        "name": p.name,
        "default": p.default,
        "required": p.required,
        "expected": p.kind.expected(),
        "help": p.help,
        "example": (!p.example.is_empty()).then(|| p.example.parse().unwrap_or_else(|_| Json::from(p.example))),
    })
}

/// Says whether an entry is the usual one, and which of its parameters a value without a kind then is.
fn plain<B>(entry: &Entry<B>, usual: &Entry<B>) -> Json {
    let is_usual = entry.name == usual.name;
    json!({ "usual": is_usual, "plain": is_usual.then_some(entry.parameters[0].name) })
}

fn transport(entry: &Entry<Pack>) -> Json {
    let mut facts = Pack::front_json(entry);
    facts["usual"] = json!(entry.name == DEFAULT_TRANSPORT.name);
    facts
}

/// Describes the columns of each table of results, and the measures that can be traced.
pub fn tables() -> Json {
    fn columns<T: Rows>(columns: &[ColumnSpec<T>]) -> Json {
        columns.iter().map(|column| json!({ "name": column.name, "help": column.help })).collect()
    }
    json!({
        "runs": columns(RUNS),
        "flows": columns(FLOWS),
        "paths": columns(PATHS),
        "links": columns(LINKS),
        "measures": MEASURES.iter().map(|m| json!({ "name": m.name, "help": m.help })).collect::<Vec<_>>(),
    })
}

/// Describes all registries by what their entries are.
pub fn all() -> Json {
    json!({
        "congestion control": entries(vazao_congestion::CONGESTION_CONTROLS),
        "packet scheduler": entries(vazao_transport::common::SCHEDULERS),
        "path manager": entries(vazao_transport::mptcp::PATH_MANAGERS),
        "slow start": entries(vazao_congestion::SLOW_STARTS),
        "transport": with(vazao_scenario::TRANSPORTS, transport),
        "personality": personalities(),
        "application": with(vazao_application::APPLICATIONS, |entry| json!({ "host": entry.name == COMMAND })),
        "adaptation": entries(vazao_application::ADAPTATIONS),
        "distribution": entries(vazao_engine::DISTRIBUTIONS),
        "queue": with(vazao_network::QUEUES, |entry| plain(entry, QueueSpec::default().entry)),
        "loss model": with(vazao_network::LOSS_MODELS, |entry| plain(entry, &INDEPENDENT)),
        "impairment": entries(vazao_network::IMPAIRMENTS),
        "strippable option": entries(vazao_scenario::STRIPPABLE),
        "rate": entries(vazao_network::RATES),
        "delay": entries(vazao_network::DELAYS),
        "shaper": entries(vazao_network::SHAPERS),
        "topology": with(TOPOLOGIES, topology),
    })
}

/// Nodes, links and flows of a scenario.
pub fn graph(scenario: &Scenario) -> Json {
    let graph = &scenario.graph;
    let links: Vec<_> = graph
        .links
        .iter()
        .map(|l| {
            let mut link = direction(&l.forward);
            link["name"] = json!(l.name);
            link["source"] = json!(graph.nodes[l.source].name);
            link["target"] = json!(graph.nodes[l.target].name);
            link["reverse"] = direction(&l.reverse);
            link
        })
        .collect();
    let flows: Vec<_> = scenario
        .rows()
        .into_iter()
        .map(|row| &scenario.flows[row.start])
        .enumerate()
        .map(|(i, f)| {
            let (app, transport) = (f.app(), &f.transport);
            let label = format!("{app} over {}, {}", transport.entry.name, transport.control.name);
            json!({ "flow": i, "client": f.client, "server": f.server, "label": label, "app": kind(app, &f.application.1) })
        })
        .collect();
    json!({ "nodes": vazao_scenario::places_json(scenario), "links": links, "flows": flows })
}

fn direction(d: &Direction) -> Json {
    json!({
        "rate_bps": d.rate.as_bps(),
        "delay_s": d.delay.as_secs(),
        "queue": kind(d.queue.entry.name, &d.queue.parameters),
        "loss": d.loss.as_ref().map(|(model, parameters)| kind(model.name, parameters)),
    })
}

/// Describes an entry of a registry by its name, and its parameters, each as a user would write it.
fn kind(name: &str, parameters: &Parameters) -> Json {
    let parameters: Map<_, _> =
        parameters.iter().map(|(name, value)| (name.into(), value.to_string().into())).collect();
    json!({ "kind": name, "parameters": parameters })
}
