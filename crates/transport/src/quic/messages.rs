//! How large the messages of the TLS handshake are that CRYPTO frames carry (RFC 8446 section 4, RFC 9001).

use super::config::{Config, Handshake};
use super::frame::varint;

/// Bytes of each message; 0 of those that there are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// ClientHello with QUIC's transport parameters.
    pub client_hello: u64,
    /// ServerHello, as in the traces of RFC 8448.
    pub server_hello: u64,
    /// EncryptedExtensions with transport parameters.
    pub encrypted_extensions: u64,
    /// Certificate.
    pub certificate: u64,
    /// CertificateVerify, by RSA of 2048 bits.
    pub certificate_verify: u64,
    /// Finished, by SHA-256.
    pub finished: u64,
}

/// What a resumption adds to a ClientHello: a ticket's identity and its binder, and that early data comes.
const RESUMPTION: u64 = 260;

/// Bytes that windows of 1 GiB and more take beside the four that others do: that of the connection, and of three kinds of stream
/// (RFC 9000 section 18.2).
fn long_windows(config: &Config) -> u64 {
    let beyond = |window| u64::from(varint(window).saturating_sub(4));
    beyond(config.connection_window) + 3 * beyond(config.stream_window)
}

impl Messages {
    /// Those of a handshake with these settings.
    pub fn new(config: &Config) -> Messages {
        let whole = Messages {
            client_hello: 320 + long_windows(config),
            server_hello: 90,
            encrypted_extensions: 140 + long_windows(config),
            certificate: config.certificate,
            certificate_verify: 264,
            finished: 36,
        };
        match config.handshake {
            Handshake::Full | Handshake::Retry => whole,
            // Google's has messages of its own.
            Handshake::Google | Handshake::GoogleNegotiated | Handshake::GoogleEarly => Messages {
                client_hello: 0,
                server_hello: 0,
                encrypted_extensions: 0,
                certificate: 0,
                certificate_verify: 0,
                finished: 0,
            },
            Handshake::Rejected => Messages { client_hello: whole.client_hello + RESUMPTION, ..whole },
            Handshake::Early => Messages {
                client_hello: whole.client_hello + RESUMPTION,
                server_hello: 96,
                certificate: 0,
                certificate_verify: 0,
                ..whole
            },
        }
    }

    /// Bytes of the client's two flights, and of the server's two, in Initial and in Handshake packets.
    pub fn lengths(&self) -> [[usize; 2]; 2] {
        [[self.client_hello, self.finished], self.answer()].map(|flights| flights.map(|bytes| bytes as usize))
    }

    /// What the server says in Initial and in Handshake packets.
    pub fn answer(&self) -> [u64; 2] {
        let proof = self.certificate + self.certificate_verify;
        [self.server_hello, self.encrypted_extensions + proof + self.finished]
    }
}
