//! Loss models of the registry against their closed forms, and what all of them must do.

use proptest::prelude::*;
use std::collections::BTreeMap;
use vazao_engine::RandomStream;
use vazao_engine::registry::{Parameters, Raw};
use vazao_network::{LOSS_MODELS, LossModel};

fn model(name: &str, given: &[(&str, f64)]) -> Box<dyn LossModel> {
    let entry = LOSS_MODELS.iter().find(|entry| entry.name == name).expect("a loss model");
    let given: BTreeMap<_, _> = given.iter().map(|(name, x)| ((*name).to_owned(), Raw::Number(*x))).collect();
    (entry.build)(&Parameters::resolve(entry.parameters, &given).unwrap(), RandomStream::new(3, "loss/link/forward"))
}

fn losses(model: &mut dyn LossModel, packets: usize, size: u32) -> Vec<bool> {
    (0..packets).map(|_| model.lose(size)).collect()
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
}

/// With two parameters what is lost is the share of the bad state, p / (p + r), in bursts of 1/r on average; bursts are
/// geometric, so their mean over n of them has a standard error of sqrt(1 - r) / r / sqrt(n). Five of them, and as much for
/// the share, whose error is larger by the bursts' length, are allowed.
#[test]
fn gilbert_loses_in_bursts() {
    for (p, r) in [(0.01, 0.25), (0.002, 0.1), (0.05, 0.9)] {
        let lost = losses(&mut *model("gilbert-elliott", &[("p", p), ("r", r)]), 1_000_000, 1500);
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let (share, length) = (share(&lost), share(&lost) * 1e6 / bursts);
        let error = 5.0 * (1.0 - r).sqrt() / r / bursts.sqrt();
        assert!((length - 1.0 / r).abs() < error, "p {p} r {r}: bursts of {length}, not {} ({error})", 1.0 / r);
        let expected = p / (p + r);
        let error = 5.0 * (expected * (2.0 - r) / r / 1e6).sqrt();
        assert!((share - expected).abs() < error, "p {p} r {r}: {share}, not {expected} ({error})");
    }
}

/// With four, each state loses its own share: ((1 - h) p + (1 - k) r) / (p + r).
#[test]
fn elliott_loses_in_both_states() {
    let (p, r, h, k) = (0.02, 0.2, 0.4, 0.99);
    let lost = losses(&mut *model("gilbert-elliott", &[("p", p), ("r", r), ("h", h), ("k", k)]), 1_000_000, 1500);
    let expected = ((1.0 - h) * p + (1.0 - k) * r) / (p + r);
    assert!((share(&lost) - expected).abs() < 5.0 * (expected * 2.0 / r / 1e6f64).sqrt(), "{}", share(&lost));
}

/// One bit in so many is wrong, and a packet of n bytes survives with (1 - rate)^(8 n): within five standard errors.
#[test]
fn bit_errors_go_with_the_size() {
    for (rate, size) in [(1e-6, 1500), (1e-6, 40), (1e-5, 9000), (1e-9, 1500), (0.0, 1500)] {
        let lost = share(&losses(&mut *model("bit-errors", &[("rate", rate)]), 200_000, size));
        let expected = 1.0 - libm::pow(1.0 - rate, 8.0 * f64::from(size));
        assert!((lost - expected).abs() <= 5.0 * (expected / 2e5).sqrt(), "{rate} {size}: {lost}, not {expected}");
    }
}

proptest! {
    /// Whatever a model is, under the same seed it loses the same, and the sizes of packets do not shift its luck: after the
    /// same number of packets it is where it would be anyway.
    #[test]
    fn every_loss_model_repeats(sizes in prop::collection::vec(20u32..9_000, 1..300), p in 0.0f64..1.0) {
        let models: [(&str, &[(&str, f64)]); 4] = [
            ("bernoulli", &[("p", p)]),
            ("gilbert-elliott", &[("p", p), ("r", 1.0 - p), ("h", p / 2.0), ("k", 1.0 - p / 3.0)]),
            ("bit-errors", &[("rate", p / 1e4)]),
            ("periodic", &[("every", (10.0 * p).ceil().max(1.0))]),
        ];
        for (name, given) in models {
            let (mut first, mut again, mut other) = (model(name, given), model(name, given), model(name, given));
            for &size in &sizes {
                prop_assert_eq!(first.lose(size), again.lose(size), "{}", name);
                other.lose(1500);
            }
            prop_assert_eq!(losses(&mut *first, 50, 100), losses(&mut *other, 50, 100), "{}", name);
        }
    }
}
