//! A conversation as tshark sees it.

use crate::strategies::bytes_of;
use std::path::Path;
use std::process::Command;
use vazao_wire::pcapng::{self, Direction, Packet};
use vazao_wire::tcp::{self, Flags, Options, SackBlock};
use vazao_wire::{content, ipv4};

pub const TSHARK: &str = "/usr/bin/tshark";
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];
const SEGMENT: usize = 1448;

/// One packet of the conversation as the client sees it.
struct Seen {
    time_ns: u64,
    direction: Direction,
    header: tcp::Header,
    payload: Vec<u8>,
}

/// A segment from the client (outbound) or the server. `data` is the range of the stream that it carries.
fn seen(time_ns: u64, direction: Direction, flags: Flags, data: std::ops::Range<usize>, options: Options) -> Seen {
    let outbound = direction == Direction::Outbound;
    let (source_port, destination_port) = if outbound { (49152, 80) } else { (80, 49152) };
    let mut payload = vec![0; data.len()];
    content::fill(data.start as u64, &mut payload);
    // The client begins at 0 and sends data from 1 on; the server begins at 999, sends none, and acknowledges `data`'s
    // start.
    let syn = flags.contains(Flags::SYN);
    let position = if syn { 0 } else { 1 + data.start as u32 };
    let (sequence, acknowledgment) = match (outbound, syn) {
        (true, true) => (0, 0),
        (true, false) => (position, 1000),
        (false, true) => (999, 1),
        (false, false) => (1000, position),
    };
    let header = tcp::Header {
        source_port,
        destination_port,
        sequence,
        acknowledgment,
        flags,
        window: 8192,
        urgent: 0,
        options,
    };
    Seen { time_ns, direction, header, payload }
}

/// Opening, four segments of which the first is lost, selective acknowledgments, the retransmission, closing.
fn conversation() -> Vec<Seen> {
    use Direction::{Inbound, Outbound};
    let stamps = |value, echo| Options { timestamps: Some((value, echo)), ..Options::default() };
    let syn = |shift, value, echo| Options {
        mss: Some(1460),
        window_scale: Some(shift),
        sack_permitted: true,
        ..stamps(value, echo)
    };
    let sack = |blocks: &[(usize, usize)], value, echo| {
        let edge = |segments: usize| (1 + segments * SEGMENT) as u32;
        let blocks = blocks.iter().map(|&(left, right)| SackBlock { left: edge(left), right: edge(right) });
        Options { sack: blocks.collect(), ..stamps(value, echo) }
    };
    let (ack, none) = (Flags::ACK, 0..0);
    let segment = |n: usize| n * SEGMENT..(n + 1) * SEGMENT;
    vec![
        seen(0, Outbound, Flags::SYN, none.clone(), syn(7, 1, 0)),
        seen(50_000_001, Inbound, Flags::SYN | ack, none.clone(), syn(9, 26, 1)),
        seen(50_000_002, Outbound, ack, none.clone(), stamps(51, 26)),
        seen(50_000_002, Outbound, ack, segment(0), stamps(51, 26)),
        seen(50_012_002, Outbound, ack, segment(1), stamps(51, 26)),
        seen(50_024_003, Outbound, ack, segment(2), stamps(51, 26)),
        seen(50_036_004, Outbound, ack | Flags::PSH, segment(3), stamps(51, 26)),
        seen(100_000_123, Inbound, ack, none.clone(), sack(&[(1, 2)], 76, 26)),
        seen(100_012_124, Inbound, ack, none.clone(), sack(&[(3, 4), (1, 2)], 76, 26)),
        seen(100_012_124, Outbound, ack, segment(0), stamps(101, 26)),
        seen(5_000_000_000, Inbound, ack, 4 * SEGMENT..4 * SEGMENT, stamps(126, 101)),
        seen(5_000_000_007, Outbound, ack | Flags::FIN, 4 * SEGMENT..4 * SEGMENT, stamps(5001, 126)),
        seen(5_050_000_008, Inbound, ack | Flags::FIN, 4 * SEGMENT + 1..4 * SEGMENT + 1, stamps(5026, 5001)),
    ]
}

/// The conversation as a capture of the client's interface `a:1`, after another interface that saw nothing.
fn file(conversation: &[Seen]) -> Vec<u8> {
    let mut file = Vec::new();
    pcapng::section(&mut file);
    pcapng::interface("a:0", 0, &mut file);
    pcapng::interface("a:1", 0, &mut file);
    for seen in conversation {
        let (source, destination) =
            if seen.direction == Direction::Outbound { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let length = ipv4::HEADER_LENGTH + tcp::header_length(&seen.header.options) + seen.payload.len();
        let ip = ipv4::Header::new(source, destination, tcp::PROTOCOL, length as u16);
        let bytes = bytes_of(&ip, &seen.header, &seen.payload);
        let packet = Packet::new(1, seen.time_ns, seen.direction, &bytes);
        pcapng::packet(&Packet { comment: "como visto pelo cliente", ..packet }, &mut file);
    }
    file
}

/// The fields that tshark prints, one line a packet, several values of one field with commas between them.
const FIELDS: [&str; 18] = [
    "frame.time_epoch",
    "frame.interface_name",
    "frame.packet_flags_direction",
    "frame.comment",
    "ip.checksum.status",
    "tcp.checksum.status",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.len",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "_ws.malformed",
];

/// Fields that tshark should print of a packet.
fn expected(seen: &Seen) -> Vec<String> {
    let (header, options) = (&seen.header, &seen.header.options);
    let or_empty = |value: Option<u64>| value.map_or(String::new(), |n| n.to_string());
    let edges = |edge: fn(&SackBlock) -> u32| {
        options.sack.as_slice().iter().map(|block| edge(block).to_string()).collect::<Vec<_>>().join(",")
    };
    vec![
        format!("{}.{:09}", seen.time_ns / 1_000_000_000, seen.time_ns % 1_000_000_000),
        "a:1".into(),
        format!("0x{:08x}", seen.direction as u32),
        "como visto pelo cliente".into(),
        "1".into(), // good
        "1".into(), // good
        header.sequence.to_string(),
        header.acknowledgment.to_string(),
        format!("0x{:04x}", header.flags.0),
        header.window.to_string(),
        seen.payload.len().to_string(),
        or_empty(options.mss.map(u64::from)),
        or_empty(options.window_scale.map(u64::from)),
        or_empty(options.timestamps.map(|(value, _)| value.into())),
        or_empty(options.timestamps.map(|(_, echo)| echo.into())),
        edges(|block| block.left),
        edges(|block| block.right),
        String::new(), // not malformed
    ]
}

/// Runs tshark over `capture` with every check on and returns its lines.
pub fn tshark(capture: &Path, arguments: &[&str]) -> Vec<String> {
    let preferences = [
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "tcp.relative_sequence_numbers:FALSE",
        "nameres.network_name:FALSE",
    ];
    let output = Command::new(TSHARK)
        .arg("-r")
        .arg(capture)
        .args(preferences.iter().flat_map(|preference| ["-o", preference]))
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn tshark_reads_what_we_wrote() {
    if !Path::new(TSHARK).exists() {
        eprintln!("skipped: {TSHARK} is not installed");
        return;
    }
    let conversation = conversation();
    let capture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conversation.pcapng");
    std::fs::write(&capture, file(&conversation)).unwrap();

    let mut arguments = vec!["-T", "fields", "-E", "separator=|"];
    FIELDS.iter().for_each(|field| arguments.extend(["-e", field]));
    let lines = tshark(&capture, &arguments);
    assert_eq!(lines.len(), conversation.len());
    for (line, seen) in lines.iter().zip(&conversation) {
        let got: Vec<(&str, &str)> = FIELDS.into_iter().zip(line.split('|')).collect();
        let expected = expected(seen);
        let expected: Vec<(&str, &str)> = FIELDS.into_iter().zip(expected.iter().map(String::as_str)).collect();
        assert_eq!(got, expected);
    }
    // Nothing in the file that an expert would call an error, and one retransmission: the tenth packet.
    assert_eq!(tshark(&capture, &["-Y", "_ws.expert.severity == error"]), Vec::<String>::new());
    let retransmissions =
        tshark(&capture, &["-Y", "tcp.analysis.retransmission", "-T", "fields", "-e", "frame.number"]);
    assert_eq!(retransmissions, ["10"]);
}
