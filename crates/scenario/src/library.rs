//! Connections that somebody else's library plays, as the world moves them.

use crate::build::control_factory;
use crate::machine::Machine;
use crate::measure::SenderState;
use crate::probe::Probe;
use crate::quinn;
use crate::scenario::Scenario;
use crate::stack::Stack;
use crate::world::{Body, IP_HEADER, World};
use std::collections::BTreeMap;
use vazao_engine::{Duration, Stream};
use vazao_network::{Outgoing, Packet};
use vazao_transport::library::{Library, Plan, Report};
use vazao_transport::udp::HEADER as UDP_HEADER;
use vazao_wire::pcapng::Direction;

/// Makes both ends of a connection, the client's first, or says why there are none.
pub type Connect<'a> = &'a dyn Fn(&Plan) -> Result<[Box<dyn Library>; 2], String>;

/// The ends of a run's connections that are still to be put into its world, by flow.
#[derive(Default)]
pub(crate) struct Libraries(BTreeMap<usize, [Option<Box<dyn Library>>; 2]>);

impl Libraries {
    /// Those that a scenario asks for; whether they are to log what they do.
    ///
    /// # Errors
    /// Why they cannot be had.
    pub fn new(scenario: &Scenario, connect: Option<Connect<'_>>, logs: bool) -> Result<Libraries, String> {
        let mut all = BTreeMap::new();
        for (number, flow) in scenario.flows.iter().enumerate() {
            let spec = &flow.transport;
            if spec.stacks[0] != Stack::Quinn {
                continue;
            }
            let Some(connect) = connect else {
                return Err(format!("flow {number}: this build of Vazão has no stack {:?}", Stack::Quinn.name()));
            };
            let own = !quinn::CONTROLS.contains(&spec.control.name.as_str());
            let ends = connect(&Plan {
                parameters: spec.parameters.clone(),
                control: spec.control.name.clone(),
                make: own.then(|| control_factory(spec)),
                seed: Stream::new(scenario.seed, &format!("library/flow {number}")).bits(),
                logs,
            });
            all.insert(number, ends.map_err(|problem| format!("flow {number}: {problem}"))?.map(Some));
        }
        Ok(Libraries(all))
    }

    /// Takes one side of a flow.
    pub fn machine(&mut self, flow: usize, side: usize) -> Machine {
        let end = self.0.get_mut(&flow).and_then(|ends| ends[side].take());
        Machine::Library(end.expect("every end is made once and taken once"))
    }
}

impl<P: Probe> World<P> {
    /// Hands a datagram to a library.
    #[cold]
    pub fn deliver_payload(&mut self, index: usize, packet: &Packet<Body>, payload: u32) {
        let datagram = self.payloads.get(payload);
        let endpoint = &mut self.endpoints[index];
        let flow = &mut self.flows[endpoint.flow as usize];
        let Machine::Library(end) = &mut endpoint.machine else { unreachable!("a payload goes to its kind") };
        if P::ON {
            let side = (endpoint.flow as usize, usize::from(endpoint.side));
            self.probe.on_payload(self.now, side, Direction::Inbound, datagram, packet.ecn());
        }
        if endpoint.sends {
            end.handle(self.now, packet.ecn(), datagram);
            flow.measure.on_sender_event(self.now, &end.report());
        } else {
            let before = end.report().stream_frames;
            end.handle(self.now, packet.ecn(), datagram);
            if end.report().stream_frames > before {
                flow.measure.on_data(self.now.since(packet.sent), packet.size);
            }
        }
        self.payloads.discard(payload);
        self.service(index);
    }

    /// Handles a library's timers; a client of its begins.
    #[cold]
    pub fn wake_library(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        let flow = &mut self.flows[endpoint.flow as usize];
        if let Machine::Library(end) = &mut endpoint.machine {
            end.handle_timeout(self.now);
            if endpoint.sends {
                flow.measure.on_sender_event(self.now, &end.report());
            }
        }
    }

    /// Sends every datagram that a library has to send.
    pub fn transmit_payloads(&mut self, index: usize) {
        if P::ON {
            self.tell_secrets(index);
        }
        loop {
            let endpoint = &mut self.endpoints[index];
            let Machine::Library(end) = &mut endpoint.machine else { return };
            let payload = self.payloads.fresh();
            let datagram = self.payloads.get_mut(payload);
            if !end.poll_transmit(self.now, datagram) {
                self.payloads.discard(payload);
                break;
            }
            if P::ON {
                let side = (endpoint.flow as usize, usize::from(endpoint.side));
                self.probe.on_payload(self.now, side, Direction::Outbound, datagram, datagram.ecn);
            }
            let size = IP_HEADER + UDP_HEADER + datagram.payload.len() as u32;
            let route = endpoint.ways.get(usize::from(datagram.address.way)).copied().unwrap_or(endpoint.route);
            let (to, ecn) = (endpoint.peer, datagram.ecn);
            self.send(Outgoing { route, to, size, ecn, body: Body::Payload(payload) });
        }
        if P::ON {
            self.tell_log(index);
        }
    }

    fn tell_log(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        let end = endpoint.end();
        if let Machine::Library(library) = &mut endpoint.machine {
            self.probe.on_log(self.now, end, &library.take_log());
        }
    }

    fn tell_secrets(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        let Machine::Library(end) = &mut endpoint.machine else { return };
        let lines = end.take_secrets();
        if !lines.is_empty() {
            self.probe.on_secrets(endpoint.flow as usize, &lines);
        }
    }
}

impl SenderState for Report {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }
    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh
    }
    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|threshold| self.cwnd < threshold)
    }
    fn is_repairing(&self) -> bool {
        self.is_repairing
    }
    fn cuts(&self) -> u64 {
        self.cuts
    }
    fn segments(&self) -> u64 {
        self.datagrams
    }
    fn srtt(&self) -> Option<Duration> {
        self.srtt
    }
    fn latest_rtt(&self) -> Option<Duration> {
        self.latest_rtt
    }
    fn flight(&self) -> u64 {
        self.flight
    }
    /// What it has not sent yet of what it was given it does not say.
    fn sent_bytes(&self) -> u64 {
        self.written
    }
}
