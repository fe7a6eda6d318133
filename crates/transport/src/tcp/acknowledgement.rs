//! Acknowledgements as a sender processes them.

use vazao_engine::Duration;

/// Acknowledgement as parsed from a segment, in offsets from the initial sequence number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    /// Octet after the last one acknowledged (SEG.ACK).
    pub offset: u64,
    /// First octet of the peer's segment, if the segment lies in the window.
    pub start: Option<u64>,
    /// Receive window in bytes, already scaled.
    pub window: u64,
    /// Octets newly SACKed.
    pub sacked: u64,
    /// Whether ECE is set (RFC 3168).
    pub echo: bool,
    /// Whether the segment has no data, SYN or FIN, so that it may count as a duplicate ACK.
    pub bare: bool,
    /// Whether it carries SACK blocks.
    pub blocks: bool,
    /// Round-trip time by the timestamp echo, if there is one.
    pub echo_rtt: Option<Duration>,
    /// One-way delay of the acknowledgement by the two clocks in milliseconds: our clock less the peer's timestamp.
    pub return_delay_ms: Option<i32>,
}

/// Delivery state before an acknowledgement, and what its SACK blocks report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub una: u64,
    pub sacked: u64,
    /// Octets that the acknowledgement reports by D-SACK, where these count as delivered.
    pub repeated: u64,
    /// Whether the acknowledgement's SACK blocks reported new data.
    pub new_sacks: bool,
}

impl Before {
    /// Octets delivered since, by the present SND.UNA and number of SACKed octets.
    #[inline]
    pub fn delivered(&self, una: u64, sacked: u64) -> u64 {
        (una + sacked + self.repeated).saturating_sub(self.una + self.sacked)
    }
}
