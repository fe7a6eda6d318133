//! Code of the user's own: what it is told, and how its mistakes end a run.

use pyo3::exceptions::PyReferenceError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyType, PyWeakrefMethods, PyWeakrefReference};
use std::ffi::c_long;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use vazao_engine::Duration;

/// Error of a user's class, on its way up to the runner.
pub struct UserError(pub String);

/// Ends the run: unwinding is how a machine far below says what went wrong, without the hook that would print a panic.
pub fn fail(place: &str, error: &PyErr) -> ! {
    let calls = Python::attach(|py| error.traceback(py).and_then(|traceback| traceback.format().ok()));
    // Where it went wrong, without the headline of a traceback.
    let calls =
        calls.iter().flat_map(|calls| calls.lines().skip(1)).map(|line| format!("\n{line}")).collect::<String>();
    std::panic::resume_unwind(Box::new(UserError(format!("{place}: {error}{calls}"))))
}

/// A user's class, held weakly: the scenario that is run with it keeps it.
pub struct Class(Py<PyWeakrefReference>);

impl Class {
    pub fn new(class: &Bound<'_, PyType>) -> PyResult<Self> {
        Ok(Class(PyWeakrefReference::new(class)?.unbind()))
    }

    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.bind(py).upgrade().ok_or_else(|| PyReferenceError::new_err("the class is gone"))
    }
}

/// The threads that are in a user's code or may come to it, by Python's numbers for them.
#[derive(Default)]
pub struct Threads(Mutex<Vec<c_long>>);

impl Threads {
    /// Returns the result of `run`, or its panic. Python knows this thread from the first to the last of a user's
    /// calls: to be made known anew for each would cost more than most of them do.
    pub fn staying_known<T: Send>(&self, run: impl FnOnce() -> T + Send) -> std::thread::Result<T> {
        Python::attach(|py| {
            let number =
                py.import("threading").and_then(|module| module.call_method0("get_ident")?.extract::<c_long>());
            let number = number.expect("every thread has a number");
            self.0.lock().expect("no panic while it is held").push(number);
            let result = py.detach(|| catch_unwind(AssertUnwindSafe(run)));
            self.0.lock().expect("no panic while it is held").retain(|known| *known != number);
            result
        })
    }

    /// Ends what a user's code is doing on any of them: the next line of Python there raises `KeyboardInterrupt`.
    pub fn interrupt(&self, _: Python<'_>) {
        for number in self.0.lock().expect("no panic while it is held").iter() {
            // SAFETY: Python is attached, and the exception lives as long as it does. A thread that has gone is not found.
            unsafe { ffi::PyThreadState_SetAsyncExc(*number, ffi::PyExc_KeyboardInterrupt) };
        }
    }
}

/// Seconds, or None for what was not measured so far.
pub fn seconds(span: Duration) -> Option<f64> {
    (span > Duration::ZERO && span < Duration::MAX).then(|| span.as_secs())
}
