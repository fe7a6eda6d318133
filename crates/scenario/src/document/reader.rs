//! Reading a document key by key: a key that nobody takes is an error, and every error names its key and line.

use crate::document::{Node, Result, ScenarioError, Toml};
use serde_json::{Map, Value as Json, json};
use std::str::FromStr;
use vazao_engine::registry::{self, Entry, Kind, Parameter, ParameterError, Parameters, Problem, Value};
use vazao_engine::{Bytes, Duration};

/// Form of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Written by a user, who leaves defaults out.
    Written,
    /// The canonical form of a scenario, which has every key.
    Resolved,
}

/// Value with its path in the document.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    path: String,
    form: Form,
    pub node: Node,
}

/// Table whose keys are taken one by one.
#[derive(Clone)]
pub(crate) struct Table {
    path: String,
    form: Form,
    line: Option<usize>,
    entries: Vec<(String, Node)>,
    known: Vec<&'static str>,
}

impl Item {
    pub fn root(node: Node) -> Item {
        Item { path: String::new(), form: Form::Written, node }
    }

    /// Creates the item of a whole scenario in canonical form.
    pub fn resolved(node: Node) -> Item {
        Item { path: String::new(), form: Form::Resolved, node }
    }

    /// Returns whether it is of a scenario in canonical form.
    pub fn is_resolved(&self) -> bool {
        self.form == Form::Resolved
    }

    /// Creates an item from a default's name.
    pub fn named(name: &str) -> Item {
        Item::root(Toml::Text(name.into()).into())
    }

    /// Adds a default kind to a table without one.
    pub fn with_kind(mut self, name: &str) -> Item {
        if let Toml::Table(entries) = &mut self.node.value
            && !entries.iter().any(|(key, _)| key == "kind")
        {
            entries.push(("kind".into(), Toml::Text(name.into()).into()));
        }
        self
    }

    /// Takes a key that only the canonical form has out of a table.
    pub fn extract(&mut self, key: &str) -> Option<Item> {
        let Toml::Table(entries) = &mut self.node.value else { return None };
        let index = entries.iter().position(|(known, _)| known == key && self.form == Form::Resolved)?;
        let (_, node) = entries.remove(index);
        Some(Item { path: child(&self.path, key), form: self.form, node })
    }

    pub fn error(&self, problem: impl Into<Problem>) -> ScenarioError {
        ScenarioError::new(self.node.line, &self.path, problem).with_value(&self.node.value)
    }

    /// Creates an error about a parameter below, after `skipped` steps of its path, which the user did not write.
    pub fn refused(&self, ParameterError { path, problem }: ParameterError, skipped: usize) -> ScenarioError {
        let text = problem.text.replacen("unknown parameter", "unknown key", 1);
        self.error_at(&path[skipped..], Problem { text, ..problem })
    }

    /// Creates an error about what a path below leads to: keys of tables, numbers of lists.
    fn error_at(&self, path: &[String], problem: Problem) -> ScenarioError {
        let Some((step, rest)) = path.split_first() else { return self.error(problem) };
        let path = child(&self.path, step);
        let node = match &self.node.value {
            Toml::Table(entries) => entries.iter().find(|(key, _)| key == step).map(|(_, node)| node),
            Toml::List(items) => step.parse().ok().and_then(|number: usize| items.get(number)),
            _ => None,
        };
        match node.cloned() {
            Some(node) => Item { path, form: self.form, node }.error_at(rest, problem),
            None => ScenarioError::new(self.node.line, path, problem),
        }
    }

    pub fn into_table(self) -> Result<Table> {
        match self.node.value {
            Toml::Table(entries) => {
                Ok(Table { path: self.path, form: self.form, line: self.node.line, entries, known: Vec::new() })
            }
            ref other => Err(self.error(format!("{other} is not a table"))),
        }
    }

    /// Returns the elements of a list; a single value counts as a list of one.
    pub fn into_list(self) -> Vec<Item> {
        let form = self.form;
        match self.node.value {
            Toml::List(items) => items
                .into_iter()
                .enumerate()
                .map(|(i, node)| Item { path: format!("{}.{i}", self.path), form, node })
                .collect(),
            value => vec![Item { path: self.path, form, node: Node { line: self.node.line, value } }],
        }
    }

    pub fn text(&self) -> Result<&str> {
        match &self.node.value {
            Toml::Text(text) => Ok(text),
            other => Err(self.error(format!("{other} is not a text"))),
        }
    }

    pub fn flag(&self) -> Result<bool> {
        match &self.node.value {
            Toml::Flag(flag) => Ok(*flag),
            other => Err(self.error(format!("{other} is not true or false"))),
        }
    }

    /// Parses a quantity written as text.
    pub fn quantity<T: FromStr<Err: ToString>>(&self, example: &str) -> Result<T> {
        match &self.node.value {
            Toml::Text(text) => text.parse().map_err(|e: T::Err| self.error(e.to_string())),
            Toml::Number(x) => Err(self.error(format!("{x} has no unit; write it as in {example:?}"))),
            other => Err(self.error(format!("{other} is not a quantity; write it as in {example:?}"))),
        }
    }

    pub fn whole(&self, kind: Kind) -> Result<u64> {
        let raw = self.node.value.raw();
        match kind.read(&raw) {
            Ok(registry::Value::Number(x)) => Ok(x as u64),
            Ok(_) => Err(self.error(format!("{raw} is not {}", kind.expected()))),
            Err(problem) => Err(self.error(problem)),
        }
    }

    /// Finds a registry entry by its name, or by a table with `kind` and parameters.
    pub fn entry<B>(self, what: &str, entries: &'static [Entry<B>]) -> Result<(&'static Entry<B>, Table)> {
        if let Toml::Text(name) = &self.node.value {
            let entry = registry::find(what, entries, name).map_err(|problem| self.error(problem))?;
            let table = Item { node: Node { line: self.node.line, value: Toml::Table(Vec::new()) }, ..self };
            return Ok((entry, table.into_table()?));
        }
        if !matches!(self.node.value, Toml::Table(_)) {
            let value = &self.node.value;
            return Err(self.error(format!(
                "{value} is not accepted; write the name of a {what}, or a table with its kind and parameters"
            )));
        }
        let mut table = self.into_table()?;
        let kind = table.require("kind", &format!("the name of a {what}"))?;
        let entry = registry::find(what, entries, kind.text()?).map_err(|problem| kind.error(problem))?;
        Ok((entry, table))
    }
}

/// Returns the path of a key of what is at a path.
fn child(path: &str, key: &str) -> String {
    // What TOML wants in quotes is shown in quotes.
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let key = if is_bare { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

impl Table {
    fn child(&self, key: &str) -> String {
        child(&self.path, key)
    }

    pub fn error(&self, problem: impl Into<Problem>) -> ScenarioError {
        ScenarioError::new(self.line, &self.path, problem)
    }

    /// Takes the value of `key` out, if there is one.
    pub fn take(&mut self, key: &'static str) -> Option<Item> {
        self.known.push(key);
        let index = self.entries.iter().position(|(k, _)| k == key)?;
        let (_, node) = self.entries.remove(index);
        Some(Item { path: self.child(key), form: self.form, node })
    }

    /// Takes a value that only the canonical form has: in what a user writes, its key is unknown.
    pub fn take_resolved(&mut self, key: &'static str) -> Option<Item> {
        if self.form == Form::Resolved { self.take(key) } else { None }
    }

    /// Takes some of its keys out, as a table of its own.
    pub fn split(&mut self, keys: &[&str]) -> Table {
        let (taken, kept) = std::mem::take(&mut self.entries).into_iter().partition(|(key, _)| keys.contains(&&**key));
        self.entries = kept;
        Table { path: self.path.clone(), entries: taken, known: Vec::new(), ..*self }
    }

    /// Sets a key that is missing.
    pub fn supply(&mut self, key: &str, node: Node) {
        if !self.entries.iter().any(|(known, _)| known == key) {
            self.entries.push((key.to_owned(), node));
        }
    }

    /// Puts a value that was taken, or its replacement, back.
    pub fn put_back(&mut self, key: &str, item: Item) {
        self.entries.push((key.to_owned(), item.node));
    }

    pub fn require(&mut self, key: &'static str, expected: &str) -> Result<Item> {
        let missing = |table: &Table| {
            table.misspelt(key).unwrap_or_else(|| {
                ScenarioError::new(table.line, table.child(key), format!("is missing; write {expected}"))
            })
        };
        self.take(key).ok_or_else(|| missing(self))
    }

    /// Returns the error of a key that stands where `key` is missing and looks like it: `flows` for `flow`.
    fn misspelt(&self, key: &'static str) -> Option<ScenarioError> {
        let (given, _) = self.entries.iter().find(|(given, _)| registry::is_misspelt(given, key))?;
        self.refuse(given, registry::unknown("key", given, [key])).err()
    }

    /// Takes a time span within bounds.
    pub fn duration(&mut self, key: &'static str, least: Duration, most: Duration) -> Result<Option<Duration>> {
        self.take(key).map(|item| duration(&item, least, most)).transpose()
    }

    /// Takes a whole number.
    pub fn whole(&mut self, key: &'static str, kind: Kind) -> Result<Option<u64>> {
        self.take(key).map(|item| item.whole(kind)).transpose()
    }

    /// Refuses every key that was not taken.
    pub fn finish(self) -> Result<()> {
        let Some((key, _)) = self.entries.first() else { return Ok(()) };
        self.refuse(key, registry::unknown("key", key, self.known.iter().copied()))
    }

    /// Refuses every key that was not taken, with a message of the caller's.
    pub fn finish_with(self, problem: &str) -> Result<()> {
        self.entries.first().map_or(Ok(()), |(key, _)| self.refuse(key, problem))
    }

    /// Refuses a key that is present and was not taken.
    pub fn refuse(&self, key: &str, problem: impl Into<Problem>) -> Result<()> {
        let Some((_, node)) = self.entries.iter().find(|(k, _)| k == key) else { return Ok(()) };
        let line = node.line.or(self.line);
        Err(ScenarioError::new(line, self.child(key), problem).with_value(&node.value))
    }

    /// Refuses a key that has no effect: a mistake of who wrote it. The canonical form has every key.
    pub fn refuse_idle(&self, key: &str, problem: impl Into<Problem>) -> Result<()> {
        if self.form == Form::Resolved { Ok(()) } else { self.refuse(key, problem) }
    }

    /// Reads the remaining keys as parameters.
    pub fn parameters(self, known: &[Parameter]) -> Result<Parameters> {
        let given = self.entries.iter().map(|(key, node)| (key.clone(), node.value.raw())).collect();
        Parameters::resolve(known, &given).map_err(|error| {
            let node = Node { line: self.line, value: Toml::Table(self.entries) };
            Item { path: self.path, form: self.form, node }.refused(error, 0)
        })
    }
}

/// Longest run and latest start: a year.
pub(crate) const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// Latest start and end of the canonical form: a seed may draw later ones than a user may write.
pub(crate) const LATEST: Duration = Duration::from_nanos(u64::MAX / 4);

/// Reads a time span within bounds.
pub(crate) fn duration(item: &Item, least: Duration, most: Duration) -> Result<Duration> {
    let span: Duration = item.quantity("50 ms")?;
    if (least..=most).contains(&span) {
        Ok(span)
    } else {
        Err(item.error(format!("{span} is not {}", Kind::Duration(least, most).expected())))
    }
}

/// Writes a parameter's value as a user would.
pub(crate) fn value_json(value: &Value) -> Json {
    match value {
        Value::Number(x) => json!(x),
        Value::Flag(x) => json!(x),
        Value::Integers(x) => json!(x),
        Value::Names(x) => json!(x),
        Value::Rates(x) => x.iter().map(|rate| Json::from(rate.to_string())).collect(),
        Value::Points(x) => x.iter().map(|(size, p)| json!([Bytes::new(*size as u64).to_string(), p])).collect(),
        Value::Schedule(x) => x.iter().map(|c| json!({ "at": c.at.to_string(), c.what: c.which })).collect(),
        Value::Tables(x) => x.iter().map(parameters_json).map(Json::from).collect(),
        Value::Entry(kind, parameters) => entry_json(kind, parameters).into(),
        Value::Distribution(x) if x.kind == "constant" => x.to_string().into(),
        Value::Distribution(x) => entry_json(x.kind, &x.parameters).into(),
        Value::Text(_) | Value::Duration(_) | Value::Rate(_) | Value::Size(_) | Value::Capacity(_) => {
            value.to_string().into()
        }
    }
}

/// Writes parameters as a user would.
pub(crate) fn parameters_json(parameters: &Parameters) -> Map<String, Json> {
    parameters.iter().map(|(name, value)| (name.to_owned(), value_json(value))).collect()
}

/// Writes an entry of a registry with its parameters as a user would.
pub(crate) fn entry_json(kind: &str, parameters: &Parameters) -> Map<String, Json> {
    let mut map = Map::from_iter([("kind".to_owned(), kind.into())]);
    map.extend(parameters_json(parameters));
    map
}
