//! Pacing of TCP segments.

use super::config::{Config, Pacing};
use super::host::Host;
use super::window::CongestionWindow;
use crate::common::{Pacer, RttEstimator, Spread};
use vazao_congestion::CongestionControl;
use vazao_engine::{Duration, Rate, Time};

/// Pacer of a sender, and the rate that it goes by.
#[derive(Debug)]
pub(crate) struct Paced {
    pub(super) pacer: Pacer,
    host: Host,
    /// Whether the rate is derived from the window if the congestion control has none.
    derive: bool,
    /// Segments that still leave unpaced.
    free: u32,
}

impl Paced {
    /// Linux does not pace the first ten segments; other hosts pace from the handshake's RTT sample on.
    const FREE: u32 = 10;

    /// Linux's tcp_pacing_ss_ratio and tcp_pacing_ca_ratio in per cent: in slow start the rate may double in the next
    /// round trip; in congestion avoidance the window, not the rate, must limit the flight.
    const SLOW_START: u64 = 200;
    const AVOIDANCE: u64 = 120;

    /// BBR's bbr_min_tso_rate: below this rate a burst is one segment.
    const BURST_RATE: Rate = Rate::from_bps(1_200_000);

    /// Creates the state for these settings and this congestion control; `None` if it never paces.
    pub fn new(config: &Config, control: &dyn CongestionControl) -> Option<Box<Paced>> {
        let wanted = match config.pacing {
            Pacing::Off => false,
            Pacing::On => true,
            Pacing::Auto => control.paces(),
        };
        let free = if config.host.personality().starts_unpaced { Self::FREE } else { 0 };
        let derive = config.pacing == Pacing::On;
        wanted.then(|| Box::new(Paced { pacer: Pacer::default(), host: config.host, derive, free }))
    }

    /// Charges the pacer for `span` octets that leave in segments of `mss`, with `outstanding` octets unacknowledged.
    #[inline(never)]
    pub fn on_sent(
        &mut self,
        now: Time,
        span: u32,
        mss: u64,
        window: &CongestionWindow,
        outstanding: u64,
        rtt: &RttEstimator,
    ) {
        let own = window.control.pacing_rate();
        let Some(rate) = own.or_else(|| self.derived_rate(window, outstanding, rtt)) else { return };
        let catches_up = self.host.personality().paces_in_bursts;
        let quantum = if catches_up { linux_burst(rate, own.is_some(), mss, rtt.min()) } else { 0 };
        self.pacer.on_sent(now, u64::from(span), &Spread { rate, quantum, catches_up });
        self.free = self.free.saturating_sub(1);
        if self.free > 0 {
            self.pacer.skip_pause(now);
        }
    }

    /// Returns the rate at which data leaves: the congestion control's, or where it has none one that is derived from the
    /// window, if wanted.
    pub fn rate(&self, window: &CongestionWindow, outstanding: u64, rtt: &RttEstimator) -> Option<Rate> {
        window.control.pacing_rate().or_else(|| self.derived_rate(window, outstanding, rtt))
    }

    /// Rate that sends the window in a round trip, raised by the pacing ratio so that the window remains the limit.
    fn derived_rate(&self, window: &CongestionWindow, outstanding: u64, rtt: &RttEstimator) -> Option<Rate> {
        let srtt = rtt.srtt().as_nanos();
        let percent = if window.is_far_below_threshold() { Paced::SLOW_START } else { Paced::AVOIDANCE };
        let bytes = u128::from(window.cwnd.max(outstanding));
        let bps = bytes * u128::from(percent) * 80_000_000 / u128::from(srtt.max(1));
        (self.derive && srtt > 0).then(|| Rate::from_bps(bps.min(u128::from(u64::MAX)) as u64))
    }
}

/// Linux's burst size (tcp_tso_autosize): the data of a millisecond at this rate (sk_pacing_shift: 1/1024 s), more for
/// a nearby peer (tcp_tso_rtt_log), and at least two segments. A congestion control with its own rate, that is BBR, has
/// a minimum of one at low rates.
fn linux_burst(rate: Rate, own: bool, mss: u64, min_rtt: Duration) -> u64 {
    const LARGEST: u64 = 65_536;
    let near = (min_rtt.as_nanos() / 1000) >> 9;
    let bonus = if near < 32 { LARGEST >> near } else { 0 };
    let bytes = (rate.as_bps() / 8 / 1024 + bonus).min(LARGEST);
    let least = if own && rate < Paced::BURST_RATE { 1 } else { 2 };
    (bytes / mss).max(least) * mss
}
