//! Detection of spurious recoveries and timeouts, and their undo.

use super::host::Personality;
use super::recovery::Episode;
use super::scoreboard::Scoreboard;
use std::collections::BTreeMap;
use vazao_engine::{Duration, Time};

/// State of the last window reduction, until it is found spurious.
///
/// Three signs show that: D-SACK reports every retransmission as a duplicate (RFC 3708); an acknowledgement of a
/// retransmitted segment echoes an earlier timestamp (Eifel, RFC 3522); after a timeout, a segment sent once arrives
/// after all (F-RTO, RFC 5682). The response is Linux's: window and ssthresh are
/// restored.
#[derive(Debug)]
pub(crate) struct Undo {
    detects: Detects,
    /// Last reduction, if it can be undone.
    reduction: Option<Reduced>,
    /// Retransmissions since the reduction not reported as duplicates: first octet and count.
    unreported: BTreeMap<u64, u32>,
    /// Linux's count, for hosts that go by it.
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

/// Reduction that can be undone.
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

/// Acknowledgement during an episode, or with a D-SACK (RFC 2883), as evidence on whether the episode was spurious.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Episode under way when it came.
    pub was: Episode,
    /// First unacknowledged octet after it, and whether it moved.
    pub una: u64,
    pub advanced: bool,
    pub echo_rtt: Option<Duration>,
    /// Whether retransmissions are in flight.
    pub has_resent: bool,
}

/// Finding about an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Whether a late original, not a retransmission, filled a hole (tcp_try_undo_partial in Linux).
    pub filled_by_original: bool,
    /// The last reduction, if it was spurious.
    pub spurious: Option<Spurious>,
}

/// Reduction that was spurious, and is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spurious {
    pub by_timeout: bool,
    /// Whether an original transmission has arrived late.
    pub original: bool,
    /// Whether every retransmission was reported as a duplicate while the episode was under way, or after it.
    pub reported: bool,
    /// Whether the episode was under way, so that nothing is lost either.
    pub early: bool,
}

/// Acknowledgement after a timeout, as F-RTO examines it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrtoAck {
    /// Whether it moved SND.UNA.
    pub advanced: bool,
    /// Whether it acknowledges exactly what was acknowledged before.
    pub repeats: bool,
    /// Whether it acknowledges less: others have overtaken it.
    pub overtaken: bool,
    /// Whether SACK is in use.
    pub selective: bool,
    /// Whether RACK tells originals from retransmissions.
    pub by_time: bool,
    /// Octet up to which F-RTO may send two new segments, if there is reason, data and window for them.
    pub room: Option<u64>,
}

/// Conclusion of F-RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conclusion {
    None,
    /// The timeout was spurious.
    Spurious(Spurious),
    /// The timeout was genuine (step 3a).
    Loss,
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

    /// Octet up to which F-RTO sends new data instead of retransmissions (step 2).
    pub fn tests_up_to(&self) -> Option<u64> {
        match self.frto {
            Frto::Testing(end) => Some(end),
            _ => None,
        }
    }

    /// Judges the episode by an acknowledgement. A reduction found spurious is forgotten.
    #[cold]
    pub fn judge(&mut self, now: Time, seen: &Evidence) -> Finding {
        let Evidence { was, una, advanced, echo_rtt, has_resent } = *seen;
        let reported = std::mem::take(&mut self.dsack_arrived) && self.all_reported();
        let original = self.is_of_original(now, echo_rtt);
        let under_way = was.is_fast() && una < was.recover();
        let partial = under_way && advanced && original;
        // Linux's tcp_try_undo_dsack, at any time: what is lost and was not sent again begins another recovery.
        let all = self.count.is_some() && !partial && self.all_reported();
        let late = self.detects.undo
            && match was {
                Episode::None => reported,
                // As in Linux, recovery goes on to its end while retransmissions are in flight.
                _ if partial => !has_resent,
                _ if under_way => all,
                Episode::Fast { .. } | Episode::Pipe { .. } => original || self.all_reported(),
                Episode::Restart { .. } => advanced && (original || self.all_reported()),
            };
        let reported = all && (under_way || was == Episode::None);
        let early = una < was.recover() && !(all && under_way);
        let spurious = if late { self.take_spurious(original, reported, early) } else { None };
        Finding { filled_by_original: partial, spurious }
    }

    /// Takes the last reduction as spurious, and forgets it.
    fn take_spurious(&mut self, original: bool, reported: bool, early: bool) -> Option<Spurious> {
        let by_timeout = self.reduction?.by_timeout;
        self.forget();
        Some(Spurious { by_timeout, original, reported, early })
    }

    /// Whether F-RTO examines the answers to a timeout.
    pub fn tests_timeout(&self) -> bool {
        self.frto != Frto::Off
    }

    /// Takes a step of RFC 5682, without SACK (section 2) or with it (section 3).
    #[cold]
    pub fn test_timeout(&mut self, board: &mut Scoreboard, seen: &FrtoAck) -> Conclusion {
        let FrtoAck { advanced, repeats, overtaken, selective, by_time, room } = *seen;
        let testing = matches!(self.frto, Frto::Testing(_));
        // An original sent before the timeout arrived after it. With SACK that is certain at the first acknowledgement
        // (Linux); without it, the data may have arrived before the timeout.
        let late = if selective { board.take_late() } else { advanced };
        if late && (testing || by_time) {
            return self.take_spurious(false, false, true).map_or(Conclusion::None, Conclusion::Spurious);
        }
        if overtaken {
            return Conclusion::None; // The steps have seen later ones.
        }
        self.frto = match self.frto {
            // Duplicates before the first ACK say nothing (section 3.1 step 2), except without SACK (section 2.1 step
            // 2a).
            Frto::FirstAnswer if !advanced && selective => Frto::FirstAnswer,
            // Up to two new segments; without data or window, conventional recovery (step 2b).
            Frto::FirstAnswer if advanced => room.map_or(Frto::Off, Frto::Testing),
            _ => Frto::Off,
        };
        if testing && !advanced && repeats {
            self.frto = Frto::Off;
            return Conclusion::Loss;
        }
        Conclusion::None
    }

    /// Linux's account of a D-SACK for `start..end` (tcp_check_dsack, tcp_sacktag_one): `copies` are the ends of
    /// the segments within it that were sent again, of `retransmissions` ever. Returns false if the report is dubious.
    pub fn count_report(
        &mut self,
        (start, end): (u64, u64),
        mss: u64,
        una: u64,
        retransmissions: u64,
        copies: impl Iterator<Item = u64>,
    ) -> bool {
        let Some(count) = &mut self.count else { return true };
        let segments = end.saturating_sub(start).div_ceil(mss).max(1);
        count.ever += segments;
        if count.ever > retransmissions {
            return false;
        }
        count.now += segments;
        if end <= una {
            count.take(end, segments);
        }
        for end in copies {
            count.take(end, 1);
        }
        true
    }

    /// Whether reports are counted as in Linux.
    pub fn counts_reports(&self) -> bool {
        self.count.is_some()
    }
}
