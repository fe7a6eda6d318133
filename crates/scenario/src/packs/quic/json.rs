//! Packets, frames, settings and states in qlog.

use serde_json::{Map, Value, json};
use vazao_engine::Duration;
use vazao_transport::quic::{Config, Connection, Frame, Header, Kind, Rules, Space};
use vazao_wire::qlog::milliseconds;
use vazao_wire::quic as wire;

/// Returns the packet type of a packet number space; `early`: 0-RTT.
pub(crate) fn space_name(space: Space, early: bool) -> &'static str {
    match space {
        Space::Initial => "initial",
        Space::Handshake => "handshake",
        Space::Data if early => "0RTT",
        Space::Data => "1RTT",
    }
}

/// Converts a packet without its frames.
pub(crate) fn packet(header: &Header, frames: &[Frame]) -> Value {
    let bytes = header.kind.overhead(header.number_bytes.into()) + frames.iter().map(Frame::bytes).sum::<u32>();
    let raw = json!({ "length": bytes });
    let mut fields = match header.kind {
        Kind::Retry(length) => {
            return json!({ "header": { "packet_type": "retry" }, "retry_token": { "type": "retry", "length": length }, "raw": raw });
        }
        kind => {
            json!({ "packet_type": space_name(kind.space(), kind == Kind::ZeroRtt), "packet_number": header.number })
        }
    };
    if let Kind::Initial(length @ 1..) = header.kind {
        // The packet does not say whether the token is a Retry's or an earlier connection's.
        fields["token"] = json!({ "length": length });
    }
    json!({ "header": fields, "raw": raw })
}

/// Returns the type of bidirectional or unidirectional streams.
fn ways(both_ways: bool) -> &'static str {
    if both_ways { "bidirectional" } else { "unidirectional" }
}

/// Converts a frame.
pub(crate) fn frame(frame: &wire::Frame<'_>) -> Value {
    use wire::Frame;
    match *frame {
        Frame::Padding(length) => json!({ "frame_type": "padding", "length": length, "payload_length": length }),
        Frame::Ping => json!({ "frame_type": "ping" }),
        Frame::Ack { path, delay, ranges, ecn } => ack(path, delay, ranges, ecn),
        Frame::Crypto { offset, data } => json!({ "frame_type": "crypto", "offset": offset, "length": data.len() }),
        Frame::Stream { id, offset, fin, data } => {
            let length = data.len();
            let mut fields = json!({ "frame_type": "stream", "stream_id": id, "offset": offset, "length": length });
            if fin {
                fields["fin"] = true.into();
            }
            fields
        }
        Frame::ResetStream { id, code, size } => {
            json!({ "frame_type": "reset_stream", "stream_id": id, "error_code": code, "final_size": size })
        }
        Frame::StopSending { id, code } => json!({ "frame_type": "stop_sending", "stream_id": id, "error_code": code }),
        Frame::MaxData(limit) => json!({ "frame_type": "max_data", "maximum": limit }),
        Frame::MaxStreamData { id, limit } => {
            json!({ "frame_type": "max_stream_data", "stream_id": id, "maximum": limit })
        }
        Frame::MaxStreams { both_ways, count } => {
            json!({ "frame_type": "max_streams", "stream_type": ways(both_ways), "maximum": count })
        }
        Frame::DataBlocked(limit) => json!({ "frame_type": "data_blocked", "limit": limit }),
        Frame::StreamDataBlocked { id, limit } => {
            json!({ "frame_type": "stream_data_blocked", "stream_id": id, "limit": limit })
        }
        Frame::StreamsBlocked { both_ways, count } => {
            json!({ "frame_type": "streams_blocked", "stream_type": ways(both_ways), "limit": count })
        }
        Frame::NewConnectionId { sequence, retire_prior_to, identifier, .. } => json!({
            "frame_type": "new_connection_id",
            "sequence_number": sequence,
            "retire_prior_to": retire_prior_to,
            "connection_id": hexadecimal(identifier),
        }),
        Frame::RetireConnectionId(sequence) => {
            json!({ "frame_type": "retire_connection_id", "sequence_number": sequence })
        }
        Frame::PathChallenge(data) => json!({ "frame_type": "path_challenge", "data": hexadecimal(&data) }),
        Frame::PathResponse(data) => json!({ "frame_type": "path_response", "data": hexadecimal(&data) }),
        Frame::NewToken(token) => json!({ "frame_type": "new_token", "token": { "length": token.len() } }),
        Frame::Close { code, application } => {
            let error_space = if application { "application" } else { "transport" };
            json!({ "frame_type": "connection_close", "error_space": error_space, "error_code": code })
        }
        Frame::HandshakeDone => json!({ "frame_type": "handshake_done" }),
        Frame::Datagram(data) => json!({ "frame_type": "datagram", "length": data.len() }),
        Frame::AckFrequency { .. } => json!({ "frame_type": "unknown", "raw_frame_type": 0xaf }),
        Frame::PathAbandon { .. }
        | Frame::PathStatus { .. }
        | Frame::PathNewConnectionId { .. }
        | Frame::PathRetireConnectionId { .. }
        | Frame::MaxPathId(_) => path_frame(frame),
    }
}

fn ack(path: Option<u64>, delay: u64, ranges: &[(u64, u64)], ecn: Option<[u64; 3]>) -> Value {
    let acked: Vec<_> = ranges.iter().rev().map(|&(first, last)| [first, last]).collect();
    let kind = if path.is_some() { "path_ack" } else { "ack" };
    let mut fields = json!({ "frame_type": kind, "ack_delay": milliseconds(delay * 8_000), "acked_ranges": acked });
    for (name, count) in ["ect0", "ect1", "ce"].into_iter().zip(ecn.into_iter().flatten()) {
        fields[name] = count.into();
    }
    if let Some(path) = path {
        fields["path_id"] = path.into();
    }
    fields
}

/// Converts a frame of Multipath QUIC.
fn path_frame(frame: &wire::Frame<'_>) -> Value {
    use wire::Frame;
    match *frame {
        Frame::PathAbandon { path, code } => {
            json!({ "frame_type": "path_abandon", "path_id": path, "error_code": code })
        }
        Frame::PathStatus { path, sequence, backup } => {
            let kind = if backup { "path_status_backup" } else { "path_status_available" };
            json!({ "frame_type": kind, "path_id": path, "path_status_sequence_number": sequence })
        }
        Frame::PathNewConnectionId { path, sequence, retire_prior_to, identifier, .. } => json!({
            "frame_type": "path_new_connection_id",
            "path_id": path,
            "sequence_number": sequence,
            "retire_prior_to": retire_prior_to,
            "connection_id": hexadecimal(identifier),
        }),
        Frame::PathRetireConnectionId { path, sequence } => {
            json!({ "frame_type": "path_retire_connection_id", "path_id": path, "sequence_number": sequence })
        }
        Frame::MaxPathId(path) => json!({ "frame_type": "max_path_id", "maximum_path_id": path }),
        _ => unreachable!("{frame:?} is no frame of Multipath QUIC"),
    }
}

/// Writes bytes in hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Converts the transport parameters, which both sides offer alike.
pub(crate) fn parameters(config: &Config, owner: &str) -> Value {
    let mut fields = json!({
        "owner": owner,
        "max_idle_timeout": config.idle_timeout.as_nanos() / 1_000_000,
        "max_ack_delay": config.max_ack_delay.as_nanos() / 1_000_000,
        "initial_max_data": config.connection_window,
        "initial_max_stream_data_bidi_local": config.stream_window,
        "initial_max_stream_data_bidi_remote": config.stream_window,
        "initial_max_stream_data_uni": config.stream_window,
        "initial_max_streams_bidi": config.max_streams.max(config.streams),
        "initial_max_streams_uni": config.max_streams.max(config.streams),
    });
    if config.unreliable {
        fields["max_datagram_frame_size"] = 65_535.into();
    }
    fields
}

/// Converts the constants of loss detection and congestion control (RFC 9002 sections 6 and 7).
pub(crate) fn recovery(config: &Config) -> Value {
    let mut fields = json!({
        "reordering_threshold": 3,
        "timer_granularity": 1,
        "initial_rtt": span(config.initial_rtt),
        "max_datagram_size": config.datagram,
        "minimum_congestion_window": 2 * config.datagram,
    });
    if config.recovery == Rules::Rfc9002 {
        fields["time_threshold"] = 1.125.into();
        fields["persistent_congestion_threshold"] = 3.into();
    }
    fields
}

/// Converts the state of loss detection and congestion control.
pub(crate) fn metrics(connection: &Connection) -> Map<String, Value> {
    let mut metrics = Map::new();
    let mut put = |name: &str, value: Value| metrics.insert(name.into(), value);
    if connection.is_measured() {
        let rtt = connection.rtt();
        put("min_rtt", span(rtt.min()));
        put("smoothed_rtt", span(rtt.srtt()));
        put("latest_rtt", span(rtt.latest()));
        put("rtt_variance", span(rtt.variation()));
    }
    put("pto_count", connection.pto_count().into());
    put("congestion_window", connection.cwnd().into());
    put("bytes_in_flight", connection.flight().into());
    let ssthresh = connection.control().ssthresh();
    if ssthresh < u64::MAX {
        put("ssthresh", ssthresh.into());
    }
    if let Some(rate) = connection.control().pacing_rate() {
        put("pacing_rate", rate.as_bps().into());
    }
    metrics
}

fn span(duration: Duration) -> Value {
    milliseconds(duration.as_nanos()).into()
}
