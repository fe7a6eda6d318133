//! IPv4 headers: round trips, etherparse, and bytes that are none.

use crate::strategies::ipv4_header;
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4HeaderSlice};
use proptest::prelude::*;
use vazao_wire::DecodeError;
use vazao_wire::ipv4::{Ecn, Header, decode, encode, set_ecn};

/// A header and its payload of zeros.
fn bytes_of(header: &Header) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(header, &mut bytes);
    bytes.resize(header.total_length.into(), 0);
    bytes
}

/// The header as etherparse has it.
fn theirs(header: &Header) -> etherparse::Ipv4Header {
    let mut theirs = etherparse::Ipv4Header {
        dscp: IpDscp::try_new(header.dscp).unwrap(),
        ecn: IpEcn::try_new(header.ecn as u8).unwrap(),
        total_len: header.total_length,
        identification: header.identification,
        dont_fragment: header.dont_fragment,
        time_to_live: header.ttl,
        protocol: IpNumber(header.protocol),
        source: header.source,
        destination: header.destination,
        ..Default::default()
    };
    theirs.header_checksum = theirs.calc_header_checksum();
    theirs
}

fn header() -> impl Strategy<Value = Header> {
    (any::<u8>(), 0usize..2000).prop_flat_map(|(protocol, payload)| ipv4_header(protocol, payload))
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(header in header(), padding in 0usize..40) {
        let mut bytes = bytes_of(&header);
        bytes.resize(bytes.len() + padding, 0xff);
        prop_assert_eq!(decode(&bytes), Ok((header, 20..header.total_length.into())));
    }

    /// A codepoint changed on the way leaves a packet that is as if it had been sent with it, checksum included.
    #[test]
    fn a_changed_codepoint_is_one_written_at_first(header in header(), bits in 0u8..4) {
        let mut bytes = bytes_of(&header);
        set_ecn(&mut bytes, Ecn::from_bits(bits));
        prop_assert_eq!(bytes, bytes_of(&Header { ecn: Ecn::from_bits(bits), ..header }));
    }

    #[test]
    fn etherparse_reads_and_writes_the_same_bytes(header in header()) {
        let (bytes, theirs) = (bytes_of(&header), theirs(&header));
        let read = Ipv4HeaderSlice::from_slice(&bytes).unwrap().to_header();
        prop_assert_eq!(&read, &theirs);
        prop_assert_eq!(&theirs.to_bytes()[..], &bytes[..20]);
    }

    #[test]
    fn options_are_skipped(header in header(), words in 1usize..=10, filler in any::<u8>()) {
        let mut theirs = theirs(&header);
        theirs.options = vec![filler; 4 * words].as_slice().try_into().unwrap();
        theirs.total_len += 4 * words as u16;
        theirs.header_checksum = theirs.calc_header_checksum();
        let mut bytes = theirs.to_bytes().to_vec();
        bytes.resize(theirs.total_len.into(), 0);
        let expected = Header { total_length: theirs.total_len, ..header };
        prop_assert_eq!(decode(&bytes), Ok((expected, 20 + 4 * words..bytes.len())));
    }

    /// One flipped bit changes a ones' complement sum by a power of two, which is never a multiple of 65535; a flipped
    /// header length adds or removes words that are zero here, so that the flip itself is still what the sum sees.
    #[test]
    fn every_flipped_bit_of_a_header_is_noticed(header in ipv4_header(6, 60), bit in 0usize..160) {
        let mut bytes = bytes_of(&header);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn a_cut_packet_is_truncated(header in header(), cut: prop::sample::Index) {
        let bytes = bytes_of(&header);
        let available = cut.index(bytes.len());
        let truncated = matches!(decode(&bytes[..available]), Err(DecodeError::Truncated { available: n, .. }) if n == available);
        prop_assert!(truncated);
    }

    #[test]
    fn any_bytes_decode_without_panic(mut bytes: Vec<u8>, begins_well: bool) {
        if let (true, Some(first)) = (begins_well, bytes.first_mut()) {
            *first = 0x45;
        }
        if let Ok((header, payload)) = decode(&bytes) {
            prop_assert!(payload.end <= bytes.len() && payload.end == usize::from(header.total_length));
        }
    }
}

#[test]
fn each_error_has_its_cause() {
    let good = Header::new([10, 0, 0, 1], [10, 0, 0, 2], 6, 40);
    let changed = |change: fn(&mut etherparse::Ipv4Header)| {
        let mut header = theirs(&good);
        change(&mut header);
        header.header_checksum = header.calc_header_checksum();
        let mut bytes = header.to_bytes().to_vec();
        bytes.resize(40, 0);
        decode(&bytes).map(|(header, _)| header)
    };
    assert_eq!(changed(|_| {}), Ok(good));
    assert_eq!(changed(|h| h.total_len = 19), Err(DecodeError::BadLength(19)));
    assert_eq!(changed(|h| h.total_len = 41), Err(DecodeError::Truncated { needed: 41, available: 40 }));
    assert_eq!(changed(|h| h.more_fragments = true), Err(DecodeError::Fragment));
    assert_eq!(changed(|h| h.fragment_offset = 1.try_into().unwrap()), Err(DecodeError::Fragment));
    assert_eq!(changed(|h| h.ecn = IpEcn::try_new(3).unwrap()).map(|h| h.ecn), Ok(Ecn::Ce));
    let with_first_byte = |first| decode(&[&[first], &[0; 39][..]].concat());
    assert_eq!(with_first_byte(0x65), Err(DecodeError::BadVersion(6)));
    assert_eq!(with_first_byte(0x44), Err(DecodeError::BadLength(16)));
    assert_eq!(with_first_byte(0x45), Err(DecodeError::BadChecksum));
}
