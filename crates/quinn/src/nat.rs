//! The client's interfaces, the addresses that a NAT gives them, and when either changes.

use std::net::{Ipv4Addr, SocketAddr};
use vazao_engine::Time;
use vazao_engine::registry::Change;
use vazao_transport::quic::{self, Address};

/// Returns the server's address. Only tokens depend on it.
pub fn server() -> SocketAddr {
    (Ipv4Addr::new(10, 255, 0, 1), 443).into()
}

/// The port of an interface's first address. Those that a NAT gives it later follow.
const PORT: u16 = 50_000;

/// Returns the client's address as a server's socket sees it. A NAT may change its port or its host; another interface has
/// another network.
pub fn socket(address: Address) -> SocketAddr {
    (Ipv4Addr::new(10, 0, address.host, address.interface), PORT.wrapping_add(address.number)).into()
}

/// Returns the address that such a socket stands for.
pub fn address(socket: SocketAddr) -> Address {
    let [host, interface] = match socket {
        SocketAddr::V4(socket) => [2, 3].map(|place| socket.ip().octets()[place]),
        SocketAddr::V6(_) => [0; 2],
    };
    Address { interface, host, number: socket.port().wrapping_sub(PORT) }
}

/// The client's addresses over time.
#[derive(Clone, Debug, Default)]
pub struct Nat {
    /// The interface in use.
    interface: u8,
    addresses: quic::Nat,
    /// Changes to come, the next one last, at times after the handshake.
    changes: Vec<Change>,
    /// When the handshake ended.
    since: Option<Time>,
}

impl Nat {
    pub fn new(changes: &[Change]) -> Nat {
        let mut changes = changes.to_vec();
        changes.sort_by_key(|change| change.at);
        changes.reverse();
        Nat { changes, ..Nat::default() }
    }

    /// Notes that the handshake is over.
    pub fn begin(&mut self, now: Time) {
        self.since = Some(now);
    }

    /// Returns when the next change is due.
    pub fn due(&self) -> Time {
        let next = self.since.zip(self.changes.last());
        next.map_or(Time::NEVER, |(since, change)| since + change.at)
    }

    /// Makes the changes that are due. Returns whether the client has moved to another interface, which it notices.
    pub fn change(&mut self, now: Time) -> bool {
        let mut moved = false;
        while self.due() <= now
            && let Some(change) = self.changes.pop()
        {
            let interface = (change.which - 1) as u8;
            if change.what == "migrate" {
                moved |= self.interface != interface;
                self.interface = interface;
            } else {
                self.addresses.rebind(interface, change.what == "rebind_address");
            }
        }
        moved
    }

    /// Returns the client's address as others see it.
    pub fn current(&mut self) -> Address {
        self.addresses.of(self.interface)
    }

    /// Whether a datagram to an address reaches the client.
    pub fn admits(&self, address: Address) -> bool {
        self.addresses.admits(address)
    }
}
