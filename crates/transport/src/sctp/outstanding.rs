//! Chunks sent and not cumulatively acknowledged: one record per TSN.

use super::chunk::{Data, DataFlags};
use std::collections::VecDeque;
use vazao_engine::Time;

/// Place of a chunk in the path's [order](super::order::Order), or its final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In flight, or marked for retransmission.
    Ahead,
    Suspect,
    /// In flight again, and lost only to the timer.
    FastRetransmitted,
    Marked,
    /// Acknowledged by a gap report.
    Acked,
    Abandoned,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub sent: Time,
    /// End of its message's lifetime.
    pub expiry: Time,
    /// Number of its message in the stream, and globally.
    pub number: u64,
    pub message: u32,
    pub fsn: u32,
    pub stamp: u32,
    pub length: u16,
    pub stream: u16,
    pub transmissions: u16,
    pub flags: DataFlags,
    pub path: u8,
    pub place: Place,
    pub missing: u8,
    /// Whether it was fast retransmitted, or otherwise is not to be (again), so that only the timer detects another loss.
    pub fast: bool,
    /// Whether it was marked by a timeout rather than by missing reports.
    pub timed_out: bool,
    /// Whether a non-renegable gap report has released it from the send buffer.
    pub released: bool,
}

impl Default for Record {
    fn default() -> Record {
        Record {
            sent: Time::ZERO,
            expiry: Time::NEVER,
            number: 0,
            message: 0,
            fsn: 0,
            stamp: 0,
            length: 0,
            stream: 0,
            transmissions: 0,
            flags: DataFlags::default(),
            path: 0,
            place: Place::Ahead,
            missing: 0,
            fast: false,
            timed_out: false,
            released: false,
        }
    }
}

impl Record {
    pub fn data(&self, tsn: u32) -> Data {
        let Record { stream, length, flags, message, stamp, number, fsn, .. } = *self;
        Data { tsn, stream, number: number as u32, fsn, length, flags, message, stamp }
    }
    pub fn bytes(&self) -> u64 {
        u64::from(self.length)
    }
}

/// Records of TSNs `first..next`, which count from 0 in 64 bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    pub first: u64,
    records: VecDeque<Record>,
}

impl Outstanding {
    /// Frees unused memory.
    pub fn shrink(&mut self) {
        self.records.shrink_to_fit();
    }
    pub fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
    pub fn push(&mut self, record: Record) {
        self.records.push_back(record);
    }
    #[inline]
    pub fn get(&self, tsn: u64) -> &Record {
        &self.records[(tsn - self.first) as usize]
    }
    #[inline]
    pub fn get_mut(&mut self, tsn: u64) -> &mut Record {
        &mut self.records[(tsn - self.first) as usize]
    }
    #[inline]
    pub fn is_at(&self, tsn: u64, path: u8, place: Place) -> bool {
        tsn >= self.first && {
            let record = self.get(tsn);
            record.place == place && record.path == path
        }
    }
    pub fn is_in_flight(&self, tsn: u64, path: u8) -> bool {
        tsn >= self.first && {
            let record = self.get(tsn);
            record.path == path && !matches!(record.place, Place::Acked | Place::Marked | Place::Abandoned)
        }
    }
    /// Removes everything below `next`.
    pub fn advance(&mut self, next: u64) {
        self.records.drain(..(next - self.first) as usize);
        self.first = next;
    }
}
