//! The packets of a capture file as a table.

use crate::InputError;
use crate::arrow::PyTable;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use vazao_scenario::{Column, Table};
use vazao_wire::mptcp::{DataSequence, Dss, MptcpOption};
use vazao_wire::pcapng::{Captured, Direction, Reader};
use vazao_wire::{DecodeError, ipv4, tcp, udp};

/// Protocol numbers that have a name; those whose header begins with two ports.
const PROTOCOLS: [(u8, &str); 4] = [(1, "icmp"), (tcp::PROTOCOL, "tcp"), (udp::PROTOCOL, "udp"), (SCTP, "sctp")];
const PORTS: [u8; 3] = [tcp::PROTOCOL, udp::PROTOCOL, SCTP];
const SCTP: u8 = 132;

/// Headers of a packet; fields are missing if there is no such header.
#[derive(Default)]
struct Seen {
    protocol: Option<String>,
    /// Source, then destination.
    addresses: [Option<String>; 2],
    ports: [Option<u16>; 2],
    tcp: Option<tcp::Header>,
    /// Bytes of the transport's payload.
    length: Option<usize>,
    problem: Option<String>,
}

impl Seen {
    fn new(packet: &Captured<'_>) -> Seen {
        let mut seen = Seen::default();
        match packet.ip() {
            Some(bytes) => seen.problem = seen.read(bytes).err().map(|error| error.to_string()),
            None => seen.problem = Some(format!("link type {}", packet.link_type)),
        }
        seen
    }

    /// Notes what can be read before an error, too.
    fn read(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let (ip, payload) = ipv4::decode(bytes)?;
        let payload = &bytes[payload];
        let named = PROTOCOLS.iter().find(|(number, _)| *number == ip.protocol);
        self.protocol = Some(named.map_or_else(|| ip.protocol.to_string(), |(_, name)| (*name).into()));
        self.addresses = [ip.source, ip.destination].map(|[a, b, c, d]| Some(format!("{a}.{b}.{c}.{d}")));
        if let [a, b, c, d, ..] = *payload
            && PORTS.contains(&ip.protocol)
        {
            self.ports = [[a, b], [c, d]].map(|port| Some(u16::from_be_bytes(port)));
        }
        match ip.protocol {
            tcp::PROTOCOL => {
                let (header, data) = tcp::decode(payload, ip.pseudo_header())?;
                (self.tcp, self.length) = (Some(header), Some(data.len()));
            }
            udp::PROTOCOL => self.length = Some(udp::decode(payload, ip.pseudo_header())?.1.len()),
            _ => self.length = Some(payload.len()),
        }
        Ok(())
    }

    fn of_tcp<T>(&self, field: impl FnOnce(&tcp::Header) -> T) -> Option<T> {
        self.tcp.as_ref().map(field)
    }
}

/// Flags by name, as in `SYN ACK`.
fn flags(header: &tcp::Header) -> String {
    format!("{:?}", header.flags).trim_matches(['[', ']']).to_owned()
}

/// Selectively acknowledged blocks from the first to the last byte and one, as in `1000-2000 3000-4000`.
fn sack(header: &tcp::Header) -> Option<String> {
    let blocks: Vec<_> = header.options.sack.as_slice().iter().map(|b| format!("{}-{}", b.left, b.right)).collect();
    (!blocks.is_empty()).then(|| blocks.join(" "))
}

/// Multipath TCP's options by name, as in `DSS ADD_ADDR`.
fn multipath(header: &tcp::Header) -> Option<String> {
    let name = |option: MptcpOption| match option {
        MptcpOption::Capable(_) => "MP_CAPABLE",
        MptcpOption::Join(_) => "MP_JOIN",
        MptcpOption::Dss(_) => "DSS",
        MptcpOption::AddAddress(_) => "ADD_ADDR",
        MptcpOption::RemoveAddress(_) => "REMOVE_ADDR",
        MptcpOption::Priority { .. } => "MP_PRIO",
        MptcpOption::Fail { .. } => "MP_FAIL",
        MptcpOption::FastClose { .. } => "MP_FASTCLOSE",
        MptcpOption::Reset { .. } => "MP_TCPRST",
    };
    let names: Vec<_> = header.options.mptcp.iter().map(name).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// Returns the low half of a number in the DSS option: of the first byte that it maps, or of the next that is expected.
fn data_sequence(header: &tcp::Header, which: fn(&Dss) -> Option<DataSequence>) -> Option<u32> {
    let dss = header.options.mptcp.iter().find_map(|option| match option {
        MptcpOption::Dss(dss) => Some(dss),
        _ => None,
    })?;
    which(&dss).map(|number| match number {
        DataSequence::Short(low) => low,
        DataSequence::Long(whole) => whole as u32,
    })
}

pub(crate) fn labels(texts: impl Iterator<Item = Option<String>>) -> Column {
    let mut known = BTreeMap::new();
    let mut names = Vec::new();
    let codes = texts.map(|text| {
        text.map(|text| {
            *known.entry(text).or_insert_with_key(|text: &String| {
                names.push(text.clone());
                names.len() as u32 - 1
            })
        })
    });
    Column::Label { codes: codes.collect(), names }
}

fn integers<T: Into<i64>>(values: impl Iterator<Item = Option<T>>) -> Column {
    Column::Integer(values.map(|value| value.map(Into::into)).collect())
}

fn table(packets: &[(Captured<'_>, Seen)]) -> Table {
    let seen = || packets.iter().map(|(_, seen)| seen);
    let direction = |packet: &Captured<'_>| {
        packet.direction.map(|direction| {
            match direction {
                Direction::Outbound => "sent",
                Direction::Inbound => "received",
            }
            .to_owned()
        })
    };
    let mapped = |dss: &Dss| dss.mapping.map(|mapping| mapping.data_sequence);
    vec![
        ("time_s", Column::Number(packets.iter().map(|(packet, _)| Some(packet.time_ns as f64 / 1e9)).collect())),
        ("direction", labels(packets.iter().map(|(packet, _)| direction(packet)))),
        ("protocol", labels(seen().map(|s| s.protocol.clone()))),
        ("source", labels(seen().map(|s| s.addresses[0].clone()))),
        ("destination", labels(seen().map(|s| s.addresses[1].clone()))),
        ("source_port", integers(seen().map(|s| s.ports[0]))),
        ("destination_port", integers(seen().map(|s| s.ports[1]))),
        ("sequence", integers(seen().map(|s| s.of_tcp(|h| h.sequence)))),
        // Without the flag the field means nothing.
        (
            "acknowledgment",
            integers(seen().map(|s| s.tcp.filter(|h| h.flags.contains(tcp::Flags::ACK)).map(|h| h.acknowledgment))),
        ),
        ("length", integers(seen().map(|s| s.length.map(|length| length as u32)))),
        ("flags", labels(seen().map(|s| s.of_tcp(flags)))),
        ("window", integers(seen().map(|s| s.of_tcp(|h| h.window)))),
        ("sack", labels(seen().map(|s| s.of_tcp(sack).flatten()))),
        ("mptcp", labels(seen().map(|s| s.of_tcp(multipath).flatten()))),
        ("data_sequence", integers(seen().map(|s| s.of_tcp(|h| data_sequence(h, mapped)).flatten()))),
        ("data_ack", integers(seen().map(|s| s.of_tcp(|h| data_sequence(h, |dss| dss.ack)).flatten()))),
        ("packet_bytes", integers(packets.iter().map(|(packet, _)| Some(packet.original_length)))),
        ("problem", labels(seen().map(|s| s.problem.clone()))),
    ]
}

/// The packets of a pcapng file in their order, one row each: times in seconds, numbers as on the wire. `problem` says why
/// the headers of a packet could not be read to their end.
#[pyfunction]
pub fn packets(py: Python<'_>, path: PathBuf) -> PyResult<PyTable> {
    let file = std::fs::read(&path)?;
    let read = py.detach(|| {
        let packets = Reader::new(&file)?.map(|packet| packet.map(|packet| (packet, Seen::new(&packet))));
        packets.collect::<Result<Vec<_>, _>>().map(|packets| table(&packets))
    });
    read.map(PyTable::new).map_err(|error| InputError::new_err(format!("{}: {error}", path.display())))
}
