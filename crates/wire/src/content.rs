//! Content of applications' data: bytes that depend on nothing but their offset in the stream, so that a receiver can check
//! every one of them without having seen the sender.
//!
//! The stream is the output of SplitMix64 (Steele, Lea and Flood, 2014) from seed 0, eight little-endian bytes a
//! number. A byte lost, doubled or moved makes the rest differ in all but one byte of 256.

/// Eight bytes of the stream as a little-endian number: those from offset `8 * index`.
#[inline(always)]
fn word(index: u64) -> u64 {
    let mut z = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Fills `buffer` with the bytes of the stream from `offset` on. A stream has at most 2^64 bytes.
pub fn fill(offset: u64, buffer: &mut [u8]) {
    fill_and_sum::<false>(offset, buffer);
}

/// Fills `buffer` with the bytes of the stream from `offset` on, and returns the sum of its 16-bit words in little-endian order,
/// or another number that is the same modulo 65535: to sum what is at hand takes less time than to read it again.
pub fn fill_summed(offset: u64, buffer: &mut [u8]) -> u128 {
    fill_and_sum::<true>(offset, buffer)
}

/// Fills `buffer`, and returns its sum if it is to be `SUMMED`.
#[inline(always)]
fn fill_and_sum<const SUMMED: bool>(offset: u64, buffer: &mut [u8]) -> u128 {
    let skip = (offset % 8) as usize;
    let (head, body) = buffer.split_at_mut(buffer.len().min((8 - skip) % 8));
    let (words, tail) = body.as_chunks_mut::<8>();
    if !head.is_empty() {
        head.copy_from_slice(&word(offset / 8).to_le_bytes()[skip..][..head.len()]);
    }
    let mut index = offset.div_ceil(8);
    let mut sum = 0;
    for chunk in words {
        let word = word(index);
        *chunk = word.to_le_bytes();
        sum += if SUMMED { u128::from(word) } else { 0 };
        index += 1;
    }
    if !tail.is_empty() {
        tail.copy_from_slice(&word(index).to_le_bytes()[..tail.len()]);
    }
    if !SUMMED {
        return 0;
    }
    // A word of 64 bits is the sum of its quarters modulo 65535; behind an odd number of bytes, halves change places.
    little_endian(head) + ((sum + little_endian(tail)) << (8 * (head.len() % 2)))
}

/// Returns fewer than eight bytes as a number.
fn little_endian(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

/// Returns whether `bytes` are those of the stream from `offset` on.
pub fn verify(offset: u64, bytes: &[u8]) -> bool {
    let mut expected = [0; 512];
    bytes.chunks(expected.len()).enumerate().all(|(i, chunk)| {
        let expected = &mut expected[..chunk.len()];
        fill(offset.wrapping_add(i as u64 * 512), expected);
        chunk == expected
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_stream_is_splitmix64_from_seed_zero() {
        // The first three outputs of the authors' reference generator.
        let published = [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        let mut bytes = [0; 24];
        fill(0, &mut bytes);
        assert_eq!(bytes, published.map(u64::to_le_bytes).concat()[..]);
    }

    proptest! {
        #[test]
        fn any_piece_equals_the_same_piece_of_the_whole(base in 0..u64::MAX - 4096, from in 0usize..1500, length in 0usize..1500) {
            let (mut whole, mut piece) = (vec![0; 3000], vec![0; length]);
            fill(base, &mut whole);
            fill(base + from as u64, &mut piece);
            prop_assert_eq!(&piece[..], &whole[from..from + length]);
            prop_assert!(verify(base + from as u64, &piece));
        }

        #[test]
        fn the_sum_of_what_is_filled_in_is_that_of_its_words(offset in 0..u64::MAX - 4096, length in 0usize..1500) {
            let mut bytes = vec![0; length];
            let sum = fill_summed(offset, &mut bytes);
            let of_words: u128 = bytes.chunks(2).map(little_endian).sum();
            prop_assert_eq!(sum % 65535, of_words % 65535);
        }

        #[test]
        fn a_changed_or_moved_byte_is_noticed(offset in 0..u64::MAX - 4096, length in 64usize..1500, at: prop::sample::Index, bit in 0u8..8) {
            let mut bytes = vec![0; length];
            fill(offset, &mut bytes);
            for shift in 1..=9 {
                prop_assert!(!verify(offset + shift, &bytes));
            }
            bytes[at.index(length)] ^= 1 << bit;
            prop_assert!(!verify(offset, &bytes));
        }
    }
}
