//! One direction of a link as a user describes it, and what it is made of.

use crate::delay::Course;
use crate::impairment::{Build, Impairments, Outage};
use crate::loss::{self, Trains, Unit};
use crate::own::{LossFactory, Own, QueueFactory};
use crate::queue::{self, Discipline, Setting, drop_tail};
use crate::rate::{Schedule, Service, Shape, Trace, Variation};
use vazao_engine::registry::{Entry, FromValue, Parameters, Value};
use vazao_engine::{Capacity, Duration, RandomStream, Rate};

/// One direction of a link, as a user describes it.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Rate of network-layer packets, `overhead` added to each; where it varies, its mean.
    pub rate: Rate,
    /// Variation of the rate.
    pub variation: Variation,
    /// A shaper by its entry in the registry, with its parameters.
    pub shaper: Option<(&'static Entry<Shape>, Parameters)>,
    /// Propagation delay, one way; where it varies, the least.
    pub delay: Duration,
    /// Variation of the delay.
    pub course: Option<Course>,
    /// Link-header bytes that use up the rate with each packet.
    pub overhead: u32,
    /// Queue.
    pub queue: QueueSpec,
    /// Loss model by its entry in the registry, with its parameters.
    pub loss: Option<(&'static Entry<loss::Constructor>, Parameters)>,
    /// Impairments of the wire.
    pub impairments: ImpairmentSpec,
    /// Loss model of the user's own, in place of one of the registry.
    pub own_loss: Option<Own<LossFactory>>,
    /// Queue discipline of the user's own, in place of the queue's, which says its limit.
    pub own_queue: Option<Own<QueueFactory>>,
}

/// A queue by its entry in the registry, with its parameters.
#[derive(Clone, Debug)]
pub struct QueueSpec {
    /// Entry in [`QUEUES`](crate::QUEUES).
    pub entry: &'static Entry<queue::Constructor>,
    /// All its parameters, `limit` among them.
    pub parameters: Parameters,
}

/// Impairments of a wire, besides its losses.
#[derive(Clone, Debug, Default)]
pub struct ImpairmentSpec {
    /// Impairments by their entries in the registry, with their parameters.
    pub random: Vec<(&'static Entry<Build>, Parameters)>,
    /// Times at which nothing gets through, with their parameters.
    pub outages: Vec<(Outage, Parameters)>,
    /// Middlebox; see [`Impairments::middlebox`].
    pub middlebox: u16,
}

/// Drop-tail with its default limit.
impl Default for QueueSpec {
    fn default() -> QueueSpec {
        let entry = &drop_tail::ENTRY;
        QueueSpec { entry, parameters: Parameters::defaults(entry.parameters) }
    }
}

impl QueueSpec {
    /// Drop-tail with a limit.
    pub fn drop_tail(limit: Capacity) -> QueueSpec {
        let mut queue = QueueSpec::default();
        queue.parameters.set("limit", Value::Capacity(limit));
        queue
    }

    /// Returns the limit of the queue.
    pub fn limit(&self) -> Capacity {
        self.parameters.capacity("limit").expect("every queue has a limit")
    }

    /// Returns whether it is drop-tail, which links have without a discipline of its own.
    pub fn is_drop_tail(&self) -> bool {
        self.entry.name == drop_tail::ENTRY.name
    }
}

impl Direction {
    /// Creates a direction of this rate, delay and queue, and nothing else.
    pub fn new(rate: Rate, delay: Duration, queue: QueueSpec) -> Direction {
        let impairments = ImpairmentSpec::default();
        Direction {
            rate,
            variation: Variation::Fixed,
            shaper: None,
            delay,
            course: None,
            overhead: 0,
            queue,
            loss: None,
            impairments,
            own_loss: None,
            own_queue: None,
        }
    }

    /// Makes the service that sends, unless a transmitter of a fixed rate does.
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

    /// Returns the average rate, which is no more than the shaper's.
    pub fn mean_rate(&self) -> Rate {
        let shaped = self.shaper.as_ref().and_then(|(_, parameters)| parameters.rate("rate"));
        shaped.map_or(self.rate, |rate| rate.min(self.rate))
    }

    fn outages(&self, loses: bool) -> Vec<Outage> {
        self.impairments.outages.iter().map(|(outage, _)| *outage).filter(|outage| outage.loses == loses).collect()
    }

    /// Makes the impairments of the wire, if there are any; `name` is the direction's, `stream` gives the random stream for a
    /// purpose.
    pub fn impairments(&self, name: &str, stream: impl Fn(&str) -> RandomStream) -> Option<Impairments> {
        let spec = &self.impairments;
        let mut wire = Impairments { outages: self.outages(true), middlebox: spec.middlebox, ..Impairments::default() };
        let has_loss = self.loss.is_some() || self.own_loss.is_some();
        let has_none = !has_loss && wire.outages.is_empty() && spec.random.is_empty() && spec.middlebox == 0;
        if has_none && self.course.is_none() {
            return None;
        }
        wire.course = self.course.clone();
        wire.loss = self.loss.as_ref().map(|(model, parameters)| (model.build)(parameters, stream("loss")));
        if let Some(own) = &self.own_loss {
            wire.loss = Some((own.build)(name, stream("loss")));
        }
        let unit = self.loss.as_ref().and_then(|(_, parameters)| Unit::from_value(parameters.get("unit").cloned()));
        wire.trains = (unit == Some(Unit::Train)).then(Trains::default);
        for (entry, parameters) in &spec.random {
            if let Build::Strike(make) | Build::Delay(make) | Build::Entrance(make) = entry.build {
                make(parameters, stream(entry.name), &mut wire).expect("parameters are checked when they are read");
            }
        }
        Some(wire)
    }

    /// Makes the discipline of the queue, if it needs one; drop-tail does where arrivals are moved or policed. `name` is
    /// the direction's.
    pub fn discipline(&self, name: &str, setting: &Setting) -> Option<Box<dyn Discipline>> {
        if let Some(own) = &self.own_queue {
            return Some((own.build)(name, setting.limits(self.queue.limit()).into(), setting));
        }
        let served = |build: &Build| matches!(build, Build::Delay(_) | Build::Entrance(_));
        let is_served = self.course.is_some() || self.impairments.random.iter().any(|(entry, _)| served(&entry.build));
        (is_served || !self.queue.is_drop_tail()).then(|| (self.queue.entry.build)(&self.queue.parameters, setting))
    }
}
