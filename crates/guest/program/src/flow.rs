//! A flow's end: its socket is made ready with all others before anything runs; then it has a thread of its own.

use crate::failure::Failure;
use crate::info::Samples;
use crate::plan::{Flow, Role, Transport};
use crate::report;
use crate::socket::{Socket, sockaddr};
use crate::{command, datagram, stream};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Not in libc: linux/sctp.h.
pub const SOL_SCTP: i32 = 132;
pub const SCTP_NODELAY: i32 = 3;
const SCTP_MAXSEG: i32 = 13;
const SCTP_FRAGMENT_INTERLEAVE: i32 = 18;
const SCTP_BINDX_ADD: i32 = 100;
const SCTP_INTERLEAVING_SUPPORTED: i32 = 125;

/// A flow with its socket; a command has none.
pub struct Ready {
    flow: Flow,
    socket: Option<Socket>,
}

impl Ready {
    /// Makes the flow's socket, with its options and its local address. A server's listens.
    ///
    /// # Errors
    /// What of the flow cannot be had, and why.
    pub fn new(flow: Flow) -> Result<Ready, String> {
        let wrong = |what: String, failure: Failure| format!("flow {} {what}: {failure}", flow.number);
        let (kind, protocol) = match flow.transport {
            Transport::Tcp => (libc::SOCK_STREAM, libc::IPPROTO_TCP),
            Transport::Mptcp => (libc::SOCK_STREAM, libc::IPPROTO_MPTCP),
            Transport::Sctp => (libc::SOCK_STREAM, libc::IPPROTO_SCTP),
            Transport::Udp => (libc::SOCK_DGRAM, libc::IPPROTO_UDP),
            Transport::Command => {
                command::root().map_err(|failure| wrong("the host's root".to_owned(), failure))?;
                return Ok(Ready { flow, socket: None });
            }
        };
        let socket = Socket::new(kind, protocol).map_err(|failure| wrong("its transport".to_owned(), failure))?;
        for choice in choices(&flow) {
            let set = socket.set(choice.level, choice.option, &choice.value);
            set.map_err(|failure| wrong(choice.words, failure))?;
        }
        attach(&flow, &socket).map_err(|failure| wrong(format!("local={}", flow.local), failure))?;
        Ok(Ready { flow, socket: Some(socket) })
    }

    /// Runs the flow to its end, and reports how that was.
    pub fn run(self, samples: &Samples) {
        let Ready { flow, socket } = self;
        let outcome = match (flow.transport, socket) {
            (Transport::Udp, Some(socket)) => datagram::run(&flow, &socket).map(|()| "ok".to_owned()),
            (_, Some(socket)) => stream::run(&flow, socket, samples).map(|()| "ok".to_owned()),
            (_, None) => command::run(&flow),
        };
        match outcome {
            Ok(end) => report!("over {} {end}", flow.number),
            Err(failure) => report!("over {} {} {}", flow.number, failure.code(), failure.call),
        }
    }
}

/// A socket option: what the plan calls it, and the kernel.
struct Choice {
    words: String,
    level: i32,
    option: i32,
    value: Vec<u8>,
}

/// The options that the flow asks for.
fn choices(flow: &Flow) -> Vec<Choice> {
    let (level, nodelay, mss) = match flow.transport {
        Transport::Sctp => (SOL_SCTP, SCTP_NODELAY, SCTP_MAXSEG),
        _ => (libc::IPPROTO_TCP, libc::TCP_NODELAY, libc::TCP_MAXSEG),
    };
    let number = |name: &str, asked: Option<i32>, level, option| {
        let choice = |value: i32| Choice {
            words: format!("{name}={value}"),
            level,
            option,
            value: value.to_ne_bytes().to_vec(),
        };
        asked.map(choice)
    };
    let congestion = |name: &String| Choice {
        words: format!("cc={name}"),
        level: libc::IPPROTO_TCP,
        option: libc::TCP_CONGESTION,
        value: name.clone().into_bytes(),
    };
    // Messages may only interleave where the socket lets their parts do (RFC 8260 section 4.3.1). The option's value is a
    // struct sctp_assoc_value: association, value.
    let interleaving = |option: i32, value: &[i32]| Choice {
        words: "interleaving=1".to_owned(),
        level,
        option,
        value: value.iter().flat_map(|word| word.to_ne_bytes()).collect(),
    };
    let asked = [
        flow.interleaving.then(|| interleaving(SCTP_FRAGMENT_INTERLEAVE, &[2])),
        flow.interleaving.then(|| interleaving(SCTP_INTERLEAVING_SUPPORTED, &[0, 1])),
        number("reuse", Some(1), libc::SOL_SOCKET, libc::SO_REUSEADDR),
        flow.cc.as_ref().map(congestion),
        // What the plan asks for, whatever net.core.wmem_max and rmem_max are.
        number("sndbuf", flow.sndbuf, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE),
        number("rcvbuf", flow.rcvbuf, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE),
        number("mss", flow.mss, level, mss),
        number("nodelay", flow.nodelay.then_some(1), level, nodelay),
    ];
    asked.into_iter().flatten().collect()
}

/// Gives the socket its local address or addresses.
fn attach(flow: &Flow, socket: &Socket) -> Result<(), Failure> {
    let server = flow.role == Role::Server;
    // A further subflow comes to another of the host's addresses.
    let any = server && flow.transport == Transport::Mptcp;
    let local = SocketAddrV4::new(if any { Ipv4Addr::UNSPECIFIED } else { *flow.local.ip() }, flow.local.port());
    socket.bind(local)?;
    let others = flow.locals.iter().filter(|address| *address != flow.local.ip());
    for address in others {
        socket.set(SOL_SCTP, SCTP_BINDX_ADD, &sockaddr(SocketAddrV4::new(*address, flow.local.port())))?;
    }
    match flow.transport {
        Transport::Udp => socket.connect(flow.peer),
        _ if server => socket.listen(),
        _ => Ok(()),
    }
}
