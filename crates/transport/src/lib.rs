//! Transport protocols as machines without a clock or a socket.
//!
//! An endpoint is handed a packet or an expired timer *with the time as an argument*. It is asked what to send
//! (`poll_transmit`) and when to be called next (`next_timeout`). Time is virtual in the simulator and real in live
//! runs. Nothing here knows the simulator or does I/O. [`common`] holds what several protocols share and depends on
//! none of them.

pub mod common;
pub mod dccp;
pub mod icmp;
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
