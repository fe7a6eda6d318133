//! Plans: what the first program of a guest sets up, and which ends of flows it plays.

use crate::line::{Coded, Malformed, Words, coded, malformed, push};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Plan of a guest's first program. Times are virtual, in ns; amounts are in bytes, rates in bytes a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Settings before any flow starts, in this order.
    pub setup: Vec<Setup>,
    /// Time between two samples of each open socket; without it, none is taken before the last.
    pub sample: Option<u64>,
    /// Time at which the run ends, whether or not the flows have.
    pub end: Option<u64>,
    /// The flows' ends on this host.
    pub flows: Vec<Flow>,
    /// Whether the guest powers off once its flows are over.
    pub power_off: bool,
}
coded!(struct Plan { setup, sample, end, flows, power_off });

/// One setting of the guest's kernel or network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setup {
    /// Brings a network interface up.
    Interface {
        /// Number, from 0.
        number: u32,
        /// IPv4 address.
        address: Ipv4Addr,
        /// The largest IP packet that it takes.
        mtu: u32,
    },
    /// Limits the segments that an interface's queue gets in one piece.
    Segments {
        /// The interface.
        interface: u32,
        /// The most; 1 to have every segment by itself.
        most: u32,
    },
    /// Makes the kernel's network emulator (`sch_netem`) an interface's queue.
    Netem {
        /// The interface.
        interface: u32,
        /// Part of what is sent that is lost, in units of 2^-32.
        loss: u32,
        /// Seed of its random numbers; Linux 6.1 takes none, and draws from its own generator.
        seed: u64,
    },
    /// Adds a route to one host.
    Route(Route),
    /// Writes a file below `/proc/sys`.
    Sysctl {
        /// Path, with dots for slashes.
        name: String,
        /// Value.
        value: String,
    },
    /// Sets a parameter of a module that is built into the kernel.
    Module {
        /// `module.parameter`.
        name: String,
        /// Value.
        value: String,
    },
    /// Limits the path manager of Multipath TCP.
    MptcpLimits {
        /// Subflows of a connection beside the first.
        subflows: u32,
        /// Addresses that are accepted from a connection's peer.
        addresses: u32,
    },
    /// Gives an address to the path manager of Multipath TCP.
    MptcpEndpoint {
        /// The address.
        address: Ipv4Addr,
        /// Use.
        endpoint: MptcpEndpoint,
    },
}
coded!(enum Setup {
    "interface" => Interface { number, address, mtu },
    "segments" => Segments { interface, most },
    "netem" => Netem { interface, loss, seed },
    "route" => Route(route),
    "sysctl" => Sysctl { name, value },
    "module" => Module { name, value },
    "mptcp-limits" => MptcpLimits { subflows, addresses },
    "mptcp-endpoint" => MptcpEndpoint { address, endpoint }
});

impl fmt::Display for Setup {
    /// Names the setting in messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setup::Interface { number, address, .. } => write!(f, "interface {number} with address {address}"),
            Setup::Segments { interface, .. } => write!(f, "segments at interface {interface}"),
            Setup::Netem { interface, .. } => write!(f, "netem at interface {interface}"),
            Setup::Route(route) => write!(f, "route to {} by interface {}", route.destination, route.interface),
            Setup::Sysctl { name, value } => write!(f, "sysctl {name} {value}"),
            Setup::Module { name, value } => write!(f, "module {name} {value}"),
            Setup::MptcpLimits { .. } => write!(f, "limits of MPTCP's path manager"),
            Setup::MptcpEndpoint { address, .. } => write!(f, "MPTCP endpoint {address}"),
        }
    }
}

/// A route to one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The host's address.
    pub destination: Ipv4Addr,
    /// The interface by which packets leave.
    pub interface: u32,
    /// Source address of packets, unless the socket has one.
    pub source: Ipv4Addr,
    /// The initial congestion window in segments; without it, the kernel's.
    pub initial_window: Option<u32>,
}
coded!(struct Route { destination, interface, source, initial_window });

/// Use of an address in Multipath TCP (`MPTCP_PM_ADDR_FLAG_*` of linux/mptcp.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MptcpEndpoint {
    /// The peer is told of it (ADD_ADDR).
    Announced,
    /// Subflows are opened from it to each address of the peer.
    FullMesh,
}
coded!(enum MptcpEndpoint { "announced" => Announced, "full-mesh" => FullMesh });

/// One end of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The flow's number in the scenario.
    pub number: u32,
    /// End of the flow.
    pub role: Role,
    /// Time at which it connects, sends its first datagram or starts its program; a server listens from the beginning.
    pub start: u64,
    /// Task.
    pub task: Task,
}
coded!(struct Flow { number, role, start, task });

/// End of a flow that a host plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that connects.
    Client,
    /// The end that listens.
    Server,
}
coded!(enum Role { "client" => Client, "server" => Server });

/// Task at one end of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Runs a command of the shell.
    Program(String),
    /// Sends or receives by a socket.
    Transfer(Transfer),
}
coded!(enum Task { "program" => Program(command), "transfer" => Transfer(transfer) });

/// Data in one direction between two sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The socket's own address and port.
    pub local: SocketAddrV4,
    /// Address and port of the peer.
    pub peer: SocketAddrV4,
    /// The socket's protocol and its options.
    pub transport: Transport,
    /// Direction of the data.
    pub act: Act,
}
coded!(struct Transfer { local, peer, transport, act });

/// A transport protocol and its socket options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp {
        /// The kernel's name of the congestion control.
        control: String,
        /// `SO_SNDBUF`; without it, the kernel tunes the buffer.
        send_buffer: Option<i32>,
        /// `SO_RCVBUF`; without it, the kernel tunes the buffer.
        receive_buffer: Option<i32>,
    },
    /// Multipath TCP.
    Mptcp {
        /// The kernel's name of the congestion control.
        control: String,
    },
    /// SCTP.
    Sctp(Sctp),
    /// UDP, at a constant rate.
    Udp {
        /// Payload of a full datagram; at least 8.
        payload: u64,
        /// Payload that a sender sends in a second.
        rate: u64,
    },
}
coded!(enum Transport {
    "tcp" => Tcp { control, send_buffer, receive_buffer },
    "mptcp" => Mptcp { control },
    "sctp" => Sctp(sctp),
    "udp" => Udp { payload, rate }
});

/// An SCTP socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sctp {
    /// Whether I-DATA chunks are offered (RFC 8260).
    pub interleaving: bool,
    /// Addresses of both ends where they have several, the primary ones first.
    pub locals: Vec<Ipv4Addr>,
    /// Addresses of the peer.
    pub peers: Vec<Ipv4Addr>,
}
coded!(struct Sctp { interleaving, locals, peers });

/// Handling of a flow's data at one end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Writes it and closes.
    Send {
        /// Amount of data; without it, what the time allows.
        size: Option<u64>,
        /// Duration of sending, from when the connection is established.
        duration: Option<u64>,
        /// The messages that it consists of; without them, it is written as fast as the connection takes it.
        messages: Option<Messages>,
    },
    /// Reads it until the peer closes.
    Receive {
        /// Amount of data to come, if that is known.
        size: Option<u64>,
        /// Reading rate; without a rate, data is read at once.
        rate: Option<u64>,
    },
}
coded!(enum Act { "send" => Send { size, duration, messages }, "receive" => Receive { size, rate } });

/// Messages written at regular intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// Bytes of each.
    pub size: u64,
    /// Time between two.
    pub interval: u64,
}
coded!(struct Messages { size, interval });
