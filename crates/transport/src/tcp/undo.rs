//! Detection of spurious recoveries and timeouts, and their undo.

use super::host::Personality;
use super::recovery::Episode;
use super::sender::{Acknowledgement, Sender};
use std::collections::BTreeMap;
use vazao_congestion::Signal;
use vazao_engine::{Duration, Time};

/// State of the last window reduction, until it is found spurious.
///
/// Three signs show that: D-SACK reports every retransmission as a duplicate (RFC 3708); an acknowledgement of a
/// retransmitted segment echoes an earlier timestamp (Eifel, RFC 3522); after a timeout, a segment sent once arrives
/// after all (F-RTO, RFC 5682). The response to each is Eifel's (RFC 4015) as in Linux: window and ssthresh are
/// restored.
#[derive(Debug)]
pub(crate) struct Undo {
    detects: Detects,
    /// Last reduction, if it can be undone.
    reduction: Option<Reduced>,
    /// Retransmissions since the reduction not reported as duplicates: first octet and count.
    unreported: BTreeMap<u64, u32>,
    /// Linux's count instead of these.
    count: Option<Count>,
    /// Whether a D-SACK came since the last acknowledgement was examined.
    dsack_arrived: bool,
    frto: Frto,
}

/// Enabled detection methods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detects {
    /// D-SACK and timestamps (RFC 3708, RFC 3522).
    pub undo: bool,
    /// F-RTO (RFC 5682).
    pub frto: bool,
}

/// Linux's count of retransmissions not reported as duplicates, whichever they are (undo_retrans, dsack_dups).
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Since the reduction, with those in flight then; `None` if there was none yet.
    left: Option<u64>,
    /// First octet unacknowledged at the reduction (undo_marker): reports of what lies before it are of earlier ones.
    since: u64,
    /// Segments ever reported, and those that the current acknowledgement reports.
    ever: u64,
    now: u64,
}

impl Count {
    fn take(&mut self, end: u64, segments: u64) {
        if end > self.since {
            self.left = self.left.map(|left| left.saturating_sub(segments));
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Reduced {
    by_timeout: bool,
    /// Time of the first retransmission due to this reduction, or to an earlier one whose repair was not over.
    resent: Option<Time>,
}

/// Steps of RFC 5682 after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    Off,
    /// Step 2: the first segment was retransmitted, and no acknowledgement has arrived since.
    FirstAnswer,
    /// Step 3: new data up to this octet was sent instead of retransmissions; the next acknowledgement decides.
    Testing(u64),
}

impl Undo {
    pub fn new(detects: Detects, host: &Personality) -> Self {
        let count = host.counts_duplicates.then(Count::default);
        Undo { detects, reduction: None, unreported: BTreeMap::new(), count, dsack_arrived: false, frto: Frto::Off }
    }

    /// Octets that the current acknowledgement reports as duplicates, where these count as delivered, in segments of `mss`.
    #[inline]
    pub fn reported(&self, mss: u64) -> u64 {
        self.count.map_or(0, |count| count.now * mss)
    }

    /// Forgets what an acknowledgement reported.
    #[inline]
    pub fn forget_reports(&mut self) {
        if let Some(count) = &mut self.count {
            count.now = 0;
        }
    }

    /// Whether a D-SACK came since the last acknowledgement was examined.
    #[inline]
    pub fn has_dsack(&self) -> bool {
        self.dsack_arrived
    }

    /// Records a reduction due to a loss, with everything before `una` acknowledged; `repairing` means that earlier
    /// retransmissions are in flight, and `copies` of them have not arrived.
    pub fn on_loss(&mut self, una: u64, repairing: bool, copies: u64) {
        self.begin(una, false, repairing, copies);
    }

    /// Records a reduction that will not be undone.
    pub fn forget(&mut self) {
        self.reduction = None;
        self.frto = Frto::Off;
    }

    /// Records a retransmission timeout; `afresh` if no repair was under way, or this segment has timed out before.
    pub fn on_timeout(&mut self, una: u64, afresh: bool, repairing: bool) {
        self.begin(una, true, repairing, 0);
        self.frto = if self.detects.frto && afresh { Frto::FirstAnswer } else { Frto::Off };
    }

    fn begin(&mut self, una: u64, by_timeout: bool, repairing: bool, copies: u64) {
        self.unreported = self.unreported.split_off(&una);
        if let Some(count) = &mut self.count {
            (count.left, count.since) = (Some(copies).filter(|&copies| copies > 0), una);
        }
        // Earlier retransmissions in flight will be acknowledged too, with a timestamp later than their transmission.
        let resent = self.reduction.filter(|_| repairing).and_then(|before| before.resent);
        self.reduction = Some(Reduced { by_timeout, resent });
        self.frto = Frto::Off;
    }

    /// Records the retransmission of the segment that begins at octet `start`.
    pub fn on_resent(&mut self, start: u64, now: Time) {
        *self.unreported.entry(start).or_default() += 1;
        if let Some(count) = &mut self.count {
            count.left = Some(count.left.unwrap_or(0) + 1);
        }
        if let Some(reduction) = &mut self.reduction {
            reduction.resent.get_or_insert(now);
        }
    }

    /// Handles a D-SACK for `start..end`; returns whether it is due to a retransmission of ours.
    pub fn on_report(&mut self, start: u64, end: u64) -> bool {
        self.dsack_arrived = true;
        let Some((&first, count)) = self.unreported.range_mut(start..end.max(start)).next() else { return false };
        *count -= 1;
        if *count == 0 {
            self.unreported.remove(&first);
        }
        true
    }

    /// RFC 3708: whether every retransmission was reported as a duplicate.
    fn all_reported(&self) -> bool {
        if let Some(count) = self.count {
            return self.reduction.is_some() && count.left == Some(0);
        }
        self.reduction.is_some_and(|reduction| reduction.resent.is_some()) && self.unreported.is_empty()
    }

    /// RFC 3522: whether the acknowledgement was caused by an original transmission.
    fn is_of_original(&self, now: Time, echo: Option<Duration>) -> bool {
        self.reduction.is_some_and(|reduction| {
            let millis = |time: Time| time.as_nanos() / 1_000_000;
            reduction.resent.is_none_or(|resent| {
                echo.is_some_and(|echo| millis(now).saturating_sub(echo.as_nanos() / 1_000_000) < millis(resent))
            })
        })
    }

    /// Octet up to which step 2 of F-RTO sends new data instead of retransmissions.
    pub fn tests_up_to(&self) -> Option<u64> {
        match self.frto {
            Frto::Testing(end) => Some(end),
            _ => None,
        }
    }
}

impl Sender {
    /// Checks whether the episode `was` proves spurious, after an acknowledgement during it or a D-SACK (RFC 2883); returns
    /// whether it did.
    #[cold]
    pub(super) fn check_spurious(&mut self, now: Time, ack: &Acknowledgement, was: Episode, before: u64) -> bool {
        let advanced = self.una > before;
        let undo = &mut self.undo;
        let reported = std::mem::take(&mut undo.dsack_arrived) && undo.all_reported();
        let original = undo.is_of_original(now, ack.echo_rtt);
        let under_way = was.is_fast() && self.una < was.recover();
        if original
            && advanced
            && under_way
            && let Some(rack_tlp) = &mut self.rack_tlp
        {
            // A hole was filled by a late original, not by a retransmission (tcp_try_undo_partial in Linux).
            rack_tlp.rack.on_lateness(self.board.highest(self.una) - before, self.mss);
            rack_tlp.late = self.board.has_resent();
        }
        let partial = under_way && advanced && original;
        // Linux's tcp_try_undo_dsack, at any time: what is lost and was not sent again begins another recovery.
        let needless = undo.count.is_some() && !partial && undo.all_reported();
        let late = undo.detects.undo
            && match was {
                Episode::None => reported,
                // As in Linux, recovery goes on to its end while retransmissions are in flight.
                _ if partial => !self.board.has_resent(),
                _ if under_way => needless,
                Episode::Fast { .. } | Episode::Pipe { .. } => original || undo.all_reported(),
                Episode::Restart { .. } => advanced && (original || undo.all_reported()),
            };
        if late && undo.reduction.is_some() {
            if let Some(rack_tlp) = &mut self.rack_tlp {
                if original {
                    rack_tlp.rack.on_reordering();
                }
                if needless && (under_way || was == Episode::None) {
                    rack_tlp.rack.on_needless_recovery();
                }
            }
            self.undo_reduction(now, self.una < was.recover() && !(needless && under_way));
            return true;
        }
        if matches!(was, Episode::Restart { .. }) && undo.frto != Frto::Off {
            self.advance_frto(now, ack, was.recover(), advanced);
        }
        false
    }

    /// RFC 5682 without SACK (section 2) and with SACK (section 3).
    fn advance_frto(&mut self, now: Time, ack: &Acknowledgement, recover: u64, advanced: bool) {
        let testing = matches!(self.undo.frto, Frto::Testing(_));
        // An original sent before the timeout arrived after it. With SACK that is certain at the first acknowledgement
        // (Linux); without it, the data may have arrived before the timeout.
        let late = if self.selective { self.board.take_late() } else { advanced };
        if late && (testing || self.rack_tlp.is_some()) {
            return self.undo_reduction(now, true);
        }
        if ack.offset < self.una {
            return; // Reordered ACK: the steps have seen later ones.
        }
        let room = self.nxt < self.finish() && self.edge > self.nxt;
        self.undo.frto = match self.undo.frto {
            // Duplicates before the first ACK say nothing (section 3.1 step 2), except without SACK (section 2.1 step
            // 2a).
            Frto::FirstAnswer if !advanced && self.selective => Frto::FirstAnswer,
            // Up to two new segments; without data or window, conventional recovery (step 2b).
            Frto::FirstAnswer if advanced && self.una < recover && room => Frto::Testing(self.nxt + 2 * self.mss),
            _ => Frto::Off,
        };
        if testing && !advanced && ack.offset == self.una {
            // Step 3a: it was a loss. The window becomes three segments, of which the new ones take two.
            self.undo.frto = Frto::Off;
            self.force = !self.host.waits_after_frto;
        }
    }

    /// Undoes the last reduction: restores window and ssthresh; before the end of the episode, nothing is lost either.
    fn undo_reduction(&mut self, now: Time, early: bool) {
        let Some(reduction) = self.undo.reduction.take() else { return };
        self.undo.forget();
        if reduction.by_timeout {
            self.stats.spurious_timeouts += 1;
        } else {
            self.stats.spurious_recoveries += 1;
        }
        self.episode = Episode::None;
        if early {
            self.board.unmark_losses();
        }
        self.reduction.end();
        if let Some(rack_tlp) = &mut self.rack_tlp {
            rack_tlp.rack.reconsider(&self.board);
        }
        self.control.on_spurious(now);
        self.cwnd = self.control.cwnd();
        self.round_end = self.nxt;
    }

    /// Handles a D-SACK (RFC 2883).
    pub fn on_duplicate_report(&mut self, start: u64, end: u64) {
        self.stats.duplicate_reports += 1;
        if self.undo.count.is_some() && !self.count_duplicate(start, end) {
            return;
        }
        if self.undo.on_report(start, end) {
            self.stats.spurious_retransmissions += 1;
            self.board.on_late_original(start, end);
        }
    }

    /// Linux's account of a D-SACK (tcp_check_dsack, tcp_sacktag_one); returns false if it is dubious.
    fn count_duplicate(&mut self, start: u64, end: u64) -> bool {
        let Some(count) = &mut self.undo.count else { return true };
        let segments = end.saturating_sub(start).div_ceil(self.mss).max(1);
        count.ever += segments;
        if count.ever > self.stats.retransmissions {
            return false;
        }
        count.now += segments;
        if end <= self.una {
            count.take(end, segments);
        }
        for end in self.board.copies_within(start, end) {
            count.take(end, 1);
        }
        if let Some(rack_tlp) = &mut self.rack_tlp
            && !rack_tlp.probe.ends_at(end)
        {
            rack_tlp.rack.on_duplicate();
        }
        true
    }

    /// Reports a loss or a timeout to the congestion control and remembers it for a possible undo.
    pub(super) fn reduce(&mut self, now: Time, signal: Signal) {
        let (repairing, copies) = (self.board.is_repairing(), self.board.resent_segments());
        match signal {
            Signal::Loss | Signal::Restart => self.undo.on_loss(self.una, repairing, copies),
            Signal::Timeout | Signal::RepeatedTimeout => {
                let afresh = self.episode == Episode::None || signal == Signal::RepeatedTimeout;
                self.undo.on_timeout(self.una, afresh && !self.episode.is_fast(), repairing);
                self.board.watch_below(self.nxt);
            }
            Signal::Mark => self.undo.forget(),
        }
        self.marks.on_reduction(self.nxt);
        self.signal(now, signal, self.flight());
    }
}
