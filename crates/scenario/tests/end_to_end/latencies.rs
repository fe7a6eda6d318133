//! Latencies of messages one by one.

use crate::lab::{number, play, samples};

/// Every message and request is a sample, when it has come and how long it took, whatever carries it: as many as were
/// delivered, with the same mean (to the nanosecond's rounding) and the same longest one, and none of them before it was
/// written. Losses make some late.
#[test]
fn each_message_is_a_sample_of_its_own() {
    let messages = "{ kind = \"messages\", message = \"3 kB\", interval = \"20 ms\", count = 300 }";
    let requests = "{ kind = \"requests\", response = \"lognormal 10 kB\", think = \"10 ms\", count = 100 }";
    let cases = [
        (messages, "\"tcp\""),
        (messages, "\"udp\""),
        (messages, "\"dccp\""),
        (messages, "\"quic\""),
        (messages, "\"sctp\""),
        (messages, "{ kind = \"sctp\", unordered = true }"),
        (requests, "\"tcp\""),
        (requests, "{ kind = \"quic\", streams = 4 }"),
    ];
    for (app, transport) in cases {
        let text = format!(
            "trace = [\"message_latency\"]\nuntil = \"60 s\"\n[network]\ntopology = \"point-to-point\"\n\
             link = {{ rate = \"10 Mbps\", delay = \"15 ms\", loss = 0.02 }}\n\
             [[flow]]\nstart = \"250 ms\"\napp = {app}\ntransport = {transport}\n"
        );
        let outcome = play(&text, 1);
        let rows = samples(&outcome, "message_latency");
        let value = |name| number(&outcome.flows, name, 0);
        assert_eq!(rows.len() as f64, value("messages_delivered"), "{transport}");
        assert!(rows.len() >= 95, "{transport}: {}", rows.len());
        let mean = rows.iter().map(|(_, latency)| latency).sum::<f64>() / rows.len() as f64;
        assert!((mean - value("message_latency_mean_s")).abs() < 1e-9, "{transport}: {mean}");
        let longest = rows.iter().map(|(_, latency)| *latency).fold(0.0, f64::max);
        assert_eq!(longest, value("message_latency_max_s"), "{transport}");
        assert!(longest >= value("message_latency_p99_s") * (1.0 - 1.0 / 120.0), "{transport}");
        // 250 ms are the flow's start; what has come was written after it and took the way at least.
        assert!(rows.iter().all(|&(at, latency)| at as f64 / 1e9 - latency >= 0.25 && latency > 0.015), "{transport}");
        assert!(rows.is_sorted_by_key(|(at, _)| *at), "{transport}");
    }
}
