//! Handshake messages of TLS 1.3 (RFC 8446 section 4) as QUIC carries them (RFC 9001).

use super::certificate::{LEAST, certificate};
use super::schedule::Secret;
use crate::content;

/// Message types.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const CERTIFICATE: u8 = 11;
const CERTIFICATE_VERIFY: u8 = 15;
const FINISHED: u8 = 20;

/// Extension types.
mod extension {
    pub const SERVER_NAME: u16 = 0;
    pub const SUPPORTED_GROUPS: u16 = 10;
    pub const SIGNATURE_ALGORITHMS: u16 = 13;
    pub const APPLICATION_PROTOCOL: u16 = 16;
    pub const PRE_SHARED_KEY: u16 = 41;
    pub const EARLY_DATA: u16 = 42;
    pub const SUPPORTED_VERSIONS: u16 = 43;
    pub const PSK_KEY_EXCHANGE_MODES: u16 = 45;
    pub const KEY_SHARE: u16 = 51;
    pub const QUIC_TRANSPORT_PARAMETERS: u16 = 57;
}

const LEGACY_VERSION: [u8; 2] = [3, 3];
const TLS_1_3: [u8; 2] = [3, 4];
const AES_128_GCM_SHA256: [u8; 2] = [0x13, 0x01];
const X25519: [u8; 2] = [0, 29];
const RSA_PSS_RSAE_SHA256: [u8; 2] = [8, 4];
/// Bytes of a signature by RSA of 2048 bits.
const SIGNATURE: usize = 256;

/// Bytes of a PSK binder.
pub const BINDER: usize = 32;

/// A ticket of an earlier connection, as its client shows it.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// Identity that the server gave it.
    pub identity: Vec<u8>,
    /// Obfuscated age.
    pub obfuscated_age: u32,
}

/// Common fields of both hellos.
#[derive(Clone, Debug)]
pub struct Hello {
    /// Random.
    pub random: Secret,
    /// An X25519 public key.
    pub key_share: Secret,
}

/// ClientHello. With a ticket it ends in a binder of zeros, [`BINDER`] bytes after a length of 3.
pub fn client_hello(hello: &Hello, name: &str, protocol: &str, transport: &[u8], ticket: Option<&Ticket>) -> Vec<u8> {
    message(CLIENT_HELLO, |out| {
        out.extend(LEGACY_VERSION);
        out.extend(hello.random);
        with_length::<1>(out, |_| {}); // No session: QUIC has no middleboxes to please (RFC 9001 section 8.4).
        with_length::<2>(out, |out| out.extend(AES_128_GCM_SHA256));
        with_length::<1>(out, |out| out.push(0));
        with_length::<2>(out, |out| {
            extension(extension::SERVER_NAME, out, |out| {
                with_length::<2>(out, |out| {
                    out.push(0);
                    with_length::<2>(out, |out| out.extend(name.as_bytes()));
                });
            });
            extension(extension::SUPPORTED_GROUPS, out, |out| with_length::<2>(out, |out| out.extend(X25519)));
            extension(extension::SIGNATURE_ALGORITHMS, out, |out| {
                with_length::<2>(out, |out| out.extend(RSA_PSS_RSAE_SHA256));
            });
            application_protocol(protocol, out);
            extension(extension::SUPPORTED_VERSIONS, out, |out| with_length::<1>(out, |out| out.extend(TLS_1_3)));
            extension(extension::PSK_KEY_EXCHANGE_MODES, out, |out| with_length::<1>(out, |out| out.push(1)));
            extension(extension::KEY_SHARE, out, |out| with_length::<2>(out, |out| key_share(hello, out)));
            extension(extension::QUIC_TRANSPORT_PARAMETERS, out, |out| out.extend(transport));
            if let Some(ticket) = ticket {
                extension(extension::EARLY_DATA, out, |_| {});
                extension(extension::PRE_SHARED_KEY, out, |out| pre_shared_key(ticket, out));
            }
        });
    })
}

/// Appends the identity, its age, and space for its binder.
fn pre_shared_key(ticket: &Ticket, out: &mut Vec<u8>) {
    with_length::<2>(out, |out| {
        with_length::<2>(out, |out| out.extend(&ticket.identity));
        out.extend(ticket.obfuscated_age.to_be_bytes());
    });
    with_length::<2>(out, |out| with_length::<1>(out, |out| out.extend([0; BINDER])));
}

fn key_share(hello: &Hello, out: &mut Vec<u8>) {
    out.extend(X25519);
    with_length::<2>(out, |out| out.extend(hello.key_share));
}

fn application_protocol(name: &str, out: &mut Vec<u8>) {
    extension(extension::APPLICATION_PROTOCOL, out, |out| {
        with_length::<2>(out, |out| with_length::<1>(out, |out| out.extend(name.as_bytes())));
    });
}

/// ServerHello, which may take the client's pre-shared key.
pub fn server_hello(hello: &Hello, resumed: bool) -> Vec<u8> {
    message(SERVER_HELLO, |out| {
        out.extend(LEGACY_VERSION);
        out.extend(hello.random);
        with_length::<1>(out, |_| {});
        out.extend(AES_128_GCM_SHA256);
        out.push(0);
        with_length::<2>(out, |out| {
            extension(extension::SUPPORTED_VERSIONS, out, |out| out.extend(TLS_1_3));
            extension(extension::KEY_SHARE, out, |out| key_share(hello, out));
            if resumed {
                extension(extension::PRE_SHARED_KEY, out, |out| out.extend([0; 2]));
            }
        });
    })
}

/// EncryptedExtensions, which may let early data in.
pub fn encrypted_extensions(protocol: &str, transport: &[u8], early_data: bool) -> Vec<u8> {
    message(ENCRYPTED_EXTENSIONS, |out| {
        with_length::<2>(out, |out| {
            application_protocol(protocol, out);
            extension(extension::QUIC_TRANSPORT_PARAMETERS, out, |out| out.extend(transport));
            if early_data {
                extension(extension::EARLY_DATA, out, |_| {});
            }
        });
    })
}

/// Returns a Certificate message of `length` bytes, with one certificate in it.
pub fn certificate_message(length: usize) -> Vec<u8> {
    // A header of 4; lengths of the context, of the list, of the certificate and of its extensions.
    const AROUND: usize = 4 + 1 + 3 + 3 + 2;
    message(CERTIFICATE, |out| {
        with_length::<1>(out, |_| {});
        with_length::<3>(out, |out| {
            with_length::<3>(out, |out| out.extend(certificate(length.saturating_sub(AROUND).max(LEAST))));
            with_length::<2>(out, |_| {});
        });
    })
}

/// CertificateVerify: a signature that nobody made.
pub fn certificate_verify() -> Vec<u8> {
    message(CERTIFICATE_VERIFY, |out| {
        out.extend(RSA_PSS_RSAE_SHA256);
        with_length::<2>(out, |out| {
            let mut signature = [0; SIGNATURE];
            content::fill(0, &mut signature);
            out.extend(signature);
        });
    })
}

/// Finished.
pub fn finished(verify_data: &Secret) -> Vec<u8> {
    message(FINISHED, |out| out.extend(verify_data))
}

fn message(kind: u8, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![kind];
    with_length::<3>(&mut out, fill);
    out
}

fn extension(kind: u16, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    out.extend(kind.to_be_bytes());
    with_length::<2>(out, fill);
}

/// Appends what `fill` appends, with its length before it in `N` bytes.
fn with_length<const N: usize>(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; N]);
    fill(out);
    let length = (out.len() - at - N).to_be_bytes();
    out[at..at + N].copy_from_slice(&length[length.len() - N..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: Hello = Hello { random: [1; 32], key_share: [2; 32] };

    /// The traces of RFC 8448, sections 3 and 4: ServerHellos of 90 and 96 bytes, a Finished of 36; a CertificateVerify of
    /// 136 with a key of 1024 bits, and so of 264 with one of 2048.
    #[test]
    fn messages_are_as_long_as_in_traces() {
        assert_eq!([false, true].map(|resumed| server_hello(&HELLO, resumed).len()), [90, 96]);
        assert_eq!(finished(&[0; 32]).len(), 36);
        assert_eq!(certificate_verify().len(), 264);
        assert_eq!(certificate_message(3000).len(), 3000);
    }

    /// RFC 8446 section 4.2.11: the last extension, and the binder its last bytes.
    #[test]
    fn a_binder_is_at_the_end() {
        let ticket = Ticket { identity: vec![3; 10], obfuscated_age: 4 };
        let [without, with] = [None, Some(&ticket)].map(|ticket| client_hello(&HELLO, "a", "b", &[], ticket));
        assert_eq!(with.len() - without.len(), 4 + 4 + 2 + (2 + 10 + 4) + 2 + 1 + BINDER);
        assert_eq!(with[with.len() - BINDER - 3..][..3], [0, 33, 32]);
    }
}
