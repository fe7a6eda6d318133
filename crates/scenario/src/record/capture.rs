//! Captures: every packet at a host's interface as bytes, in one pcapng file for each interface.

use crate::endpoint::Crossing;
use crate::endpoint::codec::Codec;
use crate::model::address::Addresses;
use crate::model::scenario::Scenario;
use crate::record::{File, Output};
use std::collections::BTreeSet;
use vazao_engine::Time;
use vazao_wire::ipv4;
use vazao_wire::pcapng::{self, Direction};

/// Capture of a run at all interfaces.
pub(crate) struct Capture {
    interfaces: Vec<Interface>,
    /// Most bytes that are kept of a packet.
    keep: usize,
    flows: Vec<FlowCapture>,
    packet: Vec<u8>,
}

/// Capture at one interface.
struct Interface {
    file: File,
    /// Length of the file's head in the buffer, zero once it has been written.
    head: usize,
}

/// Capture of one flow.
struct FlowCapture {
    codec: Box<dyn Codec>,
    /// Interfaces that its packets cross.
    interfaces: BTreeSet<usize>,
}

impl Capture {
    /// Creates a capture at all interfaces of a scenario that keeps the first `snap` bytes of each packet.
    ///
    /// # Errors
    /// A flow's packets cannot be captured.
    pub fn new(scenario: &Scenario, addresses: &Addresses, snap: Option<u32>) -> Result<Capture, String> {
        let start = |name: &String| {
            let mut bytes = Vec::new();
            pcapng::section(&mut bytes);
            pcapng::interface(name, snap.unwrap_or(0), &mut bytes);
            Interface { file: File { name: name.clone(), bytes }, head: 0 }
        };
        let mut interfaces: Vec<_> = addresses.interfaces.iter().map(|interface| start(&interface.name)).collect();
        let flow = |number: usize| {
            let codec = (scenario.flows[number].transport.pack().codec)(scenario, addresses, number);
            let codec = codec.map_err(|problem| format!("flow {number}: {problem}; leave --pcap out"))?;
            Ok(FlowCapture { codec, interfaces: addresses.paths[number].iter().flatten().copied().collect() })
        };
        let flows = (0..scenario.flows.len()).map(flow).collect::<Result<Vec<_>, String>>()?;
        for flow in &flows {
            let log = flow.codec.key_log();
            if !log.is_empty() {
                flow.interfaces.iter().for_each(|&index| pcapng::key_log(&log, &mut interfaces[index].file.bytes));
            }
        }
        interfaces.iter_mut().for_each(|interface| interface.head = interface.file.bytes.len());
        let keep = snap.map_or(usize::MAX, |snap| snap as usize);
        Ok(Capture { interfaces, keep, flows, packet: Vec::new() })
    }

    /// Records a packet of one of our machines where it crosses an interface.
    pub fn cross(&mut self, now: Time, flow: usize, crossing: &Crossing<'_>) {
        self.packet.clear();
        let ends = self.flows[flow].codec.encode(crossing, self.keep, &mut self.packet);
        let packet = cut(now, crossing.direction, &self.packet, self.keep);
        pcapng::packet(&packet, &mut self.interfaces[ends[crossing.at]].file.bytes);
    }

    /// Records an IP packet that a guest sends or receives at an interface.
    pub fn bytes(&mut self, now: Time, interface: usize, direction: Direction, packet: &[u8]) {
        let packet = cut(now, direction, packet, self.keep);
        pcapng::packet(&packet, &mut self.interfaces[interface].file.bytes);
    }

    /// Inserts a flow's key log before its buffered packets: a reader needs the keys first.
    pub fn secrets(&mut self, flow: usize, lines: &str) {
        let mut block = Vec::new();
        pcapng::key_log(lines, &mut block);
        for &interface in &self.flows[flow].interfaces {
            let Interface { file, head } = &mut self.interfaces[interface];
            file.bytes.splice(*head..*head, block.iter().copied());
        }
    }

    /// Hands buffered bytes to the output: all of them, or those of files with many.
    pub fn flush(&mut self, all: bool, output: Output<'_>) -> Result<(), String> {
        for Interface { file, head } in &mut self.interfaces {
            if file.flush(all, &mut *output)? {
                *head = 0;
            }
        }
        Ok(())
    }
}

/// Returns an IP packet as it is captured: its first `keep` bytes, and its length as its header tells it.
fn cut(now: Time, direction: Direction, packet: &[u8], keep: usize) -> pcapng::Packet<'_> {
    let original_length = ipv4::total_length(packet).unwrap_or(packet.len() as u32);
    let bytes = &packet[..packet.len().min(keep)];
    pcapng::Packet { original_length, ..pcapng::Packet::new(0, now.as_nanos(), direction, bytes) }
}
