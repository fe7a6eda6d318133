//! The state cookie (RFC 9260 section 5.1.3): what a server would have to remember of a client that may not exist is
//! given to the client, signed, and comes back with COOKIE ECHO.

use super::chunk::Init;
use vazao_engine::{Duration, Time};

/// What a server needs to set up an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// What the server said in its INIT ACK; of it the tag, the streams and the first TSN.
    pub own: Init,
    /// What the client said in its INIT.
    pub peer: Init,
    /// The tags of both, the server's first, in an association that was there already; zero if there was none (Tie-Tags).
    pub ties: [u32; 2],
    /// When it was made.
    pub created: Time,
    /// How long it is good for.
    pub life: Duration,
    /// The server's signature.
    pub signature: u64,
}

impl Cookie {
    /// Bytes on the wire: what it has of the server's INIT ACK, the client's INIT without its chunk header, the ties, two
    /// times, and the signature.
    pub const BYTES: u32 = 12 + 20 + 8 + 8 + 8 + 8;

    /// A cookie signed with `secret`. It is good for `life`, and for as long beyond as INIT asked.
    pub(super) fn new(own: Init, peer: Init, ties: [u32; 2], created: Time, life: Duration, secret: u64) -> Cookie {
        let life = life + Duration::from_millis(u64::from(peer.preservative));
        let own = Init { tag: own.tag, streams: own.streams, tsn: own.tsn, ..Init::default() };
        let peer = Init { preservative: 0, host_name: None, unknown: None, ..peer };
        let mut cookie = Cookie { own, peer, ties, created, life, signature: 0 };
        cookie.signature = cookie.sign(secret);
        cookie
    }

    /// One that nobody here can read, beside an INIT ACK that said this.
    pub fn foreign(own: Init) -> Cookie {
        let (peer, ties, created, life) = (Init::default(), [0; 2], Time::ZERO, Duration::ZERO);
        Cookie { own, peer, ties, created, life, signature: 0 }
    }

    /// Whether it was made with `secret` and nobody has changed it.
    pub(super) fn is_authentic(&self, secret: u64) -> bool {
        self.signature == self.sign(secret)
    }

    /// How late it is, if it is.
    pub(super) fn staleness(&self, now: Time) -> Option<Duration> {
        let expiry = self.created.saturating_add(self.life);
        (now > expiry).then(|| now.since(expiry))
    }

    /// A keyed digest. Where RFC 9260 wants HMAC this only has to notice changes: nobody attacks a simulation.
    fn sign(&self, secret: u64) -> u64 {
        let init = |i: &Init| {
            let counts =
                u64::from(i.streams.0) << 32 | u64::from(i.streams.1) << 16 | u64::from(i.extensions.bits()) << 8;
            let window = u64::from(i.window) << 32 | u64::from(i.addresses.bits());
            [u64::from(i.tag) << 32 | u64::from(i.tsn), window, counts]
        };
        let ties = u64::from(self.ties[0]) << 32 | u64::from(self.ties[1]);
        let words = [init(&self.own), init(&self.peer), [self.created.as_nanos(), self.life.as_nanos(), ties]];
        words.as_flattened().iter().fold(secret, |digest, word| {
            let mixed = (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 31).wrapping_mul(0x94d0_49bb_1331_11eb).rotate_left(27)
        })
    }
}
