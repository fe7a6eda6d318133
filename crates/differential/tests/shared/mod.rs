//! Tests that every protocol has. Skipped where no kernel is named by VAZAO_KERNEL.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use vazao_differential::{Case, ClassOf, Player, census, differences};

/// The kernel to compare with, if there is one.
fn kernel() -> Option<PathBuf> {
    let kernel = std::env::var_os("VAZAO_KERNEL").map(PathBuf::from).filter(|kernel| kernel.is_file());
    if kernel.is_none() {
        println!("skipped: VAZAO_KERNEL names no kernel; build one with `vazao kernel build` and name its file");
    }
    kernel
}

/// Every class is in no more of the first cases than is known.
pub fn ratchet<C: Case>(cases: u64, known: &[(ClassOf<C>, usize)]) {
    let Some(kernel) = kernel() else { return };
    let census = census::take::<C>(1..1 + cases, &kernel);
    assert_eq!(census.failed, []);
    for (class, seeds) in census.found {
        let most = known.iter().find(|(one, _)| *one == class).map_or(0, |(_, most)| *most);
        assert!(seeds.len() <= most, "{class:?} in {} cases, of which {most} were known: {seeds:?}", seeds.len());
    }
}

/// A kernel sends the same to the same peer each time.
pub fn agrees_with_itself<C: Case>() {
    let Some(kernel) = kernel() else { return };
    for seed in 1..=20 {
        let play = || C::new(seed).play(Player::Linux, &kernel).expect("it runs");
        let (first, second) = (play(), play());
        assert!(!first.is_empty(), "case {seed} has no packets");
        assert!(differences(&first, &second).is_empty(), "case {seed}");
    }
}
