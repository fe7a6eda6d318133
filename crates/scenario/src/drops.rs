//! What becomes of packets that are dropped.

use crate::machine::Machine;
use crate::probe::Probe;
use crate::world::{Body, End, TO_GUEST, World};
use vazao_network::{Cause, Packet, PacketId};

impl<P: Probe> World<P> {
    /// Forgets a packet that was dropped, and those that were dropped with it.
    #[cold]
    pub fn discard(&mut self, id: PacketId, cause: Cause) {
        let mut next = Some(id);
        while let Some(id) = next {
            let packet = self.network.take(id);
            self.drop(&packet, cause);
            next = self.network.next_dropped();
        }
    }

    fn drop(&mut self, packet: &Packet<Body>, cause: Cause) {
        let (flow, from_sender) = match packet.body {
            Body::Bytes(frame) => match self.guests.drop_frame(frame) {
                Some(whose) => whose,
                None => return,
            },
            Body::Tcp(segment) => {
                let extra = segment.has_extra.then(|| self.extras.take(segment.extra));
                if packet.to & TO_GUEST == 0
                    && let Machine::Mptcp(end) = &mut self.endpoints[packet.to as usize].machine
                {
                    end.note_loss(extra.as_ref());
                }
                if packet.to & TO_GUEST != 0 {
                    let flow = (packet.to & !TO_GUEST) as usize;
                    (flow, matches!(self.flows[flow].sender(), End::Machine(_)))
                } else {
                    // A packet to the receiver is one of the sender's.
                    let endpoint = &self.endpoints[packet.to as usize];
                    (endpoint.flow as usize, !endpoint.sends)
                }
            }
            Body::Udp(_) => (self.endpoints[packet.to as usize].flow as usize, true),
            Body::Payload(payload) => {
                self.payloads.discard(payload);
                let endpoint = &self.endpoints[packet.to as usize];
                (endpoint.flow as usize, !endpoint.sends)
            }
            Body::Quic(datagram) => {
                self.datagrams.discard(datagram);
                let endpoint = &self.endpoints[packet.to as usize];
                (endpoint.flow as usize, !endpoint.sends)
            }
            Body::Sctp(parcel) => {
                self.parcels.discard(parcel.packet);
                let endpoint = &mut self.endpoints[packet.to as usize];
                if let Machine::Sctp(end) = &mut endpoint.machine {
                    end.lost[usize::from(parcel.path)] += 1;
                }
                (endpoint.flow as usize, !endpoint.sends)
            }
        };
        if from_sender {
            self.flows[flow].measure.on_drop(packet.sent);
            if matches!(packet.body, Body::Bytes(_)) {
                self.close_unheard(flow);
            }
        }
        self.probe.on_drop(self.now, cause);
        if let Body::Udp(datagram) = packet.body {
            self.tell_receiver(packet.to as usize, |receiver| receiver.lose(&datagram));
        }
    }
}
