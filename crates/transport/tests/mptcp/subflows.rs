//! Subflows that die, wait, or take the place of others, and what becomes of their data.

use crate::lab::{Application, Lab, Laboratory, Weather, at, config, dead_after, paced, pairs, states, text, with};
use vazao_engine::Duration;
use vazao_engine::registry::Change;
use vazao_transport::mptcp::{Config, Signal};
use vazao_transport::tcp::{Failure, Flags};

const MEGABYTES: u64 = 4 << 20;

fn round_robin() -> Config {
    with(&[], "reno", "round-robin", "single-mesh")
}

/// A path falls silent: what it had goes by the other after its timeout, and the end does not wait for it.
#[test]
fn a_silent_path_is_gone_round() {
    let mut lab = Lab::new(round_robin(), MEGABYTES, vec![paced(10), dead_after(20, 150)]);
    lab.run(60);
    lab.assert_complete();
    let stats = lab.ends[0].mptcp.stats();
    assert!(stats.reinjected > 1424, "{stats:?}");
    // A retransmission timeout of about 0.25 s stops the receiver, whatever it has on the other; the rest are a few round trips.
    assert!(lab.paths.now < at(2_000), "it took until {:?}", lab.paths.now);
}

/// All paths but one are dead from the start of the transfer: those that are opening do not hold up the end.
#[test]
fn subflows_that_never_open_do_not_hold_up_the_end() {
    let mut lab = Lab::new(config(&[]), 100_000, vec![paced(10), dead_after(20, 0)]);
    lab.run(200);
    lab.assert_complete();
    assert!(lab.paths.now < at(500), "it took until {:?}", lab.paths.now);
}

/// The peer dies: TCP's own patience decides, and is the end of it, with data under way and with none.
#[test]
fn a_peer_that_is_gone_is_given_up() {
    let given = [("retries", vazao_engine::registry::Raw::Number(5.0))];
    for bytes in [MEGABYTES, 1_000] {
        let settings = with(&given, "reno", "round-robin", "single-mesh");
        let mut lab = Lab::new(settings, bytes, vec![paced(10), paced(10)]);
        // Either in the midst of the data, or before DATA_FIN.
        let mut gone = false;
        lab.middlebox = Box::new(move |now, _, _, extra| {
            let fin = extra.multipath.and_then(|multipath| multipath.dss).is_some_and(|dss| dss.fin);
            gone |= fin || now > at(120);
            !gone
        });
        lab.ends[1].user.application.closes_second = true;
        lab.run(1_000);
        assert_eq!(lab.ends[0].mptcp.failure(), Some(Failure::TimedOut), "{bytes} bytes");
        // Six timeouts of 200 ms and twice as much each time: 12.6 s, and those of a second subflow that takes over.
        assert!(lab.paths.now < at(40_000), "it took until {:?}", lab.paths.now);
    }
}

/// A subflow that died is opened again, if that is wanted, and carries data again.
#[test]
fn a_subflow_is_opened_again() {
    let paths = || vec![Weather { resets: std::iter::once(100..110).collect(), ..paced(10) }, paced(10)];
    for reestablish in [None, Some(Duration::from_millis(100))] {
        let mut lab = Lab::new(Config { reestablish, ..round_robin() }, MEGABYTES, paths());
        lab.run(60);
        lab.assert_complete();
        let opened = lab.ends[0].mptcp.subflows().iter().map(|subflow| subflow.tuple().way).collect::<Vec<_>>();
        let [died, joined] = [lab.ends[0].mptcp.stats().died, lab.ends[0].mptcp.stats().joined];
        match reestablish {
            None => assert_eq!((opened, died, joined), (vec![0, 1], 1, 1)),
            Some(_) => assert_eq!((opened, died, joined), (vec![0, 1, 0], 1, 2)),
        }
        let last = lab.ends[0].mptcp.subflows().last().expect("a subflow");
        assert!(last.tcp().acknowledged_bytes() > 100_000);
    }
}

/// The only subflow is reset: the connection outlives it if subflows are opened again, both ends of it.
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

/// So does a server that has heard no DSS: its client, which may join since it has had one from the server, comes back
/// (RFC 8684 section 3.1 on who may join, section 3.3.3 on how long an end without subflows is kept).
#[test]
fn a_server_that_has_heard_of_no_data_outlives_its_only_subflow() {
    // The server's first data reaches the client after two round trips, at 40 ms; no answer of the client's reaches the server.
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

/// Section 3.3.8: a backup carries data only when nothing else can.
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

/// MP_PRIO: the receiver makes a subflow a backup, and its sender heeds it.
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
    // A one-way delay until it is heard.
    let heard = now + Duration::from_millis(10);
    let later = lab.paths.log.iter().filter(|seen| seen.from == 0 && seen.way() == 1 && seen.at > heard);
    assert_eq!(later.filter(|seen| seen.segment.length > 0).count(), 0);
}

/// REMOVE_ADDR: the subflows of an address are closed by both, what they had goes by others, and none is opened again.
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

/// What becomes of the client's interfaces, so many milliseconds after the handshake.
fn changing(changes: &[(u64, &'static str, u64)]) -> Config {
    let change = |&(ms, what, which): &(u64, _, _)| Change { at: Duration::from_millis(ms), what, which };
    Config { changes: changes.iter().map(change).collect(), ..round_robin() }
}

/// An interface that goes before it has a subflow, and comes back, has the one that the path manager wanted.
#[test]
fn an_interface_comes_back_to_its_first_subflow() {
    let settings = changing(&[(1, "remove", 2), (100, "add", 2)]);
    let mut lab = Lab::new(settings, MEGABYTES, vec![paced(10), paced(10)]);
    lab.run(60);
    lab.assert_complete();
    let carried: Vec<_> = lab.ends[0].mptcp.subflows().iter().map(|one| one.tcp().acknowledged_bytes()).collect();
    assert!(carried.len() == 2 && carried[1] > 1_000_000, "{carried:?}");
}

/// Break before make: a connection whose only interface is gone is kept if that is to come back, for as long as Linux keeps
/// one (net.mptcp.close_timeout: 60 s).
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
            // The handshake's round trip, and what was told.
            assert_eq!(lab.paths.now, at(20 + 200 + 60_000) + Duration::from_micros(2 * 200));
        }
    }
}

/// Section 3.5: MP_FASTCLOSE ends the connection at both ends, by all subflows.
#[test]
fn a_connection_is_closed_fast() {
    let mut lab = Lab::new(round_robin(), MEGABYTES, vec![paced(10), paced(10)]);
    lab.paths.logs = true;
    lab.run_until(60, |lab| lab.open(0) == 2 && lab.ends[1].user.received > 1_000_000);
    lab.ends[0].mptcp.abort();
    lab.serve(0);
    lab.run(60);
    assert_eq!(lab.ends.each_ref().map(|end| end.mptcp.failure()), [Some(Failure::Reset); 2]);
    for way in [0, 1] {
        let reset =
            lab.paths.log.iter().find(|seen| seen.way() == way && seen.segment.flags.has(Flags::RST)).expect("a reset");
        assert!(matches!((reset.from, reset.signal()), (0, Some(Signal::FastClose(_)))), "{reset:?}");
    }
    assert!(lab.ends.iter().all(|end| end.mptcp.next_timeout() == vazao_engine::Time::NEVER));
}

/// A scheduler that waits, paths in timeout all at once, and both back: the transfer goes on.
#[test]
fn all_paths_in_timeout_at_once() {
    let outage = || Weather { outages: std::iter::once(150..900).collect(), ..paced(10) };
    let mut lab = Lab::new(round_robin(), MEGABYTES, vec![outage(), outage()]);
    lab.run(60);
    lab.assert_complete();
    assert!(lab.paths.now < at(3_000), "it took until {:?}", lab.paths.now);
}

/// Reset in the midst of a transfer with nothing to take its place: the other end hears of it.
#[test]
fn a_connection_without_subflows_fails_at_both_ends() {
    let path = || Weather { resets: std::iter::once(100..10_000).collect(), ..paced(10) };
    let ways = (pairs(2), vec![path(), path()]);
    let side = |bytes| (round_robin(), Application::sends(bytes));
    let mut lab = Lab::between(side(MEGABYTES), side(MEGABYTES), ways, 1);
    lab.run(60);
    assert!(lab.ends.iter().all(|end| end.mptcp.failure() == Some(Failure::Reset)));
}

/// What a silent path had goes by another as soon as the pacing of that one lets it, with nothing new to send at its side.
///
/// A death within the first 0.1 s, a timeout of 0.2 s and a round trip or two, and 300 kB by slow start from ten segments in
/// round trips of 80 ms, which take six: 0.9 s; a second timeout would come 0.4 s later.
#[test]
fn what_goes_by_another_path_waits_for_its_pacing_alone() {
    for death in (60..=108).step_by(2) {
        let settings = with(&[("pacing", text("on"))], "reno", "lowest-rtt", "single-mesh");
        let mut lab = Lab::new(settings, 300_000, vec![dead_after(10, death), paced(40)]);
        lab.run(60);
        lab.assert_complete();
        assert!(lab.paths.now < at(1_200), "dead after {death} ms: it took until {:?}", lab.paths.now);
    }
}
