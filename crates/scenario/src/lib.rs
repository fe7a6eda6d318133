//! The scenario model: a user's description is read and checked, built into a world, run, and measured.
//!
//! Each module knows those before it in this list: `document`, `measures`, `endpoint`, `model`, `stacks`, `packs` (the protocols),
//! `description`, `guests`, `world`, `record`, `results`, `run`.

mod description;
mod document;
mod endpoint;
mod guests;
mod measures;
mod model;
mod packs;
mod record;
mod results;
mod run;
mod stacks;
mod world;

pub use description::network::places_json;
pub use description::schema::schema;
pub use document::files::Files;
pub use document::{Node, ScenarioError, Toml, parse};
pub use guests::plan::HostPlan;
pub use measures::series::{MEASURES, Measure, names as measures};
pub use measures::table::{Builder, Column, Table};
pub use measures::values::Values;
pub use model::extensions::Extensions;
pub use model::guest::{GuestSpec, Kernel, Kernels, Simulator, Simulators};
pub use model::multipath::MultipathSpec;
pub use model::plugin::{
    Chosen, ControlFactory, ControlSpec, OwnParameters, Plugin, Plugins, SchedulerSpec, ScriptSpec, SlowStartFactory,
    SlowStartSpec,
};
pub use model::requirements::Installed;
pub use model::routes::Routes;
pub use model::scenario::FlowSpec;
pub use model::scenario::{Pack, TransportSpec};
pub use model::scenario::{Scenario, TraceSpec};
pub use model::stack::{Mechanism, Stack};
pub use packs::library::Connect;
pub use packs::tcp::like::{PERSONALITIES, Personality};
pub use packs::tcp::strip::{STRIPPABLE, Strip};
pub use packs::{DEFAULT as DEFAULT_TRANSPORT, TRANSPORTS};
pub use record::Output;
pub use record::joined::{Place, join, partners};
pub use record::observed::Observation;
pub use record::samples::{Legend, Sample};
pub use results::collect::{Outcome, jain};
pub use results::columns::{ColumnSpec, FLOWS, LINKS, PATHS, RUNS, Rows};
pub use run::estimate::{Work, estimate};
pub use run::session::{Session, View};
pub use run::{ENGINE_VERSION, Options, Spill, Start, Unwound, run};
pub use stacks::STACKS;
pub use world::Stopped;
