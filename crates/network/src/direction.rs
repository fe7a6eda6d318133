//! One direction of a link as a user describes it, and what it is made of.

use crate::impairment::{Build, Impairments, Outage};
use crate::loss::LOSS_MODELS;
use crate::queue::{DROP_TAIL, Discipline, QUEUES, Setting};
use crate::rate::{Opportunities, Schedule, Service, Shape, Trace};
use vazao_engine::registry::{Entry, Parameters, Value};
use vazao_engine::{Capacity, Duration, Rate, Stream};

/// One direction of a link, as a user describes it.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Rate of network-layer packets, `overhead` added to each; where it varies, its mean.
    pub rate: Rate,
    /// How the rate varies.
    pub variation: Variation,
    /// A shaper by its entry in the registry, with its parameters.
    pub shaper: Option<(&'static Entry<Shape>, Parameters)>,
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

/// What a wire does to packets besides losing them.
#[derive(Clone, Debug, Default)]
pub struct ImpairmentSpec {
    /// Impairments by their entries in the registry, with their parameters.
    pub random: Vec<(&'static Entry<Build>, Parameters)>,
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
            Some((shaper, parameters)) => (shaper.build)(parameters, link),
            None => link,
        })
    }

    /// What it lets through on average: no more than its shaper does.
    pub fn mean_rate(&self) -> Rate {
        let shaped = self.shaper.as_ref().and_then(|(_, parameters)| parameters.rate("rate"));
        shaped.map_or(self.rate, |rate| rate.min(self.rate))
    }

    fn outages(&self, loses: bool) -> Vec<Outage> {
        self.impairments.outages.iter().map(|(outage, _)| *outage).filter(|outage| outage.loses == loses).collect()
    }

    /// What the wire does to packets, if anything; `stream` gives the random stream for a purpose.
    pub fn impairments(&self, stream: impl Fn(&str) -> Stream) -> Option<Impairments> {
        let spec = &self.impairments;
        let mut wire = Impairments { outages: self.outages(true), middlebox: spec.middlebox, ..Impairments::default() };
        if self.loss.is_none() && wire.outages.is_empty() && spec.random.is_empty() && spec.middlebox == 0 {
            return None;
        }
        wire.loss = self.loss.as_ref().map(|(kind, parameters)| make(LOSS_MODELS, kind)(parameters, stream("loss")));
        for (entry, parameters) in &spec.random {
            if let Build::Strike(make) | Build::Delay(make) = entry.build {
                make(parameters, stream(entry.name), &mut wire);
            }
        }
        Some(wire)
    }

    /// The queue's discipline, where it needs one: drop-tail does where arrivals are moved.
    pub fn discipline(&self, setting: &Setting) -> Option<Box<dyn Discipline>> {
        let moves = self.impairments.random.iter().any(|(entry, _)| matches!(entry.build, Build::Delay(_)));
        (moves || !self.queue.is_drop_tail()).then(|| make(QUEUES, self.queue.kind)(&self.queue.parameters, setting))
    }
}

/// How to make what a registry calls `name`.
fn make<B: Copy>(registry: &[Entry<B>], name: &str) -> B {
    registry.iter().find(|entry| entry.name == name).expect("a name from the registry").build
}
