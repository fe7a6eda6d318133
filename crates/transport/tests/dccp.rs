//! The DCCP machine in the shared laboratory.

#[path = "shared/application.rs"]
mod application;

use application::{Application, User};
use proptest::prelude::*;
use std::sync::Arc;
use vazao_congestion::Setup;
use vazao_engine::registry::{Parameters, Raw};
use vazao_engine::{Duration, Ecn, Time};
use vazao_laboratory::{Arrival, Laboratory, Paths, Sent, Weather, at};
use vazao_transport::ControlFactory;
use vazao_transport::dccp::{Config, Endpoint, Kind, Packet, State};

/// Bytes of a datagram in these tests.
const PAYLOAD: u64 = 1000;

fn control(name: &'static str, ack_ratio: u32) -> ControlFactory {
    Arc::new(move |mss, seed| {
        let slow_start =
            vazao_congestion::build_slow_start("standard", &Parameters::default(), f64::from(ack_ratio) / 2.0)
                .expect("the standard one");
        let setup = Setup { mss, initial_window: 3 * mss, initial_ssthresh: None, slow_start, seed };
        let entry = vazao_congestion::CONGESTION_CONTROLS.iter().find(|entry| entry.name == name).expect("a control");
        vazao_congestion::build(name, &Parameters::defaults(entry.parameters), setup).expect("a control")
    })
}

fn config(name: &'static str, ack_ratio: u32, ecn: bool) -> Config {
    let given = [("payload".into(), Raw::Number(PAYLOAD as f64)), ("ecn".into(), Raw::Flag(ecn))];
    let given = given.into_iter().chain([("ack_ratio".into(), Raw::Number(f64::from(ack_ratio)))]).collect();
    let parameters = Parameters::resolve(Config::PARAMETERS, &given).expect("settings that exist");
    Config::from((&parameters, control(name, ack_ratio)))
}

struct End {
    dccp: Endpoint,
    user: User,
}

struct Lab {
    ends: [End; 2],
    paths: Paths<Packet>,
    /// Whether a packet is lost, whatever the weather.
    lose: fn(usize, &Packet) -> bool,
}

impl Lab {
    fn new(config: &Config, sends: [u64; 2], weather: Weather, seed: u64) -> Lab {
        let config = Arc::new(config.clone());
        let ends = [Endpoint::connect(config.clone(), seed), Endpoint::listen(config, seed)];
        let mut sends = sends.into_iter();
        let ends = ends.map(|dccp| {
            let bytes = sends.next().expect("one for each end");
            let application = Application { closes_second: bytes == 0, ..Application::sends(bytes) };
            End { dccp, user: User::new(application) }
        });
        Lab { ends, paths: Paths::new(vec![weather], seed), lose: |_, _| false }
    }

    fn run(&mut self) {
        self.run_until(100_000, |lab| lab.paths.is_empty() && lab.ends.iter().all(|end| end.dccp.is_over()));
    }

    /// Packets that one end sent, with when.
    fn sent(&self, from: usize) -> impl Iterator<Item = &Sent<Packet>> {
        self.paths.log.iter().filter(move |sent| sent.from == from)
    }
}

impl Laboratory for Lab {
    type Packet = Packet;

    fn paths(&self) -> &Paths<Packet> {
        &self.paths
    }
    fn paths_mut(&mut self) -> &mut Paths<Packet> {
        &mut self.paths
    }
    fn wake(&self, end: usize) -> Time {
        self.ends[end].dccp.next_timeout()
    }
    fn handle(&mut self, arrival: Arrival<Packet>) {
        self.ends[arrival.to].dccp.handle(self.paths.now, &arrival.packet, arrival.ecn);
    }
    fn handle_timeout(&mut self, end: usize) {
        let dccp = &mut self.ends[end].dccp;
        if dccp.next_timeout() <= self.paths.now {
            dccp.handle_timeout(self.paths.now);
        }
    }
    fn serve(&mut self, from: usize) {
        let at = self.paths.now;
        let End { dccp, user } = &mut self.ends[from];
        user.act(at, dccp);
        let mut packet = Packet::default();
        while self.ends[from].dccp.poll_transmit(at, &mut packet) {
            assert!(packet.bytes() + 20 <= 1500, "a packet of {} bytes", packet.bytes());
            let packet = std::mem::take(&mut packet);
            let ecn = self.ends[from].dccp.ecn(&packet);
            let sent = Sent { at, from, path: 0, size: packet.bytes(), ecn, packet };
            self.paths.note(&sent);
            if !(self.lose)(from, &sent) {
                self.paths.send(sent);
            }
        }
        let dccp = &self.ends[from].dccp;
        assert!(dccp.flight() <= dccp.sent_bytes());
    }
}

fn fair(delay: u64, sends: [u64; 2]) -> Lab {
    let mut lab = Lab::new(&config("reno", 2, false), sends, Weather::fair(delay), 1);
    lab.paths.logs = true;
    lab
}

/// RFC 4340 section 8: Request, Response, Ack; data; Close, Reset.
#[test]
fn a_client_opens_and_closes() {
    let mut lab = fair(10, [2 * PAYLOAD, 0]);
    lab.run();
    let kinds: Vec<_> = lab.paths.log.iter().map(|sent| (sent.at, sent.from, sent.kind)).collect();
    let expected = [
        (at(0), 0, Kind::Request),
        (at(10), 1, Kind::Response),
        (at(20), 0, Kind::Ack),
        (at(20), 0, Kind::DataAck),
        (at(20), 0, Kind::DataAck),
        (at(30), 1, Kind::Ack),
        (at(40), 0, Kind::Close),
        (at(50), 1, Kind::Reset),
    ];
    assert_eq!(kinds, expected);
    assert_eq!([0, 1].map(|end| lab.ends[end].dccp.state()), [State::TimeWait, State::Closed]);
}

/// Section 8.3: a server asks its client to close, so that it is the client that remembers the connection.
#[test]
fn a_server_that_is_done_asks_its_client_to_close() {
    let mut lab = fair(10, [0, 3 * PAYLOAD]);
    lab.run();
    let last: Vec<_> = lab.paths.log.iter().map(|sent| (sent.from, sent.kind)).rev().take(3).collect();
    assert_eq!(last, [(1, Kind::Reset), (0, Kind::Close), (1, Kind::CloseReq)]);
    assert_eq!([0, 1].map(|end| lab.ends[end].dccp.state()), [State::TimeWait, State::Closed]);
    assert_eq!(lab.ends[0].user.received, 3 * PAYLOAD);
}

/// RFC 4341 section 5: from three packets on, one more for every two that are acknowledged: 3, 4.5, 6.5, 9.5, 14.
#[test]
fn slow_start_grows_by_a_half_each_round_trip() {
    let mut lab = fair(500, [60 * PAYLOAD, 0]);
    lab.run();
    let round = |sent: &Sent<Packet>| sent.at.as_nanos() / 1_000_000_000;
    let counts: Vec<_> =
        (1..6).map(|number| lab.sent(0).filter(|sent| sent.kind.has_data() && round(sent) == number).count()).collect();
    assert_eq!(counts, [3, 4, 6, 9, 14]);
}

/// A packet is lost once three later ones have arrived, and costs half of the window: once for all losses of a window.
#[test]
fn losses_of_one_window_halve_it_once() {
    let mut lab = fair(50, [200 * PAYLOAD, 0]);
    lab.lose =
        |from, packet| from == 0 && packet.datagram.is_some_and(|datagram| [40, 42, 44].contains(&datagram.sequence));
    lab.run();
    let stats = lab.ends[0].dccp.stats();
    assert_eq!((stats.lost, stats.recoveries, stats.timeouts), (3, 1, 0));
    assert_eq!(stats.delivered, 197 * PAYLOAD);
    assert_eq!(lab.ends[1].user.received, 197 * PAYLOAD, "nothing is sent again");
}

/// RFC 6298: nothing comes back, and the timer of 1 s expires, then twice that.
#[test]
fn silence_ends_with_one_packet_for_each_timeout() {
    let mut lab = fair(50, [20 * PAYLOAD, 0]);
    lab.lose = |from, packet| from == 0 && packet.datagram.is_some_and(|datagram| datagram.sequence < 6);
    lab.run();
    let data: Vec<_> = lab.sent(0).filter(|sent| sent.kind.has_data()).map(|sent| sent.at).take(7).collect();
    let ms = Duration::from_millis;
    let first = at(100);
    assert_eq!(data, [first, first, first, first + ms(1000), first + ms(3000), first + ms(7000), first + ms(15_000)]);
}

/// A mark cuts the window as a loss does, and nothing is lost.
#[test]
fn a_mark_halves_the_window() {
    let mut lab =
        Lab::new(&config("reno", 2, true), [300 * PAYLOAD, 0], Weather { marking: 2, ..Weather::fair(20) }, 3);
    lab.run();
    let stats = lab.ends[0].dccp.stats();
    assert!(stats.mark_reductions > 0 && stats.lost == 0, "{stats:?}");
    assert_eq!(lab.ends[1].user.received, 300 * PAYLOAD);
}

/// The receiver forgets what its sender knows: acknowledgements stay short however long the connection.
#[test]
fn acknowledgements_stay_short() {
    let mut lab =
        Lab::new(&config("reno", 2, false), [20_000 * PAYLOAD, 0], Weather { loss: 1, ..Weather::fair(20) }, 5);
    lab.paths.logs = true;
    lab.run();
    let longest = lab.sent(1).map(|sent| sent.options()).max();
    assert!(longest < Some(100), "{longest:?}");
}

const CONTROLS: [&str; 5] = ["reno", "cubic", "bbr", "vegas", "dctcp"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 4))]

    /// Whatever the network does, a connection ends; a datagram that is not said to be lost has arrived, each counts once, and what
    /// is read is no more than was written.
    #[test]
    fn every_datagram_is_accounted_for(
        (bytes, up, ratio, ecn) in (0u64..150_000, any::<bool>(), 1u32..9, any::<bool>()),
        name in prop::sample::select(&CONTROLS[..]),
        (delay, jitter, loss, duplication, marking) in (0u64..200, 0u64..100, 0u64..35, 0u64..25, 0u64..40),
        (seed, calm_after) in (any::<u64>(), 0u64..800),
    ) {
        let weather = Weather { jitter, loss, duplication, marking, ..Weather::fair(delay) };
        let sends = if up { [bytes, 0] } else { [0, bytes] };
        let mut lab = Lab::new(&config(name, ratio, ecn), sends, weather, seed);
        lab.paths.calm_after = calm_after;
        lab.run();
        let (sender, receiver) = if up { (&lab.ends[0], &lab.ends[1]) } else { (&lab.ends[1], &lab.ends[0]) };
        let failed = lab.ends.iter().any(|end| end.dccp.failure().is_some());
        prop_assert!(lab.ends.iter().all(|end| end.dccp.is_over()) || failed);
        let stats = sender.dccp.stats();
        let arrived = receiver.dccp.received().datagrams;
        prop_assert!(arrived <= stats.packets && receiver.user.received <= bytes);
        prop_assert!(failed || arrived >= stats.packets - stats.lost);
        if !failed {
            prop_assert_eq!(sender.dccp.flight(), 0);
            prop_assert_eq!(stats.packets, bytes.div_ceil(PAYLOAD));
            prop_assert!(receiver.user.received >= stats.delivered);
        }
    }
}

#[test]
fn data_is_marked_as_capable_and_nothing_else_is() {
    let endpoint = Endpoint::connect(Arc::new(config("reno", 2, true)), 1);
    let packet = |kind| Packet { kind, ..Packet::default() };
    assert_eq!(endpoint.ecn(&packet(Kind::Data)), Ecn::Ect0);
    assert_eq!(endpoint.ecn(&packet(Kind::Ack)), Ecn::NotEct);
}
