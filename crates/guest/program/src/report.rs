//! What the controller reads: whole lines on the second console. A line is one write, so that the time at which it
//! appears is the time of what it says; none carries a time.

use crate::failure::{Failure, check};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::OnceLock;

static CONSOLE: OnceLock<File> = OnceLock::new();

/// Opens the report console, and the first one as what programs print to.
pub fn open() -> Result<(), Failure> {
    let open = |path| OpenOptions::new().write(true).open(path).map_err(|error| Failure { error, call: "open" });
    let (printed, reports) = (open("/dev/tty0")?, open("/dev/tty1")?);
    for console in [&printed, &reports] {
        plain(console.as_raw_fd())?;
    }
    for standard in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: both are descriptors; nothing owns the standard ones.
        check("dup2", unsafe { libc::dup2(printed.as_raw_fd(), standard) })?;
    }
    CONSOLE.set(reports).expect("opened once");
    Ok(())
}

/// Keeps the terminal from rewriting what is printed (line ends).
fn plain(console: RawFd) -> Result<(), Failure> {
    // SAFETY: a termios is integers only, for which zeros are a value; the calls write and read one of its size.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        check("tcgetattr", libc::tcgetattr(console, &mut settings))?;
        settings.c_oflag &= !libc::OPOST;
        check("tcsetattr", libc::tcsetattr(console, libc::TCSANOW, &settings))?;
    }
    Ok(())
}

/// Writes one line, `text`, with its line end.
pub fn line(mut text: String) {
    text.push('\n');
    // Where there is no console (a test), or it fails, nobody could be told.
    if let Some(mut console) = CONSOLE.get() {
        let _ = console.write_all(text.as_bytes());
    }
}

/// Reports a line, formatted as `format!` does.
macro_rules! report {
    ($($words:tt)*) => { $crate::report::line(format!($($words)*)) };
}
pub(crate) use report;
