//! Sizes of TLS messages, and the flights of each handshake.
//!
//! TLS 1.3 follows the traces of RFC 8448 (section 3: full, section 4: resumed with early data), except for an RSA-2048
//! signature and the certificates. TLS 1.2 is ECDHE with X25519, RSA-2048 signatures and AES-GCM, added up from the
//! formats of RFC 5246, RFC 8422, RFC 5288 and RFC 5077.

use super::{Handshake, Version};

/// Maximum bytes of data in a record (RFC 8446 section 5.1, RFC 5246 section 6.2.1).
pub(super) const RECORD: u64 = 16_384;
/// Record header.
const HEADER: u64 = 5;
/// Alert: level and description.
pub(super) const ALERT: u64 = 2;

/// ClientHello, padded to 512 bytes (RFC 7685) as by browsers.
const CLIENT_HELLO: u64 = HEADER + 512;
/// Finished in TLS 1.3: header and SHA-256 hash.
const FINISHED: u64 = 36;
/// CertificateVerify: header, algorithm, length and signature.
const CERTIFICATE_VERIFY: u64 = 4 + 2 + 2 + 256;
/// EndOfEarlyData: header only.
const END_OF_EARLY_DATA: u64 = 4;
/// ServerHello, EncryptedExtensions and NewSessionTicket in TLS 1.3; the first two also after resumption.
const SERVER_HELLO: [u64; 2] = [90, 96];
const ENCRYPTED_EXTENSIONS: [u64; 2] = [40, 44];
const TICKET: u64 = 201;

/// ServerHello in TLS 1.2: header, version, random, session, cipher, compression, and 21 bytes of extensions.
const SERVER_HELLO_12: u64 = 4 + 2 + 32 + 33 + 2 + 1 + 21;
/// Key exchange messages: curve, server's point and signature; client's point.
const SERVER_KEY_EXCHANGE: u64 = 4 + 36 + 2 + 2 + 256;
const SERVER_HELLO_DONE: u64 = 4;
const CLIENT_KEY_EXCHANGE: u64 = 4 + 33;
/// NewSessionTicket in TLS 1.2: header, lifetime, length and a ticket of 192 bytes.
const TICKET_12: u64 = 4 + 4 + 2 + 192;
/// ChangeCipherSpec, which is a record of its own, and the encrypted Finished: header and 12 bytes.
const CHANGE_AND_FINISHED: u64 = HEADER + 1 + HEADER + 8 + 16 + 16;

impl Version {
    /// Bytes that a record adds to its data: header and encryption overhead. TLS 1.3 encrypts the content type (RFC
    /// 8446 section 5.2); TLS 1.2 sends half of the nonce (RFC 5288 section 3).
    pub(super) fn overhead(self) -> u64 {
        match self {
            Version::V13 => HEADER + 1 + 16,
            Version::V12 => HEADER + 8 + 16,
        }
    }

    /// Bytes of this much data in records.
    pub(super) fn sealed(self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(RECORD) * self.overhead()
    }
}

/// Messages that one side sends together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Number of flights of the other side that it follows.
    pub after: usize,
    /// Bytes including records.
    pub bytes: u64,
}

/// Flights of one side.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub flights: Vec<Flight>,
    /// Flights sent and received before its data may flow.
    pub ready: (usize, usize),
}

/// Flights of client and server, with this size of Certificate message.
pub(super) fn parts(version: Version, handshake: Handshake, certificate: u64) -> [Part; 2] {
    let flight = |after, bytes| Flight { after, bytes };
    let full = handshake == Handshake::Full;
    match version {
        Version::V13 => {
            let resumed = usize::from(!full);
            let proof = if full { certificate + CERTIFICATE_VERIFY } else { 0 };
            let hello = HEADER + SERVER_HELLO[resumed];
            let answer = hello + version.sealed(ENCRYPTED_EXTENSIONS[resumed] + proof + FINISHED);
            let early = handshake == Handshake::Early;
            let end = if early { version.sealed(END_OF_EARLY_DATA) } else { 0 } + version.sealed(FINISHED);
            [
                Part {
                    flights: vec![flight(0, CLIENT_HELLO), flight(1, end)],
                    ready: if early { (1, 0) } else { (2, 1) },
                },
                Part {
                    flights: vec![flight(1, answer), flight(2, version.sealed(TICKET))],
                    ready: if early { (1, 1) } else { (2, 2) },
                },
            ]
        }
        Version::V12 if full => {
            let hello = HEADER * 4 + SERVER_HELLO_12 + certificate + SERVER_KEY_EXCHANGE + SERVER_HELLO_DONE;
            let key = HEADER + CLIENT_KEY_EXCHANGE + CHANGE_AND_FINISHED;
            let end = HEADER + TICKET_12 + CHANGE_AND_FINISHED;
            [
                Part { flights: vec![flight(0, CLIENT_HELLO), flight(1, key)], ready: (2, 2) },
                Part { flights: vec![flight(1, hello), flight(2, end)], ready: (2, 2) },
            ]
        }
        Version::V12 => {
            let hello = HEADER + SERVER_HELLO_12 + CHANGE_AND_FINISHED;
            [
                Part { flights: vec![flight(0, CLIENT_HELLO), flight(1, CHANGE_AND_FINISHED)], ready: (2, 1) },
                Part { flights: vec![flight(1, hello)], ready: (1, 2) },
            ]
        }
    }
}
