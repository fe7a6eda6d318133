//! Settings of the kernel: sysctls, parameters of modules, MPTCP's path manager.

use crate::failure::Failure;
use crate::netlink::{Message, Netlink, attribute};
use std::fs::OpenOptions;
use std::io::Write;
use std::net::Ipv4Addr;
use vazao_guest_protocol::MptcpEndpoint;

/// Limits that the kernel derives from the machine's memory (linux/Documentation/networking/ip-sysctl), with their values
/// for 8 GiB: with the little that a guest has, windows would stay small. The plan may set others.
const AMPLE: &[(&str, &str)] = &[
    ("net.ipv4.tcp_mem", "98304 131072 196608"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
];

/// Gives sockets the buffers that they have on an ordinary machine.
pub fn ample() -> Result<(), Failure> {
    AMPLE.iter().try_for_each(|(key, value)| sysctl(key, value))
}

/// Writes a sysctl, a path below `/proc/sys` with dots for slashes.
pub fn sysctl(key: &str, value: &str) -> Result<(), Failure> {
    write(&format!("/proc/sys/{}", key.replace('.', "/")), value)
}

/// Writes a parameter, `module.parameter`, of a module.
pub fn module(key: &str, value: &str) -> Result<(), Failure> {
    write(&format!("/sys/module/{}", key.replacen('.', "/parameters/", 1)), value)
}

/// Writes a value to an existing file.
fn write(path: &str, value: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).open(path);
    file.and_then(|mut file| file.write_all(value.as_bytes())).map_err(|error| Failure { error, call: "write" })
}

// Generic netlink and MPTCP's family: linux/genetlink.h, linux/mptcp_pm.h, linux/mptcp.h.
const MPTCP_VERSION: u8 = 1;
const MPTCP_ADD_ADDRESS: u8 = 1;
const MPTCP_SET_LIMITS: u8 = 5;
const MPTCP_ADDRESS: u16 = 1;
const MPTCP_ACCEPTED: u16 = 2;
const MPTCP_SUBFLOWS: u16 = 3;
const ADDRESS_FAMILY: u16 = 1;
const ADDRESS_IPV4: u16 = 3;
const ADDRESS_FLAGS: u16 = 6;
const FLAG_SIGNAL: u32 = 1;
const FLAG_SUBFLOW: u32 = 1 << 1;
const FLAG_FULL_MESH: u32 = 1 << 3;

/// Limits the additional subflows of a connection, and the addresses that it accepts from its peer.
pub fn mptcp_limits(subflows: u32, addresses: u32) -> Result<(), Failure> {
    mptcp(MPTCP_SET_LIMITS, |message| {
        message.with(MPTCP_ACCEPTED, &addresses.to_ne_bytes()).with(MPTCP_SUBFLOWS, &subflows.to_ne_bytes())
    })
}

/// Gives the path manager an address. Its subflows are not bound to an interface: the answer to one comes by the interface
/// to which the peer's routes lead, and a bound socket would not get it.
pub fn mptcp_endpoint(address: Ipv4Addr, endpoint: MptcpEndpoint) -> Result<(), Failure> {
    let flags = match endpoint {
        MptcpEndpoint::Announced => FLAG_SIGNAL,
        MptcpEndpoint::FullMesh => FLAG_SUBFLOW | FLAG_FULL_MESH,
    };
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
