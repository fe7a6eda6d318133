//! The `flow` tables: applications, hosts and transports.

use super::transport::{parameters_json, read_transport};
use crate::document::Result;
use crate::document::reader::{Item, LONGEST, Table};
use crate::model::application::{Described, sides, visit};
use crate::model::extensions::Extensions;
use crate::model::flow::guests;
use crate::model::memory::{self, Budget};
use crate::model::plugin::ScriptSpec;
use crate::model::routes::Routes;
use crate::model::scenario::{FlowSpec, TransportSpec};
use crate::model::stack::Stack;
use crate::packs::DEFAULT;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use vazao_application::{
    ADAPTATIONS, APPLICATIONS, Application, Arrival, Arrivals, Build, PING, RandomStreams, SCRIPTED, Sides,
};
use vazao_engine::registry::{Kind, Parameters, Value, find};
use vazao_engine::{Bytes, Duration, Time};
use vazao_network::{Graph, Routing};

/// Rest of the scenario, as far as reading a flow needs it.
pub(crate) struct Context<'a> {
    pub graph: &'a Graph,
    pub routing: Routing<'a>,
    pub until: Option<Time>,
    pub seed: u64,
    pub extensions: &'a Extensions,
    pub budget: &'a Budget,
}

pub(crate) fn read_flows<'a>(item: Item, context: &'a Context<'a>) -> Result<Flows<'a>> {
    let mut flows = Flows { context, all: Vec::new(), described: 0, drawn: false };
    let whole = item.clone();
    for (group, item) in item.into_list().into_iter().enumerate() {
        flows.read(group, item.into_table()?)?;
    }
    let guests = guests(&context.routing, &flows.all) as u64;
    context.budget.take(guests, "hosts that are guests", memory::GUEST).map_err(|problem| whole.error(problem))?;
    if flows.all.is_empty() {
        return Err(whole.error("is empty; write one [[flow]] table for each flow, and let one arrive before the end"));
    }
    Ok(flows)
}

/// Flows read so far.
pub(crate) struct Flows<'a> {
    context: &'a Context<'a>,
    pub all: Vec<FlowSpec>,
    /// Whether the seed decided which flows there are, or when they start.
    pub drawn: bool,
    /// Number of described flows, each process of arrivals counted as one; it selects pairs and random streams.
    described: usize,
}

impl Flows<'_> {
    /// Reads the flows of one table.
    fn read(&mut self, group: usize, mut table: Table) -> Result<()> {
        let context = self.context;
        let number = table.take("count");
        let count = number.as_ref().map_or(Ok(1), |i| i.whole(Kind::Integer(1, 1_000_000)))?;
        let named = [table.take("client"), table.take("server")];
        let start = table.duration("start", Duration::ZERO, LONGEST)?.unwrap_or_default();
        let spread = table.duration("start_spread", Duration::ZERO, LONGEST)?.unwrap_or_default();
        let app = table.require("app", "an application, as in { kind = \"upload\", size = \"10 MB\" }")?;
        let transport = table.take("transport");
        let (mut application, arrivals, script) = read_application(&app, context)?;
        let described = transport.unwrap_or_else(|| usual_transport(&application));
        let first = RandomStreams { seed: context.seed, flow: self.described };
        let transport = described.clone();
        let transport = read_transport(transport, sides(&application, first).client_sends, context.extensions)?;
        settle_http(&app, &mut application, &transport)?;
        settle_echoes(&described, &application, &transport)?;
        let transport = Arc::new(transport);
        let problem = unfit(&sides(&application, first), &application.1, &transport)
            .map(str::to_owned)
            .or_else(|| unending(context, &application, &transport));
        if let Some(problem) = problem {
            return Err(app.error(problem));
        }
        let each = memory::of_flow(&transport);
        let take = |flows: u64| {
            let item = number.as_ref().unwrap_or(&app);
            context.budget.take(flows, &format!("flows over {}", transport.entry.name), each).map_err(|e| item.error(e))
        };
        if arrivals.is_none() {
            let connections = visit(&application, first).map_or(1, |visit| visit.most_connections()) as u64;
            take(count.saturating_mul(connections))?;
            self.all.reserve_exact((count * connections) as usize);
        }
        self.drawn |= arrivals.is_some() || spread > Duration::ZERO;
        for _ in 0..count {
            let streams = RandomStreams { seed: context.seed, flow: self.described };
            self.described += 1;
            let (client, server) = ends(context, streams.flow, &named, &table)?;
            let routes = routes(context, [&client, &server], &named, &table)?;
            let start = Time::ZERO + start + drawn(spread, streams);
            let (application, transport, script) = (application.clone(), transport.clone(), script.clone());
            let flow =
                FlowSpec { group, client, server, start, application, script, streams, transport, routes, part: 0 };
            if let Some(problem) = (flow.transport.pack().misnamed)(&context.routing, &flow) {
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

/// Draws a delay below `spread` by which a flow starts later.
fn drawn(spread: Duration, streams: RandomStreams) -> Duration {
    match spread.as_nanos() {
        0 => Duration::ZERO,
        most => Duration::from_nanos(streams.of("start").below(most)),
    }
}

/// What is said of an application that the transport's datagrams cannot carry.
const NEEDS_STREAM: &str = "needs a reliable stream; take a transport that has one (quic has, without unreliable), or write upload, download, cbr, \
                            on-off, messages or packets";

/// Sets the version of HTTP of a page, or checks that the transport can carry it.
fn settle_http(app: &Item, (entry, parameters): &mut Described, transport: &TransportSpec) -> Result<()> {
    if !entry.parameters.iter().any(|parameter| parameter.name == "http") {
        return Ok(());
    }
    let name = transport.entry.name;
    let possible = transport.service().http;
    let Some(usual) = possible.first() else { return Err(app.error(NEEDS_STREAM)) };
    match parameters.get("http") {
        None => parameters.set("http", Value::Text((*usual).into())),
        Some(Value::Text(given)) if possible.contains(&given.as_str()) => {}
        Some(given) => {
            let possible: Vec<_> = possible.iter().map(|version| format!("http = {version:?}")).collect();
            return Err(app.error(format!("has http {given}, but over {name} write {}", possible.join(" or "))));
        }
    }
    Ok(())
}

/// Returns the transport of an application that is given none.
fn usual_transport((entry, _): &Described) -> Item {
    Item::named(if entry.name == PING { "icmp" } else { DEFAULT.name })
}

/// Checks that ping goes over what answers it, and nothing else does.
fn settle_echoes(described: &Item, (entry, _): &Described, transport: &TransportSpec) -> Result<()> {
    match (entry.name == PING, transport.service().echoes) {
        (true, false) => Err(described.error("ping goes over icmp; leave it out")),
        (false, true) => Err(described.error("carries ping alone; write app = \"ping\"")),
        _ => Ok(()),
    }
}

/// Reads an application; of arrivals, the application of each flow and the process; of the user's own, its script.
fn read_application(app: &Item, context: &Context<'_>) -> Result<(Described, Option<Arrivals>, Option<ScriptSpec>)> {
    let keys: Vec<_> = SCRIPTED.parameters.iter().map(|parameter| parameter.name).collect();
    let (script, (entry, mut table)) = match ScriptSpec::own_beside(app, &context.extensions.scripts, &keys)? {
        Some((script, table)) => (Some(script), (&SCRIPTED, table)),
        None => (None, app.clone().entry("application", APPLICATIONS)?),
    };
    let adaptive = entry.parameters.iter().find(|parameter| parameter.name == "adaptation");
    let adaptation = adaptive.map(|parameter| read_adaptation(&mut table, parameter.default)).transpose()?;
    let mut parameters = table.parameters(entry.parameters)?;
    if let Some(adaptation) = adaptation {
        parameters.set("adaptation", adaptation);
    }
    let has_size = entry.parameters.iter().any(|parameter| parameter.name == "size");
    if has_size && parameters.get("request").is_some() && parameters.get("size").is_none() {
        return Err(app.error("has a request but no size; what is asked for has one, as in size = \"1 MB\""));
    }
    let any = RandomStreams { seed: 0, flow: 0 };
    let (arrivals, is_endless) = match entry.build {
        Build::Sides(build) => (None, build(&parameters, any).is_endless()),
        Build::Visit(build) => (None, build(&parameters, any).is_endless()),
        Build::Arrivals(build) => {
            let process = build(&parameters);
            let is_endless = process.count.is_none() && process.duration.is_none();
            (Some(process), is_endless)
        }
    };
    if context.until.is_none() && is_endless {
        // What has a value anyway, as the size of a ping, limits nothing.
        let open = entry.parameters.iter().filter(|parameter| parameter.default.is_empty()).map(|p| p.name);
        let limits = open.filter(|name| ["size", "count", "duration"].contains(name));
        let limits: Vec<_> = limits.map(|name| format!("a {name}")).collect();
        let problem =
            format!("would never end; give it {}, or the scenario an end: until = \"60 s\"", limits.join(" or "));
        return Err(app.error(problem));
    }
    let application = arrivals.as_ref().map_or((entry, parameters), |process| transfer(process.download, 1));
    Ok((application, arrivals, script))
}

/// Reads the rate adaptation of a video.
fn read_adaptation(table: &mut Table, default: &str) -> Result<Value> {
    let item = table.take("adaptation").unwrap_or_else(|| Item::named(default));
    let (entry, table) = item.entry("adaptation", ADAPTATIONS)?;
    Ok(Value::Entry(entry.name.into(), table.parameters(entry.parameters)?))
}

/// Describes an upload or a download of `size` bytes.
fn transfer(download: bool, size: u64) -> Described {
    let name = if download { "download" } else { "upload" };
    let entry = find("application", APPLICATIONS, name).expect("an application of the registry");
    let mut parameters = Parameters::defaults(entry.parameters);
    parameters.set("size", Value::Size(Bytes::new(size)));
    (entry, parameters)
}

/// Returns the flows of a process that begins at the start of `flow`.
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

/// Returns the reason why an application cannot run over a transport.
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
    let service = transport.service();
    if !sides.is_paced() && parameters.get("message").is_some() && !service.has_messages {
        return Some("has a message, which has an effect over sctp only; leave message out");
    }
    if service.is_datagrams {
        return unfit_for_datagrams(sides, parameters, transport);
    }
    let pipelined = parameters.get("pipeline").is_some() && parameters.integer("pipeline") > 1;
    let is_visit = matches!(sides.client, Application::Visit(_));
    let varies = source.is_none_or(|source| source.is_paced() && source.pace().is_none());
    let unplayable = varies && (transport.sender == Stack::Linux || source.is_none() && transport.has_guest());
    first_broken(&[
        (service.is_unreliable && source.is_none(), NEEDS_STREAM),
        (
            service.keeps_requests_apart && pipelined && service.mixes,
            "has several requests under way, whose order the transport would not keep; write pipeline = 1",
        ),
        (service.mixes && is_visit, "has its own use for streams; leave the transport's streams, and unordered, out"),
        (
            unplayable,
            "is not what a guest can play; with stack = \"linux\" write upload, download, cbr, messages or command",
        ),
    ])
}

/// Returns the message of the first rule that is broken.
fn first_broken(rules: &[(bool, &'static str)]) -> Option<&'static str> {
    rules.iter().find(|(is_broken, _)| *is_broken).map(|(_, problem)| *problem)
}

/// Returns the reason why a flow might never end: its client waits for an answer to abandoned data.
fn unending(context: &Context<'_>, (entry, parameters): &Described, transport: &TransportSpec) -> Option<String> {
    let gives_up = transport.service().gives_up?;
    let asks = match entry.build {
        Build::Visit(_) => true,
        _ => parameters.get("request").is_some(),
    };
    (asks && context.until.is_none()).then(|| {
        format!("may wait for ever for an answer to what {gives_up}; give the scenario an end: until = \"60 s\"")
    })
}

/// Returns the reason why an application cannot run over UDP.
fn unfit_for_datagrams(sides: &Sides, parameters: &Parameters, transport: &TransportSpec) -> Option<&'static str> {
    let paced = sides.is_paced();
    first_broken(&[
        (
            sides.source().is_none(),
            "needs a reliable stream; over udp there are upload, cbr, on-off, messages, packets and arrivals",
        ),
        (
            !sides.client_sends,
            "is not possible over udp, whose server does not hear of its client: name the hosts the other way round",
        ),
        (
            parameters.get("read_rate").is_some(),
            "has a read_rate, but over udp nothing makes a sender wait for its reader",
        ),
        (
            paced && transport.has_guest(),
            "is not possible over udp with stack = \"linux\"; write an upload, whose rate is the transport's",
        ),
        (paced && transport.parameters.get("rate").is_some(), "has a pace of its own; leave the transport's rate out"),
    ])
}

/// Returns client and server of flow `number`: as named, else those of its pair.
fn ends(context: &Context<'_>, number: usize, named: &[Option<Item>; 2], table: &Table) -> Result<(String, String)> {
    let pairs = &context.graph.pairs;
    let pair = (!pairs.is_empty()).then(|| pairs[number % pairs.len()].clone());
    let text = |item: &Item| item.text().map(str::to_owned);
    match (named, pair) {
        ([Some(client), Some(server)], _) => Ok((text(client)?, text(server)?)),
        ([Some(client), None], _) => Ok((text(client)?, partner(context, client)?)),
        ([None, Some(server)], Some((client, _))) => Ok((client, text(server)?)),
        ([None, None], Some(pair)) => Ok(pair),
        ([None, _], None) => Err(table.error("needs client and server: this network has no pairs of hosts")),
    }
}

/// Returns the other host of a client's pair.
fn partner(context: &Context<'_>, client: &Item) -> Result<String> {
    let name = client.text()?;
    for (a, b) in &context.graph.pairs {
        if name == a || name == b {
            return Ok(if name == a { b.clone() } else { a.clone() });
        }
    }
    // An unknown client is the better complaint.
    context.routing.address(name).map_err(|e| client.error(e.to_string()))?;
    Err(client.error(format!("{name:?} has no partner in this topology; name the server too")))
}

/// Finds the routes between two ends. An error belongs to the key that named the end.
fn routes(
    context: &Context<'_>,
    [client, server]: [&str; 2],
    named: &[Option<Item>; 2],
    table: &Table,
) -> Result<Routes> {
    let error = |side: usize, problem: String| match &named[side] {
        Some(item) => item.error(problem),
        None => table.error(problem),
    };
    for (side, end) in [client, server].into_iter().enumerate() {
        context.routing.address(end).map_err(|problem| error(side, problem.to_string()))?;
    }
    let route = |side, from, to| context.routing.route(from, to).map_err(|problem| error(side, problem.to_string()));
    Ok(Routes { out: route(0, client, server)?, back: route(1, server, client)? })
}

/// Describes an application in canonical form.
fn app_json(flow: &FlowSpec) -> Json {
    let mut app = parameters_json(flow.app(), &flow.application.1, &[]);
    if let Some(Json::Object(own)) = flow.script.as_ref().map(ScriptSpec::json) {
        app.extend(own);
    }
    app.into()
}

/// Describes a flow in canonical form, its transport by number.
pub(crate) fn flow_json(flow: &FlowSpec, transport: usize) -> Json {
    json!({
        "app": app_json(flow),
        "client": flow.client,
        "streams": flow.streams.flow,
        "server": flow.server,
        "start": flow.start.to_string(),
        "transport": transport,
    })
}
