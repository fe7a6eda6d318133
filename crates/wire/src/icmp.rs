//! Echo and echo reply of ICMP (RFC 792).

use crate::checksum::Checksum;
use crate::{DecodeError, be16, require};
use std::ops::Range;

/// The protocol's number in the IP header.
pub const PROTOCOL: u8 = 1;

/// Bytes of the header.
pub const HEADER_LENGTH: usize = 8;

const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// Header of an echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Whether it is a reply.
    pub is_reply: bool,
    /// Number that a reply has from its request.
    pub identifier: u16,
    /// Number of the request, which its reply has too.
    pub sequence: u16,
}

/// Appends an echo message with its data.
pub fn encode(echo: Echo, data: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([if echo.is_reply { REPLY } else { REQUEST }, 0, 0, 0]);
    out.extend([echo.identifier, echo.sequence].map(u16::to_be_bytes).concat());
    out.extend(data);
    let sum = Checksum::default().update(&out[start..]).finish();
    out[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
}

/// Reads an echo message, and where its data lies; `None` for another message.
///
/// # Errors
/// When it is truncated or its checksum is wrong.
pub fn decode(bytes: &[u8]) -> Result<Option<(Echo, Range<usize>)>, DecodeError> {
    require(bytes, HEADER_LENGTH)?;
    if Checksum::default().update(bytes).finish() != 0 {
        return Err(DecodeError::BadChecksum);
    }
    let echo = |is_reply| Echo { is_reply, identifier: be16(bytes, 4), sequence: be16(bytes, 6) };
    Ok(match bytes[..2] {
        [REQUEST, 0] => Some((echo(false), HEADER_LENGTH..bytes.len())),
        [REPLY, 0] => Some((echo(true), HEADER_LENGTH..bytes.len())),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 0800 + 0001 + 0002 + 6869 + 2100 are 916c, whose complement is 6e93; a reply without the 0800 has 7693.
    #[test]
    fn an_echo_summed_by_hand() {
        for (is_reply, first, sum) in [(false, 8, [0x6e, 0x93]), (true, 0, [0x76, 0x93])] {
            let mut bytes = Vec::new();
            encode(Echo { is_reply, identifier: 1, sequence: 2 }, b"hi!\0", &mut bytes);
            assert_eq!(bytes, [first, 0, sum[0], sum[1], 0, 1, 0, 2, b'h', b'i', b'!', 0]);
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_a_flipped_bit_is_noticed(
            is_reply: bool, identifier: u16, sequence: u16, data: Vec<u8>, bit: prop::sample::Index,
        ) {
            let echo = Echo { is_reply, identifier, sequence };
            let mut bytes = Vec::new();
            encode(echo, &data, &mut bytes);
            prop_assert_eq!(decode(&bytes), Ok(Some((echo, HEADER_LENGTH..bytes.len()))));
            let bit = bit.index(8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode(&bytes), Err(DecodeError::BadChecksum));
        }
    }
}
