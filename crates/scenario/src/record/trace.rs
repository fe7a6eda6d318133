//! Recording of time series.

use crate::endpoint::{Body, EndId, Notice};
use crate::measures::series::{MEASURES, Measure, PathState, SenderState, Source};
use crate::model::scenario::TraceSpec;
use crate::record::samples::Sample;
use crate::record::turns::Turns;
use vazao_application::Progress;
use vazao_engine::{Duration, Time};
use vazao_network::Network;
use vazao_transport::common::Limit;

/// Interval of queue samples unless one is given.
const QUEUE_INTERVAL: Duration = Duration::from_millis(1);

/// Recorder of a [`TraceSpec`]: every changed value; with an interval, the least and the greatest value of each, so that a
/// sawtooth shorter than the interval still shows its height.
pub(crate) struct Trace {
    /// Measures of senders, with their numbers among all measures.
    of_senders: Vec<(u32, &'static Measure)>,
    /// Whether one of these is of each path, and whether one needs the state of these.
    of_paths: bool,
    of_states: bool,
    of_visits: Vec<(u32, &'static Measure)>,
    of_queues: Option<u32>,
    notices: Option<u32>,
    messages: Option<u32>,
    limits: Option<u32>,
    every: Duration,
    flows: Vec<FlowTrace>,
    queues: Vec<u64>,
    pub turns: Turns,
}

/// Series of a flow's measures.
#[derive(Clone, Debug)]
struct FlowTrace {
    /// Time of the last observation.
    seen: Time,
    /// End of the current interval.
    end: Time,
    /// Series of each path, one for each measure of senders.
    series: Vec<Vec<Series>>,
}

/// Series of one measure of one flow. Missing values are NaN.
#[derive(Clone, Copy, Debug)]
struct Series {
    /// Sample recorded last.
    recorded: (Time, f64),
    /// Least, greatest and latest value of the current interval.
    low: (Time, f64),
    high: (Time, f64),
    latest: f64,
}

impl Series {
    const EMPTY: Series = {
        let nothing = (Time::ZERO, f64::NAN);
        Series { recorded: nothing, low: nothing, high: nothing, latest: f64::NAN }
    };

    #[inline]
    fn see(&mut self, now: Time, value: f64) {
        self.latest = value;
        if self.low.1.is_nan() || value < self.low.1 {
            self.low = (now, value);
        }
        if self.high.1.is_nan() || value > self.high.1 {
            self.high = (now, value);
        }
    }

    /// Ends the interval and records its values.
    fn close(&mut self, mut record: impl FnMut(Time, f64)) {
        let (first, second) = if self.low.0 <= self.high.0 { (self.low, self.high) } else { (self.high, self.low) };
        for (time, value) in [first, second] {
            if !value.is_nan() && value != self.recorded.1 {
                self.recorded = (time, value);
                record(time, value);
            }
        }
        self.low.1 = f64::NAN;
        self.high.1 = f64::NAN;
    }
}

impl Trace {
    pub fn new(spec: &TraceSpec, flows: usize, links: usize) -> Trace {
        let all = (0..).zip(MEASURES).filter(|(_, measure)| spec.measures.contains(&measure.name));
        let of = |kind: fn(&Source) -> bool| all.clone().filter(move |(_, measure)| kind(&measure.source));
        let fresh = FlowTrace { seen: Time::ZERO, end: Time::ZERO, series: Vec::new() };
        Trace {
            of_senders: of(|source| matches!(source, Source::Path(_) | Source::Repair(_) | Source::Sender(_)))
                .collect(),
            of_paths: of(|source| matches!(source, Source::Path(_) | Source::Repair(_))).next().is_some(),
            of_states: of(|source| matches!(source, Source::Path(_))).next().is_some(),
            of_visits: of(|source| matches!(source, Source::Visit(_))).collect(),
            of_queues: of(|source| matches!(source, Source::Queue)).map(|(number, _)| number).next(),
            notices: of(|source| matches!(source, Source::Notices)).map(|(number, _)| number).next(),
            messages: of(|source| matches!(source, Source::Messages)).map(|(number, _)| number).next(),
            limits: of(|source| matches!(source, Source::Limit)).map(|(number, _)| number).next(),
            every: spec.every.unwrap_or(Duration::ZERO),
            flows: vec![fresh; flows],
            queues: vec![u64::MAX; 2 * links],
            turns: Turns::default(),
        }
    }

    /// Returns whether there is a measure of senders.
    pub fn sees_senders(&self) -> bool {
        !self.of_senders.is_empty()
    }

    /// Returns the interval of queue samples, if there are any.
    pub fn queue_interval(&self) -> Option<Duration> {
        self.of_queues.map(|_| if self.every > Duration::ZERO { self.every } else { QUEUE_INTERVAL })
    }

    /// Returns whether notifications are recorded, or latencies of messages.
    pub fn hears_ends(&self) -> bool {
        self.notices.is_some() || self.messages.is_some()
    }

    /// Observes the sender of a flow.
    pub fn on_sender(&mut self, now: Time, number: u32, sender: &dyn SenderState) {
        if self.every > Duration::ZERO && now >= self.flows[number as usize].end {
            self.close(number);
            self.flows[number as usize].end = now + self.every;
        }
        let flow = &mut self.flows[number as usize];
        flow.seen = now;
        // Measures of the sender as a whole are recorded with path 0 and need no state of a path: a full mesh has 25.
        let paths = if self.of_paths { sender.paths() } else { sender.paths().min(1) };
        if flow.series.len() != paths {
            flow.series.resize(paths, vec![Series::EMPTY; self.of_senders.len()]);
        }
        for (path, all) in flow.series.iter_mut().enumerate() {
            let state = if self.of_states { sender.path(path) } else { PathState::default() };
            for (series, (_, measure)) in all.iter_mut().zip(&self.of_senders) {
                match measure.source {
                    Source::Path(value) => series.see(now, value(&state).unwrap_or(f64::NAN)),
                    Source::Repair(value) => series.see(now, sender.repair(path).as_ref().map_or(f64::NAN, value)),
                    Source::Sender(value) if path == 0 => series.see(now, value(sender)),
                    _ => {}
                }
            }
        }
        if self.every == Duration::ZERO {
            self.close(number);
        }
    }

    /// Records a flow's interval.
    fn close(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        for (path, series) in flow.series.iter_mut().enumerate() {
            for (series, &(measure, _)) in series.iter_mut().zip(&self.of_senders) {
                let turns = &mut self.turns;
                series.close(|time, value| {
                    let path = path as u8;
                    turns.push(Sample { time, measure, source: number, path, value, event: None });
                });
            }
        }
    }

    /// Ends the recording: the last value still holds at the last observation of its flow.
    pub fn finish(&mut self) {
        for number in 0..self.flows.len() as u32 {
            self.close(number);
            let FlowTrace { seen, series, .. } = &self.flows[number as usize];
            for (path, series) in series.iter().enumerate() {
                for (series, &(measure, _)) in series.iter().zip(&self.of_senders) {
                    let (recorded, value) = (series.recorded, series.latest);
                    if !value.is_nan() && (recorded.0 < *seen || recorded.1 != value) {
                        let path = path as u8;
                        self.turns.push(Sample { time: *seen, measure, source: number, path, value, event: None });
                    }
                }
            }
        }
    }

    /// Records a notification to an end of a flow.
    pub fn on_notice(&mut self, now: Time, (flow, side): EndId, notice: Notice) {
        if let Some(measure) = self.notices {
            self.turns.push(Sample {
                time: now,
                measure,
                source: flow as u32,
                path: notice.path,
                value: f64::from(notice.number),
                event: Some((side as u8, notice.code)),
            });
        }
    }

    /// Records that from `since` on something else limits a flow's sender.
    pub fn on_limit(&mut self, since: Time, flow: u32, limit: Limit) {
        if let Some(measure) = self.limits {
            let value = f64::from(limit as u8);
            self.turns.push(Sample { time: since, measure, source: flow, path: 0, value, event: None });
        }
    }

    /// Records the latency of a message that has arrived.
    pub fn on_message(&mut self, now: Time, flow: u32, latency: Duration) {
        if let Some(measure) = self.messages {
            let value = latency.as_secs();
            self.turns.push(Sample { time: now, measure, source: flow, path: 0, value, event: None });
        }
    }

    /// Records the progress of a page or a video.
    pub fn on_progress(&mut self, now: Time, flow: usize, progress: Progress) {
        for &(measure, what) in &self.of_visits {
            if let Source::Visit(value) = what.source
                && let Some(value) = value(&progress)
            {
                let source = flow as u32;
                self.turns.push(Sample { time: now, measure, source, path: 0, value, event: None });
            }
        }
    }

    /// Records the queues that have changed. Returns whether any packet waits.
    pub fn on_links(&mut self, now: Time, network: &mut Network<Body>) -> bool {
        let Some(measure) = self.of_queues else { return false };
        let mut is_any_waiting = false;
        for (link, old) in self.queues.iter_mut().enumerate() {
            let bytes = network.queue_bytes(link as u32, now);
            is_any_waiting |= bytes > 0;
            if bytes != *old {
                *old = bytes;
                let (source, value) = (link as u32, bytes as f64);
                self.turns.push(Sample { time: now, measure, source, path: 0, value, event: None });
            }
        }
        is_any_waiting
    }
}
