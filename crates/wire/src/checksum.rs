//! The Internet checksum (RFC 1071): the complement of the ones' complement sum of 16-bit words.

/// A checksum in the making, over the slices given so far as if they were one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    sum: u16,
    /// Whether an odd number of bytes was summed, so that the next byte is the low half of a word.
    odd: bool,
}

/// Returns the ones' complement sum of the 16-bit digits of `sum`: 2^16 counts as 1.
#[inline]
fn fold(sum: u64) -> u16 {
    // At most 2^33 - 2, 0x2fffe, 0x10001, and 0xffff: as many steps as any sum takes, without a question at each.
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

impl Checksum {
    /// Continues the checksum over `bytes`.
    #[must_use]
    pub fn update(self, bytes: &[u8]) -> Checksum {
        // Words of 32 bits fold to the same sum as words of 16 (RFC 1071, section 2 (C)).
        let (words, rest) = bytes.as_chunks::<4>();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        let sum = fold(words.iter().chain([&last]).map(|&word| u64::from(u32::from_be_bytes(word))).sum());
        self.followed_by(Checksum { sum, odd: bytes.len() % 2 == 1 })
    }

    /// Continues the checksum over bytes whose own checksum is known.
    #[must_use]
    #[inline]
    pub fn followed_by(self, next: Checksum) -> Checksum {
        // Summing from an odd offset gives the same sum with its bytes swapped (RFC 1071, section 2 (B)).
        let part = if self.odd { next.sum.swap_bytes() } else { next.sum };
        Checksum { sum: fold(u64::from(self.sum) + u64::from(part)), odd: self.odd ^ next.odd }
    }

    /// Continues the checksum over an even number of bytes by the sum of their words, of 16 or of 32 bits each.
    #[must_use]
    #[inline]
    pub fn add_words(self, words: u64) -> Checksum {
        self.followed_by(Checksum { sum: fold(words), odd: false })
    }

    /// Continues the checksum over `length` bytes by the sum of their 16-bit words in little-endian order, modulo 65535.
    #[must_use]
    #[inline]
    pub fn add_little_endian(self, words: u128, length: usize) -> Checksum {
        let [low, high] = [words as u64, (words >> 64) as u64].map(|half| u64::from(fold(half)));
        // The order of bytes does not matter but for that of the sum (RFC 1071, section 2 (B)).
        self.followed_by(Checksum { sum: fold(low + high).swap_bytes(), odd: length % 2 == 1 })
    }

    /// Returns the value of the checksum field, if that field was zero; zero if the field was filled in correctly.
    pub fn finish(self) -> u16 {
        !self.sum
    }
}

/// Returns the checksum of `bytes`.
pub fn checksum(bytes: &[u8]) -> u16 {
    Checksum::default().update(bytes).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071, section 3.
    const EXAMPLE: [u8; 8] = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];

    #[test]
    fn the_worked_example_of_rfc_1071() {
        assert_eq!(checksum(&EXAMPLE), !0xddf2);
    }

    #[test]
    fn the_worked_example_broken_at_odd_places() {
        for split in 0..=EXAMPLE.len() {
            let (a, b) = EXAMPLE.split_at(split);
            assert_eq!(Checksum::default().update(a).update(b).finish(), !0xddf2, "split after {split}");
        }
    }

    proptest! {
        #[test]
        fn any_slicing_gives_the_sum_of_the_definition(slices in prop::collection::vec(any::<Vec<u8>>(), 0..6)) {
            let got = slices.iter().fold(Checksum::default(), |sum, slice| sum.update(slice)).finish();
            let mut bytes = slices.concat();
            bytes.resize(bytes.len().next_multiple_of(2), 0);
            // The definition: add 16-bit words, and each carry out of the top at the bottom.
            let mut sum = 0u16;
            for word in bytes.chunks(2) {
                let (next, carry) = sum.overflowing_add(u16::from_be_bytes([word[0], word[1]]));
                sum = next + u16::from(carry);
            }
            prop_assert_eq!(got, !sum);
            let words = bytes.chunks(2).map(|word| u128::from(u16::from_le_bytes([word[0], word[1]])));
            let length = slices.iter().map(Vec::len).sum();
            prop_assert_eq!(Checksum::default().add_little_endian(words.sum(), length).finish(), !sum);
        }
    }
}
