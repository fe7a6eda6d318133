//! Partial reliability at the sender (RFC 3758 section 3.5, whose steps A and C are cited): abandoning messages.

use super::Sender;
use crate::common::RangeSet;
use crate::sctp::backlog::Fragment;
use crate::sctp::chunk::{DataFlags, Packet, Skip, forward_bytes};
use crate::sctp::notification::Notification;
use crate::sctp::outstanding::{Place, Record};
use crate::sctp::path::Path;
use crate::sctp::reliability::Reliability;
use std::collections::{BTreeMap, VecDeque};
use vazao_engine::Time;

#[derive(Clone, Debug, Default)]
pub(in crate::sctp) struct Partial {
    /// TSN after Advanced.Peer.Ack.Point.
    advanced: u64,
    /// TSN and time of the last FORWARD TSN, and whether one is due.
    sent: (u64, Time),
    due: bool,
    /// For each stream, ordered and unordered separately: highest message number abandoned before `advanced`, and its
    /// TSN. Acknowledged ones stay until the next FORWARD TSN.
    skips: BTreeMap<(u16, bool), (u64, u64)>,
    /// Global numbers of the abandoned messages.
    pub abandoned: RangeSet,
    /// Abandoned messages of which the peer will deliver nothing more, until queried.
    pub settled: VecDeque<u32>,
}

impl Partial {
    /// Whether a FORWARD TSN is due.
    pub fn is_due(&self) -> bool {
        self.due
    }
    /// Part of the state that a replacement association keeps.
    pub(super) fn for_successor(self) -> Partial {
        let Partial { abandoned, settled, .. } = self;
        Partial { abandoned, settled, ..Partial::default() }
    }
}

impl Sender {
    /// Next new fragment; messages whose lifetime has ended are abandoned.
    pub(super) fn peek(&mut self, now: Time, packet_begins: bool) -> Option<Fragment> {
        loop {
            let fragment = self.backlog.peek(packet_begins)?;
            if self.partial.is_none() || self.backlog.expiry(fragment.message) > now {
                return Some(fragment);
            }
            self.abandon_unsent(&fragment);
            self.advance_point(now);
        }
    }

    /// Abandons messages whose chunks would be retransmitted and must not be.
    pub(super) fn abandon_expired(&mut self, now: Time) {
        for path in 0..self.paths.len() {
            while let Some(&tsn) = self.paths[path].order.marked.first()
                && self.must_abandon(now, tsn)
            {
                self.abandon(tsn);
                self.advance_point(now);
            }
        }
    }

    fn must_abandon(&self, now: Time, tsn: u64) -> bool {
        let record = self.records.get(tsn);
        match self.config.partial_reliability {
            Reliability::Timed => record.expiry <= now,
            Reliability::Retransmissions => u32::from(record.transmissions) > self.config.max_retransmissions,
            Reliability::Full | Reliability::Priority => false,
        }
    }

    /// Abandons a message that was not sent completely, including what was sent of it.
    fn abandon_unsent(&mut self, fragment: &Fragment) {
        if fragment.offset == 0 {
            self.backlog.skip(fragment.stream);
            self.stats.abandoned_unsent += 1;
            self.note_abandoned(fragment.message as u32, true);
            return;
        }
        let number = fragment.message as u32;
        let sent = (self.records.first..self.records.next()).rev().find(|&tsn| self.records.get(tsn).message == number);
        match sent {
            Some(tsn) => self.abandon(tsn),
            None => {
                self.end_message_early(fragment.stream);
                self.note_abandoned(number, false);
            }
        }
    }

    /// Step A3: abandons a whole message.
    fn abandon(&mut self, tsn: u64) {
        let Record { message, stream, .. } = *self.records.get(tsn);
        let is_it = |record: &Record| record.message == message && record.place != Place::Abandoned;
        let mut first = tsn;
        while first > self.records.first && !self.is_edge(first, message, DataFlags::BEGIN) {
            first -= 1;
        }
        for tsn in first..self.records.next() {
            if is_it(self.records.get(tsn)) {
                self.abandon_chunk(tsn);
            }
            if self.is_edge(tsn, message, DataFlags::END) {
                return self.note_abandoned(message, false);
            }
        }
        self.end_message_early(stream);
        self.note_abandoned(message, false);
    }

    /// Whether a chunk is the first or the last one of a message.
    fn is_edge(&self, tsn: u64, message: u32, edge: DataFlags) -> bool {
        let record = self.records.get(tsn);
        record.message == message && record.flags.has(edge)
    }

    /// Step A2: treats a chunk as if it had been cumulatively acknowledged.
    fn abandon_chunk(&mut self, tsn: u64) {
        let record = *self.records.get(tsn);
        let path = &mut self.paths[usize::from(record.path)];
        path.order.remove(tsn, record.place);
        if !matches!(record.place, Place::Acked | Place::Marked) {
            path.flight -= record.bytes();
            self.flight -= record.bytes();
        }
        if path.timed.is_some_and(|(timed, _)| timed == tsn) {
            path.timed = None;
        }
        let abandoned = self.records.get_mut(tsn);
        (abandoned.place, abandoned.released) = (Place::Abandoned, true);
        self.acknowledged += record.bytes();
        if record.released {
            self.released -= record.bytes();
        } else {
            path.held -= record.bytes();
        }
    }

    /// Ends a partially sent message. Its end gets a TSN that never leaves: everything sent may be acknowledged, and
    /// then no FORWARD TSN could refer to the message.
    fn end_message_early(&mut self, stream: u16) {
        let (message, number) = self.backlog.head(stream);
        self.backlog.skip(stream);
        self.stats.abandoned_unsent += 1;
        let flags = if self.config.unordered { DataFlags::UNORDERED } else { DataFlags::default() };
        self.records.push(Record {
            number,
            message: message as u32,
            stream,
            flags: flags.with(DataFlags::END),
            place: Place::Abandoned,
            ..Record::default()
        });
    }

    /// Abandons every message that was sent, at least in part, and not acknowledged.
    pub(super) fn abandon_outstanding(&mut self) {
        let lost = self.unacknowledged();
        let begun = self.backlog.begun();
        for &(stream, message) in &begun {
            self.backlog.skip(stream);
            self.stats.abandoned_unsent += 1;
            self.note_abandoned(message as u32, true);
        }
        for message in lost {
            if !begun.iter().any(|&(_, other)| other as u32 == message) {
                self.note_abandoned(message, true);
            }
        }
    }

    fn note_abandoned(&mut self, message: u32, is_settled: bool) {
        self.stats.messages_abandoned += 1;
        self.notices.notify(Notification::SendFailed(message));
        if let Some(partial) = &mut self.partial {
            partial.abandoned.insert(u64::from(message), u64::from(message) + 1, |_, _| {});
            if is_settled {
                partial.settled.push_back(message);
            }
        }
    }

    /// Handles the acknowledgement of an abandoned chunk: the peer will not deliver its message any more.
    pub(super) fn settle(&mut self, record: &Record) {
        self.errors = 0;
        if let (Some(partial), true) = (&mut self.partial, record.flags.has(DataFlags::END)) {
            partial.settled.push_back(record.message);
        }
    }

    /// RFC 7496 section 3.2: makes room in the send buffer for a new message of `bytes` by abandoning messages of lower
    /// priority; if there are none, abandons the new one.
    pub fn make_room(&mut self, bytes: u64) {
        let (Reliability::Priority, Some(limit), Some(_)) =
            (self.config.partial_reliability, self.config.send_buffer, &self.partial)
        else {
            return;
        };
        let (message, own) = self.backlog.newest();
        while self.held() + bytes > limit {
            if let Some(fragment) = self.backlog.lowest_priority(own) {
                self.abandon_unsent(&fragment);
            } else if let Some(tsn) = self.lowest_priority(own) {
                self.abandon(tsn);
            } else {
                self.backlog.abandon_on_arrival(message, bytes);
                self.stats.abandoned_unsent += 1;
                return self.note_abandoned(message as u32, true);
            }
        }
    }

    /// Chunk of the lowest-priority outstanding message, if its priority is lower than `own`.
    fn lowest_priority(&self, own: u64) -> Option<u64> {
        let priority = |&tsn: &u64| self.config.priority(usize::from(self.records.get(tsn).stream));
        let open = |&tsn: &u64| !matches!(self.records.get(tsn).place, Place::Acked | Place::Abandoned);
        let tsns = (self.records.first..self.records.next()).filter(open);
        // Ties go to the oldest; `max_by_key` would take the newest.
        tsns.rev().max_by_key(priority).filter(|tsn| priority(tsn) > own)
    }

    /// Steps C1 to C3: advances the point. A FORWARD TSN is repeated once a round trip (note to rule F2).
    pub(super) fn advance_point(&mut self, now: Time) {
        let Some(partial) = &mut self.partial else { return };
        partial.advanced = partial.advanced.max(self.records.first);
        while partial.advanced < self.records.next()
            && let record = self.records.get(partial.advanced)
            && record.place == Place::Abandoned
        {
            if let Some(key) = skipped(record, self.interleaved) {
                partial.skips.insert(key, (record.number, partial.advanced));
            }
            partial.advanced += 1;
        }
        let (sent, when) = partial.sent;
        let waits = partial.advanced > self.records.first;
        partial.due = waits && (partial.due || partial.advanced > sent || now >= when + self.paths[0].rtt.srtt());
        if waits && self.paths.iter().all(|path| path.timer == Time::NEVER) {
            // Step C5.
            let usable = self.paths.iter().position(Path::is_usable).unwrap_or(0);
            let path = &mut self.paths[usable];
            path.timer = now + path.rtt.rto();
        }
    }

    /// Step A5: repeats FORWARD TSN after a timeout; returns whether one was unanswered.
    pub(super) fn repeat_forward(&mut self) -> bool {
        let first = self.records.first;
        self.partial.as_mut().is_some_and(|partial| {
            partial.due = partial.advanced > first;
            partial.due
        })
    }

    /// Bytes of the due FORWARD TSN, if everything fits.
    pub fn forward_bytes(&self) -> u32 {
        let due = self.partial.as_ref().filter(|partial| partial.due);
        due.map_or(0, |partial| forward_bytes(partial.skips.len(), self.interleaved))
    }

    /// Adds the due FORWARD TSN to `out`, in at most `room` bytes; returns its size.
    #[inline]
    pub fn forward(&mut self, now: Time, room: u32, out: &mut Packet) -> u32 {
        if self.partial.is_none() { 0 } else { self.forward_due(now, room, out) }
    }

    #[inline(never)]
    fn forward_due(&mut self, now: Time, room: u32, out: &mut Packet) -> u32 {
        let Some(partial) = self.partial.as_mut().filter(|partial| partial.due) else { return 0 };
        partial.due = false;
        // Step C4: the highest number of each stream, as many as fit.
        partial.skips.retain(|_, (_, tsn)| *tsn >= self.records.first);
        if forward_bytes(partial.skips.len(), self.interleaved) > room {
            partial.skips.clear();
            for tsn in self.records.first..partial.advanced {
                let record = self.records.get(tsn);
                let Some(key) = skipped(record, self.interleaved) else { continue };
                let is_new = !partial.skips.contains_key(&key);
                if is_new && forward_bytes(partial.skips.len() + 1, self.interleaved) > room {
                    partial.advanced = tsn;
                    break;
                }
                partial.skips.insert(key, (record.number, tsn));
            }
        }
        partial.sent = (partial.advanced, now);
        out.forward = Some(self.initial.wrapping_add(partial.advanced as u32).wrapping_sub(1));
        let skip = |(&(stream, unordered), &(number, _)): (&(u16, bool), &(u64, u64))| {
            let number = number as u32;
            Skip { stream, unordered, number }
        };
        out.skips.extend(partial.skips.iter().map(skip));
        out.interleaved = self.interleaved;
        forward_bytes(out.skips.len(), self.interleaved)
    }
}

/// Key by which a FORWARD TSN lists a chunk, if it does: ordered messages by stream, with I-DATA unordered ones too.
fn skipped(record: &Record, interleaved: bool) -> Option<(u16, bool)> {
    let unordered = record.flags.has(DataFlags::UNORDERED);
    (interleaved || !unordered).then_some((record.stream, unordered))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sctp::Config;
    use crate::sctp::chunk::Sack;
    use crate::sctp::init::Extensions;
    use std::sync::Arc;
    use vazao_engine::Duration;
    use vazao_engine::registry::{Parameters, Raw};

    const EXTENSIONS: Extensions = Extensions { partial: true, interleaving: false, authentication: false };

    fn sender(given: &[(&str, &str)], streams: u16) -> Sender {
        let given = given.iter().map(|&(name, value)| (name.to_owned(), Raw::Text(value.into())));
        let all = given.chain([("initial_window".to_owned(), Raw::Text("29040 B".into()))]).collect();
        let parameters = Parameters::resolve(Config::PARAMETERS, &all).expect("settings that exist");
        let config = Config { streams, ..Config::from((&parameters, Some(1000), None)) };
        let mut sender = Sender::new(&Arc::new(config), 1, 1, 9);
        sender.establish(at(0), 1 << 30, streams, EXTENSIONS);
        sender
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Example of step C2 in RFC 3758 section 3.5, where the lifetime of TSNs 103 and 104 has ended, that of 105 has
    /// not, and 106 is acknowledged: the point moves from 102 to 104. There are two streams, and each has a skipped
    /// message.
    #[test]
    fn the_point_advances_over_abandoned_chunks() {
        let mut sender = sender(&[("partial_reliability", "timed"), ("lifetime", "100 ms")], 2);
        let send = |sender: &mut Sender, ms: u64| {
            sender.write(at(ms), 1000);
            let fragment = sender.peek(at(ms), true).expect("a message");
            sender.send_new(at(ms), 0, &fragment, &mut Packet::default());
        };
        for _ in 100..=104 {
            send(&mut sender, 0);
        }
        for _ in 105..=110 {
            send(&mut sender, 50);
        }
        // TSNs count from 1 here. 100 to 102 are acknowledged; 106, 107, 108, ... make three missing reports.
        for last in 4..=6 {
            let sack = Sack { cumulative: 3, window: 1 << 30, packets: 0, non_renegable: false };
            let packet = Packet { sack: Some(sack), gaps: vec![(4, last)], ..Packet::default() };
            sender.on_sack(at(120), &packet);
        }
        let mut out = Packet::default();
        sender.next(at(120), 1452, &mut out);
        assert_eq!(out.data.iter().map(|data| data.tsn).collect::<Vec<_>>(), [6], "105 alone is sent again");
        let mut forward = Packet::default();
        assert_eq!(sender.forward(at(120), 1452, &mut forward), 8 + 2 * 4);
        assert_eq!(forward.forward, Some(5));
        // 103 is the second message of stream 1, 104 the third of stream 0.
        let skip = |stream, number| Skip { stream, unordered: false, number };
        assert_eq!(forward.skips, [skip(0, 2), skip(1, 1)]);
        assert_eq!((sender.stats.messages_abandoned, sender.stats.abandoned_unsent), (2, 0));
        // Rule F5: the window was cut as if they had been retransmitted.
        assert_eq!(sender.paths[0].stats.recoveries, 1);
    }

    /// Section 3.5 steps C5 and A5: a lost FORWARD TSN is repeated when the timer expires.
    #[test]
    fn a_forward_tsn_is_repeated() {
        let mut sender = sender(&[("partial_reliability", "retransmissions")], 1);
        sender.write(at(0), 1000);
        let mut out = Packet::default();
        sender.next(at(0), 1452, &mut out);
        let mut now = at(0);
        for seconds in [1, 2, 4, 8] {
            let due = sender.paths[0].timer;
            assert_eq!(due, now + Duration::from_secs(seconds));
            now = due;
            assert!(sender.handle_timeout(now));
            out.clear();
            assert_eq!(sender.next(now, 1452, &mut out), None, "it may not be sent again");
            assert_eq!((sender.forward(now, 1452, &mut out), out.forward), (12, Some(1)));
        }
        assert!(!sender.is_drained());
        let sack = Sack { cumulative: 1, window: 1 << 30, packets: 0, non_renegable: false };
        sender.on_sack(now, &Packet { sack: Some(sack), ..Packet::default() });
        assert!(sender.is_drained());
        assert_eq!(sender.partial.as_mut().and_then(|partial| partial.settled.pop_front()), Some(0));
    }

    /// The lifetime of a five-chunk message ends after two chunks: its end gets a TSN that never leaves.
    #[test]
    fn a_partial_message_is_ended() {
        let mut sender = sender(&[("partial_reliability", "timed"), ("lifetime", "100 ms")], 1);
        let config = Config { message: Some(7000), ..(*sender.config).clone() };
        sender.backlog = crate::sctp::backlog::Backlog::new(&Arc::new(config));
        sender.write(at(0), 14_000);
        let mut out = Packet::default();
        (0..2).for_each(|_| _ = sender.next(at(0), 1468, &mut out));
        let sack = Sack { cumulative: 2, window: 1 << 30, packets: 0, non_renegable: false };
        sender.on_sack(at(150), &Packet { sack: Some(sack), ..Packet::default() });
        out.clear();
        // The second message is as old and was not begun: it is dropped silently.
        assert_eq!(sender.next(at(150), 1468, &mut out), None);
        assert_eq!((sender.forward(at(150), 1468, &mut out), out.forward), (12, Some(3)));
        assert_eq!(out.skips, [Skip { stream: 0, unordered: false, number: 0 }]);
        assert_eq!((sender.stats.messages_abandoned, sender.stats.abandoned_unsent), (2, 2));
    }

    /// RFC 7496 section 3.2: of alternating messages of two priorities, of which ten fit in the buffer, those of the
    /// lower one make room or are rejected, and the others stay. Two of each were sent before.
    #[test]
    fn lower_priorities_make_room() {
        let mut sender = sender(&[("partial_reliability", "priority"), ("send_buffer", "10 kB")], 2);
        let write = |sender: &mut Sender, count| {
            for _ in 0..count {
                sender.backlog.begin_message(1000);
                sender.make_room(1000);
                assert_eq!(sender.write(at(0), 1000), 1000);
            }
        };
        write(&mut sender, 4);
        (0..4).for_each(|_| _ = sender.next(at(0), 1452, &mut Packet::default()));
        write(&mut sender, 14);
        // Stream 1 has the lower priority: of its 9 messages only one finds room beside 9 others.
        let abandoned: Vec<u64> =
            sender.partial.iter().flat_map(|p| p.abandoned.iter()).flat_map(|(a, b)| a..b).collect();
        assert_eq!(abandoned.len(), 8);
        assert!(abandoned.iter().all(|message| message % 2 == 1), "{abandoned:?}");
        assert_eq!(sender.held(), 10_000);
    }
}
