use super::tick::TICK;
use super::westwood_ns3::Ns3Westwood;
use super::westwood_plus::Theirs;
use super::{PROFILES, Profile, Reno, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, Time};

parameters! {
    struct Settings {
        profile: Profile = PROFILES;
        tau: Duration = Kind::Duration(Duration::from_millis(1), Duration::from_secs(60)), "500 ms",
            "time constant of the bandwidth filter (section 2.2)";
        tick: Duration = TICK;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "westwood",
    aliases: &[],
    title: "TCP Westwood",
    source: "Mascolo, Casetti, Gerla, Sanadidi, Wang, MobiCom 2001",
    help: "Reno that falls to the estimated bandwidth times the least round-trip time instead of to half",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Westwood::from(p), setup),
};

/// TCP Westwood (Mascolo, Casetti, Gerla, Sanadidi, Wang, *TCP Westwood: bandwidth estimation for enhanced transport
/// over wireless links*, MobiCom 2001): Reno, but after a loss the window is not halved blindly; it becomes what the
/// path was seen to carry in an empty round trip, estimated bandwidth times minimum round-trip time.
///
/// A random loss on an underused link then costs little. Closely spaced acknowledgements fool the estimate, as
/// the authors of Westwood+ (2004) found.
#[derive(Debug)]
pub struct Westwood {
    estimate: BandwidthEstimate,
    /// Filter of an implementation; what Linux calls Westwood is [Westwood+](super::WestwoodPlus).
    theirs: Option<Theirs>,
}

impl Westwood {
    /// Westwood with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, tau, tick } = p.into();
        Westwood { estimate: BandwidthEstimate::new(tau), theirs: Theirs::wanted(profile, tick, Ns3Westwood::westwood) }
    }
}

impl Window for Westwood {
    /// Every acknowledgement is a sample (section 2.2), also a duplicate one, in slow start and in recovery.
    fn observe(&mut self, state: &WindowState, ack: &Ack) {
        if let Some(theirs) = &mut self.theirs {
            return theirs.acknowledge(state, ack);
        }
        self.estimate.acknowledge(ack.now, ack.delivered);
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        match &mut self.theirs {
            Some(theirs) => theirs.grow(state, ack),
            None => state.cwnd + Reno::increase(state, ack),
        }
    }

    /// Section 3: ssthresh = BWE RTTmin, after a fast retransmit and after a timeout alike.
    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        if let Some(theirs) = &mut self.theirs {
            return theirs.shrink(state, congestion);
        }
        if congestion.min_rtt == Duration::MAX {
            return state.in_use(congestion) / 2.0;
        }
        self.estimate.bytes_per_second() * congestion.min_rtt.as_secs()
    }

    fn recovered(&mut self, state: &WindowState) -> Option<f64> {
        self.theirs.as_ref().map(|theirs| theirs.recovered(state))
    }
}

/// Westwood's bandwidth estimate: the rate of acknowledged data through a first-order low-pass filter whose weights
/// follow the time between samples (the bilinear, or Tustin, transform; section 2.2).
#[derive(Debug)]
pub struct BandwidthEstimate {
    /// The filter's time constant in seconds: changes faster than this are smoothed away.
    tau: f64,
    /// Time at which the last sample ended; nothing was acknowledged before the first.
    last: Option<Time>,
    /// Bytes acknowledged since: acknowledgements that arrive together are one sample.
    pending: f64,
    /// b: the last sample in bytes a second.
    sample: f64,
    /// The filtered rate in bytes a second.
    filtered: f64,
}

impl BandwidthEstimate {
    /// Creates an estimate of zero, with the filter's time constant.
    pub fn new(tau: Duration) -> Self {
        BandwidthEstimate { tau: tau.as_secs(), last: None, pending: 0.0, sample: 0.0, filtered: 0.0 }
    }

    /// Returns the estimate now, in bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        self.filtered
    }

    /// Notes that `acked` bytes were acknowledged at `now`.
    pub fn acknowledge(&mut self, now: Time, acked: u64) {
        let Some(last) = self.last else {
            // The first acknowledgement only starts the clock: there is no interval to divide by.
            self.last = Some(now);
            return;
        };
        self.pending += acked as f64;
        let interval = now.since(last).as_secs();
        if interval > 0.0 {
            let idle = self.sample_silence(interval);
            let interval = interval - idle;
            self.update(self.pending / interval, interval);
            (self.last, self.pending) = (Some(now), 0.0);
        }
    }

    /// Samples silence: as an interval beyond tau/2 would break the sampling theorem, the filter gets a sample of zero
    /// for every tau/2 without an acknowledgement. Returns the time these cover; the rest, above zero, is the
    /// acknowledgement's own.
    fn sample_silence(&mut self, interval: f64) -> f64 {
        let longest = self.tau / 2.0;
        if interval <= longest {
            return 0.0;
        }
        let nulls = (interval / longest).ceil() - 1.0;
        // Each keeps 3/5 of the estimate: after a hundred nothing is left to decay.
        for _ in 0..nulls.min(100.0) as u32 {
            self.update(0.0, longest);
        }
        nulls * longest
    }

    /// Takes one step of the filter: `sample` bytes a second were seen over `interval` seconds.
    fn update(&mut self, sample: f64, interval: f64) {
        let weight = 2.0 * self.tau;
        let kept = (weight - interval) * self.filtered;
        self.filtered = (kept + interval * (sample + self.sample)) / (weight + interval);
        self.sample = sample;
    }
}
