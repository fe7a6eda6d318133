//! Middleboxes, which strip options and bits from packets or alter their payload, in our segments and in guests' bytes alike.
//!
//! The packet keeps its size: NOPs replace an option, as with Linux's packet filter (iptables' TCPOPTSTRIP).

use super::World;
use super::probe::Probe;
use crate::endpoint::Body;
use crate::packs::tcp::strip::{ECN, Strip, stripped};
use vazao_network::{Ecn, Inspection, PacketId};
use vazao_transport::tcp::Extra;
use vazao_wire::{ipv4, tcp};

impl<P: Probe> World<P> {
    /// Passes a packet through a middlebox.
    #[cold]
    pub fn inspect(&mut self, id: PacketId, Inspection { middlebox, alters }: Inspection) {
        let strips = || stripped(middlebox).map(|entry| &entry.build);
        let packet = self.network.packet_mut(id);
        if strips().any(|strip| strip.ecn) {
            packet.set_ecn(Ecn::NotEct);
        }
        match &mut packet.body {
            Body::Tcp(segment) => {
                let mut extra = self.contents.take_extra(segment).unwrap_or_default();
                strips().for_each(|strip| (strip.from)(segment, &mut extra));
                if alters && segment.length > 0 {
                    segment.stamp ^= 1;
                }
                segment.has_extra = extra != Extra::default();
                if segment.has_extra {
                    segment.extra = self.contents.insert_extra(extra);
                }
            }
            Body::Bytes(frame) => change_bytes(self.guests.frame_mut(*frame), strips(), alters),
            // They have no TCP options, and detect an altered payload.
            Body::Udp(_) | Body::Kept { .. } => {}
        }
        let fate = self.network.pass(self.now, id, &mut self.scheduler);
        self.handle_fate(fate);
    }

    /// Handles a duplicated packet: the copy gets content of its own.
    #[cold]
    pub(super) fn duplicate(&mut self, id: PacketId) {
        let body = match self.network.packet(id).body {
            Body::Bytes(frame) => Body::Bytes(self.guests.copy_frame(frame)),
            body => self.contents.copy(&body),
        };
        let copy = self.network.duplicate(id, body);
        if P::ON {
            self.probe.on_copy(self.now, id, copy);
        }
        for id in [id, copy] {
            let fate = self.network.pass(self.now, id, &mut self.scheduler);
            self.handle_fate(fate);
        }
    }
}

/// Changes the bytes of a guest's packet, but not its codepoint: the IP header gets it on arrival.
fn change_bytes(packet: &mut [u8], strips: impl Iterator<Item = &'static Strip>, alters: bool) {
    let Ok((ip, inside)) = ipv4::decode(packet) else { return };
    if ip.protocol == tcp::PROTOCOL {
        for strip in strips {
            let flags = if strip.ecn { ECN } else { tcp::Flags::default() };
            tcp::strip(&mut packet[inside.clone()], strip.kinds, flags);
        }
        if alters {
            tcp::alter(&mut packet[inside]);
        }
    }
}
