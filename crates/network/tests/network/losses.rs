//! Loss models of the registry against their closed forms, and what all of them must do.

use crate::lab::{ENDLESS, Lab};
use proptest::prelude::*;
use std::collections::BTreeMap;
use vazao_engine::RandomStream;
use vazao_engine::registry::{Parameters, Raw};
use vazao_network::loss::Trains;
use vazao_network::{Impairments, LOSS_MODELS, LossModel};

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

/// A link of 1 Gbit/s that loses by train.
fn by_train(model: Box<dyn LossModel>) -> Lab {
    let impairments = Impairments { loss: Some(model), trains: Some(Trains::default()), ..Impairments::default() };
    Lab::new(&[(1_000_000_000, 1_000, 0, ENDLESS)]).impaired(impairments)
}

/// Sends trains of `length` packets a millisecond apart; returns whether each packet was lost.
fn trains(lab: &mut Lab, count: u32, length: u32) -> Vec<bool> {
    for train in 0..count {
        (0..length).for_each(|_| lab.send(u64::from(train) * 1_000_000, 1500));
    }
    lab.finish();
    let mut lost = vec![false; (count * length) as usize];
    lab.lost().into_iter().for_each(|number| lost[number as usize] = true);
    lost
}

/// One draw a train: with trains of n packets p of them are lost as before, but all of a train or none of it, so that runs of
/// losses have n / (1 - p) packets on average, where single packets make runs of 1 / (1 - p). Of N trains the share has a
/// standard error of sqrt(p (1 - p) / N), the mean run of R one of n sqrt(p) / (1 - p) / sqrt(R). Five of each are allowed.
#[test]
fn a_train_is_lost_as_a_whole() {
    let (p, count) = (0.1, 20_000);
    for length in [1u32, 2, 4, 10] {
        let lost = trains(&mut by_train(model("bernoulli", &[("p", p)])), count, length);
        assert!(lost.chunks(length as usize).all(|train| train.iter().all(|&lost| lost == train[0])));
        let error = 5.0 * (p * (1.0 - p) / f64::from(count)).sqrt();
        assert!((share(&lost) - p).abs() < error, "{length}: {}", share(&lost));
        let runs = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).count() as f64;
        let (run, n) = (share(&lost) * lost.len() as f64 / runs, f64::from(length));
        let error = 5.0 * n * p.sqrt() / (1.0 - p) / runs.sqrt();
        assert!((run - n / (1.0 - p)).abs() < error, "{length}: runs of {run}, not {}", n / (1.0 - p));
    }
}

/// Trains of one packet meet the draws that packets meet, whatever the model: the unit itself changes nothing.
#[test]
fn a_train_of_one_is_a_packet() {
    for (name, given) in [("bernoulli", &[("p", 0.3)][..]), ("gilbert-elliott", &[("p", 0.1), ("r", 0.4)])] {
        let lost = trains(&mut by_train(model(name, given)), 2_000, 1);
        assert_eq!(lost, losses(&mut *model(name, given), 2_000, 1500), "{name}");
    }
}

/// A train ends with 64 KiB, of which 43 packets of 1500 bytes fit; with another instant; and with a packet of another flow.
/// The second train of each case is lost.
#[test]
fn trains_end() {
    let lab = || by_train(model("periodic", &[("every", 1e9), ("first", 2.0)]));
    let lost = |lab: &mut Lab| {
        lab.finish();
        lab.lost()
    };
    let mut full = lab();
    (0..100).for_each(|_| full.send(0, 1500));
    assert_eq!(lost(&mut full), (43..86).collect::<Vec<_>>());
    let mut later = lab();
    [0, 0, 1, 1, 1, 2].into_iter().for_each(|now| later.send(now, 1500));
    assert_eq!(lost(&mut later), [2, 3, 4]);
    let mut shared = lab();
    for flow in [1, 1, 2, 2, 1, 1] {
        shared.flow = flow;
        shared.send(0, 1500);
    }
    assert_eq!(lost(&mut shared), [2, 3]);
}

/// A train stays one behind a slower link, as long as nobody comes between: the emulator's host joins it again.
#[test]
fn trains_outlast_a_link() {
    let line = |rate| (rate, 1_000, 0, ENDLESS);
    let mut lab = Lab::new(&[line(10_000_000), line(1_000_000_000)]);
    let loss = Some(model("periodic", &[("every", 2.0)]));
    lab.network.set_impairments(1, Impairments { loss, trains: Some(Trains::default()), ..Impairments::default() });
    [0, 0, 0, 100, 100, 200].into_iter().for_each(|now| lab.send(now, 1500));
    lab.finish();
    assert_eq!(lab.lost(), [3, 4]);
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
