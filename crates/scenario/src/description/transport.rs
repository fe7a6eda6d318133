//! The `transport` table of a flow: protocol, stacks and settings.

use crate::document::reader::{Item, Table, entry_json};
use crate::document::{Result, Toml};
use crate::model::extensions::Extensions;
use crate::model::multipath::MultipathSpec;
use crate::model::plugin::{ControlFactory, ControlSpec, Plugins, SlowStartSpec};
use crate::model::protocol::{Controls, Reading};
use crate::model::scenario::{Pack, TransportSpec};
use crate::model::stack::Stack;
use crate::packs::tcp::like;
use crate::packs::{DEFAULT, TRANSPORTS};
use crate::stacks::{self, STACKS};
use serde_json::Value as Json;
use std::sync::Arc;
use vazao_congestion::CONGESTION_CONTROLS;
use vazao_engine::registry::Parameters;

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
    let differs = spec != *other;
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
    let (stacks, guest) = stacks::read(entry, &mut table, extensions)?;
    stacks::refuse(entry, &whole, &table, stacks, &guest)?;
    let sender = stacks[usize::from(!client_sends)];
    let reading = Reading { whole: &whole, stacks, schedulers: &extensions.schedulers };
    let written = table.clone();
    (pack.expand)(&mut table)?;
    let control = take_control(&mut table, pack.controls, sender, &extensions.controls)?;
    (sender.refuse)(&table, &control)?;
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
    (sender.check)(&given, &control, &parameters)?;
    refuse_idle(&written, pack, &parameters)?;
    if let Some(rule) = pack.rules.iter().find(|rule| (rule.breaks)(stacks, &parameters)) {
        return Err(whole.error(rule.problem));
    }
    let tls = (pack.tls)(&parameters).map_err(|problem| whole.error(problem))?;
    if tls.is_some() && reading.has_guest() {
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
    sender: &Stack,
    plugins: &Plugins<ControlFactory>,
) -> Result<ControlSpec> {
    match controls {
        Controls::None => Ok(ControlSpec::bare("none")),
        Controls::Own(name) => table.take("cc").map_or(Ok(ControlSpec::bare(name)), |cc| read_control(cc, plugins)),
        Controls::OfStack(name) => {
            let cc = table.take("cc").unwrap_or_else(|| Item::named(name));
            (sender.read_control)(&cc)?.map_or_else(|| read_control(cc, plugins), Ok)
        }
    }
}

fn read_control(item: Item, plugins: &Plugins<ControlFactory>) -> Result<ControlSpec> {
    if let Some(own) = ControlSpec::own(&item, plugins)? {
        return Ok(own);
    }
    let whole = item.clone();
    let (entry, table) = item.entry("congestion control", CONGESTION_CONTROLS).map_err(|error| {
        let Toml::Text(named) = &whole.node.value else { return error };
        STACKS.iter().find(|stack| stack.own_control(named).is_some()).map_or(error, |Stack { name, title, .. }| {
            whole.error(format!("this one only {title} has; write stack = {name:?} beside it"))
        })
    })?;
    let parameters = table.parameters(entry.parameters)?;
    Ok(ControlSpec { parameters, ..ControlSpec::bare(entry.name) })
}

/// Describes a transport in canonical form.
pub(crate) fn transport_json(spec: &TransportSpec) -> Json {
    let TransportSpec { entry, parameters, control, slow_start, multipath, stacks, guest, .. } = spec;
    let mut transport = entry_json(entry.name, parameters);
    // What others than the parameters' declaration read. Some of it follows from the protocol.
    let elsewhere = ["cc", "slow_start", "scheduler", "path_manager", "path_scheduler"];
    elsewhere.into_iter().chain(stacks::keys()).for_each(|key| drop(transport.shift_remove(key)));
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
    transport.extend(stacks::describe(*stacks, guest));
    if let Some((_, receiver)) = &spec.receiver {
        transport.insert("receiver".into(), transport_json(receiver));
    }
    transport.into()
}
