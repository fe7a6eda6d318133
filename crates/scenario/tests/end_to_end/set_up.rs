//! Setting up: how many round trips pass before data flows, and what goes over the wire meanwhile.

use crate::lab::{nanos, number, play};

/// So fast a link that packets take no time, to the nanosecond: what is left is round trips of 100 ms.
fn scenario(transport: &str, kind: &str, size: u64, loss: &str) -> String {
    let flow = |start: &str| {
        format!(
            r#"
            [[flow]]
            start = "{start}"
            client = "a"
            server = "b"
            app = {{ kind = "{kind}", size = "{size} B" }}
            transport = {{ kind = "tcp", {transport} }}
            "#
        )
    };
    format!(
        r#"
        [network]
        topology = "point-to-point"
        link = {{ rate = "1000 Tbps", delay = "50 ms", {loss} }}
        {}{}"#,
        flow("0 s"),
        flow("10 s")
    )
}

/// Round trips until a flow's data may flow, and until 800 bytes have arrived, which fit a SYN beside a ClientHello.
fn round_trips(transport: &str, kind: &str, flow: usize) -> (f64, f64) {
    let run = play(&scenario(transport, kind, 800, ""), 1);
    let half = |name: &str| {
        let time = nanos(&run.flows, name, flow);
        // A few packets follow each other.
        assert!(time % 50_000_000 < 100, "{transport}, {name}: {time} ns");
        (time / 50_000_000) as f64 / 2.0
    };
    assert_eq!(number(&run.flows, "app_bytes", flow), 800.0);
    assert_eq!((number(&run.flows, "completed", flow), number(&run.flows, "intact", flow)), (1.0, 1.0));
    (half("handshake_s"), half("completion_s"))
}

/// A download that is asked for waits for the request to arrive: one round trip after the handshakes, whoever sends first
/// without one.
#[test]
fn a_download_that_is_asked_for_takes_a_round_trip_after_its_handshakes() {
    for (tls, trips) in [("", 1.0), (r#"tls = "1.2""#, 3.0), (r#"tls = "1.3""#, 2.0)] {
        let transport = if tls.is_empty() { r#"cc = "reno""#.into() } else { format!(r#"cc = "reno", {tls}"#) };
        let text = scenario(&transport, "download", 800, "").replace("size =", r#"request = "200 B", size ="#);
        let run = play(&text, 1);
        let time = nanos(&run.flows, "completion_s", 0);
        assert!(time % 50_000_000 < 100, "{tls}: {time} ns");
        assert_eq!((time / 50_000_000) as f64 / 2.0, trips + 1.0, "{tls}");
        assert_eq!((number(&run.flows, "app_bytes", 0), number(&run.flows, "intact", 0)), (800.0, 1.0));
    }
}

/// TCP's round trip and TLS's: RFC 5246 section 7.3 (figures 1 and 2), RFC 8446 section 2 (figures 1, 3 and 4). Then an
/// upload takes half of one.
#[test]
fn handshakes_take_their_round_trips() {
    for (tls, trips) in [
        ("", 1.0),
        (r#"tls = "1.2""#, 3.0),
        (r#"tls = "1.2", tls_handshake = "resumed""#, 2.0),
        (r#"tls = "1.3""#, 2.0),
        (r#"tls = "1.3", tls_handshake = "resumed""#, 2.0),
        (r#"tls = "1.3", tls_handshake = "0-rtt""#, 1.0),
    ] {
        let transport =
            [r#"cc = "reno""#, tls].map(String::from).into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>();
        assert_eq!(round_trips(&transport.join(", "), "upload", 0), (trips, trips + 0.5), "{tls}");
    }
}

/// The server has heard of the client's last message when its own data may flow: with that, or one flight later.
#[test]
fn a_server_waits_for_the_client() {
    for (tls, trips) in [
        (r#"tls = "1.2""#, 3.0),
        (r#"tls = "1.2", tls_handshake = "resumed""#, 3.0),
        (r#"tls = "1.3""#, 3.0),
        (r#"tls = "1.3", tls_handshake = "0-rtt""#, 2.0),
    ] {
        assert_eq!(round_trips(tls, "download", 0).1, trips, "{tls}");
    }
}

/// RFC 7413: a round trip less with a cookie, which the first connection asks for or which was there before.
#[test]
fn fast_open_saves_a_round_trip() {
    for (cookie, flow, trips) in [("none", 0, 1.0), ("none", 1, 0.0), ("cached", 0, 0.0)] {
        let transport = format!("fast_open = true, cookie = {cookie:?}");
        assert_eq!(round_trips(&transport, "upload", flow), (trips, trips + 0.5), "{cookie} {flow}");
        assert_eq!(round_trips(&transport, "download", flow).1, trips + 1.0, "{cookie} {flow}");
        // The ClientHello goes with the SYN; and with early data everything does.
        let tls = format!(r#"{transport}, tls = "1.3", tls_handshake = "resumed""#);
        assert_eq!(round_trips(&tls, "upload", flow), (trips + 1.0, trips + 1.5), "{cookie} {flow}");
        let early = format!(r#"{transport}, tls = "1.3", tls_handshake = "0-rtt""#);
        assert_eq!(round_trips(&early, "upload", flow), (trips, trips + 0.5), "{cookie} {flow}");
    }
}

/// RFC 7413 section 4.2.1: the SYN with data is lost. It goes again without after a second, and the data after that.
#[test]
fn fast_open_falls_back() {
    let text = scenario(
        r#"fast_open = true, cookie = "cached""#,
        "upload",
        1_000,
        r#"forward.loss = { kind = "list", packets = [1] }"#,
    );
    let run = play(&text, 1);
    assert_eq!(nanos(&run.flows, "completion_s", 0) / 1_000_000, 1_150);
    assert_eq!(number(&run.flows, "intact", 0), 1.0);
}
