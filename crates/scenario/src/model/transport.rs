//! Transports and protocols' packs: defaults, and answers about one.

use super::protocol::{Controls, Front, Named, Service};
use super::scenario::{MakeEnds, Pack, TransportSpec};
use super::stack::Mechanism;
use crate::endpoint::dissector::Unread;
use std::sync::Arc;
use vazao_congestion::Setup;
use vazao_engine::registry::Parameters;

impl Pack {
    /// Creates a pack whose ends are made by `ends`, of a byte stream over one path, with TCP's names of parameters.
    pub(crate) const fn new(ends: MakeEnds) -> Pack {
        Pack {
            expand: |_| Ok(()),
            controls: Controls::OfStack("cubic"),
            slow_start: ("standard", true),
            take: |_, _| Ok(Named::default()),
            rules: &[],
            needs: &[],
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
            dissector: |_| Box::new(Unread),
            logger: |_, _| None,
            recovery: None,
            kernel: None,
            is_steerable: false,
            front: Front::new(&[]),
        }
    }
}

impl TransportSpec {
    /// Returns its protocol.
    pub(crate) fn pack(&self) -> &'static Pack {
        &self.entry.build
    }

    /// Returns the payload of a full packet in bytes.
    pub(crate) fn segment(&self) -> u64 {
        (self.pack().load)(&self.parameters).0 as u64
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
        self.stacks.iter().any(|stack| stack.is_guest())
    }

    /// Returns whether a library plays it.
    pub(crate) fn has_library(&self) -> bool {
        self.sender.mechanism == Mechanism::Library
    }

    /// Returns whether another simulator plays it, instead of the world.
    pub fn has_simulator(&self) -> bool {
        self.sender.mechanism == Mechanism::Simulator
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
                None if spec.sender.is_guest() => {
                    vazao_congestion::build("reno", &Parameters::default(), setup).expect("Reno has no parameters")
                }
                None => vazao_congestion::build(&spec.control.name, &spec.control.parameters, setup)
                    .expect("a control from the registry"),
            }
        })
    }
}

impl PartialEq for TransportSpec {
    fn eq(&self, other: &TransportSpec) -> bool {
        let TransportSpec { entry, parameters, tls, control, slow_start, multipath, stacks, sender, guest, receiver } =
            self;
        entry.name == other.entry.name
            && *parameters == other.parameters
            && *tls == other.tls
            && *control == other.control
            && *slow_start == other.slow_start
            && *multipath == other.multipath
            && *stacks == other.stacks
            && *sender == other.sender
            && *guest == other.guest
            && *receiver == other.receiver
    }
}
