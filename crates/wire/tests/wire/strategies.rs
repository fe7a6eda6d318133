//! Any header that the types allow.

use proptest::prelude::*;
use vazao_wire::ipv4::{self, Ecn};
use vazao_wire::tcp::{self, Flags, Options, SackBlock};

/// Any IPv4 header in front of `payload` bytes.
pub fn ipv4_header(protocol: u8, payload: usize) -> impl Strategy<Value = ipv4::Header> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
    (any::<([u8; 4], [u8; 4], u8, u16, bool)>(), 0u8..64, ecn).prop_map(move |(any, dscp, ecn)| {
        let (source, destination, ttl, identification, dont_fragment) = any;
        let total_length = (ipv4::HEADER_LENGTH + payload) as u16;
        let plain = ipv4::Header::new(source, destination, protocol, total_length);
        ipv4::Header { ttl, identification, dont_fragment, dscp, ecn, ..plain }
    })
}

/// Any options whose SACK blocks fit.
pub fn options() -> impl Strategy<Value = Options> {
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=4);
    (any::<(Option<u16>, Option<u8>, bool, Option<(u32, u32)>)>(), blocks).prop_map(|(fixed, blocks)| {
        let (mss, window_scale, sack_permitted, timestamps) = fixed;
        let mut options = Options { mss, window_scale, sack_permitted, timestamps, ..Options::default() };
        let fitting = options.max_sack_blocks();
        options.sack = blocks.into_iter().take(fitting).map(|(left, right)| SackBlock { left, right }).collect();
        options
    })
}

/// Any TCP header.
pub fn tcp_header() -> impl Strategy<Value = tcp::Header> {
    (any::<(u16, u16, u32, u32, u8, u16, u16)>(), options()).prop_map(|(any, options)| {
        let (source_port, destination_port, sequence, acknowledgment, flags, window, urgent) = any;
        let flags = Flags(flags);
        tcp::Header { source_port, destination_port, sequence, acknowledgment, flags, window, urgent, options }
    })
}

/// An IPv4 packet with a TCP segment: both headers and the payload.
pub fn packet() -> impl Strategy<Value = (ipv4::Header, tcp::Header, Vec<u8>)> {
    (tcp_header(), prop::collection::vec(any::<u8>(), 0..1500)).prop_flat_map(|(header, payload)| {
        let length = tcp::header_length(&header.options) + payload.len();
        (ipv4_header(tcp::PROTOCOL, length), Just(header), Just(payload))
    })
}

/// The bytes of a packet.
pub fn bytes_of(ip: &ipv4::Header, header: &tcp::Header, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    ipv4::encode(ip, &mut bytes);
    tcp::encode(header, payload, ip.pseudo_header(), &mut bytes);
    bytes
}
