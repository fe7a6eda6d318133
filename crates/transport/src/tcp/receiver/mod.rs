//! Receiving half of a connection: reassembly and acknowledgements.

mod linux;
mod rfc;
mod right_sizing;

use super::config::Config;
use super::host::Host;
use super::segment::SackBlocks;
use crate::common::RangeSet;
use linux::LinuxReceiver;
pub(crate) use linux::SharedMemory;
use rfc::RfcReceiver;
pub(crate) use right_sizing::RightSizing;
use std::ops::Range;
use vazao_engine::{Duration, Time, fetch};

/// Buffer that the window scale of an auto-tuned one can express at least (Linux: `rmem_max`, 64 MiB in its guests).
const SCALED_BUFFER: u64 = 64 << 20;

/// Time at which the next acknowledgement is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckDue {
    Never,
    /// At this time, unless something makes it due before.
    At(Time),
    Now,
}

impl AckDue {
    fn sooner(self, other: AckDue) -> AckDue {
        match (self, other) {
            (AckDue::Never, due) | (due, AckDue::Never) => due,
            (AckDue::At(one), AckDue::At(another)) => AckDue::At(one.min(another)),
            _ => AckDue::Now,
        }
    }
}

/// Classification of an arriving segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Its octets continue the in-order data.
    InOrder,
    /// Its octets lie beyond a hole.
    OutOfOrder,
    /// All its octets had arrived before.
    Duplicate,
    /// Its octets lie outside the window.
    Outside,
}

/// Segment information for Linux's receive algorithms, besides its sequence range.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrived {
    /// Octets of payload and of the timestamps option.
    pub length: u64,
    pub options: u64,
    /// Whether it carries PSH.
    pub push: bool,
    /// RTO and smoothed round-trip time of the sending half.
    pub rto: Duration,
    pub srtt: Duration,
}

/// Receive state for the ACK policies.
struct ReceiveState {
    nxt: u64,
    read: u64,
    acknowledged: u64,
    /// Right edge of the advertised window.
    edge: u64,
    /// Number of blocks beyond holes.
    blocks: u64,
    due: AckDue,
}

impl ReceiveState {
    /// Window known to the peer. FIN occupies an octet that takes no buffer space.
    #[inline]
    fn offered(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }
}

/// Out-of-order octets before and after a segment that reached them.
#[derive(Clone, Copy, Debug)]
struct Reached {
    before: u64,
    after: u64,
}

/// Policy that decides when to acknowledge and what window to advertise.
enum Policy {
    Rfc(RfcReceiver),
    Linux(Box<LinuxReceiver>),
}

pub(crate) struct Receiver {
    /// Next octet expected (RCV.NXT).
    pub nxt: u64,
    /// Next octet that the application will read.
    read: u64,
    /// Ranges received beyond `nxt`.
    ranges: RangeSet,
    /// Octets received beyond a hole.
    beyond: u64,
    /// One octet of each recent block, most recent first: RFC 2018 section 4's order of reporting.
    recent: [u64; 4],
    /// A duplicate to report (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// Octet of the peer's FIN, once known.
    fin: Option<u64>,
    /// Value of `nxt` in the last acknowledgement sent.
    pub acknowledged: u64,
    /// Right edge of the advertised window, and octets accepted beyond it: of a subflow the connection's window lets more
    /// come than its own.
    edge: u64,
    allowance: u64,
    due: AckDue,
    /// Whether the window of the pending acknowledgement is already chosen, regardless of later reads.
    window_chosen: bool,
    /// Whether the window would be chosen again as it is: nothing has happened since it was.
    settled: bool,
    /// Octet of a block that is reported only by the acknowledgement after the next one.
    late: Option<u64>,
    policy: Policy,
}

impl Receiver {
    /// Creates a receiver with this window scale, which sends SACK blocks if `selective`. It sends segments of `mss`;
    /// those it receives hold `sizes` octets, as advertised in the SYN and with the negotiated options.
    pub fn new(config: &Config, sizes: [u64; 2], mss: u64, scale: u8, selective: bool) -> Self {
        let policy = match config.host {
            Host::Rfc | Host::Ns2 => Policy::Rfc(RfcReceiver::new(config, mss, scale)),
            Host::Linux => {
                let sizes = [sizes[0], sizes[1], mss];
                Policy::Linux(Box::new(LinuxReceiver::new(config, sizes, scale, selective)))
            }
        };
        let first = match &policy {
            Policy::Rfc(rfc) => rfc.first_window(),
            Policy::Linux(linux) => linux.first_window(),
        };
        Receiver {
            nxt: 1,
            read: 1,
            ranges: RangeSet::default(),
            beyond: 0,
            recent: [0; 4],
            duplicate: None,
            fin: None,
            acknowledged: 1,
            edge: 1 + first,
            allowance: if config.multipath[0] > 0 { Receiver::largest_buffer(config) } else { 0 },
            due: AckDue::Never,
            window_chosen: false,
            settled: false,
            late: None,
            policy,
        }
    }

    /// Largest possible buffer, which the window scale must be able to express.
    pub fn largest_buffer(config: &Config) -> u64 {
        config.receive_buffer.unwrap_or(SCALED_BUFFER.max(config.largest_receive_buffer()))
    }

    /// Fetches what every event needs into the cache.
    pub fn fetch(&self) {
        fetch(&self.nxt);
        fetch(&self.edge);
        fetch(&self.due);
        fetch(&self.policy);
    }

    /// Fetches the state of its policy.
    pub fn fetch_policy(&self) {
        if let Policy::Linux(linux) = &self.policy {
            linux.fetch();
        }
    }

    /// Records that a SYN leaves, acknowledging the data of the peer's SYN; returns the window to advertise.
    pub fn on_syn_sent(&mut self) -> u64 {
        (self.due, self.window_chosen) = (AckDue::Never, false);
        self.acknowledged = self.nxt;
        self.edge - self.nxt
    }

    /// Records the round-trip time of the handshake.
    pub fn set_rtt(&mut self, rtt: Duration, now: Time) {
        match &mut self.policy {
            Policy::Rfc(rfc) => rfc.set_rtt(rtt, now),
            Policy::Linux(linux) => linux.on_established(now),
        }
    }

    /// Handles data that answers an acknowledgement sent with timestamp `echo`, `rtt` ago.
    #[inline]
    pub fn on_echo(&mut self, length: u64, echo: u32, rtt: Duration) {
        if let Policy::Linux(linux) = &mut self.policy {
            linux.on_echo(length, echo, rtt);
        }
    }

    #[inline]
    fn state(&self) -> ReceiveState {
        ReceiveState {
            nxt: self.nxt,
            read: self.read,
            acknowledged: self.acknowledged,
            edge: self.edge,
            blocks: self.ranges.len() as u64,
            due: self.due,
        }
    }

    /// Handles arriving octets `start..start + span`, the last of them FIN if `fin`.
    #[inline]
    pub fn on_data(&mut self, now: Time, start: u64, span: u64, fin: bool, arrived: &Arrived) -> Arrival {
        let end = start + span;
        self.settled = false;
        if start == self.nxt && self.ranges.is_empty() && end <= self.limit() && !fin {
            if self.is_out_of_memory() {
                return Arrival::Outside;
            }
            self.nxt = end;
            self.note_in_order(now, arrived, None, false);
            return Arrival::InOrder;
        }
        self.on_irregular_data(now, start, end, fin, arrived)
    }

    fn on_irregular_data(&mut self, now: Time, start: u64, end: u64, fin: bool, arrived: &Arrived) -> Arrival {
        // Data beyond the window or beyond FIN is cut off; FIN itself takes no space.
        let edge = self.limit();
        let limit = self.fin.map_or(edge + u64::from(fin && end == edge + 1), |fin| fin + 1);
        let fin = fin && end <= limit && end > self.ranges.end();
        let end = end.min(limit);
        if start >= end {
            self.due = AckDue::Now;
            return Arrival::Outside;
        }
        if self.is_out_of_memory() {
            return Arrival::Outside;
        }
        if let Some(duplicate) = self.find_duplicate(start, end) {
            self.duplicate = Some(duplicate);
            if duplicate == (start, end) {
                self.note_duplicate(now, start, arrived);
                return Arrival::Duplicate;
            }
            if matches!(self.policy, Policy::Rfc(_)) {
                self.due = AckDue::Now;
            }
        }
        if fin {
            self.fin = Some(end - 1);
        }
        if start <= self.nxt {
            let (had_holes, before) = (!self.ranges.is_empty(), self.beyond);
            self.nxt = self.ranges.take_through(end);
            self.beyond = if self.ranges.is_empty() { 0 } else { self.beyond.saturating_sub(self.nxt - end) };
            let reached = had_holes.then_some(Reached { before, after: self.beyond });
            self.note_in_order(now, arrived, reached, self.fin_reached());
            return Arrival::InOrder;
        }
        let place = self.recent_index(start, end);
        let joined = self.ranges.range_at(start - 1).is_some();
        let beyond = &mut self.beyond;
        self.ranges.insert(start, end, |from, to| *beyond += to - from);
        self.note_out_of_order(now, start, arrived, joined, Some(place));
        Arrival::OutOfOrder
    }

    /// Whether Linux has no memory for a segment: the segment is dropped and a zero window advertised.
    #[inline]
    fn is_out_of_memory(&mut self) -> bool {
        let blocks = self.ranges.len() as u64;
        let Policy::Linux(linux) = &mut self.policy else { return false };
        if linux.admits(blocks) {
            return false;
        }
        (self.edge, self.acknowledged) = (self.nxt, self.nxt);
        (self.due, self.window_chosen) = (AckDue::Now, true);
        true
    }

    /// Takes octets that came with the peer's SYN. The SYN-ACK acknowledges them: delayed acknowledgement does not count
    /// them (tcp_fastopen_add_skb in Linux).
    pub fn on_syn_data(&mut self, span: u64) {
        self.nxt = (self.nxt + span).min(self.edge);
        self.settled = false;
        if let Policy::Linux(linux) = &mut self.policy {
            linux.on_syn_data();
        }
    }

    /// Reports octets as a duplicate with the next acknowledgement (RFC 2883).
    pub fn report_duplicate(&mut self, start: u64, end: u64) {
        self.duplicate = Some((start, end));
    }

    /// Returns the first part of `start..end` that had arrived before, for a D-SACK (RFC 2883 section 4); the block
    /// that holds it is reported next.
    fn find_duplicate(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        if start < self.nxt {
            return Some((start, end.min(self.nxt)));
        }
        let (s, e) = self.ranges.first_beyond(start).filter(|&(s, _)| s < end)?;
        self.note_recent(s);
        Some((start.max(s), end.min(e)))
    }

    /// Discards the D-SACK to report: Linux does not use SACK in TIME-WAIT (tcp_timewait_state_process,
    /// net/ipv4/tcp_minisocks.c).
    pub fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Makes the block that holds `octet` the most recent one, without duplicates.
    fn note_recent(&mut self, octet: u64) {
        let block = self.ranges.range_at(octet).unwrap_or_default();
        let others = self.recent.into_iter().filter(|&o| !(block.0..block.1).contains(&o));
        let mut recent = [octet, 0, 0, 0];
        recent[1..].iter_mut().zip(others).for_each(|(place, other)| *place = other);
        self.recent = recent;
    }

    /// Returns the index among recent blocks of the first that `start..end` touches, or their number if there is none.
    fn recent_index(&self, start: u64, end: u64) -> usize {
        let blocks = || self.recent.iter().filter_map(|&octet| self.ranges.range_at(octet));
        blocks().position(|(s, e)| start <= e && s <= end).unwrap_or_else(|| blocks().count())
    }

    /// Handles an in-order segment, the last if it `ends`; `reached` gives the out-of-order octets before and after.
    #[inline]
    fn note_in_order(&mut self, now: Time, arrived: &Arrived, reached: Option<Reached>, ends: bool) {
        let state = self.state();
        match &mut self.policy {
            // RFC 5681 section 4.2: a segment that fills a hole is acknowledged at once; so is FIN.
            Policy::Rfc(rfc) => self.due = rfc.on_in_order(now, &state, reached.is_some() || ends),
            Policy::Linux(linux) => {
                self.due = linux.on_in_order(now, &state, arrived, reached, ends);
                self.choose_window_early();
            }
        }
    }

    #[cold]
    fn note_out_of_order(&mut self, now: Time, start: u64, arrived: &Arrived, joined: bool, place: Option<usize>) {
        let state = self.state();
        let Policy::Linux(linux) = &mut self.policy else {
            self.note_recent(start);
            self.due = AckDue::Now;
            return;
        };
        let (due, late) = linux.on_out_of_order(now, &state, arrived, joined, place);
        self.due = due;
        if late {
            self.late = Some(start);
        } else {
            self.note_recent(start);
        }
        self.choose_window_early();
    }

    #[cold]
    fn note_duplicate(&mut self, now: Time, start: u64, arrived: &Arrived) {
        if start >= self.nxt && matches!(self.policy, Policy::Linux(_)) {
            return self.note_out_of_order(now, start, arrived, true, None);
        }
        if let Policy::Linux(linux) = &mut self.policy {
            linux.on_duplicate();
        }
        self.due = AckDue::Now;
    }

    /// Chooses the window of an immediate ACK from Linux's memory now, before the application reads.
    #[inline]
    fn choose_window_early(&mut self) {
        let early = matches!(&self.policy, Policy::Linux(linux) if linux.accounts_for_memory());
        if early && self.due == AckDue::Now {
            self.advertise(false);
            self.window_chosen = true;
        }
    }

    /// Sees the memory that a subflow shares with others.
    pub fn share(&mut self, memory: SharedMemory) {
        if let Policy::Linux(linux) = &mut self.policy {
            linux.share(memory);
        }
    }

    /// Takes note that `window` is advertised in place of its own, which is no wider.
    pub fn raise_window(&mut self, window: u64) {
        self.edge = self.edge.max(self.nxt + window);
        if let Policy::Linux(linux) = &mut self.policy {
            linux.raise_window(window);
        }
    }

    /// Receiver-side round-trip time, advertised segment size, and part of the memory that holds data in 256ths.
    pub fn shared_measures(&self) -> (Duration, u64, u64) {
        match &self.policy {
            Policy::Rfc(_) => (Duration::ZERO, 0, 256),
            Policy::Linux(linux) => linux.shared_measures(),
        }
    }

    /// Makes an acknowledgement due at once, for an out-of-window segment or a probe.
    pub fn acknowledge_now(&mut self) {
        self.due = AckDue::Now;
    }
    #[inline]
    pub fn is_ack_due(&self, now: Time) -> bool {
        match self.due {
            AckDue::Never => false,
            AckDue::Now => true,
            AckDue::At(time) => time <= now,
        }
    }
    /// Expiry of the delayed-ACK timer.
    #[inline]
    pub fn timer(&self) -> Time {
        match self.due {
            AckDue::At(time) => time,
            _ => Time::NEVER,
        }
    }

    /// Octet up to which received data awaits acknowledgement, if any does.
    #[inline]
    pub fn waiting(&self) -> Option<u64> {
        (self.due != AckDue::Never && self.nxt > self.acknowledged).then_some(self.nxt)
    }

    /// Schedules an ACK for a segment that arrived last and that the ACK just sent leaves out.
    pub fn schedule_ack(&mut self, now: Time) {
        self.due = match &mut self.policy {
            Policy::Rfc(rfc) => rfc.schedule_ack(now),
            Policy::Linux(linux) => linux.schedule_ack(now),
        };
    }

    /// Cancels the pending acknowledgement.
    pub fn cancel_ack(&mut self) {
        self.due = AckDue::Never;
    }

    /// Records that an acknowledgement leaves; returns the window to advertise, whose right edge never moves back.
    #[inline]
    pub fn on_ack_sent(&mut self, now: Time) -> u64 {
        let is_open = !std::mem::take(&mut self.window_chosen);
        if is_open && !(self.settled && self.due == AckDue::Never) {
            let edge = self.edge;
            self.advertise(matches!(self.due, AckDue::At(due) if due <= now));
            self.settled = self.edge == edge;
        }
        self.due = AckDue::Never;
        self.state().offered()
    }

    #[inline]
    fn advertise(&mut self, overdue: bool) {
        self.acknowledged = self.nxt;
        let state = self.state();
        self.edge = match &mut self.policy {
            Policy::Rfc(rfc) => rfc.on_ack_sent(&state),
            Policy::Linux(linux) => self.nxt + linux.on_ack_sent(overdue, &state),
        };
    }

    /// Records that data leaves, with or without an acknowledgement.
    #[inline]
    pub fn on_data_sent(&mut self, now: Time) {
        if let Policy::Linux(linux) = &mut self.policy {
            linux.on_data_sent(now);
        }
    }

    /// Whether there is anything to report in SACK blocks.
    #[inline]
    pub fn has_blocks(&self) -> bool {
        !self.ranges.is_empty() || self.duplicate.is_some()
    }

    /// Returns at most `limit` SACK blocks: a duplicate (RFC 2883), then the latest blocks (RFC 2018 section 4).
    pub fn blocks(&mut self, limit: usize, wire: impl Fn(u64) -> u32) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut left = limit;
        let mut push = |(start, end): (u64, u64)| {
            if left > 0 {
                blocks.push(wire(start), wire(end));
                left -= 1;
            }
        };
        if let Some(duplicate) = self.duplicate.take() {
            push(duplicate);
        }
        self.recent.iter().filter_map(|&octet| self.ranges.range_at(octet)).for_each(&mut push);
        if let Some(octet) = self.late.take() {
            self.note_recent(octet);
        }
        blocks
    }

    /// Reads at most `limit` in-order octets, as stream offsets (SYN not counted).
    #[inline]
    pub fn take(&mut self, limit: u64) -> Option<Range<u64>> {
        let available = self.nxt - u64::from(self.fin_reached()) - self.read;
        let count = available.min(limit);
        if count == 0 {
            return None;
        }
        let start = self.read - 1;
        self.read += count;
        self.settled = false;
        let state = self.state();
        let opens = match &mut self.policy {
            Policy::Rfc(rfc) => rfc.on_read(&state),
            Policy::Linux(linux) => linux.on_read(&state, available - count, count),
        };
        if opens {
            // A window chosen before the read would not include the space that it freed.
            (self.due, self.window_chosen) = (AckDue::Now, false);
        }
        Some(start..start + count)
    }

    pub fn read_octet(&self) -> u64 {
        self.read
    }
    /// Octets received beyond a hole.
    pub fn beyond(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter()
    }
    /// Whether FIN and everything before it has arrived.
    #[inline]
    pub fn fin_reached(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }
    /// Whether the application has read everything up to FIN.
    pub fn is_drained(&self) -> bool {
        self.fin_reached() && self.read + 1 == self.nxt
    }
    /// Right edge of what is accepted.
    #[inline]
    fn limit(&self) -> u64 {
        self.edge + self.allowance
    }
    /// Receive window.
    pub fn window(&self) -> Range<u64> {
        self.nxt..self.edge
    }
    /// Whether an octet range touches the window (RFC 9293 section 3.10.7.4).
    #[inline]
    pub fn accepts(&self, start: u64, span: u64) -> bool {
        let end = start + span;
        if span == 0 {
            // An ACK at the edge itself comes from a peer that has filled the window; rejecting it would start an ACK
            // loop between two such peers.
            return start == self.nxt || (start > self.nxt && start <= self.limit());
        }
        start < self.limit().max(self.nxt + 1) && end > self.nxt
    }
}
