//! Flows over UDP: datagrams at a constant rate, each with its place in the stream.
//!
//! A flow of n bytes is cut into payloads. Each begins with the offset of its first byte in the flow (8 bytes, big
//! endian) and goes on with the content from that offset, so that a receiver can place and check it alone. At the end
//! come three datagrams that say so: offset 2^64 - 1, the flow's bytes, its datagrams.

use crate::content;
use crate::failure::Failure;
use crate::plan::{Act, Flow};
use crate::report;
use crate::socket::Socket;
use crate::timer::{sleep_for, sleep_until};
use std::collections::BTreeMap;

/// The place of what is behind the last byte.
const END: u64 = u64::MAX;
/// How often the end is said, and how far apart in ns.
const ENDS: u32 = 3;
const BETWEEN_ENDS: u64 = 10_000_000;
/// How long a receiver that has got something waits for more at least, in s, and for how many datagrams' time.
const SILENCE: u64 = 5;
const PATIENCE: u64 = 20;
const SECOND: u128 = 1_000_000_000;

/// Runs a flow's end.
pub fn run(flow: &Flow, socket: &Socket) -> Result<(), Failure> {
    match flow.act {
        Act::Send => send(flow, socket),
        Act::Receive => receive(flow, socket),
    }
}

fn send(flow: &Flow, socket: &Socket) -> Result<(), Failure> {
    let (payload, rate) = (flow.payload.unwrap_or(8), flow.rate.unwrap_or(1));
    let (start, size) = (flow.start.unwrap_or(0), flow.size.unwrap_or(END));
    let mut buffer = vec![0; payload];
    let (mut sent, mut datagrams) = (0_u64, 0_u64);
    sleep_until(start);
    report!("up {}", flow.number);
    while sent < size {
        let after = (u128::from(sent) * SECOND / u128::from(rate)) as u64;
        if flow.duration.is_some_and(|duration| after >= duration) {
            break;
        }
        sleep_until(start.saturating_add(after));
        // The last one may be short, but never too short for its place.
        let length = payload.min(usize::try_from(size - sent).unwrap_or(payload)).max(8);
        deliver(socket, place(&mut buffer[..length], sent))?;
        (sent, datagrams) = (sent + length as u64, datagrams + 1);
    }
    report!("sent {} {sent}", flow.number);
    for nth in 0..ENDS {
        if nth > 0 {
            sleep_for(BETWEEN_ENDS);
        }
        deliver(socket, &[END, sent, datagrams].map(u64::to_be_bytes).concat())?;
    }
    Ok(())
}

/// Makes `datagram` the piece of the flow that begins at `offset`.
fn place(datagram: &mut [u8], offset: u64) -> &[u8] {
    let (head, body) = datagram.split_at_mut(8);
    head.copy_from_slice(&offset.to_be_bytes());
    content::fill(offset, body);
    datagram
}

/// Sends a datagram. That an earlier one found nobody is no reason not to.
fn deliver(socket: &Socket, datagram: &[u8]) -> Result<(), Failure> {
    loop {
        match socket.send(datagram) {
            Err(failure) if failure.code() == "ECONNREFUSED" => {}
            other => return other.map(drop),
        }
    }
}

fn receive(flow: &Flow, socket: &Socket) -> Result<(), Failure> {
    report!("up {}", flow.number);
    let mut tally = Tally::default();
    let mut buffer = vec![0; 65536];
    let apart = flow.payload.unwrap_or(0) as u64 / flow.rate.unwrap_or(u64::MAX).max(1);
    let silence = SILENCE.max(PATIENCE * apart) as i64;
    let mut ended = false;
    loop {
        let length = match socket.receive(&mut buffer) {
            Err(failure) if failure.code() == "EAGAIN" => break,
            Err(failure) if failure.code() == "ECONNREFUSED" => continue,
            got => got?,
        };
        if tally.datagrams == 0 {
            report!("first {}", flow.number);
            let silence = [silence, 0].map(i64::to_ne_bytes).concat();
            socket.set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, &silence)?;
        }
        if tally.take(&buffer[..length]) || flow.size.is_some_and(|size| tally.bytes >= size) {
            ended = true;
            break;
        }
    }
    report!("last {} {} {} {}", flow.number, tally.bytes, u8::from(tally.intact), u8::from(ended));
    report!("datagrams {} {} {} {} {}", flow.number, tally.datagrams, tally.lost(), tally.duplicated, tally.reordered);
    Ok(())
}

/// What has come of a flow.
struct Tally {
    /// Where it has no gaps: begin and end of each such range.
    ranges: BTreeMap<u64, u64>,
    /// Bytes and datagrams, each counted once.
    bytes: u64,
    datagrams: u64,
    intact: bool,
    duplicated: u64,
    /// Datagrams behind which a later one had come before (RFC 4737, section 3.3).
    reordered: u64,
    /// The longest payload.
    payload: u64,
    /// Datagrams of the whole flow, when its end has come.
    sent: Option<u64>,
}

impl Default for Tally {
    fn default() -> Tally {
        let (bytes, datagrams, duplicated, reordered, payload) = (0, 0, 0, 0, 0);
        Tally { ranges: BTreeMap::new(), bytes, datagrams, intact: true, duplicated, reordered, payload, sent: None }
    }
}

impl Tally {
    /// Counts a datagram; whether it is the end.
    fn take(&mut self, datagram: &[u8]) -> bool {
        let Some((head, body)) = datagram.split_first_chunk() else {
            self.intact = false;
            return false;
        };
        let offset = u64::from_be_bytes(*head);
        if offset == END {
            self.sent = body.get(8..16).and_then(|count| count.try_into().ok()).map(u64::from_be_bytes);
            return true;
        }
        let length = datagram.len() as u64;
        self.intact &= content::verify(offset, body);
        let highest = self.ranges.last_key_value().map_or(0, |(_, end)| *end);
        if !self.add(offset, offset.saturating_add(length)) {
            self.duplicated += 1;
            return false;
        }
        self.reordered += u64::from(offset < highest);
        self.bytes += length;
        self.datagrams += 1;
        self.payload = self.payload.max(length);
        false
    }

    /// Adds a range, joined with its neighbours; false if its begin was there already.
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

    /// How many datagrams have not come: of all, or, where the end did not come either, of those before the last.
    fn lost(&self) -> u64 {
        let highest = self.ranges.last_key_value().map_or(0, |(_, end)| *end);
        let sent = self.sent.unwrap_or_else(|| highest.div_ceil(self.payload.max(1)));
        sent.saturating_sub(self.datagrams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What of five datagrams of 100 bytes arrives in the order `arrivals`, and whether the end does.
    fn tally(arrivals: &[u64], end: bool) -> Tally {
        let mut tally = Tally::default();
        for number in arrivals {
            assert!(!tally.take(place(&mut [0; 100], number * 100)));
        }
        if end {
            assert!(tally.take(&[END, 500, 5].map(u64::to_be_bytes).concat()));
        }
        tally
    }

    #[test]
    fn losses_duplicates_and_reordering_are_told_apart() {
        // Arrivals, whether the end comes; datagrams, lost, duplicated, reordered.
        let cases: [(&[u64], bool, [u64; 4]); 6] = [
            (&[0, 1, 2, 3, 4], true, [5, 0, 0, 0]),
            (&[0, 2, 3], true, [3, 2, 0, 0]),
            (&[0, 2, 3], false, [3, 1, 0, 0]),
            (&[0, 2, 1, 1, 4, 3], true, [5, 0, 1, 1 + 1]),
            (&[4, 3, 2, 1, 0, 0], true, [5, 0, 1, 4]),
            (&[], true, [0, 5, 0, 0]),
        ];
        for (arrivals, end, expected) in cases {
            let tally = tally(arrivals, end);
            assert_eq!([tally.datagrams, tally.lost(), tally.duplicated, tally.reordered], expected, "{arrivals:?}");
            assert_eq!((tally.bytes, tally.intact), (100 * expected[0], true));
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
