//! Regular sampling of links.

use crate::world::probe::Probe;
use crate::world::{Stopped, World};
use std::sync::atomic::{AtomicBool, Ordering};
use vazao_engine::{Duration, Time};

/// Schedule of the samples.
#[derive(Clone, Copy)]
pub(crate) struct Sampler {
    next: Time,
    interval: Duration,
}

impl<P: Probe> World<P> {
    /// Samples every link once an `interval`.
    pub fn sample_links(&mut self, interval: Duration) {
        self.sampler = Some(Sampler { next: Time::ZERO, interval });
    }

    /// Takes the samples before `time`, the next event. Sampling is no event of its own, which would keep a finished
    /// run going.
    #[inline]
    pub fn sample_until(&mut self, time: Time, stop: &AtomicBool) -> Result<(), Stopped> {
        match self.sampler {
            Some(sampler) if sampler.next < time => self.sample(sampler, time, stop),
            _ => Ok(()),
        }
    }

    #[cold]
    fn sample(&mut self, mut sampler: Sampler, time: Time, stop: &AtomicBool) -> Result<(), Stopped> {
        while sampler.next < time {
            if stop.load(Ordering::Relaxed) {
                return Err(Stopped::Cancelled);
            }
            let is_any_waiting = self.probe.on_links(sampler.next, &mut self.network);
            // Queues that are empty stay so until the next event.
            let (left, interval) = (time.since(sampler.next).as_nanos(), sampler.interval.as_nanos());
            let intervals = if is_any_waiting { 1 } else { left.div_ceil(interval) };
            sampler.next = sampler.next.saturating_add(Duration::from_nanos(intervals.saturating_mul(interval)));
        }
        self.sampler = Some(sampler);
        Ok(())
    }
}
