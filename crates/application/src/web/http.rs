//! HTTP as bytes of a connection: what a request and its response come to.

use vazao_engine::registry::{Kind, Parameter, choice};

choice! {
    /// A version of HTTP.
    pub enum Version {
        /// RFC 9112: one response after the other on each of several connections.
        Http1 = "1.1",
        /// RFC 9113: all responses on one connection, in frames.
        Http2 = "2",
        /// RFC 9114: each response on a stream of its own.
        Http3 = "3",
    }
}

/// Encoding of requests and responses.
#[derive(Clone, Copy, Debug)]
pub struct Http {
    /// The version.
    pub version: Version,
    /// Connections that a client opens at most.
    pub connections: usize,
    /// Requests of HTTP/1.1 that may wait on a connection: more than one is pipelining.
    pub pipeline: usize,
    /// Bytes of a response that a server sends before the next one has its turn, as RFC 9218 has it of incremental responses of
    /// one urgency. `None`: each goes to its end in the order of the requests, as those that are not incremental.
    pub turn: Option<u64>,
    /// Bytes of a request's and of a response's header, as HTTP/1.1 writes them.
    pub request: u64,
    /// See `request`.
    pub header: u64,
}

/// Payload of a DATA frame: SETTINGS_MAX_FRAME_SIZE as it is at first (RFC 9113, section 6.5.2).
pub(super) const DATA: u64 = 16_384;
/// A frame's header in HTTP/2 (RFC 9113, section 4.1).
const FRAME: u64 = 9;
/// Bytes that open a connection of HTTP/2 (RFC 9113, section 3.4): the client's preface of 24 bytes, SETTINGS with three of
/// them, a WINDOW_UPDATE; the server's SETTINGS with three of them, and the acknowledgement of the client's.
const CLIENT_PREFACE: u64 = 24 + (FRAME + 3 * 6) + (FRAME + 4);
const SERVER_PREFACE: u64 = (FRAME + 3 * 6) + FRAME;
/// Size of headers after compression, relative to the original: of requests 12 %, of responses 15 % (the
/// SPDY white paper of 2009; HPACK and QPACK took the place of what it measured, and do no worse).
const REQUEST_LEFT: f64 = 0.12;
const HEADER_LEFT: f64 = 0.15;

pub(super) const REQUEST: Parameter = Parameter::shared(
    Kind::Size(1, u64::MAX),
    "750 B",
    "bytes of a request as HTTP/1.1 writes it (700 to 800 are common, says the SPDY white paper); HTTP/2 and 3 compress \
     it to 12 % of that",
);
pub(super) const HEADER: Parameter = Parameter::shared(
    Kind::Size(1, u64::MAX),
    "500 B",
    "bytes of a response's header as HTTP/1.1 writes it (15 fields with 303 bytes of values are the mean of the 366 \
     responses of J. Snell, HTTP 2.0 header stats, 2013); HTTP/2 and 3 compress it to 15 % of that",
);

impl Http {
    /// HTTP/1.1 on one connection, one request after the other.
    pub fn serial(request: u64, header: u64) -> Http {
        Http { version: Version::Http1, connections: 1, pipeline: 1, turn: None, request, header }
    }

    /// Requests that may wait on a connection.
    pub(super) fn depth(&self) -> usize {
        if self.version == Version::Http1 { self.pipeline } else { usize::MAX }
    }

    /// Bytes of a request; the first of a connection brings what opens it.
    pub fn request_bytes(&self, is_first: bool) -> u64 {
        let fields = compressed(self.request, REQUEST_LEFT);
        match self.version {
            Version::Http1 => self.request,
            Version::Http2 => FRAME + fields + if is_first { CLIENT_PREFACE } else { 0 },
            Version::Http3 => 1 + varint(fields) + fields,
        }
    }

    /// Bytes of a response before its body.
    pub(super) fn head_bytes(&self, is_first: bool) -> u64 {
        let fields = compressed(self.header, HEADER_LEFT);
        match self.version {
            Version::Http1 => self.header,
            Version::Http2 => FRAME + fields + if is_first { SERVER_PREFACE } else { 0 },
            Version::Http3 => 1 + varint(fields) + fields,
        }
    }

    /// Bytes of a part of a body: a DATA frame, but for HTTP/1.1, where it is bare.
    pub(super) fn part_bytes(&self, body: u64) -> u64 {
        match self.version {
            Version::Http1 => body,
            Version::Http2 => FRAME + body,
            Version::Http3 => 1 + varint(body) + body,
        }
    }

    /// Returns the part of a body that is written at once when `left` is left; in HTTP/2 the size of a turn. HTTP/3's
    /// connection divides what it is given into turns itself.
    pub(super) fn part(&self, left: u64) -> u64 {
        match self.version {
            Version::Http1 => left,
            Version::Http2 => left.min(DATA).min(self.turn.unwrap_or(DATA)),
            Version::Http3 => left.min(DATA),
        }
    }

    /// Bytes of a whole response.
    pub fn response_bytes(&self, body: u64, is_first: bool) -> u64 {
        let part = self.part(body).max(1);
        let (whole, rest) = (body / part, body % part);
        let rest = if rest > 0 { self.part_bytes(rest) } else { 0 };
        self.head_bytes(is_first) + whole * self.part_bytes(part) + rest
    }
}

fn compressed(bytes: u64, left: f64) -> u64 {
    (bytes as f64 * left).ceil() as u64
}

/// Bytes of a variable-length integer (RFC 9000, section 16).
fn varint(value: u64) -> u64 {
    match value {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=1_073_741_823 => 4,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(version: Version) -> Http {
        Http { version, connections: 1, pipeline: 1, turn: Some(DATA), request: 750, header: 350 }
    }

    /// By hand, from the layouts of RFC 9112, RFC 9113 sections 4.1 and 3.4, RFC 9114 section 7.1.
    #[test]
    fn sizes_are_those_of_the_formats() {
        let bytes = |version| {
            let http = http(version);
            (http.request_bytes(false), http.response_bytes(20_000, false), http.response_bytes(100, true))
        };
        assert_eq!(bytes(Version::Http1), (750, 20_350, 450));
        // 90 and 53 bytes of fields; two DATA frames; SETTINGS of 27 bytes and an acknowledgement of 9.
        assert_eq!(bytes(Version::Http2), (99, 20_000 + 9 + 53 + 18, 36 + 9 + 53 + 9 + 100));
        // A type of one byte, then a length of 2, 1, 4 (16384 is 4) and 2 bytes.
        assert_eq!(bytes(Version::Http3), (93, 20_000 + (2 + 53) + 5 + 3, (2 + 53) + 3 + 100));
        assert_eq!(http(Version::Http2).request_bytes(true), 99 + 24 + 27 + 13);
    }
}
