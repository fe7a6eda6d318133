//! Constructors that the entries of the registries hold.

use crate::slow_start::SlowStart;
use crate::{CongestionControl, Setup};
use vazao_engine::registry::Parameters;

/// Makes a congestion control from its parameters and the window it starts with.
pub type Constructor = fn(&Parameters, Setup) -> Box<dyn CongestionControl>;

/// Makes a slow start from its parameters and RFC 3465's limit L in segments an acknowledgement.
pub type SlowStartConstructor = fn(&Parameters, f64) -> Box<dyn SlowStart>;
