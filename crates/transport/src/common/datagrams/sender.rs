//! Sending half: messages split into datagrams, or bytes at a constant rate.

use super::Datagram;
use std::collections::VecDeque;
use vazao_engine::{Duration, Rate, Time};

#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// Maximum payload bytes of a datagram.
    payload: u16,
    /// Sending rate of payload; without one, each write is a message.
    rate: Option<Rate>,
    /// Bytes left of each message, and number of datagrams of the first one.
    waiting: VecDeque<u64>,
    parts: u16,
    messages: u32,
    datagrams: u64,
    bytes: u64,
    /// Time at which sending at a rate began.
    origin: Option<Time>,
}

impl Sender {
    pub fn new(payload: u16, rate: Option<Rate>) -> Sender {
        Sender { payload, rate, waiting: VecDeque::new(), parts: 0, messages: 0, datagrams: 0, bytes: 0, origin: None }
    }

    pub fn write(&mut self, bytes: u64) {
        match (self.rate, self.waiting.back_mut()) {
            _ if bytes == 0 => {}
            // With a rate, write boundaries have no meaning.
            (Some(_), Some(waiting)) => *waiting += bytes,
            _ => self.waiting.push_back(bytes),
        }
    }

    /// Bytes that were written and not sent.
    pub fn unsent(&self) -> u64 {
        self.waiting.iter().sum()
    }
    /// Bytes sent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Bytes of the next datagram; 0 if none waits.
    pub fn next_payload(&self) -> u64 {
        self.waiting.front().map_or(0, |&left| left.min(self.payload.into()))
    }

    pub fn discard_unsent(&mut self) -> u64 {
        self.waiting.clear();
        self.bytes
    }

    pub fn next(&mut self, now: Time) -> Option<Datagram> {
        let left = *self.waiting.front()?;
        let paced = self.rate.is_some();
        if paced {
            self.origin.get_or_insert(now);
            if self.due() > now {
                return None;
            }
        }
        let largest = u64::from(self.payload);
        if paced {
            self.parts = 1;
        } else if self.parts == 0 {
            self.parts = u16::try_from(left.div_ceil(largest).max(1)).unwrap_or(u16::MAX);
        }
        let payload = left.min(largest);
        let datagram = Datagram {
            sent: now,
            sequence: self.datagrams as u32,
            message: self.messages,
            parts: self.parts,
            payload: payload as u16,
        };
        self.datagrams += 1;
        self.bytes += payload;
        if left > payload {
            self.waiting[0] = left - payload;
        } else {
            self.waiting.pop_front();
        }
        if paced || left == payload {
            self.messages = self.messages.wrapping_add(1);
            self.parts = 0;
        }
        Some(datagram)
    }

    /// Time of the next datagram: byte n leaves n / rate after the first, so that rounding errors do not accumulate.
    pub fn due(&self) -> Time {
        match (self.rate, self.origin) {
            _ if self.waiting.is_empty() => Time::NEVER,
            (Some(rate), Some(origin)) => {
                let nanos = u128::from(self.bytes) * 8_000_000_000 / u128::from(rate.as_bps());
                origin.saturating_add(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
            }
            _ => Time::ZERO,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
    pub fn datagrams(&self) -> u64 {
        self.datagrams
    }
}
