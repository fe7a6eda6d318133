//! How fast the network delivers: delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02).

use vazao_congestion::RateSample;
use vazao_engine::{Duration, Time};

/// What is remembered of a packet in flight (the draft's P.*).
#[derive(Clone, Copy, Debug)]
pub struct PacketState {
    /// When it was sent, the last time.
    sent: Time,
    /// The connection's counts and times when it was sent.
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    lost: u64,
    /// Bytes in flight then, itself counted.
    in_flight: u64,
    app_limited: bool,
}

/// What is kept of a connection (the draft's C.*). A sender tells it of each packet [sent](DeliveryRate::on_sent), again
/// or for the first time, and [delivered](DeliveryRate::on_delivered), and asks for a [sample](DeliveryRate::sample) once
/// an acknowledgement.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    lost: u64,
    /// What is sent before so much is delivered is limited by the application; zero: not limited.
    app_limited: u64,
    /// Of the packets that the acknowledgement under way delivered, the one sent last: when, its end, its state.
    newest: Option<(Time, u64, PacketState)>,
}

impl DeliveryRate {
    /// Section 3.2: a packet leaves. `outstanding`: bytes not acknowledged before it, the lost ones too, since what is
    /// presumed lost may still arrive; `in_flight`: bytes in the network with it.
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

    /// Section 3.3: a packet is acknowledged for the first time, cumulatively or selectively; `end` orders those that left
    /// together.
    pub fn on_delivered(&mut self, end: u64, packet: &PacketState) {
        if self.newest.as_ref().is_none_or(|&(sent, last, _)| (packet.sent, end) > (sent, last)) {
            self.newest = Some((packet.sent, end, *packet));
        }
    }

    /// Section 3.3: an acknowledgement delivered and showed to be lost so many bytes. Nothing where it delivered no
    /// packet, or one so fast that an earlier copy of it must have arrived.
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

    /// Bytes are presumed lost; told before the [sample](Self::sample) of the acknowledgement that showed it.
    pub fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Section 3.4: there is nothing to send though the window admits it, with so much in flight.
    pub fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Whether what is sent now counts as limited by the application.
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

    /// Ten packets of 1000 bytes leave at once and are acknowledged one each 10 ms from 100 ms on, a packet for each: the
    /// first window counts from its sending. The second is one that was sent during 100 ms and more, as its first
    /// packet is counted from the burst's. The third measures the bottleneck's 100 kB/s.
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

    /// Acknowledgements that arrive in a burst (section 2.2.3's compression) do not raise the rate above that of sending.
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
            // The acknowledgements all came at 200 ms; packet i was sent 10 i after the first.
            assert!(got.bytes_per_second() <= 100_000.0, "{i}: {got:?}");
        }
    }

    /// Of several packets that one acknowledgement delivers the last one sent counts: the shortest time (section 3.3).
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

    /// A resent packet whose first copy arrives would seem to have made the trip in less than any round trip.
    #[test]
    fn what_is_faster_than_the_path_is_no_sample() {
        let mut rate = DeliveryRate::default();
        rate.on_sent(at(0), 0, 1000);
        rate.on_delivered(
            1,
            &PacketState { delivered_time: at(95), first_sent: at(95), ..rate.clone().on_sent(at(95), 1, 1) },
        );
        assert_eq!(rate.sample(at(100), 1000, Duration::from_millis(50)), None);
    }

    /// Section 3.4: until everything in flight when the application ran dry is delivered, samples are marked.
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
