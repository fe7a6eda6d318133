//! Messages by which a guest sets up a network card (the vhost-user protocol of QEMU's documentation): where its memory and
//! its queues are, and which features both sides have.

use crate::Problem;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendFlags, recvmsg, send};
use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;

/// Numbers of a guest's requests to its card.
pub(crate) mod request {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_FEATURES: u32 = 2;
    pub const SET_OWNER: u32 = 3;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const SET_PROTOCOL_FEATURES: u32 = 16;
    pub const SET_VRING_ENABLE: u32 = 18;
    pub const SET_BACKEND_REQ_FD: u32 = 21;
    pub const GET_CONFIG: u32 = 24;
    pub const VRING_KICK: u32 = 35;
}
/// Number of a card's request to its guest: a queue has been used.
const VRING_CALL: u32 = 4;

const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
const HEADER: usize = 12;
/// An upper limit of a payload.
const LARGEST: usize = 4096;

/// One request of the guest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    /// Number (see [`request`]).
    pub number: u32,
    /// Whether the guest waits for an acknowledgement.
    pub acknowledge: bool,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Request {
    /// Returns the payload's 32-bit word at byte `at`.
    pub fn u32(&self, at: usize) -> Result<u32, Problem> {
        let bytes = self.payload.get(at..at + 4).and_then(|b| b.try_into().ok());
        bytes.map(u32::from_le_bytes).ok_or_else(|| Problem::card(format!("request {} is too short", self.number)))
    }
    /// Returns the payload's 64-bit word at byte `at`.
    pub fn u64(&self, at: usize) -> Result<u64, Problem> {
        Ok(u64::from(self.u32(at)?) | u64::from(self.u32(at + 4)?) << 32)
    }
    /// Removes the first request from `bytes`, if it is complete.
    fn take(bytes: &mut Vec<u8>) -> Result<Option<Request>, Problem> {
        let Some(header) = bytes.get(..HEADER) else { return Ok(None) };
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (number, flags, size) = (word(0), word(4), word(8) as usize);
        if size > LARGEST {
            return Err(Problem::card(format!("request {number} with {size} bytes")));
        }
        let Some(payload) = bytes.get(HEADER..HEADER + size) else { return Ok(None) };
        let request = Request { number, acknowledge: flags & NEED_REPLY != 0, payload: payload.to_vec() };
        bytes.drain(..HEADER + size);
        Ok(Some(request))
    }
}

/// Returns a message as it is sent.
fn message(number: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let size = payload.len() as u32;
    [&number.to_le_bytes(), &flags.to_le_bytes(), &size.to_le_bytes(), payload].concat()
}

/// A guest's connection to a card, for its requests.
pub(crate) struct RequestSocket {
    socket: OwnedFd,
    bytes: Vec<u8>,
    files: VecDeque<OwnedFd>,
}

impl RequestSocket {
    /// Makes a connection of a new socket.
    pub fn new(socket: OwnedFd) -> RequestSocket {
        RequestSocket { socket, bytes: Vec::new(), files: VecDeque::new() }
    }
    /// Reads what has arrived. Returns false if the guest has closed the connection.
    pub fn receive(&mut self) -> Result<bool, Problem> {
        let mut block = [0; HEADER + LARGEST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut files = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = match recvmsg(&self.socket, &mut [IoSliceMut::new(&mut block)], &mut files, flags) {
            Ok(received) => received,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(true),
            Err(rustix::io::Errno::CONNRESET) => return Ok(false),
            Err(error) => return Err(Problem::card(error.to_string())),
        };
        for item in files.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = item {
                self.files.extend(files);
            }
        }
        if received.flags.contains(ReturnFlags::CTRUNC) {
            return Err(Problem::card("more files than were expected, or than this process may open (ulimit -n)"));
        }
        self.bytes.extend_from_slice(&block[..received.bytes]);
        Ok(received.bytes > 0)
    }
    /// Returns the next complete request that was read.
    pub fn next(&mut self) -> Result<Option<Request>, Problem> {
        Request::take(&mut self.bytes)
    }
    /// Returns the next file that came with the requests.
    pub fn file(&mut self) -> Result<OwnedFd, Problem> {
        self.files.pop_front().ok_or_else(|| Problem::card("a file was expected"))
    }
    /// Answers `request`.
    pub fn answer(&self, request: &Request, payload: &[u8]) -> Result<(), Problem> {
        write(&self.socket, &message(request.number, VERSION | REPLY, payload))
    }
}

impl AsFd for RequestSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The connection by which a card interrupts its guest.
pub(crate) struct Interrupts(pub OwnedFd);

impl Interrupts {
    /// The size of the guest's answer.
    pub const ANSWER: usize = HEADER + 8;

    /// Tells the guest that `queue` has been used, and asks for an answer if it is to `acknowledge`.
    pub fn raise(&self, queue: u32, acknowledge: bool) -> Result<(), Problem> {
        let flags = if acknowledge { VERSION | NEED_REPLY } else { VERSION };
        let payload = u64::from(queue).to_le_bytes();
        write(&self.0, &message(VRING_CALL, flags, &payload))
    }
}

fn write(socket: &OwnedFd, bytes: &[u8]) -> Result<(), Problem> {
    match send(socket, bytes, SendFlags::NOSIGNAL) {
        // The clock notices that the guest is gone.
        Ok(_) | Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => Ok(()),
        Err(error) => Err(Problem::card(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn requests_are_taken_one_by_one_and_only_whole() {
        // SET_VRING_NUM (8) with the flags "version 1, reply wanted" and the state {queue 1, 256}.
        let bytes = [8, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0];
        let mut stream = [&bytes[..], &bytes[..15]].concat();
        let first = Request::take(&mut stream).unwrap().unwrap();
        assert!(first.number == request::SET_VRING_NUM && first.acknowledge);
        assert_eq!((first.u32(0).unwrap(), first.u32(4).unwrap()), (1, 256));
        assert_eq!(first.u64(0).unwrap(), 1 | 256 << 32);
        assert!(first.u32(8).is_err());
        assert_eq!(Request::take(&mut stream).unwrap(), None);
        stream.extend_from_slice(&bytes[15..]);
        assert_eq!(Request::take(&mut stream).unwrap(), Some(first));
        assert!(stream.is_empty());
        assert!(Request::take(&mut message(1, 1, &[0; LARGEST + 1])).is_err());
    }

    #[test]
    fn an_interrupt_is_laid_out_as_the_protocol_says() {
        let (here, there) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("sockets");
        Interrupts(here).raise(1, true).unwrap();
        let mut bytes = [0; 64];
        let n = rustix::io::read(&there, &mut bytes).unwrap();
        assert_eq!(bytes[..n], [4, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
