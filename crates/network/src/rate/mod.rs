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

use vazao_engine::registry::{Entry, Kind, Parameter, Parameters};

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

/// Kind of a varying rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varying {
    /// Rate given by steps.
    Schedule,
    /// Rate given by a trace.
    Trace,
}

/// Kinds of a link's `rate`.
pub const RATES: &[Entry<Varying>] = &[
    Entry {
        name: "schedule",
        aliases: &[],
        title: "Rate schedule",
        source: "scripted",
        help: "rate = [{ at = \"0 s\", rate = \"10 Mbps\" }, …], or a table with these as steps and repeat",
        parameters: &[
            Parameter::required("steps", Kind::Text, "tables with at and rate: from when on which rate"),
            Parameter::new(
                "repeat",
                Kind::Duration(vazao_engine::Duration::from_nanos(1), vazao_engine::Duration::MAX),
                "",
                "after how long it begins anew; without it the last rate lasts",
            ),
        ],
        build: Varying::Schedule,
    },
    Entry {
        name: "trace",
        aliases: &["mahimahi", "cellular"],
        title: "Delivery trace",
        source: "Winstein, Sivaraman, Balakrishnan, NSDI 2013; mahimahi's format",
        help: "rate = { trace = \"file\" }: a millisecond a line, each an instant at which 1500 B may pass, or else do not",
        parameters: &[
            Parameter::required(
                "trace",
                Kind::Text,
                "the file, beside the scenario's; \"cellular\" is a synthetic one",
            ),
            Parameter::new("seed", Kind::Integer(0, 1 << 53), "1", "which synthetic one: trace = \"cellular\" only"),
        ],
        build: Varying::Trace,
    },
];

/// Puts a shaper in front of what sends.
pub type Shape = fn(&Parameters, Box<dyn Service>) -> Box<dyn Service>;

/// Kinds of a link's `shaper`.
pub const SHAPERS: &[Entry<Shape>] = &[token_bucket::ENTRY];
