//! Connections of a capture as a table.

use crate::InputError;
use crate::arrow::PyTable;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use vazao_capture::{Analysis, Connection, Ending, Half, Limit};
use vazao_scenario::{Column, ENGINE_VERSION, Observation, Place, Table, join, partners};
use vazao_wire::pcapng::ReadError;
use vazao_wire::stream::Stream;
use vazao_wire::{dccp, icmp, sctp, tcp, udp};

/// Transports that have a name.
const PROTOCOLS: [(u8, &str); 7] = [
    (tcp::PROTOCOL, "tcp"),
    (udp::PROTOCOL, "udp"),
    (sctp::PROTOCOL, "sctp"),
    (dccp::PROTOCOL, "dccp"),
    (icmp::PROTOCOL, "icmp"),
    (58, "icmpv6"),
    (136, "udp-lite"),
];

/// A capture file, read piece by piece.
#[pyclass(name = "Capture", module = "vazao._core")]
#[derive(Default)]
pub struct PyCapture {
    stream: Stream,
    analysis: Analysis,
    observation: Observation,
}

#[pymethods]
impl PyCapture {
    #[new]
    #[pyo3(signature = (connections=Vec::new(), most=0))]
    fn new(connections: Vec<u32>, most: usize) -> Self {
        let analysis = Analysis::watching(connections.clone());
        PyCapture { analysis, observation: Observation::new(connections, most), ..PyCapture::default() }
    }

    /// Reads the packets of the next piece of the file, which may end anywhere.
    fn feed(&mut self, py: Python<'_>, piece: &[u8]) -> PyResult<()> {
        let PyCapture { stream, analysis, observation } = self;
        let read = py.detach(|| {
            stream.feed(piece);
            while let Some(packet) = stream.next_packet()? {
                if let Some(passing) = analysis.on_packet(&packet) {
                    observation.on_packet(analysis, &passing);
                }
            }
            Ok(())
        });
        read.map_err(|error: ReadError| InputError::new_err(error.to_string()))
    }

    /// Returns what is wrong with the end of the file, if anything is.
    fn finish(&self) -> Option<String> {
        self.stream.finish().err().map(|error| error.to_string())
    }

    /// Returns its connections, a row each.
    fn connections(&self) -> PyTable {
        PyTable::new(table(&self.analysis))
    }

    /// Returns the recording of the connections that it was made for, of a capture called `name`, with notes on
    /// what it lacks.
    fn recording<'py>(&self, py: Python<'py>, name: &str, notes: Vec<String>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.observation.file([name, ENGINE_VERSION], &notes, &self.analysis))
    }

    /// Returns the recording of the connections that this and another capture of them were made for.
    fn joined<'py>(
        &self,
        py: Python<'py>,
        other: &PyCapture,
        names: [String; 2],
        notes: Vec<String>,
    ) -> Bound<'py, PyBytes> {
        let places = [(self, &names[0]), (other, &names[1])].map(|(capture, name)| Place {
            name,
            observation: &capture.observation,
            analysis: &capture.analysis,
        });
        PyBytes::new(py, &join(places, ENGINE_VERSION, &notes))
    }

    /// Returns the numbers of another capture's connections that are this one's of these numbers; none where it has none.
    fn partners(&self, other: &PyCapture, numbers: Vec<u32>) -> Vec<Option<u32>> {
        partners(&self.analysis, &other.analysis, &numbers)
    }

    /// Returns what is known of it as a whole.
    fn overview<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let seen = &self.analysis.overview;
        let facts = PyDict::new(py);
        let span = seen.first.map_or(0, |first| seen.last - first);
        facts.set_item("begin_s", seen.first.map(|first| first as f64 / 1e9))?;
        facts.set_item("duration_s", span as f64 / 1e9)?;
        let counts = [
            ("packets", seen.packets),
            ("bytes", seen.bytes),
            ("cut_packets", seen.cut),
            ("backward_packets", seen.backwards),
            ("other_packets", seen.not_ip),
            ("fragments", seen.fragments),
            ("headless_packets", seen.short),
            ("unknown_link_packets", seen.unknown_links),
            ("uncounted_packets", seen.beyond),
        ];
        counts.iter().try_for_each(|(name, count)| facts.set_item(name, count))?;
        facts.set_item("unknown_link", seen.unknown_link)?;
        Ok(facts)
    }
}

/// A connection as a row of the table.
struct Row<'a> {
    number: usize,
    connection: &'a Connection,
    /// Side that sends most of the data, and its direction.
    sender: usize,
    half: Option<&'a Half>,
    begin: u64,
}

impl<'a> Row<'a> {
    fn new((number, connection): (usize, &'a Connection), begin: u64) -> Row<'a> {
        let sender = connection.sender();
        Row { number, connection, sender, half: connection.tcp.as_ref().map(|halves| &halves[sender]), begin }
    }

    /// Bytes of data a second, from the first data to the last acknowledgement of it.
    fn goodput(&self) -> Option<f64> {
        let half = self.half?;
        let span = half.last_ack.max(half.last_data).saturating_sub(half.first_data?);
        (span > 0).then(|| half.app_bytes() as f64 * 8e9 / span as f64)
    }

    /// Least round trip between both sides: the two parts, at either side of the capture.
    fn rtt_min(&self) -> Option<f64> {
        let parts = [self.connection.round_trip(0), self.connection.round_trip(1)];
        let known = parts.iter().flatten().sum::<u64>();
        parts.iter().any(Option::is_some).then(|| seconds(known))
    }

    fn ending(&self) -> Option<&'static str> {
        self.connection.tcp.as_ref()?;
        Some(match self.connection.ending() {
            Ending::Open => "open",
            Ending::Closed => "closed",
            Ending::Reset => "reset",
            Ending::Refused => "refused",
        })
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn table(analysis: &Analysis) -> Table {
    let begin = analysis.overview.first.unwrap_or_default();
    let rows: Vec<Row<'_>> = analysis.connections.iter().enumerate().map(|each| Row::new(each, begin)).collect();
    let label = |get: &dyn Fn(&Row<'_>) -> Option<String>| crate::packets::labels(rows.iter().map(get));
    let integer = |get: &dyn Fn(&Row<'_>) -> Option<u64>| {
        Column::Integer(rows.iter().map(|r| get(r).map(|x| x as i64)).collect())
    };
    let number = |get: &dyn Fn(&Row<'_>) -> Option<f64>| Column::Number(rows.iter().map(get).collect());
    let of_half = |get: fn(&Half) -> u64| integer(&|row| row.half.map(get));
    let mut table = vec![
        ("connection", integer(&|row| Some(row.number as u64))),
        ("interface", integer(&|row| Some(row.connection.interface.into()))),
        ("protocol", label(&|row| Some(protocol(row.connection.protocol)))),
        ("client", label(&|row| Some(row.connection.side(0)))),
        ("server", label(&|row| Some(row.connection.side(1)))),
        ("start_s", number(&|row| Some(seconds(row.connection.first - row.begin)))),
        ("duration_s", number(&|row| Some(seconds(row.connection.last - row.connection.first)))),
        ("ending", label(&|row| row.ending().map(Into::into))),
        ("packets", integer(&|row| Some(row.connection.packets.iter().sum()))),
        ("sender", label(&|row| Some(["client", "server"][row.sender].into()))),
        ("app_bytes", of_half(Half::app_bytes)),
        ("answer_bytes", integer(&|row| row.connection.tcp.as_ref().map(|halves| halves[1 - row.sender].app_bytes()))),
        ("goodput_bps", number(&|row| row.goodput())),
        ("rtt_min_s", number(&|row| row.rtt_min())),
        ("rtt_to_client_s", number(&|row| row.connection.round_trip(0).map(seconds))),
        ("rtt_to_server_s", number(&|row| row.connection.round_trip(1).map(seconds))),
        ("rtt_p50_s", number(&|row| row.half?.rtt.quantile(0.5))),
        ("rtt_max_s", number(&|row| row.half?.rtt.max())),
        ("mss_bytes", integer(&|row| row.half.map(|_| row.connection.unit()))),
        ("retransmissions", of_half(|half| half.retransmissions)),
        ("spurious_retransmissions", of_half(Half::spurious_retransmissions)),
        ("packets_lost", of_half(|half| half.retransmissions - half.spurious_retransmissions())),
        ("reordered", of_half(|half| half.reordered)),
        ("duplicates", of_half(|half| half.duplicates.max(half.reported_copies))),
        ("duplicate_acks", of_half(|half| half.duplicate_acks)),
        ("zero_windows", of_half(|half| half.zero_windows)),
        ("marked_packets", of_half(|half| half.marks)),
        ("window_max_bytes", of_half(|half| half.window_max)),
        ("flight_max_bytes", of_half(|half| half.flight_max)),
        ("unseen_packets", of_half(|half| half.unseen)),
        ("bundled_packets", of_half(|half| half.bundles)),
        ("seen_from", label(&|row| row.connection.seen_from().map(Into::into))),
    ];
    let waited = |limit| number(&|row| row.half.map(|half| seconds(half.limits.of(limit))));
    table.extend(Limit::ALL.map(|(limit, column)| (column, waited(limit))));
    table
}

fn protocol(number: u8) -> String {
    let named = PROTOCOLS.iter().find(|(known, _)| *known == number);
    named.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}
