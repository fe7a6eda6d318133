//! What is recorded while a run goes on: time series, captures, logs.

pub(crate) mod capture;
pub(crate) mod log;
pub(crate) mod samples;
pub(crate) mod trace;
