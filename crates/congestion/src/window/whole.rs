use super::Profile;
use crate::{Ack, WindowState};

/// Window in Linux's counting: a whole number of segments, and one more is due for so many acknowledged
/// (net/ipv4/tcp_cong.c). What is kept of a window on loss is rounded down, and what was acknowledged towards the next
/// segment is forgotten. At windows of ten segments that makes 5 to 10 % of the throughput under random loss.
///
/// All counts are exact: they stay far below 2^53.
#[derive(Debug, Default)]
pub(crate) struct WholeSegments {
    /// Segments acknowledged since the last that was due.
    credit: f64,
}

impl WholeSegments {
    /// Counting as Linux does, if the profile asks for it.
    pub fn wanted(profile: Profile) -> Option<Self> {
        (profile == Profile::Linux).then(WholeSegments::default)
    }

    /// Returns the window in segments.
    pub fn window(state: &WindowState) -> f64 {
        state.segments().floor()
    }

    /// Returns the window in bytes after `ack`, when a segment more is due for `every` acknowledged.
    pub fn grow(&mut self, state: &WindowState, ack: &Ack, every: f64) -> f64 {
        self.add(state, ack.acked as f64 / state.mss, every)
    }

    /// Adds growth with `credit` segments counted as acknowledged.
    pub fn add(&mut self, state: &WindowState, credit: f64, every: f64) -> f64 {
        let mut window = Self::window(state);
        if self.credit >= every {
            // It was saved up while more was asked for: one segment is enough at once.
            self.credit = 0.0;
            window += 1.0;
        }
        self.credit += credit;
        let due = (self.credit / every).floor();
        self.credit -= due * every;
        (window + due) * state.mss
    }

    /// Returns whether a segment is due, as the controls of Linux count that do so themselves: they look before
    /// `segments` more are counted, and forget what is beyond.
    pub fn due(&mut self, segments: f64, every: f64) -> bool {
        let due = self.credit >= every;
        self.credit = if due { 0.0 } else { self.credit + segments };
        due
    }

    /// Returns the window in bytes after an acknowledgement, where a segment is [due](Self::due) for `every` of them.
    pub fn acknowledge(&mut self, state: &WindowState, every: f64) -> f64 {
        let due = self.due(1.0, every);
        (Self::window(state) + f64::from(u8::from(due))) * state.mss
    }

    /// Returns the threshold in bytes after a congestion that keeps `kept` segments.
    pub fn keep(&mut self, state: &WindowState, kept: f64) -> f64 {
        self.credit = 0.0;
        kept.floor() * state.mss
    }
}
