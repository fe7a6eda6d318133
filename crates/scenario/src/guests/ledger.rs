//! Accounts of flows that guests play, in the terms in which our own machines account for theirs.

mod kernel;

pub(crate) use kernel::{PathInfo, PathsInfo, TcpState};

use crate::guests::meter::TcpMeter;
use crate::measures::counts::{Counts, Tally};
use crate::measures::measure::SenderState;
use std::borrow::Cow;
use vazao_engine::{Histogram, Time};
use vazao_guest_protocol::{Event, Sample};
use vazao_transport::udp;

/// The account of a flow that a guest plays at one end at least.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// When the client's connection was established.
    pub established: Option<Time>,
    /// When the receiver read its first byte, and its last.
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Bytes that the receiver read, whether one was wrong, and whether the end of the stream was reached.
    pub received: u64,
    pub wrong: bool,
    pub closed: bool,
    /// Bytes that the sender wrote, once it has written all.
    pub written: Option<u64>,
    /// Why a side gave up.
    pub failure: Option<String>,
    /// The sender's TCP connection, as its kernel last showed it.
    pub info: TcpState,
    /// The paths of the sender's association, or its subflows, as its kernel showed them.
    pub paths: PathsInfo,
    /// The sender's connections as seen on the wire: the client's port and each one's counts.
    pub connections: Vec<(Tuple, TcpMeter)>,
    /// IP packets that the sender sent, of any protocol, and payload bytes that arrived.
    pub packets: u64,
    pub delivered: u64,
    /// When the first and the last of them arrived.
    pub arrived: Option<(Time, Time)>,
    /// The datagrams that arrived, where each says where in the flow it belongs.
    pub datagrams: Option<udp::Endpoint>,
}

impl Ledger {
    /// What the sender's kernel said, and what was seen on its wire.
    pub fn counts(&self) -> Counts<'_> {
        let connections = &self.connections;
        let is_tcp = !connections.is_empty();
        let sum = |count: fn(&TcpMeter) -> u64| is_tcp.then(|| connections.iter().map(|(_, m)| count(m)).sum());
        let mut rtt = Histogram::default();
        connections.iter().for_each(|(_, meter)| rtt.merge(&meter.rtt));
        Counts {
            tally: Tally::default()
                .with("packets_sent", self.packets)
                .and("retransmissions", sum(|meter| meter.retransmissions).or(self.paths.retransmissions))
                .and("timeouts", self.info.timeouts.or_else(|| self.paths.timeouts()))
                .and("duplicate_acks", sum(|meter| meter.duplicate_acks))
                .and("busy_s", self.info.busy)
                .and("rwnd_limited_s", self.info.rwnd_limited)
                .and("reordering", self.info.reordering),
            rtt: Cow::Owned(rtt),
            srtt: self.info.srtt().or(self.paths.paths.first().and_then(|path| path.srtt)),
            is_over: self.written.is_some(),
        }
    }

    /// What is known of arrivals at the receiver, to which `dropped` packets were lost on the way.
    pub fn arrivals(&self, dropped: u64) -> Tally {
        let stats = self.datagrams.as_ref().map(udp::Endpoint::stats);
        Tally::default()
            .with("packets_lost", dropped)
            .and("duplicates", stats.map(|stats| stats.duplicates))
            .and("reordered", stats.map(|stats| stats.reordered))
    }

    /// Enters what a guest reports of its end.
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

    /// Returns the paths that the kernel showed, and the subflows that were seen on the wire alone, each with its counts on
    /// the wire, which go on after the kernel's last sample of it.
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
