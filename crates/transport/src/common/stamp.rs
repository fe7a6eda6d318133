//! Digest that stands for payload bytes.

/// Returns the digest of a stream offset that a packet carries in place of its payload. It lets the receiver verify
/// that it puts the bytes where the sender took them from.
#[inline]
pub fn stamp(offset: u64) -> u32 {
    ((offset ^ 0x5bd1_e995_9d2c_5680).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
