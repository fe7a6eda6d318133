//! UDP.

use super::IP_HEADER;
use crate::endpoint::codec::{Codec, encode_datagram};
use crate::endpoint::dissector::{Dissection, Dissector, kind};
use crate::endpoint::{Arrival, Body, Contents, Crossing, Departure, Endpoint, Turn};
use crate::measures::counts::{Counts, Tally};
use crate::measures::series::SenderState;
use crate::model::address::Socket;
use crate::model::protocol::{Controls, Front, Service};
use crate::model::scenario::{KernelEnd, KernelProtocol, Making, Pack};
use crate::stacks::{count, with_keys};
use vazao_application::{Application, Sides};
use vazao_engine::registry::Entry;
use vazao_engine::{Duration, Ecn, Histogram, Time};
use vazao_guest_protocol::Transport;
use vazao_transport::udp::{self, Config, HEADER};
use vazao_wire::content;

impl Endpoint for udp::Endpoint {
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool {
        let Body::Udp(datagram) = arrival.body else { return false };
        udp::Endpoint::handle(self, now, datagram);
        true
    }
    fn next_timeout(&self) -> Time {
        udp::Endpoint::next_timeout(self)
    }
    /// Does nothing: due datagrams leave by `poll_transmit`.
    fn handle_timeout(&mut self, _now: Time) -> bool {
        false
    }
    fn drive(&mut self, now: Time, application: &mut Application) {
        application.drive(now, self);
    }
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool) {
        turn.on(self)
    }
    fn poll_transmit(&mut self, now: Time, _contents: &mut Contents) -> Option<Departure> {
        let datagram = udp::Endpoint::poll_transmit(self, now)?;
        let size = IP_HEADER + HEADER + u32::from(datagram.payload);
        Some(Departure { body: Body::Udp(datagram), size, way: 0, ecn: Ecn::NotEct })
    }
    fn is_over(&self) -> bool {
        udp::Endpoint::is_over(self)
    }
    fn with_state(&self, _see: &mut dyn FnMut(&dyn SenderState)) {}
    /// Returns the number of sent packets, all that a sender without feedback knows.
    fn counts(&self, _end: Time) -> Counts<'_> {
        Counts { tally: Tally::default().with("packets_sent", self.sent()), is_over: true, ..Counts::default() }
    }
    fn arrivals(&self, _dropped: u64) -> Tally {
        Tally::of(self.stats().arrivals()).with("packets_lost", self.lost())
    }
    fn is_reliable(&self) -> bool {
        false
    }
    fn latency(&self) -> Option<&Histogram> {
        Some(&self.stats().latency)
    }
    fn watch_notices(&mut self) {
        self.watch_latencies();
    }
    fn take_latencies(&mut self) -> Vec<Duration> {
        udp::Endpoint::take_latencies(self)
    }
    /// Does nothing: a datagram is a message, and its receiver knows the time of sending.
    fn credit(&mut self, _: Time, _: &Application, _: &mut dyn Endpoint, _: &mut Application) {}
    fn note_drop(&mut self, body: &Body, _contents: &Contents) -> bool {
        if let Body::Udp(datagram) = body {
            self.lose(datagram);
        }
        true
    }
    fn unannounced_end(&self) -> Option<u64> {
        Some(self.sent())
    }
    fn expect(&mut self, packets: u64) {
        udp::Endpoint::expect(self, packets);
    }
}

/// Registry entry.
pub(super) const ENTRY: Entry<Pack> = Entry {
    name: "udp",
    aliases: &[],
    title: "User Datagram Protocol",
    source: "RFC 768",
    help: "datagrams without feedback: an upload at a constant rate, or messages as the application writes them",
    parameters: &with_keys::<{ count("udp", Config::PARAMETERS) }>("udp", Config::PARAMETERS),
    build: Pack {
        controls: Controls::None,
        slow_start: ("none", false),
        service: |_| Service { is_datagrams: true, http: &["2", "1.1"], ..Service::default() },
        memory: (16_000, 0),
        load: |parameters| (parameters.number("payload"), 0.0),
        codec: |_, addresses, number| Ok(Box::new(Bytes(addresses.sockets[number]))),
        dissector: |_| Box::new(Datagrams),
        kernel: Some(KernelProtocol::new(kernel_transport)),
        front: Front { sequence: "", ..Front::new(&["rate", "payload"]) },
        ..Pack::new(ends)
    },
};

/// Reader of datagrams for viewers.
struct Datagrams;

impl Dissector for Datagrams {
    fn dissect(&mut self, crossing: &Crossing<'_>, out: &mut Dissection) {
        if let Body::Udp(datagram) = crossing.body {
            let number = u64::from(datagram.sequence);
            out.kind = kind::DATA;
            out.data = Some(number..number + 1);
            out.say(&format!("datagram {number} of message {} ({} B)", datagram.message, datagram.payload));
        }
    }
}

fn kernel_transport(end: &KernelEnd<'_>) -> Result<Transport, String> {
    let Config { payload, rate } = Config::from(end.parameters());
    Ok(Transport::Udp { payload: payload.into(), rate: rate.expect("it has a default").as_bps() / 8 })
}

fn ends(making: &mut Making<'_>, number: usize, sides: &Sides) -> [Box<dyn Endpoint>; 2] {
    let parameters = &making.scenario.flows[number].transport.parameters;
    let config = Config::from(parameters);
    let config = Config { rate: config.rate.filter(|_| !sides.is_paced()), ..config };
    [(); 2].map(|()| -> Box<dyn Endpoint> { Box::new(udp::Endpoint::new(config)) })
}

/// Codec of a flow's datagrams: each has its number and its time of sending, as far as they fit, and then the content of a
/// stream from its start.
pub(crate) struct Bytes([Socket; 2]);

impl Codec for Bytes {
    fn interfaces(&self, _crossing: &Crossing<'_>) -> [usize; 2] {
        self.0.map(|socket| socket.interface)
    }

    fn encode(&mut self, crossing: &Crossing<'_>, _keep: usize, out: &mut Vec<u8>) {
        let from = crossing.from();
        if let Body::Udp(datagram) = crossing.body {
            let places = [from, 1 - from].map(|side| self.0[side].place());
            encode_datagram(places, Ecn::NotEct, out, |out| {
                let start = out.len();
                out.resize(start + usize::from(datagram.payload), 0);
                let head = [u64::from(datagram.sequence), datagram.sent.as_nanos()].map(u64::to_be_bytes);
                let (front, rest) = out[start..].split_at_mut(16.min(datagram.payload.into()));
                front.copy_from_slice(&head.as_flattened()[..front.len()]);
                content::fill(0, rest);
            });
        }
    }
}
