//! Runs in steps, with congestion controls that an agent steers.

use crate::memory::Limit;
use crate::runner::{PyOutcome, failure, stopped};
use crate::{InputError, PyScenario, RunError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;
use vazao_congestion::Seen;
use vazao_engine::{Duration, Rate, Time};
use vazao_scenario::{Session, View};

/// Numbers of a step, in the order in which they are told: what `vazao.gym` calls them.
const FIELDS: [&str; 20] = [
    "time_s",
    "duration_s",
    "cwnd_bytes",
    "pacing_bps",
    "mss_bytes",
    "inflight_bytes",
    "latest_rtt_s",
    "srtt_s",
    "min_rtt_s",
    "rtt_s",
    "rtt_gradient",
    "latency_ratio",
    "delivery_bps",
    "throughput_bps",
    "goodput_bps",
    "sent_bps",
    "send_ratio",
    "loss_rate",
    "mark_rate",
    "timeouts",
];

/// What is told of an agent.
type Numbers = [f64; FIELDS.len()];

/// Events between two looks at whether the user wants an end.
const CHUNK: u64 = 1 << 15;

/// No window is larger than a petabyte.
const LARGEST: f64 = 1e15;

/// Least length of a step of round trips.
const SHORTEST: Duration = Duration::from_micros(1);

/// A flow that an agent steers, and how it was after the last step.
struct Agent {
    flow: usize,
    before: View,
    /// Mean round-trip time of the last step that measured one, in seconds; zero before.
    rtt: f64,
}

/// A run in steps. It belongs to the thread that made it.
#[pyclass(unsendable, name = "Session", module = "vazao._core")]
pub struct PySession {
    session: Session,
    scenario: Py<PyScenario>,
    agents: Vec<Agent>,
    limit: Limit,
    started: Instant,
    /// Reason for which it cannot go on.
    failure: Option<String>,
}

#[pymethods]
impl PySession {
    /// Builds the world of a scenario, in which the flows of these `[[flow]]` tables are steered, and runs it until the first
    /// of them has a connection.
    #[new]
    fn new(py: Python<'_>, scenario: &Bound<'_, PyScenario>, tables: Vec<usize>) -> PyResult<PySession> {
        let started = Instant::now();
        let limit = Limit::now()?;
        let inner = scenario.get().description();
        let run_id = &scenario.get().run_id;
        let mut session = catch_unwind(AssertUnwindSafe(|| Session::new(inner)))
            .map_err(|panic| RunError::new_err(failure(run_id, &*panic)))?
            .map_err(stopped)?;
        let mut agents = Vec::new();
        let groups: Vec<usize> = scenario.get().described.scenario.flows.iter().map(|flow| flow.group).collect();
        if let Some(table) = tables.iter().find(|table| !groups.contains(table)) {
            let last = groups.iter().max().copied().unwrap_or_default();
            return Err(InputError::new_err(format!("agent {table}: there is no such flow; flows are 0 to {last}")));
        }
        for flow in (0..groups.len()).filter(|&flow| tables.contains(&groups[flow])) {
            if let Some(problem) = session.refusal(flow) {
                return Err(InputError::new_err(problem));
            }
            let before = session.view(flow).expect("a flow that is not refused");
            agents.push(Agent { flow, before, rtt: 0.0 });
        }
        let flows: Vec<usize> = agents.iter().map(|agent| agent.flow).collect();
        let scenario = scenario.clone().unbind();
        let mut made = PySession { session, scenario, agents, limit, started, failure: None };
        while !made.run(py, |session, _| session.open(&flows, CHUNK))? {
            made.pause(py)?;
        }
        Ok(made)
    }

    /// Names of the numbers that a step tells of each agent.
    #[classattr]
    #[pyo3(name = "FIELDS")]
    fn fields() -> Vec<&'static str> {
        FIELDS.to_vec()
    }

    /// Numbers of the flows that are steered, in the order in which agents are told.
    #[getter]
    fn flows(&self) -> Vec<usize> {
        self.agents.iter().map(|agent| agent.flow).collect()
    }

    /// Sets each agent's window in bytes and its rate in bits a second (0: unpaced), and runs on for `length` seconds or,
    /// with `in_rtts`, round trips. Returns the numbers of the step and whether the flow is over for each agent, and whether
    /// the run has come to its end.
    fn step(
        &mut self,
        py: Python<'_>,
        actions: Vec<(f64, f64)>,
        length: f64,
        in_rtts: bool,
    ) -> PyResult<(Vec<Numbers>, Vec<bool>, bool)> {
        self.check()?;
        if actions.len() != self.agents.len() {
            let (given, wanted) = (actions.len(), self.agents.len());
            return Err(InputError::new_err(format!("{given} actions for {wanted} agents; give one for each")));
        }
        for (agent, &(window, rate)) in self.agents.iter().zip(&actions) {
            for (name, value, unit) in [("window", window, "bytes"), ("rate", rate, "bit/s")] {
                if !(value.is_finite() && value >= 0.0) {
                    let flow = agent.flow;
                    let problem = format!("flow {flow}: a {name} of {value} {unit}; give a number, zero or more");
                    return Err(InputError::new_err(problem));
                }
            }
        }
        let from = self.session.now();
        let length = if in_rtts {
            let round = |view: &View| if view.seen.srtt > Duration::ZERO { view.seen.srtt } else { view.base_rtt };
            let round = self.agents.iter().map(|agent| round(&agent.before)).max().unwrap_or_default();
            Duration::from_secs_f64(round.as_secs() * length).max(SHORTEST)
        } else {
            Duration::from_secs_f64(length)
        };
        self.run(py, |session, agents| {
            for (agent, (window, rate)) in agents.iter().zip(&actions) {
                let rate = (*rate > 0.0).then(|| Rate::from_bps(rate.max(1.0) as u64));
                session.steer(agent.flow, window.min(LARGEST) as u64, rate);
            }
        })?;
        let end = from + length;
        while !self.run(py, |session, _| session.advance(end, CHUNK))? {
            self.pause(py)?;
        }
        let now = self.session.now();
        let Self { session, agents, .. } = self;
        let numbers = agents.iter_mut().map(|agent| agent.tell(session, now, now.since(from))).collect();
        let all = session.is_over();
        let over = agents.iter().map(|agent| all || agent.before.is_over).collect();
        Ok((numbers, over, session.is_at_end()))
    }

    /// Numbers of each agent before the first step: its connection stands and has sent its first window.
    fn look(&mut self) -> PyResult<Vec<Numbers>> {
        self.check()?;
        let now = self.session.now();
        let Self { session, agents, .. } = self;
        Ok(agents.iter_mut().map(|agent| agent.tell(session, now, Duration::ZERO)).collect())
    }

    /// The tables of the run so far, and the scenario that they are of: its identity has the actions in it.
    fn result(&mut self, py: Python<'_>) -> PyResult<(PyScenario, PyOutcome)> {
        self.check()?;
        let scenario = self.scenario.get();
        let scenario = match self.session.actions() {
            Some(actions) => scenario.acted(py, actions),
            None => scenario.with(py, scenario.description()),
        };
        let outcome = self.session.outcome(&scenario.run_id);
        let outcome = PyOutcome::new(&scenario.run_id, outcome, self.started.elapsed().as_secs_f64());
        Ok((scenario, outcome))
    }
}

impl PySession {
    /// Lets other threads run for a moment; an error if the user or a lack of memory wants an end.
    fn pause(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(std::thread::yield_now);
        py.check_signals().and_then(|()| self.limit.check())
    }

    fn check(&self) -> PyResult<()> {
        self.failure.as_ref().map_or(Ok(()), |failure| Err(RunError::new_err(failure.clone())))
    }

    /// Lets the session act; what goes wrong in it, a user's own code or a bug, ends it.
    fn run<T>(&mut self, py: Python<'_>, act: impl FnOnce(&mut Session, &[Agent]) -> T) -> PyResult<T> {
        let Self { session, agents, .. } = self;
        catch_unwind(AssertUnwindSafe(|| act(session, agents))).map_err(|panic| {
            let run_id = self.scenario.get().run_id.clone();
            let told = failure(&run_id, &*panic);
            self.failure = Some(format!("run {run_id} failed: {told}"));
            let error = RunError::new_err(self.failure.clone());
            let _ = error.value(py).setattr("scenario", self.scenario.clone_ref(py));
            error
        })
    }
}

impl Agent {
    /// Tells the numbers of the step that has ended `now`.
    fn tell(&mut self, session: &mut Session, now: Time, span: Duration) -> Numbers {
        let view = session.view(self.flow).expect("an agent's flow");
        // A new path has a new control, which has seen nothing.
        let begins_anew = view.seen.acks < self.before.seen.acks;
        let (seen, last) = (view.seen, if begins_anew { Seen::default() } else { self.before.seen });
        let seconds = span.as_secs();
        let rate = |bytes: u64| if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 };
        let part = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let samples = seen.rtt_samples - last.rtt_samples;
        let rtt = match samples {
            0 => self.rtt,
            _ => (seen.rtt_sum.as_secs() - last.rtt_sum.as_secs()) / samples as f64,
        };
        let gradient = if self.rtt > 0.0 && seconds > 0.0 { (rtt - self.rtt) / seconds } else { 0.0 };
        let (delivered, lost) = (seen.delivered - last.delivered, seen.lost - last.lost);
        let sent = (view.packets - self.before.packets) * view.mss;
        let in_order = |view: &View| view.sent.saturating_sub(view.flight);
        let min_rtt = seen.min_rtt.as_secs();
        let numbers = [
            now.as_secs(),
            seconds,
            view.cwnd as f64,
            view.pacing_rate.map_or(0.0, |rate| rate.as_bps() as f64),
            view.mss as f64,
            view.flight as f64,
            seen.latest_rtt.as_secs(),
            seen.srtt.as_secs(),
            min_rtt,
            rtt,
            gradient,
            if min_rtt > 0.0 { rtt / min_rtt } else { 1.0 },
            8.0 * seen.delivery_rate,
            rate(delivered),
            rate(in_order(&view).saturating_sub(in_order(&self.before))),
            rate(sent),
            if delivered > 0 { sent as f64 / delivered as f64 } else { 1.0 },
            part(lost, lost + delivered),
            part(seen.marked - last.marked, delivered).min(1.0),
            (seen.timeouts - last.timeouts) as f64,
        ];
        (self.before, self.rtt) = (view, rtt);
        numbers
    }
}
