//! Scenario: a user's description, checked and with every default; and the interface that each protocol implements for it.
//!
//! These types name each other, so that they stand on one page: a scenario has flows, a flow has a transport, a transport has a
//! protocol's pack, and a pack makes ends for a scenario's flows. What they can do is in the files about each.

use super::address::{Addresses, Socket};
use super::application::Described;
use super::guest::GuestSpec;
use super::multipath::MultipathSpec;
use super::plugin::{ControlSpec, ScriptSpec, SlowStartSpec};
use super::protocol::{Controls, Front, Named, Needs, Reading, Rule, Service};
use super::routes::{PlannedWay, Routes};
use super::stack::{Stack, Stacks};
use crate::document::Result;
use crate::document::reader::Table;
use crate::endpoint::Endpoint;
use crate::endpoint::codec::{Codec, Logger};
use crate::endpoint::dissector::Dissector;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_application::{RandomStreams, Sides};
use vazao_engine::registry::{Entry, Parameters};
use vazao_engine::{Duration, Time};
use vazao_guest_protocol::{Role, Setup, Transport};
use vazao_network::{Graph, Routing};
use vazao_transport::tls;

/// Time series to be recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSpec {
    /// Names of [measures](crate::MEASURES).
    pub measures: Vec<&'static str>,
    /// Least time between two samples of a measure; `None`: every change is recorded.
    pub every: Option<Duration>,
}

/// Part of a run that is measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Time,
    /// Its end, unless that is the run's.
    pub to: Option<Time>,
}

/// Scenario with every default.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name, which is no part of the run's identity.
    pub name: String,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// End of the run at the latest: as written, or an hour after the start of the last program.
    pub until: Option<Time>,
    /// Network.
    pub graph: Graph,
    /// Flows in order.
    pub flows: Vec<FlowSpec>,
    /// Time series to be recorded.
    pub trace: TraceSpec,
    /// Part of the run that is measured by itself.
    pub measure: Option<Window>,
    /// Whether its seed also decides which flows there are, or when they start.
    pub draws_flows: bool,
    /// Digest of what agents did in the run, if it was steered.
    pub actions: Option<String>,
}

/// Flow as described.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Address of the side that opens the connection.
    pub client: String,
    /// Address of the other side.
    pub server: String,
    /// Time at which it opens.
    pub start: Time,
    /// Index of its `[[flow]]` table.
    pub group: usize,
    /// Application and its parameters.
    pub application: Described,
    /// Script of the user's own that writes the application's messages.
    pub script: Option<ScriptSpec>,
    /// Random streams of its application.
    pub streams: RandomStreams,
    /// Transport.
    pub transport: Arc<TransportSpec>,
    /// Routes of its packets.
    pub routes: Routes,
    /// Index among the connections of a visit; 0 for every other flow.
    pub part: u32,
}

/// Transport as described.
#[derive(Clone, Debug)]
pub struct TransportSpec {
    /// Protocol.
    pub entry: &'static Entry<Pack>,
    /// Parameters of the protocol.
    pub parameters: Parameters,
    /// TLS over it.
    pub tls: Option<tls::Config>,
    /// Congestion control.
    pub control: ControlSpec,
    /// Slow start.
    pub slow_start: SlowStartSpec,
    /// Settings of a transport with several paths.
    pub multipath: Option<MultipathSpec>,
    /// Stacks of client and server.
    pub stacks: Stacks,
    /// Stack that sends the measured data, to which the congestion control belongs.
    pub sender: &'static Stack,
    /// Settings of guests.
    pub guest: GuestSpec,
    /// The receiving side (0: the client) and its settings, where they are not the sender's.
    pub receiver: Option<(usize, Arc<TransportSpec>)>,
}

/// Function that makes both ends of a flow by its number, the client's first.
pub(super) type MakeEnds = fn(&mut Making<'_>, usize, &Sides) -> [Box<dyn Endpoint>; 2];
/// Function that makes the codec of a flow by its number for captures, or says why its packets cannot be captured.
type MakeCodec = fn(&Scenario, &Addresses, usize) -> std::result::Result<Box<dyn Codec>, &'static str>;

/// Transport protocol: everything that depends on it, filled in by its folder of `packs`.
#[derive(Clone, Copy, Debug)]
pub struct Pack {
    /// Replaces a word for several settings by these.
    pub(crate) expand: fn(&mut Table) -> Result<()>,
    /// Congestion controls.
    pub(crate) controls: Controls,
    /// Slow start, and whether the user may choose another.
    pub(crate) slow_start: (&'static str, bool),
    /// Takes keys that its parameters do not describe out of a transport's table.
    pub(crate) take: fn(&mut Table, &Reading<'_>) -> Result<Named>,
    /// Combinations that are refused.
    pub(crate) rules: &'static [Rule],
    /// Parameters that have no effect without others.
    pub(crate) needs: &'static [Needs],
    /// Checks the settings beyond its rules, and completes the taken keys.
    pub(crate) settle: fn(&Reading<'_>, Named, &Parameters) -> Result<Option<MultipathSpec>>,
    /// Returns the TLS over it.
    pub(crate) tls: fn(&Parameters) -> std::result::Result<Option<tls::Config>, &'static str>,
    /// Returns whether a flow may use every interface of its hosts.
    pub(crate) is_multipath: fn(&TransportSpec) -> bool,
    /// Returns its service to applications.
    pub(crate) service: fn(&Parameters) -> Service,
    /// Bytes of memory that both ends of a flow take: for the connection, and for each of its streams.
    pub(crate) memory: (u64, u64),
    /// Returns the bytes of data in a full packet, and the acknowledgements for each.
    pub(crate) load: fn(&Parameters) -> (f64, f64),
    /// Returns the growth limit for one acknowledgement in slow start, in segments (RFC 3465), and the initial window, from
    /// the segment's size.
    pub(crate) growth: fn(&Parameters, u64) -> (f64, u64),
    /// Returns an error if a flow names an interface or a relay that does not exist.
    pub(crate) misnamed: fn(&Routing<'_>, &FlowSpec) -> Option<String>,
    /// Returns the ways of a flow that has several or might have, its own route first.
    pub(crate) ways: fn(&Routing<'_>, &FlowSpec) -> Vec<PlannedWay>,
    /// Returns every way that a flow's packets can take, whatever stacks play its ends.
    pub(crate) every_way: fn(&Routing<'_>, &FlowSpec) -> Vec<Routes>,
    /// Returns whether the client may leave by other interfaces than its route's.
    pub(crate) leaves_by_several: fn(&Parameters) -> bool,
    /// Makes the ends of a flow.
    pub(crate) ends: MakeEnds,
    /// Makes the codec of a flow for captures.
    pub(crate) codec: MakeCodec,
    /// Makes the reader of a flow's packets for viewers.
    pub(crate) dissector: fn(&FlowSpec) -> Box<dyn Dissector>,
    /// Makes the log of a flow, if its endpoints log what they do.
    pub(crate) logger: fn(&Scenario, usize) -> Option<Box<dyn Logger>>,
    /// Name of the parameter that chooses the loss recovery, if there is one.
    pub(crate) recovery: Option<&'static str>,
    /// Part of a guest's kernel that plays it.
    pub(crate) kernel: Option<KernelProtocol>,
    /// Whether an agent can steer a flow of it.
    pub(crate) is_steerable: bool,
    /// Facts for pages.
    pub(crate) front: Front,
}

/// Context in which the ends of flows are made.
pub(crate) struct Making<'a> {
    pub scenario: &'a Scenario,
    pub routing: &'a Routing<'a>,
    pub addresses: &'a Addresses,
    /// Whether endpoints log what they do.
    pub logs: bool,
    /// Settings of the latest flow's two sides.
    pub(super) shared: [Option<(*const TransportSpec, Arc<dyn Any + Send + Sync>)>; 2],
    pub(super) by_hosts: BTreeMap<String, Arc<dyn Any + Send + Sync>>,
}

/// Function that makes the codec of a flow by its number between one of our machines and a guest.
type MakeTranslator = fn(&Addresses, usize) -> Box<dyn Codec>;

/// Protocol as a guest's kernel plays it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelProtocol {
    /// Makes the codec of a flow between one of our machines and a guest, if they can play together.
    pub translator: Option<MakeTranslator>,
    /// Returns what the guest opens for an end of a flow, or why the kernel has no such thing.
    pub transport: fn(&KernelEnd<'_>) -> std::result::Result<Transport, String>,
    /// Returns the kernel's settings that a flow makes, below `/proc/sys`.
    pub sysctls: fn(&Parameters) -> Vec<(&'static str, String)>,
    /// Returns the bytes of a full packet, with the options of every segment.
    pub mtu: fn(&Parameters) -> u64,
    /// Returns the initial window in segments, unless it is the kernel's.
    pub initial_window: fn(&Parameters) -> Option<u64>,
    /// Returns the bytes of the buffers that a flow asks for.
    pub buffers: fn(&Parameters) -> u64,
    /// Settings in which the flows of a host agree.
    pub common: &'static [Common],
    /// Returns the setup of the path manager at a flow's end; nothing where the kernel has none for the protocol.
    pub path_manager: fn(&KernelEnd<'_>) -> Vec<Setup>,
}

/// Setting of which a host has one, or one towards each peer.
#[derive(Debug)]
pub(crate) struct Common {
    /// Words for it in an error message.
    pub words: &'static str,
    pub per_peer: bool,
    /// Returns its value, to be compared.
    pub value: fn(&KernelEnd<'_>) -> String,
}

/// End of a flow on the guest that plays it.
pub(crate) struct KernelEnd<'a> {
    pub number: usize,
    pub flow: &'a FlowSpec,
    pub addresses: &'a Addresses,
    pub sides: Sides,
    pub role: Role,
    pub own: Socket,
    pub peer: Socket,
}
