//! Web pages against closed forms: round trips, shares of a link, what a lost packet keeps waiting.

use crate::lab::{MSS, PACKET, assert_close, cell, column, nanos, number, play};
use vazao_scenario::{Column, Outcome};

fn scenario(link: &str, app: &str, transport: &str) -> String {
    format!(
        "[network]\ntopology = \"point-to-point\"\nlink = {{ {link} }}\n\
         [[flow]]\napp = {{ kind = \"page\", {app} }}\ntransport = {{ {transport} }}\n"
    )
}

/// So fast a link that packets take no time, to the nanosecond: what is left is round trips of 100 ms.
const FAST: &str = "rate = \"1000 Tbps\", delay = \"50 ms\"";

/// A page's load time in round trips of the fast link.
fn round_trips(app: &str, transport: &str) -> f64 {
    let outcome = play(&scenario(FAST, app, transport), 1);
    let time = nanos(&outcome.flows, "completion_s", 0);
    assert!(time % 50_000_000 < 1000, "{app}: {time} ns");
    whole(&outcome);
    (time / 50_000_000) as f64 / 2.0
}

/// Every object came, whole and in its place.
fn whole(outcome: &Outcome) {
    let value = |name| number(&outcome.flows, name, 0);
    assert_eq!((value("completed"), value("intact")), (1.0, 1.0));
}

/// On one connection all requests go at once: one round trip after the handshakes, one more if a document names the objects.
#[test]
fn over_http_2_a_small_page_takes_a_round_trip_after_its_handshakes() {
    for (tls, handshakes) in [("", 1.0), (", tls = \"1.3\"", 2.0), (", tls = \"1.2\"", 3.0)] {
        let transport = format!("kind = \"tcp\"{tls}");
        assert_eq!(round_trips("objects = 30, size = \"100 B\"", &transport), handshakes + 1.0, "{tls}");
        let rooted = "objects = 30, size = \"100 B\", root = \"1 kB\"";
        assert_eq!(round_trips(rooted, &transport), handshakes + 2.0, "{tls}, with a document");
    }
}

/// QUIC's handshake is TLS's too (RFC 9000, section 7); a request may be in its first flight, where a client knows the server.
#[test]
fn over_http_3_a_small_page_takes_a_round_trip_after_its_one_handshake() {
    for (handshake, trips) in [("1-rtt", 1.0), ("0-rtt", 0.0)] {
        for priority in ["fair", "order"] {
            let transport = format!("kind = \"quic\", handshake = \"{handshake}\"");
            let app = format!("objects = 20, size = \"100 B\", priority = \"{priority}\"");
            assert_eq!(round_trips(&app, &transport), trips + 1.0, "{handshake}");
            assert_eq!(
                round_trips(&format!("{app}, root = \"1 kB\""), &transport),
                trips + 2.0,
                "{handshake}, document"
            );
        }
    }
}

/// A server lets its client have so many streams open, and as soon as some are over as many more
/// (RFC 9000, section 4.6): it hears of that by an acknowledgement, which waits for at most 25 ms, and its word takes half
/// a round trip, as do the request and the response.
#[test]
fn over_http_3_a_page_waits_for_streams() {
    let time = |most| {
        let transport = format!("kind = \"quic\", max_streams = {most}");
        let outcome = play(&scenario(FAST, "objects = 30, size = \"100 B\"", &transport), 1);
        whole(&outcome);
        number(&outcome.flows, "completion_s", 0)
    };
    assert_close(time(30), 0.2, 1e-4, "all at once");
    // Ten at a time; of the first ten the last two are awaited no longer than the others.
    assert!((0.6..=0.6 + 2.0 * 0.025).contains(&time(10)), "{}", time(10));
    // One that is too many waits for the first that is over, not for half of them.
    assert!((0.4..=0.4 + 0.025).contains(&time(29)), "{}", time(29));
}

/// Two responses of 3.7 turns each at 10 Mbit/s, by a window that keeps nothing back: they alternate, so that the first is over
/// by what is the second's last turn, 0.7 of one; of HTTP/3's, which end with a packet and so are up to a packet longer, 0.5 to
/// 0.7. In order the first is over in half the time of both.
#[test]
fn responses_take_turns() {
    let link = "rate = \"10 Mbps\", delay = \"1 ms\"";
    for (http, transport) in [("2", "kind = \"tcp\""), ("3", "kind = \"quic\"")] {
        let ends = |bytes: u32, priority: &str| {
            let app = format!("objects = 2, size = \"{bytes} B\", http = \"{http}\", {priority}");
            let outcome = play(&scenario(link, &app, transport), 1);
            whole(&outcome);
            let [mean, last] = ["message_latency_mean_s", "completion_s"].map(|name| number(&outcome.flows, name, 0));
            [2.0 * mean - last, last]
        };
        for turn in [8_192, 16_384] {
            let [first, second] = ends(turn * 37 / 10, &format!("turn = \"{turn} B\""));
            // Packets of 1500 bytes carry at least 1400; where the last one ends is not known.
            let packet = 1500.0 * 8.0 / 10e6;
            let turns = |part: f64, carried: f64| part * f64::from(turn) / carried * packet;
            let part = if http == "2" { 0.7 } else { 0.5 };
            let (least, most) = (turns(part, 1500.0) - packet, turns(0.7, 1400.0) + packet);
            let between = second - first;
            assert!((least..=most).contains(&between), "HTTP/{http}, {turn} B: {between} s");
        }
        let [first, second] = ends(300_000, "priority = \"order\"");
        assert_close(first / second, 0.5, 0.03, http);
    }
}

/// Six connections carry six objects a round trip, pipelined so many times more.
#[test]
fn over_http_1_a_small_page_takes_a_round_trip_for_every_six_objects() {
    for (objects, pipeline) in [(1_i32, 1_i32), (6, 1), (7, 1), (60, 1), (36, 3), (60, 5)] {
        let app = format!("http = \"1.1\", objects = {objects}, size = \"100 B\", pipeline = {pipeline}");
        let rounds = f64::from((objects + 6 * pipeline - 1) / (6 * pipeline));
        assert_eq!(round_trips(&app, "kind = \"tcp\""), 1.0 + rounds, "{app}");
        assert_eq!(round_trips(&app, "kind = \"tcp\", tls = \"1.3\""), 2.0 + rounds, "{app}");
    }
}

/// While the document comes there is one connection. From then on it carries an object each round trip; the five others
/// are first opened, and do so one round trip later.
#[test]
fn connections_are_opened_when_there_is_something_to_ask_for() {
    for objects in [1, 2, 6, 7, 12, 13, 40] {
        let app = format!("http = \"1.1\", objects = {objects}, size = \"100 B\", root = \"1 kB\"");
        let carried = |trips: i32| (trips - 2).max(0) + 5 * (trips - 3).max(0);
        let expected = (2..).find(|&trips| carried(trips) >= objects).expect("some time");
        assert_eq!(round_trips(&app, "kind = \"tcp\""), f64::from(expected), "{objects} objects");
        let outcome = play(&scenario(FAST, &app, "kind = \"tcp\""), 1);
        assert_eq!(number(&outcome.flows, "connections", 0), f64::from(objects.min(6)));
    }
}

/// A link that one connection fills is filled until the last byte: a page takes the time of its bytes, whoever carries it.
///
/// Two round trips pass at first; the bytes are those of bodies and headers (20 kB objects have two DATA frames of HTTP/2)
/// in segments of 1448 bytes. A segment more for each object that does not fill its last one, and the headers of ACKs, make
/// at most 14 segments of 15, so a tenth more.
#[test]
fn a_page_takes_the_time_of_its_bytes() {
    let link = "rate = \"10 Mbps\", delay = \"1 ms\", queue = \"1000 packets\"";
    for (http, headers) in [("1.1", 500.0), ("2", 9.0 + 75.0 + 2.0 * 9.0)] {
        let app = format!("http = \"{http}\", objects = 100, size = \"20 kB\"");
        let outcome = play(&scenario(link, &app, "kind = \"tcp\""), 1);
        whole(&outcome);
        let least = 100.0 * (20e3 + headers) * PACKET / MSS * 8.0 / 10e6 + 2.0 * 0.002;
        let time = number(&outcome.flows, "completion_s", 0);
        assert!((least..1.1 * least).contains(&time), "http {http}: {time}, not from {least}");
        assert_eq!(number(&outcome.flows, "app_bytes", 0), 2e6);
        assert_eq!(number(&outcome.flows, "messages_delivered", 0), 100.0);
    }
}

/// The mean completion of n equal objects of m frames on a full link that takes the time T for all: one after the other
/// T (n + 1) / 2n, frame by frame in turn T (1 - (n - 1) / 2nm), as the k-th ends k-th in the last of m rounds.
#[test]
fn in_order_half_the_page_is_there_in_half_the_time_and_fairly_none_of_it() {
    // A queue that holds all of it: nothing is lost.
    let link = "rate = \"10 Mbps\", delay = \"1 ms\", queue = \"10 MB\"";
    let (n, m) = (20.0, 10.0);
    for (priority, part) in [("order", (n + 1.0) / (2.0 * n)), ("fair", 1.0 - (n - 1.0) / (2.0 * n * m))] {
        // Ten full frames.
        let app = format!("objects = 20, size = \"163840 B\", priority = \"{priority}\"");
        let outcome = play(&scenario(link, &app, "kind = \"tcp\""), 1);
        whole(&outcome);
        let (time, mean) =
            (number(&outcome.flows, "completion_s", 0), number(&outcome.flows, "message_latency_mean_s", 0));
        // The handshakes' 4 ms of 2.7 s, and a frame more or less of 200.
        assert_close(mean / time, part, 0.01, priority);
    }
}

/// Six objects of a packet each, and the first packet with one is lost: on one connection all wait for its repair, a round
/// trip or more; where each has a connection of its own only the one does that the packet carried.
#[test]
fn a_lost_packet_keeps_waiting_what_is_behind_it_on_its_connection() {
    // Behind the SYN-ACKs of one connection, or of six.
    for (http, lost, median) in [("2", 2, 0.3), ("1.1", 7, 0.2)] {
        let link = format!("{FAST}, reverse = {{ loss = {{ kind = \"list\", packets = [{lost}] }} }}");
        let app = format!("http = \"{http}\", objects = 6, size = \"1300 B\"");
        let outcome = play(&scenario(&link, &app, "kind = \"tcp\""), 1);
        whole(&outcome);
        let value = |name| number(&outcome.flows, name, 0);
        assert_eq!(value("packets_lost"), 1.0);
        // A histogram's quantiles are within 0.8 %.
        assert_close(value("message_latency_p50_s"), median, 0.01, http);
        assert!(value("completion_s") >= 0.3, "http {http}: {}", value("completion_s"));
    }
}

/// The same over HTTP/3: whichever packet with an object is lost, the others do not wait for it.
#[test]
fn over_http_3_nothing_waits_behind_a_lost_packet_but_its_own_object() {
    let mut seen = 0;
    for lost in 1..30 {
        let link = format!("{FAST}, reverse = {{ loss = {{ kind = \"list\", packets = [{lost}] }} }}");
        // A packet has parts of two or three, of eight.
        let outcome = play(&scenario(&link, "objects = 8, size = \"1000 B\"", "kind = \"quic\""), 1);
        whole(&outcome);
        let value = |name| number(&outcome.flows, name, 0);
        let has_an_object = value("handshake_s") < 0.11 && value("packets_lost") == 1.0 && value("completion_s") > 0.21;
        if has_an_object {
            seen += 1;
            assert_close(value("message_latency_p50_s"), 0.2, 0.01, &format!("packet {lost}"));
            assert!(value("completion_s") >= 0.3, "packet {lost}: {}", value("completion_s"));
        }
    }
    // 8.5 kB in packets of 1452 bytes.
    assert!(seen >= 6, "{seen} packets carried objects");
}

/// Whatever the network does to packets, over whatever carries it, every object comes whole.
#[test]
fn every_object_is_whole() {
    let wire = "rate = \"20 Mbps\", delay = \"10 ms\", loss = 0.03, reorder = 0.02, duplicate = 0.02, corrupt = 0.01";
    let apps = ["http = \"2\"", "http = \"2\", priority = \"order\"", "http = \"1.1\"", "http = \"1.1\", pipeline = 4"];
    let transports = [
        "kind = \"tcp\"",
        "kind = \"tcp\", tls = \"1.3\"",
        "kind = \"tcp\", tls = \"1.2\", send_buffer = \"20 kB\"",
        "kind = \"sctp\"",
        "kind = \"mptcp\"",
    ];
    for (number_of, app) in apps.iter().enumerate() {
        for transport in transports {
            let app = format!("{app}, objects = 40, size = \"lognormal 15 kB\", root = \"10 kB\"");
            let outcome = play(&scenario(wire, &app, transport), 1 + number_of as u64);
            whole(&outcome);
            let value = |name| number(&outcome.flows, name, 0);
            assert_eq!(value("messages_delivered"), 41.0, "{app} {transport}");
            assert!(value("retransmissions") > 0.0 && value("completion_s") == value("last_byte_s"));
        }
    }
    for app in ["objects = 150", "objects = 40, priority = \"order\""] {
        for transport in ["kind = \"quic\"", "kind = \"quic\", handshake = \"0-rtt\", max_streams = 20"] {
            let app = format!("{app}, size = \"lognormal 15 kB\", root = \"10 kB\"");
            let outcome = play(&scenario(wire, &app, transport), 1);
            whole(&outcome);
            assert!(number(&outcome.flows, "retransmissions", 0) > 0.0);
        }
    }
}

/// Over thirty pages with losses of every kind of luck: what a server would send again and what has arrived meanwhile meet.
#[test]
fn http_3_outlives_every_luck() {
    let wire = "rate = \"10 Mbps\", delay = \"20 ms\", queue = \"30 packets\", loss = 0.05, reorder = 0.02";
    for seed in 1..=30 {
        let text = scenario(wire, "objects = 60, size = \"lognormal 15 kB\", root = \"20 kB\"", "kind = \"quic\"");
        let outcome = play(&text, seed);
        whole(&outcome);
        assert_eq!(number(&outcome.flows, "messages_delivered", 0), 61.0);
    }
}

/// A page is one flow of the results, its connections are paths of it, and what they counted adds up to what it did.
#[test]
fn a_page_is_one_flow_and_its_connections_are_its_paths() {
    let app = "http = \"1.1\", objects = 40, size = \"20 kB\"";
    let link = "rate = \"10 Mbps\", delay = \"10 ms\", loss = 0.02";
    let text = format!(
        "trace = [\"cwnd\"]\n{}[[flow]]\nclient = \"a\"\nserver = \"b\"\napp = {{ kind = \"upload\", size = \"100 kB\" }}\n",
        scenario(link, app, "kind = \"tcp\"")
    );
    let outcome = play(&text, 1);
    let of = |table, name: &str| match column(table, name) {
        Column::Integer(values) => values.iter().map(|value| value.expect("a number")).collect::<Vec<_>>(),
        _ => panic!("{name} is not numbers"),
    };
    assert_eq!(of(&outcome.flows, "flow"), [0, 1]);
    assert_eq!(of(&outcome.paths, "flow"), [0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(of(&outcome.paths, "path"), [0, 1, 2, 3, 4, 5, 0]);
    for name in ["packets_sent", "packets_lost", "retransmissions", "timeouts"] {
        let parts: f64 = (0..6).map(|path| number(&outcome.paths, name, path)).sum();
        assert_eq!(number(&outcome.flows, name, 0), parts, "{name}");
    }
    assert_eq!((number(&outcome.flows, "connections", 0), cell(&outcome.flows, "connections", 1)), (6.0, None));
    let sampled = of(&outcome.samples, "path");
    let upload = of(&outcome.samples, "flow").iter().zip(&sampled).filter(|(flow, _)| **flow == 1).count();
    assert!((0..6).all(|path| sampled.contains(&path)) && upload > 0);
}

/// A connection that is lost ends the visit, and the run with it; the page is then not complete.
#[test]
fn a_page_of_which_a_connection_is_lost_is_given_up() {
    let link = "rate = \"10 Mbps\", delay = \"10 ms\", outages = { at = \"300 ms\", for = \"7200 s\" }";
    let outcome = play(&scenario(link, "objects = 100", "kind = \"tcp\""), 1);
    assert_eq!((number(&outcome.flows, "completed", 0), number(&outcome.flows, "intact", 0)), (0.0, 1.0));
    assert_eq!(cell(&outcome.flows, "completion_s", 0), None);
    assert!(number(&outcome.flows, "messages_delivered", 0) < 100.0);
}
