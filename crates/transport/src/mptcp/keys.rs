//! What the hosts of an MPTCP connection derive from the keys that they tell each other when it opens: the token that
//! names the connection, where its data sequence numbers begin, and what proves that a subflow or an address is theirs.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Which hash a connection uses: that of its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hash {
    /// Version 0 (RFC 6824, section 3.1).
    Sha1,
    /// Version 1 (RFC 8684, section 3.1).
    #[default]
    Sha256,
}

impl Hash {
    /// What names the connection towards the host with this key: the most significant 32 bits of the key's hash (RFC
    /// 8684, section 3.2). No two connections of a host may have the same: it draws keys until that is so.
    pub fn token(self, key: u64) -> u32 {
        match self {
            Hash::Sha1 => first(&Sha1::digest(key.to_be_bytes())),
            Hash::Sha256 => first(&Sha256::digest(key.to_be_bytes())),
        }
    }

    /// The initial data sequence number of the host with this key: the least significant 64 bits of the key's hash
    /// (section 3.1). The first byte of its stream has the next number.
    pub fn initial_data_sequence(self, key: u64) -> u64 {
        match self {
            Hash::Sha1 => last(&Sha1::digest(key.to_be_bytes())),
            Hash::Sha256 => last(&Sha256::digest(key.to_be_bytes())),
        }
    }

    /// What proves in an MP_JOIN that `own` is the sender and knows both keys (section 3.2): the leftmost 160 bits of
    /// the HMAC, as the third segment of the handshake has them. The second has the [leftmost 64](truncate) of those.
    pub fn join_hmac(self, own: Secret, peer: Secret) -> [u8; 20] {
        let key = pair(own.key, peer.key);
        let nonces = [own.nonce.to_be_bytes(), peer.nonce.to_be_bytes()].concat();
        match self {
            Hash::Sha1 => mac::<Hmac<Sha1>, 20>(&key, &nonces),
            Hash::Sha256 => mac::<Hmac<Sha256>, 20>(&key, &nonces),
        }
    }
}

/// What an end of a connection puts into the handshake of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its key, from the connection's first handshake.
    pub key: u64,
    /// The random number that it has sent in this one.
    pub nonce: u32,
}

/// The leftmost 64 bits of an HMAC.
pub fn truncate(hmac: [u8; 20]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = hmac;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// What proves in an ADD_ADDR that its sender knows both keys: the rightmost 64 bits of the HMAC over the announcement (RFC
/// 8684, section 3.4.1; version 0 has none). A port that is not announced counts as 0.
pub fn address_hmac(own_key: u64, peer_key: u64, address_id: u8, address: [u8; 4], port: Option<u16>) -> u64 {
    let announcement = [&[address_id][..], &address, &port.unwrap_or(0).to_be_bytes()].concat();
    last(&mac::<Hmac<Sha256>, 32>(&pair(own_key, peer_key), &announcement))
}

/// The key of an HMAC: the sender's, then the receiver's.
fn pair(own: u64, peer: u64) -> [u8; 16] {
    (u128::from(own) << 64 | u128::from(peer)).to_be_bytes()
}

/// The leftmost `N` bytes of a message authentication code.
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
