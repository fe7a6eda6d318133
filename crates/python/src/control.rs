//! Congestion controls written in Python.

use crate::InputError;
use crate::instance::{Algorithm, Instance};
use crate::user::{attribute, seconds};
use pyo3::prelude::*;
use std::sync::Arc;
use vazao_congestion::{Ack, Congestion, CongestionControl, RateSample, Setup, Sibling, Siblings, Signal, Steered};
use vazao_engine::Rate;
use vazao_scenario::ControlFactory;

/// Facts that one acknowledgement told the sender. Times in seconds, sizes in bytes.
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
    /// Delivery rate: only where the class says `wants_rate = True`, and not on every acknowledgement.
    rate: Option<PyRateSample>,
    /// Bytes that it showed to be lost; with `wants_rate = True`.
    lost_bytes: u64,
    /// Bytes believed to be in the network after it.
    pipe_bytes: u64,
}

impl From<&Ack> for PyAck {
    fn from(ack: &Ack) -> Self {
        PyAck {
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
            rate: ack.rate.map(PyRateSample::from),
            lost_bytes: ack.lost,
            pipe_bytes: ack.pipe,
        }
    }
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation).
#[pyclass(frozen, get_all, name = "RateSample", module = "vazao._core", from_py_object)]
#[derive(Clone)]
pub struct PyRateSample {
    /// Bits a second: `delivered_bytes` over `interval_s`.
    rate_bps: f64,
    /// Bytes delivered over the interval.
    delivered_bytes: u64,
    /// The longer of the times it took to send them and to acknowledge them.
    interval_s: f64,
    /// Bytes of the connection delivered when the packet was sent that the sample is of, and now.
    prior_delivered_bytes: u64,
    total_delivered_bytes: u64,
    /// Bytes presumed lost since.
    lost_bytes: u64,
    /// Bytes in flight when the packet was sent, itself counted.
    tx_in_flight_bytes: u64,
    /// Whether the application limited it.
    app_limited: bool,
}

impl From<RateSample> for PyRateSample {
    fn from(sample: RateSample) -> Self {
        PyRateSample {
            rate_bps: 8.0 * sample.bytes_per_second(),
            delivered_bytes: sample.delivered,
            interval_s: sample.interval.as_secs(),
            prior_delivered_bytes: sample.prior_delivered,
            total_delivered_bytes: sample.total_delivered,
            lost_bytes: sample.lost,
            tx_in_flight_bytes: sample.tx_in_flight,
            app_limited: sample.app_limited,
        }
    }
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

/// Another path of the connection, just before an acknowledgement or a sign of congestion on the own one.
#[pyclass(frozen, get_all, name = "Sibling", module = "vazao._core")]
pub struct PySibling {
    /// Congestion window.
    cwnd_bytes: f64,
    /// Slow-start threshold.
    ssthresh_bytes: f64,
    /// Smoothed round-trip time, or None before the first measurement.
    srtt_s: Option<f64>,
    /// The `told` of its control.
    told: f64,
}

impl From<&Sibling> for PySibling {
    fn from(path: &Sibling) -> Self {
        let Sibling { cwnd, ssthresh, srtt, told, .. } = *path;
        PySibling { cwnd_bytes: cwnd, ssthresh_bytes: ssthresh, srtt_s: seconds(srtt), told }
    }
}

/// No window is larger than a petabyte: sums of windows stay exact.
const LARGEST: f64 = 1e15;

/// An instance of a user's class. Its windows are read back after each call, so that asking for them is free.
struct PythonControl {
    instance: Instance,
    mss: f64,
    wants_rate: bool,
    /// State of a class that says `coupled = True`.
    siblings: Option<Siblings>,
    windows: Windows,
}

/// Attributes that are read, or set for the class.
const ATTRIBUTES: &[&str] =
    &["cwnd", "ssthresh", "mss", "pacing_rate", "wants_rate", "coupled", "siblings", "told", "steered"];

/// Windows that a user's class allows.
#[derive(Clone, Copy)]
struct Windows {
    cwnd: u64,
    ssthresh: u64,
    pacing_rate: Option<Rate>,
}

impl Windows {
    /// Reads the windows of an instance.
    fn of(instance: &Bound<'_, PyAny>, mss: f64) -> PyResult<Windows> {
        let cwnd: f64 = attribute(instance, "cwnd", "a number of bytes")?;
        let ssthresh: f64 = attribute(instance, "ssthresh", "a number of bytes, infinite while there is none")?;
        let rate: Option<f64> = attribute(instance, "pacing_rate", "a number of bits a second, or None")?;
        // A sum of fractions may miss a segment by its last digit.
        if !cwnd.is_finite() || cwnd < mss * (1.0 - 1e-9) {
            let message = format!("cwnd = {cwnd}; it is a number of bytes, a segment ({mss} bytes) or more");
            return Err(InputError::new_err(message));
        }
        if ssthresh.is_nan() || ssthresh < 0.0 {
            let message = format!("ssthresh = {ssthresh}; it is a number of bytes, infinite while there is none");
            return Err(InputError::new_err(message));
        }
        if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
            let message = format!("pacing_rate = {rate}; it is a number of bits a second above zero, or None");
            return Err(InputError::new_err(message));
        }
        Ok(Windows {
            cwnd: cwnd.clamp(mss, LARGEST) as u64,
            ssthresh: ssthresh.max(0.0) as u64,
            pacing_rate: rate.map(|rate| Rate::from_bps(rate.max(1.0) as u64)),
        })
    }
}

impl PythonControl {
    /// Sets the attribute `siblings` of a coupled class before a call.
    fn show(siblings: &Siblings, instance: &Bound<'_, PyAny>) -> PyResult<()> {
        let others: Vec<_> = siblings.others().map(PySibling::from).collect();
        instance.setattr("siblings", others)
    }

    /// Calls a method and reads the windows. What goes wrong ends the run.
    fn call(&mut self, method: &str, argument: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>) {
        self.windows = self.instance.call(method, |instance| {
            if let Some(siblings) = &self.siblings {
                Self::show(siblings, instance)?;
            }
            instance.call_method1(method, (argument(instance.py())?,))?;
            if let Some(siblings) = &mut self.siblings {
                siblings.tell(attribute(instance, "told", "a number")?);
            }
            Windows::of(instance, self.mss)
        });
    }
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, ack: &Ack) {
        let argument = PyAck::from(ack);
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

    fn wants_rate(&self) -> bool {
        self.wants_rate
    }
    fn siblings(&mut self) -> Option<&mut Siblings> {
        self.siblings.as_mut()
    }
    /// Returns true: the class may set a rate at any time.
    fn paces(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.windows.pacing_rate
    }
    fn cwnd(&self) -> u64 {
        self.windows.cwnd
    }
    fn ssthresh(&self) -> u64 {
        self.windows.ssthresh
    }
}

/// Makes a factory of a user's class.
pub fn factory(algorithm: Algorithm) -> ControlFactory {
    if algorithm.is_steered() {
        return Arc::new(|setup: Setup| Box::new(Steered::new(&setup)) as Box<dyn CongestionControl>);
    }
    Arc::new(move |setup: Setup| -> Box<dyn CongestionControl> {
        let threshold = setup.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes as f64);
        let (instance, (windows, wants_rate, coupled)) = Instance::reading(
            &algorithm,
            None,
            ATTRIBUTES,
            |py| (setup.mss, setup.initial_window, threshold).into_pyobject(py),
            |instance| {
                let wants_rate: bool = attribute(instance, "wants_rate", "True or False")?;
                let coupled: bool = attribute(instance, "coupled", "True or False")?;
                Ok((Windows::of(instance, setup.mss as f64)?, wants_rate, coupled))
            },
        );
        Box::new(PythonControl {
            instance,
            mss: setup.mss as f64,
            wants_rate,
            siblings: coupled.then(Siblings::default),
            windows,
        })
    })
}
