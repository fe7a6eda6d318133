//! What is remembered of a path: RFC 9040 by the rules of Linux's `tcp_update_metrics`.

use crate::config::{control, plain};
use crate::trace::{MSS, Trace};
use std::sync::Arc;
use vazao_transport::tcp::{Config, Metrics};

/// Opens and closes a connection with this window and threshold in segments; returns the threshold that it had and the one
/// that is remembered then.
fn connection(metrics: &Arc<Metrics>, path: u16, window: u64, threshold: Option<u64>) -> [Option<u64>; 2] {
    let settings = Config { control: control("reno", window, threshold), ..plain() };
    let mut t = Trace::remembering(settings, metrics, path);
    let own = Some(t.ssthresh()).filter(|_| t.tcp.control().ssthresh() < u64::MAX);
    assert_eq!(t.closes(), ["FIN 1:2 ack 1"]);
    assert!(t.gets("1:1 ack 2").is_empty());
    [own, metrics.threshold(path).map(|bytes| bytes / u64::from(MSS))]
}

#[test]
fn a_connection_starts_where_the_last_one_on_its_path_ended() {
    let metrics = Arc::default();
    // One that never left slow start has nothing to tell.
    assert_eq!(connection(&metrics, 0, 10, None), [None, None]);
    // In congestion avoidance half the window is a threshold, if the own is not higher.
    assert_eq!(connection(&metrics, 0, 10, Some(4)), [Some(4), Some(5)]);
    assert_eq!(connection(&metrics, 0, 10, None), [Some(5), Some(5)]);
    assert_eq!(connection(&metrics, 0, 20, None), [Some(5), Some(10)]);
    // Below its threshold a window means nothing.
    assert_eq!(connection(&metrics, 0, 3, None), [Some(10), Some(10)]);
    // Another pair of addresses is another path.
    assert_eq!(connection(&metrics, 1, 10, None), [None, None]);
}
