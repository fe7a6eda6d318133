//! Settings of transports over several paths.

use super::plugin::{Chosen, SchedulerSpec};
use std::sync::Arc;
use vazao_engine::registry::{Entry, Parameters, find};
use vazao_transport::common::{SCHEDULERS, SchedulerFactory};
use vazao_transport::mptcp::path_manager;

/// Settings of Multipath TCP and Multipath QUIC.
#[derive(Clone, Debug)]
pub struct MultipathSpec {
    /// Packet scheduler.
    pub scheduler: SchedulerSpec,
    /// Path manager of Multipath TCP.
    pub path_manager: Option<(&'static Entry<path_manager::Manager>, Parameters)>,
}

impl PartialEq for MultipathSpec {
    fn eq(&self, other: &MultipathSpec) -> bool {
        let manager = |spec: &MultipathSpec| spec.path_manager.as_ref().map(|(entry, own)| (entry.name, own.clone()));
        self.scheduler == other.scheduler && manager(self) == manager(other)
    }
}

impl MultipathSpec {
    /// Returns the mesh that Linux makes in the place of its path manager.
    pub(crate) fn mesh(&self) -> Option<path_manager::Mesh> {
        self.path_manager.as_ref()?.0.build.mesh
    }

    /// Returns a factory of its packet scheduler.
    pub(crate) fn scheduler_factory(&self) -> SchedulerFactory {
        let Chosen { name, parameters, plugin, .. } = self.scheduler.clone();
        if let Some(plugin) = plugin {
            return plugin.build;
        }
        let entry = find("packet scheduler", SCHEDULERS, &name).expect("a scheduler from the registry");
        Arc::new(move || (entry.build)(&parameters))
    }
}
