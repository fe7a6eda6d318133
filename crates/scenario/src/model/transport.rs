//! Transport of a flow, and the interface that each protocol implements.

use super::address::Addresses;
use super::flow::{FlowSpec, Routes};
use super::kernel::KernelProtocol;
use super::plugin::{Chosen, ControlFactory, ControlSpec, Plugins, SchedulerSpec, SlowStartFactory, SlowStartSpec};
use super::scenario::Scenario;
use super::stack::{GuestSpec, Kernels, Simulators, Stack};
use crate::document::Result;
use crate::document::files::Files;
use crate::document::reader::{Item, Table};
use crate::endpoint::Endpoint;
use crate::endpoint::codec::{Codec, Logger};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_application::{ScriptFactory, Sides};
use vazao_congestion::Setup;
use vazao_engine::registry::{Entry, Parameters, find};
use vazao_network::Routing;
use vazao_network::own::{LossFactory, QueueFactory};
use vazao_transport::common::{SCHEDULERS, SchedulerFactory};
use vazao_transport::mptcp::{AddressPair, path_manager};
use vazao_transport::tls;

/// Function that makes both ends of a flow by its number, the client's first.
type MakeEnds = fn(&mut Making<'_>, usize, &Sides) -> [Box<dyn Endpoint>; 2];
/// Function that makes the codec of a flow by its number for captures, or says why its packets cannot be captured.
type MakeCodec = fn(&Scenario, &Addresses, usize) -> std::result::Result<Box<dyn Codec>, &'static str>;

/// Transport protocol: everything that depends on it, filled in by its folder of `packs`.
#[derive(Clone, Copy, Debug)]
pub struct Pack {
    /// Stacks that implement it.
    pub(crate) stacks: &'static [Stack],
    /// Refuses keys that the stacks would ignore, and stacks that do not go together.
    pub(crate) refuse: fn(&Table, &Reading<'_>) -> Result<()>,
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
    /// Makes the log of a flow, if its endpoints log what they do.
    pub(crate) logger: fn(&Scenario, usize) -> Option<Box<dyn Logger>>,
    /// Name of the parameter that chooses the loss recovery, if there is one.
    pub(crate) recovery: Option<&'static str>,
    /// Part of a guest's kernel that plays it.
    pub(crate) kernel: Option<KernelProtocol>,
}

impl Pack {
    /// Creates a pack whose ends are made by `ends`, of a byte stream over one path, with TCP's names of parameters.
    pub(crate) const fn new(ends: MakeEnds) -> Pack {
        Pack {
            stacks: &[Stack::Vazao, Stack::Linux],
            refuse: |_, _| Ok(()),
            expand: |_| Ok(()),
            controls: Controls::OfStack("cubic"),
            slow_start: ("standard", true),
            take: |_, _| Ok(Named::default()),
            rules: &[],
            settle: |_, named, _| Ok(named.multipath),
            tls: |_| Ok(None),
            is_multipath: |_| false,
            service: |_| Service { http: &["2", "1.1"], ..Service::default() },
            memory: (32_000, 0),
            load: |parameters| (parameters.number("mss"), 1.0 / parameters.number("delayed_ack")),
            growth: |parameters, mss| (parameters.number("abc_limit"), mss * parameters.integer("initial_window")),
            misnamed: |_, _| None,
            ways: |_, _| Vec::new(),
            every_way: |routing, flow| flow.ways(routing).into_iter().map(|way| way.routes).collect(),
            leaves_by_several: |_| false,
            ends,
            codec: |_, _, _| Err("its packets have no bytes"),
            logger: |_, _| None,
            recovery: None,
            kernel: None,
        }
    }
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
    pub stacks: [Stack; 2],
    /// Stack that sends the measured data, to which the congestion control belongs.
    pub sender: Stack,
    /// Settings of guests.
    pub guest: GuestSpec,
    /// The receiving side (0: the client) and its settings, where they are not the sender's.
    pub receiver: Option<(usize, Arc<TransportSpec>)>,
}

impl TransportSpec {
    /// Returns its protocol.
    pub(crate) fn pack(&self) -> &'static Pack {
        &self.entry.build
    }

    /// Returns the settings of the client (0) or the server (1).
    pub(crate) fn of_side(self: &Arc<Self>, side: usize) -> &Arc<TransportSpec> {
        self.receiver.as_ref().filter(|(receiver, _)| *receiver == side).map_or(self, |(_, spec)| spec)
    }

    /// Returns whether a flow may use every interface of its hosts.
    pub(crate) fn is_multipath(&self) -> bool {
        (self.pack().is_multipath)(self)
    }

    /// Returns its service to applications.
    pub(crate) fn service(&self) -> Service {
        (self.pack().service)(&self.parameters)
    }

    /// Returns whether it sends datagrams without feedback.
    pub(crate) fn is_datagrams(&self) -> bool {
        self.service().is_datagrams
    }

    /// Returns whether a guest plays a side.
    pub fn has_guest(&self) -> bool {
        self.stacks.contains(&Stack::Linux)
    }

    /// Returns whether a library plays it.
    pub(crate) fn has_library(&self) -> bool {
        self.stacks.contains(&Stack::Quinn)
    }

    /// Returns whether another simulator plays it, instead of the world.
    pub fn has_simulator(&self) -> bool {
        self.sender == Stack::Ns2
    }

    /// Returns a factory of its congestion control, each with a slow start of its own.
    pub(crate) fn control_factory(self: &Arc<Self>) -> vazao_transport::ControlFactory {
        let spec = self.clone();
        Arc::new(move |mss, seed| {
            let (abc_limit, initial_window) = (spec.pack().growth)(&spec.parameters, mss);
            let setup = Setup {
                mss,
                initial_window,
                initial_ssthresh: spec.parameters.size("initial_ssthresh"),
                slow_start: spec.slow_start.build(abc_limit, mss),
                seed,
            };
            match &spec.control.plugin {
                Some(plugin) => (plugin.build)(setup),
                // The peer of a sending guest is a receiver, whose congestion control has nothing to do.
                None if spec.sender == Stack::Linux => {
                    vazao_congestion::build("reno", &Parameters::default(), setup).expect("Reno has no parameters")
                }
                None => vazao_congestion::build(&spec.control.name, &spec.control.parameters, setup)
                    .expect("a control from the registry"),
            }
        })
    }
}

/// Settings of Multipath TCP and Multipath QUIC.
#[derive(Clone, Debug)]
pub struct MultipathSpec {
    /// Packet scheduler.
    pub scheduler: SchedulerSpec,
    /// Path manager of Multipath TCP.
    pub path_manager: Option<(&'static Entry<path_manager::Manager>, Parameters)>,
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

/// Transport whose protocol and stacks have been read.
pub(crate) struct Reading<'a> {
    /// Whole transport, for errors that belong to no key alone.
    pub whole: &'a Item,
    pub stacks: [Stack; 2],
    pub schedulers: &'a Plugins<SchedulerFactory>,
}

/// Keys that a protocol takes out of a transport's table before its parameters are read.
#[derive(Default)]
pub(crate) struct Named {
    pub multipath: Option<MultipathSpec>,
    pub path_scheduler: Option<Item>,
}

/// Combination that is refused: the test for it, from the stacks and the parameters, and the error message.
#[derive(Debug)]
pub(crate) struct Rule {
    pub breaks: fn([Stack; 2], &Parameters) -> bool,
    pub problem: &'static str,
}

/// Congestion controls of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controls {
    /// No congestion control.
    None,
    /// Controls of the sender's stack, with the name of the default.
    OfStack(&'static str),
    /// Controls of the registry, with the name of the protocol's own as the default.
    Own(&'static str),
}

/// Way of a flow that may use several interfaces of its hosts.
pub(crate) struct PlannedWay {
    pub routes: Routes,
    /// Addresses at its ends, if its packets need not leave by the interfaces that have them.
    pub addresses: Option<AddressPair>,
}

impl From<Routes> for PlannedWay {
    fn from(routes: Routes) -> PlannedWay {
        PlannedWay { routes, addresses: None }
    }
}

/// Service of a transport, by which an application is accepted or refused.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Service {
    /// Datagrams without feedback.
    pub is_datagrams: bool,
    /// Data is spread over streams, or read out of order.
    pub mixes: bool,
    /// The only stream is unreliable.
    pub is_unreliable: bool,
    /// Requests must not overtake each other where it mixes.
    pub keeps_requests_apart: bool,
    /// Versions of HTTP that go over it, the usual one first.
    pub http: &'static [&'static str],
    /// Reason for which an answer may never come.
    pub gives_up: Option<&'static str>,
}

/// Context in which the ends of flows are made.
pub(crate) struct Making<'a> {
    pub scenario: &'a Scenario,
    pub routing: &'a Routing<'a>,
    pub addresses: &'a Addresses,
    /// Whether endpoints log what they do.
    pub logs: bool,
    /// Settings of the latest flow's two sides.
    shared: [Option<(*const TransportSpec, Arc<dyn Any + Send + Sync>)>; 2],
    by_hosts: BTreeMap<String, Arc<dyn Any + Send + Sync>>,
}

impl<'a> Making<'a> {
    pub fn new(scenario: &'a Scenario, routing: &'a Routing<'a>, addresses: &'a Addresses, logs: bool) -> Making<'a> {
        Making { scenario, routing, addresses, logs, shared: [None, None], by_hosts: BTreeMap::new() }
    }

    /// Returns the settings of a transport, shared with the previous flow if both were described together: 10 000
    /// copies would be most of a run's memory.
    pub fn settings<C: Any + Send + Sync>(&mut self, spec: &Arc<TransportSpec>, make: impl FnOnce() -> C) -> Arc<C> {
        let known = self.shared.iter().flatten().find(|(known, _)| *known == Arc::as_ptr(spec));
        if let Some(config) = known.and_then(|(_, config)| config.clone().downcast::<C>().ok()) {
            return config;
        }
        let config = Arc::new(make());
        self.shared.rotate_right(1);
        self.shared[0] = Some((Arc::as_ptr(spec), config.clone()));
        config
    }

    /// Returns the state that all flows between two hosts share.
    pub fn between<C: Any + Send + Sync>(&mut self, hosts: String, make: impl FnOnce() -> C) -> Arc<C> {
        let known = self.by_hosts.entry(hosts).or_insert_with(|| Arc::new(make()));
        known.clone().downcast().expect("one protocol shares one thing")
    }
}
