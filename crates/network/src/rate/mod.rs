//! Rates of links, one module each. Most rates are fixed; where one varies, the time at which a packet has been sent is
//! still known when it starts, so that drop-tail needs one event a packet.

mod fixed;
mod schedule;
mod token_bucket;
mod trace;

pub(crate) use fixed::Transmitter;
pub use schedule::Schedule;
pub use token_bucket::TokenBucket;
pub use trace::{Opportunities, Trace};

use vazao_engine::Rate;
use vazao_engine::registry::{Entry, ParameterError, Parameters};

/// After every run: when a packet has been sent that never is.
const NEVER: u64 = u64::MAX / 4;

/// A transmitter whose rate varies. Times are nanoseconds.
pub trait Service: Send {
    /// Returns when a packet of `bytes`, link header included, that is ready at `now` starts to be sent, and when it
    /// has been. It comes after all packets before it.
    fn send(&mut self, now: u64, bytes: u32) -> (u64, u64);
    /// Returns the bits that it could have sent from the start to `until`.
    fn capacity(&self, until: u64) -> f64;
}

/// Variation of a rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Variation {
    /// Not at all.
    #[default]
    Fixed,
    /// Rates that begin at given times in nanoseconds; they start anew after each `repeat`.
    Schedule {
        /// The first from 0, in order.
        steps: Vec<(u64, Rate)>,
        /// Period in nanoseconds.
        repeat: Option<u64>,
    },
    /// Trace of opportunities to send.
    Trace {
        /// Name that the user gave.
        name: String,
        /// Seed that the user gave, of a synthetic trace.
        seed: Option<u64>,
        /// Opportunities to send.
        opportunities: Opportunities,
    },
}

/// Returns the FNV-1a hash of numbers.
pub(crate) fn fnv1a(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers
        .flat_map(u64::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Reads the text file of a name, or says why it cannot.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Makes a rate that varies from its parameters and the files that they name: its mean, and how it varies.
pub type Vary = fn(&Parameters, ReadFile) -> Result<(Rate, Variation), ParameterError>;

/// Kinds of a link's `rate`. A table is of the kind whose first parameter it has, a list that of the first kind.
pub const RATES: &[Entry<Vary>] = &[schedule::ENTRY, trace::ENTRY];

/// Puts a shaper in front of what sends.
pub type Shape = fn(&Parameters, Box<dyn Service>) -> Box<dyn Service>;

/// Kinds of a link's `shaper`.
pub const SHAPERS: &[Entry<Shape>] = &[token_bucket::ENTRY];
