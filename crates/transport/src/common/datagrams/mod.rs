//! Numbered, time-stamped datagrams, as a measuring tool such as iperf sends and counts them: what UDP and DCCP carry.

mod receiver;
mod sender;

pub(crate) use receiver::Receiver;
pub use receiver::Stats;
pub(crate) use sender::Sender;

use vazao_engine::Time;

/// What one datagram carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When it was sent.
    pub sent: Time,
    /// Its number among those of its flow, from 0.
    pub sequence: u32,
    /// The number of the message that it is a part of.
    pub message: u32,
    /// How many datagrams that message has.
    pub parts: u16,
    /// Bytes of payload.
    pub payload: u16,
}
