//! Loss detection and probe timeouts (RFC 9002 sections 5, 6 and appendix A).

use super::config::Rules;
use super::google;
use super::packet::Space;
use super::sent::{Sent, SentPackets};
use super::thresholds::Thresholds;
use crate::common::{RtoRule, RttEstimator};
use vazao_engine::{Duration, Time};

/// kGranularity.
const GRANULARITY: Duration = Duration::from_millis(1);
/// kPersistentCongestionThreshold.
const PERSISTENT: u64 = 3;

/// Loss recovery state of a path.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    pub rtt: RttEstimator,
    pub spaces: [SentPackets; 3],
    loss_times: [Time; 3],
    pub pto_count: u32,
    max_ack_delay: Duration,
    rules: Rules,
    pub thresholds: Thresholds,
    /// Time of the first RTT sample.
    measured: Option<Time>,
}

/// Lost packets that an acknowledgement or the timer has revealed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    /// Lost packets in the order of sending.
    pub lost: Vec<Sent>,
    /// Their numbers, and the first number that the packet threshold alone would not have made lost.
    pub numbers: Vec<u64>,
    pub near: u64,
    /// Whether this is persistent congestion (section 7.6).
    pub persistent: bool,
}

impl Recovery {
    pub fn new(initial_rtt: Duration, max_ack_delay: Duration) -> Recovery {
        // The estimator's own timeout is not used; the PTO is computed here.
        let mut rtt = RttEstimator::new(initial_rtt * 2, GRANULARITY, Duration::from_secs(60), RtoRule::Rfc6298);
        rtt.assume(initial_rtt);
        Recovery {
            rtt,
            spaces: Default::default(),
            loss_times: [Time::NEVER; 3],
            pto_count: 0,
            max_ack_delay,
            rules: Rules::Rfc9002,
            thresholds: Thresholds::default(),
            measured: None,
        }
    }

    /// Sets the loss detection rules and their thresholds.
    pub fn with_rules(self, rules: Rules, thresholds: Thresholds) -> Recovery {
        Recovery { rules, thresholds, ..self }
    }

    pub fn space(&mut self, space: Space) -> &mut SentPackets {
        &mut self.spaces[space as usize]
    }

    /// Bytes in flight in all spaces.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.spaces.iter().map(|space| space.in_flight).sum()
    }

    /// Takes an RTT sample (section 5) with the peer's reported ACK delay.
    pub fn sample(&mut self, now: Time, rtt: Duration, delay: Duration, confirmed: bool) {
        if self.measured.is_none() {
            self.measured = Some(now);
            self.rtt.clear_assumption();
            self.rtt.sample(rtt);
        } else {
            // Before the handshake is confirmed, the peer's delay may exceed max_ack_delay.
            let delay = if confirmed { delay.min(self.max_ack_delay) } else { delay };
            self.rtt.sample_delayed(rtt, delay);
        }
    }

    /// Whether there is an RTT sample.
    #[inline]
    pub fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// Probe timeout of a space (section 6.2.1), without back-off.
    #[inline]
    pub fn pto(&self, space: Space) -> Duration {
        let variation = (self.rtt.variation() * 4).max(GRANULARITY);
        let delay = if space == Space::Data { self.max_ack_delay } else { Duration::ZERO };
        self.rtt.srtt() + variation + delay
    }

    /// Timeout of a space, with back-off.
    #[inline]
    pub fn wait(&self, space: Space) -> Duration {
        match self.rules {
            Rules::Rfc9002 => self.pto(space) * (1 << self.pto_count.min(20)),
            Rules::Google => google::wait(&self.rtt, space, self.pto_count, self.spaces[space as usize].eliciting > 1),
        }
    }

    /// Handles expiry of the timer: returns the packets to send, and whether the window collapses.
    pub fn on_timer(&mut self, space: Space) -> (u32, bool) {
        self.pto_count += 1;
        match self.rules {
            Rules::Rfc9002 => (2, false),
            Rules::Google => google::on_timer(space, self.pto_count),
        }
    }

    /// Whether a retransmission timeout is a repeated one.
    pub fn is_backed_off(&self) -> bool {
        google::is_repeated(self.pto_count)
    }

    /// Returns when the timer expires (appendix A.8). `can_deadlock` is the space of a client whose server may be
    /// blocked by the amplification limit.
    #[inline]
    pub fn timer(&self, now: Time, confirmed: bool, can_deadlock: Option<Space>) -> Time {
        let [initial, handshake, data] = self.loss_times;
        let loss = initial.min(handshake).min(data);
        if loss < Time::NEVER {
            return loss;
        }
        let [initial, handshake, data] = &self.spaces;
        if confirmed && can_deadlock.is_none() && initial.eliciting + handshake.eliciting == 0 {
            return if data.eliciting > 0 { data.last_eliciting + self.wait(Space::Data) } else { Time::NEVER };
        }
        self.early_timer(now, confirmed, can_deadlock)
    }

    /// Expiry of the timer during the handshake, or with nothing in flight.
    #[cold]
    fn early_timer(&self, now: Time, confirmed: bool, can_deadlock: Option<Space>) -> Time {
        let first = self.first_probe(confirmed).map(|(due, _)| due);
        first.or_else(|| can_deadlock.map(|space| now + self.wait(space))).unwrap_or(Time::NEVER)
    }

    fn first_probe(&self, confirmed: bool) -> Option<(Time, Space)> {
        let waits = |space: &Space| self.spaces[*space as usize].eliciting > 0 && (*space != Space::Data || confirmed);
        let due = |space: Space| (self.spaces[space as usize].last_eliciting + self.wait(space), space);
        Space::ALL.into_iter().filter(waits).map(due).min()
    }

    /// Space of the earliest probe.
    pub fn pto_space(&self, confirmed: bool) -> Option<Space> {
        self.first_probe(confirmed).map(|(_, space)| space)
    }

    /// Space whose packets have reached the time threshold.
    pub fn due_loss(&self, now: Time) -> Option<Space> {
        Space::ALL.into_iter().find(|&space| self.loss_times[space as usize] <= now)
    }

    /// DetectAndRemoveLostPackets (appendix A.10); returns the lost packets, if any.
    #[inline]
    pub fn detect(&mut self, now: Time, space: Space) -> Option<Losses> {
        self.loss_times[space as usize] = Time::NEVER;
        let sent = &mut self.spaces[space as usize];
        sent.pass_settled();
        let largest = sent.largest_acked?;
        if sent.first_unsettled() > largest { None } else { self.detect_among(now, space, largest) }
    }

    /// Checks packets below the largest acknowledged one, some of which may be missing.
    #[cold]
    fn detect_among(&mut self, now: Time, space: Space, largest: u64) -> Option<Losses> {
        let least = match self.rules {
            Rules::Rfc9002 => GRANULARITY,
            Rules::Google => google::MIN_LOSS_DELAY,
        };
        let delay = self.thresholds.delay(self.longer_rtt()).max(least);
        let near = (largest + 1).saturating_sub(self.thresholds.packets);
        // Google's rules use the time threshold only if no later packet can be acknowledged (early retransmit).
        let by_time = self.rules == Rules::Rfc9002 || largest >= self.spaces[space as usize].largest_eliciting;
        let mut numbers = Vec::new();
        let mut first_left = Time::NEVER;
        for (number, at) in self.spaces[space as usize].outstanding_through(largest) {
            if by_time && now.since(at) >= delay || number < near {
                numbers.push(number);
            } else {
                // Packets are in the order of sending, so all later ones are younger.
                first_left = if by_time { at + delay } else { Time::NEVER };
                break;
            }
        }
        self.loss_times[space as usize] = first_left;
        if numbers.is_empty() {
            return None;
        }
        let lost: Vec<_> = numbers.iter().filter_map(|&number| self.space(space).declare_lost(number)).collect();
        Some(Losses { persistent: self.is_persistent(&numbers, &lost), lost, numbers, near })
    }

    /// The greater of the latest and the smoothed round-trip time, by which the time threshold goes.
    fn longer_rtt(&self) -> Duration {
        self.rtt.latest().max(self.rtt.srtt())
    }

    /// Learns that a packet sent at `at`, which was declared lost, is acknowledged after all.
    pub fn on_late(&mut self, now: Time, space: Space, number: u64, at: Time) {
        let overtaken = self.spaces[space as usize].largest_acked.map_or(0, |largest| largest.saturating_sub(number));
        self.thresholds.on_late(overtaken, now.since(at), self.longer_rtt());
    }

    /// Section 7.6: whether two ack-eliciting packets were lost, with nothing acknowledged between them, that were sent
    /// further apart than the persistent congestion duration after the first RTT sample.
    fn is_persistent(&self, numbers: &[u64], lost: &[Sent]) -> bool {
        let Some(measured) = self.measured.filter(|_| self.rules == Rules::Rfc9002) else { return false };
        let variation = (self.rtt.variation() * 4).max(GRANULARITY);
        let span = (self.rtt.srtt() + variation + self.max_ack_delay) * PERSISTENT;
        let mut first: Option<Time> = None;
        let mut previous = None;
        for (number, sent) in numbers.iter().zip(lost).filter(|(_, sent)| sent.at > measured) {
            // A missing number between them was acknowledged.
            if previous.is_some_and(|previous| previous + 1 != *number) {
                first = None;
            }
            previous = Some(*number);
            if !sent.eliciting {
                continue;
            }
            match first {
                None => first = Some(sent.at),
                Some(at) if sent.at.since(at) > span => return true,
                Some(_) => {}
            }
        }
        false
    }

    /// Resets the path's properties after a migration; packets in flight on the old path no longer count.
    pub fn reset_path(&mut self, initial_rtt: Duration, thresholds: Thresholds) {
        let max_ack_delay = self.max_ack_delay;
        let mut fresh = Recovery::new(initial_rtt, max_ack_delay).with_rules(self.rules, thresholds);
        std::mem::swap(&mut self.spaces, &mut fresh.spaces);
        std::mem::swap(self, &mut fresh);
        self.space(Space::Data).forget_flight();
    }

    /// Discards a space with its keys (section 6.4).
    pub fn discard(&mut self, space: Space) {
        self.space(space).discard();
        self.loss_times[space as usize] = Time::NEVER;
        self.pto_count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic::sent::Content;

    const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }
    fn at(milliseconds: u64) -> Time {
        Time::ZERO + ms(milliseconds)
    }

    /// Returns a sender that has sent packets of the data space at these times in milliseconds.
    fn sent(times: &[u64]) -> Recovery {
        let mut recovery = Recovery::new(ms(333), MAX_ACK_DELAY);
        send(&mut recovery, times);
        recovery
    }

    fn send(recovery: &mut Recovery, times: &[u64]) {
        for &time in times {
            recovery.space(Space::Data).push(Sent::new(at(time), 1000, true, None, Content::Nothing, Space::Data));
        }
    }

    /// Acknowledges packet `number`, with an RTT sample in milliseconds if any; returns the send times in milliseconds
    /// of the packets found lost.
    fn acked(recovery: &mut Recovery, now: u64, number: u64, rtt: Option<u64>) -> (Vec<u64>, bool) {
        let space = recovery.space(Space::Data);
        assert!(space.acknowledge(number).is_some());
        space.largest_acked = space.largest_acked.max(Some(number));
        if let Some(rtt) = rtt {
            recovery.sample(at(now), ms(rtt), Duration::ZERO, true);
        }
        let found = recovery.detect(at(now), Space::Data).unwrap_or_default();
        (found.lost.iter().map(|sent| sent.at.as_nanos() / 1_000_000).collect(), found.persistent)
    }

    /// Section 5.3 by hand. First 100 ms: variation 50. Then 120 with an ACK delay of 10: 110; the variation is
    /// (3 * 50 + 10) / 4 = 40, the mean (7 * 100 + 110) / 8 = 101.25. Then 110 with a delay of 25: the result would be
    /// below the minimum, so it counts in full: (3 * 40 + 8.75) / 4 = 32.1875, (7 * 101.25 + 110) / 8 = 102.34375. Then
    /// 200 with a delay of 60, of which 25 are allowed: 175.
    #[test]
    fn round_trip_times_exclude_the_ack_delay() {
        let mut recovery = sent(&[]);
        let nanos = |recovery: &Recovery| (recovery.rtt.srtt().as_nanos(), recovery.rtt.variation().as_nanos());
        recovery.sample(at(100), ms(100), ms(70), false);
        assert_eq!(nanos(&recovery), (100_000_000, 50_000_000));
        recovery.sample(at(200), ms(120), ms(10), true);
        assert_eq!(nanos(&recovery), (101_250_000, 40_000_000));
        recovery.sample(at(300), ms(110), ms(25), true);
        assert_eq!(nanos(&recovery), (102_343_750, 32_187_500));
        recovery.sample(at(400), ms(200), ms(60), true);
        assert_eq!(nanos(&recovery).0, (7 * 102_343_750 + 175_000_000) / 8);
        // The minimum is never adjusted (section 5.2).
        assert_eq!((recovery.rtt.min(), recovery.rtt.latest()), (ms(100), ms(200)));
    }

    /// Section 6.1.1: three later packets are needed.
    #[test]
    fn a_packet_is_lost_by_the_packet_threshold() {
        let mut recovery = sent(&[0, 1, 2, 3, 4]);
        assert_eq!(acked(&mut recovery, 50, 2, Some(48)), (vec![], false));
        assert_eq!(acked(&mut recovery, 51, 3, Some(48)), (vec![0], false));
        assert_eq!(acked(&mut recovery, 52, 4, Some(48)), (vec![1], false));
    }

    /// Section 6.1.2: 9/8 of the greater of latest and smoothed RTT; with 80 ms, 90 after it was sent.
    #[test]
    fn a_packet_is_lost_by_the_time_threshold() {
        let mut recovery = sent(&[0, 5, 10]);
        assert_eq!(acked(&mut recovery, 90, 2, Some(80)), (vec![0], false));
        assert_eq!(recovery.timer(at(90), true, None), at(95));
        assert_eq!((recovery.due_loss(at(94)), recovery.due_loss(at(95))), (None, Some(Space::Data)));
        assert_eq!(recovery.detect(at(95), Space::Data).map(|found| found.lost.len()), Some(1));
        // A path without delay: never less than kGranularity.
        let mut recovery = sent(&[0, 0]);
        acked(&mut recovery, 0, 1, Some(0));
        assert_eq!(recovery.timer(at(0), true, None), at(1));
    }

    /// Section 6.2.1: before the first sample 333 + 4 * 166.5 ms, plus the maximum ACK delay in the data space. Each
    /// expiry doubles it; the data space is not probed until the handshake is confirmed.
    #[test]
    fn probes_back_off() {
        let mut recovery = sent(&[7]);
        let first = at(7) + ms(999) + MAX_ACK_DELAY;
        assert_eq!(recovery.timer(at(7), false, None), Time::NEVER);
        assert_eq!(recovery.timer(at(7), true, None), first);
        recovery.pto_count = 2;
        assert_eq!(recovery.timer(at(7), true, None), at(7) + (ms(999) + MAX_ACK_DELAY) * 4);
        recovery.pto_count = 0;
        recovery.space(Space::Handshake).push(Sent::new(at(20), 1000, true, None, Content::Nothing, Space::Handshake));
        assert_eq!(recovery.timer(at(20), true, None), at(20) + ms(999));
        assert_eq!(recovery.pto_space(true), Some(Space::Handshake));
        // Appendix A.8: with nothing in flight, only a client whose server may be blocked probes.
        recovery.discard(Space::Handshake);
        recovery.discard(Space::Data);
        assert_eq!(recovery.timer(at(30), true, None), Time::NEVER);
        assert_eq!(recovery.timer(at(30), false, Some(Space::Initial)), at(30) + ms(999));
    }

    /// Example of section 7.6.2, with its seconds as 1000 ms: packets 2 to 8, sent from 1 to 8, are lost when 9 is
    /// acknowledged; the probe timeout is 2, so that 6 are persistent congestion.
    fn example(pto: u64, acked_between: &[u64]) -> bool {
        let mut recovery = Recovery::new(ms(333), Duration::ZERO);
        send(&mut recovery, &[0]);
        // A first sample: the variation is half of it, so the probe timeout is three times as long.
        acked(&mut recovery, 500, 0, Some(pto / 3));
        send(&mut recovery, &[600, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 12_000]);
        acked(&mut recovery, 1_200, 1, None);
        for &number in acked_between {
            assert!(recovery.space(Space::Data).acknowledge(number).is_some());
        }
        let (lost, persistent) = acked(&mut recovery, 12_200, 9, None);
        assert_eq!(lost.len(), 7 - acked_between.len());
        persistent
    }

    #[test]
    fn persistent_congestion_is_detected() {
        assert!(example(2_001, &[]));
        // 3 * 2.4 s is longer than the 7 s between them.
        assert!(!example(2_400, &[]));
        // A packet between them was acknowledged.
        assert!(!example(2_001, &[5]));
        // No packets lost between the acknowledged ones are that far apart.
        assert!(!example(2_001, &[3, 7]));
    }

    /// Section 7.6.2: packets sent before the first RTT sample do not count.
    #[test]
    fn persistent_congestion_needs_an_rtt_sample() {
        let mut recovery = Recovery::new(ms(333), Duration::ZERO);
        send(&mut recovery, &[0, 9_000, 9_001, 9_002, 9_003]);
        let (lost, persistent) = acked(&mut recovery, 9_103, 4, Some(100));
        assert_eq!((lost, persistent), (vec![0, 9_000], false));
    }
}
