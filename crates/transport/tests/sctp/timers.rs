//! T3-rtx and delayed acknowledgements (RFC 9260 sections 6.2, 6.3).

use crate::lab::{Lab, Weather, at, config, text};
use vazao_transport::sctp::{Control, Packet};

/// The acknowledgement of a lone packet waits 200 ms; of every second one it does not.
#[test]
fn a_lone_packet_is_acknowledged_late() {
    for (messages, expected) in [(1, 200 + 50 + 200 + 50), (2, 200 + 50 + 50)] {
        let mut lab = Lab::new(config(Some(1000), &[]), 1000 * messages, vec![Weather::fair(50)], 3);
        lab.run_until(10, |lab| lab.sender().stats().sacks == 1);
        assert_eq!(lab.now, at(expected), "{messages} messages");
    }
}

/// Linux answers the first packet at once (`peer.sack_needed` of `sctp_association_init` is 1), and then every second one.
#[test]
fn linux_does_not_wait_with_its_first_acknowledgement() {
    let given = [("semantics", text("linux"))];
    let mut lab = Lab::new(config(Some(1000), &given), 1000, vec![Weather::fair(50)], 3);
    lab.run_until(10, |lab| lab.sender().stats().sacks == 1);
    assert_eq!(lab.now, at(200 + 50 + 50));
}

/// Linux's T1-cookie begins with RTO.Initial, ours with what INIT has measured, and RTO.Min at least.
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
        assert_eq!(lab.now, at(100 + wait + 100), "{semantics}");
    }
}

/// The last packet of all is lost, so that nothing but T3-rtx can tell. The third is acknowledged 300 ms after it left,
/// its SACK being delayed, which starts the timer anew (rule R3); round trips keep RTO at RTO.Min, so the fourth leaves 1 s
/// later, then 2 s later, since the timer has backed off.
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
        lab.run_until(100, |lab| lab.ends[1].received == 4_000);
        assert_eq!(lab.now, at(200 + 300 + expected + 50), "{losses} losses");
        assert_eq!(lab.sender().sum(|path| path.timeouts), u64::from(losses));
        assert_eq!(lab.sender().sum(|path| path.timeout_retransmissions), u64::from(losses));
        // E1: one segment, PMDCS; the threshold not below four.
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
        assert_eq!(lab.now, at(wait + 200), "{semantics}");
    }
}
