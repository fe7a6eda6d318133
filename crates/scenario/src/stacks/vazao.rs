//! Our own protocols.

use super::has_no_programs;
use crate::model::stack::{Mechanism, Stack};

pub(super) const ENTRY: Stack = Stack { unfit: has_no_programs, ..Stack::new("vazao", "Vazão", Mechanism::Machine) };
