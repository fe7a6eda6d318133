//! The key schedule of TLS 1.3 (RFC 8446 section 7.1) with SHA-256; with SHA-384 as far as others' packets are to be read.

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha384};

/// A secret, or a hash of a transcript.
pub type Secret = [u8; 32];

/// HKDF-Extract.
pub fn extract(salt: &[u8], material: &[u8]) -> Secret {
    Hkdf::<Sha256>::extract(Some(salt), material).0.into()
}

/// HKDF-Expand-Label: `N` bytes, of which a hash has no more than 8160.
pub fn expand_label<const N: usize>(secret: &Secret, label: &str, context: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    let hkdf = Hkdf::<Sha256>::from_prk(secret).expect("a secret is as long as a hash");
    hkdf.expand(&info(N, label, context), &mut out).expect("a length that can be expanded to");
    out
}

/// Expands a label with SHA-384.
pub fn expand_label_384<const N: usize>(secret: &[u8; 48], label: &str, context: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    let hkdf = Hkdf::<Sha384>::from_prk(secret).expect("a secret is as long as a hash");
    hkdf.expand(&info(N, label, context), &mut out).expect("a length that can be expanded to");
    out
}

/// HkdfLabel.
fn info(length: usize, label: &str, context: &[u8]) -> Vec<u8> {
    const PREFIX: &[u8] = b"tls13 ";
    let length = (length as u16).to_be_bytes();
    let label_length = [(PREFIX.len() + label.len()) as u8];
    [&length[..], &label_length, PREFIX, label.as_bytes(), &[context.len() as u8], context].concat()
}

/// Derive-Secret of messages with this transcript hash.
pub fn derive(secret: &Secret, label: &str, transcript: &Secret) -> Secret {
    expand_label(secret, label, transcript)
}

/// Returns the value that a Finished message or a PSK binder verifies: the transcript, with a base key (section 4.4.4).
pub fn verify_data(base: &Secret, transcript: &Secret) -> Secret {
    let key: Secret = expand_label(base, "finished", &[]);
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key of any length");
    mac.update(transcript);
    mac.finalize().into_bytes().into()
}

/// Returns the hash of a transcript.
pub fn hash(messages: &[&[u8]]) -> Secret {
    let mut hash = Sha256::new();
    messages.iter().for_each(|message| hash.update(message));
    hash.finalize().into()
}

/// The three secrets that all others come from.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Early Secret.
    pub early: Secret,
    /// Handshake Secret.
    pub handshake: Secret,
    /// Master Secret.
    pub master: Secret,
}

impl Schedule {
    /// Creates the secrets of a pre-shared key, or none, and of the Diffie-Hellman exchange.
    pub fn new(pre_shared: Option<&Secret>, shared: &Secret) -> Schedule {
        let zeros = [0; 32];
        let next = |secret, material: &Secret| extract(&derive(secret, "derived", &hash(&[])), material);
        let early = extract(&[], pre_shared.unwrap_or(&zeros));
        let handshake = next(&early, shared);
        Schedule { early, handshake, master: next(&handshake, &zeros) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hex;

    fn secret(text: &str) -> Secret {
        hex(text).try_into().expect("32 bytes")
    }

    /// RFC 8448 section 3.
    #[test]
    fn the_schedule_of_a_simple_handshake() {
        let shared = secret("8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d");
        let schedule = Schedule::new(None, &shared);
        assert_eq!(schedule.early, secret("33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a"));
        assert_eq!(schedule.handshake, secret("1dc826e93606aa6fdc0aadc12f741b01046aa6b99f691ed221a9f0ca043fbeac"));
        assert_eq!(schedule.master, secret("18df06843d13a08bf2a449844c5f8a478001bc4d4c627984d5a41da8d0402919"));
        let hellos = secret("860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8");
        let finished = secret("9608102a0f1ccc6db6250b7b7e417b1a000eaada3daae4777a7686c9ff83df13");
        for (base, label, transcript, expected) in [
            (
                schedule.handshake,
                "c hs traffic",
                hellos,
                "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21",
            ),
            (
                schedule.handshake,
                "s hs traffic",
                hellos,
                "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38",
            ),
            (
                schedule.master,
                "c ap traffic",
                finished,
                "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5",
            ),
            (
                schedule.master,
                "s ap traffic",
                finished,
                "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643",
            ),
        ] {
            assert_eq!(derive(&base, label, &transcript), secret(expected), "{label}");
        }
        // The client's Finished.
        let client = secret("b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21");
        assert_eq!(
            verify_data(&client, &finished),
            secret("a8ec436d677634ae525ac1fcebe11a039ec17694fac6e98527b642f2edd5ce61")
        );
    }
}
