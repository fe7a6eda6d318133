//! Guests' kernels: the parts of a protocol that they decide, and an end of a flow that one plays.

use super::scenario::{KernelEnd, KernelProtocol};
use std::net::Ipv4Addr;
use vazao_engine::registry::Parameters;
use vazao_guest_protocol::Transport;

impl KernelProtocol {
    /// Creates a protocol of Ethernet's packets for which the kernel decides everything.
    pub const fn new(transport: fn(&KernelEnd<'_>) -> Result<Transport, String>) -> KernelProtocol {
        KernelProtocol {
            translator: None,
            transport,
            sysctls: |_| Vec::new(),
            mtu: |_| 1500,
            initial_window: |_| None,
            buffers: |_| 0,
            common: &[],
            path_manager: |_| Vec::new(),
        }
    }
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
        let transport = &self.flow.transport;
        transport.stacks[self.role as usize].own_control(&transport.control.name).unwrap_or("cubic")
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
