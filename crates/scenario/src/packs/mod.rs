//! Transport protocols, one a folder or a page: whatever is known of one protocol is there.

mod dccp;
pub(crate) mod library;
pub(crate) mod mptcp;
pub(crate) mod quic;
pub(crate) mod sctp;
pub(crate) mod tcp;
pub(crate) mod udp;

use crate::document::ScenarioError;
use crate::document::reader::Table;
use crate::model::address::initial_sequences;
use crate::model::scenario::Scenario;
use crate::model::stack;
use crate::model::transport::Protocol;
use std::iter::repeat;
use vazao_engine::registry::{Entry, Parameter};
use vazao_engine::{Duration, Time};

/// All transports.
pub const TRANSPORTS: &[Entry<Protocol>] =
    &[tcp::ENTRY, udp::ENTRY, dccp::ENTRY, sctp::ENTRY, mptcp::ENTRY, quic::ENTRY];

/// Two lists of parameters as one.
const fn join<const N: usize>(first: &[Parameter], second: &[Parameter]) -> [Parameter; N] {
    let mut all = [stack::PARAMETERS[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

/// What is said of a setting that the kernel makes itself.
const KERNEL: &str = "the kernel's own decision with stack = \"linux\"; leave it out, or see sysctl and module";

/// Refuses those of `all` parameters that a stack cannot be told: a setting that nobody would heed is a mistake.
fn refuse_own(table: &Table, all: &[Parameter], told: &[&str], whose: &str) -> Result<(), ScenarioError> {
    for parameter in all.iter().filter(|parameter| !told.contains(&parameter.name)) {
        let problem = format!("is {whose}. What a guest can be told: {}", told.join(", "));
        table.error_at(parameter.name, problem).map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// What both ends of a flow begin with: a number for each that decides what is left to chance.
fn initial(scenario: &Scenario, number: usize) -> [u32; 2] {
    initial_sequences(scenario.seed, number)
}

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;

/// The windows of an endpoint's paths, as means over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Means {
    since: Time,
    paths: Vec<Mean>,
}

/// A mean over time.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    area: f64,
    value: u64,
}

impl Means {
    /// Takes in the windows as they are `now`: those of before held since the last call.
    #[inline]
    pub fn watch(&mut self, now: Time, windows: impl ExactSizeIterator<Item = u64>) {
        let span = now.since(self.since).as_nanos() as f64;
        self.since = now;
        self.paths.resize(windows.len(), Mean::default());
        for (mean, window) in self.paths.iter_mut().zip(windows) {
            mean.area += mean.value as f64 * span;
            mean.value = window;
        }
    }

    /// The mean of each over `span`, if that is any time at all; of paths that were never watched, none.
    pub fn over(&self, span: Duration) -> impl Iterator<Item = Option<f64>> {
        let mean = move |mean: &Mean| (span > Duration::ZERO).then(|| mean.area / span.as_nanos() as f64);
        self.paths.iter().map(mean).chain(repeat(None))
    }
}

/// A round-trip time, once one was measured.
fn measured(span: Duration) -> Option<Duration> {
    Some(span).filter(|&span| span > Duration::ZERO)
}

/// A slow-start threshold, once one was set.
fn set(threshold: u64) -> Option<u64> {
    Some(threshold).filter(|&threshold| threshold < u64::MAX)
}
