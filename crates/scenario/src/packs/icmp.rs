//! ICMP's echo.

use super::{IP_HEADER, measured};
use crate::endpoint::codec::Codec;
use crate::endpoint::dissector::{Dissection, Dissector, kind};
use crate::endpoint::{Arrival, Body, Contents, Crossing, Departure, Endpoint, Turn};
use crate::measures::counts::{Counts, Tally};
use crate::measures::measure::FlowMeasure;
use crate::measures::series::{PathState, SenderState, Sent};
use crate::model::address::Socket;
use crate::model::protocol::{Controls, Front, Service};
use crate::model::scenario::{Making, Pack};
use crate::stacks::{count, with_keys};
use std::borrow::Cow;
use vazao_application::{Application, Sides};
use vazao_engine::registry::Entry;
use vazao_engine::{Duration, Ecn, Histogram, Time};
use vazao_transport::icmp::{self, Config, HEADER};
use vazao_wire::{content, icmp as wire, ipv4};

impl Endpoint for icmp::Endpoint {
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool {
        let Body::Udp(message) = arrival.body else { return false };
        icmp::Endpoint::handle(self, now, message);
        true
    }
    fn next_timeout(&self) -> Time {
        icmp::Endpoint::next_timeout(self)
    }
    fn handle_timeout(&mut self, now: Time) -> bool {
        icmp::Endpoint::handle_timeout(self, now);
        false
    }
    fn drive(&mut self, now: Time, application: &mut Application) {
        application.drive(now, self);
    }
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool) {
        turn.on(self)
    }
    fn poll_transmit(&mut self, now: Time, _contents: &mut Contents) -> Option<Departure> {
        let message = icmp::Endpoint::poll_transmit(self, now)?;
        let size = IP_HEADER + HEADER + u32::from(message.payload);
        Some(Departure { body: Body::Udp(message), size, way: 0, ecn: Ecn::NotEct })
    }
    fn is_over(&self) -> bool {
        icmp::Endpoint::is_over(self)
    }
    fn with_state(&self, see: &mut dyn FnMut(&dyn SenderState)) {
        see(self);
    }
    /// Does nothing: there is no window.
    fn observe(&self, _now: Time, _measure: &mut FlowMeasure) {}
    fn counts(&self, _end: Time) -> Counts<'_> {
        let rtt = &self.stats().rtt;
        Counts {
            tally: Tally::of(self.stats().counts())
                .with("packets_sent", self.asked())
                .and("rtt_min_s", self.shortest())
                .and("rtt_mdev_s", self.deviation()),
            rtt: Cow::Borrowed(rtt),
            srtt: None,
            is_over: true,
        }
    }
    fn arrivals(&self, _dropped: u64) -> Tally {
        Tally::of(self.received().arrivals()).with("packets_lost", self.lost())
    }
    fn is_reliable(&self) -> bool {
        false
    }
    fn latency(&self) -> Option<&Histogram> {
        Some(&self.received().latency)
    }
    fn watch_notices(&mut self) {
        self.watch_latencies();
    }
    fn take_latencies(&mut self) -> Vec<Duration> {
        icmp::Endpoint::take_latencies(self)
    }
    /// Does nothing: the receiver of a request knows when it was sent.
    fn credit(&mut self, _: Time, _: &Application, _: &mut dyn Endpoint, _: &mut Application) {}
    fn note_drop(&mut self, body: &Body, _contents: &Contents) -> bool {
        if let Body::Udp(message) = body {
            self.lose(message);
        }
        true
    }
    fn unannounced_end(&self) -> Option<u64> {
        Some(self.asked())
    }
    fn expect(&mut self, requests: u64) {
        icmp::Endpoint::expect(self, requests);
    }
}

impl SenderState for icmp::Endpoint {
    fn cwnd(&self) -> u64 {
        0
    }
    fn in_slow_start(&self) -> bool {
        false
    }
    fn is_repairing(&self) -> bool {
        false
    }
    fn cuts(&self) -> u64 {
        0
    }
    fn sent(&self) -> Sent {
        Sent { segments: self.asked(), ..Sent::default() }
    }
    fn path(&self, _number: usize) -> PathState {
        PathState { latest_rtt: measured(self.latest()), ..PathState::default() }
    }
}

/// Registry entry.
pub(super) const ENTRY: Entry<Pack> = Entry {
    name: "icmp",
    aliases: &[],
    title: "Internet Control Message Protocol",
    source: "RFC 792, echo and echo reply",
    help: "a request and its reply, as ping sends them: what app = \"ping\" goes over",
    parameters: &with_keys::<{ count("icmp", Config::PARAMETERS) }>("icmp", Config::PARAMETERS),
    build: Pack {
        controls: Controls::None,
        slow_start: ("none", false),
        service: |_| Service { is_datagrams: true, echoes: true, ..Service::default() },
        memory: (16_000, 0),
        load: |_| (f64::from(icmp::LARGEST), 1.0),
        codec: |_, addresses, number| Ok(Box::new(Bytes { sockets: addresses.sockets[number], flow: number as u16 })),
        dissector: |_| Box::new(Echoes),
        front: Front { sequence: "", ..Front::new(&[]) },
        ..Pack::new(ends)
    },
};

fn ends(making: &mut Making<'_>, number: usize, _sides: &Sides) -> [Box<dyn Endpoint>; 2] {
    let config = Config::from(&making.scenario.flows[number].transport.parameters);
    [true, false].map(|asks| -> Box<dyn Endpoint> { Box::new(icmp::Endpoint::new(config, asks)) })
}

/// Reader of echo messages for viewers.
struct Echoes;

impl Dissector for Echoes {
    fn dissect(&mut self, crossing: &Crossing<'_>, out: &mut Dissection) {
        if let Body::Udp(message) = crossing.body {
            let number = u64::from(message.sequence);
            let (bit, what) = if crossing.from() == 0 { (kind::DATA, "request") } else { (kind::ACK, "reply") };
            out.kind = bit;
            out.data = Some(number..number + 1);
            out.say(&format!("echo {what} {number} ({} B)", message.payload));
        }
    }
}

/// Codec of a flow's echo messages: each has its time of sending first, as far as that fits, as ping writes it, and then the
/// content of a stream from its start. A reply has the data of its request.
struct Bytes {
    sockets: [Socket; 2],
    flow: u16,
}

impl Codec for Bytes {
    fn interfaces(&self, _crossing: &Crossing<'_>) -> [usize; 2] {
        self.sockets.map(|socket| socket.interface)
    }

    fn encode(&mut self, crossing: &Crossing<'_>, _keep: usize, out: &mut Vec<u8>) {
        let from = crossing.from();
        if let Body::Udp(message) = crossing.body {
            let mut data = vec![0; usize::from(message.payload)];
            let head = message.sent.as_nanos().to_be_bytes();
            let (front, rest) = data.split_at_mut(head.len().min(usize::from(message.payload)));
            front.copy_from_slice(&head[..front.len()]);
            content::fill(0, rest);
            let [source, target] = [from, 1 - from].map(|side| self.sockets[side].place().address);
            let length = ipv4::HEADER_LENGTH + wire::HEADER_LENGTH + data.len();
            ipv4::encode(&ipv4::Header::new(source, target, wire::PROTOCOL, length as u16), out);
            let echo = wire::Echo { is_reply: from == 1, identifier: self.flow, sequence: message.sequence as u16 };
            wire::encode(echo, &data, out);
        }
    }
}
