//! TCP segments: round trips, etherparse, and bytes that are none.

use crate::strategies::{bytes_of, options, packet};
use etherparse::TcpOptionElement::{
    MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
};
use etherparse::{PacketBuilder, SlicedPacket, TcpOptionElement, TransportSlice};
use proptest::prelude::*;
use vazao_wire::checksum::Checksum;
use vazao_wire::tcp::{
    Cookie, FastOpen, Fields, Flags, Header, Options, PROTOCOL, SackBlock, SackBlocks, Template, alter, decode, encode,
    encode_content, header_length, strip,
};
use vazao_wire::{DecodeError, content, ipv4};

/// The options in etherparse's terms, without padding.
fn elements(options: &Options) -> Vec<TcpOptionElement> {
    let sack = options.sack.as_slice();
    let pair = |i: usize| sack.get(i).map(|b| (b.left, b.right));
    let mut elements = Vec::new();
    elements.extend(options.mss.map(MaximumSegmentSize));
    elements.extend(options.sack_permitted.then_some(SelectiveAcknowledgementPermitted));
    elements.extend(options.timestamps.map(|(value, echo)| Timestamp(value, echo)));
    elements.extend(options.window_scale.map(WindowScale));
    elements.extend(pair(0).map(|first| SelectiveAcknowledgement(first, [pair(1), pair(2), pair(3)])));
    elements
}

/// A segment with these bytes of options, a multiple of four, and no payload.
fn with_raw_options(raw: &[u8]) -> Vec<u8> {
    let mut segment = Vec::new();
    encode(&Header::default(), raw, Checksum::default(), &mut segment);
    segment[12] = ((5 + raw.len() / 4) << 4) as u8;
    segment[16..18].fill(0);
    let sum = Checksum::default().update(&(segment.len() as u32).to_be_bytes()).update(&segment).finish();
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    segment
}

/// The options read from such a segment.
fn read_raw(raw: &[u8]) -> Options {
    decode(&with_raw_options(raw), Checksum::default()).unwrap().0.options
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded((ip, header, payload) in packet()) {
        let bytes = bytes_of(&ip, &header, &payload);
        let (got_ip, segment) = ipv4::decode(&bytes).unwrap();
        let segment = &bytes[segment];
        let (got, range) = decode(segment, got_ip.pseudo_header()).unwrap();
        prop_assert_eq!((got_ip, got), (ip, header));
        prop_assert_eq!(range.start, header_length(&header.options));
        prop_assert_eq!(&segment[range], &payload[..]);
    }

    #[test]
    fn etherparse_reads_our_fields_and_checksums((ip, header, payload) in packet()) {
        let bytes = bytes_of(&ip, &header, &payload);
        let sliced = SlicedPacket::from_ip(&bytes).unwrap();
        let Some(TransportSlice::Tcp(theirs)) = sliced.transport else { panic!("no TCP segment in {sliced:?}") };
        let fields = (theirs.source_port(), theirs.destination_port(), theirs.sequence_number(), theirs.acknowledgment_number());
        prop_assert_eq!(fields, (header.source_port, header.destination_port, header.sequence, header.acknowledgment));
        prop_assert_eq!((theirs.window_size(), theirs.urgent_pointer()), (header.window, header.urgent));
        let flags = [theirs.fin(), theirs.syn(), theirs.rst(), theirs.psh(), theirs.ack(), theirs.urg(), theirs.ece(), theirs.cwr()];
        let ours = [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ACK, Flags::URG, Flags::ECE, Flags::CWR];
        prop_assert_eq!(flags, ours.map(|flag| header.flags.contains(flag)));
        let options: Result<Vec<_>, _> = theirs.options_iterator().filter(|o| *o != Ok(Noop)).collect();
        prop_assert_eq!(options.unwrap(), elements(&header.options));
        prop_assert_eq!(theirs.payload(), &payload[..]);
        let sum = theirs.calc_checksum_ipv4(ip.source, ip.destination).unwrap();
        prop_assert_eq!(theirs.checksum(), sum);
    }

    /// By a template, whole packets are those that etherparse has checked; of others, the kept bytes are those of the general
    /// encoder.
    #[test]
    fn a_template_makes_the_same_packet(
        (ip, header, _) in packet(), keep in 0_usize..1600, offset in 0..u64::MAX - 4096, length in 0_usize..1460,
    ) {
        let options = Options { timestamps: header.options.timestamps, ..Options::default() };
        let header = Header { urgent: 0, options, ..header };
        let total = ipv4::HEADER_LENGTH + header_length(&options) + length;
        let plain = ipv4::Header::new(ip.source, ip.destination, PROTOCOL, total as u16);
        let ip = ipv4::Header { ecn: ip.ecn, ..plain };
        let mut expected = Vec::new();
        ipv4::encode(&ip, &mut expected);
        let within = keep.saturating_sub(ipv4::HEADER_LENGTH);
        prop_assert_eq!(ipv4::HEADER_LENGTH + encode_content(&header, (offset, length), within, ip.pseudo_header(), &mut expected), total);
        if keep >= total {
            let mut content = vec![0; length];
            content::fill(offset, &mut content);
            prop_assert_eq!(&expected, &bytes_of(&ip, &header, &content));
        }

        let places = ((ip.source, header.source_port), (ip.destination, header.destination_port));
        let Header { sequence, acknowledgment, flags, window, .. } = header;
        let fields = Fields { sequence, acknowledgment, flags, window, timestamps: options.timestamps, ecn: ip.ecn };
        let mut got = Vec::new();
        Template::new(places.0, places.1).encode(&fields, (offset, length), keep, &mut got);
        got.truncate(expected.len());
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn what_etherparse_writes_is_decoded((ip, header, payload) in packet()) {
        let builder = PacketBuilder::ipv4(ip.source, ip.destination, ip.ttl)
            .tcp(header.source_port, header.destination_port, header.sequence, header.window)
            .options(&elements(&header.options)).unwrap()
            .ack(header.acknowledgment);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &payload).unwrap();
        let (got_ip, segment) = ipv4::decode(&bytes).unwrap();
        let segment = &bytes[segment];
        let (got, range) = decode(segment, got_ip.pseudo_header()).unwrap();
        prop_assert_eq!(got, Header { flags: Flags::ACK, urgent: 0, ..header });
        prop_assert_eq!(&segment[range], &payload[..]);
    }

    #[test]
    fn the_length_of_a_header_is_what_is_written(options in options(), extra in prop::collection::vec(any::<(u32, u32)>(), 0..5)) {
        let more = extra.into_iter().map(|(left, right)| SackBlock { left, right });
        let sack: SackBlocks = options.sack.as_slice().iter().copied().chain(more).collect();
        let overfull = Options { sack, ..options };
        let mut segment = Vec::new();
        encode(&Header { options: overfull, ..Header::default() }, &[], Checksum::default(), &mut segment);
        prop_assert_eq!(segment.len(), header_length(&overfull));
        prop_assert!(segment.len() % 4 == 0 && segment.len() <= 60);
        // Blocks that do not fit are left out, last ones first.
        let (got, _) = decode(&segment, Checksum::default()).unwrap();
        let fitting = sack.as_slice().iter().copied().take(overfull.max_sack_blocks()).collect();
        prop_assert_eq!(got.options, Options { sack: fitting, ..options });
    }

    /// A stripped option is gone and the rest is as it was, checksum and length included; a segment that was spoilt stays so.
    #[test]
    fn what_is_stripped_is_gone((ip, header, payload) in packet(), which in prop::array::uniform4(any::<bool>()), ecn: bool, bit in 0_usize..64) {
        let bytes = bytes_of(&ip, &header, &payload).split_off(ipv4::HEADER_LENGTH);
        let all: [&[u8]; 4] = [&[4, 5], &[8], &[3], &[2]];
        let kinds: Vec<u8> = all.iter().zip(which).filter(|(_, on)| *on).flat_map(|(kinds, _)| kinds.iter().copied()).collect();
        let flags = if ecn { Flags::ECE | Flags::CWR } else { Flags::default() };
        let mut stripped = bytes.clone();
        strip(&mut stripped, &kinds, flags);
        let mut expected = header;
        expected.flags = Flags(header.flags.0 & !flags.0);
        if which[0] {
            (expected.options.sack, expected.options.sack_permitted) = (SackBlocks::NONE, false);
        }
        expected.options.timestamps = header.options.timestamps.filter(|_| !which[1]);
        expected.options.window_scale = header.options.window_scale.filter(|_| !which[2]);
        expected.options.mss = header.options.mss.filter(|_| !which[3]);
        let (got, range) = decode(&stripped, ip.pseudo_header()).unwrap();
        prop_assert_eq!(got, expected);
        prop_assert_eq!(stripped.len(), bytes.len());
        prop_assert_eq!(&stripped[range], &payload[..]);
        // A bit of the sequence numbers is flipped: the options and their lengths are as they were.
        let mut spoilt = bytes;
        spoilt[4 + bit / 8] ^= 1 << (bit % 8);
        strip(&mut spoilt, &kinds, flags);
        prop_assert_eq!(decode(&spoilt, ip.pseudo_header()), Err(DecodeError::BadChecksum));
    }

    /// An altered payload passes TCP's checksum, differs in a bit, and so in any ones' complement sum over the payload.
    #[test]
    fn what_is_altered_passes_the_checksum((ip, header, payload) in packet()) {
        let mut bytes = bytes_of(&ip, &header, &payload).split_off(ipv4::HEADER_LENGTH);
        alter(&mut bytes);
        let (got, range) = decode(&bytes, ip.pseudo_header()).unwrap();
        prop_assert_eq!(got, header);
        let differing: u32 = bytes[range].iter().zip(&payload).map(|(a, b)| (a ^ b).count_ones()).sum();
        prop_assert_eq!(differing, u32::from(!payload.is_empty()));
    }

    #[test]
    fn any_bytes_are_stripped_without_panic(mut bytes: Vec<u8>, words in 0_u8..16, kinds: Vec<u8>) {
        if let Some(offset) = bytes.get_mut(12) {
            *offset = words << 4;
        }
        let length = bytes.len();
        strip(&mut bytes, &kinds, Flags::ECE);
        alter(&mut bytes);
        prop_assert_eq!(bytes.len(), length);
    }

    /// One flipped bit changes a ones' complement sum by a power of two, which is never a multiple of 65535.
    #[test]
    fn every_flipped_bit_is_noticed((ip, header, payload) in packet(), bit: prop::sample::Index) {
        let mut segment = bytes_of(&ip, &header, &payload).split_off(ipv4::HEADER_LENGTH);
        let bit = bit.index(8 * segment.len());
        segment[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(decode(&segment, ip.pseudo_header()).is_err());
    }

    #[test]
    fn another_destination_or_protocol_is_noticed((ip, header, payload) in packet(), byte in 0usize..4, bit in 0u8..8) {
        let segment = bytes_of(&ip, &header, &payload).split_off(ipv4::HEADER_LENGTH);
        let mut elsewhere = ip;
        elsewhere.destination[byte] ^= 1 << bit;
        prop_assert_eq!(decode(&segment, elsewhere.pseudo_header()), Err(DecodeError::BadChecksum));
        let other = ipv4::Header { protocol: 17, ..ip };
        prop_assert_eq!(decode(&segment, other.pseudo_header()), Err(DecodeError::BadChecksum));
    }

    /// With the checksum made right again, so that the decoder gets to see the damage.
    #[test]
    fn any_options_decode_without_panic(words in 0usize..=10, mut raw in prop::collection::vec(any::<u8>(), 40), small: bool) {
        if small {
            raw.iter_mut().for_each(|byte| *byte %= 12);
        }
        let options = read_raw(&raw[..4 * words]);
        prop_assert!(options.sack.len() <= 4);
    }

    #[test]
    fn any_bytes_decode_without_panic(bytes: Vec<u8>) {
        prop_assert!(decode(&bytes, Checksum::default()).map_or(true, |(_, payload)| payload.end == bytes.len()));
    }
}

#[test]
fn options_lie_as_linux_lays_them() {
    let laid = |options: Options| {
        let mut segment = Vec::new();
        encode(&Header { options, ..Header::default() }, &[], Checksum::default(), &mut segment);
        segment.split_off(20)
    };
    // Options of a SYN and of a later acknowledgment as Linux sends them: mss 1460,sackOK,TS,nop,wscale 7 and
    // nop,nop,TS,nop,nop,sack in tcpdump's words.
    let timestamps = Some((0x0102_0304, 0));
    let syn =
        Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, timestamps, ..Options::default() };
    assert_eq!(laid(syn), [2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7]);
    let sack = SackBlocks::from_iter([SackBlock { left: 5, right: 6 }]);
    let ack = Options { timestamps, sack, ..Options::default() };
    assert_eq!(laid(ack), [1, 1, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 1, 5, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
    let bare = Options { sack_permitted: true, ..Options::default() };
    assert_eq!(laid(bare), [1, 1, 4, 2]);
    // RFC 7413 section 4.1.1, padded: a SYN that asks for a cookie, and one that has it.
    let fast = |fast_open| laid(Options { fast_open: Some(fast_open), ..Options::default() });
    assert_eq!(fast(FastOpen::Request), [34, 2, 1, 1]);
    let cookie = |bytes: &[u8]| FastOpen::Cookie(Cookie::new(bytes).expect("a cookie"));
    assert_eq!(fast(cookie(&[9, 8, 7, 6, 5, 4, 3, 2])), [34, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1]);
    assert_eq!(fast(cookie(&[9, 8, 7, 6])), [34, 6, 9, 8, 7, 6, 1, 1]);
    assert_eq!(fast(cookie(&[9, 8, 7, 6, 5, 4])), [34, 8, 9, 8, 7, 6, 5, 4]);
    for fast_open in [FastOpen::Request, cookie(&[9; 4]), cookie(&[9; 6]), cookie(&[9; 8]), cookie(&[9; 16])] {
        let options = Options { fast_open: Some(fast_open), ..syn };
        let bytes = laid(options);
        assert_eq!((read_raw(&bytes), bytes.len()), (options, options.length()));
    }
    for wrong in [2, 3, 5, 18] {
        assert_eq!(Cookie::new(&[9; 20][..wrong]), None, "RFC 7413 section 4.1.1: 4 to 16 bytes, even");
    }
    assert_eq!((ack.max_sack_blocks(), bare.max_sack_blocks(), Options::default().max_sack_blocks()), (3, 4, 4));
}

#[test]
fn odd_options_are_skipped_and_impossible_ones_end_the_list() {
    let mss = Options { mss: Some(1460), ..Options::default() };
    let unread = Options::default();
    let cases: [(&str, &[u8], Options); 9] = [
        ("an unknown kind", &[253, 4, 9, 9, 2, 4, 5, 180], mss),
        ("an MSS of three bytes", &[2, 3, 5, 1, 2, 4, 5, 180], mss),
        ("a SACK option with half a block", &[5, 6, 0, 0, 0, 1, 1, 1, 2, 4, 5, 180], mss),
        ("a SACK option with no block", &[5, 2, 1, 1, 2, 4, 5, 180], mss),
        ("nothing after the end", &[0, 0, 0, 0, 2, 4, 5, 180], unread),
        ("length zero", &[253, 0, 1, 1, 2, 4, 5, 180], unread),
        ("length one", &[253, 1, 1, 1, 2, 4, 5, 180], unread),
        ("a length beyond the header", &[2, 4, 5, 180, 8, 10, 0, 0], mss),
        ("a kind without length", &[2, 4, 5, 180, 1, 1, 1, 8], mss),
    ];
    for (what, raw, expected) in cases {
        assert_eq!(read_raw(raw), expected, "{what}");
    }
}

#[test]
fn each_error_has_its_cause() {
    let good = with_raw_options(&[]);
    let with_offset = |words: u8| {
        let mut segment = good.clone();
        segment[12] = words << 4;
        decode(&segment, Checksum::default()).map(|_| ())
    };
    assert_eq!(with_offset(5), Ok(()));
    assert_eq!(with_offset(4), Err(DecodeError::BadLength(16)));
    assert_eq!(with_offset(6), Err(DecodeError::Truncated { needed: 24, available: 20 }));
    let short = decode(&good[..19], Checksum::default());
    assert_eq!(short, Err(DecodeError::Truncated { needed: 20, available: 19 }));
}

#[test]
fn flags_print_their_names() {
    assert_eq!(format!("{:?}", Flags::SYN | Flags::ACK), "[SYN ACK]");
}
