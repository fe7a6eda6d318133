//! The plan: what the controller wants of this host. One statement a line, words separated by blanks; `#` after a
//! blank or at a line's start begins a comment. What a user has written comes last in its line, [escaped](crate::line).

use crate::line::unescaped;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::str::FromStr;

/// Something to set up before any flow runs, in the plan's order.
#[derive(Clone, Debug, PartialEq)]
pub enum Setup {
    /// A card of the host has this address.
    Card { number: u32, address: Ipv4Addr, mtu: u32 },
    /// The loopback device has this address too.
    Loopback { address: Ipv4Addr },
    /// Where datagrams to a prefix leave.
    Route(Route),
    /// A file below /proc/sys.
    Sysctl { key: String, value: String },
    /// A parameter of a module built into the kernel, `module.parameter`.
    Module { key: String, value: String },
    /// How many additional subflows a connection may have, and how many addresses it accepts from its peer.
    MptcpLimits { subflows: u32, accepted: u32 },
    /// An address for additional subflows.
    MptcpEndpoint { address: Ipv4Addr, flags: u32 },
}

/// Where datagrams to a prefix leave.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub destination: Prefix,
    pub card: u32,
    /// The address that they bear unless they are told otherwise.
    pub source: Option<Ipv4Addr>,
    /// The initial congestion window of connections there, in segments.
    pub window: Option<u32>,
}

/// An address and how many of its bits count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix(pub Ipv4Addr, pub u8);

/// How a flow's bytes travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport {
    Tcp,
    Udp,
    Sctp,
    Mptcp,
    /// A program does as it likes.
    Command,
}

/// Which end of a flow this host is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// The end that connects.
    Client,
    /// The end that listens.
    Server,
}

/// What this end does with the flow's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Send,
    Receive,
}

/// One end of a flow. Times are ns, sizes bytes, rates bytes a second.
#[derive(Clone, Debug)]
pub struct Flow {
    pub number: u32,
    pub transport: Transport,
    pub role: Role,
    pub act: Act,
    /// Virtual time at which the client connects; a server's only sets when its `duration` begins.
    pub start: Option<u64>,
    pub local: SocketAddrV4,
    pub peer: SocketAddrV4,
    /// SCTP: all addresses of each end, when there are several.
    pub locals: Vec<Ipv4Addr>,
    pub peers: Vec<Ipv4Addr>,
    pub size: Option<u64>,
    pub duration: Option<u64>,
    /// Bytes of one write.
    pub message: Option<usize>,
    /// Time between two writes.
    pub interval: Option<u64>,
    /// UDP: bytes of a datagram, without headers, and how many such bytes are sent a second.
    pub payload: Option<usize>,
    pub rate: Option<u64>,
    /// How fast the receiver reads.
    pub read_rate: Option<u64>,
    pub cc: Option<String>,
    pub sndbuf: Option<i32>,
    pub rcvbuf: Option<i32>,
    pub mss: Option<i32>,
    pub nodelay: bool,
    /// SCTP: whether I-DATA chunks are offered.
    pub interleaving: bool,
    pub program: String,
}

/// A parsed plan.
#[derive(Debug, Default)]
pub struct Plan {
    /// What to set up, each with the statement that asks for it.
    pub setup: Vec<(String, Setup)>,
    /// Time between two samples of every open socket.
    pub sample: Option<u64>,
    /// When the run ends, whether or not the flows have.
    pub until: Option<u64>,
    pub flows: Vec<Flow>,
    pub off_when_done: bool,
}

/// Parses a plan.
///
/// # Errors
/// The first statement that is none, and why.
pub fn parse(text: &str) -> Result<Plan, String> {
    let mut plan = Plan::default();
    for line in text.lines() {
        statement(&mut plan, line).map_err(|reason| format!("{}: {reason}", line.trim()))?;
    }
    Ok(plan)
}

fn statement(plan: &mut Plan, line: &str) -> Result<(), String> {
    if let Some((kind @ ("sysctl" | "module"), rest)) = line.split_once(' ') {
        let (key, value) = rest.split_once(' ').unwrap_or((rest, ""));
        let (key, value) = (key.to_owned(), text(value)?);
        let setup = if kind == "sysctl" { Setup::Sysctl { key, value } } else { Setup::Module { key, value } };
        plan.setup.push((line.to_owned(), setup));
        return Ok(());
    }
    let (line, program) = match line.split_once(" program=") {
        Some((line, program)) => (line, text(program)?),
        None => (line, String::new()),
    };
    let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
    let setup = match words[..] {
        [] => return Ok(()),
        ["sample", interval] => return value(interval).map(|ns| plan.sample = Some(ns)),
        ["until", end] => return value(end).map(|ns| plan.until = Some(ns)),
        ["off-when-done"] => {
            plan.off_when_done = true;
            return Ok(());
        }
        ["flow", ref pairs @ ..] => return flow(pairs, &program).map(|flow| plan.flows.push(flow)),
        ["card", number, address] => Setup::Card { number: value(number)?, address: value(address)?, mtu: 1500 },
        ["card", number, address, mtu] => {
            Setup::Card { number: value(number)?, address: value(address)?, mtu: value(mtu)? }
        }
        ["loopback", address] => Setup::Loopback { address: value(address)? },
        ["route", to, "card", card, ref rest @ ..] => {
            let (source, window) = match rest {
                [] => (None, None),
                ["source", from] => (Some(value(from)?), None),
                ["source", from, "initcwnd", segments] => (Some(value(from)?), Some(value(segments)?)),
                _ => return Err("no such statement".to_owned()),
            };
            Setup::Route(Route { destination: value(to)?, card: value(card)?, source, window })
        }
        ["mptcp", "limits", subflows, accepted] => {
            Setup::MptcpLimits { subflows: value(subflows)?, accepted: value(accepted)? }
        }
        ["mptcp", "endpoint", address, ref names @ ..] => {
            Setup::MptcpEndpoint { address: value(address)?, flags: endpoint_flags(names)? }
        }
        _ => return Err("no such statement".to_owned()),
    };
    plan.setup.push((words.join(" "), setup));
    Ok(())
}

/// What a user has written.
fn text(escaped: &str) -> Result<String, String> {
    unescaped(escaped).ok_or_else(|| format!("bad text {escaped}"))
}

fn value<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("bad value {text}"))
}

impl FromStr for Prefix {
    type Err = ();

    fn from_str(text: &str) -> Result<Prefix, ()> {
        let text = if text == "default" { "0.0.0.0/0" } else { text };
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        let prefix = Prefix(address.parse().map_err(drop)?, bits.parse().map_err(drop)?);
        if prefix.1 <= 32 { Ok(prefix) } else { Err(()) }
    }
}

/// The bits of `MPTCP_PM_ADDR_ATTR_FLAGS` (linux/mptcp.h).
fn endpoint_flags(names: &[&str]) -> Result<u32, String> {
    const NAMES: [&str; 4] = ["signal", "subflow", "backup", "fullmesh"];
    names.iter().try_fold(0, |flags, name| {
        let bit = NAMES.iter().position(|known| known == name).ok_or_else(|| format!("no endpoint flag {name}"))?;
        Ok(flags | 1 << bit)
    })
}

fn flow(pairs: &[&str], program: &str) -> Result<Flow, String> {
    let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    let (mut number, mut transport, mut role, mut act) = (None, None, None, Act::Receive);
    let mut flow = Flow {
        number: 0,
        transport: Transport::Command,
        role: Role::Client,
        act,
        start: None,
        local: nowhere,
        peer: nowhere,
        locals: Vec::new(),
        peers: Vec::new(),
        size: None,
        duration: None,
        message: None,
        interval: None,
        payload: None,
        rate: None,
        read_rate: None,
        cc: None,
        sndbuf: None,
        rcvbuf: None,
        mss: None,
        nodelay: false,
        interleaving: false,
        program: program.to_owned(),
    };
    for pair in pairs {
        let (key, text) = pair.split_once('=').ok_or_else(|| format!("{pair} is not key=value"))?;
        match key {
            "number" => number = Some(value(text)?),
            "transport" => transport = Some(one_of(text, TRANSPORTS)?),
            "role" => role = Some(one_of(text, &[("client", Role::Client), ("server", Role::Server)])?),
            "act" => act = one_of(text, &[("send", Act::Send), ("receive", Act::Receive)])?,
            "start" => flow.start = Some(value(text)?),
            "local" => flow.local = value(text)?,
            "peer" => flow.peer = value(text)?,
            "locals" => flow.locals = text.split(',').map(value).collect::<Result<_, _>>()?,
            "peers" => flow.peers = text.split(',').map(value).collect::<Result<_, _>>()?,
            "size" => flow.size = Some(value(text)?),
            "duration" => flow.duration = Some(value(text)?),
            "message" => flow.message = Some(at_least(1, text)?),
            "interval" => flow.interval = Some(at_least(1, text)?),
            "payload" => flow.payload = Some(at_least(8, text)?),
            "rate" => flow.rate = Some(at_least(1, text)?),
            "read_rate" => flow.read_rate = Some(at_least(1, text)?),
            "cc" => flow.cc = Some(text.to_owned()),
            "sndbuf" => flow.sndbuf = Some(value(text)?),
            "rcvbuf" => flow.rcvbuf = Some(value(text)?),
            "mss" => flow.mss = Some(value(text)?),
            "nodelay" => flow.nodelay = one_of(text, &[("0", false), ("1", true)])?,
            "interleaving" => flow.interleaving = one_of(text, &[("0", false), ("1", true)])?,
            _ => return Err(format!("a flow has no {key}")),
        }
    }
    flow.number = number.ok_or("a flow has a number")?;
    flow.transport = transport.ok_or("a flow has a transport")?;
    flow.role = role.ok_or("a flow has a role")?;
    flow.act = act;
    complete(flow)
}

const TRANSPORTS: &[(&str, Transport)] = &[
    ("tcp", Transport::Tcp),
    ("udp", Transport::Udp),
    ("sctp", Transport::Sctp),
    ("mptcp", Transport::Mptcp),
    ("command", Transport::Command),
];

/// Refuses a flow that lacks what its transport needs.
fn complete(flow: Flow) -> Result<Flow, String> {
    let lacks = |what: &str| Err(format!("the flow lacks {what}"));
    match flow.transport {
        Transport::Command if flow.program.is_empty() => lacks("program="),
        Transport::Command => Ok(flow),
        _ if flow.local.port() == 0 => lacks("local="),
        _ if flow.peer.port() == 0 => lacks("peer="),
        Transport::Udp if flow.act == Act::Send && flow.payload.is_none() => lacks("payload="),
        Transport::Udp if flow.act == Act::Send && flow.rate.is_none() => lacks("rate="),
        _ => Ok(flow),
    }
}

fn one_of<T: Copy>(text: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    found.ok_or_else(|| format!("bad value {text}"))
}

fn at_least<T: FromStr + PartialOrd + From<u8>>(least: u8, text: &str) -> Result<T, String> {
    value(text).and_then(|number: T| if number < least.into() { Err(format!("bad value {text}")) } else { Ok(number) })
}

#[cfg(test)]
mod tests;
