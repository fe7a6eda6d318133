//! qlog of our QUIC connections: packets and states of each side (draft-ietf-quic-qlog-quic-events-03, which belongs to qlog
//! 0.3). Later drafts have other names and another header; qvis reads 0.3.

use super::bytes::{Sealer, settings};
use super::json::{frame, metrics, packet, parameters, recovery, space_name};
use crate::endpoint::codec::Place;
use crate::model::address::Addresses;
use crate::model::scenario::Scenario;
use serde_json::{Map, Value, json};
use vazao_engine::Time;
use vazao_transport::quic::{Connection, Datagram, DropReason, Event, Failure, Kind, Loss, Phase};
use vazao_wire::pcapng::Direction;
use vazao_wire::qlog;

/// Log of one side of a connection.
pub(crate) struct View {
    /// Records not yet taken.
    records: Vec<u8>,
    sealer: Sealer,
    side: usize,
    /// First events, until they are recorded.
    start: Vec<(&'static str, Value)>,
    /// Transport parameters of the other side, until it is known.
    offered: Option<Value>,
    /// Number of its own first 1-RTT packet; lower numbers of the space are 0-RTT.
    one_rtt_from: u64,
    /// Phase recorded last.
    phase: Phase,
    congestion: &'static str,
    metrics: Map<String, Value>,
}

impl View {
    /// Creates the log of a side of flow `number`.
    pub fn new(scenario: &Scenario, addresses: &Addresses, (number, side): (usize, usize)) -> View {
        let sealer = Sealer::new(scenario, number);
        let places = addresses.sockets[number].map(|socket| socket.place());
        let [own, other] = [places[side], places[1 - side]];
        let ip = |place: Place| place.address.map(|byte| byte.to_string()).join(".");
        let started = json!({
            "ip_version": "v4",
            "src_ip": ip(own),
            "dst_ip": ip(other),
            "protocol": "QUIC",
            "src_port": own.port,
            "dst_port": other.port,
            "src_cid": sealer.identifier(side, 0),
            "dst_cid": if side == 0 { sealer.original() } else { sealer.identifier(0, 0) },
        });
        let config = settings(&scenario.flows[number]);
        let start = vec![
            ("connectivity:connection_started", started),
            ("transport:parameters_set", parameters(&config, "local")),
            ("recovery:parameters_set", recovery(&config)),
        ];
        View {
            records: Vec::new(),
            sealer,
            side,
            start,
            offered: Some(parameters(&config, "remote")),
            one_rtt_from: u64::MAX,
            phase: Phase::Idle,
            congestion: "slow_start",
            metrics: Map::new(),
        }
    }

    /// Takes the records since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.records)
    }

    /// Records a datagram that this side has sent, or received and handled.
    pub fn datagram(&mut self, now: Time, way: Direction, datagram: &Datagram, connection: &mut Connection) {
        let events = connection.take_events();
        self.begin(now);
        self.packets(now, way, datagram, &events);
        self.state(now, &events, connection);
    }

    /// Records the expiry of a timer of this side.
    pub fn timeout(&mut self, now: Time, connection: &mut Connection) {
        self.begin(now);
        self.state(now, &connection.take_events(), connection);
    }

    fn put(&mut self, now: Time, name: &str, data: Value) {
        qlog::event(now.as_nanos(), name, data, &mut self.records);
    }

    fn begin(&mut self, now: Time) {
        for (name, data) in std::mem::take(&mut self.start) {
            self.put(now, name, data);
        }
    }

    fn packets(&mut self, now: Time, way: Direction, datagram: &Datagram, events: &[Event]) {
        let from = if way == Direction::Outbound { self.side } else { 1 - self.side };
        for (header, frames, ranges) in datagram.split() {
            if way == Direction::Outbound && header.kind == Kind::OneRtt {
                self.one_rtt_from = self.one_rtt_from.min(header.number);
            }
            let mut data = packet(header, frames);
            let dropped = events.iter().find_map(|event| match *event {
                Event::Dropped { kind, number, reason } if (kind, number) == (header.kind, header.number) => {
                    Some(reason)
                }
                _ => None,
            });
            let name = match (way, dropped) {
                (Direction::Outbound, _) => "transport:packet_sent",
                (Direction::Inbound, None) => "transport:packet_received",
                (Direction::Inbound, Some(reason)) => {
                    data["trigger"] = trigger(reason).into();
                    "transport:packet_dropped"
                }
            };
            if name != "transport:packet_dropped" {
                let convert = |one| match self.sealer.frame((from, header.kind), one, ranges) {
                    Some(one) => frame(&one),
                    // Google's QUIC had other frame types.
                    None => json!({ "frame_type": "unknown", "raw_frame_type": 0 }),
                };
                data["frames"] = frames.iter().map(convert).collect();
                data["is_coalesced"] = (datagram.packets.len() > 1).into();
            }
            self.put(now, name, data);
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
                let header = json!({ "packet_type": packet_type, "packet_number": number });
                self.put(now, "recovery:packet_lost", json!({ "header": header, "trigger": trigger }));
            }
        }
        self.phase(now, connection);
        self.offered(now, connection.phase());
        self.congestion(now, connection);
        let metrics = metrics(connection);
        let news = metrics.iter().filter(|(name, value)| self.metrics.get(*name) != Some(value));
        let news: Map<_, _> = news.map(|(name, value)| (name.clone(), value.clone())).collect();
        if !news.is_empty() {
            self.metrics = metrics;
            self.put(now, "recovery:metrics_updated", news.into());
        }
    }

    /// Records the congestion state (RFC 9002 figure 1).
    fn congestion(&mut self, now: Time, connection: &Connection) {
        let new = match (connection.is_repairing(), connection.control().in_slow_start()) {
            (true, _) => "recovery",
            (false, true) => "slow_start",
            (false, false) => "congestion_avoidance",
        };
        let old = std::mem::replace(&mut self.congestion, new);
        if old != new {
            self.put(now, "recovery:congestion_state_updated", json!({ "old": old, "new": new }));
        }
    }

    /// Records the other side's transport parameters, which come with the first flight of the handshake.
    fn offered(&mut self, now: Time, phase: Phase) {
        let known = if self.side == 0 { Phase::Complete } else { Phase::Handshake };
        if (known..=Phase::Confirmed).contains(&phase)
            && let Some(offered) = self.offered.take()
        {
            self.put(now, "transport:parameters_set", offered);
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
            let name = |phase| state_name(phase, connection.failure());
            let is_end = self.phase < Phase::Closing && step >= Phase::Closing;
            let old = std::mem::replace(&mut self.phase, step);
            let mut change = json!({ "new": name(step) });
            if old != Phase::Idle {
                change["old"] = name(old).into();
            }
            self.put(now, "connectivity:connection_state_updated", change);
            if is_end {
                self.put(now, "connectivity:connection_closed", end(step, connection.failure()));
            }
        }
    }
}

/// Returns the owner and the trigger of a closure.
fn end(phase: Phase, failure: Option<Failure>) -> Value {
    let trigger = match failure {
        None => "clean",
        Some(Failure::Idle) => "idle_timeout",
        Some(_) => "error",
    };
    let is_ours = phase == Phase::Closing || failure == Some(Failure::Idle);
    json!({ "owner": if is_ours { "local" } else { "remote" }, "trigger": trigger })
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
