//! How large TLS's messages are, and which handshake has which.
//!
//! TLS 1.3 is as in the traces of RFC 8448 (section 3: full, section 4: resumed with early data), but for the signature,
//! which is one by RSA of 2048 bits, and the certificates. TLS 1.2 is ECDHE with X25519, signed by RSA of 2048 bits, and
//! AES-GCM, added up from the formats of RFC 5246, RFC 8422, RFC 5288 and RFC 5077.

use super::{Handshake, Version};

/// The most that a record holds (RFC 8446 section 5.1, RFC 5246 section 6.2.1).
pub(super) const RECORD: u64 = 16_384;
/// What comes before a record that is not encrypted.
const HEADER: u64 = 5;
/// An alert's level and description: close_notify.
pub(super) const ALERT: u64 = 2;

/// A ClientHello of 512 bytes, to which RFC 7685 pads it and browsers do.
const CLIENT_HELLO: u64 = HEADER + 512;
/// A Finished of TLS 1.3: a header of 4, and a hash by SHA-256.
const FINISHED: u64 = 36;
/// A CertificateVerify: header, algorithm, length, and the signature.
const CERTIFICATE_VERIFY: u64 = 4 + 2 + 2 + 256;
/// EndOfEarlyData is a header alone.
const END_OF_EARLY_DATA: u64 = 4;
/// TLS 1.3's ServerHello, EncryptedExtensions and NewSessionTicket; the first two after a resumption.
const SERVER_HELLO: [u64; 2] = [90, 96];
const ENCRYPTED_EXTENSIONS: [u64; 2] = [40, 44];
const TICKET: u64 = 201;

/// TLS 1.2: header, version, random, session, cipher, compression, and 21 bytes of extensions.
const SERVER_HELLO_12: u64 = 4 + 2 + 32 + 33 + 2 + 1 + 21;
/// The curve and the server's point, and their signature; the client's point.
const SERVER_KEY_EXCHANGE: u64 = 4 + 36 + 2 + 2 + 256;
const SERVER_HELLO_DONE: u64 = 4;
const CLIENT_KEY_EXCHANGE: u64 = 4 + 33;
/// A ticket of 192 bytes with its header, lifetime and length.
const TICKET_12: u64 = 4 + 4 + 2 + 192;
/// ChangeCipherSpec, which is a record of its own, and the Finished that follows: header, 12 bytes, encrypted.
const CHANGE_AND_FINISHED: u64 = HEADER + 1 + HEADER + 8 + 16 + 16;

impl Version {
    /// Bytes that a record adds to what it holds: header, and what encryption adds. TLS 1.3 hides the type in it (RFC
    /// 8446 section 5.2); TLS 1.2 sends half of the nonce (RFC 5288 section 3).
    pub(super) fn overhead(self) -> u64 {
        match self {
            Version::V13 => HEADER + 1 + 16,
            Version::V12 => HEADER + 8 + 16,
        }
    }

    /// Bytes that so many take in records.
    pub(super) fn sealed(self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(RECORD) * self.overhead()
    }
}

/// What one side says in a handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// How many flights of the other side it follows.
    pub after: usize,
    /// Its bytes, records and all.
    pub bytes: u64,
}

/// One side's part of a handshake.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub flights: Vec<Flight>,
    /// Its data may flow once it has sent and received so many flights.
    pub ready: (usize, usize),
}

/// The parts of client and server, whose certificates' message has so many bytes.
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
