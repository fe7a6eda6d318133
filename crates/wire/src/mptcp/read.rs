//! Bytes as options.

use super::{
    AddAddress, AddressIds, Capable, DataSequence, Dss, Join, Keys, Mapping, MptcpOption, Proof, ResetReason, Version,
    subtype,
};
use crate::{be16, be32, be64};

impl MptcpOption {
    /// Reads the option with this body, what follows its length. `None` if it is of an unknown subtype, version or
    /// address family, or has a length that its subtype cannot have: then it is to be skipped.
    pub fn decode(body: &[u8]) -> Option<MptcpOption> {
        let low = body.first()? & 0xf;
        match (body[0] >> 4, body.len()) {
            (subtype::MP_CAPABLE, 2..) => capable(body).map(MptcpOption::Capable),
            (subtype::MP_JOIN, _) => join(body).map(MptcpOption::Join),
            (subtype::DSS, 2..) => dss(body).map(MptcpOption::Dss),
            (subtype::ADD_ADDR, _) => add_address(body).map(MptcpOption::AddAddress),
            (subtype::REMOVE_ADDR, _) => AddressIds::new(&body[1..]).map(MptcpOption::RemoveAddress),
            (subtype::MP_PRIO, 1 | 2) => {
                Some(MptcpOption::Priority { backup: low & 1 == 1, address_id: body.get(1).copied() })
            }
            (subtype::MP_FAIL, 10) => Some(MptcpOption::Fail { data_sequence: be64(body, 2) }),
            (subtype::MP_FASTCLOSE, 10) => Some(MptcpOption::FastClose { receiver_key: be64(body, 2) }),
            (subtype::MP_TCPRST, 2) => {
                Some(MptcpOption::Reset { transient: low & 1 == 1, reason: ResetReason::from_code(body[1]) })
            }
            _ => None,
        }
    }
}

fn capable(body: &[u8]) -> Option<Capable> {
    let version = match body[0] & 0xf {
        0 => Version::V0,
        1 => Version::V1,
        _ => return None,
    };
    let key = |number: usize| be64(body, 2 + 8 * number);
    let keys = match body.len() {
        2 => Keys::None,
        10 => Keys::Sender(key(0)),
        18 => Keys::Both { sender: key(0), receiver: key(1) },
        length @ (20 | 22) => Keys::WithData {
            sender: key(0),
            receiver: key(1),
            length: be16(body, 18),
            checksum: (length == 22).then(|| be16(body, 20)),
        },
        _ => return None,
    };
    let bit = |number: u8| body[1] >> number & 1 == 1;
    Some(Capable { version, checksum_required: bit(7), extended: bit(6), no_join: bit(5), hmac: bit(0), keys })
}

fn join(body: &[u8]) -> Option<Join> {
    let backup = body[0] & 1 == 1;
    match body.len() {
        10 => Some(Join::Syn { backup, address_id: body[1], token: be32(body, 2), nonce: be32(body, 6) }),
        14 => Some(Join::SynAck { backup, address_id: body[1], truncated_hmac: be64(body, 2), nonce: be32(body, 10) }),
        22 => Some(Join::Ack { hmac: *body.last_chunk()? }),
        _ => None,
    }
}

/// Bits that only say how long something is do not count where that is not there.
fn dss(body: &[u8]) -> Option<Dss> {
    let bit = |number: u8| body[1] >> number & 1 == 1;
    let mut rest = &body[2..];
    let mut sequence = |is_long| {
        let (first, tail) = rest.split_at_checked(if is_long { 8 } else { 4 })?;
        rest = tail;
        Some(if is_long { DataSequence::Long(be64(first, 0)) } else { DataSequence::Short(be32(first, 0)) })
    };
    let ack = if bit(0) { Some(sequence(bit(1))?) } else { None };
    let first = if bit(2) { Some(sequence(bit(3))?) } else { None };
    let mapping = match (first, rest.len()) {
        (None, 0) => None,
        (Some(data_sequence), length @ (6 | 8)) => Some(Mapping {
            data_sequence,
            subflow_sequence: be32(rest, 0),
            length: be16(rest, 4),
            checksum: (length == 8).then(|| be16(rest, 6)),
        }),
        _ => return None,
    };
    Some(Dss { data_fin: bit(4), ack, mapping })
}

fn add_address(body: &[u8]) -> Option<AddAddress> {
    let low = body[0] & 0xf;
    let (proof, end) = match (low, body.len()) {
        (4, length @ (6 | 8)) => (Proof::Version0, length),
        (6, _) => return None,
        (_, length @ (6 | 8)) if low & 1 == 1 => (Proof::Echo, length),
        (_, length @ (14 | 16)) if low & 1 == 0 => (Proof::TruncatedHmac(be64(body, length - 8)), length - 8),
        _ => return None,
    };
    Some(AddAddress {
        address_id: body[1],
        address: *body[2..].first_chunk()?,
        port: (end == 8).then(|| be16(body, 6)),
        proof,
    })
}
