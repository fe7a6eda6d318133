//! A guest as the simulation sees it: an endpoint that is handed times and packets.

use crate::card::{Card, Settings};
use crate::clock::{Clock, Heard, NEVER, Page};
use crate::console::Console;
use crate::cpu::Pinned;
use crate::launch::{Launch, Process, describe};
use crate::{GuestError, PROGRAM, Problem, initrd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{SocketFlags, accept_with};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use vazao_engine::{Duration, Time};
use vazao_guest_protocol::{Plan, encode};

/// Time before the virtual time 0 at which a guest is started, in its own time in ns: it is up by then.
const UP: u64 = 1_000_000_000;
/// Guest's wall clock at the virtual time 0, in ns since 1970.
const EPOCH: u64 = 1_000_000_000 * 1_000_000_000;
/// Interval between checks of `stop` while a guest computes.
const TICK: std::time::Duration = std::time::Duration::from_millis(100);

/// Start parameters of a guest.
#[derive(Clone, Debug)]
pub struct Boot<'a> {
    /// The host's name, for messages.
    pub name: &'a str,
    /// Number among the run's guests: its clock's identity and its cards' addresses.
    pub number: u32,
    /// The kernel: the file of a User Mode Linux kernel with the options of `linux.config`.
    pub kernel: &'a Path,
    /// Memory in MiB; 32 is enough for a few connections.
    pub memory_mib: u32,
    /// The seed of all its random numbers: ports, initial sequence numbers.
    pub seed: u64,
    /// Number of network cards, up to 32.
    pub cards: u32,
    /// The least time between two interrupts of a card for received packets ("interrupt moderation"): an interrupt comes at
    /// once if the last is longer ago. With zero, each packet interrupts.
    pub moderation: Duration,
    /// Whether its cards compute checksums. Its kernel then hands them data of SCTP, too, in pieces that it cuts into packets
    /// only behind the card's queue.
    pub checksums: bool,
    /// Whether its clock may go on by itself, as [`Guest::run_ahead`] says. This costs a message for each packet sent and
    /// saves one for each reading of the clock.
    pub run_ahead: bool,
    /// Files and folders of this machine that its programs may read, beside installed programs and their libraries.
    pub files: &'a [PathBuf],
    /// Plan of its first program.
    pub plan: &'a Plan,
}

/// A Linux kernel of its own, running in virtual time.
///
/// It belongs to the thread that booted it. It is killed when it is dropped, when that thread ends, and when this process
/// ends, even by SIGKILL.
pub struct Guest {
    name: String,
    // Fields are dropped in this order: first the process, last the pinning to a processor.
    process: Process,
    clock: Clock,
    cards: Vec<Card>,
    console: Console,
    reports: Console,
    runs_ahead: bool,
    /// Number of ticks for which it may be silent.
    patience: u32,
    is_off: bool,
    sent: VecDeque<(usize, Vec<u8>)>,
    buffers: Vec<Vec<u8>>,
    _pinned: Option<Rc<Pinned>>,
}

impl Guest {
    /// Starts a guest and lets it run until it is up and sleeps: at the virtual time 0 its interfaces are configured
    /// and its flows wait for their start. (By its own clock it was switched on one second earlier. Packets that it sends
    /// meanwhile are lost.)
    ///
    /// It fails if it computes for longer than `patience` of wall time in silence, or when `stop` is set.
    ///
    /// # Errors
    /// If the guest cannot be started, dies, spins, prints without end, has no clock or card, or is stopped.
    pub fn boot(boot: &Boot<'_>, patience: std::time::Duration, stop: &AtomicBool) -> Result<Guest, GuestError> {
        Guest::boot_on(boot, Page::new, patience, stop)
    }

    fn boot_on(
        boot: &Boot<'_>,
        page: fn() -> std::io::Result<Page>,
        patience: std::time::Duration,
        stop: &AtomicBool,
    ) -> Result<Guest, GuestError> {
        let fails = |problem, console| GuestError { name: boot.name.to_owned(), problem, console };
        let memory = |what| Problem::resource(what, "free some memory, or allow more open files (ulimit -n)");
        let page = page().map_err(memory("making its clock")).map_err(|p| fails(p, String::new()))?;
        let new = |name| Console::new(name).map_err(memory("making its console")).map_err(|p| fails(p, String::new()));
        let (console, reports) = (new("console")?, new("reports")?);
        let pinned = Pinned::share();
        let archive = initrd::archive(PROGRAM, &encode(boot.plan));
        let launch = Launch {
            kernel: boot.kernel,
            number: boot.number,
            memory_mib: boot.memory_mib,
            seed: boot.seed,
            cards: boot.cards,
            files: boot.files,
            initrd: &archive,
            console: &console,
            reports: &reports,
        };
        let patience = u32::try_from(patience.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u32::MAX).max(1);
        let start = || {
            let (mut process, mut listeners) = launch.start()?;
            let connection = first_word(&mut process, &listeners.remove(0), patience, stop)
                .map_err(|problem| explain(problem, &console))?;
            Ok((process, listeners, connection))
        };
        let (process, listeners, connection) = start().map_err(|problem| fails(problem, console.last_lines()))?;
        let settings =
            Settings { moderation: boot.moderation.as_nanos(), tells: boot.run_ahead, checksums: boot.checksums };
        let cards = (0..).zip(listeners).map(|(n, socket)| Card::new(socket, boot.number, n, settings)).collect();
        let mut guest = Guest {
            name: boot.name.to_owned(),
            process,
            clock: Clock::new(connection, EPOCH - UP, page),
            cards,
            console,
            reports,
            runs_ahead: boot.run_ahead,
            patience,
            is_off: false,
            sent: VecDeque::new(),
            buffers: Vec::new(),
            _pinned: pinned,
        };
        match guest.come_up(stop) {
            Ok(()) => Ok(guest),
            Err(problem) => Err(guest.error(problem)),
        }
    }

    /// Returns when the guest wants to run next; `NEVER` if it waits for packets only, or is off.
    pub fn next_timeout(&self) -> Time {
        match self.due() {
            NEVER => Time::NEVER,
            due => Time::from_nanos(due.saturating_sub(UP)),
        }
    }

    /// Runs the guest at `now` until it sleeps and wants to run only later. It sends at `now`.
    ///
    /// # Errors
    /// If the guest dies, spins, prints without end or breaks a protocol, or `stop` is set. It cannot be used any more then.
    pub fn handle_timeout(&mut self, now: Time, stop: &AtomicBool) -> Result<(), GuestError> {
        self.run_ahead(now, now, stop).map(|_| ())
    }

    /// Runs the guest like [`Guest::handle_timeout`], where nothing happens to it before `until`: if it was started with
    /// [`run_ahead`](Boot::run_ahead), its clock may go on by itself up to there, or until it first sends. Returns the time at
    /// which it came to rest, which is when it sent its packets.
    ///
    /// # Errors
    /// As [`Guest::handle_timeout`].
    pub fn run_ahead(&mut self, now: Time, until: Time, stop: &AtomicBool) -> Result<Time, GuestError> {
        let [now, until] = [now, until].map(|time| time.as_nanos().saturating_add(UP));
        match self.run_until(now, until, stop) {
            Ok(rest) => Ok(Time::from_nanos(rest - UP)),
            Err(problem) => Err(self.error(problem)),
        }
    }

    /// Hands an IP packet to a card. The guest notices when it next runs: see [`Guest::next_timeout`], which is `now`
    /// unless interrupts are moderated. Several packets at one instant cost one interrupt.
    ///
    /// # Errors
    /// If the guest's buffers are not in its memory, or too small.
    ///
    /// # Panics
    /// If the guest has no such card.
    pub fn handle(&mut self, now: Time, card: usize, datagram: &[u8]) -> Result<(), GuestError> {
        if self.is_off {
            return Ok(());
        }
        let now = now.as_nanos().saturating_add(UP);
        self.cards[card].receive(now, datagram).map_err(|problem| self.error(problem))
    }

    /// Returns the next IP packet that the guest has sent, and the card it left by.
    pub fn poll_transmit(&mut self) -> Option<(usize, Vec<u8>)> {
        self.sent.pop_front()
    }

    /// Takes back a buffer that [`Guest::poll_transmit`] gave out, for later packets.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }

    /// Returns the [reports](vazao_guest_protocol::Report) that its first program has printed since the last call, one a line.
    pub fn reports(&mut self) -> String {
        let mut lines = String::new();
        self.reports.read_lines(&mut lines);
        lines
    }

    /// Returns the last 20 lines that its kernel and programs have printed.
    pub fn console(&self) -> String {
        self.console.last_lines()
    }

    /// Returns what its kernel and programs have printed, at most the last mebibyte.
    pub fn printed(&self) -> String {
        self.console.text()
    }

    /// Returns whether the guest has powered off.
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// Makes the error of a problem, with the guest's name and last words.
    fn error(&self, problem: Problem) -> GuestError {
        GuestError { name: self.name.clone(), problem, console: self.console.last_lines() }
    }

    /// Runs the guest until the virtual time 0, and checks that it has set up its cards.
    fn come_up(&mut self, stop: &AtomicBool) -> Result<(), Problem> {
        self.sleep(stop)?;
        while self.due() < UP {
            let due = self.due();
            self.run_until(due, due, stop)?;
        }
        self.buffers.extend(self.sent.drain(..).map(|(_, buffer)| buffer));
        let taken = self.cards.iter().filter(|card| card.is_up()).count();
        let given = self.cards.len();
        if taken < given && !self.is_off { Err(Problem::NoCard { taken, given }) } else { Ok(()) }
    }

    /// Returns when the guest is to run next, in its own time.
    fn due(&self) -> u64 {
        if self.is_off {
            return NEVER;
        }
        self.cards.iter().map(Card::due).fold(self.clock.request(), u64::min)
    }

    /// Runs the guest as often as it is due by `now`, and ahead up to `until` if it may. Returns the time at which it
    /// comes to rest.
    fn run_until(&mut self, mut now: u64, mut until: u64, stop: &AtomicBool) -> Result<u64, Problem> {
        while self.due() <= now {
            if stop.load(Ordering::Relaxed) {
                return Err(Problem::Stopped);
            }
            self.clock.set(now);
            self.interrupt(now, stop)?;
            if self.clock.request() <= now {
                if self.runs_ahead {
                    let due = self.cards.iter().map(Card::due).fold(until, u64::min);
                    self.clock.allow(due);
                }
                self.clock.run()?;
                self.sleep(stop)?;
                now = now.max(self.clock.rest());
                if !self.sent.is_empty() {
                    // The answer may come before `until`.
                    until = now;
                }
            }
        }
        Ok(now)
    }

    /// Raises the interrupts that are due.
    fn interrupt(&mut self, now: u64, stop: &AtomicBool) -> Result<(), Problem> {
        // An idle guest with the shared page wants to run at every interrupt, and takes the interrupt (a signal) before it
        // reads that it may run; any other must answer first.
        let is_shared = self.clock.is_shared();
        for card in 0..self.cards.len() {
            for queue in self.cards[card].take_due(now)? {
                let answers = !is_shared || self.clock.may_be_delayed();
                self.cards[card].interrupt(queue, answers)?;
                while answers && !self.is_off && !self.listen(Some(card), stop)? {}
                if is_shared {
                    self.clock.interrupted(answers);
                }
            }
        }
        Ok(())
    }

    /// Serves the guest until it sleeps or is off, and takes the packets that it has sent.
    fn sleep(&mut self, stop: &AtomicBool) -> Result<(), Problem> {
        while !self.clock.is_asleep() && !self.is_off {
            self.listen(None, stop)?;
        }
        let (buffers, sent) = (&mut self.buffers, &mut self.sent);
        for (number, card) in self.cards.iter_mut().enumerate() {
            card.collect(|| buffers.pop().unwrap_or_default(), |packet| sent.push_back((number, packet)))?;
        }
        self.console.check()?;
        self.reports.check()
    }

    /// Waits for messages and handles them. Returns whether the guest has answered an interrupt of the card `asked`.
    fn listen(&mut self, asked: Option<usize>, stop: &AtomicBool) -> Result<bool, Problem> {
        let mut answered = false;
        for source in self.wait(asked, stop)? {
            match source {
                Source::Card(card) => {
                    // The guest may have sent: its clock must not go on before the packet is on its way.
                    self.clock.freeze();
                    self.cards[card].hear()?;
                }
                Source::Answer(card) => {
                    self.cards[card].hear_answer()?;
                    answered = true;
                }
                Source::Clock => match self.clock.hear()? {
                    Heard::Message => {}
                    Heard::End => self.end()?,
                },
            }
        }
        Ok(answered)
    }

    /// Waits for messages. Returns where they came.
    fn wait(&self, asked: Option<usize>, stop: &AtomicBool) -> Result<Vec<Source>, Problem> {
        let cards = (0..).zip(&self.cards).filter_map(|(n, card)| Some((Source::Card(n), card.file()?)));
        let answer = asked.and_then(|n| Some((Source::Answer(n), self.cards[n].answers()?)));
        let all = [(Source::Clock, self.clock.as_fd())].into_iter().chain(cards).chain(answer);
        let (sources, mut files): (Vec<Source>, Vec<PollFd<'_>>) =
            all.map(|(source, file)| (source, PollFd::from_borrowed_fd(file, PollFlags::IN))).unzip();
        for _ in 0..self.patience {
            if poll_a_tick(&mut files)? {
                let heard = sources.into_iter().zip(&files).filter(|(_, file)| !file.revents().is_empty());
                return Ok(heard.map(|(source, _)| source).collect());
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Problem::Stopped);
            }
            self.console.check()?;
            self.reports.check()?;
        }
        Err(Problem::Spins { seconds: seconds(self.patience) })
    }

    /// Handles the end of the guest, which has closed the connection to its clock: by powering off or otherwise.
    fn end(&mut self) -> Result<(), Problem> {
        for _ in 0..self.patience {
            if poll_a_tick(&mut [self.process.end_file()])? {
                break;
            }
        }
        match self.process.end() {
            Some(status) if status.exit_status() == Some(0) => self.is_off = true,
            status => return Err(Problem::Died { how: status.map_or_else(|| "lost".to_owned(), describe) }),
        }
        Ok(())
    }
}

/// Source of a guest's messages.
enum Source {
    Clock,
    Card(usize),
    /// The answer to an interrupt of a card.
    Answer(usize),
}

/// Waits until a new guest connects to its clock.
fn first_word(process: &mut Process, clock: &OwnedFd, patience: u32, stop: &AtomicBool) -> Result<OwnedFd, Problem> {
    for _ in 0..patience {
        let mut files = [PollFd::new(clock, PollFlags::IN), process.end_file()];
        let heard = poll_a_tick(&mut files)?;
        if !files[0].revents().is_empty() {
            return accept_with(clock, SocketFlags::CLOEXEC).map_err(|error| Problem::clock(error.to_string()));
        }
        if heard {
            let how = process.end().map_or_else(|| "lost".to_owned(), describe);
            let remedy = "is this a User Mode Linux kernel? Build one with `vazao kernel build`";
            return Err(Problem::NoStart { how, remedy });
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Problem::Stopped);
        }
    }
    Err(Problem::NoClock { seconds: seconds(patience) })
}

/// Finds a more precise remedy for a kernel that gave up at once, by what it printed.
fn explain(problem: Problem, console: &Console) -> Problem {
    const KNOWN: &[(&str, &str)] = &[
        (
            "ptrace",
            "it must be allowed to trace its own processes: in a container, add the capability SYS_PTRACE or a \
                    seccomp profile that allows ptrace; on a hardened machine set kernel.yama.ptrace_scope to at most 2",
        ),
        ("noexec", "it needs a temporary folder (TMPDIR) on a file system that is not mounted noexec"),
        ("physical memory", "give the host more memory"),
        ("No space left", "its memory does not fit the temporary folder: set TMPDIR to one with room"),
    ];
    let Problem::NoStart { how, remedy } = problem else { return problem };
    let printed = console.last_lines();
    let known = KNOWN.iter().find(|(word, _)| printed.contains(word));
    Problem::NoStart { how, remedy: known.map_or(remedy, |(_, remedy)| remedy) }
}

/// Waits for one of `files`, for a tick at most. Returns whether one is ready.
fn poll_a_tick(files: &mut [PollFd<'_>]) -> Result<bool, Problem> {
    let end = Instant::now() + TICK;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        match poll(files, Some(&left)) {
            Ok(n) => return Ok(n > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Problem::clock(error.to_string())),
        }
    }
}

/// Returns the length of so many ticks.
fn seconds(ticks: u32) -> f64 {
    f64::from(ticks) * TICK.as_secs_f64()
}

#[cfg(test)]
mod tests;
