//! Send window: the receive window that the peer advertises, and the segment size that suits it.

use super::host::Personality;

/// Send window (RFC 9293 section 3.3.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerWindow {
    /// Window of the last update (SND.WND).
    pub window: u64,
    /// Right edge of the window.
    pub edge: u64,
    /// Largest window that was ever advertised.
    pub largest: u64,
    /// First octet of the peer's segment that last updated the window (SND.WL1).
    wl1: u64,
    /// Payload of a full segment; a small window may reduce it below the negotiated one.
    pub mss: u64,
    negotiated_mss: u64,
    /// Whether the timer runs for zero-window probes.
    pub persisting: bool,
    /// Whether a zero-window probe is due.
    pub probe: bool,
}

impl PeerWindow {
    /// Creates a window that admits nothing yet, for segments of `mss` bytes.
    pub fn new(mss: u64) -> Self {
        PeerWindow { window: 0, edge: 1, largest: 0, wl1: 0, mss, negotiated_mss: mss, persisting: false, probe: false }
    }

    /// Sets the window to `window` from `offset` on. If it has shrunk, nothing new leaves before the right edge is offered
    /// again (RFC 9293 section 3.8.6).
    #[inline]
    pub fn set(&mut self, host: &Personality, offset: u64, window: u64) {
        self.window = window;
        self.edge = offset + window;
        if window > self.largest {
            self.largest = window;
            if host.halves_small_windows {
                self.mss = self.negotiated_mss.min(linux_segment(window));
            }
        }
    }

    /// Updates the window from an acknowledgement of `offset`, unless it is older than the last update. `start` is the segment's
    /// first octet if it lies in the window, `una` is SND.UNA before the acknowledgement.
    #[inline]
    pub fn update(&mut self, host: &Personality, una: u64, offset: u64, start: Option<u64>, window: u64) {
        if self.is_updated_by(host, una, offset, start, window) {
            self.wl1 = start.unwrap_or(self.wl1);
            self.set(host, offset, window);
        }
    }

    /// Whether an acknowledgement is newer than the last update (RFC 9293 section 3.10.7.4). Linux takes
    /// one that is no newer only if it enlarges or closes the window (tcp_may_update_window).
    #[inline]
    pub fn is_updated_by(&self, host: &Personality, una: u64, offset: u64, start: Option<u64>, window: u64) -> bool {
        if !host.orders_window_updates {
            return start.is_some_and(|start| start >= self.wl1);
        }
        let newer = |start| start > self.wl1 || start == self.wl1 && (window > self.window || window == 0);
        offset > una || start.is_some_and(newer)
    }

    /// Reduces the payload of a full segment by `bytes` of options.
    pub fn shorten_segments(&mut self, bytes: u64) {
        self.negotiated_mss -= bytes;
        self.mss -= bytes;
    }
}

/// Linux limits its segments to half of a small peer window, so that more than one is in flight
/// (tcp_bound_to_half_wnd).
fn linux_segment(largest_window: u64) -> u64 {
    const DEFAULT_MSS: u64 = 536;
    const MIN: u64 = 36;
    if largest_window > DEFAULT_MSS { (largest_window / 2).max(MIN) } else { largest_window.max(MIN) }
}
