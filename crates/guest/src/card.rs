//! A network card: two queues in a guest's memory (virtio 1.2, section 5.1), Ethernet headers that stay inside, and
//! interrupts.
//!
//! The card never segments, so that a guest cuts every packet itself, as on a wire; whether it computes checksums is a
//! setting. It sends at once, as queues belong to the network, and never drops a packet that arrives.

use crate::Problem;
use crate::clock::NEVER;
use crate::ring::{Memory, Queue};
use crate::vhost::{Interrupts, Request, RequestSocket, request};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv};
use std::collections::VecDeque;

/// The queue of packets for the guest.
const RECEIVE: usize = 0;
/// The queue of packets from the guest.
const TRANSMIT: usize = 1;

/// Virtio 1; requests of the protocol's own (vhost-user); a MAC address in the configuration.
const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 5;
/// The card computes checksums (VIRTIO_NET_F_CSUM). Linux gives such a card frames in several buffers, and its queue data in
/// pieces of several packets, which it cuts itself (generic segmentation offload).
const CHECKSUMS: u64 = 1;
/// Requests are acknowledged; the card can send requests; there is a configuration; kicks and calls of queues are requests
/// instead of event files, so that none comes while the clock stands still.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// The header of each frame in a buffer: no offloads (zeros), and one buffer for the frame.
const HEADER: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
/// Flag of that header: the frame lacks a checksum.
const NEEDS_CHECKSUM: u8 = 1;
/// Length of an Ethernet header: two addresses and a type.
const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// The source address of frames to a guest.
const GATEWAY: [u8; 6] = [0x02, 0xff, 0xff, 0xff, 0xff, 0xff];

enum Link {
    /// The guest has not connected yet.
    Listening(OwnedFd),
    Connected(RequestSocket),
    /// The guest has closed the connection.
    Closed,
}

/// Settings of a card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The least time between two interrupts for received packets, in ns.
    pub moderation: u64,
    /// Whether the guest kicks the card for each packet; otherwise the card looks for packets when the guest sleeps.
    pub tells: bool,
    /// Whether the card computes checksums.
    pub checksums: bool,
}

/// One card of a guest.
pub(crate) struct Card {
    link: Link,
    address: [u8; 6],
    interrupts: Option<Interrupts>,
    memory: Option<Memory>,
    queues: [Queue; 2],
    /// Start of each queue, and whether the guest uses it.
    bases: [u16; 2],
    enabled: [bool; 2],
    settings: Settings,
    /// Times at which the next interrupt is due and the last was raised.
    receive_due: u64,
    receive_last: Option<u64>,
    /// Buffers of sent packets were returned and the guest wants to know.
    transmit_due: bool,
    /// Packets for which the guest has no buffer yet.
    waiting: VecDeque<Vec<u8>>,
}

impl Card {
    /// Makes card `number` of guest `guest`, which will connect by `listener`.
    pub fn new(listener: OwnedFd, guest: u32, number: u8, settings: Settings) -> Card {
        let [a, b, c, d] = guest.to_be_bytes();
        Card {
            link: Link::Listening(listener),
            address: [0x02, number, a, b, c, d], // locally administered
            interrupts: None,
            memory: None,
            queues: Default::default(),
            bases: [0; 2],
            enabled: [false; 2],
            settings,
            receive_due: NEVER,
            receive_last: None,
            transmit_due: false,
            waiting: VecDeque::new(),
        }
    }
    /// Returns whether the guest has set it up.
    pub fn is_up(&self) -> bool {
        self.enabled == [true; 2]
    }
    /// Returns the file to wait on for the guest's requests.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        match &self.link {
            Link::Listening(socket) => Some(socket.as_fd()),
            Link::Connected(connection) => Some(connection.as_fd()),
            Link::Closed => None,
        }
    }
    /// Returns the file to wait on for the answer to an interrupt.
    pub fn answers(&self) -> Option<BorrowedFd<'_>> {
        self.interrupts.as_ref().map(|line| line.0.as_fd())
    }
    /// Handles what has come by [`Card::file`].
    pub fn hear(&mut self) -> Result<(), Problem> {
        match &mut self.link {
            Link::Listening(listener) => {
                let socket = accept_with(listener, SocketFlags::CLOEXEC).map_err(|e| Problem::card(e.to_string()))?;
                self.link = Link::Connected(RequestSocket::new(socket));
            }
            Link::Connected(connection) => {
                if !connection.receive()? {
                    self.enabled = [false; 2];
                    self.link = Link::Closed;
                }
                while let Link::Connected(connection) = &mut self.link
                    && let Some(request) = connection.next()?
                {
                    self.serve(&request)?;
                }
            }
            Link::Closed => {}
        }
        Ok(())
    }
    /// Carries out a request, and answers it if it asks for that.
    fn serve(&mut self, request: &Request) -> Result<(), Problem> {
        let Link::Connected(connection) = &mut self.link else { return Ok(()) };
        match request.number {
            request::GET_FEATURES => {
                let features = if self.settings.checksums { FEATURES | CHECKSUMS } else { FEATURES };
                return connection.answer(request, &features.to_le_bytes());
            }
            request::GET_PROTOCOL_FEATURES => return connection.answer(request, &PROTOCOL_FEATURES.to_le_bytes()),
            request::GET_CONFIG => {
                let mut payload = request.payload.clone();
                let space = payload.get_mut(12..).unwrap_or_default();
                let known = space.len().min(self.address.len());
                space[..known].copy_from_slice(&self.address[..known]);
                return connection.answer(request, &payload);
            }
            request::SET_MEM_TABLE => {
                if request.u32(0)? != 1 {
                    return Err(Problem::card("its memory is in several pieces; give the host less memory"));
                }
                let file = connection.file()?;
                self.memory = Some(Memory::map(&file, request.u64(8)?, request.u64(16)?, request.u64(32)?)?);
            }
            request::SET_BACKEND_REQ_FD => self.interrupts = Some(Interrupts(connection.file()?)),
            request::SET_VRING_NUM => {
                let size = u16::try_from(request.u32(4)?).map_err(|_| Problem::card("a queue too large"))?;
                self.queues[queue(request)?].size = size;
            }
            request::SET_VRING_ADDR => {
                let queue = &mut self.queues[queue(request)?];
                (queue.descriptors, queue.used, queue.available) =
                    (request.u64(8)?, request.u64(16)?, request.u64(24)?);
            }
            request::SET_VRING_BASE => self.bases[queue(request)?] = request.u32(4)? as u16,
            request::SET_VRING_ENABLE => {
                let index = queue(request)?;
                self.enabled[index] = request.u32(4)? != 0;
                if self.enabled[index] {
                    let memory = self.memory.as_ref().ok_or_else(|| Problem::card("a queue without memory"))?;
                    self.queues[index].enable(memory, self.bases[index], self.settings.tells && index == TRANSMIT)?;
                }
            }
            request::SET_OWNER | request::SET_FEATURES | request::SET_PROTOCOL_FEATURES | request::VRING_KICK => {}
            other => return Err(Problem::card(format!("request {other}"))),
        }
        if request.acknowledge { connection.answer(request, &0u64.to_le_bytes()) } else { Ok(()) }
    }

    /// Returns when the guest is to be interrupted, or [`NEVER`].
    pub fn due(&self) -> u64 {
        if self.transmit_due { 0 } else { self.receive_due }
    }
    /// Takes the interrupts that are due at `now`: returns their queues.
    pub fn take_due(&mut self, now: u64) -> Result<impl Iterator<Item = u32> + use<>, Problem> {
        let mut due = [self.receive_due <= now, std::mem::take(&mut self.transmit_due)];
        if due[RECEIVE] {
            (self.receive_due, self.receive_last) = (NEVER, Some(now));
        }
        for (index, due) in due.iter_mut().enumerate().filter(|(_, due)| **due) {
            *due = match &self.memory {
                Some(memory) if self.enabled[index] => self.queues[index].wants_interrupt(memory)?,
                _ => false,
            };
        }
        Ok((0..).zip(due).filter_map(|(index, due)| due.then_some(index)))
    }
    /// Interrupts the guest for `queue`, and asks for an answer if it is to `acknowledge`.
    pub fn interrupt(&self, queue: u32, acknowledge: bool) -> Result<(), Problem> {
        self.interrupts.as_ref().map_or(Ok(()), |line| line.raise(queue, acknowledge))
    }
    /// Reads the answer to an interrupt.
    pub fn hear_answer(&self) -> Result<(), Problem> {
        let Some(line) = &self.interrupts else { return Ok(()) };
        let mut answer = [0; Interrupts::ANSWER];
        match recv(&line.0, &mut answer[..], RecvFlags::WAITALL) {
            Ok((Interrupts::ANSWER | 0, _)) | Err(rustix::io::Errno::CONNRESET) => Ok(()),
            Ok((n, _)) => Err(Problem::card(format!("an answer of {n} bytes"))),
            Err(error) => Err(Problem::card(error.to_string())),
        }
    }

    /// Accepts an IP packet at `now`, and schedules the interrupt for it.
    pub fn receive(&mut self, now: u64, packet: &[u8]) -> Result<(), Problem> {
        if !self.waiting.is_empty() || !self.deliver(packet)? {
            self.waiting.push_back(packet.to_vec());
        }
        if self.receive_due == NEVER {
            self.receive_due =
                self.receive_last.map_or(now, |last| now.max(last.saturating_add(self.settings.moderation)));
        }
        if !self.waiting.is_empty() {
            self.receive_due = now; // the guest is out of buffers: it must empty some, whatever the moderation
        }
        Ok(())
    }
    /// Writes a packet into the guest's next buffer. Returns false if there is none.
    fn deliver(&mut self, packet: &[u8]) -> Result<bool, Problem> {
        let Some(memory) = self.memory.as_ref().filter(|_| self.enabled[RECEIVE]) else {
            return Ok(true); // the guest has not set the card up: the packet is lost
        };
        let protocol = if packet.first().is_some_and(|byte| byte >> 4 == 6) { IPV6 } else { IPV4 };
        self.queues[RECEIVE].write(memory, &[&HEADER, &self.address, &GATEWAY, &protocol, packet])
    }
    /// Hands each IP packet that the guest has sent to `send`, in buffers from `empty`. Call when the guest sleeps.
    pub fn collect(
        &mut self,
        mut empty: impl FnMut() -> Vec<u8>,
        mut send: impl FnMut(Vec<u8>),
    ) -> Result<(), Problem> {
        while let Some(packet) = self.waiting.pop_front() {
            if !self.deliver(&packet)? {
                self.waiting.push_front(packet);
                break;
            }
            self.receive_due = 0;
        }
        let Some(memory) = self.memory.as_ref().filter(|_| self.enabled[TRANSMIT]) else { return Ok(()) };
        let queue = &mut self.queues[TRANSMIT];
        let mut any = false;
        loop {
            let mut frame = empty();
            frame.clear();
            if !queue.read(memory, &mut frame)? {
                break;
            }
            any = true;
            complete(&mut frame);
            let header = HEADER.len() + ETHERNET;
            let is_ip = frame.get(header - 2..header).is_some_and(|kind| kind == IPV4 || kind == IPV6);
            if is_ip && frame.len() > header {
                frame.drain(..header);
                send(frame);
            }
        }
        self.transmit_due |= any && queue.wants_interrupt(memory)?;
        Ok(())
    }
}

/// Computes the checksum of a frame whose header asks for it (virtio 1.2, section 5.1.6.2): the Internet checksum (RFC 1071)
/// of everything from `start`, where the guest has put its pseudo-header's sum into the field.
fn complete(frame: &mut [u8]) {
    let Some((header, rest)) = frame.split_at_mut_checked(HEADER.len()) else { return };
    let field = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let (start, place) = (field(6), field(6) + field(8));
    // What a guest gets wrong here it gets back as a packet with a wrong checksum.
    if header[0] & NEEDS_CHECKSUM == 0 || place + 2 > rest.len() {
        return;
    }
    let word = |pair: &[u8]| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    let mut sum: u64 = rest[start..].chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // UDP has no checksum of zero (RFC 768), and to others both zeros are one.
    let checksum = if sum == 0xffff { 0xffff } else { !(sum as u16) };
    rest[place..place + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Returns the queue that a request is about.
fn queue(request: &Request) -> Result<usize, Problem> {
    match request.u32(0)? {
        index @ 0..=1 => Ok(index as usize),
        other => Err(Problem::card(format!("queue {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, section 3: the words 0001, f203, f4f5 and f6f7 sum up to ddf2. They stand behind the field, with an odd byte
    /// (e0 of the word e000, so that the sum is bdf3), and what is before them does not count.
    #[test]
    fn a_checksum_is_that_of_rfc_1071() {
        let frame = |flags: u8, place: u8| {
            let mut frame = vec![flags, 0, 0, 0, 0, 0, 3, 0, place, 0, 1, 0, 9, 9, 9];
            frame.extend([0, 0, 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0xe0]);
            frame
        };
        let mut done = frame(NEEDS_CHECKSUM, 0);
        complete(&mut done);
        assert_eq!(done[15..17], (!0xbdf3_u16).to_be_bytes());
        assert_eq!((&done[..15], &done[17..]), (&frame(NEEDS_CHECKSUM, 0)[..15], &frame(NEEDS_CHECKSUM, 0)[17..]));
        for (mut frame, why) in [(frame(0, 0), "not asked for"), (frame(NEEDS_CHECKSUM, 200), "beyond the frame")] {
            let before = frame.clone();
            complete(&mut frame);
            assert_eq!(frame, before, "{why}");
        }
        complete(&mut [NEEDS_CHECKSUM]);
    }
}
