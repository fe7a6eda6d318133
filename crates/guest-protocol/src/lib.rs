//! The protocol between a run and the first program of a Linux guest: the [`Plan`] that the program carries out, and
//! the [`Report`]s that it prints meanwhile.
//!
//! Both sides are built from these types, and `line` alone knows how they are written, so that they cannot
//! disagree. A plan or a report is one line of text that no content can break: what users and kernels write is escaped.

mod datagram;
mod line;
mod plan;
mod report;

pub use datagram::Head;
pub use line::{Coded, Malformed, Words};
pub use plan::{Act, Flow, Messages, MptcpEndpoint, Plan, Role, Route, Sctp, Setup, Task, Transfer, Transport};
pub use report::{End, Event, Report, Sample, TcpInfo};

/// Writes a plan or a report as one line, without its line end.
pub fn encode(value: &impl Coded) -> String {
    let mut line = String::new();
    value.write(&mut line);
    line
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// The first word that does not fit, or what is left over.
pub fn decode<T: Coded>(line: &str) -> Result<T, Malformed> {
    let mut words = Words::of(line);
    let value = T::read(&mut words)?;
    words.finish()?;
    Ok(value)
}

#[cfg(test)]
mod tests;
