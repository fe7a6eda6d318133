//! QUIC as tshark decrypts it.

use crate::tshark::{TSHARK, tshark};
use std::path::Path;
use vazao_wire::pcapng::{self, Direction, Packet};
use vazao_wire::quic::{Frame, Header, Kind, Session, Setup, encode, encode_retry, parameter};
use vazao_wire::tls::Resumption;
use vazao_wire::{content, ipv4, udp};

const HOSTS: [([u8; 4], u16); 2] = [([10, 0, 0, 1], 49_152), ([10, 0, 0, 2], 5001)];

/// A connection with a capture of its client's interface.
struct Conversation {
    session: Session,
    retried: bool,
    /// Whether the client knows the server's identifier.
    known: bool,
    time_ns: u64,
    file: Vec<u8>,
}

impl Conversation {
    fn new(resumption: Resumption, retry: bool) -> Conversation {
        let parameters = vec![
            (parameter::MAX_IDLE_TIMEOUT, 30_000),
            (parameter::INITIAL_MAX_DATA, 1 << 20),
            (parameter::INITIAL_MAX_STREAM_DATA_BIDI_LOCAL, 1 << 20),
            (parameter::INITIAL_MAX_STREAM_DATA_BIDI_REMOTE, 1 << 20),
            (parameter::INITIAL_MAX_STREAMS_BIDI, 100),
        ];
        let session = Session::new(&Setup {
            seed: [1; 32],
            hello: 580,
            extensions: 140,
            certificate: 900,
            resumption,
            retry,
            parameters: [parameters.clone(), parameters],
        });
        let mut file = Vec::new();
        pcapng::section(&mut file);
        pcapng::interface("a.1", 0, &mut file);
        pcapng::key_log(&session.handshake.key_log(), &mut file);
        Conversation { session, retried: false, known: false, time_ns: 0, file }
    }

    /// A packet in a datagram's payload; its number is written in two bytes.
    fn packet(&self, from: usize, kind: Kind, number: u64, frames: &[Frame<'_>], out: &mut Vec<u8>) {
        let destination = match (from, self.known, self.retried) {
            (0, false, false) => self.session.original(),
            (0, false, true) => self.session.retry_source(),
            _ => self.session.identifier(1 - from, 0),
        };
        let source = self.session.identifier(from, 0);
        let token = self.session.token(if self.retried && from == 0 && kind == Kind::Initial { 64 } else { 0 });
        let header = Header {
            kind,
            destination: &destination,
            source: &source,
            token: &token,
            path: 0,
            number,
            number_bytes: 2,
        };
        let keys = self.session.keys(from, kind, self.retried);
        encode(&header, keys, |out| frames.iter().for_each(|frame| frame.encode(out)), out);
    }

    fn datagram(&mut self, from: usize, payload: &[u8]) {
        let [(source, source_port), (target, target_port)] = [HOSTS[from], HOSTS[1 - from]];
        let length = ipv4::HEADER_LENGTH + udp::HEADER_LENGTH + payload.len();
        let ip = ipv4::Header::new(source, target, udp::PROTOCOL, length as u16);
        let mut bytes = Vec::new();
        ipv4::encode(&ip, &mut bytes);
        udp::encode(source_port, target_port, ip.pseudo_header(), &mut bytes, |out| out.extend_from_slice(payload));
        self.time_ns += 1_000_000;
        let direction = [Direction::Outbound, Direction::Inbound][from];
        pcapng::packet(&Packet::new(0, self.time_ns, direction, &bytes), &mut self.file);
        self.known |= from == 1;
    }

    /// The client's first datagram, of 1200 bytes, perhaps with early data.
    fn first(&mut self, number: u64, early: bool) {
        let hello = Frame::Crypto { offset: 0, data: self.session.crypto(0, Kind::Initial) };
        let (mut payload, mut later) = (Vec::new(), Vec::new());
        if early {
            let request = Frame::Stream { id: 0, offset: 0, fin: false, data: b"early" };
            self.packet(0, Kind::ZeroRtt, number, &[request], &mut later);
        }
        self.packet(0, Kind::Initial, number, &[hello], &mut payload);
        let missing = 1200 - payload.len() - later.len();
        payload.clear();
        self.packet(0, Kind::Initial, number, &[hello, Frame::Padding(missing)], &mut payload);
        payload.extend(later);
        assert_eq!(payload.len(), 1200);
        self.datagram(0, &payload);
    }

    fn retry(&mut self) {
        let mut packet = Vec::new();
        let [client, source] = [self.session.identifier(0, 0), self.session.retry_source()];
        encode_retry(&self.session.original(), &client, &source, &self.session.token(64), &mut packet);
        self.datagram(1, &packet);
        (self.retried, self.known) = (true, false);
    }

    /// The server's flight, and the client's Finished with it acknowledged.
    fn rest(&mut self, first: u64) {
        let answer = Frame::Crypto { offset: 0, data: self.session.crypto(1, Kind::Initial) };
        let flight = self.session.crypto(1, Kind::Handshake).to_vec();
        let (head, tail) = flight.split_at(flight.len() / 2);
        let mut payload = Vec::new();
        self.packet(1, Kind::Initial, 0, &[ack(&[(first, first)]), answer], &mut payload);
        self.packet(1, Kind::Handshake, 0, &[Frame::Crypto { offset: 0, data: head }], &mut payload);
        self.datagram(1, &payload);
        payload.clear();
        let offset = head.len() as u64;
        self.packet(1, Kind::Handshake, 1, &[Frame::Crypto { offset, data: tail }], &mut payload);
        // With a number of two bytes a payload of one is too short to be sealed.
        self.packet(1, Kind::OneRtt, 0, &[Frame::Ping, Frame::Padding(1)], &mut payload);
        self.datagram(1, &payload);
        payload.clear();
        self.packet(0, Kind::Initial, first + 1, &[ack(&[(0, 0)]), Frame::Padding(1000)], &mut payload);
        let finished = Frame::Crypto { offset: 0, data: self.session.crypto(0, Kind::Handshake) };
        self.packet(0, Kind::Handshake, 0, &[ack(&[(0, 1)]), finished], &mut payload);
        self.datagram(0, &payload);
    }

    /// One packet of application data.
    fn data(&mut self, from: usize, number: u64, frames: &[Frame<'_>]) {
        let mut payload = Vec::new();
        self.packet(from, Kind::OneRtt, number, frames, &mut payload);
        self.datagram(from, &payload);
    }
}

fn ack(ranges: &[(u64, u64)]) -> Frame<'_> {
    Frame::Ack { path: None, delay: 0, ranges, ecn: None }
}

/// A download of 2000 bytes, of which the first packet is lost; and every other frame.
fn download(conversation: &mut Conversation) {
    let mut data = [0; 2000];
    content::fill(0, &mut data);
    let stream = |from: usize, to: usize, fin| Frame::Stream { id: 0, offset: from as u64, fin, data: &data[from..to] };
    let identifier = conversation.session.identifier(1, 1);
    let reset_token = conversation.session.reset_token(1, 1);
    let token = conversation.session.token(64);
    conversation.data(1, 1, &[Frame::HandshakeDone, Frame::NewToken(&token)]);
    conversation.data(0, 10, &[Frame::Stream { id: 0, offset: 5, fin: true, data: b"request" }]);
    conversation.data(1, 3, &[stream(1000, 2000, true)]);
    conversation.data(0, 11, &[Frame::Ack { path: None, delay: 3, ranges: &[(3, 3), (0, 1)], ecn: Some([3, 0, 1]) }]);
    conversation.data(1, 4, &[stream(0, 1000, false)]);
    conversation.data(
        1,
        5,
        &[
            Frame::ResetStream { id: 8, code: 1, size: 0 },
            Frame::StopSending { id: 4, code: 2 },
            Frame::MaxData(1 << 31),
            Frame::MaxStreamData { id: 0, limit: 1 << 20 },
            Frame::MaxStreams { both_ways: true, count: 7 },
            Frame::MaxStreams { both_ways: false, count: 8 },
            Frame::DataBlocked(9),
            Frame::StreamDataBlocked { id: 0, limit: 10 },
            Frame::StreamsBlocked { both_ways: true, count: 11 },
            Frame::NewConnectionId { sequence: 1, retire_prior_to: 0, identifier: &identifier, reset_token },
            Frame::RetireConnectionId(0),
            Frame::PathChallenge([1; 8]),
            Frame::PathResponse([2; 8]),
            Frame::Datagram(b"datagram"),
            Frame::AckFrequency { sequence: 0, threshold: 10, max_delay_us: 25_000, reordering: 1 },
        ],
    );
    conversation.data(0, 12, &[Frame::Close { code: 0, application: true }]);
}

/// Fields that tshark is asked for, one line a datagram.
const FIELDS: [&str; 9] = [
    "quic.long.packet_type",
    "quic.packet_number",
    "quic.frame_type",
    "quic.ack.largest_acknowledged",
    "quic.ack.gap",
    "quic.ack.ack_range",
    "quic.ack.ecn_ce_count",
    "quic.stream.offset",
    "quic.stream_data",
];

/// The numbers of types and frames are those of RFC 9000, sections 17.2 and 19.
const HANDSHAKES: [(&str, Resumption, bool, &[&str]); 4] = [
    ("full", Resumption::None, false, &["0|0|6,0||||||", "0,2|0,0|2,6,6|0|||||", "2|1,0|6,1,0||||||", LAST]),
    (
        "retry",
        Resumption::None,
        true,
        &[
            "0|0|6,0||||||",
            "3||||||||",
            "0|1|6,0||||||",
            "0,2|0,0|2,6,6|1|||||",
            "2|1,0|6,1,0||||||",
            "0,2|2,0|2,0,2,6|0,1|||||",
        ],
    ),
    (
        "accepted",
        Resumption::Accepted(209),
        false,
        &["0,1|0,0|6,0,10||||||6561726c79", "0,2|0,0|2,6,6|0|||||", "2|1,0|6,1,0||||||", LAST],
    ),
    (
        "rejected",
        Resumption::Rejected(209),
        false,
        &["0,1|0,0|6,0,10||||||6561726c79", "0,2|0,0|2,6,6|0|||||", "2|1,0|6,1,0||||||", LAST],
    ),
];
const LAST: &str = "0,2|1,0|2,0,2,6|0,1|||||";

/// The download with all that is lost, acknowledged and said besides. Ranges: 3, then 1 to 0, a gap of one packet (0).
const DOWNLOAD: [&str; 7] = [
    "|1|30,7||||||",
    "|10|15|||||5|72657175657374",
    "|3|15|||||1000|SECOND",
    "|11|3|3|0|1|1||",
    "|4|10||||||FIRST",
    "|5|4,5,16,17,18,19,20,21,22,24,25,26,27,49,175||||||",
    "|12|29||||||",
];

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn tshark_decrypts_what_we_sealed() {
    if !Path::new(TSHARK).exists() {
        eprintln!("skipped: {TSHARK} is not installed");
        return;
    }
    for (name, resumption, retry, handshake) in HANDSHAKES {
        let mut conversation = Conversation::new(resumption, retry);
        let early = resumption != Resumption::None;
        conversation.first(0, early);
        if retry {
            conversation.retry();
            conversation.first(1, early);
        }
        conversation.rest(u64::from(retry));
        download(&mut conversation);
        let capture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("quic-{name}.pcapng"));
        std::fs::write(&capture, &conversation.file).unwrap();

        let wrong = "_ws.malformed || _ws.expert.severity >= \"Warning\" || !quic";
        assert_eq!(tshark(&capture, &["-Y", wrong]), Vec::<String>::new(), "{name}");
        let mut arguments = vec!["-T", "fields", "-E", "separator=|"];
        FIELDS.iter().for_each(|field| arguments.extend(["-e", field]));
        let [first, second] = [0, 1000].map(|offset| {
            let mut bytes = [0; 1000];
            content::fill(offset, &mut bytes);
            bytes.map(|byte| format!("{byte:02x}")).concat()
        });
        let download = DOWNLOAD.map(|line| line.replace("FIRST", &first).replace("SECOND", &second));
        let expected: Vec<_> = handshake.iter().map(|line| (*line).to_owned()).chain(download).collect();
        assert_eq!(tshark(&capture, &arguments), expected, "{name}");
    }
}
