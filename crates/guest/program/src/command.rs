//! Flows that are programs of the machine around the guest, run from its root, which they cannot write.

use crate::failure::{Failure, check};
use crate::plan::Flow;
use crate::report;
use crate::timer::{slack, sleep_until};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::{Condvar, Mutex, Once};
use std::{io, ptr};

const ROOT: &str = "/host";
/// What programs are used to, in ns.
const PROGRAM_SLACK: u64 = 50_000;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A file system: what, of which type, where, with which flags, and whether programs can do without.
type Mount = (&'static str, &'static str, &'static str, libc::c_ulong, bool);

/// The root of programs: the machine's files, and what of them must be the guest's own.
const MOUNTS: &[Mount] = &[
    ("/", "hostfs", ROOT, libc::MS_RDONLY, false),
    ("proc", "proc", "/host/proc", 0, false),
    ("sysfs", "sysfs", "/host/sys", 0, true),
    ("devtmpfs", "devtmpfs", "/host/dev", 0, false),
    ("devpts", "devpts", "/host/dev/pts", 0, true),
    ("tmpfs", "tmpfs", "/host/dev/shm", 0, true),
    ("tmpfs", "tmpfs", "/host/tmp", 0, false),
    ("tmpfs", "tmpfs", "/host/run", 0, true),
    ("tmpfs", "tmpfs", "/host/root", 0, true),
];

/// Mounts the root of programs, the first time that it is called.
pub fn root() -> Result<(), Failure> {
    if fs::exists(ROOT).unwrap_or(false) {
        return Ok(());
    }
    for &(what, kind, at, flags, optional) in MOUNTS {
        if at == ROOT || at.starts_with("/host/dev/") {
            let _ = fs::create_dir(at); // what matters is whether the mount succeeds
        }
        match mount(what, kind, at, flags) {
            Err(failure) if !optional => return Err(failure),
            _ => {}
        }
    }
    Ok(())
}

/// Mounts a file system; hostfs takes `what` as the folder to show.
pub fn mount(what: &str, kind: &str, at: &str, flags: libc::c_ulong) -> Result<(), Failure> {
    let text = |text| CString::new(text).expect("a constant without zeros");
    let (what, kind, at) = (text(what), text(kind), text(at));
    let data = if kind.as_bytes() == b"hostfs" { what.as_ptr().cast() } else { ptr::null() };
    // SAFETY: passes strings that end with zero.
    check("mount", unsafe { libc::mount(what.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, data) }).map(drop)
}

/// Runs the flow's program; how it ended.
pub fn run(flow: &Flow) -> Result<String, Failure> {
    sleep_until(flow.start.unwrap_or(0));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &flow.program]).env_clear();
    shell.envs([("HOME", "/tmp"), ("PATH", PATH), ("TMPDIR", "/tmp"), ("LANG", "C.UTF-8"), ("TERM", "dumb")]);
    // SAFETY: between fork and exec only system calls are made.
    unsafe { shell.pre_exec(enter) };
    let child = shell.spawn().map_err(|error| Failure { error, call: "exec" })?;
    report!("up {}", flow.number);
    let status = wait(child.id() as i32);
    Ok(match (status.code(), status.signal()) {
        (Some(0), _) => "ok".to_owned(),
        (Some(code), _) => format!("exit {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or(0)),
    })
}

/// Makes the calling process the first of a session of its own, in the root of programs.
fn enter() -> io::Result<()> {
    slack(PROGRAM_SLACK);
    // SAFETY: constants that end with zero.
    let done = unsafe {
        [libc::setsid(), libc::chroot(c"/host".as_ptr()), libc::chdir(c"/tmp".as_ptr())].iter().all(|done| *done >= 0)
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The programs that run and those that have ended: every process without a parent becomes a child of this one, so one
/// thread waits for all and keeps what is asked for.
#[derive(Default)]
struct Children {
    running: u32,
    ended: BTreeMap<i32, i32>,
}

static CHILDREN: Mutex<Children> = Mutex::new(Children { running: 0, ended: BTreeMap::new() });
static CHANGED: Condvar = Condvar::new();
static REAPER: Once = Once::new();

/// Waits until a child has ended.
fn wait(child: i32) -> ExitStatus {
    REAPER.call_once(|| drop(std::thread::spawn(reap)));
    let mut children = CHILDREN.lock().expect("no holder panics");
    children.running += 1;
    CHANGED.notify_all();
    loop {
        if let Some(status) = children.ended.remove(&child) {
            children.running -= 1;
            return ExitStatus::from_raw(status);
        }
        children = CHANGED.wait(children).expect("no holder panics");
    }
}

/// Reaps whatever ends, while a program runs that somebody waits for.
fn reap() {
    loop {
        let idle = |children: &mut Children| children.running == 0;
        drop(CHANGED.wait_while(CHILDREN.lock().expect("no holder panics"), idle).expect("no holder panics"));
        let mut status = 0;
        // SAFETY: writes one int.
        let child = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if child > 0 {
            CHILDREN.lock().expect("no holder panics").ended.insert(child, status);
            CHANGED.notify_all();
        }
    }
}
