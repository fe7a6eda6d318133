use super::{Service, Variation, Vary};
use crate::impairment::{Outage, any_at};
use vazao_engine::registry::{Entry, Kind, ParameterError, Parameters, parameters};
use vazao_engine::{Duration, Rate};

parameters! {
    struct Step {
        at: Duration = Kind::Duration(Duration::ZERO, Duration::from_secs(366 * 86_400)), "when the rate begins";
        rate: Rate = Kind::Rate, "from then on";
    }

    struct Settings {
        steps: Vec<Parameters> = Kind::Tables(Step::PARAMETERS), "tables with at and rate: from when on which rate";
        repeat: Option<Duration> = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(3600)), "",
            "after how long it begins anew; without it the last rate lasts";
    }
}

pub(super) const ENTRY: Entry<Vary> = Entry {
    name: "schedule",
    aliases: &[],
    title: "Rate schedule",
    source: "scripted",
    help: "rate = [{ at = \"0 s\", rate = \"10 Mbps\" }, …], or a table with these as steps and repeat",
    parameters: Settings::PARAMETERS,
    build: |p, _| {
        let Settings { steps, repeat } = p.into();
        let steps: Vec<_> = steps.iter().map(Step::from).map(|step| (step.at.as_nanos(), step.rate)).collect();
        let repeat = repeat.map(Duration::as_nanos);
        check(&steps, repeat)?;
        Ok((Schedule::mean(&steps, repeat), Variation::Schedule { steps, repeat }))
    },
};

/// Checks that there are steps, the first at 0 and each later than the one before, all within a period.
fn check(steps: &[(u64, Rate)], repeat: Option<u64>) -> Result<(), ParameterError> {
    let refuse = |path: &[&str], problem: &str| Err(ParameterError::new(path, problem));
    let Some((first, _)) = steps.first() else {
        return refuse(&["steps"], "is empty; write [{ at = \"0 s\", rate = \"10 Mbps\" }]");
    };
    if *first > 0 {
        return refuse(&["steps", "0", "at"], "is not \"0 s\"; the first rate must hold from the start");
    }
    if let Some(i) = (1..steps.len()).find(|&i| steps[i].0 <= steps[i - 1].0) {
        return refuse(&["steps", &i.to_string(), "at"], "is not later than the step before it");
    }
    if repeat.is_some_and(|period| period <= steps[steps.len() - 1].0) {
        return refuse(&["steps"], "repeats before its last step; write a longer repeat");
    }
    Ok(())
}

/// Rate that changes at given times, and is zero during outages. Exact: the time that a packet takes is the integral of
/// the rate over it, and the bits that a nanosecond has too many are carried to the next packet.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Start and value of each rate, in order; the first starts at 0.
    steps: Vec<(u64, u64)>,
    /// After how long it begins anew.
    repeat: Option<u64>,
    outages: Vec<Outage>,
    busy: u64,
    /// Bits times nanoseconds a second of the last packet that are still to be sent when it has been.
    carry: u128,
}

impl Schedule {
    /// Creates a schedule of rates from `steps`' times in nanoseconds on, the first of which is 0, in order; anew after
    /// each `repeat`.
    pub fn new(steps: Vec<(u64, Rate)>, repeat: Option<u64>, outages: Vec<Outage>) -> Schedule {
        assert!(steps.first().is_some_and(|(at, _)| *at == 0), "a schedule begins at 0");
        let steps = steps.into_iter().map(|(at, rate)| (at, rate.as_bps())).collect();
        Schedule { steps, repeat, outages, busy: 0, carry: 0 }
    }

    /// Returns the mean rate: over a period if it repeats, else the last rate, as that lasts.
    pub fn mean(steps: &[(u64, Rate)], repeat: Option<u64>) -> Rate {
        let Some(period) = repeat else { return steps.last().map_or(Rate::default(), |(_, rate)| *rate) };
        let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([period]);
        let bits: u128 =
            steps.iter().zip(ends).map(|((at, rate), end)| u128::from(rate.as_bps()) * u128::from(end - at)).sum();
        Rate::from_bps((bits / u128::from(period)).max(1) as u64)
    }

    /// Returns the rate at a time, and until when it stays.
    fn at(&self, time: u64) -> (u64, u64) {
        let cycle = self.repeat.map_or(0, |period| time / period * period);
        let index = self.steps.partition_point(|(at, _)| *at <= time - cycle) - 1;
        let end = self.steps.get(index + 1).map(|(at, _)| *at).or(self.repeat).map_or(u64::MAX, |at| cycle + at);
        let (down, change) = any_at(&self.outages, time);
        (if down { 0 } else { self.steps[index].1 }, end.min(change))
    }

    /// Returns when `work` (bits times nanoseconds a second) that is begun at `time` is done; the rest of it, less than a
    /// nanosecond's, comes too.
    fn finish(&self, mut time: u64, mut work: u128) -> (u64, u128) {
        loop {
            let (rate, until) = self.at(time);
            let possible = u128::from(rate) * u128::from(until - time);
            if until == u64::MAX && rate == 0 {
                // Nothing is ever sent again.
                return (super::NEVER, 0);
            }
            if rate > 0 && work < possible {
                return (time + (work / u128::from(rate)) as u64, work % u128::from(rate));
            }
            work -= possible;
            time = until;
        }
    }
}

impl Service for Schedule {
    fn send(&mut self, now: u64, bytes: u32) -> (u64, u64) {
        let start = if self.busy >= now {
            self.busy
        } else {
            self.carry = 0;
            now
        };
        if start >= super::NEVER {
            return (super::NEVER, super::NEVER);
        }
        (self.busy, self.carry) = self.finish(start, self.carry + u128::from(bytes) * 8_000_000_000);
        (start, self.busy)
    }

    fn capacity(&self, until: u64) -> f64 {
        let (mut time, mut bits) = (0, 0.0);
        while time < until {
            let (rate, change) = self.at(time);
            let end = change.min(until);
            bits += rate as f64 * (end - time) as f64 / 1e9;
            time = end;
        }
        bits
    }
}
