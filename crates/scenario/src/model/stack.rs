//! Stacks: the implementations that can play an end of a flow.

use crate::document::reader::{Item, Table};
use crate::document::{Result, Toml};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use vazao_engine::Duration;
use vazao_engine::registry::{Kind, Parameter, unknown};
use vazao_guest_protocol::Role;

/// Implementation that plays an end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Vazão's own protocols.
    Vazao,
    /// The unmodified Linux kernel, as a guest in virtual time.
    Linux,
    /// quinn-proto, a production QUIC library, in virtual time.
    Quinn,
    /// ns-2, another simulator: a program of its own that runs the whole scenario.
    Ns2,
}

impl Stack {
    const ALL: [Stack; 4] = [Stack::Vazao, Stack::Linux, Stack::Quinn, Stack::Ns2];
    pub(crate) const NAMES: [&'static str; 4] = ["vazao", "linux", "quinn", "ns2"];

    /// Returns its name in scenarios.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Kernel that has been built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Executable.
    pub path: PathBuf,
    /// Release, and version of the package that it was built from.
    pub version: String,
    /// Digest of its configuration.
    pub config: String,
    /// Digest of the executable.
    pub digest: String,
    /// Timer frequency.
    pub hz: u32,
}

/// Available kernels by their names in scenarios.
pub type Kernels = BTreeMap<String, Kernel>;

/// Simulator other than ours, which runs whole scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulator {
    /// Version by its own account.
    pub version: String,
    /// Digest of the executable.
    pub digest: String,
}

/// Installed simulators by the names of their stacks.
pub type Simulators = BTreeMap<String, Simulator>;

/// Settings of a flow's guests.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestSpec {
    /// Kernel's name, and the kernel if it has been built.
    pub kernel: (String, Option<Kernel>),
    /// Kernel settings below `/proc/sys`, dots for slashes.
    pub sysctl: Vec<(String, String)>,
    /// Parameters of built-in modules, as in `tcp_cubic.hystart`.
    pub module: Vec<(String, String)>,
    /// Longest time for which a card may hold an arrived packet, so that one interrupt serves several.
    pub moderation: Duration,
    /// Time between two samples of the state of a flow's socket.
    pub sample: Duration,
    /// Simulator that plays the flow instead of the world, if it is installed.
    pub simulator: Option<Simulator>,
    /// Data that the kernel cuts into packets only behind the queue of a card.
    pub offloads: Offloads,
    /// Part of what a client's and a server's cards get to send that the kernel's network emulator loses there.
    pub netem: [f64; 2],
}

impl GuestSpec {
    /// Returns the settings of a host that plays one side, as if it played both.
    pub fn at(&self, role: Role) -> GuestSpec {
        GuestSpec { netem: [self.netem[role as usize]; 2], ..self.clone() }
    }
}

/// Data that a kernel hands to a card's queue in pieces of several packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offloads {
    /// None: each packet is queued by itself.
    None,
    /// TCP's, as a kernel does before any card since Linux 4.17.
    Tcp,
    /// SCTP's as well, as before a card that takes data in pieces and computes checksums.
    All,
}

impl Offloads {
    const ALL: [Offloads; 3] = [Offloads::None, Offloads::Tcp, Offloads::All];
    const NAMES: [&'static str; 3] = ["none", "tcp", "all"];
}

/// Congestion controls of Linux: our name and the kernel's. Linux's Westwood is called Westwood+ elsewhere.
pub(crate) const LINUX_CONTROLS: &[(&str, &str)] = &[
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

/// Keys of a transport that choose and set up the stacks.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "stack",
        Kind::Choice(&Stack::NAMES),
        "vazao",
        "whose implementation; or one a side: { client = \"linux\", server = \"vazao\" }",
    ),
    Parameter::new("kernel", Kind::Text, "6.12", "the guests' kernel, as `vazao kernel list` names it"),
    Parameter::new("sysctl", Kind::Text, "", "the guests' settings: a table such as { \"net.ipv4.tcp_sack\" = 0 }"),
    Parameter::new("module", Kind::Text, "", "the guests' module parameters, such as { \"tcp_cubic.hystart\" = 0 }"),
    Parameter::new(
        "moderation",
        Kind::Duration(Duration::ZERO, LONGEST_MODERATION),
        "0 s",
        "how long a guest's card may wait for more packets before it interrupts",
    ),
    Parameter::new(
        "sample",
        Kind::Duration(SHORTEST_SAMPLE, LONGEST_SAMPLE),
        "10 ms",
        "time between two looks at a guest's socket (TCP_INFO)",
    ),
    Parameter::new(
        "offloads",
        Kind::Choice(&Offloads::NAMES),
        "tcp",
        "whose data a guest's kernel cuts into packets only behind its card's queue: nobody's, TCP's, SCTP's too",
    ),
    Parameter::new(
        "netem",
        Kind::Text,
        "",
        "the kernel's emulator on the guests' cards: { loss = 0.01 }, or one a side: { client = { loss = 0.01 } }",
    ),
];

/// Keys of guests that a flow without a guest may not have. `kernel` and `sample` decide nothing by themselves, and a variant
/// of a control for all stacks may say with `module` what it is to the kernel.
const OF_GUESTS: &[&str] = &["sysctl", "moderation", "offloads"];

/// Keys of the kernel's network emulator.
const NETEM: &[Parameter] =
    &[Parameter::new("loss", Kind::Number(0.0, 1.0), "0", "probability of losing what the queue gets in one piece")];

/// Most bytes that a file below `/proc/sys` takes at a time.
const LONGEST_VALUE: usize = 4095;
const LONGEST_MODERATION: Duration = Duration::from_millis(10);
const SHORTEST_SAMPLE: Duration = Duration::from_micros(100);
const LONGEST_SAMPLE: Duration = Duration::from_secs(3600);

/// Takes the keys of [`PARAMETERS`] out of a transport's table: the stacks of client and server, and the guests' settings.
pub(crate) fn read_stacks(
    table: &mut Table,
    kernels: &Kernels,
    simulators: &Simulators,
) -> Result<([Stack; 2], GuestSpec)> {
    let stacks = match table.take("stack") {
        None => [Stack::Vazao; 2],
        Some(item) if matches!(item.node.value, Toml::Table(_)) => {
            let whole = item.clone();
            let mut sides = item.into_table()?;
            let mut side = |key| sides.take(key).map_or(Ok(Stack::Vazao), |item| read_stack(&item));
            let stacks = [side("client")?, side("server")?];
            sides.finish()?;
            if stacks.contains(&Stack::Ns2) && stacks != [Stack::Ns2; 2] {
                return Err(whole.error("ns-2 plays both sides of a flow; write stack = \"ns2\""));
            }
            stacks
        }
        Some(item) => [read_stack(&item)?; 2],
    };
    if !stacks.contains(&Stack::Linux) {
        let problem = "is a Linux guest's, and neither side is one; write stack = \"linux\" beside it, or leave it out";
        OF_GUESTS.iter().try_for_each(|key| table.refuse(key, problem))?;
    }
    let kernel = read_kernel(table.take("kernel"), kernels)?;
    let simulator = simulators.get(stacks[0].name()).cloned();
    let told = table.take_resolved("simulator");
    check_installed(told, stacks[0].name(), simulator.as_ref().map(|simulator| simulator.digest.as_str()))?;
    let sysctl = settings(table.take("sysctl"), "\"net.ipv4.tcp_sack\" = 0", "net.")?;
    let module = settings(table.take("module"), "\"tcp_cubic.hystart\" = 0", "")?;
    let moderation = table.duration("moderation", Duration::ZERO, LONGEST_MODERATION)?.unwrap_or_default();
    let sample = table.duration("sample", SHORTEST_SAMPLE, LONGEST_SAMPLE)?.unwrap_or(Duration::from_millis(10));
    let offloads = table.take("offloads").map_or(Ok(Offloads::Tcp), |item| read_offloads(&item))?;
    let netem = table.take("netem").map_or(Ok([0.0; 2]), |item| read_netem(item, stacks))?;
    Ok((stacks, GuestSpec { kernel, sysctl, module, moderation, sample, simulator, offloads, netem }))
}

/// Reads a kernel's name; in the canonical form a table with its name and the digest of its executable.
fn read_kernel(item: Option<Item>, kernels: &Kernels) -> Result<(String, Option<Kernel>)> {
    let Some(mut item) = item else { return Ok(("6.12".into(), kernels.get("6.12").cloned())) };
    let (name, told) = match item.extract("name") {
        Some(name) => (name, Some(item)),
        None => (item, None),
    };
    let name = name.text()?.to_owned();
    let kernel = kernels.get(&name).cloned();
    check_installed(told, &name, kernel.as_ref().map(|kernel| kernel.digest.as_str()))?;
    Ok((name, kernel))
}

/// Checks that a program is installed that the canonical form has the digest of, and is the same.
fn check_installed(told: Option<Item>, name: &str, here: Option<&str>) -> Result<()> {
    let Some(item) = told else { return Ok(()) };
    let mut table = item.clone().into_table()?;
    table.take("version");
    let digest = table.take("sha256");
    table.finish()?;
    match (digest, here) {
        (Some(digest), None) => Err(digest.error(format!("{name:?} is not installed here"))),
        (Some(digest), Some(here)) if digest.text()? != here => {
            Err(digest.error(format!("{name:?} has the digest {here} here, not {}; it is another", digest.text()?)))
        }
        _ => Ok(()),
    }
}

fn read_stack(item: &Item) -> Result<Stack> {
    let name = item.text()?;
    let found = Stack::ALL.into_iter().find(|stack| stack.name() == name);
    found.ok_or_else(|| item.error(unknown("stack", name, Stack::NAMES.iter().copied())))
}

fn read_offloads(item: &Item) -> Result<Offloads> {
    let name = item.text()?;
    let found = Offloads::ALL.into_iter().zip(Offloads::NAMES).find(|(_, known)| *known == name);
    let (offloads, _) = found.ok_or_else(|| item.error(unknown("kind of offloads", name, Offloads::NAMES)))?;
    Ok(offloads)
}

/// Reads the losses of the guests' own emulators, of both or one a side. Only a guest has one: losses that nobody would
/// draw are refused.
fn read_netem(item: Item, stacks: [Stack; 2]) -> Result<[f64; 2]> {
    let whole = item.clone();
    let loss = |item: Item| Ok(item.into_table()?.parameters(NETEM)?.number("loss"));
    let has = |key: &str| matches!(&whole.node.value, Toml::Table(entries) if entries.iter().any(|(k, _)| k == key));
    if !has("client") && !has("server") {
        if !stacks.contains(&Stack::Linux) {
            let problem = "is the Linux kernel's own, and neither side is a guest; write stack = \"linux\" beside it, \
                           or the loss of a link of the network";
            return Err(whole.error(problem));
        }
        return Ok([loss(item)?; 2]);
    }
    let mut sides = item.into_table()?;
    let mut netem = [0.0; 2];
    for ((key, stack), netem) in ["client", "server"].into_iter().zip(stacks).zip(&mut netem) {
        let Some(side) = sides.take(key) else { continue };
        if stack != Stack::Linux {
            let problem = format!("is the Linux kernel's own, and the {key} is no guest; leave it out, or write stack");
            return Err(side.error(problem));
        }
        *netem = loss(side)?;
    }
    sides.finish()?;
    Ok(netem)
}

/// Reads a table of names and values. Dots separate the parts of a name; below `net.`, where an interface's name may
/// have dots of its own, slashes may too.
fn settings(item: Option<Item>, example: &str, prefix: &str) -> Result<Vec<(String, String)>> {
    let Some(item) = item else { return Ok(Vec::new()) };
    let whole = item.clone();
    let Toml::Table(entries) = item.node.value else {
        return Err(whole.error(format!("{} is not a table; write {{ {example} }}", whole.node.value)));
    };
    let mut settings = Vec::new();
    for (name, node) in entries {
        let value = match &node.value {
            Toml::Text(text) => text.clone(),
            Toml::Number(x) => x.to_string(),
            Toml::Flag(x) => u8::from(*x).to_string(),
            // A name with dots that was not quoted is a table in a table.
            Toml::Table(_) => return Err(whole.error(format!("{name} is a table; quote the name: {example}"))),
            Toml::List(_) => return Err(whole.error(format!("{name} is a list; write its values as one text"))),
        };
        let separators: &[char] = if prefix.is_empty() { &['.'] } else { &['.', '/'] };
        let fine = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let parts: Vec<&str> = name.split(separators).collect();
        let count = if prefix.is_empty() { 2..=2 } else { 2..=9 };
        if !name.starts_with(prefix) || !count.contains(&parts.len()) || !parts.into_iter().all(fine) {
            return Err(whole.error(format!("{name:?} is not the name of a setting; write it as in {example}")));
        }
        if value.contains(|c: char| c.is_control() && c != '\t')
            || value.trim().is_empty()
            || value.len() > LONGEST_VALUE
        {
            return Err(whole.error(format!("{name}: {value:?} is not a value; write one line of text or a number")));
        }
        settings.push((name, value));
    }
    // Their order decides nothing.
    settings.sort();
    Ok(settings)
}

/// Describes the stacks and the settings of guests in canonical form, but for our own stack on both sides.
pub(crate) fn stacks_json(stacks: [Stack; 2], guest: &GuestSpec) -> Map<String, Json> {
    let mut map = Map::new();
    let names = stacks.map(Stack::name);
    if stacks[0] != stacks[1] {
        map.insert("stack".into(), json!({ "client": names[0], "server": names[1] }));
    } else if stacks[0] != Stack::Vazao {
        map.insert("stack".into(), names[0].into());
    }
    if let Some(Simulator { version, digest }) = guest.simulator.as_ref().filter(|_| stacks[0] == Stack::Ns2) {
        map.insert("simulator".into(), json!({ "version": version, "sha256": digest }));
    }
    if !stacks.contains(&Stack::Linux) {
        return map;
    }
    let table = |pairs: &[(String, String)]| -> Map<String, Json> {
        pairs.iter().map(|(name, value)| (name.clone(), Json::from(value.as_str()))).collect()
    };
    let (name, kernel) = &guest.kernel;
    let kernel = match kernel {
        Some(kernel) => json!({ "name": name, "sha256": kernel.digest }),
        None => json!({ "name": name }),
    };
    let sides = ["client", "server"].into_iter().zip(stacks).zip(guest.netem);
    let emulated = sides.filter(|((_, stack), _)| *stack == Stack::Linux);
    let netem: Map<_, _> = emulated.map(|((side, _), loss)| (side.into(), json!({ "loss": loss }))).collect();
    let Json::Object(settings) = json!({
        "kernel": kernel,
        "sysctl": table(&guest.sysctl),
        "module": table(&guest.module),
        "moderation": guest.moderation.to_string(),
        "sample": guest.sample.to_string(),
        "offloads": Offloads::NAMES[guest.offloads as usize],
        "netem": netem,
    }) else {
        unreachable!("a table")
    };
    map.extend(settings);
    map
}
