//! The `flow` tables: who sends what to whom, over which transport.

use crate::document::ScenarioError;
use crate::reader::{Item, LONGEST, Table, duration};
use crate::stack::Stack;
use crate::transport::{Extensions, Protocol, TransportSpec, parameters_json, read_transport};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use vazao_application::{APPLICATIONS, Constructor, Sides, Source};
use vazao_engine::registry::{Entry, Kind, Parameters};
use vazao_engine::{Duration, Stream, Time};
use vazao_network::{Graph, Routing, Step};

type Result<T> = std::result::Result<T, ScenarioError>;

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
    pub transport: Arc<TransportSpec>,
    /// The way of its packets.
    pub routes: Routes,
}

/// The routes of a flow, there and back.
#[derive(Clone, Debug)]
pub struct Routes {
    /// From client to server.
    pub out: Vec<Step>,
    /// From server to client.
    pub back: Vec<Step>,
}

impl Routes {
    /// Round-trip propagation delay.
    pub fn base_rtt(&self, graph: &Graph) -> Duration {
        graph.delay(&self.out) + graph.delay(&self.back)
    }

    /// Bandwidth-delay product in bytes: the lowest rate on the way of the data times the base round-trip time.
    pub fn bdp(&self, graph: &Graph, client_sends: bool) -> u64 {
        let data = if client_sends { &self.out } else { &self.back };
        let rate = data.iter().map(|&s| graph.direction(s).rate).min().expect("a route has links");
        rate.bytes_in(self.base_rtt(graph)).get()
    }
}

/// What reading a flow needs to know of the rest of the scenario.
pub(crate) struct Context<'a> {
    pub graph: &'a Graph,
    pub routing: Routing<'a>,
    pub until: Option<Time>,
    pub seed: u64,
    pub extensions: &'a Extensions,
}

pub(crate) fn read_flows(item: Item, context: &Context<'_>) -> Result<Vec<FlowSpec>> {
    let mut flows = Vec::new();
    let whole = item.clone();
    for item in item.into_list() {
        read_flow(item.into_table()?, context, &mut flows)?;
    }
    if flows.is_empty() {
        return Err(whole.error("is empty; write one [[flow]] table for each flow"));
    }
    Ok(flows)
}

fn read_flow(mut table: Table, context: &Context<'_>, flows: &mut Vec<FlowSpec>) -> Result<()> {
    let count = table.take("count").map_or(Ok(1), |i| i.whole(Kind::Integer(1, 1_000_000)))?;
    let named = (table.take("client"), table.take("server"));
    let start = table.take("start").map_or(Ok(Duration::ZERO), |i| duration(&i, Duration::ZERO, LONGEST))?;
    let spread = table.take("start_spread").map_or(Ok(Duration::ZERO), |i| duration(&i, Duration::ZERO, LONGEST))?;
    let app = table.require("app", "an application, as in { kind = \"upload\", size = \"10 MB\" }")?;
    let whole = app.clone();
    let (entry, parameters) = app.entry("application", APPLICATIONS)?;
    let application = (entry, parameters.parameters(entry.parameters)?);
    let sides = (entry.build)(&application.1);
    if context.until.is_none() && sides.source().is_some_and(Source::is_endless) {
        return Err(whole.error("has neither a size nor a duration, so the scenario needs an end: until = \"60 s\""));
    }
    let transport = table.take("transport").unwrap_or_else(|| Item::named("tcp"));
    let transport = Arc::new(read_transport(transport, sides.client_sends, context.extensions)?);
    if sides.source().is_none() && transport.stacks != [Stack::Linux; 2] {
        return Err(whole.error("runs programs of the host, for which both sides need transport.stack = \"linux\""));
    }
    if transport.entry.build == Protocol::Udp
        && let Some(problem) = unfit_for_datagrams(&sides, &application.1, &transport)
    {
        return Err(whole.error(problem));
    }
    for _ in 0..count {
        let number = flows.len();
        let (client, server) = ends(context, number, named.0.as_ref(), named.1.as_ref(), &table)?;
        let routes = routes(context, [&client, &server], [named.0.as_ref(), named.1.as_ref()], &table)?;
        let mut start = Time::ZERO + start;
        if spread > Duration::ZERO {
            let mut stream = Stream::new(context.seed, &format!("start/flow {number}"));
            start += Duration::from_nanos(stream.below(spread.as_nanos()));
        }
        let transport = transport.clone();
        flows.push(FlowSpec { client, server, start, application: application.clone(), transport, routes });
    }
    table.finish()
}

/// Why an application cannot run over UDP.
fn unfit_for_datagrams(sides: &Sides, parameters: &Parameters, transport: &TransportSpec) -> Option<&'static str> {
    let paced = sides.source().is_some_and(|source| source.pace().is_some());
    if !sides.client_sends {
        return Some(
            "is not possible over udp, whose server does not hear of its client: name the hosts the other way round",
        );
    }
    if parameters.get("read_rate").is_some() {
        return Some("has a read_rate, but over udp nothing makes a sender wait for its reader");
    }
    if paced && transport.has_guest() {
        return Some("is not possible over udp with stack = \"linux\"; write an upload, whose rate is the transport's");
    }
    if paced && transport.parameters.get("rate").is_some() {
        return Some("has a pace of its own; leave the transport's rate out");
    }
    None
}

/// The two ends of flow `number`: as named, else its pair's.
fn ends(
    context: &Context<'_>,
    number: usize,
    client: Option<&Item>,
    server: Option<&Item>,
    table: &Table,
) -> Result<(String, String)> {
    let graph = context.graph;
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
                    context.routing.address(&name).map_err(|e| c.error(e.to_string()))?;
                    return Err(c.error(format!("{name:?} has no partner in this topology; name the server too")));
                }
            };
            (name, partner)
        }
        (None, Some(s), Some((client, _))) => (client, text(s)?),
        (None, None, Some(pair)) => pair,
        (None, _, None) => return Err(table.error("needs client and server: this network has no pairs of hosts")),
    };
    Ok((c, s))
}

/// The routes between two ends; what is wrong with one is said of the key that named it.
fn routes(
    context: &Context<'_>,
    [client, server]: [&str; 2],
    named: [Option<&Item>; 2],
    table: &Table,
) -> Result<Routes> {
    let route = |from: &str, to: &str, item: Option<&Item>| {
        context.routing.route(from, to).map_err(|problem| {
            item.map_or_else(|| table.error(problem.to_string()), |item| item.error(problem.to_string()))
        })
    };
    for (end, item) in [(client, named[0]), (server, named[1])] {
        if let Err(problem) = context.routing.address(end) {
            return Err(item.map_or_else(|| table.error(problem.to_string()), |item| item.error(problem.to_string())));
        }
    }
    Ok(Routes { out: route(client, server, named[0])?, back: route(server, client, named[1])? })
}

/// A flow, its transport by number.
pub(crate) fn flow_json(flow: &FlowSpec, transport: usize) -> Json {
    json!({
        "app": parameters_json(flow.application.0.name, &flow.application.1, &[]),
        "client": flow.client,
        "server": flow.server,
        "start": flow.start.to_string(),
        "transport": transport,
    })
}
