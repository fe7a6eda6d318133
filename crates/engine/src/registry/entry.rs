//! Entries of registries, and how one is found.

use super::Parameter;
use crate::problem::{Problem, unknown};

/// One thing a user can name. `B` builds it: usually a function from [`Parameters`](super::Parameters).
#[derive(Clone, Copy, Debug)]
pub struct Entry<B> {
    /// Kebab-case name.
    pub name: &'static str,
    /// Other names it is known by.
    pub aliases: &'static [&'static str],
    /// Full name, for titles.
    pub title: &'static str,
    /// RFC and section, or paper.
    pub source: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Factory.
    pub build: B,
}

/// Returns the entry of `registry` called `name` or an alias.
///
/// # Errors
/// A problem with the nearest name, or all of them.
pub fn find<'a, B>(what: &str, registry: &'a [Entry<B>], name: &str) -> Result<&'a Entry<B>, Problem> {
    registry
        .iter()
        .find(|e| e.name == name || e.aliases.contains(&name))
        .ok_or_else(|| unknown(what, name, registry.iter().map(|e| e.name)))
}
