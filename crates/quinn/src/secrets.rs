//! What TLS agrees on, kept for those who want to read the packets.

use rustls::KeyLog;
use std::fmt::Write;
use std::sync::Mutex;

/// Lines of an SSLKEYLOGFILE that nobody has taken yet.
#[derive(Debug, Default)]
pub struct Secrets(Mutex<String>);

impl Secrets {
    /// Takes them.
    pub fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().expect("a log that does not panic"))
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut lines = self.0.lock().expect("a log that does not panic");
        lines.push_str(label);
        for part in [client_random, secret] {
            lines.push(' ');
            for byte in part {
                write!(lines, "{byte:02x}").expect("a string takes everything");
            }
        }
        lines.push('\n');
    }
}
