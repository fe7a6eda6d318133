//! The `transport` table of a flow: which protocol, whose implementation, with what settings.

use crate::document::{ScenarioError, Value};
use crate::files::Files;
use crate::plugin::{Chosen, ControlFactory, ControlSpec, Plugins, SchedulerSpec};
use crate::quinn;
use crate::reader::{Item, Table, value_json};
use crate::stack::{self, GuestSpec, Kernels, Stack, guest_json, read_stacks};
use serde_json::{Map, Value as Json};
use vazao_congestion::{CONGESTION_CONTROLS, SLOW_STARTS};
use vazao_engine::Rate;
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters, unknown};
use vazao_transport::mptcp::{self, PATH_MANAGERS, SCHEDULERS, SchedulerFactory, path_manager};
use vazao_transport::{quic, sctp, tcp, tls};

type Result<T> = std::result::Result<T, ScenarioError>;

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
    Mptcp,
    Quic,
}

impl Protocol {
    /// The stacks that have it.
    fn stacks(self) -> &'static [Stack] {
        match self {
            Protocol::Tcp | Protocol::Udp | Protocol::Sctp | Protocol::Mptcp => &[Stack::Vazao, Stack::Linux],
            Protocol::Quic => &[Stack::Vazao, Stack::Quinn],
        }
    }
}

/// A transport as described.
#[derive(Clone, Debug)]
pub struct TransportSpec {
    /// The protocol.
    pub entry: &'static Entry<Protocol>,
    /// The protocol's own parameters.
    pub parameters: Parameters,
    /// The TLS over it.
    pub tls: Option<tls::Config>,
    /// The congestion control.
    pub control: ControlSpec,
    /// Name and parameters of the slow start.
    pub slow_start: (&'static str, Parameters),
    /// What only a transport of several paths has.
    pub multipath: Option<MultipathSpec>,
    /// Whose implementation plays the client, and whose the server.
    pub stacks: [Stack; 2],
    /// Whose implementation sends the measured data: the congestion control is that one's.
    pub sender: Stack,
    /// What guests are told.
    pub guest: GuestSpec,
}

impl TransportSpec {
    /// Whether a flow may use every interface of its hosts.
    pub fn is_multipath(&self) -> bool {
        let is_quic = self.entry.build == Protocol::Quic;
        matches!(self.entry.build, Protocol::Mptcp | Protocol::Sctp) || is_quic && self.multipath.is_some()
    }
    /// Whether a side is played by a guest.
    pub fn has_guest(&self) -> bool {
        self.stacks.contains(&Stack::Linux)
    }
}

/// What only Multipath TCP and Multipath QUIC have.
#[derive(Clone, Debug)]
pub struct MultipathSpec {
    /// The packet scheduler.
    pub scheduler: SchedulerSpec,
    /// Multipath TCP's path manager.
    pub path_manager: Option<(&'static Entry<path_manager::Manager>, Parameters)>,
}

impl MultipathSpec {
    /// Whether this path manager decides which subflows there are.
    pub fn is_managed_by(&self, name: &str) -> bool {
        self.path_manager.as_ref().is_some_and(|(manager, _)| manager.name == name)
    }
}

/// What a scenario may name that no registry knows: algorithms of the user's own, and kernels that were built.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    /// Congestion controls by name.
    pub controls: Plugins<ControlFactory>,
    /// Packet schedulers of Multipath TCP by name.
    pub schedulers: Plugins<SchedulerFactory>,
    /// Kernels by name.
    pub kernels: Kernels,
    /// Files that it names.
    pub files: Files,
    /// Bytes of memory that its run may take; without a number, whatever there is.
    pub memory: Option<u64>,
}

/// Linux's congestion controls: our name, the kernel's. Linux's Westwood is what is called Westwood+ elsewhere.
pub const LINUX_CONTROLS: &[(&str, &str)] = &[
    ("reno", "reno"),
    ("cubic", "cubic"),
    ("bic", "bic"),
    ("westwood-plus", "westwood"),
    ("westwood", "westwood"),
    ("htcp", "htcp"),
    ("highspeed", "highspeed"),
    ("hybla", "hybla"),
    ("vegas", "vegas"),
    ("nv", "nv"),
    ("scalable", "scalable"),
    ("tcp-lp", "lp"),
    ("veno", "veno"),
    ("yeah", "yeah"),
    ("illinois", "illinois"),
    ("dctcp", "dctcp"),
    ("cdg", "cdg"),
    ("bbr", "bbr"),
];

/// What of TCP's parameters a guest can be told; the rest its kernel decides.
const LINUX_PARAMETERS: &[&str] =
    &["cc", "mss", "initial_window", "sack", "timestamps", "receive_buffer", "send_buffer"];

/// Two lists of parameters as one.
const fn join<const N: usize>(first: &[Parameter], second: &[Parameter]) -> [Parameter; N] {
    let mut all = [stack::PARAMETERS[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

/// `own` and the parameters of every stack.
const fn with_stack<const N: usize>(own: &[Parameter]) -> [Parameter; N] {
    join(own, stack::PARAMETERS)
}

/// TCP and what may be over it.
const TCP: &[Parameter] = &join::<{ tcp::PARAMETERS.len() + tls::PARAMETERS.len() }>(tcp::PARAMETERS, tls::PARAMETERS);

const UDP: &[Parameter] = &[
    Parameter::new(
        "rate",
        Kind::Rate,
        "",
        "rate of an upload's payload: 1 Mbps unless given; others have their own pace",
    ),
    Parameter::new(
        "payload",
        Kind::Integer(16, 1472),
        "1472",
        "bytes of a datagram's payload at most: what fits one packet",
    ),
];

/// Multipath TCP and what its subflows are.
const MPTCP: &[Parameter] =
    &join::<{ mptcp::PARAMETERS.len() + tcp::PARAMETERS.len() }>(mptcp::PARAMETERS, tcp::PARAMETERS);

const STACKS: usize = stack::PARAMETERS.len();
const TCP_ALL: &[Parameter] = &with_stack::<{ TCP.len() + STACKS }>(TCP);
const UDP_ALL: &[Parameter] = &with_stack::<{ UDP.len() + STACKS }>(UDP);
const SCTP_ALL: &[Parameter] = &with_stack::<{ sctp::PARAMETERS.len() + STACKS }>(sctp::PARAMETERS);
/// Of what stacks are told only which it is: what else there is, is for Linux.
const QUIC_ALL: &[Parameter] = &join::<{ quic::PARAMETERS.len() + 1 }>(quic::PARAMETERS, stack::PARAMETERS);
const MPTCP_ALL: &[Parameter] = &with_stack::<{ MPTCP.len() + STACKS }>(MPTCP);

/// All transports.
pub const TRANSPORTS: &[Entry<Protocol>] = &[
    Entry {
        name: "tcp",
        aliases: &[],
        title: "Transmission Control Protocol",
        source: "RFC 9293",
        help: "reliable byte stream; loss recovery, congestion control and timers are chosen by parameters",
        parameters: TCP_ALL,
        build: Protocol::Tcp,
    },
    Entry {
        name: "udp",
        aliases: &[],
        title: "User Datagram Protocol",
        source: "RFC 768",
        help: "datagrams without feedback: an upload at a constant rate, or messages as the application writes them",
        parameters: UDP_ALL,
        build: Protocol::Udp,
    },
    Entry {
        name: "sctp",
        aliases: &[],
        title: "Stream Control Transmission Protocol",
        source: "RFC 9260",
        help: "reliable messages in streams over one path, several in turn (failover), or several at once (cmt); \
               trace = [\"notifications\"] records what its applications are told (RFC 6458)",
        parameters: SCTP_ALL,
        build: Protocol::Sctp,
    },
    Entry {
        name: "mptcp",
        aliases: &[],
        title: "Multipath TCP",
        source: "RFC 8684",
        help: "one byte stream over several TCP subflows; TCP's parameters are those of each",
        parameters: MPTCP_ALL,
        build: Protocol::Mptcp,
    },
    Entry {
        name: "quic",
        aliases: &[],
        title: "QUIC",
        source: "RFC 9000, RFC 9001, RFC 9002",
        help: "streams over UDP: handshake and encryption in one, losses found packet by packet",
        parameters: QUIC_ALL,
        build: Protocol::Quic,
    },
];

/// Reads a transport. `client_sends`: the side whose congestion control counts.
pub(crate) fn read_transport(item: Item, client_sends: bool, extensions: &Extensions) -> Result<TransportSpec> {
    let whole = item.clone();
    let (entry, mut table) = item.with_kind("tcp").entry("transport", TRANSPORTS)?;
    for parameter in stack::PARAMETERS.iter().filter(|own| entry.parameters.iter().all(|known| known.name != own.name))
    {
        let problem = format!("is for Linux guests, which there are none of over {}; leave it out", entry.name);
        table.error_at(parameter.name, problem).map_or(Ok(()), Err)?;
    }
    let (stacks, guest) = read_stacks(&mut table, &extensions.kernels)?;
    if let Some(stack) = stacks.iter().find(|stack| !entry.build.stacks().contains(stack)) {
        let possible: Vec<_> = entry.build.stacks().iter().map(|s| format!("stack = {:?}", s.name())).collect();
        let (name, stack) = (entry.name, stack.name());
        return Err(
            whole.error(format!("there is no {name} with stack {stack:?} yet; write {}", possible.join(" or ")))
        );
    }
    if stacks == [Stack::Linux; 2] && entry.build == Protocol::Tcp {
        refuse_own(&table, TCP, LINUX_PARAMETERS, KERNEL)?;
    }
    if stacks == [Stack::Linux; 2] && entry.build == Protocol::Mptcp {
        refuse_own(&table, MPTCP, &["cc", "path_manager"], KERNEL)?;
    }
    if stacks == [Stack::Linux; 2] && entry.build == Protocol::Sctp {
        refuse_own(&table, sctp::PARAMETERS, &["multihomed", "interleaving"], KERNEL)?;
    }
    if stacks.contains(&Stack::Quinn) {
        if stacks[0] != stacks[1] {
            return Err(whole.error(
                "has two stacks, but the packets of quinn are bytes and ours are none: over quic both sides have the same",
            ));
        }
        quinn::refuse_others(&table)?;
    }
    if stacks[0] != stacks[1] && entry.build == Protocol::Udp {
        return Err(whole.error(format!("has two stacks, but over {} both sides have the same so far", entry.name)));
    }
    let cc = if entry.build == Protocol::Udp { None } else { table.take("cc") };
    let sender = stacks[usize::from(!client_sends)];
    let control = match entry.build {
        Protocol::Tcp | Protocol::Mptcp | Protocol::Quic => {
            let cc = cc.unwrap_or_else(|| Item::named("cubic"));
            match sender {
                Stack::Linux => read_linux_control(&cc)?,
                Stack::Quinn if let Some(own) = quinn::read_control(&cc)? => own,
                Stack::Quinn | Stack::Vazao => read_control(cc, &extensions.controls)?,
            }
        }
        Protocol::Sctp => match cc {
            Some(cc) => read_control(cc, &extensions.controls)?,
            // RFC 9260 section 7's own, or the kernel's.
            None => ControlSpec::bare("sctp"),
        },
        Protocol::Udp => ControlSpec::bare("none"),
    };
    if sender == Stack::Quinn {
        quinn::refuse_unheeded(&table, &control)?;
    }
    let mut multipath = match entry.build {
        Protocol::Mptcp => Some(read_multipath(&mut table, stacks, &extensions.schedulers)?),
        _ => None,
    };
    let path_scheduler = if entry.build == Protocol::Quic { table.take("path_scheduler") } else { None };
    let slow_start = match entry.build {
        Protocol::Tcp | Protocol::Mptcp | Protocol::Quic => {
            let start = table.take("slow_start").unwrap_or_else(|| Item::named("standard"));
            let (entry, parameters) = start.entry("slow start", SLOW_STARTS)?;
            (entry.name, parameters.parameters(entry.parameters)?)
        }
        Protocol::Sctp => ("standard", Parameters::default()),
        Protocol::Udp => ("none", Parameters::default()),
    };
    let told = table.clone();
    let parameters = table.parameters(entry.parameters)?;
    if sender == Stack::Quinn {
        quinn::check(&told, &control, &parameters)?;
    }
    if entry.build == Protocol::Quic
        && parameters.get("address_token").is_some()
        && !["1-rtt", "0-rtt", "0-rtt-rejected"].contains(&parameters.text("handshake"))
    {
        return Err(whole.error(
            "address_token goes with 1-rtt, 0-rtt and 0-rtt-rejected: retry is for clients without one, and Google's CHLO has its own",
        ));
    }
    if stacks[0] != stacks[1]
        && entry.build == Protocol::Sctp
        && (parameters.integer("streams") > 1 || parameters.flag("unordered"))
    {
        return Err(whole.error("a guest reads one stream, in order; leave streams and unordered out, or stack"));
    }
    if entry.build == Protocol::Quic {
        multipath = read_paths(&whole, path_scheduler, &parameters, &extensions.schedulers)?;
    }
    let tls = match entry.build {
        Protocol::Tcp => tls::Config::new(&parameters).map_err(|problem| whole.error(problem))?,
        _ => None,
    };
    if tls.is_some() && stacks.contains(&Stack::Linux) {
        return Err(whole.error("a guest's flow has no TLS of ours; leave tls out, or stack"));
    }
    if entry.build == Protocol::Mptcp && parameters.flag("fast_open") {
        return Err(
            whole.error("has fast_open, but Multipath TCP's subflows are opened without data; leave fast_open out")
        );
    }
    if entry.build == Protocol::Mptcp && stacks[0] == Stack::Linux && !parameters.schedule("changes").is_empty() {
        return Err(whole.error(
            "has changes, but a guest's interfaces stay as they are; leave changes out, or write stack = { client = \"vazao\" }",
        ));
    }
    if entry.build == Protocol::Tcp && stacks.contains(&Stack::Linux) {
        let most = if parameters.flag("timestamps") { 1448 } else { 1460 };
        let mss = parameters.integer("mss");
        if mss > most {
            return Err(
                whole.error(format!("mss {mss} does not fit a guest's card, an Ethernet one; write at most {most}"))
            );
        }
    }
    Ok(TransportSpec { entry, parameters, tls, control, slow_start, multipath, stacks, sender, guest })
}

/// Reads what only Multipath TCP has. Linux's subflows follow one of two path managers.
fn read_multipath(
    table: &mut Table,
    stacks: [Stack; 2],
    schedulers: &Plugins<SchedulerFactory>,
) -> Result<MultipathSpec> {
    let mut named = |key, default| table.take(key).unwrap_or_else(|| Item::named(default));
    let (scheduler, manager) = (named("scheduler", "lowest-rtt"), named("path_manager", "single-mesh"));
    let scheduler = read_scheduler(scheduler, schedulers)?;
    let whole = manager.clone();
    let (manager, parameters) = manager.entry("path manager", PATH_MANAGERS)?;
    if stacks.contains(&Stack::Linux) && !["single-mesh", "full-mesh"].contains(&manager.name) {
        return Err(whole.error("is not one of Linux's; with stack = \"linux\" write single-mesh or full-mesh"));
    }
    let path_manager = Some((manager, parameters.parameters(manager.parameters)?));
    Ok(MultipathSpec { scheduler, path_manager })
}

/// Reads what only QUIC over several paths has.
fn read_paths(
    whole: &Item,
    scheduler: Option<Item>,
    parameters: &Parameters,
    plugins: &Plugins<SchedulerFactory>,
) -> Result<Option<MultipathSpec>> {
    let is_multipath = parameters.flag("multipath");
    let change = |wanted: &[&str]| {
        parameters.schedule("changes").iter().map(|change| change.what).find(|what| wanted.contains(what))
    };
    if !is_multipath {
        if let Some(scheduler) = scheduler {
            return Err(scheduler.error("spreads data over paths; write multipath = true beside it, or leave it out"));
        }
        if !parameters.integers("backups").is_empty() {
            return Err(whole.error("has backups, but one path; write multipath = true beside them, or leave them out"));
        }
        if let Some(what) = change(&["remove", "add", "backup", "regular"]) {
            let problem =
                format!("has {what:?} in changes, but one path; write multipath = true, or migrate or rebind");
            return Err(whole.error(problem));
        }
        return Ok(None);
    }
    if parameters.text("handshake").starts_with("gquic") || parameters.integer("fec") > 0 {
        return Err(whole.error("has multipath, but Google's QUIC has one path; leave multipath out, or gquic and fec"));
    }
    if change(&["migrate"]).is_some() {
        return Err(whole.error(
            "has \"migrate\" in changes, but multipath uses all interfaces already; write remove or add, or leave multipath out",
        ));
    }
    let scheduler = read_scheduler(scheduler.unwrap_or_else(|| Item::named("lowest-rtt")), plugins)?;
    Ok(Some(MultipathSpec { scheduler, path_manager: None }))
}

fn read_scheduler(item: Item, plugins: &Plugins<SchedulerFactory>) -> Result<SchedulerSpec> {
    if let Some(own) = SchedulerSpec::own(&item, plugins) {
        return Ok(own);
    }
    let (entry, table) = item.entry("packet scheduler", SCHEDULERS)?;
    let parameters = table.parameters(entry.parameters)?;
    Ok(SchedulerSpec { parameters, ..SchedulerSpec::bare(entry.name) })
}

/// What is said of a setting that the kernel makes itself.
const KERNEL: &str = "the kernel's own decision with stack = \"linux\"; leave it out, or see sysctl and module";

/// A setting that nobody would heed is a mistake.
pub(crate) fn refuse_own(table: &Table, all: &[Parameter], told: &[&str], whose: &str) -> Result<()> {
    for parameter in all.iter().filter(|p| !told.contains(&p.name)) {
        if let Some(error) =
            table.error_at(parameter.name, format!("is {whose}. What a guest can be told: {}", told.join(", ")))
        {
            return Err(error);
        }
    }
    Ok(())
}

fn read_control(item: Item, plugins: &Plugins<ControlFactory>) -> Result<ControlSpec> {
    if let Some(own) = ControlSpec::own(&item, plugins) {
        return Ok(own);
    }
    let whole = item.clone();
    let (entry, table) = item.entry("congestion control", CONGESTION_CONTROLS).map_err(|error| {
        let named = |name: &str| whole.node.value == Value::Text(name.into());
        if quinn::CONTROLS.iter().any(|name| named(name)) {
            return whole.error("this one only quinn has; write stack = \"quinn\" beside it");
        }
        if LINUX_CONTROLS.iter().any(|(name, _)| named(name)) {
            return whole.error("this one only the Linux kernel has; write stack = \"linux\" beside it");
        }
        error
    })?;
    let parameters = table.parameters(entry.parameters)?;
    Ok(ControlSpec { parameters, ..ControlSpec::bare(entry.name) })
}

fn read_linux_control(item: &Item) -> Result<ControlSpec> {
    // A table that says no more than its kind is as good as a name; levels of a study may be written so.
    let item = match &item.node.value {
        Value::Table(_) => {
            let mut table = item.clone().into_table()?;
            let kind = table.require("kind", "the name of a congestion control")?;
            table.finish_with("is not known: parameters of the kernel's own controls are set by module = { … }")?;
            kind
        }
        _ => item.clone(),
    };
    let name = item.text()?;
    match LINUX_CONTROLS.iter().find(|(ours, _)| *ours == name) {
        Some((ours, _)) => Ok(ControlSpec::bare(ours)),
        None => Err(item.error(unknown("congestion control of Linux", name, LINUX_CONTROLS.iter().map(|c| c.0)))),
    }
}

pub(crate) fn parameters_json(kind: &str, parameters: &Parameters, skip: &[&str]) -> Map<String, Json> {
    let mut map = Map::new();
    map.insert("kind".into(), kind.into());
    for (name, value) in parameters.iter().filter(|(name, _)| !skip.contains(name)) {
        map.insert(name.into(), value_json(value));
    }
    map
}

fn chosen_json<F>(chosen: &Chosen<F>) -> Json {
    let mut map = parameters_json(&chosen.name, &chosen.parameters, &[]);
    if let Some(plugin) = &chosen.plugin {
        map.insert("code".into(), plugin.fingerprint.as_str().into());
    }
    map.into()
}

pub(crate) fn transport_json(spec: &TransportSpec) -> Json {
    let TransportSpec { entry, parameters, control, slow_start, multipath, stacks, guest, .. } = spec;
    let mut elsewhere = vec!["cc", "slow_start"];
    match multipath {
        Some(MultipathSpec { path_manager: Some(_), .. }) => elsewhere.extend(["scheduler", "path_manager"]),
        _ => elsewhere.push("path_scheduler"),
    }
    elsewhere.extend(stack::PARAMETERS.iter().map(|parameter| parameter.name));
    let mut transport = parameters_json(entry.name, parameters, &elsewhere);
    transport.insert("cc".into(), chosen_json(control));
    if let Some(MultipathSpec { scheduler, path_manager }) = multipath {
        let key = if path_manager.is_some() { "scheduler" } else { "path_scheduler" };
        transport.insert(key.into(), chosen_json(scheduler));
        if let Some((manager, parameters)) = path_manager {
            transport.insert("path_manager".into(), parameters_json(manager.name, parameters, &[]).into());
        }
    }
    transport.insert("slow_start".into(), parameters_json(slow_start.0, &slow_start.1, &[]).into());
    if spec.has_guest() {
        transport.insert("guest".into(), guest_json(*stacks, guest));
    }
    if stacks.contains(&Stack::Quinn) {
        transport.insert("stack".into(), Stack::Quinn.name().into());
    }
    transport.into()
}

/// The rate of an upload over UDP: iperf's, unless another is given.
pub(crate) fn udp_rate(parameters: &Parameters) -> Rate {
    match parameters.get("rate") {
        Some(vazao_engine::registry::Value::Rate(rate)) => *rate,
        _ => Rate::from_bps(1_000_000),
    }
}
