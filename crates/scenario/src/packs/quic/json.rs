//! Packets, frames, settings and states in qlog, field by field.

use vazao_engine::Duration;
use vazao_transport::quic::{Config, Connection, Frame, Header, Kind, Rules, Space};
use vazao_wire::qlog::{Field, Milliseconds, Object};
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

/// Tells a packet without its frames.
pub(crate) fn packet(header: &Header, frames: &[Frame], fields: &mut Object<'_>) {
    let bytes = header.kind.overhead(header.number_bytes.into()) + frames.iter().map(Frame::bytes).sum::<u32>();
    if header.kind == Kind::OneRtt {
        let number = (r#","header":{"packet_type":"1RTT","packet_number":"#, header.number);
        fields.fill([number, (r#"},"raw":{"length":"#, bytes.into())], "}");
        return;
    }
    fields.object("header", |fields| match header.kind {
        Kind::Retry(_) => _ = fields.put("packet_type", "retry"),
        kind => {
            fields.put("packet_type", space_name(kind.space(), kind == Kind::ZeroRtt));
            fields.put("packet_number", header.number);
            if let Kind::Initial(length @ 1..) = kind {
                // The packet does not say whether the token is a Retry's or an earlier connection's.
                fields.object("token", |token| _ = token.put("length", length));
            }
        }
    });
    if let Kind::Retry(length) = header.kind {
        fields.object("retry_token", |token| _ = token.put("type", "retry").put("length", length));
    }
    fields.object("raw", |raw| _ = raw.put("length", bytes));
}

/// Returns the type of bidirectional or unidirectional streams.
fn ways(both_ways: bool) -> &'static str {
    if both_ways { "bidirectional" } else { "unidirectional" }
}

/// Tells a frame.
pub(crate) fn frame(frame: &wire::Frame<'_>, fields: &mut Object<'_>) {
    use wire::Frame;
    match *frame {
        Frame::Padding(length) => _ = typed(fields, "padding").put("length", length).put("payload_length", length),
        Frame::Ping => _ = typed(fields, "ping"),
        Frame::Ack { path, delay, ranges, ecn } => ack(path, delay, ranges, ecn, fields),
        Frame::Crypto { offset, data } => _ = typed(fields, "crypto").put("offset", offset).put("length", data.len()),
        Frame::Stream { id, offset, fin, data } => {
            let id = (r#","frame_type":"stream","stream_id":"#, id);
            let rest = [(r#","offset":"#, offset), (r#","length":"#, data.len() as u64)];
            fields.fill([id, rest[0], rest[1]], if fin { r#","fin":true"# } else { "" });
        }
        Frame::ResetStream { id, code, size } => {
            _ = typed(fields, "reset_stream").put("stream_id", id).put("error_code", code).put("final_size", size)
        }
        Frame::StopSending { id, code } => {
            _ = typed(fields, "stop_sending").put("stream_id", id).put("error_code", code)
        }
        Frame::NewConnectionId { sequence, retire_prior_to, identifier, .. } => {
            _ = typed(fields, "new_connection_id")
                .put("sequence_number", sequence)
                .put("retire_prior_to", retire_prior_to)
                .put("connection_id", hexadecimal(identifier))
        }
        Frame::RetireConnectionId(sequence) => {
            _ = typed(fields, "retire_connection_id").put("sequence_number", sequence)
        }
        Frame::PathChallenge(data) => _ = typed(fields, "path_challenge").put("data", hexadecimal(&data)),
        Frame::PathResponse(data) => _ = typed(fields, "path_response").put("data", hexadecimal(&data)),
        Frame::NewToken(token) => {
            _ = typed(fields, "new_token").object("token", |fields| _ = fields.put("length", token.len()))
        }
        Frame::Close { code, application } => {
            let space = if application { "application" } else { "transport" };
            typed(fields, "connection_close").put("error_space", space).put("error_code", code);
        }
        Frame::HandshakeDone => _ = typed(fields, "handshake_done"),
        Frame::Datagram(data) => _ = typed(fields, "datagram").put("length", data.len()),
        Frame::AckFrequency { .. } => unknown(0xaf, fields),
        Frame::MaxData(_)
        | Frame::MaxStreamData { .. }
        | Frame::MaxStreams { .. }
        | Frame::DataBlocked(_)
        | Frame::StreamDataBlocked { .. }
        | Frame::StreamsBlocked { .. } => limit(frame, fields),
        Frame::PathAbandon { .. }
        | Frame::PathStatus { .. }
        | Frame::PathNewConnectionId { .. }
        | Frame::PathRetireConnectionId { .. }
        | Frame::MaxPathId(_) => path_frame(frame, fields),
    }
}

/// Tells the type of a frame, with which it begins.
#[inline(always)]
fn typed<'a, 'b>(fields: &'a mut Object<'b>, kind: &str) -> &'a mut Object<'b> {
    fields.put("frame_type", kind)
}

/// Tells a frame that the format has no name for.
pub(crate) fn unknown(kind: u64, fields: &mut Object<'_>) {
    typed(fields, "unknown").put("raw_frame_type", kind);
}

fn ack(path: Option<u64>, delay: u64, ranges: &[(u64, u64)], ecn: Option<[u64; 3]>, fields: &mut Object<'_>) {
    let delay = Milliseconds(delay * 8_000);
    match path {
        Some(_) => fields.fill([(r#","frame_type":"path_ack","ack_delay":"#, delay)], ""),
        None => fields.fill([(r#","frame_type":"ack","ack_delay":"#, delay)], ""),
    };
    match *ranges {
        [(first, last)] => fields.fill([(r#","acked_ranges":[["#, first), (",", last)], "]]"),
        _ => fields.values("acked_ranges", ranges.iter().rev().map(|&(first, last)| [first, last])),
    };
    for (name, count) in ["ect0", "ect1", "ce"].into_iter().zip(ecn.into_iter().flatten()) {
        fields.put(name, count);
    }
    if let Some(path) = path {
        fields.put("path_id", path);
    }
}

/// Tells a frame of flow control.
fn limit(frame: &wire::Frame<'_>, fields: &mut Object<'_>) {
    use wire::Frame;
    match *frame {
        Frame::MaxData(limit) => _ = typed(fields, "max_data").put("maximum", limit),
        Frame::MaxStreamData { id, limit } => {
            _ = typed(fields, "max_stream_data").put("stream_id", id).put("maximum", limit)
        }
        Frame::MaxStreams { both_ways, count } => {
            _ = typed(fields, "max_streams").put("stream_type", ways(both_ways)).put("maximum", count)
        }
        Frame::DataBlocked(limit) => _ = typed(fields, "data_blocked").put("limit", limit),
        Frame::StreamDataBlocked { id, limit } => {
            _ = typed(fields, "stream_data_blocked").put("stream_id", id).put("limit", limit)
        }
        Frame::StreamsBlocked { both_ways, count } => {
            _ = typed(fields, "streams_blocked").put("stream_type", ways(both_ways)).put("limit", count)
        }
        _ => unreachable!("{frame:?} is no frame of flow control"),
    }
}

/// Tells a frame of Multipath QUIC.
fn path_frame(frame: &wire::Frame<'_>, fields: &mut Object<'_>) {
    use wire::Frame;
    match *frame {
        Frame::PathAbandon { path, code } => {
            _ = typed(fields, "path_abandon").put("path_id", path).put("error_code", code)
        }
        Frame::PathStatus { path, sequence, backup } => {
            let kind = if backup { "path_status_backup" } else { "path_status_available" };
            typed(fields, kind).put("path_id", path).put("path_status_sequence_number", sequence);
        }
        Frame::PathNewConnectionId { path, sequence, retire_prior_to, identifier, .. } => {
            _ = typed(fields, "path_new_connection_id")
                .put("path_id", path)
                .put("sequence_number", sequence)
                .put("retire_prior_to", retire_prior_to)
                .put("connection_id", hexadecimal(identifier))
        }
        Frame::PathRetireConnectionId { path, sequence } => {
            _ = typed(fields, "path_retire_connection_id").put("path_id", path).put("sequence_number", sequence)
        }
        Frame::MaxPathId(path) => _ = typed(fields, "max_path_id").put("maximum_path_id", path),
        _ => unreachable!("{frame:?} is no frame of Multipath QUIC"),
    }
}

/// Writes bytes in hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Tells the transport parameters, which both sides offer alike.
pub(crate) fn parameters(config: &Config, owner: &str, fields: &mut Object<'_>) {
    let streams = config.max_streams.max(config.streams);
    fields.put("owner", owner);
    fields.put("max_idle_timeout", config.idle_timeout.as_nanos() / 1_000_000);
    fields.put("max_ack_delay", config.max_ack_delay.as_nanos() / 1_000_000);
    fields.put("initial_max_data", config.connection_window);
    for which in ["bidi_local", "bidi_remote", "uni"] {
        fields.put(&format!("initial_max_stream_data_{which}"), config.stream_window);
    }
    fields.put("initial_max_streams_bidi", streams).put("initial_max_streams_uni", streams);
    if config.unreliable {
        fields.put("max_datagram_frame_size", 65_535_u64);
    }
}

/// Tells the constants of loss detection and congestion control (RFC 9002 sections 6 and 7).
pub(crate) fn recovery(config: &Config, fields: &mut Object<'_>) {
    fields.put("reordering_threshold", 3_u64).put("timer_granularity", 1_u64);
    fields.put("initial_rtt", span(config.initial_rtt));
    fields.put("max_datagram_size", config.datagram).put("minimum_congestion_window", 2 * config.datagram);
    if config.recovery == Rules::Rfc9002 {
        fields.put("time_threshold", 1.125).put("persistent_congestion_threshold", 3_u64);
    }
}

/// State of loss detection and congestion control: what is unknown is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Metrics {
    /// Minimum, smoothed, latest round-trip time and its variation.
    rtts: [Option<Duration>; 4],
    /// Number of probe timeouts, congestion window, bytes in flight, slow-start threshold, pacing rate.
    counts: [Option<u64>; 5],
}

impl Metrics {
    pub fn of(connection: &Connection) -> Metrics {
        let (rtt, control) = (connection.rtt(), connection.control());
        let rtts = [rtt.min(), rtt.srtt(), rtt.latest(), rtt.variation()];
        Metrics {
            rtts: rtts.map(|rtt| connection.is_measured().then_some(rtt)),
            counts: [
                Some(connection.pto_count().into()),
                Some(connection.cwnd()),
                Some(connection.flight()),
                Some(control.ssthresh()).filter(|&ssthresh| ssthresh < u64::MAX),
                control.pacing_rate().map(|rate| rate.as_bps()),
            ],
        }
    }

    /// Returns whether there is anything that was not so `before`.
    pub fn has_news(&self, before: &Metrics) -> bool {
        self.rtts.iter().zip(&before.rtts).any(|(now, then)| now.is_some() && now != then)
            || self.counts.iter().zip(&before.counts).any(|(now, then)| now.is_some() && now != then)
    }

    /// Tells what was not so `before`.
    pub fn tell(&self, before: &Metrics, fields: &mut Object<'_>) {
        // One by one: a name that the compiler sees is a few stores.
        let mut rtts = self.rtts.iter().zip(&before.rtts);
        news(r#","min_rtt":"#, rtts.next(), span, fields);
        news(r#","smoothed_rtt":"#, rtts.next(), span, fields);
        news(r#","latest_rtt":"#, rtts.next(), span, fields);
        news(r#","rtt_variance":"#, rtts.next(), span, fields);
        let mut counts = self.counts.iter().zip(&before.counts);
        news(r#","pto_count":"#, counts.next(), u64::from, fields);
        news(r#","congestion_window":"#, counts.next(), u64::from, fields);
        news(r#","bytes_in_flight":"#, counts.next(), u64::from, fields);
        news(r#","ssthresh":"#, counts.next(), u64::from, fields);
        news(r#","pacing_rate":"#, counts.next(), u64::from, fields);
    }
}

/// Tells a value that is known now and was not the same before, by its name with what is between.
#[inline(always)]
fn news<T: Copy + PartialEq, F: Field>(
    name: &str,
    now_and_then: Option<(&Option<T>, &Option<T>)>,
    convert: fn(T) -> F,
    fields: &mut Object<'_>,
) {
    if let Some((&Some(now), then)) = now_and_then
        && Some(now) != *then
    {
        fields.fill([(name, convert(now))], "");
    }
}

fn span(duration: Duration) -> Milliseconds {
    Milliseconds(duration.as_nanos())
}
