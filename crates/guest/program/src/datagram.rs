//! Flows over UDP: datagrams at a constant rate, each of which says where in the flow it belongs ([`Head`]).

use crate::content;
use crate::failure::Failure;
use crate::report;
use crate::socket::Socket;
use crate::timer::{sleep_for, sleep_until};
use std::collections::BTreeMap;
use vazao_guest_protocol::{Act, Event, Head};

/// Number of end marks, and their distance in ns.
const ENDS: u32 = 3;
const BETWEEN_ENDS: u64 = 10_000_000;
/// A receiver that has got something waits for more, in s: at least so long, and at least for so many datagrams' time.
const SILENCE: u64 = 5;
const PATIENCE: u64 = 20;
const SECOND: u128 = 1_000_000_000;

/// A flow's datagrams.
pub struct Datagrams {
    /// The flow's number.
    pub flow: u32,
    /// Bytes of payload in a full one.
    pub payload: u64,
    /// Bytes of payload in a second.
    pub rate: u64,
}

impl Datagrams {
    /// Runs an end of the flow, which starts at virtual time `start`.
    pub fn run(&self, act: &Act, start: u64, socket: &Socket) -> Result<(), Failure> {
        match *act {
            Act::Send { size, duration, .. } => self.send(size.unwrap_or(u64::MAX), duration, start, socket),
            Act::Receive { size, .. } => self.receive(size, socket),
        }
    }

    fn send(&self, size: u64, duration: Option<u64>, start: u64, socket: &Socket) -> Result<(), Failure> {
        let Datagrams { flow, payload, rate } = *self;
        let payload = payload.max(Head::LENGTH as u64) as usize;
        let mut buffer = vec![0; payload];
        let (mut sent, mut datagrams) = (0_u64, 0_u64);
        sleep_until(start);
        report::event(flow, Event::Up);
        while sent < size {
            let after = (u128::from(sent) * SECOND / u128::from(rate.max(1))) as u64;
            if duration.is_some_and(|duration| after >= duration) {
                break;
            }
            sleep_until(start.saturating_add(after));
            // The last one may be short, but never too short for its offset.
            let length = payload.min(usize::try_from(size - sent).unwrap_or(payload)).max(Head::LENGTH);
            deliver(socket, place(&mut buffer[..length], sent))?;
            (sent, datagrams) = (sent + length as u64, datagrams + 1);
        }
        report::event(flow, Event::Sent { bytes: sent });
        for nth in 0..ENDS {
            if nth > 0 {
                sleep_for(BETWEEN_ENDS);
            }
            deliver(socket, &end(sent, datagrams))?;
        }
        Ok(())
    }

    fn receive(&self, size: Option<u64>, socket: &Socket) -> Result<(), Failure> {
        let flow = self.flow;
        report::event(flow, Event::Up);
        let mut tally = Tally::default();
        let mut buffer = vec![0; 65536];
        let mut ended = false;
        while !ended {
            let length = match socket.receive(&mut buffer) {
                Err(failure) if failure.code() == "EAGAIN" => break,
                Err(failure) if failure.code() == "ECONNREFUSED" => continue,
                received => received?,
            };
            if tally.bytes == 0 {
                report::event(flow, Event::First);
                let silence = SILENCE.max(PATIENCE * (self.payload / self.rate.max(1))) as i64;
                let silence = [silence, 0].map(i64::to_ne_bytes).concat();
                socket.set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, &silence)?;
            }
            ended = tally.take(&buffer[..length]) || size.is_some_and(|size| tally.bytes >= size);
        }
        report::event(flow, Event::Last { bytes: tally.bytes, intact: tally.intact, ended });
        Ok(())
    }
}

/// Makes `datagram` the piece of the flow that begins at `offset`.
fn place(datagram: &mut [u8], offset: u64) -> &[u8] {
    let (head, body) = datagram.split_at_mut(Head::LENGTH);
    head.copy_from_slice(&Head::Offset(offset).to_bytes());
    content::fill(offset, body);
    datagram
}

/// Returns a datagram that marks the end of a flow of `sent` bytes.
fn end(sent: u64, datagrams: u64) -> Vec<u8> {
    [Head::End.to_bytes(), sent.to_be_bytes(), datagrams.to_be_bytes()].concat()
}

/// Sends a datagram, even if an earlier one was refused.
fn deliver(socket: &Socket, datagram: &[u8]) -> Result<(), Failure> {
    loop {
        match socket.send(datagram) {
            Err(failure) if failure.code() == "ECONNREFUSED" => {}
            other => return other.map(drop),
        }
    }
}

/// Arrivals of a flow.
struct Tally {
    /// Ranges of bytes without gaps: begin and end of each.
    ranges: BTreeMap<u64, u64>,
    /// Bytes, each counted once.
    bytes: u64,
    intact: bool,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { ranges: BTreeMap::new(), bytes: 0, intact: true }
    }
}

impl Tally {
    /// Counts a datagram. Returns whether it marks the end.
    fn take(&mut self, datagram: &[u8]) -> bool {
        let offset = match Head::read(datagram) {
            Some(Head::Offset(offset)) => offset,
            Some(Head::End) => return true,
            None => {
                self.intact = false;
                return false;
            }
        };
        let length = datagram.len() as u64;
        self.intact &= content::verify(offset, &datagram[Head::LENGTH..]);
        if self.add(offset, offset.saturating_add(length)) {
            self.bytes += length;
        }
        false
    }

    /// Adds a range, joined with its neighbours. Returns false if its begin was there already.
    fn add(&mut self, begin: u64, mut end: u64) -> bool {
        let before = self.ranges.range(..=begin).next_back().map(|(begin, end)| (*begin, *end));
        if before.is_some_and(|(_, end)| begin < end) {
            return false;
        }
        if let Some(after) = self.ranges.remove(&end) {
            end = after;
        }
        let begin = before.filter(|(_, end)| *end == begin).map_or(begin, |(begin, _)| begin);
        self.ranges.insert(begin, end);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_datagram_is_counted_once() {
        let cases: [(&[u64], u64); 5] =
            [(&[0, 1, 2, 3, 4], 5), (&[0, 2, 3], 3), (&[0, 2, 1, 1, 4, 3], 5), (&[4, 3, 2, 1, 0, 0], 5), (&[], 0)];
        for (arrivals, different) in cases {
            let mut tally = Tally::default();
            for number in arrivals {
                assert!(!tally.take(place(&mut [0; 100], number * 100)));
            }
            assert!(tally.take(&end(500, 5)));
            assert_eq!((tally.bytes, tally.intact), (100 * different, true), "{arrivals:?}");
        }
    }

    #[test]
    fn a_wrong_byte_is_noticed() {
        let mut datagram = [0; 100];
        place(&mut datagram, 300);
        assert_eq!(datagram[..8], [0, 0, 0, 0, 0, 0, 1, 44]);
        datagram[60] ^= 1;
        let mut tally = Tally::default();
        tally.take(&datagram);
        assert!(!tally.intact);
    }
}
