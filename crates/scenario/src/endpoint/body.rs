//! What packets carry: TCP's segments, and UDP's datagrams, in place; everything else by a number.

use super::contents::Kept;
use vazao_engine::Ecn;
use vazao_transport::tcp::Segment;
use vazao_transport::udp::Datagram;

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// A TCP segment; its rare options are kept in [`Contents`](super::Contents).
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Datagram),
    /// Anything else: its place among [`Contents`](super::Contents), and the path of a flow that it goes by, the same number at both ends.
    Kept { content: Kept, path: u8 },
    /// Bytes to a guest or of one: the number of a frame that the guests keep.
    Bytes(u32),
}

// A body that outgrows this no longer fits a cache line with the rest of its packet.
const _: () = assert!(size_of::<Body>() == 32);

impl Body {
    /// Takes over the codepoint of the network's header, which a segment carries too.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        if let (Body::Tcp(segment), Ecn::Ce) = (self, ecn) {
            segment.ecn = ecn;
        }
    }
}
