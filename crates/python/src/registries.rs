//! Contents of the registries, and a scenario's network, as JSON.

use serde_json::{Map, Value as Json, json};
use vazao_engine::registry::{Entry, Parameter, Parameters};
use vazao_network::Direction;
use vazao_scenario::{ColumnSpec, FLOWS, LINKS, MEASURES, PATHS, PERSONALITIES, Personality, RUNS, Rows, Scenario};

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

fn parameter(p: &Parameter) -> Json {
    json!({
        "name": p.name,
        "default": p.default,
        "required": p.required,
        "expected": p.kind.expected(),
        "help": p.help,
    })
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
        "transport": entries(vazao_scenario::TRANSPORTS),
        "personality": personalities(),
        "application": entries(vazao_application::APPLICATIONS),
        "adaptation": entries(vazao_application::ADAPTATIONS),
        "distribution": entries(vazao_engine::DISTRIBUTIONS),
        "queue": entries(vazao_network::QUEUES),
        "loss model": entries(vazao_network::LOSS_MODELS),
        "impairment": entries(vazao_network::IMPAIRMENTS),
        "strippable option": entries(vazao_scenario::STRIPPABLE),
        "rate": entries(vazao_network::RATES),
        "delay": entries(vazao_network::DELAYS),
        "shaper": entries(vazao_network::SHAPERS),
        "topology": entries(vazao_network::topology::TOPOLOGIES),
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
            json!({ "flow": i, "client": f.client, "server": f.server, "label": label })
        })
        .collect();
    json!({ "nodes": vazao_scenario::nodes_json(graph), "links": links, "flows": flows })
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
