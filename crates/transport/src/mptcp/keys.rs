//! Values derived from the keys that the hosts of an MPTCP connection exchange: the token of the connection, the
//! initial data sequence numbers, and the HMACs that authenticate subflows and addresses.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Hash algorithm, which follows from the protocol version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hash {
    /// Version 0 (RFC 6824, section 3.1).
    Sha1,
    /// Version 1 (RFC 8684, section 3.1).
    #[default]
    Sha256,
}

impl Hash {
    /// Token that identifies the connection at the host with this key: the most significant 32 bits of the key's hash
    /// (RFC 8684, section 3.2). It must be unique at the host, which generates keys until it is.
    pub fn token(self, key: u64) -> u32 {
        match self {
            Hash::Sha1 => first(&Sha1::digest(key.to_be_bytes())),
            Hash::Sha256 => first(&Sha256::digest(key.to_be_bytes())),
        }
    }

    /// Initial data sequence number of the host with this key: the least significant 64 bits of the key's hash (section
    /// 3.1). The first byte of its stream has the next number.
    pub fn initial_data_sequence(self, key: u64) -> u64 {
        match self {
            Hash::Sha1 => last(&Sha1::digest(key.to_be_bytes())),
            Hash::Sha256 => last(&Sha256::digest(key.to_be_bytes())),
        }
    }

    /// HMAC by which the sender, with key `own`, authenticates an MP_JOIN (section 3.2): the leftmost 160 bits, as in
    /// the third ACK. The SYN-ACK has the [leftmost 64](truncate) of them.
    pub fn join_hmac(self, own: Secret, peer: Secret) -> [u8; 20] {
        let key = pair(own.key, peer.key);
        let nonces = [own.nonce.to_be_bytes(), peer.nonce.to_be_bytes()].concat();
        match self {
            Hash::Sha1 => mac::<Hmac<Sha1>, 20>(&key, &nonces),
            Hash::Sha256 => mac::<Hmac<Sha256>, 20>(&key, &nonces),
        }
    }
}

/// Contribution of one side to the handshake of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Key from the connection's first handshake.
    pub key: u64,
    /// Random number sent in this handshake.
    pub nonce: u32,
}

/// Leftmost 64 bits of an HMAC.
pub fn truncate(hmac: [u8; 20]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = hmac;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// HMAC by which the sender authenticates an ADD_ADDR: the rightmost 64 bits (RFC 8684, section 3.4.1; version 0 has
/// none). A missing port counts as 0.
pub fn address_hmac(own_key: u64, peer_key: u64, address_id: u8, address: [u8; 4], port: Option<u16>) -> u64 {
    let announcement = [&[address_id][..], &address, &port.unwrap_or(0).to_be_bytes()].concat();
    last(&mac::<Hmac<Sha256>, 32>(&pair(own_key, peer_key), &announcement))
}

/// HMAC key: the sender's key, then the receiver's.
fn pair(own: u64, peer: u64) -> [u8; 16] {
    (u128::from(own) << 64 | u128::from(peer)).to_be_bytes()
}

/// Leftmost `N` bytes of a message authentication code.
fn mac<M: Mac + KeyInit, const N: usize>(key: &[u8], message: &[u8]) -> [u8; N] {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("an HMAC takes keys of any length");
    mac.update(message);
    let whole = mac.finalize().into_bytes();
    *whole.first_chunk().expect("a hash is longer than what is taken of it")
}

fn first(hash: &[u8]) -> u32 {
    u32::from_be_bytes(*hash.first_chunk().expect("a hash is longer than a token"))
}

fn last(hash: &[u8]) -> u64 {
    u64::from_be_bytes(*hash.last_chunk().expect("a hash is longer than a sequence number"))
}
