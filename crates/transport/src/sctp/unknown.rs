//! Unrecognized chunks and parameters, which may have to be returned as received (RFC 9260 sections 3.2 and 3.2.1).

/// Unrecognized chunk, or consecutive parameters, with headers. The bytes are kept by the code that parsed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Type of the chunk, or of the first parameter.
    pub kind: u16,
    /// Number of parameters.
    pub count: u16,
    /// Total bytes; padding counts where another parameter follows it (section 3.2).
    pub bytes: u16,
    /// Index of the kept bytes; [`Unknown::LOST`] if none were kept.
    pub number: u32,
}

impl Unknown {
    /// Index that stands for bytes not kept.
    pub const LOST: u32 = u32::MAX;

    /// Creates one of `bytes` bytes, which are not kept.
    pub fn new(kind: u16, bytes: u16) -> Unknown {
        Unknown { kind, count: 1, bytes, number: Unknown::LOST }
    }

    /// Whether the second highest bit of the type requests a report.
    pub fn is_reported(kind: u8) -> bool {
        kind & 0x40 != 0
    }

    /// Whether processing continues after it, as the highest bit says.
    pub fn is_skipped(kind: u8) -> bool {
        kind & 0x80 != 0
    }

    /// Bytes with the padding behind it.
    pub(super) fn padded(self) -> u32 {
        u32::from(self.bytes).next_multiple_of(4)
    }

    /// Counts the padding behind it as part of it.
    #[must_use]
    pub(super) fn with_padding(self) -> Unknown {
        Unknown { bytes: self.bytes.next_multiple_of(4), ..self }
    }

    /// Truncates it to at most `room` bytes.
    #[must_use]
    pub(super) fn within(self, room: u32) -> Unknown {
        Unknown { bytes: self.bytes.min(u16::try_from(room & !3).unwrap_or(u16::MAX)), ..self }
    }

    /// Bytes of the Unrecognized Parameter parameters that return them in an INIT ACK (section 3.3.3.1).
    pub(super) fn wrapped_bytes(self) -> u32 {
        self.padded() + 4 * u32::from(self.count)
    }
}
