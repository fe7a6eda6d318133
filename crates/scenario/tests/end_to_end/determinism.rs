//! Same scenario, same seed, same bytes; and watching changes nothing.

use crate::lab::{captured, column, load, play};
use std::sync::atomic::AtomicBool;
use vazao_scenario::{Column, Options, Outcome, Table, TraceSpec, measures, run};

/// Six different flows with losses, full queues and several seconds of traffic.
const BUSY: &str = r#"
    until = "5 s"
    [network]
    topology = "parking-lot"
    hops = 2
    access = { rate = "100 Mbps", delay = "1 ms" }
    bottleneck = { rate = "10 Mbps", delay = "7 ms", queue = "0.5 bdp", loss = 0.002 }
    [[flow]]
    count = 3
    start_spread = "500 ms"
    app = { kind = "upload" }
    transport = { kind = "tcp", cc = "cubic" }
    [[flow]]
    client = "left1"
    app = { kind = "download", size = "2 MB" }
    transport = { kind = "tcp", cc = "vegas", recovery = "newreno" }
    [[flow]]
    client = "left2"
    app = { kind = "upload", size = "1 MB" }
    transport = { kind = "tcp", cc = "highspeed", recovery = "tahoe" }
    [[flow]]
    client = "b"
    server = "left1"
    app = { kind = "upload", duration = "2 s" }
    transport = { kind = "tcp", cc = "westwood", recovery = "reno", sack = false }
    "#;

/// A table without the columns that identify the run or count the simulator's own work.
fn results(table: &Table) -> Table {
    table.iter().filter(|(name, _)| !["run_id", "events", "seed"].contains(name)).cloned().collect()
}

fn assert_same_results(a: &Outcome, b: &Outcome) {
    for (a, b) in [(&a.runs, &b.runs), (&a.flows, &b.flows), (&a.paths, &b.paths), (&a.links, &b.links)] {
        assert_eq!(results(a), results(b));
    }
}

#[test]
fn a_run_repeats_itself() {
    let text = format!("trace = [\"cwnd\", \"rtt\", \"queue\"]\n{BUSY}");
    let (first, files) = captured(&text, 3);
    assert_eq!((first.clone(), files), captured(&text, 3));
    assert_ne!(results(&first.flows), results(&captured(&text, 4).0.flows));
}

#[test]
fn watching_changes_nothing() {
    let plain = play(BUSY, 3);
    assert_same_results(&plain, &captured(BUSY, 3).0);
    for every in [None, Some(vazao_engine::Duration::from_millis(10))] {
        let mut scenario = load(BUSY, 3);
        scenario.trace = TraceSpec { measures: measures().collect(), every };
        let mut traced = run(&scenario, &AtomicBool::new(false), Default::default()).unwrap();
        assert!(!traced.samples.is_empty());
        // The measure `limit` brings columns of its own.
        for ((name, with), (_, without)) in traced.flows.iter_mut().zip(&plain.flows) {
            if name.starts_with("path_") && name.ends_with("_s") {
                assert_ne!(with, without, "{name}");
                with.clone_from(without);
            }
        }
        assert_same_results(&plain, &traced);
    }
}

/// Samples that a run gives away while it goes on are those that it would have held, in their order.
#[test]
fn samples_given_away_are_the_same() {
    let text = r#"
        trace = ["cwnd", "sequence", "delivered", "queue"]
        [network]
        topology = "point-to-point"
        link = { rate = "1 Gbps", delay = "1 ms" }
        [[flow]]
        app = { kind = "upload", size = "120 MB" }
        transport = "tcp"
    "#;
    let held = play(text, 1).samples;
    let mut records = Vec::new();
    let mut keep = |more: &[u8]| {
        records.extend_from_slice(more);
        Ok(())
    };
    let options = Options { samples: Some(&mut keep), ..Options::default() };
    let given = run(&load(text, 1), &AtomicBool::new(false), options).unwrap();
    let away = given.legend.rows_of_records(&records);
    assert!(rows(&away) > 0 && rows(&given.samples) > 0, "{} and {}", rows(&away), rows(&given.samples));
    for ((name, whole), ((_, first), (_, last))) in held.iter().zip(away.iter().zip(&given.samples)) {
        assert_eq!(*whole, joined(first, last), "{name}");
    }
}

fn rows(samples: &Table) -> usize {
    let Column::Number(times) = column(samples, "time_s") else { panic!("every sample has a time") };
    times.len()
}

fn joined(first: &Column, last: &Column) -> Column {
    match (first, last) {
        (Column::Number(a), Column::Number(b)) => Column::Number(a.iter().chain(b.iter()).collect()),
        (Column::Integer(a), Column::Integer(b)) => Column::Integer(a.iter().chain(b.iter()).collect()),
        (Column::Label { codes: a, names }, Column::Label { codes: b, .. }) => {
            Column::Label { codes: a.iter().chain(b.iter()).collect(), names: names.clone() }
        }
        _ => panic!("columns of one kind"),
    }
}

/// The identity of a run is what decides its results: not its name, nor how its TOML is written.
#[test]
fn a_run_is_known_by_what_it_does() {
    let id = |text: &str, seed: u64| load(text, seed).run_id();
    let same = BUSY.replace("hops = 2", "hops = 2.0").replace("7 ms", "7000 us").replace("10 Mbps", "10000 kbps");
    assert_eq!(id(BUSY, 3), id(&format!("name = \"busy\"\n{same}"), 3));
    assert_ne!(id(BUSY, 3), id(BUSY, 4));
    for (old, new) in
        [("7 ms", "7.000001 ms"), ("0.002", "0.0020000001"), ("\"reno\"", "\"sack\""), ("2 s", "2.000000001 s")]
    {
        assert!(BUSY.contains(old));
        assert_ne!(id(BUSY, 3), id(&BUSY.replacen(old, new, 1), 3), "{new}");
    }
}
