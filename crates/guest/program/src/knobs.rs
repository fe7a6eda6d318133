//! What a scenario turns in the kernel: sysctls, parameters of modules, MPTCP's path manager.

use crate::failure::Failure;
use crate::netlink::{Message, Netlink, attribute};
use std::fs::OpenOptions;
use std::io::Write;
use std::net::Ipv4Addr;

/// What the kernel derives from the machine's memory, as one of 8 GiB has it (linux/Documentation/networking/ip-sysctl):
/// with the little that a guest has, windows would stay small. The plan may say otherwise.
const AMPLE: &[(&str, &str)] = &[
    ("net.ipv4.tcp_mem", "98304 131072 196608"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
];

/// Lets sockets have the buffers that they have on an ordinary machine.
pub fn ample() -> Result<(), Failure> {
    AMPLE.iter().try_for_each(|(key, value)| sysctl(key, value))
}

/// Writes a sysctl: a path below /proc/sys with dots for slashes.
pub fn sysctl(key: &str, value: &str) -> Result<(), Failure> {
    write(&format!("/proc/sys/{}", key.replace('.', "/")), value)
}

/// Writes a parameter, `module.parameter`, of a module.
pub fn module(key: &str, value: &str) -> Result<(), Failure> {
    write(&format!("/sys/module/{}", key.replacen('.', "/parameters/", 1)), value)
}

/// Writes a value to a file that is there.
fn write(path: &str, value: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).open(path);
    file.and_then(|mut file| file.write_all(value.as_bytes())).map_err(|error| Failure { error, call: "write" })
}

// Generic netlink and MPTCP's part of it: linux/genetlink.h, linux/mptcp_pm.h.
const MPTCP_VERSION: u8 = 1;
const MPTCP_ADD_ADDRESS: u8 = 1;
const MPTCP_SET_LIMITS: u8 = 5;
const MPTCP_ADDRESS: u16 = 1;
const MPTCP_ACCEPTED: u16 = 2;
const MPTCP_SUBFLOWS: u16 = 3;
const ADDRESS_FAMILY: u16 = 1;
const ADDRESS_IPV4: u16 = 3;
const ADDRESS_FLAGS: u16 = 6;

/// How many additional subflows a connection may have, and how many addresses of its peer it accepts.
pub fn mptcp_limits(subflows: u32, accepted: u32) -> Result<(), Failure> {
    mptcp(MPTCP_SET_LIMITS, |message| {
        message.with(MPTCP_ACCEPTED, &accepted.to_ne_bytes()).with(MPTCP_SUBFLOWS, &subflows.to_ne_bytes())
    })
}

/// An address that the path manager may use. Subflows from it are not bound to a card: the answer to one comes by the card
/// to which the peer's routes lead, and a bound socket would not have it.
pub fn mptcp_endpoint(address: Ipv4Addr, flags: u32) -> Result<(), Failure> {
    mptcp(MPTCP_ADD_ADDRESS, |message| {
        let attributes: [(u16, &[u8]); 3] = [
            (ADDRESS_FAMILY, &(libc::AF_INET as u16).to_ne_bytes()),
            (ADDRESS_IPV4, &address.octets()),
            (ADDRESS_FLAGS, &flags.to_ne_bytes()),
        ];
        message.with_nested(MPTCP_ADDRESS, &attributes)
    })
}

/// Sends a command to MPTCP's path manager.
fn mptcp(command: u8, attributes: impl FnOnce(Message) -> Message) -> Result<(), Failure> {
    let netlink = Netlink::open(libc::NETLINK_GENERIC)?;
    let lookup = Message::new(libc::GENL_ID_CTRL as u16, 0, &[libc::CTRL_CMD_GETFAMILY as u8, 1, 0, 0]);
    let reply = netlink.request(lookup.with(libc::CTRL_ATTR_FAMILY_NAME as u16, b"mptcp_pm\0"))?;
    let family = reply.get(4..).and_then(|attributes| attribute(attributes, libc::CTRL_ATTR_FAMILY_ID as u16));
    let family = family.and_then(|id| id.try_into().ok()).map(u16::from_ne_bytes).unwrap_or_default();
    netlink.request(attributes(Message::new(family, 0, &[command, MPTCP_VERSION, 0, 0]))).map(drop)
}
