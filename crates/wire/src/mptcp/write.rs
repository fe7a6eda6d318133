//! Options as bytes.

use super::{AddAddress, Capable, DataSequence, Dss, Join, KIND, Keys, Mapping, MptcpOption, Proof, Version, subtype};

impl MptcpOption {
    /// Appends the option, from its kind to its last byte, without padding: at most 40 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([KIND, 0]);
        match self {
            MptcpOption::Capable(capable) => capable.encode(out),
            MptcpOption::Join(join) => join.encode(out),
            MptcpOption::Dss(dss) => dss.encode(out),
            MptcpOption::AddAddress(add) => add.encode(out),
            MptcpOption::RemoveAddress(ids) => {
                out.push(head(subtype::REMOVE_ADDR, 0));
                out.extend(ids.as_slice());
            }
            MptcpOption::Priority { backup, address_id } => {
                out.push(head(subtype::MP_PRIO, u8::from(*backup)));
                out.extend(address_id);
            }
            MptcpOption::Fail { data_sequence } => {
                out.extend([head(subtype::MP_FAIL, 0), 0]);
                out.extend(data_sequence.to_be_bytes());
            }
            MptcpOption::FastClose { receiver_key } => {
                out.extend([head(subtype::MP_FASTCLOSE, 0), 0]);
                out.extend(receiver_key.to_be_bytes());
            }
            MptcpOption::Reset { transient, reason } => {
                out.extend([head(subtype::MP_TCPRST, u8::from(*transient)), reason.code()]);
            }
        }
        out[start + 1] = (out.len() - start) as u8;
    }
}

/// Joins a subtype and the four bits beside it.
const fn head(subtype: u8, low: u8) -> u8 {
    subtype << 4 | low
}

impl Capable {
    fn encode(&self, out: &mut Vec<u8>) {
        let version = match self.version {
            Version::V0 => 0,
            Version::V1 => 1,
        };
        let bits = [(self.checksum_required, 7), (self.extended, 6), (self.no_join, 5), (self.hmac, 0)];
        let flags = bits.iter().fold(0, |flags, &(set, bit)| flags | u8::from(set) << bit);
        out.extend([head(subtype::MP_CAPABLE, version), flags]);
        let (sender, receiver, data) = match self.keys {
            Keys::None => (None, None, None),
            Keys::Sender(sender) => (Some(sender), None, None),
            Keys::Both { sender, receiver } => (Some(sender), Some(receiver), None),
            Keys::WithData { sender, receiver, length, checksum } => {
                (Some(sender), Some(receiver), Some((length, checksum)))
            }
        };
        out.extend([sender, receiver].iter().flatten().flat_map(|key| key.to_be_bytes()));
        if let Some((length, checksum)) = data {
            out.extend(length.to_be_bytes());
            out.extend(checksum.iter().flat_map(|sum| sum.to_be_bytes()));
        }
    }
}

impl Join {
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Join::Syn { backup, address_id, token, nonce } => {
                out.extend([head(subtype::MP_JOIN, u8::from(backup)), address_id]);
                out.extend(token.to_be_bytes());
                out.extend(nonce.to_be_bytes());
            }
            Join::SynAck { backup, address_id, truncated_hmac, nonce } => {
                out.extend([head(subtype::MP_JOIN, u8::from(backup)), address_id]);
                out.extend(truncated_hmac.to_be_bytes());
                out.extend(nonce.to_be_bytes());
            }
            Join::Ack { hmac } => {
                out.extend([head(subtype::MP_JOIN, 0), 0]);
                out.extend(hmac);
            }
        }
    }
}

impl Dss {
    fn encode(&self, out: &mut Vec<u8>) {
        let is_long = |sequence| matches!(sequence, Some(DataSequence::Long(_)));
        let first = self.mapping.map(|mapping| mapping.data_sequence);
        let bits = [self.ack.is_some(), is_long(self.ack), first.is_some(), is_long(first), self.data_fin];
        let flags = bits.iter().rev().fold(0, |flags, &set| flags << 1 | u8::from(set));
        out.extend([head(subtype::DSS, 0), flags]);
        if let Some(ack) = self.ack {
            ack.encode(out);
        }
        if let Some(Mapping { data_sequence, subflow_sequence, length, checksum }) = self.mapping {
            data_sequence.encode(out);
            out.extend(subflow_sequence.to_be_bytes());
            out.extend(length.to_be_bytes());
            out.extend(checksum.iter().flat_map(|sum| sum.to_be_bytes()));
        }
    }
}

impl DataSequence {
    fn encode(self, out: &mut Vec<u8>) {
        match self {
            DataSequence::Short(low) => out.extend(low.to_be_bytes()),
            DataSequence::Long(whole) => out.extend(whole.to_be_bytes()),
        }
    }
}

impl AddAddress {
    fn encode(&self, out: &mut Vec<u8>) {
        // What version 1 has the echo bit in was the IP version before.
        let low = match self.proof {
            Proof::TruncatedHmac(_) => 0,
            Proof::Echo => 1,
            Proof::Version0 => 4,
        };
        out.extend([head(subtype::ADD_ADDR, low), self.address_id]);
        out.extend(self.address);
        out.extend(self.port.iter().flat_map(|port| port.to_be_bytes()));
        if let Proof::TruncatedHmac(hmac) = self.proof {
            out.extend(hmac.to_be_bytes());
        }
    }
}
