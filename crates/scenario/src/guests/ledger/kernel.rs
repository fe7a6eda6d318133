//! State of a guest's connections, as its kernel reports it in [samples](Sample).

use super::Tuple;
use crate::measures::series::{PathState, Repair, SenderState, Sent};
use std::net::SocketAddrV4;
use vazao_engine::{Duration, Time};
use vazao_guest_protocol::{Sample, TcpInfo};

/// State of a TCP connection, in bytes where the kernel counts segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpState {
    pub path: PathState,
    repair: Option<Repair>,
    sent: Sent,
    /// Observed reductions of the slow-start threshold.
    cuts: u64,
    /// Retransmitted segments.
    pub retransmissions: Option<u64>,
    /// Expiries of the retransmission timer; kernels before 6.7 do not report them.
    pub timeouts: Option<u64>,
    /// Time with data to send or to be acknowledged.
    pub busy: Option<Duration>,
    /// Time in which the receiver's window alone kept it from sending.
    pub rwnd_limited: Option<Duration>,
    /// Time in which its send buffer alone kept it from sending.
    pub sndbuf_limited: Option<Duration>,
    /// Estimate of the network's reordering in segments.
    pub reordering: Option<u64>,
}

/// Kernel's value of a slow-start threshold that was never set.
const INFINITE: u32 = 0x7fff_ffff;
/// First state in which the kernel repairs losses (`TCP_CA_CWR`, `TCP_CA_Recovery`, `TCP_CA_Loss`).
const REPAIRING: u8 = 2;

impl TcpState {
    /// Applies a sample.
    pub fn update(&mut self, info: &TcpInfo) {
        let bytes = |segments: u32| u64::from(segments) * u64::from(info.snd_mss);
        let (old, flight) = (self.path.ssthresh, bytes(info.unacked));
        let ssthresh = (info.snd_ssthresh < INFINITE).then(|| bytes(info.snd_ssthresh));
        self.path = PathState {
            cwnd: bytes(info.snd_cwnd),
            ssthresh,
            srtt: srtt(info.rtt_us.into()),
            flight,
            ..PathState::default()
        };
        self.repair = Some(Repair { ca_state: info.ca_state, lost: info.lost.into(), sacked: info.sacked.into() });
        let bytes = info.bytes_sent.saturating_sub(info.bytes_retrans);
        self.sent = Sent { segments: info.segs_out.into(), bytes, flight };
        self.cuts += u64::from(ssthresh.is_some_and(|new| old.is_none_or(|old| new < old)));
        self.retransmissions = Some(info.total_retrans.into());
        self.timeouts = info.total_rto.map(u64::from);
        self.busy = Some(Duration::from_micros(info.busy_time_us));
        self.rwnd_limited = Some(Duration::from_micros(info.rwnd_limited_us));
        self.sndbuf_limited = Some(Duration::from_micros(info.sndbuf_limited_us));
        self.reordering = Some(info.reordering.into());
    }
}

/// Converts a smoothed round-trip time, if one has been measured.
fn srtt(us: u64) -> Option<Duration> {
    (us > 0).then(|| Duration::from_micros(us))
}

impl SenderState for TcpState {
    fn cwnd(&self) -> u64 {
        self.path.cwnd
    }
    fn in_slow_start(&self) -> bool {
        self.path.ssthresh.is_none_or(|threshold| self.path.cwnd < threshold)
    }
    fn is_repairing(&self) -> bool {
        self.repair.is_some_and(|repair| repair.ca_state >= REPAIRING)
    }
    fn cuts(&self) -> u64 {
        self.cuts
    }
    fn sent(&self) -> Sent {
        self.sent
    }
    fn path(&self, _number: usize) -> PathState {
        self.path
    }
    fn repair(&self, _number: usize) -> Option<Repair> {
        self.repair
    }
}

/// State of an SCTP association or a Multipath TCP connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathsInfo {
    /// Retransmitted DATA chunks of an association.
    pub retransmissions: Option<u64>,
    /// Paths: an association's primary one first, subflows in the order in which they were seen.
    pub paths: Vec<PathInfo>,
}

/// Path of an association, or subflow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathInfo {
    /// Addresses of a subflow, the sender's first.
    pub ends: Option<[[u8; 4]; 2]>,
    ports: [u16; 2],
    pub srtt: Option<Duration>,
    /// Retransmitted segments of a subflow.
    pub retransmissions: Option<u64>,
    /// Expiries of a subflow's retransmission timer, if the kernel reports them.
    pub timeouts: Option<u64>,
    cwnd: u64,
    /// Time of the last sample.
    since: Time,
    /// Time of the first sample.
    first: Time,
    /// Integral of the window over time.
    area: f64,
}

impl PathInfo {
    pub fn of((sender, own, receiver, peer): Tuple) -> PathInfo {
        PathInfo { ends: Some([sender, receiver]), ports: [own, peer], ..PathInfo::default() }
    }

    pub fn tuple(&self) -> Option<Tuple> {
        self.ends.map(|[sender, receiver]| (sender, self.ports[0], receiver, self.ports[1]))
    }

    /// Returns the time average of the window in bytes until `end`.
    pub fn cwnd_mean(&self, end: Time) -> Option<f64> {
        let rest = self.cwnd as f64 * end.since(self.since.min(end)).as_secs();
        let span = end.since(self.first.min(end)).as_secs();
        (span > 0.0).then(|| (self.area + rest) / span)
    }

    fn new(now: Time) -> PathInfo {
        PathInfo { since: now, first: now, ..PathInfo::default() }
    }

    fn update(&mut self, now: Time, cwnd: u64, srtt: Option<Duration>) {
        self.area += self.cwnd as f64 * now.since(self.since).as_secs();
        (self.cwnd, self.since, self.srtt) = (cwnd, now, srtt);
    }
}

impl PathsInfo {
    /// Applies a sample of the connection or of one path. A sample of plain TCP has no paths.
    pub fn update(&mut self, now: Time, sample: &Sample) {
        match sample {
            Sample::Tcp(_) => {}
            Sample::Association { retransmissions } => self.retransmissions = Some(*retransmissions),
            Sample::Path { number, cwnd, srtt_us } => {
                let number = usize::from(*number);
                if self.paths.len() <= number {
                    self.paths.resize(number + 1, PathInfo::new(now));
                }
                self.paths[number].update(now, *cwnd, srtt(*srtt_us));
            }
            Sample::Subflow { local, peer, info } => {
                let path = self.subflow(now, [local, peer]);
                path.update(now, u64::from(info.snd_cwnd) * u64::from(info.snd_mss), srtt(info.rtt_us.into()));
                path.retransmissions = Some(info.total_retrans.into());
                path.timeouts = info.total_rto.map(u64::from);
            }
        }
    }

    /// Returns the subflow between two sockets, the sender's first.
    fn subflow(&mut self, now: Time, sockets: [&SocketAddrV4; 2]) -> &mut PathInfo {
        let (ends, ports) = (sockets.map(|socket| socket.ip().octets()), sockets.map(|socket| socket.port()));
        let known = self.paths.iter().position(|path| (path.ends, path.ports) == (Some(ends), ports));
        let index = known.unwrap_or_else(|| {
            self.paths.push(PathInfo { ends: Some(ends), ports, ..PathInfo::new(now) });
            self.paths.len() - 1
        });
        &mut self.paths[index]
    }

    /// Returns the timeouts of all paths, if the kernel reports them.
    pub fn timeouts(&self) -> Option<u64> {
        self.sum(|path| path.timeouts)
    }

    /// Returns what the kernel itself counts as retransmitted: chunks of an association, or segments of all subflows.
    pub fn retransmissions(&self) -> Option<u64> {
        self.retransmissions.or_else(|| self.sum(|path| path.retransmissions))
    }

    /// Returns the sum over all paths of what the kernel reports of each.
    fn sum(&self, count: impl Fn(&PathInfo) -> Option<u64>) -> Option<u64> {
        let all: Option<Vec<_>> = self.paths.iter().map(count).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_state_is_in_bytes_and_a_cut_is_a_lower_threshold() {
        let sample = TcpInfo {
            snd_cwnd: 20,
            snd_ssthresh: INFINITE,
            snd_mss: 1000,
            rtt_us: 50_000,
            unacked: 7,
            ca_state: 1,
            sacked: 2,
            lost: 1,
            reordering: 5,
            busy_time_us: 90_000,
            rwnd_limited_us: 20_000,
            sndbuf_limited_us: 30_000,
            ..TcpInfo::default()
        };
        let mut info = TcpState::default();
        info.update(&sample);
        assert_eq!((info.cwnd(), info.ssthresh(), info.path.flight, info.cuts()), (20_000, None, 7_000, 0));
        assert!(info.in_slow_start() && !info.is_repairing());
        assert_eq!(info.repair(0), Some(Repair { ca_state: 1, lost: 1, sacked: 2 }));
        let times = [info.busy, info.rwnd_limited, info.sndbuf_limited];
        assert_eq!(times, [90, 20, 30].map(|ms| Some(Duration::from_millis(ms))));
        assert_eq!((info.reordering, info.timeouts), (Some(5), None));
        assert_eq!(info.path.srtt, Some(Duration::from_millis(50)));
        for (snd_ssthresh, cuts) in [(14, 1), (14, 1), (9, 2), (30, 2), (10, 3)] {
            info.update(&TcpInfo { snd_cwnd: 14, snd_ssthresh, snd_mss: 1000, ca_state: 3, ..TcpInfo::default() });
            assert_eq!((info.cuts(), info.is_repairing()), (cuts, true), "threshold {snd_ssthresh}");
        }
    }

    #[test]
    fn a_subflow_is_known_by_its_ends() {
        let socket = |host, port| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, host), port);
        let sample = |port: u16| Sample::Subflow {
            local: socket(1, port),
            peer: socket(2, 5001),
            info: TcpInfo { snd_cwnd: 10, snd_mss: 1000, total_retrans: 3, total_rto: Some(2), ..TcpInfo::default() },
        };
        let mut info = PathsInfo::default();
        info.update(Time::ZERO, &sample(1));
        info.update(Time::ZERO, &sample(2));
        // The first is gone.
        info.update(Time::from_nanos(1_000_000_000), &sample(2));
        let shown: Vec<_> = info.paths.iter().map(|path| (path.ports, path.timeouts)).collect();
        assert_eq!(shown, [([1, 5001], Some(2)), ([2, 5001], Some(2))]);
        assert_eq!((info.retransmissions, info.retransmissions(), info.timeouts()), (None, Some(6), Some(4)));
        assert_eq!(info.paths[1].ends, Some([[10, 0, 0, 1], [10, 0, 0, 2]]));
        assert_eq!(info.paths[1].cwnd_mean(Time::from_nanos(2_000_000_000)), Some(10_000.0));
    }
}
