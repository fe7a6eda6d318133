//! Time-based loss detection: RACK (RFC 8985 section 6).

use super::host::Personality;
use super::newly_acked::{Copy, NewlyAcked};
use super::recovery::DUP_THRESHOLD;
use super::scoreboard::Scoreboard;
use super::sent::{Sent, Status};
use crate::common::RttEstimator;
use std::collections::VecDeque;
use vazao_engine::{Duration, Time};

/// State of RACK. A segment is lost once a later-sent segment has arrived and a reordering window has passed; this
/// holds for retransmissions too.
///
/// Segments are examined in the order of transmission, each until it is judged. Original transmissions are in that
/// order on the scoreboard; retransmissions are in a queue. The work is proportional to what was sent, not to what is
/// in flight.
#[derive(Debug)]
pub(crate) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: send time and end of the most recently sent segment that has arrived.
    newest: (Time, u64),
    /// RACK.rtt: round-trip time of the segment that arrived last.
    rtt: Duration,
    /// RACK.reordering_seen.
    reordering: bool,
    /// Largest reordering seen, in segments (tcp_sock.reordering in Linux), for information only.
    degree: u64,
    /// RACK.reo_wnd_mult: reordering window in quarters of the minimum round-trip time.
    quarters: u64,
    /// RACK.reo_wnd_persist: recoveries for which the window stays this wide.
    persist: u32,
    /// RACK.dsack_round: the reordering window does not grow again before this octet is acknowledged.
    widened: u64,
    /// Original transmissions before this segment number have been judged.
    examined: u64,
    /// Retransmissions in the order of sending: send time and segment number.
    resent: VecDeque<(Time, u64)>,
    /// Whether a segment has arrived, or a loss detection proved spurious, since losses were last looked for.
    advanced: bool,
    /// Whether a D-SACK came that may widen the window, and when one last did (dsack_seen, last_delivered in Linux).
    duplicate: bool,
    widened_at: Time,
    host: &'static Personality,
}

/// States of a segment sent once that there is nothing to examine of.
const SETTLED: Status = Status::SACKED.or(Status::LOST).or(Status::AMBIGUOUS).or(Status::JUDGED);

impl Rack {
    /// Recoveries for which a reordering window stays widened after a D-SACK.
    const PERSIST: u32 = 16;
    /// Linux's net.ipv4.tcp_max_reordering.
    const MAX_REORDERING: u64 = 300;

    pub fn new(host: &'static Personality) -> Self {
        Rack {
            newest: (Time::ZERO, 0),
            rtt: Duration::ZERO,
            reordering: false,
            degree: u64::from(DUP_THRESHOLD),
            quarters: 1,
            persist: 0,
            widened: 0,
            examined: 0,
            resent: VecDeque::new(),
            advanced: false,
            duplicate: false,
            widened_at: Time::ZERO,
            host,
        }
    }

    /// Steps 1 to 3: processes newly acknowledged segments. RACK.rtt is that of the last one in the order of
    /// processing, even if another was sent later (tcp_rack_advance in Linux): one that was long under way shows how long
    /// the rest may take. `echo_rtt` is the round-trip time by the echoed timestamp.
    #[inline]
    pub fn on_arrivals(&mut self, now: Time, newly_acked: &NewlyAcked, min_rtt: Duration, echo_rtt: Option<Duration>) {
        self.reordering |= newly_acked.reordered;
        let (mut last, mut newest) = (newly_acked.last, newly_acked.once);
        for copy in newly_acked.again.iter().filter(|copy| Self::is_of_copy(now, copy, min_rtt, echo_rtt)) {
            last = last.max(Some((copy.place, copy.order.0)));
            newest = newest.max(Some(copy.order));
        }
        if let Some((_, at)) = last {
            self.rtt = now.since(at);
            self.advanced = true;
        }
        self.newest = newest.unwrap_or(self.newest).max(self.newest);
    }

    /// Steps 1 to 3 for the last of newly acknowledged segments that were sent once and arrived in order: its send time and end.
    #[inline(always)]
    pub fn on_arrival(&mut self, now: Time, sent: (Time, u64)) {
        (self.rtt, self.advanced) = (now.since(sent.0), true);
        self.newest = self.newest.max(sent);
    }

    /// Step 2: whether the last transmission of a segment arrived. An earlier one did if the round-trip time would be
    /// below the minimum, or if a cumulative acknowledgement echoes an earlier timestamp (tcp_skb_spurious_retrans in
    /// Linux); beyond a hole the echo is that of the segment before it (RFC 7323 section 4.3) and says nothing.
    fn is_of_copy(now: Time, copy: &Copy, min_rtt: Duration, echo_rtt: Option<Duration>) -> bool {
        let millis = |time: Time| time.as_nanos() / 1_000_000;
        let echo = |rtt: Duration| millis(now).saturating_sub(rtt.as_nanos() / 1_000_000);
        let earlier = copy.place.cumulative && echo_rtt.is_some_and(|rtt| echo(rtt) < millis(copy.order.0));
        !earlier && now.since(copy.order.0) >= min_rtt
    }

    /// Step 4: widens the reordering window after a spurious retransmission, once a round trip.
    pub fn on_needless_resend(&mut self, una: u64, nxt: u64) {
        if una >= self.widened {
            self.widened = nxt;
            self.quarters += 1;
            self.persist = Self::PERSIST;
        }
    }

    /// Step 4: counts a completed recovery; in Linux not one that proves spurious (tcp_try_undo_recovery).
    pub fn on_recovered(&mut self, undone: bool) {
        if undone && self.host.counts_duplicates {
            return;
        }
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 && !self.host.counts_duplicates {
            self.quarters = 1;
        }
    }

    /// Linux: records a D-SACK. Without reordering the loss was none of RACK's (tcp_dsack_seen).
    pub fn on_duplicate(&mut self) {
        self.duplicate |= self.reordering;
    }

    /// Linux: records that every retransmission of a recovery was needless (tcp_try_undo_dsack).
    pub fn on_needless_recovery(&mut self) {
        self.persist = (self.persist + 1).min(Self::PERSIST);
    }

    /// Linux's step 4: widens the window for a D-SACK, but not again before something arrives that was sent since, or forgets
    /// that it did (tcp_rack_update_reo_wnd). `newest` is when the last-sent of what has arrived left.
    pub fn adapt(&mut self, now: Time, newest: Option<Time>) {
        let Some(newest) = newest else { return };
        if std::mem::take(&mut self.duplicate) && newest >= self.widened_at {
            self.quarters = (self.quarters + 1).min(u64::from(u8::MAX));
            (self.widened_at, self.persist) = (now, Self::PERSIST);
        } else if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// Records that the original transmission of a retransmitted segment arrived late.
    pub fn on_reordering(&mut self) {
        self.reordering = true;
    }

    /// Largest reordering seen, in segments.
    pub fn degree(&self) -> u64 {
        self.degree
    }

    /// Records a segment that arrived when octets up to `lateness` beyond its first one had arrived. In Linux it shows
    /// reordering also if it was sent again, so that the window is not narrowed (tcp_check_sack_reordering).
    pub fn on_lateness(&mut self, lateness: u64, mss: u64) {
        self.reordering |= lateness > 0 && self.host.counts_duplicates;
        self.degree = self.degree.max(lateness.div_ceil(mss).min(Self::MAX_REORDERING));
    }

    /// Judges all segments again after a spurious loss detection; retransmitted ones by their last copy.
    pub fn reconsider(&mut self, board: &Scoreboard) {
        self.examined = 0;
        self.advanced = true;
        self.resent = board.copies().collect();
        self.resent.make_contiguous().sort_unstable();
    }

    /// Returns the retransmission sent at this time, unless it arrived, was sent again or is lost.
    fn copy(board: &Scoreboard, (at, number): (Time, u64)) -> Option<&Sent> {
        let awaited = |sent: &&Sent| !sent.state.has(Status::LOST) || sent.state.has(Status::RESENT);
        board.get(number).filter(|sent| sent.at == at && !sent.state.has(Status::SACKED)).filter(awaited)
    }

    /// Records the retransmission of segment `number`.
    pub fn on_resent(&mut self, number: u64, now: Time) {
        self.resent.push_back((now, number));
    }

    /// Takes whether there is a reason to look for losses again.
    pub fn take_advance(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Step 4: reordering window; zero in recovery or once three segments are SACKed, until reordering is seen.
    pub fn window(&self, board: &Scoreboard, recovering: bool, rtt: &RttEstimator) -> Duration {
        if !self.reordering && (recovering || board.sacked_segments() >= u64::from(DUP_THRESHOLD)) {
            return Duration::ZERO;
        }
        Duration::from_nanos((rtt.min().as_nanos() / 4).saturating_mul(self.quarters)).min(rtt.srtt())
    }

    /// Step 5: marks lost segments; returns when the last of the remaining overtaken ones will be lost.
    pub fn detect(&mut self, board: &mut Scoreboard, now: Time, window: Duration) -> Time {
        self.examined = self.examined.max(board.first_number());
        while let Some(&sent) = board.get(self.examined) {
            if !sent.state.has(SETTLED) {
                if self.due(&sent, window) > now {
                    break;
                }
                self.declare_lost(board, self.examined);
            }
            self.examined += 1;
        }
        // Retransmissions sent at the same time need not be in sequence order: one that has not been overtaken must not
        // hide another behind it.
        let mut waiting = 0;
        while let Some(&(at, number)) = self.resent.get(waiting)
            && at + self.rtt + window <= now
        {
            let copy = Self::copy(board, (at, number));
            if copy.is_some_and(|sent| sent.order() >= self.newest) {
                waiting += 1;
                continue;
            }
            if copy.is_some() {
                self.declare_lost(board, number);
            }
            self.resent.remove(waiting);
        }
        self.last_due(board, window)
    }

    fn declare_lost(&self, board: &mut Scoreboard, number: u64) {
        if self.host.judges_once { board.judge_lost(number) } else { board.declare_lost(number) }
    }

    /// Time at which the last overtaken segment is due; never if none is overtaken.
    fn last_due(&self, board: &Scoreboard, window: Duration) -> Time {
        let overtaken = |sent: &&Sent| sent.order() < self.newest;
        // A retransmitted segment keeps its place on the scoreboard but was sent later.
        let before = |sent: &&Sent| sent.state.has(Status::AMBIGUOUS) || overtaken(sent);
        let once = (self.examined..).map_while(|number| board.get(number)).take_while(before);
        let once = once.filter(|sent| !sent.state.has(SETTLED));
        // Retransmissions are in the order of their times, so the last overtaken one is due last.
        let sent_before = self.resent.partition_point(|&(at, _)| at <= self.newest.0);
        let mut copies = self.resent.range(..sent_before).rev();
        let again = copies.find_map(|&copy| Self::copy(board, copy).filter(overtaken));
        once.last().into_iter().chain(again).map(|sent| sent.at + self.rtt + window).max().unwrap_or(Time::NEVER)
    }

    /// Time at which a segment counts as lost; never before a later-sent segment arrives.
    fn due(&self, sent: &Sent, window: Duration) -> Time {
        if sent.order() >= self.newest {
            return Time::NEVER;
        }
        sent.at + self.rtt + window
    }

    /// Section 6.3: on a retransmission timeout at `now`, segments sent before the returned time count as lost.
    pub fn lost_by_timeout(&self, now: Time, window: Duration) -> Time {
        Time::from_nanos(now.as_nanos().saturating_sub((self.rtt + window).as_nanos()))
    }
}
