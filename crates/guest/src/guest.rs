//! A guest as the simulation sees it: an endpoint that is handed times and datagrams.

use crate::card::Card;
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

/// A guest is started so long before the virtual time 0 that it is up by then.
const UP: u64 = 1_000_000_000;
/// What a guest's wall clock shows at the virtual time 0, in ns since 1970.
const EPOCH: u64 = 1_000_000_000 * 1_000_000_000;
/// How often the wish to stop is looked at while a guest computes.
const TICK: std::time::Duration = std::time::Duration::from_millis(100);

/// What a guest is started with.
#[derive(Clone, Debug)]
pub struct Boot<'a> {
    /// The host's name, for messages.
    pub name: &'a str,
    /// Its number among the run's guests: its clock's identity and its cards' addresses.
    pub number: u32,
    /// The kernel: the file of a User Mode Linux kernel with the options of `linux.config`.
    pub kernel: &'a Path,
    /// Its memory in MiB; 32 is enough for a few connections.
    pub memory_mib: u32,
    /// Decides all that it draws at random: ports, initial sequence numbers.
    pub seed: u64,
    /// How many network cards it has, up to 32.
    pub cards: u32,
    /// The least time between two interrupts of a card for received packets, as real cards have it ("interrupt
    /// throttling"): an interrupt comes at once if the last is longer ago. Zero: one for each packet.
    pub moderation: Duration,
    /// Whether it may run ahead of what is known to happen to it, as [`Guest::run_ahead`] says. It costs a message for
    /// each packet sent and saves one for each reading of the clock.
    pub run_ahead: bool,
    /// Files and folders of this machine that its programs may read, beside installed programs and their libraries.
    pub files: &'a [PathBuf],
    /// What its first program shall do: becomes `/plan` in its initial root.
    pub plan: &'a str,
}

/// A Linux kernel of its own, running in virtual time.
///
/// It belongs to the thread that booted it, and is killed when dropped, when that thread ends, and when this process
/// does, even by SIGKILL.
pub struct Guest {
    name: String,
    // In the order in which they are to be dropped: first the process, last the pinning to a processor.
    process: Process,
    clock: Clock,
    cards: Vec<Card>,
    console: Console,
    reports: Console,
    runs_ahead: bool,
    /// How many ticks of silence are too many.
    patience: u32,
    is_off: bool,
    sent: VecDeque<(usize, Vec<u8>)>,
    buffers: Vec<Vec<u8>>,
    _pinned: Option<Rc<Pinned>>,
}

impl Guest {
    /// Starts a guest and lets it run until it is up and sleeps: at the virtual time 0 its interfaces are configured
    /// and its flows wait for their start. (In its own view it was switched on one second earlier. What it sends
    /// meanwhile goes nowhere.)
    ///
    /// It is given up if it computes for longer than `patience` of wall time without a word, or when `stop` is set.
    ///
    /// # Errors
    /// If it cannot be started, dies, spins, prints without end, has no clock or card, or is stopped.
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
        let archive = initrd::archive(PROGRAM, boot.plan);
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
        let moderation = boot.moderation.as_nanos();
        let cards = (0..)
            .zip(listeners)
            .map(|(n, socket)| Card::new(socket, boot.number, n, moderation, boot.run_ahead))
            .collect();
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

    /// When it wants to run next; `NEVER` if it waits for datagrams only, or is off.
    pub fn next_timeout(&self) -> Time {
        match self.due() {
            NEVER => Time::NEVER,
            due => Time::from_nanos(due.saturating_sub(UP)),
        }
    }

    /// Lets it run at `now` until it sleeps and wants to run only later. Whatever it sends it sends at `now`.
    ///
    /// # Errors
    /// If it dies, spins, prints without end or breaks a protocol, or `stop` is set. It is no good any more then.
    pub fn handle_timeout(&mut self, now: Time, stop: &AtomicBool) -> Result<(), GuestError> {
        self.run_ahead(now, now, stop).map(|_| ())
    }

    /// As [`Guest::handle_timeout`], if nothing happens to it before `until`: started with
    /// [`run_ahead`](Boot::run_ahead), its clock may then go on by itself up to there, or until it first sends. Returns
    /// the time at which it came to rest, which is when it sent whatever it sent.
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

    /// An IP packet arrives at a card. The guest notices when it next runs: see [`Guest::next_timeout`], which is `now`
    /// unless interrupts are moderated. Several that arrive at one instant cost one interrupt.
    ///
    /// # Errors
    /// If the guest's memory does not allow it.
    ///
    /// # Panics
    /// If there is no such card.
    pub fn handle(&mut self, now: Time, card: usize, datagram: &[u8]) -> Result<(), GuestError> {
        if self.is_off {
            return Ok(());
        }
        let now = now.as_nanos().saturating_add(UP);
        self.cards[card].receive(now, datagram).map_err(|problem| self.error(problem))
    }

    /// The next IP packet that it has sent, and the card it left by: at the `now` of the call in which it was sent.
    pub fn poll_transmit(&mut self) -> Option<(usize, Vec<u8>)> {
        self.sent.pop_front()
    }

    /// Takes back a buffer that [`Guest::poll_transmit`] gave out, for later packets.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }

    /// The whole lines that its first program has reported since this was last called, each ended by a newline.
    pub fn reports(&mut self) -> String {
        let mut lines = String::new();
        self.reports.read_lines(&mut lines);
        lines
    }

    /// The last 20 lines that its kernel and programs have printed.
    pub fn console(&self) -> String {
        self.console.last_lines()
    }

    /// What its kernel and programs have printed, the last mebibyte of it.
    pub fn printed(&self) -> String {
        self.console.text()
    }

    /// Whether it has powered off.
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// The error that `problem` is, for this guest.
    fn error(&self, problem: Problem) -> GuestError {
        GuestError { name: self.name.clone(), problem, console: self.console.last_lines() }
    }

    /// Runs it until the virtual time 0, and checks that it has what it needs.
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

    /// When it is to run next, in its own time.
    fn due(&self) -> u64 {
        if self.is_off {
            return NEVER;
        }
        self.cards.iter().map(Card::due).fold(self.clock.request(), u64::min)
    }

    /// Lets it run as often as it is due by `now`, ahead up to `until` if it may: the time at which it comes to rest.
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
                    // What it has sent may come back sooner than anything that was foreseen.
                    until = now;
                }
            }
        }
        Ok(now)
    }

    /// Raises the interrupts that are due.
    fn interrupt(&mut self, now: u64, stop: &AtomicBool) -> Result<(), Problem> {
        // An idle guest that shares the page wants to run at every interrupt, and takes it (a signal) before it reads
        // that it may; any other must be heard out first.
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

    /// Serves it until it sleeps or is off, and takes what it has sent.
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

    /// Waits for its next message and deals with it. True: it has answered an interrupt of the card `asked`.
    fn listen(&mut self, asked: Option<usize>, stop: &AtomicBool) -> Result<bool, Problem> {
        let mut answered = false;
        for source in self.wait(asked, stop)? {
            match source {
                Source::Card(card) => {
                    // It has sent: its clock must stand still until that is known to everyone.
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

    /// Waits until there is something to hear.
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

    /// It has closed its clock: it ends, by powering off or otherwise.
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

/// Whom there is to hear.
enum Source {
    Clock,
    Card(usize),
    /// A card's guest has answered an interrupt.
    Answer(usize),
}

/// Waits until the guest that was just started connects to its clock.
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

/// Says more precisely why a kernel gave up at once, as far as it told.
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

/// Waits for one of `files`, for a tick at most. False: in vain.
fn poll_a_tick(files: &mut [PollFd<'_>]) -> Result<bool, Problem> {
    let end = Instant::now() + TICK;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        match poll(files, Some(&left)) {
            Ok(n) => return Ok(n > 0),
            Err(rustix::io::Errno::INTR) => {} // this process got a signal
            Err(error) => return Err(Problem::clock(error.to_string())),
        }
    }
}

/// How long so many ticks are.
fn seconds(ticks: u32) -> f64 {
    f64::from(ticks) * TICK.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    static GO_ON: AtomicBool = AtomicBool::new(false);

    /// Every packet of an upload of 200 kB over 10 ms each way, with its sender and the time.
    fn trace(kernel: &Path, page: fn() -> std::io::Result<Page>, run_ahead: bool) -> Vec<(Time, usize, Vec<u8>)> {
        let flow = "flow number=1 transport=tcp size=200000";
        let plans = [
            format!(
                "card 0 10.0.0.1\nroute 10.0.0.2 card 0 source 10.0.0.1\n{flow} role=client start=0 local=10.0.0.1:49152 peer=10.0.0.2:5001 act=send\noff-when-done\n"
            ),
            format!(
                "card 0 10.0.0.2\nroute 10.0.0.1 card 0 source 10.0.0.2\n{flow} role=server local=10.0.0.2:5001 peer=10.0.0.1:49152 act=receive\noff-when-done\n"
            ),
        ];
        let mut guests: Vec<Guest> = (0..)
            .zip(&plans)
            .map(|(number, plan)| {
                let moderation = Duration::from_micros(20);
                let boot = Boot {
                    name: "test",
                    number,
                    kernel,
                    memory_mib: 48,
                    seed: 1,
                    cards: 1,
                    moderation,
                    run_ahead,
                    files: &[],
                    plan,
                };
                Guest::boot_on(&boot, page, std::time::Duration::from_secs(20), &GO_ON)
                    .unwrap_or_else(|e| panic!("{e}"))
            })
            .collect();
        let mut packets: Vec<(Time, usize, Vec<u8>)> = Vec::new();
        let mut arrived = 0;
        loop {
            let arrival = packets.get(arrived).map_or(Time::NEVER, |(sent, ..)| *sent + Duration::from_millis(10));
            let (due, guest) = (0..2).map(|n| (guests[n].next_timeout(), n)).min().expect("two");
            if arrival.min(due) == Time::NEVER {
                break;
            }
            if arrival <= due {
                let (_, from, packet) = &packets[arrived];
                guests[1 - *from].handle(arrival, 0, packet).unwrap();
                arrived += 1;
            } else {
                let until = arrival.min(guests[1 - guest].next_timeout());
                let rest = guests[guest].run_ahead(due, until, &GO_ON).unwrap();
                assert!(rest == due || rest < until, "{rest:?} with {until:?}");
                packets.extend(std::iter::from_fn(|| guests[guest].poll_transmit()).map(|(_, p)| (rest, guest, p)));
            }
        }
        assert!(guests[1].reports().contains("last 1 200000 1\n"));
        packets
    }

    /// Kernel 6.1 knows messages only, 6.12 both: what it sends must not depend on how it is told the time.
    #[test]
    fn the_shared_page_and_messages_and_running_ahead_give_the_same_packets() {
        let Some(kernel) = std::env::var_os("VAZAO_KERNEL").filter(|path| !path.is_empty()) else {
            return; // the tests in tests/guests say that they are skipped
        };
        let shared = trace(Path::new(&kernel), Page::new, false);
        let messages = trace(Path::new(&kernel), || Ok(Page::unacceptable()), false);
        assert!(shared.len() > 150);
        assert!(shared == messages, "{} and {} packets", shared.len(), messages.len());
        let ahead = trace(Path::new(&kernel), Page::new, true);
        assert!(shared == ahead, "{} and {} packets", shared.len(), ahead.len());
    }
}
