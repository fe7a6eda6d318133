//! One end of a flow. All sockets are made ready before anything runs; then each end has a thread of its own.

use crate::datagram::Datagrams;
use crate::failure::Failure;
use crate::report;
use crate::samples::Samples;
use crate::socket::{SOL_SCTP, Socket, sockaddr};
use crate::{command, stream};
use std::net::{Ipv4Addr, SocketAddrV4};
use vazao_guest_protocol::{End, Event, Flow, Role, Sctp, Task, Transfer, Transport};

// linux/sctp.h, not in libc.
const SCTP_FRAGMENT_INTERLEAVE: i32 = 18;
const SCTP_BINDX_ADD: i32 = 100;
const SCTP_INTERLEAVING_SUPPORTED: i32 = 125;

/// A flow's end that is ready to run.
pub struct Ready {
    number: u32,
    role: Role,
    start: u64,
    task: Prepared,
}

/// A task with what it needs.
enum Prepared {
    Program(String),
    Transfer(Transfer, Socket),
}

impl Ready {
    /// Makes the socket of a transfer, with its options and its local address; a server's listens. For a program, makes the
    /// root of programs.
    ///
    /// # Errors
    /// Settings of the flow that cannot be had, and why.
    pub fn new(flow: Flow) -> Result<Ready, String> {
        let Flow { number, role, start, task } = flow;
        let wrong = |what: String, failure: Failure| format!("flow {number} {what}: {failure}");
        let task = match task {
            Task::Program(command) => {
                command::root().map_err(|failure| wrong("the host's root".to_owned(), failure))?;
                Prepared::Program(command)
            }
            Task::Transfer(transfer) => {
                let (kind, protocol) = match transfer.transport {
                    Transport::Tcp { .. } => (libc::SOCK_STREAM, libc::IPPROTO_TCP),
                    Transport::Mptcp { .. } => (libc::SOCK_STREAM, libc::IPPROTO_MPTCP),
                    Transport::Sctp(_) => (libc::SOCK_STREAM, libc::IPPROTO_SCTP),
                    Transport::Udp { .. } => (libc::SOCK_DGRAM, libc::IPPROTO_UDP),
                };
                let socket = Socket::new(kind, protocol).map_err(|failure| wrong("its transport".into(), failure))?;
                for SocketOption { words, level, option, value } in options(&transfer.transport) {
                    socket.set(level, option, &value).map_err(|failure| wrong(words, failure))?;
                }
                let attached = attach(&transfer, role, &socket);
                attached.map_err(|failure| wrong(format!("local={}", transfer.local), failure))?;
                Prepared::Transfer(transfer, socket)
            }
        };
        Ok(Ready { number, role, start, task })
    }

    /// Runs the end to its end and reports how that was.
    pub fn run(self, samples: &Samples) {
        let Ready { number: flow, role, start, task } = self;
        let outcome = match task {
            Prepared::Program(command) => command::run(flow, &command, start),
            Prepared::Transfer(transfer, socket) => {
                let Transfer { transport, act, .. } = &transfer;
                let done = match *transport {
                    Transport::Udp { payload, rate } => Datagrams { flow, payload, rate }.run(act, start, &socket),
                    _ => stream::run(flow, &transfer, role, start, socket, samples),
                };
                done.map(|()| End::Closed)
            }
        };
        let failed = |failure: Failure| End::Failed { error: failure.code(), call: failure.call.to_owned() };
        report::event(flow, Event::Over(outcome.unwrap_or_else(failed)));
    }
}

/// An option of a socket, and the words for it in messages.
struct SocketOption {
    words: String,
    level: i32,
    option: i32,
    value: Vec<u8>,
}

impl SocketOption {
    fn new(words: String, level: i32, option: i32, value: &[i32]) -> SocketOption {
        SocketOption { words, level, option, value: value.iter().flat_map(|word| word.to_ne_bytes()).collect() }
    }

    /// Sets the size of a buffer, whatever net.core.wmem_max and rmem_max are.
    fn buffer(name: &str, bytes: i32, option: i32) -> SocketOption {
        SocketOption::new(format!("{name}={bytes}"), libc::SOL_SOCKET, option, &[bytes])
    }

    fn congestion(control: &str) -> SocketOption {
        let (words, value) = (format!("cc={control}"), control.as_bytes().to_vec());
        SocketOption { words, level: libc::IPPROTO_TCP, option: libc::TCP_CONGESTION, value }
    }
}

/// Returns the options of a transport's socket.
fn options(transport: &Transport) -> Vec<SocketOption> {
    let mut options = Vec::new();
    // Messages may only interleave where the socket lets their parts do (RFC 8260 section 4.3.1). The second value is a struct
    // sctp_assoc_value: association, value.
    if let Transport::Sctp(Sctp { interleaving: true, .. }) = transport {
        let option = |option, value| SocketOption::new("interleaving=1".into(), SOL_SCTP, option, value);
        options.push(option(SCTP_FRAGMENT_INTERLEAVE, &[2]));
        options.push(option(SCTP_INTERLEAVING_SUPPORTED, &[0, 1]));
    }
    options.push(SocketOption::new("reuse=1".into(), libc::SOL_SOCKET, libc::SO_REUSEADDR, &[1]));
    match transport {
        Transport::Tcp { control, send_buffer, receive_buffer } => {
            options.push(SocketOption::congestion(control));
            options.extend(send_buffer.map(|bytes| SocketOption::buffer("sndbuf", bytes, libc::SO_SNDBUFFORCE)));
            options.extend(receive_buffer.map(|bytes| SocketOption::buffer("rcvbuf", bytes, libc::SO_RCVBUFFORCE)));
        }
        Transport::Mptcp { control } => options.push(SocketOption::congestion(control)),
        Transport::Sctp(_) | Transport::Udp { .. } => {}
    }
    options
}

/// Gives the socket its local address or addresses.
fn attach(transfer: &Transfer, role: Role, socket: &Socket) -> Result<(), Failure> {
    let Transfer { local, peer, transport, .. } = transfer;
    let port = local.port();
    // Further subflows come to other addresses of the host.
    let any = role == Role::Server && matches!(transport, Transport::Mptcp { .. });
    socket.bind(SocketAddrV4::new(if any { Ipv4Addr::UNSPECIFIED } else { *local.ip() }, port))?;
    if let Transport::Sctp(Sctp { locals, .. }) = transport {
        for address in locals.iter().filter(|address| *address != local.ip()) {
            socket.set(SOL_SCTP, SCTP_BINDX_ADD, &sockaddr(SocketAddrV4::new(*address, port)))?;
        }
    }
    match (transport, role) {
        (Transport::Udp { .. }, _) => socket.connect(*peer),
        (_, Role::Server) => socket.listen(),
        (_, Role::Client) => Ok(()),
    }
}
