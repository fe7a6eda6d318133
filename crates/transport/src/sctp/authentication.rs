//! Authenticated chunks (RFC 4895): an AUTH chunk with a keyed digest of what follows it in the packet.

use vazao_engine::registry::choice;

choice! {
    /// Hash of the digest.
    pub enum Hmac or "none" {
        /// HMAC with SHA-1, which every host that authenticates supports.
        Sha1 = "sha1",
        /// HMAC with SHA-256.
        Sha256 = "sha256",
    }
}

impl Hmac {
    /// HMAC identifier (section 8).
    pub fn identifier(self) -> u16 {
        match self {
            Hmac::Sha1 => 1,
            Hmac::Sha256 => 3,
        }
    }

    /// Bytes of the digest.
    pub fn digest(self) -> u32 {
        match self {
            Hmac::Sha1 => 20,
            Hmac::Sha256 => 32,
        }
    }

    /// Bytes of an AUTH chunk: header, key and HMAC identifiers, and the digest (section 4.1).
    pub fn chunk_bytes(self) -> u32 {
        8 + self.digest()
    }
}

/// Bytes of the random number in INIT and INIT ACK (section 6.1).
pub const RANDOM: u32 = 32;

/// Types of the chunks that are to be authenticated: DATA and FORWARD TSN, as OpenSSL asks of the kernel for DTLS.
pub const AUTHENTICATED: [u8; 2] = [0, 192];

/// Bytes of the parameters that announce it in INIT and INIT ACK: RANDOM, CHUNKS and HMAC-ALGO (section 3), which lists
/// SHA-1 in any case.
pub(super) const PARAMETERS: u32 = (4 + RANDOM) + (4 + 4) + (4 + 4);
