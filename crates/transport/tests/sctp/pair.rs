//! Endpoints driven by hand, without a network: packets are delivered as the test likes.

use crate::lab::{at, config};
use std::sync::Arc;
use vazao_engine::Time;
use vazao_engine::registry::Raw;
use vazao_transport::sctp::{Association, Control, Packet, State};

pub fn connect(tag: u32, tsn: u32) -> Association {
    connect_with(tag, tsn, &[])
}

pub fn connect_with(tag: u32, tsn: u32, given: &[(&str, Raw)]) -> Association {
    Association::connect(Arc::new(config(Some(1000), given)), 1, tag, tsn)
}

pub fn listen(tag: u32, tsn: u32, given: &[(&str, Raw)]) -> Association {
    Association::listen(Arc::new(config(Some(1000), given)), 1, tag, tsn)
}

/// Next packet of an endpoint at `now`.
pub fn said(end: &mut Association, now: Time) -> Option<Packet> {
    let mut packet = Packet::default();
    end.poll_transmit(now, &mut packet).map(|_| packet)
}

/// Answer of an endpoint to a packet.
pub fn answer(end: &mut Association, now: Time, packet: &Packet) -> Option<Packet> {
    end.handle(now, 0, packet);
    said(end, now)
}

/// Exchanges packets, starting with the first endpoint's, until both are silent.
pub fn converse(a: &mut Association, b: &mut Association, now: Time) {
    loop {
        let mut silent = true;
        while let Some(packet) = said(a, now) {
            b.handle(now, 0, &packet);
            silent = false;
        }
        while let Some(packet) = said(b, now) {
            a.handle(now, 0, &packet);
            silent = false;
        }
        if silent {
            return;
        }
    }
}

/// Established client with tag 5 and server with tag 9; the server has these settings.
pub fn standing(given: &[(&str, Raw)]) -> (Association, Association) {
    standing_with(&[], given)
}

/// Established client and server with settings of each.
pub fn standing_with(client: &[(&str, Raw)], given: &[(&str, Raw)]) -> (Association, Association) {
    let (mut client, mut server) = (connect_with(5, 100, client), listen(9, 200, given));
    converse(&mut client, &mut server, at(0));
    assert_eq!([client.state(), server.state()], [State::Established; 2]);
    (client, server)
}

/// Packet with one chunk.
pub fn chunk(tag: u32, chunk: Control) -> Packet {
    Packet { tag, control: vec![chunk], ..Packet::default() }
}
