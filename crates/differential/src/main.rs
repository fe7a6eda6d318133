//! Judges many cases, or shows one: `vazao-differential --cases 10000 --seed 1`, `vazao-differential --show SEED`.
#![allow(clippy::print_stdout)]

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use vazao_differential::compare::{Class, Segment, differences};
use vazao_differential::{Case, Player};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let value =
        |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1)?.parse::<u64>().ok());
    let Some(kernel) = std::env::var_os("VAZAO_KERNEL").map(PathBuf::from) else {
        println!("VAZAO_KERNEL names no kernel; build one with `vazao kernel build` and name its file");
        return ExitCode::FAILURE;
    };
    if let Some(seed) = value("--show") {
        show(&Case::new(seed), &kernel);
        return ExitCode::SUCCESS;
    }
    let (first, cases) = (value("--seed").unwrap_or(1), value("--cases").unwrap_or(200));
    let judged: Vec<_> =
        (first..first + cases).into_par_iter().map(|seed| (seed, Case::new(seed).judge(&kernel))).collect();
    let mut found: BTreeMap<Class, Vec<u64>> = BTreeMap::new();
    let (mut same, mut failed) = (0, Vec::new());
    for (seed, result) in judged {
        match result {
            Ok(list) if list.is_empty() => same += 1,
            Ok(list) => list.iter().for_each(|one| found.entry(one.class).or_default().push(seed)),
            Err(problem) => failed.push((seed, problem)),
        }
    }
    println!("{cases} cases, {same} the same in everything, {} failed", failed.len());
    for (class, seeds) in found {
        println!("{class:?}: {} ({:?})", seeds.len(), &seeds[..seeds.len().min(12)]);
    }
    failed.iter().take(5).for_each(|(seed, problem)| println!("{seed}: {problem}"));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(case: &Case, kernel: &Path) {
    println!("{:#?}\n{}", case.habits, case.scenario(Player::Ours));
    let [ours, linux] = [Player::Ours, Player::Linux].map(|player| case.play(player, kernel).expect("it runs"));
    for number in 0..ours.len().max(linux.len()) {
        let line = |list: &[Segment]| list.get(number).map(ToString::to_string).unwrap_or_default();
        println!("{number:>3} {:<75} | {}", line(&ours), line(&linux));
    }
    println!("{:?}", differences(&ours, &linux));
}
