//! Delivery-rate samples. Segments have 1000 octets; the handshake took 100 ms.

use crate::config::plain;
use crate::trace::Trace;
use std::sync::{Arc, Mutex};
use vazao_congestion::{Ack, Congestion, CongestionControl, RateSample, Sending};
use vazao_transport::tcp::{Config, Recovery};

/// Congestion control that records everything, with a fixed window of ten segments.
#[derive(Clone, Default)]
struct Ear {
    acks: Arc<Mutex<Vec<Ack>>>,
    sendings: Arc<Mutex<Vec<Sending>>>,
}

impl CongestionControl for Ear {
    fn on_ack(&mut self, ack: &Ack) {
        self.acks.lock().unwrap().push(*ack);
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_send(&mut self, sending: &Sending) {
        self.sendings.lock().unwrap().push(*sending);
    }
    fn wants_rate(&self) -> bool {
        true
    }
    fn cwnd(&self) -> u64 {
        10_000
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
}

impl Ear {
    fn last(&self) -> Ack {
        *self.acks.lock().unwrap().last().expect("an acknowledgement")
    }
    fn rate(&self) -> RateSample {
        self.last().rate.expect("a sample")
    }
}

fn listening(recovery: Recovery) -> (Trace, Ear) {
    let ear = Ear::default();
    let copy = ear.clone();
    let control = Arc::new(move |_, _| Box::new(copy.clone()) as Box<dyn CongestionControl>);
    (Trace::established(Config { recovery, sack: recovery.is_selective(), control, ..plain() }), ear)
}

/// A bottleneck of a segment each 10 ms: 100 kB/s as soon as windows no longer begin with a burst.
#[test]
fn the_bottleneck_is_measured() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let (mut t, ear) = listening(recovery);
        t.writes_segments(60);
        t.wait(100);
        for next in 2..40 {
            t.acks(next, &[]);
            if next > 22 {
                assert_eq!(ear.rate().bytes_per_second(), 100_000.0, "{recovery:?}: {:?}", ear.last());
            }
            t.wait(10);
        }
    }
}

/// SACKed data is delivered then, once; the losses that it reveals are reported with it.
#[test]
fn selective_acknowledgements_deliver() {
    for recovery in [Recovery::Sack, Recovery::Rack] {
        let (mut t, ear) = listening(recovery);
        t.writes_segments(10);
        t.wait(100);
        t.acks(1, &[(2, 4)]);
        assert_eq!((ear.last().delivered, ear.rate().total_delivered), (3000, 3000));
        assert_eq!((ear.last().lost, ear.rate().lost, ear.last().in_recovery), (1000, 1000, true));
        assert_eq!(ear.last().pipe, 6000);
        t.wait(100);
        t.acks(11, &[]);
        assert_eq!((ear.last().delivered, ear.rate().total_delivered), (7000, 10_000));
        assert!(!ear.last().in_recovery);
    }
}

/// The first data of a connection is application-limited; later there is a bubble when there was nothing to send.
#[test]
fn application_limited_samples_are_marked() {
    let (mut t, ear) = listening(Recovery::Sack);
    t.writes_segments(20);
    t.wait(100);
    t.acks(3, &[]);
    assert!(ear.rate().app_limited);
    t.acks(11, &[]);
    t.wait(100);
    t.acks(13, &[]);
    assert!(!ear.rate().app_limited);
    t.wait(100);
    t.acks(21, &[]);
    t.writes_segments(2);
    assert!(ear.sendings.lock().unwrap().last().is_some_and(|s| s.app_limited));
    t.wait(100);
    t.acks(23, &[]);
    assert!(ear.rate().app_limited);
}

/// The congestion control is informed before a transmission: the first finds nothing in flight and the handshake's RTT.
#[test]
fn transmissions_are_announced() {
    let (mut t, ear) = listening(Recovery::Sack);
    t.writes_segments(3);
    let sendings = ear.sendings.lock().unwrap().clone();
    assert_eq!(sendings.iter().map(|s| s.flight).collect::<Vec<_>>(), [0, 1000, 2000]);
    assert_eq!(sendings[0].min_rtt.as_nanos(), 100_000_000);
}

/// After a timeout, acknowledgements are reported as recovery.
#[test]
fn recovery_after_a_timeout_is_reported() {
    let (mut t, ear) = listening(Recovery::Sack);
    t.writes_segments(4);
    t.wait(100);
    assert_eq!(t.times_out(), [1, 2, 3, 4]);
    t.wait(100);
    t.acks(2, &[]);
    assert_eq!((ear.last().after_timeout, ear.last().in_recovery, ear.last().lost), (true, false, 0));
    t.acks(5, &[]);
    assert!(!ear.last().after_timeout);
}
