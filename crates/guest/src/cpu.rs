//! The processor that a run uses. A guest and its controller take strict turns, so they are fastest on a common one
//! (by a factor of 2.5: handing over to another processor takes longer than the work). Runs side by side, in this
//! process or another, get different processors as long as there are enough.

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Mutex;

/// Number of runs of this process on each processor.
static RUNS: Mutex<[u32; CpuSet::MAX_CPU]> = Mutex::new([0; CpuSet::MAX_CPU]);

thread_local! {
    /// The pinning that the guests of this thread share.
    static PINNED: RefCell<Weak<Pinned>> = const { RefCell::new(Weak::new()) };
}

/// Keeps this thread, and the processes that it starts, on one processor until it is dropped.
pub(crate) struct Pinned {
    cpu: usize,
    /// The processors that the thread was allowed before.
    before: CpuSet,
    /// Claims the processor against other processes, if it was free.
    _claim: Option<OwnedFd>,
}

impl Pinned {
    /// Pins this thread, or shares its present pinning. Returns `None` where that is not allowed.
    pub fn share() -> Option<Rc<Pinned>> {
        PINNED.with_borrow_mut(|pinned| {
            let shared = pinned.upgrade().or_else(|| Pinned::new().map(Rc::new));
            *pinned = shared.as_ref().map_or_else(Weak::new, Rc::downgrade);
            shared
        })
    }
    fn new() -> Option<Pinned> {
        let before = sched_getaffinity(None).ok()?;
        let (cpu, claim) = choose(&before)?;
        let mut only = CpuSet::new();
        only.set(cpu);
        let pinned = Pinned { cpu, before, _claim: claim }; // counted in `choose`, and not any more once dropped
        sched_setaffinity(None, &only).ok()?;
        Some(pinned)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // This fails only if those processors are gone; then the thread stays where it is.
        let _ = sched_setaffinity(None, &self.before);
        runs()[self.cpu] -= 1;
    }
}

/// Chooses the allowed processor with the fewest runs of this process. Among several it is the first that no other process has
/// claimed, beginning with the current one.
fn choose(allowed: &CpuSet) -> Option<(usize, Option<OwnedFd>)> {
    let mut runs = runs();
    let current = sched_getcpu();
    let mut cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    cpus.sort_by_key(|&cpu| (runs[cpu], cpu < current, cpu));
    let free = cpus.iter().filter(|&&cpu| runs[cpu] == 0).find_map(|&cpu| Some((cpu, Some(claim(cpu)?))));
    let (cpu, claim) = free.or_else(|| Some((*cpus.first()?, None)))?;
    runs[cpu] += 1;
    Some((cpu, claim))
}

/// Takes a name that at most one process of the machine can hold, and that is free again when the process is gone.
fn claim(cpu: usize) -> Option<OwnedFd> {
    let address = SocketAddrUnix::new_abstract_name(format!("vazao/cpu/{cpu}").as_bytes()).ok()?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()?;
    bind(&socket, &address).ok()?;
    Some(socket)
}

fn runs() -> std::sync::MutexGuard<'static, [u32; CpuSet::MAX_CPU]> {
    RUNS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_while_any_of_its_guests_lives() {
        std::thread::spawn(|| {
            let before = sched_getaffinity(None).unwrap();
            let first = Pinned::share().unwrap();
            let second = Pinned::share().unwrap();
            assert_eq!(first.cpu, second.cpu);
            assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
            drop(first);
            assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
            drop(second);
            assert_eq!(sched_getaffinity(None).unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn runs_side_by_side_are_on_different_processors() {
        let available = sched_getaffinity(None).unwrap().count() as usize;
        let together = std::sync::Barrier::new(available);
        let mut chosen: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..available)
                .map(|_| {
                    scope.spawn(|| {
                        let pinned = Pinned::share().unwrap();
                        together.wait();
                        pinned.cpu
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        chosen.sort_unstable();
        chosen.dedup();
        assert!(chosen.len() + 1 >= available, "{chosen:?}: at most one is shared, with the test beside this one");
    }
}
