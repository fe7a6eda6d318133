//! Reports, printed on the second console. Each is one write of one line, so that it appears at the virtual time of what
//! it reports.

use crate::failure::{Failure, check};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::OnceLock;
use vazao_guest_protocol::{Event, Report, encode};

static CONSOLE: OnceLock<File> = OnceLock::new();

/// Opens the second console for reports, and the first one as standard output and error, which programs inherit.
pub fn open() -> Result<(), Failure> {
    let open = |path| OpenOptions::new().write(true).open(path).map_err(|error| Failure { error, call: "open" });
    let (printed, reports) = (open("/dev/tty0")?, open("/dev/tty1")?);
    for console in [&printed, &reports] {
        raw(console.as_raw_fd())?;
    }
    for standard in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: both are descriptors; nothing owns the standard ones.
        check("dup2", unsafe { libc::dup2(printed.as_raw_fd(), standard) })?;
    }
    CONSOLE.set(reports).expect("opened once");
    Ok(())
}

/// Keeps the terminal from rewriting line ends.
fn raw(console: RawFd) -> Result<(), Failure> {
    // SAFETY: a termios is integers only, for which zeros are a value; the calls write and read one of its size.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        check("tcgetattr", libc::tcgetattr(console, &mut settings))?;
        settings.c_oflag &= !libc::OPOST;
        check("tcsetattr", libc::tcsetattr(console, libc::TCSANOW, &settings))?;
    }
    Ok(())
}

/// Prints a report.
pub fn report(report: &Report) {
    let line = encode(report) + "\n";
    // Without a console (in a test), or if the write fails, nobody could be told.
    if let Some(mut console) = CONSOLE.get() {
        let _ = console.write_all(line.as_bytes());
    }
}

/// Prints that something happened at this end of a flow.
pub fn event(flow: u32, event: Event) {
    report(&Report::Flow { number: flow, event });
}
