//! The secrets of TLS, with which captured packets can be decrypted.

use rustls::KeyLog;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Mutex;

/// Lines of an SSLKEYLOGFILE, each as soon as one of the ends knows the secret.
#[derive(Debug, Default)]
pub struct Secrets(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    /// Lines that have not been taken yet.
    fresh: String,
    all: BTreeSet<String>,
}

impl Secrets {
    /// Takes the new lines.
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
