//! Multipath TCP from end to end: what paths add up to, what a shared bottleneck is shared into, and links that fail.

use crate::lab::{MSS, PACKET, mean_and_error, number, play, shared_bottleneck};
use vazao_scenario::Outcome;

const COUPLED: [&str; 4] = ["lia", "olia", "balia", "wvegas"];

/// Of a full packet, what is data: 24 bytes of each segment are the mapping.
const DATA: f64 = (MSS - 24.0) / PACKET;

fn flow(app: &str, transport: &str) -> String {
    format!("[[flow]]\nclient = \"a\"\nserver = \"b\"\napp = {app}\ntransport = {{ kind = \"mptcp\", {transport} }}\n")
}

/// Disjoint paths, each with a queue of its bandwidth-delay product, `more` of each.
fn disjoint(paths: &[(u32, u32, &str)], flows: &str) -> String {
    let path = |&(mbps, ms, more): &(u32, u32, &str)| {
        format!("[[network.path]]\nrate = \"{mbps} Mbps\"\ndelay = \"{ms} ms\"\nqueue = \"1 bdp\"\n{more}\n")
    };
    let paths: String = paths.iter().map(path).collect();
    format!("[network]\ntopology = \"multipath\"\n{paths}{flows}")
}

fn check_whole(outcome: &Outcome, flow: usize) {
    assert_eq!(number(&outcome.flows, "completed", flow), 1.0);
    assert_eq!(number(&outcome.flows, "intact", flow), 1.0);
}

/// One long transfer over two disjoint paths has 95 % of what both let through, headers taken off (which leave 94.9 %): what is
/// missing are slow starts, and a window that is halved leaves no gap with such a queue.
#[test]
fn disjoint_paths_add_up() {
    for cc in COUPLED.into_iter().chain(["reno", "cubic"]) {
        for paths in [[(10, 20, ""), (10, 20, "")], [(20, 10, ""), (5, 40, "")]] {
            let transport = format!("cc = \"{cc}\"");
            let outcome = play(&disjoint(&paths, &flow("{ kind = \"upload\", size = \"100 MB\" }", &transport)), 1);
            check_whole(&outcome, 0);
            let capacity = f64::from(paths[0].0 + paths[1].0) * 1e6;
            let part = number(&outcome.flows, "goodput_bps", 0) / (capacity * DATA);
            assert!(part > 0.95, "{cc} over {paths:?}: {part} of both");
        }
    }
}

/// Five addresses at each end: 25 subflows, all of which join, and of each path's capacity most is used.
#[test]
fn a_full_mesh_of_five_by_five() {
    let mut links = String::new();
    for (host, router) in [("a", "L"), ("b", "R")] {
        for number in 1..=5 {
            links += &format!(
                "{{ name = \"{host}{number}\", from = \"{host}\", to = \"{router}\", rate = \"10 Mbps\", delay = \"5 ms\", queue = \"100 packets\" }},\n"
            );
        }
    }
    let network = format!(
        "[network]\ntopology = \"custom\"\nhosts = [\"a\", \"b\"]\nrouters = [\"L\", \"R\"]\nlink = [\n{links}\
         {{ name = \"core\", from = \"L\", to = \"R\", rate = \"1 Gbps\", delay = \"5 ms\" }},\n]\n"
    );
    let upload = flow("{ kind = \"upload\", size = \"50 MB\" }", "cc = \"lia\", path_manager = \"full-mesh\"");
    let outcome = play(&(network + &upload), 1);
    check_whole(&outcome, 0);
    let rows = (0..25).map(|row| number(&outcome.paths, "bytes", row));
    assert!(rows.into_iter().all(|bytes| bytes > 100e3), "each of 25 subflows carries data");
    let part = number(&outcome.flows, "goodput_bps", 0) / (50e6 * DATA);
    assert!(part > 0.85, "{part} of five links");
}

/// Subflows between one pair of addresses, on different ports: each has its own window, and all share the one link. The first
/// has it for itself until the others have grown, in congestion avoidance, which in 20 MB leaves them little.
#[test]
fn different_ports() {
    let transport = "cc = \"lia\", path_manager = { kind = \"ndiffports\", subflows = 4 }";
    let outcome = play(&disjoint(&[(10, 20, "")], &flow("{ kind = \"upload\", size = \"40 MB\" }", transport)), 1);
    check_whole(&outcome, 0);
    assert!((0..4).all(|row| number(&outcome.paths, "bytes", row) > 2e6));
    assert!(number(&outcome.flows, "goodput_bps", 0) > 0.95 * 10e6 * DATA);
}

/// Every kind of traffic gets through over two paths, lossy ones too.
#[test]
fn any_application() {
    let apps = [
        "{ kind = \"download\", size = \"2 MB\" }",
        "{ kind = \"upload\", size = \"2 MB\" }",
        "{ kind = \"messages\", message = \"20 kB\", interval = \"50 ms\", count = 50 }",
        "{ kind = \"requests\", response = \"40 kB\", think = \"50 ms\", count = 20 }",
    ];
    for app in apps {
        for more in ["", "loss = 0.02"] {
            let outcome = play(&disjoint(&[(10, 10, more), (10, 30, more)], &flow(app, "cc = \"lia\"")), 1);
            check_whole(&outcome, 0);
        }
    }
}

/// A link fails in mid-transfer: for good, and for two seconds. The rest goes by the other, and the run ends soon after its
/// data is there.
#[test]
fn a_link_fails() {
    for (outage, slowest) in [("{ at = \"2 s\", for = \"1000 s\" }", 15.5), ("{ at = \"2 s\", for = \"2 s\" }", 12.5)] {
        let failing = format!("outages = [{outage}]");
        let upload = flow("{ kind = \"upload\", size = \"15 MB\" }", "cc = \"lia\"");
        let outcome = play(&disjoint(&[(10, 10, ""), (10, 10, &failing)], &upload), 1);
        check_whole(&outcome, 0);
        // Of 15 MB, 12.6 s of one path, 4 MB have gone in the first two seconds.
        let completion = number(&outcome.flows, "completion_s", 0);
        assert!(completion < slowest, "{completion} s");
        assert!(number(&outcome.runs, "sim_s", 0) < completion + 15.0, "{:?}", number(&outcome.runs, "sim_s", 0));
    }
}

/// Beside one TCP over a bottleneck, to which the connection has two ways, uncoupled windows take two parts of three and
/// coupled ones one of two. What is left of the bottleneck's packets for data is less by the mapping; the share is of bytes
/// on the link.
#[test]
fn two_subflows_take_one_share_of_a_bottleneck() {
    let network = shared_bottleneck();
    for (cc, likely) in
        [("reno", 0.6..0.72), ("lia", 0.43..0.57), ("olia", 0.43..0.57), ("balia", 0.43..0.57), ("wvegas", 0.1..0.5)]
    {
        let share = |seed| {
            let upload = flow("\"upload\"", &format!("cc = \"{cc}\"")) + "start_spread = \"1 s\"\n";
            let outcome = play(&format!("{network}{upload}"), seed);
            let [tcp, both] = [1.0 / (MSS / PACKET), 1.0 / DATA];
            let rates =
                [number(&outcome.flows, "goodput_bps", 0) * tcp, number(&outcome.flows, "goodput_bps", 1) * both];
            rates[1] / (rates[0] + rates[1])
        };
        let (mean, error) = mean_and_error(&(1..=5).map(share).collect::<Vec<_>>());
        assert!(likely.contains(&mean), "{cc} has {mean} +- {error}");
    }
}
