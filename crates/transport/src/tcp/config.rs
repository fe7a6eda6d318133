//! What a TCP endpoint can be told.

use super::cwv::Validation;
use super::recovery::Recovery;
use super::undo::Detects;
use crate::common::ControlFactory;
use vazao_engine::Duration;

/// What a host does where the RFCs leave a choice, or where Linux goes its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The least retransmission timeout bounds all of it (RFC 6298). A buffer that grows is offered as a whole. The first
    /// data acknowledges the peer's SYN, if there is any at once.
    Rfc,
    /// The least timeout bounds the part that stands for the variation. The window that is offered begins at what needs
    /// no scale and grows with what arrives, each growth being told at once. The peer's SYN is acknowledged by itself.
    /// Of what arrives beyond a hole, some is acknowledged together; the end of a burst (PSH) at once if it has been read.
    /// A SYN is not backed off before the fifth time. What the options in use leave of a segment's size is payload.
    Linux,
}

/// When a sender paces: spreads what it sends over time instead of sending all that the window admits at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At the congestion control's own rate, where it has one.
    Auto,
    /// Always; without a rate of the control's, at 200 % of cwnd / SRTT far below the slow-start threshold and 120 %
    /// elsewhere, as Linux does.
    On,
    /// Never.
    Off,
}

/// Whether new data leaves in bursts, as Linux hands it to its card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bursting {
    /// Segment by segment.
    Off,
    /// In bursts that do not wait.
    Prompt,
    /// In bursts that wait a moment for an acknowledgement that lets more out at once.
    Deferred,
}

/// What a control is told of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// The bytes that it acknowledges (RFC 3465), so that delayed acknowledgements do not slow the window's growth.
    Bytes,
    /// A segment at most, whatever it acknowledges (RFC 5681's equation 3 as it stands; ns-3's TcpNewReno).
    Acknowledgements,
}

/// Whose recovery by SACK, where implementations part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackProfile {
    /// RFC 6675's, and RFC 9937's where the window is to come down in proportion. With no loss known and nothing new,
    /// NextSeg offers what lies below something that was reported (rule 3), then the last segment once (rule 4).
    Rfc,
    /// ns-3's (3.37). TcpTxBuffer::NextSeg offers by rule (3) whatever was neither reported nor resent, also above all that
    /// was reported, against its criterion (1.b), so that the end of the data is sent twice while it is on its way; it has
    /// no rule (4). TcpSocketBase resends a segment for each partial acknowledgement whose next one it had not resent,
    /// whatever the window says, and counts what an acknowledgement that also brings SACK news delivered twice.
    /// The proportion is [its own](vazao_congestion::Prr::like_ns3).
    Ns3,
}

/// The settings of a TCP endpoint.
#[derive(Clone)]
pub struct Config {
    /// Payload bytes of a full segment, options not counted in.
    pub mss: u16,
    /// Bytes of options that Multipath TCP adds to a segment with data, and to one without.
    pub multipath: [u16; 2],
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// Whether the window comes down in proportion to what is delivered (PRR, RFC 9937) in a fast recovery by SACK, as it
    /// always does in one by time.
    pub prr: bool,
    /// Whose recovery by SACK it is.
    pub sack_profile: SackProfile,
    /// Whether a reduction that D-SACK or timestamps show to be needless is taken back (RFC 3708, RFC 4015).
    pub undo: bool,
    /// Whether what arrives after a timeout may show it to be needless (F-RTO, RFC 5682).
    pub frto: bool,
    /// Whether a first and second duplicate ACK let new data out (RFC 3042).
    pub limited_transmit: bool,
    /// Whether SACK is offered (RFC 2018) and duplicates are reported (RFC 2883).
    pub sack: bool,
    /// Whether timestamps are offered (RFC 7323).
    pub timestamps: bool,
    /// Full segments per acknowledgement: 1 acknowledges each at once.
    pub delayed_ack: u32,
    /// Whether explicit congestion notification is offered (RFC 3168); `None`: if the control lives by it.
    pub ecn: Option<bool>,
    /// How long an acknowledgement may wait for a second segment.
    pub delayed_ack_timeout: Duration,
    /// Whether the echo of timestamps, to the millisecond, measures the round-trip time that is smoothed (RFC 7323 section 4),
    /// not when a segment was sent.
    pub rtt_by_timestamps: bool,
    /// Segments acknowledged at once at the start of a connection.
    pub quick_acks: u32,
    /// The tick in which the host counts its timers; at zero its clock is exact.
    pub tick: Duration,
    /// Least retransmission timeout.
    pub min_rto: Duration,
    /// Retransmission timeout before the first measurement.
    pub initial_rto: Duration,
    /// Largest retransmission timeout.
    pub max_rto: Duration,
    /// How often data, or a SYN, is sent again before the connection is given up.
    pub retries: u32,
    /// Bytes that may wait for the application; `None`: grows with the rate (up to 64 MiB).
    pub receive_buffer: Option<u64>,
    /// Bytes that may be unacknowledged or unsent; `None`: no limit.
    pub send_buffer: Option<u64>,
    /// When the sender paces.
    pub pacing: Pacing,
    /// What the host does where the RFCs leave a choice.
    pub host: Host,
    /// Whether new data leaves in bursts, and waits for them.
    pub bursts: Bursting,
    /// What the congestion control is told of an acknowledgement.
    pub counting: Counting,
    /// What becomes of a window that is not used.
    pub cwv: Validation,
    /// Makes the congestion control.
    pub control: ControlFactory,
}

impl Config {
    pub(super) fn detects(&self) -> Detects {
        Detects { undo: self.undo, frto: self.frto }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("mss", &self.mss).field("recovery", &self.recovery).finish_non_exhaustive()
    }
}
