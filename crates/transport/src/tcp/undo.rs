//! Second thoughts: whether what was taken for lost had only been late, and the window was cut for nothing.

use super::recovery::Episode;
use super::sender::{Acknowledgement, Sender};
use std::collections::BTreeMap;
use vazao_congestion::Signal;
use vazao_engine::{Duration, Time};

/// What is known of the last reduction of the window, until it is found to be needless.
///
/// Three signs tell: the peer reports every segment that was sent again as arrived twice (D-SACK, RFC 3708); an
/// acknowledgement of what was sent again echoes a timestamp from before (Eifel, RFC 3522); after a timeout, what was
/// sent once arrives all the same (F-RTO, RFC 5682). The answer to each is Eifel's (RFC 4015), as Linux gives it: window
/// and threshold are what they were.
#[derive(Debug)]
pub(crate) struct Undo {
    detects: Detects,
    /// What was reduced, if that can be taken back.
    reduction: Option<Reduction>,
    /// Segments sent again and not reported as arrived twice: the first octet of each, and how often. Those of a
    /// reduction, or later.
    unreported: BTreeMap<u64, u32>,
    /// The peer has reported something since the last acknowledgement was looked at.
    news: bool,
    frto: Frto,
}

/// Which signs of a needless reduction count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detects {
    /// D-SACK and timestamps (RFC 3708, RFC 3522).
    pub undo: bool,
    /// What arrives after a timeout (RFC 5682).
    pub frto: bool,
}

#[derive(Clone, Copy, Debug)]
struct Reduction {
    by_timeout: bool,
    /// When the first segment was sent again because of it, or because of one before whose repair was not over.
    resent: Option<Time>,
}

/// RFC 5682's steps after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    Off,
    /// Step 2: the first segment was sent again, and nothing else before it is acknowledged.
    FirstAnswer,
    /// Step 3: new data was let out instead of what may be lost, up to this octet; what comes back decides.
    Testing(u64),
}

impl Undo {
    pub fn new(detects: Detects) -> Self {
        Undo { detects, reduction: None, unreported: BTreeMap::new(), news: false, frto: Frto::Off }
    }

    /// The peer has reported something since it was last asked.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.news
    }

    /// The window comes down for a loss, with everything before `una` acknowledged. `repairing`: something that was sent
    /// again before is still under way.
    pub fn on_loss(&mut self, una: u64, repairing: bool) {
        self.begin(una, false, repairing);
    }

    /// The window comes down for a reason that nothing will take back.
    pub fn forget(&mut self) {
        self.reduction = None;
        self.frto = Frto::Off;
    }

    /// The retransmission timer expired. `afresh`: no repair was under way, or this very segment was given up before.
    pub fn on_timeout(&mut self, una: u64, afresh: bool, repairing: bool) {
        self.begin(una, true, repairing);
        self.frto = if self.detects.frto && afresh { Frto::FirstAnswer } else { Frto::Off };
    }

    fn begin(&mut self, una: u64, by_timeout: bool, repairing: bool) {
        self.unreported = self.unreported.split_off(&una);
        // What is under way from before will be acknowledged too, with a timestamp from after it was sent again.
        let resent = self.reduction.filter(|_| repairing).and_then(|before| before.resent);
        self.reduction = Some(Reduction { by_timeout, resent });
        self.frto = Frto::Off;
    }

    /// The segment that begins with octet `start` is sent again.
    pub fn on_resent(&mut self, start: u64, now: Time) {
        *self.unreported.entry(start).or_default() += 1;
        if let Some(reduction) = &mut self.reduction {
            reduction.resent.get_or_insert(now);
        }
    }

    /// The peer reports octets `start..end` as arrived twice. Whether that is due to us, not to the network.
    pub fn on_report(&mut self, start: u64, end: u64) -> bool {
        self.news = true;
        let Some((&first, count)) = self.unreported.range_mut(start..end.max(start)).next() else { return false };
        *count -= 1;
        if *count == 0 {
            self.unreported.remove(&first);
        }
        true
    }

    /// RFC 3708: everything that was sent again had arrived.
    fn all_reported(&self) -> bool {
        self.reduction.is_some_and(|reduction| reduction.resent.is_some()) && self.unreported.is_empty()
    }

    /// RFC 3522: the acknowledgement was caused before anything was sent again. Also when nothing was.
    fn is_of_original(&self, now: Time, echo: Option<Duration>) -> bool {
        self.reduction.is_some_and(|reduction| {
            let millis = |time: Time| time.as_nanos() / 1_000_000;
            reduction.resent.is_none_or(|resent| {
                echo.is_some_and(|echo| millis(now).saturating_sub(echo.as_nanos() / 1_000_000) < millis(resent))
            })
        })
    }

    /// Whether the second step of F-RTO lets out new data instead of what may be lost: up to this octet.
    pub fn tests_up_to(&self) -> Option<u64> {
        match self.frto {
            Frto::Testing(end) => Some(end),
            _ => None,
        }
    }
}

impl Sender {
    /// An acknowledgement came while `was` was being repaired, or with a report (RFC 2883): was it needless?
    #[cold]
    pub(super) fn look_back(&mut self, now: Time, ack: &Acknowledgement, was: Episode, before: u64) {
        let advanced = self.una > before;
        let undo = &mut self.undo;
        let reported = std::mem::take(&mut undo.news) && undo.all_reported();
        let original = undo.is_of_original(now, ack.echo_rtt);
        if original
            && advanced
            && was.is_fast()
            && self.una < was.recover()
            && let Some(modern) = &mut self.modern
        {
            // A hole was filled by what was late, not by what was sent again (tcp_try_undo_partial in Linux).
            modern.rack.on_lateness(self.board.highest(self.una) - before, self.mss);
        }
        let late = undo.detects.undo
            && match was {
                Episode::None => reported,
                // As Linux: what is still under way again goes on being repaired until the end.
                Episode::Fast { .. } if self.una >= was.recover() => original || undo.all_reported(),
                Episode::Fast { .. } => advanced && original && !self.board.has_resent(),
                Episode::Restart { .. } => advanced && (original || undo.all_reported()),
            };
        if late && undo.reduction.is_some() {
            if original && let Some(modern) = &mut self.modern {
                modern.rack.on_reordering();
            }
            return self.take_back(now, self.una < was.recover());
        }
        if matches!(was, Episode::Restart { .. }) && undo.frto != Frto::Off {
            self.test_timeout(now, ack, was.recover(), advanced);
        }
    }

    /// RFC 5682, without SACK (section 2) and with it (section 3).
    fn test_timeout(&mut self, now: Time, ack: &Acknowledgement, recover: u64, advanced: bool) {
        let testing = matches!(self.undo.frto, Frto::Testing(_));
        // Sent once and before the timeout, not known to have arrived until now. With SACK that tells already at the first
        // answer (Linux); without it much may have arrived before.
        let late = if self.selective { self.board.take_late() } else { advanced };
        if late && (testing || self.modern.is_some()) {
            return self.take_back(now, true);
        }
        if ack.offset < self.una {
            return; // It was overtaken by what the steps have seen.
        }
        let room = self.nxt < self.finish() && self.edge > self.nxt;
        self.undo.frto = match self.undo.frto {
            // Duplicates before the answer tell nothing (section 3.1 step 2), unless there is no SACK (section 2.1 step 2a).
            Frto::FirstAnswer if !advanced && self.selective => Frto::FirstAnswer,
            // Up to two new segments; with nothing to send, or no window, the usual repair (step 2b).
            Frto::FirstAnswer if advanced && self.una < recover && room => Frto::Testing(self.nxt + 2 * self.mss),
            _ => Frto::Off,
        };
        if testing && !advanced && ack.offset == self.una {
            // Step 3a: it was a loss. The window is to be three segments, of which the new ones take two.
            self.undo.frto = Frto::Off;
            self.force = !self.lenient;
        }
    }

    /// The last reduction was needless: window and threshold are what they were; before its end, nothing is lost either.
    fn take_back(&mut self, now: Time, early: bool) {
        let Some(reduction) = self.undo.reduction.take() else { return };
        self.undo.forget();
        if reduction.by_timeout {
            self.stats.spurious_timeouts += 1;
        } else {
            self.stats.spurious_recoveries += 1;
        }
        self.episode = Episode::None;
        if early {
            self.board.recall_losses();
        }
        self.reduction.end();
        if let Some(modern) = &mut self.modern {
            modern.rack.reconsider(&self.board);
        }
        self.control.on_spurious(now);
        self.cwnd = self.control.cwnd();
        self.round_end = self.nxt;
    }

    /// The peer reports octets as arrived twice (RFC 2883).
    pub fn on_duplicate_report(&mut self, start: u64, end: u64) {
        self.stats.duplicate_reports += 1;
        if self.undo.on_report(start, end) {
            self.stats.spurious_retransmissions += 1;
            self.board.note_both(start, end);
        }
    }

    /// Tells the congestion control of a loss or a timeout, and remembers it as one that may prove needless.
    pub(super) fn reduce(&mut self, now: Time, signal: Signal) {
        let repairing = self.board.is_repairing();
        match signal {
            Signal::Loss | Signal::Restart => self.undo.on_loss(self.una, repairing),
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
