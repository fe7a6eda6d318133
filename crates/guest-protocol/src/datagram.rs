//! Datagrams of a flow over UDP between guests.
//!
//! A flow of n bytes is cut into payloads. Each begins with the offset of its first byte in the flow (8 bytes, big
//! endian) and goes on with the content from that offset, so that a receiver can place and check it alone. Datagrams with
//! the greatest number in place of an offset mark the end: the flow's bytes and its datagrams follow.

/// Number in place of an offset that marks the end.
const END: u64 = u64::MAX;

/// Head of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Offset of its first byte in the flow.
    Offset(u64),
    /// The flow is over.
    End,
}

impl Head {
    /// Length in bytes.
    pub const LENGTH: usize = 8;

    /// Reads the head of a datagram's payload; `None` where that is too short.
    pub fn read(payload: &[u8]) -> Option<Head> {
        let number = u64::from_be_bytes(*payload.first_chunk()?);
        Some(if number == END { Head::End } else { Head::Offset(number) })
    }

    /// Returns its bytes.
    pub fn to_bytes(self) -> [u8; Head::LENGTH] {
        match self {
            Head::Offset(offset) => offset,
            Head::End => END,
        }
        .to_be_bytes()
    }
}
