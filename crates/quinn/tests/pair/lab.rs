//! Two ends of the library in the shared laboratory, on a wire of one rate and one delay.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use vazao_application::{Application, Sink, Source};
use vazao_congestion::Setup;
use vazao_engine::registry::{Parameters, Raw};
use vazao_engine::{Duration, RandomStream, Rate, Time};
use vazao_laboratory::{Arrival, Laboratory, Paths, Weather};
use vazao_quinn::Connection;
use vazao_transport::library::{Datagram, Library, Plan};
use vazao_transport::quic::Config;

/// Bytes of IP's and UDP's headers.
const HEADERS: u32 = 28;

/// A plan by names and values as texts; `cc` is ours unless it is one of the library's.
pub fn plan(seed: u64, given: &[(&str, &str)]) -> Plan {
    let mut given: BTreeMap<&str, &str> = given.iter().copied().collect();
    let control = given.remove("cc").unwrap_or("cubic").to_owned();
    let given: BTreeMap<_, _> = given.iter().map(|(name, value)| ((*name).into(), raw(value))).collect();
    let parameters = Parameters::resolve(Config::PARAMETERS, &given).expect("settings that exist");
    let name = control.clone();
    let own = name.strip_prefix("quinn-").map(str::to_owned);
    let make = own.is_none().then(|| {
        let make: vazao_transport::ControlFactory = std::sync::Arc::new(move |mss, seed| {
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
    Plan { parameters, control: own.unwrap_or(control), make, seed, logs: false }
}

fn raw(value: &str) -> Raw {
    match value.parse::<f64>() {
        Ok(number) => Raw::Number(number),
        Err(_) => Raw::Text(value.into()),
    }
}

/// A datagram as it was sent.
pub type Sent = vazao_laboratory::Sent<Datagram>;

/// A wire.
pub struct Wire {
    /// Bytes a second, both ways.
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
        let mut stream = RandomStream::new(seed, "loss");
        self.losing(move |_, _, _| stream.uniform() < p)
    }
}

/// Outcome of a transfer.
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

/// Both ends, their applications, and the wire between them.
struct Lab {
    ends: [Connection; 2],
    applications: [Application; 2],
    paths: Paths<Datagram>,
    wire: Wire,
    /// Datagrams that each end has sent.
    count: [u64; 2],
}

impl Laboratory for Lab {
    type Packet = Datagram;

    fn paths(&self) -> &Paths<Datagram> {
        &self.paths
    }
    fn paths_mut(&mut self) -> &mut Paths<Datagram> {
        &mut self.paths
    }

    fn wake(&self, end: usize) -> Time {
        self.ends[end].next_timeout()
    }

    fn handle(&mut self, arrival: Arrival<Datagram>) {
        self.ends[arrival.to].handle(self.paths.now, arrival.ecn, &arrival.packet);
    }

    fn handle_timeout(&mut self, end: usize) {
        if self.ends[end].next_timeout() <= self.paths.now {
            self.ends[end].handle_timeout(self.paths.now);
        }
    }

    fn serve(&mut self, from: usize) {
        let at = self.paths.now;
        self.ends[from].set_clock(at);
        self.applications[from].drive(at, &mut self.ends[from]);
        let mut datagram = Datagram::default();
        while self.ends[from].poll_transmit(at, &mut datagram) {
            let size = HEADERS + datagram.payload.len() as u32;
            let sent = Sent { at, from, path: 0, size, ecn: datagram.ecn, packet: datagram.clone() };
            self.paths.note(&sent);
            let number = self.count[from];
            self.count[from] += 1;
            let lost = (self.wire.loses)(from, number, at);
            let twice = (self.wire.doubles)(from, number);
            if !lost {
                let delay = self.wire.delay;
                self.paths.send_copies(sent, std::iter::once(delay).chain(twice.map(|extra| delay + extra)));
            }
        }
    }
}

/// Sends `size` bytes from the client, or else to it, over a wire.
pub fn transfer(plan: &Plan, upload: bool, size: u64, wire: Wire) -> Outcome {
    let ends = vazao_quinn::pair(plan).expect("a plan that can be carried out");
    let mut applications = [Application::Source(Source::new(Some(size), None)), Application::Sink(Sink::new(None))];
    if !upload {
        applications.swap(0, 1);
    }
    let weather = Weather { rate: Some(Rate::from_bps(8 * wire.rate)), queue: wire.queue, ..Weather::fair(0) };
    let mut lab = Lab { ends, applications, paths: Paths::new(vec![weather], 0), wire, count: [0; 2] };
    lab.paths.logs = true;
    lab.ends[0].handle_timeout(Time::ZERO);
    lab.run_until(600, |lab| lab.ends.iter().all(Library::is_over));
    Outcome { ends: lab.ends, applications: lab.applications, sent: lab.paths.log }
}
