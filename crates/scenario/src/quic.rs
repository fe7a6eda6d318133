//! QUIC as the world moves it.

use crate::machine::Machine;
use crate::measure::{PathState, SenderState};
use crate::probe::{Crossing, Probe};
use crate::world::{Body, IP_HEADER, World};
use vazao_engine::Duration;
use vazao_network::{Outgoing, Packet};
use vazao_transport::quic::{Connection, Frame, PathView};
use vazao_wire::pcapng::Direction;

/// Bytes of a UDP header.
const UDP_HEADER: u32 = 8;

/// Whether a frame brings data: parity does, as what is lost is made of it.
fn is_data(frame: &Frame) -> bool {
    matches!(frame, Frame::Stream(_) | Frame::Datagram { .. } | Frame::Parity(_))
}

impl<P: Probe> World<P> {
    /// Hands a datagram to one of our QUIC connections.
    pub fn deliver_quic(&mut self, index: usize, packet: &Packet<Body>, datagram: u32) {
        let content = self.datagrams.get(datagram);
        let endpoint = &mut self.endpoints[index];
        let end = endpoint.end();
        let flow = &mut self.flows[endpoint.flow as usize];
        let Machine::Quic(connection) = &mut endpoint.machine else { unreachable!("a datagram goes to its kind") };
        connection.handle(self.now, content, packet.ecn());
        if P::ON {
            let crossing = Crossing { way: Direction::Inbound, ecn: packet.ecn(), datagram: content };
            self.probe.on_datagram(self.now, end, crossing, connection);
        }
        if endpoint.sends {
            flow.measure.on_sender_event(self.now, &**connection);
        } else if content.frames.iter().any(is_data) {
            flow.measure.on_data(self.now.since(packet.sent), packet.size);
        }
        self.datagrams.discard(datagram);
        self.service(index);
    }

    /// Handles a QUIC connection's timers.
    #[inline(never)]
    pub fn wake_quic(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        let end = endpoint.end();
        let flow = &mut self.flows[endpoint.flow as usize];
        if let Machine::Quic(connection) = &mut endpoint.machine
            && connection.next_timeout() <= self.now
        {
            connection.handle_timeout(self.now);
            if P::ON {
                self.probe.on_timeout(self.now, end, connection);
            }
            if endpoint.sends {
                flow.measure.on_sender_event(self.now, &**connection);
            }
        }
    }

    /// Tells a sender's application which of its messages were read: by place where there is one stream, else by number.
    #[cold]
    pub fn credit_streams(&mut self, index: usize) {
        let endpoint = &self.endpoints[index];
        let (Machine::Quic(receiver), peer) = (&endpoint.machine, endpoint.peer as usize) else { return };
        if receiver.is_unreliable() {
            return self.credit_read_datagrams(index, peer);
        }
        if receiver.carriers() == 1 {
            let received = receiver.read_of(0);
            return self.endpoints[peer].application.deliver(self.now, received);
        }
        let read: Vec<u64> = (0..receiver.carriers()).map(|carrier| receiver.read_of(carrier)).collect();
        let sender = &mut self.endpoints[peer];
        let Machine::Quic(connection) = &mut sender.machine else { return };
        for (carrier, read) in (0..).zip(read) {
            while let Some(message) = connection.next_delivered(carrier, read) {
                sender.application.deliver_message(self.now, message);
            }
        }
    }

    /// The same where messages go as datagrams.
    fn credit_read_datagrams(&mut self, index: usize, peer: usize) {
        while let Machine::Quic(receiver) = &mut self.endpoints[index].machine
            && let Some(datagram) = receiver.take_read_datagram()
        {
            let sender = &mut self.endpoints[peer];
            let Machine::Quic(connection) = &mut sender.machine else { return };
            if let Some(message) = connection.settle_datagram(datagram) {
                sender.application.deliver_message(self.now, message);
            }
        }
    }

    /// Sends every datagram that a QUIC connection may send now.
    pub fn transmit_quic(&mut self, index: usize) {
        loop {
            let endpoint = &mut self.endpoints[index];
            let end = endpoint.end();
            let Machine::Quic(connection) = &mut endpoint.machine else { return };
            let datagram = self.datagrams.fresh();
            let content = self.datagrams.get_mut(datagram);
            if !connection.poll_transmit(self.now, content) {
                return self.datagrams.give_back(datagram);
            }
            if P::ON {
                let crossing = Crossing { way: Direction::Outbound, ecn: content.ecn, datagram: content };
                self.probe.on_datagram(self.now, end, crossing, connection);
            }
            let size = IP_HEADER + UDP_HEADER + content.bytes;
            let route = endpoint.ways.get(usize::from(content.address.way)).copied().unwrap_or(endpoint.route);
            let (to, ecn) = (endpoint.peer, content.ecn);
            self.send(Outgoing { route, to, size, ecn, body: Body::Quic(datagram) });
        }
    }
}

impl SenderState for Connection {
    fn cwnd(&self) -> u64 {
        Connection::cwnd(self)
    }
    fn ssthresh(&self) -> Option<u64> {
        Some(self.control().ssthresh()).filter(|&threshold| threshold < u64::MAX)
    }
    fn in_slow_start(&self) -> bool {
        self.control().in_slow_start()
    }
    fn is_repairing(&self) -> bool {
        Connection::is_repairing(self)
    }
    fn cuts(&self) -> u64 {
        self.stats().recoveries + self.stats().mark_reductions + self.stats().persistent_congestions
    }
    fn segments(&self) -> u64 {
        self.stats().datagrams
    }
    fn srtt(&self) -> Option<Duration> {
        self.is_measured().then(|| self.rtt().srtt())
    }
    fn latest_rtt(&self) -> Option<Duration> {
        self.is_measured().then(|| self.rtt().latest())
    }
    fn flight(&self) -> u64 {
        Connection::flight(self)
    }
    fn sent_bytes(&self) -> u64 {
        Connection::sent_bytes(self)
    }
    fn paths(&self) -> usize {
        Connection::paths(self).len()
    }
    fn path(&self, number: usize) -> PathState {
        let path = Connection::paths(self).nth(number).expect("a path that was used");
        let PathView { cwnd, ssthresh, srtt, latest_rtt, flight, .. } = path;
        PathState { cwnd, ssthresh, srtt, latest_rtt, flight, repair: None }
    }
}
