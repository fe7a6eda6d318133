//! Estimate of the memory that a scenario takes.
//!
//! It is an upper bound for transfers that fill their windows; tests compare it with measurements (`tests/python/test_memory.py`).
//! Queues, buffers and time series may still grow beyond it: the runner watches them.

use super::scenario::TransportSpec;
use std::cell::Cell;

/// Bytes of a link in both directions, described and built.
pub(crate) const LINK: u64 = 14_000;

/// Bytes of the tree that a byte of JSON becomes at most: a list of two makes a node.
pub(crate) const JSON: u64 = 32;

/// Bytes of a guest's process.
pub(crate) const GUEST: u64 = 100_000_000;

/// Bytes that may still be taken.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    most: u64,
    taken: Cell<u64>,
}

impl Budget {
    pub fn new(most: Option<u64>) -> Budget {
        Budget { most: most.unwrap_or(u64::MAX), taken: Cell::new(0) }
    }

    /// Takes memory for `count` things of `bytes` each.
    ///
    /// # Errors
    /// The budget is exceeded; the message begins with `count` and `what`.
    pub fn take(&self, count: u64, what: &str, bytes: u64) -> Result<(), String> {
        let wanted = count.saturating_mul(bytes);
        let taken = self.taken.get().saturating_add(wanted);
        if taken > self.most {
            let (needed, most) = (in_words(taken), in_words(self.most));
            return Err(format!(
                "{count} {what} would bring the run to about {needed} of memory; it may take {most} here"
            ));
        }
        self.taken.set(taken);
        Ok(())
    }
}

/// Returns the bytes of both ends of a flow of this transport.
pub(crate) fn of_flow(transport: &TransportSpec) -> u64 {
    let stacks: u64 = transport.stacks.iter().map(|stack| stack.memory).sum();
    let (connection, stream) = transport.pack().memory;
    let streams = if stream > 0 { transport.parameters.integer("streams") } else { 0 };
    connection + stream * streams + stacks
}

fn in_words(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
