//! TCP through middleboxes that take out what it would have agreed upon: it does without, and every byte arrives.

use crate::lab::{assert_close, captured, link, number, play};
use crate::losses::packets;
use vazao_scenario::STRIPPABLE;
use vazao_wire::{ipv4, tcp};

fn scenario(keys: &str, app: &str, transport: &str) -> String {
    format!(
        r#"
        [network]
        topology = "path"
        link = [{{ rate = "1 Gbps" }}, {{ rate = "20 Mbps", delay = "20 ms", queue = "60 packets", {keys} }}]
        [[flow]]
        app = {{ kind = "{app}", size = "3 MB" }}
        transport = {{ kind = "tcp", {transport} }}
        "#
    )
}

fn parse(packet: &[u8]) -> tcp::Header {
    let (ip, inside) = ipv4::decode(packet).expect("an IPv4 packet");
    tcp::decode(&packet[inside], ip.pseudo_header()).expect("a TCP segment").0
}

/// The headers of what an interface received.
fn received(file: &[u8]) -> Vec<tcp::Header> {
    packets(file, false).iter().map(|packet| parse(packet)).collect()
}

/// Whatever is taken out of whichever direction, with losses and copies on top: every byte once and in order.
#[test]
fn every_byte_survives() {
    let all: Vec<String> = STRIPPABLE.iter().map(|entry| format!("{:?}", entry.name)).collect();
    let mut sets: Vec<String> = all.iter().map(|name| format!("strip = {name}")).collect();
    sets.push(format!("strip = [{}]", all.join(", ")));
    for set in sets {
        for place in [set.clone(), format!("forward.{set}"), format!("reverse.{set}")] {
            for app in ["upload", "download"] {
                let keys = format!("loss = 0.005, duplicate = 0.01, {place}");
                let run = play(&scenario(&keys, app, "fast_open = true, cookie = \"cached\", ecn = true"), 3);
                let flow = |name| number(&run.flows, name, 0);
                assert_eq!((flow("completed"), flow("intact"), flow("app_bytes")), (1.0, 1.0, 3e6), "{place} {app}");
                assert!(flow("packets_lost") > 0.0);
            }
        }
    }
}

/// What is stripped in either direction is in no segment that the other end receives, from the SYN on; and what was not
/// agreed upon is not sent.
#[test]
fn what_is_stripped_is_not_agreed_upon() {
    type Has = fn(&tcp::Header) -> bool;
    let table: [(&str, Has); 4] = [
        ("sack", |h| h.options.sack_permitted || !h.options.sack.is_empty()),
        ("timestamps", |h| h.options.timestamps.is_some()),
        ("window-scale", |h| h.options.window_scale.is_some()),
        ("ecn", |h| h.flags.0 & (tcp::Flags::ECE.0 | tcp::Flags::CWR.0) != 0),
    ];
    for (name, has) in table {
        for direction in ["forward.", ""] {
            let keys = format!(r#"loss = 0.01, {direction}strip = "{name}""#);
            let (_, files) = captured(&scenario(&keys, "upload", "ecn = true"), 1);
            let [server, client] = ["b.1", "a.1"].map(|host| received(&files[host]));
            assert!(server.len() > 2_000 && client.len() > 500);
            assert!(!server.iter().any(has) && !client.iter().any(has), "{direction}{name}");
            // It was offered, and by nobody but the SYN.
            let sent = packets(&files["a.1"], true);
            let offers = sent.iter().filter(|packet| has(&parse(packet))).count();
            let syns = sent.iter().filter(|packet| parse(packet).flags.contains(tcp::Flags::SYN)).count();
            assert_eq!(offers, syns, "{direction}{name}");
            // The others are there as ever.
            for (other, has) in table.iter().filter(|(other, _)| *other != name) {
                assert!(server.iter().any(has), "{other} beside {name}");
            }
        }
    }
}

/// Without window scale a window is 65 535 bytes at most, a round trip: 10.5 Mbit/s in 50 ms. Of 100 Mbit/s and a transfer
/// of 8 s, slow start to that window takes less than 3 %.
#[test]
fn windows_that_do_not_scale_limit_the_rate() {
    let text = |strip: &str| {
        format!(
            r#"
            [network]
            topology = "point-to-point"
            link = {{ rate = "100 Mbps", delay = "25 ms", queue = "1000 packets"{strip} }}
            [[flow]]
            app = {{ kind = "upload", size = "10 MB" }}
            transport = {{ kind = "tcp", cc = "reno" }}
            "#
        )
    };
    let goodput = |strip: &str| number(&play(&text(strip), 1).flows, "goodput_bps", 0);
    assert_close(goodput(r#", strip = "window-scale""#), 65_535.0 * 8.0 / 0.05, 0.04, "goodput in bit/s");
    assert!(goodput("") > 40e6);
}

/// A queue that marks marks nothing that cannot be marked: it drops, and the sender hears of it as of any loss.
#[test]
fn packets_without_codepoint_are_dropped_in_place_of_marks() {
    let run = |strip: &str| {
        let text = format!(
            r#"
            until = "20 s"
            [network]
            topology = "path"
            link = [
                {{ rate = "1 Gbps"{strip} }},
                {{ rate = "10 Mbps", delay = "20 ms", forward.queue = {{ kind = "codel", ecn = true }} }},
            ]
            [[flow]]
            app = {{ kind = "upload" }}
            transport = {{ kind = "tcp", cc = "reno", ecn = true }}
            "#
        );
        let run = play(&text, 1);
        (link(&run, "link2", true, "marks"), number(&run.flows, "packets_lost", 0))
    };
    let (marks, lost) = run("");
    assert!(marks > 2.0 && lost == 0.0, "{marks} {lost}");
    let (marks, lost) = run(r#", strip = "ecn""#);
    assert!(marks == 0.0 && lost > 2.0, "{marks} {lost}");
}

/// RFC 8684 section 3.7: where MPTCP's options are missing in the SYN or in its answer the connection is one of TCP, over its
/// one path; where they are missing on the second path alone, no subflow joins there.
#[test]
fn multipath_tcp_does_without_its_options() {
    let run = |first: &str, second: &str| {
        let text = format!(
            r#"
            [network]
            topology = "multipath"
            path = [
                {{ rate = "10 Mbps", delay = "10 ms", queue = "1 bdp"{first} }},
                {{ rate = "10 Mbps", delay = "10 ms", queue = "1 bdp"{second} }},
            ]
            [[flow]]
            client = "a.1"
            server = "b.1"
            app = {{ kind = "upload", size = "3 MB" }}
            transport = {{ kind = "mptcp" }}
            "#
        );
        let run = play(&text, 1);
        let flow = |name| number(&run.flows, name, 0);
        assert_eq!((flow("completed"), flow("intact"), flow("app_bytes")), (1.0, 1.0, 3e6), "{first}{second}");
        ["path1", "path2"].map(|path| link(&run, path, true, "bytes"))
    };
    assert!(run("", "")[1] > 1e6);
    for strip in [r#", strip = "mptcp""#, r#", forward.strip = "mptcp""#, r#", reverse.strip = "mptcp""#] {
        let [first, second] = run(strip, "");
        assert!(first > 3e6 && second == 0.0, "{strip}: {first} {second}");
        let [first, second] = run("", strip);
        // A few SYNs, or a handshake that leads to nothing.
        assert!(first > 3e6 && second < 1e3, "{strip}: {first} {second}");
    }
}

/// Two paths of 10 Mbit/s of which the last alters the payload of one packet of fifty, and one such path alone.
fn altering(paths: usize, transport: &str) -> vazao_scenario::Outcome {
    let path = r#"{ rate = "10 Mbps", delay = "10 ms", queue = "100 packets" }"#;
    let altering = path.replace(" }", ", forward.alter = 0.02 }");
    let paths = if paths == 2 { format!("{path}, {altering}") } else { altering };
    let text = format!(
        r#"
        [network]
        topology = "multipath"
        path = [{paths}]
        [[flow]]
        app = {{ kind = "upload", size = "5 MB" }}
        transport = {transport}
        "#
    );
    play(&text, 1)
}

/// RFC 8684 section 3.7: checksums find data that was altered; its subflow is reset with MP_FAIL, the rest goes by the other, and
/// nothing wrong is delivered. Without checksums, as in TCP, what was altered is taken for data.
#[test]
fn altered_data_is_found_by_checksums() {
    let outcome = altering(2, r#"{ kind = "mptcp", checksum = true }"#);
    let flow = |name| number(&outcome.flows, name, 0);
    assert_eq!((flow("completed"), flow("intact"), flow("app_bytes")), (1.0, 1.0, 5e6));
    // One of the first hundreds of packets is altered, and the subflow ends there.
    assert!(link(&outcome, "path2", true, "packets") < 500.0);
    assert!(flow("reinjected_bytes") > 0.0);
    for (paths, transport) in [(2, r#"{ kind = "mptcp" }"#), (1, r#"{ kind = "mptcp" }"#), (1, r#"{ kind = "tcp" }"#)] {
        let outcome = altering(paths, transport);
        let flow = |name| number(&outcome.flows, name, 0);
        assert_eq!((flow("completed"), flow("intact"), flow("app_bytes")), (1.0, 0.0, 5e6), "{paths} {transport}");
    }
}

/// The same on the only path: MP_FAIL, an infinite mapping, and TCP from there on, which takes what is altered for data.
#[test]
fn the_only_path_falls_back_where_data_is_altered() {
    let outcome = altering(1, r#"{ kind = "mptcp", checksum = true }"#);
    let flow = |name| number(&outcome.flows, name, 0);
    assert_eq!((flow("completed"), flow("intact"), flow("app_bytes")), (1.0, 0.0, 5e6));
}
