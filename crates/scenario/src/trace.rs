//! Time series of a run.

use crate::scenario::{MEASURES, TraceSpec};
use vazao_engine::{Duration, Time};
use vazao_network::Network;
use vazao_transport::tcp::{Connection, Segment};

/// One value of one measure at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub time: Time,
    /// Index into [`MEASURES`].
    pub measure: u32,
    /// Number of the flow, or of the link's direction for measures of links.
    pub source: u32,
    /// Bytes, seconds, or what else the measure is in.
    pub value: f64,
}

/// The index of `queue`, the one measure of links; those before it are of flows.
pub(crate) const QUEUE: usize = MEASURES.len() - 1;
const FLOW_MEASURES: usize = QUEUE;

/// How often queues are looked at when no interval is asked for.
const QUEUE_INTERVAL: Duration = Duration::from_millis(1);

/// Records what a [`TraceSpec`] asks for: a value when it has changed, and at most one an interval.
#[derive(Debug)]
pub(crate) struct Trace {
    wanted: [bool; MEASURES.len()],
    every: Duration,
    flows: Vec<Last>,
    queues: Vec<u64>,
    pub samples: Vec<Sample>,
}

/// What was last recorded of a flow.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// When it was last looked at, recorded or not.
    seen: Time,
    next: Time,
    /// When each value was recorded.
    recorded: [Time; FLOW_MEASURES],
    values: [f64; FLOW_MEASURES],
}

impl Trace {
    pub fn new(spec: &TraceSpec, flows: usize, links: usize) -> Trace {
        let mut wanted = [false; MEASURES.len()];
        for (wanted, name) in wanted.iter_mut().zip(MEASURES) {
            *wanted = spec.measures.contains(name);
        }
        Trace {
            wanted,
            every: spec.every.unwrap_or(Duration::ZERO),
            flows: vec![
                Last {
                    seen: Time::ZERO,
                    next: Time::ZERO,
                    recorded: [Time::NEVER; FLOW_MEASURES],
                    values: [f64::NAN; FLOW_MEASURES],
                };
                flows
            ],
            queues: vec![u64::MAX; 2 * links],
            samples: Vec::new(),
        }
    }

    /// How often queues are to be looked at, if at all.
    pub fn queue_interval(&self) -> Option<Duration> {
        self.wanted[QUEUE].then_some(if self.every > Duration::ZERO { self.every } else { QUEUE_INTERVAL })
    }

    #[inline]
    pub fn on_sender(&mut self, now: Time, flow: u32, sender: &Connection) {
        let last = &mut self.flows[flow as usize];
        last.seen = now;
        if now < last.next {
            return;
        }
        last.next = now + self.every;
        let control = sender.control();
        let rtt = sender.rtt();
        let threshold = control.ssthresh();
        // In the order of MEASURES. What does not exist yet is NaN and is not recorded.
        let values = [
            sender.cwnd() as f64,
            if threshold == u64::MAX { f64::NAN } else { threshold as f64 },
            seconds(rtt.srtt()),
            seconds(rtt.latest()),
            sender.flight() as f64,
            sender.sent_bytes() as f64,
        ];
        for (measure, (&value, old)) in values.iter().zip(&mut last.values).enumerate() {
            if self.wanted[measure] && value != *old && !value.is_nan() {
                *old = value;
                last.recorded[measure] = now;
                self.samples.push(Sample { time: now, measure: measure as u32, source: flow, value });
            }
        }
    }

    /// The run is over: a value that has not changed for a while still holds when its flow was last seen.
    pub fn finish(&mut self) {
        for (flow, last) in self.flows.iter().enumerate() {
            for (measure, (&value, &recorded)) in last.values.iter().zip(&last.recorded).enumerate() {
                if recorded < last.seen {
                    let sample = Sample { time: last.seen, measure: measure as u32, source: flow as u32, value };
                    self.samples.push(sample);
                }
            }
        }
    }

    pub fn on_links(&mut self, now: Time, network: &mut Network<Segment>) {
        for (link, old) in self.queues.iter_mut().enumerate() {
            let bytes = network.queue_bytes(link as u32, now);
            if bytes != *old {
                *old = bytes;
                let sample = Sample { time: now, measure: QUEUE as u32, source: link as u32, value: bytes as f64 };
                self.samples.push(sample);
            }
        }
    }
}

fn seconds(span: Duration) -> f64 {
    if span == Duration::ZERO { f64::NAN } else { span.as_secs() }
}
