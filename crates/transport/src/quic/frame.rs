//! QUIC's frames (RFC 9000 section 19, RFC 9221, RFC 10069, draft-ietf-quic-ack-frequency) with their sizes. Data is counted, not moved.

use super::stream::stamp;

/// A number of bytes as RFC 9000 section 16 writes it.
// Not in line, and without branches that would be hard to foretell: a dozen copies of it would fill the instruction cache.
#[inline(never)]
pub const fn varint(value: u64) -> u32 {
    1 << ((value > 63) as u32 + (value > 16_383) as u32 + (value > 1_073_741_823) as u32)
}

/// A frame. Those that carry data carry a stamp that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// PADDING: so many bytes.
    Padding(u16),
    /// PING.
    Ping,
    /// ACK: its ranges are the packet's.
    Ack(AckFrame),
    /// CRYPTO.
    Crypto {
        /// Where it begins in the handshake's bytes of its packet number space.
        offset: u64,
        /// Bytes.
        length: u16,
    },
    /// STREAM.
    Stream(StreamFrame),
    /// RESET_STREAM.
    ResetStream {
        /// The stream.
        id: u64,
        /// The application's reason.
        code: u64,
        /// Bytes that it has at the end.
        size: u64,
    },
    /// STOP_SENDING.
    StopSending {
        /// The stream.
        id: u64,
        /// The application's reason.
        code: u64,
    },
    /// MAX_DATA.
    MaxData(u64),
    /// MAX_STREAM_DATA: the stream and what may be sent on it.
    MaxStreamData(u64, u64),
    /// MAX_STREAMS: of two ways, or of one.
    MaxStreams {
        /// Whether of those with two ways.
        both_ways: bool,
        /// How many there may be in all.
        count: u64,
    },
    /// DATA_BLOCKED.
    DataBlocked(u64),
    /// STREAM_DATA_BLOCKED: the stream and where.
    StreamDataBlocked(u64, u64),
    /// NEW_CONNECTION_ID: its number, and up to which others are to be retired.
    NewConnectionId(u64, u64),
    /// RETIRE_CONNECTION_ID.
    RetireConnectionId(u64),
    /// PATH_CHALLENGE.
    PathChallenge(u64),
    /// PATH_RESPONSE.
    PathResponse(u64),
    /// NEW_TOKEN of so many bytes.
    NewToken(u16),
    /// CONNECTION_CLOSE.
    Close {
        /// The reason.
        code: u64,
        /// Whether the application's.
        application: bool,
    },
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// DATAGRAM (RFC 9221).
    Datagram {
        /// Bytes.
        length: u16,
        /// Which it is.
        number: u64,
    },
    /// ACK_FREQUENCY: its number, packets per acknowledgement, and the longest wait in microseconds.
    AckFrequency(u64, u64, u64),
    /// The parity of a group of packets, as long as the longest of them (Google's QUIC up to version 31).
    Parity(u16),
    /// What a lost packet of a group said was made again from the others.
    Recovered(StreamFrame),
    /// PATH_ABANDON (RFC 10069).
    PathAbandon {
        /// The path.
        path: u8,
        /// The reason.
        code: u64,
    },
    /// PATH_STATUS_BACKUP, or PATH_STATUS_AVAILABLE.
    PathStatus {
        /// The path.
        path: u8,
        /// Of several about a path the one with the highest number holds.
        number: u64,
        /// Whether it is to be used only while no other can be.
        backup: bool,
    },
    /// PATH_NEW_CONNECTION_ID.
    PathNewConnectionId {
        /// The path that it is for.
        path: u8,
        /// Its number among the path's.
        number: u64,
    },
    /// PATH_RETIRE_CONNECTION_ID.
    PathRetireConnectionId {
        /// The path that it was for.
        path: u8,
        /// Its number among the path's.
        number: u64,
    },
    /// MAX_PATH_ID: the highest identifier of a path that may be used.
    MaxPathId(u8),
}

/// An ACK frame but for its ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFrame {
    /// How long the largest was held, in units of 2^3 microseconds (ack_delay_exponent 3).
    pub delay: u64,
    /// How many ranges, and bytes of their numbers.
    pub ranges: u16,
    pub(crate) bytes: u32,
    /// The path whose packets it acknowledges, in a PATH_ACK frame (RFC 10069).
    pub path: Option<u8>,
    /// Packets with ECT(0), ECT(1) and CE, where ECN is reported.
    pub ecn: Option<[u64; 3]>,
}

impl AckFrame {
    /// Bytes that it takes.
    #[inline]
    pub fn bytes(&self) -> u32 {
        let path = self.path.map_or(0, |path| varint(u64::from(path)));
        1 + path + varint(self.delay) + self.bytes + self.ecn.map_or(0, |ecn| ecn.map(varint).iter().sum())
    }
}

/// A STREAM frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFrame {
    /// The stream.
    pub id: u64,
    /// Where in it.
    pub offset: u64,
    /// Bytes.
    pub length: u16,
    /// Whether the stream ends with it.
    pub fin: bool,
    /// Stands for the data: a digest of its place.
    pub stamp: u32,
}

impl StreamFrame {
    /// Its first `length` bytes, and the rest.
    pub(crate) fn split(self, length: u16) -> (StreamFrame, StreamFrame) {
        let offset = self.offset + u64::from(length);
        let rest = StreamFrame { offset, length: self.length - length, stamp: stamp(self.id, offset), ..self };
        (StreamFrame { length, fin: false, ..self }, rest)
    }
    /// One beyond its last byte.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
    /// Bytes that it takes.
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
    /// Bytes that it takes.
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
            // An identifier of 8 bytes and a reset token of 16.
            Frame::NewConnectionId(number, retired) => 1 + varint(number) + varint(retired) + 1 + 8 + 16,
            Frame::RetireConnectionId(number) => 1 + varint(number),
            Frame::PathChallenge(_) | Frame::PathResponse(_) => 9,
            Frame::NewToken(bytes) => 1 + varint(u64::from(bytes)) + u32::from(bytes),
            Frame::Close { code, application } => 1 + varint(code) + u32::from(!application) + 1,
            Frame::Datagram { length, .. } => 1 + varint(u64::from(length)) + u32::from(length),
            // Type and the group's first packet.
            Frame::Parity(length) => 1 + 4 + u32::from(length),
            // Type and the packet, as an ACK frame of Google's listed it.
            Frame::Recovered(_) => 1 + 4,
            // Types from 0x3e75 on, in two bytes.
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

    /// Whether a packet with it asks for an acknowledgement (section 13.2.1).
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
        // Type, stream 0, length of two bytes; and an offset where there is one.
        assert_eq!(frame(0, 0, 1000), 4 + 1000);
        assert_eq!(frame(0, 1, 1000), 5 + 1000);
        assert_eq!(frame(64, 1_000_000, 50), 8 + 50);
    }
}
