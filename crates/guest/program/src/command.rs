//! Flows that are programs of the machine around the guest. They run in a root of their own, which shows the machine's files,
//! read-only.

use crate::failure::{Failure, check};
use crate::report;
use crate::timer::{slack, sleep_until};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, Once};
use std::{io, ptr};
use vazao_guest_protocol::{End, Event};

const ROOT: &str = "/host";
/// The timer slack that programs find on any machine, in ns.
const PROGRAM_SLACK: u64 = 50_000;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// linux/random.h: `_IOW('R', 3, int[2])`.
const RNDADDENTROPY: libc::c_ulong = 0x4008_5203;

/// A mount: source, type, target, flags, and whether programs can do without it.
type Mount = (&'static str, &'static str, &'static str, libc::c_ulong, bool);

/// The root of programs: the machine's files, and over them what must be the guest's own.
const MOUNTS: &[Mount] = &[
    ("/", "hostfs", ROOT, libc::MS_RDONLY, false),
    ("proc", "proc", "/host/proc", 0, false),
    ("sysfs", "sysfs", "/host/sys", 0, true),
    ("devtmpfs", "devtmpfs", "/host/dev", 0, false),
    ("devpts", "devpts", "/host/dev/pts", 0, true),
    ("tmpfs", "tmpfs", "/host/dev/shm", 0, true),
    ("tmpfs", "tmpfs", "/host/tmp", 0, false),
    ("tmpfs", "tmpfs", "/host/run", 0, true),
];

/// Prepares the root of programs when it is first called.
pub fn root() -> Result<(), Failure> {
    if fs::exists(ROOT).unwrap_or(false) {
        return Ok(());
    }
    for &(what, kind, at, flags, optional) in MOUNTS {
        if at == ROOT || at.starts_with("/host/dev/") {
            let _ = fs::create_dir(at); // if this fails, so does the mount
        }
        match mount(what, kind, at, flags) {
            Err(failure) if !optional => return Err(failure),
            _ => {}
        }
    }
    // No program may print reports: the console for them is removed, and programs can make no devices.
    fs::remove_file("/host/dev/tty1").map_err(|error| Failure { error, call: "unlink" })?;
    trust_random()
}

/// Credits the kernel's random number generator with entropy. Its only seed is the command line, as nothing else in a guest
/// is random; a kernel that waited for more would read its clock millions of times.
fn trust_random() -> Result<(), Failure> {
    // struct rand_pool_info of linux/random.h: bits to credit, the number of bytes to mix in, the bytes.
    let mixed_in: [i32; 10] = [256, 32, 0, 0, 0, 0, 0, 0, 0, 0];
    let failed = |error| Failure { error, call: "open" };
    let random = fs::OpenOptions::new().write(true).open("/dev/random").map_err(failed)?;
    // SAFETY: reads the struct, whose length is in it.
    check("ioctl", unsafe { libc::ioctl(random.as_raw_fd(), RNDADDENTROPY, mixed_in.as_ptr()) }).map(drop)
}

/// Mounts a file system. For hostfs, `what` is the folder of the machine that it shows.
pub fn mount(what: &str, kind: &str, at: &str, flags: libc::c_ulong) -> Result<(), Failure> {
    let text = |text| CString::new(text).expect("a constant without zeros");
    let (what, kind, at) = (text(what), text(kind), text(at));
    let data = if kind.as_bytes() == b"hostfs" { what.as_ptr().cast() } else { ptr::null() };
    // SAFETY: passes strings that end with zero.
    check("mount", unsafe { libc::mount(what.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, data) }).map(drop)
}

/// Starts a program at virtual time `start` and waits for its end.
pub fn run(flow: u32, command: &str, start: u64) -> Result<End, Failure> {
    sleep_until(start);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env_clear().stdin(Stdio::null());
    shell.envs([("HOME", "/tmp"), ("PATH", PATH), ("TMPDIR", "/tmp"), ("LANG", "C.UTF-8"), ("TERM", "dumb")]);
    // SAFETY: between fork and exec only system calls are made.
    unsafe { shell.pre_exec(enter) };
    let child = shell.spawn().map_err(|error| Failure { error, call: "exec" })?;
    report::event(flow, Event::Up);
    let status = wait(child.id() as i32);
    Ok(match (status.code(), status.signal()) {
        (Some(0), _) => End::Closed,
        (Some(status), _) => End::Exited { status },
        (None, signal) => End::Killed { signal: signal.unwrap_or(0) },
    })
}

/// The capabilities of programs, which are root here: to own, read and signal what is the guest's, and to use its network.
/// With those to mount, to trace, to make devices or to leave its root, a program would reach the report console and the
/// machine's files as the guest has mounted them. From linux/capability.h: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID,
/// NET_BIND_SERVICE, NET_BROADCAST, NET_ADMIN, NET_RAW, IPC_LOCK, IPC_OWNER, SYS_NICE, SYS_RESOURCE.
const RIGHTS: &[libc::c_ulong] = &[0, 1, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 23, 24];

/// Makes the calling process the leader of a new session, in the root of programs, with no capability but [`RIGHTS`].
fn enter() -> io::Result<()> {
    slack(PROGRAM_SLACK);
    // SAFETY: constants that end with zero.
    let done = unsafe {
        [libc::setsid(), libc::chroot(c"/host".as_ptr()), libc::chdir(c"/tmp".as_ptr())].iter().all(|done| *done >= 0)
    };
    // SAFETY: no pointers are passed.
    let prctl = |option, value: libc::c_ulong| unsafe { libc::prctl(option, value, 0, 0, 0) };
    let exists = |right: &libc::c_ulong| prctl(libc::PR_CAPBSET_READ, *right) >= 0;
    let mut others = (0..).take_while(exists).filter(|right| !RIGHTS.contains(right));
    let confined =
        others.all(|right| prctl(libc::PR_CAPBSET_DROP, right) == 0) && prctl(libc::PR_SET_NO_NEW_PRIVS, 1) == 0;
    if done && confined { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Children that a thread waits for, and the exit status of those that have ended unnoticed. Every orphaned process becomes
/// a child of this one, so one thread reaps all.
struct Children {
    awaited: BTreeSet<i32>,
    ended: BTreeMap<i32, i32>,
}

static CHILDREN: Mutex<Children> = Mutex::new(Children { awaited: BTreeSet::new(), ended: BTreeMap::new() });
static CHANGED: Condvar = Condvar::new();
static REAPER: Once = Once::new();

/// Waits until a child has ended.
fn wait(child: i32) -> ExitStatus {
    REAPER.call_once(|| drop(std::thread::spawn(reap)));
    let mut children = CHILDREN.lock().expect("no holder panics");
    loop {
        if let Some(status) = children.ended.remove(&child) {
            return ExitStatus::from_raw(status);
        }
        if children.awaited.insert(child) {
            CHANGED.notify_all();
        }
        children = CHANGED.wait(children).expect("no holder panics");
    }
}

/// Reaps whatever ends while a thread waits for a child: only then is there surely a child, so that waiting blocks.
fn reap() {
    loop {
        let idle = |children: &mut Children| children.awaited.is_empty();
        drop(CHANGED.wait_while(CHILDREN.lock().expect("no holder panics"), idle).expect("no holder panics"));
        let mut status = 0;
        // SAFETY: writes one int.
        let child = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        let mut children = CHILDREN.lock().expect("no holder panics");
        children.awaited.remove(&child);
        children.ended.insert(child, status);
        CHANGED.notify_all();
    }
}
