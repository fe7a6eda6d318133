//! Losses told by time: RACK (RFC 8985 section 6).

use super::news::News;
use super::recovery::DUP_THRESHOLD;
use super::scoreboard::{Mark, Scoreboard, Sent};
use crate::common::RttEstimator;
use std::collections::VecDeque;
use vazao_engine::{Duration, Time};

/// RACK's state. A segment is lost once one that was sent after it has arrived and a reordering window has passed;
/// that goes for what was sent again too.
///
/// Segments are looked at in the order in which they were sent, each until it is judged: what was sent once is in order
/// on the scoreboard, what was sent again is in a queue. So the work grows with what was sent, not with what is in flight.
#[derive(Debug)]
pub(crate) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: when the segment was sent that, of those that arrived, was sent last; and its end.
    newest: (Time, u64),
    /// RACK.rtt: the last round-trip time, of whatever segment.
    rtt: Duration,
    /// RACK.reordering_seen.
    reordering: bool,
    /// By how many segments the network reorders at most (tcp_sock.reordering in Linux). Nothing goes by it: RACK waits for
    /// a time.
    degree: u64,
    /// RACK.reo_wnd_mult: quarters of the least round-trip time that the reordering window spans.
    quarters: u64,
    /// RACK.reo_wnd_persist: recoveries for which it stays so wide.
    persist: u32,
    /// RACK.dsack_round: the window does not grow again before this octet is acknowledged.
    widened: u64,
    /// Every segment before this one that was sent once has been judged.
    judged: u64,
    /// Segments sent again, in the order of sending: when, and their numbers.
    resent: VecDeque<(Time, u64)>,
}

impl Rack {
    /// Recoveries for which a reordering window stays wide that a D-SACK widened.
    const PERSIST: u32 = 16;
    /// Linux's net.ipv4.tcp_max_reordering.
    const MOST_REORDERING: u64 = 300;

    pub fn new() -> Self {
        Rack {
            newest: (Time::ZERO, 0),
            rtt: Duration::ZERO,
            reordering: false,
            degree: u64::from(DUP_THRESHOLD),
            quarters: 1,
            persist: 0,
            widened: 0,
            judged: 0,
            resent: VecDeque::new(),
        }
    }

    /// Steps 1 to 3: what an acknowledgement says has arrived.
    #[inline]
    pub fn on_arrivals(&mut self, now: Time, news: &News, min_rtt: Duration) {
        self.reordering |= news.reordered;
        if let Some(sent) = news.once {
            self.on_arrival(now, sent);
        }
        // Faster than any round trip: it was the first copy that arrived.
        if let Some(sent) = news.again.filter(|&(at, _)| now.since(at) >= min_rtt) {
            self.on_arrival(now, sent);
        }
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, sent: (Time, u64)) {
        self.rtt = now.since(sent.0);
        if sent > self.newest {
            self.newest = sent;
        }
    }

    /// Linux takes the round-trip time of what it looked at last (tcp_rack_advance): where SND.UNA moved, of the last segment
    /// that this acknowledged, though one beyond it was sent later.
    pub fn on_advance(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Step 4: a segment that was not lost was sent again, so the reordering window was too short; it grows once a round
    /// trip.
    pub fn on_needless_resend(&mut self, una: u64, nxt: u64) {
        if una >= self.widened {
            self.widened = nxt;
            self.quarters += 1;
            self.persist = Self::PERSIST;
        }
    }

    /// Step 4: a recovery is over.
    pub fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// A segment that had been sent again arrived the first time, late.
    pub fn on_reordering(&mut self) {
        self.reordering = true;
    }

    /// By how many segments the network is believed to reorder at most.
    pub fn degree(&self) -> u64 {
        self.degree
    }

    /// A segment came when octets up to `lateness` beyond its first one had arrived.
    pub fn on_lateness(&mut self, lateness: u64, mss: u64) {
        self.degree = self.degree.max(lateness.div_ceil(mss).min(Self::MOST_REORDERING));
    }

    /// What was judged to be lost was not: every segment is judged again, those that were sent again by their last copy.
    pub fn reconsider(&mut self, board: &Scoreboard) {
        self.judged = 0;
        self.resent = board.copies().collect();
        self.resent.make_contiguous().sort_unstable();
    }

    /// A copy that left at this time and is still waited for; nothing if it arrived, was sent yet again or is lost.
    fn copy(board: &Scoreboard, (at, number): (Time, u64)) -> Option<&Sent> {
        let awaited = |sent: &&Sent| !sent.state.has(Mark::LOST) || sent.state.has(Mark::RESENT);
        board.get(number).filter(|sent| sent.at == at && !sent.state.has(Mark::SACKED)).filter(awaited)
    }

    /// Segment `number` was sent again.
    pub fn on_resent(&mut self, number: u64, now: Time) {
        self.resent.push_back((now, number));
    }

    /// Step 4: how much later than in order a segment may arrive. Until reordering was seen nothing waits that three
    /// segments have overtaken, nor in a recovery.
    pub fn window(&self, board: &Scoreboard, recovering: bool, rtt: &RttEstimator) -> Duration {
        if !self.reordering && (recovering || board.sacked_segments() >= u64::from(DUP_THRESHOLD)) {
            return Duration::ZERO;
        }
        Duration::from_nanos((rtt.min().as_nanos() / 4).saturating_mul(self.quarters)).min(rtt.srtt())
    }

    /// Step 5: marks what is lost by now; returns when the last will be of those that are waited for, if none arrives.
    pub fn detect(&mut self, board: &mut Scoreboard, now: Time, window: Duration) -> Time {
        self.judged = self.judged.max(board.first_number());
        while let Some(&sent) = board.get(self.judged) {
            if !sent.state.has(Mark::SACKED.or(Mark::LOST).or(Mark::AMBIGUOUS)) {
                if self.due(&sent, window) > now {
                    break;
                }
                board.lose(self.judged);
            }
            self.judged += 1;
        }
        // Copies that left at one time need not have left in the order of their data: one that nothing has overtaken does not
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
                board.lose(number);
            }
            self.resent.remove(waiting);
        }
        self.last_due(board, window)
    }

    /// When the last of those that something has overtaken is due; never, if nothing is overtaken.
    fn last_due(&self, board: &Scoreboard, window: Duration) -> Time {
        let overtaken = |sent: &&Sent| sent.order() < self.newest;
        let settled = Mark::SACKED.or(Mark::LOST).or(Mark::AMBIGUOUS);
        // What was sent again stands where it did, but is younger.
        let before = |sent: &&Sent| sent.state.has(Mark::AMBIGUOUS) || overtaken(sent);
        let once = (self.judged..).map_while(|number| board.get(number)).take_while(before);
        let once = once.filter(|sent| !sent.state.has(settled));
        let again = self.resent.iter().filter_map(|&copy| Self::copy(board, copy).filter(overtaken));
        once.last().into_iter().chain(again).map(|sent| sent.at + self.rtt + window).max().unwrap_or(Time::NEVER)
    }

    /// When a segment counts as lost: never, before something arrives that was sent after it.
    fn due(&self, sent: &Sent, window: Duration) -> Time {
        if sent.order() >= self.newest {
            return Time::NEVER;
        }
        sent.at + self.rtt + window
    }

    /// Section 6.3: the timer expired at `now`. What was sent before this time counts as lost.
    pub fn lost_by_timeout(&self, now: Time, window: Duration) -> Time {
        Time::from_nanos(now.as_nanos().saturating_sub((self.rtt + window).as_nanos()))
    }
}
