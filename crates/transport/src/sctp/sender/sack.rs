//! Processing of SACKs (RFC 9260 sections 6.2.1 and 7.2): acknowledgement, window growth, missing reports. The cost is
//! proportional to the SACK's blocks and their new TSNs, not to what is outstanding.

use super::Sender;
use crate::sctp::chunk::Packet;
use crate::sctp::outstanding::Place;
use crate::sctp::path::Path;
use crate::sctp::recovery::{Newly, Scope, reports};
use vazao_engine::{Duration, Time};

impl Sender {
    /// TSN nearest to the cumulative one with this number on the wire.
    fn tsn(&self, wire: u32) -> Option<u64> {
        let near = self.records.first;
        let distance = wire.wrapping_sub(self.initial).wrapping_sub(near as u32) as i32;
        near.checked_add_signed(i64::from(distance))
    }

    /// Handles the cumulative TSN of a SHUTDOWN.
    pub fn on_cumulative(&mut self, now: Time, wire: u32) {
        let sack = Packet { sack: None, ..Packet::default() };
        let window = self.peer_window + self.flight;
        self.acknowledge(now, wire, u32::try_from(window).unwrap_or(u32::MAX), 0, &sack);
    }

    /// Handles the SACK of a packet; returns false if it acknowledges TSNs never sent.
    pub fn on_sack(&mut self, now: Time, packet: &Packet) -> bool {
        let Some(sack) = packet.sack else { return true };
        self.stats.sacks += 1;
        self.stats.duplicate_reports += packet.duplicates.len() as u64;
        self.acknowledge(now, sack.cumulative, sack.window, sack.packets, packet);
        self.tsn(sack.cumulative).is_none_or(|tsn| tsn < self.records.next())
    }

    fn acknowledge(&mut self, now: Time, cumulative: u32, window: u32, packets: u8, packet: &Packet) {
        // Section 6.2.1 (i): out of date, or for TSNs never sent.
        let Some(cumulative) = self.tsn(cumulative.wrapping_add(1)) else { return };
        if cumulative < self.records.first || cumulative > self.records.next() {
            return;
        }
        let advances = cumulative > self.records.first;
        let earliest = self.begin(advances);
        let mut newly = Newly::NOTHING;
        for tsn in self.records.first..cumulative {
            let record = *self.records.get(tsn);
            let (bytes, path) = (record.bytes(), &mut self.paths[usize::from(record.path)]);
            path.passed = true;
            if record.place == Place::Abandoned {
                self.settle(&record);
                continue;
            }
            self.acknowledged += bytes;
            if record.released {
                self.released -= bytes
            } else {
                path.held -= bytes
            }
            self.on_acknowledged(now, tsn, true, &mut newly);
        }
        self.records.advance(cumulative);
        self.gaps.remove_below(cumulative);
        let highest_reported = self.read_gaps(now, cumulative, packet, &mut newly);
        if window == 0 {
            // Section 6.1 rule A: a peer that answers window probes is alive.
            self.errors = 0;
            self.paths.iter_mut().for_each(|path| path.errors = 0);
        }
        self.leave_recovery(cumulative);
        self.leave_changeover(cumulative);
        self.grow(now);
        let cumulatively = self.config.host().restarts_timer_cumulatively;
        if cumulatively {
            self.set_timers(now, earliest);
        }
        self.find_missing(now, packets, &newly, if advances { highest_reported } else { 0 });
        // Section 6.2.1 B and D: a lost chunk is not outstanding, but frees no room at the peer.
        self.peer_window = u64::from(window).saturating_sub(self.flight);
        if !cumulatively {
            self.set_timers(now, earliest);
        }
        self.reassess_paths();
        self.advance_point(now);
        self.refill();
    }

    /// Starts processing; returns each path's earliest TSN in flight.
    fn begin(&mut self, advances: bool) -> [Option<u64>; 8] {
        let mut earliest = [None; 8];
        for (i, path) in self.paths.iter_mut().enumerate() {
            path.begin_sack(advances);
            if let Some(place) = earliest.get_mut(i) {
                *place = path.order.lowest_in_flight(&self.records);
            }
        }
        earliest
    }

    /// Handles the acknowledgement of a chunk, cumulative or by a gap report, new or not.
    #[inline]
    fn on_acknowledged(&mut self, now: Time, tsn: u64, cumulatively: bool, newly: &mut Newly) {
        let record = *self.records.get(tsn);
        if matches!(record.place, Place::Acked | Place::Abandoned) {
            return;
        }
        let number = usize::from(record.path);
        let path = &mut self.paths[number];
        for (cumack, &chunks) in path.cumacks.iter_mut().zip(self.config.cwnd_growth.follows()) {
            if cumulatively {
                cumack.on_cumulative();
            } else {
                // The loop has reached this chunk, not beyond.
                cumack.seek(|from| path.order.lowest(&self.records, chunks, from).filter(|&lowest| lowest <= tsn));
                cumack.on_gap(tsn);
            }
        }
        path.order.remove(tsn, record.place);
        self.records.get_mut(tsn).place = Place::Acked;
        if record.place != Place::Marked {
            path.flight -= record.bytes();
            self.flight -= record.bytes();
        }
        if record.place != Place::Marked || !self.config.host().discounts_pending {
            path.progress.acked += record.bytes();
        }
        path.newly.add(tsn);
        newly.add(tsn);
        if path.timed.is_some_and(|(timed, _)| timed == tsn) {
            let (_, sent) = path.timed.take().expect("it is there");
            path.rtt.sample(now.since(sent));
            self.stats.rtt.record(now.since(sent));
        }
        self.errors = 0;
        path.silent = false;
        if record.place != Place::Marked && (record.transmissions == 1 || self.paths.len() == 1) {
            // A chunk marked for retransmission tells nothing about its path, nor does one that was sent twice, perhaps
            // on different paths (section 8.2).
            self.paths[number].on_response();
        }
    }

    /// Handles gap reports that the SACK no longer makes: the receiver reneged, or the SACK was reordered. Either way
    /// the chunks are in flight again and missing once (sections 6.2.1 iv and 6.3.2 R4): counted here unless they lie
    /// below a newly acknowledged TSN, where `find_missing` counts them.
    #[cold]
    fn withdraw_reports(&mut self, now: Time, limit: u64, newly: &Newly) {
        let taken: Vec<u64> = self.gaps.iter().flat_map(|(start, end)| start..end.min(limit)).collect();
        for tsn in taken.into_iter().filter(|&tsn| !self.reported.contains(tsn, tsn + 1)) {
            let record = self.records.get_mut(tsn);
            if record.place != Place::Acked || record.released {
                continue;
            }
            let (bytes, path) = (record.bytes(), &mut self.paths[usize::from(record.path)]);
            record.place = path.order.retransmit(tsn, record.fast);
            path.flight += bytes;
            path.progress.acked = path.progress.acked.saturating_sub(bytes);
            self.flight += bytes;
            if self.config.host().restarts_timer_cumulatively {
                path.passed = true;
            } else {
                let seen = if self.config.sfr { &path.newly } else { newly };
                record.missing = record.missing.saturating_add(u8::from(tsn >= seen.highest));
                if path.timer == Time::NEVER {
                    path.timer = now + path.rtt.rto();
                }
            }
        }
        let beyond: Vec<_> = self.gaps.iter().map(|(start, end)| (start.max(limit), end)).collect();
        std::mem::swap(&mut self.gaps, &mut self.reported);
        beyond.into_iter().for_each(|(start, end)| self.gaps.insert(start, end, |_, _| {}));
    }

    /// Whether the receiver has reneged on the next TSN, which it reported and would otherwise acknowledge
    /// cumulatively. With CMT nothing less proves that, since SACKs on paths of unequal delay are often reordered.
    fn has_dropped(&self, cumulative: u64) -> bool {
        cumulative < self.records.next() && self.records.get(cumulative).place == Place::Acked
    }

    /// Processes the gap ack blocks; returns the end of the highest one.
    fn read_gaps(&mut self, now: Time, cumulative: u64, packet: &Packet, newly: &mut Newly) -> u64 {
        let mut highest = 0;
        let mut fresh = std::mem::take(&mut self.scratch);
        fresh.clear();
        self.reported.clear();
        // Most blocks were in the SACK before, too.
        let mut near = 0;
        for &(first, last) in &packet.gaps {
            // Offsets count from the cumulative TSN, which is one below `cumulative`.
            let (start, end) = ((cumulative + u64::from(first)).saturating_sub(1), cumulative + u64::from(last));
            if first > 0 && start < end && end <= self.records.next() {
                if !self.gaps.contains_from(&mut near, start, end) {
                    self.gaps.insert(start, end, |a, b| fresh.push((a, b)));
                }
                self.reported.insert(start, end, |_, _| {});
                highest = highest.max(end);
            }
        }
        for tsn in fresh.iter().flat_map(|&(start, end)| start..end) {
            self.on_acknowledged(now, tsn, false, newly);
        }
        let non_renegable = packet.sack.is_some_and(|sack| sack.non_renegable);
        let is_doubted = packet.sack.is_some() && !non_renegable && self.gaps != self.reported;
        if is_doubted && (!self.config.cmt || self.has_dropped(cumulative)) {
            // Further blocks may not have fitted.
            let blocks = packet.gaps.len() + packet.duplicates.len();
            let is_full = 16 + 4 * (blocks as u32 + 1) > self.config.room();
            self.withdraw_reports(now, if is_full { highest } else { self.records.next() }, newly);
        }
        if non_renegable {
            fresh.iter().flat_map(|&(start, end)| start..end).for_each(|tsn| self.release(tsn));
        }
        self.scratch = fresh;
        if !packet.gaps.is_empty() {
            for path in &mut self.paths {
                for (cumack, &chunks) in path.cumacks.iter_mut().zip(self.config.cwnd_growth.follows()) {
                    cumack.seek(|from| path.order.lowest(&self.records, chunks, from));
                }
            }
        }
        highest
    }

    /// Releases a chunk from the send buffer after a non-renegable gap report.
    fn release(&mut self, tsn: u64) {
        let record = self.records.get_mut(tsn);
        if !std::mem::replace(&mut record.released, true) {
            self.released += record.bytes();
            self.paths[usize::from(record.path)].held -= record.bytes();
        }
    }

    /// Shows a coupled congestion control the other paths that carry data and whose round-trip time is known.
    pub(super) fn update_coupling(&mut self, number: usize) {
        if !self.config.cmt || self.paths[number].siblings().is_none() {
            return;
        }
        let carries = |path: &Path| path.is_usable() && path.rtt.srtt() > Duration::ZERO;
        let own = self.paths[..number].iter().filter(|path| carries(path)).count();
        let shown = self.paths.iter_mut().enumerate().filter(|(i, path)| *i == number || carries(path));
        self.siblings.clear();
        self.siblings.extend(shown.map(|(_, path)| path.sibling()));
        if let Some(siblings) = self.paths[number].siblings() {
            siblings.see(&self.siblings, own);
        }
    }

    /// Section 7.2.4: ends a recovery when everything up to its exit point is acknowledged.
    fn leave_recovery(&mut self, cumulative: u64) {
        let over = |exit: &mut Option<u64>| {
            if exit.is_some_and(|exit| cumulative > exit) {
                *exit = None;
            }
        };
        over(&mut self.exit);
        self.paths.iter_mut().for_each(|path| over(&mut path.exit));
    }

    /// SFR-CACC: ends a changeover when everything sent before it is acknowledged.
    fn leave_changeover(&mut self, cumulative: u64) {
        let change = &mut self.paths[self.current].changeover;
        if change.active && cumulative > change.next {
            change.active = false;
            self.paths.iter_mut().for_each(|path| path.changeover.cycling = false);
        }
    }

    /// Whether fast recovery suspends a path's window growth.
    pub fn is_recovering(&self, path: usize) -> bool {
        self.exit.is_some() || self.paths[path].exit.is_some()
    }

    /// Grows the windows, before losses cut them (section 7.2.4's note).
    fn grow(&mut self, now: Time) {
        let next = self.records.next();
        let stopped = self.exit.is_some();
        for number in 0..self.paths.len() {
            if self.paths[number].progress.acked == 0 {
                continue;
            }
            self.update_coupling(number);
            let path = &mut self.paths[number];
            for i in 0..self.config.cwnd_growth.follows().len() {
                path.progress.pseudo[i] = path.cumacks[i].new;
            }
            let counted = self.config.cwnd_growth.counts(&path.progress, path.in_slow_start());
            let recovering = stopped || path.exit.is_some();
            let held = recovering && (path.in_slow_start() || !self.config.host().grows_in_recovery);
            path.grow(now, counted, held, next);
        }
    }

    /// Counts missing reports. If the SACK advances the cumulative TSN, `highest_reported` is the end of the highest
    /// gap ack block, below which everything is reported in a fast recovery (section 7.2.4); with split fast
    /// retransmit only on a path of which it newly acknowledges something.
    fn find_missing(&mut self, now: Time, packets: u8, newly: &Newly, highest_reported: u64) {
        if newly.is_nothing() && highest_reported == 0 {
            return;
        }
        let seeing = self.paths.iter().filter(|path| !path.newly.is_nothing()).count();
        let mixed = seeing > 1;
        let change = self.paths[self.current].changeover;
        let packets = if self.config.dac { packets } else { 1 };
        let enough = self.config.missing_reports;
        let mut exit = None;
        for i in 0..self.paths.len() {
            let mut seen = if self.config.sfr { self.paths[i].newly } else { *newly };
            if self.config.sfr && self.config.host().reports_across_paths && !seen.is_nothing() {
                seen.highest = newly.highest;
            }
            let sees = !self.config.sfr || !seen.is_nothing();
            if sees && self.config.missing_in_recovery && self.is_recovering(i) {
                seen.highest = seen.highest.max(highest_reported);
            }
            // The TSN just below `highest` is itself acknowledged.
            let below = seen.highest.saturating_sub(1);
            let (current, saw) = (i == self.current, !self.paths[i].newly.is_nothing());
            let mut lost = Vec::new();
            self.paths[i].order.report_missing(&mut self.records, below, |tsn, records| {
                if self.config.cacc && change.suppresses_report(tsn, current, saw, seeing) {
                    return false;
                }
                let record = records.get_mut(tsn);
                record.missing += reports(packets, mixed, seen, tsn);
                let is_lost = record.missing >= enough;
                if is_lost {
                    lost.push(tsn);
                }
                is_lost
            });
            if !lost.is_empty() {
                exit = self.retransmit_fast(now, i, &lost).or(exit);
            }
        }
        // Set only now, so that one SACK cuts the window of every path on which it shows a loss.
        self.exit = self.exit.or(exit);
    }

    /// Section 7.2.4 steps 1, 2 and 6. Returns the exit point of an association-wide recovery that begins.
    fn retransmit_fast(&mut self, now: Time, number: usize, lost: &[u64]) -> Option<u64> {
        let flight = self.paths[number].flight;
        let recovering = self.is_recovering(number);
        // Highest TSN outstanding on the path, before marking changes it.
        let last = lost[lost.len() - 1];
        let highest = self.paths[number].order.highest(&self.records).unwrap_or(0).max(last);
        for &tsn in lost {
            self.mark(tsn, false);
        }
        let first = self.paths[number].order.marked.first() == Some(&lost[0]);
        self.paths[number].window_exempt = first || !self.config.host().exempts_foremost_only;
        let cut_already = self.config.fast_recovery == Scope::PerWindow && Some(last) <= self.paths[number].recover;
        if recovering || cut_already {
            return None;
        }
        self.update_coupling(number);
        let path = &mut self.paths[number];
        path.cut(now, flight);
        match self.config.fast_recovery {
            Scope::PerAssociation => return Some(self.records.next() - 1),
            Scope::PerPath if self.config.host().recovers_all_paths => path.exit = Some(self.records.next() - 1),
            Scope::PerPath => path.exit = Some(highest),
            Scope::PerWindow => path.recover = Some(highest),
            Scope::None => {}
        }
        None
    }

    /// Marks a chunk in flight as lost.
    pub(super) fn mark(&mut self, tsn: u64, timed_out: bool) {
        let record = self.records.get_mut(tsn);
        (record.place, record.timed_out, record.missing) = (Place::Marked, timed_out, 0);
        let (bytes, path) = (record.bytes(), &mut self.paths[usize::from(record.path)]);
        path.order.marked.insert(tsn);
        path.flight -= bytes;
        path.stats.losses += 1;
        if path.timed.is_some_and(|(timed, _)| timed == tsn) {
            path.timed = None;
        }
        self.flight -= bytes;
        self.peer_window += bytes;
    }

    /// Section 6.3.2 rules R2 and R3: stops and restarts T3-rtx.
    fn set_timers(&mut self, now: Time, earliest: [Option<u64>; 8]) {
        let cumulatively = self.config.host().restarts_timer_cumulatively;
        for (i, path) in self.paths.iter_mut().enumerate().filter(|(_, path)| !path.newly.is_nothing() || path.passed) {
            let first = earliest.get(i).copied().flatten();
            let left = || first.is_none_or(|tsn| !self.records.is_in_flight(tsn, i as u8));
            if path.flight == 0 {
                path.timer = Time::NEVER;
            } else if if cumulatively { path.passed } else { left() } {
                path.timer = now + path.rtt.rto();
            }
        }
    }
}
