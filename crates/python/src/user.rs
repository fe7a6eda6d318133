//! Code of the user's own: what it is told, and how its mistakes end a run.

use pyo3::prelude::*;
use vazao_engine::Duration;

/// What a user's class did wrong, on its way up to the runner.
pub struct UserError(pub String);

/// Ends the run: unwinding is how a machine far below says what went wrong, without the hook that would print a panic.
pub fn fail(place: &str, error: &PyErr) -> ! {
    std::panic::resume_unwind(Box::new(UserError(format!("{place}: {error}"))))
}

/// Seconds, or None for what was not measured so far.
pub fn seconds(span: Duration) -> Option<f64> {
    (span > Duration::ZERO && span < Duration::MAX).then(|| span.as_secs())
}
