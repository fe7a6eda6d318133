//! Segments of Multipath TCP's subflows as bytes: their ports, their options, and which part of the stream they carry.

use crate::address::Address;
use vazao_transport::mptcp::keys::Hash;
use vazao_transport::mptcp::{self, Dss, Multipath, Signal};
use vazao_wire::mptcp::{
    AddAddress, AddressIds, Capable, DataSequence, Dss as WireDss, Join, Keys, Mapping, MptcpOption, Options, Proof,
    ResetReason, Version,
};

/// What the bytes of a connection need to be known of it: where each side's data begins in data sequence space.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Firsts([Option<u64>; 2]);

impl Firsts {
    /// Side `from` says something: its key may be in it.
    pub fn note(&mut self, from: usize, multipath: &Multipath) {
        if let Some(Signal::Capable { key: Some(key), .. }) = multipath.signal {
            self.0[from].get_or_insert(Hash::Sha256.initial_data_sequence(key).wrapping_add(1));
        }
    }

    /// Where in the stream of side `from` lies what a segment carries, as its options say; `None`: they do not.
    pub fn offset(&self, from: usize, multipath: &Multipath) -> Option<u64> {
        match (multipath.signal, multipath.dss) {
            (Some(Signal::Capable { length: Some(_), .. }), _) => Some(0),
            (_, Some(Dss { map: Some(map), .. })) => Some(map.dsn.wrapping_sub(self.0[from]?)),
            _ => None,
        }
    }
}

/// The client's port of a subflow: the first one's, and others far from those of other flows.
pub(crate) fn client_port(first: u16, number: u8) -> u16 {
    const EPHEMERAL: u16 = 49_152;
    EPHEMERAL + (first - EPHEMERAL + u16::from(number) * 251) % (u16::MAX - EPHEMERAL)
}

/// A segment's options for the wire; `addresses` are all of its sender's.
pub(crate) fn options(multipath: &Multipath, addresses: &[Address]) -> Options {
    let mut options = Options::NONE;
    let dss = multipath.dss.map(|dss| MptcpOption::Dss(data_sequence(&dss)));
    let signal = multipath.signal.map(|signal| option(signal, addresses));
    for option in dss.into_iter().chain(signal) {
        // The machine counts what a header has room for.
        options.push(&option).expect("options that fit a header");
    }
    options
}

fn data_sequence(dss: &Dss) -> WireDss {
    WireDss {
        data_fin: dss.fin,
        ack: dss.ack.map(DataSequence::Short),
        mapping: dss.map.map(|map| Mapping {
            data_sequence: DataSequence::Long(map.dsn),
            subflow_sequence: map.subflow,
            length: map.length,
            checksum: map.checksum,
        }),
    }
}

fn option(signal: Signal, addresses: &[Address]) -> MptcpOption {
    match signal {
        Signal::Capable { key, peer, length, checksum } => {
            let keys = match (key, peer, length) {
                (Some(sender), Some(receiver), Some(length)) => {
                    Keys::WithData { sender, receiver, length, checksum: None }
                }
                (Some(sender), Some(receiver), None) => Keys::Both { sender, receiver },
                (Some(sender), None, _) => Keys::Sender(sender),
                (None, ..) => Keys::None,
            };
            let (extended, no_join, hmac) = (false, false, true);
            MptcpOption::Capable(Capable {
                version: Version::V1,
                checksum_required: checksum,
                extended,
                no_join,
                hmac,
                keys,
            })
        }
        Signal::Join { backup, address, token, nonce } => {
            MptcpOption::Join(Join::Syn { backup, address_id: address, token, nonce })
        }
        Signal::JoinAnswer { backup, address, hmac, nonce } => {
            MptcpOption::Join(Join::SynAck { backup, address_id: address, truncated_hmac: hmac, nonce })
        }
        Signal::JoinProof(hmac) => MptcpOption::Join(Join::Ack { hmac }),
        Signal::AddAddress { address, hmac } => MptcpOption::AddAddress(AddAddress {
            address_id: address,
            address: addresses.get(usize::from(address)).copied().unwrap_or_default(),
            port: None,
            proof: hmac.map_or(Proof::Echo, Proof::TruncatedHmac),
        }),
        Signal::RemoveAddress(address) => {
            MptcpOption::RemoveAddress(AddressIds::new(&[address]).expect("one is not too many"))
        }
        Signal::Priority { backup } => MptcpOption::Priority { backup, address_id: None },
        Signal::Fail(data_sequence) => MptcpOption::Fail { data_sequence },
        Signal::FastClose(receiver_key) => MptcpOption::FastClose { receiver_key },
        Signal::Reset(code) => MptcpOption::Reset { transient: false, reason: reset_reason(code) },
    }
}

fn reset_reason(code: u8) -> ResetReason {
    match code {
        mptcp::reason::UNSPECIFIED => ResetReason::Unspecified,
        mptcp::reason::PERFORMANCE => ResetReason::UnacceptablePerformance,
        mptcp::reason::MIDDLEBOX => ResetReason::MiddleboxInterference,
        other => ResetReason::Other(other),
    }
}
