//! Frames (RFC 9000 section 19, RFC 9221, RFC 10069, draft-ietf-quic-ack-frequency).

use super::number::{put_varint, take_varint};
use crate::{DecodeError, require};

/// Frame types.
mod kind {
    pub const PING: u64 = 0x01;
    pub const ACK: u64 = 0x02;
    pub const ACK_ECN: u64 = 0x03;
    pub const RESET_STREAM: u64 = 0x04;
    pub const STOP_SENDING: u64 = 0x05;
    pub const CRYPTO: u64 = 0x06;
    pub const NEW_TOKEN: u64 = 0x07;
    /// STREAM frame with bits for an offset, a length, and the end.
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
    /// DATAGRAM frame with a length.
    pub const DATAGRAM: u64 = 0x31;
    pub const DATAGRAM_BARE: u64 = 0x30;
    pub const ACK_FREQUENCY: u64 = 0xaf;
    pub const PATH_ACK: u64 = 0x3e;
    pub const PATH_ACK_ECN: u64 = 0x3f;
    pub const PATH_ABANDON: u64 = 0x3e75;
    pub const PATH_STATUS: [u64; 2] = [0x3e77, 0x3e76];
    pub const PATH_NEW_CONNECTION_ID: u64 = 0x3e78;
    pub const PATH_RETIRE_CONNECTION_ID: u64 = 0x3e79;
    pub const MAX_PATH_ID: u64 = 0x3e7a;
}

/// A frame, with names as in RFC 9000 section 19.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Frame<'a> {
    /// PADDING frames, by their number.
    Padding(usize),
    Ping,
    Ack {
        /// Path whose packets are acknowledged, in a PATH_ACK frame.
        path: Option<u64>,
        /// Delay in units of the negotiated exponent.
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
    /// STREAM frame with its length, and its offset if that is not 0.
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
    /// DATAGRAM frame with its length.
    Datagram(&'a [u8]),
    /// The longest delay in microseconds.
    AckFrequency {
        sequence: u64,
        threshold: u64,
        max_delay_us: u64,
        reordering: u64,
    },
    PathAbandon {
        path: u64,
        code: u64,
    },
    /// PATH_STATUS_BACKUP, or PATH_STATUS_AVAILABLE.
    PathStatus {
        path: u64,
        sequence: u64,
        backup: bool,
    },
    PathNewConnectionId {
        path: u64,
        sequence: u64,
        retire_prior_to: u64,
        identifier: &'a [u8],
        reset_token: [u8; 16],
    },
    PathRetireConnectionId {
        path: u64,
        sequence: u64,
    },
    MaxPathId(u64),
}

impl Frame<'_> {
    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Frame::Padding(bytes) => out.resize(out.len() + bytes, 0),
            Frame::Ping => numbers(&[kind::PING], out),
            Frame::Ack { path, delay, ranges, ecn } => acknowledgement(path, delay, ranges, ecn, out),
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
                with_token(identifier, reset_token, out);
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
            Frame::PathAbandon { path, code } => numbers(&[kind::PATH_ABANDON, path, code], out),
            Frame::PathStatus { path, sequence, backup } => {
                numbers(&[kind::PATH_STATUS[usize::from(backup)], path, sequence], out);
            }
            Frame::PathNewConnectionId { path, sequence, retire_prior_to, identifier, reset_token } => {
                numbers(&[kind::PATH_NEW_CONNECTION_ID, path, sequence, retire_prior_to], out);
                with_token(identifier, reset_token, out);
            }
            Frame::PathRetireConnectionId { path, sequence } => {
                numbers(&[kind::PATH_RETIRE_CONNECTION_ID, path, sequence], out);
            }
            Frame::MaxPathId(path) => numbers(&[kind::MAX_PATH_ID, path], out),
        }
    }
}

/// Reads the frames of a packet one after the other.
///
/// # Errors
/// When one is truncated, or of a type that is not known here; those before it were read.
pub fn read_frames(mut payload: &[u8], mut visit: impl FnMut(&Frame<'_>)) -> Result<(), DecodeError> {
    let mut ranges = Vec::new();
    while !payload.is_empty() {
        let padding = payload.iter().take_while(|&&byte| byte == 0).count();
        let frame = if padding > 0 {
            payload = &payload[padding..];
            Frame::Padding(padding)
        } else {
            take_frame(&mut payload, &mut ranges)?
        };
        visit(&frame);
    }
    Ok(())
}

/// Reads the frame at the front; `ranges` is a buffer for an ACK frame's ranges.
fn take_frame<'a, 'b: 'a>(from: &mut &'b [u8], ranges: &'a mut Vec<(u64, u64)>) -> Result<Frame<'a>, DecodeError> {
    let kind = take_varint(from)?;
    let mut number = || take_varint(from);
    let way = |kinds: [u64; 2]| kinds[1] == kind;
    Ok(match kind {
        kind::PING => Frame::Ping,
        kind::ACK | kind::ACK_ECN => return take_acknowledgement(None, kind == kind::ACK_ECN, from, ranges),
        kind::PATH_ACK | kind::PATH_ACK_ECN => {
            let path = Some(number()?);
            return take_acknowledgement(path, kind == kind::PATH_ACK_ECN, from, ranges);
        }
        kind::RESET_STREAM => Frame::ResetStream { id: number()?, code: number()?, size: number()? },
        kind::STOP_SENDING => Frame::StopSending { id: number()?, code: number()? },
        kind::CRYPTO => Frame::Crypto { offset: number()?, data: take_data(from)? },
        kind::NEW_TOKEN => Frame::NewToken(take_data(from)?),
        kind::STREAM..=0x0f => {
            let id = number()?;
            let offset = if kind & 0x04 != 0 { number()? } else { 0 };
            let data = if kind & 0x02 != 0 { take_data(from)? } else { std::mem::take(from) };
            Frame::Stream { id, offset, fin: kind & 0x01 != 0, data }
        }
        kind::MAX_DATA => Frame::MaxData(number()?),
        kind::MAX_STREAM_DATA => Frame::MaxStreamData { id: number()?, limit: number()? },
        0x12 | 0x13 => Frame::MaxStreams { both_ways: way(kind::MAX_STREAMS), count: number()? },
        kind::DATA_BLOCKED => Frame::DataBlocked(number()?),
        kind::STREAM_DATA_BLOCKED => Frame::StreamDataBlocked { id: number()?, limit: number()? },
        0x16 | 0x17 => Frame::StreamsBlocked { both_ways: way(kind::STREAMS_BLOCKED), count: number()? },
        kind::NEW_CONNECTION_ID => {
            let (sequence, retire_prior_to) = (number()?, number()?);
            let (identifier, reset_token) = take_token(from)?;
            Frame::NewConnectionId { sequence, retire_prior_to, identifier, reset_token }
        }
        kind::RETIRE_CONNECTION_ID => Frame::RetireConnectionId(number()?),
        kind::PATH_CHALLENGE => Frame::PathChallenge(take_array(from)?),
        kind::PATH_RESPONSE => Frame::PathResponse(take_array(from)?),
        kind::CLOSE | kind::CLOSE_APPLICATION => {
            let (code, application) = (number()?, kind == kind::CLOSE_APPLICATION);
            if !application {
                number()?;
            }
            take_data(from)?;
            Frame::Close { code, application }
        }
        kind::HANDSHAKE_DONE => Frame::HandshakeDone,
        kind::DATAGRAM => Frame::Datagram(take_data(from)?),
        kind::DATAGRAM_BARE => Frame::Datagram(std::mem::take(from)),
        kind::ACK_FREQUENCY => Frame::AckFrequency {
            sequence: number()?,
            threshold: number()?,
            max_delay_us: number()?,
            reordering: number()?,
        },
        _ => return take_path_frame(kind, from),
    })
}

/// Takes the rest of a frame of Multipath QUIC.
fn take_path_frame<'a>(kind: u64, from: &mut &'a [u8]) -> Result<Frame<'a>, DecodeError> {
    let mut number = || take_varint(from);
    Ok(match kind {
        kind::PATH_ABANDON => Frame::PathAbandon { path: number()?, code: number()? },
        0x3e76 | 0x3e77 => {
            Frame::PathStatus { path: number()?, sequence: number()?, backup: kind::PATH_STATUS[1] == kind }
        }
        kind::PATH_NEW_CONNECTION_ID => {
            let (path, sequence, retire_prior_to) = (number()?, number()?, number()?);
            let (identifier, reset_token) = take_token(from)?;
            Frame::PathNewConnectionId { path, sequence, retire_prior_to, identifier, reset_token }
        }
        kind::PATH_RETIRE_CONNECTION_ID => Frame::PathRetireConnectionId { path: number()?, sequence: number()? },
        kind::MAX_PATH_ID => Frame::MaxPathId(number()?),
        _ => return Err(DecodeError::BadLength(from.len())),
    })
}

/// Takes an identifier with its length before it, and its stateless reset token.
fn take_token<'a>(from: &mut &'a [u8]) -> Result<(&'a [u8], [u8; 16]), DecodeError> {
    let length = take_bytes(from, 1)?[0];
    Ok((take_bytes(from, length.into())?, take_array(from)?))
}

fn take_bytes<'a>(from: &mut &'a [u8], length: usize) -> Result<&'a [u8], DecodeError> {
    require(from, length)?;
    let (taken, rest) = from.split_at(length);
    *from = rest;
    Ok(taken)
}

fn take_array<const N: usize>(from: &mut &[u8]) -> Result<[u8; N], DecodeError> {
    Ok(take_bytes(from, N)?.try_into().expect("as many as were taken"))
}

/// Takes data with its length before it.
fn take_data<'a>(from: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let length = take_varint(from)?;
    take_bytes(from, usize::try_from(length).unwrap_or(usize::MAX))
}

fn take_acknowledgement<'a>(
    path: Option<u64>,
    counts: bool,
    from: &mut &[u8],
    ranges: &'a mut Vec<(u64, u64)>,
) -> Result<Frame<'a>, DecodeError> {
    let mut number = || take_varint(from);
    let (largest, delay, more) = (number()?, number()?, number()?);
    let below = |from: u64, by: u64| from.checked_sub(by).ok_or(DecodeError::BadLength(0));
    let mut first = below(largest, number()?)?;
    ranges.clear();
    ranges.push((first, largest));
    for _ in 0..more {
        let last = below(first, number()? + 2)?;
        first = below(last, number()?)?;
        ranges.push((first, last));
    }
    let ecn = if counts { Some([number()?, number()?, number()?]) } else { None };
    Ok(Frame::Ack { path, delay, ranges, ecn })
}

fn numbers(numbers: &[u64], out: &mut Vec<u8>) {
    numbers.iter().for_each(|&number| put_varint(number, out));
}

fn with_token(identifier: &[u8], reset_token: [u8; 16], out: &mut Vec<u8>) {
    out.push(identifier.len() as u8);
    out.extend(identifier);
    out.extend(reset_token);
}

fn with_data(before: &[u64], data: &[u8], out: &mut Vec<u8>) {
    numbers(before, out);
    put_varint(data.len() as u64, out);
    out.extend(data);
}

/// Ranges go down, each as how far below the last one and how long, both less what they are at least (section 19.3.1).
fn acknowledgement(path: Option<u64>, delay: u64, ranges: &[(u64, u64)], ecn: Option<[u64; 3]>, out: &mut Vec<u8>) {
    let (first, last) = ranges[0];
    match path {
        None => numbers(&[if ecn.is_some() { kind::ACK_ECN } else { kind::ACK }], out),
        Some(path) => numbers(&[if ecn.is_some() { kind::PATH_ACK_ECN } else { kind::PATH_ACK }, path], out),
    }
    numbers(&[last, delay, ranges.len() as u64 - 1, last - first], out);
    for pair in ranges.windows(2) {
        let [(above, _), (first, last)] = [pair[0], pair[1]];
        numbers(&[above - last - 2, last - first], out);
    }
    numbers(ecn.as_ref().map_or(&[], |counts| &counts[..]), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(frame: Frame<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        frame.encode(&mut out);
        out
    }

    /// Section 19.3.1: the largest is 10; two below it 8 and 7; then 3: gaps of 0 and 2, ranges of 1 and 0.
    #[test]
    fn ranges_as_gaps_and_lengths() {
        let ranges = [(10, 10), (7, 8), (3, 3)];
        assert_eq!(
            bytes(Frame::Ack { path: None, delay: 5, ranges: &ranges, ecn: None }),
            [2, 10, 5, 2, 0, 0, 1, 2, 0]
        );
        let counted = Frame::Ack { path: None, delay: 0, ranges: &[(0, 1)], ecn: Some([2, 0, 64]) };
        assert_eq!(bytes(counted), [3, 1, 0, 0, 1, 2, 0, 0x40, 64]);
    }

    /// RFC 10069 sections 4.1 and 4.2: types beyond 63 take two bytes, the path stands first.
    #[test]
    fn frames_name_their_path() {
        let acked = Frame::Ack { path: Some(3), delay: 0, ranges: &[(0, 1)], ecn: None };
        assert_eq!(bytes(acked), [0x3e, 3, 1, 0, 0, 1]);
        assert_eq!(bytes(Frame::PathAbandon { path: 1, code: 0x3e76 }), [0x7e, 0x75, 1, 0x7e, 0x76]);
        assert_eq!(bytes(Frame::PathStatus { path: 2, sequence: 5, backup: true }), [0x7e, 0x76, 2, 5]);
        assert_eq!(bytes(Frame::PathStatus { path: 2, sequence: 6, backup: false }), [0x7e, 0x77, 2, 6]);
        assert_eq!(bytes(Frame::PathRetireConnectionId { path: 1, sequence: 0 }), [0x7e, 0x79, 1, 0]);
        assert_eq!(bytes(Frame::MaxPathId(9)), [0x7e, 0x7a, 9]);
    }

    /// Section 19.8: the bits OFF, LEN and FIN.
    #[test]
    fn a_stream_frame_says_where_it_lies() {
        assert_eq!(bytes(Frame::Stream { id: 0, offset: 0, fin: false, data: b"ab" }), [0x0a, 0, 2, b'a', b'b']);
        assert_eq!(bytes(Frame::Stream { id: 4, offset: 64, fin: true, data: b"" }), [0x0f, 4, 0x40, 64, 0]);
    }

    /// One of every type, as they were written.
    #[test]
    fn what_was_written_is_read() {
        let frames = [
            Frame::Ping,
            Frame::Padding(20),
            Frame::Ack { path: None, delay: 5, ranges: &[(10, 10), (7, 8), (3, 3)], ecn: None },
            Frame::Ack { path: None, delay: 0, ranges: &[(0, 1)], ecn: Some([2, 0, 64]) },
            Frame::ResetStream { id: 4, code: 7, size: 1 << 40 },
            Frame::StopSending { id: 4, code: 9 },
            Frame::Crypto { offset: 100, data: b"hello" },
            Frame::NewToken(b"token"),
            Frame::Stream { id: 0, offset: 0, fin: false, data: b"ab" },
            Frame::Stream { id: 4, offset: 64, fin: true, data: b"" },
            Frame::MaxData(1 << 20),
            Frame::MaxStreamData { id: 8, limit: 70_000 },
            Frame::MaxStreams { both_ways: true, count: 100 },
            Frame::MaxStreams { both_ways: false, count: 3 },
            Frame::DataBlocked(5),
            Frame::StreamDataBlocked { id: 8, limit: 9 },
            Frame::StreamsBlocked { both_ways: true, count: 1 },
            Frame::StreamsBlocked { both_ways: false, count: 2 },
            Frame::NewConnectionId { sequence: 2, retire_prior_to: 1, identifier: &[1; 8], reset_token: [2; 16] },
            Frame::RetireConnectionId(1),
            Frame::PathChallenge([3; 8]),
            Frame::PathResponse([4; 8]),
            Frame::Close { code: 10, application: true },
            Frame::Close { code: 11, application: false },
            Frame::HandshakeDone,
            Frame::Datagram(b"datagram"),
            Frame::AckFrequency { sequence: 1, threshold: 9, max_delay_us: 25_000, reordering: 1 },
            Frame::Ack { path: Some(3), delay: 5, ranges: &[(10, 10), (7, 8)], ecn: Some([1, 2, 3]) },
            Frame::PathAbandon { path: 1, code: 0x3e76 },
            Frame::PathStatus { path: 1, sequence: 7, backup: true },
            Frame::PathStatus { path: 2, sequence: 8, backup: false },
            Frame::PathNewConnectionId {
                path: 4,
                sequence: 1,
                retire_prior_to: 0,
                identifier: &[5; 8],
                reset_token: [6; 16],
            },
            Frame::PathRetireConnectionId { path: 4, sequence: 0 },
            Frame::MaxPathId(9),
        ];
        let mut payload = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut payload));
        let mut read = 0;
        read_frames(&payload, |frame| {
            assert_eq!(*frame, frames[read]);
            read += 1;
        })
        .unwrap();
        assert_eq!(read, frames.len());
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(payload: Vec<u8>) {
            let mut bytes = 0;
            let whole = read_frames(&payload, |_| bytes += 1);
            prop_assert!(bytes <= payload.len());
            prop_assert!(whole.is_err() || payload.is_empty() || bytes > 0);
        }
    }
}
