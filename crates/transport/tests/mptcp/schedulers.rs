//! Packet schedulers: invariants in any situation, and the choice that each definition makes on hand-made paths.

use proptest::prelude::*;
use std::collections::BTreeMap;
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, Rate, Time};
use vazao_transport::common::{Decision, PacketScheduler, PathState, SCHEDULERS, Situation};

const MSS: u64 = 1000;

fn scheduler(name: &str) -> Box<dyn PacketScheduler> {
    with(name, &[])
}

fn with(name: &str, given: &[(&str, f64)]) -> Box<dyn PacketScheduler> {
    let entry = find("packet scheduler", SCHEDULERS, name).unwrap();
    let given: BTreeMap<_, _> = given.iter().map(|&(name, value)| (name.to_owned(), Raw::Number(value))).collect();
    (entry.build)(&Parameters::resolve(entry.parameters, &given).unwrap())
}

/// Path with a round-trip time in milliseconds, and a window and flight in segments.
fn path(ms: u64, cwnd: u64, flight: u64) -> PathState {
    let rtt = Duration::from_millis(ms);
    PathState {
        cwnd: cwnd * MSS,
        ssthresh: cwnd * MSS,
        flight: flight * MSS,
        held: flight * MSS,
        mss: MSS,
        srtt: rtt,
        rtt,
        min_rtt: rtt,
        forward: rtt.as_nanos() as i64 / 2,
        usable: true,
        has_room: flight < cwnd,
        slow_start: false,
        ..PathState::UNKNOWN
    }
}

/// A megabyte waits, and the receiver has room for twice as much.
fn situation(paths: &[PathState]) -> Situation<'_> {
    let outstanding = paths.iter().map(|path| path.flight).sum();
    Situation {
        now: Time::from_nanos(1_000_000_000),
        paths,
        with_room: u64::MAX,
        waiting: 1000 * MSS,
        window: 2000 * MSS,
        buffer: 2000 * MSS + outstanding,
        outstanding,
        sent: 5_000_000,
        blocker: None,
    }
}

fn send(path: usize) -> Decision {
    Decision::Send { path, skip: 0 }
}

fn choice(name: &str, paths: &[PathState]) -> Decision {
    scheduler(name).decide(&situation(paths))
}

// ---- invariants -----------------------------------------------------------------------------------------------------

/// Schedulers that by definition may leave a path with room unused.
const WAITING: [&str; 12] = [
    "least-linger",
    "adaptive",
    "bufferbloat-mitigation",
    "freeze",
    "cp-radical",
    "cp-conservative",
    "forward-delay",
    "forward-prediction",
    "path-capacity",
    "blest",
    "ecf",
    "daps",
];

fn any_path() -> impl Strategy<Value = PathState> {
    let times = (0_u64..300_000, 0_u64..300_000, 0_u64..50_000, -100_000_i64..100_000);
    let sizes = (1_u64..200, 0_u64..250, 0_u64..20, 0_u64..6_000_000);
    (times, sizes, any::<[bool; 4]>()).prop_map(
        |((srtt, rtt, rttvar, forward), (cwnd, flight, queued, copied), flags)| {
            let [usable, open, slow_start, recovering] = flags;
            PathState {
                cwnd: cwnd * MSS + rtt % MSS,
                flight: flight * MSS,
                queued: if open { 0 } else { queued * MSS },
                held: (flight + if open { 0 } else { queued }) * MSS,
                mss: MSS,
                srtt: Duration::from_micros(srtt),
                rttvar: Duration::from_micros(rttvar),
                rtt: Duration::from_micros(rtt),
                min_rtt: Duration::from_micros(srtt.min(rtt)),
                forward: forward * 1000,
                copied,
                usable,
                has_room: usable && open,
                slow_start,
                recovering,
                ..PathState::UNKNOWN
            }
        },
    )
}

/// Situations of one connection: paths, waiting data, the receiver's window, and the path that blocks it.
fn any_steps() -> impl Strategy<Value = Vec<(Vec<PathState>, u64, u64, usize)>> {
    let step = |paths| (prop::collection::vec(any_path(), paths), 0_u64..2000, 0_u64..2000, 0_usize..9);
    (1_usize..8).prop_flat_map(move |paths| prop::collection::vec(step(paths), 1..12))
}

/// Whether a decision can be carried out: the chosen path is usable, and has room unless the scheduler queues data for
/// it.
fn is_possible(decision: Decision, paths: &[PathState], queues: bool) -> bool {
    match decision {
        Decision::Wait => true,
        Decision::Send { path, .. } => paths[path].usable && (queues || paths[path].has_room),
        Decision::Copy { path } => paths[path].is_available(),
        Decision::Repeat { path, penalised } => {
            paths[path].is_available() && penalised.is_none_or(|slow| slow != path && slow < paths.len())
        }
    }
}

proptest! {
    /// No scheduler makes an impossible choice; equal histories give equal decisions; and only schedulers that may by
    /// definition leave all paths unused do so, and not while no path is in use.
    #[test]
    fn every_scheduler_keeps_the_contract(steps in any_steps()) {
        for entry in SCHEDULERS {
            let parameters = Parameters::defaults(entry.parameters);
            let (mut one, mut other) = ((entry.build)(&parameters), (entry.build)(&parameters));
            for (step, (paths, waiting, window, blocker)) in steps.iter().enumerate() {
                let (waiting, window) = (waiting * MSS, window * MSS);
                let situation = Situation {
                    now: Time::from_nanos(step as u64 * 10_000_000),
                    waiting,
                    window,
                    blocker: (waiting > 0 && window == 0 && *blocker < paths.len()).then_some(*blocker),
                    ..self::situation(paths)
                };
                let decision = one.decide(&situation);
                prop_assert_eq!(decision, other.decide(&situation), "{}", entry.name);
                prop_assert!(is_possible(decision, paths, one.queues()), "{}: {:?}", entry.name, decision);
                let fresh = paths.iter().all(|path| !path.usable || path.has_room && path.flight == 0);
                let has_room = waiting > 0 && window > 0 && paths.iter().any(PathState::is_available);
                if has_room && (fresh || !WAITING.contains(&entry.name)) {
                    prop_assert_ne!(decision, Decision::Wait, "{}", entry.name);
                }
                if let Decision::Send { path, .. } = decision {
                    one.on_sent(path, MSS);
                    other.on_sent(path, MSS);
                }
            }
        }
    }
}

/// Without new data, the decision is about a retransmission: it leaves on a path with room, or ahead of queued data.
#[test]
fn retransmissions_do_not_wait() {
    for entry in SCHEDULERS.iter().filter(|entry| !WAITING.contains(&entry.name)) {
        let paths = [path(10, 10, 10), path(500, 10, 3)];
        let again = Situation { waiting: 0, ..situation(&paths) };
        let mut scheduler = scheduler(entry.name);
        let expected = match entry.name {
            "redundant" => Decision::Copy { path: 1 },
            _ => send(usize::from(!scheduler.queues())),
        };
        assert_eq!(scheduler.decide(&again), expected, "{}", entry.name);
    }
}

// ---- individual schedulers ------------------------------------------------------------------------------------------

#[test]
fn lowest_rtt_takes_the_nearest_that_has_room_the_first_of_equals() {
    assert_eq!(choice("lowest-rtt", &[path(20, 10, 0), path(10, 10, 0), path(10, 10, 0)]), send(1));
    assert_eq!(choice("lowest-rtt", &[path(20, 10, 0), path(10, 10, 10)]), send(0));
    assert_eq!(choice("lowest-rtt", &[path(20, 10, 10)]), Decision::Wait);
}

/// Ten segments at 1.2 × 10 in 10 ms linger 8.3 ms, and so do two at 1.2 × 20 in 100 ms; far below the threshold
/// the rate is 2 × 10 in 10 ms, and they linger 5 ms, as at 16 Mbit/s of a control's own. Room in the window does not count.
#[test]
fn least_linger_takes_the_path_that_has_sent_all_soonest() {
    for (far, expected) in [(3, 0), (2, 0), (1, 1)] {
        assert_eq!(choice("least-linger", &[path(10, 10, 10), path(100, 20, far)]), send(expected));
    }
    for (ssthresh, pacing_rate) in [(30 * MSS, None), (0, Some(Rate::from_bps(16_000_000)))] {
        let faster = PathState { ssthresh, pacing_rate, ..path(10, 10, 10) };
        assert_eq!(choice("least-linger", &[path(10, 10, 10), faster]), send(1));
    }
}

/// 65 428 bytes are 66 segments of 1000 at one time; afterwards, and at another time, the least linger time decides anew.
#[test]
fn least_linger_gives_bursts() {
    let mut scheduler = scheduler("least-linger");
    let mut paths = [path(10, 100, 0), path(10, 100, 1)];
    let mut next = |ms: u64, paths: &[PathState]| {
        let now = Time::from_nanos(ms * 1_000_000);
        let decision = scheduler.decide(&Situation { now, ..situation(paths) });
        scheduler.on_sent(0, MSS);
        decision
    };
    for held in 0..66 {
        paths[0].held = held * MSS;
        assert_eq!(next(1, &paths), send(0));
    }
    assert_eq!(next(1, &paths), send(1));
    paths[1].held = 70 * MSS;
    assert_eq!([next(1, &paths), next(2, &paths)], [send(1), send(0)], "the burst goes on, until something happens");
}

/// A rate of 1.2 × 10 segments in 10 ms that becomes twice as high counts as 1.5 times as high with a burst of 20 segments,
/// which is all that the receiver's window leaves, added to 20: they linger 11.1 ms, 13 at the old rate 10.8, 14 of them 11.7.
#[test]
fn least_linger_averages_the_rate() {
    for (flight, expected) in [(13, 1), (14, 0)] {
        let mut scheduler = scheduler("least-linger");
        let mut at = |ms: u64, cwnd, usable| {
            let paths = [path(10, cwnd, cwnd), PathState { usable, ..path(40, 40, flight) }];
            let situation = Situation { window: 20 * MSS, ..situation(&paths) };
            scheduler.decide(&Situation { now: Time::from_nanos(ms * 1_000_000), ..situation })
        };
        assert_eq!(at(1, 10, false), send(0));
        assert_eq!(at(2, 20, false), send(0));
        assert_eq!(at(3, 20, true), send(expected));
    }
}

/// Ten segments of window are 46 080 bytes of buffer (`it_fills_as_linux_does` of the send buffer). Where that is full the
/// far subflow, whose five segments linger 41.7 ms and not 38.4, is not given anything either. All together may hold
/// 4096 bytes more than their buffers.
#[test]
fn least_linger_waits_for_the_buffer_of_the_soonest() {
    let held = |held| [PathState { held, ..path(10, 10, 10) }, path(100, 10, 5)];
    assert_eq!(choice("least-linger", &held(46_079)), send(0));
    assert_eq!(choice("least-linger", &held(46_080)), Decision::Wait);
    let decide = |outstanding| scheduler("least-linger").decide(&Situation { outstanding, ..situation(&held(10_000)) });
    assert_eq!(decide(4096 + 2 * 46_080 - 1), send(0));
    assert_eq!(decide(4096 + 2 * 46_080), Decision::Wait);
}

/// Linux's mptcp_rr: a turn of `num_segments` each, and a new round when all with room have had theirs.
#[test]
fn round_robin_gives_each_its_turn() {
    let order = |segments: f64, paths: &[PathState]| -> Vec<usize> {
        let mut scheduler = with("round-robin", &[("num_segments", segments)]);
        let mut next = || match scheduler.decide(&situation(paths)) {
            Decision::Send { path, skip: 0 } => {
                scheduler.on_sent(path, MSS);
                path
            }
            other => panic!("{other:?}"),
        };
        (0..6).map(|_| next()).collect()
    };
    let open = [path(30, 10, 0), path(10, 10, 0), path(20, 10, 0)];
    assert_eq!(order(1.0, &open), [0, 1, 2, 0, 1, 2]);
    assert_eq!(order(2.0, &open), [0, 0, 1, 1, 2, 2]);
    assert_eq!(order(1.0, &[path(30, 10, 0), path(10, 10, 10), path(20, 10, 0)]), [0, 2, 0, 2, 0, 2]);
}

#[test]
fn redundant_copies_by_each_path_that_lacks_something() {
    let behind = |ms, copied| PathState { copied, ..path(ms, 10, 1) };
    let decide =
        |paths: &[PathState], waiting| scheduler("redundant").decide(&Situation { waiting, ..situation(paths) });
    // All data up to octet 5 000 000 was sent by some path.
    assert_eq!(decide(&[behind(10, 5_000_000), behind(20, 4_000_000)], 0), Decision::Copy { path: 1 });
    assert_eq!(decide(&[behind(10, 5_000_000), behind(20, 4_000_000)], MSS), Decision::Copy { path: 0 });
    assert_eq!(decide(&[behind(10, 5_000_000), behind(20, 5_000_000)], 0), Decision::Wait);
}

/// Algorithm 4: most space in segments, ties to the last; without space, lowest round-trip time, ties to the last. A
/// later path with space overrides that choice, and a later one without space overrides an earlier one with space.
#[test]
fn lws_takes_the_largest_space() {
    assert_eq!(choice("lws", &[path(10, 10, 8), path(50, 20, 10), path(20, 30, 25)]), send(1));
    assert_eq!(choice("lws", &[path(10, 20, 10), path(50, 15, 5), path(20, 30, 25)]), send(1));
    // A partial segment is no space.
    let part = PathState { cwnd: 20_900, flight: 10_000, has_room: true, ..path(10, 20, 0) };
    assert_eq!(choice("lws", &[path(50, 20, 10), part, path(50, 9, 0)]), send(1));
    let full = |ms| PathState { has_room: true, ..path(ms, 10, 12) };
    assert_eq!(choice("lws", &[full(30), full(20), full(20), full(40)]), send(2));
    assert_eq!(choice("lws", &[full(30), path(90, 10, 9), full(40)]), send(1));
    assert_eq!(choice("lws", &[path(90, 10, 0), full(40)]), send(1));
    // Paths without room and unusable paths are ignored.
    assert_eq!(
        choice("lws", &[path(10, 3, 2), PathState { usable: false, ..path(10, 50, 0) }, path(10, 9, 9)]),
        send(0)
    );
}

/// Algorithm 5: 40 ms over 10 segments is less than 20 ms over 4, and 8 000 × 40 / 10 as much as 8 000 × 20 / 5.
#[test]
fn lts_takes_the_least_time_over_space() {
    assert_eq!(choice("lts", &[path(20, 10, 6), path(40, 20, 10)]), send(1));
    assert_eq!(choice("lts", &[path(40, 20, 10), path(20, 10, 5)]), send(1));
    assert_eq!(choice("lts", &[path(20, 10, 5), path(40, 20, 10)]), send(1));
    // 80 000 / 30 and 80 003 / 30 are equal as integers: the last one wins.
    let longer = PathState { srtt: Duration::from_nanos(10_000_400), ..path(10, 30, 0) };
    assert_eq!(choice("lts", &[path(10, 30, 0), longer]), send(1));
    let full = |ms| PathState { has_room: true, ..path(ms, 10, 12) };
    assert_eq!(choice("lts", &[full(30), full(20), full(20), full(40)]), send(2));
}

/// Algorithm 6: 30 segments in 20 ms are more than 10 in 10 ms, whatever the flight; the latest RTT counts.
#[test]
fn hsr_takes_the_highest_rate() {
    assert_eq!(choice("hsr", &[path(20, 30, 29), path(10, 10, 0)]), send(0));
    assert_eq!(choice("hsr", &[path(20, 20, 0), path(10, 10, 0)]), send(1));
    let worse_now = PathState { rtt: Duration::from_millis(40), ..path(20, 30, 0) };
    assert_eq!(choice("hsr", &[worse_now, path(10, 10, 0)]), send(1));
    // 16 × 10 000 / 9 000 and 16 × 10 000 / 9 400 are both 17: the last one wins.
    let slower = PathState { rtt: Duration::from_micros(9_400), ..path(9, 10, 0) };
    assert_eq!(choice("hsr", &[path(9, 10, 0), slower]), send(1));
}

#[test]
fn retransmit_penalize_repeats_what_blocks_and_slows_the_slower() {
    let paths = [path(10, 10, 2), path(100, 20, 20)];
    assert_eq!(choice("retransmit-penalize", &paths), send(0));
    let blocked = |paths: &[PathState], blocker| {
        scheduler("retransmit-penalize").decide(&Situation { window: 0, blocker: Some(blocker), ..situation(paths) })
    };
    assert_eq!(blocked(&paths, 1), Decision::Repeat { path: 0, penalised: Some(1) });
    assert_eq!(blocked(&paths, 0), Decision::Wait);
    assert_eq!(blocked(&[path(200, 10, 2), paths[1]], 1), Decision::Repeat { path: 0, penalised: None });
    let recovering = PathState { recovering: true, ..paths[1] };
    assert_eq!(blocked(&[paths[0], recovering], 1), Decision::Repeat { path: 0, penalised: None });
}

/// w_limit = 3 × 10 / 60 × 40 = 20 segments.
#[test]
fn bufferbloat_mitigation_limits_the_window_of_a_queue() {
    let bloated = |flight| PathState { min_rtt: Duration::from_millis(10), ..path(60, 40, flight) };
    assert_eq!(choice("bufferbloat-mitigation", &[bloated(19), path(80, 10, 0)]), send(0));
    assert_eq!(choice("bufferbloat-mitigation", &[bloated(20), path(80, 10, 0)]), send(1));
    assert_eq!(choice("bufferbloat-mitigation", &[bloated(20), path(80, 10, 10)]), Decision::Wait);
    let tolerant =
        with("bufferbloat-mitigation", &[("lambda", 6.0)]).decide(&situation(&[bloated(39), path(80, 10, 0)]));
    assert_eq!(tolerant, send(0));
}

/// The fast path sends 10 segments in 10 ms, so 90 segments in the 90 ms by which the slow one is longer.
#[test]
fn freeze_rests_the_slow_path_for_short_messages() {
    let paths = [path(10, 10, 10), path(100, 10, 0)];
    let decide = |segments| scheduler("freeze").decide(&Situation { waiting: segments * MSS, ..situation(&paths) });
    assert_eq!(decide(89), Decision::Wait);
    assert_eq!(decide(91), send(1));
    assert_eq!(choice("freeze", &[path(10, 10, 9), path(100, 10, 0)]), send(0));
}

/// A segment on the slow path takes 45 ms longer, in which the fast one delivers 45 segments.
#[test]
fn cp_radical_wants_room_for_what_overtakes() {
    let paths = [path(10, 10, 10), path(100, 10, 0)];
    let decide = |segments| scheduler("cp-radical").decide(&Situation { window: segments * MSS, ..situation(&paths) });
    assert_eq!(decide(45), Decision::Wait);
    assert_eq!(decide(46), send(1));
}

#[test]
fn cp_conservative_wants_half_the_window_free_beyond_slow_start() {
    let decide = |slow_start, outstanding| {
        let paths = [PathState { slow_start, ..path(10, 10, 10) }, path(100, 10, 0)];
        scheduler("cp-conservative").decide(&Situation { outstanding, buffer: 100 * MSS, ..situation(&paths) })
    };
    assert_eq!(decide(false, 50 * MSS), send(1));
    assert_eq!(decide(false, 51 * MSS), Decision::Wait);
    assert_eq!(decide(true, 0), Decision::Wait);
}

/// The slow path is 45 ms behind one that delivers a segment a millisecond, and 40 behind one that delivers two.
#[test]
fn forward_delay_leaves_out_what_will_have_arrived() {
    let paths = [path(10, 10, 10), path(20, 40, 40), path(100, 10, 0)];
    assert_eq!(choice("forward-delay", &paths), Decision::Send { path: 2, skip: (45 + 80) * MSS });
    let little = Situation { waiting: 125 * MSS, ..situation(&paths) };
    assert_eq!(scheduler("forward-delay").decide(&little), Decision::Wait);
    // Return delays do not count.
    let long_back = PathState { forward: 4_000_000, has_room: true, ..path(100, 10, 0) };
    assert_eq!(choice("forward-delay", &[path(10, 10, 0), long_back]), send(1));
}

/// 10 segments a round-trip time: with a full window the near path takes 5 + 1 + 1 ms for one more segment, and a
/// millisecond more for each queued one; the far one 15 + 3.
#[test]
fn min_delivery_delay_waits_where_that_is_sooner() {
    let queued = |segments| PathState { queued: segments * MSS, has_room: false, ..path(10, 10, 10) };
    assert_eq!(choice("min-delivery-delay", &[queued(10), path(30, 10, 0)]), send(0));
    assert_eq!(choice("min-delivery-delay", &[queued(12), path(30, 10, 0)]), send(1));
}

/// In whole round-trip times: the near path's next ten segments arrive after 15 ms, the following ten after 25.
#[test]
fn in_order_counts_windows_queued() {
    let queued = |segments| PathState { queued: segments * MSS, has_room: false, ..path(10, 10, 10) };
    assert_eq!(choice("in-order", &[queued(9), path(40, 10, 0)]), send(0));
    assert_eq!(choice("in-order", &[queued(10), path(40, 10, 0)]), send(1));
    assert_eq!(choice("in-order", &[queued(10), path(60, 10, 0)]), send(0));
    assert_eq!(choice("in-order", &[path(10, 10, 9), path(40, 10, 0)]), send(0));
}

/// A round trip of 10 ms acknowledges ten segments: the path carries ten in its least one, and may hold fifteen. What a
/// larger window lets out beyond that goes by another path, and nowhere if there is none.
#[test]
fn path_capacity_leaves_a_path_that_holds_more_than_it_carries() {
    let mut scheduler = scheduler("path-capacity");
    let mut at = |ms: u64, acknowledged: u64, flight, others: &[PathState]| {
        let near = PathState { acknowledged: acknowledged * MSS, ..path(10, 100, flight) };
        let paths: Vec<_> = [near].iter().chain(others).copied().collect();
        scheduler.decide(&Situation { now: Time::from_nanos(ms * 1_000_000), ..situation(&paths) })
    };
    let far = [path(50, 100, 0)];
    assert_eq!(at(100, 100, 40, &far), send(0), "nothing is known yet");
    assert_eq!(at(110, 110, 14, &far), send(0));
    assert_eq!(at(111, 111, 15, &far), send(1));
    assert_eq!(at(111, 111, 15, &[]), Decision::Wait);
    // A round trip that brings twice as much doubles it.
    assert_eq!(at(120, 130, 29, &far), send(0));
}

/// A path without delay carries less than a segment in its round trip. Two may be on it nevertheless: the receiver
/// acknowledges every second segment, and each one alone only after its timer.
#[test]
fn path_capacity_lets_two_segments_out_however_short_the_path_is() {
    let mut scheduler = scheduler("path-capacity");
    let mut at = |us: u64, acknowledged: u64, flight| {
        let near =
            PathState { acknowledged: acknowledged * MSS, min_rtt: Duration::from_micros(1), ..path(10, 100, flight) };
        scheduler.decide(&Situation { now: Time::from_nanos(us * 1000), ..situation(&[near]) })
    };
    at(100_000, 100, 0);
    assert_eq!(at(110_000, 110, 0), send(0));
    assert_eq!(at(110_000, 110, 1), send(0));
    assert_eq!(at(110_000, 110, 2), Decision::Wait);
}

/// To the millisecond alike, the larger window decides; a millisecond more, and the round-trip time does.
#[test]
fn multiple_attribute_takes_the_larger_window_of_equals() {
    let near = |us, cwnd| PathState { srtt: Duration::from_micros(us), ..path(10, cwnd, 0) };
    assert_eq!(choice("multiple-attribute", &[near(10_100, 10), near(10_900, 20)]), send(1));
    assert_eq!(choice("multiple-attribute", &[near(10_100, 10), near(11_100, 20)]), send(0));
    assert_eq!(choice("multiple-attribute", &[near(10_100, 10), near(10_900, 10)]), send(0));
}

/// A segment on the slow path arrives 45 ms later than on the fast one, which has 4.5 round trips until then: (10 +
/// 3.5 / 2) 4.5 = 52.875 segments. With a loss in 21 the first 21 take two round trips, 10 + 11; the window is halved
/// to 6, and the other two and a half bring (6 + 1.5 / 2) 2.5 = 16.875.
#[test]
fn forward_prediction_leaves_out_what_reno_delivers() {
    let skipped = |retransmissions, segments| {
        let fast = PathState { retransmissions, segments, ..path(10, 10, 10) };
        choice("forward-prediction", &[fast, path(100, 10, 0)])
    };
    assert_eq!(skipped(0, 1000), Decision::Send { path: 1, skip: 52 * MSS });
    assert_eq!(skipped(10, 220), Decision::Send { path: 1, skip: 37 * MSS });
    let paths = [path(10, 10, 10), path(100, 10, 0)];
    let little = Situation { waiting: 52 * MSS, ..situation(&paths) };
    assert_eq!(scheduler("forward-prediction").decide(&little), Decision::Wait);
}

/// At ten segments in 10 ms the near path is free a millisecond later for each segment scheduled on it: the far one, 5 ms
/// behind, gets every sixth while time stands still.
#[test]
fn scheduled_window_counts_what_was_scheduled() {
    let mut scheduler = scheduler("scheduled-window");
    let paths = [path(10, 10, 0), path(15, 10, 0)];
    let mut next = || {
        let Decision::Send { path, .. } = scheduler.decide(&situation(&paths)) else { panic!("both have room") };
        scheduler.on_sent(path, MSS);
        path
    };
    assert_eq!((0..7).map(|_| next()).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1]);
}

/// In the 100 ms of the slow path the fast one has 10 round trips, in which it sends (10 + 4.5) 10 = 145 segments,
/// times 1.2: 174. Including its own segment the slow path needs a window of 175.
#[test]
fn blest_waits_where_the_window_would_be_full() {
    let paths = [path(10, 10, 10), path(100, 10, 0)];
    let decide = |segments| scheduler("blest").decide(&Situation { buffer: segments * MSS, ..situation(&paths) });
    assert_eq!(decide(174), Decision::Wait);
    assert_eq!(decide(175), send(1));
    assert_eq!(choice("blest", &[path(10, 10, 9), path(100, 10, 0)]), send(0));
}

/// Lambda falls by 0.01 in a round trip of the slow path without blocking, and grows by 0.04 in one with it.
#[test]
fn blest_learns_from_blocking() {
    let paths = [path(10, 10, 10), path(100, 10, 0)];
    let mut blest = scheduler("blest");
    let mut decide = |ms: u64, segments, blocker| {
        let now = Time::from_nanos(ms * 1_000_000);
        blest.decide(&Situation { now, buffer: segments * MSS, blocker, ..situation(&paths) })
    };
    assert_eq!(decide(1000, 174, None), Decision::Wait);
    assert_eq!(decide(1099, 174, None), Decision::Wait);
    // 1.19 × 145 + 1 = 173.55.
    assert_eq!(decide(1100, 174, None), send(1));
    assert_eq!(decide(1150, 174, Some(1)), send(1));
    // 1.23 × 145 + 1 = 179.35.
    assert_eq!(decide(1200, 179, None), Decision::Wait);
    assert_eq!(decide(1200, 180, None), send(1));
}

/// The fast path needs (1 + k / 10) 10 ms, the slow one 100: with fewer than 90 segments waiting, the scheduler waits
/// for it if the slow one would need k / 10 × 100 ms of at least 20. After that, with fewer than 115: 1.25 × 100.
#[test]
fn ecf_waits_for_the_fast_path_where_all_is_complete_sooner() {
    let paths = [path(10, 10, 10), path(100, 10, 0)];
    let mut ecf = scheduler("ecf");
    let mut decide = |segments| ecf.decide(&Situation { waiting: segments * MSS, ..situation(&paths) });
    assert_eq!(decide(91), send(1));
    assert_eq!(decide(1), send(1));
    assert_eq!(decide(89), Decision::Wait);
    assert_eq!(decide(114), Decision::Wait);
    assert_eq!(decide(116), send(1));
    assert_eq!(decide(91), send(1), "waiting is over");
    // Deviations count: 100 + 30 ms.
    let uncertain = [PathState { rttvar: Duration::from_millis(30), ..paths[0] }, paths[1]];
    let more = Situation { waiting: 119 * MSS, ..situation(&uncertain) };
    assert_eq!(scheduler("ecf").decide(&more), Decision::Wait);
}

/// Forward delays of 10 and 30 ms, windows of 2 and 3 segments: turns at 10, 20, 30 and, after the faster one's, 30.
#[test]
fn daps_follows_its_plan() {
    let mut daps = scheduler("daps");
    let mut paths = [path(20, 2, 0), path(60, 3, 0)];
    let mut order = Vec::new();
    for _ in 0..9 {
        let Decision::Send { path, skip: 0 } = daps.decide(&situation(&paths)) else { panic!("all has a turn") };
        daps.on_sent(path, MSS);
        order.push(path);
    }
    assert_eq!(order, [0, 0, 0, 0, 0, 0, 1, 1, 1]);
    (paths[0].queued, paths[0].has_room) = (4 * MSS, false);
    for _ in 0..3 {
        assert_eq!(daps.decide(&situation(&paths)), send(1), "who is behind has no part in the next one");
        daps.on_sent(1, MSS);
    }
    paths[1].has_room = false;
    assert_eq!(daps.decide(&situation(&paths)), Decision::Wait);
}

/// Two paths with 40 segments each in 100 and 400 ms are 500 segments a second, for which a buffer of 300 segments
/// lasts 600 ms. An eighth of that is 75 ms: the far path is held to 75 / 400 of its window of 80 segments, 15, the
/// near one to 75 / 100, 60.
#[test]
fn adaptive_holds_queues_back_under_pressure() {
    let queue = |ms, flight| PathState { min_rtt: Duration::from_millis(1), ..path(ms, 80, flight) };
    let decide = |paths: &[PathState], outstanding, waiting| {
        let (outstanding, waiting) = (outstanding * MSS, waiting * MSS);
        scheduler("adaptive").decide(&Situation { outstanding, waiting, buffer: 300 * MSS, ..situation(paths) })
    };
    let both = [queue(100, 40), queue(400, 40)];
    assert_eq!(decide(&both, 76, 100), send(0));
    // Only the far path has room: it takes data without pressure, and retransmissions.
    let far = [PathState { has_room: false, ..both[0] }, both[1]];
    assert_eq!(decide(&far, 76, 100), Decision::Wait);
    assert_eq!(decide(&far, 75, 100), send(1));
    assert_eq!(decide(&far, 76, 0), send(1));
    // A path with a long base round-trip time is not held back.
    let distant = PathState { min_rtt: Duration::from_millis(390), ..both[1] };
    assert_eq!(decide(&[far[0], distant], 76, 100), send(1));
}

/// Without pressure it is lowest time over space.
#[test]
fn adaptive_is_lts_while_the_window_is_wide() {
    for paths in [[path(20, 10, 6), path(40, 20, 10)], [path(40, 20, 10), path(20, 10, 5)]] {
        assert_eq!(choice("adaptive", &paths), choice("lts", &paths));
    }
}

/// A path whose handshake lost a segment has no RTT sample before it carries data: it is used while it has room, but
/// other paths do not wait for it, nor does it get all data.
#[test]
fn unmeasured_paths_are_not_waited_for() {
    let unknown = PathState { srtt: Duration::ZERO, forward: -5_000_000, has_room: false, ..path(0, 1, 1) };
    let short = Situation { waiting: MSS, ..situation(&[]) };
    for entry in SCHEDULERS {
        let paths = [unknown, path(20, 10, 0)];
        let decision = scheduler(entry.name).decide(&Situation { paths: &paths, ..short });
        let expected = if entry.name == "redundant" { Decision::Copy { path: 1 } } else { send(1) };
        assert_eq!(decision, expected, "{}", entry.name);
    }
}
