use super::{ABE, FAST_CONVERGENCE, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, Signal, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, choice, parameters};
use vazao_engine::{Duration, Time};

choice! { enum Rules { Rfc = "rfc" | "rfc9438", Linux = "linux", Ns3 = "ns3", Google = "google" } }

parameters! {
    struct Settings {
        profile: Rules = Rules::KIND, "rfc",
            "whose rules where implementations differ: RFC 9438 (by either name), Linux 6, ns-3 up to 3.41, Google's QUIC of 2017";
        connections: f64 = Kind::Integer(1, 100), "1",
            "how many connections it stands for, which lose one at a time (Google's QUIC: 2)";
        c: Option<f64> = Kind::Number(1e-3, 100.0), "",
            "C in segments per cubic second (section 5: 0.4; Linux 410/1024); default: the profile's";
        beta: Option<f64> = Kind::Number(0.1, 0.99), "",
            "part of the window kept on loss (section 4.6: 0.7; Linux 717/1024); default: the profile's";
        fast_convergence: bool = FAST_CONVERGENCE;
        abe: bool = ABE;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "cubic",
    aliases: &[],
    title: "CUBIC",
    source: "RFC 9438",
    help: "the window is a cubic function of the time since the last loss, whatever the round-trip time",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Cubic::from(p), setup),
};

/// CUBIC (RFC 9438): the window is a cubic function of the time since the last loss, so that its growth does not
/// depend on the round-trip time. It rises steeply, flattens out near the window at which the loss occurred (concave),
/// and then rises ever faster to find a new one (convex). Where Reno would be faster, it grows as Reno does.
///
/// It may stand for N `connections` (Chromium's cubic_bytes.cc; MulTCP of Crowcroft and Oechslin, 1998, is the same idea
/// for Reno): a loss is one of theirs, so β becomes (N - 1 + β) / N, and where Reno would be faster it is as fast as N of
/// them: α becomes 3 N² (1 - β) / (1 + β).
///
/// The RFC's names in segments: W_max is `maximum`, cwnd_prior `prior`, W_est and the epoch's own are in `Epoch`.
#[derive(Debug)]
pub struct Cubic {
    profile: Profile,
    /// N.
    connections: f64,
    fast_convergence: bool,
    /// Part of the window kept on a mark.
    beta_ecn: f64,
    /// W_max: the window before the last reduction, as fast convergence left it; zero when it is not known, before the
    /// first loss and after a timeout.
    maximum: f64,
    /// cwnd_prior: the window before the last reduction.
    prior: f64,
    /// The current congestion-avoidance stage; none until its first acknowledgement.
    epoch: Option<Epoch>,
    /// Linux's and ns-3's count of acknowledged segments.
    whole: WholeSegments,
    /// Acknowledgements needed for one more segment, with the window and the time of that calculation.
    counted: Option<(f64, Time, f64)>,
    /// W_max, cwnd_prior and the stage as they were before the last reduction (section 4.9.2).
    before: Option<(f64, f64, Option<Epoch>)>,
    /// Time at which the last acknowledgement arrived, and whether it left nothing in flight.
    last_ack: (Time, bool),
}

/// One congestion-avoidance stage.
#[derive(Debug)]
struct Epoch {
    /// Time at which it began, later by what the clock was stopped.
    start: Time,
    /// W_max as this stage sees it: where the cubic is flat.
    origin: f64,
    /// K: the time in seconds until the cubic reaches `origin`.
    k: f64,
    /// W_est: the window of a Reno flow with the same average window under the same loss.
    estimate: f64,
}

/// Profile of an implementation, where it differs from the RFC.
#[derive(Clone, Copy, Debug)]
struct Profile {
    /// C, in segments per cubic second.
    c: f64,
    /// Part of the window kept on loss.
    beta: f64,
    /// The target is the cubic one smoothed or one minimum round-trip time ahead.
    ahead: fn(&Ack) -> Duration,
    friendly: Friendly,
    growth: Growth,
    /// Time for which a count of segments holds while the window stays the same.
    holds: Duration,
    pause: Pause,
}

/// Entry into the Reno-friendly region (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Friendly {
    /// Window becomes W_est at once if W_cubic(t) < W_est; W_est grows as Reno once it has reached cwnd_prior.
    Jump,
    /// Window below W_est reaches it within a round trip.
    Approach,
    /// The window is never below W_est, which goes on at the rate of the start.
    Floor,
    /// There is none.
    Absent,
}

/// The arithmetic of growth towards the target.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Growth {
    /// Fractions of segments (sections 4.4 and 4.5).
    Fractions,
    /// Fractions too, but the window is at the target at once, if that is no more than half of what was acknowledged away; and
    /// the window on loss is all of it.
    AtOnce,
    /// All in whole segments: one more after a whole number of acknowledged ones, at least 2, and at most 20 while
    /// W_max is unknown. The window on loss is all of it, not only the part in use that section 4.6 wants.
    WholeSegments,
}

/// Time at which the cubic's clock stops, so that the window does not leap afterwards (section 5.8).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pause {
    /// While the application limits the connection.
    ApplicationLimited,
    /// While nothing is in flight.
    Idle,
    /// Never.
    Never,
}

/// RFC 9438.
const RFC: Profile = Profile {
    c: 0.4,
    beta: 0.7,
    ahead: |ack| ack.srtt,
    friendly: Friendly::Jump,
    growth: Growth::Fractions,
    holds: Duration::ZERO,
    pause: Pause::ApplicationLimited,
};

/// Linux 6 (net/ipv4/tcp_cubic.c), without its HyStart (a slow start of its own), its millisecond clock and its rounding of
/// alpha_cubic to 8/15 (0.8 % more).
const LINUX: Profile = Profile {
    c: 410.0 / 1024.0,
    beta: 717.0 / 1024.0,
    // The minimum is unknown (a maximal span) just when the smoothed one is (zero).
    ahead: |ack| ack.min_rtt.min(ack.srtt),
    friendly: Friendly::Approach,
    growth: Growth::WholeSegments,
    // HZ / 32 ticks (bictcp_update): so the window follows W_est some milliseconds late.
    holds: Duration::from_micros(31_250),
    pause: Pause::Idle,
};

/// ns-3 up to 3.41 (tcp-cubic.cc); later versions have a Reno-friendly region.
const NS3: Profile =
    Profile { c: 0.4, beta: 0.7, friendly: Friendly::Absent, holds: Duration::ZERO, pause: Pause::Never, ..LINUX };

/// Google's QUIC from version 37 on (net/quic/core/congestion_control/cubic_bytes.cc, 2017), with the errors in its convex part
/// and its rounding mended as its developers later did; without its pause of 30 ms at the same window.
const GOOGLE: Profile = Profile {
    c: 410.0 / 1024.0,
    beta: 0.7,
    ahead: |ack| ack.min_rtt.min(ack.srtt),
    friendly: Friendly::Floor,
    growth: Growth::AtOnce,
    holds: Duration::ZERO,
    pause: Pause::ApplicationLimited,
};

impl Cubic {
    /// CUBIC with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, connections, c, beta, fast_convergence, abe } = p.into();
        let mut profile = match profile {
            Rules::Rfc => RFC,
            Rules::Linux => LINUX,
            Rules::Ns3 => NS3,
            Rules::Google => GOOGLE,
        };
        profile.c = c.unwrap_or(profile.c);
        let kept = |beta: f64| (connections - 1.0 + beta) / connections;
        profile.beta = kept(beta.unwrap_or(profile.beta));
        Cubic {
            beta_ecn: if abe { kept(0.85) } else { profile.beta },
            profile,
            connections,
            fast_convergence,
            maximum: 0.0,
            prior: 0.0,
            epoch: None,
            whole: WholeSegments::default(),
            counted: None,
            before: None,
            last_ack: (Time::ZERO, false),
        }
    }

    /// Section 4.2: K is how long the cubic takes from the window of the stage's start to W_max; with W_max unknown
    /// the stage starts at the origin (sections 4.8 and 4.10).
    fn begin(&self, w: f64, now: Time) -> Epoch {
        let origin = self.maximum.max(w);
        Epoch { start: now, origin, k: libm::cbrt((origin - w) / self.profile.c), estimate: w }
    }

    /// Section 4.3: α, by which W_est grows a round trip to equal Reno's average window with this β.
    fn alpha(&self, estimate: f64) -> f64 {
        match self.profile.friendly {
            Friendly::Jump if estimate >= self.prior => self.connections,
            _ => 3.0 * self.connections * self.connections * (1.0 - self.profile.beta) / (1.0 + self.profile.beta),
        }
    }

    /// Equation 1 less W_max: C (t - K)³, with t in seconds.
    fn cubic(&self, epoch: &Epoch, t: f64) -> f64 {
        let x = t - epoch.k;
        self.profile.c * x * x * x
    }

    /// Sections 4.2 to 4.5: the window after `part` of it was acknowledged, `t` seconds into the stage.
    fn grow_fractions(&self, epoch: &Epoch, w: f64, part: f64, t: f64, ahead: f64) -> f64 {
        if self.profile.friendly == Friendly::Jump && epoch.origin + self.cubic(epoch, t) < epoch.estimate {
            // A cubic one round trip ahead may already have been above W_est: an ACK never lowers the window.
            return epoch.estimate.max(w);
        }
        let target = (epoch.origin + self.cubic(epoch, t + ahead)).clamp(w, 1.5 * w);
        w + (target - w) * part
    }

    /// Returns the window of Google's QUIC: at the target at once, which is W_cubic or, if that is higher, W_est.
    fn grow_at_once(&self, epoch: &Epoch, w: f64, acked: f64, t: f64, ahead: f64) -> f64 {
        let target = (epoch.origin + self.cubic(epoch, t + ahead)).min(w + acked / 2.0);
        target.max(epoch.estimate).max(w)
    }

    /// Returns the acknowledged segments for one more in Linux and ns-3.
    fn segments_for_one_more(&self, epoch: &Epoch, w: f64, t: f64, ahead: f64) -> f64 {
        let whole = w.floor();
        // To be at `target` a round trip later.
        let count = |target: f64| if target > whole { (whole / (target - whole)).floor() } else { 100.0 * whole };
        let mut every = count(epoch.origin + self.cubic(epoch, t + ahead).trunc());
        if self.maximum == 0.0 {
            every = every.min(20.0);
        }
        if self.profile.friendly == Friendly::Approach {
            every = every.min(count(epoch.estimate.floor()));
        }
        every.max(2.0)
    }
}

impl Window for Cubic {
    fn observe(&mut self, _: &WindowState, ack: &Ack) {
        let (last, drained) = std::mem::replace(&mut self.last_ack, (ack.now, ack.acked >= ack.flight));
        let Some(epoch) = &mut self.epoch else { return };
        match self.profile.pause {
            Pause::ApplicationLimited if !ack.window_limited => epoch.start += ack.now.since(last),
            Pause::Idle if drained => epoch.start += ack.now.since(last).saturating_sub(ack.rtt.unwrap_or(ack.srtt)),
            _ => (),
        }
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let (w, part) = (state.segments(), (ack.acked as f64 / state.cwnd).min(1.0));
        let counted = self.counted.filter(|_| self.epoch.is_some());
        let mut epoch = self.epoch.take().unwrap_or_else(|| self.begin(w, ack.now));
        epoch.estimate += self.alpha(epoch.estimate) * part;
        let (t, ahead) = (ack.now.since(epoch.start).as_secs(), (self.profile.ahead)(ack).as_secs());
        let grown = match self.profile.growth {
            Growth::Fractions => state.mss * self.grow_fractions(&epoch, w, part, t, ahead),
            Growth::AtOnce => state.mss * self.grow_at_once(&epoch, w, w * part, t, ahead),
            Growth::WholeSegments => {
                let holds = |&(window, since, _): &(f64, Time, f64)| {
                    window == w.floor() && ack.now.since(since) <= self.profile.holds
                };
                let (window, since, every) = counted
                    .filter(holds)
                    .unwrap_or_else(|| (w.floor(), ack.now, self.segments_for_one_more(&epoch, w, t, ahead)));
                self.counted = Some((window, since, every));
                self.whole.grow(state, ack, every)
            }
        };
        self.epoch = Some(epoch);
        grown
    }

    /// Sections 4.6 to 4.8.
    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let w = match self.profile.growth {
            Growth::Fractions | Growth::AtOnce => state.segments(),
            Growth::WholeSegments => state.segments().floor(),
        };
        self.before = Some((self.maximum, self.prior, self.epoch.take()));
        // Fast convergence: a maximum below the last one means that others want room, so aim lower still.
        let falling = self.fast_convergence && w < self.maximum;
        self.maximum = if falling { w * (1.0 + self.profile.beta) / 2.0 } else { w };
        if congestion.signal == Signal::Timeout {
            self.maximum = 0.0;
        }
        self.prior = w;
        let kept = if congestion.signal == Signal::Mark { self.beta_ecn } else { self.profile.beta };
        match self.profile.growth {
            Growth::Fractions => kept * state.in_use(congestion),
            Growth::AtOnce => kept * state.cwnd,
            Growth::WholeSegments => self.whole.keep(state, kept * w),
        }
    }

    /// Section 4.9.2: the cubic goes on as if there had been no loss. Linux restores the window alone.
    fn undo(&mut self, _: Time) {
        if self.profile.growth == Growth::Fractions
            && let Some(before) = self.before.take()
        {
            (self.maximum, self.prior, self.epoch) = before;
        }
    }
}
