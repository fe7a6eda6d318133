//! What captures of real networks tell: connections, round trips, losses, reordering, and what a sender waited for.
//!
//! Packets come one after the other, as [`vazao_wire::stream`] reads them, and each is seen once: memory grows with the
//! connections, not with the packets. All is told as it looks at the place of the capture; what happened beyond is concluded
//! from what comes back. Nothing here trusts a packet: lengths, times and numbers may be anything.

mod analysis;
mod headers;
mod holes;
mod limits;
mod moment;
mod pairing;
mod passing;
mod tcp;

pub use analysis::{Analysis, Connection, Ending, Overview};
pub use limits::{Limit, Limits};
pub use pairing::{Fate, Mark, Pairing, Sighting, pair};
pub use passing::Passing;
pub use tcp::{Half, Handshake};
