//! Runs for tests: a scenario's text in, cells of its tables out.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use vazao_scenario::{Column, Options, Outcome, Scenario, Table, measures, run};

/// Payload and IP bytes of a full segment with timestamps: 20 of IP, 20 of TCP, 12 of options.
pub const MSS: f64 = 1448.0;
pub const PACKET: f64 = 1500.0;

/// Reads and runs a scenario.
pub fn play(text: &str, seed: u64) -> Outcome {
    run(&load(text, seed), &AtomicBool::new(false), Options::default()).expect("nothing stops it")
}

/// Reads a scenario.
pub fn load(text: &str, seed: u64) -> Scenario {
    Scenario::load(text, "", Vec::new(), Some(seed)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The same with captures: the outcome, and the pcapng bytes of every interface by its name.
pub fn captured(text: &str, seed: u64) -> (Outcome, BTreeMap<String, Vec<u8>>) {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut keep = |name: &str, bytes: &[u8]| {
        files.entry(name.to_owned()).or_default().extend(bytes);
        Ok(())
    };
    let outcome =
        run(&load(text, seed), &AtomicBool::new(false), Options { capture: Some(&mut keep), ..Options::default() })
            .expect("nothing stops it");
    (outcome, files)
}

/// Two minutes of a bottleneck of 20 Mbps, to which host `a` has two ways, and host `b` from it; flow 0 is a TCP beside.
pub fn shared_bottleneck() -> String {
    let ends =
        [("a", "A1"), ("A1", "R1"), ("a", "A2"), ("A2", "R1"), ("R2", "B1"), ("B1", "b"), ("R2", "B2"), ("B2", "b")];
    let beside = [("c", "C"), ("C", "R1"), ("R2", "D"), ("D", "d")];
    let line = |(from, to): &(&str, &str)| {
        format!("{{ from = \"{from}\", to = \"{to}\", rate = \"1 Gbps\", delay = \"1 ms\" }},\n")
    };
    let lines: String = ends.iter().chain(&beside).map(line).collect();
    format!(
        "until = \"120 s\"\n[network]\ntopology = \"custom\"\nhosts = [\"a\", \"b\", \"c\", \"d\"]\n\
         routers = [\"A1\", \"A2\", \"R1\", \"R2\", \"B1\", \"B2\", \"C\", \"D\"]\nlink = [\n{lines}\
         {{ name = \"bottleneck\", from = \"R1\", to = \"R2\", rate = \"20 Mbps\", delay = \"18 ms\", queue = \"1 bdp\" }},\n]\n\
         [[flow]]\nclient = \"c\"\nserver = \"d\"\nstart_spread = \"1 s\"\napp = \"upload\"\n\
         transport = {{ kind = \"tcp\", cc = \"reno\" }}\n"
    )
}

/// A table's column.
pub fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
    &table.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("there is no column {name}")).1
}

/// A number in a table, missing or not.
pub fn cell(table: &Table, name: &str, row: usize) -> Option<f64> {
    match column(table, name) {
        Column::Integer(values) => values.get(row).map(|x| x as f64),
        Column::Number(values) => values.get(row),
        Column::Flag(values) => values[row].map(f64::from),
        Column::Label { .. } => panic!("column {name} is not numbers"),
    }
}

/// A number in a table.
pub fn number(table: &Table, name: &str, row: usize) -> f64 {
    cell(table, name, row).unwrap_or_else(|| panic!("{name} is missing in row {row}"))
}

/// A number in a table as whole nanoseconds of its seconds.
pub fn nanos(table: &Table, name: &str, row: usize) -> u64 {
    (number(table, name, row) * 1e9).round() as u64
}

/// Numbers of one direction of a link.
pub fn link(outcome: &Outcome, name: &str, forward: bool, measure: &str) -> f64 {
    let label = |column: &str, row: usize| match self::column(&outcome.links, column) {
        Column::Label { codes, names } => names[codes.get(row).expect("a name") as usize].clone(),
        _ => panic!("{column} is not a label"),
    };
    let way = if forward { "forward" } else { "reverse" };
    let row = (0..).find(|&row| label("link", row) == name && label("direction", row) == way);
    number(&outcome.links, measure, row.expect("a link"))
}

/// A traced measure of flow 0: (nanoseconds, value).
pub fn samples(outcome: &Outcome, measure: &str) -> Vec<(u64, f64)> {
    let Column::Label { codes, .. } = column(&outcome.samples, "measure") else { panic!("measure is a label") };
    let wanted = measures().position(|m| m == measure).map(|m| m as u32);
    let rows = (0..codes.len()).filter(|&row| codes.get(row) == wanted);
    rows.map(|row| (nanos(&outcome.samples, "time_s", row), number(&outcome.samples, "value", row))).collect()
}

/// A sample's mean and the standard error of that mean.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

pub fn assert_close(got: f64, want: f64, tolerance: f64, what: &str) {
    assert!((got - want).abs() <= tolerance * want.abs(), "{what}: {got}, not {want} within {tolerance}");
}
