//! Tasks of a guest at its ends of flows.

use crate::model::scenario::KernelEnd;
use std::net::{Ipv4Addr, SocketAddrV4};
use vazao_application::{Application, Sink, Source};
use vazao_guest_protocol::{Act, Flow, Messages, Role, Task, Transfer};

/// Returns the task of a guest at one end of a flow.
///
/// # Errors
/// The kernel does not support a setting.
pub(super) fn flow(end: &KernelEnd<'_>) -> Result<Flow, String> {
    let (application, start) = match end.role {
        Role::Client => (&end.sides.client, end.flow.start.as_nanos()),
        Role::Server => (&end.sides.server, 0),
    };
    let transfer = |act| {
        let [local, peer] = [end.own, end.peer].map(|socket| SocketAddrV4::new(socket.address.into(), socket.port));
        Ok::<_, String>(Task::Transfer(Transfer { local, peer, transport: (end.protocol().transport)(end)?, act }))
    };
    let task = match application {
        Application::Source(source) => transfer(sending(source))?,
        Application::Sink(sink) => transfer(receiving(sink, end.sides.source()))?,
        Application::Program(command) => Task::Program(with_addresses(command, end)),
        Application::Client(_) | Application::Server(_) | Application::Visit(_) => {
            unreachable!("guests play no dialogues")
        }
    };
    Ok(Flow { number: end.number as u32, role: end.role, start, task })
}

/// Replaces the names of both sides in a command by their addresses.
fn with_addresses(command: &str, end: &KernelEnd<'_>) -> String {
    let [client, server] = match end.role {
        Role::Client => [end.own, end.peer],
        Role::Server => [end.peer, end.own],
    }
    .map(|socket| Ipv4Addr::from(socket.address).to_string());
    command.replace("{client}", &client).replace("{server}", &server)
}

fn sending(source: &Source) -> Act {
    let duration = source.duration().map(|duration| duration.as_nanos());
    let messages = source.pace().map(|(size, interval)| Messages { size, interval: interval.as_nanos() });
    Act::Send { size: source.size(), duration, messages }
}

fn receiving(sink: &Sink, source: Option<&Source>) -> Act {
    // A source with a duration may end before its size.
    let size = source.filter(|source| source.duration().is_none()).and_then(Source::size);
    Act::Receive { size, rate: sink.read_rate().map(|rate| rate.as_bps() / 8) }
}
