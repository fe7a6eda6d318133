//! INIT and INIT ACK: what the endpoints of an association tell each other at first.

use super::authentication::PARAMETERS;
use super::unknown::Unknown;

/// Parameters of INIT and INIT ACK (section 3.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Init {
    /// Verification tag (Initiate Tag).
    pub tag: u32,
    /// Receive buffer in bytes (a_rwnd).
    pub window: u32,
    /// Number of outbound streams requested, and maximum of inbound streams.
    pub streams: (u16, u16),
    /// Initial TSN.
    pub tsn: u32,
    /// Addresses of the sender.
    pub addresses: Addresses,
    /// Extensions beyond RFC 9260.
    pub extensions: Extensions,
    /// Cookie Preservative: requested extension of the cookie's lifetime in milliseconds (INIT only); 0: none.
    pub preservative: u32,
    /// Host name among the addresses, which is an error.
    pub host_name: Option<Unknown>,
    /// Unrecognized parameters to report; in an INIT ACK of ours, those of the INIT that it answers.
    pub unknown: Option<Unknown>,
}

impl Init {
    /// Bytes of the chunk: fixed part, an address parameter per address if several, Cookie Preservative, and extensions.
    pub(super) fn bytes(&self) -> u32 {
        let addresses = self.addresses.count();
        let addresses = if addresses > 1 { 8 * addresses } else { 0 };
        let preservative = if self.preservative > 0 { 8 } else { 0 };
        20 + addresses + preservative + self.extensions.bytes() + self.unknown.map_or(0, Unknown::wrapped_bytes)
    }
}

/// Addresses of an endpoint, identified by the paths that lead to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Bitmask of the paths that lead to them.
    paths: u8,
    /// Digest of the addresses that no path leads to; 0: none.
    others: u16,
}

impl Addresses {
    /// Addresses of the first `paths` paths, eight at most.
    pub fn of_paths(paths: usize) -> Addresses {
        (0..paths.min(8)).fold(Addresses::default(), Addresses::with_path)
    }
    /// Adds the address of a path.
    #[must_use]
    pub fn with_path(self, path: usize) -> Addresses {
        Addresses { paths: self.paths | 1_u8.checked_shl(path as u32).unwrap_or(0), ..self }
    }
    /// Adds an address that no path leads to; the order of such additions does not matter.
    #[must_use]
    pub fn with_other(self, address: &[u8]) -> Addresses {
        let mixed = address.iter().fold(0, |digest: u32, &byte| (digest ^ u32::from(byte)).wrapping_mul(0x9e37_79b1));
        Addresses { others: self.others.wrapping_add((mixed >> 16) as u16 | 1).max(1), ..self }
    }
    /// Number of addresses that a path leads to.
    pub fn count(self) -> u32 {
        self.paths.count_ones()
    }
    /// Whether all of `others` are included. Addresses without a path have one common digest: equal, or counted as new.
    pub fn include(self, others: Addresses) -> bool {
        others.paths & !self.paths == 0 && (others.others == 0 || others.others == self.others)
    }
    /// Encoding for the cookie.
    pub fn bits(self) -> u32 {
        u32::from(self.others) << 16 | u32::from(self.paths)
    }
    /// Decodes [`bits`](Self::bits).
    pub fn from_bits(bits: u32) -> Addresses {
        Addresses { paths: bits as u8, others: (bits >> 16) as u16 }
    }
}

/// Extensions beyond RFC 9260, used if both endpoints support them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Partial reliability: FORWARD TSN chunks (RFC 3758).
    pub partial: bool,
    /// User message interleaving: I-DATA chunks (RFC 8260).
    pub interleaving: bool,
    /// Authentication: AUTH chunks (RFC 4895).
    pub authentication: bool,
}

impl Extensions {
    /// Extensions supported by both.
    #[must_use]
    pub fn and(self, other: Extensions) -> Extensions {
        Extensions {
            partial: self.partial && other.partial,
            interleaving: self.interleaving && other.interleaving,
            authentication: self.authentication && other.authentication,
        }
    }
    /// Chunk types of the Supported Extensions parameter (RFC 5061 section 4.2.7): AUTH, I-DATA and I-FORWARD-TSN.
    /// FORWARD TSN has a parameter of its own.
    pub fn chunk_types(self) -> impl Iterator<Item = u8> {
        let types = [(self.authentication, 15), (self.interleaving, 64), (self.interleaving && self.partial, 194)];
        types.into_iter().filter(|&(has, _)| has).map(|(_, kind)| kind)
    }
    /// Encoding for the cookie.
    pub fn bits(self) -> u8 {
        u8::from(self.interleaving) | u8::from(self.partial) << 1 | u8::from(self.authentication) << 2
    }
    /// See [`bits`](Self::bits).
    pub fn from_bits(bits: u8) -> Extensions {
        Extensions { interleaving: bits & 1 == 1, partial: bits & 2 == 2, authentication: bits & 4 == 4 }
    }
    /// Bytes of the parameters that announce them.
    fn bytes(self) -> u32 {
        let types = self.chunk_types().count() as u32;
        4 * u32::from(self.partial)
            + PARAMETERS * u32::from(self.authentication)
            + if types > 0 { 4 + types.next_multiple_of(4) } else { 0 }
    }
}
