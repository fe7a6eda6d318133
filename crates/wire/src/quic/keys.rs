//! What protects packets (RFC 9001 section 5): AEAD_AES_128_GCM, and header protection by AES.

use crate::tls::{Secret, expand_label, extract};
use aes_gcm::aes::Aes128;
use aes_gcm::aes::cipher::BlockCipherEncrypt;
use aes_gcm::{AeadInOut, Aes128Gcm, KeyInit};

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
    aead: Aes128Gcm,
    iv: [u8; 12],
    header: Aes128,
}

impl Keys {
    /// Those of a traffic secret (section 5.1).
    pub fn new(secret: &Secret) -> Keys {
        Keys {
            aead: Aes128Gcm::new(&expand_label(secret, "quic key", &[]).into()),
            iv: expand_label(secret, "quic iv", &[]),
            header: Aes128::new(&expand_label(secret, "quic hp", &[]).into()),
        }
    }

    /// Those of Initial packets, the client's and the server's, of a client that first addressed `destination`
    /// (section 5.2).
    pub fn initial(destination: &[u8]) -> [Keys; 2] {
        let initial = extract(&INITIAL_SALT, destination);
        ["client in", "server in"].map(|label| Keys::new(&expand_label(&initial, label, &[])))
    }

    /// Encrypts a payload in its place and gives the tag that follows it (section 5.3).
    pub fn seal(&self, number: u64, header: &[u8], payload: &mut [u8]) -> [u8; TAG] {
        let tag = self.aead.encrypt_inout_detached(&self.nonce(number).into(), header, payload.into());
        tag.expect("a packet is shorter than AES-GCM's limit").into()
    }

    /// Decrypts a payload in its place; false if its tag is not right.
    pub fn open(&self, number: u64, header: &[u8], payload: &mut [u8], tag: &[u8; TAG]) -> bool {
        self.aead.decrypt_inout_detached(&self.nonce(number).into(), header, payload.into(), tag.into()).is_ok()
    }

    /// What hides the header's first byte and its packet number, from a sample of the ciphertext (section 5.4.3).
    pub fn mask(&self, sample: &[u8; 16]) -> [u8; 5] {
        let mut block = (*sample).into();
        self.header.encrypt_block(&mut block);
        std::array::from_fn(|i| block[i])
    }

    fn nonce(&self, number: u64) -> [u8; 12] {
        let mut nonce = self.iv;
        nonce[4..].iter_mut().zip(number.to_be_bytes()).for_each(|(byte, number)| *byte ^= number);
        nonce
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// The tag of a Retry packet, whose bytes before it are `packet`, that answers a client which addressed `original`.
pub(super) fn retry_tag(original: &[u8], packet: &[u8]) -> [u8; TAG] {
    let pseudo_packet = [&[original.len() as u8], original, packet].concat();
    let aead = Aes128Gcm::new(&RETRY_KEY.into());
    let tag = aead.encrypt_inout_detached(&RETRY_NONCE.into(), &pseudo_packet, (&mut [][..]).into());
    tag.expect("a packet is shorter than AES-GCM's limit").into()
}
