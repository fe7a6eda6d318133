//! Multipath TCP as a guest's kernel plays it.

use super::bytes::GuestCodec;
use crate::model::scenario::{Common, KernelEnd, KernelProtocol};
use crate::packs::tcp::{METRICS, memory};
use vazao_guest_protocol::{MptcpEndpoint, Role, Setup, Transport};
use vazao_transport::mptcp::path_manager::Mesh;

pub(super) const KERNEL: KernelProtocol = KernelProtocol {
    translator: Some(|addresses, number| Box::new(GuestCodec::new(addresses, number))),
    sysctls: |parameters| memory(parameters).collect(),
    common: &[
        Common {
            words: "path_manager, or in being client and server of MPTCP",
            per_peer: false,
            value: |end| format!("{:?} {:?}", end.role, mesh(end)),
        },
        METRICS,
    ],
    path_manager,
    ..KernelProtocol::new(|end| Ok(Transport::Mptcp { control: end.control().to_owned() }))
};

/// Returns the mesh of a flow's subflows.
fn mesh(end: &KernelEnd<'_>) -> Option<Mesh> {
    end.flow.transport.multipath.as_ref()?.mesh()
}

/// Returns the addresses from which a host opens subflows, or that it announces to its peer.
fn path_manager(end: &KernelEnd<'_>) -> Vec<Setup> {
    let full = mesh(end) == Some(Mesh::Full);
    // Without endpoints, the client opens a subflow to each announced address, from the interface that its routes name.
    let endpoint = match end.role {
        Role::Server => Some(MptcpEndpoint::Announced),
        Role::Client => full.then_some(MptcpEndpoint::FullMesh),
    };
    let used = end.interfaces().filter(|&index| full || index != end.own.interface);
    let endpoints =
        used.filter_map(|index| Some(Setup::MptcpEndpoint { address: end.address(index), endpoint: endpoint? }));
    [Setup::MptcpLimits { subflows: 8, addresses: 8 }].into_iter().chain(endpoints).collect()
}
