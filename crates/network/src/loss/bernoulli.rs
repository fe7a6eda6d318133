use super::train::UNIT;
use super::{Constructor, LossModel};
use crate::impairment::{Chance, IN_A_ROW};
use vazao_engine::RandomStream;
use vazao_engine::registry::{Elsewhere, Entry, Kind, Parameter, parameters};

parameters! {
    struct Settings {
        p: f64 = Parameter::required("", Kind::Number(0.0, 1.0), "probability that a packet is lost").eg("0.01");
        in_a_row: Option<u64> = IN_A_ROW;
        unit: Elsewhere = UNIT;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "bernoulli",
    aliases: &["uniform"],
    title: "Bernoulli loss",
    source: "independent trials; in_a_row: quic-network-simulator's `drop-rate`",
    help: "each packet is lost with the same probability, whatever happened before",
    parameters: Settings::PARAMETERS,
    build: |p, stream| {
        let settings = Settings::from(p);
        Box::new(Bernoulli(Chance::new(settings.p, stream).limited(settings.in_a_row)))
    },
};

/// Independent losses with probability `p`.
///
/// One draw a packet, compared with a threshold: under the same seed a higher `p` loses the same packets and more.
#[derive(Clone, Debug)]
pub struct Bernoulli(Chance);

impl Bernoulli {
    /// Losses with probability `p`, from 0 to 1.
    pub fn new(p: f64, stream: RandomStream) -> Self {
        Bernoulli(Chance::new(p, stream))
    }
}

impl LossModel for Bernoulli {
    fn lose(&mut self, _: u32) -> bool {
        self.0.strikes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vazao_engine::registry::{Parameters, Raw};

    #[test]
    fn the_share_lost_is_p_and_a_higher_p_loses_the_same_and_more() {
        let losses = |p: f64| {
            let mut model = Bernoulli::new(p, RandomStream::new(3, "loss"));
            (0..100_000).map(|_| model.lose(1500)).collect::<Vec<_>>()
        };
        let (low, high) = (losses(0.01), losses(0.02));
        let share = low.iter().filter(|&&l| l).count() as f64 / 100_000.0;
        // Four standard errors of a binomial share: 4 sqrt(0.01 * 0.99 / 1e5).
        assert!((share - 0.01).abs() < 0.00126, "{share}");
        assert!(low.iter().zip(&high).all(|(l, h)| !l || *h));
        assert!(!losses(0.0).contains(&true) && !losses(1.0).contains(&false));
    }

    /// With probability 1 and three in a row at most the fourth packet passes each time. Otherwise a run of losses that has
    /// become as long as it may costs the next packet its draw: of the share s of packets lost, with p = 0.3 and m = 3,
    /// renewal theory has s = E(losses) / E(length) of a cycle that ends with a packet that passes. The number lost in a
    /// cycle is geometric, cut at m: E = p + p^2 + p^3 = 0.417, and the length is one more.
    #[test]
    fn no_more_are_lost_in_a_row_than_may_be() {
        let losses = |p: f64| {
            let given =
                [("p", Raw::Number(p)), ("in_a_row", Raw::Number(3.0))].map(|(name, value)| (name.into(), value));
            let parameters = Parameters::resolve(ENTRY.parameters, &given.into()).expect("settings that exist");
            let mut model = (ENTRY.build)(&parameters, RandomStream::new(3, "loss"));
            (0..100_000).map(|_| model.lose(1500)).collect::<Vec<_>>()
        };
        assert_eq!(losses(1.0)[..8], [true, true, true, false, true, true, true, false]);
        let lossy = losses(0.3);
        assert!(lossy.windows(4).all(|four| four.contains(&false)));
        let share = lossy.iter().filter(|&&l| l).count() as f64 / 100_000.0;
        // Four standard errors of independent trials, which vary more: 4 sqrt(0.3 * 0.7 / 1e5).
        assert!((share - 0.417 / 1.417).abs() < 0.0058, "{share}");
    }
}
