//! Every congestion control and slow start, by name.

use crate::slow_start::{Limited, SlowStart, Standard};
use crate::window::{Reno, Window};
use crate::{CongestionControl, Controller, Setup};
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters};

/// Makes a congestion control from its parameters and the window it starts with.
pub type Constructor = fn(&Parameters, Setup) -> Box<dyn CongestionControl>;

/// Boxes a window-based algorithm inside the shared controller.
fn windowed<W: Window>(window: W, setup: Setup) -> Box<dyn CongestionControl> {
    Box::new(Controller::new(setup, window))
}

/// All congestion controls.
pub const CONGESTION_CONTROLS: &[Entry<Constructor>] = &[Entry {
    name: "reno",
    aliases: &["newreno"],
    title: "Reno",
    source: "RFC 5681",
    help: "one segment more each round trip, half on loss: what every other control is measured against",
    parameters: &[],
    build: |p, setup| windowed(Reno::from(p), setup),
}];

/// Makes a slow start from its parameters and RFC 3465's limit L in segments an acknowledgement.
type SlowStartConstructor = fn(&Parameters, f64) -> Box<dyn SlowStart>;

/// All slow starts.
pub const SLOW_STARTS: &[Entry<SlowStartConstructor>] = &[
    Entry {
        name: "standard",
        aliases: &[],
        title: "Standard slow start",
        source: "RFC 5681 section 3.1, RFC 3465",
        help: "the window doubles each round trip until a loss",
        parameters: &[],
        build: |_, limit| Box::new(Standard { limit }),
    },
    Entry {
        name: "limited",
        aliases: &[],
        title: "Limited slow start",
        source: "RFC 3742",
        help: "above max_ssthresh the window grows by at most max_ssthresh/2 a round trip",
        parameters: &[Parameter::new(
            "max_ssthresh",
            Kind::Integer(2, 1_000_000),
            "100",
            "where the limit begins, in segments",
        )],
        build: |p, limit| {
            Box::new(Limited { standard: Standard { limit }, max_ssthresh: p.number("max_ssthresh") })
        },
    },
];

/// Builds a congestion control by name, as `parameters` were resolved from its entry.
///
/// # Errors
/// A sentence with the nearest name when there is no such control.
pub fn build(name: &str, parameters: &Parameters, setup: Setup) -> Result<Box<dyn CongestionControl>, String> {
    vazao_engine::registry::find("congestion control", CONGESTION_CONTROLS, name)
        .map(|entry| (entry.build)(parameters, setup))
}

/// Builds a slow start by name; `limit` is RFC 3465's L.
///
/// # Errors
/// A sentence with the nearest name when there is no such slow start.
pub fn build_slow_start(name: &str, parameters: &Parameters, limit: f64) -> Result<Box<dyn SlowStart>, String> {
    vazao_engine::registry::find("slow start", SLOW_STARTS, name).map(|entry| (entry.build)(parameters, limit))
}
