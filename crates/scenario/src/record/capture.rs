//! Captures: every packet at a host's interface as bytes, in one pcapng file for each interface.

use crate::endpoint::Crossing;
use crate::endpoint::codec::Codec;
use crate::model::address::Addresses;
use crate::model::scenario::Scenario;
use crate::record::{File, Output};
use std::collections::BTreeSet;
use vazao_engine::Time;
use vazao_wire::pcapng::{self, Direction};

/// Capture of a run at all interfaces.
pub(crate) struct Capture {
    interfaces: Vec<Interface>,
    /// Most bytes that are kept of a packet.
    keep: usize,
    flows: Vec<FlowCapture>,
    /// Whether each interface's packets are those of one end of one flow.
    is_one_end_each: bool,
    /// Whether keys may become known when packets have been written.
    learns_keys: bool,
    /// Reason for which bytes could not be written.
    failure: Option<String>,
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
        let learns_keys = scenario.flows.iter().any(|flow| flow.transport.has_library());
        let is_one_end_each = !learns_keys && has_one_end_each(addresses);
        Ok(Capture { interfaces, keep, flows, is_one_end_each, learns_keys, failure: None })
    }

    /// Returns whether files are the same if ends are shown one after the other.
    pub fn follows_ends(&self) -> bool {
        self.is_one_end_each
    }

    /// Records a packet of one of our machines where it crosses an interface.
    pub fn cross(&mut self, now: Time, flow: usize, crossing: &Crossing<'_>, output: Output<'_>) {
        let codec = &mut self.flows[flow].codec;
        let interface = codec.interfaces(crossing)[crossing.at];
        let file = &mut self.interfaces[interface].file.bytes;
        pcapng::packet_in_place(now.as_nanos(), crossing.direction, self.keep, file, |out| {
            codec.encode(crossing, self.keep, out);
        });
        self.relieve(interface, output);
    }

    /// Records an IP packet that a guest sends or receives at an interface.
    pub fn bytes(&mut self, now: Time, interface: usize, direction: Direction, packet: &[u8], output: Output<'_>) {
        let file = &mut self.interfaces[interface].file.bytes;
        pcapng::packet_in_place(now.as_nanos(), direction, self.keep, file, |out| out.extend_from_slice(packet));
        self.relieve(interface, output);
    }

    /// Hands on the bytes of a file with many, while they are still at hand for the processor.
    #[inline]
    fn relieve(&mut self, interface: usize, output: Output<'_>) {
        let Interface { file, head } = &mut self.interfaces[interface];
        if file.is_full() && !self.learns_keys {
            *head = 0;
            self.failure = file.flush(true, output).err().or(self.failure.take());
        }
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
        self.failure.take().map_or(Ok(()), Err)?;
        for Interface { file, head } in &mut self.interfaces {
            if file.flush(all, &mut *output)? {
                *head = 0;
            }
        }
        Ok(())
    }
}

/// Returns whether no two ends of flows share an interface, and a file with it.
fn has_one_end_each(addresses: &Addresses) -> bool {
    let mut owners = vec![None; addresses.interfaces.len()];
    let ends = addresses.sockets.iter().zip(&addresses.paths).enumerate().flat_map(|(flow, (sockets, paths))| {
        let sockets = sockets.map(|socket| socket.interface);
        let all = std::iter::once(sockets).chain(paths.iter().copied());
        all.flat_map(move |ends| [(ends[0], (flow, 0)), (ends[1], (flow, 1))])
    });
    ends.into_iter().all(|(interface, end)| *owners[interface].get_or_insert(end) == end)
}
