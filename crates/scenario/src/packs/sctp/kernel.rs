//! SCTP as a guest's kernel plays it.

use super::bytes::Bytes;
use crate::model::address::Socket;
use crate::model::scenario::{KernelEnd, KernelProtocol};
use std::iter::once;
use std::net::Ipv4Addr;
use vazao_guest_protocol::{Sctp, Transport};

pub(super) const KERNEL: KernelProtocol = KernelProtocol {
    translator: Some(|addresses, number| Box::new(Bytes::new(addresses, number, true))),
    sysctls: |parameters| {
        let interleaving = parameters.flag("interleaving").then(|| ("net.sctp.intl_enable", "1".to_owned()));
        interleaving.into_iter().collect()
    },
    ..KernelProtocol::new(|end| {
        let [locals, peers] = if end.parameters().flag("multihomed") {
            [end.own, end.peer].map(|socket| all_addresses(end, socket))
        } else {
            [Vec::new(), Vec::new()]
        };
        Ok(Transport::Sctp(Sctp { interleaving: end.parameters().flag("interleaving"), locals, peers }))
    })
};

/// Returns all addresses of a socket's host, the socket's own first.
fn all_addresses(end: &KernelEnd<'_>, socket: Socket) -> Vec<Ipv4Addr> {
    let node = end.addresses.interfaces[socket.interface].node;
    let others = end.addresses.of(node).filter(|&index| index != socket.interface);
    once(socket.interface).chain(others).map(|index| end.address(index)).collect()
}
