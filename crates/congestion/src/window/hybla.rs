use super::{PROFILES, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, WindowState};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = PROFILES;
        rtt0: Option<Duration> = Kind::Duration(Duration::from_millis(1), Duration::from_secs(10)), "",
            "the round-trip time of the connection to be as fast as (RTT0); default: 25 ms, ns-3 50 ms";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "hybla",
    aliases: &[],
    title: "TCP Hybla",
    source: "Caini, Firrincieli, IJSCN 22(5), 2004",
    help: "grows as fast in time as Reno would over a round trip of 25 ms, for satellite links",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Hybla::from(p), setup),
};

/// TCP Hybla (Caini, Firrincieli, *TCP Hybla: a TCP enhancement for heterogeneous networks*, International Journal of
/// Satellite Communications and Networking 22(5), 2004): a long round-trip time no longer means slow growth.
///
/// With rho = RTT/RTT0, at least 1, each segment acknowledged adds 2^rho - 1 in slow start and rho²/w in congestion avoidance,
/// which is Reno's window at RTT0, times rho: the same rate at the same time. The RTT is the least, so that the queue
/// which the flow builds does not speed it up. Loss halves the window as Reno.
///
/// Where it errs: over 500 ms one acknowledgement of slow start adds a million segments, up to the threshold at once;
/// the paper therefore wants an estimate of bandwidth for the first threshold, and pacing. `initial_window` is kept as it
/// is given; the paper starts with rho segments. Rho counts as 16 at most where it is an exponent.
///
/// ns-3's (tcp-hybla.cc in 3.37) looks at the RTT only while the smoothed one is at its least, the handshake's counted: once data
/// has queued it never is again, and rho stays what it was before, 1 mostly. What it counts are milliseconds.
#[derive(Debug)]
pub struct Hybla {
    rtt0: Duration,
    rho: f64,
    linux: Option<Linux>,
    /// ns-3's least smoothed RTT.
    ns3: Option<Duration>,
}

/// Above it nothing but the threshold limits slow start (Linux: 2^16 segments an acknowledgement).
const LARGEST_EXPONENT: f64 = 16.0;

/// Differences of Linux (net/ipv4/tcp_hybla.c): rho comes in eighths from the least smoothed RTT, the handshake's at
/// first, and is the initial window; growth comes in 128ths of a segment for each acknowledgement, whatever it covers; as
/// long as a loss is repaired it is Reno.
#[derive(Debug)]
struct Linux {
    whole: WholeSegments,
    least: Duration,
    /// 128ths of a segment.
    parts: f64,
    /// Acknowledgements since the window last grew.
    count: f64,
    repairing: bool,
}

impl Linux {
    const PARTS: f64 = 128.0;
    /// The largest window in segments.
    const CLAMP: f64 = 65_535.0;

    /// Returns the window in segments after growth by so many parts.
    fn grow(&mut self, window: f64, increment: f64) -> f64 {
        self.parts += increment % Self::PARTS;
        let fractions = (self.parts / Self::PARTS).floor();
        self.parts -= fractions * Self::PARTS;
        if fractions > 0.0 {
            self.count = 0.0;
        }
        window + (increment / Self::PARTS).floor() + fractions
    }
}

impl Hybla {
    /// Hybla with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let new = |whole| Linux { whole, least: Duration::MAX, parts: 0.0, count: 0.0, repairing: false };
        let Settings { profile, rtt0 } = p.into();
        let ns3 = (profile == Profile::Ns3).then_some(Duration::MAX);
        let rtt0 = rtt0.unwrap_or(Duration::from_millis(if ns3.is_some() { 50 } else { 25 }));
        Hybla { rtt0, rho: 1.0, ns3, linux: WholeSegments::wanted(profile).map(new) }
    }

    /// rho for a round-trip time.
    fn rho(&self, rtt: Duration) -> f64 {
        let rho = rtt.as_nanos() as f64 / self.rtt0.as_nanos() as f64;
        let rho = if self.linux.is_some() { (8.0 * rho).floor() / 8.0 } else { rho };
        rho.max(1.0)
    }

    /// 2^rho - 1: what an acknowledgement adds in slow start, in segments.
    fn leap(&self) -> f64 {
        if self.linux.is_none() {
            return libm::exp2(self.rho.min(LARGEST_EXPONENT)) - 1.0;
        }
        let (exponent, fraction) = (self.rho.floor().min(LARGEST_EXPONENT), self.rho.fract());
        libm::exp2(exponent) * (Linux::PARTS * libm::exp2(fraction)).floor() / Linux::PARTS - 1.0
    }

    fn measure(&mut self, srtt: Duration) {
        if let Some(least) = &mut self.ns3 {
            *least = srtt.min(*least);
            if *least == srtt {
                self.rho = self.rho(Duration::from_millis(srtt.as_nanos() / 1_000_000));
            }
            return;
        }
        if self.linux.as_ref().is_some_and(|linux| srtt < linux.least) && srtt > Duration::ZERO {
            self.rho = self.rho(srtt);
            self.linux.iter_mut().for_each(|linux| linux.least = srtt);
        }
    }
}

impl Window for Hybla {
    fn initial(&mut self, state: &WindowState, rtt: Option<Duration>) -> Option<f64> {
        let rtt = rtt?;
        match &mut self.ns3 {
            // Nothing has been acknowledged yet.
            Some(least) => *least = rtt,
            None => self.measure(rtt),
        }
        self.linux.as_ref().map(|_| self.rho.floor() * state.mss)
    }

    fn observe(&mut self, _: &WindowState, ack: &Ack) {
        match &mut self.linux {
            Some(linux) => {
                linux.repairing = ack.repairing();
                self.measure(ack.srtt);
            }
            None if self.ns3.is_some() => self.measure(ack.srtt),
            None if ack.min_rtt < Duration::MAX => self.rho = self.rho(ack.min_rtt),
            None => (),
        }
    }

    fn slow_start(&mut self, state: &WindowState, ack: &Ack) -> Option<f64> {
        let leap = self.leap();
        let grown = match &mut self.linux {
            Some(linux) if linux.repairing => return None,
            Some(linux) => {
                let grown = linux.grow(WholeSegments::window(state), leap * Linux::PARTS);
                grown.min(Linux::CLAMP) * state.mss
            }
            // RFC 3465: a delayed acknowledgement counts as two.
            None => state.cwnd + leap * (ack.acked as f64).min(2.0 * state.mss),
        };
        Some(grown.min(state.ssthresh).max(state.cwnd))
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let squared = self.rho * self.rho;
        let window = WholeSegments::window(state);
        match &mut self.linux {
            None => state.cwnd + squared * Reno::increase(state, ack),
            Some(linux) if linux.repairing => linux.whole.grow(state, ack, window),
            Some(linux) => {
                let increment = (squared * Linux::PARTS / window).floor();
                if increment < Linux::PARTS {
                    linux.count += 1.0;
                }
                let mut grown = linux.grow(window, increment);
                if increment == 0.0 && linux.count >= window {
                    (grown, linux.count) = (grown + 1.0, 0.0);
                }
                grown.min(Linux::CLAMP) * state.mss
            }
        }
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        match &mut self.linux {
            Some(linux) => linux.whole.keep(state, WholeSegments::window(state) / 2.0),
            None => state.in_use(congestion) / 2.0,
        }
    }
}
