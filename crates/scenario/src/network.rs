//! The `network` table: topology and links.

use crate::document::{ScenarioError, Value};
use crate::reader::{Item, Table, duration, value_json};
use serde_json::{Map, Value as Json, json};
use vazao_engine::registry::{Kind, Parameters, Value as Setting};
use vazao_engine::{Bytes, Duration, Rate};
use vazao_network::topology::{self, Line, TOPOLOGIES};
use vazao_network::{Capacity, Direction, Graph, LOSS_MODELS, Node, NodeKind, QUEUES, QueueSpec};

type Result<T> = std::result::Result<T, ScenarioError>;

/// The longest delay of a link: nothing on Earth, nor the way to Mars and back, is further.
const LONGEST: Duration = Duration::from_secs(3600);

pub(crate) fn read_network(mut table: Table) -> Result<Graph> {
    let names: Vec<_> = TOPOLOGIES.iter().map(|t| t.name).collect();
    let item = table.require("topology", &format!("one of {}", names.join(", ")))?;
    let entry = vazao_engine::registry::find("topology", TOPOLOGIES, item.text()?).map_err(|e| item.error(e))?;
    let graph = match entry.name {
        "point-to-point" => topology::point_to_point(&read_line(table.require("link", LINE)?)?),
        "path" => topology::path(&read_lines(table.require("link", LINES)?)?),
        "multipath" => topology::multipath(&read_lines(table.require("path", LINES)?)?),
        "dumbbell" => {
            let pairs = table.take("pairs").map_or(Ok(1), |i| i.whole(Kind::Integer(1, 100_000)))? as usize;
            let bottleneck = read_line(table.require("bottleneck", LINE)?)?;
            let item = table.require("access", LINE)?;
            let access = read_lines(item.clone())?;
            if access.len() != 1 && access.len() != pairs {
                let found = access.len();
                return Err(item.error(format!("{found} access links for {pairs} pairs; write one, or one a pair")));
            }
            topology::dumbbell(pairs, &access, &bottleneck)
        }
        "parking-lot" => {
            let hops = table.take("hops").map_or(Ok(3), |i| i.whole(Kind::Integer(1, 1_000)))? as usize;
            let bottleneck = read_line(table.require("bottleneck", LINE)?)?;
            let access = read_line(table.require("access", LINE)?)?;
            topology::parking_lot(hops, &access, &bottleneck)
        }
        _ => read_custom(&mut table)?,
    };
    table.finish()?;
    Ok(graph)
}

const LINE: &str = "a link, as in { rate = \"10 Mbps\", delay = \"50 ms\" }";
const LINES: &str = "one table a link, as in { rate = \"10 Mbps\", delay = \"50 ms\" }";

fn read_lines(item: Item) -> Result<Vec<Line>> {
    let whole = item.clone();
    let lines = item.into_list().into_iter().map(read_line).collect::<Result<Vec<_>>>()?;
    if lines.is_empty() { Err(whole.error(format!("is empty; write {LINES}"))) } else { Ok(lines) }
}

fn read_line(item: Item) -> Result<Line> {
    read_line_table(item.into_table()?)
}

/// The keys of a link hold for both directions; `forward` and `reverse` say what differs.
fn read_line_table(mut table: Table) -> Result<Line> {
    let (forward, reverse) = (table.take("forward"), table.take("reverse"));
    let keys = Keys::take(&mut table);
    let error = table.error("");
    table.finish()?;
    let direction = |item: Option<Item>| -> Result<Direction> {
        let mut own = match item {
            None => return keys.read(&error),
            Some(item) => item.into_table()?,
        };
        let special = Keys::take(&mut own);
        own.finish()?;
        special.over(&keys).read(&error)
    };
    Ok(Line { forward: direction(forward)?, reverse: direction(reverse)? })
}

/// The keys of one direction, not read yet.
#[derive(Clone)]
struct Keys {
    rate: Option<Item>,
    delay: Option<Item>,
    queue: Option<Item>,
    loss: Option<Item>,
    overhead: Option<Item>,
}

impl Keys {
    fn take(table: &mut Table) -> Keys {
        Keys {
            rate: table.take("rate"),
            delay: table.take("delay"),
            queue: table.take("queue"),
            loss: table.take("loss"),
            overhead: table.take("overhead"),
        }
    }

    fn over(self, general: &Keys) -> Keys {
        Keys {
            rate: self.rate.or_else(|| general.rate.clone()),
            delay: self.delay.or_else(|| general.delay.clone()),
            queue: self.queue.or_else(|| general.queue.clone()),
            loss: self.loss.or_else(|| general.loss.clone()),
            overhead: self.overhead.or_else(|| general.overhead.clone()),
        }
    }

    fn read(&self, link: &ScenarioError) -> Result<Direction> {
        let rate: Rate = match &self.rate {
            Some(item) => item.quantity("10 Mbps")?,
            None => {
                let key = format!("{}.rate", link.key);
                let problem = "is missing; write a rate such as \"10 Mbps\"".into();
                return Err(ScenarioError { key, problem, ..link.clone() });
            }
        };
        let delay = self.delay.as_ref().map_or(Ok(Duration::ZERO), |i| duration(i, Duration::ZERO, LONGEST))?;
        let queue = self.queue.clone().map_or(Ok(QueueSpec::drop_tail(Capacity::Packets(1000))), read_queue)?;
        let loss = self.loss.clone().map_or(Ok(None), read_loss)?;
        let overhead = match &self.overhead {
            Some(item) => {
                let bytes: Bytes = item.quantity("14 B")?;
                if bytes.get() > 65_535 {
                    return Err(item.error(format!("{bytes} is too large; write at most \"65535 B\"")));
                }
                bytes.get() as u32
            }
            None => 0,
        };
        Ok(Direction { rate, delay, overhead, queue, loss })
    }
}

/// A limit is one of drop-tail; anything else is a queue's name, or a table with its kind.
fn read_queue(item: Item) -> Result<QueueSpec> {
    let is_name = item.text().is_ok_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()));
    if is_name || matches!(item.node.value, Value::Table(_)) {
        let (entry, table) = item.entry("queue", QUEUES).map_err(|error| {
            let problem = format!("{}; or a limit: write \"100 packets\"", error.problem);
            ScenarioError { problem: if is_name { problem } else { error.problem }, ..error }
        })?;
        return Ok(QueueSpec { kind: entry.name, parameters: table.parameters(entry.parameters)? });
    }
    item.quantity("100 packets").map(QueueSpec::drop_tail)
}

fn read_loss(item: Item) -> Result<Option<(&'static str, Parameters)>> {
    if let Value::Number(p) = item.node.value {
        if !(0.0..=1.0).contains(&p) {
            return Err(item.error(format!("{p} is not a probability; write a number from 0 to 1, or a loss model")));
        }
        let mut parameters = Parameters::default();
        parameters.set("p", Setting::Number(p));
        return Ok((p > 0.0).then_some(("bernoulli", parameters)));
    }
    let (entry, table) = item.entry("loss model", LOSS_MODELS)?;
    Ok(Some((entry.name, table.parameters(entry.parameters)?)))
}

fn read_custom(table: &mut Table) -> Result<Graph> {
    let names = |item: Option<Item>| -> Result<Vec<String>> {
        item.map_or(Ok(Vec::new()), |i| i.into_list().iter().map(|n| n.text().map(str::to_owned)).collect())
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
            Some(item) => item.text()?.to_owned(),
            None => format!("{from}-{to}"),
        };
        links.push((name, from, to, read_line_table(link)?));
    }
    topology::custom(&hosts, &routers, &links).map_err(|problem| whole.error(problem))
}

/// The network with every default filled in.
pub(crate) fn network_json(graph: &Graph) -> Json {
    let links: Vec<_> = graph
        .links
        .iter()
        .map(|l| {
            json!({
                "name": l.name,
                "source": graph.nodes[l.source].name,
                "target": graph.nodes[l.target].name,
                "forward": direction_json(&l.forward),
                "reverse": direction_json(&l.reverse),
            })
        })
        .collect();
    json!({ "nodes": nodes_json(graph), "links": links })
}

/// The hosts and routers of a network.
pub fn nodes_json(graph: &Graph) -> Json {
    let kind = |node: &Node| if node.kind == NodeKind::Host { "host" } else { "router" };
    graph.nodes.iter().map(|node| json!({ "name": node.name, "kind": kind(node) })).collect()
}

fn direction_json(direction: &Direction) -> Json {
    let loss = direction.loss.as_ref().map(|(kind, parameters)| kind_json(kind, parameters));
    // A limit says all of drop-tail.
    let queue = match &direction.queue {
        queue if queue.is_drop_tail() => queue.limit().to_string().into(),
        queue => Json::from(kind_json(queue.kind, &queue.parameters)),
    };
    json!({
        "rate": direction.rate.to_string(),
        "delay": direction.delay.to_string(),
        "overhead": direction.overhead,
        "queue": queue,
        "loss": loss,
    })
}

/// An entry of a registry with its parameters.
fn kind_json(kind: &str, parameters: &Parameters) -> Map<String, Json> {
    let mut map = Map::new();
    map.insert("kind".into(), kind.into());
    map.extend(parameters.iter().map(|(name, value)| (name.to_owned(), value_json(value))));
    map
}
