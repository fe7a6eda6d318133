//! Multipath QUIC (RFC 10069).

use crate::delivery::{exchange, tolerance, treatment, weather};
use crate::exchange::{Exchange, Fate};
use crate::lab::{Lab, Laboratory, Weather, config, over_paths, text};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vazao_engine::Duration;
use vazao_engine::registry::{Change, Raw};
use vazao_transport::common::SCHEDULERS;
use vazao_transport::common::{Decision, PacketScheduler, Situation};
use vazao_transport::quic::{Config, Frame};

fn change(ms: u64, what: &'static str, which: u64) -> Change {
    Change { at: Duration::from_millis(ms), what, which }
}

/// Lab with two interfaces and changes.
fn two_paths(scheduler: &str, sends: [u64; 2], ways: [Weather; 2], changes: Vec<Change>, backups: Vec<u64>) -> Lab {
    let [first, second] = ways;
    let mut config = over_paths(config(&[("idle_timeout", text("1 h"))]), scheduler);
    config.changes = changes;
    config.backups = backups;
    Lab::new(config, sends, first, 1).with_ways(vec![second])
}

/// Every byte arrives once on some path; each path carries a part, except with schedulers that have reason to avoid
/// one.
#[test]
fn every_scheduler_delivers_over_two_paths() {
    for scheduler in SCHEDULERS {
        let ways = [Weather::fair(10), Weather::fair(25)];
        let mut lab = two_paths(scheduler.name, [4 << 20, 1 << 20], ways, Vec::new(), Vec::new());
        lab.run(60);
        lab.assert_delivered();
        let bytes: Vec<u64> = lab.client().paths().map(|path| path.stats.bytes).collect();
        assert_eq!(bytes.iter().sum::<u64>(), 4 << 20, "{}", scheduler.name);
    }
}

/// Path control frames in the datagrams of each path, in order.
type Said = Rc<RefCell<Vec<(usize, u8, Frame)>>>;

fn overhear(lab: &mut Lab) -> Said {
    let said = Said::default();
    let heard = said.clone();
    lab.lose = Box::new(move |from, datagram| {
        heard.borrow_mut().extend(datagram.frames.iter().map(|frame| (from, datagram.path, *frame)));
        false
    });
    said
}

/// Section 3.1: the client uses a new connection ID, each side validates the other's address on the path itself, and
/// only then data follows.
#[test]
fn a_path_is_validated_before_it_carries_data() {
    let mut lab =
        two_paths("round-robin", [1 << 20, 0], [Weather::fair(10), Weather::fair(10)], Vec::new(), Vec::new());
    let said = overhear(&mut lab);
    lab.run(60);
    lab.assert_delivered();
    let said = said.borrow();
    let first = |from: usize, wanted: fn(&Frame) -> bool| {
        said.iter().position(|(end, path, frame)| *end == from && *path == 1 && wanted(frame)).expect("it was said")
    };
    let asked = |frame: &Frame| matches!(frame, Frame::PathChallenge(_));
    let answered = |frame: &Frame| matches!(frame, Frame::PathResponse(_));
    assert!(first(0, asked) < first(1, answered) && first(1, asked) < first(0, answered));
    assert!(first(1, answered) < first(0, |frame| matches!(frame, Frame::Stream(_))));
    // The connection IDs were exchanged before, on the first path.
    let issued = |from: usize| {
        said.iter()
            .position(|said| said.0 == from && matches!(said.2, Frame::PathNewConnectionId { path: 1, .. }))
            .expect("it was issued")
    };
    assert!(issued(0).max(issued(1)) < first(0, asked));
    // Acknowledgements name their path (section 2.3).
    let unnamed =
        said.iter().filter(|(_, path, frame)| *path > 0 && matches!(frame, Frame::Ack(ack) if ack.path.is_none()));
    assert_eq!(unnamed.count(), 0);
}

/// Section 3.4: a path whose interface goes is abandoned, by both sides on another path; the one opened when the
/// interface is back has another identifier.
#[test]
fn a_path_is_abandoned_and_its_identifier_never_reused() {
    let changes = vec![change(100, "remove", 2), change(600, "add", 2)];
    let mut lab = two_paths("round-robin", [0, 20 << 20], [Weather::fair(10), Weather::fair(15)], changes, Vec::new());
    lab.ends[0].user.reads_slowly(Some(100_000));
    let said = overhear(&mut lab);
    lab.run(60);
    lab.assert_delivered();
    let said = said.borrow();
    for from in 0..2 {
        assert!(said.iter().any(|said| said.0 == from && matches!(said.2, Frame::PathAbandon { path: 1, .. })));
    }
    assert!(said.iter().all(|said| !matches!(said.2, Frame::PathAbandon { path, .. } if said.1 == path)));
    let bytes: Vec<u64> = lab.server().paths().map(|path| path.stats.bytes).collect();
    assert!(bytes[1] > 0 && bytes[2] > 0, "{bytes:?}");
}

/// Section 3.3: a backup is not used until it is the only path.
#[test]
fn a_backup_waits_for_its_turn() {
    let changes = vec![change(300, "remove", 1)];
    let mut lab = two_paths("lowest-rtt", [0, 8 << 20], [Weather::fair(10), Weather::fair(5)], changes, vec![2]);
    lab.ends[0].user.reads_slowly(Some(100_000));
    let said = overhear(&mut lab);
    lab.run(60);
    lab.assert_delivered();
    let said = said.borrow();
    let abandoned = said
        .iter()
        .position(|said| said.0 == 0 && matches!(said.2, Frame::PathAbandon { .. }))
        .expect("it was abandoned");
    let data = |part: &[(usize, u8, Frame)], path: u8| {
        part.iter().filter(|said| said.0 == 1 && said.1 == path && matches!(said.2, Frame::Stream(_))).count()
    };
    let (before, after) = said.split_at(abandoned);
    assert!(data(before, 0) > 0 && data(before, 1) == 0);
    assert!(data(after, 1) > 0);
}

/// Data in flight on a path that dies silently is reassigned long before the path would be abandoned.
#[test]
fn a_path_that_dies_takes_nothing_with_it() {
    let dead = Weather { outages: std::iter::once(60..u64::MAX).collect(), ..Weather::fair(10) };
    let mut lab = two_paths("round-robin", [8 << 20, 0], [Weather::fair(10), dead], Vec::new(), Vec::new());
    lab.run(60);
    lab.assert_delivered();
    assert!(lab.paths.now < crate::lab::at(3_000), "{:?}", lab.paths.now);
}

/// Packet numbers of every path begin at zero (section 2.4), so a packet is identified by both.
#[test]
fn paths_number_their_packets_by_themselves() {
    let mut lab =
        two_paths("round-robin", [1 << 20, 0], [Weather::fair(10), Weather::fair(10)], Vec::new(), Vec::new());
    let lowest = Rc::new(RefCell::new(BTreeMap::new()));
    let seen = lowest.clone();
    lab.lose = Box::new(move |from, datagram| {
        for packet in &datagram.packets {
            seen.borrow_mut().entry((from, datagram.path)).or_insert(packet.number);
        }
        false
    });
    lab.run(60);
    lab.assert_delivered();
    assert_eq!(*lowest.borrow(), BTreeMap::from([((0, 0), 0), ((1, 0), 0), ((0, 1), 0), ((1, 1), 0)]));
}

fn scheduler() -> impl Strategy<Value = &'static str> {
    prop::sample::select(SCHEDULERS).prop_map(|entry| entry.name)
}

/// Settings without those of Google's QUIC, which has one path only.
fn one_protocol(given: Vec<(&'static str, Raw)>, tolerance: Vec<(&'static str, Raw)>) -> Vec<(&'static str, Raw)> {
    let is_google = |value: &Raw| matches!(value, Raw::Text(text) if text.starts_with("gquic"));
    given.into_iter().chain(tolerance).filter(|(name, value)| *name != "fec" && !is_google(value)).collect()
}

prop_compose! {
    /// Changes of three interfaces; in the end all are available.
    fn changes()(times in prop::collection::vec((
        0_u64..5_000, prop::sample::select(&["remove", "add", "rebind", "backup", "regular"]), 1_u64..4), 0..8)
    ) -> Vec<Change> {
        let mut changes: Vec<Change> = times.into_iter().map(|(ms, what, which)| change(ms, what, which)).collect();
        changes.sort_by_key(|change| change.at);
        changes.extend((1..4).map(|which| change(6_000, "add", which)));
        changes
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 2))]
    /// Every stream's bytes arrive once and in order, or up to its reset, whatever happens to the paths.
    #[test]
    fn every_stream_arrives_by_whatever_paths_there_are(
        seed: u32, given in treatment(), weathers in prop::collection::vec(weather(), 3), changes in changes(),
        most in 1_u64..8, scheduler in scheduler(), backups in prop::collection::vec(1_u64..4, 0..2),
        ours in prop::collection::vec(exchange(), 0..16), theirs in prop::collection::vec(exchange(), 0..16),
        tolerance in tolerance(),
    ) {
        let mut config = over_paths(config(&one_protocol(given, tolerance)), scheduler);
        config.changes = changes;
        config.max_streams = most;
        config.keep_alive = Duration::from_secs(1);
        config.backups = backups;
        let mut weathers = weathers.into_iter();
        let first = weathers.next().expect("there are three");
        let mut lab = Lab::talking(config, [ours, theirs], first, u64::from(seed)).with_ways(weathers.collect());
        lab.paths.calm_after = 3_000;
        lab.run_until(20_000, Lab::is_said);
        prop_assert!(lab.is_said(), "{:?}", lab.ends.each_ref().map(|end| end.quic.failure()));
        prop_assert_eq!(lab.ends.each_ref().map(|end| end.quic.failure()), [None; 2]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    /// Every byte of an application's stream each way arrives, on one or several of QUIC's, read at once or slowly; and both
    /// ends learn of the close, wherever the client is by then.
    #[test]
    fn every_byte_arrives_by_whatever_paths_there_are(
        seed: u32, given in treatment(), weathers in prop::collection::vec(weather(), 3), changes in changes(),
        scheduler in scheduler(), backups in prop::collection::vec(1_u64..4, 0..2), tolerance in tolerance(),
        sends in [0_u64..300_000, 0_u64..300_000], slow in prop::option::of(2_000_u64..20_000), streams in 1_u64..5,
    ) {
        let mut config = over_paths(config(&one_protocol(given, tolerance)), scheduler);
        (config.changes, config.backups, config.streams) = (changes, backups, streams);
        config.keep_alive = Duration::from_secs(1);
        let mut weathers = weathers.into_iter();
        let first = weathers.next().expect("there are three");
        let mut lab = Lab::new(config, sends, first, u64::from(seed)).with_ways(weathers.collect());
        lab.ends[1].user.reads_slowly(slow);
        lab.paths.calm_after = 3_000;
        lab.run(20_000);
        lab.assert_delivered();
    }
}

/// All interfaces go, the last with data in flight; then the first comes back, but never the last.
#[test]
fn data_of_the_last_path_moves_to_the_first_that_returns() {
    for sends in [[4 << 20, 0], [0, 4 << 20]] {
        let changes = vec![change(200, "remove", 1), change(300, "remove", 2), change(1_000, "add", 1)];
        let mut config = over_paths(config(&[]), "round-robin");
        (config.changes, config.max_window) = (changes, Some(17));
        // Data sent just before is lost, and no probe timeout has revealed it.
        let dying = Weather { outages: std::iter::once(310..u64::MAX).collect(), ..Weather::fair(15) };
        let mut lab = Lab::new(config, sends, Weather::fair(10), 1).with_ways(vec![dying]);
        let said = overhear(&mut lab);
        lab.run(20);
        lab.assert_delivered();
        // The dead path is abandoned as soon as there is another.
        assert!(said.borrow().iter().any(|said| said.0 == 0 && matches!(said.2, Frame::PathAbandon { path: 1, .. })));
    }
}

/// Scheduler that records the maximum outstanding data, and takes the first available path.
struct Watch(Arc<AtomicU64>);

impl PacketScheduler for Watch {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        self.0.fetch_max(situation.outstanding, Ordering::Relaxed);
        Decision::send(situation.available().map(|(path, _)| path).next())
    }
}

/// A stream whose end is acknowledged, but which is still being answered, is not outstanding: otherwise schedulers
/// would consider all windows full, and later data would never be removed.
#[test]
fn a_request_that_is_being_answered_is_not_outstanding() {
    let exchange =
        |bytes, answer| Exchange { both_ways: true, bytes, answer, urgency: 3, turn: None, fate: Fate::Whole };
    let most = Arc::new(AtomicU64::new(0));
    let seen = most.clone();
    let scheduler = Arc::new(move || Box::new(Watch(seen.clone())) as Box<dyn PacketScheduler>);
    let config = Config { packet_scheduler: Some(scheduler), max_window: Some(68), ..config(&[]) };
    let plan = [vec![exchange(1_000, 8 << 20), exchange(8 << 20, 1_000)], Vec::new()];
    let mut lab = Lab::talking(config, plan, Weather::fair(10), 1).with_ways(vec![Weather::fair(10)]);
    lab.run_until(60, Lab::is_said);
    assert!(lab.is_said());
    // Each path has a window of 100 kB, which the other may send every 20 ms while one waits for a delayed ACK (25 ms).
    let most = most.load(Ordering::Relaxed);
    assert!(most > 50_000 && most <= 500_000, "{most}");
}

/// An interface that comes and goes uses up the path identifiers; the other carries on.
#[test]
fn identifiers_of_paths_run_out_and_the_first_path_carries_on() {
    let changes = (1..160).map(|i| change(100 * i, if i % 2 == 1 { "remove" } else { "add" }, 2)).collect();
    let mut lab = two_paths("round-robin", [0, 32 << 20], [Weather::fair(10), Weather::fair(15)], changes, Vec::new());
    lab.ends[0].user.reads_slowly(Some(10_000));
    lab.run(60);
    lab.assert_delivered();
    let bytes: Vec<u64> = lab.server().paths().map(|path| path.stats.bytes).collect();
    assert_eq!((bytes.len(), bytes.iter().sum()), (64, 32_u64 << 20), "{bytes:?}");
}

/// The first packets of a path leave before its round-trip time is known, and later ones are not paced for 333 ms. (25
/// kB per 40 ms, a round trip with a delayed ACK, is 150 kB in 250 ms.)
#[test]
fn a_new_path_is_not_paced_before_an_rtt_sample() {
    let mut config = over_paths(config(&[]), "round-robin");
    config.max_window = Some(17);
    let mut lab = Lab::new(config, [4 << 20, 0], Weather::fair(10), 1).with_ways(vec![Weather::fair(15)]);
    lab.run_to(350);
    let bytes: Vec<u64> = lab.client().paths().map(|path| path.stats.bytes).collect();
    assert!(bytes[1] > 100_000, "{bytes:?}");
}
