//! Code of the user's own: what it is told, and how its mistakes end a run.

use crate::InputError;
use pyo3::exceptions::{PyAttributeError, PyReferenceError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType, PyWeakrefMethods, PyWeakrefReference};
use std::ffi::c_long;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use vazao_engine::registry::unknown;
use vazao_engine::{Duration, RandomStream};

/// Error of a user's class, on its way up to the runner.
pub struct UserError {
    /// Message, with the calls that led to it.
    pub problem: String,
    /// Direction of a link that it stands at, if it stands at one.
    pub link: Option<String>,
}

/// Ends the run: unwinding is how a machine far below says what went wrong, without the hook that would print a panic.
pub fn fail(place: &str, link: Option<&str>, error: &PyErr) -> ! {
    let (calls, hint) = Python::attach(|py| {
        let calls = error.traceback(py).and_then(|traceback| {
            py.import("traceback").and_then(|module| module.call_method1("format_tb", (traceback,))?.extract()).ok()
        });
        (calls.unwrap_or_default(), hint(py, error))
    });
    let calls: Vec<String> = calls;
    // Where it went wrong, without the headline of a traceback.
    let calls: String = calls.iter().map(|call| format!("\n{}", call.trim_end())).collect();
    // The name of an error of ours says nothing more than that it is one.
    let told = Python::attach(|py| match error.is_instance_of::<InputError>(py) {
        true => error.value(py).to_string(),
        false => error.to_string(),
    });
    let problem = format!("{place}: {told}{hint}{calls}");
    std::panic::resume_unwind(Box::new(UserError { problem, link: link.map(str::to_owned) }))
}

/// Returns the attribute that was probably meant, for the end of a message about one that there is not.
fn hint(py: Python<'_>, error: &PyErr) -> String {
    let hint = || -> PyResult<String> {
        let value = error.value(py);
        let (object, name) = (value.getattr("obj")?, value.getattr("name")?.extract::<String>()?);
        let known = object.dir()?.extract::<Vec<String>>()?;
        let known = known.iter().map(String::as_str).filter(|name| !name.starts_with('_'));
        Ok(unknown("attribute", &name, known)
            .suggestion
            .map_or_else(String::new, |name| format!("; did you mean {name}?")))
    };
    if error.is_instance_of::<PyAttributeError>(py) { hint().unwrap_or_default() } else { String::new() }
}

/// Returns whether a name is another one with a single slip: a letter too many, too few, wrong, or two exchanged. A digit or
/// an underscore more makes a name of its own.
pub fn is_slip(name: &str, meant: &str) -> bool {
    let (longer, shorter) = if name.len() < meant.len() { (meant, name) } else { (name, meant) };
    if name == meant || meant.len() < 4 || name.starts_with('_') || longer.len() - shorter.len() > 1 {
        return false;
    }
    let (long, short) = (longer.as_bytes(), shorter.as_bytes());
    let same = long.iter().zip(short).take_while(|(x, y)| x == y).count();
    if long.len() > short.len() {
        let own = name.len() > meant.len() && !long[same].is_ascii_alphabetic();
        return !own && long[same + 1..] == short[same..];
    }
    let exchanged = same + 1 < long.len() && long[same] == short[same + 1] && long[same + 1] == short[same];
    let wrong = long[same + 1..] == short[same + 1..] && long[same].is_ascii_alphabetic();
    wrong || exchanged && long[same + 2..] == short[same + 2..]
}

/// The name among `known` that another one probably is, with a slip.
#[pyfunction]
pub fn slip_of(name: &str, known: Vec<String>) -> Option<String> {
    if known.iter().any(|known| known == name) {
        return None;
    }
    known.into_iter().find(|known| is_slip(name, known))
}

/// Watch over the attributes of an instance: one that is written like an attribute that the engine reads is a slip, which would
/// do nothing.
pub struct Watch {
    names: &'static [&'static str],
    seen: usize,
}

impl Watch {
    pub fn new(names: &'static [&'static str]) -> Watch {
        Watch { names, seen: 0 }
    }

    /// Refuses a slip among the attributes that came since it last looked.
    pub fn look(&mut self, instance: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(attributes) = instance.getattr("__dict__") else { return Ok(()) };
        let Ok(attributes) = attributes.cast::<PyDict>() else { return Ok(()) };
        if attributes.len() == self.seen {
            return Ok(());
        }
        self.seen = attributes.len();
        for name in attributes.keys() {
            let name: String = name.extract()?;
            if self.names.contains(&name.as_str()) {
                continue;
            }
            if let Some(meant) = self.names.iter().find(|meant| is_slip(&name, meant)) {
                let problem = format!("sets {name}, which nobody reads; did you mean {meant}?");
                return Err(InputError::new_err(problem));
            }
        }
        Ok(())
    }
}

/// Reads an attribute of an instance, or says what it should be.
pub fn attribute<T: for<'a, 'py> FromPyObject<'a, 'py>>(
    instance: &Bound<'_, PyAny>,
    name: &str,
    expected: &str,
) -> PyResult<T> {
    let value = instance.getattr(name).map_err(|_| {
        InputError::new_err(format!("has no {name}, {expected}; does its __init__ call super().__init__(…)?"))
    })?;
    match value.extract::<T>() {
        Ok(read) => Ok(read),
        Err(_) => Err(InputError::new_err(format!("{name} = {}; it is {expected}", value.repr()?))),
    }
}

/// Reads what a method answered, or says what it should be.
pub fn answer<T: for<'a, 'py> FromPyObject<'a, 'py>>(answer: &Bound<'_, PyAny>, expected: &str) -> PyResult<T> {
    match answer.extract::<T>() {
        Ok(read) => Ok(read),
        Err(_) => Err(InputError::new_err(format!("answered {}; return {expected}", answer.repr()?))),
    }
}

/// Random stream of a run, for algorithms that leave something to chance.
#[pyclass(name = "RandomStream", module = "vazao._core")]
pub struct PyRandomStream(pub RandomStream);

#[pymethods]
impl PyRandomStream {
    /// A number from 0 to below 1.
    fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }
    /// A whole number from 0 to below `bound`.
    fn below(&mut self, bound: u64) -> PyResult<u64> {
        if bound == 0 {
            return Err(InputError::new_err("below(0): there is no whole number from 0 to below 0"));
        }
        Ok(self.0.below(bound))
    }
    /// A number of an exponential distribution.
    fn exponential(&mut self, mean: f64) -> f64 {
        self.0.exponential(mean)
    }
    /// A number of the standard normal distribution.
    fn normal(&mut self) -> f64 {
        self.0.normal()
    }
}

/// A user's class, held weakly: the scenario that is run with it keeps it.
pub struct Class(Py<PyWeakrefReference>);

impl Class {
    pub fn new(class: &Bound<'_, PyType>) -> PyResult<Self> {
        Ok(Class(PyWeakrefReference::new(class)?.unbind()))
    }

    pub fn again(&self, py: Python<'_>) -> Class {
        Class(self.0.clone_ref(py))
    }

    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.bind(py).upgrade().ok_or_else(|| PyReferenceError::new_err("the class is gone"))
    }
}
/// The threads that are in a user's code or may come to it, by Python's numbers for them.
#[derive(Default)]
pub struct Threads(Mutex<Vec<c_long>>);

impl Threads {
    /// Returns the result of `run`, or its panic. Python knows this thread from the first to the last of a user's
    /// calls: to be made known anew for each would cost more than most of them do.
    pub fn staying_known<T: Send>(&self, run: impl FnOnce() -> T + Send) -> std::thread::Result<T> {
        Python::attach(|py| {
            let number =
                py.import("threading").and_then(|module| module.call_method0("get_ident")?.extract::<c_long>());
            let number = number.expect("every thread has a number");
            self.0.lock().expect("no panic while it is held").push(number);
            let result = py.detach(|| catch_unwind(AssertUnwindSafe(run)));
            self.0.lock().expect("no panic while it is held").retain(|known| *known != number);
            result
        })
    }

    /// Ends what a user's code is doing on any of them: the next line of Python there raises `KeyboardInterrupt`; one that
    /// cannot be caught for good where earlier ones were.
    pub fn interrupt(&self, py: Python<'_>, caught: bool) {
        let halt = || py.import("vazao.scenario.halting")?.getattr("Halt");
        let halt: Option<Bound<'_, PyAny>> = if caught { halt().ok() } else { None };
        // SAFETY: the exception lives as long as Python does.
        let raised = halt.as_ref().map_or(unsafe { ffi::PyExc_KeyboardInterrupt }, Bound::as_ptr);
        for number in self.0.lock().expect("no panic while it is held").iter() {
            // SAFETY: Python is attached, and the exception is held. A thread that has gone is not found.
            unsafe { ffi::PyThreadState_SetAsyncExc(*number, raised) };
        }
    }
}

/// Seconds, or None for what was not measured so far.
pub fn seconds(span: Duration) -> Option<f64> {
    (span > Duration::ZERO && span < Duration::MAX).then(|| span.as_secs())
}
