use super::{PROFILE, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, Signal, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        g: f64 = Kind::Number(1.0 / 1024.0, 1.0), "0.0625",
            "weight of the last round trip's part in alpha (section 4.2: 1/16)";
        alpha: f64 = Kind::Number(0.0, 1.0), "1",
            "DCTCP.Alpha at the start (section 3.3, step 1): 1 answers the first mark as a loss";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "dctcp",
    aliases: &[],
    title: "Data Center TCP (DCTCP)",
    source: "RFC 8257",
    help: "falls in proportion to the part of the data that the network marked, so that short queues stay short",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Dctcp::from(p), setup),
};

/// Data Center TCP (RFC 8257): a mark says only that a queue is longer than it should be; how many packets are marked
/// says by how much. DCTCP keeps a moving average `alpha` of that part, one sample a round trip, and on marks gives up
/// `alpha`/2 of the window instead of half: where a queue marks a few packets a round trip, it loses a few per cent.
///
/// Growth and the answer to a loss are Reno's. It needs queues that mark at a low threshold, and a receiver that tells
/// of every mark; beside a control that halves on marks it takes nearly all (section 5), so it is for networks with
/// one owner.
#[derive(Debug)]
pub struct Dctcp {
    g: f64,
    /// DCTCP.Alpha: about the part of the data that is marked.
    alpha: f64,
    /// DCTCP.BytesAcked and DCTCP.BytesMarked: in the round trip so far.
    acked: u64,
    marked: u64,
    linux: Option<WholeSegments>,
}

impl Dctcp {
    /// DCTCP with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, g, alpha } = p.into();
        Dctcp { g, alpha, acked: 0, marked: 0, linux: WholeSegments::wanted(profile) }
    }

    /// DCTCP.Alpha now.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Section 3.3, steps 5 to 7: alpha = (1 - g) alpha + g M, where M is the marked part of a round trip's bytes.
    fn end_round(&mut self) {
        let part = if self.acked > 0 { self.marked as f64 / self.acked as f64 } else { 0.0 };
        self.alpha = match self.linux {
            Some(_) => in_1024ths(self.alpha, self.g, part),
            None => (1.0 - self.g) * self.alpha + self.g * part,
        };
        (self.acked, self.marked) = (0, 0);
    }
}

/// Returns alpha in Linux's units of 1/1024, rounded down (net/ipv4/tcp_dctcp.c): a step of less than a unit takes all that
/// is left of alpha.
fn in_1024ths(alpha: f64, g: f64, part: f64) -> f64 {
    let alpha = (alpha * 1024.0).floor();
    let forgotten = (alpha * g).floor();
    let kept = if forgotten > 0.0 { alpha - forgotten } else { 0.0 };
    (kept + (1024.0 * g * part).floor()).min(1024.0) / 1024.0
}

impl Window for Dctcp {
    fn observe(&mut self, _: &WindowState, ack: &Ack) {
        self.acked += ack.delivered;
        self.marked += ack.marked;
        if ack.round {
            self.end_round();
        }
    }

    fn wants_marks(&self) -> bool {
        true
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        match &mut self.linux {
            Some(whole) => whole.grow(state, ack, WholeSegments::window(state)),
            None => state.cwnd + Reno::increase(state, ack),
        }
    }

    /// Section 3.3, step 9 for marks: cwnd (1 - alpha/2); a loss is answered as Reno does (section 3.5).
    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let marked = congestion.signal == Signal::Mark;
        let given_up = if marked { self.alpha / 2.0 } else { 0.5 };
        match &mut self.linux {
            Some(whole) => {
                let window = WholeSegments::window(state);
                whole.keep(state, window - if marked { (window * given_up).floor() } else { window * given_up })
            }
            None if marked => state.cwnd * (1.0 - given_up),
            None => state.in_use(congestion) * (1.0 - given_up),
        }
    }
}
