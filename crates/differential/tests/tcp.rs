//! Our TCP beside the kernel's before the same peers. Skipped where no kernel is named by VAZAO_KERNEL.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use vazao_differential::compare::{Class, differences};
use vazao_differential::{Case, Player};

const CASES: u64 = 200;

/// In how many of the cases ours first differs in what: a census of what is not mended yet (docs/linux-guests.md names the
/// mechanisms), and a bound that only falls. A case may differ in several.
const KNOWN: &[(Class, usize)] = &[
    (Class::Count, 2),
    (Class::Time, 36),
    (Class::Push, 2),
    (Class::Sequence, 5),
    (Class::Length, 18),
    (Class::Acknowledgment, 11),
    (Class::Window, 200),
    (Class::Echo, 3),
    (Class::Blocks, 3),
];

/// The kernel to compare with, if there is one.
fn kernel() -> Option<PathBuf> {
    let kernel = std::env::var_os("VAZAO_KERNEL").map(PathBuf::from).filter(|kernel| kernel.is_file());
    if kernel.is_none() {
        println!("skipped: VAZAO_KERNEL names no kernel; build one with `vazao kernel build` and name its file");
    }
    kernel
}

#[test]
fn our_segments_are_the_kernels() {
    let Some(kernel) = kernel() else { return };
    let mut found: BTreeMap<Class, Vec<u64>> = BTreeMap::new();
    for seed in 1..=CASES {
        let differences = Case::new(seed).judge(&kernel).unwrap_or_else(|problem| panic!("case {seed}: {problem}"));
        differences.iter().for_each(|difference| found.entry(difference.class).or_default().push(seed));
    }
    for (class, seeds) in found {
        let known = KNOWN.iter().find(|(one, _)| *one == class).map_or(0, |(_, most)| *most);
        assert!(seeds.len() <= known, "{class:?} in {} cases, of which {known} were known: {seeds:?}", seeds.len());
    }
}

/// The kernel sends the same to the same peer each time: what is compared is not chance.
#[test]
fn a_kernel_agrees_with_itself() {
    let Some(kernel) = kernel() else { return };
    for seed in 1..=20 {
        let play = || Case::new(seed).play(Player::Linux, &kernel).expect("it runs");
        let (first, second) = (play(), play());
        assert!(!first.is_empty(), "case {seed} has no segments");
        assert_eq!(differences(&first, &second), []);
    }
}
