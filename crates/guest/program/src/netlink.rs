//! Netlink (RFC 3549; linux/netlink.h): requests with attributes, by which the kernel's network is configured. Each is
//! acknowledged.

use crate::failure::{Failure, check};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Length of the header of a message: length, type, flags, sequence number, port.
const HEADER: usize = 16;

/// A message under construction.
#[derive(Clone, Debug)]
pub struct Message(Vec<u8>);

impl Message {
    /// Begins a request of type `kind` whose fixed part is `body`; `flags` are added to NLM_F_REQUEST and NLM_F_ACK.
    pub fn new(kind: u16, flags: i32, body: &[u8]) -> Message {
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(body);
        Message(bytes)
    }

    /// Adds an attribute.
    pub fn with(mut self, kind: u16, value: &[u8]) -> Message {
        append(&mut self.0, kind, value);
        self
    }

    /// Returns what follows the header.
    #[cfg(test)]
    pub fn body(&self) -> &[u8] {
        &self.0[HEADER..]
    }

    /// Adds an attribute that consists of attributes.
    pub fn with_nested(self, kind: u16, attributes: &[(u16, &[u8])]) -> Message {
        let mut inner = Vec::new();
        attributes.iter().for_each(|(kind, value)| append(&mut inner, *kind, value));
        self.with(kind | libc::NLA_F_NESTED as u16, &inner)
    }
}

/// Returns bytes with an attribute behind them.
pub fn with_attribute(mut bytes: Vec<u8>, kind: u16, value: &[u8]) -> Vec<u8> {
    append(&mut bytes, kind, value);
    bytes
}

/// Appends an attribute: length, type, value, padded to four bytes.
fn append(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Returns the value of the first attribute of type `kind`.
pub fn attribute(mut bytes: &[u8], kind: u16) -> Option<&[u8]> {
    while bytes.len() >= 4 {
        let length = usize::from(u16_at(bytes, 0)).clamp(4, bytes.len());
        if u16_at(bytes, 2) & !(libc::NLA_F_NESTED as u16) == kind {
            return Some(&bytes[4..length]);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A netlink socket.
pub struct Netlink(OwnedFd);

impl Netlink {
    /// Opens a socket for one of netlink's protocols.
    pub fn open(protocol: i32) -> Result<Netlink, Failure> {
        // SAFETY: no pointers are passed; the descriptor is new and nobody else's.
        unsafe {
            let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol);
            Ok(Netlink(OwnedFd::from_raw_fd(check("socket", fd)?)))
        }
    }

    /// Sends a request and waits for its acknowledgement. Returns the answers that come before it, without their headers.
    pub fn request(&self, message: Message) -> Result<Vec<u8>, Failure> {
        let mut bytes = message.0;
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        // SAFETY: passes a buffer with its length.
        check("send", unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) })?;
        let (mut reply, mut buffer) = (Vec::new(), [0; 8192]);
        loop {
            // SAFETY: as above.
            let got = unsafe { libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            let got = check("recv", got)? as usize;
            if let Some(error) = acknowledgement(&buffer[..got], &mut reply) {
                return if error == 0 { Ok(reply) } else { Err(refused(error)) };
            }
        }
    }
}

fn refused(error: i32) -> Failure {
    Failure { error: io::Error::from_raw_os_error(error), call: "netlink" }
}

/// Returns the error of the acknowledgement among received messages, 0 for none. Other messages go to `reply`.
fn acknowledgement(mut bytes: &[u8], reply: &mut Vec<u8>) -> Option<i32> {
    while bytes.len() >= HEADER {
        let length = (u32_at(bytes, 0) as usize).clamp(HEADER, bytes.len());
        let body = &bytes[HEADER..length];
        if u16_at(bytes, 4) == libc::NLMSG_ERROR as u16 && body.len() >= 4 {
            return Some((u32_at(body, 0) as i32).wrapping_neg());
        }
        reply.extend_from_slice(body);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as `ip -batch` of iproute2 sends them for `ip link set dev lo up` differ in flags only; here the layout of
    /// RFC 3549 section 2.3.2 is written out.
    #[test]
    fn a_message_is_header_body_and_padded_attributes() {
        let message = Message::new(16, 0, &[1, 2, 3, 4]).with(4, &[9, 0, 0, 0]).with(3, b"lo\0");
        let expected: &[u8] = &[
            0, 0, 0, 0, 16, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, // the length is filled in when it is sent
            1, 2, 3, 4, //
            8, 0, 4, 0, 9, 0, 0, 0, //
            7, 0, 3, 0, b'l', b'o', 0, 0,
        ];
        assert_eq!(message.0, expected);
    }

    #[test]
    fn attributes_are_found_behind_padding_and_nested() {
        let message = Message::new(1, 0, &[]).with(3, b"lo\0").with_nested(5, &[(1, &[7; 4]), (2, b"x")]);
        let nested = attribute(&message.0[HEADER..], 5).unwrap();
        assert_eq!(attribute(nested, 1), Some(&[7; 4][..]));
        assert_eq!(attribute(nested, 2), Some(&b"x"[..]));
        assert_eq!(attribute(nested, 3), None);
        assert_eq!(attribute(&[255, 255, 1], 1), None);
        assert_eq!(attribute(&[0, 0, 1, 0], 1), Some(&[][..]));
    }

    #[test]
    fn a_reply_is_collected_until_the_acknowledgement() {
        let mut bytes = vec![20, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
        let mut reply = Vec::new();
        assert_eq!(acknowledgement(&bytes, &mut reply), None);
        assert_eq!(reply, [1, 2, 3, 4]);
        bytes.extend([20, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend((-libc::EEXIST).to_ne_bytes());
        assert_eq!(acknowledgement(&bytes, &mut reply), Some(libc::EEXIST));
    }
}
