//! Unreliable datagrams (RFC 9221), sent by the application itself or carrying the messages of its byte stream.

use super::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// DATAGRAM frames of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Datagrams {
    /// Datagrams to send: number and bytes.
    waiting: VecDeque<(u64, u16)>,
    next: u64,
    /// Datagrams received and not taken, and numbers of our lost ones.
    arrived: VecDeque<(u64, u16)>,
    lost: VecDeque<u64>,
    /// Byte stream carried in the datagrams, if any.
    load: Option<Box<Load>>,
}

/// Byte stream carried in datagrams, each of which holds data of one message only.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    /// Messages begun, and bytes of each not yet written.
    begun: VecDeque<(u32, u64)>,
    messages: u32,
    /// Data written and not yet sent: message, if any, and bytes.
    backlog: VecDeque<(Option<u32>, u64)>,
    unsent: u64,
    written: u64,
    /// Messages by the number of their first datagram, with the bytes not yet delivered.
    under_way: BTreeMap<u64, (u32, u64)>,
    /// Bytes received and read, and the datagrams they came in: number and bytes.
    read: u64,
    credits: VecDeque<(u64, u16)>,
}

impl Datagrams {
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() || self.load.as_ref().is_some_and(|load| load.unsent > 0)
    }
    pub fn on_arrived(&mut self, number: u64, length: u16) {
        self.arrived.push_back((number, length));
    }
    pub fn on_lost(&mut self, number: u64) {
        // The application of a byte stream does not ask for lost datagrams.
        if self.load.is_none() {
            self.lost.push_back(number);
        }
    }
    pub fn carry(&mut self) {
        self.load = Some(Box::default());
    }
    pub fn carries(&self) -> bool {
        self.load.is_some()
    }
    pub fn load(&mut self) -> Option<&mut Load> {
        self.load.as_deref_mut()
    }
    /// Bytes of the byte stream not yet sent.
    pub fn unsent(&self) -> u64 {
        self.load.as_ref().map_or(0, |load| load.unsent)
    }

    /// Returns the next frame, with at most `most` bytes of data, if it fits in `room`.
    pub fn frame(&mut self, room: u32, most: u64) -> Option<Frame> {
        if self.waiting.is_empty()
            && let Some(bytes) = self.load.as_mut().and_then(|load| load.next(self.next, most))
        {
            self.waiting.push_back((self.next, bytes));
            self.next += 1;
        }
        let &(number, length) = self.waiting.front()?;
        let frame = Frame::Datagram { length, number };
        (frame.bytes() <= room).then(|| {
            self.waiting.pop_front();
            frame
        })
    }

    /// Reads everything received, as a range of the bytes read so far: lost bytes have no position.
    pub fn read(&mut self) -> Option<Range<u64>> {
        let load = self.load.as_mut()?;
        let start = load.read;
        load.read += self.arrived.iter().map(|&(_, length)| u64::from(length)).sum::<u64>();
        load.credits.append(&mut self.arrived);
        (load.read > start).then_some(start..load.read)
    }
}

impl Load {
    pub fn begin_message(&mut self, bytes: u64) {
        self.begun.push_back((self.messages, bytes));
        self.messages += 1;
    }

    pub fn write(&mut self, mut bytes: u64) {
        self.written += bytes;
        self.unsent += bytes;
        while bytes > 0 {
            let (message, part) = match self.begun.front_mut() {
                Some((message, left)) => {
                    let part = bytes.min(*left);
                    *left -= part;
                    (Some(*message), part)
                }
                None => (None, bytes),
            };
            bytes -= part;
            if self.begun.front().is_some_and(|(_, left)| *left == 0) {
                self.begun.pop_front();
            }
            match self.backlog.back_mut() {
                Some((last, left)) if *last == message => *left += part,
                _ => self.backlog.push_back((message, part)),
            }
        }
    }

    /// Discards unsent data; returns the bytes that remain of those written.
    pub fn discard_unsent(&mut self) -> u64 {
        self.begun.clear();
        self.backlog.clear();
        self.written -= std::mem::take(&mut self.unsent);
        self.written
    }

    /// Takes the data of the next datagram, which will have this number; returns its bytes.
    fn next(&mut self, number: u64, most: u64) -> Option<u16> {
        let (message, left) = self.backlog.front_mut()?;
        let part = most.min(*left);
        *left -= part;
        self.unsent -= part;
        if let Some(message) = *message {
            let is_first = self.under_way.last_entry().is_none_or(|last| last.get().0 != message);
            if is_first {
                self.under_way.insert(number, (message, 0));
            }
            self.under_way.last_entry().expect("one was just there").get_mut().1 += part;
        }
        if self.backlog.front().is_some_and(|(_, left)| *left == 0) {
            self.backlog.pop_front();
        }
        Some(part as u16)
    }

    /// Records the delivery of a datagram; returns the message that it completes.
    fn settle(&mut self, number: u64, bytes: u64) -> Option<u32> {
        let (&first, (message, missing)) = self.under_way.range_mut(..=number).next_back()?;
        let message = *message;
        *missing = missing.saturating_sub(bytes);
        let is_whole = *missing == 0 && self.backlog.front().is_none_or(|(next, _)| *next != Some(message));
        is_whole.then(|| {
            self.under_way.remove(&first);
            message
        })
    }
}

impl Connection {
    /// Maximum bytes of a datagram: a packet less its header with the longest packet number and the frame header.
    pub fn max_datagram_data(&self) -> u64 {
        u64::from(self.config.datagram - self.parity_header() - Kind::OneRtt.overhead(4) - 3)
    }

    /// Queues a datagram of `bytes`, to be sent in order; returns its number. `None`: it is too long.
    pub fn send_datagram(&mut self, bytes: u64) -> Option<u64> {
        (bytes <= self.max_datagram_data()).then(|| {
            let number = self.datagrams.next;
            self.datagrams.next += 1;
            self.datagrams.waiting.push_back((number, bytes as u16));
            number
        })
    }

    /// Takes the next datagram received: the sender's number and its bytes.
    pub fn take_datagram(&mut self) -> Option<(u64, u64)> {
        self.datagrams.arrived.pop_front().map(|(number, length)| (number, u64::from(length)))
    }

    /// Takes the number of a datagram of ours that was declared lost; it may have arrived nevertheless.
    pub fn take_lost_datagram(&mut self) -> Option<u64> {
        self.datagrams.lost.pop_front()
    }

    /// Whether the application's byte stream is sent in datagrams.
    pub fn is_unreliable(&self) -> bool {
        self.datagrams.carries()
    }

    /// Takes the next datagram of the byte stream that was read: the sender's number and its bytes.
    pub fn take_read_datagram(&mut self) -> Option<(u64, u64)> {
        let (number, bytes) = self.datagrams.load()?.credits.pop_front()?;
        Some((number, bytes.into()))
    }

    /// Records that the peer has read a datagram; returns the number of the message that it completes.
    pub fn settle_datagram(&mut self, (number, bytes): (u64, u64)) -> Option<u32> {
        self.datagrams.load()?.settle(number, bytes)
    }
}
