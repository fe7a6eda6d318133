//! SCTP over the whole way.

use crate::lab::{captured, column, link, number, play};
use crate::losses::packets;
use std::collections::BTreeSet;
use std::process::Command;
use vazao_scenario::{Column, Outcome, measures};
use vazao_wire::{ipv4, sctp};

/// An upload in messages over paths of 45 Mbps, as the study of CMT has them.
fn upload(bytes: u64, delays: &[u64], losses: &[f64], transport: &str) -> String {
    let path = |(delay, loss): (&u64, &f64)| {
        format!(
            "[[network.path]]\nrate = \"45 Mbps\"\ndelay = \"{delay} ms\"\nqueue = \"1000 packets\"\nforward.loss = {loss}\n"
        )
    };
    let paths: String = delays.iter().zip(losses).map(path).collect();
    format!(
        "[network]\ntopology = \"multipath\"\n{paths}\n[[flow]]\nclient = \"a.1\"\nserver = \"b.1\"\n\
         app = {{ kind = \"upload\", size = \"{bytes} B\", message = \"1452 B\" }}\n\
         transport = {{ kind = \"sctp\", {transport} }}\n"
    )
}

/// One path, by hand: INIT and COOKIE ECHO take a round trip each. The windows grow by a packet a SACK, each SACK answers
/// two, so round trips send 4, 6, 9, ... packets; once the path is full the rest takes 1500 bytes at 45 Mbps each. From
/// below: as if it were full at once; from above: with all packets at that rate after ten idle round trips.
#[test]
fn a_transfer_takes_its_handshake_its_slow_start_and_its_bytes() {
    let outcome = play(&upload(8 << 20, &[12], &[0.0], "initial_ssthresh = \"1 MB\", max_burst = 0"), 1);
    let packets = f64::from(8_u32 << 20) / 1452.0;
    let at_full_rate = packets * 1500.0 * 8.0 / 45e6;
    let taken = number(&outcome.flows, "completion_s", 0);
    let (least, most) = (0.048 + at_full_rate, 0.048 + 0.24 + at_full_rate);
    assert!((least..most).contains(&taken), "{taken} not in {least}..{most}");
    for (name, expected) in [("retransmissions", 0.0), ("intact", 1.0), ("completed", 1.0), ("handshake_s", 0.048)] {
        assert!((number(&outcome.flows, name, 0) - expected).abs() < 0.001, "{name}");
    }
}

/// A trace has a line for each path. Data takes 12 or 40 ms, and its acknowledgement the one or the other way back, as the
/// last packet came: round trips of 24 to 52 ms on the first path, of 52 to 80 on the second.
#[test]
fn a_trace_tells_the_paths_apart() {
    let text = upload(100_000, &[12, 40], &[0.0, 0.0], "cmt = true");
    let outcome = play(&format!("trace = [\"srtt\", \"cwnd\"]\n{text}"), 1);
    let Column::Integer(paths) = column(&outcome.samples, "path") else { panic!("paths are numbered") };
    let Column::Label { codes, .. } = column(&outcome.samples, "measure") else { panic!("measure is a label") };
    let srtt = measures().position(|measure| measure == "srtt").map(|measure| measure as u32);
    for (path, least) in [(0, 0.024), (1, 0.052)] {
        let rows = (0..codes.len()).filter(|&row| codes.get(row) == srtt && paths.get(row) == Some(path));
        let seen: Vec<f64> = rows.map(|row| number(&outcome.samples, "value", row)).collect();
        // Two packets of 0.3 ms each may be before it; a lone one waits 200 ms for its acknowledgement, of which an eighth counts.
        let likely = least..least + 0.028 + 0.0006 + 0.2 / 8.0;
        assert!(!seen.is_empty() && seen.iter().all(|srtt| likely.contains(srtt)), "path {path}: {seen:?}");
    }
}

/// Both paths carry half each, and the transfer takes little more than half of the time of one.
#[test]
fn two_paths_are_nearly_twice_as_fast_as_one() {
    let time = |delays: &[u64], cmt: &str| {
        let losses = vec![0.0; delays.len()];
        // The threshold lies where the path is full and its queue is not.
        let transport = format!("{cmt}, initial_ssthresh = \"250 kB\"");
        let outcome = play(&upload(32 << 20, delays, &losses, &transport), 1);
        assert_eq!(number(&outcome.flows, "intact", 0), 1.0);
        let Column::Integer(paths) = column(&outcome.paths, "path") else { panic!("paths are numbered") };
        let share = number(&outcome.paths, "bytes", 0) / number(&outcome.flows, "app_bytes", 0);
        (number(&outcome.flows, "completion_s", 0), paths.len(), share)
    };
    let (one, paths, share) = time(&[12], "cmt = true");
    assert_eq!((paths, share), (1, 1.0));
    let (two, paths, share) = time(&[12, 12], "cmt = true");
    assert_eq!(paths, 2);
    assert!((0.5..0.6).contains(&(two / one)), "{two} s with two, {one} s with one");
    assert!((share - 0.5).abs() < 0.05, "{share}");
    // Without CMT the second path only waits.
    let (idle, _, share) = time(&[12, 12], "cmt = false");
    assert_eq!(share, 1.0);
    assert!((idle / one - 1.0).abs() < 0.01);
}

/// What was sent and did not arrive adds up, path by path.
#[test]
fn paths_account_for_the_flow() {
    let outcome = play(&upload(8 << 20, &[12, 45], &[0.02, 0.05], "cmt = true"), 3);
    let (flows, paths) = (&outcome.flows, &outcome.paths);
    let sum = |name| number(paths, name, 0) + number(paths, name, 1);
    for name in [
        "packets_sent",
        "packets_lost",
        "retransmissions",
        "fast_retransmissions",
        "timeout_retransmissions",
        "timeouts",
    ] {
        assert_eq!(sum(name), number(flows, name, 0), "{name}");
    }
    assert!(sum("bytes") > number(flows, "app_bytes", 0));
    assert!(number(paths, "packets_lost", 1) / number(paths, "packets_sent", 1) > 0.02);
    assert_eq!(
        number(flows, "fast_retransmissions", 0) + number(flows, "timeout_retransmissions", 0),
        sum("retransmissions")
    );
    assert!(number(flows, "retransmissions", 0) >= number(flows, "packets_lost", 0) - 5.0);
    assert_eq!((number(flows, "intact", 0), number(flows, "completed", 0)), (1.0, 1.0));
}

/// The primary path dies in mid-transfer; the other one finishes it.
#[test]
fn a_transfer_outlives_its_primary_path() {
    let text = upload(8 << 20, &[12, 12], &[0.0, 0.0], "path_retries = 1, initial_ssthresh = \"250 kB\"");
    let text = text.replacen("forward.loss = 0", "outages = [{ at = \"500 ms\", for = \"3000 s\" }]", 1);
    let outcome = play(&text, 1);
    assert_eq!((number(&outcome.flows, "intact", 0), number(&outcome.flows, "completed", 0)), (1.0, 1.0));
    // Two timeouts, 1 s and 2 s, and then the rest.
    let taken = number(&outcome.flows, "completion_s", 0);
    assert!((3.5..6.0).contains(&taken), "{taken}");
}

/// The words of a column of samples.
fn labels(outcome: &Outcome, name: &str) -> Vec<String> {
    let Column::Label { codes, names } = column(&outcome.samples, name) else { panic!("{name} is a label") };
    codes.iter().map(|code| names[code.expect("it is given") as usize].clone()).collect()
}

/// The same, as both applications hear of it: the primary path is given up, and never comes back.
#[test]
fn applications_are_told() {
    let text = upload(8 << 20, &[12, 12], &[0.0, 0.0], "path_retries = 1, initial_ssthresh = \"250 kB\"");
    let text = text.replacen("forward.loss = 0", "outages = [{ at = \"500 ms\", for = \"3000 s\" }]", 1);
    let outcome = play(&format!("trace = [\"notifications\"]\n{text}"), 1);
    let Column::Integer(paths) = column(&outcome.samples, "path") else { panic!("paths are numbered") };
    let told: Vec<_> = labels(&outcome, "side").into_iter().zip(labels(&outcome, "event")).zip(paths.iter()).collect();
    let of = |side: &str| -> Vec<(&str, i64)> {
        let rows = told.iter().filter(|((who, _), _)| who == side);
        rows.map(|((_, what), path)| (what.as_str(), path.expect("a path"))).collect()
    };
    let (up, confirmed, end) = (("comm-up", 0), ("address-confirmed", 1), ("shutdown-complete", 0));
    let down = ("address-unreachable", 0);
    assert_eq!(of("client"), [up, confirmed, down, ("sender-dry", 0), end]);
    let server = of("server");
    assert_eq!((&server[..2], &server[server.len() - 2..]), (&[up, confirmed][..], &[("shutdown", 0), end][..]));
}

/// The client loses its state after 300 ms, whichever side sends: what is under way is given up, the rest goes by another
/// association between the same ports, of which the server hears as a restart. At most the window is under way. Of an upload
/// it arrives nevertheless, before the INIT; of a download it meets an end that does not know it.
#[test]
fn a_restart_gives_up_what_is_under_way() {
    for app in ["upload", "download"] {
        let text = upload(2 << 20, &[12], &[0.0], "restart = \"300 ms\", receive_buffer = \"64 kB\"");
        let text = text.replace("\"upload\"", &format!("\"{app}\""));
        let outcome = play(&format!("trace = [\"notifications\"]\n{text}"), 1);
        let flow = |name| number(&outcome.flows, name, 0);
        assert_eq!((flow("intact"), flow("completed")), (1.0, 1.0), "{app}");
        let lost = f64::from(2 << 20) - flow("app_bytes");
        assert!((0.0..=64_000.0).contains(&lost) && (lost > 0.0) == (app == "download"), "{app}: {lost} bytes lost");
        assert!((1.0..=64_000.0 / 1_452.0).contains(&flow("messages_abandoned")), "{app}");
        let told = |who: &str, what: &str| {
            let rows = labels(&outcome, "side").into_iter().zip(labels(&outcome, "event"));
            rows.filter(|(side, event)| side == who && event == what).count()
        };
        let ups = ["client", "server"].map(|side| (told(side, "comm-up"), told(side, "restart")));
        assert_eq!(ups, [(2, 0), (1, 1)], "{app}");
    }
}

/// Four streams with messages of 100 kB each, sent at once, through a receive buffer of 64 kB: none could be put together if
/// the application waited for all of one. The path, 10 Mbps and 20 ms, holds 50 kB; handshake and slow start take seven round
/// trips. With a part of 5 kB given at once, 44 kB of the buffer are left at least, which is 88 % of the path. By default
/// the buffer fills to the last packet once for each four messages: its window halves each round trip, from 64 kB to a packet
/// in six, and the last one's acknowledgement waits 200 ms.
#[test]
fn messages_together_larger_than_the_buffer() {
    // 4 MB in I-DATA chunks of 1448 bytes, 1500 bytes of IP each.
    let at_full_rate = 4e6 / 1448.0 * 1500.0 * 8.0 / 10e6;
    let times =
        [("partial_delivery_point = \"5 kB\"", at_full_rate / 0.88), ("", at_full_rate + 10.0 * (6.0 * 0.04 + 0.2))];
    for (point, most) in times {
        let text = format!(
            "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"10 Mbps\", delay = \"20 ms\", queue = \"100 packets\" }}\n\
             [[flow]]\napp = {{ kind = \"messages\", message = \"100 kB\", count = 40, interval = \"1 ms\" }}\n\
             [flow.transport]\nkind = \"sctp\"\nstreams = 4\nscheduler = \"round-robin\"\ninterleaving = true\n\
             receive_buffer = \"64 kB\"\n{point}\n"
        );
        let outcome = play(&text, 1);
        for (name, expected) in [("intact", 1.0), ("completed", 1.0), ("timeouts", 0.0), ("retransmissions", 0.0)] {
            assert_eq!(number(&outcome.flows, name, 0), expected, "{name}");
        }
        let taken = number(&outcome.flows, "completion_s", 0);
        assert!((at_full_rate..most + 7.0 * 0.04).contains(&taken), "{point}: {taken} s, not {at_full_rate}..{most}");
    }
}

/// What an association can be told that shows in its packets.
const SHAPES: [&str; 6] = [
    "cookie_life = \"1 s\"",
    "cookie_life = \"20 ms\"",
    "streams = 3, scheduler = \"round-robin-per-packet\"",
    "streams = 3, interleaving = true, scheduler = \"priority\"",
    "streams = 3, partial_reliability = \"retransmissions\"",
    "streams = 3, partial_reliability = \"timed\", lifetime = \"300 ms\", interleaving = true",
];

/// Messages of four fragments for these.
fn shaped(delays: &[u64], losses: &[f64], shape: &str) -> String {
    upload(1 << 20, delays, losses, &format!("cmt = true, {shape}")).replace("1452 B", "5000 B")
}

/// What the simulator counts as a packet's size is what the packet has as bytes, checksums are right, and an observer at the
/// sender's interfaces counts the chunks sent again that the sender counted.
#[test]
fn bytes_counted_are_bytes_captured() {
    for shape in SHAPES {
        let (outcome, files) = captured(&shaped(&[12, 45], &[0.05, 0.05], shape), 3);
        let (mut seen, mut again) = (BTreeSet::new(), 0);
        for (host, name, forward) in
            [("a.1", "path1", true), ("b.1", "path1", false), ("a.2", "path2", true), ("b.2", "path2", false)]
        {
            let sent = packets(&files[host], true);
            let bytes: usize = sent.iter().map(Vec::len).sum();
            assert_eq!(link(&outcome, name, forward, "packets"), sent.len() as f64, "{host}");
            assert_eq!(link(&outcome, name, forward, "bytes"), bytes as f64, "{host}");
            for packet in &sent {
                let (_, inside) = ipv4::decode(packet).expect("an IPv4 packet");
                let (_, chunks) = sctp::decode(&packet[inside]).expect("an SCTP packet");
                for chunk in chunks.iter().filter(|chunk| [sctp::kind::DATA, sctp::kind::I_DATA].contains(&chunk.kind))
                {
                    again += u64::from(!seen.insert(chunk.value[..4].to_vec()));
                }
            }
        }
        assert_eq!(again as f64, number(&outcome.flows, "retransmissions", 0));
    }
}

/// How many packets have a FORWARD TSN or I-FORWARD-TSN; there are some.
fn skips(file: &[u8]) -> f64 {
    let kinds = [sctp::kind::FORWARD_TSN, sctp::kind::I_FORWARD_TSN];
    let has = |packet: &&Vec<u8>| {
        let (_, inside) = ipv4::decode(packet).expect("an IPv4 packet");
        let (_, chunks) = sctp::decode(&packet[inside]).expect("an SCTP packet");
        chunks.iter().any(|chunk| kinds.contains(&chunk.kind))
    };
    let count = packets(file, true).iter().filter(has).count();
    assert!(count > 0);
    count as f64
}

/// How many packets have a chunk that was in another before; one may have several.
fn repeats(file: &[u8]) -> f64 {
    let mut seen = BTreeSet::new();
    let mut repeats = |packet: &&Vec<u8>| {
        let (_, inside) = ipv4::decode(packet).expect("an IPv4 packet");
        let (_, chunks) = sctp::decode(&packet[inside]).expect("an SCTP packet");
        let data = chunks.iter().filter(|chunk| [sctp::kind::DATA, sctp::kind::I_DATA].contains(&chunk.kind));
        data.filter(|chunk| !seen.insert(chunk.value[..4].to_vec())).count() > 0
    };
    packets(file, true).iter().filter(|packet| repeats(packet)).count() as f64
}

/// tshark reads every packet without complaint, finds every checksum right, and takes for retransmissions what were.
#[test]
fn tshark_reads_an_association() {
    const TSHARK: &str = "/usr/bin/tshark";
    if !std::path::Path::new(TSHARK).exists() {
        return;
    }
    let file = std::env::temp_dir().join(format!("vazao-association-{}.pcapng", std::process::id()));
    for shape in SHAPES {
        let (_, files) = captured(&shaped(&[12], &[0.05], shape), 3);
        std::fs::write(&file, &files["a.1"]).expect("a place for captures");
        let count = |filter: &str| {
            let mut tshark = Command::new(TSHARK);
            tshark.arg("-r").arg(&file).args(["-o", "sctp.checksum:CRC 32c", "-Y", filter]);
            let output = tshark.args(["-T", "fields", "-e", "frame.number"]).output().expect("tshark runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count() as f64
        };
        let sent = packets(&files["a.1"], true).len();
        assert_eq!(count("sctp && ip.src == 10.0.0.1") as usize, sent);
        for (filter, expected) in [
            ("_ws.malformed || _ws.expert.severity == error", 0.0),
            ("sctp.checksum.status != 1", 0.0),
            // INIT ACK and COOKIE ACK; and before them another INIT ACK, of whose cookie an ERROR says that it is too old.
            ("sctp.chunk_type == 2 || sctp.chunk_type == 11", if shape.contains("20 ms") { 3.0 } else { 2.0 }),
            ("sctp.chunk_type == 9", if shape.contains("20 ms") { 1.0 } else { 0.0 }),
            // Chunk types 192 and 194, FORWARD TSN and I-FORWARD-TSN, skip what was given up after it had been sent.
            ("sctp.chunk_type >= 192", if shape.contains("partial") { skips(&files["a.1"]) } else { 0.0 }),
            ("sctp.retransmission", repeats(&files["a.1"])),
        ] {
            assert_eq!(count(filter), expected, "{shape}: {filter}");
        }
    }
    std::fs::remove_file(&file).expect("it was written");
}

/// Head-of-line blocking by hand. A message of 1000 bytes each 10 ms takes its packet of 1048 bytes at 10 Mbps and 20 ms;
/// one is lost. The third message after it makes the third missing report, whose SACK, of 52 bytes with a gap, takes it
/// 20 ms to come back, and the lost one as long as any to go again. Until then those of its own stream wait, and no others.
#[test]
fn only_the_stream_with_the_loss_waits() {
    let [way, back] = [1048.0, 52.0].map(|bytes| 0.020 + 8.0 * bytes / 10e6);
    let repaired = 0.030 + way + back + way;
    // INIT and COOKIE ECHO are packets 1 and 2.
    for (transport, every) in [("streams = 1", 1), ("streams = 4", 4), ("streams = 16", 16), ("unordered = true", 100)]
    {
        let text = format!(
            "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"10 Mbps\", delay = \"20 ms\", \
             forward.loss = {{ kind = \"list\", packets = [43] }} }}\n[[flow]]\n\
             app = {{ kind = \"messages\", message = \"1000 B\", interval = \"10 ms\", count = 100 }}\n\
             transport = {{ kind = \"sctp\", initial_window = \"20 kB\", {transport} }}\n"
        );
        let outcome = play(&text, 1);
        let waits = (0..).map(|later| repaired - 0.010 * f64::from(every * later)).take_while(|&wait| wait > way);
        let excess: f64 = waits.map(|wait| wait - way).sum();
        let mean = number(&outcome.flows, "message_latency_mean_s", 0);
        assert_eq!(number(&outcome.flows, "messages_delivered", 0), 100.0);
        assert!((mean - (way + excess / 100.0)).abs() < 1e-6, "{transport}: {mean}, not {}", way + excess / 100.0);
    }
}

/// Messages of 1000 bytes come each millisecond, 8.4 Mbps in packets, for a path of 5 Mbps: those of stream 0, the more
/// important half, fit; those of stream 1 make room for them. All are accounted for.
#[test]
fn the_less_important_half_is_given_up() {
    let text = "[network]\ntopology = \"point-to-point\"\n\
                link = { rate = \"5 Mbps\", delay = \"10 ms\", queue = \"10 packets\" }\n[[flow]]\n\
                app = { kind = \"messages\", message = \"1000 B\", interval = \"1 ms\", count = 10000 }\n\
                transport = { kind = \"sctp\", streams = 2, send_buffer = \"60 kB\", \
                partial_reliability = \"priority\", scheduler = \"priority\" }\n";
    let outcome = play(text, 1);
    let value = |name| number(&outcome.flows, name, 0);
    assert_eq!((value("intact"), value("completed")), (1.0, 1.0));
    // What is given up while it is under way may arrive all the same.
    assert!(value("messages_delivered") + value("messages_abandoned") >= 10_000.0);
    assert!(value("messages_abandoned") <= 5_000.0, "{} is more than all of stream 1", value("messages_abandoned"));
    assert!(value("messages_delivered") >= 5_000.0);
    // What the path carries in the ten seconds and the last tenth, if it is never idle.
    assert!(value("messages_delivered") <= 10.1 * 5e6 / (8.0 * 1048.0), "{}", value("messages_delivered"));
}

/// An upload for a time ends, with DTLS too: its alert follows what was under way, and the association shuts down. Until
/// the last byte ten megabits a second carry 1.25 MB a second at most, and little less once the window is open; what was
/// under way after the second takes less than another.
#[test]
fn an_upload_over_dtls_ends_with_its_time() {
    for dtls in ["none", "1.2", "1.3"] {
        let text = format!(
            "[network]\ntopology = \"path\"\nlink = {{ rate = \"10 Mbps\", delay = \"5 ms\" }}\n[[flow]]\n\
             app = {{ kind = \"upload\", duration = \"1 s\" }}\ntransport = {{ kind = \"sctp\", dtls = \"{dtls}\" }}\n"
        );
        let outcome = play(&text, 1);
        assert_eq!([number(&outcome.flows, "intact", 0), number(&outcome.flows, "completed", 0)], [1.0; 2], "{dtls}");
        let [bytes, last] = ["app_bytes", "last_byte_s"].map(|name| number(&outcome.flows, name, 0));
        let part = bytes / (1.25e6 * last);
        assert!((0.85..1.0).contains(&part) && (1.0..2.0).contains(&last), "dtls {dtls}: {bytes} B until {last} s");
    }
}
