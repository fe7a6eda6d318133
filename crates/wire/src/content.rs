//! Content of applications' data: bytes that depend on nothing but their offset in the stream, so that a receiver can check
//! every one of them without having seen the sender.
//!
//! The stream is the output of SplitMix64 (Steele, Lea and Flood, 2014) from seed 0, eight little-endian bytes a
//! number. A byte lost, doubled or moved makes the rest differ in all but one byte of 256.

/// Eight bytes of the stream: those from offset `8 * index`.
fn word(index: u64) -> [u8; 8] {
    let mut z = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).to_le_bytes()
}

/// Fills `buffer` with the bytes of the stream from `offset` on. A stream has at most 2^64 bytes.
pub fn fill(offset: u64, buffer: &mut [u8]) {
    let skip = (offset % 8) as usize;
    let (head, body) = buffer.split_at_mut(buffer.len().min((8 - skip) % 8));
    let (words, tail) = body.as_chunks_mut::<8>();
    head.copy_from_slice(&word(offset / 8)[skip..][..head.len()]);
    let mut index = offset.div_ceil(8);
    for chunk in words {
        *chunk = word(index);
        index += 1;
    }
    tail.copy_from_slice(&word(index)[..tail.len()]);
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
