//! Quantities with units: what a user writes as `"10 Mbps"`, `"50 ms"` or `"8 MiB"`.

use crate::Duration;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Rate {
    /// Returns a rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Returns the bytes this rate carries in `span`.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        Bytes((u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000) as u64)
    }
    /// Returns the time `bytes` take at this rate, rounded up to a nanosecond.
    pub fn time_for(self, bytes: u64) -> Duration {
        /// Nanoseconds of a byte at one bit a second.
        const BYTE: u64 = 8_000_000_000;
        let rate = self.0.max(1);
        // Nearly always 64 bits do, whose division is several times as quick.
        Duration::from_nanos(match bytes.checked_mul(BYTE) {
            Some(time) => time.div_ceil(rate),
            None => (u128::from(bytes) * u128::from(BYTE)).div_ceil(u128::from(rate)) as u64,
        })
    }
}

impl Bytes {
    /// `n` bytes.
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }
    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Reason for which a text is not the wanted quantity.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text:?} is not {what}{hint}")]
pub struct QuantityError {
    text: String,
    what: &'static str,
    hint: String,
}

/// A unit's spelling and how many base units it is worth. The first of each is what messages suggest.
type Unit = (&'static str, f64);

const RATES: &[Unit] = &[
    ("bps", 1.0),
    ("kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("Tbps", 1e12),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("Mb/s", 1e6),
    ("Gb/s", 1e9),
    ("Tb/s", 1e12),
];
const DURATIONS: &[Unit] =
    &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9), ("µs", 1e3), ("μs", 1e3)];
const SIZES: &[Unit] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// Returns how alike two words are: 2 but for the case, else at most 1.
pub(crate) fn likeness(one: &str, other: &str) -> f64 {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    if one == other { 2.0 } else { strsim::jaro_winkler(&one, &other) }
}

/// Least likeness of a word to the one that was meant by it.
pub(crate) const ALIKE: f64 = 0.72;

/// Returns the nearest of `candidates` to `given`, if any is near enough to have been meant.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|c| (likeness(c, given), c))
        .filter(|(s, _)| *s > ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}

/// Returns the number that a text says, as it would be written: `"0.01"` and `"1 %"` are 0.01.
pub fn number_in(text: &str) -> Option<f64> {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(percent) => format!("{}e-2", percent.trim()).parse().ok(),
        None => text.parse().ok(),
    }
    .filter(|number: &f64| number.is_finite())
}

/// Returns what a prefix of a unit, or none, stands for: `"M"` and `"m"` for a million, `"Ki"` for 1024.
fn prefixed(prefix: &str) -> Option<f64> {
    let is = |name: &str| name.strip_suffix('B').is_some_and(|known| known.eq_ignore_ascii_case(prefix));
    SIZES.iter().find(|(name, _)| is(name)).map(|(_, factor)| *factor)
}

/// Returns what is said of a rate in bytes a second: write eight times as much, or as much if bits were meant.
fn byte_rate(number: f64, unit: &str) -> Option<String> {
    let amount = ["/s", "/sec", "ps", "PS"].iter().find_map(|end| unit.strip_suffix(end))?;
    let prefix = ["Bytes", "bytes", "Byte", "byte", "B"].iter().find_map(|end| amount.strip_suffix(end))?;
    let same = number * prefixed(prefix)?;
    let [bits, same] = [same * 8.0, same].map(|bps| Rate(bps.round() as u64));
    Some(format!("; a rate is in bits: write \"{bits}\", or \"{same}\" if bits were meant"))
}

/// Returns what is said of a size in bits: write an eighth, or as much if bytes were meant.
pub(crate) fn bit_size(number: f64, unit: &str) -> Option<String> {
    let prefix = ["bits", "bit", "Bits", "Bit", "b"].iter().find_map(|end| unit.strip_suffix(end))?;
    let same = number * prefixed(prefix)?;
    let [bytes, same] = [same / 8.0, same].map(|size| Bytes(size.round() as u64));
    Some(format!("; a size is in bytes: write \"{bytes}\", or \"{same}\" if bytes were meant"))
}

/// Splits `"10.5 Mbps"` into its number and its unit (empty if there is none).
pub(crate) fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let exponent =
                matches!(c, 'e' | 'E') && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-');
            !(c.is_ascii_digit() || matches!(c, '.' | '_') || exponent || (matches!(c, '-' | '+')))
        })
        .map_or(text.len(), |(i, _)| i);
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    number.is_finite().then_some((number, text[end..].trim()))
}

/// Says what is wrong with a number and a unit that is none of the quantity's own, if it is known.
type Foreign = fn(f64, &str) -> Option<String>;

fn parse(
    text: &str,
    what: &'static str,
    example: &str,
    units: &[Unit],
    foreign: Foreign,
) -> Result<u64, QuantityError> {
    let error = |hint: String| QuantityError { text: text.to_owned(), what, hint };
    let Some((number, unit)) = split(text) else {
        return Err(error(format!("; write a number and a unit, as in {example:?}")));
    };
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let near = || units.iter().find(|one| Some(one.0) == nearest(unit, units.iter().map(|u| u.0)));
        let usual = |near: &Unit| units.iter().find(|one| one.1 == near.1).map_or(near.0, |one| one.0);
        let meant = || {
            let near = near().filter(|_| !unit.is_empty())?;
            Some(format!("; did you mean \"{number} {}\"?", usual(near)))
        };
        let hint = foreign(number, unit).or_else(meant).unwrap_or_else(|| {
            let names: Vec<_> = units.iter().map(|u| u.0).collect();
            let problem = if unit.is_empty() { "it has no unit" } else { "its unit is unknown" };
            format!("; {problem} (units: {})", names.join(", "))
        });
        return Err(error(hint));
    };
    // Of whole base units every digit counts, also where a float has fewer.
    let digits = text.trim().strip_suffix(unit).unwrap_or_default().trim_end();
    let exact = digits.parse().ok().filter(|_| *factor == 1.0);
    let value = (number * factor).round();
    if number < 0.0 {
        return Err(error("; it must not be negative".into()));
    }
    if value > 9e18 {
        return Err(error("; it is too large".into()));
    }
    Ok(exact.unwrap_or(value as u64))
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        match parse(text, "a rate", "10 Mbps", RATES, byte_rate)? {
            0 => Err(QuantityError { text: text.into(), what: "a rate", hint: "; it must be above zero".into() }),
            bps if bps > 1_000_000_000_000_000 => {
                Err(QuantityError { text: text.into(), what: "a rate", hint: "; the highest is 1000 Tbps".into() })
            }
            bps => Ok(Rate(bps)),
        }
    }
}
impl FromStr for Duration {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Duration, QuantityError> {
        parse(text, "a duration", "50 ms", DURATIONS, |_, _| None).map(Duration::from_nanos)
    }
}
impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bytes, QuantityError> {
        parse(text, "a size", "10 MB", SIZES, bit_size).map(Bytes)
    }
}

/// Writes a value in the largest of `units` that it reaches and reads back from to the last digit; the first is 1.
fn scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let reads_back = |factor: f64| (value as f64 / factor * factor).round() as u64 == value;
    let (name, factor) =
        units[1..].iter().rev().find(|(_, factor)| value as f64 >= *factor && reads_back(*factor)).unwrap_or(&units[0]);
    if *factor == 1.0 { write!(f, "{value} {name}") } else { write!(f, "{} {name}", value as f64 / factor) }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &RATES[..5])
    }
}
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_nanos() {
            0 => f.write_str("0 s"),
            // Up to ten seconds parts of one are milliseconds.
            ns @ ..=10_000_000_000 if !ns.is_multiple_of(1_000_000_000) => scaled(f, ns, &DURATIONS[..3]),
            ns => scaled(f, ns, &DURATIONS[..4]),
        }
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &SIZES[..5])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_as_written() {
        assert_eq!("1.5 Gbps".parse(), Ok(Rate(1_500_000_000)));
        for text in ["10Mbit/s", "10 Mb/s", "10 Mbps"] {
            assert_eq!(text.parse(), Ok(Rate(10_000_000)));
        }
        assert_eq!("100 us".parse(), Ok(Duration::from_micros(100)));
        assert_eq!("2.5 ms".parse(), Ok(Duration::from_micros(2_500)));
        assert_eq!("1 MB".parse(), Ok(Bytes(1_000_000)));
        assert_eq!("8 MiB".parse(), Ok(Bytes(8 << 20)));
        assert_eq!("1e3 B".parse(), Ok(Bytes(1_000)));
    }

    #[test]
    fn messages_say_what_would_be_accepted() {
        let message = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        assert_eq!(message("10 Mbs"), "\"10 Mbs\" is not a rate; did you mean \"10 Mbps\"?");
        assert!(message("10").contains("it has no unit"));
        assert!(message("fast").contains("as in \"10 Mbps\""));
        assert!(message("-1 Mbps").contains("negative"));
        assert!(message("0 bps").contains("above zero"));
        assert!(message("1e300 Gbps").contains("too large"));
    }

    /// A byte has eight bits: what is suggested in place of a wrong unit is the same amount, or says what it is else.
    #[test]
    fn bits_and_bytes_are_not_taken_for_each_other() {
        let rate = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        for (text, bits, same) in [
            ("10 MB/s", "80 Mbps", "10 Mbps"),
            ("10 MBps", "80 Mbps", "10 Mbps"),
            ("10 MBPS", "80 Mbps", "10 Mbps"),
            ("10 mB/s", "80 Mbps", "10 Mbps"),
            ("125 KB/s", "1 Mbps", "125 kbps"),
            ("1 MiB/s", "8.388608 Mbps", "1.048576 Mbps"),
            ("2 Mbytes/s", "16 Mbps", "2 Mbps"),
            ("5 B/s", "40 bps", "5 bps"),
        ] {
            let told = format!("; a rate is in bits: write {bits:?}, or {same:?} if bits were meant");
            assert_eq!(rate(text), format!("{text:?} is not a rate{told}"));
        }
        let size = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        for (text, bytes, same) in
            [("10 Mb", "1.25 MB", "10 MB"), ("8 kbit", "1 kB", "8 kB"), ("16 bits", "2 B", "16 B")]
        {
            let told = format!("; a size is in bytes: write {bytes:?}, or {same:?} if bytes were meant");
            assert_eq!(size(text), format!("{text:?} is not a size{told}"));
        }
        // Where the case alone differs nothing else can be meant.
        assert_eq!(rate("10 mbps"), "\"10 mbps\" is not a rate; did you mean \"10 Mbps\"?");
        assert_eq!(size("10 KB"), "\"10 KB\" is not a size; did you mean \"10 kB\"?");
    }

    #[test]
    fn a_number_is_found_in_a_text() {
        for (text, number) in [("0.01", 0.01), ("1%", 0.01), ("0.7 %", 0.007), (" 12 ", 12.0)] {
            assert_eq!(number_in(text), Some(number), "{text}");
        }
        for text in ["", "%", "one", "1%%", "nan", "inf%"] {
            assert_eq!(number_in(text), None, "{text}");
        }
    }

    #[test]
    fn rates_and_times_agree() {
        let rate = Rate::from_bps(10_000_000);
        assert_eq!(rate.time_for(1500), Duration::from_micros(1200));
        assert_eq!(rate.bytes_in(Duration::from_millis(100)).get(), 125_000);
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_display_reads_back(text in "\\PC{0,12}", value in 1u64..9_000_000_000_000_000_000, bits in 0u32..62) {
            let _ = (text.parse::<Rate>(), text.parse::<Duration>(), text.parse::<Bytes>());
            // As many values of each length.
            let value = (value >> bits).max(1);
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            prop_assert_eq!(Duration::from_nanos(value).to_string().parse(), Ok(Duration::from_nanos(value)));
            let rate = value.min(1_000_000_000_000_000);
            prop_assert_eq!(Rate(rate).to_string().parse(), Ok(Rate(rate)));
        }
    }
}
