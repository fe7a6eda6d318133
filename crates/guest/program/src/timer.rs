//! Waiting without reading a clock. A reading costs virtual time; being woken does not.

use crate::failure::{Failure, check};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// CLOCK_REALTIME at virtual time 0, in ns.
pub const EPOCH: u64 = 1_000_000_000 * SECOND;
const SECOND: u64 = 1_000_000_000;

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as i64 }
}

/// Sets the timer slack in ns: how late the kernel may wake this thread to serve several timers at once. Threads and programs
/// that it starts later inherit it.
pub fn slack(ns: u64) {
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
}

/// Sleeps until virtual time `ns`; not at all if that is past.
pub fn sleep_until(ns: u64) {
    sleep(libc::TIMER_ABSTIME, EPOCH.saturating_add(ns));
}

/// Sleeps for `ns`.
pub fn sleep_for(ns: u64) {
    sleep(0, ns);
}

fn sleep(flags: i32, ns: u64) {
    // SAFETY: reads one timespec. This process handles no signals, so nothing interrupts the sleep.
    unsafe { libc::clock_nanosleep(libc::CLOCK_REALTIME, flags, &timespec(ns), std::ptr::null_mut()) };
}

/// Returns the kernel's tick in ns (1 s / HZ): the resolution of a clock that advances by it. No clock is read.
pub fn tick() -> u64 {
    let mut tick = timespec(0);
    // SAFETY: writes one timespec.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    tick.tv_nsec as u64
}

/// A periodic timer without drift.
pub struct Ticks(OwnedFd);

impl Ticks {
    /// Makes a timer that does not run yet.
    pub fn new() -> Result<Ticks, Failure> {
        // SAFETY: no pointers are passed; the descriptor is new and nobody else's.
        unsafe {
            let fd = check("timerfd_create", libc::timerfd_create(libc::CLOCK_REALTIME, libc::TFD_CLOEXEC))?;
            Ok(Ticks(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Sets the timer to expire now, and at every whole multiple of `interval` ns of virtual time.
    pub fn on_the_grid(&self, interval: u64) -> Result<(), Failure> {
        // The first expiry is long past, so the first wait ends at once, and the next one at a multiple of the interval.
        self.set(libc::TFD_TIMER_ABSTIME, EPOCH, interval)
    }

    /// Sets the timer to expire every `interval` ns from now on.
    pub fn every(&self, interval: u64) -> Result<(), Failure> {
        self.set(0, interval, interval)
    }

    /// Stops the timer.
    pub fn stop(&self) -> Result<(), Failure> {
        self.set(0, 0, 0)
    }

    fn set(&self, flags: i32, first: u64, interval: u64) -> Result<(), Failure> {
        let setting = libc::itimerspec { it_value: timespec(first), it_interval: timespec(interval) };
        // SAFETY: reads one itimerspec; the old setting is not asked for.
        let done = unsafe { libc::timerfd_settime(self.0.as_raw_fd(), flags, &setting, std::ptr::null_mut()) };
        check("timerfd_settime", done).map(drop)
    }

    /// Waits for an expiry. Returns how many there were since the last wait.
    pub fn wait(&self) -> Result<u64, Failure> {
        let mut count = 0_u64;
        // SAFETY: the eight bytes that a read of a timer gives fit into `count`.
        check("read", unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) })?;
        Ok(count)
    }
}
