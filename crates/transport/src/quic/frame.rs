//! QUIC frames (RFC 9000 section 19, RFC 9221, RFC 10069, draft-ietf-quic-ack-frequency) and their sizes. Data is
//! counted, not moved.

/// Bytes of a variable-length integer (RFC 9000 section 16).
// Not inlined, and branchless: a dozen copies with unpredictable branches would fill the instruction cache.
#[inline(never)]
pub const fn varint(value: u64) -> u32 {
    1 << ((value > 63) as u32 + (value > 16_383) as u32 + (value > 1_073_741_823) as u32)
}

/// QUIC frame. Frames with data carry a stamp that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// PADDING, in bytes.
    Padding(u16),
    /// PING.
    Ping,
    /// ACK, whose ranges are stored with the packet.
    Ack(AckFrame),
    /// CRYPTO.
    Crypto {
        /// Offset in the CRYPTO data of the packet number space.
        offset: u64,
        /// Bytes.
        length: u16,
    },
    /// STREAM.
    Stream(StreamFrame),
    /// RESET_STREAM.
    ResetStream {
        /// Stream identifier.
        id: u64,
        /// Application error code.
        code: u64,
        /// Final size of the stream.
        size: u64,
    },
    /// STOP_SENDING.
    StopSending {
        /// Stream identifier.
        id: u64,
        /// Application error code.
        code: u64,
    },
    /// MAX_DATA.
    MaxData(u64),
    /// MAX_STREAM_DATA: stream identifier and limit.
    MaxStreamData(u64, u64),
    /// MAX_STREAMS.
    MaxStreams {
        /// Whether for bidirectional streams, rather than unidirectional ones.
        both_ways: bool,
        /// Total number of streams allowed.
        count: u64,
    },
    /// DATA_BLOCKED.
    DataBlocked(u64),
    /// STREAM_DATA_BLOCKED: stream identifier and limit.
    StreamDataBlocked(u64, u64),
    /// NEW_CONNECTION_ID: sequence number and Retire Prior To.
    NewConnectionId(u64, u64),
    /// RETIRE_CONNECTION_ID.
    RetireConnectionId(u64),
    /// PATH_CHALLENGE.
    PathChallenge(u64),
    /// PATH_RESPONSE.
    PathResponse(u64),
    /// NEW_TOKEN, with the bytes of the token.
    NewToken(u16),
    /// CONNECTION_CLOSE.
    Close {
        /// Error code.
        code: u64,
        /// Whether it is the application's.
        application: bool,
    },
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// DATAGRAM (RFC 9221).
    Datagram {
        /// Bytes of data.
        length: u16,
        /// Number of the datagram.
        number: u64,
    },
    /// ACK_FREQUENCY: sequence number, packets per acknowledgement, and maximum delay in microseconds.
    AckFrequency(u64, u64, u64),
    /// Parity of an FEC group, as long as its longest packet (Google's QUIC up to version 31).
    Parity(u16),
    /// Report that stream data of a lost packet was recovered by FEC.
    Recovered(StreamFrame),
    /// PATH_ABANDON (RFC 10069).
    PathAbandon {
        /// Path identifier.
        path: u8,
        /// Error code.
        code: u64,
    },
    /// PATH_STATUS_BACKUP, or PATH_STATUS_AVAILABLE.
    PathStatus {
        /// Path identifier.
        path: u8,
        /// Sequence number; of several frames for a path the highest counts.
        number: u64,
        /// Whether the path is a backup.
        backup: bool,
    },
    /// PATH_NEW_CONNECTION_ID.
    PathNewConnectionId {
        /// Path identifier.
        path: u8,
        /// Sequence number of the connection ID.
        number: u64,
    },
    /// PATH_RETIRE_CONNECTION_ID.
    PathRetireConnectionId {
        /// Path identifier.
        path: u8,
        /// Sequence number of the connection ID.
        number: u64,
    },
    /// MAX_PATH_ID: highest path identifier allowed.
    MaxPathId(u8),
}

/// ACK frame without its ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFrame {
    /// ACK Delay of the largest packet, in units of 2^3 microseconds (ack_delay_exponent 3).
    pub delay: u64,
    /// Number of ranges, and bytes of their encoding.
    pub ranges: u16,
    pub(crate) bytes: u32,
    /// Path whose packets are acknowledged, in a PATH_ACK frame (RFC 10069).
    pub path: Option<u8>,
    /// ECN counts: ECT(0), ECT(1) and CE, if reported.
    pub ecn: Option<[u64; 3]>,
}

impl AckFrame {
    /// Bytes of the frame.
    #[inline]
    pub fn bytes(&self) -> u32 {
        let path = self.path.map_or(0, |path| varint(u64::from(path)));
        1 + path + varint(self.delay) + self.bytes + self.ecn.map_or(0, |ecn| ecn.map(varint).iter().sum())
    }
}

/// Digest of a position in a stream, which stands for the data there.
#[inline]
pub fn stamp(id: u64, offset: u64) -> u32 {
    crate::common::stamp(offset ^ id.rotate_right(16))
}

/// STREAM frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFrame {
    /// Stream identifier.
    pub id: u64,
    /// Offset of the data in the stream.
    pub offset: u64,
    /// Bytes of data.
    pub length: u16,
    /// Whether it ends the stream.
    pub fin: bool,
    /// Digest of the data's position, which stands for the data.
    pub stamp: u32,
}

impl StreamFrame {
    /// Splits the frame after its first `length` bytes.
    pub(crate) fn split(self, length: u16) -> (StreamFrame, StreamFrame) {
        let offset = self.offset + u64::from(length);
        let rest = StreamFrame { offset, length: self.length - length, stamp: stamp(self.id, offset), ..self };
        (StreamFrame { length, fin: false, ..self }, rest)
    }
    /// Offset after the last byte.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
    /// Bytes of the frame.
    #[inline]
    pub fn bytes(&self) -> u32 {
        StreamFrame::header(self.id, self.offset, u64::from(self.length)) + u32::from(self.length)
    }
    /// Bytes before the data.
    #[inline]
    pub const fn header(id: u64, offset: u64, length: u64) -> u32 {
        1 + varint(id) + if offset > 0 { varint(offset) } else { 0 } + varint(length)
    }
}

impl Frame {
    /// Bytes of the frame.
    #[inline]
    pub fn bytes(&self) -> u32 {
        match *self {
            Frame::Padding(bytes) => u32::from(bytes),
            Frame::Ping | Frame::HandshakeDone => 1,
            Frame::Ack(ack) => ack.bytes(),
            Frame::Crypto { offset, length } => 1 + varint(offset) + varint(u64::from(length)) + u32::from(length),
            Frame::Stream(stream) => stream.bytes(),
            Frame::ResetStream { id, code, size } => 1 + varint(id) + varint(code) + varint(size),
            Frame::StopSending { id, code } => 1 + varint(id) + varint(code),
            Frame::MaxData(limit) | Frame::DataBlocked(limit) => 1 + varint(limit),
            Frame::MaxStreamData(id, limit) | Frame::StreamDataBlocked(id, limit) => 1 + varint(id) + varint(limit),
            Frame::MaxStreams { count, .. } => 1 + varint(count),
            // A connection ID of 8 bytes and a stateless reset token of 16.
            Frame::NewConnectionId(number, retired) => 1 + varint(number) + varint(retired) + 1 + 8 + 16,
            Frame::RetireConnectionId(number) => 1 + varint(number),
            Frame::PathChallenge(_) | Frame::PathResponse(_) => 9,
            Frame::NewToken(bytes) => 1 + varint(u64::from(bytes)) + u32::from(bytes),
            Frame::Close { code, application } => 1 + varint(code) + u32::from(!application) + 1,
            Frame::Datagram { length, .. } => 1 + varint(u64::from(length)) + u32::from(length),
            // Type and the first packet number of the group.
            Frame::Parity(length) => 1 + 4 + u32::from(length),
            // Type and packet number, as listed in Google's ACK frames.
            Frame::Recovered(_) => 1 + 4,
            // Types from 0x3e75 on are encoded in two bytes.
            Frame::PathAbandon { path, code } => 2 + varint(u64::from(path)) + varint(code),
            Frame::PathStatus { path, number, .. } => 2 + varint(u64::from(path)) + varint(number),
            Frame::PathNewConnectionId { path, number } => {
                2 + varint(u64::from(path)) + varint(number) + 1 + 1 + 8 + 16
            }
            Frame::PathRetireConnectionId { path, number } => 2 + varint(u64::from(path)) + varint(number),
            Frame::MaxPathId(path) => 2 + varint(u64::from(path)),
            Frame::AckFrequency(number, packets, wait) => 2 + varint(number) + varint(packets) + varint(wait) + 1,
        }
    }

    /// Whether the frame is ack-eliciting (section 13.2.1).
    #[inline]
    pub const fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Frame::Padding(_) | Frame::Ack(_) | Frame::Close { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 section 16, table 4.
    #[test]
    fn lengths_of_integers() {
        let lengths = [0, 63, 64, 16_383, 16_384, 1_073_741_823, 1_073_741_824].map(varint);
        assert_eq!(lengths, [1, 1, 2, 2, 4, 4, 8]);
    }

    #[test]
    fn a_stream_frame_counts_what_stands_before_its_data() {
        let frame =
            |id, offset, length| Frame::Stream(StreamFrame { id, offset, length, fin: false, stamp: 0 }).bytes();
        // Type, stream 0, length of two bytes; and an offset unless it is zero.
        assert_eq!(frame(0, 0, 1000), 4 + 1000);
        assert_eq!(frame(0, 1, 1000), 5 + 1000);
        assert_eq!(frame(64, 1_000_000, 50), 8 + 50);
    }
}
