//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02).

use vazao_congestion::RateSample;
use vazao_engine::{Duration, Time};

/// Per-packet state (the draft's P.*).
#[derive(Clone, Copy, Debug)]
pub struct PacketState {
    /// Time of the last transmission.
    sent: Time,
    /// The connection's counters and times at that transmission.
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    lost: u64,
    /// Bytes in flight at that transmission, including this packet.
    in_flight: u64,
    app_limited: bool,
}

/// Per-connection state (the draft's C.*). A sender reports each packet [sent](DeliveryRate::on_sent), original or
/// retransmission, and each packet [delivered](DeliveryRate::on_delivered), and asks for one
/// [sample](DeliveryRate::sample) per acknowledgement.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    lost: u64,
    /// Packets sent before `delivered` exceeds this count are application-limited; zero: not limited.
    app_limited: u64,
    /// Last packet sent among those that the current ACK delivers: send time, end, state.
    newest: Option<(Time, u64, PacketState)>,
}

impl DeliveryRate {
    /// Section 3.2: records a packet that leaves. `outstanding` counts unacknowledged bytes before it, lost ones
    /// included, since a packet presumed lost may still arrive; `in_flight` counts bytes in the network including this
    /// packet.
    pub fn on_sent(&mut self, now: Time, outstanding: u64, in_flight: u64) -> PacketState {
        if outstanding == 0 {
            (self.first_sent, self.delivered_time) = (now, now);
        }
        PacketState {
            sent: now,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited > 0,
        }
    }

    /// Section 3.3: records the first acknowledgement of a packet, cumulative or selective. `end` orders packets that
    /// were sent at the same time.
    pub fn on_delivered(&mut self, end: u64, packet: &PacketState) {
        if self.newest.as_ref().is_none_or(|&(sent, last, _)| (packet.sent, end) > (sent, last)) {
            self.newest = Some((packet.sent, end, *packet));
        }
    }

    /// Section 3.3: returns the rate sample of an acknowledgement that newly delivered `delivered` bytes. `None` if it
    /// delivered no packet, or so soon that it must acknowledge an earlier transmission.
    pub fn sample(&mut self, now: Time, delivered: u64, min_rtt: Duration) -> Option<RateSample> {
        self.delivered += delivered;
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if delivered > 0 {
            self.delivered_time = now;
        }
        let (sent, _, packet) = self.newest.take()?;
        self.first_sent = sent;
        let send_elapsed = sent.since(packet.first_sent);
        let ack_elapsed = now.since(packet.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        let measured = min_rtt == Duration::MAX || interval >= min_rtt;
        (measured && interval > Duration::ZERO).then(|| RateSample {
            delivered: self.delivered - packet.delivered,
            interval,
            prior_delivered: packet.delivered,
            total_delivered: self.delivered,
            lost: self.lost - packet.lost,
            tx_in_flight: packet.in_flight,
            app_limited: packet.app_limited,
        })
    }

    /// Counts bytes presumed lost; call it before the [sample](Self::sample) of the ACK that revealed the loss.
    pub fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Section 3.4: marks the connection as application-limited: the window has space and there is nothing to send.
    pub fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Whether packets sent now count as application-limited.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn sample(rate: &mut DeliveryRate, ms: u64, delivered: u64) -> RateSample {
        rate.sample(at(ms), delivered, Duration::MAX).expect("a sample")
    }

    /// Ten packets of 1000 bytes leave at once and are acknowledged one by one every 10 ms from 100 ms on, and each ACK
    /// releases a packet. The first window is measured from its transmission; the second packet's interval starts with
    /// the burst's first packet and spans more than 100 ms; the third measures the bottleneck's 100 kB/s.
    #[test]
    fn a_steady_flow_measures_its_bottleneck() {
        let mut rate = DeliveryRate::default();
        let mut packets: Vec<_> = (0..10).map(|i| rate.on_sent(at(0), i * 1000, (i + 1) * 1000)).collect();
        for i in 0..40 {
            let now = 100 + 10 * i;
            rate.on_delivered(i, &packets[i as usize]);
            let got = sample(&mut rate, now, 1000);
            if i < 10 {
                assert_eq!((got.delivered, got.interval), (1000 * (i + 1), Duration::from_millis(now)));
            } else if i < 20 {
                assert!(got.bytes_per_second() <= 100_000.0, "{got:?}");
            } else {
                assert!((got.bytes_per_second() - 100_000.0).abs() < 1e-6, "{got:?}");
            }
            packets.push(rate.on_sent(at(now), 9000, 10_000));
        }
    }

    /// Compressed ACKs (section 2.2.3) do not raise the sample above the sending rate.
    #[test]
    fn compressed_acknowledgements_are_no_bandwidth() {
        let mut rate = DeliveryRate::default();
        let mut packets = Vec::new();
        for i in 0..10 {
            packets.push(rate.on_sent(at(10 * i), i * 1000, (i + 1) * 1000));
        }
        for (i, packet) in (0..).zip(&packets) {
            rate.on_delivered(i, packet);
            let got = sample(&mut rate, 200, 1000);
            // All acknowledgements arrived at 200 ms; packet i was sent 10 i after the first.
            assert!(got.bytes_per_second() <= 100_000.0, "{i}: {got:?}");
        }
    }

    /// If one acknowledgement delivers several packets, the last one sent counts: the shortest interval (section 3.3).
    #[test]
    fn the_newest_packet_counts() {
        let mut rate = DeliveryRate::default();
        let first = rate.on_sent(at(0), 0, 1000);
        let second = rate.on_sent(at(50), 1000, 2000);
        rate.on_delivered(1, &first);
        assert_eq!(sample(&mut rate, 100, 1000).prior_delivered, 0);
        let third = rate.on_sent(at(100), 1000, 2000);
        rate.on_delivered(3, &third);
        rate.on_delivered(2, &second);
        let got = sample(&mut rate, 200, 2000);
        assert_eq!((got.prior_delivered, got.delivered, got.total_delivered), (1000, 2000, 3000));
        assert_eq!(got.interval, Duration::from_millis(100));
    }

    /// An ACK for the original of a retransmitted packet would give an interval below the round-trip time.
    #[test]
    fn an_ack_faster_than_the_path_gives_no_sample() {
        let mut rate = DeliveryRate::default();
        rate.on_sent(at(0), 0, 1000);
        rate.on_delivered(
            1,
            &PacketState { delivered_time: at(95), first_sent: at(95), ..rate.clone().on_sent(at(95), 1, 1) },
        );
        assert_eq!(rate.sample(at(100), 1000, Duration::from_millis(50)), None);
    }

    /// Section 3.4: samples are marked until everything in flight when the application ran out of data is delivered.
    #[test]
    fn a_bubble_is_marked_until_it_is_delivered() {
        let mut rate = DeliveryRate::default();
        let full = rate.on_sent(at(0), 0, 1000);
        rate.set_app_limited(1000);
        let bubble = rate.on_sent(at(10), 1000, 2000);
        rate.on_delivered(1, &full);
        assert!(!sample(&mut rate, 100, 1000).app_limited);
        assert!(rate.is_app_limited());
        rate.on_delivered(2, &bubble);
        assert!(sample(&mut rate, 110, 1000).app_limited);
        assert!(!rate.is_app_limited());
    }

    #[test]
    fn losses_since_the_packet_left_are_counted() {
        let mut rate = DeliveryRate::default();
        rate.on_lost(500);
        let packet = rate.on_sent(at(0), 0, 7000);
        rate.on_lost(2000);
        rate.on_delivered(1, &packet);
        let got = sample(&mut rate, 100, 1000);
        assert_eq!((got.lost, got.tx_in_flight), (2000, 7000));
    }
}
