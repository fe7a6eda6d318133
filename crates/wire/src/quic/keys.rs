//! Packet protection (RFC 9001 section 5): AEAD_AES_128_GCM, or AEAD_AES_256_GCM, and header protection by AES.

use crate::tls::{Secret, expand_label, expand_label_384, extract};
use aes_gcm::aes::cipher::BlockCipherEncrypt;
use aes_gcm::aes::{Aes128, Aes256};
use aes_gcm::{AeadInOut, Aes128Gcm, Aes256Gcm, KeyInit, Tag};

/// Bytes of the tag that seals a packet.
pub const TAG: usize = 16;

/// The salt of QUIC version 1 (section 5.2).
const INITIAL_SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f,
    0x0a,
];

/// The key and the nonce of Retry packets (section 5.8).
const RETRY_KEY: [u8; 16] =
    [0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e];
const RETRY_NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];

/// The keys of one direction at one encryption level.
#[derive(Clone)]
pub struct Keys {
    suite: Suite,
    iv: [u8; 12],
}

/// Ciphers that seal payloads and hide headers, and the secret of both.
#[derive(Clone)]
enum Suite {
    Aes128(Box<(Aes128Gcm, Aes128, Secret)>),
    Aes256(Box<(Aes256Gcm, Aes256, [u8; 48])>),
}

impl Keys {
    /// Derives the keys of a traffic secret (section 5.1).
    pub fn new(secret: &Secret) -> Keys {
        let aead = Aes128Gcm::new(&expand_label(secret, "quic key", &[]).into());
        let header = Aes128::new(&expand_label(secret, "quic hp", &[]).into());
        Keys { suite: Suite::Aes128(Box::new((aead, header, *secret))), iv: expand_label(secret, "quic iv", &[]) }
    }

    /// Derives the keys of a traffic secret of TLS_AES_128_GCM_SHA256 or, by its length, TLS_AES_256_GCM_SHA384 (RFC
    /// 8446 appendix B.4). `None`: it is neither's.
    pub fn of(secret: &[u8]) -> Option<Keys> {
        if let Ok(secret) = secret.try_into() {
            return Some(Keys::new(secret));
        }
        secret.try_into().ok().map(Keys::new_256)
    }

    fn new_256(secret: &[u8; 48]) -> Keys {
        let aead = Aes256Gcm::new(&expand_label_384(secret, "quic key", &[]).into());
        let header = Aes256::new(&expand_label_384(secret, "quic hp", &[]).into());
        let iv = expand_label_384(secret, "quic iv", &[]);
        Keys { suite: Suite::Aes256(Box::new((aead, header, *secret))), iv }
    }

    /// Returns the keys after a key update, which keeps the header protection (section 6.1).
    pub fn updated(&self) -> Keys {
        const LABEL: &str = "quic ku";
        let mut next = match &self.suite {
            Suite::Aes128(suite) => Keys::new(&expand_label(&suite.2, LABEL, &[])),
            Suite::Aes256(suite) => Keys::new_256(&expand_label_384(&suite.2, LABEL, &[])),
        };
        match (&mut next.suite, &self.suite) {
            (Suite::Aes128(next), Suite::Aes128(now)) => next.1 = now.1.clone(),
            (Suite::Aes256(next), Suite::Aes256(now)) => next.1 = now.1.clone(),
            _ => unreachable!("an update keeps the suite"),
        }
        next
    }

    /// Derives the keys of Initial packets, the client's and the server's, of a client that first addressed `destination`
    /// (section 5.2).
    pub fn initial(destination: &[u8]) -> [Keys; 2] {
        let initial = extract(&INITIAL_SALT, destination);
        ["client in", "server in"].map(|label| Keys::new(&expand_label(&initial, label, &[])))
    }

    /// Encrypts the payload of packet `number` of a path in its place and gives the tag that follows it (section 5.3).
    pub fn seal(&self, (path, number): (u32, u64), header: &[u8], payload: &mut [u8]) -> [u8; TAG] {
        let nonce = self.nonce(path, number).into();
        let tag: Result<Tag, _> = match &self.suite {
            Suite::Aes128(suite) => suite.0.encrypt_inout_detached(&nonce, header, payload.into()),
            Suite::Aes256(suite) => suite.0.encrypt_inout_detached(&nonce, header, payload.into()),
        };
        tag.expect("a packet is shorter than AES-GCM's limit").into()
    }

    /// Decrypts a payload in its place; false if its tag is not right.
    pub fn open(&self, (path, number): (u32, u64), header: &[u8], payload: &mut [u8], tag: &[u8; TAG]) -> bool {
        let nonce = self.nonce(path, number).into();
        let opened = match &self.suite {
            Suite::Aes128(suite) => suite.0.decrypt_inout_detached(&nonce, header, payload.into(), tag.into()),
            Suite::Aes256(suite) => suite.0.decrypt_inout_detached(&nonce, header, payload.into(), tag.into()),
        };
        opened.is_ok()
    }

    /// Returns the mask of the header's first byte and packet number, from a sample of the ciphertext (section 5.4.3).
    pub fn mask(&self, sample: &[u8; 16]) -> [u8; 5] {
        let mut block = (*sample).into();
        match &self.suite {
            Suite::Aes128(suite) => suite.1.encrypt_block(&mut block),
            Suite::Aes256(suite) => suite.1.encrypt_block(&mut block),
        }
        std::array::from_fn(|i| block[i])
    }

    /// Returns the nonce of a packet, which includes its path in multipath connections (RFC 10069 section 2.4).
    fn nonce(&self, path: u32, number: u64) -> [u8; 12] {
        let numbers = path.to_be_bytes().into_iter().chain(number.to_be_bytes());
        let mut nonce = self.iv;
        nonce.iter_mut().zip(numbers).for_each(|(byte, number)| *byte ^= number);
        nonce
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// Returns the tag of a Retry packet, whose bytes before it are `packet`, that answers a client which addressed `original`.
pub(super) fn retry_tag(original: &[u8], packet: &[u8]) -> [u8; TAG] {
    let pseudo_packet = [&[original.len() as u8], original, packet].concat();
    let aead = Aes128Gcm::new(&RETRY_KEY.into());
    let tag = aead.encrypt_inout_detached(&RETRY_NONCE.into(), &pseudo_packet, (&mut [][..]).into());
    tag.expect("a packet is shorter than AES-GCM's limit").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hex;

    /// RFC 9001 appendix A.5: the secret, and that of `ku`; whatever the suite with SHA-256. What hides headers stays.
    #[test]
    fn an_update_makes_the_secret_of_the_rfc() {
        let secret = hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        let keys = Keys::of(&secret).unwrap();
        let Suite::Aes128(suite) = keys.updated().suite else { panic!("of 32 bytes") };
        assert_eq!(suite.2[..], hex("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"));
        assert_eq!(keys.updated().mask(&[7; 16]), keys.mask(&[7; 16]));
        assert!(Keys::of(&[0; 48]).is_some() && Keys::of(&[0; 47]).is_none());
    }

    /// The example of RFC 10069 section 2.4.
    #[test]
    fn a_path_is_part_of_the_nonce() {
        let iv = [0x6b, 0x26, 0x11, 0x4b, 0x9c, 0xba, 0x2b, 0x63, 0xa9, 0xe8, 0xdd, 0x4f];
        let nonce = Keys { iv, ..Keys::new(&[0; 32]) }.nonce(3, 54_321);
        assert_eq!(nonce, [0x6b, 0x26, 0x11, 0x48, 0x9c, 0xba, 0x2b, 0x63, 0xa9, 0xe8, 0x09, 0x7e]);
    }
}
