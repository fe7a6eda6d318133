//! The Internet checksum (RFC 1071): the complement of the ones' complement sum of 16-bit words.

/// A checksum in the making, over the slices given so far as if they were one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    sum: u16,
    /// Whether an odd number of bytes was summed, so that the next byte is the low half of a word.
    odd: bool,
}

/// Returns the ones' complement sum of the 16-bit digits of `sum`: 2^16 counts as 1.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Checksum {
    /// Continues the checksum over `bytes`.
    #[must_use]
    pub fn update(self, bytes: &[u8]) -> Checksum {
        // Words of 32 bits fold to the same sum as words of 16 (RFC 1071, section 2 (C)).
        let (words, rest) = bytes.as_chunks::<4>();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        let part = fold(words.iter().chain([&last]).map(|&word| u64::from(u32::from_be_bytes(word))).sum());
        // Summing from an odd offset gives the same sum with its bytes swapped (RFC 1071, section 2 (B)).
        let part = if self.odd { part.swap_bytes() } else { part };
        Checksum { sum: fold(u64::from(self.sum) + u64::from(part)), odd: self.odd ^ (bytes.len() % 2 == 1) }
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
        }
    }
}
