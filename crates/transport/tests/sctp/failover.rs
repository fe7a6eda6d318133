//! Multihoming without concurrent transfer: failure of the primary path (RFC 9260 sections 6.4, 8.2, 8.3).

use crate::lab::{Lab, Laboratory, Weather, at, config, text};
use vazao_engine::registry::Raw;
use vazao_transport::sctp::Failure;

fn weather(outage: std::ops::Range<u64>) -> Vec<Weather> {
    vec![Weather { outages: vec![outage], ..Weather::fair(10) }, Weather::fair(20)]
}

/// Path.Max.Retrans is 5: the sixth consecutive timeout makes the primary inactive. Retransmissions leave on the other
/// path at once, so every timeout is due to new data or a heartbeat; nothing is lost in the end.
#[test]
fn the_other_path_takes_over() {
    let mut lab = Lab::new(config(Some(1000), &[]), 20_000_000, weather(100..1_000_000), 3);
    lab.run(1_000);
    lab.assert_delivered(20_000_000);
    let paths = lab.sender().paths();
    assert_eq!(paths[0].stats().failures, 1);
    assert!(!paths[0].is_active() && paths[1].is_active());
    assert!(paths[1].stats().chunks > 10 * paths[0].stats().timeouts);
}

#[test]
fn fewer_retries_fail_over_sooner() {
    let time = |retries: f64| {
        let given = [("path_retries", Raw::Number(retries))];
        let mut lab = Lab::new(config(Some(1000), &given), 20_000_000, weather(100..1_000_000), 3);
        lab.run_until(1_000, |lab| !lab.sender().paths()[0].is_active());
        lab.paths.now.as_secs()
    };
    // Timeouts are 1, 2, 4, ... s apart, except for the last round trips of the windows.
    let (none, one, five) = (time(0.0), time(1.0), time(5.0));
    assert!((none - 1.1).abs() < 0.1 && (one - none - 2.0).abs() < 0.1, "{none}, {one}");
    assert!((five - one - (4.0 + 8.0 + 16.0 + 32.0)).abs() < 0.5, "{one}, {five}");
}

/// RFC 7829 section 4: after the first timeout new data leaves on the other path while heartbeats probe this one; the
/// first answer brings it back.
#[test]
fn a_path_that_may_have_failed_carries_nothing_but_heartbeats() {
    // A small receive buffer, so that there is always something to send.
    let given = [("pf_retries", Raw::Number(0.0)), ("receive_buffer", text("64 KiB"))];
    let mut lab = Lab::new(config(Some(1000), &given), 200_000_000, weather(100..6_000), 3);
    lab.run_until(100, |lab| lab.sender().paths()[0].is_potentially_failed());
    let sent = lab.sender().paths()[0].stats().chunks;
    assert!((lab.paths.now.as_secs() - 1.1).abs() < 0.1, "{}", lab.paths.now.as_secs());
    lab.run_until(100, |lab| lab.paths.now.as_secs() > 5.9);
    let [primary, other] = [0, 1].map(|i: usize| *lab.sender().paths()[i].stats());
    assert_eq!((primary.chunks, primary.failures), (sent, 0));
    // It is probed at once, and after 2, 4, ... s; the other path has been in use for almost five seconds.
    assert!(primary.heartbeats >= 2, "{}", primary.heartbeats);
    assert!(other.chunks > 1_000, "{}", other.chunks);
    lab.run_until(100, |lab| !lab.sender().paths()[0].is_potentially_failed());
    assert!(lab.paths.now.as_secs() < 6.0 + 8.1, "{}", lab.paths.now.as_secs());
}

/// If no path is better than the others, all are used.
#[test]
fn a_single_path_is_always_used() {
    let only = vec![weather(100..3_000).remove(0)];
    let mut lab = Lab::new(config(Some(1000), &[("pf_retries", Raw::Number(0.0))]), 2_000_000, only, 3);
    lab.run(1_000);
    lab.assert_delivered(2_000_000);
}

/// Heartbeats detect that the primary is back, and new data returns to it.
#[test]
fn the_primary_comes_back() {
    let given = [("path_retries", Raw::Number(0.0)), ("heartbeat", text("1 s"))];
    let mut lab = Lab::new(config(Some(1000), &given), 200_000_000, weather(100..6_000), 3);
    lab.run_until(100, |lab| lab.paths.now.as_secs() > 4.0);
    assert!(!lab.sender().paths()[0].is_active());
    lab.run_until(100, |lab| lab.sender().paths()[0].is_active());
    assert!(lab.paths.now.as_secs() < 6.0 + 1.0 + 8.0, "{}", lab.paths.now.as_secs());
}

/// Sections 8.1 and 8.2: the sixth consecutive timeout, 63 s after the data left, makes the only path inactive. Lost
/// data is still retransmitted every RTO.Max and arrives when the outage of 100 s is over; if it lasts, the eleventh
/// timeout ends the association. T3-rtx expires after 1, 2, 4, ... 32, then every 60 s.
#[test]
fn the_only_path_goes_on_being_tried() {
    let doubled = 1 + 2 + 4 + 8 + 16 + 32;
    for (seconds, failure, end, sent) in
        [(100, None, doubled + 60, 8), (10_000, Some(Failure::TimedOut), doubled + 5 * 60, 11)]
    {
        // The handshake takes 40 ms, and the only message leaves then.
        let outage = 35..seconds * 1_000;
        let only = vec![Weather { outages: vec![outage], ..Weather::fair(10) }];
        let mut lab = Lab::new(config(Some(1000), &[("heartbeat", text("0 s"))]), 1_000, only, 3);
        lab.run_until(10_000, |lab| lab.ends[1].user.received == 1_000 || lab.sender().failure().is_some());
        assert_eq!(lab.sender().failure(), failure, "{seconds} s");
        let arrival = if failure.is_none() { 10 } else { 0 };
        assert_eq!(lab.paths.now, at(40 + 1_000 * end + arrival), "{seconds} s");
        let path = &lab.sender().paths()[0];
        assert_eq!((path.stats().failures, path.stats().chunks), (1, sent), "{seconds} s");
    }
}

/// If both fail they alternate, since the one with the fewest errors is tried.
#[test]
fn dormant_paths_take_turns() {
    let outages = vec![vec![100..1_000_000]; 2];
    let both = outages.into_iter().map(|outages| Weather { outages, ..Weather::fair(10) }).collect();
    let given = [("heartbeat", text("0 s")), ("retries", Raw::Number(20.0))];
    let mut lab = Lab::new(config(Some(1000), &given), 1_000_000, both, 3);
    lab.run(10_000);
    assert_eq!(lab.sender().failure(), Some(Failure::TimedOut));
    let timeouts = [0, 1].map(|i: usize| lab.sender().paths()[i].stats().timeouts);
    assert_eq!(timeouts[0] + timeouts[1], 21);
    assert!(timeouts[0].abs_diff(timeouts[1]) <= 1, "{timeouts:?}");
}
