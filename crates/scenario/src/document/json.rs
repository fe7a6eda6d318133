//! JSON as a tree of the same nodes as a TOML document.

use super::{Node, Result, ScenarioError, Toml};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// Reads JSON.
///
/// # Errors
/// The first error of syntax, a key that stands twice in an object, or a null, which no scenario has.
pub(crate) fn parse(text: &str) -> Result<Node> {
    serde_json::from_str(text).map_err(|error| ScenarioError::new(None, "", format!("not a scenario's JSON: {error}")))
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Node, D::Error> {
        deserializer.deserialize_any(Nodes)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true, false, a list or an object")
    }
    fn visit_str<E>(self, x: &str) -> std::result::Result<Node, E> {
        Ok(Toml::Text(x.into()).into())
    }
    fn visit_bool<E>(self, x: bool) -> std::result::Result<Node, E> {
        Ok(Toml::Flag(x).into())
    }
    fn visit_u64<E>(self, x: u64) -> std::result::Result<Node, E> {
        Ok(Toml::Number(x as f64).into())
    }
    fn visit_i64<E>(self, x: i64) -> std::result::Result<Node, E> {
        Ok(Toml::Number(x as f64).into())
    }
    fn visit_f64<E>(self, x: f64) -> std::result::Result<Node, E> {
        Ok(Toml::Number(x).into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = items.next_element()? {
            list.push(node);
        }
        Ok(Toml::List(list).into())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Node, A::Error> {
        let (mut table, mut known) = (Vec::new(), BTreeSet::new());
        while let Some((key, node)) = entries.next_entry::<String, Node>()? {
            if !known.insert(key.clone()) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice in an object")));
            }
            table.push((key, node));
        }
        Ok(Toml::Table(table).into())
    }
}
