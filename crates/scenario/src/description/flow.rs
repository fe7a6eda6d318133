//! The `flow` tables: who sends what to whom, over which transport.

use super::transport::{parameters_json, read_transport};
use crate::document::ScenarioError;
use crate::document::reader::{Item, LONGEST, Table, duration};
use crate::model::flow::{Described, FlowSpec, Routes, guests, sides, visit};
use crate::model::memory::{self, Budget};
use crate::model::stack::Stack;
use crate::model::transport::{Extensions, Service, TransportSpec};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use vazao_application::{ADAPTATIONS, APPLICATIONS, Application, Arrival, Arrivals, Build, Sides, Streams};
use vazao_engine::registry::{Kind, Parameters, Value, find};
use vazao_engine::{Bytes, Duration, Time};
use vazao_network::{Graph, Routing};

type Result<T> = std::result::Result<T, ScenarioError>;

/// What reading a flow needs to know of the rest of the scenario.
pub(crate) struct Context<'a> {
    pub graph: &'a Graph,
    pub routing: Routing<'a>,
    pub until: Option<Time>,
    pub seed: u64,
    pub extensions: &'a Extensions,
    pub budget: &'a Budget,
}

pub(crate) fn read_flows(item: Item, context: &Context<'_>) -> Result<Vec<FlowSpec>> {
    let mut flows = Flows { context, all: Vec::new(), described: 0 };
    let whole = item.clone();
    for (group, item) in item.into_list().into_iter().enumerate() {
        flows.read(group, item.into_table()?)?;
    }
    let guests = guests(&context.routing, &flows.all) as u64;
    context.budget.take(guests, "hosts that are guests", memory::GUEST).map_err(|problem| whole.error(problem))?;
    if flows.all.is_empty() {
        return Err(whole.error("is empty; write one [[flow]] table for each flow, and let one arrive before the end"));
    }
    Ok(flows.all)
}

/// The flows read so far.
struct Flows<'a> {
    context: &'a Context<'a>,
    all: Vec<FlowSpec>,
    /// How many were described, those that arrive counted as one: pairs and random streams go by this number.
    described: usize,
}

impl Flows<'_> {
    /// Reads the flows of one table.
    fn read(&mut self, group: usize, mut table: Table) -> Result<()> {
        let context = self.context;
        let number = table.take("count");
        let count = number.as_ref().map_or(Ok(1), |i| i.whole(Kind::Integer(1, 1_000_000)))?;
        let named = [table.take("client"), table.take("server")];
        let start = table.take("start").map_or(Ok(Duration::ZERO), |i| duration(&i, Duration::ZERO, LONGEST))?;
        let spread =
            table.take("start_spread").map_or(Ok(Duration::ZERO), |i| duration(&i, Duration::ZERO, LONGEST))?;
        let app = table.require("app", "an application, as in { kind = \"upload\", size = \"10 MB\" }")?;
        let transport = table.take("transport").unwrap_or_else(|| Item::named("tcp"));
        let (mut application, arrivals) = read_application(&app, context)?;
        let first = Streams { seed: context.seed, flow: self.described };
        let described = transport.clone();
        let transport = read_transport(transport, sides(&application, first).client_sends, context.extensions)?;
        settle_http(&app, &mut application, &transport)?;
        let transport = Arc::new(transport);
        let problem = unfit(&sides(&application, first), &application.1, &transport)
            .map(str::to_owned)
            .or_else(|| unending(context, &application, &transport));
        if let Some(problem) = problem {
            return Err(app.error(problem));
        }
        let each = memory::of_flow(&transport);
        let take = |flows: u64| {
            let told = number.as_ref().unwrap_or(&app);
            context.budget.take(flows, &format!("flows over {}", transport.entry.name), each).map_err(|e| told.error(e))
        };
        if arrivals.is_none() {
            let connections = visit(&application, first).map_or(1, |visit| visit.most_connections()) as u64;
            take(count.saturating_mul(connections))?;
        }
        for _ in 0..count {
            let streams = Streams { seed: context.seed, flow: self.described };
            self.described += 1;
            let (client, server) = ends(context, streams.flow, named[0].as_ref(), named[1].as_ref(), &table)?;
            let routes = routes(context, [&client, &server], [named[0].as_ref(), named[1].as_ref()], &table)?;
            let mut start = Time::ZERO + start;
            if spread > Duration::ZERO {
                start += Duration::from_nanos(streams.of("start").below(spread.as_nanos()));
            }
            let application = application.clone();
            let transport = transport.clone();
            let flow = FlowSpec { group, client, server, start, application, streams, transport, routes, part: 0 };
            if let Some(problem) = flow.transport.pack().misnamed(&context.routing, &flow) {
                return Err(described.error(problem));
            }
            let connections = flow.visit().map_or(1, |visit| visit.most_connections());
            match &arrivals {
                None => self.all.extend((0..connections as u32).map(|part| FlowSpec { part, ..flow.clone() })),
                Some(process) => {
                    let arriving = expand(process, flow, context, &app)?;
                    take(arriving.len() as u64)?;
                    self.all.extend(arriving);
                }
            }
        }
        table.finish()
    }
}

/// The version of HTTP that a page has: the transport's, or one of those that it can carry.
fn settle_http(app: &Item, (entry, parameters): &mut Described, transport: &TransportSpec) -> Result<()> {
    if !entry.parameters.iter().any(|parameter| parameter.name == "http") {
        return Ok(());
    }
    let name = transport.entry.name;
    let possible = service(transport).http;
    match parameters.get("http") {
        None => parameters.set("http", Value::Text(possible[0].into())),
        Some(Value::Text(given)) if possible.contains(&given.as_str()) => {}
        Some(given) => {
            let possible: Vec<_> = possible.iter().map(|version| format!("http = {version:?}")).collect();
            return Err(app.error(format!("has http {given}, but over {name} write {}", possible.join(" or "))));
        }
    }
    Ok(())
}

/// Reads an application: its own, or that of the flows that arrive.
fn read_application(app: &Item, context: &Context<'_>) -> Result<(Described, Option<Arrivals>)> {
    let (entry, mut table) = app.clone().entry("application", APPLICATIONS)?;
    let adaptation = if entry.name == "video" { Some(read_adaptation(&mut table)?) } else { None };
    let mut parameters = table.parameters(entry.parameters)?;
    if let Some(adaptation) = adaptation {
        parameters.set("adaptation", adaptation);
    }
    if entry.name == "download" && parameters.size("request").is_some() && parameters.size("size").is_none() {
        return Err(app.error("has a request but no size; what is asked for has one, as in size = \"1 MB\""));
    }
    let (application, arrivals, is_endless) = match entry.build {
        Build::Sides(build) => {
            let is_endless = build(&parameters, Streams { seed: 0, flow: 0 }).is_endless();
            ((entry, parameters), None, is_endless)
        }
        Build::Visit(build) => {
            let is_endless = build(&parameters, Streams { seed: 0, flow: 0 }).is_endless();
            ((entry, parameters), None, is_endless)
        }
        Build::Arrivals(build) => {
            let process = build(&parameters);
            let is_endless = process.count.is_none() && process.duration.is_none();
            (transfer(process.download, 1), Some(process), is_endless)
        }
    };
    if context.until.is_none() && is_endless {
        let limits =
            entry.parameters.iter().map(|p| p.name).filter(|name| ["size", "count", "duration"].contains(name));
        let limits: Vec<_> = limits.map(|name| format!("a {name}")).collect();
        let problem =
            format!("would never end; give it {}, or the scenario an end: until = \"60 s\"", limits.join(" or "));
        return Err(app.error(problem));
    }
    Ok((application, arrivals))
}

/// Reads what chooses a video's rates.
fn read_adaptation(table: &mut Table) -> Result<Value> {
    let item = table.take("adaptation").unwrap_or_else(|| Item::named("bba-0"));
    let (entry, table) = item.entry("adaptation", ADAPTATIONS)?;
    Ok(Value::Entry(entry.name.into(), table.parameters(entry.parameters)?))
}

/// An upload or a download of so many bytes.
fn transfer(download: bool, size: u64) -> Described {
    let name = if download { "download" } else { "upload" };
    let entry = find("application", APPLICATIONS, name).expect("an application of the registry");
    let mut parameters = Parameters::defaults(entry.parameters);
    parameters.set("size", Value::Size(Bytes::new(size)));
    (entry, parameters)
}

/// The flows of a process that begins when `flow` would.
fn expand(process: &Arrivals, flow: FlowSpec, context: &Context<'_>, app: &Item) -> Result<Vec<FlowSpec>> {
    let horizon = context.until.map_or(Duration::MAX, |until| until.since(flow.start));
    let Some(plan) = process.plan(flow.streams, horizon) else {
        return Err(app.error(format!("has more than {} flows; give it a count", Arrivals::MOST)));
    };
    let arrive = |arrival: Arrival| FlowSpec {
        start: flow.start.saturating_add(arrival.after),
        application: transfer(process.download, arrival.size),
        ..flow.clone()
    };
    Ok(plan.into_iter().map(arrive).collect())
}

/// What a transport does for its application.
fn service(transport: &TransportSpec) -> Service {
    transport.pack().service(&transport.parameters)
}

/// Why an application cannot run over a transport.
fn unfit(sides: &Sides, parameters: &Parameters, transport: &TransportSpec) -> Option<&'static str> {
    let source = sides.source();
    if sides.is_program() {
        let odd = |c: char| c.is_control() && c != '\n' && c != '\t';
        if ["client", "server"].iter().any(|side| parameters.text(side).contains(odd)) {
            return Some("has a program with control characters other than line ends and tabs; write it without");
        }
        return (transport.stacks != [Stack::Linux; 2])
            .then_some("runs programs of the host, for which both sides need transport.stack = \"linux\"");
    }
    let service = service(transport);
    if service.is_datagrams {
        return unfit_for_datagrams(sides, parameters, transport);
    }
    if service.is_unreliable && source.is_none() {
        return Some(
            "needs a reliable stream; leave unreliable out, or write upload, download, cbr, on-off, messages or packets",
        );
    }
    let pipelined = parameters.get("pipeline").is_some() && parameters.integer("pipeline") > 1;
    if service.keeps_requests_apart && pipelined && service.mixes {
        return Some("has several requests under way, whose order the transport would not keep; write pipeline = 1");
    }
    if service.mixes && matches!(sides.client, Application::Visit(_)) {
        return Some("has its own use for streams; leave the transport's streams, and unordered, out");
    }
    let varies = source.is_none_or(|source| source.is_paced() && source.pace().is_none());
    if varies && (transport.sender == Stack::Linux || source.is_none() && transport.has_guest()) {
        return Some(
            "is not what a guest can play; with stack = \"linux\" write upload, download, cbr, messages or command",
        );
    }
    None
}

/// Why a flow might never end: its client waits for an answer to what an association has given up.
fn unending(context: &Context<'_>, (entry, parameters): &Described, transport: &TransportSpec) -> Option<String> {
    let gives_up = service(transport).gives_up?;
    let asks = match entry.build {
        Build::Visit(_) => true,
        _ => entry.name == "requests" || parameters.get("request").is_some(),
    };
    (asks && context.until.is_none()).then(|| {
        format!("may wait for ever for an answer to what {gives_up}; give the scenario an end: until = \"60 s\"")
    })
}

/// Why an application cannot run over UDP.
fn unfit_for_datagrams(sides: &Sides, parameters: &Parameters, transport: &TransportSpec) -> Option<&'static str> {
    let paced = sides.is_paced();
    if sides.source().is_none() {
        return Some("needs a reliable stream; over udp there are upload, cbr, on-off, messages, packets and arrivals");
    }
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
        "streams": flow.streams.flow,
        "server": flow.server,
        "start": flow.start.to_string(),
        "transport": transport,
    })
}
