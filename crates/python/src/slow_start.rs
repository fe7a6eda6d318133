//! Slow starts written in Python.

use crate::InputError;
use crate::control::PyAck;
use crate::instance::{Algorithm, Instance};
use crate::user::answer;
use pyo3::prelude::*;
use std::sync::Arc;
use vazao_congestion::slow_start::SlowStart;
use vazao_congestion::{Ack, WindowState};
use vazao_engine::Time;
use vazao_scenario::SlowStartFactory;

/// A window below its threshold. Sizes in bytes.
#[pyclass(frozen, get_all, name = "Window", module = "vazao._core")]
pub struct PyWindow {
    /// Congestion window.
    cwnd_bytes: f64,
    /// Slow-start threshold; infinite while there is none.
    ssthresh_bytes: f64,
    /// Payload bytes of a full segment.
    mss: f64,
}

impl From<&WindowState> for PyWindow {
    fn from(state: &WindowState) -> Self {
        PyWindow { cwnd_bytes: state.cwnd, ssthresh_bytes: state.ssthresh, mss: state.mss }
    }
}

struct PythonSlowStart(Instance);

impl SlowStart for PythonSlowStart {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        self.0.call("grow", |instance| {
            let given = (PyWindow::from(state), PyAck::from(ack));
            let expected = "the new window, a number of bytes";
            let window: f64 = answer(&instance.call_method1("grow", given)?, expected)?;
            if !window.is_finite() || window < state.mss {
                let problem = format!("answered {window}; return {expected}, a segment ({} bytes) or more", state.mss);
                return Err(InputError::new_err(problem));
            }
            Ok(window)
        })
    }

    fn leave(&mut self, state: &WindowState, ack: &Ack) -> bool {
        self.0.call("leave", |instance| {
            let given = (PyWindow::from(state), PyAck::from(ack));
            answer(&instance.call_method1("leave", given)?, "True or False")
        })
    }

    fn restart(&mut self, now: Time) {
        self.0.call("restart", |instance| instance.call_method1("restart", (now.as_secs(),)).map(drop));
    }
}

/// Makes a factory of a user's class.
pub fn factory(algorithm: Algorithm) -> SlowStartFactory {
    Arc::new(move |limit, mss| -> Box<dyn SlowStart> {
        let made = Instance::new(&algorithm, None, &["mss", "limit"], |py| (mss, limit).into_pyobject(py));
        Box::new(PythonSlowStart(made))
    })
}
