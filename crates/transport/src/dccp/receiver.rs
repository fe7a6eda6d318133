//! Receiver: which packets arrived, and when to acknowledge them (RFC 4340 section 11, RFC 4341 section 6).

use super::packet::{Fate, Packet, Run};
use std::collections::VecDeque;
use vazao_engine::{Duration, Time};

/// Longest delay of an acknowledgement (RFC 5681 section 4.2 allows half a second).
const DELAY: Duration = Duration::from_millis(200);

/// Bytes of an Ack Vector at most: what is left in the longest header, of 255 words, beside everything else.
const LONGEST_VECTOR: u32 = 900;

/// The receiving half of a connection: sequence numbers that arrived, and when to say so.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Packets with data that one acknowledgement covers.
    ratio: u32,
    /// Fates of the packets from `floor` on; the peer knows those of earlier ones.
    floor: u64,
    runs: VecDeque<Run>,
    /// The greatest sequence number that arrived, and when.
    greatest: Option<(u64, Time)>,
    /// Packets with data that no acknowledgement has covered, and when one is due at the latest.
    uncovered: u32,
    due: Time,
    /// Acknowledgements that the peer has not acknowledged: their numbers, and the greatest number that each covered.
    told: VecDeque<(u64, u64)>,
}

impl Receiver {
    pub fn new(ratio: u32) -> Receiver {
        Receiver {
            ratio,
            floor: 0,
            runs: VecDeque::new(),
            greatest: None,
            uncovered: 0,
            due: Time::NEVER,
            told: VecDeque::new(),
        }
    }

    /// The greatest sequence number that arrived; 0 if none did.
    pub fn greatest(&self) -> u64 {
        self.greatest.map_or(0, |(sequence, _)| sequence)
    }

    /// When an acknowledgement is due.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Takes note of a packet. Returns whether it had not arrived before.
    pub fn handle(&mut self, now: Time, sequence: u64, marked: bool, has_data: bool) -> bool {
        let fate = if marked { Fate::Marked } else { Fate::Received };
        let next = self.greatest.map_or(self.floor, |(greatest, _)| greatest + 1);
        let is_next = sequence == next;
        if sequence >= next {
            self.append(Fate::Missing, (sequence - next) as u32);
            self.append(fate, 1);
            self.greatest = Some((sequence, now));
        } else if !self.fill(sequence, fate) {
            return false;
        }
        if has_data {
            self.uncovered += 1;
            // A packet that is missing, late or marked is news that the sender waits for.
            if self.uncovered >= self.ratio || !is_next || marked {
                self.due = now;
            } else {
                self.due = self.due.min(now + DELAY);
            }
        }
        true
    }

    fn append(&mut self, fate: Fate, length: u32) {
        match self.runs.back_mut() {
            _ if length == 0 => {}
            Some(last) if last.fate == fate => last.length += length,
            _ => self.runs.push_back(Run { fate, length }),
        }
    }

    /// Marks a packet as arrived that was missing. Returns whether it was.
    fn fill(&mut self, sequence: u64, fate: Fate) -> bool {
        let Some(mut offset) = sequence.checked_sub(self.floor) else { return false };
        let mut place = 0;
        while offset >= u64::from(self.runs[place].length) {
            offset -= u64::from(self.runs[place].length);
            place += 1;
        }
        if self.runs[place].fate != Fate::Missing {
            return false;
        }
        let missing = self.runs.remove(place).expect("the run was found");
        let before = offset as u32;
        let parts = [(Fate::Missing, before), (fate, 1), (Fate::Missing, missing.length - before - 1)];
        for (fate, length) in parts.into_iter().rev().filter(|&(_, length)| length > 0) {
            self.runs.insert(place, Run { fate, length });
        }
        self.merge_around(place);
        true
    }

    /// Joins runs of one fate near a place.
    fn merge_around(&mut self, place: usize) {
        let mut at = place.saturating_sub(1);
        while at + 1 < self.runs.len() && at <= place + 2 {
            if self.runs[at].fate == self.runs[at + 1].fate {
                let next = self.runs.remove(at + 1).expect("there is a next run");
                self.runs[at].length += next.length;
            } else {
                at += 1;
            }
        }
    }

    /// Writes an acknowledgement with an Ack Vector into a packet.
    pub fn acknowledge(&mut self, now: Time, packet: &mut Packet) {
        let Some((greatest, arrived)) = self.greatest else { return };
        packet.acknowledgment = greatest;
        let mut room = LONGEST_VECTOR;
        for run in self.runs.iter().rev() {
            let Some(left) = room.checked_sub(run.bytes()) else { break };
            room = left;
            packet.vector.push(*run);
        }
        packet.elapsed = Some(now.since(arrived)).filter(|&elapsed| elapsed > Duration::ZERO);
        self.told.push_back((packet.sequence, greatest));
        (self.uncovered, self.due) = (0, Time::NEVER);
    }

    /// The peer has received a packet of ours: what it was told with it needs no telling any more (section 11.4.2).
    pub fn on_acknowledged(&mut self, sequence: u64) {
        while let Some(&(told, covered)) = self.told.front() {
            if told > sequence {
                break;
            }
            self.told.pop_front();
            if told == sequence {
                self.forget_before(covered);
            }
        }
    }

    fn forget_before(&mut self, sequence: u64) {
        while self.floor < sequence {
            let first = self.runs.front_mut().expect("what was told is known");
            let cut = (sequence - self.floor).min(u64::from(first.length));
            first.length -= cut as u32;
            self.floor += cut;
            if first.length == 0 {
                self.runs.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// What a vector says of each packet.
    fn told(packet: &Packet) -> BTreeMap<u64, Fate> {
        let mut next = packet.acknowledgment;
        let mut fates = BTreeMap::new();
        for run in &packet.vector {
            for _ in 0..run.length {
                fates.insert(next, run.fate);
                next = next.wrapping_sub(1);
            }
        }
        fates
    }

    /// RFC 4341 section 6.1: one for two packets, or after the delay; at once for what is out of order.
    #[test]
    fn acknowledgements_wait_for_a_second_packet() {
        let mut receiver = Receiver::new(2);
        receiver.handle(at(0), 0, false, true);
        assert_eq!(receiver.due(), at(200));
        receiver.handle(at(5), 1, false, true);
        assert_eq!(receiver.due(), at(5));
        receiver.acknowledge(at(5), &mut Packet::default());
        assert_eq!(receiver.due(), Time::NEVER);
        receiver.handle(at(6), 3, false, true);
        assert_eq!(receiver.due(), at(6));
    }

    proptest! {
        /// The vector says of every packet since the last one that was heard of what became of it, and nothing else.
        #[test]
        fn a_vector_tells_all_that_arrived(
            events in prop::collection::vec((0u64..60, any::<bool>(), 0usize..12), 1..200),
        ) {
            let mut receiver = Receiver::new(2);
            let mut arrived = BTreeMap::new();
            let (mut floor, mut sent) = (0, 0);
            for (sequence, marked, turn) in events {
                let sequence = floor + sequence;
                let is_new = receiver.handle(at(0), sequence, marked, true);
                prop_assert_eq!(is_new, !arrived.contains_key(&sequence));
                arrived.entry(sequence).or_insert(if marked { Fate::Marked } else { Fate::Received });
                if turn > 2 {
                    continue;
                }
                let mut packet = Packet { sequence: sent, ..Packet::default() };
                receiver.acknowledge(at(0), &mut packet);
                let greatest = *arrived.keys().next_back().unwrap();
                let fates = (floor..=greatest)
                    .map(|n| (n, arrived.get(&n).copied().unwrap_or(Fate::Missing)))
                    .collect::<BTreeMap<_, _>>();
                prop_assert_eq!(told(&packet), fates);
                let runs = &packet.vector;
                prop_assert!(runs.windows(2).all(|pair| pair[0].fate != pair[1].fate), "{:?}", runs);
                if turn == 0 {
                    receiver.on_acknowledged(sent);
                    floor = greatest;
                }
                sent += 1;
            }
        }
    }
}
