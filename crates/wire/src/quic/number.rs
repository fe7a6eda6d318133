//! Integers of variable length (RFC 9000 section 16), and packet numbers cut to their low bytes (section 17.1, appendix A).

use crate::{DecodeError, require};

/// Appends a value below 2^62 in as few bytes as hold it. Of a larger one the low 62 bits go.
pub fn put_varint(value: u64, out: &mut Vec<u8>) {
    let bytes = match value {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=1_073_741_823 => 4,
        _ => 8,
    };
    put_varint_of(value, bytes, out);
}

/// Appends a value in 1, 2, 4 or 8 bytes, which may be more than it needs.
pub(super) fn put_varint_of(value: u64, bytes: usize, out: &mut Vec<u8>) {
    let prefix = (bytes.trailing_zeros() as u8) << 6;
    let start = out.len();
    out.extend(&value.to_be_bytes()[8 - bytes..]);
    out[start] = out[start] & 0x3f | prefix;
}

/// Takes an integer from the front of `bytes`.
///
/// # Errors
/// When it is truncated.
pub fn take_varint(bytes: &mut &[u8]) -> Result<u64, DecodeError> {
    require(bytes, 1)?;
    let length = 1 << (bytes[0] >> 6);
    require(bytes, length)?;
    let (number, rest) = bytes.split_at(length);
    *bytes = rest;
    Ok(number.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)) & (u64::MAX >> 2 >> (64 - 8 * length)))
}

/// Bytes that a packet number needs so that who has seen `largest_acked` at least can tell it (appendix A.2): 1 to 4.
pub fn number_bytes(number: u64, largest_acked: Option<u64>) -> u8 {
    let unacknowledged = largest_acked.map_or(number + 1, |largest| number - largest);
    // One bit more than the distance has, as it may be to either side.
    let bits = u64::BITS - (unacknowledged - 1).leading_zeros() + 1;
    bits.div_ceil(8).clamp(1, 4) as u8
}

/// Returns the packet number whose low `bytes` bytes are `truncated`, nearest to the one `expected` next (appendix A.3).
pub fn expand_number(truncated: u64, bytes: u8, expected: u64) -> u64 {
    let window = 1_u64 << (8 * bytes);
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Appendix A.1.
    #[test]
    fn the_integers_of_the_rfc() {
        let examples: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (mut bytes, value) in examples {
            let mut written = Vec::new();
            put_varint_of(value, bytes.len(), &mut written);
            assert_eq!(written, bytes);
            assert_eq!(take_varint(&mut bytes), Ok(value));
            assert!(bytes.is_empty());
        }
    }

    /// Appendices A.2 and A.3.
    #[test]
    fn the_packet_numbers_of_the_rfc() {
        assert_eq!(number_bytes(0xac_5c02, Some(0xab_e8b3)), 2);
        assert_eq!(number_bytes(0xac_e8fe, Some(0xab_e8b3)), 3);
        assert_eq!(expand_number(0x9b32, 2, 0xa82f_30ea + 1), 0xa82f_9b32);
    }

    proptest! {
        #[test]
        fn what_is_cut_by_the_rule_is_made_whole(largest in 0_u64..1 << 61, ahead in 1_u64..1 << 30, seen: prop::sample::Index) {
            let number = largest + ahead;
            let bytes = number_bytes(number, Some(largest));
            // The receiver has seen what it acknowledged, and perhaps more.
            let expected = largest + 1 + seen.index(ahead as usize) as u64;
            let truncated = number & ((1 << (8 * bytes)) - 1);
            prop_assert_eq!(expand_number(truncated, bytes, expected), number);
        }

        #[test]
        fn an_integer_is_read_as_it_was_written(value in 0_u64..1 << 62) {
            let mut bytes = Vec::new();
            put_varint(value, &mut bytes);
            prop_assert_eq!(take_varint(&mut &bytes[..]), Ok(value));
            prop_assert!(take_varint(&mut &bytes[..bytes.len() - 1]).is_err());
        }
    }
}
