//! Tasks of a guest at its ends of flows.

use super::{End, kernel_control};
use crate::model::address::{Addresses, Socket};
use crate::model::transport::KernelProtocol;
use std::net::{Ipv4Addr, SocketAddrV4};
use vazao_application::{Application, Sink, Source};
use vazao_guest_protocol::{Act, Flow, Messages, Role, Sctp, Task, Transfer, Transport};
use vazao_transport::udp::Config;

/// Returns the task of a guest at one end of a flow.
///
/// # Errors
/// The kernel does not support a setting.
pub(super) fn flow(addresses: &Addresses, end: &End<'_>) -> Result<Flow, String> {
    let (application, start) = match end.role {
        Role::Client => (&end.sides.client, end.flow.start.as_nanos()),
        Role::Server => (&end.sides.server, 0),
    };
    let transfer = |act| {
        let [local, peer] = [end.own, end.peer].map(|socket| SocketAddrV4::new(socket.address.into(), socket.port));
        Ok::<_, String>(Task::Transfer(Transfer { local, peer, transport: transport(addresses, end)?, act }))
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
fn with_addresses(command: &str, end: &End<'_>) -> String {
    let [client, server] = match end.role {
        Role::Client => [end.own, end.peer],
        Role::Server => [end.peer, end.own],
    }
    .map(|socket| Ipv4Addr::from(socket.address).to_string());
    command.replace("{client}", &client).replace("{server}", &server)
}

fn transport(addresses: &Addresses, end: &End<'_>) -> Result<Transport, String> {
    let parameters = &end.flow.transport.parameters;
    let control = || kernel_control(end.flow).to_owned();
    let buffer = |name: &str| {
        let fits = |bytes| i32::try_from(bytes).map_err(|_| format!("{name} = {bytes} B is more than Linux can have"));
        parameters.size(name).map(fits).transpose()
    };
    Ok(match end.flow.transport.pack().kernel {
        Some(KernelProtocol::Tcp) => Transport::Tcp {
            control: control(),
            send_buffer: buffer("send_buffer")?,
            receive_buffer: buffer("receive_buffer")?,
        },
        Some(KernelProtocol::Mptcp) => Transport::Mptcp { control: control() },
        Some(KernelProtocol::Udp) => {
            let Config { payload, rate, .. } = Config::from(parameters);
            Transport::Udp { payload: payload.into(), rate: rate.expect("it has a default").as_bps() / 8 }
        }
        Some(KernelProtocol::Sctp) => {
            let [locals, peers] = [end.own, end.peer].map(|socket| {
                let all = || all_addresses(addresses, socket);
                if parameters.flag("multihomed") { all() } else { Vec::new() }
            });
            Transport::Sctp(Sctp { interleaving: parameters.flag("interleaving"), locals, peers })
        }
        None => unreachable!("no kernel speaks QUIC"),
    })
}

/// Returns all addresses of a socket's host, the socket's own first.
fn all_addresses(addresses: &Addresses, socket: Socket) -> Vec<Ipv4Addr> {
    let node = addresses.interfaces[socket.interface].node;
    let others = addresses.of(node).filter(|&index| index != socket.interface);
    let indices = std::iter::once(socket.interface).chain(others);
    indices.map(|index| addresses.interfaces[index].address.into()).collect()
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
