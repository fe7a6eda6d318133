//! Hand-made SACKs checked against the definitions in the papers.

mod departure;
mod in_recovery;
mod room;
mod taken_back;

use super::*;
use crate::sctp::chunk::Sack;
use crate::sctp::growth::Chunks;
use crate::sctp::init::Extensions;
use crate::sctp::{Growth, Scope, Semantics};
use proptest::prelude::*;
use vazao_engine::Duration;
use vazao_engine::registry::{Parameters, Raw};

const CHUNK: u64 = 1452;

/// Sender with enough data written, over this many paths with wide windows.
fn sender(paths: usize, given: &[(&str, &str)]) -> Sender {
    let given = given.iter().map(|(name, value)| {
        let raw = match *value {
            "true" => Raw::Flag(true),
            "false" => Raw::Flag(false),
            text if text.parse::<f64>().is_ok() => Raw::Number(text.parse().expect("a number")),
            text => Raw::Text(text.into()),
        };
        ((*name).to_owned(), raw)
    });
    let all = given.chain([("initial_window".to_owned(), Raw::Text("29040 B".into()))]).collect();
    let parameters = Parameters::resolve(Config::PARAMETERS, &all).expect("settings that exist");
    let config = Arc::new(Config::from((&parameters, Some(CHUNK), None)));
    let mut sender = Sender::new(&config, paths, 1, 9);
    sender.write(at(0), 1_000_000);
    sender.establish(at(0), 1 << 30, 1, Extensions::default());
    sender.paths.iter_mut().for_each(|path| path.confirmed = true);
    sender
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

impl Sender {
    /// Fills a packet of `room` bytes with the next data; returns the path.
    pub fn next(&mut self, now: Time, room: u32, out: &mut Packet) -> Option<usize> {
        let turn = self.turn(now, out.is_empty()).filter(|turn| turn.bytes <= room)?;
        self.fill(now, &turn, room, out);
        Some(turn.path)
    }
}

/// Receiver that returns SACKs, after each packet or on request.
#[derive(Default)]
struct Arrived(std::collections::BTreeSet<u64>);

impl Arrived {
    /// Returns its SACK. TSNs count from 0 here and from 1 on the wire.
    fn sack(&self, packets: u8) -> Packet {
        let next = (0..).find(|tsn| !self.0.contains(tsn)).expect("some TSN is missing");
        let mut packet = Packet {
            sack: Some(Sack { cumulative: next as u32, window: 1 << 30, packets, non_renegable: false }),
            ..Packet::default()
        };
        for &tsn in self.0.range(next..) {
            let offset = (tsn + 1 - next) as u16;
            match packet.gaps.last_mut() {
                Some(gap) if gap.1 + 1 == offset => gap.1 = offset,
                _ => packet.gaps.push((offset, offset)),
            }
        }
        packet
    }
}

/// Sends new chunks on the given paths, one packet each.
fn send(sender: &mut Sender, paths: &[usize]) {
    for &path in paths {
        let whole = sender.backlog.peek(true).expect("enough was written");
        sender.send_new(at(0), path, &whole, &mut Packet::default());
    }
}

/// TSNs, counted from 1, whose arrival grows a window: figure 6 of the CMT-SCTP thesis. TSNs 1, 2, 4, 5, 8, 9, 12 are
/// sent on path 1 and 3, 6, 7, 10, 11 on path 2; 6 is lost and 3 is late. More is in flight, so that windows are in
/// use.
fn growing(growth: &str, scope: &str) -> Vec<u64> {
    let mut sender = sender(2, &[("cmt", "true"), ("dac", "false"), ("cwnd_growth", growth), ("fast_recovery", scope)]);
    send(&mut sender, &[0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0]);
    send(&mut sender, &[0; 40]);
    send(&mut sender, &[1; 40]);
    let mut arrived = Arrived::default();
    let mut growing = Vec::new();
    // TSN 11 makes the third missing report of 6; 13 arrives on path 1 afterwards.
    for tsn in [1, 2, 4, 5, 3, 8, 7, 9, 10, 12, 11, 13] {
        let before = [sender.paths[0].cwnd(), sender.paths[1].cwnd()];
        arrived.0.insert(tsn - 1);
        sender.on_sack(at(tsn), &arrived.sack(0));
        for (path, before) in sender.paths.iter().zip(before) {
            // A recovery has halved the earlier growth.
            let reached = if path.cwnd() < before { 2 * path.cwnd() } else { path.cwnd() };
            if reached > before {
                assert_eq!(reached - before, CHUNK);
                growing.push(tsn);
            }
        }
    }
    assert_eq!(sender.paths[1].stats.recoveries, 1);
    growing
}

#[test]
fn figure_6() {
    assert_eq!(growing("rfc4960", "per-association"), [1, 2, 3]);
    assert_eq!(growing("rfc8540", "per-association"), [1, 2, 3], "in slow start");
    for cuc in ["cuc", "cuc-v2"] {
        assert_eq!(growing(cuc, "per-association"), [1, 2, 4, 5, 3, 8, 9, 12]);
        assert_eq!(growing(cuc, "per-path"), [1, 2, 4, 5, 3, 8, 9, 12, 13]);
    }
    let proposal = [1, 2, 4, 5, 3, 8, 7, 9, 10, 12, 11];
    assert_eq!(growing("gap-acked", "per-association"), proposal);
    assert_eq!(growing("gap-acked", "per-path"), [&proposal[..], &[13]].concat());
}

/// RFC 4960 section 7.2.2 and RFC 8540 section 3.22: in congestion avoidance a window grows by a segment per window
/// acknowledged, counting the cumulative TSN only, or gap reports too.
#[test]
fn congestion_avoidance_counts_what_the_rule_says() {
    // A window of 20 chunks and a lower ssthresh; chunk 0 is lost, but split fast retransmit hides that from its path,
    // since everything else is sent on the other.
    for (growth, grown) in [("rfc4960", 0), ("rfc8540", 1), ("gap-acked", 1)] {
        let given = [("cmt", "true"), ("dac", "false"), ("cwnd_growth", growth), ("initial_ssthresh", "1500 B")];
        let mut sender = sender(2, &given);
        send(&mut sender, &[1]);
        send(&mut sender, &[0; 60]);
        let mut arrived = Arrived::default();
        for tsn in 1..=20 {
            assert_eq!(sender.paths[0].cwnd(), 29_040, "{growth}, TSN {tsn}");
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
        }
        let unit = sender.config.segment();
        assert_eq!(sender.config.semantics, Semantics::Rfc9260);
        assert_eq!(sender.paths[0].cwnd(), 29_040 + grown * unit, "{growth}");
    }
}

/// Section 7.2.4: the third report marks a chunk, halves the window, and starts a recovery that lasts until everything
/// sent before is acknowledged.
#[test]
fn three_reports_start_a_recovery() {
    let mut sender = sender(1, &[]);
    send(&mut sender, &[0; 20]);
    let mut arrived = Arrived::default();
    for (tsn, marked) in [(1, 0), (2, 0), (3, 1), (4, 1)] {
        arrived.0.insert(tsn);
        sender.on_sack(at(tsn), &arrived.sack(0));
        assert_eq!(sender.paths[0].order.marked.len(), marked, "after TSN {tsn}");
    }
    assert_eq!((sender.paths[0].cwnd(), sender.paths[0].ssthresh()), (29_040 / 2, 29_040 / 2));
    // The retransmission leaves at once, whatever the window, and is not fast retransmitted again.
    let mut packet = Packet::default();
    assert_eq!(sender.next(at(5), 1468, &mut packet), Some(0));
    assert_eq!(packet.data[0].tsn, 1);
    for tsn in 5..19 {
        arrived.0.insert(tsn);
        sender.on_sack(at(tsn), &arrived.sack(0));
    }
    assert!(sender.paths[0].order.marked.is_empty() && sender.is_recovering(0));
    arrived.0.insert(0);
    sender.on_sack(at(30), &arrived.sack(0));
    assert!(sender.is_recovering(0), "TSN 19 was outstanding when it began");
    arrived.0.insert(19);
    sender.on_sack(at(31), &arrived.sack(0));
    assert!(!sender.is_recovering(0));
    assert_eq!(sender.paths[0].stats.recoveries, 1);
}

/// RFC 2960 section 7.2.4 waits for three further reports, and section 7.2.3 halves down to two packets.
#[test]
fn rfc_2960_waits_for_a_fourth_report_and_halves_further() {
    for (semantics, third, fourth, window) in [("rfc2960", 0, 1, 3_000), ("rfc4960", 1, 1, 6_000)] {
        let mut sender = sender(1, &[("semantics", semantics)]);
        send(&mut sender, &[0; 8]);
        sender.paths[0].window = crate::sctp::path::Window::Own(crate::sctp::path::OwnWindow {
            cwnd: 4_500,
            ssthresh: 3_000,
            partial: 0,
            segment: 1_500,
            floor: sender.config.min_ssthresh(),
        });
        let arrived = |last: u64| Arrived((1..=last).collect()).sack(0);
        for (tsn, marked) in [(1, 0), (2, 0), (3, third), (4, fourth)] {
            sender.on_sack(at(tsn), &arrived(tsn));
            assert_eq!(sender.paths[0].order.marked.len(), marked, "{semantics}, TSN {tsn}");
        }
        assert_eq!(sender.paths[0].cwnd(), window, "{semantics}");
    }
}

/// With split fast retransmit, arrivals on one path make no missing reports for another's chunks; without it they do.
#[test]
fn reports_count_for_their_own_path_only_if_split() {
    for (sfr, recoveries) in [("true", 0), ("false", 1)] {
        let mut sender = sender(2, &[("cmt", "true"), ("dac", "false"), ("sfr", sfr)]);
        send(&mut sender, &[1, 0, 0, 0, 0]);
        let mut arrived = Arrived::default();
        for tsn in 1..5 {
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
        }
        assert_eq!(sender.paths[1].stats.recoveries, recoveries, "sfr = {sfr}");
    }
}

/// Losses on both paths cut both windows; a second loss on a recovering path cuts nothing. Per-path recoveries begin
/// when each loss shows; an association-wide one covers both, so that the later path's window is not cut.
#[test]
fn a_recovery_reaches_as_far_as_its_scope() {
    for (scope, recoveries) in [("per-association", [1, 0]), ("per-path", [1, 1])] {
        let mut sender = sender(2, &[("cmt", "true"), ("dac", "false"), ("fast_recovery", scope)]);
        send(&mut sender, &[0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0]);
        let mut arrived = Arrived::default();
        // TSN 0 of path 1 is lost, then TSN 1 of path 2.
        for tsn in [2, 3, 4, 5, 6, 7] {
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
        }
        let got = [0, 1].map(|path: usize| sender.paths[path].stats.recoveries);
        assert_eq!(got, recoveries, "{scope}");
        assert_eq!(sender.config.fast_recovery == Scope::PerPath, sender.paths[1].exit.is_some());
        // Either way both are marked for retransmission.
        assert_eq!(sender.paths.iter().map(|path| path.order.marked.len()).sum::<usize>(), 2, "{scope}");
    }
}

/// Two losses of one window, shown by different SACKs: one cut with recovery or `recover`, two without.
#[test]
fn without_a_recovery_each_sack_that_shows_a_loss_cuts() {
    for (scope, recoveries) in [("per-association", 1), ("per-path", 1), ("per-window", 1), ("none", 2)] {
        let mut sender = sender(2, &[("cmt", "true"), ("dac", "false"), ("fast_recovery", scope)]);
        send(&mut sender, &[0; 9]);
        let mut arrived = Arrived::default();
        // TSNs 0 and 4 are lost.
        for tsn in [1, 2, 3, 5, 6, 7] {
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
        }
        assert_eq!(sender.paths[0].stats.recoveries, recoveries, "{scope}");
        assert_eq!(sender.paths[0].stats.losses, 2, "{scope}");
    }
}

/// RFC 2960 requires four missing reports, its successors three, and a user may choose any number.
#[test]
fn a_chunk_is_lost_after_so_many_reports() {
    for (given, reports) in [
        (&[("semantics", "rfc2960")][..], 4),
        (&[("semantics", "rfc9260")], 3),
        (&[("missing_reports", "1")], 1),
        (&[("semantics", "rfc2960"), ("missing_reports", "2")], 2),
    ] {
        let mut sender = sender(1, given);
        send(&mut sender, &[0; 9]);
        let mut arrived = Arrived::default();
        let needed = (1..9).find(|&tsn| {
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
            sender.paths[0].stats.recoveries == 1
        });
        assert_eq!(needed, Some(reports), "{given:?}");
    }
}

/// DAC: a SACK that acknowledges two packets of one path makes two reports; of two paths, one each.
#[test]
fn delayed_acknowledgements_report_twice() {
    let mut sender = sender(2, &[("cmt", "true")]);
    send(&mut sender, &[0, 0, 0, 0, 0, 1]);
    let mut arrived = Arrived::default();
    for (tsns, marked) in [([1, 2], 0), ([3, 5], 1)] {
        arrived.0.extend(tsns);
        sender.on_sack(at(1), &arrived.sack(2));
        assert_eq!(sender.paths[0].order.marked.len(), marked, "after {tsns:?}");
    }
}

/// NR-SACK (draft-natarajan-tsvwg-sctp-nrsack): a non-renegable gap report frees the send buffer once, and not again
/// when the cumulative TSN passes; a plain SACK's gap report frees nothing before that.
#[test]
fn nr_sacks_release_the_send_buffer() {
    for (non_renegable, room) in [(true, 2 * CHUNK), (false, 0)] {
        let mut sender = sender(1, &[("send_buffer", "5808 B")]);
        assert_eq!(sender.write(at(0), u64::MAX), 0, "four chunks fill it");
        send(&mut sender, &[0; 4]);
        let report = |tsns: &[u64]| {
            let mut packet = Arrived(tsns.iter().copied().collect()).sack(0);
            packet.sack.as_mut().expect("it is one").non_renegable = non_renegable;
            packet
        };
        sender.on_sack(at(1), &report(&[1, 2]));
        sender.on_sack(at(2), &report(&[1, 2]));
        assert_eq!(sender.write(at(0), u64::MAX), room);
        sender.on_sack(at(3), &report(&[0, 1, 2]));
        assert_eq!(sender.write(at(0), u64::MAX), 3 * CHUNK - room);
        sender.on_sack(at(4), &report(&[0, 1, 2, 3]));
        assert_eq!((sender.write(at(0), u64::MAX), sender.paths[0].held), (CHUNK, 0));
    }
}

/// A path gets no more than its half of the send buffer, however wide its window; data delivered out of order counts
/// until the cumulative TSN passes it.
#[test]
fn a_split_buffer_holds_each_path_to_its_part() {
    for (split, most) in [("none", 20), ("sender", 5)] {
        let given = [("cmt", "true"), ("send_buffer", "14520 B"), ("buffer_split", split), ("max_burst", "0")];
        let mut sender = sender(2, &given);
        sender.backlog.written = 1_000_000;
        let mut by = [0; 2];
        sender.paths[1].active = false;
        while let Some(path) = sender.next(at(0), 1468, &mut Packet::default()) {
            by[path] += 1;
        }
        assert_eq!(by, [most, 0], "{split}");
        if most == 5 {
            let mut arrived = Arrived([1, 2].into());
            sender.on_sack(at(1), &arrived.sack(0));
            assert_eq!(sender.next(at(1), 1468, &mut Packet::default()), None);
            arrived.0.insert(0);
            sender.on_sack(at(2), &arrived.sack(0));
            assert_eq!(sender.next(at(2), 1468, &mut Packet::default()), Some(0));
        }
    }
}

/// A changeover from a slow path to a fast one: data sent later on the new path arrives first. Each SACK reports the
/// old path's chunks missing, and they are presumed lost at the third, unless SFR-CACC suppresses that
/// (draft-iyengar-sctp-cacc-03).
#[test]
fn a_changeover_is_no_loss() {
    for (cacc, recoveries) in [("true", 0), ("false", 1)] {
        let mut sender = sender(2, &[("cacc", cacc)]);
        send(&mut sender, &[0; 4]);
        sender.paths[0].active = false;
        sender.choose(at(1));
        assert_eq!((sender.current, sender.paths[1].changeover.next), (1, 4));
        send(&mut sender, &[1; 6]);
        let mut arrived = Arrived::default();
        for tsn in 4..9 {
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
        }
        assert_eq!(sender.paths[0].stats.recoveries, recoveries, "cacc = {cacc}");
        // Everything sent before has arrived: the changeover is over.
        arrived.0.extend(0..5);
        sender.on_sack(at(20), &arrived.sack(0));
        assert!(!sender.paths[1].changeover.active);
    }
}

/// Linux restarts T3-rtx when the cumulative TSN passes a chunk of the path; RFC 9260 section 6.3.2 R3 when the
/// earliest outstanding chunk of the path is acknowledged, even by a gap report.
#[test]
fn linux_restarts_a_timer_when_the_cumulative_tsn_passes() {
    for (semantics, restarted) in [("rfc4960", true), ("linux", false)] {
        let mut sender = sender(2, &[("cmt", "true"), ("semantics", semantics)]);
        send(&mut sender, &[1, 0, 0]);
        let before = sender.paths[0].timer;
        sender.paths[0].timed = None;
        let mut arrived = Arrived([1].into());
        sender.on_sack(at(100), &arrived.sack(0));
        assert_eq!(sender.paths[0].timer > before, restarted, "{semantics}");
        arrived.0.insert(0);
        sender.on_sack(at(200), &arrived.sack(0));
        assert!(sender.paths[0].timer > before, "{semantics}");
    }
}

/// Linux sends no new data on any path while a retransmission is pending, and all retransmissions on one path, another
/// once that one has timed out; RTX-SAME keeps the paths separate.
#[test]
fn linux_retransmits_on_one_path_before_new_data() {
    // A window of one packet of 1500 bytes has room for two chunks of 1452 (section 6.1 rule B), but after a timeout one
    // leaves (section 7.2.3).
    for (semantics, one, by) in [
        ("rfc4960", "true", [Some(0), Some(1), None]),
        ("rfc4960", "false", [Some(0), Some(0), Some(1)]),
        ("linux", "false", [Some(1), None, None]),
    ] {
        let given = [("cmt", "true"), ("semantics", semantics), ("max_burst", "0"), ("one_after_timeout", one)];
        let mut sender = sender(2, &given);
        send(&mut sender, &[0; 20]);
        let expiry = sender.paths[0].timer;
        assert!(sender.handle_timeout(expiry));
        // The second path's window is full but for one chunk; the burst allowance has been renewed since.
        send(&mut sender, &[1; 19]);
        sender.refill();
        let mut packet = Packet::default();
        assert_eq!([(); 3].map(|()| sender.next(expiry, 1468, &mut packet)), by, "{semantics}, {one}");
        assert_eq!(packet.data[0].tsn, 1, "the first, again");
    }
}

/// RFC 9260 section 6.3.3 E3: one packet leaves when the timer expires. Linux does that (`sctp_retransmit`) even if the
/// other path's window is open; with rfc4960 the rest may leave there.
#[test]
fn linux_forces_one_packet_out_when_the_timer_expires() {
    for semantics in ["rfc4960", "linux"] {
        let mut sender = sender(2, &[("semantics", semantics), ("max_burst", "4")]);
        send(&mut sender, &[0; 20]);
        let expiry = sender.paths[0].timer;
        sender.handle_timeout(expiry);
        let left = (0..10).take_while(|_| sender.next(expiry, 1468, &mut Packet::default()).is_some());
        assert_eq!(left.count() == 1, semantics == "linux");
    }
}

/// RFC 7829 section 4 rule 5: if all paths are failing, the one with the fewest errors carries data.
#[test]
fn of_failing_paths_the_best_is_used() {
    let mut sender = sender(3, &[("pf_retries", "0")]);
    for (errors, used) in [([1, 0, 0], vec![1, 2]), ([2, 1, 3], vec![1]), ([2, 2, 1], vec![2]), ([1, 2, 1], vec![2])] {
        for (path, errors) in sender.paths.iter_mut().zip(errors) {
            path.errors = errors;
        }
        sender.avoid_failing_paths();
        let usable = |&path: &usize| sender.paths[path].is_usable();
        assert_eq!((0..3).filter(usable).collect::<Vec<_>>(), used, "{errors:?}");
    }
}

/// A heartbeat ends what Linux considers an idle period: max(cwnd / 2, 4 PMTU) (`sctp_transport_lower_cwnd`), which
/// even increases a window that a timeout reduced to one packet. It leaves between half an RTO and one and a half after
/// the timeout.
#[test]
fn linux_lowers_an_idle_window_with_a_heartbeat() {
    for (semantics, cwnd) in [("rfc4960", 1500), ("linux", 6000)] {
        let mut sender = sender(2, &[("semantics", semantics), ("pf_retries", "0")]);
        send(&mut sender, &[0; 20]);
        let expiry = sender.paths[0].timer;
        sender.handle_timeout(expiry);
        let due = sender.paths[0].heartbeat.due;
        if semantics == "linux" {
            assert!(sender.next_heartbeat(expiry).is_none());
            // RTO.Initial is 3 s without an RTT sample.
            assert!(due >= expiry + Duration::from_millis(1500) && due <= expiry + Duration::from_millis(4500));
            sender.handle_timeout(due);
        }
        assert!(sender.next_heartbeat(due.max(expiry)).is_some(), "{semantics}");
        assert_eq!(sender.paths[0].cwnd(), cwnd, "{semantics}");
    }
}

/// Linux's fast recovery stops slow start only: in congestion avoidance a window grows during recovery.
#[test]
fn linux_grows_through_recovery_in_congestion_avoidance() {
    for (semantics, grown) in [("rfc4960", 0), ("linux", 1_500)] {
        let mut sender = sender(1, &[("semantics", semantics), ("cwnd_growth", "gap-acked")]);
        send(&mut sender, &[0; 60]);
        let mut arrived = Arrived::default();
        for tsn in 1..4 {
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
        }
        assert!(sender.is_recovering(0));
        // A window equal to ssthresh is still in slow start; one above is not.
        if let crate::sctp::path::Window::Own(window) = &mut sender.paths[0].window {
            window.ssthresh -= 1;
        }
        let cwnd = sender.paths[0].cwnd();
        for tsn in 4..=4 + cwnd / CHUNK {
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
        }
        assert_eq!(sender.paths[0].cwnd(), cwnd + grown, "{semantics}");
    }
}

/// CUC and CUC version 2 exactly as in their figures: loops over the whole retransmission queue.
#[derive(Default, Clone)]
struct Figure {
    pseudo: Option<u64>,
    find: bool,
    new: bool,
}

/// Processes one SACK as in the figures. `queue`: outstanding chunks with destination, transmissions, and whether
/// acknowledged before; everything below `cumulative` is acknowledged; `gap` tells whether a gap report covers a chunk.
fn by_the_figure(
    figures: &mut [Figure],
    chunks: Chunks,
    queue: &[(u64, usize, u16, bool)],
    cumulative: u64,
    gap: impl Fn(u64) -> bool,
) {
    figures.iter_mut().for_each(|d| d.new = false);
    for &(_, d, _, acked) in queue.iter().filter(|entry| entry.0 < cumulative) {
        if !acked {
            (figures[d].find, figures[d].new) = (true, true);
        }
    }
    let rest = || queue.iter().filter(|entry| entry.0 >= cumulative);
    if !rest().any(|entry| gap(entry.0)) {
        return;
    }
    for &(tsn, d, transmissions, acked) in rest() {
        let d = &mut figures[d];
        if d.find && !acked && chunks.include(transmissions) {
            d.pseudo = Some(tsn);
            d.find = false;
        }
        if !acked && gap(tsn) && d.pseudo == Some(tsn) {
            (d.new, d.find) = (true, true);
        }
    }
}

proptest! {
    /// Whatever is sent on whichever path, lost, retransmitted elsewhere and acknowledged in any order: windows may
    /// grow exactly where the figures' loops say so, if a path looks again once a chunk of its own has left it.
    #[test]
    fn pseudo_cumacks_are_the_figures(
        version in 1_u8..=2,
        events in prop::collection::vec((0_u8..8, 0_usize..3, any::<prop::sample::Index>(), any::<bool>()), 1..150),
    ) {
        let growth = if version == 1 { "cuc" } else { "cuc-v2" };
        let mut sender = sender(3, &[("cmt", "true"), ("cwnd_growth", growth), ("retransmission", "cwnd")]);
        let follows = sender.config.cwnd_growth.follows();
        let fresh = vec![Figure { find: true, ..Figure::default() }; 3];
        let mut figures: Vec<(Chunks, Vec<Figure>)> = follows.iter().map(|&chunks| (chunks, fresh.clone())).collect();
        let mut arrived = Arrived::default();
        for (kind, path, index, more) in events {
            let (first, next) = (sender.records.first, sender.records.next());
            let open: Vec<u64> = (first..next).filter(|tsn| !arrived.0.contains(tsn)).collect();
            match kind {
                0..3 if next - first < 60 => send(&mut sender, &[path]),
                _ if open.is_empty() => continue,
                // A loss is detected, and the chunk is sent on another path.
                3 => {
                    let tsn = open[index.index(open.len())];
                    let record = *sender.records.get(tsn);
                    if record.place != Place::Marked {
                        let from = usize::from(record.path);
                        sender.paths[from].order.remove(tsn, record.place);
                        sender.mark(tsn, more);
                        sender.retransmit(at(1), tsn, from, path, &mut Packet::default());
                        if from != path {
                            figures.iter_mut().for_each(|(_, figures)| figures[from].find = true);
                        }
                    }
                }
                _ => {
                    let queue: Vec<_> = (first..next)
                        .map(|tsn| {
                            let record = sender.records.get(tsn);
                            (tsn, usize::from(record.path), record.transmissions, record.place == Place::Acked)
                        })
                        .collect();
                    arrived.0.insert(open[index.index(open.len())]);
                    if more {
                        arrived.0.insert(open[0]);
                    }
                    let packet = arrived.sack(1);
                    let cumulative = u64::from(packet.sack.expect("it is one").cumulative);
                    for (chunks, figures) in &mut figures {
                        by_the_figure(figures, *chunks, &queue, cumulative, |tsn| arrived.0.contains(&tsn));
                    }
                    sender.on_sack(at(1), &packet);
                    for (i, (_, figures)) in figures.iter().enumerate() {
                        for (path, figure) in sender.paths.iter().zip(figures) {
                            prop_assert_eq!(path.cumacks[i].new, figure.new);
                            prop_assert_eq!(path.cumacks[i].find, figure.find);
                        }
                    }
                }
            }
        }
        let _ = Growth::ALL;
    }
}
