//! State of an association with a guest, by which its bytes are read and written.

use vazao_transport::sctp::DataFlags;

/// State of an association with a guest, beyond what packets hold. It has one stream, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuestState {
    /// Addresses of each side at the ends of the paths.
    pub addresses: [Vec<[u8; 4]>; 2],
    /// Chunks that each side has sent.
    pub sent: [SentChunks; 2],
    /// State cookie of the guest, sent back unread.
    pub(super) cookie: Vec<u8>,
    /// Heartbeat information of the guest, sent back unread.
    pub(super) beats: Vec<Vec<u8>>,
    /// Unknown chunks and parameters of the guest, by the numbers of [`Unknown`].
    pub(super) unknown: Vec<Vec<u8>>,
}

/// Chunks that a side has sent, by TSN.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentChunks {
    first: u32,
    positions: Vec<Position>,
    next: Position,
}

/// Start of a chunk's payload: offset in the flow, number of the message, and offset in the message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    pub(super) offset: u64,
    pub(super) message: u64,
    pub(super) within: u64,
}

impl SentChunks {
    /// Notes a sent chunk. Chunks are sent for the first time in the order of their TSNs.
    pub fn note(&mut self, tsn: u32, length: u16, flags: DataFlags) {
        if self.positions.is_empty() {
            self.first = tsn;
        }
        if tsn.wrapping_sub(self.first) as usize != self.positions.len() {
            return;
        }
        self.positions.push(self.next);
        self.next.offset += u64::from(length);
        self.next.within += u64::from(length);
        if flags.has(DataFlags::END) {
            (self.next.message, self.next.within) = (self.next.message + 1, 0);
        }
    }

    pub(super) fn position(&self, tsn: u32) -> Position {
        self.positions.get(tsn.wrapping_sub(self.first) as usize).copied().unwrap_or(self.next)
    }
}
