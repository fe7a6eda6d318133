//! Unreliable datagrams (RFC 9221).

use super::*;

/// DATAGRAM frames of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Datagrams {
    /// Those to be sent: number and bytes.
    waiting: VecDeque<(u64, u16)>,
    next: u64,
    /// Those that came and were not taken, and the numbers of ours that were lost.
    arrived: VecDeque<(u64, u16)>,
    lost: VecDeque<u64>,
}

impl Datagrams {
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
    pub fn on_arrived(&mut self, number: u64, length: u16) {
        self.arrived.push_back((number, length));
    }
    pub fn on_lost(&mut self, number: u64) {
        self.lost.push_back(number);
    }
    /// The next frame, if it fits.
    pub fn frame(&mut self, room: u32) -> Option<Frame> {
        let &(number, length) = self.waiting.front()?;
        let frame = Frame::Datagram { length, number };
        (frame.bytes() <= room).then(|| {
            self.waiting.pop_front();
            frame
        })
    }
}

impl Connection {
    /// The most bytes that a datagram can have: a packet's, less its header with the longest number and the frame's own.
    pub fn most_in_datagram(&self) -> u64 {
        u64::from(self.config.datagram - Kind::OneRtt.overhead(4) - 3)
    }

    /// Sends a datagram of so many bytes, in the order of calls, as soon as the window lets it: its number. `None`: it is too long.
    pub fn send_datagram(&mut self, bytes: u64) -> Option<u64> {
        (bytes <= self.most_in_datagram()).then(|| {
            let number = self.datagrams.next;
            self.datagrams.next += 1;
            self.datagrams.waiting.push_back((number, bytes as u16));
            number
        })
    }

    /// The next datagram that came, in the order of arrival: its number at the sender, and its bytes.
    pub fn take_datagram(&mut self) -> Option<(u64, u64)> {
        self.datagrams.arrived.pop_front().map(|(number, length)| (number, u64::from(length)))
    }

    /// The number of a datagram of ours that was declared lost; it may have arrived all the same.
    pub fn take_lost_datagram(&mut self) -> Option<u64> {
        self.datagrams.lost.pop_front()
    }
}
