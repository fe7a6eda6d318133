//! Columns of `runs`.

use super::{ColumnSpec, Rows, found, row};
use crate::measures::table::{Cell, Row};
use crate::model::stack::Kernel;
use vazao_engine::Time;

/// Table of runs.
pub enum Runs {}

impl Rows for Runs {
    type Row<'a> = RunRow<'a>;
}

/// Source of a row of `runs`.
pub struct RunRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) seed: u64,
    pub(crate) jain: Option<f64>,
    pub(crate) utilisation: f64,
    pub(crate) end: Time,
    pub(crate) events: u64,
    pub(crate) hops: u64,
    pub(crate) kernels: Vec<&'a Kernel>,
}

impl RunRow<'_> {
    fn kernels(&self, what: fn(&Kernel) -> &str) -> Cell {
        let names: Vec<_> = self.kernels.iter().map(|kernel| what(kernel)).collect();
        (!names.is_empty()).then(|| names.join(" + ")).into()
    }

    fn hz(&self) -> Option<u64> {
        let first = self.kernels.first()?;
        self.kernels.iter().all(|other| other.hz == first.hz).then_some(first.hz.into())
    }

    pub(crate) fn cells(&self) -> Row {
        row(RUNS, self, &[])
    }
}

/// Columns of the table with one row a run.
pub const RUNS: &[ColumnSpec<Runs>] = &[
    found(
        "run_id",
        |run| run.id.into(),
        "16 hexadecimal digits: a hash of the resolved scenario, its seed included, and the engine's version",
    ),
    found("seed", |run| run.seed.into(), "the run's seed"),
    found(
        "jain",
        |run| run.jain.into(),
        "Jain's fairness index of the flows' rates: 1 when equal, 1/n when one has all. A flow that completed counts with its \
         goodput, any other with what it got over all the time it had",
    ),
    found("utilisation", |run| run.utilisation.into(), "of the busiest direction of a link (see links)"),
    found("sim_s", |run| run.end.as_secs().into(), "simulated time at the end of the run"),
    found("events", |run| run.events.into(), "events handled, those of watching (queue samples) not counted"),
    found("packet_hops", |run| run.hops.into(), "times a packet crossed a link"),
    found(
        "kernel",
        |run| run.kernels(|kernel| &kernel.version),
        "the version of the guests' Linux; NULL without guests, as the next three",
    ),
    found("kernel_config", |run| run.kernels(|kernel| &kernel.config), "digest of its configuration fragment"),
    found("kernel_sha256", |run| run.kernels(|kernel| &kernel.digest), "digest of its executable"),
    found("kernel_hz", |run| run.hz().into(), "its timer ticks a second"),
];
