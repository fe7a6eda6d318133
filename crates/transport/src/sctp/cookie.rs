//! State cookie (RFC 9260 section 5.1.3): the state that a server would keep for an unverified client is signed, given
//! to the client, and returned in COOKIE ECHO.

use super::init::Init;
use vazao_engine::{Duration, Time};

/// Information that a server needs to set up an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// Tag, streams and initial TSN of the server's INIT ACK.
    pub own: Init,
    /// Parameters of the client's INIT.
    pub peer: Init,
    /// Tie-Tags: tags of an existing association, the server's first; zero if there was none.
    pub ties: [u32; 2],
    /// Time of creation.
    pub created: Time,
    /// Lifetime.
    pub life: Duration,
    /// Signature of the server.
    pub signature: u64,
}

impl Cookie {
    /// Bytes on the wire: the fields of the INIT ACK, the INIT without chunk header, tie-tags, two times and signature.
    pub const BYTES: u32 = 12 + 20 + 8 + 8 + 8 + 8;

    /// Creates a cookie signed with `secret`, whose lifetime is `life` plus the extension that INIT requested.
    pub(super) fn new(own: Init, peer: Init, ties: [u32; 2], created: Time, life: Duration, secret: u64) -> Cookie {
        let life = life + Duration::from_millis(u64::from(peer.preservative));
        let own = Init { tag: own.tag, streams: own.streams, tsn: own.tsn, ..Init::default() };
        let peer = Init { preservative: 0, host_name: None, unknown: None, ..peer };
        let mut cookie = Cookie { own, peer, ties, created, life, signature: 0 };
        cookie.signature = cookie.sign(secret);
        cookie
    }

    /// Creates a cookie that our endpoints cannot read, for an INIT ACK with these parameters.
    pub fn foreign(own: Init) -> Cookie {
        let (peer, ties, created, life) = (Init::default(), [0; 2], Time::ZERO, Duration::ZERO);
        Cookie { own, peer, ties, created, life, signature: 0 }
    }

    /// Whether the cookie was signed with `secret` and is unchanged.
    pub(super) fn is_authentic(&self, secret: u64) -> bool {
        self.signature == self.sign(secret)
    }

    /// Staleness of the cookie, if it has expired.
    pub(super) fn staleness(&self, now: Time) -> Option<Duration> {
        let expiry = self.created.saturating_add(self.life);
        (now > expiry).then(|| now.since(expiry))
    }

    /// Keyed digest, in place of RFC 9260's HMAC: in a simulation it need only detect changes.
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
