//! Frames (RFC 9000 section 19, RFC 9221, draft-ietf-quic-ack-frequency).

use super::number::put_varint;

/// Frame types.
mod kind {
    pub const PING: u64 = 0x01;
    pub const ACK: u64 = 0x02;
    pub const ACK_ECN: u64 = 0x03;
    pub const RESET_STREAM: u64 = 0x04;
    pub const STOP_SENDING: u64 = 0x05;
    pub const CRYPTO: u64 = 0x06;
    pub const NEW_TOKEN: u64 = 0x07;
    /// With bits for an offset, a length, and the end.
    pub const STREAM: u64 = 0x08;
    pub const MAX_DATA: u64 = 0x10;
    pub const MAX_STREAM_DATA: u64 = 0x11;
    pub const MAX_STREAMS: [u64; 2] = [0x13, 0x12];
    pub const DATA_BLOCKED: u64 = 0x14;
    pub const STREAM_DATA_BLOCKED: u64 = 0x15;
    pub const STREAMS_BLOCKED: [u64; 2] = [0x17, 0x16];
    pub const NEW_CONNECTION_ID: u64 = 0x18;
    pub const RETIRE_CONNECTION_ID: u64 = 0x19;
    pub const PATH_CHALLENGE: u64 = 0x1a;
    pub const PATH_RESPONSE: u64 = 0x1b;
    pub const CLOSE: u64 = 0x1c;
    pub const CLOSE_APPLICATION: u64 = 0x1d;
    pub const HANDSHAKE_DONE: u64 = 0x1e;
    /// With a length.
    pub const DATAGRAM: u64 = 0x31;
    pub const ACK_FREQUENCY: u64 = 0xaf;
}

/// A frame, with names as in RFC 9000 section 19.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Frame<'a> {
    /// So many of them.
    Padding(usize),
    Ping,
    Ack {
        /// In units of the exponent that was agreed on.
        delay: u64,
        /// The first and the last number of each range, the highest first; there is one at least.
        ranges: &'a [(u64, u64)],
        /// Packets that came with ECT(0), ECT(1) and CE.
        ecn: Option<[u64; 3]>,
    },
    ResetStream {
        id: u64,
        code: u64,
        size: u64,
    },
    StopSending {
        id: u64,
        code: u64,
    },
    Crypto {
        offset: u64,
        data: &'a [u8],
    },
    NewToken(&'a [u8]),
    /// With its length, and its offset where it is not 0.
    Stream {
        id: u64,
        offset: u64,
        fin: bool,
        data: &'a [u8],
    },
    MaxData(u64),
    MaxStreamData {
        id: u64,
        limit: u64,
    },
    MaxStreams {
        both_ways: bool,
        count: u64,
    },
    DataBlocked(u64),
    StreamDataBlocked {
        id: u64,
        limit: u64,
    },
    StreamsBlocked {
        both_ways: bool,
        count: u64,
    },
    NewConnectionId {
        sequence: u64,
        retire_prior_to: u64,
        identifier: &'a [u8],
        reset_token: [u8; 16],
    },
    RetireConnectionId(u64),
    PathChallenge([u8; 8]),
    PathResponse([u8; 8]),
    /// CONNECTION_CLOSE without words, the application's or, with no frame named, the transport's.
    Close {
        code: u64,
        application: bool,
    },
    HandshakeDone,
    /// With its length.
    Datagram(&'a [u8]),
    /// The longest delay in microseconds.
    AckFrequency {
        sequence: u64,
        threshold: u64,
        max_delay_us: u64,
        reordering: u64,
    },
}

impl Frame<'_> {
    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Frame::Padding(bytes) => out.resize(out.len() + bytes, 0),
            Frame::Ping => numbers(&[kind::PING], out),
            Frame::Ack { delay, ranges, ecn } => acknowledgement(delay, ranges, ecn, out),
            Frame::ResetStream { id, code, size } => numbers(&[kind::RESET_STREAM, id, code, size], out),
            Frame::StopSending { id, code } => numbers(&[kind::STOP_SENDING, id, code], out),
            Frame::Crypto { offset, data } => with_data(&[kind::CRYPTO, offset], data, out),
            Frame::NewToken(token) => with_data(&[kind::NEW_TOKEN], token, out),
            Frame::Stream { id, offset, fin, data } => {
                let begins = usize::from(offset == 0);
                let kind = kind::STREAM | (1 - begins as u64) << 2 | 0x02 | u64::from(fin);
                with_data(&[kind, id, offset][..3 - begins], data, out);
            }
            Frame::MaxData(limit) => numbers(&[kind::MAX_DATA, limit], out),
            Frame::MaxStreamData { id, limit } => numbers(&[kind::MAX_STREAM_DATA, id, limit], out),
            Frame::MaxStreams { both_ways, count } => {
                numbers(&[kind::MAX_STREAMS[usize::from(both_ways)], count], out);
            }
            Frame::DataBlocked(limit) => numbers(&[kind::DATA_BLOCKED, limit], out),
            Frame::StreamDataBlocked { id, limit } => numbers(&[kind::STREAM_DATA_BLOCKED, id, limit], out),
            Frame::StreamsBlocked { both_ways, count } => {
                numbers(&[kind::STREAMS_BLOCKED[usize::from(both_ways)], count], out);
            }
            Frame::NewConnectionId { sequence, retire_prior_to, identifier, reset_token } => {
                numbers(&[kind::NEW_CONNECTION_ID, sequence, retire_prior_to], out);
                out.push(identifier.len() as u8);
                out.extend(identifier);
                out.extend(reset_token);
            }
            Frame::RetireConnectionId(sequence) => numbers(&[kind::RETIRE_CONNECTION_ID, sequence], out),
            Frame::PathChallenge(data) => {
                numbers(&[kind::PATH_CHALLENGE], out);
                out.extend(data);
            }
            Frame::PathResponse(data) => {
                numbers(&[kind::PATH_RESPONSE], out);
                out.extend(data);
            }
            Frame::Close { code, application: true } => with_data(&[kind::CLOSE_APPLICATION, code], &[], out),
            Frame::Close { code, application: false } => with_data(&[kind::CLOSE, code, 0], &[], out),
            Frame::HandshakeDone => numbers(&[kind::HANDSHAKE_DONE], out),
            Frame::Datagram(data) => with_data(&[kind::DATAGRAM], data, out),
            Frame::AckFrequency { sequence, threshold, max_delay_us, reordering } => {
                numbers(&[kind::ACK_FREQUENCY, sequence, threshold, max_delay_us, reordering], out);
            }
        }
    }
}

fn numbers(numbers: &[u64], out: &mut Vec<u8>) {
    numbers.iter().for_each(|&number| put_varint(number, out));
}

fn with_data(before: &[u64], data: &[u8], out: &mut Vec<u8>) {
    numbers(before, out);
    put_varint(data.len() as u64, out);
    out.extend(data);
}

/// Ranges go down, each as how far below the last one and how long, both less what they are at least (section 19.3.1).
fn acknowledgement(delay: u64, ranges: &[(u64, u64)], ecn: Option<[u64; 3]>, out: &mut Vec<u8>) {
    let kind = if ecn.is_some() { kind::ACK_ECN } else { kind::ACK };
    let (first, last) = ranges[0];
    numbers(&[kind, last, delay, ranges.len() as u64 - 1, last - first], out);
    for pair in ranges.windows(2) {
        let [(above, _), (first, last)] = [pair[0], pair[1]];
        numbers(&[above - last - 2, last - first], out);
    }
    numbers(ecn.as_ref().map_or(&[], |counts| &counts[..]), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(frame: Frame<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        frame.encode(&mut out);
        out
    }

    /// Section 19.3.1: the largest is 10; two below it 8 and 7; then 3: gaps of 0 and 2, ranges of 1 and 0.
    #[test]
    fn ranges_as_gaps_and_lengths() {
        let ranges = [(10, 10), (7, 8), (3, 3)];
        assert_eq!(bytes(Frame::Ack { delay: 5, ranges: &ranges, ecn: None }), [2, 10, 5, 2, 0, 0, 1, 2, 0]);
        let counted = Frame::Ack { delay: 0, ranges: &[(0, 1)], ecn: Some([2, 0, 64]) };
        assert_eq!(bytes(counted), [3, 1, 0, 0, 1, 2, 0, 0x40, 64]);
    }

    /// Section 19.8: the bits OFF, LEN and FIN.
    #[test]
    fn a_stream_frame_says_where_it_lies() {
        assert_eq!(bytes(Frame::Stream { id: 0, offset: 0, fin: false, data: b"ab" }), [0x0a, 0, 2, b'a', b'b']);
        assert_eq!(bytes(Frame::Stream { id: 4, offset: 64, fin: true, data: b"" }), [0x0f, 4, 0x40, 64, 0]);
    }
}
