//! The scenario model: what a user describes is read and checked, built into a world, run, and measured.

mod build;
mod capture;
mod document;
mod flow;
mod measure;
mod network;
mod probe;
mod reader;
mod run;
mod scenario;
mod table;
mod trace;
mod world;

pub use build::estimate_hops;
pub use capture::Output;
pub use document::{Node, ScenarioError, Value, parse};
pub use flow::{ControlSpec, FlowSpec, Plugin, Plugins, Routes, TRANSPORTS, TcpSpec};
pub use network::{QUEUES, nodes_json};
pub use run::{ENGINE_VERSION, Outcome, jain, run, run_as};
pub use scenario::{MEASURES, Scenario, TraceSpec};
pub use table::{Column, Table};
pub use trace::Sample;
pub use world::Stopped;
