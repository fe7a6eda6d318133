//! Messages as DATAGRAM frames (RFC 9221): none waits for another, and what is lost is lost.

use crate::lab::{cell, number, play};
use vazao_scenario::Outcome;

fn messages(message: &str, link: &str, transport: &str) -> Outcome {
    let text = format!(
        "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"10 Mbps\", delay = \"20 ms\", {link} }}\n[[flow]]\n\
         app = {{ kind = \"messages\", message = \"{message}\", interval = \"10 ms\", count = 100 }}\n\
         transport = {{ kind = \"quic\", unreliable = true, {transport} }}\n"
    );
    let outcome = play(&text, 1);
    assert_eq!(
        (number(&outcome.flows, "completed", 0), number(&outcome.flows, "intact", 0)),
        (1.0, 1.0),
        "{link} {transport}"
    );
    outcome
}

/// A message is a packet of its own: it takes its way, whatever became of those before it. Ten of the client's first eighty packets
/// are lost, after those of the handshake; each has one message, which is missed. The window begins so large that seven cuts leave it
/// above the six packets of a round trip.
#[test]
fn nothing_waits_for_what_is_lost() {
    // Headers: 28 bytes, then 1 and 8, a number of 1 or 2, 16 that seal, 3 before the data; an acknowledgement now and then.
    let [way, most] = [1057.0, 1075.0].map(|bytes| 0.020 + 8.0 * bytes / 10e6);
    for (lost, delivered) in [("", 100.0), ("20, 21, 22, 30, 40, 41, 50, 60, 70, 80", 90.0)] {
        let link = format!("forward.loss = {{ kind = \"list\", packets = [{lost}] }}");
        let transport = "handshake = \"0-rtt\", cc = \"cubic\", initial_window = 100";
        let flows = messages("1000 B", if lost.is_empty() { "" } else { &link }, transport).flows;
        assert_eq!(number(&flows, "messages_delivered", 0), delivered);
        assert_eq!(number(&flows, "app_bytes", 0), 1000.0 * delivered);
        assert_eq!(number(&flows, "retransmissions", 0), 0.0, "of {lost}");
        // Quantiles are read from a histogram, to 1 %. After a cut a packet may wait for the pacer; none waits a round trip.
        let [p95, p99] = ["message_latency_p95_s", "message_latency_p99_s"].map(|name| number(&flows, name, 0));
        assert!((way / 1.01..(most + 0.0002) * 1.01).contains(&p95), "{p95} not {way} to {most}");
        assert!(p99 < way + 0.005, "{p99}");
    }
}

/// A message that needs several datagrams is there when all of them are: one of 10 kB, in eight of at most 1422 bytes, has no more
/// than seven packets at their full size before its last one. Of each that is lost in part nothing counts as delivered, but what came of it
/// is read.
#[test]
fn a_message_is_whole_when_all_of_it_has_come() {
    let flows = messages("10 kB", "", "handshake = \"0-rtt\"").flows;
    assert_eq!(number(&flows, "messages_delivered", 0), 100.0);
    assert_eq!(number(&flows, "app_bytes", 0), 1e6);
    let flows =
        messages("10 kB", "forward.loss = { kind = \"list\", packets = [100, 101] }", "handshake = \"0-rtt\"").flows;
    let delivered = number(&flows, "messages_delivered", 0);
    assert!((98.0..=99.0).contains(&delivered), "{delivered}");
    let missing = 1e6 - number(&flows, "app_bytes", 0);
    assert!((2.0..=2.0 * 1422.0).contains(&missing), "{missing}");
}

/// Congestion is controlled (RFC 9221 section 5.4): an upload goes no faster than the link, whose losses cut the window, and what is
/// lost of it does not come. Downloads likewise; the end arrives all the same.
#[test]
fn an_upload_that_is_lost_in_part_ends() {
    for app in ["upload", "download"] {
        let text = format!(
            "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"10 Mbps\", delay = \"20 ms\", queue = \"30 packets\", \
             loss = 0.01 }}\n[[flow]]\napp = {{ kind = \"{app}\", size = \"5 MB\" }}\ntransport = {{ kind = \"quic\", unreliable = true }}\n"
        );
        let flows = play(&text, 2).flows;
        assert_eq!(number(&flows, "completed", 0), 1.0);
        let bytes = number(&flows, "app_bytes", 0);
        let lost = number(&flows, "packets_lost", 0);
        assert!(lost > 30.0, "{lost}");
        // Each packet that was lost had at most 1422 bytes; those without data had none.
        assert!((5e6 - 1422.0 * lost..5e6).contains(&bytes), "{app}: {bytes}, {lost} packets lost");
        assert!(cell(&flows, "recoveries", 0).is_some_and(|recoveries| recoveries > 3.0));
        assert!(number(&flows, "goodput_bps", 0) < 10e6);
    }
}
