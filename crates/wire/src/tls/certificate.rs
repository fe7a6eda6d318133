//! An X.509 certificate (RFC 5280) of a given size, which proves nothing but can be read.

use crate::content;

/// Tags of ASN.1's distinguished encoding rules (ITU-T X.690).
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const SEQUENCE: u8 = 0x30;

/// id-Ed25519, 1.3.101.112 (RFC 8410).
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// The fewest bytes of one.
pub const LEAST: usize = 75;

/// Returns a certificate of `length` bytes, at least [`LEAST`]: a key that is too long, and a signature that is too
/// short, make up what is missing.
pub fn certificate(length: usize) -> Vec<u8> {
    let rest = length.saturating_sub(LEAST);
    // Three lengths inside take up to three bytes more each as the key grows, and so there are sizes that a key alone does
    // not give.
    let candidates = (0..4).flat_map(|signature| (0..=9).map(move |lengths| (signature, lengths)));
    let mut fitting =
        candidates.filter_map(|(signature, lengths)| Some(assemble(signature, rest.checked_sub(signature + lengths)?)));
    fitting.find(|certificate| certificate.len() == length).unwrap_or_else(|| assemble(0, 0))
}

/// Builds a certificate whose signature and key have so many bytes: of version 1, between nobody and nobody, for as
/// long as two can say.
fn assemble(signature: usize, key: usize) -> Vec<u8> {
    let bits = |length: usize| {
        let mut bytes = vec![0; 1 + length];
        content::fill(0, &mut bytes[1..]);
        der(BIT_STRING, &[&bytes])
    };
    let algorithm = der(SEQUENCE, &[&der(OBJECT_IDENTIFIER, &[ED25519])]);
    let validity = ["700101000000Z", "491231235959Z"].map(|time| der(UTC_TIME, &[time.as_bytes()]));
    let name = der(SEQUENCE, &[]);
    let to_be_signed = der(
        SEQUENCE,
        &[
            &der(INTEGER, &[&[1]]),
            &algorithm,
            &name,
            &der(SEQUENCE, &[&validity[0], &validity[1]]),
            &name,
            &der(SEQUENCE, &[&algorithm, &bits(key)]),
        ],
    );
    let value = [&to_be_signed[..], &algorithm, &bits(signature)].concat();
    // In the fewest bytes that hold its length there is no sequence of 130 bytes in all, for one.
    let [.., a, b, c] = value.len().to_be_bytes();
    [&[SEQUENCE, 0x83, a, b, c], &value[..]].concat()
}

/// Encodes a value with its tag and its length, in as few bytes as hold it.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let value = parts.concat();
    let length = value.len().to_be_bytes();
    let needed = &length[value.len().leading_zeros() as usize / 8..];
    match value.len() {
        0..=127 => [&[tag, value.len() as u8], &value[..]].concat(),
        _ => [&[tag, 0x80 | needed.len() as u8], needed, &value].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_of_every_size() {
        assert_eq!(assemble(0, 0).len(), LEAST);
        for length in (LEAST..2000).chain(65_500..65_600).chain([1_000_000]) {
            assert_eq!(certificate(length).len(), length);
        }
    }
}
