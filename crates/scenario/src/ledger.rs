//! What guests report of their flows, kept in the terms in which our own machines account for theirs.

use crate::measure::{Repair, SenderState};
use crate::meter::TcpMeter;
use std::net::SocketAddrV4;
use vazao_engine::{Duration, Time};
use vazao_transport::udp;

/// A flow of which at least one side is a guest's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// When the client's connection stood.
    pub established: Option<Time>,
    /// When the receiver read its first byte, and its last.
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Bytes that the receiver read, whether each was the right one, and whether the end of the stream was reached.
    pub received: u64,
    pub wrong: bool,
    pub closed: bool,
    /// Bytes that the sender wrote, once it has written all.
    pub written: Option<u64>,
    /// Why a side gave up.
    pub failure: Option<String>,
    /// What the sender's kernel last said of its connection.
    pub info: TcpInfo,
    /// What the sender's kernel says of the paths of its association, or of its subflows.
    pub paths: PathsInfo,
    /// The sender's connections as seen on the wire: the client's port and each one's counts.
    pub connections: Vec<(Tuple, TcpMeter)>,
    /// IP packets that the sender sent, of any protocol, and payload bytes that arrived.
    pub packets: u64,
    pub delivered: u64,
    /// When the first and the last of them arrived.
    pub arrived: Option<(Time, Time)>,
    /// The datagrams that arrived, where each says its place.
    pub datagrams: Option<udp::Endpoint>,
}

impl Ledger {
    /// The paths of which its kernel told something, and the subflows that were seen on the wire alone, each of these with its
    /// counts: what a kernel last said of a subflow comes before its last packets.
    pub fn paths(&self) -> Vec<(PathInfo, Option<&TcpMeter>)> {
        let told = &self.paths.paths;
        let counts =
            |path: &PathInfo| self.connections.iter().find(|(tuple, _)| path.tuple() == Some(*tuple)).map(|(_, m)| m);
        let mut paths: Vec<_> = told.iter().map(|path| (*path, counts(path))).collect();
        if told.iter().any(|path| path.ends.is_some()) {
            let untold =
                self.connections.iter().filter(|(tuple, _)| !told.iter().any(|path| path.tuple() == Some(*tuple)));
            paths.extend(untold.map(|(tuple, meter)| (PathInfo::of(*tuple), Some(meter))));
        }
        paths
    }
}

/// Addresses and ports of a connection, the sender's first.
pub(crate) type Tuple = ([u8; 4], u16, [u8; 4], u16);

/// A sample of a kernel's state of a connection (`struct tcp_info`).
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpInfo {
    cwnd: u64,
    ssthresh: Option<u64>,
    srtt: Option<Duration>,
    flight: u64,
    sent: u64,
    segments: u64,
    repair: Repair,
    /// Reductions of the slow-start threshold seen.
    cuts: u64,
    /// Expiries of the retransmission timer; kernels before 6.7 do not say.
    pub timeouts: Option<u64>,
    /// For how long it had something to do, and for how long the receiver's window alone kept it from that.
    pub busy: Option<Duration>,
    pub rwnd_limited: Option<Duration>,
    /// By how many segments the network is believed to reorder.
    pub reordering: Option<u64>,
}

/// The kernel's value of a slow-start threshold that was never set.
const INFINITE: u64 = 0x7fff_ffff;

impl TcpInfo {
    /// Takes over what a sample says, in the kernel's names and units. False: it says nothing of a window, as with
    /// connections that have several or count them otherwise.
    pub fn update(&mut self, sample: &str) -> bool {
        let value = |wanted| value(sample, wanted);
        let (Some(mss), Some(cwnd)) = (value("mss"), value("cwnd")) else { return false };
        let old = self.ssthresh;
        self.cwnd = cwnd * mss;
        self.ssthresh = value("ssthresh").filter(|&s| s < INFINITE).map(|s| s * mss);
        self.srtt = value("srtt_us").filter(|&us| us > 0).map(Duration::from_micros);
        self.flight = value("unacked").unwrap_or(0) * mss;
        self.sent = value("bytes_sent").unwrap_or(0).saturating_sub(value("bytes_retrans").unwrap_or(0));
        self.segments = value("segs_out").unwrap_or(0);
        let count = |wanted| value(wanted).unwrap_or(0);
        self.repair = Repair { ca_state: count("ca_state") as u8, lost: count("lost"), sacked: count("sacked") };
        if self.ssthresh.is_some() && self.ssthresh != old && old.is_none_or(|old| self.ssthresh < Some(old)) {
            self.cuts += 1;
        }
        self.timeouts = value("total_rto");
        self.busy = value("busy_time_us").map(Duration::from_micros);
        self.rwnd_limited = value("rwnd_limited_us").map(Duration::from_micros);
        self.reordering = value("reordering");
        true
    }
}

/// Samples of a kernel's state of what goes by several paths: an association (`struct sctp_assoc_stats`, `struct
/// sctp_paddrinfo`), or a connection of Multipath TCP (`struct tcp_info` of each subflow).
#[derive(Clone, Debug, Default)]
pub(crate) struct PathsInfo {
    /// Chunks sent again.
    pub retransmissions: Option<u64>,
    /// The paths: an association's primary one first, subflows in the order in which they were seen.
    pub paths: Vec<PathInfo>,
}

/// A path of an association, or a subflow. `None`: its kernel does not say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathInfo {
    /// A subflow's addresses, the sender's first.
    pub ends: Option<[[u8; 4]; 2]>,
    ports: [u16; 2],
    pub srtt: Option<Duration>,
    pub timeouts: Option<u64>,
    /// Its window, since when, and its integral over time since the first sample.
    cwnd: u64,
    since: Time,
    first: Time,
    area: f64,
}

impl PathInfo {
    fn of((sender, own, receiver, peer): Tuple) -> PathInfo {
        PathInfo { ends: Some([sender, receiver]), ports: [own, peer], ..PathInfo::default() }
    }

    fn tuple(&self) -> Option<Tuple> {
        self.ends.map(|[sender, receiver]| (sender, self.ports[0], receiver, self.ports[1]))
    }

    /// Bytes of its window on average until `end`.
    pub fn cwnd_mean(&self, end: Time) -> Option<f64> {
        let rest = self.cwnd as f64 * end.since(self.since.min(end)).as_secs();
        let span = end.since(self.first.min(end)).as_secs();
        (span > 0.0).then(|| (self.area + rest) / span)
    }
}

impl PathsInfo {
    /// Takes over what a sample says of the whole, or of one of its paths.
    pub fn update(&mut self, now: Time, path: Option<usize>, sample: &str) {
        let value = |wanted| value(sample, wanted);
        let Some(number) = path else {
            self.retransmissions = value("total_retrans").or(self.retransmissions);
            return;
        };
        let segments = || Some(value("cwnd")? * value("mss")?);
        let Some(cwnd) = value("cwnd_bytes").or_else(segments) else { return };
        let path = self.path(now, number, sample);
        path.area += path.cwnd as f64 * now.since(path.since).as_secs();
        (path.cwnd, path.since) = (cwnd, now);
        path.srtt = value("srtt_us").filter(|&us| us > 0).map(Duration::from_micros);
        path.timeouts = value("total_rto");
    }

    /// The path that a sample is of. A subflow is known by its addresses and ports: its number falls when one before it is
    /// gone.
    fn path(&mut self, now: Time, number: usize, sample: &str) -> &mut PathInfo {
        let end = |wanted| word(sample, wanted)?.parse::<SocketAddrV4>().ok();
        let fresh = PathInfo { since: now, first: now, ..PathInfo::default() };
        let place = match end("local").zip(end("peer")) {
            Some((local, peer)) => {
                let (ends, ports) = ([local, peer].map(|end| end.ip().octets()), [local, peer].map(|end| end.port()));
                let known = self.paths.iter().position(|path| (path.ends, path.ports) == (Some(ends), ports));
                known.unwrap_or_else(|| {
                    self.paths.push(PathInfo { ends: Some(ends), ports, ..fresh });
                    self.paths.len() - 1
                })
            }
            None => number,
        };
        if self.paths.len() <= place {
            self.paths.resize(place + 1, fresh);
        }
        &mut self.paths[place]
    }

    /// Timeouts of all paths.
    pub fn timeouts(&self) -> Option<u64> {
        let all: Option<Vec<_>> = self.paths.iter().map(|path| path.timeouts).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
    }
}

/// What a sample gives a name.
fn word<'a>(sample: &'a str, wanted: &str) -> Option<&'a str> {
    let mut found = sample.split_ascii_whitespace().filter_map(|word| word.split_once('='));
    Some(found.find(|(name, _)| *name == wanted)?.1)
}

/// The number that a sample gives a name.
fn value(sample: &str, wanted: &str) -> Option<u64> {
    word(sample, wanted)?.parse().ok()
}

impl SenderState for TcpInfo {
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
        // TCP_CA_CWR, Recovery and Loss.
        self.repair.ca_state >= 2
    }
    fn repair(&self) -> Option<Repair> {
        Some(self.repair)
    }
    fn cuts(&self) -> u64 {
        self.cuts
    }
    fn segments(&self) -> u64 {
        self.segments
    }
    fn srtt(&self) -> Option<Duration> {
        self.srtt
    }
    fn latest_rtt(&self) -> Option<Duration> {
        None
    }
    fn flight(&self) -> u64 {
        self.flight
    }
    fn sent_bytes(&self) -> u64 {
        self.sent
    }
}

/// What one line of a guest's reports says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report<'a> {
    Up(usize),
    First(usize),
    /// Bytes, whether they were right, and whether the end was heard of.
    Last(usize, u64, bool, bool),
    Read(usize, u64, bool),
    Sent(usize, u64),
    /// A side is over; why, if it failed.
    Over(usize, Option<&'a str>),
    /// A sample of a flow's socket; of a subflow if the second number is there.
    Info(usize, Option<usize>, &'a str),
    /// The plan could not be carried out.
    Wrong(&'a str),
    /// Something that needs no action.
    Other,
}

impl<'a> Report<'a> {
    /// Reads a line.
    pub fn parse(line: &'a str) -> Report<'a> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (flow, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        let numbers: Vec<u64> = tail.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let (whole, part) = flow.split_once('.').map_or((flow, None), |(f, s)| (f, s.parse().ok()));
        let flow: Option<usize> = whole.parse().ok();
        match (kind, flow, numbers.as_slice()) {
            ("up", Some(flow), _) => Report::Up(flow),
            ("first", Some(flow), _) => Report::First(flow),
            ("last", Some(flow), [bytes, intact, rest @ ..]) => {
                Report::Last(flow, *bytes, *intact == 1, rest.first() != Some(&0))
            }
            ("read", Some(flow), [bytes, intact, ..]) => Report::Read(flow, *bytes, *intact == 1),
            ("sent", Some(flow), [bytes, ..]) => Report::Sent(flow, *bytes),
            ("over", Some(flow), _) => Report::Over(flow, (tail != "ok").then_some(tail)),
            ("info", Some(flow), _) => Report::Info(flow, part, tail),
            ("wrong", _, _) => Report::Wrong(rest),
            _ => Report::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        for (line, report) in [
            ("up 3", Report::Up(3)),
            ("last 3 10000000 1", Report::Last(3, 10_000_000, true, true)),
            ("last 3 10 1 0", Report::Last(3, 10, true, false)),
            ("read 3 500 0", Report::Read(3, 500, false)),
            ("sent 3 7", Report::Sent(3, 7)),
            ("over 3 ok", Report::Over(3, None)),
            ("over 3 ECONNREFUSED connect", Report::Over(3, Some("ECONNREFUSED connect"))),
            ("over 6 exit status 1", Report::Over(6, Some("exit status 1"))),
            ("info 3.1 cwnd=10 mss=1448", Report::Info(3, Some(1), "cwnd=10 mss=1448")),
            ("wrong sysctl net.x: none", Report::Wrong("sysctl net.x: none")),
            ("counter TcpExt.TCPTimeouts 3", Report::Other),
            ("last 3", Report::Other),
            ("", Report::Other),
        ] {
            assert_eq!(Report::parse(line), report, "{line:?}");
        }
    }

    #[test]
    fn a_sample_is_in_bytes_and_a_cut_is_a_lower_threshold() {
        let mut info = TcpInfo::default();
        info.update(
            "cwnd=20 ssthresh=2147483647 mss=1000 srtt_us=50000 unacked=7 ca_state=1 sacked=2 lost=1 reordering=5 \
             busy_time_us=90000 rwnd_limited_us=20000",
        );
        assert_eq!((info.cwnd(), info.ssthresh(), info.flight(), info.cuts()), (20_000, None, 7_000, 0));
        assert!(info.in_slow_start() && !info.is_repairing());
        assert_eq!(info.repair(), Some(Repair { ca_state: 1, lost: 1, sacked: 2 }));
        assert_eq!((info.busy, info.rwnd_limited), (Some(Duration::from_millis(90)), Some(Duration::from_millis(20))));
        assert_eq!(info.reordering, Some(5));
        assert_eq!(info.srtt(), Some(Duration::from_millis(50)));
        for (threshold, cuts) in [(14, 1), (14, 1), (9, 2), (30, 2), (10, 3)] {
            info.update(&format!("cwnd=14 ssthresh={threshold} mss=1000 ca_state=3"));
            assert_eq!((info.cuts(), info.is_repairing()), (cuts, true), "threshold {threshold}");
        }
    }

    #[test]
    fn a_subflow_is_known_by_its_ends() {
        let sample = |port: u16, sent: u64| {
            format!(
                "local=10.0.0.1:{port} peer=10.0.0.2:5001 cwnd=10 mss=1000 srtt_us=0 bytes_sent={sent} bytes_retrans=5 \
                 segs_out=9 total_retrans=1 total_rto=2"
            )
        };
        let mut info = PathsInfo::default();
        info.update(Time::ZERO, None, "subflows=1 bytes_sent=7");
        info.update(Time::ZERO, Some(0), &sample(1, 100));
        info.update(Time::ZERO, Some(1), &sample(2, 200));
        // The first is gone.
        info.update(Time::from_nanos(1_000_000_000), Some(0), &sample(2, 300));
        let told: Vec<_> = info.paths.iter().map(|path| (path.ports, path.timeouts)).collect();
        assert_eq!(told, [([1, 5001], Some(2)), ([2, 5001], Some(2))]);
        assert_eq!((info.retransmissions, info.timeouts()), (None, Some(4)));
        assert_eq!(info.paths[1].ends, Some([[10, 0, 0, 1], [10, 0, 0, 2]]));
        assert_eq!(info.paths[1].cwnd_mean(Time::from_nanos(2_000_000_000)), Some(10_000.0));
    }
}
