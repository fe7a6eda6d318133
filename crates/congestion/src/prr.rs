//! Proportional rate reduction: the data to send for each acknowledgement of a recovery.

/// Proportional Rate Reduction (RFC 9937): during a fast recovery the window comes down in proportion to what is
/// delivered, so that the flight is at the slow-start threshold when the recovery ends, neither after half a round trip
/// of silence nor in a burst.
///
/// The sender asks [`window`](Prr::on_ack) at each acknowledgement that starts or continues the recovery and tells it
/// what it sends; once the recovery is over its window is the threshold (section 6.2). All amounts are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prr {
    mss: u64,
    /// Flight at the end of the recovery.
    ssthresh: u64,
    /// RecoverFS: the flight when the recovery began, at least one.
    recover_flight: u64,
    /// prr_delivered and prr_out: delivered and sent since.
    delivered: u64,
    sent: u64,
    ns3: bool,
}

impl Prr {
    /// Starts a recovery with the threshold that the congestion control chose and RecoverFS, which is
    /// SND.NXT - SND.UNA less what earlier acknowledgements had selectively acknowledged, plus what the one that starts
    /// the recovery acknowledges cumulatively.
    pub fn new(mss: u64, ssthresh: u64, recover_flight: u64) -> Self {
        Prr { mss, ssthresh, recover_flight: recover_flight.max(1), delivered: 0, sent: 0, ns3: false }
    }

    /// ns-3's (TcpPrrRecovery in 3.37). Only an acknowledgement of something that had been resent is `safe`. With the flight
    /// below the threshold another one lets out what it delivered, whatever is owed; and once more was sent than delivered,
    /// a safe one lets out a segment less the difference, for that is unsigned there and wraps around: packets are
    /// conserved on average, where slow start was meant. Shares are not rounded up to segments.
    pub fn like_ns3(self) -> Self {
        Prr { ns3: true, ..self }
    }

    /// Returns the window after an acknowledgement of `delivered` bytes, cumulatively or selectively and each counted
    /// once, that left `inflight` bytes in the network. `safe`: it moved SND.UNA and showed no further loss.
    pub fn on_ack(&mut self, delivered: u64, inflight: u64, safe: bool) -> u64 {
        self.delivered += delivered;
        let owed = self.delivered.saturating_sub(self.sent);
        let mut count = if inflight > self.ssthresh {
            let share = u128::from(self.delivered) * u128::from(self.ssthresh);
            let owed = (share.div_ceil(u128::from(self.recover_flight)) as u64).saturating_sub(self.sent);
            // What is rounded up is not in whole bytes but in what can be sent: half a segment would wait for the other.
            if self.ns3 { owed } else { owed.next_multiple_of(self.mss) }
        } else if self.ns3 && (!safe || self.sent > self.delivered) {
            let limit = if safe { (self.mss + self.delivered).saturating_sub(self.sent) } else { delivered };
            limit.min(self.ssthresh - inflight)
        } else {
            // Losses alone brought the flight below the threshold: send what was delivered, and with a sign of progress
            // a segment more, as slow start does.
            let limit = owed.max(delivered) + if safe { self.mss } else { 0 };
            limit.min(self.ssthresh - inflight)
        };
        if self.sent == 0 {
            // The first retransmission leaves whatever the window says.
            count = count.max(self.mss);
        }
        inflight + count
    }

    /// `bytes` were sent, new or again.
    pub fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the data sent for each acknowledgement of one segment, from `pipe` segments in flight after the first of
    /// them, none of which moves SND.UNA; and the flight at the end.
    fn sent(ssthresh: u64, flight: u64, mut pipe: u64, acks: u64) -> (Vec<u64>, u64) {
        let mut prr = Prr::new(1, ssthresh, flight);
        let each = (0..acks).map(|i| {
            pipe -= u64::from(i > 0);
            let count = prr.on_ack(1, pipe, false) - pipe;
            prr.on_sent(count);
            pipe += count;
            count
        });
        (each.collect(), pipe)
    }

    /// RFC 6937 section 3.1, first case: one of 20 segments lost, threshold 10. The first acknowledgement of the recovery
    /// is the third duplicate, after two segments of limited transmit: 17 more follow. Every other one sends a
    /// segment, the first the retransmission, until the flight is ten.
    #[test]
    fn one_loss_halves_the_flight_over_a_round_trip() {
        let (counts, pipe) = sent(10, 20, 18, 19);
        assert_eq!(counts[..4], [1, 0, 1, 0]);
        assert!(counts.iter().all(|&count| count <= 1), "{counts:?}");
        assert_eq!((counts.iter().sum::<u64>(), pipe), (10, 10));
    }

    /// The example with a threshold of 70 %: seven segments for ten acknowledgements.
    #[test]
    fn the_proportion_is_the_congestion_controls() {
        let (counts, pipe) = sent(70, 100, 99, 100);
        assert_eq!(counts.iter().sum::<u64>(), 70);
        assert_eq!(counts[..10].iter().sum::<u64>(), 7);
        assert_eq!(pipe, 70);
    }

    /// RFC 6937 section 3.1, second case: 15 of 20 lost, so three acknowledgements are left of the round trip and the
    /// flight is 4. Each sends one segment: what was delivered, no more (the Conservative Reduction Bound).
    #[test]
    fn heavy_losses_conserve_packets() {
        let mut prr = Prr::new(1, 10, 20);
        for _ in 0..3 {
            assert_eq!(prr.on_ack(1, 3, false), 4);
            prr.on_sent(1);
        }
    }

    /// Section 6.2, SafeACK: progress adds a segment to what was delivered (the Slow Start Reduction Bound: two for each
    /// acknowledgement in RFC 6937's second case), up to the threshold.
    #[test]
    fn progress_slow_starts_up_to_the_threshold() {
        let mut prr = Prr::new(1, 10, 20);
        let mut pipe = 3;
        for flight in [5, 6, 7, 8, 9, 10, 10] {
            pipe = prr.on_ack(1, pipe, true);
            prr.on_sent(pipe - (flight - 2).min(pipe));
            assert_eq!(pipe, flight);
            pipe -= 1;
        }
    }

    /// ns-3.37, one flow over 5 Mbit/s: with a flight of 144 segments and a threshold of 199, acknowledgements of resent
    /// segments set the window in turn to 146 and to 145 segments for a round trip, two segments leaving after every other one.
    #[test]
    fn ns3_conserves_packets_where_progress_would_slow_start() {
        let mut prr = Prr::new(1, 199, 300).like_ns3();
        prr.on_ack(2, 144, true);
        prr.on_sent(3);
        for (flight, window) in [(144, 146), (145, 145), (144, 146), (145, 145)] {
            assert_eq!(prr.on_ack(1, flight, true), window);
            prr.on_sent(window - flight);
        }
    }

    /// The retransmission is not kept back by a threshold that the flight has long passed, nor sent twice.
    #[test]
    fn the_first_retransmission_is_forced() {
        let mut prr = Prr::new(1_000, 2_000, 1_000_000);
        assert_eq!(prr.on_ack(100, 900_000, false), 901_000);
        prr.on_sent(1_000);
        assert_eq!(prr.on_ack(100, 900_000, false), 900_000);
    }
}
