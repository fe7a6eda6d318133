//! One direction of a link as a user describes it, and what it is made of.

use crate::impairment::{Chance, Impairments, Jitter, Outage, Reorder};
use crate::loss::LOSS_MODELS;
use crate::queue::{DROP_TAIL, Discipline, QUEUES, Setting};
use crate::rate::{Opportunities, Schedule, Service, TokenBucket, Trace};
use vazao_engine::registry::{Entry, Parameters, Value};
use vazao_engine::{Capacity, Duration, Rate, Stream};

/// One direction of a link, as a user describes it.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Rate of network-layer packets, `overhead` added to each; where it varies, its mean.
    pub rate: Rate,
    /// How the rate varies.
    pub variation: Variation,
    /// A token bucket's parameters.
    pub shaper: Option<Parameters>,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Link-header bytes that use up the rate with each packet.
    pub overhead: u32,
    /// What waits, and how.
    pub queue: QueueSpec,
    /// Loss model by registry name, with its parameters.
    pub loss: Option<(&'static str, Parameters)>,
    /// What else the wire does.
    pub impairments: ImpairmentSpec,
}

/// How a rate varies.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Variation {
    /// Not at all.
    #[default]
    Fixed,
    /// From so many nanoseconds on another rate; anew after each `repeat`.
    Schedule {
        /// The first from 0, in order.
        steps: Vec<(u64, Rate)>,
        /// In nanoseconds.
        repeat: Option<u64>,
    },
    /// As a trace says.
    Trace {
        /// As its user named it.
        name: String,
        /// When packets may pass.
        opportunities: Opportunities,
    },
}

/// A queue by its name in the registry, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSpec {
    /// Name in [`QUEUES`].
    pub kind: &'static str,
    /// All its parameters, `limit` among them.
    pub parameters: Parameters,
}

/// The parameters of each impairment that there is, by the registry's names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpairmentSpec {
    /// Random delays.
    pub jitter: Option<Parameters>,
    /// Late packets.
    pub reorder: Option<Parameters>,
    /// Packets that arrive twice.
    pub duplicate: Option<Parameters>,
    /// Packets with wrong bits.
    pub corrupt: Option<Parameters>,
    /// Packets whose payload is altered.
    pub alter: Option<Parameters>,
    /// Times at which nothing gets through, with their parameters.
    pub outages: Vec<(Outage, Parameters)>,
    /// What a middlebox does to packets: see [`Impairments::middlebox`].
    pub middlebox: u16,
}

impl QueueSpec {
    /// Drop-tail with a limit.
    pub fn drop_tail(limit: Capacity) -> QueueSpec {
        let entry = QUEUES.iter().find(|entry| entry.name == DROP_TAIL).expect("drop-tail is in the registry");
        let mut parameters = Parameters::defaults(entry.parameters);
        parameters.set("limit", Value::Capacity(limit));
        QueueSpec { kind: DROP_TAIL, parameters }
    }

    /// What may wait.
    pub fn limit(&self) -> Capacity {
        self.parameters.capacity("limit").expect("every queue has a limit")
    }

    /// Whether it is drop-tail, which links have without a discipline of its own.
    pub fn is_drop_tail(&self) -> bool {
        self.kind == DROP_TAIL
    }
}

impl Direction {
    /// A direction of this rate, delay and queue, and nothing else.
    pub fn new(rate: Rate, delay: Duration, queue: QueueSpec) -> Direction {
        let impairments = ImpairmentSpec::default();
        Direction {
            rate,
            variation: Variation::Fixed,
            shaper: None,
            delay,
            overhead: 0,
            queue,
            loss: None,
            impairments,
        }
    }

    /// What sends, where that is not a transmitter of a fixed rate.
    pub fn service(&self) -> Option<Box<dyn Service>> {
        let outages = self.outages(false);
        let link: Box<dyn Service> = match &self.variation {
            Variation::Fixed if outages.is_empty() && self.shaper.is_none() => return None,
            Variation::Fixed => Box::new(Schedule::new(vec![(0, self.rate)], None, outages)),
            Variation::Schedule { steps, repeat } => Box::new(Schedule::new(steps.clone(), *repeat, outages)),
            Variation::Trace { opportunities, .. } => Box::new(Trace::new(opportunities.clone(), outages)),
        };
        Some(match &self.shaper {
            Some(parameters) => Box::new(TokenBucket::from(parameters, link)),
            None => link,
        })
    }

    /// What it lets through on average: no more than its shaper does.
    pub fn mean_rate(&self) -> Rate {
        let shaped = self.shaper.as_ref().and_then(|shaper| shaper.rate("rate"));
        shaped.map_or(self.rate, |rate| rate.min(self.rate))
    }

    fn outages(&self, loses: bool) -> Vec<Outage> {
        self.impairments.outages.iter().map(|(outage, _)| *outage).filter(|outage| outage.loses == loses).collect()
    }

    /// What the wire does to packets, if anything; `stream` gives the random stream for a purpose.
    pub fn impairments(&self, stream: impl Fn(&str) -> Stream) -> Option<Impairments> {
        let spec = &self.impairments;
        let chance = |key: &str, parameters: &Parameters| {
            Chance::new(parameters.number("probability"), stream(key)).limited(parameters)
        };
        let outages = self.outages(true);
        let is_none = self.loss.is_none()
            && outages.is_empty()
            && ImpairmentSpec { outages: vec![], ..spec.clone() } == ImpairmentSpec::default();
        (!is_none).then(|| Impairments {
            loss: self.loss.as_ref().map(|(kind, parameters)| make(LOSS_MODELS, kind)(parameters, stream("loss"))),
            outages,
            corrupt: spec.corrupt.as_ref().map(|p| chance("corrupt", p)),
            alter: spec.alter.as_ref().map(|p| chance("alter", p)),
            duplicate: spec.duplicate.as_ref().map(|p| chance("duplicate", p)),
            jitter: spec.jitter.as_ref().map(|p| Jitter::from(p, stream("jitter"))),
            reorder: spec.reorder.as_ref().map(|p| Reorder::from(p, stream("reorder"))),
            middlebox: spec.middlebox,
        })
    }

    /// The queue's discipline, where it needs one: drop-tail does where arrivals are moved.
    pub fn discipline(&self, setting: &Setting) -> Option<Box<dyn Discipline>> {
        let moves = self.impairments.jitter.is_some() || self.impairments.reorder.is_some();
        (moves || !self.queue.is_drop_tail()).then(|| make(QUEUES, self.queue.kind)(&self.queue.parameters, setting))
    }
}

/// How to make what a registry calls `name`.
fn make<B: Copy>(registry: &[Entry<B>], name: &str) -> B {
    registry.iter().find(|entry| entry.name == name).expect("a name from the registry").build
}
