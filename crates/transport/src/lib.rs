//! Transport protocols as machines without a clock or a socket.
//!
//! An endpoint is handed a packet or an expired timer *with the time as an argument* and asked what to send
//! (`poll_transmit`) and when to be woken (`next_timeout`). In the simulator the time is virtual; live, it is real.
//! Nothing here knows a simulator or a file. What several protocols share is in [`common`], which knows none of them.

pub mod common;
pub mod dccp;
pub mod library;
pub mod mptcp;
pub mod quic;
pub mod sctp;
pub mod tcp;
pub mod tls;
pub mod udp;

pub use common::{
    Bucket, ByteStream, ControlFactory, DeliveryRate, Pacer, PacketState, RangeSet, RtoRule, RttEstimator, Spread,
    Streams, stamp,
};
