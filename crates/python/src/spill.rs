//! Samples of time series on disk: what a run has no room for in memory, in a file that nobody else sees and that goes with it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Mutex;
use vazao_scenario::{Legend, Sample, Table};

/// Bytes of a disk left for others, whatever is traced.
const LEFT: u64 = 1 << 30;
/// Rows that are made at a time.
const ROWS: u64 = 1 << 16;

/// The file, once there is something to write.
#[derive(Default)]
pub struct Spill {
    file: Option<File>,
    bytes: u64,
}

impl Spill {
    /// Appends records.
    pub fn write(&mut self, records: &[u8]) -> Result<(), String> {
        let folder = std::env::temp_dir();
        let failed =
            |problem: String| format!("time series in {} (TMPDIR names another folder): {problem}", folder.display());
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile().map_err(|error| failed(error.to_string()))?),
        };
        let disk = rustix::fs::fstatvfs(&*file).map_err(|error| failed(error.to_string()))?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < LEFT {
            let taken = self.bytes as f64 / 1e9;
            return Err(failed(format!(
                "less than 1 GB of the disk is left, after {taken:.1} GB of this run's; trace less, or less often (trace_every)"
            )));
        }
        file.write_all(records).map_err(|error| failed(error.to_string()))?;
        self.bytes += records.len() as u64;
        Ok(())
    }

    /// Returns the written rows, if there are any.
    pub fn finish(self, legend: Legend) -> Option<Spilled> {
        Some(Spilled { file: Mutex::new(self.file?), rows: self.bytes / Sample::BYTES as u64, legend })
    }
}

/// Written rows.
pub struct Spilled {
    file: Mutex<File>,
    rows: u64,
    legend: Legend,
}

impl Spilled {
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the rows of a chunk; `None` behind the last.
    pub fn chunk(&self, number: u64) -> Option<io::Result<Table>> {
        let first = number * ROWS;
        let rows = self.rows.checked_sub(first).filter(|&rows| rows > 0)?.min(ROWS);
        let mut records = vec![0; rows as usize * Sample::BYTES];
        let mut file = self.file.lock().expect("no reader panics");
        let read = file.seek(SeekFrom::Start(first * Sample::BYTES as u64)).and_then(|_| file.read_exact(&mut records));
        Some(read.map(|()| self.legend.rows_of_records(&records)))
    }
}
