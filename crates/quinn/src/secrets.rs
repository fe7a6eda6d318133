//! What TLS agrees on, kept for those who want to read the packets.

use rustls::KeyLog;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Mutex;

/// Lines of an SSLKEYLOGFILE, of both ends: who comes to know a secret first says it.
#[derive(Debug, Default)]
pub struct Secrets(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    /// What nobody has taken yet.
    fresh: String,
    all: BTreeSet<String>,
}

impl Secrets {
    /// Takes them.
    pub fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().expect("a log that does not panic").fresh)
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut line = label.to_owned();
        for part in [client_random, secret] {
            line.push(' ');
            for byte in part {
                write!(line, "{byte:02x}").expect("a string takes everything");
            }
        }
        line.push('\n');
        let mut lines = self.0.lock().expect("a log that does not panic");
        if lines.all.insert(line.clone()) {
            lines.fresh.push_str(&line);
        }
    }
}
