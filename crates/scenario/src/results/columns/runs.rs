//! Columns of `runs`.

use super::columns;
use crate::measures::table::Cell;
use crate::model::guest::Kernel;
use vazao_engine::Time;

/// Source of a row of `runs`.
pub struct RunRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) seed: u64,
    pub(crate) jain: Option<f64>,
    /// Length of the window of `measure` in seconds, and the fairness index in it.
    pub(crate) measured: Option<(f64, Option<f64>)>,
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
}

columns! {
    /// Columns of the table with one row a run.
    RUNS, Runs, RunRow: run =>
    "run_id" = run.id,
        "16 hexadecimal digits: a hash of the resolved scenario, its seed included, and the engine's version";
    "seed" = run.seed, "the run's seed";
    "jain" = run.jain,
        "Jain's fairness index of the flows' rates: 1 when equal, 1/n when one has all. A flow that completed counts with its \
         goodput, any other with what it got over all the time it had";
    "measured_s" = run.measured.map(|(seconds, _)| seconds),
        "length of the window of the scenario's `measure`, as far as the run went; NULL without one, or if the run ended before it";
    "measured_jain" = run.measured.and_then(|(_, jain)| jain),
        "Jain's fairness index of the flows' `measured_goodput_bps`";
    "utilisation" = run.utilisation, "of the busiest direction of a link (see links)";
    "sim_s" = run.end.as_secs(), "simulated time at the end of the run";
    "events" = run.events, "events handled, those of watching (queue samples) not counted";
    "packet_hops" = run.hops, "times a packet crossed a link";
    "kernel" = run.kernels(|kernel| &kernel.version),
        "the version of the guests' Linux; NULL without guests, as the next three";
    "kernel_config" = run.kernels(|kernel| &kernel.config), "digest of its configuration fragment";
    "kernel_sha256" = run.kernels(|kernel| &kernel.digest), "digest of its executable";
    "kernel_hz" = run.hz(), "its timer ticks a second";
}
