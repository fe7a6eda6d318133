//! Client addresses as seen by the server, and the NAT that changes them.

use super::packet::Address;

/// NAT mappings of the client's interfaces.
#[derive(Clone, Debug)]
pub struct Nat {
    mapped: Vec<Address>,
    /// Number of addresses assigned so far, and number of hosts.
    count: u16,
    hosts: u8,
}

impl Default for Nat {
    /// The first interface has the first address.
    fn default() -> Nat {
        Nat { mapped: vec![Address::default()], count: 1, hosts: 0 }
    }
}

impl Nat {
    /// Address of an interface.
    pub fn of(&mut self, interface: u8) -> Address {
        for interface in self.mapped.len() as u8..=interface {
            self.mapped.push(Address { interface, host: 0, number: self.count });
            self.count = self.count.wrapping_add(1);
        }
        self.mapped[usize::from(interface)]
    }

    /// Rebinds an interface's mapping to another port, or to another host if it `moves`.
    pub fn rebind(&mut self, interface: u8, moves: bool) -> Address {
        let before = self.of(interface);
        self.hosts = self.hosts.wrapping_add(u8::from(moves));
        let host = if moves { self.hosts } else { before.host };
        self.mapped[usize::from(interface)] = Address { interface, host, number: self.count };
        self.count = self.count.wrapping_add(1);
        self.mapped[usize::from(interface)]
    }

    /// Whether a datagram to this address reaches the client: the NAT blocks addresses whose mapping is gone.
    pub fn admits(&self, address: Address) -> bool {
        self.mapped.get(usize::from(address.interface)) == Some(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_current_mappings_are_admitted() {
        let mut nat = Nat::default();
        let first = nat.of(0);
        assert_eq!(first, Address::default());
        let port = nat.rebind(0, false);
        let host = nat.rebind(0, true);
        let other = nat.of(1);
        assert_eq!([first, port, host, other].map(|address| nat.admits(address)), [false, false, true, true]);
        assert_eq!([first, port, host, nat.rebind(0, false)].map(|address| address.host), [0, 0, 1, 1]);
    }
}
