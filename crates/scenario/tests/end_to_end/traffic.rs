//! Applications over the whole way: sizes, durations and slow readers.

use crate::lab::{number, play};

fn scenario(app: &str) -> String {
    format!(
        "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"10 Mbps\", delay = \"10 ms\", queue = \"100 packets\" }}\n\
         [[flow]]\napp = {app}\n"
    )
}

#[test]
fn a_duration_sends_for_so_long_and_then_drains() {
    for kind in ["upload", "download"] {
        let outcome = play(&scenario(&format!("{{ kind = \"{kind}\", duration = \"10 s\" }}")), 1);
        let value = |column| number(&outcome.flows, column, 0);
        assert_eq!((value("completed"), value("intact")), (1.0, 1.0), "{kind}");
        // The connection stands after at most one round trip; what was sent by 10 s later drains within a full queue
        // (100 packets of 1.2 ms) and one repair.
        assert!((10.0..10.5).contains(&value("completion_s")), "{kind}: {}", value("completion_s"));
        // 10 s at 10 Mbit/s of 1448 in 1500 bytes, less what slow start and its repair leave unused.
        let full = 10.0 * 10e6 / 8.0 * 1448.0 / 1500.0;
        assert!((0.95 * full..1.01 * full).contains(&value("app_bytes")), "{kind}: {}", value("app_bytes"));
    }
}

#[test]
fn a_slow_reader_sets_the_pace_by_its_window() {
    let app = "{ kind = \"upload\", size = \"1 MB\", read_rate = \"4 Mbps\" }\n\
               transport = { kind = \"tcp\", receive_buffer = \"64 kB\" }";
    let outcome = play(&scenario(app), 1);
    let value = |column| number(&outcome.flows, column, 0);
    assert_eq!((value("completed"), value("intact"), value("app_bytes")), (1.0, 1.0, 1e6));
    // 1 MB at 4 Mbit/s is 2 s; the window never lets the sender fill the link, so nothing is lost.
    assert!((2.0..2.1).contains(&value("completion_s")), "{}", value("completion_s"));
    assert_eq!(value("packets_lost"), 0.0);
}
