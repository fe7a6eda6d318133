//! Congestion controls written in Python.

use crate::InputError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::sync::Arc;
use vazao_congestion::{Ack, Congestion, CongestionControl, Setup, Signal};
use vazao_engine::Duration;
use vazao_scenario::Plugin;

/// What one acknowledgement told the sender. Times in seconds, sizes in bytes.
#[pyclass(frozen, get_all, name = "Ack", module = "vazao._core")]
pub struct PyAck {
    /// When it arrived.
    now_s: f64,
    /// Bytes cumulatively acknowledged for the first time; zero for a duplicate.
    acked_bytes: u64,
    /// Bytes newly known to have arrived.
    delivered_bytes: u64,
    /// Bytes in flight before it.
    flight_bytes: u64,
    /// The round-trip time it measured, or None.
    rtt_s: Option<f64>,
    /// Smoothed round-trip time, or None before the first measurement.
    srtt_s: Option<f64>,
    /// Least round-trip time so far, or None.
    min_rtt_s: Option<f64>,
    /// Whether a round trip has passed since this was last true.
    round: bool,
    /// Whether the window was what limited the sender.
    window_limited: bool,
    /// Whether a loss is being repaired.
    in_recovery: bool,
}

/// One sign of congestion.
#[pyclass(frozen, get_all, name = "Congestion", module = "vazao._core")]
pub struct PyCongestion {
    /// When it was noticed.
    now_s: f64,
    /// "loss", "mark", "restart", "timeout" or "repeated-timeout".
    signal: &'static str,
    /// Bytes in flight.
    flight_bytes: u64,
}

fn seconds(span: Duration) -> Option<f64> {
    (span > Duration::ZERO && span < Duration::MAX).then(|| span.as_secs())
}

/// No window is larger than a petabyte: sums of windows stay exact.
const LARGEST: f64 = 1e15;

/// What a user's class did wrong, on its way up to the runner.
pub struct UserError(pub String);

/// An instance of a user's class. Its windows are read back after each call, so that asking for them is free.
struct PythonControl {
    name: String,
    instance: Py<PyAny>,
    mss: f64,
    cwnd: u64,
    ssthresh: u64,
}

impl PythonControl {
    /// Calls a method and reads the windows. What goes wrong ends the run: unwinding is how a machine far below says so,
    /// without the hook that would print a panic.
    fn call(&mut self, method: &str, argument: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>) {
        let result = Python::attach(|py| -> PyResult<(f64, f64)> {
            let instance = self.instance.bind(py);
            instance.call_method1(method, (argument(py)?,))?;
            windows(instance)
        });
        let windows = result.and_then(|(cwnd, ssthresh)| {
            if cwnd.is_finite() && !ssthresh.is_nan() {
                Ok((cwnd, ssthresh))
            } else {
                Err(InputError::new_err(format!("cwnd = {cwnd}, ssthresh = {ssthresh}; windows are numbers of bytes")))
            }
        });
        match windows {
            Ok((cwnd, ssthresh)) => {
                self.cwnd = cwnd.clamp(self.mss, LARGEST) as u64;
                self.ssthresh = ssthresh.max(0.0) as u64;
            }
            Err(error) => std::panic::resume_unwind(Box::new(UserError(format!("{}.{method}: {error}", self.name)))),
        }
    }
}

fn windows(instance: &Bound<'_, PyAny>) -> PyResult<(f64, f64)> {
    Ok((instance.getattr("cwnd")?.extract()?, instance.getattr("ssthresh")?.extract()?))
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, ack: &Ack) {
        let argument = PyAck {
            now_s: ack.now.as_secs(),
            acked_bytes: ack.acked,
            delivered_bytes: ack.delivered,
            flight_bytes: ack.flight,
            rtt_s: ack.rtt.and_then(seconds),
            srtt_s: seconds(ack.srtt),
            min_rtt_s: seconds(ack.min_rtt),
            round: ack.round,
            window_limited: ack.window_limited,
            in_recovery: ack.in_recovery,
        };
        self.call("on_ack", |py| Ok(Py::new(py, argument)?.into_any()));
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let signal = match congestion.signal {
            Signal::Loss => "loss",
            Signal::Mark => "mark",
            Signal::Restart => "restart",
            Signal::Timeout => "timeout",
            Signal::RepeatedTimeout => "repeated-timeout",
        };
        let argument = PyCongestion { now_s: congestion.now.as_secs(), signal, flight_bytes: congestion.flight };
        self.call("on_congestion", |py| Ok(Py::new(py, argument)?.into_any()));
    }

    fn on_recovered(&mut self, flight: u64) {
        self.call("on_recovered", |py| Ok(flight.into_pyobject(py)?.into_any().unbind()));
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

/// A user's class as a plug-in; `fingerprint` is a digest of its code.
pub fn plugin(name: String, class: Py<PyType>, fingerprint: String) -> Plugin {
    let build = move |setup: Setup| -> Box<dyn CongestionControl> {
        let made = Python::attach(|py| -> PyResult<(Py<PyAny>, f64, f64)> {
            let threshold = setup.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes as f64);
            let instance = class.bind(py).call1((setup.mss, setup.initial_window, threshold))?;
            let (cwnd, ssthresh) = windows(&instance)?;
            Ok((instance.unbind(), cwnd, ssthresh))
        });
        match made {
            Ok((instance, cwnd, ssthresh)) => Box::new(PythonControl {
                name: name.clone(),
                instance,
                mss: setup.mss as f64,
                cwnd: cwnd.max(setup.mss as f64) as u64,
                ssthresh: ssthresh.max(0.0) as u64,
            }),
            Err(error) => std::panic::resume_unwind(Box::new(UserError(format!("{name}: {error}")))),
        }
    };
    Plugin { fingerprint, build: Arc::new(build) }
}
