//! Where the client is: its interfaces, what a NAT makes of their addresses, and when either changes.

use std::net::{Ipv4Addr, SocketAddr};
use vazao_engine::Time;
use vazao_engine::registry::Change;
use vazao_transport::quic::{self, Address};

/// The server's address, of which nothing depends but what a token says.
pub fn server() -> SocketAddr {
    (Ipv4Addr::new(10, 255, 0, 1), 443).into()
}

/// The port that an interface's first address has; a NAT's others are beyond it.
const PORT: u16 = 50_000;

/// The client's address as a server's socket sees it: another port or another host is the work of a NAT, another interface has
/// another address.
pub fn socket(address: Address) -> SocketAddr {
    (Ipv4Addr::new(10, 0, address.host, address.way), PORT.wrapping_add(address.number)).into()
}

/// The address that such a socket stands for.
pub fn address(socket: SocketAddr) -> Address {
    let [host, way] = match socket {
        SocketAddr::V4(socket) => [2, 3].map(|place| socket.ip().octets()[place]),
        SocketAddr::V6(_) => [0; 2],
    };
    Address { way, host, number: socket.port().wrapping_sub(PORT) }
}

/// The client's addresses over time.
#[derive(Clone, Debug, Default)]
pub struct Nat {
    /// The interface that it uses.
    way: u8,
    addresses: quic::Nat,
    /// What is still to change, the next last; counted from the end of the handshake.
    changes: Vec<Change>,
    since: Option<Time>,
}

impl Nat {
    pub fn new(changes: &[Change]) -> Nat {
        let mut changes = changes.to_vec();
        changes.sort_by_key(|change| change.at);
        changes.reverse();
        Nat { changes, ..Nat::default() }
    }

    /// The handshake is over.
    pub fn begin(&mut self, now: Time) {
        self.since = Some(now);
    }

    /// When the next change is due.
    pub fn due(&self) -> Time {
        let next = self.since.zip(self.changes.last());
        next.map_or(Time::NEVER, |(since, change)| since + change.at)
    }

    /// Makes the changes that are due; whether the client has gone to another interface, and knows it.
    pub fn change(&mut self, now: Time) -> bool {
        let mut moved = false;
        while self.due() <= now
            && let Some(change) = self.changes.pop()
        {
            let way = (change.which - 1) as u8;
            if change.what == "migrate" {
                moved |= self.way != way;
                self.way = way;
            } else {
                self.addresses.rebind(way, change.what == "rebind_address");
            }
        }
        moved
    }

    /// Its address as the world sees it.
    pub fn current(&mut self) -> Address {
        self.addresses.of(self.way)
    }

    /// Whether what goes to an address reaches the client.
    pub fn admits(&self, address: Address) -> bool {
        self.addresses.admits(address)
    }
}
