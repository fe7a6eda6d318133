//! Subflows that fail, wait, or replace others, and their data.

use crate::lab::{Application, Lab, Laboratory, Weather, at, config, dead_after, paced, pairs, states, text, with};
use vazao_engine::Duration;
use vazao_engine::registry::Change;
use vazao_transport::mptcp::{Config, Signal};
use vazao_transport::tcp::{Failure, Flags};

const MEGABYTES: u64 = 4 << 20;

fn round_robin() -> Config {
    with(&[], "reno", "round-robin", "single-mesh")
}

/// A path goes silent: its data is reinjected on the other after a timeout, and the end does not wait for it.
#[test]
fn a_silent_path_is_bypassed() {
    let mut lab = Lab::new(round_robin(), MEGABYTES, vec![paced(10), dead_after(20, 150)]);
    lab.run(60);
    lab.assert_complete();
    let stats = lab.ends[0].mptcp.stats();
    assert!(stats.reinjected > 1424, "{stats:?}");
    // A retransmission timeout of about 0.25 s blocks the receiver; the rest are a few round trips.
    assert!(lab.paths.now < at(2_000), "it took until {:?}", lab.paths.now);
}

/// All paths but one are dead from the start of the transfer: opening subflows do not delay the end.
#[test]
fn subflows_that_never_open_do_not_hold_up_the_end() {
    let mut lab = Lab::new(config(&[]), 100_000, vec![paced(10), dead_after(20, 0)]);
    lab.run(200);
    lab.assert_complete();
    assert!(lab.paths.now < at(500), "it took until {:?}", lab.paths.now);
}

/// The peer dies: TCP's retry limit ends the connection, with data in flight and without.
#[test]
fn a_peer_that_is_gone_is_given_up() {
    let given = [("retries", vazao_engine::registry::Raw::Number(5.0))];
    for bytes in [MEGABYTES, 1_000] {
        let settings = with(&given, "reno", "round-robin", "single-mesh");
        let mut lab = Lab::new(settings, bytes, vec![paced(10), paced(10)]);
        // Either during the data, or before DATA_FIN.
        let mut gone = false;
        lab.middlebox = Box::new(move |now, _, _, extra| {
            let fin = extra.multipath.and_then(|multipath| multipath.dss).is_some_and(|dss| dss.fin);
            gone |= fin || now > at(120);
            !gone
        });
        lab.ends[1].user.application.closes_second = true;
        lab.run(1_000);
        assert_eq!(lab.ends[0].mptcp.failure(), Some(Failure::TimedOut), "{bytes} bytes");
        // Six timeouts, from 200 ms with back-off: 12.6 s, plus those of a second subflow that takes over.
        assert!(lab.paths.now < at(40_000), "it took until {:?}", lab.paths.now);
    }
}

/// A failed subflow is reopened, if configured, and carries data again.
#[test]
fn a_subflow_is_opened_again() {
    let paths = || vec![Weather { resets: std::iter::once(100..110).collect(), ..paced(10) }, paced(10)];
    for reestablish in [None, Some(Duration::from_millis(100))] {
        let mut lab = Lab::new(Config { reestablish, ..round_robin() }, MEGABYTES, paths());
        lab.run(60);
        lab.assert_complete();
        let opened = lab.ends[0].mptcp.subflows().iter().map(|subflow| subflow.tuple().pair).collect::<Vec<_>>();
        let [died, joined] = [lab.ends[0].mptcp.stats().died, lab.ends[0].mptcp.stats().joined];
        match reestablish {
            None => assert_eq!((opened, died, joined), (vec![0, 1], 1, 1)),
            Some(_) => assert_eq!((opened, died, joined), (vec![0, 1, 0], 1, 2)),
        }
        let last = lab.ends[0].mptcp.subflows().last().expect("a subflow");
        assert!(last.tcp().acknowledged_bytes() > 100_000);
    }
}

/// The only subflow is reset: both ends keep the connection if subflows are reopened.
#[test]
fn a_connection_outlives_its_only_subflow() {
    let path = Weather { resets: std::iter::once(100..110).collect(), ..paced(10) };
    let settings = Config { reestablish: Some(Duration::from_millis(100)), ..round_robin() };
    let mut lab = Lab::new(settings, MEGABYTES, vec![path.clone()]);
    lab.run(60);
    lab.assert_complete();
    let mut lab = Lab::new(round_robin(), MEGABYTES, vec![path]);
    lab.run(60);
    assert_eq!(lab.ends.each_ref().map(|end| end.mptcp.failure()), [Some(Failure::Reset); 2]);
}

/// A server that has received no DSS keeps the connection too: its client, which may join because it has received one,
/// comes back (RFC 8684 section 3.1 on joining, section 3.3.3 on keeping a connection without subflows).
#[test]
fn a_server_that_has_heard_of_no_data_outlives_its_only_subflow() {
    // The server's first data reaches the client after two round trips, at 40 ms; the client's answers are lost.
    let path = Weather { resets: std::iter::once(40..50).collect(), ..paced(10) };
    let settings = Config { reestablish: Some(Duration::from_millis(100)), ..round_robin() };
    for request in [0, 1_000] {
        let client = (settings.clone(), Application { closes_second: true, ..Application::sends(request) });
        let server = (settings.clone(), Application::sends(MEGABYTES));
        let mut lab = Lab::between(client, server, (pairs(1), vec![path.clone()]), 1);
        lab.run(60);
        lab.assert_complete();
        assert_eq!(lab.ends[1].mptcp.stats().died, 1, "a request of {request} bytes");
    }
}

/// Section 3.3.8: a backup carries data only if nothing else can.
#[test]
fn a_backup_waits() {
    let settings = Config { backups: vec![2], ..round_robin() };
    for dies in [false, true] {
        let first = if dies { dead_after(10, 150) } else { paced(10) };
        let mut lab = Lab::new(settings.clone(), MEGABYTES, vec![first, paced(10)]);
        lab.run(60);
        lab.assert_complete();
        let second = lab.ends[0].mptcp.subflows()[1].tcp().acknowledged_bytes();
        assert_eq!(second > 1_000_000, dies, "{second} bytes by the backup");
        assert!(dies || second == 0);
    }
}

/// MP_PRIO: the receiver makes a subflow a backup, and the sender obeys.
#[test]
fn a_subflow_becomes_a_backup() {
    let mut lab = Lab::new(round_robin(), MEGABYTES, vec![paced(10), paced(10)]);
    lab.paths.logs = true;
    lab.run_until(60, |lab| lab.open(0) == 2 && lab.ends[1].user.received > 1_000_000);
    let now = lab.paths.now;
    lab.ends[1].mptcp.set_backup(now, 1, true);
    lab.serve(1);
    lab.run(60);
    lab.assert_complete();
    assert!(lab.paths.log.iter().any(|seen| seen.signal() == Some(Signal::Priority { backup: true })));
    // A one-way delay until it arrives, and its own transmission: a paced path takes 5 000 packets a second.
    let heard = now + Duration::from_millis(10) + Duration::from_micros(200);
    let later = lab.paths.log.iter().filter(|seen| seen.from == 0 && seen.pair() == 1 && seen.at > heard);
    assert_eq!(later.filter(|seen| seen.segment.length > 0).count(), 0);
}

/// REMOVE_ADDR: both ends close the subflows of an address, their data is reinjected, and none is reopened.
#[test]
fn an_address_goes_away() {
    for side in [0, 1] {
        let settings = Config { reestablish: Some(Duration::from_millis(50)), ..round_robin() };
        let mut lab = Lab::new(settings, MEGABYTES, vec![paced(10), paced(10)]);
        lab.run_until(60, |lab| lab.open(0) == 2 && lab.ends[1].user.received > 1_000_000);
        let now = lab.paths.now;
        lab.ends[side].mptcp.remove_address(now, 1);
        lab.serve(side);
        lab.run(60);
        lab.assert_complete();
        for end in &lab.ends {
            assert_eq!(states(end).len(), 2, "none is opened again");
        }
    }
}

/// Changes of the client's interfaces, in milliseconds after the handshake.
fn changing(changes: &[(u64, &'static str, u64)]) -> Config {
    let change = |&(ms, what, which): &(u64, _, _)| Change { at: Duration::from_millis(ms), what, which };
    Config { changes: changes.iter().map(change).collect(), ..round_robin() }
}

/// An interface that goes before it has a subflow, and comes back, gets the one that the path manager wanted.
#[test]
fn an_interface_comes_back_to_its_first_subflow() {
    let settings = changing(&[(1, "remove", 2), (100, "add", 2)]);
    let mut lab = Lab::new(settings, MEGABYTES, vec![paced(10), paced(10)]);
    lab.run(60);
    lab.assert_complete();
    let carried: Vec<_> = lab.ends[0].mptcp.subflows().iter().map(|one| one.tcp().acknowledged_bytes()).collect();
    assert!(carried.len() == 2 && carried[1] > 1_000_000, "{carried:?}");
}

/// Break before make: a connection whose only interface is gone is kept if that will come back, for as long as in Linux
/// (net.mptcp.close_timeout: 60 s).
#[test]
fn a_connection_waits_for_its_only_interface() {
    for back in [500, 59_000, 61_000] {
        let settings = changing(&[(200, "remove", 1), (200 + back, "add", 1)]);
        let mut lab = Lab::new(settings, MEGABYTES, vec![paced(10)]);
        lab.run_until(200, |lab| lab.ends[0].mptcp.failure().is_some() || lab.ends[1].mptcp.is_over());
        if back < 60_000 {
            lab.run(200);
            lab.assert_complete();
            assert_eq!(lab.ends[0].mptcp.subflows().len(), 2);
            assert!(lab.paths.now < at(back + 2_000), "it took until {:?}", lab.paths.now);
        } else {
            assert_eq!(lab.ends[0].mptcp.failure(), Some(Failure::TimedOut));
            // The handshake's round trip, and the delay of the notification.
            assert_eq!(lab.paths.now, at(20 + 200 + 60_000) + Duration::from_micros(2 * 200));
        }
    }
}

/// Section 3.5: MP_FASTCLOSE ends the connection at both ends, on all subflows.
#[test]
fn a_connection_is_closed_fast() {
    let mut lab = Lab::new(round_robin(), MEGABYTES, vec![paced(10), paced(10)]);
    lab.paths.logs = true;
    lab.run_until(60, |lab| lab.open(0) == 2 && lab.ends[1].user.received > 1_000_000);
    lab.ends[0].mptcp.abort();
    lab.serve(0);
    lab.run(60);
    assert_eq!(lab.ends.each_ref().map(|end| end.mptcp.failure()), [Some(Failure::Reset); 2]);
    for pair in [0, 1] {
        let reset = lab
            .paths
            .log
            .iter()
            .find(|seen| seen.pair() == pair && seen.segment.flags.has(Flags::RST))
            .expect("a reset");
        assert!(matches!((reset.from, reset.signal()), (0, Some(Signal::FastClose(_)))), "{reset:?}");
    }
    assert!(lab.ends.iter().all(|end| end.mptcp.next_timeout() == vazao_engine::Time::NEVER));
}

/// A scheduler that waits, and all paths in timeout at once: the transfer goes on once they recover.
#[test]
fn all_paths_in_timeout_at_once() {
    let outage = || Weather { outages: std::iter::once(150..900).collect(), ..paced(10) };
    let mut lab = Lab::new(round_robin(), MEGABYTES, vec![outage(), outage()]);
    lab.run(60);
    lab.assert_complete();
    assert!(lab.paths.now < at(3_000), "it took until {:?}", lab.paths.now);
}

/// A reset during a transfer, without a replacement: the other end is told.
#[test]
fn a_connection_without_subflows_fails_at_both_ends() {
    let path = || Weather { resets: std::iter::once(100..10_000).collect(), ..paced(10) };
    let pairs = (pairs(2), vec![path(), path()]);
    let side = |bytes| (round_robin(), Application::sends(bytes));
    let mut lab = Lab::between(side(MEGABYTES), side(MEGABYTES), pairs, 1);
    lab.run(60);
    assert!(lab.ends.iter().all(|end| end.mptcp.failure() == Some(Failure::Reset)));
}

/// Data of a silent path is reinjected as soon as the other path's pacing permits, even without new data.
///
/// A failure within the first 0.1 s, a timeout of 0.2 s and a round trip or two, and 300 kB in slow start from ten
/// segments in round trips of 80 ms, of which it takes six: 0.9 s; a second timeout would come 0.4 s later.
#[test]
fn reinjected_data_waits_only_for_pacing() {
    for death in (60..=108).step_by(2) {
        let settings = with(&[("pacing", text("on"))], "reno", "lowest-rtt", "single-mesh");
        let mut lab = Lab::new(settings, 300_000, vec![dead_after(10, death), paced(40)]);
        lab.run(60);
        lab.assert_complete();
        assert!(lab.paths.now < at(1_200), "dead after {death} ms: it took until {:?}", lab.paths.now);
    }
}
