//! Instances of a user's own algorithms, and calls of their methods.

use crate::RunError;
use crate::convert::from_json;
use crate::user::{Class, Watch, fail};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use vazao_scenario::OwnParameters;

/// A user's class and the parameters that its instances are made with.
pub struct Algorithm {
    /// Name in the scenario.
    pub name: String,
    /// The class; `None`: its code may not be run.
    pub class: Option<Class>,
    pub parameters: OwnParameters,
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
