//! Requests of a page whose engine is this one.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use vazao_engine::Time;

/// Time between two reports.
const EVERY: Duration = Duration::from_millis(50);

/// Answers a request of the laboratory as its engine in a page does. `on_tick` is called every 50 ms with the seconds that
/// are simulated so far; what it raises ends the run.
#[pyfunction]
pub fn answer<'py>(py: Python<'py>, request: &[u8], on_tick: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let on_tick = on_tick.clone().unbind();
    let (answer, raised) = py.detach(|| {
        let (stop, last, raised) = (AtomicBool::new(false), Cell::new(Instant::now()), RefCell::new(None));
        let tell = |now: Time| {
            if last.get().elapsed() < EVERY {
                return;
            }
            last.set(Instant::now());
            if let Err(error) = Python::attach(|py| on_tick.call1(py, (now.as_secs(),)).map(drop)) {
                raised.borrow_mut().get_or_insert(error);
                stop.store(true, Ordering::Relaxed);
            }
        };
        let answer = vazao_web::answer(request, &stop, &tell);
        (answer, raised.into_inner())
    });
    raised.map_or_else(|| Ok(PyBytes::new(py, &answer)), Err)
}
