//! What was sent and not cumulatively acknowledged: a record for each TSN, in a ring.

use super::chunk::{Data, DataFlags};
use std::collections::VecDeque;
use vazao_engine::Time;

/// Where a chunk stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In flight, in the [order](super::order::Order) of its path, or waiting there to be sent again.
    Ahead,
    Suspect,
    Again,
    Marked,
    /// A gap report acknowledged it.
    Acked,
    /// Its message was given up.
    Abandoned,
}

/// A chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// When it was sent, the last time.
    pub sent: Time,
    /// When its message is no longer worth sending.
    pub expiry: Time,
    /// Its message's number among those of its stream, and among all.
    pub number: u64,
    pub message: u32,
    pub fsn: u32,
    pub stamp: u32,
    pub length: u16,
    pub stream: u16,
    pub transmissions: u16,
    pub flags: DataFlags,
    /// The path by which it was sent, the last time.
    pub path: u8,
    pub place: Place,
    /// Missing reports.
    pub missing: u8,
    /// Whether it has had its fast retransmission, so that another loss of it is the timer's to find.
    pub fast: bool,
    /// Whether a timeout, not missing reports, marked it.
    pub timed_out: bool,
    /// Whether a gap report for good has taken it out of the send buffer.
    pub released: bool,
}

impl Default for Record {
    /// One that says nothing.
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

/// Records of `first..next`. TSNs count from 0 in 64 bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    pub first: u64,
    records: VecDeque<Record>,
}

impl Outstanding {
    /// Gives back memory that nothing uses any more.
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
    /// Whether a chunk is at a place of a path's order.
    #[inline]
    pub fn is_at(&self, tsn: u64, path: u8, place: Place) -> bool {
        tsn >= self.first && {
            let record = self.get(tsn);
            record.place == place && record.path == path
        }
    }
    /// Whether a chunk is in flight by a path.
    pub fn is_in_flight(&self, tsn: u64, path: u8) -> bool {
        tsn >= self.first && {
            let record = self.get(tsn);
            record.path == path && !matches!(record.place, Place::Acked | Place::Marked | Place::Abandoned)
        }
    }
    /// Forgets everything below `next`.
    pub fn advance(&mut self, next: u64) {
        self.records.drain(..(next - self.first) as usize);
        self.first = next;
    }
}
