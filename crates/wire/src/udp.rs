//! The UDP header (RFC 768).

use crate::checksum::Checksum;
use crate::{DecodeError, be16, require};
use std::ops::Range;

/// The protocol's number in the IP header.
pub const PROTOCOL: u8 = 17;

/// Bytes of the header.
pub const HEADER_LENGTH: usize = 8;

/// Appends the datagram whose payload `fill` appends from one port to another. `pseudo_header` is the IP header's.
pub fn encode(
    source: u16,
    destination: u16,
    pseudo_header: Checksum,
    out: &mut Vec<u8>,
    fill: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice([source, destination, 0, 0].map(u16::to_be_bytes).as_flattened());
    fill(out);
    let length = (out.len() - start) as u16;
    out[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
    let sum = pseudo_header.update(&length.to_be_bytes()).update(&out[start..]).finish();
    // Zero on the wire says that there is none; the other zero of ones' complement means the same sum.
    let sum = if sum == 0 { 0xffff } else { sum };
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
}

/// Reads the ports of the datagram at the start of `bytes`, and where its payload lies.
///
/// # Errors
/// When it is truncated, its length contradicts itself, or its checksum is wrong (a missing one is not).
pub fn decode(bytes: &[u8], pseudo_header: Checksum) -> Result<([u16; 2], Range<usize>), DecodeError> {
    require(bytes, HEADER_LENGTH)?;
    let length = usize::from(be16(bytes, 4));
    if length < HEADER_LENGTH {
        return Err(DecodeError::BadLength(length));
    }
    require(bytes, length)?;
    let sum = pseudo_header.update(&bytes[4..6]).update(&bytes[..length]).finish();
    if be16(bytes, 6) != 0 && sum != 0 {
        return Err(DecodeError::BadChecksum);
    }
    Ok(([be16(bytes, 0), be16(bytes, 2)], HEADER_LENGTH..length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// From 10.0.0.1:49152 to 10.0.0.2:53. The pseudo-header is 0a00 + 0001 + 0a00 + 0002 + 0011 + 000c, the rest
    /// c000 + 0035 + 000c + 6869 + 2100: together 1 5dca, with the carry 5dcb, whose complement is a234.
    #[test]
    fn a_datagram_summed_by_hand() {
        let pseudo = Checksum::default().update(&[10, 0, 0, 1, 10, 0, 0, 2, 0, 17]);
        let mut bytes = Vec::new();
        encode(49_152, 53, pseudo, &mut bytes, |out| out.extend(b"hi!\0"));
        assert_eq!(bytes, [0xc0, 0, 0, 53, 0, 12, 0xa2, 0x34, b'h', b'i', b'!', 0]);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_a_flipped_bit_is_noticed(
            source: u16, destination: u16, payload: Vec<u8>, bit: prop::sample::Index,
        ) {
            let pseudo = Checksum::default().update(&[1, 2, 3, 4]);
            let mut bytes = Vec::new();
            encode(source, destination, pseudo, &mut bytes, |out| out.extend(&payload));
            prop_assert_eq!(decode(&bytes, pseudo), Ok(([source, destination], HEADER_LENGTH..bytes.len())));
            let bit = bit.index(8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(&bytes, pseudo) != Ok(([source, destination], HEADER_LENGTH..bytes.len())));
        }
    }
}
