//! Algorithms of a user's own by name: classes that a script gave, and those in files that a scenario names.

use crate::convert::from_json;
use crate::instance::Algorithm;
use crate::user::Class;
use crate::{Input, application, control, link, scheduler, slow_start};
use pyo3::prelude::*;
use pyo3::types::PyType;
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
