//! What the peer has sent and means nothing here, but may have to go back as it came (RFC 9260 sections 3.2 and 3.2.1).

/// A chunk, or parameters one after the other, with their headers. Their bytes are not there: who read them keeps those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The type of the chunk, or of the first parameter.
    pub kind: u16,
    /// How many there are.
    pub count: u16,
    /// Bytes of all, padded.
    pub bytes: u16,
    /// Which of those whose bytes are kept it is; [`Unknown::LOST`]: of none.
    pub number: u32,
}

impl Unknown {
    /// Nobody has kept the bytes.
    pub const LOST: u32 = u32::MAX;

    /// One of so many bytes, which nobody has kept.
    pub fn new(kind: u16, bytes: u16) -> Unknown {
        Unknown { kind, count: 1, bytes: bytes.next_multiple_of(4), number: Unknown::LOST }
    }

    /// Whether the type's bits ask for a report: the second highest of a chunk's 8, or of a parameter's 16.
    pub fn is_reported(kind: u8) -> bool {
        kind & 0x40 != 0
    }

    /// Whether what comes after it is still looked at, as the highest bit says.
    pub fn is_skipped(kind: u8) -> bool {
        kind & 0x80 != 0
    }

    /// As much of it as fits so many bytes.
    #[must_use]
    pub(super) fn within(self, room: u32) -> Unknown {
        Unknown { bytes: self.bytes.min(u16::try_from(room & !3).unwrap_or(u16::MAX)), ..self }
    }

    /// Bytes of the Unrecognized Parameters in which an INIT ACK gives them back, one each (section 3.3.3.1).
    pub(super) fn wrapped_bytes(self) -> u32 {
        u32::from(self.bytes) + 4 * u32::from(self.count)
    }
}
