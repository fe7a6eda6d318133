//! Time series of a run.

use crate::measure::SenderState;
use crate::probe::FlowEnd;
use crate::samples::Sample;
use crate::scenario::{MEASURES, TraceSpec};
use crate::world::Body;
use vazao_application::Progress;
use vazao_engine::{Duration, Time};
use vazao_network::Network;
use vazao_transport::sctp::{Notification, Subject};

/// The index of `notifications`, which are events; of `queue`, the one measure of links; of the first of three measures of
/// pages and videos; those before it are of flows' senders.
pub(crate) const NOTIFICATIONS: usize = MEASURES.len() - 1;
pub(crate) const QUEUE: usize = NOTIFICATIONS - 1;
const VISIT: usize = QUEUE - 3;
const FLOW_MEASURES: usize = VISIT;
/// Those before it are of each path of a flow, the others of all of them together.
const PATH_MEASURES: usize = 8;

/// How often queues are looked at when no interval is asked for.
const QUEUE_INTERVAL: Duration = Duration::from_millis(1);

/// Records what a [`TraceSpec`] asks for: a value when it has changed; with an interval, the least and the greatest of
/// each, so that a sawtooth shorter than the interval still shows its height.
#[derive(Debug)]
pub(crate) struct Trace {
    wanted: [bool; MEASURES.len()],
    every: Duration,
    flows: Vec<FlowTrace>,
    queues: Vec<u64>,
    pub samples: Vec<Sample>,
}

/// What is known of a flow's measures, in the order of [`MEASURES`].
#[derive(Clone, Debug)]
struct FlowTrace {
    /// When it was last looked at.
    seen: Time,
    /// When the interval under way ends.
    end: Time,
    /// Of each path.
    series: Vec<[Series; FLOW_MEASURES]>,
}

/// One measure of one flow. Values that do not exist yet are NaN.
#[derive(Clone, Copy, Debug)]
struct Series {
    /// What was recorded last, and when.
    recorded: (Time, f64),
    /// The least and the greatest value of the interval under way, and the latest.
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

    /// Ends the interval: what there is to record of it.
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
        let mut wanted = [false; MEASURES.len()];
        for (wanted, name) in wanted.iter_mut().zip(MEASURES) {
            *wanted = spec.measures.contains(name);
        }
        let fresh = FlowTrace { seen: Time::ZERO, end: Time::ZERO, series: Vec::new() };
        Trace {
            wanted,
            every: spec.every.unwrap_or(Duration::ZERO),
            flows: vec![fresh; flows],
            queues: vec![u64::MAX; 2 * links],
            samples: Vec::new(),
        }
    }

    /// How often queues are to be looked at, if at all.
    pub fn queue_interval(&self) -> Option<Duration> {
        self.wanted[QUEUE].then_some(if self.every > Duration::ZERO { self.every } else { QUEUE_INTERVAL })
    }

    #[inline]
    pub fn on_sender(&mut self, now: Time, number: u32, sender: &impl SenderState) {
        if self.every > Duration::ZERO && now >= self.flows[number as usize].end {
            self.close(number);
            self.flows[number as usize].end = now + self.every;
        }
        let flow = &mut self.flows[number as usize];
        flow.seen = now;
        flow.series.resize(sender.paths(), [Series::EMPTY; FLOW_MEASURES]);
        for (path, series) in flow.series.iter_mut().enumerate() {
            let measures = if path == 0 { FLOW_MEASURES } else { PATH_MEASURES };
            for measure in (0..measures).filter(|&measure| self.wanted[measure]) {
                series[measure].see(now, value(measure, path, sender));
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
            for (measure, series) in series.iter_mut().enumerate().filter(|&(measure, _)| self.wanted[measure]) {
                let samples = &mut self.samples;
                series.close(|time, value| {
                    let (measure, path) = (measure as u32, path as u8);
                    samples.push(Sample { time, measure, source: number, path, value, event: None });
                });
            }
        }
    }

    /// The run is over: the last value still holds when its flow was last seen.
    pub fn finish(&mut self) {
        for number in 0..self.flows.len() as u32 {
            self.close(number);
            let FlowTrace { seen, series, .. } = &self.flows[number as usize];
            for (path, series) in series.iter().enumerate() {
                for (measure, series) in series.iter().enumerate().filter(|&(measure, _)| self.wanted[measure]) {
                    let (recorded, value) = (series.recorded, series.latest);
                    if !value.is_nan() && (recorded.0 < *seen || recorded.1 != value) {
                        let (measure, path) = (measure as u32, path as u8);
                        self.samples.push(Sample { time: *seen, measure, source: number, path, value, event: None });
                    }
                }
            }
        }
    }

    /// An end of a flow is told of something.
    pub fn on_notification(&mut self, now: Time, (flow, side): FlowEnd, what: Notification) {
        if self.wanted[NOTIFICATIONS] {
            let Subject { path, number } = what.subject();
            self.samples.push(Sample {
                time: now,
                measure: NOTIFICATIONS as u32,
                source: flow as u32,
                path,
                value: f64::from(number),
                event: Some((side as u8, what.code())),
            });
        }
    }

    /// More of a page or a video has come whole.
    pub fn on_progress(&mut self, now: Time, flow: usize, progress: Progress) {
        let values = [
            Some(progress.objects as f64),
            progress.buffer.map(Duration::as_secs),
            progress.bitrate.map(|rate| rate.as_bps() as f64),
        ];
        for (measure, value) in (VISIT..).zip(values).filter(|&(measure, _)| self.wanted[measure]) {
            let Some(value) = value else { continue };
            let (measure, source) = (measure as u32, flow as u32);
            self.samples.push(Sample { time: now, measure, source, path: 0, value, event: None });
        }
    }

    /// Records the queues that have changed. Says whether anything waits in one.
    pub fn on_links(&mut self, now: Time, network: &mut Network<Body>) -> bool {
        let mut is_any_waiting = false;
        for (link, old) in self.queues.iter_mut().enumerate() {
            let bytes = network.queue_bytes(link as u32, now);
            is_any_waiting |= bytes > 0;
            if bytes != *old {
                *old = bytes;
                let sample = Sample {
                    time: now,
                    measure: QUEUE as u32,
                    source: link as u32,
                    path: 0,
                    value: bytes as f64,
                    event: None,
                };
                self.samples.push(sample);
            }
        }
        is_any_waiting
    }
}

/// A measure of a flow, or of a path of it, by its index in [`MEASURES`]; NaN while it does not exist.
#[inline]
fn value(measure: usize, path: usize, sender: &impl SenderState) -> f64 {
    match measure {
        0 => sender.path(path).cwnd as f64,
        1 => sender.path(path).ssthresh.map_or(f64::NAN, |threshold| threshold as f64),
        2 => sender.path(path).srtt.map_or(f64::NAN, Duration::as_secs),
        3 => sender.path(path).latest_rtt.map_or(f64::NAN, Duration::as_secs),
        4 => sender.path(path).flight as f64,
        5 => sender.path(path).repair.map_or(f64::NAN, |repair| f64::from(repair.ca_state)),
        6 => sender.path(path).repair.map_or(f64::NAN, |repair| repair.lost as f64),
        7 => sender.path(path).repair.map_or(f64::NAN, |repair| repair.sacked as f64),
        8 => sender.sent_bytes() as f64,
        // FIN takes a place in the flight that no byte has.
        _ => sender.sent_bytes().saturating_sub(sender.flight()) as f64,
    }
}
