//! Connections whose endpoints are run by a third-party library. Datagrams go in and out as bytes; everything else
//! works as it does with our own protocol implementations.

use crate::common::ControlFactory;
use crate::common::Streams;
use crate::common::counters;
use crate::quic::Address;
use vazao_engine::registry::Parameters;
use vazao_engine::{Duration, Ecn, Histogram, Time};

/// One end of a connection run by a library. It has neither clock nor socket: every call passes the time.
pub trait Library: Streams {
    /// Sets the current time for the [`ByteStream`](crate::common::ByteStream) calls, which do not pass it.
    fn set_clock(&mut self, now: Time);
    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called.
    fn next_timeout(&self) -> Time;
    /// Handles every timer due at `now`; the first call starts a client.
    fn handle_timeout(&mut self, now: Time);
    /// Handles an arriving datagram with this ECN codepoint in its IP header.
    fn handle(&mut self, now: Time, ecn: Ecn, datagram: &Datagram);
    /// Fills `datagram` with the next datagram and returns whether there was one; call again until there is none.
    fn poll_transmit(&mut self, now: Time, datagram: &mut Datagram) -> bool;
    /// Whether the connection is finished.
    fn is_over(&self) -> bool;
    /// Reason for the failure in words for the user, if the connection failed.
    fn failure(&self) -> Option<&str>;
    /// Statistics kept by the library.
    fn report(&self) -> Report;
    /// Distribution of the round-trip times measured.
    fn rtt(&self) -> Histogram;
    /// Takes the qlog records logged since the last call, without the file header.
    fn take_log(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// Takes the TLS secrets that became known since the last call, as lines of an SSLKEYLOGFILE.
    fn take_secrets(&mut self) -> String {
        String::new()
    }
}

/// A UDP datagram to send.
#[derive(Clone, Debug, Default)]
pub struct Datagram {
    /// The UDP payload.
    pub payload: Vec<u8>,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Client address that the datagram is sent from.
    pub address: Address,
}

counters! {
    /// Statistics reported by a library's endpoint.
    pub struct Report {
        /// Time at which application data could first be sent.
        pub ready: Option<Time>,
        /// Congestion window in bytes.
        pub cwnd: u64,
        /// Slow-start threshold in bytes, if there is one.
        pub ssthresh: Option<u64>,
        /// Smoothed round-trip time, once measured.
        pub srtt: Option<Duration>,
        /// Latest round-trip time sample.
        pub latest_rtt: Option<Duration>,
        /// Bytes in flight.
        pub flight: u64,
        /// Stream bytes written by the application.
        pub written: u64,
        /// Datagrams sent.
        pub datagrams: u64 = "packets_sent",
        /// Packets declared lost and whose contents were retransmitted.
        pub lost: u64 = "retransmissions",
        /// Number of congestion window reductions.
        pub cuts: u64 = "recoveries",
        /// Whether no packet sent since the last window reduction has been acknowledged yet.
        pub is_repairing: bool,
        /// Receiver: STREAM frames received.
        pub stream_frames: u64,
        /// Receiver: pieces of data whose contents do not match their stream offset.
        pub misplaced: u64,
    }
}

/// Everything needed to create the two ends of a connection.
#[derive(Clone)]
pub struct Plan {
    /// Protocol parameters.
    pub parameters: Parameters,
    /// Name of the congestion control.
    pub control: String,
    /// Factory of the congestion control, if it is one of ours.
    pub make: Option<ControlFactory>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Whether to write a qlog.
    pub logs: bool,
}
