//! Packets as fields and words, for viewers of a run.

use super::Crossing;
use std::ops::Range;

/// Bits of [`Dissection::kind`].
pub(crate) mod kind {
    pub const DATA: u8 = 1;
    pub const ACK: u8 = 2;
    pub const OPENS: u8 = 4;
    pub const CLOSES: u8 = 8;
    pub const RESETS: u8 = 16;
    pub const PROBES: u8 = 32;
    pub const RETRANSMISSION: u8 = 64;
}

/// Packet as a viewer draws it. Sequence numbers count from the first of their direction: bytes of TCP's stream, TSNs, or
/// packet numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dissection {
    /// Union of [bits](kind).
    pub kind: u8,
    /// Sequence space of its data.
    pub data: Option<Range<u64>>,
    /// Number up to which it acknowledges cumulatively.
    pub ack: Option<u64>,
    /// Right edge of the receive window that it advertises.
    pub edge: Option<u64>,
    /// SACK blocks.
    pub sacks: Vec<Range<u64>>,
    /// Header in words.
    pub text: String,
}

impl Dissection {
    /// Empties it, but keeps its memory.
    pub fn clear(&mut self) {
        (self.kind, self.data, self.ack, self.edge) = (0, None, None, None);
        self.sacks.clear();
        self.text.clear();
    }

    /// Appends words, after a comma if there are some already.
    pub fn say(&mut self, words: &str) {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(words);
    }
}

/// Reader of one flow's packets for viewers.
pub(crate) trait Dissector {
    /// Reads a packet of one of our machines.
    fn dissect(&mut self, crossing: &Crossing<'_>, out: &mut Dissection);

    /// Reads an IP packet that side `from` has sent, where a guest is an end of the flow.
    fn dissect_bytes(&mut self, _from: usize, packet: &[u8], out: &mut Dissection) {
        out.say(&format!("IP packet of {} bytes", packet.len()));
    }
}

/// Reader of packets of which nothing but the size is known.
pub(crate) struct Unread;

impl Dissector for Unread {
    fn dissect(&mut self, _crossing: &Crossing<'_>, _out: &mut Dissection) {}
}

/// Numbers of one direction, which are counted from its first and do not wrap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unwrapped {
    first: u32,
    near: u64,
}

impl Unwrapped {
    /// Starts at a number, which is 0 from then on.
    pub fn from(first: u32) -> Unwrapped {
        Unwrapped { first, near: 0 }
    }

    /// Returns the count of a number: of those that it may stand for, the one nearest to the last one.
    pub fn of(&mut self, number: u32) -> u64 {
        let distance = number.wrapping_sub(self.first).wrapping_sub(self.near as u32) as i32;
        self.near = self.near.saturating_add_signed(i64::from(distance));
        self.near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_where_the_wire_wraps() {
        let mut numbers = Unwrapped::from(u32::MAX - 1);
        let counted = [u32::MAX - 1, u32::MAX, 0, 5, 1 << 31, 3].map(|number| numbers.of(number));
        assert_eq!(counted, [0, 1, 2, 7, (1 << 31) + 2, 5]);
        let mut numbers = Unwrapped::from(10);
        let steps = (0..6_u64).map(|step| (10 + (step << 30)) as u32);
        assert_eq!(steps.map(|number| numbers.of(number)).last(), Some(5 << 30), "more than 4 GiB");
    }
}
