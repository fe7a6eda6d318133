//! Stripping of segments by middleboxes.

use super::{END, Flags, MIN_HEADER_LENGTH, NOP};
use crate::be16;
use crate::checksum::Checksum;

/// Overwrites the options of these kinds with NOPs, as Linux's packet filter does (iptables' TCPOPTSTRIP), so that the
/// segment keeps its length; and clears these control bits. What is no segment stays as it is.
///
/// The checksum is brought up to date, not computed anew (RFC 1624): a wrong one stays wrong.
pub fn strip(segment: &mut [u8], kinds: &[u8], flags: Flags) {
    let length = segment.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4);
    if length < MIN_HEADER_LENGTH {
        return;
    }
    let Some(header) = segment.get_mut(..length) else { return };
    let before = Checksum::default().update(header);
    header[13] &= !flags.0;
    overwrite(&mut header[MIN_HEADER_LENGTH..], kinds);
    // Both count the old checksum, which cancels.
    let after = Checksum::default().update(header);
    amend(header, before, after);
}

/// Alters a bit of a segment's payload, if it has one, and brings the checksum up to date, as a middlebox does that rewrites
/// what passes it.
pub fn alter(segment: &mut [u8]) {
    let length = segment.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4);
    if length < MIN_HEADER_LENGTH || length >= segment.len() {
        return;
    }
    // The payload begins with a word of the checksum, for headers are whole words.
    let before = Checksum::default().update(&segment[length..=length]);
    segment[length] ^= 1;
    let after = Checksum::default().update(&segment[length..=length]);
    amend(segment, before, after);
}

/// Brings a segment's checksum up to date where a part of it that had the sum `before` has the sum `after` (RFC 1624, equation
/// 3).
fn amend(segment: &mut [u8], before: Checksum, after: Checksum) {
    let words = [!be16(segment, 16), before.finish(), !after.finish()];
    let sum = words.iter().fold(Checksum::default(), |sum, word| sum.update(&word.to_be_bytes()));
    segment[16..18].copy_from_slice(&sum.finish().to_be_bytes());
}

fn overwrite(mut rest: &mut [u8], kinds: &[u8]) {
    loop {
        rest = match rest {
            [NOP, tail @ ..] => tail,
            [] | [END, ..] | [_] => return,
            whole => {
                let length = usize::from(whole[1]);
                if length < 2 || length > whole.len() {
                    return;
                }
                let (option, tail) = whole.split_at_mut(length);
                if kinds.contains(&option[0]) {
                    option.fill(NOP);
                }
                tail
            }
        }
    }
}
