//! The receiving half: which TSNs have arrived, and when and how to say so (RFC 9260 section 6.2).

use super::chunk::{Data, DataFlags, Packet, Sack};
use super::config::Config;
use super::stats::Stats;
use super::stream::Inbound;
use crate::common::RangeSet;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use vazao_engine::Time;

/// How many gap blocks a SACK of Linux's has at most (SCTP_MAX_GABS in its include/net/sctp/constants.h). By RFC 9260
/// section 6.7 there are as many as fit.
const LINUX_GAPS: usize = 16;

/// How many duplicates a SACK tells of at most: Linux's SCTP_MAX_DUP_TSNS, whoever sends it.
const DUPLICATES: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    config: Arc<Config>,
    /// The first TSN on the wire.
    initial: u32,
    /// The TSN after the cumulative one, counted from 0.
    next: u64,
    /// How many streams the peer has.
    streams: u16,
    above: RangeSet,
    inbound: Inbound,
    duplicates: Vec<u32>,
    /// Nothing has come yet, and the first packet is to be answered at once.
    is_first_awaited: bool,
    /// Packets with data since the last SACK.
    packets: u32,
    /// When a SACK is due; NEVER: there is nothing to say.
    due: Time,
    /// The path by which data came last: SACKs go there.
    pub path: usize,
    /// Those by which data came since the last SACK, a bit each.
    heard: u8,
    /// Bytes read by the application.
    read: u64,
    /// The window that the peer was last told of.
    told: u64,
    /// The one that Linux's next SACK tells of: it is made before the application reads what it answers.
    before: Option<u64>,
    /// Bytes of the message that came last, as far as it has come.
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
            is_first_awaited: !config.delayed_first_sack,
            packets: 0,
            due: Time::NEVER,
            path: 0,
            heard: 0,
            read: 0,
            told: config.receive_buffer,
            before: None,
            piece: 1,
        }
    }

    /// The peer's first TSN, how many streams it has, and whether some of its messages may never come. If it has restarted,
    /// what it had not finished is forgotten; what was delivered stays.
    pub fn open(&mut self, initial: u32, streams: u16, partial: bool) {
        let old = std::mem::replace(self, Receiver::new(&self.config));
        (self.initial, self.streams) = (initial, streams);
        (self.path, self.read) = (old.path, old.read);
        self.inbound = old.inbound.emptied();
        self.inbound.whole = partial.then(RangeSet::default);
    }
    /// The numbers of all messages delivered, where not all need be.
    pub fn delivered_messages(&self) -> Option<&RangeSet> {
        self.inbound.whole.as_ref()
    }

    /// The cumulative TSN on the wire.
    pub fn cumulative(&self) -> u32 {
        self.initial.wrapping_add(self.next as u32).wrapping_sub(1)
    }
    /// When a SACK is due.
    pub fn due(&self) -> Time {
        self.due
    }
    /// Whether a SACK waits that may go by `path`: one by which something came that it acknowledges (section 6.4).
    #[inline]
    pub fn owes(&self, path: usize) -> bool {
        self.due < Time::NEVER && self.heard >> path & 1 == 1
    }
    /// A SACK is due at once.
    pub fn hurry(&mut self, now: Time) {
        self.due = now;
    }
    pub fn fall_silent(&mut self) {
        self.due = Time::NEVER;
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

    /// What is left of the buffer.
    fn window(&self) -> u64 {
        self.config.receive_buffer.saturating_sub(self.inbound.held + self.unread())
    }

    /// Whether there is room for so much. Linux's last chunk may be beyond the window by what fits a packet, as its sender may
    /// not have known (`sctp_eat_data`).
    fn has_room(&self, bytes: u64) -> bool {
        if !self.config.is_linux() {
            return bytes <= self.window();
        }
        let used = self.inbound.held + self.unread();
        let spill = u64::from(self.config.largest_fragment(false));
        used <= self.config.receive_buffer && used + bytes <= self.config.receive_buffer + spill
    }

    /// How far behind the cumulative TSN a chunk may be: as far as a gap ack block can tell (section 3.3.4); with Linux, as its
    /// map of them is long (SCTP_TSN_MAP_SIZE).
    fn reach(&self) -> u64 {
        if self.config.is_linux() { 4096 } else { u64::from(u16::MAX) }
    }

    /// The chunks of a packet arrive by `path`. Says a stream that does not exist, if one has data: that is acknowledged and
    /// dropped (section 6.5).
    pub fn on_data(&mut self, now: Time, path: usize, packet: &Packet, stats: &mut Stats) -> Option<u16> {
        self.hear_from(path);
        let linux = self.config.is_linux();
        // Linux leaves what fills the last gap to the delay of SACKs; section 6.7 leaves open which of the two is right.
        let gap_before = !self.above.is_empty() && !linux;
        // Section 5.1: an association's first acknowledgement does not wait.
        let mut hasty = std::mem::take(&mut self.is_first_awaited);
        for data in &packet.data {
            hasty |= !self.on_chunk(data, packet.interleaved, stats);
        }
        self.packets += 1;
        let gap = gap_before || !self.above.is_empty();
        if hasty || (gap && !self.config.dac) || self.packets >= self.config.sack_frequency {
            self.due = now;
            self.before = linux.then(|| self.window());
        } else {
            self.due = self.due.min(now + self.config.sack_delay);
        }
        self.report(stats);
        packet.data.iter().map(|data| data.stream).find(|&stream| stream >= self.streams)
    }

    fn hear_from(&mut self, path: usize) {
        self.path = path;
        // Linux counts only what comes in order while nothing is missing (sctp_tsnmap_mark).
        if !self.config.is_linux() {
            self.heard |= 1 << path;
        }
    }

    /// A FORWARD TSN arrives (RFC 3758 section 3.6): nothing up to there is to be waited for.
    pub fn on_forward(&mut self, now: Time, path: usize, packet: &Packet, stats: &mut Stats) {
        let Some(cumulative) = packet.forward else { return };
        self.hear_from(path);
        let distance = cumulative.wrapping_add(1).wrapping_sub(self.initial).wrapping_sub(self.next as u32) as i32;
        if distance <= 0 {
            // Out of date: perhaps a SACK was lost.
            self.due = now;
            return;
        }
        let next = self.next + distance as u64;
        self.next = self.above.take_through(next);
        self.inbound.skip(next, &packet.skips, packet.interleaved);
        self.report(stats);
        if packet.data.is_empty() {
            self.due = if self.above.is_empty() { self.due.min(now + self.config.sack_delay) } else { now };
        }
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
        if tsn - self.next >= self.reach() {
            return true;
        }
        // The next one is taken beyond the buffer if something waits for it, or that would wait for ever.
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
            let is_later = interleaved && !data.flags.has(DataFlags::BEGIN) && self.config.is_linux();
            // Linux's first fragment does not count.
            let data = Data { fsn: data.fsn + u32::from(is_later), ..*data };
            self.inbound.take(tsn, &data, interleaved);
            self.give_partly(&data, interleaved);
        }
        true
    }

    /// Section 6.9: where the buffer has no room for another packet although the application reads, it is given what there is
    /// of messages that are not whole; and where it wants that much of one anyway.
    #[inline]
    fn give_partly(&mut self, data: &Data, interleaved: bool) {
        if self.inbound.held + self.config.segment() > self.config.receive_buffer {
            return self.inbound.give_all(self.next, interleaved);
        }
        match self.config.partial_delivery_point.filter(|_| !data.flags.has(DataFlags::WHOLE)) {
            Some(point) if interleaved => self.inbound.give_parts((data.stream, data.number), point),
            Some(point) => self.inbound.give_next(self.next, point),
            None => {}
        }
    }

    /// The next message that was delivered in part and will not be finished.
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

    /// Bytes of a SACK that tells everything.
    pub fn sack_bytes(&self) -> u32 {
        let most = if self.config.is_linux() { LINUX_GAPS } else { usize::MAX };
        Sack { non_renegable: self.config.nr_sack, ..Sack::default() }.fixed_bytes()
            + 4 * (self.above.len().min(most) + self.duplicates.len()) as u32
    }

    /// Puts a SACK into `out`, in `room` bytes.
    #[inline(always)]
    pub fn sack(&mut self, now: Time, room: u32, out: &mut Packet) {
        let packets = if self.config.dac { self.packets.min(3) as u8 } else { 0 };
        self.told = self.before.take().unwrap_or_else(|| self.window().min(self.told + self.worth_telling()));
        let window = u32::try_from(self.told).unwrap_or(u32::MAX);
        let sack = Sack { cumulative: self.cumulative(), window, packets, non_renegable: self.config.nr_sack };
        out.sack = Some(sack);
        let most = ((room - sack.fixed_bytes()) / 4) as usize - self.duplicates.len();
        let most = if self.config.is_linux() { most.min(LINUX_GAPS) } else { most };
        let offset = |tsn: u64| u16::try_from(tsn + 1 - self.next);
        let blocks = self.above.iter().map_while(|(a, b)| Some((offset(a).ok()?, offset(b - 1).ok()?)));
        out.gaps.extend(blocks.take(most));
        out.duplicates.append(&mut self.duplicates);
        (self.packets, self.heard) = (0, 0);
        // What was read in the meantime may be worth a SACK of its own.
        self.due = if self.is_worth_telling() { now } else { Time::NEVER };
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
        if self.is_worth_telling() {
            self.due = now;
        }
        (self.read > start).then_some(start..self.read)
    }

    /// Whether the peer should hear of the room there is.
    fn is_worth_telling(&self) -> bool {
        if self.config.is_linux() {
            return self.window() >= self.told + self.least_growth();
        }
        // A peer that was told of no room waits to hear of some (silly window avoidance).
        let enough = self.config.segment().min(self.config.receive_buffer / 2);
        self.told < enough && self.window() >= enough
    }

    /// By how much the window grows before Linux says so (`sctp_peer_needs_update`): a sixteenth of the socket's buffer,
    /// half of which was announced; by whole messages, after each of which it looks.
    fn worth_telling(&self) -> u64 {
        if !self.config.is_linux() {
            return u64::MAX >> 1;
        }
        self.least_growth().next_multiple_of(self.piece)
    }

    fn least_growth(&self) -> u64 {
        (self.config.receive_buffer / 8).max(self.config.segment())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sctp::PARAMETERS;
    use crate::sctp::chunk::{Skip, stamp};
    use vazao_engine::registry::{Parameters, Raw};

    /// sctp_gen_sack asks whether there is a gap now; RFC 9260 section 6.7 wants a SACK for each packet that does not fill
    /// the gap. sctp_make_sack tells of what is unread; with a socket's buffer of 212 992 bytes, 13 312 bytes read are worth
    /// another SACK.
    #[test]
    fn linux_delays_what_fills_the_last_gap() {
        let answers = |semantics: &str, last: u32| {
            let given = [("semantics", Raw::Text(semantics.into())), ("receive_buffer", Raw::Text("106496 B".into()))];
            let given = given.map(|(name, value)| (name.to_owned(), value)).into();
            let parameters = Parameters::resolve(PARAMETERS, &given).expect("settings that exist");
            let mut receiver = Receiver::new(&Arc::new(Config::new(&parameters, None, None)));
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
        // Ten of them are worth a SACK once they are read.
        assert_eq!(answers("linux", 12), (12, Some((12, room)), None));
    }

    /// RFC 3758 section 3.6, its example: 102 is the cumulative TSN, 104, 105 and 107 have arrived, and a FORWARD TSN says
    /// 103, the first message of the stream. The cumulative TSN becomes 105, what waited for 103 is delivered, and 103
    /// itself is a duplicate when it comes after all.
    #[test]
    fn nothing_waits_for_what_is_skipped() {
        let config = Arc::new(Config::new(&Parameters::defaults(PARAMETERS), None, None));
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
        // It comes again: it is out of date, and a SACK says so at once.
        receiver.on_forward(Time::ZERO, 0, &forward, &mut stats);
        assert_eq!((receiver.due(), receiver.cumulative(), stats.misplaced), (Time::ZERO, 105, 0));
    }
}
