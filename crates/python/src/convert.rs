//! Values from and to Python.

use crate::InputError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use vazao_scenario::Toml;

/// Converts a Python value to a TOML one.
pub fn to_value(object: &Bound<'_, PyAny>) -> PyResult<Toml> {
    Ok(if let Ok(x) = object.cast::<PyString>() {
        Toml::Text(x.to_cow()?.into_owned())
    } else if object.is_instance_of::<PyBool>() {
        Toml::Flag(object.extract()?)
    } else if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
        // A whole number may be larger than any float.
        Toml::Number(object.extract().map_err(|_| InputError::new_err(format!("{object} is too large a number")))?)
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        Toml::List(object.try_iter()?.map(|x| to_value(&x?).map(Into::into)).collect::<PyResult<_>>()?)
    } else if let Ok(x) = object.cast::<PyDict>() {
        Toml::Table(
            x.iter()
                .map(|(key, value)| Ok((key.extract::<String>()?, to_value(&value)?.into())))
                .collect::<PyResult<_>>()?,
        )
    } else {
        let kind = object.get_type().name()?;
        return Err(InputError::new_err(format!("a {kind} is not a value that TOML knows")));
    })
}

/// Converts JSON to a Python object.
pub fn from_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}
