//! Tests that written packets are read, and that a guest's own bytes go back as they came.

use super::super::bytes::encode_chunks;
use super::*;
use crate::endpoint::codec::Place;
use vazao_wire::ipv4;

const ENDS: (Place, Place) =
    (Place { address: [10, 0, 0, 1], port: 5_000 }, Place { address: [10, 0, 0, 2], port: 5_001 });

/// A parameter that asks for a report, of which the bytes are not kept.
const EMPTY: Unknown = Unknown { kind: 0xc0ff, count: 1, bytes: 12, number: Unknown::LOST };

/// Every error cause.
const CAUSES: [Cause; 13] = [
    Cause::InvalidStream(7),
    Cause::MissingParameter(parameter::STATE_COOKIE),
    Cause::StaleCookie(99),
    Cause::OutOfResource,
    Cause::UnresolvableAddress(EMPTY),
    Cause::UnrecognisedChunk(Unknown { kind: 0x7f, ..EMPTY }),
    Cause::InvalidParameter,
    Cause::UnrecognisedParameters(EMPTY),
    Cause::NoUserData(1 << 31),
    Cause::CookieWhileShuttingDown,
    Cause::NewAddresses,
    Cause::UserInitiated,
    Cause::ProtocolViolation,
];

/// The SCTP packet that a side sends.
fn written(packet: &Packet, guest: &GuestState, side: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_chunks(packet, ENDS, &[ENDS.0.address], Some((guest, side)), &mut bytes);
    let (ip, inside) = ipv4::decode(&bytes).expect("an IP packet");
    assert_eq!((ip.source, ip.destination), (ENDS.0.address, ENDS.1.address));
    bytes[inside].to_vec()
}

fn read(bytes: &[u8], guest: &mut GuestState, side: usize) -> Packet {
    let mut packet = Packet::default();
    read_chunks(bytes, guest, side, &mut packet).expect("a packet that was written here");
    packet
}

/// Returns an SCTP packet of chunks: kind, flags and value.
fn raw(chunks: &[(u8, u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = vazao_wire::sctp::Writer::new(&vazao_wire::sctp::Header::default(), &mut bytes);
    chunks.iter().for_each(|(kind, flags, value)| writer.chunk(*kind, *flags, |out| out.extend(value)));
    writer.finish();
    bytes
}

/// Returns a packet with one control chunk, and its bytes without a guest's state.
fn plain(control: Control, addresses: &[[u8; 4]]) -> (Packet, Vec<u8>) {
    let mut bytes = Vec::new();
    let packet = Packet { tag: 77, control: vec![control], ..Packet::default() };
    encode_chunks(&packet, ENDS, addresses, None, &mut bytes);
    (packet, bytes)
}

fn chunk(tsn: u32, message: u64, within: u64, flags: DataFlags) -> Data {
    Data {
        tsn,
        number: message as u32,
        message: message as u32,
        length: 100,
        flags,
        stamp: stamp(0, message, within),
        ..Data::default()
    }
}

/// Content goes with its chunk, also when that is sent again, and a byte at the wrong place is noticed.
#[test]
fn chunks_carry_the_flow_s_content() {
    let first = u32::MAX - 1;
    let chunks = [
        chunk(first, 0, 0, DataFlags::BEGIN),
        chunk(first.wrapping_add(1), 0, 100, DataFlags::END),
        chunk(first.wrapping_add(2), 1, 0, DataFlags::WHOLE),
    ];
    let mut guest = GuestState::default();
    chunks.iter().for_each(|data| guest.sent[0].note(data.tsn, data.length, data.flags));
    let sent = Packet { tag: 7, data: vec![chunks[2], chunks[0], chunks[1]], ..Packet::default() };
    let mut bytes = written(&sent, &guest, 0);
    let mut there = GuestState::default();
    for data in chunks {
        let one = written(&Packet { data: vec![data], ..Packet::default() }, &guest, 0);
        note_chunks(&one, &mut there.sent[0]);
    }
    assert_eq!(read(&bytes, &mut there, 0), sent);
    // The last byte of the last chunk; the checksum is made right again.
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    bytes[8..12].fill(0);
    let sum = vazao_wire::sctp::crc32c(&bytes);
    bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    let wrong = read(&bytes, &mut there, 0).data[2];
    assert_eq!(wrong, Data { stamp: !chunks[1].stamp, ..chunks[1] });
}

/// RFC 8260 section 2.1 byte by byte: TSN, stream, reserved, message identifier, then the protocol's identifier in the first
/// fragment and the fragment's number in others.
#[test]
fn fragments_of_interleaved_messages_are_read() {
    let (first, middle) =
        (chunk(10, 0, 0, DataFlags::BEGIN), Data { fsn: 1, ..chunk(11, 0, 100, DataFlags::default()) });
    let mut guest = GuestState::default();
    [first, middle].iter().for_each(|data| guest.sent[0].note(data.tsn, data.length, data.flags));
    let sent = Packet { tag: 7, interleaved: true, data: vec![first, middle], ..Packet::default() };
    let bytes = written(&sent, &guest, 0);
    let fields = |at: usize| bytes[at..at + 20].to_vec();
    assert_eq!(fields(12), [64, 2, 0, 120, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(fields(132), [64, 0, 0, 120, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let mut there = GuestState::default();
    note_chunks(&bytes, &mut there.sent[0]);
    assert_eq!(read(&bytes, &mut there, 0), sent);
}

/// RFC 3758 section 3.2 and RFC 8260 section 2.3.1, whose chunks have types 192 and 194.
#[test]
fn what_is_skipped_is_read() {
    for (interleaved, kind, number) in [(false, 192, 0xbeef), (true, 194, 0xdead_beef)] {
        let skips =
            vec![Skip { stream: 3, unordered: interleaved, number }, Skip { stream: 4, unordered: false, number: 1 }];
        let sent = Packet { tag: 7, interleaved, forward: Some(99), skips, ..Packet::default() };
        let bytes = written(&sent, &GuestState::default(), 0);
        assert_eq!((bytes[12], usize::from(bytes[15])), (kind, if interleaved { 24 } else { 16 }));
        assert_eq!(read(&bytes, &mut GuestState::default(), 0), sent);
    }
}

#[test]
fn what_has_no_payload_is_read_as_it_was() {
    let init = Init { tag: 1, window: 2, streams: (3, 4), tsn: 5, addresses: Addresses::default(), ..Init::default() };
    let other = Init {
        tag: 9,
        window: 8,
        streams: (7, 6),
        tsn: 5,
        addresses: Addresses::of_paths(2).with_other(&[9]),
        ..Init::default()
    };
    let (created, life) = (Time::from_nanos(1 << 40), Duration::from_secs(60));
    let own = Init { window: 0, ..init };
    let cookie = Cookie { own, peer: other, ties: [6, 7], created, life, signature: u64::MAX - 3 };
    let probe = Probe { path: 1, sent: Time::from_nanos(12_345_678_901), nonce: 3 };
    let guest = GuestState { cookie: vec![1, 2, 3, 4], beats: vec![vec![5; 12]; 4], ..GuestState::default() };
    let controls = [
        Control::Init(init),
        Control::Init(Init { preservative: 1_200, ..init }),
        Control::CookieEcho(cookie),
        Control::CookieAck,
        Control::Unknown(Unknown { kind: 0xbf, ..EMPTY }),
        Control::HeartbeatAck(probe),
        Control::Shutdown(11),
        Control::ShutdownAck,
        Control::ShutdownComplete(true),
        Control::Abort(false, None),
    ];
    let errors = CAUSES.map(Control::Error);
    let aborts = CAUSES.map(|cause| Control::Abort(true, Some(cause)));
    for control in controls.into_iter().chain(errors).chain(aborts) {
        let (packet, bytes) = plain(control, &[ENDS.0.address]);
        let (_, inside) = ipv4::decode(&bytes).expect("an IP packet");
        assert_eq!(read(&bytes[inside], &mut guest.clone(), 1), packet);
    }
    let sack = Packet {
        tag: 1,
        sack: Some(Sack { cumulative: 3, window: 4, packets: 2, ..Sack::default() }),
        gaps: vec![(2, 3), (5, 5)],
        duplicates: vec![1, 2, 3],
        ..Packet::default()
    };
    assert_eq!(read(&written(&sack, &guest, 0), &mut guest.clone(), 1), sack);
}

/// Section 3.3.2.1: addresses are known by the paths to them, those without a path by themselves.
#[test]
fn addresses_are_told_apart() {
    let known = [[10, 0, 0, 1], [10, 0, 1, 1]];
    let guest = GuestState { addresses: [Vec::new(), known.to_vec()], ..GuestState::default() };
    let listed = |addresses: &[[u8; 4]]| {
        let init = Init { tag: 1, window: 9_000, streams: (1, 1), tsn: 5, ..Init::default() };
        let (_, bytes) = plain(Control::Init(init), addresses);
        let (_, inside) = ipv4::decode(&bytes).expect("an IP packet");
        let [Control::Init(init)] = read(&bytes[inside], &mut guest.clone(), 1).control[..] else { panic!("no INIT") };
        init.addresses
    };
    let both = Addresses::of_paths(2);
    // A single one is not listed: it is where the packet comes from.
    assert_eq!(listed(&known[..1]), Addresses::default());
    assert_eq!(listed(&known), both);
    let stranger = listed(&[known[0], [192, 168, 0, 1]]);
    assert!(!both.include(stranger) && stranger.include(stranger) && stranger.include(Addresses::of_paths(1)));
    assert!(!stranger.include(listed(&[known[0], [192, 168, 0, 2]])));
}

/// Sections 3.2 and 3.2.1, byte by byte: what is not known goes back as it came if its type's second highest bit asks for it,
/// and nothing is looked at behind a parameter without the highest.
#[test]
fn what_is_not_known_goes_back_as_it_came() {
    let mut guest = GuestState { addresses: [Vec::new(), vec![[10, 0, 0, 2]]], ..GuestState::default() };
    let adaptation = [0xc0, 0x06, 0, 8, 1, 2, 3, 4];
    let quiet = [0x80, 0x02, 0, 6, 1, 2, 0, 0];
    let last = [0x40, 0x01, 0, 5, 9, 0, 0, 0];
    let name = [0, 11, 0, 8, b'h', b'o', b's', b't'];
    let address = [0, 5, 0, 8, 192, 168, 0, 1];
    let fixed = [0, 0, 0, 7, 0, 0, 0x23, 0x28, 0, 1, 0, 1, 0, 0, 0, 5];
    let value = [&fixed[..], &adaptation, &quiet, &name, &last, &address].concat();
    let asked = read(&raw(&[(kind::INIT, 0, value)]), &mut guest, 1);
    let [Control::Init(init)] = asked.control[..] else { panic!("{asked:?}") };
    assert_eq!(init.addresses, Addresses::default());
    let (unknown, named) = (init.unknown.expect("two parameters"), init.host_name.expect("a name"));
    assert_eq!((unknown.count, unknown.bytes, unknown.kind), (2, 13, 0xc006));

    let answer = Control::InitAck(Init { host_name: None, ..init }, None);
    let sent = Packet { control: vec![answer], ..Packet::default() };
    let bytes = written(&sent, &guest, 0);
    assert_eq!(bytes.len() as u32, sent.bytes());
    // The last one's padding is the chunk's.
    let wrapped = [&[0, 8, 0, 12][..], &adaptation, &[0, 8, 0, 9], &last[..5]].concat();
    assert_eq!(decode(&bytes).expect("INIT ACK").1[0].value[FIXED..], wrapped);

    let chunk = |kind| (kind, 0x5a, vec![1, 2, 3, 4, 5]);
    let strange = read(&raw(&[chunk(0x7f), chunk(0xbf)]), &mut guest, 1);
    let [Control::Unknown(reported), Control::Unknown(other)] = strange.control[..] else { panic!("{strange:?}") };
    assert_eq!((reported.bytes, other), (9, Unknown::new(0xbf, 9)));
    // A cause's length does not count padding either (section 3.3.10.6 with 3.2).
    for (cause, code, bytes) in [
        (Cause::UnrecognisedChunk(reported), 6, &[0x7f, 0x5a, 0, 9, 1, 2, 3, 4, 5][..]),
        (Cause::UnrecognisedParameters(unknown), 8, &[&adaptation[..], &last[..5]].concat()),
        (Cause::UnresolvableAddress(named), 5, &name),
    ] {
        let sent = Packet { control: vec![Control::Error(cause)], ..Packet::default() };
        let error = written(&sent, &guest, 0);
        let length = bytes.len() as u8 + 4;
        assert_eq!(decode(&error).expect("ERROR").1[0].value, [&[0, code, 0, length][..], bytes].concat());
        assert_eq!(error.len() as u32, sent.bytes());
    }
}

/// An INIT ACK without a cookie is one.
#[test]
fn a_cookie_may_be_missing() {
    let packet = read(&raw(&[(kind::INIT_ACK, 0, vec![1; 16])]), &mut GuestState::default(), 1);
    assert!(matches!(packet.control[..], [Control::InitAck(_, None)]), "{packet:?}");
}

/// A guest's cookie and its heartbeats mean something to it alone.
#[test]
fn what_is_the_guest_s_goes_back_unread() {
    let mut guest = GuestState::default();
    let init_ack = [&[1_u8; 16][..], &[0, 7, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0]].concat();
    let answer = read(&raw(&[(kind::INIT_ACK, 0, init_ack)]), &mut guest, 1);
    let [Control::InitAck(_, Some(cookie))] = answer.control[..] else { panic!("{answer:?}") };
    let beat = [0, 1, 0, 8, 9, 9, 9, 9];
    let asked = read(&raw(&[(kind::HEARTBEAT, 0, beat.to_vec())]), &mut guest, 1);
    let [Control::Heartbeat(probe)] = asked.control[..] else { panic!("{asked:?}") };
    let reply =
        Packet { control: vec![Control::CookieEcho(cookie), Control::HeartbeatAck(probe)], ..Packet::default() };
    let bytes = written(&reply, &guest, 0);
    let (_, chunks) = decode(&bytes).expect("a packet");
    assert_eq!((chunks[0].kind, chunks[0].value), (kind::COOKIE_ECHO, &[1, 2, 3, 4, 5][..]));
    assert_eq!((chunks[1].kind, chunks[1].value), (kind::HEARTBEAT_ACK, &beat[..]));
}

/// A cookie that is none of ours is one that cannot be authentic, not a packet without one.
#[test]
fn a_cookie_that_cannot_be_read_is_one() {
    let packet = read(&raw(&[(kind::COOKIE_ECHO, 0, vec![7; 20])]), &mut GuestState::default(), 1);
    assert_eq!(packet.control, [Control::CookieEcho(Cookie::foreign(Init::default()))]);
}

#[test]
fn nothing_makes_it_panic() {
    let mut stream = vazao_engine::RandomStream::new(1, "bytes");
    for _ in 0..2_000 {
        let chunks = [(); 3].map(|()| {
            let value: Vec<u8> = (0..stream.below(40)).map(|_| stream.below(12) as u8).collect();
            (stream.below(15) as u8, stream.bits() as u8, value)
        });
        let bytes = raw(&chunks);
        let mut guest = GuestState::default();
        note_chunks(&bytes, &mut guest.sent[0]);
        let _ = read_chunks(&bytes, &mut guest, 0, &mut Packet::default());
    }
}

/// tshark takes each cause for what it is, and so the cookie's longer life, and finds nothing wrong.
#[test]
fn tshark_reads_errors() {
    use vazao_wire::pcapng::{self, Direction};
    const TSHARK: &str = "/usr/bin/tshark";
    if !std::path::Path::new(TSHARK).exists() {
        return;
    }
    let init =
        Init { tag: 1, window: 9_000, streams: (3, 4), tsn: 5, addresses: Addresses::of_paths(1), ..Init::default() };
    let controls = [Control::Init(Init { preservative: 1_200, ..init }), Control::Abort(true, None)];
    let said = controls.into_iter().chain(CAUSES.map(Control::Error));
    let said = said.chain(CAUSES.map(|cause| Control::Abort(false, Some(cause))));
    let mut file = Vec::new();
    pcapng::section(&mut file);
    pcapng::interface("a.1", 0, &mut file);
    for control in said {
        let (_, bytes) = plain(control, &[ENDS.0.address]);
        pcapng::packet(&pcapng::Packet::new(0, 0, Direction::Outbound, &bytes), &mut file);
    }
    let path = std::env::temp_dir().join(format!("vazao-errors-{}.pcapng", std::process::id()));
    std::fs::write(&path, &file).expect("a place for captures");
    let mut tshark = std::process::Command::new(TSHARK);
    tshark.arg("-r").arg(&path).args(["-o", "sctp.checksum:CRC 32c", "-T", "fields"]);
    let fields = [
        "sctp.parameter_cookie_preservative_incr",
        "sctp.cause_code",
        "sctp.checksum.status",
        "_ws.malformed",
        "_ws.expert.severity",
    ];
    fields.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let output = tshark.output().expect("tshark runs");
    std::fs::remove_file(&path).expect("it was written");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut seen = text.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    let mut next = || seen.next().expect("a line for each packet");
    assert_eq!(next()[0], "1200");
    assert_eq!(next()[1], "");
    for cause in CAUSES.iter().chain(&CAUSES) {
        let line = next();
        let code = line[1].trim_start_matches("0x");
        assert_eq!(u16::from_str_radix(code, 16), Ok(cause.code()), "{cause:?}: {line:?}");
        assert_eq!((&line[2][..], &line[3][..]), ("1", ""), "{cause:?}");
        // PI_ERROR of tshark.
        assert_ne!(line[4], (0x0080_0000).to_string(), "{cause:?}");
    }
}
