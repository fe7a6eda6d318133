//! The `network` table: topology and links.

use crate::description::link::{direction_json, read_link, read_link_table};
use crate::document::Result;
use crate::document::files::Files;
use crate::document::reader::{Item, Table};
use crate::model::memory::{self, Budget};
use serde_json::{Value as Json, json};
use vazao_engine::registry::{Parameter, Parameters, Value};
use vazao_network::topology::{self, Count, Key, LinkSpec, TOPOLOGIES, Topology};
use vazao_network::{Graph, Node, NodeKind};

pub(crate) fn read_network(mut table: Table, files: &Files, budget: &Budget) -> Result<Graph> {
    let names: Vec<_> = TOPOLOGIES.iter().map(|t| t.name).collect();
    let item = table.require("topology", &format!("one of {}", names.join(", ")))?;
    let entry = vazao_engine::registry::find("topology", TOPOLOGIES, item.text()?).map_err(|e| item.error(e))?;
    let graph = match &entry.build {
        Topology::Named => read_custom(&mut table, files)?,
        Topology::Links { keys, copies, build } => {
            let (parameters, given) = read_parameters(&mut table, entry.parameters)?;
            let given = given.unwrap_or(item);
            budget.take(copies(&parameters), "access links", memory::LINK).map_err(|problem| given.error(problem))?;
            let read = |key: &Key| read_links(&mut table, key, &parameters, files);
            build(&parameters, &keys.iter().map(read).collect::<Result<Vec<_>>>()?)
        }
    };
    table.finish()?;
    Ok(graph)
}

/// Takes a topology's parameters out of a table. Returns the last given item too, for errors.
fn read_parameters(table: &mut Table, known: &[Parameter]) -> Result<(Parameters, Option<Item>)> {
    let (mut parameters, mut given) = (Parameters::defaults(known), None);
    for parameter in known {
        if let Some(item) = table.take(parameter.name) {
            parameters.set(parameter.name, Value::Number(item.whole(parameter.kind)? as f64));
            given = Some(item);
        }
    }
    Ok((parameters, given))
}

/// Reads the links under a key, and checks their number.
fn read_links(table: &mut Table, key: &Key, parameters: &Parameters, files: &Files) -> Result<Vec<LinkSpec>> {
    let item = table.require(key.name, if key.count == Count::Many { LINES } else { LINE })?;
    match key.count {
        Count::One => Ok(vec![read_link(item, files)?]),
        Count::Many => read_each_link(item, files),
        Count::OneOrEach(parameter) => {
            let (lines, most) = (read_each_link(item.clone(), files)?, parameters.integer(parameter) as usize);
            if lines.len() == 1 || lines.len() == most {
                return Ok(lines);
            }
            let (found, key) = (lines.len(), key.name);
            let one = parameter.strip_suffix('s').unwrap_or(parameter);
            Err(item.error(format!("{found} {key} links for {most} {parameter}; write one, or one a {one}")))
        }
    }
}

const LINE: &str = "a link, as in { rate = \"10 Mbps\", delay = \"50 ms\" }";
const LINES: &str = "one table a link, as in { rate = \"10 Mbps\", delay = \"50 ms\" }";

fn read_each_link(item: Item, files: &Files) -> Result<Vec<LinkSpec>> {
    let whole = item.clone();
    let lines = item.into_list().into_iter().map(|item| read_link(item, files)).collect::<Result<Vec<_>>>()?;
    if lines.is_empty() { Err(whole.error(format!("is empty; write {LINES}"))) } else { Ok(lines) }
}

/// Most characters of a name.
const LONGEST_NAME: usize = 64;

/// Reads the name of a host, a router or a link. Files, guests and terminals use it: it is no path and no control sequence.
fn read_name(item: &Item) -> Result<String> {
    let name = item.text()?;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins_well || !name.chars().all(is_allowed) || name.len() > LONGEST_NAME {
        let accepted = format!("letters, digits, - _ and ., a letter or a digit first, {LONGEST_NAME} at most");
        return Err(item.error(format!("{name:?} is not a name; write {accepted}")));
    }
    Ok(name.to_owned())
}

fn read_custom(table: &mut Table, files: &Files) -> Result<Graph> {
    let names = |item: Option<Item>| -> Result<Vec<String>> {
        item.map_or(Ok(Vec::new()), |list| list.into_list().iter().map(read_name).collect())
    };
    let hosts = table.require("hosts", "a list of names such as [\"client\", \"server\"]")?;
    let hosts = names(Some(hosts))?;
    let routers = names(table.take("routers"))?;
    let whole = table.require("link", "[[network.link]] tables with from, to, rate and delay")?;
    let mut links = Vec::new();
    for item in whole.clone().into_list() {
        let mut link = item.into_table()?;
        let from = link.require("from", "the name of a host or router")?.text()?.to_owned();
        let to = link.require("to", "the name of a host or router")?.text()?.to_owned();
        let name = match link.take("name") {
            Some(item) => read_name(&item)?,
            None => format!("{from}-{to}"),
        };
        links.push((name, from, to, read_link_table(link, files)?));
    }
    topology::custom(&hosts, &routers, &links).map_err(|problem| whole.error(problem))
}

/// Describes the links of a network in canonical form, with every default.
pub(crate) fn links_json(graph: &Graph) -> impl Iterator<Item = Json> {
    graph.links.iter().map(|l| {
        json!({
            "name": l.name,
            "source": graph.nodes[l.source].name,
            "target": graph.nodes[l.target].name,
            "forward": direction_json(&l.forward),
            "reverse": direction_json(&l.reverse),
        })
    })
}

/// Describes the hosts and routers of a network.
pub fn nodes_json(graph: &Graph) -> Json {
    let kind = |node: &Node| if node.kind == NodeKind::Host { "host" } else { "router" };
    graph.nodes.iter().map(|node| json!({ "name": node.name, "kind": kind(node) })).collect()
}
