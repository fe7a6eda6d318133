//! The `flow` tables: applications, hosts and transports.

use super::transport::{read_transport, transport_json};
use crate::document::Result;
use crate::document::reader::{Item, LATEST, LONGEST, Table, entry_json};
use crate::model::application::{Described, sides, visit};
use crate::model::extensions::Extensions;
use crate::model::flow::guests;
use crate::model::memory::{self, Budget};
use crate::model::plugin::ScriptSpec;
use crate::model::routes::Routes;
use crate::model::scenario::{FlowSpec, TransportSpec};
use crate::packs::DEFAULT;
use crate::stacks;
use serde_json::Value as Json;
use std::fmt::Write;
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
    let read = if item.is_resolved() { Flows::read_resolved } else { Flows::read };
    for (group, item) in item.into_list().into_iter().enumerate() {
        read(&mut flows, group, item.into_table()?)?;
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
        let Shared { app, described, application, arrivals, script, transport } = self.read_shared(&mut table)?;
        let first = RandomStreams { seed: context.seed, flow: self.described };
        let take = |flows: u64| take_memory(context, flows, &transport, number.as_ref().unwrap_or(&app));
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
            check_names(context, &flow, &described)?;
            match &arrivals {
                None => self.add(flow),
                Some(process) => {
                    let arriving = expand(process, flow, context, &app)?;
                    take(arriving.len() as u64)?;
                    self.all.extend(arriving);
                }
            }
        }
        table.finish()
    }

    /// Takes what all flows of a table have in common out of it.
    fn read_shared(&self, table: &mut Table) -> Result<Shared> {
        let context = self.context;
        let app = table.require("app", "an application, as in { kind = \"upload\", size = \"10 MB\" }")?;
        let transport = table.take("transport");
        let (mut application, arrivals, script) = read_application(&app, context)?;
        let described = transport.unwrap_or_else(|| usual_transport(&application));
        let first = RandomStreams { seed: context.seed, flow: self.described };
        let client_sends = sides(&application, first).client_sends;
        let transport = read_transport(described.clone(), client_sends, context.extensions)?;
        settle_http(&app, &mut application, &transport)?;
        settle_echoes(&described, &application, &transport)?;
        let transport = Arc::new(transport);
        let problem = unfit(&sides(&application, first), &application.1, &transport)
            .map(str::to_owned)
            .or_else(|| unending(context, &application, &transport));
        match problem {
            Some(problem) => Err(app.error(problem)),
            None => Ok(Shared { app, described, application, arrivals, script, transport }),
        }
    }

    /// Reads the flows of one table of the canonical form: under `each` what a flow has for itself, unless there is one alone.
    fn read_resolved(&mut self, group: usize, mut table: Table) -> Result<()> {
        let context = self.context;
        let group = table.whole("group", Kind::Integer(0, 1 << 53))?.map_or(group, |group| group as usize);
        if self.all.last().is_some_and(|flow| flow.group >= group) {
            return Err(table.error(format!("its group {group} is not after the one before")));
        }
        let each = table.take("each");
        let own = table.split(OWN);
        let shared = self.read_shared(&mut table)?;
        if shared.arrivals.is_some() {
            return Err(shared.app.error("is drawn by a seed, but here the flows that it drew are listed"));
        }
        let flows = match each {
            Some(each) => {
                own.finish_with("is each flow's own; write it under each")?;
                each.into_list().into_iter().map(Item::into_table).collect::<Result<_>>()?
            }
            None => vec![own],
        };
        table.finish()?;
        let first = RandomStreams { seed: context.seed, flow: self.described };
        let connections = visit(&shared.application, first).map_or(1, |visit| visit.most_connections());
        take_memory(context, (flows.len() * connections) as u64, &shared.transport, &shared.app)?;
        self.all.reserve_exact(flows.len() * connections);
        for table in flows {
            let flow = self.read_own(group, &shared, table)?;
            self.described = flow.streams.flow + 1;
            self.add(flow);
        }
        Ok(())
    }

    /// Reads what one flow of the canonical form has for itself.
    fn read_own(&self, group: usize, shared: &Shared, mut table: Table) -> Result<FlowSpec> {
        let context = self.context;
        let (from, to) = (table.require("client", "a host")?, table.require("server", "a host")?);
        let (client, server) = (from.text()?.to_owned(), to.text()?.to_owned());
        let routes = routes(context, [&client, &server], &[Some(from), Some(to)], &table)?;
        // Drawn, it may be later than a user may say.
        let start = Time::ZERO + table.duration("start", Duration::ZERO, LATEST)?.unwrap_or_default();
        let streams = table.whole("streams", Kind::Integer(0, 1 << 53))?;
        let streams = streams.map_or(self.described, |number| number as usize);
        let streams = RandomStreams { seed: context.seed, flow: streams };
        let mut application = shared.application.clone();
        if let Some(size) = table.take("size") {
            let known = application.0.parameters.iter().find(|parameter| parameter.name == "size");
            let known = known.ok_or_else(|| size.error(format!("{} has no size", application.0.name)))?;
            application.1.set("size", known.kind.read(&size.node.value.raw()).map_err(|problem| size.error(problem))?);
        }
        table.finish()?;
        let (script, transport) = (shared.script.clone(), shared.transport.clone());
        let flow = FlowSpec { group, client, server, start, application, script, streams, transport, routes, part: 0 };
        check_names(context, &flow, &shared.described)?;
        Ok(flow)
    }

    /// Adds a flow; of a visit, each of its connections.
    fn add(&mut self, flow: FlowSpec) {
        let connections = flow.visit().map_or(1, |visit| visit.most_connections());
        self.all.extend((0..connections as u32).map(|part| FlowSpec { part, ..flow.clone() }));
    }
}

/// Parts that all flows of a table share.
struct Shared {
    /// Application as written, for errors.
    app: Item,
    /// Transport as written, for errors.
    described: Item,
    application: Described,
    arrivals: Option<Arrivals>,
    script: Option<ScriptSpec>,
    transport: Arc<TransportSpec>,
}

/// Keys of the canonical form that a flow has for itself.
const OWN: &[&str] = &["client", "server", "start", "streams", "size"];

/// Takes the memory of flows over a transport.
fn take_memory(context: &Context<'_>, flows: u64, transport: &TransportSpec, item: &Item) -> Result<()> {
    let what = format!("flows over {}", transport.entry.name);
    context.budget.take(flows, &what, memory::of_flow(transport)).map_err(|problem| item.error(problem))
}

/// Checks the interfaces and relays that a flow's transport names.
fn check_names(context: &Context<'_>, flow: &FlowSpec, transport: &Item) -> Result<()> {
    match (flow.transport.pack().misnamed)(&context.routing, flow) {
        Some(problem) => Err(transport.error(problem)),
        None => Ok(()),
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
        return stacks::unfit(transport, sides);
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
    let broken = first_broken(&[
        (service.is_unreliable && source.is_none(), NEEDS_STREAM),
        (
            service.keeps_requests_apart && pipelined && service.mixes,
            "has several requests under way, whose order the transport would not keep; write pipeline = 1",
        ),
        (service.mixes && is_visit, "has its own use for streams; leave the transport's streams, and unordered, out"),
    ]);
    broken.or_else(|| stacks::unfit(transport, sides))
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
    let broken = first_broken(&[
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
    ]);
    let has_rates = sides.is_paced() && transport.parameters.get("rate").is_some();
    broken
        .or_else(|| stacks::unfit(transport, sides))
        .or_else(|| has_rates.then_some("has a pace of its own; leave the transport's rate out"))
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
    let mut app = entry_json(flow.app(), &flow.application.1);
    app.extend(flow.script.as_ref().map(ScriptSpec::json).unwrap_or_default());
    app.into()
}

/// Describes flows in canonical form as tables: what those of a group share is written once. The text is made flow by flow.
pub(crate) fn write_flows(flows: &[FlowSpec], text: &mut String) {
    let (mut separator, mut streams) = ('[', 0);
    for (number, group) in flows.chunk_by(|a, b| a.group == b.group).enumerate() {
        let first = &group[0];
        let _ = write!(text, "{separator}{{\"app\":{},", app_json(first));
        let _ = write!(text, "\"transport\":{},", transport_json(&first.transport));
        if first.group != number {
            let _ = write!(text, "\"group\":{},", first.group);
        }
        // Further connections of a visit follow from the first.
        let own = group.iter().filter(|flow| flow.part == 0);
        let is_alone = own.clone().nth(1).is_none();
        let mut between = if is_alone { "" } else { "\"each\":[{" };
        for flow in own {
            let _ = write!(text, "{between}{}", own_json(flow, first, streams));
            (streams, between) = (flow.streams.flow + 1, "},{");
        }
        text.push_str(if is_alone { "}" } else { "}]}" });
        separator = ',';
    }
    text.push(']');
}

/// Describes what a flow has for itself: keys and values without braces. Its random streams are those of number `streams`
/// unless it says so, its size that of the first flow of its group.
fn own_json(flow: &FlowSpec, first: &FlowSpec, streams: usize) -> String {
    let [client, server] = [&flow.client, &flow.server].map(|name| Json::from(name.as_str()));
    let mut own = format!("\"client\":{client},\"server\":{server},\"start\":\"{}\"", flow.start);
    if flow.streams.flow != streams {
        let _ = write!(own, ",\"streams\":{}", flow.streams.flow);
    }
    if let (Some(size), true) = (flow.application.1.get("size"), flow.application.1 != first.application.1) {
        let _ = write!(own, ",\"size\":\"{size}\"");
    }
    own
}
