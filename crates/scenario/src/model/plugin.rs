//! Algorithms by name: the registry's, or the user's own.

use crate::document::reader::Item;
use crate::document::{ScenarioError, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_congestion::{CongestionControl, Setup};
use vazao_engine::registry::Parameters;
use vazao_transport::common::{SCHEDULERS, SchedulerFactory};

/// Makes a congestion control.
pub type ControlFactory = Arc<dyn Fn(Setup) -> Box<dyn CongestionControl> + Send + Sync>;

/// An algorithm that the registry does not know, and what makes one.
#[derive(Clone)]
pub struct Plugin<F> {
    /// A digest of its code: part of the run's identity.
    pub fingerprint: String,
    /// Makes one.
    pub build: F,
}

/// Users' algorithms by name.
pub type Plugins<F> = BTreeMap<String, Plugin<F>>;

impl<F> std::fmt::Debug for Plugin<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

/// An algorithm as described: one of the registry's, the kernel's, or the user's own.
#[derive(Clone)]
pub struct Chosen<F> {
    /// Its name.
    pub name: String,
    /// Its parameters; the kernel's and the user's own have none.
    pub parameters: Parameters,
    /// The user's own.
    pub plugin: Option<Plugin<F>>,
}

impl<F> std::fmt::Debug for Chosen<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Chosen { name, parameters, plugin } = self;
        f.debug_struct(name).field("parameters", parameters).field("plugin", plugin).finish()
    }
}

/// A congestion control as described.
pub type ControlSpec = Chosen<ControlFactory>;
/// A packet scheduler as described.
pub type SchedulerSpec = Chosen<SchedulerFactory>;

impl<F> Chosen<F> {
    /// By its name alone.
    pub(crate) fn bare(name: &str) -> Chosen<F> {
        Chosen { name: name.into(), parameters: Parameters::default(), plugin: None }
    }

    /// The user's own, if one of `plugins` is named.
    pub(crate) fn own(item: &Item, plugins: &Plugins<F>) -> Option<Chosen<F>>
    where
        F: Clone,
    {
        let Value::Text(name) = &item.node.value else { return None };
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
