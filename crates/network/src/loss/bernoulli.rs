use super::{Constructor, LossModel};
use vazao_engine::Stream;
use vazao_engine::registry::{Entry, Kind, Parameter};

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "bernoulli",
    aliases: &["uniform"],
    title: "Bernoulli loss",
    source: "independent trials",
    help: "each packet is lost with the same probability, whatever happened before",
    parameters: &[Parameter::required("p", Kind::Number(0.0, 1.0), "probability that a packet is lost")],
    build: |p, stream| Box::new(Bernoulli::new(p.number("p"), stream)),
};

/// Independent losses with probability `p`.
///
/// One draw a packet, compared with a threshold: under the same seed a higher `p` loses the same packets and more.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    threshold: u64,
    stream: Stream,
}

impl Bernoulli {
    /// Losses with probability `p`, from 0 to 1.
    pub fn new(p: f64, stream: Stream) -> Self {
        // The cast saturates, so p = 1 loses everything but one packet in 2^64.
        Bernoulli { threshold: (p * 18_446_744_073_709_551_616.0) as u64, stream }
    }
}

impl LossModel for Bernoulli {
    fn lose(&mut self, _: u32) -> bool {
        self.stream.bits() < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_lost_is_p_and_a_higher_p_loses_the_same_and_more() {
        let losses = |p: f64| {
            let mut model = Bernoulli::new(p, Stream::new(3, "loss"));
            (0..100_000).map(|_| model.lose(1500)).collect::<Vec<_>>()
        };
        let (low, high) = (losses(0.01), losses(0.02));
        let share = low.iter().filter(|&&l| l).count() as f64 / 100_000.0;
        // Four standard errors of a binomial share: 4 sqrt(0.01 * 0.99 / 1e5).
        assert!((share - 0.01).abs() < 0.00126, "{share}");
        assert!(low.iter().zip(&high).all(|(l, h)| !l || *h));
        assert!(!losses(0.0).contains(&true) && !losses(1.0).contains(&false));
    }
}
