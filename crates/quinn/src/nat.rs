//! Where the client is: its interfaces, what a NAT makes of their addresses, and when either changes.

use std::net::{Ipv4Addr, SocketAddr};
use vazao_engine::Time;
use vazao_engine::registry::Change;
use vazao_transport::quic::Address;

/// The server's address, of which nothing depends but what a token says.
pub fn server() -> SocketAddr {
    (Ipv4Addr::new(10, 1, 0, 1), 443).into()
}

/// The port that an interface's first address has; a NAT's others are beyond it.
const PORT: u16 = 50_000;

/// The client's address as a server's socket sees it: another port is the work of a NAT, another interface has another
/// address.
pub fn socket(address: Address) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, address.way), PORT + u16::from(address.number)).into()
}

/// The address that such a socket stands for.
pub fn address(socket: SocketAddr) -> Address {
    let way = match socket {
        SocketAddr::V4(socket) => socket.ip().octets()[3],
        SocketAddr::V6(_) => 0,
    };
    Address { way, number: (socket.port() - PORT) as u8 }
}

/// The client's addresses over time.
#[derive(Clone, Debug, Default)]
pub struct Nat {
    /// The interface that it uses.
    way: u8,
    /// What a NAT has made of each interface's address, and how many addresses there were in all.
    mapped: Vec<u8>,
    count: u8,
    /// What is still to change, the next last; counted from the end of the handshake.
    changes: Vec<Change>,
    since: Option<Time>,
}

impl Nat {
    pub fn new(changes: &[Change]) -> Nat {
        let mut changes = changes.to_vec();
        changes.sort_by_key(|change| std::cmp::Reverse(change.at));
        Nat { changes, mapped: vec![0], count: 1, ..Nat::default() }
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
            self.map(way);
            if change.what == "rebind" {
                self.mapped[usize::from(way)] = self.count;
                self.count += 1;
            } else {
                moved |= self.way != way;
                self.way = way;
            }
        }
        moved
    }

    fn map(&mut self, way: u8) {
        while self.mapped.len() <= usize::from(way) {
            self.mapped.push(self.count);
            self.count += 1;
        }
    }

    /// Its address as the world sees it.
    pub fn current(&self) -> Address {
        Address { way: self.way, number: self.mapped[usize::from(self.way)] }
    }

    /// Whether what goes to an address reaches the client: a NAT lets nothing in for what it has forgotten.
    pub fn admits(&self, address: Address) -> bool {
        self.mapped.get(usize::from(address.way)) == Some(&address.number)
    }
}
