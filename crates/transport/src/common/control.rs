//! Factory of congestion controls.

use std::sync::Arc;
use vazao_congestion::CongestionControl;

/// Makes the congestion control of a connection or of one of its paths from the segment size in bytes and a
/// [seed](vazao_congestion::Setup::seed) of its own.
pub type ControlFactory = Arc<dyn Fn(u64, u64) -> Box<dyn CongestionControl> + Send + Sync>;
