//! Plans of the tests.

use std::net::{Ipv4Addr, SocketAddrV4};
use vazao_guest_protocol::{Act, Flow, Plan, Role, Route, Setup, Task, Transfer, Transport};

/// Makes the plans of a sender and a receiver of one flow over TCP.
pub fn upload(size: u64) -> [Plan; 2] {
    let sockets = [(1, 49152), (2, 5001)].map(|(host, port)| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, host), port));
    let end = |role, local: SocketAddrV4, peer: SocketAddrV4, act| {
        let (address, destination) = (*local.ip(), *peer.ip());
        let transport = Transport::Tcp { control: "cubic".into(), send_buffer: None, receive_buffer: None };
        let task = Task::Transfer(Transfer { local, peer, transport, act });
        Plan {
            setup: vec![
                Setup::Interface { number: 0, address, mtu: 1500 },
                Setup::Route(Route { destination, interface: 0, source: address, initial_window: None }),
            ],
            flows: vec![Flow { number: 1, role, start: 0, task }],
            power_off: true,
            ..Plan::default()
        }
    };
    [
        end(Role::Client, sockets[0], sockets[1], Act::Send { size: Some(size), duration: None, messages: None }),
        end(Role::Server, sockets[1], sockets[0], Act::Receive { size: Some(size), rate: None }),
    ]
}
