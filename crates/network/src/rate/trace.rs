use super::{Service, Variation, Vary, fnv1a};
use crate::impairment::{Outage, any_at};
use std::sync::Arc;
use vazao_engine::registry::{Entry, Kind, ParameterError, parameters};
use vazao_engine::{RandomStream, Rate};

/// Name of a trace that is no file.
const SYNTHETIC: &str = "cellular";

parameters! {
    struct Settings {
        trace: String = Kind::Text, "the file, beside the scenario's; \"cellular\" is a synthetic one";
        seed: Option<u64> = Kind::Integer(0, 1 << 53), "",
            "which synthetic one, 1 unless given; a file has none";
    }
}

pub(super) const ENTRY: Entry<Vary> = Entry {
    name: "trace",
    aliases: &["mahimahi", SYNTHETIC],
    title: "Delivery trace",
    source: "Winstein, Sivaraman, Balakrishnan, NSDI 2013; mahimahi's format",
    help: "rate = { trace = \"file\" }: a millisecond a line, each an instant at which 1500 B may pass, or else do not",
    parameters: Settings::PARAMETERS,
    build: |p, read_file| {
        let Settings { trace: name, seed } = p.into();
        let refuse = |problem: String| ParameterError::new(&["trace"], problem);
        let opportunities = if name == SYNTHETIC {
            Opportunities::cellular(seed.unwrap_or(1))
        } else {
            if seed.is_some() {
                let problem = "has no effect on a file, only on \"cellular\"; leave it out";
                return Err(ParameterError::new(&["seed"], problem));
            }
            let text = read_file(&name).map_err(|problem| refuse(format!("{name:?}: {problem}")))?;
            Opportunities::parse(&text).map_err(|(line, problem)| refuse(format!("{name}:{line}: {problem}")))?
        };
        Ok((opportunities.mean(), Variation::Trace { name, seed, opportunities }))
    },
};

/// Bytes that each opportunity of a trace delivers.
const OPPORTUNITY: u32 = 1500;
const MS: u64 = 1_000_000;

/// A link recorded as opportunities to deliver (Winstein, Sivaraman, Balakrishnan, *Stochastic forecasts achieve high
/// throughput and low delay over cellular networks*, NSDI 2013; the format is mahimahi's): a list of milliseconds, each an
/// instant at which 1500 bytes may pass. A larger packet takes several, small ones share one, and what is not used at its
/// instant is lost. At its end the list begins anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities(Arc<[u64]>);

impl Opportunities {
    /// Reads a trace: one whole number of milliseconds a line, none less than the one before.
    ///
    /// # Errors
    /// The line, counted from 1, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Opportunities, (usize, String)> {
        let mut times: Vec<u64> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let refuse = |problem: &str| (number + 1, format!("{line:?} {problem}"));
            // A file that is no trace may hold anything: none of it is repeated.
            let no_number = |_| (number + 1, "is not a whole number of milliseconds".to_owned());
            let ms: u64 = line.parse().map_err(no_number)?;
            if ms > 86_400_000 {
                return Err(refuse("is more than a day"));
            }
            if times.last().is_some_and(|last| ms < *last) {
                return Err(refuse("is less than the line before it"));
            }
            times.push(ms);
        }
        match times.last() {
            None => Err((1, "there is no opportunity in it".into())),
            Some(0) => Err((times.len(), "the last millisecond is 0, but it is how long the trace lasts".into())),
            Some(_) => Ok(Opportunities(times.into())),
        }
    }

    /// Returns a synthetic cellular downlink of a minute: opportunities come at random (Poisson) with a rate that moves
    /// each 20 ms, its logarithm an autoregressive process around 9 Mbit/s with the spread of a factor 2.5 and a memory
    /// of 2 s, and that is nothing for 250 ms on average once in 20 s. Of the same seed it is the same.
    pub fn cellular(seed: u64) -> Opportunities {
        const STEP_MS: u64 = 20;
        let mut stream = RandomStream::new(seed, "trace/cellular");
        let memory = libm::exp(-(STEP_MS as f64) / 2_000.0);
        let (mut level, mut outage, mut times) = (0.0, 0u64, Vec::new());
        for step in 0..60_000 / STEP_MS {
            level = memory * level + libm::sqrt(1.0 - memory * memory) * stream.normal();
            let begins = stream.uniform() < STEP_MS as f64 / 20_000.0;
            let length = stream.exponential(250.0) as u64;
            outage = outage.saturating_sub(STEP_MS).max(if begins { length } else { 0 });
            // Packets of 1500 B a millisecond: 0.75 are 9 Mbit/s.
            let rate = 0.75 * libm::exp(0.916 * level);
            let mut at = stream.exponential(1.0 / rate);
            while at < STEP_MS as f64 {
                if outage == 0 {
                    times.push(step * STEP_MS + at as u64);
                }
                at += stream.exponential(1.0 / rate);
            }
        }
        times.push(60_000);
        Opportunities(times.into())
    }

    /// Returns the milliseconds.
    pub fn times(&self) -> &[u64] {
        &self.0
    }

    /// Nanoseconds until it begins anew.
    fn period(&self) -> u64 {
        self.0[self.0.len() - 1] * MS
    }

    /// Returns the average rate.
    pub fn mean(&self) -> Rate {
        let bits = self.0.len() as u128 * u128::from(OPPORTUNITY) * 8_000_000_000;
        Rate::from_bps((bits / u128::from(self.period())).max(1) as u64)
    }

    /// Returns the first opportunity at `time` or later: how many came before it since the start.
    fn number_at(&self, time: u64) -> u64 {
        let (cycle, within) = (time / self.period(), time % self.period());
        // The last of a cycle and the start of the next are one instant: the former comes first.
        if within == 0 && cycle > 0 {
            let last = self.0.partition_point(|ms| ms * MS < self.period());
            return (cycle - 1) * self.0.len() as u64 + last as u64;
        }
        cycle * self.0.len() as u64 + self.0.partition_point(|ms| ms * MS < within) as u64
    }

    /// Returns the time of an opportunity.
    fn time_of(&self, number: u64) -> u64 {
        let length = self.0.len() as u64;
        number / length * self.period() + self.0[(number % length) as usize] * MS
    }

    /// Returns a digest of it, for the record of what was run.
    pub fn digest(&self) -> u64 {
        fnv1a(self.0.iter().copied())
    }
}

/// Service that sends at the opportunities of a trace.
#[derive(Clone, Debug)]
pub struct Trace {
    trace: Opportunities,
    outages: Vec<Outage>,
    /// The opportunity in use, and what is left of it.
    number: u64,
    left: u32,
}

impl Trace {
    /// Creates a link that follows `trace`; in outages opportunities pass.
    pub fn new(trace: Opportunities, outages: Vec<Outage>) -> Trace {
        Trace { trace, outages, number: 0, left: OPPORTUNITY }
    }

    fn advance(&mut self, number: u64) {
        self.number = number;
        self.left = OPPORTUNITY;
    }

    /// Passes opportunities that fall into outages. An outage that lasts for good has no end.
    fn skip_outages(&mut self) -> Option<u64> {
        loop {
            let time = self.trace.time_of(self.number);
            match any_at(&self.outages, time) {
                (false, _) => return Some(time),
                (true, u64::MAX) => return None,
                (true, end) => self.advance(self.trace.number_at(end)),
            }
        }
    }
}

impl Service for Trace {
    fn send(&mut self, now: u64, bytes: u32) -> (u64, u64) {
        if self.trace.time_of(self.number) < now {
            self.advance(self.trace.number_at(now));
        }
        let (mut rest, mut start) = (bytes, None);
        loop {
            let Some(time) = self.skip_outages() else { return (super::NEVER, super::NEVER) };
            if self.left > 0 {
                let part = rest.min(self.left);
                start.get_or_insert(time);
                self.left -= part;
                rest -= part;
                if rest == 0 {
                    return (start.unwrap_or(time), time);
                }
            }
            self.advance(self.number + 1);
        }
    }

    fn capacity(&self, until: u64) -> f64 {
        let all = 0..self.trace.number_at(until);
        let open = match self.outages.is_empty() {
            true => all.end,
            false => all.filter(|number| !any_at(&self.outages, self.trace.time_of(*number)).0).count() as u64,
        };
        open as f64 * 8.0 * f64::from(OPPORTUNITY)
    }
}
