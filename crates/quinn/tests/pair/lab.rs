//! Two ends on a wire of one rate and one delay, which loses what it is told to.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use vazao_application::{Application, Sink, Source};
use vazao_congestion::Setup;
use vazao_engine::registry::{Parameters, Raw};
use vazao_engine::{Duration, Ecn, Stream, Time};
use vazao_quinn::Connection;
use vazao_transport::library::{Datagram, Library, Plan};
use vazao_transport::quic::PARAMETERS;

/// Bytes of IP's and UDP's headers.
const HEADERS: u64 = 28;

/// A plan by names and values as texts; `cc` is ours unless it is one of the library's.
pub fn plan(seed: u64, given: &[(&str, &str)]) -> Plan {
    let mut given: BTreeMap<&str, &str> = given.iter().copied().collect();
    let control = given.remove("cc").unwrap_or("cubic").to_owned();
    let given: BTreeMap<_, _> = given.iter().map(|(name, value)| ((*name).into(), raw(value))).collect();
    let parameters = Parameters::resolve(PARAMETERS, &given).expect("settings that exist");
    let name = control.clone();
    let ours = !name.starts_with("quinn-");
    let make = ours.then(|| {
        let make: vazao_transport::tcp::ControlFactory = std::sync::Arc::new(move |mss, seed| {
            let entry =
                vazao_congestion::CONGESTION_CONTROLS.iter().find(|entry| entry.name == name).expect("a control");
            let slow_start = vazao_congestion::build_slow_start("standard", &Parameters::default(), 1000.0);
            let setup = Setup {
                mss,
                initial_window: 10 * mss,
                initial_ssthresh: None,
                slow_start: slow_start.expect("standard"),
                seed,
            };
            vazao_congestion::build(&name, &Parameters::defaults(entry.parameters), setup).expect("a control")
        });
        make
    });
    Plan { parameters, control, make, seed, logs: false }
}

fn raw(value: &str) -> Raw {
    match value.parse::<f64>() {
        Ok(number) => Raw::Number(number),
        Err(_) => Raw::Text(value.into()),
    }
}

/// A datagram as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Time,
    pub side: usize,
    pub ecn: Ecn,
    pub bytes: Vec<u8>,
}

/// A direction of the wire.
pub struct Wire {
    /// Bytes a second.
    pub rate: u64,
    pub delay: Duration,
    /// Bytes that may wait.
    pub queue: u64,
    /// Which datagrams of each side are lost, by their number from 0 and when they are sent.
    pub loses: Box<dyn FnMut(usize, u64, Time) -> bool>,
    /// Whether a datagram is delivered twice, and how much later the other one comes.
    pub doubles: Box<dyn FnMut(usize, u64) -> Option<Duration>>,
}

impl Wire {
    pub fn new(rate: u64, delay: Duration) -> Wire {
        Wire { rate, delay, queue: u64::MAX, loses: Box::new(|_, _, _| false), doubles: Box::new(|_, _| None) }
    }
    pub fn losing(self, loses: impl FnMut(usize, u64, Time) -> bool + 'static) -> Wire {
        Wire { loses: Box::new(loses), ..self }
    }
    /// Loses each datagram with probability `p`.
    pub fn lossy(self, seed: u64, p: f64) -> Wire {
        let mut stream = Stream::new(seed, "loss");
        self.losing(move |_, _, _| stream.uniform() < p)
    }
}

/// What came of a transfer.
pub struct Outcome {
    pub ends: [Connection; 2],
    pub applications: [Application; 2],
    pub sent: Vec<Sent>,
}

impl Outcome {
    pub fn sink(&self) -> &Sink {
        self.applications.iter().find_map(Application::sink).expect("one reads")
    }
    /// Whether every byte has come once, in order, and right, and both ends are done without complaint.
    pub fn assert_whole(&self, size: u64) {
        let misplaced: u64 = self.ends.iter().map(|end| end.report().misplaced).sum();
        let failures: Vec<_> = self.ends.iter().map(Library::failure).collect();
        let sink = self.sink();
        assert_eq!((sink.received(), sink.is_closed(), sink.is_disordered()), (size, true, false), "{failures:?}");
        assert_eq!((misplaced, failures), (0, vec![None, None]));
        assert!(self.ends.iter().all(Library::is_over));
    }
}

/// Sends `size` bytes from the client, or else to it, over a wire.
pub fn transfer(plan: &Plan, upload: bool, size: u64, mut wire: Wire) -> Outcome {
    let mut ends = vazao_quinn::pair(plan).expect("a plan that can be carried out");
    let mut applications = [Application::Source(Source::new(Some(size), None)), Application::Sink(Sink::new(None))];
    if !upload {
        applications.swap(0, 1);
    }
    let mut sent = Vec::new();
    let mut arrivals: BTreeMap<(Time, u64), (usize, Datagram)> = BTreeMap::new();
    let (mut free, mut count, mut now) = ([Time::ZERO; 2], [0; 2], Time::ZERO);
    ends[0].handle_timeout(now);
    let mut order = 0;
    loop {
        for side in 0..2 {
            ends[side].set_clock(now);
            applications[side].drive(now, &mut ends[side]);
            let mut datagram = Datagram::default();
            while ends[side].poll_transmit(now, &mut datagram) {
                let lost = (wire.loses)(side, count[side], now);
                let twice = (wire.doubles)(side, count[side]);
                count[side] += 1;
                sent.push(Sent { at: now, side, ecn: datagram.ecn, bytes: datagram.payload.clone() });
                let waiting = free[side].since(now.min(free[side])).as_nanos() * wire.rate / 1_000_000_000;
                if lost || waiting > wire.queue {
                    continue;
                }
                let bytes = HEADERS + datagram.payload.len() as u64;
                free[side] = free[side].max(now) + Duration::from_nanos(bytes * 1_000_000_000 / wire.rate);
                for extra in [Some(Duration::ZERO), twice].into_iter().flatten() {
                    order += 1;
                    arrivals.insert((free[side] + wire.delay + extra, order), (1 - side, datagram.clone()));
                }
            }
        }
        if ends.iter().all(Library::is_over) {
            break;
        }
        let alarm = ends.iter().map(Library::next_timeout).min().expect("two ends");
        let arrival = arrivals.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        let next = alarm.min(arrival);
        if next == Time::NEVER || next > Time::from_nanos(600_000_000_000) {
            break;
        }
        now = now.max(next);
        if arrival <= alarm {
            let (_, (side, datagram)) = arrivals.pop_first().expect("an arrival");
            ends[side].handle(now, datagram.ecn, &datagram);
        } else {
            ends.iter_mut().filter(|end| end.next_timeout() <= now).for_each(|end| end.handle_timeout(now));
        }
    }
    Outcome { ends, applications, sent }
}
