//! Numbered, time-stamped datagrams, as a measuring tool such as iperf sends and counts them: what UDP and DCCP carry.

mod receiver;
mod sender;

pub(crate) use receiver::Receiver;
pub use receiver::Stats;
pub(crate) use sender::Sender;

use vazao_engine::Time;

/// Contents of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Send time.
    pub sent: Time,
    /// Sequence number in its flow, from 0.
    pub sequence: u32,
    /// Number of its message.
    pub message: u32,
    /// Number of datagrams of that message.
    pub parts: u16,
    /// Bytes of payload.
    pub payload: u16,
}
