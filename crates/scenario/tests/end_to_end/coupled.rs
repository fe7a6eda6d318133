//! Coupled congestion controls on the paths of an association.

use crate::lab::{link, mean_and_error, number, play, shared_bottleneck};
use vazao_scenario::Outcome;

const COUPLED: [&str; 4] = ["lia", "olia", "balia", "wvegas"];

/// An association that sends by all its paths for two minutes, with a window of its own on each.
fn association(cc: &str) -> String {
    format!(
        "[[flow]]\nclient = \"a\"\nserver = \"b\"\nstart_spread = \"1 s\"\n\
         app = {{ kind = \"upload\", message = \"1452 B\" }}\n\
         transport = {{ kind = \"sctp\", cmt = true, cc = \"{cc}\", cwnd_growth = \"gap-acked\", \
         fast_recovery = \"per-path\", send_buffer = \"4 MB\", receive_buffer = \"4 MB\" }}\n"
    )
}

/// Over disjoint paths, each with a queue of its bandwidth-delay product.
fn disjoint(cc: &str, paths: [(u32, u32); 2]) -> Outcome {
    let path =
        |(mbps, ms)| format!("[[network.path]]\nrate = \"{mbps} Mbps\"\ndelay = \"{ms} ms\"\nqueue = \"1 bdp\"\n");
    let paths = paths.map(path).concat();
    play(&format!("until = \"120 s\"\n[network]\ntopology = \"multipath\"\n{paths}{}", association(cc)), 1)
}

/// Over one bottleneck of 20 Mbps, to which host `a` has two ways, beside a TCP flow.
fn shared(cc: &str, seed: u64) -> Outcome {
    play(&format!("{}{}", shared_bottleneck(), association(cc)), seed)
}

/// Two disjoint paths, equal or not, are filled as if each had a flow of its own: Reno, or what takes no more, keeps a path
/// with a queue of its bandwidth-delay product busy. 5 % are for slow starts and for acknowledgements.
#[test]
fn disjoint_paths_add_up() {
    for cc in COUPLED {
        for paths in [[(10, 20), (10, 20)], [(20, 10), (5, 40)]] {
            let outcome = disjoint(cc, paths);
            assert_eq!(number(&outcome.flows, "intact", 0), 1.0, "{cc}");
            for path in ["path1", "path2"] {
                let used = link(&outcome, path, true, "utilisation");
                assert!(used > 0.95, "{cc} over {paths:?}: {path} is used to {used}");
            }
            let capacity = f64::from(paths[0].0 + paths[1].0) * 1e6;
            // Of 1500 bytes 1452 are a message.
            let part = number(&outcome.flows, "goodput_bps", 0) / (capacity * 1452.0 / 1500.0);
            assert!(part > 0.95, "{cc} over {paths:?}: {part} of both");
        }
    }
}

/// Beside one TCP flow, two uncoupled windows take two parts of three, and coupled ones one of two. The share of a run varies
/// by 0.04, as sawteeth meet; the mean of five by 0.02, and the bound is two and a half of these.
///
/// Weighted Vegas keeps ten packets in a queue that TCP fills: ten parts of what waits there. That is 73 packets, a
/// bandwidth-delay product of 44 ms, when the queue is full, and half of it or more in the mean.
#[test]
fn two_paths_take_one_share_of_a_bottleneck() {
    let full = 20e6 * 0.044 / (8.0 * 1500.0);
    for (cc, likely) in [
        ("reno", 0.617..0.717),
        ("lia", 0.45..0.55),
        ("olia", 0.45..0.55),
        ("balia", 0.45..0.55),
        ("wvegas", 10.0 / full..20.0 / full),
    ] {
        let share = |seed| {
            let outcome = shared(cc, seed);
            let [tcp, both] = [0, 1].map(|flow| number(&outcome.flows, "goodput_bps", flow));
            both / (both + tcp)
        };
        let (mean, error) = mean_and_error(&(1..=5).map(share).collect::<Vec<_>>());
        assert!(likely.contains(&mean), "{cc} has {mean} +- {error}");
    }
}
