//! The `transport` table of a flow: protocol, stacks and settings.

use crate::document::reader::{Item, Table, entry_json};
use crate::document::{Result, Toml};
use crate::model::extensions::Extensions;
use crate::model::multipath::MultipathSpec;
use crate::model::plugin::{ControlFactory, ControlSpec, Plugins, SlowStartSpec};
use crate::model::protocol::{Controls, Reading};
use crate::model::scenario::{Pack, TransportSpec};
use crate::model::stack::{self, LINUX_CONTROLS, Stack, read_stacks, stacks_json};
use crate::packs::library::quinn;
use crate::packs::tcp::like;
use crate::packs::{DEFAULT, KERNEL, TRANSPORTS, refuse_own};
use serde_json::Value as Json;
use std::sync::Arc;
use vazao_congestion::CONGESTION_CONTROLS;
use vazao_engine::registry::{Parameters, unknown};

/// Reads a transport. The congestion control is that of the client if `client_sends`, else of the server.
pub(crate) fn read_transport(item: Item, client_sends: bool, extensions: &Extensions) -> Result<TransportSpec> {
    if item.is_resolved() {
        return read_resolved(item, client_sends, extensions);
    }
    let Some(sides) = like::of_sides(&item)? else { return read_side(item, client_sends, extensions) };
    let receiver = usize::from(client_sends);
    let mut specs = Vec::new();
    for side in sides {
        specs.push(read_side(side, client_sends, extensions)?);
    }
    let other = Arc::new(specs.remove(receiver));
    let spec = specs.remove(0);
    let differs = transport_json(&spec) != transport_json(&other);
    Ok(TransportSpec { receiver: differs.then_some((receiver, other)), ..spec })
}

/// Reads a transport of the canonical form, which says what the receiving side has otherwise under a key of its own.
fn read_resolved(mut item: Item, client_sends: bool, extensions: &Extensions) -> Result<TransportSpec> {
    let read = |item: Item| read_side(item, client_sends, extensions);
    let receiver = item.extract("receiver").map(read).transpose()?;
    let receiver = receiver.map(|spec| (usize::from(client_sends), Arc::new(spec)));
    Ok(TransportSpec { receiver, ..read(item)? })
}

/// Reads a transport whose sides have the same settings.
fn read_side(item: Item, client_sends: bool, extensions: &Extensions) -> Result<TransportSpec> {
    let whole = item.clone();
    let (entry, mut table) = item.with_kind(DEFAULT.name).entry("transport", TRANSPORTS)?;
    let pack = &entry.build;
    for parameter in stack::PARAMETERS.iter().filter(|own| entry.parameters.iter().all(|known| known.name != own.name))
    {
        let problem = format!("is for Linux guests, which there are none of over {}; leave it out", entry.name);
        table.refuse(parameter.name, problem)?;
    }
    let (stacks, guest) = read_stacks(&mut table, &extensions.kernels, &extensions.simulators)?;
    if let Some(stack) = stacks.iter().find(|stack| !pack.stacks.contains(stack)) {
        let possible: Vec<_> = pack.stacks.iter().map(|s| format!("stack = {:?}", s.name())).collect();
        let (name, stack) = (entry.name, stack.name());
        return Err(
            whole.error(format!("there is no {name} with stack {stack:?} yet; write {}", possible.join(" or ")))
        );
    }
    if pack.kernel.is_some_and(|kernel| kernel.needs_all) && stacks.contains(&Stack::Vazao) && guest.netem != [0.0; 2] {
        let problem = "netem: what a guest loses of SCTP before it leaves cannot be read by ours, which counts chunks; write \
                       stack = \"linux\" for both sides, or the loss of a link of the network";
        return Err(whole.error(problem));
    }
    let sender = stacks[usize::from(!client_sends)];
    let reading = Reading { whole: &whole, stacks, schedulers: &extensions.schedulers };
    let accepted = pack.kernel.map_or(&[][..], |kernel| kernel.accepted);
    if stacks == [Stack::Linux; 2] && !accepted.is_empty() {
        let own = &entry.parameters[..entry.parameters.len() - stack::PARAMETERS.len()];
        refuse_own(&table, own, accepted, KERNEL)?;
    }
    (pack.refuse)(&table, &reading)?;
    let written = table.clone();
    (pack.expand)(&mut table)?;
    let control = take_control(&mut table, pack.controls, sender, &extensions.controls)?;
    if sender == Stack::Quinn {
        quinn::refuse_ignored(&table, &control)?;
    }
    let named = (pack.take)(&mut table, &reading)?;
    let slow_start = match pack.slow_start {
        (name, true) => {
            let start = table.take("slow_start").unwrap_or_else(|| Item::named(name));
            SlowStartSpec::read(start, &extensions.slow_starts)?
        }
        (name, false) => SlowStartSpec::bare(name),
    };
    let given = table.clone();
    let parameters = table.parameters(entry.parameters)?;
    if sender == Stack::Quinn {
        quinn::check(&given, &control, &parameters)?;
    }
    refuse_idle(&written, pack, &parameters)?;
    if let Some(rule) = pack.rules.iter().find(|rule| (rule.breaks)(stacks, &parameters)) {
        return Err(whole.error(rule.problem));
    }
    let tls = (pack.tls)(&parameters).map_err(|problem| whole.error(problem))?;
    if tls.is_some() && stacks.contains(&Stack::Linux) {
        return Err(whole.error("a guest's flow has no TLS of ours; leave tls out, or stack"));
    }
    let multipath = (pack.settle)(&reading, named, &parameters)?;
    Ok(TransportSpec { entry, parameters, tls, control, slow_start, multipath, stacks, sender, guest, receiver: None })
}

/// Refuses what was written and has no effect beside the rest.
fn refuse_idle(written: &Table, pack: &Pack, parameters: &Parameters) -> Result<()> {
    for need in pack.needs.iter().filter(|need| !(need.has_effect)(parameters)) {
        written.refuse_idle(need.key, need.problem)?;
    }
    Ok(())
}

/// Takes the congestion control of a sender's stack out of a transport's table.
fn take_control(
    table: &mut Table,
    controls: Controls,
    sender: Stack,
    plugins: &Plugins<ControlFactory>,
) -> Result<ControlSpec> {
    match controls {
        Controls::None => Ok(ControlSpec::bare("none")),
        Controls::Own(name) => table.take("cc").map_or(Ok(ControlSpec::bare(name)), |cc| read_control(cc, plugins)),
        Controls::OfStack(name) => {
            let cc = table.take("cc").unwrap_or_else(|| Item::named(name));
            match sender {
                Stack::Linux => read_linux_control(&cc),
                Stack::Quinn if let Some(own) = quinn::read_control(&cc)? => Ok(own),
                Stack::Quinn | Stack::Vazao | Stack::Ns2 => read_control(cc, plugins),
            }
        }
    }
}

fn read_control(item: Item, plugins: &Plugins<ControlFactory>) -> Result<ControlSpec> {
    if let Some(own) = ControlSpec::own(&item, plugins)? {
        return Ok(own);
    }
    let whole = item.clone();
    let (entry, table) = item.entry("congestion control", CONGESTION_CONTROLS).map_err(|error| {
        let named = |name: &str| whole.node.value == Toml::Text(name.into());
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
    // A study may write a name as a table with nothing but its kind.
    let item = match &item.node.value {
        Toml::Table(_) => {
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

/// Describes a transport in canonical form.
pub(crate) fn transport_json(spec: &TransportSpec) -> Json {
    let TransportSpec { entry, parameters, control, slow_start, multipath, stacks, guest, .. } = spec;
    let mut transport = entry_json(entry.name, parameters);
    // What others than the parameters' declaration read. Some of it follows from the protocol.
    let elsewhere = ["cc", "slow_start", "scheduler", "path_manager", "path_scheduler"];
    let of_stacks = stack::PARAMETERS.iter().map(|parameter| parameter.name);
    elsewhere.into_iter().chain(of_stacks).for_each(|key| drop(transport.shift_remove(key)));
    let has_control = match spec.pack().controls {
        Controls::None => false,
        Controls::OfStack(_) => true,
        Controls::Own(name) => control.json() != ControlSpec::bare(name).json(),
    };
    if has_control {
        transport.insert("cc".into(), control.json().into());
    }
    if let Some(MultipathSpec { scheduler, path_manager }) = multipath {
        let key = if path_manager.is_some() { "scheduler" } else { "path_scheduler" };
        transport.insert(key.into(), scheduler.json().into());
        if let Some((manager, parameters)) = path_manager {
            transport.insert("path_manager".into(), entry_json(manager.name, parameters).into());
        }
    }
    if let (_, true) = spec.pack().slow_start {
        transport.insert("slow_start".into(), slow_start.json().into());
    }
    transport.extend(stacks_json(*stacks, guest));
    if let Some((_, receiver)) = &spec.receiver {
        transport.insert("receiver".into(), transport_json(receiver));
    }
    transport.into()
}
