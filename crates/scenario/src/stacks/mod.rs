//! Stacks: everything specific to one, with the transports that it plays, is in its module.

mod linux;
mod ns2;
mod quinn;
mod vazao;

use crate::document::reader::{Item, Table};
use crate::document::{Result, Toml};
use crate::model::extensions::Extensions;
use crate::model::guest::{GuestSpec, Simulator};
use crate::model::scenario::{Pack, TransportSpec};
use crate::model::stack::{Mechanism, Part, Stack, Stacks};
use serde_json::{Map, Value as Json, json};
use vazao_application::Sides;
use vazao_engine::registry::{Entry, Kind, Parameter, unknown};

/// All stacks; the first plays where none is named.
pub const STACKS: &[Stack] = &[vazao::ENTRY, linux::ENTRY, quinn::ENTRY, ns2::ENTRY];

/// Names of all stacks.
pub(crate) const NAMES: [&str; STACKS.len()] = {
    let mut names = [""; STACKS.len()];
    let mut i = 0;
    while i < STACKS.len() {
        names[i] = STACKS[i].name;
        i += 1;
    }
    names
};

/// Key of a transport that chooses the stacks.
const STACK: Parameter = Parameter::new(
    "stack",
    Kind::Choice(&NAMES),
    STACKS[0].name,
    "whose implementation; or one a side: { client = \"linux\", server = \"vazao\" }",
);

/// Returns the keys about stacks, of all transports.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    [STACK.name].into_iter().chain(STACKS.iter().flat_map(|stack| stack.parameters).map(|own| own.name))
}

/// Returns the parameters of a transport: its own, and the keys about the stacks that play it, if it is not ours alone.
pub(crate) const fn with_keys<const N: usize>(transport: &str, own: &[Parameter]) -> [Parameter; N] {
    join(&lists(transport, own))
}

/// Returns the number of those parameters.
pub(crate) const fn count(transport: &str, own: &[Parameter]) -> usize {
    let (lists, mut count, mut i) = (lists(transport, own), 0, 0);
    while i < lists.len() {
        count += lists[i].len();
        i += 1;
    }
    count
}

const fn lists<'a>(transport: &str, own: &'a [Parameter]) -> [&'a [Parameter]; STACKS.len() + 2] {
    let mut lists: [&[Parameter]; STACKS.len() + 2] = [&[]; STACKS.len() + 2];
    lists[0] = own;
    let mut i = 0;
    while i < STACKS.len() {
        if names(&STACKS[i], transport) {
            lists[1] = &[STACK];
            lists[i + 2] = STACKS[i].parameters;
        }
        i += 1;
    }
    lists
}

/// Returns whether a stack names a transport among those that it plays; ours names none, as it plays all.
const fn names(stack: &Stack, transport: &str) -> bool {
    let Some(known) = stack.transports else { return false };
    let mut i = 0;
    while i < known.len() {
        let (one, other) = (known[i].transport.as_bytes(), transport.as_bytes());
        let mut at = 0;
        while at < one.len() && at < other.len() && one[at] == other[at] {
            at += 1;
        }
        if at == one.len() && at == other.len() {
            return true;
        }
        i += 1;
    }
    false
}

/// Joins lists of parameters.
pub(crate) const fn join<const N: usize>(lists: &[&[Parameter]]) -> [Parameter; N] {
    let (mut all, mut count, mut list) = ([STACK; N], 0, 0);
    while list < lists.len() {
        let mut i = 0;
        while i < lists[list].len() {
            all[count] = lists[list][i];
            (count, i) = (count + 1, i + 1);
        }
        list += 1;
    }
    all
}

/// Takes the keys about stacks out of a transport's table: the stacks of client and server, and their settings.
pub(crate) fn read(entry: &Entry<Pack>, table: &mut Table, extensions: &Extensions) -> Result<(Stacks, GuestSpec)> {
    for key in keys().filter(|key| entry.parameters.iter().all(|known| known.name != *key)) {
        let problem = format!("is for Linux guests, which there are none of over {}; leave it out", entry.name);
        table.refuse(key, problem)?;
    }
    let stacks = match table.take(STACK.name) {
        None => [&STACKS[0]; 2],
        Some(item) if matches!(item.node.value, Toml::Table(_)) => read_sides(item)?,
        Some(item) => [find(&item)?; 2],
    };
    let mut guest = GuestSpec::default();
    STACKS.iter().try_for_each(|stack| (stack.read)(table, stacks, extensions, &mut guest))?;
    guest.simulator = extensions.simulators.get(stacks[0].name).cloned();
    let here = guest.simulator.as_ref().map(|simulator| simulator.digest.as_str());
    check_installed(table.take_resolved("simulator"), stacks[0].name, here)?;
    Ok((stacks, guest))
}

fn read_sides(item: Item) -> Result<Stacks> {
    let whole = item.clone();
    let mut sides = item.into_table()?;
    let mut side = |key| sides.take(key).map_or(Ok(&STACKS[0]), |item| find(&item));
    let stacks = [side("client")?, side("server")?];
    sides.finish()?;
    match stacks.iter().find(|stack| stack.mechanism == Mechanism::Simulator) {
        Some(Stack { name, title, .. }) if stacks[0] != stacks[1] => {
            Err(whole.error(format!("{title} plays both sides of a flow; write stack = {name:?}")))
        }
        _ => Ok(stacks),
    }
}

fn find(item: &Item) -> Result<&'static Stack> {
    let name = item.text()?;
    let found = STACKS.iter().find(|stack| stack.name == name);
    found.ok_or_else(|| item.error(unknown("stack", name, NAMES)))
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

/// Refuses stacks that do not play a transport, alone or with each other, and parameters that they would ignore.
pub(crate) fn refuse(
    entry: &Entry<Pack>,
    whole: &Item,
    table: &Table,
    stacks: Stacks,
    guest: &GuestSpec,
) -> Result<()> {
    let mut plays = Vec::new();
    for stack in stacks {
        let Some(play) = stack.play(entry.name) else {
            let possible = STACKS.iter().filter(|stack| stack.plays(entry.name));
            let possible: Vec<_> = possible.map(|stack| format!("stack = {:?}", stack.name)).collect();
            let (name, stack, possible) = (entry.name, stack.name, possible.join(" or "));
            return Err(whole.error(format!("there is no {name} with stack {stack:?} yet; write {possible}")));
        };
        plays.push(play);
    }
    if stacks[0] != stacks[1] {
        let problem = plays.iter().find_map(|play| (play.apart)(guest));
        return problem.map_or(Ok(()), |problem| Err(whole.error(problem)));
    }
    let Some(accepted) = plays[0].accepted else { return Ok(()) };
    refuse_others(table, entry.parameters, accepted, stacks[0].decision)
}

/// Refuses parameters of `all` that a stack does not accept: a setting without effect is a mistake.
fn refuse_others(table: &Table, all: &[Parameter], accepted: &[&str], decision: &str) -> Result<()> {
    for parameter in all.iter().filter(|parameter| !accepted.contains(&parameter.name)) {
        let problem = format!("is {decision}. What a guest can be told: {}", accepted.join(", "));
        table.refuse_idle(parameter.name, problem)?;
    }
    Ok(())
}

/// Returns why the stacks of a flow cannot play an application.
pub(crate) fn unfit(transport: &TransportSpec, sides: &Sides) -> Option<&'static str> {
    let sender = usize::from(!sides.client_sends);
    let parts = transport.stacks.into_iter().enumerate();
    let mut parts = parts.map(|(side, stack)| (stack, side == sender));
    parts.find_map(|(stack, sends)| (stack.unfit)(&Part { sides, sends, is_datagrams: transport.is_datagrams() }))
}

/// Returns why a stack without a host of its own cannot play a part.
fn has_no_programs(part: &Part<'_>) -> Option<&'static str> {
    part.sides
        .is_program()
        .then_some("runs programs of the host, for which both sides need transport.stack = \"linux\"")
}

/// Describes the stacks and their settings in canonical form, but for our own stack on both sides.
pub(crate) fn describe(stacks: Stacks, guest: &GuestSpec) -> Map<String, Json> {
    let mut map = Map::new();
    let [client, server] = stacks;
    if client != server {
        map.insert(STACK.name.into(), json!({ "client": client.name, "server": server.name }));
    } else if *client != STACKS[0] {
        map.insert(STACK.name.into(), client.name.into());
    }
    if let Some(Simulator { version, digest }) = &guest.simulator {
        map.insert("simulator".into(), json!({ "version": version, "sha256": digest }));
    }
    STACKS.iter().filter(|stack| stacks.contains(stack)).for_each(|stack| (stack.describe)(&mut map, stacks, guest));
    map
}
