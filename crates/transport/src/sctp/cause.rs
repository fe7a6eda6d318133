//! Error causes of ABORT and ERROR chunks (RFC 9260 section 3.3.10).

use super::unknown::Unknown;
use std::fmt;

/// Error cause that our endpoints send or understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Data for a stream that its sender did not request.
    InvalidStream(u16),
    /// INIT or INIT ACK lacks the mandatory parameter of this type.
    MissingParameter(u16),
    /// Stale cookie, with its staleness in microseconds.
    StaleCookie(u32),
    /// No resources for another association.
    OutOfResource,
    /// Unresolvable address: a host name.
    UnresolvableAddress(Unknown),
    /// Unrecognized chunk type.
    UnrecognisedChunk(Unknown),
    /// Invalid mandatory parameter in INIT or INIT ACK.
    InvalidParameter,
    /// Unrecognized parameters of an INIT ACK.
    UnrecognisedParameters(Unknown),
    /// DATA chunk with this TSN has no payload.
    NoUserData(u32),
    /// Cookie received while shutting down.
    CookieWhileShuttingDown,
    /// Restart attempt with new addresses.
    NewAddresses,
    /// User-initiated abort.
    UserInitiated,
    /// Protocol violation.
    ProtocolViolation,
}

/// Names as in RFC 9260 section 3.3.10.
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
    /// Cause code on the wire.
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

    /// Cause-specific information in 32-bit words, the last possibly padded; see also [`unknown`](Self::unknown).
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

    /// Part of the peer's chunk that is returned as cause-specific information.
    pub fn unknown(self) -> Option<Unknown> {
        match self {
            Cause::UnresolvableAddress(it) | Cause::UnrecognisedChunk(it) | Cause::UnrecognisedParameters(it) => {
                Some(it)
            }
            _ => None,
        }
    }

    /// Decodes a cause from its code, length and first two words of information; `None` if the code is unknown.
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

    /// Value of the cause length field, which does not count padding (section 3.2).
    pub fn length(self) -> u16 {
        let unknown = self.unknown().map_or(0, |unknown| unknown.bytes);
        // The second half of the last word is padding.
        let padding = if matches!(self, Cause::MissingParameter(_)) { 2 } else { 0 };
        4 + unknown + 4 * self.details().count() as u16 - padding
    }

    /// Bytes on the wire, including padding.
    pub fn bytes(self) -> u32 {
        u32::from(self.length()).next_multiple_of(4)
    }
}
