//! Timeouts of Google's QUIC before the probe timeout: tail loss probes and retransmission timeouts
//! (draft-tsvwg-quic-loss-recovery-01 section 4; constants of Chromium's quic_sent_packet_manager.cc, 2017).

use super::packet::Space;
use crate::common::RttEstimator;
use vazao_engine::Duration;

/// kMaxTLPs.
const MAX_TAIL_LOSS_PROBES: u32 = 2;
/// kMinTLPTimeout, kMinRTOTimeout, kMinHandshakeTimeout.
const MIN_TLP_TIMEOUT: Duration = Duration::from_millis(10);
const MIN_RTO: Duration = Duration::from_millis(200);
const MIN_HANDSHAKE_TIMEOUT: Duration = Duration::from_millis(10);
/// kMaxRetransmissionsOnTimeout.
const PACKETS_ON_TIMEOUT: u32 = 2;
/// Maximum doublings of the handshake timeout.
const HANDSHAKE_BACKOFFS: u32 = 5;

/// kMinLossDelay: least time for early retransmit.
pub(super) const MIN_LOSS_DELAY: Duration = Duration::from_millis(5);

/// Timeout of a space after `expired` consecutive expiries; `several` tells whether more than one packet is in flight.
pub(super) fn wait(rtt: &RttEstimator, space: Space, expired: u32, several: bool) -> Duration {
    let srtt = rtt.srtt();
    let probe = srtt * 2;
    if space != Space::Data {
        return (srtt * 3 / 2).max(MIN_HANDSHAKE_TIMEOUT) * (1 << expired.min(HANDSHAKE_BACKOFFS));
    }
    match expired.checked_sub(MAX_TAIL_LOSS_PROBES) {
        None if several => probe.max(MIN_TLP_TIMEOUT),
        // The acknowledgement of a single packet may be delayed.
        None => probe.max(srtt * 3 / 2 + MIN_RTO / 2),
        Some(timeouts) => (srtt + rtt.variation() * 4).max(MIN_RTO) * (1 << timeouts.min(20)),
    }
}

/// Handles the `expired`-th consecutive expiry: returns the packets to send, and whether the window collapses.
pub(super) fn on_timer(space: Space, expired: u32) -> (u32, bool) {
    match space {
        Space::Data if expired <= MAX_TAIL_LOSS_PROBES => (1, false),
        Space::Data => (PACKETS_ON_TIMEOUT, true),
        _ => (PACKETS_ON_TIMEOUT, false),
    }
}

/// Whether the last of `expired` consecutive expiries was a repeated retransmission timeout.
pub(super) fn is_repeated(expired: u32) -> bool {
    expired > MAX_TAIL_LOSS_PROBES + 1
}
