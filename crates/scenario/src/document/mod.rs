//! A TOML document as a tree whose nodes know their lines, so that errors can name them.

pub(crate) mod files;
pub(crate) mod json;
pub(crate) mod reader;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use thiserror::Error;
use vazao_engine::registry::{Problem, Raw};

/// Result of reading a part of a scenario.
pub(crate) type Result<T> = std::result::Result<T, ScenarioError>;

/// Error in a scenario: one message for its author.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{}{}", position(file, *line), if key.is_empty() { String::new() } else { brief(key) + ": " }, brief(problem))]
pub struct ScenarioError {
    /// Name of the file, empty if there is none.
    pub file: String,
    /// Line of the value in its file.
    pub line: Option<usize>,
    /// Key with the tables that it is in.
    pub key: String,
    /// Value as written, if there is one.
    pub value: Option<Box<str>>,
    /// Message: the value, the fault and what would be accepted.
    pub problem: String,
    /// Likely intended name.
    pub suggestion: Option<Box<str>>,
}

impl ScenarioError {
    /// Creates an error about a key.
    pub(crate) fn new(line: Option<usize>, key: impl Into<String>, problem: impl Into<Problem>) -> ScenarioError {
        let Problem { text: problem, suggestion } = problem.into();
        ScenarioError {
            file: String::new(),
            line,
            key: key.into(),
            value: None,
            problem,
            suggestion: suggestion.map(String::into),
        }
    }

    /// Adds the wrong value to the error.
    pub(crate) fn with_value(self, value: &Toml) -> ScenarioError {
        ScenarioError { value: Some(value.to_string().into()), ..self }
    }
}

/// Returns file and line for the head of a message.
fn position(file: &str, line: Option<usize>) -> String {
    match (file, line) {
        ("", None) => String::new(),
        ("", Some(line)) => format!("line {line}: "),
        (file, None) => format!("{file}: "),
        (file, Some(line)) => format!("{file}:{line}: "),
    }
}

/// Returns a text of a file for a message: its beginning, with control characters escaped.
fn brief(text: &str) -> String {
    const MOST_CHARACTERS: usize = 500;
    let shown = text.char_indices().nth(MOST_CHARACTERS).map_or(text.len(), |(end, _)| end);
    // Quotes need no escape here; combining letters, which `escape_debug` escapes too, belong to words.
    let escape = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        c if c.is_alphanumeric() => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    let beginning: String = text[..shown].chars().map(escape).collect();
    match text.len() - shown {
        0 => beginning,
        more => format!("{beginning}… (and {more} more bytes)"),
    }
}

/// Value with its line; values that a command line or a study sets have none.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Line, counted from 1.
    pub line: Option<usize>,
    /// Value.
    pub value: Toml,
}

/// A TOML value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Toml {
    Text(String),
    Number(f64),
    Flag(bool),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl From<Toml> for Node {
    fn from(value: Toml) -> Node {
        Node { line: None, value }
    }
}

impl fmt::Display for Toml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Toml::Text(x) => write!(f, "{x:?}"),
            Toml::Number(x) => write!(f, "{x}"),
            Toml::Flag(x) => write!(f, "{x}"),
            Toml::List(x) => write!(f, "a list of {}", x.len()),
            Toml::Table(_) => write!(f, "a table"),
        }
    }
}

impl Toml {
    /// Converts the value for a parameter.
    pub fn raw(&self) -> Raw {
        match self {
            Toml::Text(x) => Raw::Text(x.clone()),
            Toml::Number(x) => Raw::Number(*x),
            Toml::Flag(x) => Raw::Flag(*x),
            Toml::List(items) => {
                let number = |n: &Node| if let Toml::Number(x) = n.value { Some(x) } else { None };
                match items.iter().map(number).collect() {
                    Some(numbers) => Raw::Numbers(numbers),
                    None => Raw::List(items.iter().map(|n| n.value.raw()).collect()),
                }
            }
            Toml::Table(entries) => Raw::Table(entries.iter().map(|(key, n)| (key.clone(), n.value.raw())).collect()),
        }
    }
}

/// Returns the document of a text, kept from the last call if it was the same: all scenarios of a study stand in one text.
///
/// # Errors
/// The first syntax error with its line.
pub(crate) fn of(text: &str) -> Result<Rc<Node>> {
    thread_local! {
        static LAST: RefCell<Option<(Box<str>, Rc<Node>)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((kept, document)) if **kept == *text => Ok(document.clone()),
        _ => {
            let document = Rc::new(parse(text)?);
            *last = Some((text.into(), document.clone()));
            Ok(document)
        }
    })
}

/// Reads a TOML document.
///
/// # Errors
/// The first syntax error with its line.
pub fn parse(text: &str) -> Result<Node> {
    let line_at = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
    let document = toml_edit::Document::parse(text).map_err(|e| {
        ScenarioError::new(e.span().map(|s| line_at(s.start)), "", format!("not TOML: {}", e.message()))
    })?;
    // Found once, so that a long document is not scanned for every node.
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
    let line = |span: Option<std::ops::Range<usize>>| span.map(|s| starts.partition_point(|&start| start <= s.start));
    Ok(convert(document.as_item(), &line))
}

fn convert(item: &toml_edit::Item, line: &impl Fn(Option<std::ops::Range<usize>>) -> Option<usize>) -> Node {
    use toml_edit::{Item, TableLike, Value as Parsed};
    let entries = |table: &dyn TableLike| {
        Toml::Table(table.iter().map(|(key, item)| (key.to_owned(), convert(item, line))).collect())
    };
    let value = match item {
        Item::None => Toml::Table(Vec::new()),
        Item::Value(Parsed::String(x)) => Toml::Text(x.value().clone()),
        Item::Value(Parsed::Integer(x)) => Toml::Number(*x.value() as f64),
        Item::Value(Parsed::Float(x)) => Toml::Number(*x.value()),
        Item::Value(Parsed::Boolean(x)) => Toml::Flag(*x.value()),
        Item::Value(Parsed::Datetime(x)) => Toml::Text(x.value().to_string()),
        Item::Value(Parsed::Array(items)) => {
            Toml::List(items.iter().map(|x| convert(&Item::Value(x.clone()), line)).collect())
        }
        Item::Value(Parsed::InlineTable(table)) => entries(table),
        Item::Table(table) => entries(table),
        Item::ArrayOfTables(tables) => {
            Toml::List(tables.iter().map(|table| Node { line: line(table.span()), value: entries(table) }).collect())
        }
    };
    Node { line: line(item.span()), value }
}

impl Node {
    /// Returns the node at a dotted path, list indices counted from 0: `"flow.0.transport"`.
    pub fn at(&self, path: &str) -> Option<&Node> {
        path.split('.').filter(|part| !part.is_empty()).try_fold(self, |node, part| match &node.value {
            Toml::Table(entries) => entries.iter().find(|(key, _)| key == part).map(|(_, node)| node),
            Toml::List(items) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Sets the value at a dotted path, `*` standing for every element of a list: `"flow.*.transport.mss"`. A table is
    /// merged into a table, unless the path begins with `=`; anything else replaces what is there.
    ///
    /// # Errors
    /// When the path leads through something that is neither a table nor an element of a list.
    pub fn set(&mut self, path: &str, value: Toml) -> Result<()> {
        let (path, put): (_, fn(&mut Node, Toml)) = match path.strip_prefix('=') {
            Some(path) => (path, |node, value| *node = value.into()),
            None => (path, Node::merge),
        };
        self.set_at(&path.split('.').collect::<Vec<_>>(), value, put)
            .map_err(|problem| ScenarioError::new(None, path, problem))
    }

    fn set_at(&mut self, path: &[&str], value: Toml, put: fn(&mut Node, Toml)) -> std::result::Result<(), String> {
        let Some((part, rest)) = path.split_first() else {
            put(self, value);
            return Ok(());
        };
        if part.is_empty() {
            return Err("this is not a key; write one such as \"network.bottleneck.rate\"".into());
        }
        // A name where a table is wanted becomes the table's kind: `cc = "cubic"`, then `cc.profile = "linux"`.
        if let Toml::Text(name) = &self.value {
            let kind = Node { line: self.line, value: Toml::Text(name.clone()) };
            self.value = Toml::Table(vec![("kind".into(), kind)]);
        }
        match &mut self.value {
            Toml::Table(entries) => {
                let index = entries.iter().position(|(key, _)| key == part).unwrap_or_else(|| {
                    entries.push(((*part).to_owned(), Toml::Table(Vec::new()).into()));
                    entries.len() - 1
                });
                entries[index].1.set_at(rest, value, put)
            }
            Toml::List(items) if *part == "*" => {
                items.iter_mut().try_for_each(|item| item.set_at(rest, value.clone(), put))
            }
            Toml::List(items) => {
                let length = items.len();
                let index = part.parse::<usize>().ok().filter(|&i| i < length).ok_or_else(|| {
                    format!("{part:?} is not an index into a list of {length}; the first is 0, * is all of them")
                })?;
                items[index].set_at(rest, value, put)
            }
            other => Err(format!("{part:?} cannot be set inside {other}")),
        }
    }

    fn merge(&mut self, value: Toml) {
        match (&mut self.value, value) {
            (Toml::Table(entries), Toml::Table(new)) => {
                for (key, node) in new {
                    match entries.iter_mut().find(|(k, _)| *k == key) {
                        Some((_, old)) => old.merge(node.value),
                        None => entries.push((key, node)),
                    }
                }
            }
            (old, new) => {
                *old = new;
                self.line = None;
            }
        }
    }
}
