//! Our congestion controls inside the library, through its hooks for foreign ones.
//!
//! The hooks do not carry: a [pacing rate](CongestionControl::pacing_rate) (the library paces by itself, 5/4 of a window in
//! a round-trip time, in bursts of ten datagrams and more); losses before the acknowledgement that showed them; how many
//! packets were marked; spurious losses. An acknowledgement's round-trip time follows from when its packets were sent.

use crate::clock::{duration, time};
use crate::watch::Watch;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use vazao_congestion::{Ack, Congestion, CongestionControl, Sending, Signal};
use vazao_engine::{Duration, Time};
use vazao_transport::ControlFactory;
use vazao_transport::{DeliveryRate, PacketState};

/// A factory of one of our controls, one for each path of a connection.
pub struct Ours {
    /// Makes the control.
    pub make: ControlFactory,
    /// The seed of the control's random numbers.
    pub seed: u64,
}

impl ControllerFactory for Ours {
    fn build(self: Arc<Self>, _: Instant, mtu: u16) -> Box<dyn Controller> {
        let control = (self.make)(u64::from(mtu), self.seed);
        let window = control.cwnd();
        let rated = control.wants_rate().then(Rates::default);
        let state = Adapter {
            control,
            datagram: u64::from(mtu),
            initial: window,
            rated,
            next_number: 0,
            round_end: 0,
            cut_at: None,
            recovering: false,
            established: false,
            flight: 0,
            acked: Acked::default(),
        };
        Box::new(Plugged(Arc::new(Mutex::new(state))))
    }
}

/// One of our controls as the library sees it. Where only a path's port changes, the library copies its state: the copy is
/// the same control.
struct Plugged(Arc<Mutex<Adapter>>);

/// A control, and what it needs to be told of that the library does not say.
struct Adapter {
    control: Box<dyn CongestionControl>,
    datagram: u64,
    initial: u64,
    rated: Option<Rates>,
    next_number: u64,
    /// A round trip ends when this packet is acknowledged.
    round_end: u64,
    /// When the window was last cut, and whether nothing sent since then has been acknowledged.
    cut_at: Option<Time>,
    recovering: bool,
    established: bool,
    flight: u64,
    acked: Acked,
}

/// Sums over the packets acknowledged so far by one acknowledgement: the library reports it packet by packet.
#[derive(Default)]
struct Acked {
    delivered: u64,
    /// The part that was sent since the window was last cut.
    fresh: u64,
    newest: Time,
    srtt: Duration,
    min_rtt: Duration,
}

/// Measures the delivery rate. The library does not say which packet was acknowledged, but when it was sent: packets that
/// left together count as the last of them.
#[derive(Default)]
struct Rates {
    sampler: DeliveryRate,
    sent: BTreeMap<Time, PacketState>,
}

impl Plugged {
    fn state(&self) -> MutexGuard<'_, Adapter> {
        self.0.lock().expect("a control that does not panic")
    }
}

impl Controller for Plugged {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.state().on_sent(time(now), bytes, last_packet_number);
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: bool, rtt: &RttEstimator) {
        let mut state = self.state();
        let sent = time(sent);
        let fresh = state.cut_at.is_none_or(|cut| sent > cut);
        let acked = &mut state.acked;
        acked.delivered += bytes;
        acked.fresh += if fresh { bytes } else { 0 };
        acked.newest = acked.newest.max(sent);
        (acked.srtt, acked.min_rtt) = (duration(rtt.get()), duration(rtt.min()));
        if let Some(rates) = &mut state.rated
            && let Some(packet) = rates.sent.get(&sent)
        {
            rates.sampler.on_delivered(0, packet);
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.state().on_end_acks(time(now), in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        self.state().on_congestion(time(now), time(sent), persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        // Our windows count in datagrams of one size: only the minimum window follows.
        self.state().datagram = u64::from(new_mtu);
    }

    fn window(&self) -> u64 {
        self.state().window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = Some(self.state().control.ssthresh());
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Plugged(self.0.clone()))
    }

    fn initial_window(&self) -> u64 {
        self.state().initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Adapter {
    /// Returns the window, at least two datagrams (RFC 9002 section 7.2).
    fn window(&self) -> u64 {
        self.control.cwnd().max(2 * self.datagram)
    }

    fn on_sent(&mut self, now: Time, bytes: u64, number: u64) {
        self.next_number = number + 1;
        let before = self.flight;
        self.flight += bytes;
        let Some(rates) = &mut self.rated else { return };
        let packet = rates.sampler.on_sent(now, before, self.flight);
        rates.sent.insert(now, packet);
        let app_limited = rates.sampler.is_app_limited();
        let Acked { srtt, min_rtt, .. } = self.acked;
        self.control.on_send(&Sending { now, flight: before, app_limited, srtt, min_rtt });
    }

    fn on_end_acks(&mut self, now: Time, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.flight = in_flight;
        let Acked { delivered, fresh, newest, srtt, min_rtt } = std::mem::take(&mut self.acked);
        (self.acked.srtt, self.acked.min_rtt) = (srtt, min_rtt);
        if delivered == 0 {
            return;
        }
        let rtt = now.since(newest);
        if !std::mem::replace(&mut self.established, true) {
            self.control.on_established(Some(rtt));
        }
        if fresh > 0 && std::mem::take(&mut self.recovering) {
            // A packet that was sent after the cut is acknowledged: the recovery is over (RFC 9002 section 7.3.2).
            self.control.on_recovered(u64::MAX);
        }
        let round = fresh > 0 && largest.is_some_and(|largest| largest >= self.round_end);
        if round {
            self.round_end = self.next_number;
        }
        let rate = self.rated.as_mut().and_then(|rates| {
            if app_limited {
                rates.sampler.set_app_limited(in_flight);
            }
            let sample = rates.sampler.sample(now, delivered, min_rtt);
            // What left more than a few round trips ago will not be acknowledged any more.
            let long_ago = Time::from_nanos(now.as_nanos().saturating_sub(8 * srtt.max(rtt).as_nanos()));
            rates.sent = rates.sent.split_off(&long_ago);
            sample
        });
        self.control.on_ack(&Ack {
            now,
            acked: fresh,
            delivered,
            advance: delivered,
            flight: in_flight + delivered,
            pipe: in_flight,
            rtt: Some(rtt),
            srtt,
            min_rtt: min_rtt.min(rtt),
            round,
            window_limited: !app_limited,
            in_recovery: fresh == 0,
            rate,
            ..Ack::default()
        });
    }

    fn on_congestion(&mut self, now: Time, sent: Time, persistent: bool, lost: u64) {
        let Acked { srtt, min_rtt, .. } = self.acked;
        // RFC 9002 appendix B.6 reduces the window, whatever part of it was used; a control with a model of its own uses that.
        let window = if self.rated.is_some() { 0 } else { self.window() };
        let flight = self.flight.max(window);
        let congestion = |signal| Congestion { now, signal, flight, srtt, min_rtt };
        self.flight = self.flight.saturating_sub(lost);
        if let Some(rates) = &mut self.rated {
            rates.sampler.on_lost(lost);
        }
        if self.cut_at.is_none_or(|cut| sent > cut) {
            let signal = if lost == 0 { Signal::Mark } else { Signal::Loss };
            self.control.on_congestion(&congestion(signal));
            (self.cut_at, self.recovering) = (Some(now), true);
        }
        if persistent {
            self.control.on_congestion(&congestion(Signal::RepeatedTimeout));
            self.recovering = false;
        }
    }
}

/// A control whose events are recorded.
pub struct Watched {
    inner: Box<dyn Controller>,
    watch: Arc<Mutex<Watch>>,
}

/// A factory of controls that are watched.
pub struct Watching {
    /// Makes the control.
    pub inner: Arc<dyn ControllerFactory + Send + Sync>,
    /// The record of its events.
    pub watch: Arc<Mutex<Watch>>,
}

impl ControllerFactory for Watching {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Watched { inner: self.inner.clone().build(now, mtu), watch: self.watch.clone() })
    }
}

impl Watched {
    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().expect("a watch that does not panic")
    }
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, number: u64) {
        self.watch().on_sent(bytes);
        self.inner.on_sent(now, bytes, number);
    }
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.watch().on_ack(time(sent));
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.watch().on_end_acks(time(now), in_flight);
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.watch().on_congestion(time(now), time(sent), lost);
        self.inner.on_congestion_event(now, sent, persistent, lost);
    }
    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }
    fn window(&self) -> u64 {
        self.inner.window()
    }
    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Watched { inner: self.inner.clone_box(), watch: self.watch.clone() })
    }
    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
