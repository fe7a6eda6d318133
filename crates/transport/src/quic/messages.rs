//! Sizes of the TLS handshake messages in CRYPTO frames (RFC 8446 section 4, RFC 9001).

use super::config::{Config, Handshake};
use super::frame::varint;

/// Size of each message in bytes; 0 if it is not sent.
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
    /// CertificateVerify with an RSA-2048 signature.
    pub certificate_verify: u64,
    /// Finished with SHA-256.
    pub finished: u64,
}

/// Bytes that resumption adds to a ClientHello: ticket, binder, and the early_data extension.
const RESUMPTION: u64 = 260;

/// Additional bytes of transport parameters for windows of 1 GiB and more: of the connection, and of three kinds of
/// stream (RFC 9000 section 18.2).
fn long_windows(config: &Config) -> u64 {
    let beyond = |window| u64::from(varint(window).saturating_sub(4));
    beyond(config.connection_window) + 3 * beyond(config.stream_window)
}

impl Messages {
    /// Messages of a handshake with this configuration.
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
            // Google's handshake has its own messages.
            Handshake::Google | Handshake::GoogleNegotiated | Handshake::GoogleCautious | Handshake::GoogleEarly => {
                Messages {
                    client_hello: 0,
                    server_hello: 0,
                    encrypted_extensions: 0,
                    certificate: 0,
                    certificate_verify: 0,
                    finished: 0,
                }
            }
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

    /// Bytes of the client's two flights and of the server's, in Initial and in Handshake packets.
    pub fn lengths(&self) -> [[usize; 2]; 2] {
        [[self.client_hello, self.finished], self.answer()].map(|flights| flights.map(|bytes| bytes as usize))
    }

    /// Bytes of the server's messages in Initial and in Handshake packets.
    pub fn answer(&self) -> [u64; 2] {
        let proof = self.certificate + self.certificate_verify;
        [self.server_hello, self.encrypted_extensions + proof + self.finished]
    }
}
