//! The library in virtual time: what it takes in round trips, that every byte comes, and that a run can be repeated.

mod lab;

use lab::{Outcome, Wire, plan, transfer};
use vazao_engine::{Duration, Ecn, Time};
use vazao_transport::library::Library;

const RTT: Duration = Duration::from_millis(100);

/// A wire that adds next to nothing to its delay of half a round trip.
fn fast() -> Wire {
    Wire::new(10_000_000_000, RTT / 2)
}

fn last_byte(outcome: &Outcome) -> f64 {
    outcome.sink().last_byte().expect("bytes").as_secs() / RTT.as_secs()
}

/// Data that fits the initial window comes half a round trip after it may leave: at once with early data (RFC 9001 section
/// 4.6), after one round trip with the full handshake or when early data is refused and sent again, after two when the client is to
/// prove its address first (RFC 9000 section 8.1.2).
#[test]
fn handshakes_take_their_round_trips() {
    for (handshake, trips) in [("0-rtt", 0.5), ("0-rtt-rejected", 1.5), ("1-rtt", 1.5), ("retry", 2.5)] {
        let outcome = transfer(&plan(1, &[("handshake", handshake)]), true, 8_000, fast());
        outcome.assert_whole(8_000);
        // Serialisation at 10 Gbit/s of a dozen datagrams takes 15 us, 0.00015 round trips.
        let took = last_byte(&outcome);
        assert!((took - trips).abs() < 0.001, "{handshake}: {took} round trips");
    }
}

/// A server's data waits for the end of the handshake, one and a half round trips after the client began, and takes half of
/// one more; it takes one more where the certificate is longer than three times what the client sent (RFC 9000 section
/// 8.1); and one less where the client's data came early, with a token by which the server may send its whole window at once (section
/// 8.1.3).
#[test]
fn a_server_sends_when_the_handshake_is_over() {
    for (handshake, certificate, bytes, trips) in
        [("1-rtt", "1 kB", 1_000, 2.0), ("1-rtt", "8 kB", 1_000, 3.0), ("0-rtt", "8 kB", 10_000, 1.0)]
    {
        let given = [("handshake", handshake), ("certificate", certificate)];
        let outcome = transfer(&plan(1, &given), false, bytes, fast());
        outcome.assert_whole(bytes);
        let took = last_byte(&outcome);
        assert!((took - trips).abs() < 0.001, "{given:?}: {took} round trips");
    }
}

/// The certificate's size is what it was said to be: a full handshake sends so many bytes more.
#[test]
fn a_certificate_has_its_size() {
    let bytes = |certificate| {
        let outcome = transfer(&plan(1, &[("certificate", certificate)]), true, 1_000, fast());
        outcome.sent.iter().filter(|sent| sent.from == 1).map(|sent| sent.payload.len()).sum::<usize>() as f64
    };
    // Beside the 20 000 bytes there are 14 to 17 more packets, each of 60 bytes' headers and tag at most.
    let more = bytes("22 kB") - bytes("2 kB");
    assert!((20_000.0..20_000.0 + 17.0 * 60.0).contains(&more), "{more}");
}

#[test]
fn every_byte_comes_with_every_control() {
    for control in ["quinn-cubic", "quinn-newreno", "quinn-bbr", "reno", "cubic", "vegas", "westwood", "bbr", "copa"] {
        for (seed, upload, p) in [(1, true, 0.0), (2, false, 0.02), (3, true, 0.05)] {
            let wire = Wire { queue: 60_000, ..Wire::new(1_250_000, Duration::from_millis(20)) }.lossy(seed, p);
            transfer(&plan(seed, &[("cc", control)]), upload, 500_000, wire).assert_whole(500_000);
        }
    }
}

/// Datagrams that come twice, the second time out of order, and a wire that is cut for two seconds.
#[test]
fn every_byte_comes_once_through_doubling_and_an_outage() {
    let mut wire = Wire::new(1_250_000, Duration::from_millis(20));
    wire.doubles = Box::new(|_, number| number.is_multiple_of(7).then(|| Duration::from_millis(number % 50)));
    let cut = Time::from_nanos(300_000_000)..Time::from_nanos(2_300_000_000);
    let outcome = transfer(&plan(4, &[]), true, 2_000_000, wire.losing(move |_, _, now| cut.contains(&now)));
    outcome.assert_whole(2_000_000);
    // 2 MB at 1.25 MB/s take 1.6 s; the cut adds its 2 s, and a wait until the next probe as long again at most.
    let took = outcome.sink().last_byte().expect("bytes").as_secs();
    assert!((3.6..5.7).contains(&took), "{took}");
}

/// FNV-1a of everything that was sent: when, from where, and each byte.
fn digest(outcome: &Outcome) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for sent in &outcome.sent {
        eat(&sent.at.as_nanos().to_le_bytes());
        eat(&[sent.from as u8, sent.ecn as u8]);
        eat(&sent.payload);
    }
    hash
}

fn lossy(seed: u64, control: &str, handshake: &str) -> Outcome {
    let wire = Wire::new(1_250_000, Duration::from_millis(20)).lossy(7, 0.02);
    transfer(&plan(seed, &[("cc", control), ("handshake", handshake)]), true, 300_000, wire)
}

/// A run sends the same bytes at the same times again, with another seed others.
#[test]
fn a_run_can_be_repeated_to_the_byte() {
    for (control, handshake) in [("cubic", "1-rtt"), ("quinn-cubic", "0-rtt"), ("quinn-bbr", "retry"), ("bbr", "1-rtt")]
    {
        let first = digest(&lossy(1, control, handshake));
        assert_eq!(digest(&lossy(1, control, handshake)), first, "{control} {handshake}");
        assert_ne!(digest(&lossy(2, control, handshake)), first, "{control} {handshake}");
    }
}

/// Also in another process, whose clock and memory are others: this test runs itself in two.
#[test]
fn another_process_sends_the_same() {
    const ASKED: &str = "VAZAO_QUINN_DIGEST";
    if std::env::var_os(ASKED).is_some() {
        let digests = ["1-rtt", "0-rtt"].map(|handshake| digest(&lossy(5, "cubic", handshake)));
        panic!("digests {digests:x?}");
    }
    let run = || {
        let program = std::env::current_exe().expect("this program");
        let output = std::process::Command::new(program)
            .args(["--exact", "another_process_sends_the_same", "--nocapture"])
            .env(ASKED, "1")
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().find(|line| line.contains("digests [")).expect("it says").to_owned()
    };
    assert_eq!(run(), run());
}

/// It marks what it sends as able to be marked (RFC 9000 section 13.4), and says what it measured.
#[test]
fn it_says_what_it_measured() {
    let outcome = lossy(1, "quinn-newreno", "1-rtt");
    assert!(
        outcome
            .sent
            .iter()
            .filter(|sent| sent.from == 0 && sent.payload.len() > 1000)
            .all(|sent| sent.ecn == Ecn::Ect0)
    );
    let report = outcome.ends[0].report();
    let sent = outcome.sent.iter().filter(|sent| sent.from == 0).count() as u64;
    assert_eq!(report.datagrams, sent);
    assert!(report.lost > 0 && report.cuts > 0 && report.cuts <= report.lost, "{report:?}");
    let rtt = outcome.ends[0].rtt();
    // 40 ms of delay, and a millisecond to send each datagram; what is lost was of none of them.
    assert!(rtt.count() > 50 && rtt.quantile(0.05).is_some_and(|low| low > 0.040), "{:?}", rtt.quantile(0.05));
    assert_eq!(outcome.ends[0].rtt().count() > 0, report.srtt.is_some());
}

/// The secrets by which a capture can be read are those of the five steps of TLS 1.3's key schedule.
#[test]
fn secrets_are_told_once() {
    let mut outcome = lossy(1, "cubic", "1-rtt");
    let lines = outcome.ends[0].take_secrets();
    let labels: Vec<_> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    let expected = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
        "EXPORTER_SECRET",
    ];
    assert!(expected.iter().all(|label| labels.contains(label)) && labels.len() == 5, "{labels:?}");
    assert_eq!(outcome.ends[0].take_secrets(), "");
}
