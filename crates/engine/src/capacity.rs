//! Capacities of queues: `"100 packets"`, `"64 kB"`, `"20 ms"` or `"1 bdp"`.

use crate::units::{bit_size, nearest};
use crate::{Bytes, Duration, Rate};
use std::fmt;
use std::str::FromStr;

/// Capacity in front of a link, the packet being sent not counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// Packets.
    Packets(u32),
    /// Bytes.
    Bytes(u64),
    /// Bytes that the link sends in a time.
    Time(Duration),
    /// Bandwidth-delay products: the link's rate times the longest base round-trip time that crosses it.
    Bdp(f64),
}

impl Capacity {
    /// Accepted values, for messages.
    pub(crate) const EXAMPLES: &str = "\"100 packets\", \"64 kB\", \"20 ms\" or \"1 bdp\"";

    /// Converts the capacity to numbers of packets and bytes, for a link of this rate and base round-trip time.
    pub fn limits(self, rate: Rate, base_rtt: Duration) -> (u32, u64) {
        match self {
            Capacity::Packets(n) => (n, u64::MAX),
            Capacity::Bytes(n) => (u32::MAX, n),
            Capacity::Time(span) => (u32::MAX, rate.bytes_in(span).get()),
            Capacity::Bdp(n) => (u32::MAX, (rate.bytes_in(base_rtt).get() as f64 * n).ceil() as u64),
        }
    }
}

impl FromStr for Capacity {
    type Err = String;

    /// Reads `"100 packets"`, `"64 kB"`, `"20 ms"` or `"1 bdp"`.
    fn from_str(text: &str) -> Result<Capacity, String> {
        const EXAMPLES: &str = Capacity::EXAMPLES;
        let split = text.trim().find(|c: char| c.is_ascii_alphabetic() || c.is_whitespace()).unwrap_or(text.len());
        let (number, unit) = text.trim().split_at(split.min(text.trim().len()));
        let number: Option<f64> = number.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
        match (number, unit.trim()) {
            (Some(n), "packets" | "packet" | "pkt") if n.fract() == 0.0 && n < 4e9 => Ok(Capacity::Packets(n as u32)),
            (Some(n), "bdp") if n < 1e6 => Ok(Capacity::Bdp(n)),
            (Some(_), _) if text.parse::<Bytes>().is_ok() => Ok(Capacity::Bytes(text.parse::<Bytes>().unwrap().get())),
            (Some(_), _) if text.parse::<Duration>().is_ok() => Ok(Capacity::Time(text.parse().unwrap())),
            (Some(n), unit) if bit_size(n, unit).is_some() => {
                Err(format!("{text:?} is not a queue limit{}", bit_size(n, unit).unwrap_or_default()))
            }
            (Some(n), unit) => match nearest(unit, ["packets", "bdp", "kB", "MB", "ms", "s", "us"]) {
                Some(near) if !unit.is_empty() && near != unit => {
                    Err(format!("{text:?} is not a queue limit; did you mean \"{n} {near}\"?"))
                }
                _ => Err(format!("{text:?} is not a queue limit; write {EXAMPLES}")),
            },
            _ => Err(format!("{text:?} is not a queue limit; write {EXAMPLES}")),
        }
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Capacity::Packets(n) => write!(f, "{n} packets"),
            Capacity::Bytes(n) => write!(f, "{}", Bytes::new(*n)),
            Capacity::Time(span) => write!(f, "{span}"),
            Capacity::Bdp(n) => write!(f, "{n} bdp"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_read_as_written() {
        assert_eq!("100 packets".parse(), Ok(Capacity::Packets(100)));
        assert_eq!("64 kB".parse(), Ok(Capacity::Bytes(64_000)));
        assert_eq!("20 ms".parse(), Ok(Capacity::Time(Duration::from_millis(20))));
        assert_eq!("0.5 bdp".parse(), Ok(Capacity::Bdp(0.5)));
        let message = |text: &str| text.parse::<Capacity>().unwrap_err();
        assert!(message("100 packts").contains("did you mean \"100 packets\"?"));
        assert!(message("8 Mb").ends_with("write \"1 MB\", or \"8 MB\" if bytes were meant"));
        assert!(message("100").contains("write \"100 packets\""));
        assert!(message("-3 packets").contains("write"));
    }

    #[test]
    fn a_bdp_is_rate_times_round_trip() {
        let (rate, rtt) = (Rate::from_bps(10_000_000), Duration::from_millis(100));
        assert_eq!(Capacity::Bdp(1.0).limits(rate, rtt), (u32::MAX, 125_000));
        assert_eq!(Capacity::Time(Duration::from_millis(20)).limits(rate, rtt), (u32::MAX, 25_000));
    }
}
