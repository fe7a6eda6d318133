//! Settings of Linux guests: their kernel, its settings and what their cards do.

use crate::document::reader::{Item, Table};
use crate::document::{Result, Toml};
use crate::model::extensions::Extensions;
use crate::model::guest::{GuestSpec, Kernel, Kernels, Offloads};
use crate::model::stack::Stacks;
use crate::stacks::check_installed;
use serde_json::{Map, Value as Json, json};
use vazao_engine::Duration;
use vazao_engine::registry::{Kind, Parameter, unknown};

/// Keys of a transport.
pub(super) const PARAMETERS: &[Parameter] = &[
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

/// Takes the keys of [`PARAMETERS`] out of a transport's table.
pub(super) fn read(table: &mut Table, stacks: Stacks, extensions: &Extensions, guest: &mut GuestSpec) -> Result<()> {
    if !stacks.iter().any(|stack| stack.is_guest()) {
        let problem = "is a Linux guest's, and neither side is one; write stack = \"linux\" beside it, or leave it out";
        OF_GUESTS.iter().try_for_each(|key| table.refuse(key, problem))?;
    }
    guest.kernel = read_kernel(table.take("kernel"), &extensions.kernels)?;
    guest.sysctl = settings(table.take("sysctl"), "\"net.ipv4.tcp_sack\" = 0", "net.")?;
    guest.module = settings(table.take("module"), "\"tcp_cubic.hystart\" = 0", "")?;
    guest.moderation = table.duration("moderation", Duration::ZERO, LONGEST_MODERATION)?.unwrap_or_default();
    guest.sample = table.duration("sample", SHORTEST_SAMPLE, LONGEST_SAMPLE)?.unwrap_or(Duration::from_millis(10));
    guest.offloads = table.take("offloads").map_or(Ok(Offloads::Tcp), |item| read_offloads(&item))?;
    guest.netem = table.take("netem").map_or(Ok([0.0; 2]), |item| read_netem(item, stacks))?;
    Ok(())
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

fn read_offloads(item: &Item) -> Result<Offloads> {
    let name = item.text()?;
    let found = Offloads::ALL.into_iter().zip(Offloads::NAMES).find(|(_, known)| *known == name);
    let (offloads, _) = found.ok_or_else(|| item.error(unknown("kind of offloads", name, Offloads::NAMES)))?;
    Ok(offloads)
}

/// Reads the losses of the guests' own emulators, of both or one a side. Only a guest has one: losses that nobody would
/// draw are refused.
fn read_netem(item: Item, stacks: Stacks) -> Result<[f64; 2]> {
    let whole = item.clone();
    let loss = |item: Item| Ok(item.into_table()?.parameters(NETEM)?.number("loss"));
    let has = |key: &str| matches!(&whole.node.value, Toml::Table(entries) if entries.iter().any(|(k, _)| k == key));
    if !has("client") && !has("server") {
        if !stacks.iter().any(|stack| stack.is_guest()) {
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
        if !stack.is_guest() {
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

/// Adds the keys of [`PARAMETERS`] to the canonical form of a transport.
pub(super) fn describe(map: &mut Map<String, Json>, stacks: Stacks, guest: &GuestSpec) {
    let table = |pairs: &[(String, String)]| -> Map<String, Json> {
        pairs.iter().map(|(name, value)| (name.clone(), Json::from(value.as_str()))).collect()
    };
    let (name, kernel) = &guest.kernel;
    let kernel = match kernel {
        Some(kernel) => json!({ "name": name, "sha256": kernel.digest }),
        None => json!({ "name": name }),
    };
    let sides = ["client", "server"].into_iter().zip(stacks).zip(guest.netem);
    let emulated = sides.filter(|((_, stack), _)| stack.is_guest());
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
}
