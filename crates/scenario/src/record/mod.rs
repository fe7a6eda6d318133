//! Records of a run under way: time series, captures, logs.

pub(crate) mod capture;
pub(crate) mod frames;
pub(crate) mod joined;
pub(crate) mod journal;
pub(crate) mod log;
pub(crate) mod observed;
mod packets;
mod recording;
pub(crate) mod samples;
mod streams;
pub(crate) mod trace;
mod turns;

/// Function that appends bytes to a named file, or says why it cannot.
pub type Output<'a> = &'a mut dyn FnMut(&str, &[u8]) -> Result<(), String>;

/// Buffered bytes of a file.
struct File {
    name: String,
    bytes: Vec<u8>,
}

impl File {
    /// Returns whether there are bytes enough for a write: what a call of the kernel costs is nothing beside them, and the
    /// processor's second cache holds them, so that they are not fetched from memory to be copied.
    fn is_full(&self) -> bool {
        self.bytes.len() >= 1 << 18
    }

    /// Hands the bytes to the output: all of them, or as soon as there are many. Returns whether it did.
    fn flush(&mut self, all: bool, output: Output<'_>) -> Result<bool, String> {
        const MANY: usize = 1 << 20;
        let is_due = !self.bytes.is_empty() && (all || self.bytes.len() >= MANY);
        if is_due {
            output(&self.name, &self.bytes)?;
            self.bytes.clear();
        }
        Ok(is_due)
    }
}
