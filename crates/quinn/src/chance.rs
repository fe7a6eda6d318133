//! Random numbers of the library and its cryptography, from the connection's own stream, so that the same run sends the same
//! bytes.

use quinn_proto::{ConnectionId, ConnectionIdGenerator};
use rustls::crypto::{ActiveKeyExchange, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved};
use std::cell::RefCell;
use vazao_engine::RandomStream;
use x25519_dalek::{PublicKey, StaticSecret};

thread_local! {
    /// The stream to draw from: rustls takes its source of random numbers as a constant of the program.
    static STREAM: RefCell<Option<RandomStream>> = const { RefCell::new(None) };
}

/// Calls `act`, with random numbers drawn from `stream`.
pub fn with<T>(stream: &mut RandomStream, act: impl FnOnce() -> T) -> T {
    let other = STREAM.replace(Some(stream.clone()));
    let result = act();
    if let Some(drawn) = STREAM.replace(other) {
        *stream = drawn;
    }
    result
}

/// Fills a buffer. Returns false outside of [`with`].
fn fill(buffer: &mut [u8]) -> bool {
    STREAM.with_borrow_mut(|stream| {
        let Some(stream) = stream else { return false };
        for part in buffer.chunks_mut(8) {
            part.copy_from_slice(&stream.bits().to_le_bytes()[..part.len()]);
        }
        true
    })
}

/// Draws random bytes.
///
/// # Panics
/// Outside of [`with`].
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    assert!(fill(&mut bytes), "random numbers are drawn within chance::with");
    bytes
}

/// The source of random numbers of TLS.
#[derive(Debug)]
pub struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        if fill(buffer) { Ok(()) } else { Err(GetRandomFailed) }
    }
}

/// Connection IDs of eight bytes, the library's default.
#[derive(Debug)]
pub struct Identifiers;

impl ConnectionIdGenerator for Identifiers {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&bytes::<8>())
    }
    fn cid_len(&self) -> usize {
        8
    }
    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// X25519 (RFC 7748) with keys from the connection's stream: ring's own draws from the system.
#[derive(Debug)]
pub struct X25519;

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut key = [0; 32];
        if !fill(&mut key) {
            return Err(Error::FailedToGetRandomBytes);
        }
        let own = StaticSecret::from(key);
        let public = PublicKey::from(&own);
        Ok(Box::new(Exchange { own, public }))
    }
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange {
    own: StaticSecret,
    public: PublicKey,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer: [u8; 32] = peer.try_into().map_err(|_| Error::from(PeerMisbehaved::InvalidKeyShare))?;
        let shared = self.own.diffie_hellman(&PublicKey::from(peer));
        Ok(SharedSecret::from(shared.as_bytes().as_slice()))
    }
    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }
    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
