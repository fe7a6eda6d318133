//! Starts a guest's process. Nothing that it can reach makes two runs differ, and nothing of it remains when this process ends,
//! however that happens.
//!
//! A kernel finds its clock and its cards by the paths of sockets. Here the paths lead through the guest's own open files
//! (`/proc/self/fd/N`) to sockets whose names are deleted before it starts: no file is ever left behind, and the command
//! line, from which the kernel takes its randomness, is the same in every run.

use crate::Problem;
use crate::console::Console;
use crate::walls::{self, Below};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, pidfd_open, waitpid,
};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

/// Settings of a guest's process.
pub(crate) struct Launch<'a> {
    pub kernel: &'a Path,
    pub number: u32,
    pub memory_mib: u32,
    pub seed: u64,
    pub cards: u32,
    /// Other files of this machine that it may read.
    pub files: &'a [PathBuf],
    pub initrd: &'a [u8],
    pub console: &'a Console,
    pub reports: &'a Console,
}

/// Numbers of the guest's open files: standard input, console, console, reports, initial root, clock, cards, and last the
/// leash (see [`confine`]).
const REPORTS: usize = 3;
const INITRD: usize = 4;
const CLOCK: usize = 5;
const CARDS: usize = 6;

impl Launch<'_> {
    /// Starts the process. Returns it, and the sockets at which it will connect to its clock and its cards.
    pub fn start(&self) -> Result<(Process, Vec<OwnedFd>), Problem> {
        let remedy =
            "see that the temporary folder (TMPDIR) can be written to and enough files may be open (ulimit -n)";
        let fails = |what| Problem::resource(what, remedy);
        let prepared = || {
            let nothing = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
            let socket = |_| socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
            let sockets: Result<Vec<OwnedFd>, Errno> = (0..=self.cards).map(socket).collect();
            Ok((nothing, in_memory(self.initrd)?, sockets?, pipe_with(PipeFlags::CLOEXEC)?))
        };
        let (nothing, initrd, sockets, (leash, hand)) = prepared().map_err(fails("opening its files"))?;
        let walls =
            walls::around(self.kernel, self.files).map_err(io::Error::other).map_err(fails("making its walls"))?;
        let console = self.console.as_fd();
        let (folder, memory) = folders(self.memory_mib).map_err(fails("finding room for its memory"))?;
        let plan = Plan {
            kernel: self.kernel,
            arguments: &self.arguments(),
            environment: &["PATH=/usr/bin:/bin".to_owned(), format!("TMPDIR={}", memory.display())],
            folder,
            memory,
            walls: walls.as_ref().map(AsFd::as_fd),
            files: &[nothing.as_fd(), console, console, self.reports.as_fd(), initrd.as_fd()],
            sockets: &sockets,
            leash: leash.as_fd(),
        };
        match spawn(&plan, hand) {
            Ok(process) => Ok((process, sockets)),
            Err((Stage::Kernel, error)) => Err(Problem::Start { path: self.kernel.to_owned(), error }),
            Err((Stage::Sockets, error)) => Err(fails("making its sockets")(error)),
            Err((Stage::Process, error)) => Err(fails("setting up its process")(error)),
        }
    }
    /// Returns the command line. Each word of it decides the kernel's random numbers; none may depend on where or when it runs.
    fn arguments(&self) -> Vec<String> {
        let mut words = vec![
            "linux".to_owned(),
            format!("mem={}M", self.memory_mib),
            format!("time-travel=ext:{}:/proc/self/fd/{CLOCK}", self.number),
            format!("initrd=/proc/self/fd/{INITRD}"),
            "rdinit=/init".to_owned(),
            "con=null".to_owned(),
            "con0=null,fd:1".to_owned(),
            format!("con1=null,fd:{REPORTS}"),
            "ssl=null".to_owned(),
            "uml_dir=./".to_owned(), // the current folder, in which nothing can be made: it is deleted
            "umid=guest".to_owned(),
            "quiet".to_owned(),
        ];
        words.extend((0..self.cards as usize).map(|n| format!("virtio_uml.device=/proc/self/fd/{}:1:{n}", CARDS + n)));
        words.push(format!("SEED={}", self.seed));
        words
    }
}

/// Returns the path of a private folder that does not exist yet, and of the folder for the guest's memory (a file without a
/// name): the private one, which is in memory, if there is room, else the temporary one.
fn folders(memory_mib: u32) -> io::Result<(PathBuf, PathBuf)> {
    /// Room for so many guests must be free, as others may be growing at the same time.
    const GUESTS: u64 = 32;
    let shared = Path::new("/dev/shm");
    let fits = rustix::fs::statvfs(shared).is_ok_and(|status| {
        let executable = !status.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC);
        executable && status.f_bavail * status.f_frsize >= GUESTS * (u64::from(memory_mib) << 20)
    });
    let writable = rustix::fs::access(shared, rustix::fs::Access::WRITE_OK).is_ok();
    if fits && writable {
        // A folder in memory takes files without a name even when it is deleted; others do not.
        return Ok((new_folder(shared), PathBuf::from(".")));
    }
    let temporary = std::path::absolute(std::env::temp_dir())?;
    Ok((new_folder(&temporary), temporary))
}

/// Makes a file in memory that holds `content`.
fn in_memory(content: &[u8]) -> io::Result<OwnedFd> {
    let file = std::fs::File::from(memfd_create("initrd", MemfdFlags::CLOEXEC)?);
    io::Write::write_all(&mut &file, content)?;
    Ok(file.into())
}

/// A guest's process. When this is dropped, the process is killed with all that it has started.
pub(crate) struct Process {
    pid: Pid,
    /// Readable once it has ended.
    file: OwnedFd,
    /// Our end of the leash.
    _hand: OwnedFd,
    ended: bool,
}

impl Process {
    /// Returns the file to wait on for its end.
    pub fn end_file(&self) -> PollFd<'_> {
        PollFd::new(&self.file, PollFlags::IN)
    }
    /// Kills the process, unless it has ended, and all that it has started. Returns how it ended.
    pub fn end(&mut self) -> Option<WaitStatus> {
        if !self.ended {
            self.kill(); // a process that has ended keeps its status and its number until it is waited for
        }
        self.wait(WaitOptions::empty())
    }
    fn wait(&mut self, options: WaitOptions) -> Option<WaitStatus> {
        if self.ended {
            return None;
        }
        let (_, status) = loop {
            match waitpid(Some(self.pid), options) {
                Err(Errno::INTR) => {}
                other => break other.ok()??,
            }
        };
        self.ended = true;
        Some(status)
    }
    fn kill(&self) {
        // Both may be gone already.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let _ = kill_process(self.pid, Signal::KILL);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
            let _ = self.wait(WaitOptions::empty());
        }
    }
}

/// Describes the end of a process.
pub(crate) fn describe(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "for an unknown reason".to_owned(),
    }
}

/// Description of a new process.
struct Plan<'a> {
    kernel: &'a Path,
    arguments: &'a [String],
    environment: &'a [String],
    /// Folder, which is deleted before it runs; where its memory will be, from there.
    folder: PathBuf,
    memory: PathBuf,
    /// Walls (see [`walls`]).
    walls: Option<BorrowedFd<'a>>,
    /// Open files from 0 on. The names of `sockets` and the leash follow.
    files: &'a [BorrowedFd<'a>],
    /// The sockets to which it will connect.
    sockets: &'a [OwnedFd],
    leash: BorrowedFd<'a>,
}

/// Stage at which a new process can fail.
#[derive(Clone, Copy)]
enum Stage {
    Sockets,
    Process,
    Kernel,
}

/// A [`Plan`] in a form that needs no allocation, which the new process must not make.
struct Child {
    kernel: CString,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    files: Vec<c_int>,
    sockets: Vec<c_int>,
    /// Index of the first socket's name in `files`.
    names: usize,
    folder: CString,
    memory: CString,
    /// A file descriptor, or -1 without walls.
    walls: c_int,
    parent: libc::pid_t,
    filter: Vec<libc::sock_filter>,
    /// Stage of the failure, and the system's error number.
    failure: Option<(Stage, c_int)>,
}

/// Starts a process as posix_spawn(3) would: it borrows this one's memory until it executes the kernel, so that a large
/// process starts guests as fast as a small one.
fn spawn(plan: &Plan<'_>, hand: OwnedFd) -> Result<Process, (Stage, io::Error)> {
    const STACK: usize = 64 << 10;
    let unusable = |error: std::ffi::NulError| (Stage::Kernel, error.into());
    let strings = |words: &[String]| words.iter().map(|w| CString::new(w.as_bytes())).collect::<Result<Vec<_>, _>>();
    let pointers = |words: &[CString]| words.iter().map(|w| w.as_ptr()).chain([null()]).collect();
    let numbers = |files: &[BorrowedFd<'_>]| files.iter().map(AsRawFd::as_raw_fd).collect::<Vec<_>>();
    let (arguments, environment) =
        (strings(plan.arguments).map_err(unusable)?, strings(plan.environment).map_err(unusable)?);
    let path = |path: &Path| CString::new(path.as_os_str().as_encoded_bytes());
    let no_name_yet = vec![-1; plan.sockets.len()];
    let mut child = Child {
        kernel: path(plan.kernel).map_err(unusable)?,
        arguments: pointers(&arguments),
        environment: pointers(&environment),
        files: [numbers(plan.files), no_name_yet, vec![plan.leash.as_raw_fd()]].concat(),
        sockets: plan.sockets.iter().map(AsRawFd::as_raw_fd).collect(),
        names: plan.files.len(),
        folder: path(&plan.folder).map_err(unusable)?,
        memory: path(&plan.memory).map_err(unusable)?,
        walls: plan.walls.map_or(-1, |walls| walls.as_raw_fd()),
        parent: std::process::id() as libc::pid_t,
        filter: filter(),
        failure: None,
    };
    let mut stack = vec![0u128; STACK / 16];
    // SAFETY: `become_guest` runs on a stack of its own, which grows down from its end, while this thread waits
    // (CLONE_VFORK) until it has executed the kernel or exited; so `child` is its alone meanwhile. It calls nothing but
    // async-signal-safe functions. All signals are blocked, so that no handler runs in borrowed memory.
    let pid = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let top = stack.as_mut_ptr().add(stack.len()).cast::<c_void>();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let pid = libc::clone(become_guest, top, flags, (&raw mut child).cast());
        let error = if pid < 0 { Some(io::Error::last_os_error()) } else { None };
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
        error.map_or(Ok(pid), |error| Err((Stage::Process, error)))?
    };
    let pid = Pid::from_raw(pid).expect("a child has a number");
    let file = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| (Stage::Process, error.into()))?;
    let mut process = Process { pid, file, _hand: hand, ended: false };
    // SAFETY: a field of a live value; the read is volatile because the other process has written it.
    match unsafe { (&raw const child.failure).read_volatile() } {
        None => Ok(process),
        Some((stage, error)) => {
            process.wait(WaitOptions::empty());
            Err((stage, io::Error::from_raw_os_error(error)))
        }
    }
}

/// Returns the path of a folder that does not exist yet, within another.
fn new_folder(within: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = within.join(format!("vazao-{}-{number}", std::process::id()));
        if !path.exists() {
            return path;
        }
    }
}

/// Turns the new process into a guest.
extern "C" fn become_guest(argument: *mut c_void) -> c_int {
    // SAFETY: the argument given to clone(2) in `spawn`: a live `Child` that nobody else touches meanwhile.
    let child = unsafe { &mut *argument.cast::<Child>() };
    // SAFETY: system calls of a process about to execute another program, with pointers into `child`.
    unsafe {
        let stage = if !name_sockets(child) {
            Stage::Sockets
        } else if !confine(child) {
            Stage::Process
        } else {
            libc::execve(child.kernel.as_ptr(), child.arguments.as_ptr(), child.environment.as_ptr());
            Stage::Kernel
        };
        child.failure = Some((stage, *libc::__errno_location()));
        libc::_exit(127)
    }
}

/// Binds the sockets to names, opens these, and deletes them. All this happens in a folder that becomes the current one and is
/// deleted too: the guest can make no files. The new process does this because it outlives a parent that is killed meanwhile,
/// so that even then nothing is left. Returns false if it failed.
///
/// # Safety
/// In a new process that is about to execute another program only.
unsafe fn name_sockets(child: &mut Child) -> bool {
    const NAME: &CStr = c"door";
    let names = &mut child.files[child.names..child.names + child.sockets.len()];
    // SAFETY: as the caller promises: system calls that change this process only, and pointers to live values.
    unsafe {
        libc::setpgid(0, 0); // so that all that it starts can be killed together, and it is not with its parent's group
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        std::ptr::copy_nonoverlapping(NAME.as_ptr(), address.sun_path.as_mut_ptr(), NAME.count_bytes());
        let address = (&raw const address).cast::<libc::sockaddr>();
        let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        if libc::mkdir(child.folder.as_ptr(), 0o700) != 0 {
            return false;
        }
        let mut done = libc::chdir(child.folder.as_ptr()) == 0;
        for (socket, name) in child.sockets.iter().zip(names) {
            done = done && libc::bind(*socket, address, length) == 0 && libc::listen(*socket, 1) == 0;
            *name = if done { libc::open(NAME.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) } else { -1 };
            done = done && *name >= 0 && libc::unlink(NAME.as_ptr()) == 0;
        }
        let error = *libc::__errno_location();
        let removed = libc::rmdir(child.folder.as_ptr()) == 0;
        if !done {
            *libc::__errno_location() = error;
        }
        done && removed
    }
}

/// Gives the new process its open files, and takes away what it must not have. Returns false if it failed.
///
/// # Safety
/// In a new process that is about to execute another program only.
unsafe fn confine(child: &mut Child) -> bool {
    // SAFETY: as the caller promises: system calls that change this process only, and pointers into `child`.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != child.parent {
            libc::_exit(127); // it died before the line above
        }
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
        libc::personality((libc::personality(0xffff_ffff) | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong);

        // Files move first to numbers that none is to have, then to their own; all others are closed.
        let count = child.files.len() as c_int;
        if child.walls >= 0 {
            child.walls = libc::fcntl(child.walls, libc::F_DUPFD_CLOEXEC, count);
        }
        for file in &mut child.files {
            *file = libc::fcntl(*file, libc::F_DUPFD_CLOEXEC, count);
        }
        let placed = (0..count).zip(&child.files).all(|(number, file)| libc::dup2(*file, number) == number);
        libc::syscall(libc::SYS_close_range, count, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);

        // The leash is a pipe between this process and its parent. When the parent is gone, for whatever reason, the system
        // sends the pipe's owner a signal: SIGKILL, to all that this process has started. (The signal of PR_SET_PDEATHSIG
        // goes to this process alone: the processes that it traces would be detached and run on.)
        let leash = count - 1;
        let tied = libc::fcntl(leash, libc::F_SETOWN, -libc::getpid()) == 0
            && libc::fcntl(leash, F_SETSIG, libc::SIGKILL) == 0
            && libc::fcntl(leash, libc::F_SETFL, libc::O_ASYNC) == 0;

        let filter = libc::sock_fprog { len: child.filter.len() as u16, filter: child.filter.as_mut_ptr() };
        let confined = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && (child.walls < 0 || wall_in(child))
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0;
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        placed && tied && confined && libc::sigprocmask(libc::SIG_SETMASK, &raw const none, null_mut()) == 0
    }
}

/// Puts the walls up, with access to the folder of the guest's memory. Returns false if it failed.
///
/// # Safety
/// In a new process that is about to execute another program only.
unsafe fn wall_in(child: &Child) -> bool {
    // SAFETY: as the caller promises: system calls that change this process only, and pointers to live values.
    unsafe {
        let room = libc::open(child.memory.as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
        let rule = Below::writable(room);
        room >= 0
            && libc::syscall(libc::SYS_landlock_add_rule, child.walls, Below::KIND, &raw const rule, 0) == 0
            && libc::syscall(libc::SYS_landlock_restrict_self, child.walls, 0) == 0
    }
}

/// Sets the signal that a file's owner gets (fcntl(2)).
const F_SETSIG: c_int = 10;

/// Makes a filter of system calls. getrandom(2) seems not to exist, so that the command line is a kernel's only source of
/// randomness; socket(2) makes UNIX sockets only, as the walls stop no protocol but TCP.
fn filter() -> Vec<libc::sock_filter> {
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let (number_of_call, first_argument) = (0, 16);
    let load = |at: u32| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0);
    // How many steps to skip if the loaded word is this one, and if it is not.
    let compare = |with: u32, same: u8, other: u8| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, with, same, other);
    let answer = |with: u32| step(libc::BPF_RET | libc::BPF_K, with, 0, 0);
    vec![
        load(number_of_call),
        compare(libc::SYS_getrandom as u32, 4, 0),
        compare(libc::SYS_socket as u32, 0, 2),
        load(first_argument),
        compare(libc::AF_UNIX as u32, 0, 2),
        answer(libc::SECCOMP_RET_ALLOW),
        answer(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        answer(libc::SECCOMP_RET_ERRNO | libc::EACCES as u32),
    ]
}
