//! Receiving half of a packet number space: packets received, and acknowledgements (RFC 9000 section 13.2).

use super::frame::{AckFrame, varint};
use crate::common::RangeSet;
use vazao_engine::{Duration, Ecn, Time};

/// Maximum ranges in an ACK frame.
const MAX_RANGES: usize = 32;

/// Packets received, and the acknowledgements due for them.
#[derive(Clone, Debug)]
pub(crate) struct Acks {
    received: RangeSet,
    /// Packets below `floor` are too late to count; those below `ack_floor` need no acknowledgement any more.
    floor: u64,
    ack_floor: u64,
    /// Largest packet received, and when.
    largest: Option<(u64, Time)>,
    /// Largest ack-eliciting packet, and number of them since the last acknowledgement.
    largest_eliciting: Option<u64>,
    unacknowledged: u32,
    due: Time,
    /// Time of the last acknowledgement, and whether anything has arrived since.
    sent_at: Time,
    unreported: bool,
    /// ECN counts: ECT(0), ECT(1), CE.
    ecn: [u64; 3],
}

impl Acks {
    pub fn new() -> Acks {
        Acks {
            received: RangeSet::default(),
            floor: 0,
            ack_floor: 0,
            largest: None,
            largest_eliciting: None,
            unacknowledged: 0,
            due: Time::NEVER,
            sent_at: Time::ZERO,
            unreported: false,
            ecn: [0; 3],
        }
    }

    /// Whether a packet was received before.
    #[inline]
    pub fn is_known(&self, number: u64) -> bool {
        let newest = self.largest.is_none_or(|(largest, _)| number > largest);
        !newest && (number < self.floor || self.received.contains(number, number + 1))
    }

    /// Records a packet. An ack-eliciting packet is acknowledged at once if it is out of order, CE-marked, or the
    /// `every`-th; otherwise within `wait`.
    #[inline]
    pub fn on_packet(&mut self, now: Time, number: u64, eliciting: bool, ecn: Ecn, every: u32, wait: Duration) {
        let expected = self.largest.map_or(0, |(largest, _)| largest + 1);
        self.received.insert(number, number + 1, |_, _| {});
        if self.received.len() > MAX_RANGES {
            let (_, end) = self.received.iter().next().expect("there are many");
            self.floor = end;
            self.received.remove_below(end);
        }
        self.ack_floor = self.ack_floor.min(number);
        if number >= expected {
            self.largest = Some((number, now));
        }
        self.unreported = true;
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ecn[0] += 1,
            Ecn::Ect1 => self.ecn[1] += 1,
            Ecn::Ce => self.ecn[2] += 1,
        }
        if !eliciting {
            return;
        }
        self.unacknowledged += 1;
        // Section 13.2.1: an ack-eliciting packet that is reordered, follows a gap, or is CE-marked is acknowledged at
        // once.
        let next = self.largest_eliciting.map_or(0, |largest| largest + 1);
        let in_order = number >= next && (number == next || self.received.contains(next.max(self.floor), number));
        self.largest_eliciting = self.largest_eliciting.max(Some(number));
        if !in_order || ecn == Ecn::Ce || self.unacknowledged >= every {
            self.due = now;
        } else {
            self.due = self.due.min(now + wait);
        }
    }

    /// Makes an acknowledgement due at once if packets are unacknowledged.
    pub fn ack_now(&mut self, now: Time) {
        if self.unacknowledged > 0 {
            self.due = now;
        }
    }

    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }
    /// Whether an outgoing packet should carry an ACK: if ack-eliciting packets are unacknowledged; for others only if
    /// no ACK was sent within `wait` (section 13.2), since acknowledging acknowledgements would double them. quinn,
    /// quic-go and Chromium behave alike.
    #[inline]
    pub fn should_report(&self, now: Time, wait: Duration) -> bool {
        self.unacknowledged > 0 || self.unreported && now.since(self.sent_at) >= wait
    }
    /// Creates an ACK frame, or a PATH_ACK frame for `path`, of at most `room` bytes, and appends its ranges to
    /// `ranges`. `None`: not even one range fits.
    #[inline]
    pub fn frame(&mut self, now: Time, ranges: &mut Vec<(u64, u64)>, room: u32, path: Option<u8>) -> Option<AckFrame> {
        let (largest, at) = self.largest?;
        let delay = now.since(at).as_nanos() / 8_000;
        let ecn = (self.ecn != [0; 3]).then_some(self.ecn);
        let mut frame = AckFrame { delay, path, ecn, ..AckFrame::default() };
        let (mut left, mut previous) = (room.saturating_sub(frame.bytes()), None);
        for (start, end) in self.received.iter().rev() {
            if end <= self.ack_floor {
                break;
            }
            let (start, last) = (start.max(self.ack_floor), end - 1);
            let length = varint(last - start);
            let bytes = match previous {
                // Largest packet number, range count, and length of the first range.
                None => varint(largest) + 1 + length,
                Some(before) => varint(before - end - 1) + length,
            };
            if bytes > left || usize::from(frame.ranges) == MAX_RANGES {
                break;
            }
            left -= bytes;
            frame.bytes += bytes;
            frame.ranges += 1;
            ranges.push((start, last));
            previous = Some(start);
        }
        previous?;
        (self.unacknowledged, self.due, self.sent_at, self.unreported) = (0, Time::NEVER, now, false);
        Some(frame)
    }

    /// Stops reporting packets up to `number`, whose acknowledgement the peer has received (section 13.2.4). Packets
    /// arriving later are still accepted (section 12.3).
    pub fn forget_through(&mut self, number: u64) {
        let keep = self.largest.map_or(0, |(largest, _)| largest);
        self.ack_floor = self.ack_floor.max((number + 1).min(keep));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(25);

    fn acks(numbers: &[u64]) -> Acks {
        let mut acks = Acks::new();
        for &number in numbers {
            acks.on_packet(Time::ZERO, number, true, Ecn::NotEct, 2, WAIT);
        }
        acks
    }

    #[test]
    fn every_second_packet_is_acknowledged_at_once() {
        assert_eq!(acks(&[0]).due(), Time::ZERO + WAIT);
        assert_eq!(acks(&[0, 1]).due(), Time::ZERO);
    }

    /// RFC 9000 section 13.2.1: a packet beyond a gap, and one that fills it.
    #[test]
    fn out_of_order_packets_are_acknowledged_at_once() {
        for numbers in [&[0, 1, 3][..], &[0, 1, 3, 4, 2]] {
            let mut acks = acks(&numbers[..numbers.len() - 1]);
            acks.frame(Time::ZERO, &mut Vec::new(), 1000, None);
            acks.on_packet(Time::ZERO, *numbers.last().unwrap(), true, Ecn::NotEct, 10, WAIT);
            assert_eq!(acks.due(), Time::ZERO);
        }
    }

    /// RFC 9000 section 13.2.1 counts gaps from the largest ack-eliciting packet: after 1, the pure ACK 3 does not hide
    /// that 2 is missing; if 2 was a pure ACK or has arrived, there is no gap.
    #[test]
    fn gaps_count_from_ack_eliciting_packets() {
        let due = |packets: &[(u64, bool)]| {
            let mut acks = acks(&[0, 1]);
            acks.frame(Time::ZERO, &mut Vec::new(), 1000, None);
            packets.iter().for_each(|&(n, eliciting)| acks.on_packet(Time::ZERO, n, eliciting, Ecn::NotEct, 10, WAIT));
            acks.due()
        };
        assert_eq!(due(&[(3, false), (4, true)]), Time::ZERO);
        assert_eq!(due(&[(2, false), (3, false), (4, true)]), Time::ZERO + WAIT);
        assert_eq!(due(&[(3, false), (2, true)]), Time::ZERO + WAIT);
        assert_eq!(due(&[(3, false)]), Time::NEVER);
    }

    /// Section 13.2: non-ack-eliciting packets are reported along with other packets if nothing was reported recently.
    #[test]
    fn non_eliciting_packets_are_reported_occasionally() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut acks = acks(&[0]);
        assert!(acks.should_report(at(1), WAIT));
        acks.frame(at(1), &mut Vec::new(), 1000, None);
        acks.on_packet(at(2), 1, false, Ecn::NotEct, 2, WAIT);
        assert_eq!([25, 26].map(|ms| acks.should_report(at(ms), WAIT)), [false, true]);
        // During the handshake, at once.
        assert!(acks.should_report(at(2), Duration::ZERO));
        acks.on_packet(at(3), 2, true, Ecn::NotEct, 2, WAIT);
        assert!(acks.should_report(at(3), WAIT));
    }

    /// RFC 9000 section 19.3.1: packets 10, 8..=7 and 3: gaps of 0 and 2, ranges of 1 and 0.
    #[test]
    fn ranges_go_down_from_the_largest() {
        let mut acks = acks(&[3, 7, 8, 10]);
        let mut ranges = Vec::new();
        let frame = acks.frame(Time::ZERO, &mut ranges, 1000, None).unwrap();
        assert_eq!(ranges, [(10, 10), (7, 8), (3, 3)]);
        assert_eq!((frame.ranges, frame.bytes), (3, 3 + 2 + 2));
        let mut few = Vec::new();
        // With one byte each for type and delay, eight bytes hold two ranges, and four hold none.
        assert_eq!(acks.frame(Time::ZERO, &mut few, 4, None), None);
        assert_eq!(acks.frame(Time::ZERO, &mut few, 8, None).unwrap().bytes(), 7);
        assert_eq!(few, [(10, 10), (7, 8)]);
    }

    #[test]
    fn acknowledged_ranges_are_not_repeated() {
        let mut acks = acks(&[0, 1, 2, 5, 6]);
        let reported = |acks: &mut Acks| {
            let mut ranges = Vec::new();
            acks.frame(Time::ZERO, &mut ranges, 1000, None);
            ranges
        };
        acks.forget_through(5);
        assert_eq!(reported(&mut acks), [(6, 6)]);
        // Packets that arrive later are new all the same.
        assert!([0, 2, 6].iter().all(|&number| acks.is_known(number)) && !acks.is_known(3));
        acks.on_packet(Time::ZERO, 3, true, Ecn::NotEct, 2, WAIT);
        assert_eq!((acks.due(), reported(&mut acks)), (Time::ZERO, vec![(5, 6), (3, 3)]));
    }

    /// Section 13.2.3: beyond the maximum number of gaps the oldest are closed, and packets that would fill them count
    /// as received.
    #[test]
    fn gaps_are_kept_up_to_a_number() {
        let mut acks = acks(&(0..40).map(|number| 2 * number).collect::<Vec<_>>());
        let mut ranges = Vec::new();
        acks.frame(Time::ZERO, &mut ranges, 1000, None);
        assert_eq!((ranges.len(), ranges[31]), (32, (16, 16)));
        assert!(acks.is_known(13) && !acks.is_known(17));
    }
}
