//! Data inside the payload of an IP packet, whatever its protocol.

use crate::{sctp, tcp, udp};

/// Returns the bytes of user data in an IP packet's payload, without control information; 0 for an unknown protocol.
pub fn data_bytes(protocol: u8, payload: &[u8]) -> u32 {
    let length = payload.len() as u32;
    match protocol {
        tcp::PROTOCOL if payload.len() >= tcp::MIN_HEADER_LENGTH => {
            length.saturating_sub(4 * u32::from(payload[12] >> 4))
        }
        udp::PROTOCOL => length.saturating_sub(udp::HEADER_LENGTH as u32),
        sctp::PROTOCOL => chunks_data(payload.get(sctp::HEADER_LENGTH..).unwrap_or_default()),
        _ => 0,
    }
}

/// Returns the source and the destination port, which every transport has first.
pub fn ports(payload: &[u8]) -> Option<[u16; 2]> {
    let &[a, b, c, d] = payload.first_chunk()?;
    Some([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

/// Returns the bytes of user data in SCTP's chunks (RFC 9260 section 3.2, RFC 8260 section 2.1), which are padded to four
/// bytes.
fn chunks_data(mut chunks: &[u8]) -> u32 {
    let mut data = 0;
    while let [kind, _, high, low, ..] = *chunks {
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < 4 {
            break;
        }
        let fields = match kind {
            sctp::kind::DATA => 16,
            sctp::kind::I_DATA => 20,
            _ => length,
        };
        data += length.saturating_sub(fields) as u32;
        chunks = chunks.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    data
}
