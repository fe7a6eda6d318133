//! Error causes: what was wrong, as ABORT and ERROR chunks say it (RFC 9260 section 3.3.10).

use super::unknown::Unknown;
use std::fmt;

/// A cause that our endpoints give or understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Data came for this stream, which its sender did not ask for.
    InvalidStream(u16),
    /// INIT or INIT ACK has no parameter of this type, which it must have.
    MissingParameter(u16),
    /// The cookie came back too late, by so many microseconds.
    StaleCookie(u32),
    /// There is no room for another association.
    OutOfResource,
    /// An address that nobody here can look up: a host's name.
    UnresolvableAddress(Unknown),
    /// A chunk is not known.
    UnrecognisedChunk(Unknown),
    /// A value in INIT or INIT ACK that may not be.
    InvalidParameter,
    /// Parameters of an INIT ACK are not known.
    UnrecognisedParameters(Unknown),
    /// The DATA chunk with this TSN had no payload.
    NoUserData(u32),
    /// A cookie came while the association waits for the end of its shutdown.
    CookieWhileShuttingDown,
    /// Who wants to restart the association has addresses that it did not have.
    NewAddresses,
    /// The application wanted it.
    UserInitiated,
    /// The peer did what no endpoint may do.
    ProtocolViolation,
}

/// The names of RFC 9260 section 3.3.10.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::InvalidStream(stream) => write!(f, "invalid stream identifier {stream}"),
            Cause::MissingParameter(kind) => write!(f, "missing mandatory parameter {kind}"),
            Cause::StaleCookie(late) => write!(f, "stale cookie, {late} us late"),
            Cause::OutOfResource => write!(f, "out of resource"),
            Cause::UnresolvableAddress(_) => write!(f, "unresolvable address"),
            Cause::UnrecognisedChunk(chunk) => write!(f, "unrecognized chunk type {}", chunk.kind),
            Cause::InvalidParameter => write!(f, "invalid mandatory parameter"),
            Cause::UnrecognisedParameters(first) => {
                write!(f, "unrecognized parameters, the first of type {}", first.kind)
            }
            Cause::NoUserData(tsn) => write!(f, "no user data in TSN {tsn}"),
            Cause::CookieWhileShuttingDown => write!(f, "cookie received while shutting down"),
            Cause::NewAddresses => write!(f, "restart of an association with new addresses"),
            Cause::UserInitiated => write!(f, "user-initiated abort"),
            Cause::ProtocolViolation => write!(f, "protocol violation"),
        }
    }
}

impl Cause {
    /// Its code on the wire.
    pub fn code(self) -> u16 {
        match self {
            Cause::InvalidStream(_) => 1,
            Cause::MissingParameter(_) => 2,
            Cause::StaleCookie(_) => 3,
            Cause::OutOfResource => 4,
            Cause::UnresolvableAddress(_) => 5,
            Cause::UnrecognisedChunk(_) => 6,
            Cause::InvalidParameter => 7,
            Cause::UnrecognisedParameters(_) => 8,
            Cause::NoUserData(_) => 9,
            Cause::CookieWhileShuttingDown => 10,
            Cause::NewAddresses => 11,
            Cause::UserInitiated => 12,
            Cause::ProtocolViolation => 13,
        }
    }

    /// What it says behind its length, in words; but see [`unknown`](Self::unknown). Of the last word not all may count.
    pub fn details(self) -> impl Iterator<Item = u32> {
        let (first, second) = match self {
            Cause::InvalidStream(stream) => (Some(u32::from(stream) << 16), None),
            Cause::MissingParameter(kind) => (Some(1), Some(u32::from(kind) << 16)),
            Cause::StaleCookie(microseconds) => (Some(microseconds), None),
            Cause::NoUserData(tsn) => (Some(tsn), None),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// What of the peer's goes back behind its length.
    pub fn unknown(self) -> Option<Unknown> {
        match self {
            Cause::UnresolvableAddress(it) | Cause::UnrecognisedChunk(it) | Cause::UnrecognisedParameters(it) => {
                Some(it)
            }
            _ => None,
        }
    }

    /// The cause with this code and these two words behind its length, which is this; none if it is not known here.
    pub fn from_wire(code: u16, length: u16, details: [u32; 2]) -> Option<Cause> {
        let detail = details[0];
        let unknown = |kind: u32| Unknown::new(kind as u16, length.saturating_sub(4));
        Some(match code {
            1 => Cause::InvalidStream((detail >> 16) as u16),
            2 => Cause::MissingParameter((details[1] >> 16) as u16),
            3 => Cause::StaleCookie(detail),
            4 => Cause::OutOfResource,
            5 => Cause::UnresolvableAddress(unknown(detail >> 16)),
            6 => Cause::UnrecognisedChunk(unknown(detail >> 24)),
            7 => Cause::InvalidParameter,
            8 => Cause::UnrecognisedParameters(unknown(detail >> 16)),
            9 => Cause::NoUserData(detail),
            10 => Cause::CookieWhileShuttingDown,
            11 => Cause::NewAddresses,
            12 => Cause::UserInitiated,
            13 => Cause::ProtocolViolation,
            _ => return None,
        })
    }

    /// Its length, as it says.
    pub fn length(self) -> u16 {
        let unknown = self.unknown().map_or(0, |unknown| unknown.bytes);
        // The second half of its last word is padding.
        let padding = if matches!(self, Cause::MissingParameter(_)) { 2 } else { 0 };
        4 + unknown + 4 * self.details().count() as u16 - padding
    }

    /// Its bytes on the wire.
    pub fn bytes(self) -> u32 {
        u32::from(self.length()).next_multiple_of(4)
    }
}
