//! Least linger time: the subflow that will have sent what it holds soonest.

use super::{Build, Decision, PacketScheduler, PathState, Situation};
use vazao_engine::registry::Entry;
use vazao_engine::{Duration, Time};

/// Scheduler of Linux's Multipath TCP (`mptcp_subflow_get_send`, net/mptcp/protocol.c, as of 6.12), which is meant
/// to avoid blocking as BLEST does: the next burst goes to the subflow with the least linger time, which is what it holds
/// unacknowledged, sent or not, over its pacing rate.
///
/// Windows do not matter: data waits in the subflows' send buffers, and where that of the chosen one is full nothing is
/// given to any. A buffer takes memory for twice the congestion window, and grows while the window has room
/// (`tcp_sndbuf_expand`); all of them together bound what the stream has unacknowledged (`__mptcp_sync_sndbuf`).
///
/// The pacing rate is averaged over bursts: old rate and new one count as what the subflow holds and the burst. Whether
/// Linux paces or not, it is the window over the smoothed round-trip time, times 1.2, or 2 where the window is less than
/// half the slow-start threshold (`tcp_update_pacing_rate`); of a control with a rate of its own it is that.
pub struct LeastLinger {
    subflows: Vec<Subflow>,
    burst: Burst,
}

/// Averaged pacing rate of a subflow in bytes a second, and size of its send buffer in bytes with the window that it was
/// made for.
#[derive(Clone, Copy, Default)]
struct Subflow {
    rate: Option<f64>,
    buffer: u64,
    window: u64,
}

/// Burst under way: its subflow, the time that it began, and the bytes that are left of it. It ends with the event that
/// made room.
#[derive(Clone, Copy)]
struct Burst {
    path: usize,
    at: Time,
    left: u64,
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "least-linger",
    aliases: &["linger-time"],
    title: "Least linger time",
    source: "Linux 6.12, net/mptcp/protocol.c",
    help: "the subflow that will have sent what it holds soonest at its pacing rate, in bursts, as Linux's own does",
    parameters: &[],
    build: |_| Box::new(LeastLinger { subflows: Vec::new(), burst: Burst { path: 0, at: Time::NEVER, left: 0 } }),
};

/// Bytes given to a subflow in a row (MPTCP_SEND_BURST_SIZE).
const BURST: u64 = 65_428;
/// What the stream has beside its subflows' buffers, and the largest of those: the first and the last value of tcp_wmem.
const TCP_WMEM: [u64; 2] = [4096, 4 << 20];
/// Segments of the least window that a buffer is made for.
const LEAST_WINDOW: u64 = 10;
/// Memory of a segment beside its bytes: headers, up to a power of two together with them, and an skb.
const HEADERS: u64 = 512;
const SKB: u64 = 256;

/// Pacing rate in bytes a second; `None` before the first measurement.
fn pacing_rate(path: &PathState) -> Option<f64> {
    let ratio = if path.cwnd < path.ssthresh / 2 { 2.0 } else { 1.2 };
    let window = path.cwnd.max(path.held - path.queued) as f64;
    let own = path.pacing_rate.map(|rate| rate.as_bps() as f64 / 8.0);
    own.or_else(|| (path.srtt > Duration::ZERO).then(|| ratio * window / path.srtt.as_secs()))
}

impl Subflow {
    /// Lets the buffer grow where the window has room.
    fn observe(&mut self, path: &PathState) {
        if path.has_room && path.cwnd > self.window || self.buffer == 0 {
            self.window = path.cwnd;
            let segments = (path.cwnd / path.mss).max(LEAST_WINDOW);
            let memory = 2 * segments * ((path.mss + HEADERS).next_power_of_two() + SKB);
            self.buffer = self.buffer.max(memory.min(TCP_WMEM[1]));
        }
    }

    /// Averages the rate where a burst is added.
    fn average(&mut self, path: &PathState, burst: u64) {
        let (held, burst) = (path.held as f64, burst as f64);
        if let Some((before, now)) = self.rate.zip(pacing_rate(path)).filter(|_| burst > 0.0) {
            self.rate = Some((before * held + now * burst) / (held + burst));
        }
    }

    /// Seconds until the subflow will have sent what it holds; zero while its rate is unknown. The first rate is taken as it
    /// is.
    fn linger_time(&mut self, path: &PathState) -> f64 {
        self.rate = self.rate.or_else(|| pacing_rate(path));
        self.rate.map_or(0.0, |rate| path.held as f64 / rate)
    }
}

impl LeastLinger {
    /// Usable subflow with the least linger time; ties go to the first.
    fn best(&mut self, paths: &[PathState]) -> Option<usize> {
        let known = paths.iter().zip(&mut self.subflows).enumerate().filter(|(_, (path, _))| path.is_known());
        let times = known.map(|(number, (path, subflow))| (number, subflow.linger_time(path)));
        let sooner = |best: (usize, f64), next: (usize, f64)| if next.1 < best.1 { next } else { best };
        times.reduce(sooner).map(|(number, _)| number)
    }

    /// Whether the subflow's buffer has room, and those of all together.
    fn has_buffer(&self, path: usize, situation: &Situation<'_>) -> bool {
        let all = TCP_WMEM[0] + self.subflows.iter().map(|subflow| subflow.buffer).sum::<u64>();
        situation.outstanding < all && situation.paths[path].held < self.subflows[path].buffer
    }

    /// Whether a burst that began now goes on.
    fn goes_on(&self, situation: &Situation<'_>) -> bool {
        let Burst { path, at, left } = self.burst;
        at == situation.now && left > 0 && situation.paths[path].usable && self.has_buffer(path, situation)
    }
}

impl PacketScheduler for LeastLinger {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let paths = situation.paths;
        self.subflows.resize(paths.len(), Subflow::default());
        for (subflow, path) in self.subflows.iter_mut().zip(paths) {
            subflow.observe(path);
        }
        if situation.waiting > 0 && self.goes_on(situation) {
            return Decision::send(Some(self.burst.path));
        }
        let best = self.best(paths);
        let Some(path) = best.filter(|_| situation.waiting > 0) else { return Decision::send(best) };
        if !self.has_buffer(path, situation) {
            return Decision::Wait;
        }
        let burst = BURST.min(situation.window);
        self.subflows[path].average(&paths[path], burst);
        self.burst = Burst { path, at: situation.now, left: burst };
        Decision::send(best)
    }

    fn on_sent(&mut self, _: usize, bytes: u64) {
        self.burst.left = self.burst.left.saturating_sub(bytes);
    }

    fn queues(&self) -> bool {
        true
    }
}
