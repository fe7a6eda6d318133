//! The `network` table: topology and links.

use crate::description::link::{direction_json, read_link, read_link_table};
use crate::document::Result;
use crate::document::reader::{Item, Table};
use crate::model::extensions::Extensions;
use crate::model::memory::{self, Budget};
use crate::model::scenario::Scenario;
use serde_json::{Value as Json, json};
use vazao_engine::registry::{Kind, Parameter, Parameters, Value};
use vazao_network::topology::{Count, Key, LinkSpec, NAMED, NamedLink, TOPOLOGIES, Topology, custom};
use vazao_network::{Given, Graph, Node, NodeKind, Place, Routing};

pub(crate) fn read_network(mut table: Table, extensions: &Extensions, budget: &Budget) -> Result<Graph> {
    if let Some(nodes) = table.take_resolved("nodes") {
        let nodes = nodes.into_list().into_iter().map(read_node).collect::<Result<Vec<_>>>()?;
        let graph = read_named_links(&mut table, extensions, |links| custom(nodes, links))?;
        table.finish()?;
        return Ok(graph);
    }
    let names: Vec<_> = TOPOLOGIES.iter().map(|t| t.name).collect();
    let item = table.require("topology", &format!("one of {}", names.join(", ")))?;
    let entry = vazao_engine::registry::find("topology", TOPOLOGIES, item.text()?).map_err(|e| item.error(e))?;
    let (parameters, given) = read_parameters(&mut table, entry.parameters)?;
    let graph = match &entry.build {
        Topology::Named(build) => read_named_links(&mut table, extensions, |links| build(&parameters, links))?,
        Topology::Links { keys, copies, build } => {
            let given = given.unwrap_or(item);
            budget.take(copies(&parameters), "access links", memory::LINK).map_err(|problem| given.error(problem))?;
            let read = |key: &Key| read_links(&mut table, key, &parameters, extensions);
            build(&parameters, &keys.iter().map(read).collect::<Result<Vec<_>>>()?)
        }
    };
    table.finish()?;
    Ok(graph)
}

/// Takes links with their ends out of a table, and makes a graph of them.
fn read_named_links(
    table: &mut Table,
    extensions: &Extensions,
    build: impl FnOnce(&[NamedLink]) -> std::result::Result<Graph, String>,
) -> Result<Graph> {
    let whole = table.require(NAMED.name, "[[network.link]] tables with from, to, rate and delay")?;
    let read = |(index, item)| read_named_link(item, given_at(&NAMED, index), extensions);
    let links = whole.clone().into_list().into_iter().enumerate().map(read).collect::<Result<Vec<_>>>()?;
    build(&links).map_err(|problem| whole.error(problem))
}

/// Reads a node of the canonical form, in which hosts and routers are in the order of their numbers.
fn read_node(item: Item) -> Result<Node> {
    let mut table = item.into_table()?;
    let (name, kind) = (table.require("name", "a name")?, table.require("kind", "host or router")?);
    table.finish()?;
    let kind = match kind.text()? {
        "host" => NodeKind::Host,
        "router" => NodeKind::Router,
        _ => return Err(kind.error("is no kind of a node; write host or router")),
    };
    Ok(Node { name: read_name(&name)?, kind })
}

/// Takes a topology's parameters out of a table. Returns the last given item too, for errors.
fn read_parameters(table: &mut Table, known: &[Parameter]) -> Result<(Parameters, Option<Item>)> {
    let optional: Vec<_> = known.iter().copied().filter(|parameter| !parameter.required).collect();
    let (mut parameters, mut given) = (Parameters::defaults(&optional), None);
    for parameter in known {
        let item = match parameter.required {
            true => Some(table.require(parameter.name, &parameter.kind.expected())?),
            false => table.take(parameter.name),
        };
        if let Some(item) = item {
            parameters.set(parameter.name, read_parameter(&item, parameter.kind)?);
            given = Some(item);
        }
    }
    Ok((parameters, given))
}

/// Reads a parameter of a topology. Its names are of hosts and routers.
fn read_parameter(item: &Item, kind: Kind) -> Result<Value> {
    match kind {
        Kind::Names => item.clone().into_list().iter().map(read_name).collect::<Result<_>>().map(Value::Names),
        kind => kind.read(&item.node.value.raw()).map_err(|problem| item.error(problem)),
    }
}

/// Reads the links under a key, and checks their number.
fn read_links(table: &mut Table, key: &Key, parameters: &Parameters, extensions: &Extensions) -> Result<Vec<LinkSpec>> {
    let item = table.require(key.name, if key.count == Count::Many { LINKS } else { LINK })?;
    match key.count {
        Count::One => Ok(vec![LinkSpec { given: given_at(key, 0), ..read_link(item, extensions)? }]),
        Count::Many | Count::Named => read_each_link(item, key, extensions),
        Count::OneOrEach(parameter) => {
            let (links, most) =
                (read_each_link(item.clone(), key, extensions)?, parameters.integer(parameter) as usize);
            if links.len() == 1 || links.len() == most {
                return Ok(links);
            }
            let (found, key) = (links.len(), key.name);
            let one = parameter.strip_suffix('s').unwrap_or(parameter);
            Err(item.error(format!("{found} {key} links for {most} {parameter}; write one, or one a {one}")))
        }
    }
}

const LINK: &str = "a link, as in { rate = \"10 Mbps\", delay = \"50 ms\" }";
const LINKS: &str = "one table a link, as in { rate = \"10 Mbps\", delay = \"50 ms\" }";

fn given_at(key: &Key, index: usize) -> Given {
    Given { key: key.name, index: index as u32 }
}

fn read_each_link(item: Item, key: &Key, extensions: &Extensions) -> Result<Vec<LinkSpec>> {
    let whole = item.clone();
    let read = |(index, item)| Ok(LinkSpec { given: given_at(key, index), ..read_link(item, extensions)? });
    let links = item.into_list().into_iter().enumerate().map(read).collect::<Result<Vec<_>>>()?;
    if links.is_empty() { Err(whole.error(format!("is empty; write {LINKS}"))) } else { Ok(links) }
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

/// Reads a link with its ends. Its name is made of theirs, unless it has one.
fn read_named_link(item: Item, given: Given, extensions: &Extensions) -> Result<NamedLink> {
    let mut table = item.into_table()?;
    let from = table.require("from", "the name of a host or router")?.text()?.to_owned();
    let to = table.require("to", "the name of a host or router")?.text()?.to_owned();
    let name = match table.take("name") {
        Some(item) => read_name(&item)?,
        None => format!("{from}-{to}"),
    };
    Ok(NamedLink { name, from, to, link: LinkSpec { given, ..read_link_table(table, extensions)? } })
}

/// Describes the links of a network in canonical form, with every default.
pub(crate) fn links_json(graph: &Graph) -> impl Iterator<Item = Json> {
    graph.links.iter().map(|l| {
        json!({
            "name": l.name,
            "from": graph.nodes[l.source].name,
            "to": graph.nodes[l.target].name,
            "forward": direction_json(&l.forward),
            "reverse": direction_json(&l.reverse),
        })
    })
}

fn kind(node: &Node) -> &'static str {
    if node.kind == NodeKind::Host { "host" } else { "router" }
}

/// Describes the hosts and routers of a network.
pub(crate) fn nodes_json(graph: &Graph) -> Json {
    graph.nodes.iter().map(|node| json!({ "name": node.name, "kind": kind(node) })).collect()
}

/// Describes the hosts and routers of a scenario's network with their places in a drawing, in columns and rows.
pub fn places_json(scenario: &Scenario) -> Json {
    let (graph, routing) = (&scenario.graph, Routing::new(&scenario.graph));
    let node = |address: &str| routing.address(address).ok().map(|(node, _)| node);
    let places =
        graph.places(scenario.flows.iter().filter_map(|flow| Some((node(&flow.client)?, node(&flow.server)?))));
    let placed = |(node, at): (&Node, Place)| json!({ "name": node.name, "kind": kind(node), "x": at.x, "y": at.y });
    graph.nodes.iter().zip(places).map(placed).collect()
}
