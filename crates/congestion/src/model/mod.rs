//! Common parts of model-based controls: filters, rounds, aggregation, and what all versions of BBR keep.

mod aggregation;
mod filter;
mod probe_rtt;
mod rounds;
mod state;

pub(crate) use aggregation::Aggregation;
pub(crate) use filter::WindowedMax;
pub(crate) use probe_rtt::ProbeRtt;
pub(crate) use rounds::Rounds;
pub(crate) use state::State;

/// Returns the largest burst that a sender sends at once at `rate` bytes a second
/// (draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.2, `send_quantum`; Linux's `bbr_tso_segs_goal`): what it
/// carries in a millisecond, at least two segments, or one below 1.2 Mbit/s. In segments.
pub(crate) fn send_quantum(rate: f64, mss: f64) -> f64 {
    const LARGEST: f64 = 65_536.0 - 320.0;
    let least = if rate < 1.2e6 / 8.0 { 1.0 } else { 2.0 };
    ((rate / 1024.0).min(LARGEST) / mss).floor().max(least)
}
