//! Extensions of the registries by a user, and what is installed.

use super::guest::{Kernels, Simulators};
use super::plugin::{ControlFactory, Plugins, SlowStartFactory};
use crate::document::files::Files;
use vazao_application::ScriptFactory;
use vazao_network::own::{LossFactory, QueueFactory};
use vazao_transport::common::SchedulerFactory;

/// Extensions of the registries that a scenario may name: plugins, kernels and files.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    /// Congestion controls of the user.
    pub controls: Plugins<ControlFactory>,
    /// Packet schedulers of the user.
    pub schedulers: Plugins<SchedulerFactory>,
    /// Slow starts of the user.
    pub slow_starts: Plugins<SlowStartFactory>,
    /// Loss models of the user.
    pub losses: Plugins<LossFactory>,
    /// Applications of the user.
    pub scripts: Plugins<ScriptFactory>,
    /// Queue disciplines of the user.
    pub queues: Plugins<QueueFactory>,
    /// Kernels by name.
    pub kernels: Kernels,
    /// Other simulators by the names of their stacks.
    pub simulators: Simulators,
    /// Access to files.
    pub files: Files,
    /// Bytes of memory that the run may take; `None`: no limit.
    pub memory: Option<u64>,
}
