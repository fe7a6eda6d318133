//! A scenario: what a user describes, read, checked and with every default filled in.

use crate::document::{self, Node, ScenarioError, Value};
use crate::network::read_network;
use crate::reader::{Item, Table};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use vazao_application::{APPLICATIONS, Constructor};
use vazao_congestion::{CONGESTION_CONTROLS, SLOW_STARTS};
use vazao_engine::registry::{Entry, Kind, Parameters};
use vazao_engine::{Duration, Stream, Time};
use vazao_network::Graph;
use vazao_transport::tcp;

/// The measures that can be traced.
pub const MEASURES: &[&str] = &["cwnd", "ssthresh", "srtt", "rtt", "flight", "sequence", "queue"];

/// What is recorded over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSpec {
    /// Names from [`MEASURES`].
    pub measures: Vec<&'static str>,
    /// Least time between two samples of a measure; `None`: every change.
    pub every: Option<Duration>,
}

/// A flow as described.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Address of the side that opens the connection.
    pub client: String,
    /// Address of the other side.
    pub server: String,
    /// When it opens.
    pub start: Time,
    /// Its application and the application's parameters.
    pub application: (&'static Entry<Constructor>, Parameters),
    /// Its transport.
    pub transport: Arc<TcpSpec>,
}

/// A TCP transport as described: its own parameters, and its congestion control and slow start with theirs.
#[derive(Clone, Debug)]
pub struct TcpSpec {
    /// TCP's own parameters.
    pub tcp: Parameters,
    /// Name and parameters of the congestion control.
    pub control: (&'static str, Parameters),
    /// Name and parameters of the slow start.
    pub slow_start: (&'static str, Parameters),
}

/// A scenario, resolved.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name; not part of what it does.
    pub name: String,
    /// Every random stream of the run derives from it.
    pub seed: u64,
    /// When the run ends even if flows have not.
    pub until: Option<Time>,
    /// The network.
    pub graph: Graph,
    /// The flows in order.
    pub flows: Vec<FlowSpec>,
    /// What is recorded over time.
    pub trace: TraceSpec,
}

/// All transports.
pub const TRANSPORTS: &[Entry<()>] = &[Entry {
    name: "tcp",
    aliases: &[],
    title: "Transmission Control Protocol",
    source: "RFC 9293",
    help: "reliable byte stream; loss recovery, congestion control and timers are chosen by parameters",
    parameters: tcp::PARAMETERS,
    build: (),
}];

type Result<T> = std::result::Result<T, ScenarioError>;

const LONGEST: Duration = Duration::from_secs(366 * 86_400);

impl Scenario {
    /// Reads a scenario from the table at `path` (empty: all) of a TOML document, after `overrides` were set in it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its key, its line and what would be accepted.
    pub fn load(text: &str, path: &str, overrides: Vec<(String, Value)>, seed: Option<u64>) -> Result<Scenario> {
        let document = document::parse(text)?;
        let node = document.at(path).cloned().ok_or_else(|| ScenarioError {
            file: String::new(),
            line: None,
            key: path.into(),
            problem: "is missing; the scenario belongs there".into(),
        })?;
        Scenario::read(node, overrides, seed)
    }

    fn read(mut node: Node, overrides: Vec<(String, Value)>, seed: Option<u64>) -> Result<Scenario> {
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
        let until = match table.take("until") {
            Some(item) => Some(Time::ZERO + duration(&item, Duration::from_nanos(1), LONGEST)?),
            None => None,
        };
        let network = table.require("network", "a table with topology and links")?;
        let graph = read_network(network.into_table()?)?;
        let flows = table.require("flow", "one [[flow]] table for each flow")?;
        let flows = read_flows(flows, &graph, until, seed)?;
        let trace = match table.take("trace") {
            Some(item) => read_trace(item)?,
            None => TraceSpec::default(),
        };
        table.finish()?;
        Ok(Scenario { name, seed, until, graph, flows, trace })
    }

    /// Everything that decides what the run does, in one canonical form.
    pub fn json(&self) -> Json {
        let flows: Vec<_> = self.flows.iter().map(flow_json).collect();
        json!({
            "flows": flows,
            "network": crate::network::network_json(&self.graph),
            "seed": self.seed,
            "trace": { "every": self.trace.every.map(|d| d.to_string()), "measures": self.trace.measures },
            "until": self.until.map(|t| t.to_string()),
        })
    }
}

pub(crate) fn duration(item: &Item, least: Duration, most: Duration) -> Result<Duration> {
    let span: Duration = item.quantity("50 ms")?;
    if (least..=most).contains(&span) {
        Ok(span)
    } else {
        Err(item.error(format!("{span} is not {}", Kind::Duration(least, most).expected())))
    }
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
    let measures =
        measures
            .into_list()
            .iter()
            .map(|item| {
                let name = item.text()?;
                MEASURES.iter().find(|m| **m == name).copied().ok_or_else(|| {
                    item.error(vazao_engine::registry::unknown("measure", name, MEASURES.iter().copied()))
                })
            })
            .collect::<Result<Vec<_>>>()?;
    let every = every.map(|i| duration(&i, Duration::from_micros(1), LONGEST)).transpose()?;
    Ok(TraceSpec { measures, every })
}

fn read_flows(item: Item, graph: &Graph, until: Option<Time>, seed: u64) -> Result<Vec<FlowSpec>> {
    let mut flows = Vec::new();
    let whole = item.clone();
    for item in item.into_list() {
        read_flow(item.into_table()?, graph, until, seed, &mut flows)?;
    }
    if flows.is_empty() {
        return Err(whole.error("is empty; write one [[flow]] table for each flow"));
    }
    Ok(flows)
}

fn read_flow(mut table: Table, graph: &Graph, until: Option<Time>, seed: u64, flows: &mut Vec<FlowSpec>) -> Result<()> {
    let count = table.take("count").map_or(Ok(1), |i| i.whole(Kind::Integer(1, 1_000_000)))?;
    let client = table.take("client");
    let server = table.take("server");
    let start = table.take("start").map_or(Ok(Duration::ZERO), |i| duration(&i, Duration::ZERO, LONGEST))?;
    let spread = table.take("start_spread").map_or(Ok(Duration::ZERO), |i| duration(&i, Duration::ZERO, LONGEST))?;
    let app = table.require("app", "an application, as in { kind = \"upload\", size = \"10 MB\" }")?;
    let whole = app.clone();
    let (entry, parameters) = app.entry("application", APPLICATIONS)?;
    let application = (entry, parameters.parameters(entry.parameters)?);
    if until.is_none() && (entry.build)(&application.1).source().is_endless() {
        return Err(whole.error("has neither a size nor a duration, so the scenario needs an end: until = \"60 s\""));
    }
    let transport = match table.take("transport") {
        Some(item) => read_transport(item)?,
        None => read_transport(Item::root(Value::Text("tcp".into()).into()))?,
    };
    let transport = Arc::new(transport);
    for _ in 0..count {
        let number = flows.len();
        let (client, server) = ends(graph, number, client.as_ref(), server.as_ref(), &table)?;
        let mut start = Time::ZERO + start;
        if spread > Duration::ZERO {
            start += Duration::from_nanos(Stream::new(seed, &format!("start/flow {number}")).below(spread.as_nanos()));
        }
        let transport = transport.clone();
        flows.push(FlowSpec { client, server, start, application: application.clone(), transport });
    }
    table.finish()
}

/// The two ends of flow `number`: as named, else its pair's.
fn ends(
    graph: &Graph,
    number: usize,
    client: Option<&Item>,
    server: Option<&Item>,
    table: &Table,
) -> Result<(String, String)> {
    let pair = (!graph.pairs.is_empty()).then(|| graph.pairs[number % graph.pairs.len()].clone());
    let text = |item: &Item| item.text().map(str::to_owned);
    let (c, s) = match (client, server, pair) {
        (Some(c), Some(s), _) => (text(c)?, text(s)?),
        (Some(c), None, _) => {
            let name = text(c)?;
            let partner = graph.pairs.iter().find_map(|(a, b)| match &name {
                n if n == a => Some(b.clone()),
                n if n == b => Some(a.clone()),
                _ => None,
            });
            let partner = match partner {
                Some(partner) => partner,
                // An unknown client is the better complaint.
                None => {
                    graph.address(&name).map_err(|e| c.error(e.to_string()))?;
                    return Err(c.error(format!("{name:?} has no partner in this topology; name the server too")));
                }
            };
            (name, partner)
        }
        (None, Some(s), Some((client, _))) => (client, text(s)?),
        (None, None, Some(pair)) => pair,
        (None, _, None) => return Err(table.error("needs client and server: this network has no pairs of hosts")),
    };
    for (from, to, item) in [(&c, &s, client), (&s, &c, server)] {
        if let Err(problem) = graph.address(from).and_then(|_| graph.route(from, to)) {
            return Err(item.map_or_else(|| table.error(problem.to_string()), |i| i.error(problem.to_string())));
        }
    }
    Ok((c, s))
}

fn read_transport(item: Item) -> Result<TcpSpec> {
    let (_, mut table) = item.entry("transport", TRANSPORTS)?;
    let control = match table.take("cc") {
        Some(item) => item,
        None => Item::root(Value::Text("cubic".into()).into()),
    };
    let (entry, parameters) = control.entry("congestion control", CONGESTION_CONTROLS)?;
    let control = (entry.name, parameters.parameters(entry.parameters)?);
    let start = match table.take("slow_start") {
        Some(item) => item,
        None => Item::root(Value::Text("standard".into()).into()),
    };
    let (entry, parameters) = start.entry("slow start", SLOW_STARTS)?;
    let slow_start = (entry.name, parameters.parameters(entry.parameters)?);
    Ok(TcpSpec { tcp: table.parameters(tcp::PARAMETERS)?, control, slow_start })
}

fn parameters_json(kind: &str, parameters: &Parameters, skip: &[&str]) -> Map<String, Json> {
    let mut map = Map::new();
    map.insert("kind".into(), kind.into());
    for (name, value) in parameters.iter().filter(|(name, _)| !skip.contains(name)) {
        map.insert(name.into(), value_json(value));
    }
    map
}

pub(crate) fn value_json(value: &vazao_engine::registry::Value) -> Json {
    use vazao_engine::registry::Value;
    match value {
        Value::Number(x) => json!(x),
        Value::Flag(x) => json!(x),
        Value::Integers(x) => json!(x),
        other => json!(other.to_string()),
    }
}

fn flow_json(flow: &FlowSpec) -> Json {
    let TcpSpec { tcp, control, slow_start } = &*flow.transport;
    let mut transport = parameters_json("tcp", tcp, &["cc", "slow_start"]);
    transport.insert("cc".into(), parameters_json(control.0, &control.1, &[]).into());
    transport.insert("slow_start".into(), parameters_json(slow_start.0, &slow_start.1, &[]).into());
    json!({
        "app": parameters_json(flow.application.0.name, &flow.application.1, &[]),
        "client": flow.client,
        "server": flow.server,
        "start": flow.start.to_string(),
        "transport": transport,
    })
}
