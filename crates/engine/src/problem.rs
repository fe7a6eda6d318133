//! Problems with something that a user wrote, as data: the sentence, and the likely intended value.

use crate::units::nearest;
use std::fmt;

/// Problem with something that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The sentence, with what would be accepted.
    pub text: String,
    /// Likely intended value.
    pub suggestion: Option<String>,
}

impl From<String> for Problem {
    fn from(text: String) -> Problem {
        Problem { text, suggestion: None }
    }
}
impl From<&str> for Problem {
    fn from(text: &str) -> Problem {
        text.to_owned().into()
    }
}
impl From<Problem> for String {
    fn from(problem: Problem) -> String {
        problem.text
    }
}
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Describes a name that is not among `known`.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Problem {
    let known: Vec<&str> = known.into_iter().collect();
    let suggestion = nearest(name, known.iter().copied()).map(str::to_owned);
    let text = match &suggestion {
        Some(near) => format!("unknown {what} {name:?}; did you mean {near:?}?"),
        None if known.is_empty() => format!("unknown {what} {name:?}; none is accepted here"),
        None => format!("unknown {what} {name:?}; known: {}", known.join(", ")),
    };
    Problem { text, suggestion }
}

/// Refused parameter, with the accepted values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The parameter's name as typed; in a list of tables also the table's number, from 0 on, and the name in there.
    pub path: Vec<String>,
    /// Problem and accepted values.
    pub problem: Problem,
}

impl ParameterError {
    /// Creates an error about what a path leads to.
    pub fn new(path: &[&str], problem: impl Into<Problem>) -> ParameterError {
        ParameterError { path: path.iter().map(|&step| step.to_owned()).collect(), problem: problem.into() }
    }
    /// Puts a step in front of the path.
    pub(crate) fn within(mut self, step: impl ToString) -> ParameterError {
        self.path.insert(0, step.to_string());
        self
    }
}

impl std::error::Error for ParameterError {}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_slice() {
            [] => write!(f, "{}", self.problem),
            path => write!(f, "{}: {}", path.join("."), self.problem),
        }
    }
}
