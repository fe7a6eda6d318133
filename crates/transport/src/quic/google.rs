//! How Google's QUIC broke silence before there was a probe timeout: tail loss probes and retransmission timeouts
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
/// The handshake's timeout doubles so often at most.
const HANDSHAKE_BACKOFFS: u32 = 5;

/// Early retransmit: 5/4 of the round-trip time, and kMinLossDelay.
pub(super) const TIME_THRESHOLD: ((u64, u64), Duration) = ((5, 4), Duration::from_millis(5));

/// How long what is in flight in a space may go unanswered, after the timer expired so often; `several`: packets are.
pub(super) fn wait(rtt: &RttEstimator, space: Space, expired: u32, several: bool) -> Duration {
    let srtt = rtt.srtt();
    let probe = srtt * 2;
    if space != Space::Data {
        return (srtt * 3 / 2).max(MIN_HANDSHAKE_TIMEOUT) * (1 << expired.min(HANDSHAKE_BACKOFFS));
    }
    match expired.checked_sub(MAX_TAIL_LOSS_PROBES) {
        None if several => probe.max(MIN_TLP_TIMEOUT),
        // A single packet's acknowledgement may be delayed.
        None => probe.max(srtt * 3 / 2 + MIN_RTO / 2),
        Some(timeouts) => (srtt + rtt.variation() * 4).max(MIN_RTO) * (1 << timeouts.min(20)),
    }
}

/// The timer has expired for the `expired`-th time in a row: how many packets are to be sent, and whether the window closes.
pub(super) fn on_timer(space: Space, expired: u32) -> (u32, bool) {
    match space {
        Space::Data if expired <= MAX_TAIL_LOSS_PROBES => (1, false),
        Space::Data => (PACKETS_ON_TIMEOUT, true),
        _ => (PACKETS_ON_TIMEOUT, false),
    }
}

/// Whether the last of so many expiries in a row was a timeout that followed another.
pub(super) fn is_repeated(expired: u32) -> bool {
    expired > MAX_TAIL_LOSS_PROBES + 1
}
