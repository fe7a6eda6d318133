//! Mappings, acknowledgements, the shared window, checksums, and the end of data (RFC 8684 sections 3.3 and 3.7).

use crate::lab::{Application, Lab, Weather, at, config, paced, pairs, text, with};
use vazao_transport::mptcp::{Config, DataAck, Signal};
use vazao_transport::tcp::Flags;

fn round_robin() -> Config {
    with(&[], "reno", "round-robin", "single-mesh")
}

fn two_paths(settings: Config, bytes: u64) -> Lab {
    let mut lab = Lab::new(settings, bytes, vec![paced(10), paced(30)]);
    lab.paths.logs = true;
    lab
}

/// Section 3.3.3: DATA_FIN goes with the last data and occupies an octet; both ends acknowledge it before subflows
/// close.
#[test]
fn data_ends_before_subflows_do() {
    let mut lab = two_paths(round_robin(), 300_000);
    lab.run(10);
    lab.assert_complete();
    let fin = lab.paths.log.iter().find(|seen| seen.dss().fin && seen.from == 0).expect("a DATA_FIN");
    let map = fin.dss().map.expect("a mapping");
    assert_eq!(u32::from(map.length), u32::from(fin.segment.length) + 1);
    assert!(fin.segment.length > 0);
    let told = lab.paths.log.iter().position(|seen| {
        seen.from == 1 && seen.dss().ack == Some(DataAck::Long(map.dsn.wrapping_add(u64::from(map.length))))
    });
    let closed = lab.paths.log.iter().position(|seen| seen.segment.flags.has(Flags::FIN));
    assert!(told.expect("it is acknowledged") <= closed.expect("subflows are closed"));
}

/// A DATA_FIN without data that is lost repeatedly is repeated.
#[test]
fn a_bare_data_fin_is_repeated() {
    let pairs = (pairs(1), vec![paced(10)]);
    let server = (round_robin(), Application { closes_second: true, ..Application::sends(0) });
    let mut lab = Lab::between((round_robin(), Application::sends(1_000)), server, pairs, 1);
    lab.paths.logs = true;
    let mut left = 3;
    lab.middlebox = Box::new(move |_, from, _, extra| {
        let fin = extra.multipath.and_then(|multipath| multipath.dss).is_some_and(|dss| dss.fin);
        left -= i32::from(from == 1 && fin);
        from == 0 || !fin || left < 0
    });
    lab.run(60);
    lab.assert_complete();
    let fins: Vec<_> =
        lab.paths.log.iter().filter(|seen| seen.from == 1 && seen.dss().fin).map(|seen| seen.at).collect();
    assert_eq!(fins.len(), 4);
    // As for a retransmission: after a timeout, with exponential back-off.
    let waits: Vec<_> = fins.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert!(waits.windows(2).all(|pair| pair[1] == pair[0] * 2), "{waits:?}");
}

/// One side closes and the other continues to send.
#[test]
fn a_connection_is_closed_by_half() {
    let pairs = (pairs(2), vec![paced(10), paced(20)]);
    let server = (round_robin(), Application { closes_second: true, ..Application::sends(2_000_000) });
    let mut lab = Lab::between((round_robin(), Application::sends(10)), server, pairs, 1);
    lab.run(60);
    lab.assert_complete();
}

/// Both send, and both close at once.
#[test]
fn both_ends_send_and_close() {
    let pairs = (pairs(2), vec![paced(10), paced(10)]);
    let side = || (round_robin(), Application::sends(2_000_000));
    let mut lab = Lab::between(side(), side(), pairs, 1);
    lab.run(60);
    lab.assert_complete();
    let repeated = lab.ends.iter().map(|end| end.mptcp.stats().reinjected + end.mptcp.duplicate_bytes()).sum::<u64>();
    assert_eq!(repeated, 0);
}

/// Section 3.3.4: the window belongs to the connection, not its subflows; a reader that stops closes it, probes ask for
/// it, and a lost window update does no harm.
#[test]
fn the_window_is_shared() {
    let given = [("receive_buffer", text("50 kB"))];
    let settings = with(&given, "reno", "round-robin", "single-mesh");
    let pairs = (pairs(2), vec![paced(10), paced(30)]);
    // One read in ten seconds: 40 kB, so the window opens only then.
    let slow = Application { reads: 40_000, every: 10_000, ..Application::sends(0) };
    let mut lab = Lab::between((settings.clone(), Application::sends(150_000)), (settings, slow), pairs, 1);
    // The window update is lost: only answers get through.
    let mut asked = true;
    lab.middlebox = Box::new(move |now, from, _, _| {
        let passes = from == 0 || asked || now < at(5_000);
        asked = from == 0;
        passes
    });
    lab.run(200);
    lab.assert_complete();
    let probes = lab.ends[0].mptcp.stats().probes;
    // 0.2 s, 0.4 s, ...: six in the first ten seconds, and some of those after each opening of the window.
    assert!((6..30).contains(&probes), "{probes} probes");
}

/// A gap on one path fills the receiver's buffer through the other, and no further.
#[test]
fn data_beyond_a_gap_uses_the_window() {
    let given = [("receive_buffer", text("100 kB"))];
    let outage = Weather { outages: std::iter::once(160..1_000).collect(), ..paced(30) };
    let settings = with(&given, "reno", "round-robin", "single-mesh");
    let mut lab = Lab::new(settings, 2_000_000, vec![paced(10), outage]);
    lab.run(60);
    lab.assert_complete();
}

/// Section 3.7: data was altered on one of two subflows, which is reset with MP_FAIL; its data is reinjected.
#[test]
fn a_subflow_whose_data_is_altered_is_given_up() {
    let mut lab = two_paths(Config { checksum: true, ..round_robin() }, 2_000_000);
    lab.middlebox = Box::new(|now, _, segment, extra| {
        if now > at(200) && segment.length > 0 && crate::lab::tuple(extra).pair == 1 {
            segment.stamp ^= 1;
        }
        true
    });
    lab.run(60);
    lab.assert_complete();
    assert!(lab.ends[1].mptcp.stats().checksum_failures > 0);
    assert_eq!(lab.ends[1].mptcp.stats().died, 1);
    let reset = lab.paths.log.iter().find(|seen| seen.segment.flags.has(Flags::RST)).expect("a reset");
    assert!(matches!(reset.signal(), Some(Signal::Fail(_))), "{reset:?}");
    assert!(lab.ends.iter().all(|end| end.mptcp.is_multipath()));
}

/// Data altered on the only subflow: MP_FAIL, an infinite mapping, and plain TCP; altered data is accepted, as by TCP.
#[test]
fn the_only_subflow_falls_back_where_data_is_altered() {
    let mut lab = Lab::new(Config { checksum: true, ..round_robin() }, 2_000_000, vec![paced(10)]);
    (lab.paths.logs, lab.altered) = (true, true);
    let mut altered = false;
    lab.middlebox = Box::new(move |now, _, segment, _| {
        if now > at(100) && segment.length > 0 && !altered {
            altered = true;
            segment.stamp ^= 1;
        }
        true
    });
    lab.run(60);
    lab.assert_complete();
    assert!(lab.ends.iter().all(|end| !end.mptcp.is_multipath()));
    let stats = lab.ends[1].mptcp.stats();
    assert_eq!((stats.checksum_failures, stats.misplaced), (1, 1));
    let fail = lab.paths.log.iter().position(|seen| matches!(seen.signal(), Some(Signal::Fail(_)))).expect("MP_FAIL");
    let infinite = lab.paths.log.iter().position(|seen| seen.dss().map.is_some_and(|map| map.length == 0));
    assert!(infinite.expect("an infinite mapping") > fail);
    let later = lab.paths.log[infinite.expect("it is there") + 1..].iter();
    assert!(later.filter(|seen| seen.from == 0).all(|seen| seen.dss().map.is_none()), "no mappings any more");
}

/// Checksums are used if either side requires them (section 3.1).
#[test]
fn either_side_can_ask_for_checksums() {
    for sides in [[true, false], [false, true], [false, false]] {
        let [client, server] = sides.map(|checksum| Config { checksum, ..config(&[]) });
        let pairs = (pairs(1), vec![paced(10)]);
        let mut lab =
            Lab::between((client, Application::sends(10_000)), (server, Application::sends(10_000)), pairs, 1);
        lab.paths.logs = true;
        lab.run(10);
        lab.assert_complete();
        let maps: Vec<_> = lab.paths.log.iter().filter_map(|seen| seen.dss().map).collect();
        assert!(maps.len() > 10);
        assert!(maps.iter().all(|map| map.checksum.is_some() == sides.contains(&true)), "{sides:?}");
    }
}
