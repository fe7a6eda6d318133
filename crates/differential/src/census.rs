//! Many cases, and in what they differ.

use crate::{Case, ClassOf, Difference};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Results of many cases.
#[derive(Debug)]
pub struct Census<C> {
    /// Number of cases without a difference.
    pub same: usize,
    /// The seeds of those that differ, by class. A case may differ in several.
    pub found: BTreeMap<C, Vec<u64>>,
    /// The seeds of the cases that could not be run, and why.
    pub failed: Vec<(u64, String)>,
}

/// Judges the cases of so many seeds.
pub fn take<C: Case>(seeds: Range<u64>, kernel: &Path) -> Census<ClassOf<C>> {
    let judged: Vec<_> = seeds.into_par_iter().map(|seed| (seed, C::new(seed).judge(kernel))).collect();
    let mut census = Census { same: 0, found: BTreeMap::new(), failed: Vec::new() };
    for (seed, result) in judged {
        match result {
            Ok(list) if list.is_empty() => census.same += 1,
            Ok(list) => {
                list.iter().for_each(|Difference { class, .. }| census.found.entry(*class).or_default().push(seed))
            }
            Err(problem) => census.failed.push((seed, problem)),
        }
    }
    census
}
