//! Any header that the types allow.

use proptest::prelude::*;
use vazao_wire::ipv4::{self, Ecn};
use vazao_wire::mptcp::{
    AddAddress, AddressIds, Capable, DataSequence, Dss, Join, Keys, Mapping, MptcpOption, Proof, ResetReason, Version,
};
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

/// Any option of MPTCP.
pub fn mptcp_option() -> impl Strategy<Value = MptcpOption> {
    let ids = prop::collection::vec(any::<u8>(), 1..=AddressIds::CAPACITY);
    let reason = prop::sample::select(vec![
        ResetReason::Unspecified,
        ResetReason::Mptcp,
        ResetReason::LackOfResources,
        ResetReason::TooMuchOutstandingData,
        ResetReason::MiddleboxInterference,
        ResetReason::Other(7),
        ResetReason::Other(255),
    ]);
    prop_oneof![
        capable().prop_map(MptcpOption::Capable),
        join().prop_map(MptcpOption::Join),
        dss().prop_map(MptcpOption::Dss),
        add_address().prop_map(MptcpOption::AddAddress),
        ids.prop_map(|ids| MptcpOption::RemoveAddress(AddressIds::new(&ids).unwrap())),
        any::<(bool, Option<u8>)>().prop_map(|(backup, address_id)| MptcpOption::Priority { backup, address_id }),
        any::<u64>().prop_map(|data_sequence| MptcpOption::Fail { data_sequence }),
        any::<u64>().prop_map(|receiver_key| MptcpOption::FastClose { receiver_key }),
        (any::<bool>(), reason).prop_map(|(transient, reason)| MptcpOption::Reset { transient, reason }),
    ]
}

fn capable() -> impl Strategy<Value = Capable> {
    let keys = prop_oneof![
        Just(Keys::None),
        any::<u64>().prop_map(Keys::Sender),
        any::<(u64, u64)>().prop_map(|(sender, receiver)| Keys::Both { sender, receiver }),
        any::<(u64, u64, u16, Option<u16>)>().prop_map(|(sender, receiver, length, checksum)| Keys::WithData {
            sender,
            receiver,
            length,
            checksum
        }),
    ];
    let version = prop::sample::select(vec![Version::V0, Version::V1]);
    (version, any::<[bool; 4]>(), keys).prop_map(|(version, bits, keys)| {
        let [checksum_required, extended, no_join, hmac] = bits;
        Capable { version, checksum_required, extended, no_join, hmac, keys }
    })
}

fn join() -> impl Strategy<Value = Join> {
    prop_oneof![
        any::<(bool, u8, u32, u32)>().prop_map(|(backup, address_id, token, nonce)| Join::Syn {
            backup,
            address_id,
            token,
            nonce
        }),
        any::<(bool, u8, u64, u32)>().prop_map(|(backup, address_id, truncated_hmac, nonce)| Join::SynAck {
            backup,
            address_id,
            truncated_hmac,
            nonce
        }),
        any::<[u8; 20]>().prop_map(|hmac| Join::Ack { hmac }),
    ]
}

fn dss() -> impl Strategy<Value = Dss> {
    let sequence =
        || prop_oneof![any::<u32>().prop_map(DataSequence::Short), any::<u64>().prop_map(DataSequence::Long)];
    let mapping = (sequence(), any::<(u32, u16, Option<u16>)>()).prop_map(|(data_sequence, rest)| {
        let (subflow_sequence, length, checksum) = rest;
        Mapping { data_sequence, subflow_sequence, length, checksum }
    });
    (any::<bool>(), prop::option::of(sequence()), prop::option::of(mapping)).prop_map(|(data_fin, ack, mapping)| Dss {
        data_fin,
        ack,
        mapping,
    })
}

fn add_address() -> impl Strategy<Value = AddAddress> {
    let proof = prop_oneof![any::<u64>().prop_map(Proof::TruncatedHmac), Just(Proof::Echo), Just(Proof::Version0)];
    (any::<(u8, [u8; 4], Option<u16>)>(), proof).prop_map(|((address_id, address, port), proof)| AddAddress {
        address_id,
        address,
        port,
        proof,
    })
}
