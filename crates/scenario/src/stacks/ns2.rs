//! ns-2, another simulator: a program of its own that runs the whole scenario.

use super::has_no_programs;
use crate::model::stack::{Mechanism, Play, Stack};

/// Registry entry. The translation of a scenario says what ns-2 accepts of it.
pub(super) const ENTRY: Stack = Stack {
    transports: Some(&[Play::new("tcp"), Play::new("sctp")]),
    unfit: has_no_programs,
    ..Stack::new("ns2", "ns-2", Mechanism::Simulator)
};
