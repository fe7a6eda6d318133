//! Interfaces, addresses, routes and rules, by rtnetlink (linux/rtnetlink.h, linux/fib_rules.h).

use crate::failure::Failure;
use crate::knobs;
use crate::netlink::{Message, Netlink};
use std::ffi::CString;
use std::net::Ipv4Addr;
use vazao_guest_protocol::Route;

/// Number of the first interface's own routing table, and priority of the rule that leads to it; the next one's follow.
const INTERFACE_TABLE: u32 = 100;

// linux/rtnetlink.h and linux/fib_rules.h, not in libc.
const RTAX_INITCWND: u16 = 11;
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_TABLE: u16 = 15;
const FR_ACT_TO_TBL: u8 = 1;

/// The kernel's network configuration.
pub struct Network {
    netlink: Netlink,
}

impl Network {
    /// Brings the loopback device up, and nothing else.
    pub fn new() -> Result<Network, Failure> {
        let network = Network { netlink: Netlink::open(libc::NETLINK_ROUTE)? };
        network.up(index("lo")?, 0, None)?;
        Ok(network)
    }

    /// Brings an interface up, with an address. It has no ARP: all packets leave with its own hardware address as their
    /// destination. It has no IPv6 either, whose neighbour and router solicitations are no part of a scenario.
    pub fn interface(&self, number: u32, address: Ipv4Addr, mtu: u32) -> Result<(), Failure> {
        let name = name(number);
        let index = index(&name)?;
        match knobs::sysctl(&format!("net.ipv6.conf.{name}.disable_ipv6"), "1") {
            Err(failure) if failure.code() != "ENOENT" => return Err(failure),
            _ => {} // or the kernel has no IPv6 at all
        }
        self.up(index, libc::IFF_NOARP as u32, Some(mtu))?;
        self.address(index, address)?;
        self.rule(address, INTERFACE_TABLE + number)
    }

    /// Adds a route to the interface's own table, and to the main one unless that has one to the same host.
    pub fn route(&self, route: &Route) -> Result<(), Failure> {
        self.add_route(route, INTERFACE_TABLE + route.interface)?;
        match self.add_route(route, u32::from(libc::RT_TABLE_MAIN)) {
            Err(failure) if failure.error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
            added => added,
        }
    }

    /// RTM_NEWLINK with struct ifinfomsg: family, padding, type, index, flags, which of them change.
    fn up(&self, index: u32, flags: u32, mtu: Option<u32>) -> Result<(), Failure> {
        let flags = (flags | libc::IFF_UP as u32).to_ne_bytes();
        let body = [[0; 4], index.to_ne_bytes(), flags, flags].concat();
        let message = Message::new(libc::RTM_NEWLINK, 0, &body);
        let message = match mtu {
            Some(mtu) => message.with(libc::IFLA_MTU, &mtu.to_ne_bytes()),
            None => message,
        };
        self.netlink.request(message).map(drop)
    }

    /// RTM_NEWADDR with struct ifaddrmsg: family, prefix length, flags, scope, index.
    fn address(&self, index: u32, address: Ipv4Addr) -> Result<(), Failure> {
        let body = [[libc::AF_INET as u8, 32, 0, libc::RT_SCOPE_UNIVERSE], index.to_ne_bytes()].concat();
        let message = Message::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body)
            .with(libc::IFA_LOCAL, &address.octets())
            .with(libc::IFA_ADDRESS, &address.octets());
        self.netlink.request(message).map(drop)
    }

    /// RTM_NEWROUTE with struct rtmsg: family, lengths of destination and source prefix, TOS, table, protocol, scope,
    /// type, flags.
    fn add_route(&self, route: &Route, table: u32) -> Result<(), Failure> {
        let kind = [libc::RTPROT_STATIC, libc::RT_SCOPE_LINK, libc::RTN_UNICAST];
        let body = [libc::AF_INET as u8, 32, 0, 0, libc::RT_TABLE_UNSPEC, kind[0], kind[1], kind[2], 0, 0, 0, 0];
        let mut message = Message::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body)
            .with(libc::RTA_TABLE, &table.to_ne_bytes())
            .with(libc::RTA_OIF, &index(&name(route.interface))?.to_ne_bytes())
            .with(libc::RTA_DST, &route.destination.octets())
            .with(libc::RTA_PREFSRC, &route.source.octets());
        if let Some(window) = route.initial_window {
            message = message.with_nested(libc::RTA_METRICS, &[(RTAX_INITCWND, &window.to_ne_bytes())]);
        }
        self.netlink.request(message).map(drop)
    }

    /// RTM_NEWRULE with struct fib_rule_hdr: family, lengths of destination and source prefix, TOS, table, two
    /// reserved bytes, action, flags. Packets from `source` are routed by `table`.
    fn rule(&self, source: Ipv4Addr, table: u32) -> Result<(), Failure> {
        let body = [libc::AF_INET as u8, 0, 32, 0, libc::RT_TABLE_UNSPEC, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
        let message = Message::new(libc::RTM_NEWRULE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body)
            .with(FRA_SRC, &source.octets())
            .with(FRA_PRIORITY, &table.to_ne_bytes())
            .with(FRA_TABLE, &table.to_ne_bytes());
        self.netlink.request(message).map(drop)
    }
}

/// Returns the kernel's name of an interface.
fn name(number: u32) -> String {
    format!("eth{number}")
}

/// Returns the kernel's index of the interface of that name.
fn index(name: &str) -> Result<u32, Failure> {
    let name = CString::new(name).expect("a constant and a number hold no zero");
    // SAFETY: passes a string that ends with zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 { Err(Failure::last("if_nametoindex")) } else { Ok(index) }
}
