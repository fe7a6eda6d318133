//! Multipath TCP as the world moves it: connections whose segments go by several ways.

use crate::machine::Machine;
use crate::measure::{PathState, SenderState};
use crate::multihomed::Means;
use crate::probe::Probe;
use crate::world::{Body, IP_HEADER, TO_GUEST, World};
use vazao_engine::{Duration, Histogram};
use vazao_network::{Outgoing, RouteId};
use vazao_transport::mptcp::{Connection, Subflow};
use vazao_transport::tcp::{self, Extra, Segment};

/// One end of a Multipath TCP connection.
pub(crate) struct Bundle {
    pub connection: Connection,
    /// The route of each pair of addresses.
    ways: Vec<RouteId>,
    /// Packets of each subflow to this end that were dropped, by the subflow's ports.
    lost: Vec<u64>,
    windows: Means,
}

impl Bundle {
    pub fn new(connection: Connection, ways: Vec<RouteId>) -> Bundle {
        Bundle { connection, ways, lost: Vec::new(), windows: Means::default() }
    }

    /// A packet to this end was dropped. One without options of Multipath TCP is of the first subflow.
    pub fn note_loss(&mut self, extra: Option<&Extra>) {
        let multipath = extra.and_then(|extra| extra.multipath.as_ref());
        let port = usize::from(multipath.map_or(0, |multipath| multipath.tuple.port));
        self.lost.resize(self.lost.len().max(port + 1), 0);
        self.lost[port] += 1;
    }

    /// How many packets of a subflow to this end were dropped.
    pub fn lost(&self, subflow: &Subflow) -> u64 {
        self.lost.get(usize::from(subflow.tuple().port)).copied().unwrap_or(0)
    }

    /// `span` has passed since the windows were looked at last.
    pub fn watch(&mut self, span: Duration) {
        self.windows.watch(span, self.connection.subflows().iter().map(|subflow| subflow.tcp().cwnd()));
    }

    /// Mean windows over `span`.
    pub fn mean_windows(&self, span: Duration) -> impl Iterator<Item = Option<f64>> {
        self.windows.over(span)
    }

    /// The sum of a count over its subflows.
    pub fn sum(&self, count: impl Fn(&tcp::Stats) -> u64) -> u64 {
        self.connection.subflows().iter().map(|subflow| count(subflow.tcp().stats())).sum()
    }

    /// The round-trip times of all subflows.
    pub fn rtt(&self) -> Histogram {
        let mut all = Histogram::default();
        self.connection.subflows().iter().for_each(|subflow| all.merge(&subflow.tcp().stats().rtt));
        all
    }
}

impl<P: Probe> World<P> {
    /// Hands a segment to one of our Multipath TCP connections, whoever has seen it arrive.
    pub fn accept_subflow(
        &mut self,
        index: usize,
        packet: &vazao_network::Packet<Body>,
        segment: &Segment,
        extra: Option<&Extra>,
    ) {
        let endpoint = &mut self.endpoints[index];
        let flow = &mut self.flows[endpoint.flow as usize];
        let Machine::Mptcp(end) = &mut endpoint.machine else { unreachable!("a subflow is of a connection") };
        if endpoint.sends {
            end.watch(self.now.since(flow.measure.last_event().max(flow.start)));
        } else if segment.length > 0 {
            flow.measure.on_data(self.now.since(packet.sent), packet.size);
        }
        end.connection.handle(self.now, segment, extra);
        if endpoint.sends {
            flow.measure.on_sender_event(self.now, &end.connection);
        }
        self.service(index);
    }

    /// Handles a Multipath TCP connection's timers.
    #[cold]
    pub fn wake_bundle(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        let flow = &mut self.flows[endpoint.flow as usize];
        if let Machine::Mptcp(end) = &mut endpoint.machine
            && end.connection.next_timeout() <= self.now
        {
            end.connection.handle_timeout(self.now);
            if endpoint.sends {
                end.watch(self.now.since(flow.measure.last_event().max(flow.start)));
                flow.measure.on_sender_event(self.now, &end.connection);
            }
        }
    }

    /// Sends every segment that a Multipath TCP connection may send now.
    pub fn transmit_bundle(&mut self, index: usize) {
        loop {
            let endpoint = &mut self.endpoints[index];
            let Machine::Mptcp(end) = &mut endpoint.machine else { return };
            let extras = &mut self.extras;
            let Some(mut segment) = end.connection.poll_transmit(self.now, &mut extras.scratch) else { return };
            let size = IP_HEADER + segment.header_bytes(&extras.scratch) + u32::from(segment.length);
            let way = extras.scratch.multipath.map_or(0, |multipath| multipath.tuple.way);
            let (route, to) = (end.ways[usize::from(way)], endpoint.peer);
            if to & TO_GUEST != 0 {
                self.send_subflow_to_guest(index, route, &segment);
                continue;
            }
            segment.extra = extras.keep_scratch();
            let body = Body::Tcp(segment);
            if P::ON {
                let end = (endpoint.flow as usize, usize::from(endpoint.side));
                self.probe.on_send(self.now, end, &body, &self.extras.scratch);
            }
            self.send(Outgoing { route, to, size, ecn: segment.ecn, body });
        }
    }
}

/// A connection's window is the sum of those of its open subflows; it is in slow start while its first is.
impl SenderState for Connection {
    fn cwnd(&self) -> u64 {
        self.subflows().iter().filter(|subflow| subflow.is_open()).map(|subflow| subflow.tcp().cwnd()).sum()
    }
    fn ssthresh(&self) -> Option<u64> {
        SenderState::ssthresh(self.subflows()[0].tcp())
    }
    fn in_slow_start(&self) -> bool {
        SenderState::in_slow_start(self.subflows()[0].tcp())
    }
    fn is_repairing(&self) -> bool {
        self.subflows().iter().any(|subflow| subflow.tcp().is_repairing())
    }
    fn cuts(&self) -> u64 {
        self.subflows().iter().map(|subflow| SenderState::cuts(subflow.tcp())).sum()
    }
    fn segments(&self) -> u64 {
        self.subflows().iter().map(|subflow| subflow.tcp().stats().segments).sum()
    }
    fn srtt(&self) -> Option<Duration> {
        SenderState::srtt(self.subflows()[0].tcp())
    }
    fn latest_rtt(&self) -> Option<Duration> {
        SenderState::latest_rtt(self.subflows()[0].tcp())
    }
    fn flight(&self) -> u64 {
        self.outstanding()
    }
    fn sent_bytes(&self) -> u64 {
        Connection::sent_bytes(self)
    }
    fn paths(&self) -> usize {
        self.subflows().len()
    }
    fn path(&self, number: usize) -> PathState {
        SenderState::path(self.subflows()[number].tcp(), 0)
    }
}
