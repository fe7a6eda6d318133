//! Counts of a TCP sender from its wire, for stacks that do not report them.

use std::collections::VecDeque;
use vazao_engine::{Histogram, Time};
use vazao_wire::tcp::{Flags, Header};

/// Counts of one connection at its sender's interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpMeter {
    /// Sequence number after the highest sent.
    highest: Option<u32>,
    /// Highest acknowledgement and its window.
    acknowledged: Option<(u32, u16)>,
    /// Ends of data sent once, with their times: round trips are measured on these alone (Karn's rule).
    once: VecDeque<(u32, Time)>,
    /// Segments sent, of any kind.
    pub segments: u64,
    /// Payload bytes sent for the first time.
    pub bytes: u64,
    /// Retransmitted data segments.
    pub retransmissions: u64,
    /// Acknowledgements that repeat the last one without data or a new window (RFC 5681).
    pub duplicate_acks: u64,
    /// Round-trip times.
    pub rtt: Histogram,
}

/// Returns the distance from `b` to `a` in sequence space.
fn after(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

impl TcpMeter {
    /// Counts a sent segment with `length` bytes of payload.
    pub fn on_send(&mut self, now: Time, header: &Header, length: u32) {
        self.segments += 1;
        let end = header.sequence.wrapping_add(length);
        if header.flags.contains(Flags::SYN) {
            self.highest = Some(header.sequence.wrapping_add(1));
        }
        let Some(highest) = self.highest else { return };
        if length == 0 {
            return;
        }
        if after(end, highest) > 0 {
            // Only the part after `highest` is new.
            self.bytes += u64::from(end.wrapping_sub(highest).min(length));
            self.highest = Some(end);
            self.once.push_back((end, now));
        } else {
            self.retransmissions += 1;
            self.once.retain(|&(other, _)| after(other, header.sequence) <= 0 || after(other, end) > 0);
        }
    }

    /// Counts a received segment with `length` bytes of payload.
    pub fn on_receive(&mut self, now: Time, header: &Header, length: u32) {
        if !header.flags.contains(Flags::ACK) {
            return;
        }
        let (ack, window) = (header.acknowledgment, header.window);
        let Some((last, old_window)) = self.acknowledged.replace((ack, window)) else { return };
        if after(ack, last) > 0 {
            let mut newest = None;
            while let Some(&(end, sent)) = self.once.front()
                && after(end, ack) <= 0
            {
                newest = Some(sent);
                self.once.pop_front();
            }
            if let Some(sent) = newest {
                self.rtt.record(now.since(sent));
            }
            return;
        }
        let waits = self.highest.is_some_and(|highest| after(highest, ack) > 0);
        if ack == last && length == 0 && waits && (window == old_window || !header.options.sack.is_empty()) {
            self.duplicate_acks += 1;
        }
        if after(ack, last) < 0 {
            self.acknowledged = Some((last, old_window));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vazao_engine::Duration;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }
    fn data(sequence: u32) -> Header {
        Header { sequence, flags: Flags::ACK, ..Header::default() }
    }
    fn ack(acknowledgment: u32) -> Header {
        Header { acknowledgment, flags: Flags::ACK, window: 100, ..Header::default() }
    }

    #[test]
    fn a_loss_and_its_repair_are_counted_as_they_happened() {
        let mut meter = TcpMeter::default();
        meter.on_send(at(0), &Header { sequence: 999, flags: Flags::SYN, ..Header::default() }, 0);
        meter.on_receive(at(100), &ack(1000), 0);
        for i in 0..5 {
            meter.on_send(at(100 + u64::from(i)), &data(1000 + 100 * i), 100);
        }
        // The second segment is lost; the other three ask for it, and it is sent again.
        meter.on_receive(at(200), &ack(1100), 0);
        for ms in [202, 203, 204] {
            meter.on_receive(at(ms), &ack(1100), 0);
        }
        meter.on_send(at(205), &data(1100), 100);
        meter.on_receive(at(305), &ack(1500), 0);
        assert_eq!((meter.segments, meter.bytes, meter.retransmissions, meter.duplicate_acks), (7, 500, 1, 3));
        // Round trips: 100 ms for the first; for the last the time that its acknowledgement took.
        assert_eq!(meter.rtt.count(), 2);
        let mean = meter.rtt.mean().expect("two measurements");
        assert!((mean - (0.1 + 0.201) / 2.0).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn sequence_numbers_may_wrap() {
        let mut meter = TcpMeter::default();
        meter.on_send(at(0), &Header { sequence: u32::MAX - 100, flags: Flags::SYN, ..Header::default() }, 0);
        for i in 0..4_u32 {
            meter.on_send(at(1), &data((u32::MAX - 99).wrapping_add(i * 60)), 60);
        }
        meter.on_receive(at(9), &ack(u32::MAX - 99), 0);
        meter.on_receive(at(11), &ack((u32::MAX - 99).wrapping_add(240)), 0);
        assert_eq!((meter.bytes, meter.retransmissions, meter.rtt.count()), (240, 0, 1));
    }
}
