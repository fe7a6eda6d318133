//! Samples in the order of events: those of ends that are [ahead of the run](crate::world::ahead) wait for their turn.

use crate::record::samples::Sample;
use crate::world::probe::Moment;

/// Samples of a run.
#[derive(Default)]
pub(crate) struct Turns {
    /// Samples whose turn has come.
    pub samples: Vec<Sample>,
    /// Place of the event that is being observed, where ends may be ahead of the run.
    pub moment: Option<Moment>,
    waiting: Vec<(Moment, Sample)>,
}

impl Turns {
    /// Adds a sample of the event that is being observed.
    pub fn push(&mut self, sample: Sample) {
        match self.moment {
            Some(moment) => self.waiting.push((moment, sample)),
            None => self.samples.push(sample),
        }
    }

    /// Learns that the run has come to an event, or to its end, so that no more samples of earlier ones will come.
    pub fn reach(&mut self, moment: Option<Moment>) {
        self.waiting.sort_by_key(|&(of, _)| of);
        let before = self.waiting.partition_point(|&(of, _)| moment.is_none_or(|moment| of < moment));
        self.samples.extend(self.waiting.drain(..before).map(|(_, sample)| sample));
        if moment.is_none() {
            self.moment = None;
        }
    }
}
