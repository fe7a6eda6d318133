//! Memory that runs may take: what the machine has left, or what `VAZAO_MEMORY` says.

use crate::{InputError, RunError};
use pyo3::prelude::*;
use std::fs::read_to_string;
use vazao_engine::Bytes;

/// Names the most memory that this process may have, as in `"4 GB"`.
const VARIABLE: &str = "VAZAO_MEMORY";

/// Percentage of the machine's free memory that may be taken.
const SHARE: u64 = 80;

/// The most bytes that this process may have, and how many it had when that was found out.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Most bytes; `None`: unknown.
    most: Option<u64>,
    taken: u64,
}

impl Limit {
    /// Sets the limit that holds from now on. Raises `ScenarioError` for a variable that is no size.
    pub fn now() -> PyResult<Limit> {
        let taken = resident().unwrap_or(0);
        let most = match std::env::var(VARIABLE) {
            Ok(text) => match text.parse::<Bytes>() {
                Ok(bytes) => Some(bytes.get()),
                Err(problem) => return Err(InputError::new_err(format!("{VARIABLE}: {problem}"))),
            },
            Err(_) => available().map(|free| taken + free / 100 * SHARE),
        };
        Ok(Limit { most, taken })
    }

    /// Bytes that could still be taken then.
    pub fn left(self) -> Option<u64> {
        self.most.map(|most| most.saturating_sub(self.taken))
    }

    /// Raises `RunError` when more is taken.
    pub fn check(self) -> PyResult<()> {
        match (self.most, resident()) {
            (Some(most), Some(taken)) if taken > most => {
                let [taken, most] = [taken, most].map(|bytes| bytes as f64 / 1e9);
                Err(RunError::new_err(format!(
                    "stopped at {taken:.1} GB of memory, of which {most:.1} GB may be taken: queues, buffers or time series \
                     of a run grow too large; run fewer at a time (--jobs), make them smaller, or say {VARIABLE}=\"64 GB\""
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Bytes of memory that may still be taken, None where nobody says.
#[pyfunction]
pub fn memory_left() -> PyResult<Option<u64>> {
    Ok(Limit::now()?.left())
}

/// Bytes of memory that this process has.
fn resident() -> Option<u64> {
    Some(field(&read_to_string("/proc/self/status").ok()?, "VmRSS:")? * 1024)
}

/// Bytes that the machine, or the group of processes that this one belongs to, has left.
fn available() -> Option<u64> {
    let machine = field(&read_to_string("/proc/meminfo").ok()?, "MemAvailable:")? * 1024;
    let group = |file: &str| read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse::<u64>().ok();
    let left = group("memory.max").zip(group("memory.current")).map(|(most, taken)| most.saturating_sub(taken));
    Some(left.map_or(machine, |left| left.min(machine)))
}

/// Returns the number behind its name.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}
