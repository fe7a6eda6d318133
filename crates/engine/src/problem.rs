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
