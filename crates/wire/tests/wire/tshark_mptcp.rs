//! A connection over two subflows as tshark sees it.

use crate::strategies::bytes_of;
use crate::tshark::{TSHARK, tshark};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use vazao_wire::mptcp::{
    AddAddress, AddressIds, Capable, DataSequence, Dss, Join, Keys, Mapping, MptcpOption, Proof, ResetReason, Version,
};
use vazao_wire::pcapng::{self, Direction, Packet};
use vazao_wire::tcp::{self, Flags, Options};
use vazao_wire::{content, ipv4};

/// Keys, and by version 1 and version 0 what they are hashed to: token and initial data sequence number.
const CLIENT: u64 = 0x0123_4567_89ab_cdef;
const SERVER: u64 = 0xfedc_ba98_7654_3210;
const HASHED: [[(u32, u64); 2]; 2] = [
    [(0x55c5_3f5d, 0x5707_62cd_38be_9818), (0x18f9_781b, 0x2808_18bf_0fa7_e28e)],
    [(0x0ca2_eadb, 0xe3df_8ee1_21f1_0547), (0xa5be_6871, 0x334f_c234_bee4_95ca)],
];

/// A segment: by which subflow, whether the client sends it, its flags, sequence number, payload, MPTCP options, and what
/// tshark is to print of these.
#[derive(Clone)]
struct Seen {
    subflow: u8,
    from_client: bool,
    flags: Flags,
    sequence: u32,
    payload: usize,
    options: Vec<MptcpOption>,
    printed: Vec<(&'static str, u64)>,
}

fn seen(subflow: u8, from_client: bool, flags: Flags, sequence: u32, payload: usize) -> Seen {
    Seen { subflow, from_client, flags, sequence, payload, options: Vec::new(), printed: Vec::new() }
}

impl Seen {
    fn with<const N: usize>(mut self, option: MptcpOption, printed: [(&'static str, u64); N]) -> Seen {
        self.options.push(option);
        self.printed.extend(printed);
        self
    }

    fn header(&self) -> tcp::Header {
        let port = 49_152 + u16::from(self.subflow);
        let (source_port, destination_port) = if self.from_client { (port, 80) } else { (80, port) };
        let mut options = Options::default();
        if self.flags.contains(Flags::SYN) {
            options = Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..options };
        }
        self.options.iter().for_each(|option| options.push_mptcp(option).unwrap());
        let (sequence, flags) = (self.sequence, self.flags);
        // Both sides begin at 0; the other side has sent as much as is acknowledged.
        let acknowledgment = u32::from(flags.contains(Flags::ACK)) * if self.from_client { 1 } else { 1001 };
        let acknowledgment = if self.sequence == 0 { acknowledgment.min(1) } else { acknowledgment };
        let ports = tcp::Header { source_port, destination_port, ..tcp::Header::default() };
        tcp::Header { sequence, acknowledgment, flags, window: 8192, options, ..ports }
    }
}

const ACK: Flags = Flags::ACK;

fn capable(version: Version, keys: Keys) -> MptcpOption {
    MptcpOption::Capable(Capable { version, checksum_required: true, hmac: true, keys, ..Capable::default() })
}

/// Fields that tshark prints of a key: the token and the initial number that it derives.
fn derived(version: Version, server: bool) -> [(&'static str, u64); 2] {
    let (token, idsn) = HASHED[usize::from(version == Version::V0)][usize::from(server)];
    [("mptcp.expected_token", token.into()), ("mptcp.expected_idsn", idsn)]
}

/// The first numbers of the data of the client and of the server.
fn first_data() -> (u64, u64) {
    (HASHED[0][0].1 + 1, HASHED[0][1].1 + 1)
}

fn only_ack(number: u64) -> MptcpOption {
    MptcpOption::Dss(Dss { ack: Some(DataSequence::Long(number)), ..Dss::default() })
}

fn subtype(number: u64) -> (&'static str, u64) {
    ("tcp.options.mptcp.subtype", number)
}

/// Both keys, a thousand bytes, an address announced.
fn first_subflow() -> Vec<Seen> {
    let v1 = |keys| capable(Version::V1, keys);
    let (first, _) = first_data();
    let both = Keys::Both { sender: CLIENT, receiver: SERVER };
    let data = Keys::WithData { sender: CLIENT, receiver: SERVER, length: 1000, checksum: Some(0xabcd) };
    let add = |proof| MptcpOption::AddAddress(AddAddress { address_id: 2, address: [10, 0, 0, 4], port: None, proof });
    let [v1_client, v1_server] = [false, true].map(|server| derived(Version::V1, server));
    vec![
        seen(1, true, Flags::SYN, 0, 0).with(v1(Keys::None), [subtype(0), ("tcp.options.mptcp.version", 1)]),
        seen(1, false, Flags::SYN | ACK, 0, 0).with(v1(Keys::Sender(SERVER)), v1_server),
        seen(1, true, ACK, 1, 0).with(v1(both), [v1_client[0], v1_client[1], ("tcp.options.mptcp.recvkey", SERVER)]),
        seen(1, true, ACK, 1, 1000).with(v1(data), [("tcp.options.mptcp.datalvllen", 1000)]),
        seen(1, false, ACK, 1, 0)
            .with(only_ack(first + 1000), [subtype(2), ("tcp.options.mptcp.rawdataack", first + 1000)])
            .with(add(Proof::TruncatedHmac(0x99)), [("tcp.options.mptcp.addaddrtrunchmac", 0x99)]),
        seen(1, true, ACK, 1001, 0).with(add(Proof::Echo), [("tcp.options.mptcp.echo", 1), subtype(3)]),
    ]
}

/// A second subflow with data, an address taken back, the end of the data.
fn second_subflow() -> Vec<Seen> {
    let (first, server_first) = first_data();
    let ack = |number| Some(DataSequence::Long(number));
    let place = Mapping {
        data_sequence: DataSequence::Long(first + 1000),
        subflow_sequence: 1,
        length: 1000,
        checksum: Some(0x1234),
    };
    let second = MptcpOption::Dss(Dss { data_fin: false, ack: ack(server_first), mapping: Some(place) });
    let end =
        Mapping { data_sequence: DataSequence::Long(first + 2000), subflow_sequence: 0, length: 1, checksum: None };
    let end = MptcpOption::Dss(Dss { data_fin: true, ack: ack(server_first), mapping: Some(end) });
    let syn = Join::Syn { backup: true, address_id: 3, token: HASHED[0][1].0, nonce: 0x0102_0304 };
    let answer =
        Join::SynAck { backup: false, address_id: 4, truncated_hmac: 0x1122_3344_5566_7788, nonce: 0x0506_0708 };
    vec![
        seen(2, true, Flags::SYN, 0, 0).with(
            MptcpOption::Join(syn),
            [subtype(1), ("tcp.options.mptcp.recvtok", HASHED[0][1].0.into()), ("tcp.options.mptcp.addrid", 3)],
        ),
        seen(2, false, Flags::SYN | ACK, 0, 0).with(
            MptcpOption::Join(answer),
            [("tcp.options.mptcp.sendtrunchmac", 0x1122_3344_5566_7788), ("tcp.options.mptcp.sendrand", 0x0506_0708)],
        ),
        seen(2, true, ACK, 1, 0).with(MptcpOption::Join(Join::Ack { hmac: [9; 20] }), [subtype(1)]),
        seen(2, true, ACK, 1, 1000).with(
            second,
            [
                ("tcp.options.mptcp.rawdataseqno", first + 1000),
                ("tcp.options.mptcp.subflowseqno", 1),
                ("tcp.options.mptcp.datalvllen", 1000),
                ("tcp.options.mptcp.datafin.flag", 0),
                // The connection that the token says, and the subflows together.
                ("mptcp.stream", 0),
            ],
        ),
        seen(2, false, ACK, 1, 0)
            .with(only_ack(first + 2000), [])
            .with(MptcpOption::Priority { backup: true, address_id: None }, [("tcp.options.mptcp.backup.flag", 1)])
            .with(MptcpOption::RemoveAddress(AddressIds::new(&[2, 5, 6, 7, 8]).unwrap()), [("mptcp.rm_addr.count", 5)]),
        seen(2, true, ACK, 1001, 0).with(end, [("tcp.options.mptcp.datafin.flag", 1)]),
    ]
}

/// Three ways of giving up, and a connection of version 0.
fn endings() -> Vec<Seen> {
    let (first, _) = first_data();
    vec![
        seen(1, true, ACK, 1001, 0).with(MptcpOption::Fail { data_sequence: first }, [subtype(6)]),
        seen(1, true, ACK, 1001, 0).with(MptcpOption::FastClose { receiver_key: SERVER }, [subtype(7)]),
        seen(1, false, Flags::RST | ACK, 1, 0).with(
            MptcpOption::Reset { transient: true, reason: ResetReason::MiddleboxInterference },
            [subtype(8), ("tcp.options.mptcp.rst_reason", 6), ("tcp.options.mptcp.flag_T.flag", 1)],
        ),
        seen(3, true, Flags::SYN, 0, 0).with(capable(Version::V0, Keys::Sender(CLIENT)), derived(Version::V0, false)),
        seen(3, false, Flags::SYN | ACK, 0, 0)
            .with(capable(Version::V0, Keys::Sender(SERVER)), derived(Version::V0, true)),
    ]
}

fn conversation() -> Vec<Seen> {
    [first_subflow(), second_subflow(), endings()].concat()
}

fn file(conversation: &[Seen]) -> Vec<u8> {
    let mut file = Vec::new();
    pcapng::section(&mut file);
    pcapng::interface("a:1", 0, &mut file);
    for (number, seen) in conversation.iter().enumerate() {
        let (client, server) = ([10, 0, 0, seen.subflow], [10, 0, 1, 1]);
        let (source, destination) = if seen.from_client { (client, server) } else { (server, client) };
        let mut payload = vec![0; seen.payload];
        content::fill(0, &mut payload);
        let header = seen.header();
        let length = ipv4::HEADER_LENGTH + tcp::header_length(&header.options) + payload.len();
        let ip = ipv4::Header::new(source, destination, tcp::PROTOCOL, length as u16);
        let bytes = bytes_of(&ip, &header, &payload);
        let direction = if seen.from_client { Direction::Outbound } else { Direction::Inbound };
        pcapng::packet(&Packet::new(0, 1_000_000 * number as u64, direction, &bytes), &mut file);
    }
    file
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn tshark_follows_a_connection_over_its_subflows() {
    if !Path::new(TSHARK).exists() {
        eprintln!("skipped: {TSHARK} is not installed");
        return;
    }
    let conversation = conversation();
    let capture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mptcp.pcapng");
    std::fs::write(&capture, file(&conversation)).unwrap();
    let fields: BTreeSet<_> = conversation.iter().flat_map(|seen| &seen.printed).map(|(field, _)| *field).collect();
    // Twice, as what names a connection may come after what it names.
    let mut arguments = vec!["-2", "-T", "fields", "-E", "separator=|"];
    fields.iter().for_each(|field| arguments.extend(["-e", field]));
    let lines = tshark(&capture, &arguments);
    assert_eq!(lines.len(), conversation.len());
    for (line, seen) in lines.iter().zip(&conversation) {
        let printed: BTreeMap<_, _> = fields.iter().copied().zip(line.split('|')).collect();
        for (field, value) in &seen.printed {
            let values: Vec<_> = printed[field].split(',').map(number).collect();
            assert!(values.contains(&Some(*value)), "{field}: {}, not {value}", printed[field]);
        }
    }
    // Nothing that an expert would call an error or a warning, but that the reset is one.
    let doubts = tshark(
        &capture,
        &["-Y", "_ws.malformed || _ws.expert.severity >= warning", "-T", "fields", "-e", "frame.number"],
    );
    assert_eq!(doubts, ["15"]);
}

/// tshark prints some numbers in decimal, some in hexadecimal.
fn number(printed: &str) -> Option<u64> {
    match printed.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => printed.parse().ok(),
    }
}
