//! Waiting without reading a clock. A reading costs virtual time; being woken does not.

use crate::failure::{Failure, check};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What CLOCK_REALTIME says at virtual time 0, in ns.
pub const EPOCH: u64 = 1_000_000_000 * SECOND;
const SECOND: u64 = 1_000_000_000;

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as i64 }
}

/// How late, in ns, the kernel may wake a thread to join it with other timers: of this thread, and of those and the
/// programs that it starts from now on.
pub fn slack(ns: u64) {
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
}

/// Sleeps until virtual time `ns`; not at all when that is past.
pub fn sleep_until(ns: u64) {
    sleep(libc::TIMER_ABSTIME, EPOCH.saturating_add(ns));
}

/// Sleeps for `ns`.
pub fn sleep_for(ns: u64) {
    sleep(0, ns);
}

fn sleep(flags: i32, ns: u64) {
    // SAFETY: reads one timespec. Nobody sends this process signals that it handles, so nothing interrupts the sleep.
    unsafe { libc::clock_nanosleep(libc::CLOCK_REALTIME, flags, &timespec(ns), std::ptr::null_mut()) };
}

/// The kernel's tick in ns (1 s / HZ): the resolution of a clock that moves with it. That reads no clock.
pub fn tick() -> u64 {
    let mut tick = timespec(0);
    // SAFETY: writes one timespec.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    tick.tv_nsec as u64
}

/// A timer that expires again and again, without drift.
pub struct Ticks(OwnedFd);

impl Ticks {
    /// A timer that does not run yet.
    pub fn new() -> Result<Ticks, Failure> {
        // SAFETY: no pointers are passed; the descriptor is new and nobody else's.
        unsafe {
            let fd = check("timerfd_create", libc::timerfd_create(libc::CLOCK_REALTIME, libc::TFD_CLOEXEC))?;
            Ok(Ticks(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Lets it expire at every whole multiple of `interval` ns of virtual time, and once at once.
    pub fn on_the_grid(&self, interval: u64) -> Result<(), Failure> {
        // The first expiry is long past, so a first wait ends at once, and the next is the grid's.
        self.set(libc::TFD_TIMER_ABSTIME, EPOCH, interval)
    }

    /// Lets it expire every `interval` ns from now on.
    pub fn every(&self, interval: u64) -> Result<(), Failure> {
        self.set(0, interval, interval)
    }

    /// Stops it.
    pub fn stop(&self) -> Result<(), Failure> {
        self.set(0, 0, 0)
    }

    fn set(&self, flags: i32, first: u64, interval: u64) -> Result<(), Failure> {
        let setting = libc::itimerspec { it_value: timespec(first), it_interval: timespec(interval) };
        // SAFETY: reads one itimerspec; the old setting is not asked for.
        let done = unsafe { libc::timerfd_settime(self.0.as_raw_fd(), flags, &setting, std::ptr::null_mut()) };
        check("timerfd_settime", done).map(drop)
    }

    /// Waits until it has expired, and says how often it has since the last wait.
    pub fn wait(&self) -> Result<u64, Failure> {
        let mut count = 0_u64;
        // SAFETY: the eight bytes that a read of a timer gives fit into `count`.
        check("read", unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) })?;
        Ok(count)
    }
}
