//! Headers in front of a transport's: of the link, VLANs, IPv4 and IPv6. Captures are cut short, checksums are left to the
//! card, lengths are zero where it takes packets apart: whatever is there is read.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use vazao_wire::{be16, be32};

/// Link types of the registry whose frames name the network protocol: bytes of the header, and where the name stands.
const TYPED: [(u16, usize, usize); 3] = [(1, 14, 12), (113, 16, 14), (276, 20, 0)];
/// Link types whose frames begin with IP, after so many bytes: raw IP by its three numbers, BSD loopback by its two.
const BARE: [(u16, usize); 7] = [(101, 0), (12, 0), (14, 0), (228, 0), (229, 0), (0, 4), (108, 4)];

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Types of VLAN tags: IEEE 802.1Q, 802.1ad, and an older one for the outer of two.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// Headers of IPv6 in front of the transport's whose second byte is their length in units of 8 bytes: hop-by-hop and
/// destination options, routing (RFC 8200 section 4).
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;

/// A packet from its transport header on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    /// Source and destination.
    pub addresses: [IpAddr; 2],
    /// Number of the transport.
    pub protocol: u8,
    /// The packet is marked with congestion (RFC 3168).
    pub is_marked: bool,
    /// Identification of an IPv4 packet.
    pub identification: Option<u16>,
    /// Bytes from the transport header on that were kept.
    pub bytes: &'a [u8],
    /// Bytes from the transport header on as they were on the wire.
    pub length: usize,
}

/// Reason why a packet is not looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// A link that is not known, by its type.
    Link(u16),
    /// Another network protocol than IP.
    NotIp,
    /// A later fragment, which has no transport header.
    Fragment,
    /// The headers were not kept.
    Short,
}

/// Reads a frame of `original` bytes, of which these were kept.
pub fn read(link_type: u16, frame: &[u8], original: usize) -> Result<Headers<'_>, Unread> {
    let header = network(link_type, frame)?;
    let packet = frame.get(header..).ok_or(Unread::Short)?;
    let original = original.max(frame.len()) - header;
    match packet.first().ok_or(Unread::Short)? >> 4 {
        4 => ipv4(packet, original),
        6 => ipv6(packet, original),
        _ => Err(Unread::NotIp),
    }
}

/// Returns where the IP packet of a frame begins.
fn network(link_type: u16, frame: &[u8]) -> Result<usize, Unread> {
    if let Some((_, header)) = BARE.iter().find(|(known, _)| *known == link_type) {
        return Ok(*header);
    }
    let &(_, mut header, name) = TYPED.iter().find(|(known, ..)| *known == link_type).ok_or(Unread::Link(link_type))?;
    if frame.len() < header {
        return Err(Unread::Short);
    }
    let mut named = be16(frame, name);
    while TAGS.contains(&named) {
        if frame.len() < header + 4 {
            return Err(Unread::Short);
        }
        named = be16(frame, header + 2);
        header += 4;
    }
    if named == IPV4 || named == IPV6 { Ok(header) } else { Err(Unread::NotIp) }
}

fn ipv4(packet: &[u8], original: usize) -> Result<Headers<'_>, Unread> {
    if packet.len() < 20 {
        return Err(Unread::Short);
    }
    let header = usize::from(packet[0] & 15) * 4;
    if be16(packet, 6) & 0x1fff != 0 {
        return Err(Unread::Fragment);
    }
    let bytes = packet.get(header.max(20)..).ok_or(Unread::Short)?;
    let address = |at| IpAddr::V4(Ipv4Addr::from(be32(packet, at)));
    // A card that is to take a packet apart is given one without a length, if it is longer than can be said.
    let whole = match usize::from(be16(packet, 2)) {
        0 => original,
        length => length,
    };
    let length = whole.saturating_sub(header);
    Ok(Headers {
        addresses: [address(12), address(16)],
        protocol: packet[9],
        is_marked: packet[1] & 3 == 3,
        identification: Some(be16(packet, 4)),
        bytes: &bytes[..bytes.len().min(length)],
        length,
    })
}

fn ipv6(packet: &[u8], original: usize) -> Result<Headers<'_>, Unread> {
    if packet.len() < 40 {
        return Err(Unread::Short);
    }
    let address = |at: usize| {
        let bytes: [u8; 16] = packet[at..at + 16].try_into().unwrap_or_default();
        IpAddr::V6(Ipv6Addr::from(bytes))
    };
    let mut rest = match usize::from(be16(packet, 4)) {
        0 => original.saturating_sub(40),
        length => length,
    };
    let (mut protocol, mut bytes) = (packet[6], &packet[40..]);
    loop {
        let length = match (protocol, bytes) {
            (kind, [_, length, ..]) if EXTENSIONS.contains(&kind) => (usize::from(*length) + 1) * 8,
            (AUTHENTICATION, [_, length, ..]) => (usize::from(*length) + 2) * 4,
            (FRAGMENT, [_, _, a, b, ..]) if u16::from_be_bytes([*a, *b]) & 0xfff8 == 0 => 8,
            (FRAGMENT, _) => return Err(Unread::Fragment),
            (kind, _) if EXTENSIONS.contains(&kind) || kind == AUTHENTICATION => return Err(Unread::Short),
            _ => break,
        };
        protocol = bytes[0];
        bytes = bytes.get(length..).ok_or(Unread::Short)?;
        rest = rest.saturating_sub(length);
    }
    Ok(Headers {
        addresses: [address(8), address(24)],
        protocol,
        is_marked: packet[1] >> 4 & 3 == 3,
        identification: None,
        bytes: &bytes[..bytes.len().min(rest)],
        length: rest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 packet of RFC 791's layout: 20 bytes of header, protocol 6, from 10.0.0.1 to 10.0.0.2.
    fn four(length: u16, payload: &[u8]) -> Vec<u8> {
        let [high, low] = length.to_be_bytes();
        let mut packet = vec![0x45, 3, high, low, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend(payload);
        packet
    }

    #[test]
    fn links_and_vlans_are_passed() {
        let packet = four(24, b"abcd");
        let ethernet = [&[0; 12][..], &[8, 0], &packet].concat();
        let tagged = [&[0; 12][..], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0], &packet].concat();
        let cooked = [&[0; 14][..], &[8, 0], &packet].concat();
        let cooked2 = [&[8, 0][..], &[0; 18], &packet].concat();
        let loopback = [&[2, 0, 0, 0][..], &packet].concat();
        for (link, frame) in [(1, ethernet), (1, tagged), (113, cooked), (276, cooked2), (0, loopback), (101, packet)] {
            let headers = read(link, &frame, frame.len()).expect("headers");
            assert_eq!((headers.bytes, headers.length, headers.is_marked), (&b"abcd"[..], 4, true), "link {link}");
            assert_eq!(headers.addresses.map(|a| a.to_string()), ["10.0.0.1", "10.0.0.2"]);
        }
        assert_eq!(read(105, &[0; 60], 60), Err(Unread::Link(105)));
        assert_eq!(read(1, &[[0; 12].as_slice(), &[8, 6], &[0; 28]].concat(), 42), Err(Unread::NotIp));
    }

    /// RFC 8200: hop-by-hop options of 8 bytes, then TCP; the length counts both.
    #[test]
    fn extension_headers_are_passed() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 12, 0, 64];
        packet.extend([[0; 15].as_slice(), &[1], &[0; 15], &[2]].concat());
        packet.extend([6, 0, 1, 4, 0, 0, 0, 0, b'a', b'b', b'c', b'd', 9, 9]);
        let headers = read(229, &packet, packet.len()).expect("headers");
        assert_eq!((headers.protocol, headers.bytes, headers.length), (6, &b"abcd"[..], 4));
    }

    /// The card's padding behind the packet is none of it, a packet without a length is as long as its frame, and of one that
    /// was cut the length is known.
    #[test]
    fn lengths_are_of_the_wire() {
        let read = |packet: &[u8], original| read(101, packet, original).map(|h| (h.bytes.len(), h.length));
        assert_eq!(read(&four(24, &[0; 26]), 46), Ok((4, 4)));
        assert_eq!(read(&four(0, &[0; 30]), 5020), Ok((30, 5000)));
        assert_eq!(read(&four(1500, &[0; 76]), 1500), Ok((76, 1480)));
    }

    proptest! {
        #[test]
        fn hostile_frames_are_refused_or_read(link in prop::sample::select(vec![0_u16, 1, 101, 113, 228, 229, 276]),
            version in prop::sample::select(vec![0x45_u8, 0x4f, 0x60]), bytes in prop::collection::vec(any::<u8>(), 0..120), more in 0..9000_usize)
        {
            let mut frame = bytes.clone();
            if let Ok(at) = network(link, &frame) && let Some(first) = frame.get_mut(at) {
                *first = version;
            }
            let _ = read(link, &frame, frame.len() + more);
        }
    }
}
