//! The library's own log in qlog, kept for the run's qlog file.

use crate::clock;
use quinn_proto::{QlogConfig, QlogStream};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use vazao_engine::Time;

/// Records that have not been taken yet.
#[derive(Clone, Debug, Default)]
pub struct Records(Arc<Mutex<Vec<u8>>>);

impl Records {
    /// Takes the records.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().expect("a log that does not panic"))
    }

    /// Returns the stream that the library writes to. The library's header is left out: the file has one of its own.
    pub fn stream(&self) -> Option<QlogStream> {
        let mut config = QlogConfig::default();
        config.writer(Box::new(self.clone())).start_time(clock::instant(Time::ZERO));
        let stream = config.into_stream();
        self.take();
        stream
    }
}

impl Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a log that does not panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
