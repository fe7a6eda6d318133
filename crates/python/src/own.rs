//! Algorithms of a user's own by name: classes that a script gave, and those in files that a scenario names.

use crate::convert::from_json;
use crate::user::{Class, Watch, fail};
use crate::{Input, RunError, application, control, link, scheduler, slow_start};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use vazao_scenario::{Extensions, OwnParameters, Plugin, Plugins};

/// A class of the user's own: what it stands for (`cc`, `scheduler`), its name, itself, a digest of its code.
pub type Given = (String, String, Py<PyType>, String);

/// What a finder says of a name: the class, unless its code may not be run; a digest of its code; the files that hold it.
type Found = (Option<Py<PyType>>, String, Vec<(String, PathBuf, String)>);

/// Notes on what a scenario uses.
#[derive(Default)]
pub struct Noted {
    /// Files that hold algorithms.
    pub inputs: Vec<Input>,
    /// Classes, to be shown to the garbage collector.
    pub classes: Vec<Py<PyType>>,
    /// Algorithms in files by name, and whether they may be run.
    pub code: Vec<(String, bool)>,
    /// Error of a finder that is none of the scenario: an interruption, say.
    pub error: Option<PyErr>,
}

/// Finder of algorithms for one scenario.
struct Finder {
    given: BTreeMap<(String, String), (Class, String)>,
    /// Function that finds an algorithm in a file by its key, its name and its parameters.
    find: Option<Py<PyAny>>,
    noted: Arc<Mutex<Noted>>,
}

impl Finder {
    fn find(
        &self,
        key: &'static str,
        name: &str,
        parameters: &OwnParameters,
    ) -> Option<Result<(Algorithm, String), String>> {
        let algorithm = |class| Algorithm { name: name.to_owned(), class, parameters: parameters.clone() };
        if let Some((class, fingerprint)) = self.given.get(&(key.to_owned(), name.to_owned())) {
            let class = Python::attach(|py| class.again(py));
            return Some(Ok((algorithm(Some(class)), fingerprint.clone())));
        }
        let find = self.find.as_ref().filter(|_| name.contains(".py"))?;
        Python::attach(|py| {
            let told = serde_json::Value::from(parameters.clone()).to_string();
            let found = from_json(py, &told)
                .and_then(|parameters| find.bind(py).call1((key, name, parameters))?.extract::<Option<Found>>());
            let mut noted = self.noted.lock().expect("one reader");
            match found {
                Ok(None) => None,
                Ok(Some((class, fingerprint, inputs))) => {
                    for input in inputs {
                        if !noted.inputs.contains(&input) {
                            noted.inputs.push(input);
                        }
                    }
                    let code = (name.to_owned(), class.is_some());
                    if !noted.code.contains(&code) {
                        noted.code.push(code);
                    }
                    let held = class.as_ref().map(|class| Class::new(class.bind(py))).transpose();
                    noted.classes.extend(class);
                    Some(held.map(|class| (algorithm(class), fingerprint)).map_err(|error| error.to_string()))
                }
                Err(error) => {
                    let problem = error.value(py).to_string();
                    if !error.is_instance_of::<crate::InputError>(py) {
                        noted.error = Some(error);
                    }
                    Some(Err(problem))
                }
            }
        })
    }
}

/// Extends a scenario's registries by classes and by what `find` finds in files.
pub fn extend(
    py: Python<'_>,
    extensions: &mut Extensions,
    given: Vec<Given>,
    find: Option<Py<PyAny>>,
) -> PyResult<Arc<Mutex<Noted>>> {
    let noted = Arc::new(Mutex::new(Noted::default()));
    let mut known = BTreeMap::new();
    for (key, name, class, fingerprint) in given {
        let key = if key == "path_scheduler" { "scheduler".to_owned() } else { key };
        known.insert((key, name), (Class::new(class.bind(py))?, fingerprint));
        noted.lock().expect("one reader").classes.push(class);
    }
    let finder = Arc::new(Finder { given: known, find, noted: noted.clone() });
    extensions.controls = plugins(&finder, "cc", control::factory);
    extensions.schedulers = plugins(&finder, "scheduler", scheduler::factory);
    extensions.slow_starts = plugins(&finder, "slow_start", slow_start::factory);
    extensions.losses = plugins(&finder, "loss", link::loss_factory);
    extensions.queues = plugins(&finder, "queue", link::queue_factory);
    extensions.scripts = plugins(&finder, "app", application::factory);
    Ok(noted)
}

/// Returns the access to the algorithms of one key, each made into what the engine calls by `factory`.
fn plugins<F: 'static>(finder: &Arc<Finder>, key: &'static str, factory: fn(Algorithm) -> F) -> Plugins<F> {
    let finder = finder.clone();
    Plugins::new(move |name, parameters| {
        let found = finder.find(key, name, parameters)?;
        Some(found.map(|(algorithm, fingerprint)| Plugin { fingerprint, build: factory(algorithm) }))
    })
}

/// A user's class and the parameters that its instances are made with.
pub struct Algorithm {
    /// Name in the scenario.
    pub name: String,
    /// The class; `None`: its code may not be run.
    class: Option<Class>,
    parameters: OwnParameters,
}

impl Algorithm {
    /// Returns whether its class says that the outside steers it, and nothing of the class is called.
    pub fn is_steered(&self) -> bool {
        Python::attach(|py| {
            let class = self.class.as_ref().and_then(|class| class.get(py).ok());
            class.is_some_and(|class| class.getattr("steered").and_then(|steered| steered.extract()).unwrap_or(false))
        })
    }

    /// Makes an instance; what goes wrong ends the run.
    fn make<T>(
        &self,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> (Py<PyAny>, T) {
        let made = Python::attach(|py| {
            let Some(class) = &self.class else {
                return Err(RunError::new_err("its code was not allowed to run"));
            };
            let given = serde_json::Value::from(self.parameters.clone()).to_string();
            let given = from_json(py, &given)?.cast_into::<PyDict>()?;
            let instance = class.get(py)?.call(arguments(py)?, Some(&given))?;
            let read = read(&instance)?;
            Ok((instance.unbind(), read))
        });
        made.unwrap_or_else(|error| fail(&self.name, None, &error))
    }
}

/// An instance of a user's class.
pub struct Instance {
    /// Name of the class in the scenario.
    name: String,
    /// Direction of a link that it stands at, if it stands at one.
    link: Option<String>,
    instance: Py<PyAny>,
    watch: Watch,
}

impl Instance {
    /// Makes an instance; `attributes` are those that the engine or its base class has. What goes wrong ends the run.
    pub fn new(
        algorithm: &Algorithm,
        link: Option<&str>,
        attributes: &'static [&'static str],
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    ) -> Instance {
        Self::reading(algorithm, link, attributes, arguments, |_| Ok(())).0
    }

    /// Makes an instance, and reads from it what does not change.
    pub fn reading<T>(
        algorithm: &Algorithm,
        link: Option<&str>,
        attributes: &'static [&'static str],
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> (Instance, T) {
        let mut watch = Watch::new(attributes);
        let (instance, read) = algorithm.make(arguments, |instance| {
            watch.look(instance)?;
            read(instance)
        });
        (Instance { name: algorithm.name.clone(), link: link.map(str::to_owned), instance, watch }, read)
    }

    /// Calls a method; what goes wrong ends the run.
    pub fn call<T>(&mut self, method: &str, run: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> T {
        let told = Python::attach(|py| {
            let instance = self.instance.bind(py);
            let told = run(instance)?;
            self.watch.look(instance)?;
            Ok(told)
        });
        told.unwrap_or_else(|error| fail(&format!("{}.{method}", self.name), self.link.as_deref(), &error))
    }

    /// The instance itself.
    pub fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.instance.bind(py)
    }
}
