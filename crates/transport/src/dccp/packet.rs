//! DCCP's packets (RFC 4340 section 5).

use crate::common::datagrams::Datagram;
use vazao_engine::Duration;

/// A packet's type (section 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Opens a connection.
    #[default]
    Request,
    /// Answers a Request.
    Response,
    /// Carries a datagram.
    Data,
    /// Acknowledges.
    Ack,
    /// Carries a datagram and acknowledges.
    DataAck,
    /// The server asks the client to close.
    CloseReq,
    /// Closes the connection.
    Close,
    /// Ends it.
    Reset,
}

impl Kind {
    /// Bytes of the header of a packet of this type with 48-bit sequence numbers, without options: the generic header has 16,
    /// an acknowledgement number takes 8, a service code or a reason 4.
    pub fn header(self) -> u32 {
        match self {
            Kind::Data => 16,
            Kind::Request => 20,
            Kind::Ack | Kind::DataAck | Kind::CloseReq | Kind::Close => 24,
            Kind::Response | Kind::Reset => 28,
        }
    }

    /// Whether it carries a datagram.
    pub fn has_data(self) -> bool {
        matches!(self, Kind::Data | Kind::DataAck)
    }
}

/// Fate of packets in an Ack Vector (section 11.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// They arrived.
    Received,
    /// They arrived with a mark of congestion.
    Marked,
    /// They have not arrived.
    Missing,
}

/// Consecutive packets of one fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Fate of each.
    pub fate: Fate,
    /// Number of packets.
    pub length: u32,
}

/// Packets that one byte of an Ack Vector stands for at most: the run length has six bits, and counts one more.
pub const LONGEST_RUN: u32 = 64;

/// Bytes of one Ack Vector option: type, length, and at most 253 bytes of runs.
const LONGEST_OPTION: u32 = 253;

impl Run {
    /// Bytes that it takes in an Ack Vector.
    pub fn bytes(&self) -> u32 {
        self.length.div_ceil(LONGEST_RUN)
    }
}

/// A packet. Its sequence number counts the packets of its sender from 0: on the wire the initial sequence number is added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Its type.
    pub kind: Kind,
    /// Its sequence number.
    pub sequence: u64,
    /// The greatest sequence number that its sender has received; in every packet but Request and Data.
    pub acknowledgment: u64,
    /// Ack Vector: fates of the acknowledged packet and of earlier ones, the newest first.
    pub vector: Vec<Run>,
    /// Elapsed Time: time since the acknowledged packet arrived (section 13.2), if it is told.
    pub elapsed: Option<Duration>,
    /// Datagram, in a Data or DataAck packet.
    pub datagram: Option<Datagram>,
}

impl Packet {
    /// Empties it, but keeps its memory.
    pub fn clear(&mut self) {
        self.vector.clear();
        (self.elapsed, self.datagram) = (None, None);
    }

    /// Bytes of its options, padded to whole words.
    pub fn options(&self) -> u32 {
        let runs: u32 = self.vector.iter().map(Run::bytes).sum();
        let vector = runs + 2 * runs.div_ceil(LONGEST_OPTION);
        let elapsed = self.elapsed.map_or(0, |_| ELAPSED_BYTES);
        let features = match self.kind {
            Kind::Request => REQUEST_FEATURES,
            Kind::Response => RESPONSE_FEATURES,
            _ => 0,
        };
        (vector + elapsed + features).next_multiple_of(4)
    }

    /// Bytes of its header with options, and of its payload.
    pub fn bytes(&self) -> u32 {
        self.kind.header() + self.options() + self.datagram.map_or(0, |datagram| u32::from(datagram.payload))
    }
}

/// Bytes of an Elapsed Time option with 32 bits of time.
const ELAPSED_BYTES: u32 = 6;

/// Bytes of the options by which a Request says that acknowledgements in both directions have Ack Vectors (section 11.5): Change L
/// and Change R of the feature Send Ack Vector.
const REQUEST_FEATURES: u32 = 2 * 4;

/// Bytes of the options by which a Response confirms that: Confirm R and Confirm L, with a list of what the server would have.
const RESPONSE_FEATURES: u32 = 2 * 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// 64 packets are one byte and 65 are two; 253 bytes are one option, and 254 two.
    #[test]
    fn an_ack_vector_takes_a_byte_for_64_packets() {
        let ack = |lengths: &[u32]| {
            let vector = lengths.iter().map(|&length| Run { fate: Fate::Received, length }).collect();
            Packet { kind: Kind::Ack, vector, ..Packet::default() }
        };
        assert_eq!(ack(&[]).bytes(), 24);
        assert_eq!([ack(&[64]).options(), ack(&[65]).options()], [4, 4]);
        assert_eq!([ack(&[64 * 253]).options(), ack(&[64 * 254]).options()], [256, 260]);
        assert_eq!(ack(&[1, 1, 1]).options(), 8);
    }
}
