//! MPTCP's options: the layouts of RFC 8684 by hand, what Linux sent, round trips, and bytes that are none.

use crate::strategies::{mptcp_option, options};
use proptest::prelude::*;
use vazao_wire::checksum::Checksum;
use vazao_wire::content;
use vazao_wire::mptcp::{
    AddAddress, AddressIds, Capable, DataSequence, Dss, Join, Keys, Mapping, MptcpOption, NoRoom, Options, Proof,
    ResetReason, Version, pseudo_header,
};
use vazao_wire::tcp::{self, Header, SackBlock, SackBlocks};

/// Bytes written in hexadecimal, with spaces between fields.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn bytes(option: &MptcpOption) -> Vec<u8> {
    let mut bytes = Vec::new();
    option.encode(&mut bytes);
    bytes
}

fn capable(keys: Keys) -> Capable {
    Capable { hmac: true, keys, ..Capable::default() }
}

fn mapping(data_sequence: DataSequence, checksum: Option<u16>) -> Option<Mapping> {
    Some(Mapping { data_sequence, subflow_sequence: 0x0102_0304, length: 0x0506, checksum })
}

/// A figure filled in by hand (kind, length, subtype with what is beside it, and the fields in their order), and the option
/// that it shows.
type Layout = (&'static str, MptcpOption);

const SENDER: u64 = 0x1112_1314_1516_1718;
const RECEIVER: u64 = 0x2122_2324_2526_2728;

/// Figures 4 to 7 of RFC 8684, and figure 4 of RFC 6824 where that of version 0 differs.
fn handshakes() -> Vec<Layout> {
    use MptcpOption::{Capable as Cap, Join as J};
    let (sender, receiver) = (SENDER, RECEIVER);
    let with_data = |checksum| Keys::WithData { sender, receiver, length: 0x0506, checksum };
    let required = Capable { checksum_required: true, no_join: true, ..capable(Keys::None) };
    let old = Capable { version: Version::V0, ..capable(Keys::Sender(sender)) };
    vec![
        // Figure 4.
        ("1e 04 01 01", Cap(capable(Keys::None))),
        ("1e 04 01 a1", Cap(required)),
        ("1e 04 01 41", Cap(Capable { extended: true, ..capable(Keys::None) })),
        ("1e 0c 01 01 1112131415161718", Cap(capable(Keys::Sender(sender)))),
        ("1e 14 01 01 1112131415161718 2122232425262728", Cap(capable(Keys::Both { sender, receiver }))),
        ("1e 16 01 01 1112131415161718 2122232425262728 0506", Cap(capable(with_data(None)))),
        ("1e 18 01 01 1112131415161718 2122232425262728 0506 0708", Cap(capable(with_data(Some(0x0708))))),
        // RFC 6824's figure 4.
        ("1e 0c 00 01 1112131415161718", Cap(old)),
        // Figures 5 to 7.
        (
            "1e 0c 11 07 01020304 05060708",
            J(Join::Syn { backup: true, address_id: 7, token: 0x0102_0304, nonce: 0x0506_0708 }),
        ),
        (
            "1e 10 10 07 1112131415161718 05060708",
            J(Join::SynAck { backup: false, address_id: 7, truncated_hmac: sender, nonce: 0x0506_0708 }),
        ),
        ("1e 18 10 00 0909090909090909090909090909090909090909", J(Join::Ack { hmac: [9; 20] })),
    ]
}

/// Figure 9 of RFC 8684: F m M a A are the five lowest bits.
fn signals() -> Vec<Layout> {
    let (short, long) = (DataSequence::Short(0x3132_3334), DataSequence::Long(0x4142_4344_4546_4748));
    let signal = |data_fin, ack, mapping| MptcpOption::Dss(Dss { data_fin, ack, mapping });
    vec![
        ("1e 04 20 00", signal(false, None, None)),
        ("1e 08 20 01 31323334", signal(false, Some(short), None)),
        ("1e 0c 20 03 4142434445464748", signal(false, Some(long), None)),
        ("1e 0e 20 04 31323334 01020304 0506", signal(false, None, mapping(short, None))),
        ("1e 14 20 0c 4142434445464748 01020304 0506 0708", signal(false, None, mapping(long, Some(0x0708)))),
        ("1e 16 20 0d 31323334 4142434445464748 01020304 0506", signal(false, Some(short), mapping(long, None))),
        (
            "1e 1c 20 1f 4142434445464748 4142434445464748 01020304 0506 0708",
            signal(true, Some(long), mapping(long, Some(0x0708))),
        ),
    ]
}

/// Figures 11 to 16 of RFC 8684, and those of RFC 6824 where version 0 differs.
fn others() -> Vec<Layout> {
    let sender = SENDER;
    let add = |port, proof| MptcpOption::AddAddress(AddAddress { address_id: 7, address: [10, 0, 0, 4], port, proof });
    let ids = |ids: &[u8]| MptcpOption::RemoveAddress(AddressIds::new(ids).unwrap());
    vec![
        // Figure 12, and RFC 6824's.
        ("1e 10 30 07 0a000004 1112131415161718", add(None, Proof::TruncatedHmac(sender))),
        ("1e 12 30 07 0a000004 0050 1112131415161718", add(Some(80), Proof::TruncatedHmac(sender))),
        ("1e 08 31 07 0a000004", add(None, Proof::Echo)),
        ("1e 0a 31 07 0a000004 0050", add(Some(80), Proof::Echo)),
        ("1e 08 34 07 0a000004", add(None, Proof::Version0)),
        ("1e 0a 34 07 0a000004 0050", add(Some(80), Proof::Version0)),
        // Figure 13.
        ("1e 04 40 07", ids(&[7])),
        ("1e 06 40 07 08 09", ids(&[7, 8, 9])),
        // Figure 11, and RFC 6824's with the address.
        ("1e 03 51", MptcpOption::Priority { backup: true, address_id: None }),
        ("1e 04 50 07", MptcpOption::Priority { backup: false, address_id: Some(7) }),
        // Figures 16, 14 and 15.
        ("1e 0c 60 00 1112131415161718", MptcpOption::Fail { data_sequence: sender }),
        ("1e 0c 70 00 1112131415161718", MptcpOption::FastClose { receiver_key: sender }),
        ("1e 04 81 06", MptcpOption::Reset { transient: true, reason: ResetReason::MiddleboxInterference }),
        ("1e 04 80 2a", MptcpOption::Reset { transient: false, reason: ResetReason::Other(42) }),
    ]
}

#[test]
fn options_lie_as_the_figures_show() {
    for (text, option) in handshakes().into_iter().chain(signals()).chain(others()) {
        assert_eq!(bytes(&option), hex(text), "{option:?}");
        assert_eq!(MptcpOption::decode(&hex(text)[2..]), Some(option), "{text}");
    }
}

/// A connection that Linux 6.12 opened to Linux 6.12, with checksums and an address announced: option for option.
#[test]
fn what_linux_sent_is_read_and_written_alike() {
    let (client, server) = (0xe651_5012_bbc3_e672, 0x505b_51ed_2704_fa74);
    let with_checksums = |keys| MptcpOption::Capable(Capable { checksum_required: true, ..capable(keys) });
    let with_data = Keys::WithData { sender: client, receiver: server, length: 31_328, checksum: Some(0x3fd0) };
    let first = Mapping {
        data_sequence: DataSequence::Long(0x234c_4fcf_6c5d_d454),
        subflow_sequence: 1,
        length: 31_328,
        checksum: Some(0x3fd0),
    };
    let signal = Dss { data_fin: false, ack: Some(DataSequence::Short(0x2761_d85f)), mapping: Some(first) };
    let announced = |proof| AddAddress { address_id: 2, address: [10, 0, 0, 4], port: None, proof };
    let hmac = *hex("f9d600ad989dbf967524a5963113da3844210053").first_chunk().unwrap();
    let sent = [
        ("1e040181", with_checksums(Keys::None)),
        ("1e0c0181505b51ed2704fa74", with_checksums(Keys::Sender(server))),
        ("1e140181e6515012bbc3e672505b51ed2704fa74", with_checksums(Keys::Both { sender: client, receiver: server })),
        ("1e180181e6515012bbc3e672505b51ed2704fa747a603fd0", with_checksums(with_data)),
        ("1e18200d2761d85f234c4fcf6c5dd454000000017a603fd0", MptcpOption::Dss(signal)),
        (
            "1e1030020a0000049f9c677902320d72",
            MptcpOption::AddAddress(announced(Proof::TruncatedHmac(0x9f9c_6779_0232_0d72))),
        ),
        ("1e0831020a000004", MptcpOption::AddAddress(announced(Proof::Echo))),
        (
            "1e0c1001bf99167100809148",
            MptcpOption::Join(Join::Syn { backup: false, address_id: 1, token: 0xbf99_1671, nonce: 0x0080_9148 }),
        ),
        ("1e181000f9d600ad989dbf967524a5963113da3844210053", MptcpOption::Join(Join::Ack { hmac })),
    ];
    for (text, option) in sent {
        assert_eq!(MptcpOption::decode(&hex(text)[2..]), Some(option), "{text}");
        assert_eq!(bytes(&option), hex(text));
    }
}

/// Mappings of one connection: the first, one in the middle of the stream on the second subflow, and the end of the
/// server's, which has no data.
#[test]
fn linux_computes_the_same_checksums() {
    let sum = |first: u64, subflow_sequence, length: u16, offset| {
        let mut data = vec![0; usize::from(length)];
        content::fill(offset, &mut data);
        pseudo_header(first + offset, subflow_sequence, length).update(&data).finish()
    };
    let client = 0x234c_4fcf_6c5d_d454;
    assert_eq!(sum(client, 1, 31_328, 0), 0x3fd0);
    assert_eq!(sum(client, 1, 32_728, 0x6c60_d364 - 0x6c5d_d454), 0x54e7);
    assert_eq!(pseudo_header(0x9a48_2159_2761_d85f, 0, 1).finish(), 0x449c);
}

#[test]
fn what_cannot_be_is_skipped_and_kept() {
    let unread = [
        ("an empty body", "1e 02"),
        ("an unknown subtype", "1e 04 f0 00"),
        ("a version to come", "1e 04 02 01"),
        ("an MP_CAPABLE of 13 bytes", "1e 0d 01 01 1112131415161718 21"),
        ("an MP_JOIN of 13 bytes", "1e 0d 10 07 01020304 05060708 09"),
        ("a DSS that says more than it has", "1e 08 20 03 31323334"),
        ("a DSS that has more than it says", "1e 08 20 00 31323334"),
        ("an announcement without HMAC", "1e 08 30 07 0a000004"),
        ("an address of IPv6, echoed", "1e 14 31 07 20010db8000000000000000000000001"),
        ("REMOVE_ADDR of none", "1e 03 40"),
        ("an MP_FAIL of 11 bytes", "1e 0b 60 00 11121314151617"),
    ];
    let known = MptcpOption::Priority { backup: true, address_id: None };
    for (what, text) in unread {
        assert_eq!(MptcpOption::decode(&hex(text)[2..]), None, "{what}");
        let raw = [hex(text), bytes(&known)].concat();
        let segment = with_raw_options(&raw);
        let (header, _) = tcp::decode(&segment, Checksum::default()).unwrap();
        assert_eq!(header.options.mptcp.iter().collect::<Vec<_>>(), [known], "{what}");
        let mut again = Vec::new();
        tcp::encode(&header, &[], Checksum::default(), &mut again);
        let (kept, _) = tcp::decode(&again, Checksum::default()).unwrap();
        assert_eq!(kept.options.mptcp.raw().next(), Some(&hex(text)[..]), "{what}");
    }
}

/// A segment with these bytes of options, made up to a multiple of four by an end of options, and no payload.
fn with_raw_options(raw: &[u8]) -> Vec<u8> {
    let mut raw = raw.to_vec();
    raw.resize(raw.len().next_multiple_of(4), 0);
    let mut segment = Vec::new();
    tcp::encode(&Header::default(), &raw, Checksum::default(), &mut segment);
    segment[12] = ((5 + raw.len() / 4) << 4) as u8;
    segment[16..18].fill(0);
    let sum = Checksum::default().update(&(segment.len() as u32).to_be_bytes()).update(&segment).finish();
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    segment
}

/// A header has 40 bytes of options: SACK blocks give way to MPTCP, and MPTCP to everything else.
#[test]
fn what_does_not_fit_is_an_error() {
    let long = DataSequence::Long(1);
    let signal = MptcpOption::Dss(Dss { data_fin: false, ack: Some(long), mapping: mapping(long, Some(0)) });
    let echo =
        MptcpOption::AddAddress(AddAddress { address_id: 7, address: [10, 0, 0, 4], port: None, proof: Proof::Echo });
    let priority = MptcpOption::Priority { backup: true, address_id: None };
    let block = SackBlock { left: 1, right: 2 };
    let sack = SackBlocks::from_iter([block; 4]);
    let mut options = tcp::Options { timestamps: Some((1, 2)), sack, ..tcp::Options::default() };
    assert_eq!(options.push_mptcp(&priority), Ok(()));
    // 12 of timestamps and 4 of the padded MP_PRIO leave room for two blocks, and for no longest DSS.
    assert_eq!((options.length(), options.max_sack_blocks()), (12 + 4 + 4 + 16, 2));
    assert_eq!(options.push_mptcp(&signal), Err(NoRoom { needed: 28, available: 24 }));
    assert_eq!(options.push_mptcp(&echo), Ok(()));
    assert_eq!((options.length(), options.max_sack_blocks()), (12 + 4 + 8 + 4 + 8, 1));
    let mut lone = Options::NONE;
    assert_eq!([lone.push(&signal), lone.push(&echo), lone.push(&priority)], [Ok(()); 3]);
    assert_eq!(lone.push(&priority), Err(NoRoom { needed: 4, available: 0 }));
    assert_eq!(lone.iter().collect::<Vec<_>>(), [signal, echo, priority]);
    // Set where there is no room for them, they stay away whole.
    let late = tcp::Options { mptcp: lone, ..options };
    assert_eq!((late.length(), late.max_sack_blocks()), (12 + 4 + 24, 3));
    assert_eq!((AddressIds::new(&[]), AddressIds::new(&[0; 38])), (None, None));
}

proptest! {
    #[test]
    fn what_is_written_is_read(option in mptcp_option()) {
        let bytes = bytes(&option);
        prop_assert_eq!((bytes[0], usize::from(bytes[1])), (30, bytes.len()));
        prop_assert!(bytes.len() <= 40);
        prop_assert_eq!(MptcpOption::decode(&bytes[2..]), Some(option));
    }

    /// A decoded option was there: written again, it is read as it was.
    #[test]
    fn any_body_is_read_without_panic(subtype in 0_u8..10, low in 0_u8..8, flags: u8, rest in prop::collection::vec(any::<u8>(), 0..37)) {
        let body = [&[subtype << 4 | low, flags], &rest[..]].concat();
        if let Some(option) = MptcpOption::decode(&body) {
            prop_assert_eq!(MptcpOption::decode(&bytes(&option)[2..]), Some(option));
        }
        prop_assert_eq!(MptcpOption::decode(&body[..0]), None);
        MptcpOption::decode(&body[..1]);
    }

    #[test]
    fn headers_carry_what_fits(plain in options(), wanted in prop::collection::vec(mptcp_option(), 0..6)) {
        let mut options = tcp::Options { sack: SackBlocks::NONE, ..plain };
        let taken: Vec<_> = wanted.into_iter().filter(|option| options.push_mptcp(option).is_ok()).collect();
        let fitting = options.max_sack_blocks();
        options.sack = plain.sack.as_slice().iter().copied().take(fitting).collect();
        let header = Header { options, ..Header::default() };
        let mut segment = Vec::new();
        tcp::encode(&header, &[], Checksum::default(), &mut segment);
        prop_assert_eq!(segment.len(), tcp::header_length(&options));
        prop_assert!(segment.len() <= 60);
        let (got, _) = tcp::decode(&segment, Checksum::default()).unwrap();
        prop_assert_eq!(got, header);
        prop_assert_eq!(got.options.mptcp.iter().collect::<Vec<_>>(), taken);
    }

    /// Ten options of four bytes, or thirteen of three, which padded would be too long: whatever was in a header is kept.
    #[test]
    fn any_options_of_kind_30_are_kept(lengths in prop::collection::vec(2_usize..12, 0..14), fill: u8) {
        let mut raw = Vec::new();
        for length in lengths {
            if raw.len() + length <= 40 {
                raw.extend([30, length as u8]);
                raw.resize(raw.len() + length - 2, fill);
            }
        }
        let (header, _) = tcp::decode(&with_raw_options(&raw), Checksum::default()).unwrap();
        prop_assert_eq!(header.options.mptcp.raw().collect::<Vec<_>>().concat(), raw);
        prop_assert!(header.options.length() <= 40);
        let mut again = Vec::new();
        tcp::encode(&header, &[], Checksum::default(), &mut again);
        prop_assert_eq!(again.len(), tcp::header_length(&header.options));
    }
}
