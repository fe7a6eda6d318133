//! Connections whose ends somebody else's library plays: datagrams in and out as bytes, everything else as with a machine
//! of ours.

use crate::common::ControlFactory;
use crate::common::Streams;
use crate::quic::Address;
use vazao_engine::registry::Parameters;
use vazao_engine::{Duration, Ecn, Histogram, Time};

/// One end of such a connection. It has no clock and no socket either: time comes with every call.
pub trait Library: Streams {
    /// What time it is for the [`ByteStream`](crate::common::ByteStream)'s calls, which do not say.
    fn set_clock(&mut self, now: Time);
    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    fn next_timeout(&self) -> Time;
    /// Handles every timer due at `now`; a client begins with the first call.
    fn handle_timeout(&mut self, now: Time);
    /// A datagram has arrived, with this codepoint in its IP header.
    fn handle(&mut self, now: Time, ecn: Ecn, datagram: &Datagram);
    /// Fills `datagram` with the next one to send, if there is one; call again until there is none.
    fn poll_transmit(&mut self, now: Time, datagram: &mut Datagram) -> bool;
    /// Whether all is done.
    fn is_over(&self) -> bool;
    /// How it failed, if it did, in words for the user.
    fn failure(&self) -> Option<&str>;
    /// What it says of itself.
    fn report(&self) -> Report;
    /// The round-trip times that it measured.
    fn rtt(&self) -> Histogram;
    /// Takes what it has logged of itself since the last call, as records of qlog that follow a file's header.
    fn take_log(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// Takes the secrets by which its packets can be read that came up since the last call, as lines of an SSLKEYLOGFILE.
    fn take_secrets(&mut self) -> String {
        String::new()
    }
}

/// A datagram as it is sent.
#[derive(Clone, Debug, Default)]
pub struct Datagram {
    /// The UDP payload.
    pub payload: Vec<u8>,
    /// How it is marked.
    pub ecn: Ecn,
    /// By which of the client's addresses it goes.
    pub address: Address,
}

/// What a library's end says of itself.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// When data might flow.
    pub ready: Option<Time>,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes, if there is one.
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time, once one was measured.
    pub srtt: Option<Duration>,
    /// The last one measured.
    pub latest_rtt: Option<Duration>,
    /// Bytes in flight.
    pub flight: u64,
    /// Bytes of streams that it was given.
    pub written: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Packets declared lost, whose content was sent again.
    pub lost: u64,
    /// Times that the window was cut.
    pub cuts: u64,
    /// Whether nothing that was sent since the last cut has arrived.
    pub is_repairing: bool,
    /// As a receiver: frames with stream data.
    pub stream_frames: u64,
    /// As a receiver: pieces of data that are not what belongs at their place.
    pub misplaced: u64,
}

/// What both ends of a connection are made from.
#[derive(Clone)]
pub struct Plan {
    /// The protocol's parameters.
    pub parameters: Parameters,
    /// The congestion control's name.
    pub control: String,
    /// Makes it, if it is one of ours.
    pub make: Option<ControlFactory>,
    /// Decides whatever is left to chance.
    pub seed: u64,
    /// Whether it is to log what it does.
    pub logs: bool,
}
