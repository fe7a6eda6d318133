//! Datagrams of QUIC connections as bytes, for captures.

use super::json::hexadecimal;
use super::{config, is_before_tls};
use crate::endpoint::codec::{Codec, Logger, Place, encode_datagram};
use crate::endpoint::{Body, Crossing};
use crate::model::address::Addresses;
use crate::model::scenario::{FlowSpec, Scenario};
use crate::packs::ends::Ends;
use vazao_engine::{Duration, Ecn, RandomStream, Time};
use vazao_transport::quic::{self, Datagram, Handshake, Messages};
use vazao_wire::content;
use vazao_wire::pcapng::Direction;
use vazao_wire::quic::{Frame, Header, Identifier, Kind, Session, Setup, encode, encode_retry, parameter};
use vazao_wire::tls::{Resumption, Secret};

/// Codec of a connection's datagrams, for captures.
pub(crate) struct Bytes {
    pub ends: Ends,
    sealer: Sealer,
}

impl Bytes {
    pub fn new(scenario: &Scenario, addresses: &Addresses, number: usize) -> Bytes {
        Bytes { ends: Ends::new(addresses, number), sealer: Sealer::new(scenario, number) }
    }
}

impl Codec for Bytes {
    fn interfaces(&self, crossing: &Crossing<'_>) -> [usize; 2] {
        self.ends.interfaces(datagram(crossing).map_or(0, |datagram| datagram.address.interface))
    }

    fn encode(&mut self, crossing: &Crossing<'_>, _keep: usize, out: &mut Vec<u8>) {
        let Some(datagram) = datagram(crossing) else { return };
        let places = self.ends.places(crossing, datagram.address);
        if crossing.direction == Direction::Outbound {
            self.sealer.on_send(crossing.at, datagram);
        }
        self.sealer.encode(crossing.from(), datagram, crossing.ecn, places, out);
        if crossing.direction == Direction::Inbound {
            self.sealer.on_receive(crossing.at, datagram);
        }
    }

    fn key_log(&self) -> String {
        self.sealer.session.handshake.key_log()
    }
}

fn datagram<'a>(crossing: &Crossing<'a>) -> Option<&'a Datagram> {
    let Body::Kept { content, .. } = *crossing.body else { return None };
    Some(crossing.contents.get(content))
}

/// Log of our endpoints, which write qlog records themselves.
pub(crate) struct Records {
    pub original: String,
}

impl Logger for Records {
    fn group(&self) -> Option<String> {
        Some(self.original.clone())
    }
    fn records(&mut self, _now: Time, _side: usize, records: &[u8], out: &mut Vec<u8>) {
        out.extend(records);
    }
}

/// Encoder of datagrams. A client's packets depend on what it had received when it sent them.
#[derive(Clone, Debug)]
pub(crate) struct Sealer {
    session: Session,
    retry: bool,
    /// Whether the client knows the server's connection identifier.
    knows: bool,
    /// First packet number of each space that the client addresses to this identifier.
    known_from: [u64; 3],
    /// Identifier of each side that packets were addressed to last, and its sequence number: to derive one takes longer than to
    /// encrypt a packet.
    addressed: [(u64, Identifier); 2],
    /// Buffer for the content of frames.
    data: Vec<u8>,
}

impl Sealer {
    /// Creates the encoder of a flow.
    pub fn new(scenario: &Scenario, number: usize) -> Sealer {
        let flow = &scenario.flows[number];
        let setup = setup(flow, secret(scenario.seed, number));
        let session = Session::new(&setup);
        // Of Google's handshake, which is not TLS, logs take nothing from the session but identifiers.
        debug_assert!(
            is_before_tls(&flow.transport.parameters) || session.lengths() == Messages::new(&settings(flow)).lengths(),
            "what is counted is what is said"
        );
        let addressed = [0, 1].map(|side| (0, session.identifier(side, 0)));
        let known_from = [u64::MAX; 3];
        Sealer { retry: setup.retry, session, knows: false, known_from, addressed, data: Vec::new() }
    }

    /// Converts a frame of a packet that a side sends, unless it is parity; data of streams and datagrams is zeros.
    pub fn outline<'a>(
        &'a mut self,
        (from, packet): (usize, quic::Kind),
        frame: &quic::Frame,
        ranges: &'a [(u64, u64)],
    ) -> Option<Frame<'a>> {
        if let quic::Frame::Stream(stream) = frame {
            static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];
            let quic::StreamFrame { id, offset, fin, length, .. } = *stream;
            return Some(Frame::Stream { id, offset, fin, data: &ZEROS[..usize::from(length)] });
        }
        convert(frame, (from, kind(packet)), ranges, &self.session, &mut self.data)
    }

    /// Returns a side's connection identifier by its sequence number, in hexadecimal.
    pub fn identifier(&self, side: usize, sequence: u64) -> String {
        hexadecimal(&self.session.identifier(side, sequence))
    }

    /// Returns the client's original destination connection identifier, in hexadecimal.
    pub fn original(&self) -> String {
        hexadecimal(&self.session.original())
    }

    /// Handles a datagram that a side sends; call before encoding it.
    pub fn on_send(&mut self, side: usize, datagram: &Datagram) {
        if side == 0 && self.knows {
            for packet in &datagram.packets {
                let from = &mut self.known_from[packet.kind.space() as usize];
                *from = packet.number.min(*from);
            }
        }
    }

    /// Handles a datagram that a side has received; call after encoding it. The client takes the server's identifier
    /// from its first Initial packet, as it can open no other before (RFC 9000 section 7.2).
    pub fn on_receive(&mut self, side: usize, datagram: &Datagram) {
        self.knows |= side == 0 && datagram.packets.iter().any(|packet| matches!(packet.kind, quic::Kind::Initial(_)));
    }

    /// Appends the IP packet of a datagram from one place to another.
    pub fn encode(&mut self, from: usize, datagram: &Datagram, ecn: Ecn, places: [Place; 2], out: &mut Vec<u8>) {
        encode_datagram(places, ecn, out, |out| {
            let start = out.len();
            for (packet, frames, ranges) in datagram.split() {
                let identifier = named(datagram.path, datagram.identifier);
                self.packet(from, (datagram.path, identifier), packet, frames, ranges, out);
            }
            debug_assert_eq!(out.len() - start, datagram.bytes as usize, "as many bytes as were counted: {datagram:?}");
        });
    }

    fn packet(
        &mut self,
        from: usize,
        (path, identifier): (u8, u64),
        packet: &quic::Header,
        frames: &[quic::Frame],
        ranges: &[(u64, u64)],
        out: &mut Vec<u8>,
    ) {
        let Sealer { session, addressed, .. } = self;
        let token = match packet.kind {
            quic::Kind::Initial(token) => session.token(token.into()),
            quic::Kind::Retry(token) => {
                let (client, server) = (session.identifier(0, 0), session.retry_source());
                return encode_retry(&session.original(), &client, &server, &session.token(token.into()), out);
            }
            _ => Vec::new(),
        };
        let kind = kind(packet.kind);
        let retried = self.retry && (from == 1 || !token.is_empty());
        let is_known = from == 1 || packet.number >= self.known_from[packet.kind.space() as usize];
        let destination = match (is_known, retried) {
            (true, _) => {
                let latest = &mut addressed[1 - from];
                if latest.0 != identifier {
                    *latest = (identifier, session.identifier(1 - from, identifier));
                }
                latest.1
            }
            (false, false) => session.original(),
            (false, true) => session.retry_source(),
        };
        let source = if kind == Kind::OneRtt { Identifier::default() } else { session.identifier(from, 0) };
        let header = Header {
            kind,
            destination: &destination,
            source: &source,
            token: &token,
            path: path.into(),
            number: packet.number,
            number_bytes: packet.number_bytes,
        };
        let write = |out: &mut Vec<u8>| {
            for frame in frames {
                let frame = convert(frame, (from, kind), ranges, session, &mut self.data);
                frame.expect("a run with parity is not captured").encode(out);
            }
        };
        encode(&header, session.keys(from, kind, retried), write, out);
    }
}

/// Returns the kind of a packet by its protection.
fn kind(kind: quic::Kind) -> Kind {
    match kind {
        quic::Kind::Initial(_) | quic::Kind::Retry(_) => Kind::Initial,
        quic::Kind::ZeroRtt => Kind::ZeroRtt,
        quic::Kind::Handshake => Kind::Handshake,
        quic::Kind::OneRtt => Kind::OneRtt,
    }
}

/// Converts a frame of a packet, but for parity, which RFC 9000 does not know; `data` is a buffer for its content.
fn convert<'a>(
    frame: &quic::Frame,
    (from, kind): (usize, Kind),
    ranges: &'a [(u64, u64)],
    session: &Session,
    data: &'a mut Vec<u8>,
) -> Option<Frame<'a>> {
    data.clear();
    Some(match *frame {
        quic::Frame::Padding(bytes) => Frame::Padding(bytes.into()),
        quic::Frame::Ping => Frame::Ping,
        quic::Frame::Ack(ack) => Frame::Ack { path: ack.path.map(u64::from), delay: ack.delay, ranges, ecn: ack.ecn },
        quic::Frame::Crypto { offset, length } => {
            data.extend(session.crypto(from, kind).iter().skip(offset as usize).take(length.into()));
            // With extreme transport parameters a message is longer, or a byte shorter, than its counted length.
            data.resize(length.into(), 0);
            Frame::Crypto { offset, data }
        }
        quic::Frame::Stream(stream) => {
            fill(stream.offset, stream.length, data);
            Frame::Stream { id: stream.id, offset: stream.offset, fin: stream.fin, data }
        }
        quic::Frame::ResetStream { id, code, size } => Frame::ResetStream { id, code, size },
        quic::Frame::StopSending { id, code } => Frame::StopSending { id, code },
        quic::Frame::MaxData(limit) => Frame::MaxData(limit),
        quic::Frame::MaxStreamData(id, limit) => Frame::MaxStreamData { id, limit },
        quic::Frame::MaxStreams { both_ways, count } => Frame::MaxStreams { both_ways, count },
        quic::Frame::DataBlocked(limit) => Frame::DataBlocked(limit),
        quic::Frame::StreamDataBlocked(id, limit) => Frame::StreamDataBlocked { id, limit },
        quic::Frame::NewConnectionId(sequence, retire_prior_to) => {
            data.extend(session.identifier(from, sequence));
            let reset_token = session.reset_token(from, sequence);
            Frame::NewConnectionId { sequence, retire_prior_to, identifier: data, reset_token }
        }
        quic::Frame::RetireConnectionId(sequence) => Frame::RetireConnectionId(sequence),
        quic::Frame::PathChallenge(nonce) => Frame::PathChallenge(nonce.to_be_bytes()),
        quic::Frame::PathResponse(nonce) => Frame::PathResponse(nonce.to_be_bytes()),
        quic::Frame::NewToken(length) => {
            data.extend(session.token(length.into()));
            Frame::NewToken(data)
        }
        quic::Frame::Close { code, application } => Frame::Close { code, application },
        quic::Frame::HandshakeDone => Frame::HandshakeDone,
        quic::Frame::Datagram { length, number } => {
            fill(number << 16, length, data);
            Frame::Datagram(data)
        }
        quic::Frame::AckFrequency(sequence, threshold, max_delay_us) => {
            Frame::AckFrequency { sequence, threshold, max_delay_us, reordering: 1 }
        }
        quic::Frame::PathAbandon { .. }
        | quic::Frame::PathStatus { .. }
        | quic::Frame::PathNewConnectionId { .. }
        | quic::Frame::PathRetireConnectionId { .. }
        | quic::Frame::MaxPathId(_) => path_frame(frame, from, session, data),
        quic::Frame::Parity(_) | quic::Frame::Recovered(_) => return None,
    })
}

/// Fills `data` with the content of a stream.
fn fill(offset: u64, length: u16, data: &mut Vec<u8>) {
    data.resize(length.into(), 0);
    content::fill(offset, data);
}

/// Converts a frame of Multipath QUIC; `data` is a buffer for its content.
fn path_frame<'a>(frame: &quic::Frame, from: usize, session: &Session, data: &'a mut Vec<u8>) -> Frame<'a> {
    match *frame {
        quic::Frame::PathAbandon { path, code } => Frame::PathAbandon { path: path.into(), code },
        quic::Frame::PathStatus { path, number, backup } => {
            Frame::PathStatus { path: path.into(), sequence: number, backup }
        }
        quic::Frame::PathNewConnectionId { path, number: sequence } => {
            data.extend(session.identifier(from, named(path, sequence)));
            let reset_token = session.reset_token(from, named(path, sequence));
            let path = path.into();
            Frame::PathNewConnectionId { path, sequence, retire_prior_to: 0, identifier: data, reset_token }
        }
        quic::Frame::PathRetireConnectionId { path, number } => {
            Frame::PathRetireConnectionId { path: path.into(), sequence: number }
        }
        quic::Frame::MaxPathId(path) => Frame::MaxPathId(path.into()),
        _ => unreachable!("{frame:?} is no frame of Multipath QUIC"),
    }
}

/// Returns the sequence number that a path's connection identifier has among those of all paths.
fn named(path: u8, number: u64) -> u64 {
    u64::from(path) << 32 | number
}

/// Draws the secret of a flow's identifiers and keys.
fn secret(seed: u64, number: usize) -> Secret {
    let mut stream = RandomStream::new(seed, &format!("keys/flow {number}"));
    let mut secret = [0; 32];
    secret.as_chunks_mut::<8>().0.iter_mut().for_each(|part| *part = stream.bits().to_be_bytes());
    secret
}

/// Returns the settings of a flow. A visit over HTTP/3 opens its streams itself.
pub(crate) fn settings(flow: &FlowSpec) -> quic::Config {
    let mut config = config(&flow.transport);
    if flow.visit().is_some_and(|visit| visit.uses_streams()) {
        config.streams = 0;
    }
    config
}

/// Returns the content of a flow's handshake.
fn setup(flow: &FlowSpec, seed: Secret) -> Setup {
    /// Bytes of a resumption ticket with which our ClientHello has its size.
    const TICKET: usize = 192;
    let config = settings(flow);
    let messages = Messages::new(&config);
    let streams = config.max_streams.max(config.streams);
    let milliseconds = |duration: Duration| duration.as_nanos() / 1_000_000;
    let mut numbers = vec![
        (parameter::MAX_IDLE_TIMEOUT, milliseconds(config.idle_timeout)),
        (parameter::INITIAL_MAX_DATA, config.connection_window),
        (parameter::INITIAL_MAX_STREAM_DATA_BIDI_LOCAL, config.stream_window),
        (parameter::INITIAL_MAX_STREAM_DATA_BIDI_REMOTE, config.stream_window),
        (parameter::INITIAL_MAX_STREAM_DATA_UNI, config.stream_window),
        (parameter::INITIAL_MAX_STREAMS_BIDI, streams),
        (parameter::INITIAL_MAX_STREAMS_UNI, streams),
        (parameter::ACTIVE_CONNECTION_ID_LIMIT, quic::ACTIVE_IDENTIFIERS as u64),
        (parameter::MAX_ACK_DELAY, milliseconds(config.max_ack_delay).min((1 << 14) - 1)),
    ];
    if config.unreliable {
        // Any size (RFC 9221 section 3).
        numbers.push((parameter::MAX_DATAGRAM_FRAME_SIZE, 65_535));
    }
    if config.ack_frequency.is_some() {
        numbers.push((parameter::MIN_ACK_DELAY, 1000));
    }
    if config.packet_scheduler.is_some() {
        numbers.push((parameter::INITIAL_MAX_PATH_ID, quic::MAX_PATH_ID.into()));
    }
    let resumption = match config.handshake {
        Handshake::Early => Resumption::Accepted(TICKET),
        Handshake::Rejected => Resumption::Rejected(TICKET),
        _ => Resumption::None,
    };
    Setup {
        seed,
        hello: messages.client_hello as usize,
        extensions: messages.encrypted_extensions as usize,
        certificate: messages.certificate as usize,
        resumption,
        retry: config.handshake == Handshake::Retry,
        parameters: [numbers.clone(), numbers],
    }
}
