//! Runs one scenario and nothing else, for profilers and for counting instructions: `cargo bench --bench run -- FILE`.
//! Prints the packet-hops, and the CPU time of building, running and collecting. With `--pcap`, `--snap` or `--qlog` it makes
//! captures, whole or of 96 bytes a packet, or logs of QUIC, and discards them.
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::atomic::AtomicBool;
use vazao_scenario::{Column, Options, Output, Scenario, run};

fn main() {
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).expect("a scenario's file");
    let text = std::fs::read_to_string(&path).expect("a scenario's file");
    let scenario = Scenario::load(&text, "", Vec::new(), None).expect("a scenario");
    let asked = |option: &str| std::env::args().any(|argument| argument == option);
    let (mut discard_capture, mut discard_log) = (discard, discard);
    let options = Options {
        id: Some("bench"),
        capture: (asked("--pcap") || asked("--snap")).then_some(&mut discard_capture as Output<'_>),
        snap: asked("--snap").then_some(96),
        qlog: asked("--qlog").then_some(&mut discard_log as Output<'_>),
        ..Options::default()
    };
    let start = std::time::Instant::now();
    let outcome = run(&scenario, &AtomicBool::new(false), options).expect("a run that ends");
    let took = start.elapsed().as_secs_f64();
    let hops = match outcome.runs.iter().find(|(name, _)| *name == "packet_hops") {
        Some((_, Column::Integer(hops))) => hops.iter().flatten().sum::<i64>() as f64,
        _ => unreachable!("a run counts its packet-hops"),
    };
    println!("{hops} hops, {took:.3} s, {:.2} Mhops/s", hops / took / 1e6);
}

fn discard(_: &str, _: &[u8]) -> Result<(), String> {
    Ok(())
}
