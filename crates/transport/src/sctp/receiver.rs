//! Receiving half: TSNs received, and SACKs (RFC 9260 section 6.2).

use super::chunk::{Data, DataFlags, Packet, Sack};
use super::config::Config;
use super::stats::Stats;
use super::stream::Inbound;
use crate::common::RangeSet;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use vazao_engine::Time;

/// Maximum duplicate TSNs in a SACK: Linux's SCTP_MAX_DUP_TSNS, used for all hosts.
const DUPLICATES: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    config: Arc<Config>,
    /// Initial TSN on the wire.
    initial: u32,
    /// TSN after the cumulative one, counted from 0.
    next: u64,
    /// Number of streams that the peer may send on.
    streams: u16,
    above: RangeSet,
    inbound: Inbound,
    duplicates: Vec<u32>,
    /// Streams that the peer may not send on, of data in the packet at hand.
    invalid: Vec<u16>,
    /// Whether nothing has arrived yet, so that the first packet is acknowledged at once.
    is_first_awaited: bool,
    /// Data packets since the last SACK.
    packets: u32,
    /// Time at which a SACK is due; NEVER: none.
    due: Time,
    /// Path on which data last arrived, to which SACKs go.
    pub path: usize,
    /// Bitmask of the paths on which data arrived since the last SACK.
    heard: u8,
    /// Bytes read by the application.
    read: u64,
    advertised: u64,
    /// Window of the next SACK, if it was determined before the application read the data.
    before: Option<u64>,
    /// Bytes received so far of the last message.
    piece: u64,
}

impl Receiver {
    pub fn new(config: &Arc<Config>) -> Receiver {
        Receiver {
            config: config.clone(),
            initial: 0,
            next: 0,
            streams: u16::MAX,
            above: RangeSet::default(),
            inbound: Inbound::default(),
            duplicates: Vec::new(),
            invalid: Vec::new(),
            is_first_awaited: !config.delayed_first_sack,
            packets: 0,
            due: Time::NEVER,
            path: 0,
            heard: 0,
            read: 0,
            advertised: config.receive_buffer,
            before: None,
            piece: 1,
        }
    }

    /// Initializes the receiver with the peer's initial TSN and number of streams, and whether messages may be
    /// abandoned. After a restart, incomplete messages are discarded and delivered ones stay.
    pub fn open(&mut self, initial: u32, streams: u16, partial: bool) {
        let old = std::mem::replace(self, Receiver::new(&self.config));
        (self.initial, self.streams) = (initial, streams);
        (self.path, self.read) = (old.path, old.read);
        self.inbound = old.inbound.emptied();
        self.inbound.whole = partial.then(RangeSet::default);
    }
    /// Numbers of all messages delivered, with partial reliability.
    pub fn delivered_messages(&self) -> Option<&RangeSet> {
        self.inbound.whole.as_ref()
    }

    /// Cumulative TSN on the wire.
    pub fn cumulative(&self) -> u32 {
        self.initial.wrapping_add(self.next as u32).wrapping_sub(1)
    }
    pub fn due(&self) -> Time {
        self.due
    }
    /// Whether a SACK is pending that may go on `path`, having arrived data to acknowledge there (section 6.4).
    #[inline]
    pub fn has_pending_sack(&self, path: usize) -> bool {
        self.due < Time::NEVER && self.heard >> path & 1 == 1
    }
    /// Makes a SACK due at once.
    pub fn sack_now(&mut self, now: Time) {
        self.due = now;
    }
    pub fn cancel_sack(&mut self) {
        self.due = Time::NEVER;
    }
    /// Returns the number of ordered messages delivered on each stream, and the bytes that wait there for earlier data.
    pub fn streams(&self) -> Vec<(u64, u64)> {
        self.inbound.streams()
    }
    /// Bytes delivered and not read.
    pub fn unread(&self) -> u64 {
        self.inbound.delivered - self.read
    }
    pub fn is_drained(&self) -> bool {
        self.unread() == 0 && self.inbound.held == 0
    }
    pub fn report(&self, stats: &mut Stats) {
        stats.messages_delivered = self.inbound.messages;
        stats.misplaced = self.inbound.misplaced;
        stats.partial_deliveries = self.inbound.given.messages;
    }

    /// Free receive buffer.
    fn window(&self) -> u64 {
        self.config.receive_buffer.saturating_sub(self.inbound.held + self.unread())
    }

    /// Whether there is room for `bytes`.
    fn has_room(&self, bytes: u64) -> bool {
        if !self.config.host().overfills_buffer {
            return bytes <= self.window();
        }
        let used = self.inbound.held + self.unread();
        let spill = u64::from(self.config.largest_fragment(false));
        used <= self.config.receive_buffer && used + bytes <= self.config.receive_buffer + spill
    }

    /// Handles the data chunks of a packet that arrived on `path`. Returns the invalid streams of the new ones, whose data is
    /// acknowledged and dropped (section 6.5).
    pub fn on_data(&mut self, now: Time, path: usize, packet: &Packet, stats: &mut Stats) -> Vec<u16> {
        self.hear_from(path);
        let gap_before = !self.above.is_empty() && !self.config.host().delays_sack_of_last_gap;
        // Section 5.1: the first acknowledgement of an association is not delayed.
        let mut hasty = std::mem::take(&mut self.is_first_awaited);
        for data in &packet.data {
            hasty |= !self.on_chunk(data, packet.interleaved, stats);
        }
        self.packets += 1;
        let gap = gap_before || !self.above.is_empty();
        if hasty || (gap && !self.config.dac) || self.packets >= self.config.delayed_sack {
            self.due = now;
            self.before = self.config.host().reports_window_before_reading.then(|| self.window());
        } else {
            self.due = self.due.min(now + self.config.delayed_sack_timeout);
        }
        self.report(stats);
        std::mem::take(&mut self.invalid)
    }

    fn hear_from(&mut self, path: usize) {
        self.path = path;
        if !self.config.host().hears_data_in_order {
            self.heard |= 1 << path;
        }
    }

    /// Handles a FORWARD TSN (RFC 3758 section 3.6): nothing up to its TSN is waited for.
    pub fn on_forward(&mut self, now: Time, path: usize, packet: &Packet, stats: &mut Stats) {
        let Some(cumulative) = packet.forward else { return };
        self.hear_from(path);
        let distance = cumulative.wrapping_add(1).wrapping_sub(self.initial).wrapping_sub(self.next as u32) as i32;
        if distance <= 0 {
            // Out of date: a SACK may have been lost.
            self.due = now;
            return;
        }
        let next = self.next + distance as u64;
        self.next = self.above.take_through(next);
        self.inbound.skip(next, &packet.skips, packet.interleaved);
        self.report(stats);
        if packet.data.is_empty() {
            self.due = if self.above.is_empty() { self.due.min(now + self.config.delayed_sack_timeout) } else { now };
        }
    }

    /// Handles a data chunk; returns false, which calls for an immediate SACK, if it is a duplicate or has no room.
    fn on_chunk(&mut self, data: &Data, interleaved: bool, stats: &mut Stats) -> bool {
        let distance = data.tsn.wrapping_sub(self.initial).wrapping_sub(self.next as u32) as i32;
        let Some(tsn) = self.next.checked_add_signed(i64::from(distance)).filter(|&tsn| tsn >= self.next) else {
            return self.on_duplicate(data.tsn, stats);
        };
        if self.above.contains(tsn, tsn + 1) {
            return self.on_duplicate(data.tsn, stats);
        }
        if tsn - self.next >= self.config.host().reach {
            return true;
        }
        // The next TSN is accepted beyond the buffer if data waits for it, to avoid a deadlock.
        let is_awaited = tsn == self.next && (self.inbound.held > 0 || self.window() > 0);
        if !self.has_room(u64::from(data.length)) && !is_awaited {
            return false;
        }
        if tsn == self.next {
            if self.above.is_empty() {
                self.heard |= 1 << self.path;
            }
            self.next = self.above.take_through(tsn + 1);
        } else {
            self.above.insert(tsn, tsn + 1, |_, _| {});
        }
        stats.chunks_received += 1;
        let before = if data.flags.has(DataFlags::BEGIN) { 0 } else { self.piece };
        self.piece = before + u64::from(data.length.max(1));
        if data.stream < self.streams {
            let is_later = interleaved && !data.flags.has(DataFlags::BEGIN) && self.config.host().skips_first_fragment;
            let data = Data { fsn: data.fsn + u32::from(is_later), ..*data };
            self.inbound.take(tsn, &data, interleaved);
            self.deliver_partially(&data, interleaved);
        } else {
            self.invalid.push(data.stream);
        }
        true
    }

    /// Section 6.9: starts partial delivery when the buffer has no room for another packet, or when an incomplete
    /// message reaches the configured size.
    #[inline]
    fn deliver_partially(&mut self, data: &Data, interleaved: bool) {
        if self.inbound.held + self.config.receive_unit() > self.config.receive_buffer {
            return self.inbound.deliver_all_parts(self.next, interleaved);
        }
        match self.config.partial_delivery_point.filter(|_| !data.flags.has(DataFlags::WHOLE)) {
            Some(point) if interleaved => self.inbound.deliver_parts((data.stream, data.number), point),
            Some(point) => self.inbound.deliver_next_part(self.next, point),
            None => {}
        }
    }

    /// Next partially delivered message that will not be completed.
    pub fn next_aborted(&mut self) -> Option<u32> {
        self.inbound.given.next_aborted()
    }

    fn on_duplicate(&mut self, tsn: u32, stats: &mut Stats) -> bool {
        stats.duplicates_received += 1;
        if self.duplicates.len() < DUPLICATES {
            self.duplicates.push(tsn);
        }
        false
    }

    pub fn sack_bytes(&self) -> u32 {
        Sack { non_renegable: self.config.nr_sack, ..Sack::default() }.fixed_bytes()
            + 4 * (self.above.len().min(self.config.host().max_gaps) + self.duplicates.len()) as u32
    }

    /// Adds a SACK to `out` in at most `room` bytes.
    #[inline(always)]
    pub fn sack(&mut self, now: Time, room: u32, out: &mut Packet) {
        let packets = if self.config.dac { self.packets.min(3) as u8 } else { 0 };
        self.advertised =
            self.before.take().unwrap_or_else(|| self.window().min(self.advertised + self.announced_growth()));
        let window = u32::try_from(self.advertised).unwrap_or(u32::MAX);
        let sack = Sack { cumulative: self.cumulative(), window, packets, non_renegable: self.config.nr_sack };
        out.sack = Some(sack);
        let most = ((room - sack.fixed_bytes()) / 4) as usize - self.duplicates.len();
        let offset = |tsn: u64| u16::try_from(tsn + 1 - self.next);
        let blocks = self.above.iter().map_while(|(a, b)| Some((offset(a).ok()?, offset(b - 1).ok()?)));
        out.gaps.extend(blocks.take(most.min(self.config.host().max_gaps)));
        out.duplicates.append(&mut self.duplicates);
        (self.packets, self.heard) = (0, 0);
        // Data read in the meantime may call for a window update.
        self.due = if self.is_window_update_due() { now } else { Time::NEVER };
    }

    /// Starts recording which messages were read.
    pub fn watch_messages(&mut self) {
        self.inbound.unread = Some(VecDeque::new());
    }

    /// Number of the next message read completely, counted over all of the sender's messages.
    pub fn next_read(&mut self) -> Option<u32> {
        let unread = self.inbound.unread.as_mut()?;
        unread.front().filter(|&&(_, end)| end <= self.read)?;
        unread.pop_front().map(|(message, _)| message)
    }

    /// Reads at most `limit` delivered bytes.
    pub fn take(&mut self, now: Time, limit: u64) -> Option<Range<u64>> {
        let start = self.read;
        self.read += limit.min(self.inbound.delivered - start);
        if self.is_window_update_due() {
            self.due = now;
        }
        (self.read > start).then_some(start..self.read)
    }

    /// Whether a window update is due.
    fn is_window_update_due(&self) -> bool {
        if self.config.host().reports_window_before_reading {
            return self.window() >= self.advertised + self.min_window_growth();
        }
        // A peer with a closed window waits for an update (silly window avoidance).
        let enough = self.config.receive_unit().min(self.config.receive_buffer / 2);
        self.advertised < enough && self.window() >= enough
    }

    /// Window growth announced at most. Where reading triggers SACKs, each whole message read is checked.
    fn announced_growth(&self) -> u64 {
        if !self.config.host().reports_window_before_reading {
            return u64::MAX >> 1;
        }
        self.min_window_growth().next_multiple_of(self.piece)
    }

    /// Window growth that triggers a SACK: a sixteenth of the socket buffer, half of which is advertised.
    fn min_window_growth(&self) -> u64 {
        (self.config.receive_buffer / 8).max(self.config.receive_unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sctp::chunk::{Skip, stamp};
    use vazao_engine::registry::{Parameters, Raw};

    /// sctp_gen_sack checks for a gap at present; RFC 9260 section 6.7 requires a SACK for each packet that does not
    /// fill the gap. sctp_make_sack reports the window before reading; with a socket buffer of 212 992 bytes, 13 312
    /// bytes read trigger another SACK.
    #[test]
    fn linux_delays_the_sack_for_the_last_gap() {
        let answers = |semantics: &str, last: u32| {
            let given = [("semantics", Raw::Text(semantics.into())), ("receive_buffer", Raw::Text("106496 B".into()))];
            let given = given.map(|(name, value)| (name.to_owned(), value)).into();
            let parameters = Parameters::resolve(Config::PARAMETERS, &given).expect("settings that exist");
            let mut receiver = Receiver::new(&Arc::new(Config::from((&parameters, None, None))));
            receiver.open(0, u16::MAX, false);
            let (mut stats, mut sacks) = (Stats::default(), Vec::new());
            for (ms, tsn) in (1..).zip((0..=1).chain(3..=last).chain([2])) {
                let now = Time::from_nanos(ms * 1_000_000);
                let stamp = stamp(0, u64::from(tsn), 0);
                let data = Data {
                    tsn,
                    number: tsn,
                    message: tsn,
                    length: 1452,
                    flags: DataFlags::WHOLE,
                    stamp,
                    ..Data::default()
                };
                receiver.on_data(now, 0, &Packet { data: vec![data], ..Packet::default() }, &mut stats);
                receiver.take(now, u64::MAX);
                while receiver.due() <= now {
                    let mut out = Packet::default();
                    receiver.sack(now, 1000, &mut out);
                    sacks.push(out.sack.expect("it was asked for"));
                }
            }
            let waits = (receiver.due() < Time::NEVER).then_some(receiver.due());
            (sacks.len(), sacks.last().map(|sack| (sack.cumulative, sack.window)), waits)
        };
        // TSN 1 waits for a second packet, which finds a gap; TSN 2 fills it.
        let room = 106_496;
        assert_eq!(answers("rfc4960", 11), (11, Some((11, room)), None));
        // TSN 0 is answered at once; the SACK of TSN 11 left with nine chunks in the buffer.
        assert_eq!(answers("linux", 11), (10, Some((1, room - 9 * 1452)), Some(Time::from_nanos(212_000_000))));
        // Reading ten of them triggers a SACK.
        assert_eq!(answers("linux", 12), (12, Some((12, room)), None));
    }

    /// Example of RFC 3758 section 3.6: the cumulative TSN is 102; 104, 105 and 107 have arrived; a FORWARD TSN says
    /// 103, the first message of the stream. The cumulative TSN becomes 105, messages waiting for 103 are delivered,
    /// and 103 itself is a duplicate if it arrives later.
    #[test]
    fn skipped_messages_are_not_waited_for() {
        let config = Arc::new(Config::from((&Parameters::defaults(Config::PARAMETERS), None, None)));
        let mut receiver = Receiver::new(&config);
        receiver.open(103, 1, true);
        let mut stats = Stats::default();
        let arrive = |receiver: &mut Receiver, stats: &mut Stats, tsn: u32| {
            let number = tsn - 103;
            let stamp = stamp(0, u64::from(number), 0);
            let data =
                Data { tsn, number, message: number, length: 100, flags: DataFlags::WHOLE, stamp, ..Data::default() };
            receiver.on_data(Time::ZERO, 0, &Packet { data: vec![data], ..Packet::default() }, stats);
        };
        [104, 105, 107].iter().for_each(|&tsn| arrive(&mut receiver, &mut stats, tsn));
        assert_eq!((receiver.cumulative(), stats.messages_delivered), (102, 0));
        let skips = vec![Skip { stream: 0, unordered: false, number: 0 }];
        let forward = Packet { forward: Some(103), skips, ..Packet::default() };
        receiver.on_forward(Time::ZERO, 0, &forward, &mut stats);
        assert_eq!((receiver.cumulative(), stats.messages_delivered), (105, 2));
        arrive(&mut receiver, &mut stats, 103);
        assert_eq!((receiver.cumulative(), stats.messages_delivered, stats.duplicates_received), (105, 2, 1));
        let mut sack = Packet::default();
        receiver.sack(Time::ZERO, 1000, &mut sack);
        assert_eq!((sack.gaps, sack.duplicates), (vec![(2, 2)], vec![103]));
        // A repetition is out of date, and a SACK says so at once.
        receiver.on_forward(Time::ZERO, 0, &forward, &mut stats);
        assert_eq!((receiver.due(), receiver.cumulative(), stats.misplaced), (Time::ZERO, 105, 0));
    }
}
