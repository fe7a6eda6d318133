//! QUIC (RFC 9000, 9001, 9002) as a state machine driven by datagrams and timeouts.
//!
//! ```text
//!  application ── streams ── Stream (what is sent, lost, acknowledged; limits) ──┐
//!                                                                              Connection ── datagrams
//!  handshake ── Crypto (bytes of each space) ── SentPackets, Recovery (RFC 9002) ──┘  Acks (what to acknowledge when)
//! ```

mod acks;
mod config;
mod connection;
mod ecn;
mod event;
mod frame;
mod google;
mod identifiers;
mod messages;
mod nat;
mod packet;
mod recovery;
mod sent;
mod stream;
mod thresholds;
mod undo;

pub use config::{Config, Handshake, Reordering, Rules, StreamScheduler};
pub use connection::{Connection, Failure, MAX_PATH_ID, PathStats, PathView, Stats};
pub use event::{DropReason, Event, Loss, Phase};
pub use frame::{AckFrame, Frame, StreamFrame, stamp};
pub use identifiers::ACTIVE as ACTIVE_IDENTIFIERS;
pub use messages::Messages;
pub use nat::Nat;
pub use packet::{Address, Datagram, Header, IDENTIFIER, Kind, Space};
