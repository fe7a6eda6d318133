//! Every congestion control and slow start, by name.

use crate::entry::{Constructor, SlowStartConstructor};
use crate::slow_start::{self, SlowStart};
use crate::{CongestionControl, Setup, bbr, bbr3, coupled, window};
use vazao_engine::registry::{Entry, Parameters, Problem};

/// All congestion controls.
pub const CONGESTION_CONTROLS: &[Entry<Constructor>] = &[
    window::reno::ENTRY,
    window::highspeed::ENTRY,
    window::scalable::ENTRY,
    window::bic::ENTRY,
    window::cubic::ENTRY,
    window::vegas::ENTRY,
    window::westwood::ENTRY,
    window::westwood_plus::ENTRY,
    window::htcp::ENTRY,
    window::hybla::ENTRY,
    window::veno::ENTRY,
    window::illinois::ENTRY,
    window::yeah::ENTRY,
    window::ledbat::ENTRY,
    window::tcp_lp::ENTRY,
    window::dctcp::ENTRY,
    window::cdg::ENTRY,
    window::copa::ENTRY,
    bbr::ENTRY,
    bbr3::ENTRY,
    coupled::lia::ENTRY,
    coupled::olia::ENTRY,
    coupled::balia::ENTRY,
    coupled::wvegas::ENTRY,
    coupled::rpv1::ENTRY,
    coupled::rpv2::ENTRY,
];

/// All slow starts.
pub const SLOW_STARTS: &[Entry<SlowStartConstructor>] = &[
    slow_start::standard::ENTRY,
    slow_start::limited::ENTRY,
    slow_start::hystart::ENTRY,
    slow_start::hystart_plus_plus::ENTRY,
];

/// Builds a congestion control by name, as `parameters` were resolved from its entry.
///
/// # Errors
/// A sentence with the nearest name when there is no such control.
pub fn build(name: &str, parameters: &Parameters, setup: Setup) -> Result<Box<dyn CongestionControl>, Problem> {
    vazao_engine::registry::find("congestion control", CONGESTION_CONTROLS, name)
        .map(|entry| (entry.build)(parameters, setup))
}

/// Builds a slow start by name; `limit` is RFC 3465's L.
///
/// # Errors
/// A sentence with the nearest name when there is no such slow start.
pub fn build_slow_start(name: &str, parameters: &Parameters, limit: f64) -> Result<Box<dyn SlowStart>, Problem> {
    vazao_engine::registry::find("slow start", SLOW_STARTS, name).map(|entry| (entry.build)(parameters, limit))
}
