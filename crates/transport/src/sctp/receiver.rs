//! The receiving half: which TSNs have arrived, and when and how to say so (RFC 9260 section 6.2).

use super::chunk::{Data, Packet, Sack};
use super::config::Config;
use super::stats::Stats;
use super::stream::Inbound;
use crate::RangeSet;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use vazao_engine::Time;

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    config: Arc<Config>,
    /// The first TSN on the wire.
    pub initial: u32,
    /// The TSN after the cumulative one, counted from 0.
    next: u64,
    above: RangeSet,
    inbound: Inbound,
    duplicates: Vec<u32>,
    /// Packets with data since the last SACK.
    packets: u32,
    /// When a SACK is due; NEVER: there is nothing to say.
    due: Time,
    /// The path by which data came last: SACKs go there.
    pub path: usize,
    /// Bytes read by the application.
    read: u64,
    /// The window that the peer was last told of.
    told: u64,
}

impl Receiver {
    pub fn new(config: &Arc<Config>) -> Receiver {
        Receiver {
            config: config.clone(),
            initial: 0,
            next: 0,
            above: RangeSet::default(),
            inbound: Inbound::default(),
            duplicates: Vec::new(),
            packets: 0,
            due: Time::NEVER,
            path: 0,
            read: 0,
            told: config.receive_buffer,
        }
    }

    /// The cumulative TSN on the wire.
    pub fn cumulative(&self) -> u32 {
        self.initial.wrapping_add(self.next as u32).wrapping_sub(1)
    }
    /// When a SACK is due.
    pub fn due(&self) -> Time {
        self.due
    }
    /// A SACK is due at once.
    pub fn hurry(&mut self, now: Time) {
        self.due = now;
    }
    pub fn fall_silent(&mut self) {
        self.due = Time::NEVER;
    }
    pub fn is_drained(&self) -> bool {
        self.read == self.inbound.delivered && self.inbound.held == 0
    }
    pub fn report(&self, stats: &mut Stats) {
        stats.messages_delivered = self.inbound.messages;
        stats.misplaced = self.inbound.misplaced;
    }

    /// What is left of the buffer.
    fn window(&self) -> u64 {
        self.config.receive_buffer.saturating_sub(self.inbound.held + self.inbound.delivered - self.read)
    }

    /// The chunks of a packet arrive by `path`.
    pub fn on_data(&mut self, now: Time, path: usize, packet: &Packet, stats: &mut Stats) {
        self.path = path;
        let gap_before = !self.above.is_empty();
        // Linux's first acknowledgement does not wait.
        let mut hasty = self.config.is_linux() && stats.chunks_received == 0;
        for data in &packet.data {
            hasty |= !self.on_chunk(data, packet.interleaved, stats);
        }
        self.packets += 1;
        let gap = gap_before || !self.above.is_empty();
        if hasty || (gap && !self.config.dac) || self.packets >= self.config.sack_frequency {
            self.due = now;
        } else {
            self.due = self.due.min(now + self.config.sack_delay);
        }
        self.report(stats);
    }

    /// False: it was here before, or there was no room for it, which the peer should hear at once.
    fn on_chunk(&mut self, data: &Data, interleaved: bool, stats: &mut Stats) -> bool {
        let distance = data.tsn.wrapping_sub(self.initial).wrapping_sub(self.next as u32) as i32;
        let Some(tsn) = self.next.checked_add_signed(i64::from(distance)).filter(|&tsn| tsn >= self.next) else {
            return self.on_duplicate(data.tsn, stats);
        };
        if self.above.contains(tsn, tsn + 1) {
            return self.on_duplicate(data.tsn, stats);
        }
        let room = self.window();
        // The next one is taken beyond the buffer if something waits for it, or that would wait for ever.
        let is_awaited = tsn == self.next && (self.inbound.held > 0 || room > 0);
        if room < u64::from(data.length) && !is_awaited {
            return false;
        }
        if tsn == self.next {
            self.next = self.above.take_through(tsn + 1).unwrap_or(tsn + 1);
        } else {
            self.above.insert(tsn, tsn + 1, |_, _| {});
        }
        stats.chunks_received += 1;
        self.inbound.take(tsn, data, interleaved);
        true
    }

    fn on_duplicate(&mut self, tsn: u32, stats: &mut Stats) -> bool {
        stats.duplicates_received += 1;
        if self.duplicates.len() < 16 {
            self.duplicates.push(tsn);
        }
        false
    }

    /// Puts a SACK into `out`, in `room` bytes.
    pub fn sack(&mut self, room: u32, out: &mut Packet) {
        let packets = if self.config.dac { self.packets.min(3) as u8 } else { 0 };
        self.told = self.window();
        let window = u32::try_from(self.told).unwrap_or(u32::MAX);
        let sack = Sack { cumulative: self.cumulative(), window, packets, non_renegable: self.config.nr_sack };
        out.sack = Some(sack);
        let most = ((room - sack.fixed_bytes()) / 4) as usize - self.duplicates.len();
        let most = if self.config.is_linux() { most.min(16) } else { most };
        let offset = |tsn: u64| u16::try_from(tsn + 1 - self.next);
        let blocks = self.above.iter().map_while(|(a, b)| Some((offset(a).ok()?, offset(b - 1).ok()?)));
        out.gaps.extend(blocks.take(most));
        out.duplicates.append(&mut self.duplicates);
        self.packets = 0;
        self.due = Time::NEVER;
    }

    /// From now on it can be asked which messages were read.
    pub fn watch_messages(&mut self) {
        self.inbound.unread = Some(VecDeque::new());
    }

    /// A message that was read as a whole, by its number among all of its sender's; each is said once.
    pub fn next_read(&mut self) -> Option<u32> {
        let unread = self.inbound.unread.as_mut()?;
        unread.front().filter(|&&(_, end)| end <= self.read)?;
        unread.pop_front().map(|(message, _)| message)
    }

    /// Takes at most `limit` bytes that were delivered.
    pub fn take(&mut self, now: Time, limit: u64) -> Option<Range<u64>> {
        let start = self.read;
        self.read += limit.min(self.inbound.delivered - start);
        // A peer that was told of no room waits to hear of some (silly window avoidance).
        let enough = self.config.segment().min(self.config.receive_buffer / 2);
        if self.told < enough && self.window() >= enough {
            self.due = now;
        }
        (self.read > start).then_some(start..self.read)
    }
}
