//! SCTP (RFC 9260; optionally RFC 4960 and 2960) as a state machine driven by packets and timeouts, with concurrent
//! multipath transfer (CMT).
//!
//! ```text
//!  application ── messages ── Sender ── Outstanding ── Path (one a destination: window, timers, errors)
//!                               │         SACKs: growth, recovery, retransmission, path choice
//!  Association (states, cookie) ┤
//!                               │
//!  application ── messages ── Receiver (TSNs, SACKs) ── Inbound (reassembly, streams in order)
//! ```

mod association;
mod authentication;
mod backlog;
mod cause;
mod changeover;
mod chunk;
mod config;
mod cookie;
mod growth;
mod host;
mod init;
mod notification;
mod order;
mod outstanding;
mod path;
mod path_choice;
mod receiver;
mod recovery;
mod reliability;
mod retransmission;
mod scheduler;
mod sender;
mod split;
mod stats;
mod stream;
mod unknown;

pub use association::{Association, Failure, State};
pub use authentication::{AUTHENTICATED, Hmac, RANDOM};
pub use cause::Cause;
pub use chunk::{COMMON_HEADER, Control, Data, DataFlags, Packet, Probe, Sack, Skip, data_header, stamp};
pub use config::Config;
pub use cookie::Cookie;
pub use growth::Growth;
pub use host::Semantics;
pub use init::{Addresses, Extensions, Init};
pub use notification::{Notification, Subject};
pub use path::{Path, WindowUnit};
pub use path_choice::PathChoice;
pub use recovery::Scope;
pub use reliability::Reliability;
pub use retransmission::Policy;
pub use scheduler::{Candidate, Share, StreamScheduler};
pub use split::Split;
pub use stats::{PathStats, Stats};
pub use unknown::Unknown;
