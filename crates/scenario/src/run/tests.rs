//! Tests of our own TCP as a guest, which must behave like a machine of the world.

use super::*;
use crate::guests::plan::HostPlan;
use crate::measures::table::Column;
use crate::model::address::Socket;
use crate::model::extensions::Extensions;
use crate::model::guest::Kernel;
use crate::model::scenario::Scenario;
use crate::packs::tcp::bytes::{Contents, Offsets, decode, encode};
use crate::results::collect::Outcome;
use crate::run::{Options, run};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use vazao_application::{Application, Sink, Source};
use vazao_congestion::Setup;
use vazao_engine::registry::Parameters;
use vazao_guest_protocol::{self as protocol, Act, Event, Report, Role, Task};
use vazao_transport::tcp::{Config, Connection, Extra};

/// One connection that exchanges bytes and reports as a guest's first program does.
struct Bytes {
    number: u32,
    connection: Connection,
    application: Application,
    offsets: [Offsets; 2],
    sockets: [Socket; 2],
    start: Time,
    started: bool,
    now: Time,
    sent: VecDeque<(usize, Vec<u8>)>,
    reports: VecDeque<String>,
    reported: Vec<Event>,
}

impl Bytes {
    /// `shift`: how far its payload is from where it says that it is.
    fn new(plan: &HostPlan, shift: u32) -> Bytes {
        let [protocol::Flow { number, role, start, task: Task::Transfer(transfer) }] = &plan.plan.flows[..] else {
            panic!("one transfer: {:?}", plan.plan.flows)
        };
        let [local, peer] = [transfer.local, transfer.peer].map(|socket| Socket {
            interface: 0,
            address: socket.ip().octets(),
            port: socket.port(),
            iss: 7_000,
        });
        let application = match transfer.act {
            Act::Send { size, .. } => Application::Source(Source::new(size, None)),
            Act::Receive { .. } => Application::Sink(Sink::new(None)),
        };
        let is_client = *role == Role::Client;
        let config = config();
        Bytes {
            number: *number,
            connection: if is_client {
                Connection::connect(config, local.iss)
            } else {
                Connection::listen(config, local.iss)
            },
            application,
            offsets: [Offsets::from(local.iss.wrapping_sub(shift)), Offsets::default()],
            sockets: [local, peer],
            start: if is_client { Time::from_nanos(*start) } else { Time::NEVER },
            started: !is_client,
            now: Time::ZERO,
            sent: VecDeque::new(),
            reports: VecDeque::new(),
            reported: Vec::new(),
        }
    }

    fn report(&mut self, event: Event) {
        if !self.reported.contains(&event) {
            self.reported.push(event.clone());
            self.reports.push_back(protocol::encode(&Report::Flow { number: self.number, event }));
        }
    }

    fn serve(&mut self, now: Time) {
        self.now = now;
        self.application.drive(now, &mut self.connection);
        let mut extra = Extra::default();
        while let Some(segment) = self.connection.poll_transmit(now, &mut extra) {
            let mut bytes = Vec::new();
            let ends = (self.sockets[0].place(), self.sockets[1].place());
            let contents = Contents::of(&segment, &mut self.offsets[0]);
            encode(&segment, segment.has_extra.then_some(&extra), ends, contents, usize::MAX, &mut bytes);
            self.sent.push_back((0, bytes));
        }
        if self.connection.stats().established.is_some() {
            self.report(Event::Up);
        }
        match &self.application {
            Application::Source(source) if source.is_finished() => {
                let bytes = source.written();
                self.report(Event::Sent { bytes });
            }
            Application::Sink(sink) if sink.received() > 0 => {
                let last = Event::Last { bytes: sink.received(), intact: !sink.is_disordered(), ended: true };
                let is_closed = sink.is_closed();
                self.report(Event::First);
                if is_closed {
                    self.report(last);
                }
            }
            _ => {}
        }
        if self.connection.is_over() {
            self.report(Event::Over(protocol::End::Closed));
        }
    }
}

impl Host for Bytes {
    fn next_timeout(&self) -> Time {
        let own = if self.started { self.connection.next_timeout() } else { self.start };
        own.max(self.now).min(if own == Time::NEVER { own } else { Time::NEVER })
    }
    fn handle_timeout(&mut self, now: Time, _: Time) -> Result<Time, String> {
        self.started = true;
        if self.connection.next_timeout() <= now {
            self.connection.handle_timeout(now);
        }
        self.serve(now);
        Ok(now)
    }
    fn handle(&mut self, now: Time, interface: usize, packet: &[u8]) -> Result<(), String> {
        assert_eq!(interface, 0, "it has one interface");
        let (segment, extra) = decode(packet, &mut self.offsets[1]).map_err(|e| e.to_string())?;
        self.connection.handle(now, &segment, extra.as_ref());
        self.serve(now);
        Ok(())
    }
    fn poll_transmit(&mut self) -> Option<(usize, Vec<u8>)> {
        self.sent.pop_front()
    }
    fn poll_report(&mut self) -> Option<String> {
        self.reports.pop_front()
    }
}

fn config() -> Arc<Config> {
    let parameters = Parameters::resolve(Config::PARAMETERS, &BTreeMap::new()).expect("defaults");
    let control = |mss, seed| {
        let setup = Setup {
            mss,
            initial_window: 10 * mss,
            initial_ssthresh: None,
            slow_start: vazao_congestion::build_slow_start("standard", &Parameters::default(), 2.0).expect("known"),
            seed,
        };
        vazao_congestion::build("reno", &Parameters::default(), setup).expect("known")
    };
    Arc::new(Config::new(&parameters, Arc::new(control)))
}

fn play(app: &str, loss: &str, stack: &str) -> Outcome {
    play_shifted(app, loss, stack, 0)
}

fn play_shifted(app: &str, loss: &str, stack: &str, shift: u32) -> Outcome {
    let text = format!(
        "[network]\ntopology = 'point-to-point'\nlink = {{ rate = '10 Mbps', delay = '20 ms', queue = '40 packets'{loss} }}\n\
         [[flow]]\napp = {app}\ntransport = {{ kind = 'tcp', cc = 'reno', stack = {stack} }}\n"
    );
    let kernel = Kernel { path: "".into(), version: "none".into(), config: "".into(), digest: "".into(), hz: 0 };
    let extensions = Extensions { kernels: [("6.12".to_owned(), kernel)].into(), ..Extensions::default() };
    let scenario = Scenario::load_with(&text, "", Vec::new(), None, &extensions).unwrap_or_else(|e| panic!("{e}"));
    let start = |plan: &HostPlan| Ok(Box::new(Bytes::new(plan, shift)) as Box<dyn Host>);
    let options = Options { start: Some(&start), ..Options::default() };
    run(&scenario, &AtomicBool::new(false), options).expect("it runs")
}

fn column<'a>(outcome: &'a Outcome, name: &str) -> &'a Column {
    &outcome.flows.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no column {name}")).1
}

/// Sides by bytes or by segments, in every mixture, alone and with losses: the same flow to the nanosecond, and counted
/// from the wire as the machine counts itself.
#[test]
fn bytes_and_segments_make_the_same_run() {
    for app in ["{ kind = 'upload', size = '2 MB' }", "{ kind = 'download', size = '2 MB' }"] {
        for loss in [
            "",
            ", loss = 0.01",
            ", loss = { kind = 'list', packets = [1, 2, 30, 31, 32, 500] }",
            ", loss = 0.01, strip = ['sack', 'timestamps', 'window-scale', 'mptcp']",
            ", loss = 0.01, duplicate = 0.01, reverse = { strip = ['sack', 'timestamps'] }",
        ] {
            let ours = play(app, loss, "'vazao'");
            for stack in ["'linux'", "{ client = 'linux' }", "{ server = 'linux' }"] {
                let other = play(app, loss, stack);
                for name in [
                    "app_bytes",
                    "completion_s",
                    "completed",
                    "intact",
                    "first_byte_s",
                    "handshake_s",
                    "packets_lost",
                    "packets_sent",
                    "retransmissions",
                    "owd_p50_s",
                    "jitter_s",
                ] {
                    assert_eq!(column(&ours, name), column(&other, name), "{name} with {app}{loss} and {stack}");
                }
                assert_eq!(ours.links[1..], other.links[1..], "links with {app}{loss} and {stack}");
            }
        }
    }
}

/// A guest that sends other bytes than those that belong there is found out by our receiver.
#[test]
fn wrong_bytes_are_said_to_be_wrong() {
    for (shift, intact) in [(0, true), (1, false)] {
        let outcome = play_shifted("{ kind = 'upload', size = '20 kB' }", "", "{ client = 'linux' }", shift);
        assert_eq!(column(&outcome, "intact"), &Column::Flag(vec![Some(intact)]), "shifted by {shift}");
    }
}
