//! SCTP as the world moves it: associations whose packets go by several ways, and the packets on those.

use crate::machine::Machine;
use crate::measure::{PathState, SenderState};
use crate::probe::Probe;
use crate::world::{Body, IP_HEADER, TO_GUEST, World};
use vazao_engine::{Duration, Time};
use vazao_network::{Ecn, Outgoing, RouteId};
use vazao_transport::sctp::{Association, PathStats};
use vazao_wire::pcapng::Direction;

/// What the network carries of an SCTP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    /// Where the world's [`Pool`](crate::pool::Pool) keeps it.
    pub packet: u32,
    /// The path it goes by: the same number at both ends.
    pub path: u8,
}

/// One end of an association.
pub(crate) struct Multihomed {
    pub association: Association,
    /// The way of each path's packets.
    pub ways: Vec<RouteId>,
    /// Packets of each path to this end that were dropped.
    pub lost: Vec<u64>,
    windows: Means,
}

/// The windows of paths, as means over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Means(Vec<Mean>);

impl Means {
    /// `span` has passed since they were looked at last.
    #[inline]
    pub fn watch(&mut self, span: Duration, windows: impl ExactSizeIterator<Item = u64>) {
        self.0.resize(windows.len(), Mean::default());
        for (mean, window) in self.0.iter_mut().zip(windows) {
            mean.area += mean.value as f64 * span.as_nanos() as f64;
            mean.value = window;
        }
    }

    /// The mean of each over `span`, if that is any time at all.
    pub fn over(&self, span: Duration) -> impl Iterator<Item = Option<f64>> {
        self.0.iter().map(move |mean| (span > Duration::ZERO).then(|| mean.area / span.as_nanos() as f64))
    }
}

/// A mean over time.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    area: f64,
    value: u64,
}

/// A path as results show it.
pub(crate) struct PathView {
    pub stats: PathStats,
    pub srtt: Option<Duration>,
    pub cwnd_mean: Option<f64>,
}

impl Multihomed {
    pub fn new(association: Association, ways: Vec<RouteId>) -> Multihomed {
        Multihomed { lost: vec![0; ways.len()], windows: Means::default(), association, ways }
    }

    /// `span` has passed since the windows were looked at last.
    #[inline]
    pub fn watch(&mut self, span: Duration) {
        self.windows.watch(span, self.association.paths().iter().map(|path| path.cwnd()));
    }

    /// Its paths, over whose windows it was watched for `span`.
    pub fn paths(&self, span: Duration) -> impl Iterator<Item = PathView> {
        let means = self.windows.over(span).chain(std::iter::repeat(None));
        self.association.paths().iter().zip(means).map(|(path, cwnd_mean)| PathView {
            stats: *path.stats(),
            srtt: Some(path.rtt().srtt()).filter(|&srtt| srtt > Duration::ZERO),
            cwnd_mean,
        })
    }
}

impl<P: Probe> World<P> {
    /// Hands a packet to one of our associations.
    pub fn deliver_parcel(&mut self, index: usize, packet: &vazao_network::Packet<Body>, parcel: Parcel) {
        if P::ON {
            let endpoint = &self.endpoints[index];
            let end = (endpoint.flow as usize, usize::from(endpoint.side));
            let content = self.parcels.get(parcel.packet);
            self.probe.on_parcel(self.now, end, Direction::Inbound, parcel.path, content);
        }
        self.accept_parcel(index, packet, parcel);
    }

    /// The same, whoever has seen it arrive.
    pub fn accept_parcel(&mut self, index: usize, packet: &vazao_network::Packet<Body>, parcel: Parcel) {
        let content = self.parcels.get(parcel.packet);
        let endpoint = &mut self.endpoints[index];
        let flow = &mut self.flows[endpoint.flow as usize];
        let Machine::Sctp(end) = &mut endpoint.machine else { unreachable!("a packet goes to an association") };
        end.association.handle(self.now, usize::from(parcel.path), content);
        if endpoint.sends {
            end.watch(self.now.since(flow.measure.last_event().max(flow.start)));
            flow.measure.on_sender_event(self.now, &end.association);
        } else if !content.data.is_empty() {
            flow.measure.on_data(self.now.since(packet.sent), packet.size);
        }
        self.parcels.discard(parcel.packet);
        self.service(index);
    }

    /// Handles an association's timers.
    #[cold]
    pub fn wake_association(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        let flow = &mut self.flows[endpoint.flow as usize];
        if let Machine::Sctp(end) = &mut endpoint.machine
            && end.association.next_timeout() <= self.now
        {
            end.association.handle_timeout(self.now);
            if endpoint.sends {
                end.watch(self.now.since(flow.measure.last_event().max(flow.start)));
                flow.measure.on_sender_event(self.now, &end.association);
            }
        }
    }

    /// Tells a sender's application which of its messages were read: with several streams, not in their order.
    #[cold]
    pub fn credit_messages(&mut self, index: usize) {
        let peer = self.endpoints[index].peer as usize;
        while let Machine::Sctp(end) = &mut self.endpoints[index].machine
            && let Some(message) = end.association.next_read()
        {
            self.endpoints[peer].application.deliver_message(self.now, message);
        }
    }

    /// Shows the probe what an association tells its application.
    pub fn report_notifications(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        let end = (endpoint.flow as usize, usize::from(endpoint.side));
        if let Machine::Sctp(machine) = &mut endpoint.machine {
            for what in machine.association.notifications() {
                self.probe.on_notification(self.now, end, what);
            }
        }
    }

    /// Tells a sender's application which of its messages will not arrive any more.
    fn settle_messages(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        while let Machine::Sctp(end) = &mut endpoint.machine
            && let Some(message) = end.association.next_settled()
        {
            endpoint.application.abandon_message(message);
        }
    }

    /// Sends every packet that an association may send now.
    pub fn transmit_parcels(&mut self, index: usize) {
        self.settle_messages(index);
        loop {
            let endpoint = &mut self.endpoints[index];
            let Machine::Sctp(end) = &mut endpoint.machine else { return };
            let packet = self.parcels.fresh();
            let content = self.parcels.get_mut(packet);
            let Some(path) = end.association.poll_transmit(self.now, content) else {
                return self.parcels.discard(packet);
            };
            if endpoint.peer & TO_GUEST != 0 {
                self.send_to_guest(index, path, packet);
                continue;
            }
            let size = IP_HEADER + content.bytes();
            let (route, to) = (end.ways[path], endpoint.peer);
            if P::ON {
                let end = (endpoint.flow as usize, usize::from(endpoint.side));
                self.probe.on_parcel(self.now, end, Direction::Outbound, path as u8, self.parcels.get(packet));
            }
            let body = Body::Sctp(Parcel { packet, path: path as u8 });
            self.send(Outgoing { route, to, size, ecn: Ecn::NotEct, body });
        }
    }
}

/// An association's window is the sum of those of its usable paths; it is in slow start while its primary path is.
impl SenderState for Association {
    #[inline]
    fn cwnd(&self) -> u64 {
        Association::paths(self).iter().filter(|path| path.is_usable()).map(|path| path.cwnd()).sum()
    }
    fn ssthresh(&self) -> Option<u64> {
        Some(Association::paths(self)[0].ssthresh()).filter(|&threshold| threshold < u64::MAX)
    }
    fn in_slow_start(&self) -> bool {
        Association::paths(self)[0].in_slow_start()
    }
    fn is_repairing(&self) -> bool {
        (0..Association::paths(self).len()).any(|path| self.is_recovering(path))
    }
    fn cuts(&self) -> u64 {
        self.sum(|path| path.recoveries + path.timeouts)
    }
    fn segments(&self) -> u64 {
        self.stats().packets
    }
    fn srtt(&self) -> Option<Duration> {
        Some(Association::paths(self)[0].rtt().srtt()).filter(|&span| span > Duration::ZERO)
    }
    fn latest_rtt(&self) -> Option<Duration> {
        Some(Association::paths(self)[0].rtt().latest()).filter(|&span| span > Duration::ZERO)
    }
    fn flight(&self) -> u64 {
        Association::flight(self)
    }
    fn sent_bytes(&self) -> u64 {
        Association::sent_bytes(self)
    }
    fn paths(&self) -> usize {
        Association::paths(self).len()
    }
    fn path(&self, number: usize) -> PathState {
        let path = &Association::paths(self)[number];
        let known = |span: Duration| Some(span).filter(|&span| span > Duration::ZERO);
        PathState {
            cwnd: path.cwnd(),
            ssthresh: Some(path.ssthresh()).filter(|&threshold| threshold < u64::MAX),
            repair: None,
            srtt: known(path.rtt().srtt()),
            latest_rtt: known(path.rtt().latest()),
            flight: path.flight(),
        }
    }
}

/// From the start of a flow to its sender's last event, or to the end of the run if it goes on.
pub(crate) fn watched(is_over: bool, last_event: Time, now: Time, start: Time) -> Duration {
    (if is_over { last_event } else { now }).since(start)
}
