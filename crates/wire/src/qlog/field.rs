//! Values of fields as JSON. A log has tens of millions, of few kinds: none passes a library's machinery.

use serde_json::Value;

/// Value that a field can have.
pub trait Field {
    /// Appends it as JSON.
    fn append(self, out: &mut Vec<u8>);
}

/// A text without quotes, backslashes and control characters, which is written as it is: words of the format, addresses,
/// hexadecimal digits.
impl Field for &str {
    #[inline(always)]
    fn append(self, out: &mut Vec<u8>) {
        debug_assert!(!self.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\'), "{self:?} needs escapes");
        out.push(b'"');
        out.extend_from_slice(self.as_bytes());
        out.push(b'"');
    }
}

impl Field for String {
    fn append(self, out: &mut Vec<u8>) {
        self.as_str().append(out);
    }
}

impl Field for bool {
    #[inline]
    fn append(self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self { b"true" } else { b"false" });
    }
}

impl Field for u64 {
    #[inline]
    fn append(self, out: &mut Vec<u8>) {
        match self {
            0..10_000 => put_short(self as u32, out),
            10_000..100_000_000 => put_long(self, out),
            _ => put_longer(self, out),
        }
    }
}

/// Appends a number of up to four digits. A copy of a size that is known needs no call.
#[inline]
fn put_short(number: u32, out: &mut Vec<u8>) {
    let hundreds = (number * 5243) >> 19;
    let digits = split_pairs((hundreds | (number - 100 * hundreds) << 16).into()) as u32;
    let zeros = (digits.trailing_zeros() / 8).min(3);
    let end = out.len() + 4 - zeros as usize;
    out.extend_from_slice(&((digits | 0x3030_3030) >> (8 * zeros)).to_le_bytes());
    out.truncate(end);
}

/// Appends a number of five to eight digits.
fn put_long(number: u64, out: &mut Vec<u8>) {
    let digits = digits(number);
    let zeros = digits.trailing_zeros() / 8;
    put((digits | 0x3030_3030_3030_3030) >> (8 * zeros), 8 - zeros as usize, out);
}

#[inline(never)]
fn put_longer(number: u64, out: &mut Vec<u8>) {
    (number / 100_000_000).append(out);
    put(digits(number % 100_000_000) | 0x3030_3030_3030_3030, 8, out);
}

macro_rules! whole_numbers {
    ($($type:ty)+) => {$(
        impl Field for $type {
            #[inline]
            fn append(self, out: &mut Vec<u8>) {
                (self as u64).append(out);
            }
        }
    )+};
}

whole_numbers! { u16 u32 usize }

/// Returns the eight digits of a number that has no more, each in a byte, the first one in the lowest.
#[inline]
fn digits(number: u64) -> u64 {
    // Two halves of four digits, then four of two, then eight: a multiplication divides all of them at once.
    let halves = (number / 10_000) | (number % 10_000) << 32;
    let hundreds = (halves * 10_486) >> 20 & 0x7f_0000_007f;
    split_pairs(hundreds | (halves - 100 * hundreds) << 16)
}

/// Splits numbers of two digits, in sixteen bits each, into their digits.
#[inline]
fn split_pairs(pairs: u64) -> u64 {
    let tens = (pairs * 103) >> 10 & 0xf_000f_000f_000f;
    tens | (pairs - 10 * tens) << 8
}

/// Appends so many of eight characters.
#[inline]
fn put(characters: u64, count: usize, out: &mut Vec<u8>) {
    let end = out.len() + count;
    out.extend_from_slice(&characters.to_le_bytes());
    out.truncate(end);
}

/// The shortest number that is read as the same.
impl Field for f64 {
    fn append(self, out: &mut Vec<u8>) {
        serde_json::to_writer(out, &self).expect("a number in memory can be written");
    }
}

impl Field for &Value {
    fn append(self, out: &mut Vec<u8>) {
        serde_json::to_writer(out, self).expect("numbers and texts in memory can be written");
    }
}

impl<T: Field> Field for [T; 2] {
    #[inline]
    fn append(self, out: &mut Vec<u8>) {
        super::list(self, out, Field::append);
    }
}

/// A time in nanoseconds, written in milliseconds, as the format counts time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milliseconds(pub u64);

impl Field for Milliseconds {
    fn append(self, out: &mut Vec<u8>) {
        // Two numbers of up to 15 digits are never read as the same, so that none is shorter than the digits themselves. The
        // smallest numbers are written with an exponent.
        if !matches!(self.0, 0 | 100_000..1_000_000_000_000_000) {
            return (self.0 as f64 / 1e6).append(out);
        }
        (self.0 / 1_000_000).append(out);
        out.push(b'.');
        let fraction = digits(100 * (self.0 % 1_000_000));
        let zeros = fraction.leading_zeros() as usize / 8;
        put(fraction | 0x3030_3030_3030_3030, (8 - zeros).max(1), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn text(field: impl Field) -> String {
        let mut out = Vec::new();
        field.append(&mut out);
        String::from_utf8(out).expect("JSON is text")
    }

    proptest! {
        /// As a JSON library writes the same number of milliseconds.
        #[test]
        fn times_are_the_shortest_numbers(digits in 0u32..20, mantissa: u64, zeros in 0u32..10) {
            let zeros = 10_u64.pow(zeros);
            let time = mantissa % 10_u64.pow(digits) / zeros * zeros;
            prop_assert_eq!(text(Milliseconds(time)), json!(time as f64 / 1e6).to_string());
        }

        #[test]
        fn values_are_as_a_library_writes_them(whole: u64, digits in 0u32..20, number: f64, flag: bool, word in "[^\\x00-\\x1f\"\\\\]*") {
            let whole = whole % 10_u64.pow(digits);
            prop_assert_eq!(text(whole), json!(whole).to_string());
            prop_assert_eq!(text(whole as u16), json!(whole as u16).to_string());
            prop_assert_eq!(text(number), json!(number).to_string());
            prop_assert_eq!(text(flag), json!(flag).to_string());
            prop_assert_eq!(text(&*word), json!(word).to_string());
            prop_assert_eq!(text([whole, 7]), json!([whole, 7]).to_string());
        }
    }
}
