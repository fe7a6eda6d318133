//! T3-rtx and delayed acknowledgements (RFC 9260 sections 6.2, 6.3).

use crate::lab::{Lab, Laboratory, Weather, at, config, text};
use vazao_engine::Duration;
use vazao_engine::registry::Raw;
use vazao_transport::sctp::{Control, Packet};

/// The first packet of an association is acknowledged at once (section 5.1); later the acknowledgement of a single
/// packet is delayed by 200 ms, and that of every second one is not.
#[test]
fn the_first_packet_is_acknowledged_at_once_and_a_lone_one_late() {
    for semantics in ["rfc9260", "rfc4960", "rfc2960", "linux"] {
        for (messages, sacks, expected) in [(1, 1, 0), (2, 1, 0), (2, 2, 200), (3, 2, 0)] {
            // The first window takes all of them.
            let given = [("semantics", text(semantics)), ("initial_window", text("6000 B"))];
            let mut lab = Lab::new(config(Some(1000), &given), 1000 * messages, vec![Weather::fair(50)], 3);
            lab.run_until(10, |lab| lab.sender().stats().sacks == sacks);
            assert_eq!(lab.paths.now, at(200 + 50 + expected + 50), "{semantics}, {messages} messages, SACK {sacks}");
        }
    }
}

/// The first packet after a restart of either side is acknowledged at once too: it is a new association.
#[test]
fn the_first_packet_after_a_restart_is_acknowledged_at_once() {
    let mut lab = Lab::new(config(Some(1000), &[]), 1000, vec![Weather::fair(50)], 3);
    lab.ends[0].user.application.stays = true;
    lab.run_until(10, |lab| lab.sender().stats().sacks == 1);
    lab.restart_client();
    let from = lab.paths.now + Duration::from_millis(200);
    lab.run_until(10, |lab| lab.sender().stats().sacks == 1);
    assert_eq!(lab.paths.now, from + Duration::from_millis(100));
    assert_eq!(lab.ends[1].sctp.stats().restarts, 1);
}

/// ns-2's agent for CMT does not treat the first packet specially (`SctpCMTAgent::ProcessChunk`).
#[test]
fn the_first_acknowledgement_waits_where_it_is_told_to() {
    let given = [("delayed_first_sack", Raw::Flag(true))];
    let mut lab = Lab::new(config(Some(1000), &given), 1000, vec![Weather::fair(50)], 3);
    lab.run_until(10, |lab| lab.sender().stats().sacks == 1);
    assert_eq!(lab.paths.now, at(200 + 50 + 200 + 50));
}

/// Linux's T1-cookie starts with RTO.Initial, ours with the RTO measured by the INIT, RTO.Min at least.
#[test]
fn linux_waits_three_seconds_for_a_lost_cookie() {
    for (semantics, wait) in [("rfc4960", 1000), ("linux", 3000)] {
        let given = [("semantics", text(semantics))];
        let mut lab = Lab::new(config(Some(1000), &given), 1_000, vec![Weather::fair(50)], 3);
        let mut lost = false;
        lab.lose = Box::new(move |_, _, packet| {
            let echo = matches!(packet.control.first(), Some(Control::CookieEcho(_)));
            echo && !std::mem::replace(&mut lost, true)
        });
        lab.run_until(100, |lab| lab.sender().stats().established.is_some());
        assert_eq!(lab.paths.now, at(100 + wait + 100), "{semantics}");
    }
}

/// The last packet is lost, so that only T3-rtx can detect it. The third is acknowledged 100 ms after it left, with the
/// second, which restarts the timer (rule R3); round trips keep RTO at RTO.Min, so the fourth is sent 1 s later, then 2
/// s later because of the back-off.
#[test]
fn the_timer_finds_what_no_gap_shows() {
    for (losses, expected) in [(1, 1000), (2, 3000), (3, 7000)] {
        let mut lab = Lab::new(config(Some(1000), &[]), 4_000, vec![Weather::fair(50)], 3);
        let mut left = losses;
        let last = |packet: &Packet| packet.data.iter().any(|data| data.number == 3);
        lab.lose = Box::new(move |_, _, packet| {
            let lost = last(packet) && left > 0;
            left -= u32::from(lost);
            lost
        });
        lab.run_until(100, |lab| lab.ends[1].user.received == 4_000);
        assert_eq!(lab.paths.now, at(200 + 100 + expected + 50), "{losses} losses");
        assert_eq!(lab.sender().sum(|path| path.timeouts), u64::from(losses));
        assert_eq!(lab.sender().sum(|path| path.timeout_retransmissions), u64::from(losses));
        // E1: one segment, PMDCS; ssthresh is at least four.
        let path = &lab.sender().paths()[0];
        assert_eq!((path.cwnd(), path.ssthresh()), (1468, 4 * 1468));
    }
}

#[test]
fn rfc_4960_waits_three_seconds_for_what_was_never_measured() {
    for (semantics, wait) in [("rfc9260", 1000), ("rfc4960", 3000)] {
        let mut lab =
            Lab::new(config(Some(1000), &[("semantics", text(semantics))]), 1_000, vec![Weather::fair(50)], 3);
        let mut lost = false;
        lab.lose = Box::new(move |_, _, _| !std::mem::replace(&mut lost, true));
        lab.run_until(100, |lab| lab.sender().stats().established.is_some());
        assert_eq!(lab.paths.now, at(wait + 200), "{semantics}");
    }
}
