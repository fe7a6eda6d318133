//! IPv4 sockets of any protocol, with the system calls that the standard library does not offer.

use crate::failure::{Failure, check};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

/// Time in s for which closing waits until the peer has acknowledged the last data and the end.
const LINGER: i32 = 600;

// linux/sctp.h, not in libc.
pub const SOL_SCTP: i32 = 132;
pub const SCTP_NODELAY: i32 = 3;

/// A socket.
pub struct Socket(OwnedFd);

impl Socket {
    /// Makes a socket, for example of type SOCK_STREAM and protocol IPPROTO_TCP.
    pub fn new(kind: i32, protocol: i32) -> Result<Socket, Failure> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(libc::AF_INET, kind | libc::SOCK_CLOEXEC, protocol) };
        check("socket", fd).map(Socket::owning)
    }

    fn owning(fd: i32) -> Socket {
        // SAFETY: called with what socket and accept have just returned.
        Socket(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Binds the socket to a local address.
    pub fn bind(&self, address: SocketAddrV4) -> Result<(), Failure> {
        let address = sockaddr(address);
        // SAFETY: passes 16 bytes, which are a sockaddr_in.
        check("bind", unsafe { libc::bind(self.fd(), address.as_ptr().cast(), 16) }).map(drop)
    }

    /// Connects the socket, and waits until it is connected.
    pub fn connect(&self, address: SocketAddrV4) -> Result<(), Failure> {
        let address = sockaddr(address);
        // SAFETY: passes 16 bytes, which are a sockaddr_in.
        check("connect", unsafe { libc::connect(self.fd(), address.as_ptr().cast(), 16) }).map(drop)
    }

    /// Makes the socket accept connections.
    pub fn listen(&self) -> Result<(), Failure> {
        // SAFETY: no pointers are passed.
        check("listen", unsafe { libc::listen(self.fd(), 16) }).map(drop)
    }

    /// Waits for a connection.
    pub fn accept(&self) -> Result<Socket, Failure> {
        // SAFETY: the peer's address is not asked for.
        let fd = unsafe { libc::accept4(self.fd(), null_mut(), null_mut(), libc::SOCK_CLOEXEC) };
        check("accept", fd).map(Socket::owning)
    }

    /// Sends bytes, all of them unless the socket is shut down meanwhile. Returns how many.
    pub fn send(&self, bytes: &[u8]) -> Result<usize, Failure> {
        // SAFETY: passes a buffer with its length.
        let sent = unsafe { libc::send(self.fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        check("send", sent).map(|sent| sent as usize)
    }

    /// Receives bytes. Returns how many: at least one, or 0 at the end.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<usize, Failure> {
        // SAFETY: passes a buffer with its length.
        let got = unsafe { libc::recv(self.fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        check("recv", got).map(|got| got as usize)
    }

    /// Ends the sending direction.
    pub fn shut_down(&self) -> Result<(), Failure> {
        // SAFETY: no pointers are passed.
        check("shutdown", unsafe { libc::shutdown(self.fd(), libc::SHUT_WR) }).map(drop)
    }

    /// Makes closing wait until the peer has acknowledged all, so that the host may power off afterwards.
    pub fn linger(&self) -> Result<(), Failure> {
        self.set(libc::SOL_SOCKET, libc::SO_LINGER, &[1_i32.to_ne_bytes(), LINGER.to_ne_bytes()].concat())
    }

    /// Sets an option.
    pub fn set(&self, level: i32, option: i32, value: &[u8]) -> Result<(), Failure> {
        let (start, length) = (value.as_ptr().cast(), value.len() as u32);
        // SAFETY: passes a value with its length.
        check("setsockopt", unsafe { libc::setsockopt(self.fd(), level, option, start, length) }).map(drop)
    }

    /// Reads an option into `value`, whose content is the kernel's argument. Returns the option's length.
    pub fn get(&self, level: i32, option: i32, value: &mut [u8]) -> Result<usize, Failure> {
        let mut length = value.len() as u32;
        // SAFETY: passes a buffer with its length, which the kernel lowers.
        let got = unsafe { libc::getsockopt(self.fd(), level, option, value.as_mut_ptr().cast(), &raw mut length) };
        check("getsockopt", got).map(|_| length as usize)
    }
}

/// Returns the struct sockaddr_in of an address: family, port, address, zeros.
pub fn sockaddr(address: SocketAddrV4) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
    bytes[4..8].copy_from_slice(&address.ip().octets());
    bytes
}

/// Reads a struct sockaddr_in, of which the first eight bytes are enough.
pub fn address(bytes: &[u8]) -> Option<SocketAddrV4> {
    match *bytes.first_chunk::<8>()? {
        [f0, f1, p0, p1, a, b, c, d] if u16::from_ne_bytes([f0, f1]) == libc::AF_INET as u16 => {
            Some(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([p0, p1])))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_its_bytes() {
        let (there, bytes) = (SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 5001), [2, 0, 0x13, 0x89, 10, 0, 0, 2]);
        assert_eq!(sockaddr(there)[..8], bytes);
        assert_eq!(address(&bytes), Some(there));
        assert_eq!(address(&[10, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(address(&[2, 0]), None);
    }

    #[test]
    fn two_sockets_talk() {
        let server = Socket::new(libc::SOCK_STREAM, libc::IPPROTO_TCP).unwrap();
        let here = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        server.bind(here).unwrap();
        server.listen().unwrap();
        let mut name = [0_u8; 16];
        let mut length = 16;
        // SAFETY: the buffer holds a sockaddr_in.
        unsafe { libc::getsockname(server.fd(), name.as_mut_ptr().cast(), &raw mut length) };
        let client = Socket::new(libc::SOCK_STREAM, libc::IPPROTO_TCP).unwrap();
        client.connect(address(&name).unwrap()).unwrap();
        let peer = server.accept().unwrap();
        assert_eq!(client.send(b"hello").unwrap(), 5);
        client.shut_down().unwrap();
        let mut buffer = [0; 16];
        assert_eq!(peer.receive(&mut buffer).unwrap(), 5);
        assert_eq!(peer.receive(&mut buffer).unwrap(), 0);
        assert_eq!(client.send(b"more").unwrap_err().code(), "EPIPE");
    }
}
