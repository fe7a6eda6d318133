//! Algorithms by name: from a registry, or a user's plugin.

use crate::document::reader::Item;
use crate::document::{ScenarioError, Toml};
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_congestion::{CongestionControl, Setup};
use vazao_engine::registry::Parameters;
use vazao_transport::common::{SCHEDULERS, SchedulerFactory};

/// Function that makes a congestion control.
pub type ControlFactory = Arc<dyn Fn(Setup) -> Box<dyn CongestionControl> + Send + Sync>;

/// Algorithm of a user.
#[derive(Clone)]
pub struct Plugin<F> {
    /// Digest of its code: part of the run's identity.
    pub fingerprint: String,
    /// Function that makes an instance.
    pub build: F,
}

/// Plugins by name.
pub type Plugins<F> = BTreeMap<String, Plugin<F>>;

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
}

impl<F> std::fmt::Debug for Chosen<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Chosen { name, parameters, plugin } = self;
        f.debug_struct(name).field("parameters", parameters).field("plugin", plugin).finish()
    }
}

/// Congestion control as described.
pub type ControlSpec = Chosen<ControlFactory>;
/// Packet scheduler as described.
pub type SchedulerSpec = Chosen<SchedulerFactory>;

impl<F> Chosen<F> {
    /// Creates an algorithm without parameters.
    pub(crate) fn bare(name: &str) -> Chosen<F> {
        Chosen { name: name.into(), parameters: Parameters::default(), plugin: None }
    }

    /// Returns a plugin, if one is named.
    pub(crate) fn own(item: &Item, plugins: &Plugins<F>) -> Option<Chosen<F>>
    where
        F: Clone,
    {
        let Toml::Text(name) = &item.node.value else { return None };
        Some(Chosen { plugin: Some(plugins.get(name)?.clone()), ..Chosen::bare(name) })
    }
}

impl SchedulerSpec {
    /// Reads a packet scheduler.
    pub(crate) fn read(item: Item, plugins: &Plugins<SchedulerFactory>) -> Result<SchedulerSpec, ScenarioError> {
        if let Some(own) = SchedulerSpec::own(&item, plugins) {
            return Ok(own);
        }
        let (entry, table) = item.entry("packet scheduler", SCHEDULERS)?;
        let parameters = table.parameters(entry.parameters)?;
        Ok(SchedulerSpec { parameters, ..SchedulerSpec::bare(entry.name) })
    }
}
