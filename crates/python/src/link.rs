//! Loss models and queue disciplines written in Python.

use crate::InputError;
use crate::instance::{Algorithm, Instance};
use crate::user::{PyRandomStream, answer};
use pyo3::prelude::*;
use std::sync::Arc;
use vazao_engine::{Ecn, RandomStream, Time};
use vazao_network::LossModel;
use vazao_network::own::{LossFactory, QueueFactory};
use vazao_network::queue::{Discipline, Drops, Fifo, Limit, Queued, Setting};

/// One direction of a link, as an algorithm at it knows it.
#[pyclass(frozen, get_all, name = "LinkInfo", module = "vazao._core")]
pub struct PyLinkInfo {
    /// Name with its direction: "bottleneck/forward".
    name: String,
    /// Bits a second, on average where it varies; None for a loss model.
    rate_bps: Option<u64>,
    /// The longest base round-trip time of the flows that cross it, in seconds; None for a loss model.
    base_rtt_s: Option<f64>,
    /// The most packets and bytes that may wait; None for a loss model, and where there is no such limit.
    limit_packets: Option<u32>,
    limit_bytes: Option<u64>,
    /// Stream of random numbers that is the algorithm's alone.
    random: Py<PyRandomStream>,
}

struct PythonLoss(Instance);

impl LossModel for PythonLoss {
    fn lose(&mut self, size: u32) -> bool {
        self.lose_at(Time::ZERO, size)
    }

    fn lose_at(&mut self, now: Time, size: u32) -> bool {
        self.0.call("lose", |instance| answer(&instance.call_method1("lose", (size, now.as_secs()))?, "True or False"))
    }
}

/// Makes a factory of a user's class.
pub fn loss_factory(algorithm: Algorithm) -> LossFactory {
    Arc::new(move |link, stream| -> Box<dyn LossModel> {
        Box::new(PythonLoss(at_link(&algorithm, link, stream, None)))
    })
}

fn at_link(algorithm: &Algorithm, link: &str, stream: RandomStream, queue: Option<(Limit, &Setting)>) -> Instance {
    Instance::new(algorithm, Some(link), &["link", "random"], |py| {
        let limit = queue.map(|(limit, _)| limit);
        let info = PyLinkInfo {
            name: link.to_owned(),
            rate_bps: queue.map(|(_, setting)| setting.rate.as_bps()),
            base_rtt_s: queue.map(|(_, setting)| setting.base_rtt.as_secs()),
            limit_packets: limit.map(|limit| limit.packets).filter(|&packets| packets != u32::MAX),
            limit_bytes: limit.map(|limit| limit.bytes).filter(|&bytes| bytes != u64::MAX),
            random: Py::new(py, PyRandomStream(stream))?,
        };
        (info,).into_pyobject(py)
    })
}

/// A packet at a queue.
#[pyclass(frozen, get_all, name = "QueuedPacket", module = "vazao._core")]
pub struct PyQueuedPacket {
    /// The time, in seconds.
    now_s: f64,
    /// Size with its network header.
    size_bytes: u32,
    /// Number of its flow, which is another one in each direction.
    flow: u32,
    /// Whether it can be marked (RFC 3168).
    ecn_capable: bool,
    /// Time that it has waited.
    waited_s: f64,
    /// What waits, without it.
    queue_packets: u64,
    queue_bytes: u64,
}

impl PyQueuedPacket {
    fn new(now: Time, packet: &Queued, queue: &Fifo) -> Self {
        PyQueuedPacket {
            now_s: now.as_secs(),
            size_bytes: packet.size,
            flow: packet.flow,
            ecn_capable: packet.ecn != Ecn::NotEct,
            waited_s: packet.sojourn(now).as_secs(),
            queue_packets: queue.packets(),
            queue_bytes: queue.bytes(),
        }
    }
}

/// Verdict on a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Keep,
    Mark,
    Drop,
}

struct PythonQueue {
    at: Instance,
    queue: Fifo,
    limit: Limit,
    /// Whether the class says anything when a packet leaves.
    has_departures: bool,
}

impl PythonQueue {
    /// Asks about a packet, and marks it if that is the verdict. Returns whether it stays.
    fn passes(&mut self, method: &str, now: Time, packet: &mut Queued) -> bool {
        let seen = PyQueuedPacket::new(now, packet, &self.queue);
        let verdict = self.at.call(method, |instance| {
            let told = instance.call_method1(method, (seen,))?;
            let text = told.extract::<Option<String>>();
            match text.as_ref().map(|text| text.as_deref()) {
                Ok(None) => Ok(Verdict::Keep),
                Ok(Some("mark")) => Ok(Verdict::Mark),
                Ok(Some("drop")) => Ok(Verdict::Drop),
                _ => {
                    let problem = format!("answered {}; return \"drop\", \"mark\", or None to keep it", told.repr()?);
                    Err(InputError::new_err(problem))
                }
            }
        });
        verdict == Verdict::Keep || verdict == Verdict::Mark && packet.mark()
    }
}

impl Discipline for PythonQueue {
    fn enqueue(&mut self, now: Time, mut packet: Queued, drops: &mut Drops) {
        if !self.limit.admits(&packet, &self.queue) {
            drops.full(packet);
        } else if self.passes("on_arrival", now, &mut packet) {
            self.queue.push(packet);
        } else {
            drops.early(packet);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        loop {
            let mut packet = self.queue.pop()?;
            if !self.has_departures || self.passes("on_departure", now, &mut packet) {
                return Some(packet);
            }
            drops.early(packet);
        }
    }
}

/// Makes a factory of a user's class.
pub fn queue_factory(algorithm: Algorithm) -> QueueFactory {
    Arc::new(move |link, limit, setting| -> Box<dyn Discipline> {
        let at = at_link(&algorithm, link, setting.stream.clone(), Some((limit, setting)));
        let has_departures = Python::attach(|py| -> PyResult<bool> {
            let own = at.bind(py).get_type().getattr("on_departure")?;
            let base = py.import("vazao.scenario.queueing")?.getattr("Queue")?.getattr("on_departure")?;
            Ok(!own.is(&base))
        });
        Box::new(PythonQueue { at, queue: Fifo::default(), limit, has_departures: has_departures.unwrap_or(true) })
    })
}
