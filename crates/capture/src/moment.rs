//! When and how a segment passed.

/// Passing of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub time: u64,
    /// Its sender's clock by the timestamps option.
    pub stamp: Option<u32>,
    /// Identification of its IPv4 packet, if that counts.
    pub identification: Option<u16>,
}
