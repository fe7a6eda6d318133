//! Interfaces, queues, addresses, routes and rules, by rtnetlink (linux/rtnetlink.h, linux/pkt_sched.h, linux/fib_rules.h).

use crate::failure::Failure;
use crate::knobs;
use crate::netlink::{Message, Netlink, with_attribute};
use std::ffi::CString;
use std::net::Ipv4Addr;
use vazao_guest_protocol::Route;

/// Number of the first interface's own routing table, and priority of the rule that leads to it; the next one's follow.
const INTERFACE_TABLE: u32 = 100;

// linux/if_link.h, linux/rtnetlink.h, linux/pkt_sched.h and linux/fib_rules.h, not in libc.
const IFLA_GSO_MAX_SEGS: u16 = 40;
const TCA_NETEM_PRNG_SEED: u16 = 14;
const TC_H_ROOT: u32 = u32::MAX;
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

    /// Limits the segments of one piece of data that the interface's queue gets (`gso_max_segs`). Switching off segmentation as
    /// `ethtool -K` does would not: since Linux 4.17 TCP hands down larger pieces whatever a card can do.
    pub fn segments(&self, number: u32, most: u32) -> Result<(), Failure> {
        let body = [[0; 4], index(&name(number))?.to_ne_bytes(), [0; 4], [0; 4]].concat();
        let message = Message::new(libc::RTM_NEWLINK, 0, &body).with(IFLA_GSO_MAX_SEGS, &most.to_ne_bytes());
        self.netlink.request(message).map(drop)
    }

    /// Makes netem the interface's queue: it loses each piece of data that it gets with the probability `loss` / 2^32, as a
    /// whole, and delays none.
    pub fn netem(&self, number: u32, loss: u32, seed: u64) -> Result<(), Failure> {
        self.netlink.request(netem(index(&name(number))?, loss, seed)).map(drop)
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

/// Returns RTM_NEWQDISC with struct tcmsg: family and padding, index, handle, parent, information. Of netem's options struct
/// tc_netem_qopt comes first: latency, limit, loss, gap, duplicates, jitter. Attributes follow it.
fn netem(index: u32, loss: u32, seed: u64) -> Message {
    /// Packets that can wait; none does, as nothing is delayed.
    const LIMIT: u32 = 1000;
    let body = [0, index, 0, TC_H_ROOT, 0].map(u32::to_ne_bytes).concat();
    let options = [0, LIMIT, loss, 0, 0, 0].map(u32::to_ne_bytes).concat();
    let options = with_attribute(options, TCA_NETEM_PRNG_SEED, &seed.to_ne_bytes());
    Message::new(libc::RTM_NEWQDISC, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &body)
        .with(libc::TCA_KIND, b"netem\0")
        .with(libc::TCA_OPTIONS, &options)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;

    /// The layout of struct tcmsg (20 bytes) and struct tc_netem_qopt (24), as `tc qdisc replace dev … root netem` sends them.
    #[test]
    fn netem_has_its_options_before_its_seed() {
        let message = netem(3, 1 << 31, 7);
        let body = message.body();
        assert_eq!(&body[..20], [0, 3, 0, u32::MAX, 0].map(u32::to_ne_bytes).concat());
        assert_eq!(attribute(&body[20..], libc::TCA_KIND), Some(&b"netem\0"[..]));
        let options = attribute(&body[20..], libc::TCA_OPTIONS).unwrap();
        assert_eq!(&options[..24], [0, 1000, 1 << 31, 0, 0, 0].map(u32::to_ne_bytes).concat());
        assert_eq!(attribute(&options[24..], TCA_NETEM_PRNG_SEED), Some(&7_u64.to_ne_bytes()[..]));
    }
}
