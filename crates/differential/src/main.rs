//! Judges many cases, or shows one: `vazao-differential --protocol tcp --cases 10000 --seed 1`,
//! `vazao-differential --show SEED`. With `--list CLASS` a line of each case that differs first in that.
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use vazao_differential::{Case, Player, census, differences, sctp, tcp};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let text = |name: &str| arguments.get(arguments.iter().position(|a| a == name)? + 1).map(String::as_str);
    let value = |name: &str| text(name)?.parse::<u64>().ok();
    let Some(kernel) = std::env::var_os("VAZAO_KERNEL").map(PathBuf::from) else {
        println!("VAZAO_KERNEL names no kernel; build one with `vazao kernel build` and name its file");
        return ExitCode::FAILURE;
    };
    let task = Task {
        shown: value("--show"),
        first: value("--seed").unwrap_or(1),
        cases: value("--cases").unwrap_or(200),
        listed: text("--list").map(str::to_owned),
        kernel,
    };
    match text("--protocol").unwrap_or("tcp") {
        "tcp" => task.run::<tcp::Case>(),
        "sctp" => task.run::<sctp::Case>(),
        other => {
            println!("--protocol {other}: there are tcp and sctp");
            ExitCode::FAILURE
        }
    }
}

struct Task {
    shown: Option<u64>,
    first: u64,
    cases: u64,
    listed: Option<String>,
    kernel: PathBuf,
}

impl Task {
    fn run<C: Case>(&self) -> ExitCode {
        if let Some(seed) = self.shown {
            show(&C::new(seed), &self.kernel);
            return ExitCode::SUCCESS;
        }
        if let Some(class) = &self.listed {
            return self.list::<C>(class);
        }
        let census = census::take::<C>(self.first..self.first + self.cases, &self.kernel);
        println!("{} cases, {} the same in everything, {} failed", self.cases, census.same, census.failed.len());
        for (class, seeds) in census.found {
            println!("{class:?}: {} ({:?})", seeds.len(), &seeds[..seeds.len().min(12)]);
        }
        census.failed.iter().take(5).for_each(|(seed, problem)| println!("{seed}: {problem}"));
        if census.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

impl Task {
    /// Lists what both send at their first difference in a class.
    fn list<C: Case>(&self, class: &str) -> ExitCode {
        for seed in self.first..self.first + self.cases {
            let case = C::new(seed);
            let [ours, linux] = match [Player::Ours, Player::Linux].map(|player| case.play(player, &self.kernel)) {
                [Ok(ours), Ok(linux)] => [ours, linux],
                [Err(problem), _] | [_, Err(problem)] => {
                    println!("{seed}: {problem}");
                    continue;
                }
            };
            let differences = differences(&ours, &linux);
            for one in differences.iter().filter(|one| format!("{:?}", one.class) == class) {
                let line = |list: &[C::Piece]| list.get(one.number).map(ToString::to_string).unwrap_or_default();
                println!("{seed:>5} {:>3} {:<75} | {}", one.number, line(&ours), line(&linux));
            }
        }
        ExitCode::SUCCESS
    }
}

fn show<C: Case>(case: &C, kernel: &Path) {
    println!("{case:?}\n{}", case.scenario(Player::Ours));
    let [ours, linux] = [Player::Ours, Player::Linux].map(|player| case.play(player, kernel).expect("it runs"));
    for number in 0..ours.len().max(linux.len()) {
        let line = |list: &[C::Piece]| list.get(number).map(ToString::to_string).unwrap_or_default();
        println!("{number:>3} {:<75} | {}", line(&ours), line(&linux));
    }
    println!("{:?}", differences(&ours, &linux));
}
