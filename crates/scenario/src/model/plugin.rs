//! Algorithms by name: from a registry, or a user's plugin.

use crate::document::reader::{Item, Table, entry_json};
use crate::document::{ScenarioError, Toml};
use serde_json::{Map, Value as Json};
use std::sync::Arc;
use vazao_application::ScriptFactory;
use vazao_congestion::slow_start::SlowStart;
use vazao_congestion::{CongestionControl, SLOW_STARTS, Setup, build_slow_start};
use vazao_engine::registry::Parameters;
use vazao_transport::common::{SCHEDULERS, SchedulerFactory};

/// Function that makes a congestion control.
pub type ControlFactory = Arc<dyn Fn(Setup) -> Box<dyn CongestionControl> + Send + Sync>;

/// Function that makes a slow start from RFC 3465's limit, in segments, and the bytes of a segment.
pub type SlowStartFactory = Arc<dyn Fn(f64, u64) -> Box<dyn SlowStart> + Send + Sync>;

/// Algorithm of a user.
#[derive(Clone)]
pub struct Plugin<F> {
    /// Digest of its code: part of the run's identity.
    pub fingerprint: String,
    /// Function that makes an instance.
    pub build: F,
}

/// Parameters of a user's algorithm: the keys beside its kind.
pub type OwnParameters = Map<String, Json>;

/// Function that finds a plugin by its name and parameters, or says what is wrong with it; `None`: no plugin has the name.
type Find<F> = dyn Fn(&str, &OwnParameters) -> Option<Result<Plugin<F>, String>> + Send + Sync;

/// Access to the user's algorithms of one kind; the default has none.
pub struct Plugins<F>(Option<Arc<Find<F>>>);

impl<F> Plugins<F> {
    /// Creates an access by a function.
    pub fn new(
        find: impl Fn(&str, &OwnParameters) -> Option<Result<Plugin<F>, String>> + Send + Sync + 'static,
    ) -> Plugins<F> {
        Plugins(Some(Arc::new(find)))
    }

    /// Returns the plugin of a name with its parameters, or what is wrong with it, if there is one.
    fn find(&self, name: &str, own: &OwnParameters) -> Option<Result<Plugin<F>, String>> {
        self.0.as_ref().and_then(|find| find(name, own))
    }
}

impl<F> Default for Plugins<F> {
    fn default() -> Self {
        Plugins(None)
    }
}

impl<F> Clone for Plugins<F> {
    fn clone(&self) -> Self {
        Plugins(self.0.clone())
    }
}

impl<F> std::fmt::Debug for Plugins<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Plugins").field(&self.0.is_some()).finish()
    }
}

impl<F> std::fmt::Debug for Plugin<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

/// Algorithm as described: from a registry, of the kernel, or a plugin.
#[derive(Clone)]
pub struct Chosen<F> {
    /// Name.
    pub name: String,
    /// Parameters; the kernel's algorithms and plugins have none.
    pub parameters: Parameters,
    /// Plugin, if it is one.
    pub plugin: Option<Plugin<F>>,
    /// Parameters of a plugin.
    pub own: OwnParameters,
}

impl<F> std::fmt::Debug for Chosen<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Chosen { name, parameters, plugin, own } = self;
        f.debug_struct(name).field("parameters", parameters).field("plugin", plugin).field("own", own).finish()
    }
}

/// Congestion control as described.
pub type ControlSpec = Chosen<ControlFactory>;
/// Packet scheduler as described.
pub type SchedulerSpec = Chosen<SchedulerFactory>;

/// Application of the user as described.
pub type ScriptSpec = Chosen<ScriptFactory>;
/// Slow start as described.
pub type SlowStartSpec = Chosen<SlowStartFactory>;

/// Algorithms of a user are the same if the digests of their code are.
impl<F> PartialEq for Chosen<F> {
    fn eq(&self, other: &Chosen<F>) -> bool {
        let Chosen { name, parameters, plugin, own } = self;
        let code = |plugin: &Option<Plugin<F>>| plugin.as_ref().map(|plugin| plugin.fingerprint.clone());
        let is_same = *name == other.name && *parameters == other.parameters && *own == other.own;
        is_same && code(plugin) == code(&other.plugin)
    }
}

impl<F> Chosen<F> {
    /// Creates an algorithm without parameters.
    pub(crate) fn bare(name: &str) -> Chosen<F> {
        Chosen { name: name.into(), parameters: Parameters::default(), plugin: None, own: Map::new() }
    }

    /// Returns a plugin, if one is named: by its name alone, or as the kind of a table with its parameters.
    pub(crate) fn own(item: &Item, plugins: &Plugins<F>) -> Result<Option<Chosen<F>>, ScenarioError> {
        if item.is_resolved() {
            return Chosen::identified(item, plugins);
        }
        let Some((name, own)) = named(&item.node.value) else { return Ok(None) };
        let plugin = plugins.find(name, &own).transpose().map_err(|problem| item.error(problem))?;
        Ok(plugin.map(|plugin| Chosen { plugin: Some(plugin), own, ..Chosen::bare(name) }))
    }

    /// Returns a plugin of the canonical form, where the digest of its code tells it from a registry's entries: the same
    /// code must be here.
    fn identified(item: &Item, plugins: &Plugins<F>) -> Result<Option<Chosen<F>>, ScenarioError> {
        if item.node.at("code").is_none() {
            return Ok(None);
        }
        let mut table = item.clone().into_table()?;
        let (kind, code) = (table.require("kind", "the name of an algorithm")?, table.require("code", "its digest")?);
        let own = table.take("parameters").map_or(Toml::Table(Vec::new()), |item| item.node.value);
        let Json::Object(own) = plain(&own) else { return Err(table.error("parameters is not a table")) };
        table.finish()?;
        let (name, wanted) = (kind.text()?, code.text()?);
        match plugins.find(name, &own) {
            None => Err(kind.error(format!("{name:?} is an algorithm of a user's own, which is not here"))),
            Some(Err(problem)) => Err(kind.error(problem)),
            Some(Ok(Plugin { fingerprint, .. })) if fingerprint != wanted => {
                Err(code.error(format!("the code of {name:?} has the digest {fingerprint} here, not {wanted}")))
            }
            Some(Ok(plugin)) => Ok(Some(Chosen { plugin: Some(plugin), own, ..Chosen::bare(name) })),
        }
    }

    /// Returns a plugin, if one is named in a table that has keys of ours beside: it, and the table of these.
    pub(crate) fn own_beside(
        item: &Item,
        plugins: &Plugins<F>,
        keys: &[&str],
    ) -> Result<Option<(Chosen<F>, Table)>, ScenarioError> {
        let (mut theirs, mut ours) = (item.clone(), item.clone());
        match (&mut theirs.node.value, &mut ours.node.value) {
            (Toml::Table(theirs), Toml::Table(ours)) => {
                theirs.retain(|(key, _)| !keys.contains(&key.as_str()));
                ours.retain(|(key, _)| keys.contains(&key.as_str()));
            }
            (_, ours) => *ours = Toml::Table(Vec::new()),
        }
        Chosen::own(&theirs, plugins)?.map(|own| Ok((own, ours.into_table()?))).transpose()
    }

    /// Describes it in canonical form.
    pub(crate) fn json(&self) -> Map<String, Json> {
        let mut map = entry_json(&self.name, &self.parameters);
        if let Some(plugin) = &self.plugin {
            map.insert("code".into(), plugin.fingerprint.as_str().into());
            if !self.own.is_empty() {
                map.insert("parameters".into(), self.own.clone().into());
            }
        }
        map
    }
}

/// Returns the name and the parameters of an algorithm, where a value is that.
fn named(value: &Toml) -> Option<(&str, OwnParameters)> {
    match value {
        Toml::Text(name) => Some((name, Map::new())),
        Toml::Table(entries) => {
            let kind = entries.iter().find(|(key, _)| key == "kind")?;
            let Toml::Text(name) = &kind.1.value else { return None };
            let others = entries.iter().filter(|(key, _)| key != "kind");
            Some((name, others.map(|(key, node)| (key.clone(), plain(&node.value))).collect()))
        }
        _ => None,
    }
}

/// Converts a value to JSON. A whole number is one, whether it was written with a point or not.
fn plain(value: &Toml) -> Json {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Toml::Text(x) => x.as_str().into(),
        Toml::Number(x) if *x as i64 as f64 == *x && x.abs() <= EXACT => (*x as i64).into(),
        Toml::Number(x) => (*x).into(),
        Toml::Flag(x) => (*x).into(),
        Toml::List(items) => items.iter().map(|node| plain(&node.value)).collect(),
        Toml::Table(entries) => {
            entries.iter().map(|(key, node)| (key.clone(), plain(&node.value))).collect::<OwnParameters>().into()
        }
    }
}

impl SlowStartSpec {
    /// Reads a slow start.
    pub(crate) fn read(item: Item, plugins: &Plugins<SlowStartFactory>) -> Result<SlowStartSpec, ScenarioError> {
        if let Some(own) = SlowStartSpec::own(&item, plugins)? {
            return Ok(own);
        }
        let (entry, table) = item.entry("slow start", SLOW_STARTS)?;
        let parameters = table.parameters(entry.parameters)?;
        Ok(SlowStartSpec { parameters, ..SlowStartSpec::bare(entry.name) })
    }

    /// Makes a slow start for segments of `mss` bytes; `limit` is RFC 3465's L.
    pub(crate) fn build(&self, limit: f64, mss: u64) -> Box<dyn SlowStart> {
        match &self.plugin {
            Some(plugin) => (plugin.build)(limit, mss),
            None => build_slow_start(&self.name, &self.parameters, limit).expect("a slow start from the registry"),
        }
    }
}

impl SchedulerSpec {
    /// Reads a packet scheduler.
    pub(crate) fn read(item: Item, plugins: &Plugins<SchedulerFactory>) -> Result<SchedulerSpec, ScenarioError> {
        if let Some(own) = SchedulerSpec::own(&item, plugins)? {
            return Ok(own);
        }
        let (entry, table) = item.entry("packet scheduler", SCHEDULERS)?;
        let parameters = table.parameters(entry.parameters)?;
        Ok(SchedulerSpec { parameters, ..SchedulerSpec::bare(entry.name) })
    }
}
