//! What the simulator counts as a packet's size is what the packet has as bytes.

use crate::lab::{captured, link, number};
use crate::losses::packets;
use proptest::prelude::*;
use std::collections::BTreeSet;
use vazao_wire::{content, ipv4, tcp};

/// A packet decoded: checksums were right, or it would not be one.
fn decode(packet: &[u8]) -> (tcp::Header, &[u8]) {
    let (ip, range) = ipv4::decode(packet).expect("an IPv4 packet");
    let segment = &packet[range];
    let (header, payload) = tcp::decode(segment, ip.pseudo_header()).expect("a TCP segment");
    (header, &segment[payload])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]

    /// With every combination of options, losses and sizes: the bytes of all packets that enter the link are those in its
    /// row, every header decodes, and the payload is the stream's at its place.
    #[test]
    fn bytes_counted_are_bytes_captured(
        mss in 64u32..9_000, size in 1u64..300_000, loss in 0.0f64..0.1, sack in any::<bool>(),
        timestamps in any::<bool>(), delayed in 1u32..4, seed in 0u64..1_000_000,
    ) {
        let text = format!(
            r#"
            [network]
            topology = "point-to-point"
            link = {{ rate = "10 Mbps", delay = "10 ms", queue = "1000000 packets", loss = {loss:?} }}
            [[flow]]
            app = {{ kind = "upload", size = "{size} B" }}
            transport = {{ kind = "tcp", mss = {mss}, sack = {sack}, timestamps = {timestamps}, delayed_ack = {delayed} }}
            "#
        );
        let (outcome, files) = captured(&text, seed);
        for (host, forward) in [("a.1", true), ("b.1", false)] {
            let sent = packets(&files[host], true);
            let bytes: usize = sent.iter().map(Vec::len).sum();
            // Packets that are still in the queue when the run ends have entered but not left: none but the last.
            prop_assert_eq!(link(&outcome, "link", forward, "bytes"), bytes as f64);
            prop_assert_eq!(link(&outcome, "link", forward, "packets"), sent.len() as f64);
        }
        let sent = packets(&files["a.1"], true);
        let first = sent.first().map(|p| decode(p).0).expect("a SYN");
        prop_assert!(first.flags.contains(tcp::Flags::SYN));
        let mut seen = BTreeSet::new();
        let (mut again, mut payload_bytes) = (0, 0);
        for packet in sent.iter().skip(1) {
            let (header, payload) = decode(packet);
            let offset = u64::from(header.sequence.wrapping_sub(first.sequence).wrapping_sub(1));
            prop_assert!(content::verify(offset, payload));
            prop_assert_eq!(header.options.timestamps.is_some(), timestamps);
            let data = !payload.is_empty() || header.flags.contains(tcp::Flags::FIN);
            if data && !seen.insert(offset) {
                again += 1;
            }
            payload_bytes += payload.len() as u64;
        }
        let flow = |name: &str| number(&outcome.flows, name, 0);
        prop_assert_eq!(again as f64, flow("retransmissions"));
        prop_assert_eq!(sent.len() as f64, flow("packets_sent"));
        if flow("completed") == 1.0 {
            prop_assert!(payload_bytes >= size);
        }
        prop_assert!(sack || packets(&files["b.1"], true).iter().all(|p| decode(p).0.options.sack.is_empty()));
    }
}

/// What the SYNs say: MSS with room for the timestamps that every segment will carry, SACK, a window scale that can
/// express 64 MiB (2^26 >> 11 is 32768, >> 10 is 65536, one too many), and each only if it is on.
#[test]
fn syns_offer_what_is_configured() {
    let options = |transport: &str| {
        let text = format!(
            r#"
            [network]
            topology = "point-to-point"
            link = {{ rate = "10 Mbps", delay = "10 ms" }}
            [[flow]]
            app = {{ kind = "download", size = "10 kB" }}
            transport = {{ kind = "tcp"{transport} }}
            "#
        );
        let (_, files) = captured(&text, 1);
        let [syn, answer] = ["a.1", "b.1"].map(|host| decode(&packets(&files[host], true)[0]).0);
        assert!(syn.flags == tcp::Flags::SYN && answer.flags == tcp::Flags::SYN | tcp::Flags::ACK);
        assert_eq!(answer.acknowledgment, syn.sequence.wrapping_add(1));
        assert_eq!(syn.options.mss, answer.options.mss);
        let o = syn.options;
        (o.mss, o.sack_permitted, o.window_scale, o.timestamps.is_some())
    };
    assert_eq!(options(""), (Some(1460), true, Some(11), true));
    assert_eq!(options(", timestamps = false, mss = 536"), (Some(536), true, Some(11), false));
    assert_eq!(options(", sack = false, receive_buffer = \"64 kB\""), (Some(1460), false, Some(0), true));
}
