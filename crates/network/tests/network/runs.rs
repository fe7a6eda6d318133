//! Runs of losses (the loss periods of RFC 3357): how many and how long.

use crate::lab::{ENDLESS, Lab, queue};
use vazao_engine::registry::Raw;
use vazao_engine::{RandomStream, Time};
use vazao_network::loss::List;
use vazao_network::{LossModel, Runs};

const MS: u64 = 1_000_000;

fn told(runs: Runs) -> (u64, u64) {
    (runs.count, runs.longest)
}

fn report(lab: &mut Lab) -> vazao_network::LinkReport {
    lab.finish();
    lab.network.report(0, Time::from_nanos(1_000_000 * MS))
}

/// Packets 1, 4, 5, 6 and 9 are lost: three runs, of which the longest has three.
#[test]
fn losses_on_the_wire_are_told_in_runs() {
    let mut lab = Lab::new(&[(8_000_000, 0, 0, ENDLESS)]).lossy(Box::new(List::new(&[1, 4, 5, 6, 9])));
    (0..10).for_each(|n| lab.send(n * MS, 1000));
    let report = report(&mut lab);
    assert_eq!((told(report.loss_runs), told(report.queue_runs)), ((3, 3), (0, 0)));
}

/// Runs of the Gilbert model have 1/r packets on average, its bad state's length; those whose mean is taken over n runs have a
/// standard error of sqrt(1 - r) / r / sqrt(n), of which five are allowed.
#[test]
fn runs_of_a_gilbert_channel_have_the_length_of_its_bad_state() {
    let model: Box<dyn LossModel> = {
        let entry = vazao_network::LOSS_MODELS.iter().find(|entry| entry.name == "gilbert-elliott").unwrap();
        let given = [("p", 0.02), ("r", 0.25)].map(|(name, x)| (name.to_owned(), Raw::Number(x))).into();
        let p = vazao_engine::registry::Parameters::resolve(entry.parameters, &given).unwrap();
        (entry.build)(&p, RandomStream::new(3, "loss/link/forward"))
    };
    let mut lab = Lab::new(&[(8_000_000, 0, 0, ENDLESS)]).lossy(model);
    (0..100_000).for_each(|n| lab.send(n * MS, 1000));
    let report = report(&mut lab);
    let runs = report.loss_runs.count as f64;
    let length = report.drops_loss as f64 / runs;
    assert!((length - 4.0).abs() < 5.0 * 0.75f64.sqrt() / 0.25 / runs.sqrt(), "{length} of {runs}");
}

/// Drop-tail of two packets at 1 ms each: of six at once three are dropped in a run; 0.5 ms later another, which follows on
/// that run; at 1 ms there is room for one, and the one after it begins a second run. Both paths of a link agree.
#[test]
fn drops_of_a_queue_are_told_in_runs() {
    let line = [(8_000_000, 0, 0, (2, u64::MAX))];
    for mut lab in [Lab::new(&line), Lab::served(&line)] {
        (0..6).for_each(|_| lab.send(0, 1000));
        [MS / 2, MS, MS].into_iter().for_each(|at| lab.send(at, 1000));
        let report = report(&mut lab);
        assert_eq!((report.drops_queue, told(report.queue_runs)), (5, (2, 4)));
    }
}

/// What a queue drops when it looks for the next packet is told too, and each drop is in one run: with a target of no time
/// CoDel drops once it has been above it for an interval.
#[test]
fn drops_at_the_head_of_a_queue_are_told_in_runs() {
    let text = |value: &str| Raw::Text(value.into());
    let mut lab = Lab::new(&[(8_000_000, 0, 0, ENDLESS)]);
    let changed = [("target", text("1 us")), ("interval", text("1 ms"))];
    lab.network.set_discipline(0, queue(8_000_000, "codel", &changed), &mut lab.scheduler);
    (0..400).for_each(|_| lab.send(0, 1000));
    let report = report(&mut lab);
    let (runs, longest) = told(report.queue_runs);
    assert!(report.drops_queue > 10 && runs > 0 && runs <= report.drops_queue, "{runs} of {}", report.drops_queue);
    assert!(longest >= report.drops_queue.div_ceil(runs), "{longest}");
}
