//! Sizes of TLS messages and records, and the flights of each handshake.
//!
//! TLS 1.3 follows the traces of RFC 8448 (section 3: full, section 4: resumed with early data), except for an RSA-2048
//! signature and the certificates. TLS 1.2 is ECDHE with X25519, RSA-2048 signatures and AES-GCM, added up from the
//! formats of RFC 5246, RFC 8422, RFC 5288 and RFC 5077. DTLS 1.2 (RFC 6347) and 1.3 (RFC 9147) add to these.

use super::{Config, Handshake, Version};

/// Maximum bytes of data in a record (RFC 8446 section 5.1, RFC 5246 section 6.2.1).
pub(super) const RECORD: u64 = 16_384;
/// Alert: level and description.
pub(super) const ALERT: u64 = 2;

/// ClientHello, padded to 512 bytes (RFC 7685) as by browsers.
const CLIENT_HELLO: u64 = 512;
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
/// ChangeCipherSpec, which is a record of its own, and Finished: header and 12 bytes.
const CHANGE_CIPHER_SPEC: u64 = 1;
const FINISHED_12: u64 = 16;

/// Format of the records of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Records {
    version: Version,
    /// Maximum bytes of data in a record.
    pub size: u64,
    is_datagram: bool,
}

impl Records {
    pub fn new(config: &Config) -> Records {
        let size = config.datagram.unwrap_or(RECORD).clamp(1, RECORD);
        Records { version: config.version, size, is_datagram: config.datagram.is_some() }
    }

    /// Header of an unencrypted record; DTLS adds epoch and sequence number (RFC 6347 section 4.1).
    fn header(self) -> u64 {
        if self.is_datagram { 13 } else { 5 }
    }

    /// Bytes that an encrypted record adds to its data: header and encryption overhead. TLS 1.3 encrypts the content
    /// type (RFC 8446 section 5.2); TLS 1.2 sends half of the nonce (RFC 5288 section 3). DTLS 1.3 has a short header,
    /// here with 16 bits of sequence number and the length (RFC 9147 section 4).
    pub fn overhead(self) -> u64 {
        match self.version {
            Version::V13 => 5 + 1 + 16,
            Version::V12 => self.header() + 8 + 16,
        }
    }

    /// Bytes of this much data in records.
    pub fn sealed(self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(self.size) * self.overhead()
    }

    /// Bytes that DTLS adds to so many handshake messages: number and fragment (RFC 6347 section 4.2.2). Over SCTP a
    /// message is not fragmented (RFC 6083).
    fn numbered(self, messages: u64, bytes: u64) -> u64 {
        bytes + if self.is_datagram { 8 * messages } else { 0 }
    }

    /// Bytes of so many handshake messages, each in a record of its own.
    fn plain(self, messages: u64, bytes: u64) -> u64 {
        self.numbered(messages, bytes) + messages * self.header()
    }

    /// Bytes of so many handshake messages, encrypted in one record as far as it holds them.
    fn hidden(self, messages: u64, bytes: u64) -> u64 {
        let bytes = self.numbered(messages, bytes);
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

/// Flights of client and server.
pub(super) fn parts(config: &Config) -> [Part; 2] {
    let (records, certificate) = (Records::new(config), config.certificate);
    let flight = |after, bytes| Flight { after, bytes };
    let full = config.handshake == Handshake::Full;
    let change_and_finished = records.header() + CHANGE_CIPHER_SPEC + records.hidden(1, FINISHED_12);
    let hello = flight(0, records.plain(1, CLIENT_HELLO));
    match config.version {
        Version::V13 => {
            let resumed = usize::from(!full);
            let (proofs, proof) = if full { (2, certificate + CERTIFICATE_VERIFY) } else { (0, 0) };
            let answer = records.plain(1, SERVER_HELLO[resumed])
                + records.hidden(2 + proofs, ENCRYPTED_EXTENSIONS[resumed] + proof + FINISHED);
            let early = config.handshake == Handshake::Early;
            // DTLS has no EndOfEarlyData: the epoch says as much (RFC 9147 section 5.6).
            let ends_early = early && !records.is_datagram;
            let end = if ends_early { records.hidden(1, END_OF_EARLY_DATA) } else { 0 } + records.hidden(1, FINISHED);
            [
                Part { flights: vec![hello, flight(1, end)], ready: if early { (1, 0) } else { (2, 1) } },
                Part {
                    flights: vec![flight(1, answer), flight(2, records.hidden(1, TICKET))],
                    ready: if early { (1, 1) } else { (2, 2) },
                },
            ]
        }
        Version::V12 if full => {
            let answer = records.plain(4, SERVER_HELLO_12 + certificate + SERVER_KEY_EXCHANGE + SERVER_HELLO_DONE);
            let key = records.plain(1, CLIENT_KEY_EXCHANGE) + change_and_finished;
            let end = records.plain(1, TICKET_12) + change_and_finished;
            [
                Part { flights: vec![hello, flight(1, key)], ready: (2, 2) },
                Part { flights: vec![flight(1, answer), flight(2, end)], ready: (2, 2) },
            ]
        }
        Version::V12 => {
            let answer = records.plain(1, SERVER_HELLO_12) + change_and_finished;
            [
                Part { flights: vec![hello, flight(1, change_and_finished)], ready: (2, 1) },
                Part { flights: vec![flight(1, answer)], ready: (1, 2) },
            ]
        }
    }
}
