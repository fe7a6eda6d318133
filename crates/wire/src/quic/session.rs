//! A connection's identifiers, handshake and keys, all made up from a number.

use super::keys::Keys;
use super::number::{put_varint, put_varint_of};
use super::packet::Kind;
use crate::content;
use crate::tls::{Handshake, Plan, Resumption, Secret, expand_label};

/// A connection identifier as most stacks choose it.
pub type Identifier = [u8; 8];

/// Transport parameters that are numbers (RFC 9000 section 18.2, RFC 9221 section 3).
#[allow(missing_docs)]
pub mod parameter {
    pub const MAX_IDLE_TIMEOUT: u64 = 0x01;
    pub const INITIAL_MAX_DATA: u64 = 0x04;
    pub const INITIAL_MAX_STREAM_DATA_BIDI_LOCAL: u64 = 0x05;
    pub const INITIAL_MAX_STREAM_DATA_BIDI_REMOTE: u64 = 0x06;
    pub const INITIAL_MAX_STREAM_DATA_UNI: u64 = 0x07;
    pub const INITIAL_MAX_STREAMS_BIDI: u64 = 0x08;
    pub const INITIAL_MAX_STREAMS_UNI: u64 = 0x09;
    pub const ACK_DELAY_EXPONENT: u64 = 0x0a;
    pub const MAX_ACK_DELAY: u64 = 0x0b;
    pub const ACTIVE_CONNECTION_ID_LIMIT: u64 = 0x0e;
    pub const MAX_DATAGRAM_FRAME_SIZE: u64 = 0x20;
    /// The highest identifier of a path that may be used at first (RFC 10069).
    pub const INITIAL_MAX_PATH_ID: u64 = 0x3e;
    /// Least ack delay in microseconds: a side that names it takes ACK_FREQUENCY frames (draft-ietf-quic-ack-frequency-07).
    pub const MIN_ACK_DELAY: u64 = 0xff04_de1b;
}

/// Parameters whose values are bytes.
const ORIGINAL_DESTINATION: u64 = 0x00;
const RESET_TOKEN: u64 = 0x02;
const INITIAL_SOURCE: u64 = 0x0f;
const RETRY_SOURCE: u64 = 0x10;
/// One of those that have no meaning, 31 n + 27 (section 18.1).
const RESERVED: u64 = 27;

/// Settings of a connection.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Secret from which everything is drawn.
    pub seed: Secret,
    /// Bytes of ClientHello and of EncryptedExtensions; they are longer if their contents are.
    pub hello: usize,
    /// See `hello`.
    pub extensions: usize,
    /// Bytes of the Certificate message.
    pub certificate: usize,
    /// Whether the two have met.
    pub resumption: Resumption,
    /// Whether the client is asked to prove its address.
    pub retry: bool,
    /// The numbers among the transport parameters of client and server: identifiers and values.
    pub parameters: [Vec<(u64, u64)>; 2],
}

/// A connection whose packets can be written. Sides are 0, the client, and 1, the server.
#[derive(Clone, Debug)]
pub struct Session {
    seed: Secret,
    /// TLS handshake.
    pub handshake: Handshake,
    /// Initial keys of the client's first flight, and after a Retry.
    initial: [[Keys; 2]; 2],
    early: Keys,
    handshake_keys: [Keys; 2],
    application: [Keys; 2],
}

/// Server name in the handshake.
const NAME: &str = "vazao.example";
const PROTOCOL: &str = "vazao";

impl Session {
    /// Creates the connection of a setup.
    pub fn new(setup: &Setup) -> Session {
        let Setup { seed, resumption, certificate, .. } = *setup;
        let mut plan = Plan {
            seed,
            name: NAME,
            protocol: PROTOCOL,
            transport: [0, 1].map(|side| transport_parameters(setup, side)),
            resumption,
            certificate,
        };
        // What is missing is made up by a parameter that everybody ignores.
        let bare = Handshake::new(&plan);
        let lengths = [bare.hellos[0].len(), message_length(&bare.flights[1])];
        for ((transport, length), wanted) in plan.transport.iter_mut().zip(lengths).zip([setup.hello, setup.extensions])
        {
            fill_up(wanted.saturating_sub(length), transport);
        }
        let handshake = Handshake::new(&plan);
        let named = |label| expand_label::<8>(&seed, label, &[]);
        let keys = |secrets: &[Secret; 2]| secrets.each_ref().map(Keys::new);
        Session {
            seed,
            initial: ["original id", "retry id"].map(|label| Keys::initial(&named(label))),
            early: Keys::new(&handshake.early),
            handshake_keys: keys(&handshake.handshake),
            application: keys(&handshake.application),
            handshake,
        }
    }

    /// Returns the keys of a side's packets of a kind; after a Retry those of Initial packets are others.
    pub fn keys(&self, side: usize, kind: Kind, retried: bool) -> &Keys {
        match kind {
            Kind::Initial => &self.initial[usize::from(retried)][side],
            Kind::ZeroRtt => &self.early,
            Kind::Handshake => &self.handshake_keys[side],
            Kind::OneRtt => &self.application[side],
        }
    }

    /// Returns a side's connection identifier with this sequence number; 0 is that of the handshake.
    pub fn identifier(&self, side: usize, sequence: u64) -> Identifier {
        identifier(&self.seed, side, sequence)
    }

    /// Returns the identifier that the client addresses before it knows the server's.
    pub fn original(&self) -> Identifier {
        expand_label(&self.seed, "original id", &[])
    }

    /// Returns the server's identifier in a Retry packet.
    pub fn retry_source(&self) -> Identifier {
        expand_label(&self.seed, "retry id", &[])
    }

    /// Bytes of the client's two flights, and of the server's two.
    pub fn lengths(&self) -> [[usize; 2]; 2] {
        [0, 1].map(|side| [&self.handshake.hellos, &self.handshake.flights].map(|said| said[side].len()))
    }

    /// Returns the stateless reset token of an identifier.
    pub fn reset_token(&self, side: usize, sequence: u64) -> [u8; 16] {
        reset_token(&self.seed, side, sequence)
    }

    /// Returns a token of so many bytes, as Retry and NEW_TOKEN bring them.
    pub fn token(&self, length: usize) -> Vec<u8> {
        filler(&self.seed, length)
    }

    /// Returns all data of a side's CRYPTO frames in Initial or in Handshake packets; other packets have none.
    pub fn crypto(&self, side: usize, kind: Kind) -> &[u8] {
        match kind {
            Kind::Initial => &self.handshake.hellos[side],
            Kind::Handshake => &self.handshake.flights[side],
            Kind::ZeroRtt | Kind::OneRtt => &[],
        }
    }
}

const SIDES: [&str; 2] = ["client id", "server id"];

fn identifier(seed: &Secret, side: usize, sequence: u64) -> Identifier {
    expand_label(seed, SIDES[side], &sequence.to_be_bytes())
}

fn reset_token(seed: &Secret, side: usize, sequence: u64) -> [u8; 16] {
    expand_label(seed, "reset token", &[&[side as u8][..], &sequence.to_be_bytes()].concat())
}

/// Bytes of no meaning.
fn filler(seed: &Secret, length: usize) -> Vec<u8> {
    let place = u64::from_be_bytes(expand_label(seed, "filler", &[])) >> 1;
    let mut bytes = vec![0; length];
    content::fill(place, &mut bytes);
    bytes
}

/// Returns the transport parameters of a side (RFC 9000 sections 7.3 and 18).
fn transport_parameters(setup: &Setup, side: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for &(id, value) in &setup.parameters[side] {
        let mut number = Vec::new();
        put_varint(value, &mut number);
        put_parameter(id, &number, &mut out);
    }
    put_parameter(INITIAL_SOURCE, &identifier(&setup.seed, side, 0), &mut out);
    if side == 1 {
        let named = |label| expand_label::<8>(&setup.seed, label, &[]);
        put_parameter(ORIGINAL_DESTINATION, &named("original id"), &mut out);
        put_parameter(RESET_TOKEN, &reset_token(&setup.seed, side, 0), &mut out);
        if setup.retry {
            put_parameter(RETRY_SOURCE, &named("retry id"), &mut out);
        }
    }
    out
}

fn put_parameter(id: u64, value: &[u8], out: &mut Vec<u8>) {
    put_varint(id, out);
    put_varint(value.len() as u64, out);
    out.extend(value);
}

/// Adds a parameter of `length` bytes in all, its length in two of them so that there is one of every size from 3 on.
fn fill_up(length: usize, out: &mut Vec<u8>) {
    if let Some(value) = length.checked_sub(3) {
        put_varint(RESERVED, out);
        put_varint_of(value as u64, 2, out);
        out.resize(out.len() + value, 0);
    }
}

/// Returns the length of a TLS handshake message.
fn message_length(message: &[u8]) -> usize {
    4 + message[1..4].iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(resumption: Resumption) -> Setup {
        // The longest that the numbers of a sensible scenario get.
        let numbers = vec![
            (parameter::MAX_IDLE_TIMEOUT, 3_600_000),
            (parameter::INITIAL_MAX_DATA, 1 << 40),
            (parameter::INITIAL_MAX_STREAM_DATA_BIDI_LOCAL, 1 << 40),
            (parameter::INITIAL_MAX_STREAM_DATA_BIDI_REMOTE, 1 << 40),
            (parameter::INITIAL_MAX_STREAM_DATA_UNI, 1 << 40),
            (parameter::INITIAL_MAX_STREAMS_BIDI, 10_000),
            (parameter::MAX_ACK_DELAY, 25),
        ];
        let (hello, extensions, certificate) = (700, 140, 3000);
        Setup {
            seed: [7; 32],
            hello,
            extensions,
            certificate,
            resumption,
            retry: true,
            parameters: [numbers.clone(), numbers],
        }
    }

    #[test]
    fn messages_have_the_sizes_that_are_asked_for() {
        for (resumption, proof) in [(Resumption::None, 3000 + 264), (Resumption::Accepted(209), 0)] {
            let session = Session::new(&setup(resumption));
            assert_eq!(session.crypto(0, Kind::Initial).len(), 700);
            assert_eq!(session.crypto(1, Kind::Handshake).len(), 140 + proof + 36);
            assert_eq!(session.crypto(0, Kind::Handshake).len(), 36);
        }
    }

    #[test]
    fn connections_differ_by_their_seeds_alone() {
        let one = Session::new(&setup(Resumption::None));
        let same = Session::new(&setup(Resumption::None));
        let other = Session::new(&Setup { seed: [8; 32], ..setup(Resumption::None) });
        assert_eq!(one.handshake.key_log(), same.handshake.key_log());
        assert_ne!(one.handshake.key_log(), other.handshake.key_log());
        let ids =
            [one.original(), one.retry_source(), one.identifier(0, 0), one.identifier(1, 0), one.identifier(1, 1)];
        assert!(ids.iter().enumerate().all(|(i, id)| !ids[..i].contains(id) && *id != other.identifier(0, 0)));
    }
}
