//! DCCP's header with 48-bit sequence numbers, and its options (RFC 4340 section 5).

use crate::checksum::Checksum;
use crate::{DecodeError, be16, be32, require};
use std::ops::Range;

/// The protocol's number in the IP header.
pub const PROTOCOL: u8 = 33;

/// Bytes of the generic header.
const GENERIC: usize = 16;

/// Fields that follow the generic header of each packet type, by its number: whether an acknowledgement number does, and
/// whether then a word that the type gives its own meaning.
const TYPES: [(bool, bool); 8] = [
    (false, true),  // Request: service code
    (true, true),   // Response: service code
    (false, false), // Data
    (true, false),  // Ack
    (true, false),  // DataAck
    (true, false),  // CloseReq
    (true, false),  // Close
    (true, true),   // Reset: code and data
];

/// Types of options.
pub mod option {
    /// The receiver of the option is asked to change a feature of the sender.
    pub const CHANGE_L: u8 = 32;
    /// A feature of the sender has this value.
    pub const CONFIRM_L: u8 = 33;
    /// A change of a feature of the receiver of the option.
    pub const CHANGE_R: u8 = 34;
    /// A feature of the receiver has this value.
    pub const CONFIRM_R: u8 = 35;
    /// Ack Vector with a sum of nonces of 0.
    pub const ACK_VECTOR: u8 = 38;
    /// Time since the acknowledged packet arrived, in units of 10 µs.
    pub const ELAPSED_TIME: u8 = 43;
}

/// A packet's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Ports of sender and receiver.
    pub ports: [u16; 2],
    /// The packet's type, 0 to 7.
    pub kind: u8,
    /// Sequence number, 48 bits.
    pub sequence: u64,
    /// Acknowledgement number, 48 bits, where the type has one.
    pub acknowledgment: u64,
    /// Service code of a Request or Response; code and data of a Reset.
    pub word: u32,
    /// Options with a value: type and value.
    pub options: Vec<(u8, Vec<u8>)>,
}

/// Appends a packet with a payload whose checksum is known. `pseudo_header` is the IP header's. The checksum covers everything
/// (CsCov 0).
///
/// # Panics
/// When its type is above 7.
pub fn encode(header: &Header, (payload, sum): (&[u8], Checksum), pseudo_header: Checksum, out: &mut Vec<u8>) {
    let (acknowledges, has_word) = TYPES[usize::from(header.kind)];
    let start = out.len();
    out.extend_from_slice(header.ports.map(u16::to_be_bytes).as_flattened());
    // Data offset, CCVal and CsCov, checksum; type with X, for 48-bit numbers; reserved.
    out.extend([0, 0, 0, 0, header.kind << 1 | 1, 0]);
    out.extend(&header.sequence.to_be_bytes()[2..]);
    if acknowledges {
        out.extend(&(header.acknowledgment & ((1 << 48) - 1)).to_be_bytes());
    }
    if has_word {
        out.extend(header.word.to_be_bytes());
    }
    for (kind, value) in &header.options {
        out.extend([*kind, value.len() as u8 + 2]);
        out.extend(value);
    }
    let length = (out.len() - start).next_multiple_of(4);
    // Padding is an option of one byte, 0.
    out.resize(start + length, 0);
    out[start + 4] = (length / 4) as u8;
    let pseudo_header = pseudo_header.add_words((length + payload.len()) as u64);
    let sum = pseudo_header.update(&out[start..]).followed_by(sum).finish();
    out.extend_from_slice(payload);
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
}

/// Reads the packet that `bytes` are, and where its payload lies.
///
/// # Errors
/// When it is truncated, a length contradicts itself, its type is none of ours, or its checksum is wrong.
pub fn decode(bytes: &[u8], pseudo_header: Checksum) -> Result<(Header, Range<usize>), DecodeError> {
    require(bytes, GENERIC)?;
    let length = 4 * usize::from(bytes[4]);
    require(bytes, length)?;
    let kind = bytes[8] >> 1 & 15;
    let is_extended = bytes[8] & 1 == 1;
    let Some(&(acknowledges, has_word)) = TYPES.get(usize::from(kind)).filter(|_| is_extended) else {
        return Err(DecodeError::BadVersion(kind));
    };
    let fixed = GENERIC + 8 * usize::from(acknowledges) + 4 * usize::from(has_word);
    if length < fixed {
        return Err(DecodeError::BadLength(length));
    }
    if pseudo_header.update(&(bytes.len() as u16).to_be_bytes()).update(bytes).finish() != 0 {
        return Err(DecodeError::BadChecksum);
    }
    let number = |at: usize| u64::from(be16(bytes, at)) << 32 | u64::from(be32(bytes, at + 2));
    let header = Header {
        ports: [be16(bytes, 0), be16(bytes, 2)],
        kind,
        sequence: number(10),
        acknowledgment: if acknowledges { number(GENERIC + 2) } else { 0 },
        word: if has_word { be32(bytes, fixed - 4) } else { 0 },
        options: decode_options(&bytes[fixed..length])?,
    };
    Ok((header, length..bytes.len()))
}

/// Options below 32 are a byte; the others say their length.
fn decode_options(mut bytes: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, DecodeError> {
    let mut options = Vec::new();
    while let [kind, rest @ ..] = bytes {
        if *kind < 32 {
            bytes = rest;
            continue;
        }
        require(bytes, 2)?;
        let length = usize::from(bytes[1]);
        if length < 2 {
            return Err(DecodeError::BadLength(length));
        }
        require(bytes, length)?;
        options.push((*kind, bytes[2..length].to_vec()));
        bytes = &bytes[length..];
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 4340 section 5.1 by hand: from port 1 to port 2, four words, type 2 (Data) with X, number 0x010203040506. The sum of
    /// its words with the length, 18, is complemented; it does not reach 16 bits, so that there is no carry.
    #[test]
    fn a_data_packet_by_hand() {
        let header = Header { ports: [1, 2], kind: 2, sequence: 0x0102_0304_0506, ..Header::default() };
        let mut bytes = Vec::new();
        encode(&header, (b"hi", Checksum::default().update(b"hi")), Checksum::default(), &mut bytes);
        let sum: u32 = [0x0001, 0x0002, 0x0400, 0x0500, 0x0102, 0x0304, 0x0506, 0x6869, 0x0012].iter().sum();
        let checksum = (!(sum as u16)).to_be_bytes();
        assert_eq!(bytes[..6], [0, 1, 0, 2, 4, 0]);
        assert_eq!(bytes[6..8], checksum);
        assert_eq!(bytes[8..], [5, 0, 1, 2, 3, 4, 5, 6, b'h', b'i']);
    }

    fn headers() -> impl Strategy<Value = Header> {
        let options = prop::collection::vec((32u8.., prop::collection::vec(any::<u8>(), 0..40)), 0..5);
        (any::<[u16; 2]>(), 0u8..8, 0u64..1 << 48, 0u64..1 << 48, any::<u32>(), options).prop_map(
            |(ports, kind, sequence, acknowledgment, word, options)| {
                let (acknowledges, has_word) = TYPES[usize::from(kind)];
                let acknowledgment = if acknowledges { acknowledgment } else { 0 };
                Header { ports, kind, sequence, acknowledgment, word: if has_word { word } else { 0 }, options }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_a_flipped_bit_is_noticed(
            header in headers(), payload: Vec<u8>, bit: prop::sample::Index,
        ) {
            let pseudo = Checksum::default().update(&[1, 2, 3, 4]);
            let mut bytes = Vec::new();
            encode(&header, (&payload, Checksum::default().update(&payload)), pseudo, &mut bytes);
            let (decoded, data) = decode(&bytes, pseudo).expect("what was encoded");
            prop_assert_eq!((decoded, &bytes[data]), (header, &payload[..]));
            let bit = bit.index(8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(&bytes, pseudo).is_err());
        }

        #[test]
        fn whatever_arrives_is_refused_or_read(bytes: Vec<u8>) {
            let _ = decode(&bytes, Checksum::default());
        }
    }
}
