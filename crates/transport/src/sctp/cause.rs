//! Error causes: what was wrong, as ABORT and ERROR chunks say it (RFC 9260 section 3.3.10).

use std::fmt;

/// A cause that our endpoints give or understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Data came for this stream, which its sender did not ask for.
    InvalidStream(u16),
    /// The cookie came back too late, by so many microseconds.
    StaleCookie(u32),
    /// There is no room for another association.
    OutOfResource,
    /// A chunk of this type is not known.
    UnrecognisedChunk(u8),
    /// A value in INIT or INIT ACK that may not be.
    InvalidParameter,
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
            Cause::StaleCookie(late) => write!(f, "stale cookie, {late} us late"),
            Cause::OutOfResource => write!(f, "out of resource"),
            Cause::UnrecognisedChunk(kind) => write!(f, "unrecognized chunk type {kind}"),
            Cause::InvalidParameter => write!(f, "invalid mandatory parameter"),
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
            Cause::StaleCookie(_) => 3,
            Cause::OutOfResource => 4,
            Cause::UnrecognisedChunk(_) => 6,
            Cause::InvalidParameter => 7,
            Cause::NoUserData(_) => 9,
            Cause::CookieWhileShuttingDown => 10,
            Cause::NewAddresses => 11,
            Cause::UserInitiated => 12,
            Cause::ProtocolViolation => 13,
        }
    }

    /// The word behind its length, for those that have one.
    pub fn detail(self) -> Option<u32> {
        match self {
            Cause::InvalidStream(stream) => Some(u32::from(stream) << 16),
            Cause::StaleCookie(microseconds) => Some(microseconds),
            // The header of a chunk that has nothing else.
            Cause::UnrecognisedChunk(kind) => Some(u32::from(kind) << 24 | 4),
            Cause::NoUserData(tsn) => Some(tsn),
            _ => None,
        }
    }

    /// The cause with this code and this word behind its length; none if it is not known here.
    pub fn from_wire(code: u16, detail: u32) -> Option<Cause> {
        Some(match code {
            1 => Cause::InvalidStream((detail >> 16) as u16),
            3 => Cause::StaleCookie(detail),
            4 => Cause::OutOfResource,
            6 => Cause::UnrecognisedChunk((detail >> 24) as u8),
            7 => Cause::InvalidParameter,
            9 => Cause::NoUserData(detail),
            10 => Cause::CookieWhileShuttingDown,
            11 => Cause::NewAddresses,
            12 => Cause::UserInitiated,
            13 => Cause::ProtocolViolation,
            _ => return None,
        })
    }

    /// Its bytes on the wire.
    pub fn bytes(self) -> u32 {
        4 + 4 * u32::from(self.detail().is_some())
    }
}
