//! Running scenarios on threads, with Python free to run, report and interrupt.

use crate::arrow::PyTable;
use crate::memory::Limit;
use crate::spill;
use crate::user::{Threads, UserError};
use crate::{InputError, PyScenario, RunError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use vazao_engine::Time;
use vazao_scenario::{
    Column, Connect, HostPlan, Options, Outcome, Output, Scenario, Spill, Start, Stopped, Table, Unwound,
};
#[cfg(feature = "quinn-guest")]
use vazao_transport::library::Library;

/// The tables of one run, or why it failed.
#[pyclass(frozen, name = "Outcome", module = "vazao._core")]
pub struct PyOutcome {
    #[pyo3(get)]
    run_id: String,
    #[pyo3(get)]
    failure: Option<String>,
    /// Reason for which it was not run.
    #[pyo3(get)]
    not_run: Option<String>,
    tables: [PyTable; 5],
    /// Recording for viewers, if one was asked for.
    recording: Option<Vec<u8>>,
}

/// The tables of a run, in the order in which an outcome keeps them.
const TABLES: [&str; 5] = ["runs", "flows", "paths", "links", "samples"];

impl PyOutcome {
    /// Makes an outcome of the tables of a run that took so many seconds.
    pub fn new(run_id: &str, mut tables: Outcome, wall_s: f64) -> PyOutcome {
        add_wall_time(&mut tables.runs, wall_s);
        let Outcome { runs, flows, paths, links, samples, .. } = tables;
        let tables = [runs, flows, paths, links, samples].map(PyTable::new);
        PyOutcome { run_id: run_id.to_owned(), failure: None, not_run: None, tables, recording: None }
    }
}

#[pymethods]
impl PyOutcome {
    /// The recording, if one was asked for.
    #[getter]
    fn recording<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.recording.as_ref().map(|bytes| PyBytes::new(py, bytes))
    }

    /// The table `runs`, `flows`, `paths`, `links` or `samples`.
    fn table(&self, name: &str) -> PyResult<PyTable> {
        match TABLES.iter().position(|t| *t == name) {
            Some(index) => Ok(self.tables[index].clone()),
            None => Err(InputError::new_err(format!("there is no table {name:?}; tables: {}", TABLES.join(", ")))),
        }
    }
}

/// What a run leaves beside its tables: directories that it writes files into while it goes on, and a recording.
#[derive(Default)]
struct Leavings {
    /// Captures.
    pcap: Option<PathBuf>,
    /// Most bytes that captures keep of a packet.
    snap: Option<u32>,
    /// Logs of QUIC connections.
    qlog: Option<PathBuf>,
    /// Packets of a recording at most, if one is wanted.
    recording: Option<usize>,
}

/// Files held open at a time, far fewer than a process may open (1024 on most systems): each of many flows has two logs.
const OPEN: usize = 256;

/// Files that appear under their names only when they are whole.
struct Files {
    directory: PathBuf,
    extension: &'static str,
    names: BTreeSet<String>,
    open: BTreeMap<String, File>,
}

impl Files {
    fn new(directory: &Option<PathBuf>, extension: &'static str) -> Option<Files> {
        Some(Files { directory: directory.clone()?, extension, names: BTreeSet::new(), open: BTreeMap::new() })
    }

    fn partial(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.{}.part", self.extension))
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), String> {
        self.append(name, bytes).map_err(|e| format!("{}: {e}", self.partial(name).display()))
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        if !self.open.contains_key(name) {
            if self.open.len() == OPEN {
                self.open.clear();
            }
            let file = self.reopen(name)?;
            self.open.insert(name.to_owned(), file);
        }
        self.open.get_mut(name).expect("a file just opened").write_all(bytes)
    }

    /// Opens a file at its end, or anew.
    fn reopen(&mut self, name: &str) -> std::io::Result<File> {
        let path = self.partial(name);
        if self.names.contains(name) {
            return File::options().append(true).open(path);
        }
        std::fs::create_dir_all(&self.directory)?;
        let file = File::create(path)?;
        self.names.insert(name.to_owned());
        Ok(file)
    }

    fn finish(self) -> std::io::Result<()> {
        for name in &self.names {
            std::fs::rename(self.partial(name), self.directory.join(format!("{name}.{}", self.extension)))?;
        }
        Ok(())
    }

    fn discard(self) {
        for name in &self.names {
            let _ = std::fs::remove_file(self.partial(name));
        }
    }
}

/// State that running threads share with the waiting one.
#[derive(Default)]
struct Shared {
    /// Request to stop.
    stop: Arc<AtomicBool>,
    /// The time of a run that is alone, in nanoseconds.
    clock: AtomicU64,
    /// Threads that may run a user's code.
    threads: Threads,
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs one scenario; a panic inside is a bug and becomes the outcome's failure.
fn run_one(scenario: &Scenario, run_id: &str, shared: &Shared, leavings: &Leavings) -> Result<PyOutcome, Stopped> {
    let Shared { stop, clock, threads } = shared;
    let started = Instant::now();
    let mut captures = Files::new(&leavings.pcap, "pcapng");
    let mut logs = Files::new(&leavings.qlog, "sqlog");
    let mut spill = spill::Spill::default();
    let mut file = Vec::new();
    let result = threads.staying_known(|| {
        let start = |plan: &HostPlan| start_guest(plan, stop);
        let mut capture = captures.as_mut().map(|files| |name: &str, bytes: &[u8]| files.write(name, bytes));
        let mut qlog = logs.as_mut().map(|files| |name: &str, bytes: &[u8]| files.write(name, bytes));
        let capture = capture.as_mut().map(|write| write as Output<'_>);
        let qlog = qlog.as_mut().map(|write| write as Output<'_>);
        let tell = |now: Time| clock.store(now.as_nanos(), Ordering::Relaxed);
        let clock = Some(&tell as &dyn Fn(Time));
        let mut keep = |records: &[u8]| spill.write(records);
        let samples = Some(&mut keep as Spill<'_>);
        let recording = leavings.recording.map(|most| (most, &mut file));
        let start = Some(&start as Start<'_>);
        let snap = leavings.snap;
        let options =
            Options { id: Some(run_id), capture, snap, qlog, samples, recording, start, connect: CONNECT, clock };
        vazao_scenario::run(scenario, stop, options)
    });
    for files in [captures, logs].into_iter().flatten() {
        match &result {
            Ok(Ok(_)) => files.finish().map_err(|e| Stopped::Probe(e.to_string()))?,
            _ => files.discard(),
        }
    }
    let (mut tables, failure, not_run) = match result {
        Ok(Ok(outcome)) => (outcome, None, None),
        Ok(Err(Stopped::Guest(problem))) => (Outcome::default(), Some(problem), None),
        Ok(Err(Stopped::NotRun(problem))) => (Outcome::default(), None, Some(problem)),
        Ok(Err(stopped)) => return Err(stopped),
        Err(_) if shared.is_stopped() => return Err(Stopped::Cancelled),
        Err(panic) => (Outcome::default(), Some(failure(run_id, &*panic)), None),
    };
    add_wall_time(&mut tables.runs, started.elapsed().as_secs_f64());
    let Outcome { runs, flows, paths, links, samples, legend } = tables;
    let [runs, flows, paths, links, samples] = [runs, flows, paths, links, samples].map(PyTable::new);
    let tables = [runs, flows, paths, links, samples.behind(spill.finish(legend))];
    let recording = leavings.recording.map(|_| file);
    Ok(PyOutcome { run_id: run_id.to_owned(), failure, not_run, tables, recording })
}

#[cfg(all(feature = "linux-guest", target_os = "linux", target_arch = "x86_64"))]
use crate::guests::start as start_guest;

#[cfg(not(all(feature = "linux-guest", target_os = "linux", target_arch = "x86_64")))]
fn start_guest(plan: &HostPlan, _: &Arc<AtomicBool>) -> Result<Box<dyn vazao_network::Host>, String> {
    Err(format!("host {:?}: Linux guests run on Linux on x86-64 only", plan.name))
}

/// Makes connections that a library plays.
#[cfg(feature = "quinn-guest")]
const CONNECT: Option<Connect<'static>> = Some(&|plan| {
    let end = |end| -> Box<dyn Library> { Box::new(end) };
    vazao_quinn::pair(plan).map(|ends| ends.map(end))
});

#[cfg(not(feature = "quinn-guest"))]
const CONNECT: Option<Connect<'static>> = None;

/// Returns the cause of a run's panic: a user's own code, or a bug.
pub fn failure(run_id: &str, panic: &(dyn Any + Send)) -> String {
    let (panic, place) = match panic.downcast_ref::<Unwound>() {
        Some(Unwound { cause, now, flow }) => (&**cause, Some((*now, *flow))),
        None => (panic, None),
    };
    if let Some(UserError { problem, link }) = panic.downcast_ref() {
        let Some((now, flow)) = place else { return problem.clone() };
        let flow = flow.map(|flow| format!("flow {flow}"));
        let at = link.as_ref().map(|link| format!("link {link}")).or(flow);
        return format!("{}{} s: {problem}", at.map(|at| format!("{at}, ")).unwrap_or_default(), now.as_secs());
    }
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
    format!("internal error in run {run_id}: {text}")
}

/// Adds the wall time, which only the runner knows and which differs in every run.
fn add_wall_time(runs: &mut Table, seconds: f64) {
    if !runs.is_empty() {
        runs.push(("wall_s", Column::Number([Some(seconds)].into_iter().collect())));
    }
}

pub fn stopped(reason: Stopped) -> PyErr {
    match reason {
        Stopped::Cancelled => RunError::new_err("the run was cancelled"),
        // Where captures and logs go is the user's choice.
        Stopped::Probe(problem) => InputError::new_err(format!("a file could not be written: {problem}")),
        Stopped::Guest(problem) | Stopped::NotRun(problem) => RunError::new_err(problem),
    }
}

/// Message of a worker to the waiting thread: the number of a run, and its result.
type Message = (usize, Result<PyOutcome, Stopped>);

/// Interruptions that a user's code may catch before it is halted: half a second of them.
const PATIENCE: u32 = 10;

/// Interval at which the waiting thread checks its state.
const TICK: Duration = Duration::from_millis(50);

/// Outcomes that wait at most, so that short runs do not fill the memory while those before are stored.
const WAITING: usize = 1024;

/// Waits for messages until the channel closes, with Python's other threads running meanwhile. Checks the state of the run each
/// [`TICK`] and at the end, not for each message: that takes as long as a short run.
fn receive_outcomes(
    py: Python<'_>,
    messages: &Mutex<mpsc::Receiver<Message>>,
    shared: &Shared,
    limit: Limit,
    mut on_message: impl FnMut(usize, PyOutcome) -> PyResult<()>,
    mut on_tick: impl FnMut() -> PyResult<()>,
) -> PyResult<()> {
    let mut ended = Ok(());
    let mut interrupts = 0;
    let mut next = Instant::now() + TICK;
    loop {
        let left = next.saturating_duration_since(Instant::now());
        let message = py.detach(|| messages.lock().expect("one reader").recv_timeout(left));
        let is_over = matches!(message, Err(mpsc::RecvTimeoutError::Disconnected));
        if ended.is_ok() {
            ended = match message {
                Ok((index, Ok(outcome))) => on_message(index, outcome),
                Ok((_, Err(reason))) => Err(stopped(reason)),
                Err(_) => Ok(()),
            };
        }
        let is_due = is_over || Instant::now() >= next;
        if is_due {
            next = Instant::now() + TICK;
        }
        if ended.is_ok() && is_due {
            ended = on_tick().and_then(|()| py.check_signals()).and_then(|()| limit.check());
        }
        if is_over {
            return ended;
        }
        if ended.is_err() {
            shared.stop.store(true, Ordering::Relaxed);
            shared.threads.interrupt(py, interrupts >= PATIENCE);
            interrupts += 1;
        }
    }
}

/// Runs one scenario. With `pcap`, writes a capture of each host interface into that directory, of each packet the first `snap`
/// bytes if that is given; with `qlog`, a log of each side of each QUIC connection; with `recording`, its outcome has a recording
/// of at most so many packets. `on_tick(seconds)` is told how far the run is, at least every 50 ms; an exception in it, or Ctrl-C,
/// ends the run and propagates.
#[pyfunction]
#[pyo3(signature = (scenario, *, pcap = None, snap = None, qlog = None, recording = None, on_tick = None))]
pub fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyScenario>,
    pcap: Option<PathBuf>,
    snap: Option<u32>,
    qlog: Option<PathBuf>,
    recording: Option<usize>,
    on_tick: Option<Bound<'_, PyAny>>,
) -> PyResult<PyOutcome> {
    let leavings = Leavings { pcap, snap, qlog, recording };
    let limit = Limit::now()?;
    let shared = Arc::new(Shared::default());
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let job = scenario.get();
    let (described, seed, run_id, theirs) = (job.described.clone(), job.seed, job.run_id.clone(), shared.clone());
    let worker = std::thread::spawn(move || {
        let _ = sender.send((0, run_one(&described.under(seed), &run_id, &theirs, &leavings)));
    });
    let mut result = None;
    let ended = receive_outcomes(
        py,
        &receiver,
        &shared,
        limit,
        |_, outcome| {
            result = Some(outcome);
            Ok(())
        },
        || {
            let seconds = Duration::from_nanos(shared.clock.load(Ordering::Relaxed)).as_secs_f64();
            on_tick.as_ref().map_or(Ok(()), |tell| tell.call1((seconds,)).map(drop))
        },
    );
    py.detach(|| worker.join()).map_err(|_| RunError::new_err("the run's thread died"))?;
    ended?;
    result.ok_or_else(|| RunError::new_err("the run ended without a result"))
}

/// Runs scenarios on `jobs` threads. In the calling thread, `on_outcome(index, outcome)` is called as each ends and
/// `on_tick()` at least every 50 ms; an exception in either, or Ctrl-C, stops all and propagates.
#[pyfunction]
#[pyo3(signature = (scenarios, *, jobs, on_outcome, on_tick))]
pub fn run_many(
    py: Python<'_>,
    scenarios: Vec<Bound<'_, PyScenario>>,
    jobs: usize,
    on_outcome: Bound<'_, PyAny>,
    on_tick: Bound<'_, PyAny>,
) -> PyResult<()> {
    let limit = Limit::now()?;
    let shared = Arc::new(Shared::default());
    let (sender, receiver) = mpsc::sync_channel(WAITING);
    let receiver = Mutex::new(receiver);
    let work: Vec<_> = scenarios
        .iter()
        .map(Bound::get)
        .map(|scenario| (scenario.described.clone(), scenario.seed, scenario.run_id.clone()))
        .collect();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.max(1))
        .build()
        .map_err(|e| RunError::new_err(format!("{jobs} threads cannot be started: {e}")))?;
    let theirs = shared.clone();
    let worker = std::thread::spawn(move || {
        pool.scope_fifo(|scope| {
            for (index, (described, seed, run_id)) in work.iter().enumerate() {
                let (sender, shared) = (sender.clone(), &theirs);
                scope.spawn_fifo(move |_| {
                    if !shared.is_stopped() {
                        let _ = sender
                            .send((index, run_one(&described.under(*seed), run_id, shared, &Leavings::default())));
                    }
                });
            }
        });
    });
    let ended = receive_outcomes(
        py,
        &receiver,
        &shared,
        limit,
        |index, outcome| on_outcome.call1((index, outcome)).map(drop),
        || on_tick.call0().map(drop),
    );
    py.detach(|| worker.join()).map_err(|_| RunError::new_err("a run's thread died"))?;
    ended
}
