//! What stands for a payload's bytes.

/// Digest of a stream offset, which a packet carries in place of its payload: with it the receiver verifies that it puts the
/// bytes where the sender took them from.
#[inline]
pub fn stamp(offset: u64) -> u32 {
    ((offset ^ 0x5bd1_e995_9d2c_5680).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
