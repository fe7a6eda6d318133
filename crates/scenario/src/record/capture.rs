//! Captures: every packet that a host sends or receives, as bytes, one pcapng a host interface.

use crate::endpoint::Crossing;
use crate::endpoint::codec::Codec;
use crate::model::address::Addresses;
use crate::model::scenario::Scenario;
use std::collections::BTreeSet;
use vazao_engine::Time;
use vazao_wire::pcapng::{self, Direction};

/// Where captured bytes go: the interface's name and what to append. Says why it cannot.
pub type Output<'a> = &'a mut dyn FnMut(&str, &[u8]) -> Result<(), String>;

/// All interfaces and flows of a run.
pub(crate) struct Capture {
    interfaces: Vec<Interface>,
    flows: Vec<FlowCapture>,
    packet: Vec<u8>,
}

/// What was captured at an interface.
struct Interface {
    name: String,
    /// What is not yet written.
    bytes: Vec<u8>,
    /// How long the head of its file is, zero once that has been handed on.
    head: usize,
}

/// How the packets of a flow become bytes.
struct FlowCapture {
    codec: Box<dyn Codec>,
    /// The interfaces at which they are seen.
    interfaces: BTreeSet<usize>,
}

/// How much is kept before it is handed to the output.
const BUFFER: usize = 1 << 20;

impl Capture {
    /// A capture at all interfaces of a scenario.
    ///
    /// # Errors
    /// Which flow's packets cannot be written, and why.
    pub fn new(scenario: &Scenario, addresses: &Addresses) -> Result<Capture, String> {
        let start = |name: &String| {
            let mut bytes = Vec::new();
            pcapng::section(&mut bytes);
            pcapng::interface(name, 0, &mut bytes);
            Interface { name: name.clone(), bytes, head: 0 }
        };
        let mut interfaces: Vec<_> = addresses.interfaces.iter().map(|interface| start(&interface.name)).collect();
        let flow = |number: usize| {
            let pack = scenario.flows[number].transport.pack();
            let codec = pack.codec(scenario, addresses, number);
            let codec = codec.map_err(|problem| format!("flow {number}: {problem}; leave --pcap out"))?;
            Ok(FlowCapture { codec, interfaces: addresses.paths[number].iter().flatten().copied().collect() })
        };
        let flows = (0..scenario.flows.len()).map(flow).collect::<Result<Vec<_>, String>>()?;
        for flow in &flows {
            let log = flow.codec.key_log();
            if !log.is_empty() {
                flow.interfaces.iter().for_each(|&interface| pcapng::key_log(&log, &mut interfaces[interface].bytes));
            }
        }
        interfaces.iter_mut().for_each(|interface| interface.head = interface.bytes.len());
        Ok(Capture { interfaces, flows, packet: Vec::new() })
    }

    /// Records a packet of one of our machines where it crosses an interface.
    pub fn cross(&mut self, now: Time, flow: usize, crossing: &Crossing<'_>) {
        self.packet.clear();
        let ends = self.flows[flow].codec.encode(crossing, &mut self.packet);
        let packet = pcapng::Packet::new(0, now.as_nanos(), crossing.direction, &self.packet);
        pcapng::packet(&packet, &mut self.interfaces[ends[crossing.at]].bytes);
    }

    /// Records an IP packet that a guest sends or receives at an interface.
    pub fn bytes(&mut self, now: Time, interface: usize, direction: Direction, packet: &[u8]) {
        let packet = pcapng::Packet::new(0, now.as_nanos(), direction, packet);
        pcapng::packet(&packet, &mut self.interfaces[interface].bytes);
    }

    /// Puts secrets of a flow before what of its packets is still kept: whoever reads the file must have them first.
    pub fn secrets(&mut self, flow: usize, lines: &str) {
        let mut block = Vec::new();
        pcapng::key_log(lines, &mut block);
        for &interface in &self.flows[flow].interfaces {
            let Interface { bytes, head, .. } = &mut self.interfaces[interface];
            bytes.splice(*head..*head, block.iter().copied());
        }
    }

    /// Hands what is buffered to the output: all of it, or what has grown large.
    pub fn flush(&mut self, all: bool, output: Output<'_>) -> Result<(), String> {
        for Interface { name, bytes, head } in &mut self.interfaces {
            if !bytes.is_empty() && (all || bytes.len() >= BUFFER) {
                output(name, bytes)?;
                bytes.clear();
                *head = 0;
            }
        }
        Ok(())
    }
}
