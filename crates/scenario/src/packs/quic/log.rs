//! qlog of our QUIC connections: packets and states of each side (draft-ietf-quic-qlog-quic-events-03, which belongs to qlog
//! 0.3). Later drafts have other names and another header; qvis reads 0.3.

use super::bytes::{Sealer, settings};
use super::json::{Metrics, frame, packet, parameters, recovery, space_name, unknown};
use crate::endpoint::codec::Place;
use crate::model::address::Addresses;
use crate::model::scenario::Scenario;
use vazao_engine::Time;
use vazao_transport::quic::{Config, Connection, Datagram, DropReason, Event, Failure, Kind, Loss, Phase};
use vazao_wire::pcapng::Direction;
use vazao_wire::qlog::{Events, Object};

/// Congestion states (RFC 9002 figure 1).
const CONGESTION: [&str; 3] = ["recovery", "slow_start", "congestion_avoidance"];

/// Log of one side of a connection.
pub(crate) struct View {
    /// Events not yet taken.
    log: Events,
    sealer: Sealer,
    side: usize,
    /// Addresses of client and server.
    places: [Place; 2],
    config: Config,
    /// Whether the first events are recorded, and the transport parameters of the other side.
    has_begun: bool,
    knows_offer: bool,
    /// Number of its own first 1-RTT packet; lower numbers of the space are 0-RTT.
    one_rtt_from: u64,
    /// Phase recorded last.
    phase: Phase,
    /// Index into [`CONGESTION`].
    congestion: usize,
    metrics: Metrics,
}

impl View {
    /// Creates the log of a side of flow `number`.
    pub fn new(scenario: &Scenario, addresses: &Addresses, (number, side): (usize, usize)) -> View {
        View {
            log: Events::default(),
            sealer: Sealer::new(scenario, number),
            side,
            places: addresses.sockets[number].map(|socket| socket.place()),
            config: settings(&scenario.flows[number]),
            has_begun: false,
            knows_offer: false,
            one_rtt_from: u64::MAX,
            phase: Phase::Idle,
            congestion: 1,
            metrics: Metrics::default(),
        }
    }

    /// Hands the records since the last call to a function.
    pub fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        take(self.log.records());
        self.log.clear();
    }

    /// Records a datagram that this side has sent, or received and handled.
    pub fn datagram(&mut self, now: Time, way: Direction, datagram: &Datagram, connection: &mut Connection) {
        let events = connection.take_events();
        if !std::mem::replace(&mut self.has_begun, true) {
            self.begin(now);
        }
        self.packets(now, way, datagram, &events);
        self.state(now, &events, connection);
    }

    /// Records the expiry of a timer of this side.
    pub fn timeout(&mut self, now: Time, connection: &mut Connection) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.begin(now);
        }
        self.state(now, &connection.take_events(), connection);
    }

    fn put(&mut self, now: Time, name: &str, data: impl FnOnce(&mut Object<'_>)) {
        self.log.put(now.as_nanos(), name, data);
    }

    /// Records the first events.
    #[cold]
    fn begin(&mut self, now: Time) {
        let View { log, sealer, side, places, config, .. } = self;
        let ip = |place: Place| place.address.map(|byte| byte.to_string()).join(".");
        let (own, other) = (places[*side], places[1 - *side]);
        let other_identifier = if *side == 0 { sealer.original() } else { sealer.identifier(0, 0) };
        log.put(now.as_nanos(), "connectivity:connection_started", |data| {
            data.put("ip_version", "v4").put("src_ip", ip(own)).put("dst_ip", ip(other)).put("protocol", "QUIC");
            data.put("src_port", own.port).put("dst_port", other.port);
            data.put("src_cid", sealer.identifier(*side, 0)).put("dst_cid", other_identifier);
        });
        log.put(now.as_nanos(), "transport:parameters_set", |data| parameters(config, "local", data));
        log.put(now.as_nanos(), "recovery:parameters_set", |data| recovery(config, data));
    }

    fn packets(&mut self, now: Time, way: Direction, datagram: &Datagram, events: &[Event]) {
        let from = if way == Direction::Outbound { self.side } else { 1 - self.side };
        for (header, frames, ranges) in datagram.split() {
            if way == Direction::Outbound && header.kind == Kind::OneRtt {
                self.one_rtt_from = self.one_rtt_from.min(header.number);
            }
            let dropped = events.iter().find_map(|event| match *event {
                Event::Dropped { kind, number, reason } if (kind, number) == (header.kind, header.number) => {
                    Some(reason)
                }
                _ => None,
            });
            let name = match (way, dropped) {
                (Direction::Outbound, _) => "transport:packet_sent",
                (Direction::Inbound, None) => "transport:packet_received",
                (Direction::Inbound, Some(_)) => "transport:packet_dropped",
            };
            let sealer = &mut self.sealer;
            self.log.put(now.as_nanos(), name, |data| {
                packet(header, frames, data);
                if let (Direction::Inbound, Some(reason)) = (way, dropped) {
                    data.put("trigger", trigger(reason));
                    return;
                }
                let tell = |one, fields: &mut Object<'_>| match sealer.outline((from, header.kind), one, ranges) {
                    Some(one) => frame(&one, fields),
                    // Google's QUIC had other frame types.
                    None => unknown(0, fields),
                };
                let is_coalesced = datagram.packets.len() > 1;
                let after = if is_coalesced { r#"],"is_coalesced":true"# } else { r#"],"is_coalesced":false"# };
                data.objects(r#","frames":["#, frames, tell, after);
            });
        }
    }

    /// Records losses and changes of the connection's state.
    fn state(&mut self, now: Time, events: &[Event], connection: &Connection) {
        for event in events {
            if let &Event::Lost { space, number, reason } = event {
                let packet_type = space_name(space, number < self.one_rtt_from);
                let trigger = match reason {
                    Loss::Reordering => "reordering_threshold",
                    Loss::Time => "time_threshold",
                };
                self.put(now, "recovery:packet_lost", |data| {
                    data.object("header", |fields| {
                        fields.put("packet_type", packet_type).put("packet_number", number);
                    });
                    data.put("trigger", trigger);
                });
            }
        }
        if self.phase != connection.phase() {
            self.phase(now, connection);
        }
        self.offered(now, connection.phase());
        self.congestion(now, connection);
        let metrics = Metrics::of(connection);
        if metrics.has_news(&self.metrics) {
            let before = std::mem::replace(&mut self.metrics, metrics);
            self.put(now, "recovery:metrics_updated", |data| metrics.tell(&before, data));
        }
    }

    /// Records the congestion state.
    fn congestion(&mut self, now: Time, connection: &Connection) {
        let new = match (connection.is_repairing(), connection.control().in_slow_start()) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let old = std::mem::replace(&mut self.congestion, new);
        if old != new {
            let [old, new] = [old, new].map(|state| CONGESTION[state]);
            self.put(now, "recovery:congestion_state_updated", |data| _ = data.put("old", old).put("new", new));
        }
    }

    /// Records the other side's transport parameters, which come with the first flight of the handshake.
    fn offered(&mut self, now: Time, phase: Phase) {
        let known = if self.side == 0 { Phase::Complete } else { Phase::Handshake };
        if (known..=Phase::Confirmed).contains(&phase) && !std::mem::replace(&mut self.knows_offer, true) {
            let View { log, config, .. } = self;
            log.put(now.as_nanos(), "transport:parameters_set", |data| parameters(config, "remote", data));
        }
    }

    /// Records the phases that the connection has passed.
    fn phase(&mut self, now: Time, connection: &Connection) {
        const STEPS: [Phase; 6] =
            [Phase::Attempted, Phase::Handshake, Phase::Complete, Phase::Confirmed, Phase::Closing, Phase::Closed];
        let phase = connection.phase();
        // A server takes several steps at once; the end of a connection does not imply the phases before.
        let passed = |step: &Phase| *step == phase || *step < phase && phase <= Phase::Confirmed;
        let before = self.phase;
        for step in STEPS.into_iter().filter(|step| *step > before && passed(step)) {
            let failure = connection.failure();
            let name = |phase| state_name(phase, failure);
            let is_end = self.phase < Phase::Closing && step >= Phase::Closing;
            let old = std::mem::replace(&mut self.phase, step);
            self.put(now, "connectivity:connection_state_updated", |data| {
                data.put("new", name(step));
                if old != Phase::Idle {
                    data.put("old", name(old));
                }
            });
            if is_end {
                self.put(now, "connectivity:connection_closed", |data| end(step, failure, data));
            }
        }
    }
}

/// Tells the owner and the trigger of a closure.
fn end(phase: Phase, failure: Option<Failure>, fields: &mut Object<'_>) {
    let trigger = match failure {
        None => "clean",
        Some(Failure::Idle) => "idle_timeout",
        Some(_) => "error",
    };
    let is_ours = phase == Phase::Closing || failure == Some(Failure::Idle);
    fields.put("owner", if is_ours { "local" } else { "remote" }).put("trigger", trigger);
}

fn state_name(phase: Phase, failure: Option<Failure>) -> &'static str {
    match phase {
        Phase::Idle | Phase::Attempted => "attempted",
        Phase::Handshake => "handshake_started",
        Phase::Complete => "handshake_complete",
        Phase::Confirmed => "handshake_confirmed",
        Phase::Closing => "closing",
        Phase::Closed if failure == Some(Failure::Idle) => "closed",
        // The peer has closed it, and nothing more is sent (RFC 9000 section 10.2.2).
        Phase::Closed => "draining",
    }
}

fn trigger(reason: DropReason) -> &'static str {
    match reason {
        DropReason::NoKeys => "key_unavailable",
        DropReason::Duplicate => "duplicate",
        DropReason::NoToken => "dos_prevention",
    }
}
