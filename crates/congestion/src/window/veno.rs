use super::{PROFILE, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, Signal, WindowState};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        beta: f64 = Kind::Number(0.0, 1000.0), "3", "segments in queues from which on the path counts as congested";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "veno",
    aliases: &[],
    title: "TCP Veno",
    source: "Fu, Liew, JSAC 21(2), 2003",
    help: "Reno that gives up a fifth only where a loss comes without a queue, and grows half as fast where one stands",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Veno::from(p), setup),
};

/// TCP Veno (Fu, Liew, *TCP Veno: TCP enhancement for transmission over wireless access networks*, JSAC 21(2), 2003):
/// Vegas' count of segments in queues, N = w (1 - BaseRTT/RTT), tells Reno whether a loss means congestion.
///
/// With N below `beta` the path is not congested: a loss was chance, and the window falls to 4/5. From `beta` on it falls to
/// a half, and grows by a segment every other round trip instead of every one, to stay longer at the window that fits.
/// A timeout is answered as in Reno. RTT is the smoothed one; BaseRTT, the least since the last loss, is then found anew.
///
/// Where it errs: a loss in a queue of less than `beta` segments, as in a small buffer or right after others emptied
/// theirs, looks like chance; in a queue that others fill all losses look like congestion.
#[derive(Debug)]
pub struct Veno {
    beta: f64,
    /// BaseRTT.
    base: Duration,
    /// N at the last acknowledgement.
    queued: f64,
    linux: Option<Linux>,
}

/// Differences of Linux (net/ipv4/tcp_veno.c): the last RTT counts, in half segments; BaseRTT is of the whole
/// connection, a timeout is a loss like others, and as long as one is repaired it is Reno.
#[derive(Debug)]
struct Linux {
    whole: WholeSegments,
    /// The least RTT since it was last looked at.
    latest: Duration,
    repairing: bool,
    /// Whether the next round trip of a congested path is one of growth.
    turn: bool,
}

impl Veno {
    /// Veno with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let new = |whole| Linux { whole, latest: Duration::MAX, repairing: false, turn: true };
        let Settings { profile, beta } = p.into();
        Veno { beta, base: Duration::MAX, queued: 0.0, linux: WholeSegments::wanted(profile).map(new) }
    }

    /// Linux looks at the queue whenever the window may grow.
    fn look(&mut self, state: &WindowState) {
        let Some(linux) = self.linux.as_mut().filter(|linux| !linux.repairing) else { return };
        let latest = std::mem::replace(&mut linux.latest, Duration::MAX);
        let halves = 2.0 * WholeSegments::window(state);
        let empty = self.base.as_nanos() as f64 / latest.as_nanos().max(1) as f64;
        self.queued = (halves - (halves * empty).floor()) / 2.0;
    }
}

impl Window for Veno {
    fn observe(&mut self, state: &WindowState, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
        }
        if let Some(linux) = &mut self.linux {
            linux.latest = if linux.repairing && !ack.repairing() { Duration::MAX } else { linux.latest };
            linux.latest = linux.latest.min(ack.rtt.unwrap_or(Duration::MAX));
            linux.repairing = ack.repairing();
        } else if ack.srtt > Duration::ZERO && self.base < Duration::MAX {
            let empty = self.base.as_nanos() as f64 / ack.srtt.as_nanos() as f64;
            self.queued = state.segments() * (1.0 - empty);
        }
    }

    fn slow_start(&mut self, state: &WindowState, _: &Ack) -> Option<f64> {
        self.look(state);
        None
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        self.look(state);
        let congested = self.queued >= self.beta;
        let Some(linux) = &mut self.linux else {
            return state.cwnd + if congested { 0.5 } else { 1.0 } * Reno::increase(state, ack);
        };
        let window = WholeSegments::window(state);
        if linux.repairing || !congested {
            return linux.whole.grow(state, ack, window);
        }
        let due = linux.whole.due(ack.acked as f64 / state.mss, window);
        let grown = due && linux.turn;
        linux.turn ^= due;
        (window + f64::from(u8::from(grown))) * state.mss
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let chance = self.queued < self.beta;
        if let Some(linux) = &mut self.linux {
            return linux.whole.keep(state, WholeSegments::window(state) * if chance { 0.8 } else { 0.5 });
        }
        self.base = Duration::MAX;
        let kept = if chance && congestion.signal != Signal::Timeout { 0.8 } else { 0.5 };
        kept * state.in_use(congestion)
    }
}
