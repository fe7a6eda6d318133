//! Dropped packets.

use crate::endpoint::Body;
use crate::world::World;
use crate::world::probe::Probe;
use vazao_network::{DropCause, Packet, PacketId};

impl<P: Probe> World<P> {
    /// Handles a packet that was dropped, and those dropped with it.
    #[cold]
    pub fn discard(&mut self, id: PacketId, cause: DropCause) {
        let mut next = Some(id);
        while let Some(id) = next {
            if P::ON {
                self.probe.on_drop(self.now, id, self.network.link_of(id), cause);
            }
            let packet = self.network.take(id);
            self.handle_drop(&packet);
            next = self.network.next_dropped();
        }
    }

    fn handle_drop(&mut self, packet: &Packet<Body>) {
        if let Body::Bytes(frame) = packet.body {
            return self.drop_frame(packet, frame);
        }
        let index = packet.to as usize;
        let end = &mut self.ends[index];
        let may_act = end.machine.note_drop(&packet.body, &self.contents);
        self.contents.discard(&packet.body);
        // A packet to the receiver comes from the sender.
        if !end.sends {
            let flow = end.flow as usize;
            self.count_loss(flow, packet.sent);
        }
        if may_act {
            self.service(index);
        }
    }

    fn drop_frame(&mut self, packet: &Packet<Body>, frame: u32) {
        let Some((flow, from_sender)) = self.guests.take_frame(frame).flow else { return };
        if from_sender {
            self.count_loss(flow, packet.sent);
            self.close_unheard(flow);
        }
    }
}
