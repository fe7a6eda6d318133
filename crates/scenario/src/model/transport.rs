//! A flow's transport: which protocol, whose implementation, with what settings; and what each protocol answers for itself.

use super::address::Addresses;
use super::flow::{FlowSpec, Routes};
use super::plugin::{Chosen, ControlFactory, ControlSpec, Plugins, SchedulerSpec};
use super::scenario::Scenario;
use super::stack::{GuestSpec, Kernels, Stack};
use crate::document::ScenarioError;
use crate::document::files::Files;
use crate::document::reader::{Item, Table};
use crate::endpoint::Endpoint;
use crate::endpoint::codec::{Codec, Logger};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_application::Sides;
use vazao_congestion::Setup;
use vazao_engine::registry::{Entry, Parameters, find};
use vazao_network::Routing;
use vazao_transport::common::{SCHEDULERS, SchedulerFactory};
use vazao_transport::mptcp::{AddressPair, path_manager};
use vazao_transport::tls;

type Result<T> = std::result::Result<T, ScenarioError>;

/// A transport protocol of the registry.
#[derive(Clone, Copy)]
pub struct Protocol(pub(crate) &'static dyn Pack);

impl std::fmt::Debug for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Protocol")
    }
}

/// What a transport protocol answers for itself: whatever differs from one to the other is in its folder.
pub(crate) trait Pack: Sync {
    /// The stacks that have it.
    fn stacks(&self) -> &'static [Stack] {
        &[Stack::Vazao, Stack::Linux]
    }

    /// Refuses keys that the stacks would not heed, and stacks that do not go together.
    fn refuse(&self, _table: &Table, _reading: &Reading<'_>) -> Result<()> {
        Ok(())
    }

    /// Puts the settings in the place of words that stand for several.
    fn expand(&self, _table: &mut Table) -> Result<()> {
        Ok(())
    }

    /// Which congestion controls it has.
    fn controls(&self) -> Controls {
        Controls::OfStack("cubic")
    }

    /// Its slow start, unless another may be named and is.
    fn slow_start(&self) -> (&'static str, bool) {
        ("standard", true)
    }

    /// Takes what its parameters do not describe out of a transport's table.
    fn take(&self, _table: &mut Table, _reading: &Reading<'_>) -> Result<Named> {
        Ok(Named::default())
    }

    /// Combinations that are refused.
    fn rules(&self) -> &'static [Rule] {
        &[]
    }

    /// Checks what no rule can say, and completes what it has taken.
    fn settle(&self, _reading: &Reading<'_>, named: Named, _parameters: &Parameters) -> Result<Option<MultipathSpec>> {
        Ok(named.multipath)
    }

    /// The TLS over it.
    fn tls(&self, _parameters: &Parameters) -> std::result::Result<Option<tls::Config>, &'static str> {
        Ok(None)
    }

    /// Whether a flow may use every interface of its hosts.
    fn is_multipath(&self, _spec: &TransportSpec) -> bool {
        false
    }

    /// What it does for applications.
    fn service(&self, parameters: &Parameters) -> Service;

    /// Bytes of memory that both ends of a flow take.
    fn memory(&self, parameters: &Parameters) -> u64;

    /// Bytes of data in a full packet, and acknowledgements for each.
    fn load(&self, parameters: &Parameters) -> (f64, f64);

    /// How many segments' worth an acknowledgement may let the window grow in slow start (RFC 3465), and the initial window.
    fn growth(&self, parameters: &Parameters, mss: u64) -> (f64, u64) {
        (parameters.number("abc_limit"), mss * parameters.integer("initial_window"))
    }

    /// What of the interfaces and relays that a flow names is not there.
    fn misnamed(&self, _routing: &Routing<'_>, _flow: &FlowSpec) -> Option<String> {
        None
    }

    /// The ways of a flow that has several or might have, its own route first.
    fn ways(&self, _routing: &Routing<'_>, _flow: &FlowSpec) -> Option<Vec<PlannedWay>> {
        None
    }

    /// Every way that a flow's packets can take, whoever plays its ends.
    fn every_way(&self, routing: &Routing<'_>, flow: &FlowSpec) -> Vec<Routes> {
        self.ways(routing, flow).into_iter().flatten().map(|way| way.routes).collect()
    }

    /// Whether the client may leave by other interfaces than its route's.
    fn leaves_by_several(&self, _flow: &FlowSpec) -> bool {
        false
    }

    /// Makes both ends of a flow, the client's first.
    fn ends(&self, making: &mut Making<'_>, number: usize, sides: &Sides) -> [Box<dyn Endpoint>; 2];

    /// What writes the packets of a flow for captures.
    ///
    /// # Errors
    /// Why they cannot be written.
    fn codec(
        &self,
        scenario: &Scenario,
        addresses: &Addresses,
        number: usize,
    ) -> std::result::Result<Box<dyn Codec>, &'static str>;

    /// What translates between one of our machines and a guest at the other end of its flow, if a guest can play it.
    fn translator(&self, _addresses: &Addresses, _number: usize) -> Option<Box<dyn Codec>> {
        None
    }

    /// What makes the log of a flow, if its endpoints log what they do.
    fn logger(&self, _scenario: &Scenario, _number: usize) -> Option<Box<dyn Logger>> {
        None
    }

    /// The parameter that says how losses are repaired, if that is to choose.
    fn recovery(&self) -> Option<&'static str> {
        None
    }

    /// Its name for a guest's kernel.
    fn kernel(&self) -> Option<KernelProtocol> {
        None
    }
}

/// A protocol of the guests' kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelProtocol {
    Tcp,
    Udp,
    Sctp,
    Mptcp,
}

/// A transport as described.
#[derive(Clone, Debug)]
pub struct TransportSpec {
    /// The protocol.
    pub entry: &'static Entry<Protocol>,
    /// The protocol's own parameters.
    pub parameters: Parameters,
    /// The TLS over it.
    pub tls: Option<tls::Config>,
    /// The congestion control.
    pub control: ControlSpec,
    /// Name and parameters of the slow start.
    pub slow_start: (&'static str, Parameters),
    /// What only a transport of several paths has.
    pub multipath: Option<MultipathSpec>,
    /// Whose implementation plays the client, and whose the server.
    pub stacks: [Stack; 2],
    /// Whose implementation sends the measured data: the congestion control is that one's.
    pub sender: Stack,
    /// What guests are told.
    pub guest: GuestSpec,
}

impl TransportSpec {
    /// What the protocol answers for itself.
    pub(crate) fn pack(&self) -> &'static dyn Pack {
        self.entry.build.0
    }

    /// Whether a flow may use every interface of its hosts.
    pub(crate) fn is_multipath(&self) -> bool {
        self.pack().is_multipath(self)
    }

    /// Whether its datagrams arrive or do not, and nobody hears of it.
    pub(crate) fn is_datagrams(&self) -> bool {
        self.pack().service(&self.parameters).is_datagrams
    }

    /// Whether a side is played by a guest.
    pub fn has_guest(&self) -> bool {
        self.stacks.contains(&Stack::Linux)
    }

    /// Its protocol, as a guest's kernel knows it.
    pub(crate) fn kernel_protocol(&self) -> Option<KernelProtocol> {
        self.pack().kernel()
    }

    /// Whether a library plays it.
    pub(crate) fn has_library(&self) -> bool {
        self.stacks.contains(&Stack::Quinn)
    }

    /// Makes its congestion control, each with a slow start of its own.
    pub(crate) fn control_factory(self: &Arc<Self>) -> vazao_transport::ControlFactory {
        let spec = self.clone();
        Arc::new(move |mss, seed| {
            let (abc_limit, initial_window) = spec.pack().growth(&spec.parameters, mss);
            let slow_start = vazao_congestion::build_slow_start(spec.slow_start.0, &spec.slow_start.1, abc_limit);
            let setup = Setup {
                mss,
                initial_window,
                initial_ssthresh: spec.parameters.size("initial_ssthresh"),
                slow_start: slow_start.expect("a slow start from the registry"),
                seed,
            };
            match &spec.control.plugin {
                Some(plugin) => (plugin.build)(setup),
                // What a guest sends to is a receiver; its own congestion control has nothing to do.
                None if spec.sender == Stack::Linux => {
                    vazao_congestion::build("reno", &Parameters::default(), setup).expect("Reno has no parameters")
                }
                None => vazao_congestion::build(&spec.control.name, &spec.control.parameters, setup)
                    .expect("a control from the registry"),
            }
        })
    }
}

/// What only Multipath TCP and Multipath QUIC have.
#[derive(Clone, Debug)]
pub struct MultipathSpec {
    /// The packet scheduler.
    pub scheduler: SchedulerSpec,
    /// Multipath TCP's path manager.
    pub path_manager: Option<(&'static Entry<path_manager::Manager>, Parameters)>,
}

impl MultipathSpec {
    /// Whether this path manager decides which subflows there are.
    pub(crate) fn is_managed_by(&self, name: &str) -> bool {
        self.path_manager.as_ref().is_some_and(|(manager, _)| manager.name == name)
    }

    /// Makes its packet scheduler.
    pub(crate) fn scheduler_factory(&self) -> SchedulerFactory {
        let Chosen { name, parameters, plugin } = self.scheduler.clone();
        if let Some(plugin) = plugin {
            return plugin.build;
        }
        let entry = find("packet scheduler", SCHEDULERS, &name).expect("a scheduler from the registry");
        Arc::new(move || (entry.build)(&parameters))
    }
}

/// What a scenario may name that no registry knows: algorithms of the user's own, and kernels that were built.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    /// Congestion controls by name.
    pub controls: Plugins<ControlFactory>,
    /// Packet schedulers of Multipath TCP by name.
    pub schedulers: Plugins<SchedulerFactory>,
    /// Kernels by name.
    pub kernels: Kernels,
    /// Files that it names.
    pub files: Files,
    /// Bytes of memory that its run may take; without a number, whatever there is.
    pub memory: Option<u64>,
}

/// A transport whose protocol and stacks have been read.
pub(crate) struct Reading<'a> {
    /// All of it, for what is wrong with no key alone.
    pub whole: &'a Item,
    pub name: &'static str,
    pub stacks: [Stack; 2],
    pub schedulers: &'a Plugins<SchedulerFactory>,
}

/// What a protocol takes out of a transport's table before its parameters are read.
#[derive(Default)]
pub(crate) struct Named {
    pub multipath: Option<MultipathSpec>,
    pub path_scheduler: Option<Item>,
}

/// A transport whose parameters have been read.
pub(crate) struct Draft<'a> {
    pub stacks: [Stack; 2],
    pub parameters: &'a Parameters,
}

/// A combination that is refused: whether a draft has it, and what is said of that.
pub(crate) struct Rule {
    pub breaks: fn(&Draft<'_>) -> bool,
    pub problem: &'static str,
}

/// Which congestion controls a protocol has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controls {
    /// None at all.
    None,
    /// Those of the sender's stack; this one unless another is named.
    OfStack(&'static str),
    /// Ours; unless one is named, the protocol's own, which has this name.
    Own(&'static str),
}

/// A way of a flow that may use several interfaces of its hosts.
pub(crate) struct PlannedWay {
    pub routes: Routes,
    /// The addresses that it is between, where its packets need not leave by the interfaces that have them.
    pub addresses: Option<AddressPair>,
}

impl From<Routes> for PlannedWay {
    fn from(routes: Routes) -> PlannedWay {
        PlannedWay { routes, addresses: None }
    }
}

/// What an application needs to know of a transport to say whether it can run over it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Service {
    /// Its datagrams arrive or do not, and nobody hears of it.
    pub is_datagrams: bool,
    /// What is written is spread over streams, or read as it comes.
    pub mixes: bool,
    /// Its only stream is unreliable.
    pub is_unreliable: bool,
    /// Requests must not overtake each other where it mixes.
    pub keeps_requests_apart: bool,
    /// The versions of HTTP that go over it, the usual one first.
    pub http: &'static [&'static str],
    /// What may keep an answer from ever coming.
    pub gives_up: Option<&'static str>,
}

/// What ends of flows are made from.
pub(crate) struct Making<'a> {
    pub scenario: &'a Scenario,
    pub routing: &'a Routing<'a>,
    pub addresses: &'a Addresses,
    /// Whether they are to log what they do.
    pub logs: bool,
    shared: Vec<(*const TransportSpec, Arc<dyn Any + Send + Sync>)>,
    jars: BTreeMap<String, Arc<dyn Any + Send + Sync>>,
}

impl<'a> Making<'a> {
    pub fn new(scenario: &'a Scenario, routing: &'a Routing<'a>, addresses: &'a Addresses, logs: bool) -> Making<'a> {
        Making { scenario, routing, addresses, logs, shared: Vec::new(), jars: BTreeMap::new() }
    }

    /// The settings of the flow before, which are also those of the next if they were described together: 10 000 copies would
    /// be most of a run's memory.
    pub fn settings<C: Any + Send + Sync>(&mut self, spec: &Arc<TransportSpec>, make: impl FnOnce() -> C) -> Arc<C> {
        let known = self.shared.last().filter(|(known, _)| *known == Arc::as_ptr(spec));
        if let Some(config) = known.and_then(|(_, config)| config.clone().downcast::<C>().ok()) {
            return config;
        }
        let config = Arc::new(make());
        self.shared = vec![(Arc::as_ptr(spec), config.clone())];
        config
    }

    /// What all flows between two hosts share.
    pub fn between<C: Any + Send + Sync>(&mut self, hosts: String, make: impl FnOnce() -> C) -> Arc<C> {
        let known = self.jars.entry(hosts).or_insert_with(|| Arc::new(make()));
        known.clone().downcast().expect("one protocol shares one thing")
    }
}
