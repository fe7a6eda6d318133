use super::train::UNIT;
use super::{Constructor, LossModel};
use vazao_engine::RandomStream;
use vazao_engine::registry::{Elsewhere, Entry, Kind, Parameter, Parameters, parameters};

parameters! {
    struct Settings {
        p: f64 = Parameter::required("", Kind::Number(0.0, 1.0), "probability to go from the good state to the bad one").eg("0.01");
        r: f64 = Parameter::required("", Kind::Number(0.0, 1.0), "probability to go back: bursts last 1/r packets").eg("0.3");
        h: f64 = Kind::Number(0.0, 1.0), "0", "probability that the bad state lets a packet through";
        k: f64 = Kind::Number(0.0, 1.0), "1", "probability that the good state lets a packet through";
        unit: Elsewhere = UNIT;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "gilbert-elliott",
    aliases: &["gilbert", "burst"],
    title: "Gilbert-Elliott loss",
    source: "Gilbert, BSTJ 39(5), 1960; Elliott, BSTJ 42(5), 1963; parameters as in netem's gemodel",
    help: "losses in bursts: a good and a bad state, left with probability p and r at each packet",
    parameters: Settings::PARAMETERS,
    build: |p, stream| Box::new(GilbertElliott::from(p, stream)),
};

/// A channel of two states, between which chance decides at each packet: losses come in bursts.
///
/// The bad state holds for p / (p + r) of the packets, so (1 - h) p / (p + r) + (1 - k) r / (p + r) of them are lost. It
/// begins in the good state, and draws twice for each packet whatever happens, so that parameters can be compared.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    p: f64,
    r: f64,
    /// Chances of a loss: 1 - h in the bad state, 1 - k in the good one.
    bad_loss: f64,
    good_loss: f64,
    is_bad: bool,
    stream: RandomStream,
}

impl GilbertElliott {
    fn from(p: &Parameters, stream: RandomStream) -> Self {
        let Settings { p, r, h, k, .. } = p.into();
        GilbertElliott { p, r, bad_loss: 1.0 - h, good_loss: 1.0 - k, is_bad: false, stream }
    }
}

impl LossModel for GilbertElliott {
    fn lose(&mut self, _: u32) -> bool {
        let (loss, leave) = if self.is_bad { (self.bad_loss, self.r) } else { (self.good_loss, self.p) };
        let lost = self.stream.uniform() < loss;
        self.is_bad ^= self.stream.uniform() < leave;
        lost
    }
}
