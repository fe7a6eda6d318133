//! Protocols as a guest's kernel plays them: the interface that each protocol fills in.

use super::address::{Addresses, Socket};
use super::flow::FlowSpec;
use super::stack::LINUX_CONTROLS;
use crate::endpoint::codec::Codec;
use std::net::Ipv4Addr;
use vazao_application::Sides;
use vazao_engine::registry::Parameters;
use vazao_guest_protocol::{Role, Setup, Transport};

/// Function that makes the codec of a flow by its number between one of our machines and a guest.
type MakeTranslator = fn(&Addresses, usize) -> Box<dyn Codec>;

/// Protocol as a guest's kernel plays it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelProtocol {
    /// Parameters that guests at both ends accept; their kernels decide the others.
    pub accepted: &'static [&'static str],
    /// Makes the codec of a flow between one of our machines and a guest, if they can play together.
    pub translator: Option<MakeTranslator>,
    /// Whether that codec must see all data of a guest leave, in its order.
    pub needs_all: bool,
    /// Returns what the guest opens for an end of a flow, or why the kernel has no such thing.
    pub transport: fn(&KernelEnd<'_>) -> Result<Transport, String>,
    /// Returns the kernel's switches that a flow sets, below `/proc/sys`.
    pub switches: fn(&Parameters) -> Vec<(&'static str, bool)>,
    /// Returns the bytes of a full packet, with the options of every segment.
    pub mtu: fn(&Parameters) -> u64,
    /// Returns the initial window in segments, unless it is the kernel's.
    pub initial_window: fn(&Parameters) -> Option<u64>,
    /// Returns the bytes of the buffers that a flow asks for.
    pub buffers: fn(&Parameters) -> u64,
    /// Settings in which the flows of a host agree.
    pub common: &'static [Common],
    /// Returns the setup of the path manager at a flow's end; nothing where the kernel has none for the protocol.
    pub path_manager: fn(&KernelEnd<'_>) -> Vec<Setup>,
}

impl KernelProtocol {
    /// Creates a protocol of Ethernet's packets for which the kernel decides everything.
    pub const fn new(transport: fn(&KernelEnd<'_>) -> Result<Transport, String>) -> KernelProtocol {
        KernelProtocol {
            accepted: &[],
            translator: None,
            needs_all: false,
            transport,
            switches: |_| Vec::new(),
            mtu: |_| 1500,
            initial_window: |_| None,
            buffers: |_| 0,
            common: &[],
            path_manager: |_| Vec::new(),
        }
    }
}

/// Setting of which a host has one, or one towards each peer.
#[derive(Debug)]
pub(crate) struct Common {
    /// Words for it in an error message.
    pub words: &'static str,
    pub per_peer: bool,
    /// Returns its value, to be compared.
    pub value: fn(&KernelEnd<'_>) -> String,
}

/// End of a flow on the guest that plays it.
pub(crate) struct KernelEnd<'a> {
    pub number: usize,
    pub flow: &'a FlowSpec,
    pub addresses: &'a Addresses,
    pub sides: Sides,
    pub role: Role,
    pub own: Socket,
    pub peer: Socket,
}

impl<'a> KernelEnd<'a> {
    pub fn protocol(&self) -> &'static KernelProtocol {
        self.flow.transport.pack().kernel.as_ref().expect("a guest's kernel has the protocol")
    }

    pub fn parameters(&self) -> &'a Parameters {
        &self.flow.transport.parameters
    }

    pub fn is_program(&self) -> bool {
        self.sides.is_program()
    }

    /// Returns the peer's node.
    pub fn peer_node(&self) -> usize {
        self.addresses.interfaces[self.peer.interface].node
    }

    /// Returns the kernel's name of the flow's congestion control, and `cubic` for one that no kernel has: it belongs to
    /// a sender of ours.
    pub fn control(&self) -> &'static str {
        let name = &self.flow.transport.control.name;
        LINUX_CONTROLS.iter().find(|(ours, _)| ours == name).map_or("cubic", |(_, theirs)| theirs)
    }

    /// Returns the address of an interface.
    pub fn address(&self, interface: usize) -> Ipv4Addr {
        self.addresses.interfaces[interface].address.into()
    }

    /// Returns the interfaces of its host.
    pub fn interfaces(&self) -> impl Iterator<Item = usize> {
        self.addresses.of(self.addresses.interfaces[self.own.interface].node)
    }
}
