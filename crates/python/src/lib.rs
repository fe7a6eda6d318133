//! Python bindings: scenario in, Arrow out. One error variant, one named exception; no logic of its own.
//!
//! This is the runner: the only Rust crate that reads a wall clock, starts threads and writes files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod application;
mod arrow;
mod control;
mod convert;
#[cfg(all(feature = "linux-guest", target_os = "linux", target_arch = "x86_64"))]
mod guests;
mod link;
mod memory;
mod own;
mod packets;
mod registries;
mod runner;
mod scheduler;
mod slow_start;
mod spill;
mod user;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyType};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use vazao_engine::Duration;
use vazao_scenario::{Extensions, Files, Kernel, ScenarioError, Simulator, TraceSpec};

create_exception!(_core, VazaoError, PyException, "Base of everything Vazão raises.");
create_exception!(_core, InputError, VazaoError, "The scenario is wrong; the message says where and what would do.");
create_exception!(_core, RunError, VazaoError, "A run failed.");

/// A scenario: read, checked, every default filled in.
#[pyclass(frozen, name = "Scenario", module = "vazao._core")]
pub struct PyScenario {
    inner: vazao_scenario::Scenario,
    json: String,
    run_id: String,
    inputs: Vec<Input>,
    /// The user's own algorithms, shown to the garbage collector: a class leads, by the globals of its methods, to the variables
    /// that hold results and their scenarios. `inner`, which is shared, has only weak references to them.
    classes: Vec<Py<PyType>>,
    /// The user's own algorithms in files, and whether they may be run.
    code: Vec<(String, bool)>,
}

/// A file that a scenario names: its name there, where it was read, the SHA-256 of what it held.
type Input = (String, PathBuf, String);

impl PyScenario {
    fn new(
        inner: vazao_scenario::Scenario,
        inputs: Vec<Input>,
        classes: Vec<Py<PyType>>,
        code: Vec<(String, bool)>,
    ) -> Self {
        let json = inner.json();
        PyScenario { run_id: vazao_scenario::Scenario::run_id_of(&json), json, inner, inputs, classes, code }
    }
}

#[pymethods]
impl PyScenario {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.classes.iter().try_for_each(|class| visit.call(class))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }
    #[getter]
    fn json(&self) -> &str {
        &self.json
    }
    #[getter]
    fn until_s(&self) -> Option<f64> {
        self.inner.until.map(|until| until.as_secs())
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
        let inner = vazao_scenario::Scenario { trace, ..self.inner.clone() };
        let classes = self.classes.iter().map(|class| class.clone_ref(py)).collect();
        Ok(PyScenario::new(inner, self.inputs.clone(), classes, self.code.clone()))
    }

    /// Nodes, links and flows, for drawing.
    fn graph<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::from_json(py, &registries::graph(&self.inner).to_string())
    }

    /// Roughly what the run takes: packet-hops, packets that guests send and receive, how many guests, and whether programs run
    /// in them.
    fn work(&self) -> (f64, f64, usize, bool) {
        let work = vazao_scenario::estimate(&self.inner);
        (work.hops, work.guest_packets, work.guests, work.has_programs)
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {:?} run_id={}>", self.inner.name, self.run_id)
    }
}

/// Reads a scenario from a TOML text: the table at the dotted path `table` (empty: all of it) after `overrides`
/// (dotted key, value) were set in it. `plugins` are algorithms of the user's own; `own(key, name, parameters)` finds one in a
/// file: its class or None, a digest of its code, and the files that hold it.
/// `kernels` are those that guests can have: name, path, version, digests of configuration and executable, HZ.
/// `simulators` are others that are installed: the name of the stack, version, digest of the executable.
/// `inputs` are files, by the names that a scenario calls them, to be read where there is none beside it.
#[pyfunction]
#[pyo3(signature = (
    text, *, file = "", table = "", overrides = Vec::new(), seed = None, plugins = Vec::new(), kernels = Vec::new(),
    simulators = Vec::new(), inputs = BTreeMap::new(), own = None
))]
#[allow(clippy::too_many_arguments)]
fn load(
    py: Python<'_>,
    text: &str,
    file: &str,
    table: &str,
    overrides: Vec<(String, Bound<'_, PyAny>)>,
    seed: Option<u64>,
    plugins: Vec<own::Given>,
    kernels: Vec<(String, PathBuf, String, String, String, u32)>,
    simulators: Vec<(String, String, String)>,
    inputs: BTreeMap<String, PathBuf>,
    own: Option<Py<PyAny>>,
) -> PyResult<PyScenario> {
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
        files: files_beside(file, inputs, read.clone()),
        memory: memory::Limit::now()?.left(),
        ..Extensions::default()
    };
    let noted = own::extend(py, &mut extensions, plugins, own)?;
    let overrides = overrides
        .into_iter()
        .map(|(key, value)| Ok((key, convert::to_value(&value)?)))
        .collect::<PyResult<Vec<_>>>()?;
    let loaded = vazao_scenario::Scenario::load_with(text, table, overrides, seed, &extensions);
    let mut noted = std::mem::take(&mut *noted.lock().expect("one reader"));
    if let Some(error) = noted.error.take() {
        return Err(error);
    }
    noted.inputs.splice(..0, std::mem::take(&mut *read.lock().expect("one reader")));
    loaded
        .map(|inner| PyScenario::new(inner, noted.inputs, noted.classes, noted.code))
        .map_err(|error| scenario_error(py, &ScenarioError { file: file.into(), ..error }))
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
    module.add("VazaoError", py.get_type::<VazaoError>())?;
    let wrong = py.get_type::<InputError>();
    for part in ["file", "line", "key", "value", "problem", "suggestion"] {
        wrong.setattr(part, py.None())?;
    }
    module.add("ScenarioError", wrong)?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add_class::<PyScenario>()?;
    module.add_class::<runner::PyOutcome>()?;
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
    module.add_function(wrap_pyfunction!(has_walls, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(user::slip_of, module)?)?;
    module.add_function(wrap_pyfunction!(packets::packets, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(tables, module)?)?;
    module.add_function(wrap_pyfunction!(memory::memory_left, module)?)?;
    module.add_function(wrap_pyfunction!(runner::run, module)?)?;
    module.add_function(wrap_pyfunction!(runner::run_many, module)?)?;
    Ok(())
}
