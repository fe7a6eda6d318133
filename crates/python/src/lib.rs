//! Python bindings: scenario in, Arrow out. One error variant, one named exception; no logic of its own.
//!
//! This is the runner: the only Rust crate that reads a wall clock, starts threads and writes files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod answer;
mod application;
mod arrow;
mod captures;
mod control;
mod convert;
#[cfg(all(feature = "linux-guest", target_os = "linux", target_arch = "x86_64"))]
mod guests;
mod instance;
mod link;
mod memory;
mod own;
mod packets;
mod registries;
mod runner;
mod scheduler;
mod session;
mod slow_start;
mod spill;
mod user;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple, PyType};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use vazao_engine::{Duration, Time};
use vazao_scenario::{Extensions, Files, Kernel, STACKS, ScenarioError, Simulator, Stack, TRANSPORTS, TraceSpec, Work};

create_exception!(_core, VazaoError, PyException, "Base of everything Vazão raises.");
create_exception!(_core, InputError, VazaoError, "The scenario is wrong; the message says where and what would do.");
create_exception!(_core, RunError, VazaoError, "A run failed.");

/// A scenario: read, checked, every default filled in.
#[pyclass(frozen, name = "Scenario", module = "vazao._core")]
pub struct PyScenario {
    described: Arc<Described>,
    /// Seed, perhaps not the description's: scenarios that differ in their seeds share it.
    seed: u64,
    run_id: String,
    inputs: Vec<Input>,
    /// Where it was read: a scenario is pickled as its canonical form and this, and read again.
    given: Py<PyTuple>,
    /// The user's own algorithms. They and what was given are shown to the garbage collector: a class leads, by the globals of
    /// its methods, to the variables that hold results and their scenarios. `described`, which is shared, has only weak references.
    classes: Vec<Py<PyType>>,
    /// The user's own algorithms in files, and whether they may be run.
    code: Vec<(String, bool)>,
}

/// A description, and its canonical form before and behind the seed.
struct Described {
    scenario: vazao_scenario::Scenario,
    form: (String, String),
}

impl Described {
    fn new(scenario: vazao_scenario::Scenario) -> Arc<Described> {
        Arc::new(Described { form: scenario.json_around_seed(), scenario })
    }

    /// Returns the canonical form under a seed.
    fn json(&self, seed: u64) -> String {
        let (before, after) = &self.form;
        format!("{before}{seed}{after}")
    }

    /// Returns the description under a seed that was checked.
    fn under(&self, seed: u64) -> Cow<'_, vazao_scenario::Scenario> {
        if seed == self.scenario.seed {
            return Cow::Borrowed(&self.scenario);
        }
        Cow::Owned(self.scenario.with_seed(seed).expect("the seed was checked"))
    }
}

/// A file that a scenario names: its name there, where it was read, the SHA-256 of what it held.
type Input = (String, PathBuf, String);

impl PyScenario {
    fn new(
        inner: vazao_scenario::Scenario,
        inputs: Vec<Input>,
        given: Py<PyTuple>,
        classes: Vec<Py<PyType>>,
        code: Vec<(String, bool)>,
    ) -> Self {
        let (seed, described) = (inner.seed, Described::new(inner));
        let run_id = vazao_scenario::Scenario::run_id_of(&described.json(seed));
        PyScenario { described, seed, run_id, inputs, given, classes, code }
    }

    /// Returns a copy whose identity has the digest of agents' actions in it.
    fn acted(&self, py: Python<'_>, actions: String) -> Self {
        self.with(py, vazao_scenario::Scenario { actions: Some(actions), ..self.description() })
    }

    /// Returns a copy of its description.
    fn description(&self) -> vazao_scenario::Scenario {
        self.described.under(self.seed).into_owned()
    }

    /// Returns a copy with another description.
    fn with(&self, py: Python<'_>, inner: vazao_scenario::Scenario) -> Self {
        let (seed, described) = (inner.seed, Described::new(inner));
        let run_id = vazao_scenario::Scenario::run_id_of(&described.json(seed));
        self.identified(py, described, seed, run_id)
    }

    /// Returns a copy with another description or seed.
    fn identified(&self, py: Python<'_>, described: Arc<Described>, seed: u64, run_id: String) -> Self {
        PyScenario {
            described,
            seed,
            run_id,
            inputs: self.inputs.clone(),
            given: self.given.clone_ref(py),
            classes: self.classes.iter().map(|class| class.clone_ref(py)).collect(),
            code: self.code.clone(),
        }
    }
}

#[pymethods]
impl PyScenario {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.given)?;
        self.classes.iter().try_for_each(|class| visit.call(class))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.described.scenario.name
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }
    #[getter]
    fn json(&self) -> String {
        self.described.json(self.seed)
    }
    #[getter]
    fn until_s(&self) -> Option<f64> {
        self.described.scenario.until.map(|until| until.as_secs())
    }
    #[getter]
    fn inputs(&self) -> Vec<Input> {
        self.inputs.clone()
    }
    #[getter]
    fn code(&self) -> Vec<(String, bool)> {
        self.code.clone()
    }
    #[getter]
    fn run_id(&self) -> &str {
        &self.run_id
    }
    #[getter]
    fn kernels(&self) -> vazao_scenario::Installed {
        self.described.scenario.kernels()
    }
    #[getter]
    fn simulators(&self) -> vazao_scenario::Installed {
        self.described.scenario.simulators()
    }
    #[getter]
    fn programs(&self) -> Vec<String> {
        self.described.scenario.programs()
    }
    #[getter]
    fn draws_flows(&self) -> bool {
        self.described.scenario.draws_flows
    }
    #[getter]
    fn transports(&self) -> BTreeSet<&'static str> {
        self.described.scenario.flows.iter().map(|flow| flow.transport.entry.name).collect()
    }
    #[getter]
    fn has_own_algorithms(&self) -> bool {
        !self.classes.is_empty() || !self.code.is_empty()
    }

    /// Returns the run_ids under seeds, or None if a seed decides more than the random numbers of a run.
    fn run_ids(&self, seeds: Vec<u64>) -> Option<Vec<String>> {
        self.described.scenario.run_ids(&seeds)
    }

    /// Returns copies under seeds, or None if one of them has to be read.
    fn with_seeds(&self, py: Python<'_>, seeds: Vec<u64>) -> Option<Vec<PyScenario>> {
        let Described { scenario, .. } = &*self.described;
        let run_ids =
            scenario.run_ids(&seeds).filter(|_| seeds.iter().all(|&seed| scenario.check_seed(seed).is_ok()))?;
        let under = |(&seed, run_id)| self.identified(py, self.described.clone(), seed, run_id);
        Some(seeds.iter().zip(run_ids).map(under).collect())
    }

    /// Returns a copy that records these measures, the least and the greatest value each `every_s` seconds.
    #[pyo3(signature = (measures, every_s = None))]
    fn with_trace(&self, py: Python<'_>, measures: Vec<String>, every_s: Option<f64>) -> PyResult<PyScenario> {
        let measures = measures
            .iter()
            .map(|name| {
                vazao_scenario::measures().find(|known| *known == name).ok_or_else(|| {
                    let problem = vazao_engine::registry::unknown("measure", name, vazao_scenario::measures());
                    InputError::new_err(format!("trace: {problem}"))
                })
            })
            .collect::<PyResult<Vec<_>>>()?;
        if every_s.is_some_and(|s| !(1e-6..1e9).contains(&s)) {
            return Err(InputError::new_err("trace: the interval must be from 1 us to 1e9 s"));
        }
        let trace = TraceSpec { measures, every: every_s.map(Duration::from_secs_f64) };
        let inner = vazao_scenario::Scenario { trace, ..self.description() };
        Ok(self.with(py, inner))
    }

    /// Returns a copy under another seed.
    fn with_seed(&self, py: Python<'_>, seed: u64) -> PyResult<PyScenario> {
        let inner = self.described.scenario.with_seed(seed);
        Ok(self.with(py, inner.map_err(|problem| InputError::new_err(format!("seed {seed}: {problem}")))?))
    }

    /// Pickles the scenario as its canonical form, with the `run_id` that it must have again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let given = (self.json(), self.name().to_owned(), self.given.clone_ref(py), self.run_id.clone());
        Ok((py.import("vazao._core")?.getattr("restored")?, given))
    }

    /// The scenario as a notebook shows it.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("vazao.display")?.call_method1("scenario", (slf,))
    }

    /// Returns a copy that ends after `seconds`, if it does not end earlier: a piece of the run, by which the whole is estimated.
    fn with_until(&self, py: Python<'_>, seconds: f64) -> PyResult<PyScenario> {
        if !(1e-9..1e9).contains(&seconds) {
            return Err(InputError::new_err("until: the end must be from 1 ns to 1e9 s"));
        }
        let end = Time::ZERO + Duration::from_secs_f64(seconds);
        let until = Some(self.described.scenario.until.map_or(end, |until| until.min(end)));
        let inner = vazao_scenario::Scenario { until, ..self.description() };
        Ok(self.with(py, inner))
    }

    /// Nodes, links and flows, for drawing.
    fn graph<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::from_json(py, &registries::graph(&self.described.scenario).to_string())
    }

    /// Roughly what the run takes.
    fn work(&self) -> PyWork {
        let Work { hops, guest_packets, guests, has_programs } = vazao_scenario::estimate(&self.described.scenario);
        PyWork { hops, guest_packets, guests, has_programs }
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {:?} run_id={}>", self.described.scenario.name, self.run_id)
    }
}

/// Rough estimate of a run's work.
#[pyclass(frozen, get_all, name = "Work", module = "vazao._core")]
pub struct PyWork {
    hops: f64,
    guest_packets: f64,
    guests: usize,
    has_programs: bool,
}

#[pymethods]
impl PyWork {
    #[new]
    fn new(hops: f64, guest_packets: f64, guests: usize, has_programs: bool) -> Self {
        PyWork { hops, guest_packets, guests, has_programs }
    }

    fn __getnewargs__(&self) -> (f64, f64, usize, bool) {
        (self.hops, self.guest_packets, self.guests, self.has_programs)
    }
}

/// A function that makes a scenario again, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (String, String, Py<PyTuple>, String));

/// Things that a scenario may name beside the registries' entries: its file, plugins, kernels, simulators, inputs and the finder of
/// algorithms in files.
type Given = (
    String,
    Vec<own::Given>,
    Vec<(String, PathBuf, String, String, String, u32)>,
    Vec<(String, String, String)>,
    BTreeMap<String, PathBuf>,
    Option<Py<PyAny>>,
);

/// Reads a scenario from a TOML text: the table at the dotted path `table` (empty: all of it) after `overrides`
/// (dotted key, value) were set in it. `plugins` are algorithms of the user's own; `own(key, name, parameters)` finds one in a
/// file: its class or None, a digest of its code, and the files that hold it.
/// `kernels` are those that guests can have: name, path, version, digests of configuration and executable, HZ.
/// `simulators` are others that are installed: the name of the stack, version, digest of the executable.
/// `inputs` are files, by the names that a scenario calls them, to be read where there is none beside it.
#[pyfunction]
#[pyo3(signature = (
    text, *, file = "", table = "", overrides = None, seed = None, plugins = None, kernels = None, simulators = None,
    inputs = None, own = None
))]
#[allow(clippy::too_many_arguments)]
fn load<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    table: &str,
    overrides: Option<Vec<(String, Bound<'py, PyAny>)>>,
    seed: Option<u64>,
    plugins: Option<Bound<'py, PyAny>>,
    kernels: Option<Bound<'py, PyAny>>,
    simulators: Option<Bound<'py, PyAny>>,
    inputs: Option<Bound<'py, PyDict>>,
    own: Option<Bound<'py, PyAny>>,
) -> PyResult<PyScenario> {
    let overrides = overrides.unwrap_or_default().into_iter();
    let overrides =
        overrides.map(|(key, value)| Ok((key, convert::to_value(&value)?))).collect::<PyResult<Vec<_>>>()?;
    read(given(py, file, plugins, kernels, simulators, inputs, own)?, |extensions| {
        vazao_scenario::Scenario::load_with(text, table, overrides, seed, extensions)
    })
}

/// Reads a scenario's canonical form, `Scenario.json`, with the arguments of `load`. A file, a kernel or an algorithm of the
/// user's own that is another one here is an error.
#[pyfunction]
#[pyo3(signature = (
    text, *, name = "scenario", file = "", plugins = None, kernels = None, simulators = None, inputs = None, own = None
))]
#[allow(clippy::too_many_arguments)]
fn from_json<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    file: &str,
    plugins: Option<Bound<'py, PyAny>>,
    kernels: Option<Bound<'py, PyAny>>,
    simulators: Option<Bound<'py, PyAny>>,
    inputs: Option<Bound<'py, PyDict>>,
    own: Option<Bound<'py, PyAny>>,
) -> PyResult<PyScenario> {
    read(given(py, file, plugins, kernels, simulators, inputs, own)?, |extensions| {
        vazao_scenario::Scenario::from_json(text, name, extensions)
    })
}

/// Returns what a scenario may name. A list that its owner changes later is another scenario's.
fn given<'py>(
    py: Python<'py>,
    file: &str,
    plugins: Option<Bound<'py, PyAny>>,
    kernels: Option<Bound<'py, PyAny>>,
    simulators: Option<Bound<'py, PyAny>>,
    inputs: Option<Bound<'py, PyDict>>,
    own: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let fixed = |items: Option<Bound<'py, PyAny>>| match items {
        Some(items) => PyTuple::new(py, items.try_iter()?.collect::<PyResult<Vec<_>>>()?),
        None => Ok(PyTuple::empty(py)),
    };
    let inputs = inputs.unwrap_or_else(|| PyDict::new(py));
    (file, fixed(plugins)?, fixed(kernels)?, fixed(simulators)?, inputs, own).into_pyobject(py)
}

/// Reads a scenario that may name what was given.
fn read(
    given: Bound<'_, PyTuple>,
    load: impl FnOnce(&Extensions) -> Result<vazao_scenario::Scenario, ScenarioError>,
) -> PyResult<PyScenario> {
    let py = given.py();
    let (file, plugins, kernels, simulators, inputs, own) = given.extract::<Given>()?;
    let read = Arc::new(Mutex::new(Vec::<Input>::new()));
    let mut extensions = Extensions {
        kernels: kernels
            .into_iter()
            .map(|(name, path, version, config, digest, hz)| (name, Kernel { path, version, config, digest, hz }))
            .collect(),
        simulators: simulators
            .into_iter()
            .map(|(stack, version, digest)| (stack, Simulator { version, digest }))
            .collect(),
        files: files_beside(&file, inputs, read.clone()),
        memory: memory::Limit::now()?.left(),
        ..Extensions::default()
    };
    let noted = own::extend(py, &mut extensions, plugins, own)?;
    let loaded = load(&extensions);
    let mut noted = std::mem::take(&mut *noted.lock().expect("one reader"));
    if let Some(error) = noted.error.take() {
        return Err(error);
    }
    noted.inputs.splice(..0, std::mem::take(&mut *read.lock().expect("one reader")));
    match loaded {
        Ok(inner) => Ok(PyScenario::new(inner, noted.inputs, given.unbind(), noted.classes, noted.code)),
        Err(error) => Err(scenario_error(py, &ScenarioError { file, ..error })),
    }
}

/// The scenario that was pickled, read again. An error where it would be another run: files, kernels, the user's own
/// algorithms or the engine are not what they were.
#[pyfunction]
fn restored(json: &str, name: &str, given: Bound<'_, PyTuple>, run_id: &str) -> PyResult<PyScenario> {
    let scenario = read(given, |extensions| vazao_scenario::Scenario::from_json(json, name, extensions))?;
    if scenario.run_id == run_id {
        return Ok(scenario);
    }
    let now = &scenario.run_id;
    Err(InputError::new_err(format!(
        "the scenario was run {run_id} when it was pickled and would be run {now} here: a file that it names, a kernel, \
         an algorithm of your own or the version of Vazão is another"
    )))
}

/// Makes the exception of a scenario error: its message, and its parts as attributes.
fn scenario_error(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let exception = InputError::new_err(error.to_string());
    let ScenarioError { file, line, key, value, problem, suggestion } = error;
    let attributes = exception.value(py);
    let told = attributes
        .setattr("file", file)
        .and_then(|()| attributes.setattr("line", line))
        .and_then(|()| attributes.setattr("key", key))
        .and_then(|()| attributes.setattr("value", value.as_deref()))
        .and_then(|()| attributes.setattr("problem", problem))
        .and_then(|()| attributes.setattr("suggestion", suggestion.as_deref()));
    told.err().unwrap_or(exception)
}

/// Text files by their path from the directory of a scenario's file; of one that has none, from the working directory. One that
/// is not there may be among those `kept`. Those that were read are noted.
fn files_beside(file: &str, kept: BTreeMap<String, PathBuf>, noted: Arc<Mutex<Vec<Input>>>) -> Files {
    let directory = std::path::Path::new(file).parent().map(PathBuf::from).unwrap_or_default();
    Files::new(move |name| {
        let beside = directory.join(name);
        let path = if beside.exists() { beside } else { kept.get(name).cloned().unwrap_or(beside) };
        let text = read_input(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let digest = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut noted = noted.lock().expect("one reader");
        if !noted.iter().any(|(known, ..): &Input| known == name) {
            noted.push((name.to_owned(), path, digest));
        }
        Ok(text)
    })
}

/// Bytes of the largest file that a scenario may name.
const LARGEST_INPUT: u64 = 64 << 20;

/// The text of a file of limited size. Devices and pipes, which may have no end or nothing to say, are none.
fn read_input(path: &std::path::Path) -> std::io::Result<String> {
    let refuse = |problem: String| Err(std::io::Error::other(problem));
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return refuse("it is not a regular file".into());
    }
    if about.len() > LARGEST_INPUT {
        return refuse(format!("it has {} bytes; the most are {LARGEST_INPUT}", about.len()));
    }
    std::fs::read_to_string(path)
}

/// Everything that has a name, as JSON: registries with their entries and parameters.
#[pyfunction]
fn registry() -> String {
    registries::all().to_string()
}

/// The JSON Schema of scenarios in canonical form.
#[pyfunction]
fn schema() -> String {
    vazao_scenario::schema().to_string()
}

/// The columns of each table of results and the measures that can be traced, as JSON: names and what they say.
#[pyfunction]
fn tables() -> String {
    registries::tables().to_string()
}

/// Whether this machine can wall guests in, so that they read what is installed and write nothing (Landlock).
#[pyfunction]
fn has_walls() -> bool {
    #[cfg(all(feature = "linux-guest", target_os = "linux", target_arch = "x86_64"))]
    return vazao_guest::has_walls();
    #[cfg(not(all(feature = "linux-guest", target_os = "linux", target_arch = "x86_64")))]
    false
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ENGINE_VERSION", vazao_scenario::ENGINE_VERSION)?;
    let measures = vazao_scenario::MEASURES.iter().map(|measure| (measure.name, (measure.title, measure.unit)));
    module.add("MEASURES", measures.into_py_dict(module.py())?)?;
    let plays = |stack: &Stack| TRANSPORTS.iter().map(|entry| entry.name).filter(|name| stack.plays(name)).collect();
    let stack = |stack: &'static Stack| (stack.name, (stack.mechanism.name(), plays(stack)));
    let stacks: Vec<(_, (_, Vec<_>))> = STACKS.iter().map(stack).collect();
    module.add("STACKS", stacks.into_py_dict(py)?)?;
    module.add("VazaoError", py.get_type::<VazaoError>())?;
    let wrong = py.get_type::<InputError>();
    for part in ["file", "line", "key", "value", "problem", "suggestion"] {
        wrong.setattr(part, py.None())?;
    }
    let failed = py.get_type::<RunError>();
    failed.setattr("scenario", py.None())?;
    // They are pickled by the place where others find them.
    for (class, name) in
        [(&wrong, "ScenarioError"), (&failed, "RunError"), (&py.get_type::<VazaoError>(), "VazaoError")]
    {
        class.setattr("__module__", "vazao.errors")?;
        class.setattr("__name__", name)?;
        class.setattr("__qualname__", name)?;
    }
    module.add("ScenarioError", wrong)?;
    module.add("RunError", failed)?;
    module.add_class::<PyScenario>()?;
    module.add_class::<PyWork>()?;
    module.add_class::<runner::PyOutcome>()?;
    module.add_class::<session::PySession>()?;
    module.add_class::<control::PyAck>()?;
    module.add_class::<control::PyCongestion>()?;
    module.add_class::<control::PyRateSample>()?;
    module.add_class::<control::PySibling>()?;
    module.add_class::<link::PyLinkInfo>()?;
    module.add_class::<link::PyQueuedPacket>()?;
    module.add_class::<slow_start::PyWindow>()?;
    module.add_class::<user::PyRandomStream>()?;
    module.add_class::<scheduler::PyPathState>()?;
    module.add_class::<scheduler::PySituation>()?;
    module.add_class::<scheduler::PySend>()?;
    module.add_class::<scheduler::PyCopy>()?;
    module.add_class::<scheduler::PyRepeat>()?;
    module.add_function(wrap_pyfunction!(answer::answer, module)?)?;
    module.add_function(wrap_pyfunction!(has_walls, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(from_json, module)?)?;
    module.add_function(wrap_pyfunction!(restored, module)?)?;
    module.add_function(wrap_pyfunction!(user::slip_of, module)?)?;
    module.add_function(wrap_pyfunction!(packets::packets, module)?)?;
    module.add_class::<captures::PyCapture>()?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(tables, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::merged, module)?)?;
    module.add_function(wrap_pyfunction!(memory::memory_left, module)?)?;
    module.add_function(wrap_pyfunction!(runner::run, module)?)?;
    module.add_function(wrap_pyfunction!(runner::run_many, module)?)?;
    Ok(())
}
