//! Buffer splitting (Dreibholz and others, *Transmission scheduling optimizations for concurrent multipath transfer*,
//! PFLDNeT 2010; Adhari and others, *Evaluation of concurrent multipath transfer over dissimilar paths*, WAINA 2011):
//! no path may fill the shared buffer, lest a slow or lossy one block the others.

/// Buffer that is split evenly among the paths; a path's usage is data sent on it and still in the send buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Neither buffer.
    None,
    /// The send buffer.
    Sender,
    /// The peer's receive buffer: its last advertised window plus the flight.
    Receiver,
    /// Both.
    Both,
}

impl Split {
    /// All choices by name.
    pub const ALL: [(&'static str, Split); 4] =
        [("none", Split::None), ("sender", Split::Sender), ("receiver", Split::Receiver), ("both", Split::Both)];

    /// Bytes that each of `paths` paths may hold of a send buffer (`None`: no limit) and of the peer's.
    pub fn share(self, send: Option<u64>, receive: u64, paths: u64) -> u64 {
        let sender = if matches!(self, Split::Sender | Split::Both) { send.unwrap_or(u64::MAX) } else { u64::MAX };
        let receiver = if matches!(self, Split::Receiver | Split::Both) { receive } else { u64::MAX };
        sender.min(receiver) / paths
    }
}
