//! Applications written in Python.

use crate::InputError;
use crate::instance::{Algorithm, Instance};
use crate::user::{PyRandomStream, answer};
use pyo3::prelude::*;
use std::sync::Arc;
use vazao_application::{Script, ScriptFactory};
use vazao_engine::{Duration, Time};

struct PythonScript(Instance);

/// Bytes of the largest message.
const LARGEST: u64 = 1 << 40;

/// Reads what a class answered: a message's bytes, and the time until the next one.
fn message(told: &Bound<'_, PyAny>) -> PyResult<Option<(u64, Duration)>> {
    const EXPECTED: &str = "(bytes, seconds until the next message), or None when no more come";
    let Some((bytes, gap)) = answer::<Option<(i64, f64)>>(told, EXPECTED)? else { return Ok(None) };
    match u64::try_from(bytes) {
        Ok(bytes @ 1..=LARGEST) if gap.is_finite() && gap >= 0.0 => Ok(Some((bytes, Duration::from_secs_f64(gap)))),
        _ => {
            let problem = format!("answered {}; return {EXPECTED}: 1 byte or more, 0 s or more", told.repr()?);
            Err(InputError::new_err(problem))
        }
    }
}

impl Script for PythonScript {
    fn next(&mut self, now: Time) -> Option<(u64, Duration)> {
        self.0.call("next_message", |instance| message(&instance.call_method1("next_message", (now.as_secs(),))?))
    }
}

/// Makes a factory of a user's class.
pub fn factory(algorithm: Algorithm) -> ScriptFactory {
    Arc::new(move |stream| -> Box<dyn Script> {
        let made = Instance::new(&algorithm, None, &["random"], |py| {
            (Py::new(py, PyRandomStream(stream))?,).into_pyobject(py)
        });
        Box::new(PythonScript(made))
    })
}
