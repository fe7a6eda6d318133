//! Bodies of packets: TCP segments and UDP datagrams in place, everything else by a number.

use super::contents::Kept;
use vazao_engine::Ecn;
use vazao_transport::tcp::Segment;
use vazao_transport::udp::Datagram;

/// Body of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// TCP segment; its rare options are kept in [`Contents`](super::Contents).
    Tcp(Segment),
    /// UDP datagram.
    Udp(Datagram),
    /// Anything else: the key of its content in [`Contents`](super::Contents), and its path in the flow, numbered alike
    /// at both ends.
    Kept { content: Kept, path: u8 },
    /// IP packet to or from a guest: the number of its frame.
    Bytes(u32),
}

// A larger body would not fit a cache line with the rest of its packet.
const _: () = assert!(size_of::<Body>() == 32);

impl Body {
    /// Copies a congestion mark of the IP header to the segment.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        if let (Body::Tcp(segment), Ecn::Ce) = (self, ecn) {
            segment.ecn = ecn;
        }
    }
}
