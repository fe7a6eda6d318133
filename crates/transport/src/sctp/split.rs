//! Buffer splitting (Dreibholz and others, *Transmission scheduling optimizations for concurrent multipath transfer*,
//! PFLDNeT 2010; Adhari and others, *Evaluation of concurrent multipath transfer over dissimilar paths*, WAINA 2011):
//! no path may fill the shared buffer, lest a slow or lossy one block the others.

use vazao_engine::registry::choice;

choice! {
    /// Buffer that is split evenly among the paths; a path's usage is data sent on it and still in the send buffer.
    pub enum Split {
        /// Neither buffer.
        None = "none",
        /// The send buffer.
        Sender = "sender",
        /// The peer's receive buffer: its last advertised window plus the flight.
        Receiver = "receiver",
        /// Both.
        Both = "both",
    }
}

impl Split {
    /// Bytes that each of `paths` paths may hold of a send buffer (`None`: no limit) and of the peer's.
    pub fn share(self, send: Option<u64>, receive: u64, paths: u64) -> u64 {
        let sender = if matches!(self, Split::Sender | Split::Both) { send.unwrap_or(u64::MAX) } else { u64::MAX };
        let receiver = if matches!(self, Split::Receiver | Split::Both) { receive } else { u64::MAX };
        sender.min(receiver) / paths
    }
}
