//! Accounts of flows that guests play, in the same terms as those of our own machines.

mod kernel;

pub(crate) use kernel::{PathInfo, PathsInfo, TcpState};

use crate::guests::meter::TcpMeter;
use crate::measures::counts::{Counts, Tally};
use std::borrow::Cow;
use vazao_engine::{Histogram, Time};
use vazao_guest_protocol::{Event, Sample};
use vazao_transport::udp;

/// Account of a flow with a guest at one end at least.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// Time at which the client's connection was established.
    pub established: Option<Time>,
    /// Time at which the receiver read its first byte.
    pub first: Option<Time>,
    /// Time at which the receiver read its last byte.
    pub last: Option<Time>,
    /// Bytes that the receiver read.
    pub received: u64,
    /// Whether the receiver read a wrong byte.
    pub wrong: bool,
    /// Whether the receiver reached the end of the stream.
    pub closed: bool,
    /// Bytes that the sender wrote, once it has written all.
    pub written: Option<u64>,
    /// Reason for which a side gave up.
    pub failure: Option<String>,
    /// State of the sender's TCP connection, as last sampled.
    pub info: TcpState,
    /// Paths of the sender's association, or its subflows.
    pub paths: PathsInfo,
    /// Connections of the sender as seen on the wire.
    pub connections: Vec<(Tuple, TcpMeter)>,
    /// Whether the sender's kernel loses packets before they reach its wire, where it repeats what was never seen.
    pub loses_unseen: bool,
    /// IP packets that the sender sent, of any protocol.
    pub packets: u64,
    /// Payload bytes that arrived.
    pub delivered: u64,
    /// Arrival times of the first and the last payload.
    pub arrived: Option<(Time, Time)>,
    /// Receiver of datagrams that carry their offset in the flow.
    pub datagrams: Option<udp::Endpoint>,
}

impl Ledger {
    /// Returns the sender's counts, from its kernel and from its wire.
    pub fn counts(&self) -> Counts<'_> {
        let connections = &self.connections;
        let is_tcp = !connections.is_empty();
        let sum = |count: fn(&TcpMeter) -> u64| is_tcp.then(|| connections.iter().map(|(_, m)| count(m)).sum());
        let own = || self.info.retransmissions.or_else(|| self.paths.retransmissions());
        let seen = || sum(|meter| meter.retransmissions).or(self.paths.retransmissions);
        let mut rtt = Histogram::default();
        connections.iter().for_each(|(_, meter)| rtt.merge(&meter.rtt));
        Counts {
            tally: Tally::default()
                .with("packets_sent", self.packets)
                .and("retransmissions", if self.loses_unseen { own() } else { seen() })
                .and("timeouts", self.info.timeouts.or_else(|| self.paths.timeouts()))
                .and("duplicate_acks", sum(|meter| meter.duplicate_acks))
                .and("busy_s", self.info.busy)
                .and("rwnd_limited_s", self.info.rwnd_limited)
                .and("sndbuf_limited_s", self.info.sndbuf_limited)
                .and("reordering", self.info.reordering),
            rtt: Cow::Owned(rtt),
            srtt: self.info.path.srtt.or(self.paths.paths.first().and_then(|path| path.srtt)),
            is_over: self.written.is_some(),
        }
    }

    /// Returns the receiver's counts, to which `dropped` packets were lost on the way.
    pub fn arrivals(&self, dropped: u64) -> Tally {
        let stats = self.datagrams.iter().map(udp::Endpoint::stats);
        Tally::of(stats.flat_map(|stats| stats.arrivals())).with("packets_lost", dropped)
    }

    /// Applies an event that a guest reports of its end.
    pub fn note(&mut self, now: Time, event: &Event) {
        match *event {
            Event::First => self.first = Some(now),
            Event::Read { bytes, intact } if !self.closed => {
                if bytes > self.received {
                    self.last = Some(now);
                }
                (self.received, self.wrong) = (bytes, !intact);
            }
            Event::Last { bytes, intact, ended } => {
                // The end of a stream may arrive long after its last byte.
                let last = if bytes == self.received { self.last.unwrap_or(now) } else { now };
                (self.last, self.received, self.wrong, self.closed) = (Some(last), bytes, !intact, ended);
            }
            Event::Sent { bytes } => self.written = Some(bytes),
            Event::Info(Sample::Tcp(ref info)) => self.info.update(info),
            Event::Info(ref sample) => self.paths.update(now, sample),
            Event::Up | Event::Read { .. } | Event::Over(_) => {}
        }
    }

    /// Returns the paths that the kernel reported and the subflows seen on the wire alone, each with its counts on the
    /// wire, which go on after the kernel's last sample.
    pub fn paths(&self) -> Vec<(PathInfo, Option<&TcpMeter>)> {
        let shown = &self.paths.paths;
        let counts =
            |path: &PathInfo| self.connections.iter().find(|(tuple, _)| path.tuple() == Some(*tuple)).map(|(_, m)| m);
        let mut paths: Vec<_> = shown.iter().map(|path| (*path, counts(path))).collect();
        if shown.iter().any(|path| path.ends.is_some()) {
            let others =
                self.connections.iter().filter(|(tuple, _)| !shown.iter().any(|path| path.tuple() == Some(*tuple)));
            paths.extend(others.map(|(tuple, meter)| (PathInfo::of(*tuple), Some(meter))));
        }
        paths
    }
}

/// Addresses and ports of a connection, the sender's first.
pub(crate) type Tuple = ([u8; 4], u16, [u8; 4], u16);
