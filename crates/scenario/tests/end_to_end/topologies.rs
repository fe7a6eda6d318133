//! Every topology from its TOML: the handshake crosses each link of the route once each way, with its delay, its rate and
//! its link header, so its time is a sum.

use crate::lab::{link, nanos, play};

/// A SYN is 60 bytes of IP.
fn hop(rate_mbps: u64, overhead: u64, delay_us: u64) -> u64 {
    (60 + overhead) * 8_000 / rate_mbps + delay_us * 1_000
}

fn flow(ends: &str) -> String {
    format!("[[flow]]\n{ends}\napp = {{ kind = \"upload\", size = \"1 kB\" }}\n")
}

fn handshake(network: &str, ends: &str) -> u64 {
    nanos(&play(&format!("[network]\n{network}\n{}", flow(ends)), 1).flows, "handshake_s", 0)
}

#[test]
fn directions_differ() {
    let network = r#"
        topology = "point-to-point"
        [network.link]
        rate = "10 Mbps"
        delay = "1 ms"
        overhead = "14 B"
        forward = { delay = "7 ms" }
        reverse = { rate = "1 Mbps", overhead = "38 B" }
        "#;
    let there = hop(10, 14, 7_000);
    let back = hop(1, 38, 1_000);
    assert_eq!(handshake(network, ""), there + back);
    // The other way round, each direction stays what it is.
    assert_eq!(handshake(network, "client = \"b\""), there + back);
}

#[test]
fn a_path_crosses_every_link() {
    let network = r#"
        topology = "path"
        link = [
            { rate = "100 Mbps", delay = "1 ms" },
            { rate = "1 Mbps", delay = "20 ms", overhead = "20 B" },
            { rate = "10 Mbps" },
        ]
        "#;
    assert_eq!(handshake(network, ""), 2 * (hop(100, 0, 1_000) + hop(1, 20, 20_000) + hop(10, 0, 0)));
}

/// Each pair has its own access; a flow may join others, also on one side.
#[test]
fn a_dumbbell_has_pairs() {
    let network = r#"
        topology = "dumbbell"
        pairs = 2
        access = [{ rate = "100 Mbps", delay = "1 ms" }, { rate = "50 Mbps", delay = "3 ms" }]
        bottleneck = { rate = "10 Mbps", delay = "10 ms" }
        "#;
    let (first, second, middle) = (hop(100, 0, 1_000), hop(50, 0, 3_000), hop(10, 0, 10_000));
    assert_eq!(handshake(network, ""), 2 * (2 * first + middle));
    assert_eq!(handshake(network, "client = \"right2\""), 2 * (2 * second + middle));
    assert_eq!(handshake(network, "client = \"left2\"\nserver = \"right1\""), 2 * (first + second + middle));
    assert_eq!(handshake(network, "client = \"left2\"\nserver = \"left1\""), 2 * (first + second));
}

#[test]
fn a_parking_lot_is_crossed_whole_or_hop_by_hop() {
    let network = r#"
        topology = "parking-lot"
        hops = 3
        access = { rate = "100 Mbps", delay = "1 ms" }
        bottleneck = { rate = "10 Mbps", delay = "10 ms" }
        "#;
    let (access, middle) = (hop(100, 0, 1_000), hop(10, 0, 10_000));
    assert_eq!(handshake(network, ""), 2 * (2 * access + 3 * middle));
    assert_eq!(handshake(network, "client = \"left2\""), 2 * (2 * access + middle));
    // Flows take the pairs in order: the second one is left1's.
    let run = play(&format!("[network]\n{network}\n{}", flow("").repeat(4)), 1);
    assert_eq!(nanos(&run.flows, "handshake_s", 2), 2 * (2 * access + middle));
    for name in ["bottleneck1", "bottleneck2", "bottleneck3"] {
        // Two flows with the same segments each.
        assert_eq!(link(&run, name, true, "packets"), 2.0 * link(&run, "left1", true, "packets"), "{name}");
    }
}

#[test]
fn paths_are_chosen_by_interface() {
    let network = r#"
        topology = "multipath"
        path = [{ rate = "10 Mbps", delay = "30 ms" }, { rate = "20 Mbps", delay = "5 ms" }, { rate = "1 Mbps" }]
        "#;
    let paths = [hop(10, 0, 30_000), hop(20, 0, 5_000), hop(1, 0, 0)];
    for (i, path) in paths.iter().enumerate() {
        let n = i + 1;
        assert_eq!(handshake(network, &format!("client = \"a.{n}\"\nserver = \"b.{n}\"")), 2 * path);
        assert_eq!(handshake(network, &format!("client = \"b.{n}\"")), 2 * path);
    }
    // Least delay where neither end names one.
    assert_eq!(handshake(network, "client = \"a\"\nserver = \"b\""), 2 * paths[2]);
    let run = play(&format!("[network]\n{network}\n{}", flow("").repeat(3)), 1);
    for (i, path) in paths.iter().enumerate() {
        assert_eq!(nanos(&run.flows, "handshake_s", i), 2 * path);
    }
}

#[test]
fn a_custom_graph_goes_the_short_way() {
    let network = r#"
        topology = "custom"
        hosts = ["client", "server"]
        routers = ["north", "south"]
        link = [
            { from = "client", to = "north", rate = "10 Mbps", delay = "1 ms" },
            { from = "north", to = "server", rate = "10 Mbps", delay = "9 ms" },
            { from = "client", to = "south", rate = "1 Mbps", delay = "2 ms" },
            { name = "far", from = "server", to = "south", rate = "1 Mbps", delay = "3 ms" },
        ]
        "#;
    assert_eq!(handshake(network, ""), 2 * (hop(1, 0, 2_000) + hop(1, 0, 3_000)));
    let run = play(&format!("[network]\n{network}\n{}", flow("")), 1);
    assert_eq!(link(&run, "client-north", true, "packets"), 0.0);
    // `far` was described from the server's side: data crosses it in reverse.
    assert!(link(&run, "far", false, "bytes") > 1_000.0);
}
