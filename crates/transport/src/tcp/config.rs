//! Settings of a TCP endpoint.

use super::cwv::Validation;
use super::host::Host;
use super::recovery::Recovery;
use super::undo::Detects;
use crate::common::ControlFactory;
use vazao_engine::Duration;

/// Conditions under which a sender paces: spreads data over time instead of sending all that the window admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Pace at the congestion control's rate, if it has one.
    Auto,
    /// Always pace; without a rate of the congestion control, at 200 % of cwnd / SRTT far below ssthresh and 120 %
    /// elsewhere, as Linux does.
    On,
    /// Never pace.
    Off,
}

/// Whether new data leaves in bursts, as Linux passes it to the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bursting {
    /// One segment at a time.
    Off,
    /// In bursts that are not deferred.
    Prompt,
    /// In bursts that are deferred briefly for an acknowledgement that would let more out at once.
    Deferred,
}

/// Unit in which acknowledgements are reported to the congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Acknowledged bytes (RFC 3465), so that delayed acknowledgements do not slow the window's growth.
    Bytes,
    /// One segment at most per ACK (equation 3 of RFC 5681 to the letter; ns-3's TcpNewReno).
    Acknowledgements,
}

/// SACK-based recovery to follow where implementations differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackProfile {
    /// RFC 6675, with PRR as in RFC 9937. If no segment is known lost and no new data is available, NextSeg returns
    /// data below a SACKed segment (rule 3), then the last segment once (rule 4).
    Rfc,
    /// ns-3 (3.37). TcpTxBuffer::NextSeg applies rule (3) to all data neither SACKed nor retransmitted, even above the
    /// highest SACKed octet and against criterion (1.b), so the end of the data is sent twice while in flight; there is
    /// no rule (4). TcpSocketBase retransmits a segment on each partial acknowledgement unless the next one was already
    /// retransmitted, regardless of the window, and counts the data of an ACK with new SACK information as delivered
    /// twice. PRR is [ns-3's variant](vazao_congestion::Prr::like_ns3).
    Ns3,
}

/// Configuration of a TCP endpoint.
#[derive(Clone)]
pub struct Config {
    /// Payload bytes of a full segment, excluding options.
    pub mss: u16,
    /// Bytes of Multipath TCP options in a segment with data and in one without.
    pub multipath: [u16; 2],
    /// Loss detection and recovery.
    pub recovery: Recovery,
    /// Whether SACK-based fast recovery reduces the window by PRR (RFC 9937); RACK always does.
    pub prr: bool,
    /// SACK implementation to follow.
    pub sack_profile: SackProfile,
    /// Whether a reduction that D-SACK or timestamps show to be spurious is undone (RFC 3708, RFC 4015).
    pub undo: bool,
    /// Whether spurious timeouts are detected by F-RTO (RFC 5682).
    pub frto: bool,
    /// Whether the first two duplicate ACKs release new data (RFC 3042).
    pub limited_transmit: bool,
    /// Whether SACK is offered (RFC 2018) and duplicates are reported (RFC 2883).
    pub sack: bool,
    /// Whether timestamps are offered (RFC 7323).
    pub timestamps: bool,
    /// Full segments per acknowledgement: 1 acknowledges each at once.
    pub delayed_ack: u32,
    /// Whether explicit congestion notification is offered (RFC 3168); `None`: if the congestion control requires it.
    pub ecn: Option<bool>,
    /// Delayed-ACK timeout.
    pub delayed_ack_timeout: Duration,
    /// Whether SRTT is measured from echoed timestamps, in milliseconds (RFC 7323 section 4), not from send times.
    pub rtt_by_timestamps: bool,
    /// Segments acknowledged at once at the start of a connection.
    pub quick_acks: u32,
    /// Timer tick of the host; zero for exact timers.
    pub tick: Duration,
    /// Minimum retransmission timeout.
    pub min_rto: Duration,
    /// Retransmission timeout before the first measurement.
    pub initial_rto: Duration,
    /// Maximum retransmission timeout.
    pub max_rto: Duration,
    /// Retransmissions of data or a SYN before the connection is aborted.
    pub retries: u32,
    /// Receive buffer in bytes; `None`: grows with the rate (up to 64 MiB).
    pub receive_buffer: Option<u64>,
    /// Send buffer in bytes, for unacknowledged and unsent data; `None`: no limit.
    pub send_buffer: Option<u64>,
    /// Pacing mode.
    pub pacing: Pacing,
    /// Host behaviour where the RFCs leave a choice.
    pub host: Host,
    /// Burst mode for new data.
    pub bursts: Bursting,
    /// Unit in which acknowledgements are reported to the congestion control.
    pub counting: Counting,
    /// Congestion window validation.
    pub cwv: Validation,
    /// Factory of the congestion control.
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
