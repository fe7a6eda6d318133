//! Packet schedulers of Multipath TCP written in Python.

use crate::InputError;
use crate::instance::{Algorithm, Instance};
use crate::user::{attribute, seconds};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;
use vazao_engine::{Duration, Rate, Time};
use vazao_transport::common::{Decision, PacketScheduler, PathState, SchedulerFactory, Situation};

/// A subflow as a scheduler sees it. Times in seconds, sizes in bytes.
#[pyclass(frozen, get_all, name = "PathState", module = "vazao._core")]
pub struct PyPathState {
    /// Number that a scheduler returns for it.
    index: usize,
    /// Congestion window, and the threshold of its slow start; infinite while there is none.
    cwnd_bytes: u64,
    ssthresh_bytes: f64,
    /// Bytes believed to be in the network.
    flight_bytes: u64,
    /// Bytes that were assigned to it and have not left so far.
    queued_bytes: u64,
    /// Bytes that were assigned to it and are not acknowledged, sent or not.
    held_bytes: u64,
    /// Rate at which it paces; None where it does not.
    pacing_rate_bps: Option<u64>,
    /// Room that the window leaves, below zero after a cut.
    space_bytes: i64,
    /// Payload of a full segment.
    mss: u64,
    /// Smoothed round-trip time, its variation, the latest, the least; None before the first measurement.
    srtt_s: Option<f64>,
    rttvar_s: Option<f64>,
    rtt_s: Option<f64>,
    min_rtt_s: Option<f64>,
    /// One-way time to the receiver, with the difference of both ends' clocks in it.
    forward_s: f64,
    /// The retransmission timeout.
    rto_s: f64,
    /// Bytes acknowledged.
    acknowledged_bytes: u64,
    /// It has itself sent all bytes of the connection before this one.
    copied_bytes: u64,
    /// Segments sent again, and segments sent.
    retransmissions: u64,
    segments: u64,
    /// Whether what is at hand may be sent on it at all.
    usable: bool,
    /// Whether a segment would leave at once.
    has_room: bool,
    /// Both of these.
    available: bool,
    slow_start: bool,
    recovering: bool,
    backup: bool,
}

impl PyPathState {
    fn new(index: usize, path: &PathState) -> Self {
        PyPathState {
            index,
            cwnd_bytes: path.cwnd,
            ssthresh_bytes: if path.ssthresh == u64::MAX { f64::INFINITY } else { path.ssthresh as f64 },
            flight_bytes: path.flight,
            queued_bytes: path.queued,
            held_bytes: path.held,
            pacing_rate_bps: path.pacing_rate.map(Rate::as_bps),
            space_bytes: path.space(),
            mss: path.mss,
            srtt_s: seconds(path.srtt),
            rttvar_s: seconds(path.srtt).map(|_| path.rttvar.as_secs()),
            rtt_s: seconds(path.rtt),
            min_rtt_s: seconds(path.min_rtt),
            forward_s: path.forward as f64 / 1e9,
            rto_s: path.rto.as_secs(),
            acknowledged_bytes: path.acknowledged,
            copied_bytes: path.copied,
            retransmissions: path.retransmissions,
            segments: path.segments,
            usable: path.usable,
            has_room: path.has_room,
            available: path.is_available(),
            slow_start: path.slow_start,
            recovering: path.recovering,
            backup: path.backup,
        }
    }
}

#[pymethods]
impl PyPathState {
    /// A path stands for its number.
    fn __index__(&self) -> usize {
        self.index
    }
    fn __repr__(&self) -> String {
        let srtt = self.srtt_s.map_or("unknown".into(), |srtt| format!("{srtt:.6} s"));
        format!("<path {}: srtt {srtt}, cwnd {} B, in flight {} B>", self.index, self.cwnd_bytes, self.flight_bytes)
    }
}

/// Situation that a scheduler decides in. Times in seconds, sizes in bytes.
#[pyclass(frozen, get_all, name = "Situation", module = "vazao._core")]
pub struct PySituation {
    /// The time.
    now_s: f64,
    /// The subflows, in the order in which they were opened; a subflow keeps its place when it is gone.
    paths: Py<PyTuple>,
    /// Bytes that wait to be sent for the first time; zero where something is to be sent again, and only the path is asked for.
    waiting_bytes: u64,
    /// Room that the receiver's window leaves beyond all that was sent.
    window_bytes: u64,
    /// The receiver's window: what it holds at most.
    buffer_bytes: u64,
    /// Sent and not acknowledged by DATA_ACKs.
    outstanding_bytes: u64,
    /// All bytes before this one were sent.
    sent_bytes: u64,
    /// Where the receiver's window keeps new data back: the path that has the oldest data not acknowledged.
    blocker: Option<usize>,
}

impl PySituation {
    fn new(py: Python<'_>, situation: &Situation<'_>) -> PyResult<Self> {
        let paths = situation.paths.iter().enumerate().map(|(index, path)| PyPathState::new(index, path));
        let paths = paths.map(|path| Py::new(py, path)).collect::<PyResult<Vec<_>>>()?;
        Ok(PySituation {
            now_s: situation.now.as_secs(),
            paths: PyTuple::new(py, paths)?.unbind(),
            waiting_bytes: situation.waiting,
            window_bytes: situation.window,
            buffer_bytes: situation.buffer,
            outstanding_bytes: situation.outstanding,
            sent_bytes: situation.sent,
            blocker: situation.blocker,
        })
    }
}

#[pymethods]
impl PySituation {
    /// The paths by which a segment would leave at once.
    #[getter]
    fn available<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all = self.paths.bind(py).iter();
        let is_available = |path: &Bound<'_, PyAny>| path.cast::<PyPathState>().is_ok_and(|path| path.get().available);
        PyTuple::new(py, all.filter(is_available).collect::<Vec<_>>())
    }
}

/// A path's number, from itself or its state.
struct Index(i64);

impl<'py> FromPyObject<'_, 'py> for Index {
    type Error = PyErr;
    fn extract(path: Borrowed<'_, 'py, PyAny>) -> PyResult<Index> {
        path.call_method0("__index__")?.extract().map(Index)
    }
}

/// The next data goes by a path, `skip_bytes` of what waits being left for others.
#[pyclass(frozen, name = "Send", module = "vazao._core")]
pub struct PySend {
    path: i64,
    skip: u64,
}

/// A path sends the oldest data that is not acknowledged and that it has not sent itself, be it new or not.
#[pyclass(frozen, name = "Copy", module = "vazao._core")]
pub struct PyCopy {
    path: i64,
}

/// The oldest data that is not acknowledged is sent again by a path, and the window of another is halved.
#[pyclass(frozen, name = "Repeat", module = "vazao._core")]
pub struct PyRepeat {
    path: i64,
    penalised: Option<i64>,
}

#[pymethods]
impl PySend {
    #[new]
    #[pyo3(signature = (path, skip_bytes = 0))]
    fn new(path: Index, skip_bytes: u64) -> Self {
        PySend { path: path.0, skip: skip_bytes }
    }
}

#[pymethods]
impl PyCopy {
    #[new]
    fn new(path: Index) -> Self {
        PyCopy { path: path.0 }
    }
}

#[pymethods]
impl PyRepeat {
    #[new]
    #[pyo3(signature = (path, penalised = None))]
    fn new(path: Index, penalised: Option<Index>) -> Self {
        PyRepeat { path: path.0, penalised: penalised.map(|path| path.0) }
    }
}

/// Reads the answer of a user's class about so many paths.
fn decision(answer: &Bound<'_, PyAny>, paths: usize) -> PyResult<Decision> {
    let known = |path: i64| {
        usize::try_from(path)
            .ok()
            .filter(|&path| path < paths)
            .ok_or_else(|| InputError::new_err(format!("{path} is no path; there are {paths}, counted from 0")))
    };
    if answer.is_none() {
        return Ok(Decision::Wait);
    }
    if let Ok(copy) = answer.cast::<PyCopy>() {
        return Ok(Decision::Copy { path: known(copy.get().path)? });
    }
    if let Ok(repeat) = answer.cast::<PyRepeat>() {
        let PyRepeat { path, penalised } = *repeat.get();
        return Ok(Decision::Repeat { path: known(path)?, penalised: penalised.map(known).transpose()? });
    }
    if let Ok(send) = answer.cast::<PySend>() {
        return Ok(Decision::Send { path: known(send.get().path)?, skip: send.get().skip });
    }
    match answer.extract::<Index>() {
        Ok(path) => Ok(Decision::send(Some(known(path.0)?))),
        Err(_) => Err(InputError::new_err(format!(
            "{} is no decision; return a path or its index, None to wait, or a vz.Send, vz.Copy or vz.Repeat",
            answer.repr()?
        ))),
    }
}

/// Reads the time at which an instance wants to be asked again: its `wake_s`, in seconds of the run. A time in the past
/// asks for nothing.
fn wake(instance: &Bound<'_, PyAny>, now: Time) -> PyResult<Time> {
    let Some(seconds) = attribute::<Option<f64>>(instance, "wake_s", "a time in seconds, or None")? else {
        return Ok(Time::NEVER);
    };
    if !seconds.is_finite() {
        return Err(InputError::new_err(format!("wake_s = {seconds}; it is a time in seconds, or None")));
    }
    let at = Time::ZERO.saturating_add(Duration::from_secs_f64(seconds.max(0.0)));
    Ok(if at > now { at } else { Time::NEVER })
}

/// An instance of a user's class. When it wants to be woken is read back after each decision.
struct PythonScheduler {
    instance: Instance,
    queues: bool,
    wake: Time,
}

impl PacketScheduler for PythonScheduler {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let (decision, wake) = self.instance.call("decide", |instance| {
            let answer = instance.call_method1("decide", (PySituation::new(instance.py(), situation)?,))?;
            Ok((decision(&answer, situation.paths.len())?, wake(instance, situation.now)?))
        });
        self.wake = wake;
        decision
    }

    fn on_sent(&mut self, path: usize, bytes: u64) {
        self.instance.call("on_sent", |instance| instance.call_method1("on_sent", (path, bytes)).map(drop));
    }

    fn queues(&self) -> bool {
        self.queues
    }
    fn wake(&self) -> Time {
        self.wake
    }
}

/// Makes a factory of a user's class.
pub fn factory(algorithm: Algorithm) -> SchedulerFactory {
    Arc::new(move || -> Box<dyn PacketScheduler> {
        let (instance, queues) = Instance::reading(
            &algorithm,
            None,
            &["queues", "wake_s"],
            |py| Ok(PyTuple::empty(py)),
            |instance| attribute(instance, "queues", "True or False"),
        );
        Box::new(PythonScheduler { instance, queues, wake: Time::NEVER })
    })
}
