//! Judges many cases, or shows one: `vazao-differential --protocol tcp --cases 10000 --seed 1`,
//! `vazao-differential --show SEED`.
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use vazao_differential::{Case, Player, census, tcp};

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
        kernel,
    };
    match text("--protocol").unwrap_or("tcp") {
        "tcp" => task.run::<tcp::Case>(),
        other => {
            println!("--protocol {other}: there is tcp");
            ExitCode::FAILURE
        }
    }
}

struct Task {
    shown: Option<u64>,
    first: u64,
    cases: u64,
    kernel: PathBuf,
}

impl Task {
    fn run<C: Case>(&self) -> ExitCode {
        if let Some(seed) = self.shown {
            show(&C::new(seed), &self.kernel);
            return ExitCode::SUCCESS;
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

fn show<C: Case>(case: &C, kernel: &Path) {
    println!("{case:#?}\n{}", case.scenario(Player::Ours));
    let [ours, linux] = [Player::Ours, Player::Linux].map(|player| case.play(player, kernel).expect("it runs"));
    for number in 0..ours.len().max(linux.len()) {
        let line = |list: &[C::Piece]| list.get(number).map(ToString::to_string).unwrap_or_default();
        println!("{number:>3} {:<75} | {}", line(&ours), line(&linux));
    }
    println!("{:?}", C::differences(&ours, &linux));
}
