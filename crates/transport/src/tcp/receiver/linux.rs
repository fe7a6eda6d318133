//! Linux's ACK and receive-window algorithms (net/ipv4/tcp_input.c, tcp_output.c and tcp.c, 6.12).

use super::right_sizing::RightSizing;
use super::{AckDue, Arrived, Reached, ReceiveState};
use crate::tcp::clock::Clock;
use crate::tcp::config::Config;
use vazao_engine::{Duration, Time, fetch};

/// Receiver state of Linux: `icsk_ack`, `rcvq_space` and the fields around `rcv_ssthresh`.
pub(crate) struct LinuxReceiver {
    clock: Clock,
    delayed_ack: u32,
    max_quick: u64,
    /// Segment size without options: advertised in our SYN (`advmss`), and estimated of the peer (`rcv_mss`).
    advertised: u64,
    segment: u64,
    /// Length of the last shorter segment, which becomes the estimate if another one follows (`last_seg_size`).
    short: u64,
    window: Window,
    /// Receive buffer in octets if configured; then there is no auto-tuning.
    given: Option<u64>,
    tuning: Option<RightSizing>,
    rtt: Rtt,
    /// Whether arrived data awaits an acknowledgement.
    scheduled: bool,
    /// Short segments since the last acknowledgement: 0, 1, or 2 for more.
    pushed: u8,
    /// Acknowledgements to send at once (`quick`), unless the session is interactive (`pingpong`).
    quick: u64,
    pingpong: bool,
    /// Delayed-ACK timeout (`ato`), zero before the first data; it starts at and falls to `least_wait`.
    wait: Duration,
    least_wait: Duration,
    arrived: Time,
    rto: Duration,
    compression: Option<Compression>,
}

/// Receive memory and the window advertised from it.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// `sk_rcvbuf`, in bytes of memory, and up to what it grows by itself (the maximum of `tcp_rmem`).
    buffer: u64,
    limit: u64,
    /// Part of the memory that holds data, in 256ths (`scaling_ratio`).
    ratio: u64,
    /// Maximum window (`window_clamp`) and its current limit (`rcv_ssthresh`).
    clamp: u64,
    threshold: u64,
    /// Last advertised window.
    offered: u64,
    scale: u8,
    /// In-order segments not yet read, and segments beyond a hole.
    unread: u64,
    beyond: u64,
    /// What it offers is limited by this, what it grows by the rest.
    shared: Option<SharedMemory>,
}

/// Receive memory that the subflows of a Multipath TCP connection share, and the segments in it: in order, and beyond a
/// hole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedMemory {
    pub size: u64,
    pub unread: u64,
    pub beyond: u64,
}

/// Receiver-side RTT estimate (`rcv_rtt_est`), zero until measured.
#[derive(Clone, Copy, Debug)]
struct Rtt {
    estimate: Duration,
    echo: Option<u32>,
    /// Without timestamps: start and end of the round trip being measured, a window's worth of data.
    round: Option<(Time, u64)>,
}

impl Rtt {
    /// Adopts a shorter sample at once; averages a longer one by 1/8 if `exact`, otherwise ignores it since the sender
    /// may have paused.
    fn sample(&mut self, rtt: Duration, exact: bool) {
        let rtt = rtt.max(Duration::from_micros(1));
        if self.estimate == Duration::ZERO || rtt < self.estimate {
            self.estimate = rtt;
        } else if exact {
            self.estimate = (self.estimate * 7 + rtt) / 8;
        }
    }
}

/// SACK compression (`__tcp_ack_snd_check`). Three segments beyond a hole are acknowledged at once; further ones
/// together after a twentieth of the round-trip time, 1 ms or 44 segments at most. A pending ACK leaves before a new
/// block that might displace another one from it; that block is reported by the ACK after.
#[derive(Clone, Copy, Debug, Default)]
struct Compression {
    /// Next octet expected at the last count; segments acknowledged at once; segments waiting.
    expected: u64,
    at_once: u32,
    waiting: u32,
}

impl Compression {
    const MAX_DELAY: Duration = Duration::from_millis(1);
    /// Timer slack of the kernel, which it uses in full unless something else wakes it.
    const SLACK: Duration = Duration::from_micros(100);
    const RTT_PART: u64 = 20;
    const AT_ONCE: u32 = 3;
    const MAX_WAITING: u32 = 44;
    const BLOCKS: usize = 2;

    /// Returns how long the ACK of an out-of-order segment may wait while `expected` is missing; `None`: not at all.
    fn wait(&mut self, expected: u64, rtt: Duration) -> Option<Duration> {
        if self.waiting >= Self::MAX_WAITING {
            return None;
        }
        if self.expected != expected {
            (self.expected, self.at_once) = (expected, 0);
        }
        if self.at_once < Self::AT_ONCE {
            self.at_once += 1;
            return None;
        }
        self.waiting += 1;
        Some(Self::MAX_DELAY.min(rtt / Self::RTT_PART) + Self::SLACK)
    }
}

/// Initial buffer (the default of `tcp_rmem`).
const INITIAL_BUFFER: u64 = 128 << 10;
/// Unit of the timestamp clock.
const TIMESTAMP_UNIT: Duration = Duration::from_millis(1);
/// Memory per segment: part of a page used by the NIC, and metadata once per group of coalesced segments.
const SEGMENT_MEMORY: u64 = 1536;
const METADATA: u64 = 640;
/// Initial scaling ratio: half of the memory holds data.
const UNKNOWN_RATIO: u64 = 128;
/// Segments shorter than this do not grow the window.
const SHORTEST_GROWTH: u64 = 128;
/// Bounds of the initial segment-size estimate (TCP_MSS_DEFAULT, TCP_MIN_MSS).
const DEFAULT_SEGMENT: u64 = 536;
const SHORTEST_SEGMENT: u64 = 88;
/// Maximum delays of an ACK (TCP_DELACK_MAX, and half a second if no segment was short).
const MAX_DELAYS: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(500)];

impl Window {
    fn win(&self, memory: u64) -> u64 {
        (memory * self.ratio) >> 8
    }

    /// Memory in use.
    fn used(&self, blocks: u64) -> u64 {
        let noted = blocks + u64::from(self.unread > 0);
        SEGMENT_MEMORY * (self.unread + self.beyond) + METADATA * noted
    }

    fn space(&self, blocks: u64) -> u64 {
        self.win(self.buffer.saturating_sub(self.used(blocks)))
    }

    fn align(&self, window: u64) -> u64 {
        window.next_multiple_of(1 << self.scale)
    }

    /// Chooses the window (`__tcp_select_window`); also returns whether memory is too short for quick ACKs.
    fn choose(&self, segment: u64, blocks: u64) -> (u64, bool) {
        let allowed = self.win(self.buffer);
        let full = self.clamp.min(allowed);
        let segment = segment.min(full);
        let left = |memory: SharedMemory| memory.size.saturating_sub(SEGMENT_MEMORY * (memory.unread + memory.beyond));
        let mut free = self.shared.map_or_else(|| self.space(blocks), |memory| self.win(left(memory)));
        let short = free < full / 2;
        if short {
            free = (free >> self.scale) << self.scale;
            if free < allowed >> 4 || free < segment {
                return (0, true);
            }
        }
        let free = free.min(self.threshold);
        let window = if self.scale > 0 {
            self.align(free)
        } else if self.offered + segment <= free || self.offered > free {
            free / segment.max(1) * segment
        } else if segment == full && free > self.offered + full / 2 {
            free
        } else {
            self.offered
        };
        (window, short)
    }

    /// Grows the window after a segment of `length` octets (`tcp_grow_window`); returns whether it grew.
    fn grow(&mut self, length: u64, memory: u64, blocks: u64, advertised: u64, segment: u64) -> bool {
        let room = self.clamp.min(self.space(blocks)).saturating_sub(self.threshold);
        let holds = self.win(memory);
        let more = if holds <= length { 2 * advertised } else { self.part(holds / 2, length, segment) };
        if room == 0 || more == 0 {
            return false;
        }
        self.threshold += room.min(more.max(2 * length));
        true
    }

    /// `__tcp_grow_window`: short segments grow the window only while it is small.
    fn part(&self, mut holds: u64, length: u64, segment: u64) -> u64 {
        let mut window = self.win(self.limit) / 2;
        while self.threshold <= window {
            if holds <= length {
                return 2 * segment;
            }
            (holds, window) = (holds / 2, window / 2);
        }
        0
    }
}

impl LinuxReceiver {
    /// Creates a receiver; `sizes` are the segment sizes in the SYN, with the negotiated options, and of segments sent.
    pub fn new(config: &Config, sizes: [u64; 3], scale: u8, selective: bool) -> Self {
        let [in_syn, advertised, mss] = sizes;
        let limit = config.largest_receive_buffer();
        let buffer = INITIAL_BUFFER.min(limit);
        let space = config.receive_buffer.unwrap_or((buffer * UNKNOWN_RATIO) >> 8);
        // A whole number of segments, unless the buffer is configured.
        let offered = match config.receive_buffer {
            None if space > in_syn => space / in_syn * in_syn,
            _ => space,
        };
        let clamp = (2 * advertised).max(space.saturating_sub(advertised));
        let segment = advertised.min(mss).min(offered / 2).clamp(SHORTEST_SEGMENT, DEFAULT_SEGMENT);
        let threshold = offered.min(clamp);
        let most = threshold.min(offered).min(10 * advertised);
        LinuxReceiver {
            clock: Clock::new(config.tick),
            delayed_ack: config.delayed_ack,
            max_quick: u64::from(config.quick_acks),
            advertised,
            segment,
            short: 0,
            window: Window {
                buffer,
                limit,
                ratio: UNKNOWN_RATIO,
                clamp,
                threshold,
                offered,
                scale,
                unread: 0,
                beyond: 0,
                shared: None,
            },
            given: config.receive_buffer,
            // The memory of a subflow is its connection's.
            tuning: (config.receive_buffer.is_none() && config.multipath[0] == 0).then(|| RightSizing::new(1, most)),
            rtt: Rtt { estimate: Duration::ZERO, echo: None, round: None },
            scheduled: false,
            pushed: 0,
            quick: 0,
            pingpong: false,
            wait: Duration::ZERO,
            least_wait: config.delayed_ack_timeout,
            arrived: Time::ZERO,
            rto: config.initial_rto,
            compression: selective.then(Compression::default),
        }
    }

    /// Fetches it into the cache.
    pub fn fetch(&self) {
        fetch(&self.rtt);
        fetch(&self.tuning);
        fetch(&self.window);
        fetch(&self.quick);
    }

    /// Whether the window follows from memory, not from a buffer size configured in octets.
    pub fn accounts_for_memory(&self) -> bool {
        self.given.is_none()
    }

    /// Window advertised in the SYN.
    pub fn first_window(&self) -> u64 {
        self.window.offered
    }

    /// Starts auto-tuning when the connection is established.
    pub fn on_established(&mut self, now: Time) {
        if let Some(tuning) = &mut self.tuning {
            tuning.since = now;
        }
    }

    /// Takes an RTT sample, queueing included, from the first data segment that answers an ACK sent with timestamp
    /// `echo` (`tcp_rcv_rtt_measure_ts`). Timestamps count milliseconds, of which less than one counts as one
    /// (`tcp_rtt_tsopt_us`): on a shorter path a "round trip" of the tuning holds several windows.
    pub fn on_echo(&mut self, length: u64, echo: u32, rtt: Duration) {
        if self.rtt.echo != Some(echo) {
            self.rtt.echo = Some(echo);
            if length >= self.segment {
                self.rtt.sample(rtt.max(TIMESTAMP_UNIT), true);
            }
        }
    }

    /// Without timestamps, measures a round trip as a window's worth of data (`tcp_rcv_rtt_measure`).
    fn measure_round(&mut self, now: Time, nxt: u64) {
        match self.rtt.round {
            Some((_, end)) if nxt < end => return,
            Some((since, _)) => self.rtt.sample(now.since(since), false),
            None => {}
        }
        self.rtt.round = Some((now, nxt + self.window.offered));
    }

    /// Whether there is memory for a segment (`tcp_try_rmem_schedule`, `tcp_prune_queue`). An auto-tuned buffer first
    /// grows to what it holds (`tcp_clamp_window`). If that fails, the window is zero until data is read.
    pub fn admits(&mut self, blocks: u64) -> bool {
        let window = &mut self.window;
        let used = window.used(blocks);
        if used <= window.buffer || self.given.is_some() {
            return true;
        }
        window.buffer = window.buffer.max(used.min(window.limit));
        let admits = used <= window.buffer;
        if !admits {
            window.threshold = window.clamp.min(2 * self.advertised);
            (window.offered, self.quick, self.scheduled, self.pushed) = (0, 0, false, 0);
        }
        admits
    }

    /// Keeps the data of a SYN for the application.
    pub fn on_syn_data(&mut self) {
        self.window.unread += 1;
    }

    /// Handles an in-order segment; `fin` ends the data; `reached` gives the out-of-order octets before and after.
    pub fn on_in_order(
        &mut self,
        now: Time,
        state: &ReceiveState,
        arrived: &Arrived,
        reached: Option<Reached>,
        fin: bool,
    ) -> AckDue {
        self.scheduled = true;
        if let Some(Reached { before, after }) = reached {
            let stay = self.window.beyond * after / before.max(1);
            self.window.unread += self.window.beyond - stay;
            self.window.beyond = stay;
        }
        if arrived.length > 0 {
            self.window.unread += 1;
            self.measure(arrived);
            self.measure_round(now, state.nxt);
            self.note_arrival(now, arrived);
            if arrived.length >= SHORTEST_GROWTH {
                self.grow(arrived.length, SEGMENT_MEMORY, state.blocks);
            }
        }
        self.pingpong |= fin;
        if reached.is_some() && state.blocks == 0 { AckDue::Now } else { self.decide(now, state, arrived) }
    }

    /// Handles a segment beyond a hole. `joined` tells whether it extends a block; `place` is the index of its block
    /// among those reported, `None` if nothing is new. Also returns whether the block is left to the ACK after the next
    /// one.
    pub fn on_out_of_order(
        &mut self,
        now: Time,
        state: &ReceiveState,
        arrived: &Arrived,
        joined: bool,
        place: Option<usize>,
    ) -> (AckDue, bool) {
        self.scheduled = true;
        if place.is_some() {
            self.measure(arrived);
        }
        let Some(compression) = self.compression else {
            self.window.beyond += u64::from(place.is_some());
            return (AckDue::Now, false);
        };
        if let Some(place) = place {
            // When the window grows, the first segment of a block is not accounted for yet.
            let (memory, blocks) =
                if joined { (SEGMENT_MEMORY, state.blocks) } else { (SEGMENT_MEMORY + METADATA, state.blocks - 1) };
            self.window.beyond += u64::from(joined);
            self.grow(arrived.length, memory, blocks);
            self.window.beyond += u64::from(!joined);
            if place >= Compression::BLOCKS && compression.waiting > 0 {
                return (AckDue::Now, true);
            }
        }
        (self.decide(now, state, arrived), false)
    }

    /// Handles a duplicate or out-of-window segment: the peer may have lost ACKs (`tcp_enter_quickack_mode`).
    pub fn on_duplicate(&mut self) {
        self.scheduled = true;
        self.pingpong = false;
        self.wait = self.least_wait;
        self.enter_quick_ack();
    }

    /// `tcp_measure_rcv_mss`.
    fn measure(&mut self, arrived: &Arrived) {
        let last = std::mem::take(&mut self.short);
        let length = arrived.length;
        if length >= self.segment {
            if length != self.segment {
                let ratio = ((length << 8) / (SEGMENT_MEMORY + METADATA)).max(1);
                if ratio != self.window.ratio {
                    self.window.ratio = ratio;
                    self.window.clamp = self.window.win(self.window.buffer);
                    if let Some(tuning) = &mut self.tuning {
                        tuning.most = tuning.most.min(self.window.clamp);
                    }
                }
            }
            self.segment = length.min(self.advertised);
            self.pushed = self.pushed.max(u8::from(arrived.push));
            return;
        }
        let full = length + arrived.options;
        if full >= DEFAULT_SEGMENT || full >= SHORTEST_SEGMENT && !arrived.push {
            self.short = length;
            if length == last {
                self.segment = length;
                return;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
    }

    /// `tcp_event_data_recv`, which counts in ticks.
    fn note_arrival(&mut self, now: Time, arrived: &Arrived) {
        self.rto = arrived.rto;
        let gap = self.clock.between(self.arrived, now);
        self.arrived = now;
        let half = self.clock.half(self.least_wait);
        if self.wait == Duration::ZERO {
            self.enter_quick_ack();
            self.wait = self.least_wait;
        } else if gap <= half {
            self.wait = self.clock.half(self.wait) + half;
        } else if gap < self.wait {
            self.wait = (self.clock.half(self.wait) + gap).min(self.rto);
        } else if gap > self.rto {
            self.enter_quick_ack();
        }
    }

    fn enter_quick_ack(&mut self) {
        let acks = (self.window.offered / (2 * self.segment)).max(2).min(self.max_quick);
        self.quick = self.quick.max(acks);
    }

    fn grow(&mut self, length: u64, memory: u64, blocks: u64) {
        if self.given.is_none() && self.window.grow(length, memory, blocks, self.advertised, self.segment) {
            self.quick |= 1;
        }
    }

    /// `__tcp_ack_snd_check`.
    fn decide(&mut self, now: Time, state: &ReceiveState, arrived: &Arrived) -> AckDue {
        let several = state.nxt - state.acknowledged > self.segment * u64::from(self.delayed_ack - 1);
        let much = several && {
            let window = self.choose(state);
            window >= self.window.offered
        };
        if much || self.quick > 0 && !self.pingpong {
            return AckDue::Now;
        }
        if state.blocks == 0 {
            return self.delay(now, state, arrived);
        }
        let rtt = self.rtt.estimate.min(arrived.srtt);
        match self.compression.as_mut().and_then(|compression| compression.wait(state.nxt, rtt)) {
            Some(wait) => state.due.sooner(AckDue::At(now + wait)),
            None => AckDue::Now,
        }
    }

    /// Chooses the window to advertise now.
    fn choose(&mut self, state: &ReceiveState) -> u64 {
        let Some(size) = self.given else {
            let (window, short) = self.window.choose(self.segment, state.blocks);
            self.quick *= u64::from(!short);
            return window;
        };
        // The window's right edge moves by at least a segment or half the buffer (RFC 9293 section 3.8.6.2.2).
        let (wide, current) = ((state.read + size).saturating_sub(state.nxt), state.offered());
        let step = self.segment.max(1 << self.window.scale).min(size / 2);
        if wide >= current + step { wide } else { current }
    }

    /// `tcp_send_delayed_ack`.
    fn delay(&self, now: Time, state: &ReceiveState, arrived: &Arrived) -> AckDue {
        let mut wait = self.wait;
        if wait > self.least_wait {
            let most = MAX_DELAYS[usize::from(!self.pingpong && self.pushed == 0)];
            let rtt = if arrived.srtt == Duration::ZERO { most } else { arrived.srtt.max(self.least_wait) };
            wait = wait.min(most).min(rtt);
        }
        let wait = wait.min(MAX_DELAYS[0]);
        match state.due {
            // The pending ACK is about to leave anyway.
            AckDue::At(due) if due <= self.clock.expiry(now, self.clock.half(self.clock.half(wait))) => AckDue::Now,
            other => other.sooner(AckDue::At(self.clock.expiry(now, wait))),
        }
    }

    /// Records that an acknowledgement leaves, `overdue` if by the delayed-ACK timer; returns the window to advertise.
    pub fn on_ack_sent(&mut self, overdue: bool, state: &ReceiveState) -> u64 {
        if overdue && self.pingpong {
            (self.pingpong, self.wait) = (false, self.least_wait);
        } else if overdue {
            self.wait = (self.wait * 2).min(self.rto);
        }
        let (window, current) = (self.choose(state), state.offered());
        let kept = if self.given.is_none() { self.window.align(current) } else { current };
        self.window.offered = if window < current { kept } else { window };
        if self.scheduled && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.wait = self.least_wait;
            }
        }
        (self.scheduled, self.pushed) = (false, 0);
        if let Some(compression) = &mut self.compression {
            compression.waiting = 0;
        }
        self.window.offered
    }

    /// Records that data leaves; shortly after received data it makes the session interactive (`tcp_event_data_sent`).
    pub fn on_data_sent(&mut self, now: Time) {
        self.pingpong |= now.since(self.arrived) < self.wait;
    }

    /// Handles a read of `count` octets that left `left`; returns whether to send an ACK (`tcp_cleanup_rbuf`).
    pub fn on_read(&mut self, state: &ReceiveState, left: u64, count: u64) -> bool {
        let current = state.offered();
        self.window.unread = if left == 0 { 0 } else { (self.window.unread * left).div_ceil(left + count) };
        self.tune(self.arrived, state.read);
        if self.scheduled {
            let short = self.pushed == 2 || self.pushed == 1 && !self.pingpong;
            let empty = self.window.unread + self.window.beyond == 0;
            if state.nxt - state.acknowledged > self.segment * u64::from(self.delayed_ack - 1) || short && empty {
                return true;
            }
        }
        if let Some(size) = self.given {
            let step = self.advertised.max(1 << self.window.scale);
            return current < step && state.read + size >= state.nxt + current + step.min(size / 2);
        }
        if 2 * current > self.window.clamp {
            return false;
        }
        let window = self.choose(state);
        window > 0 && window >= 2 * current
    }

    fn tune(&mut self, now: Time, read: u64) {
        let Some(tuning) = &mut self.tuning else { return };
        let Some(wanted) = tuning.measure(now, self.rtt.estimate, read, self.advertised) else { return };
        let buffer = (wanted.saturating_mul(256) / self.window.ratio).min(self.window.limit);
        if buffer > self.window.buffer {
            self.window.buffer = buffer;
            self.window.clamp = self.window.win(buffer);
        }
    }

    /// Sees the memory that it shares with other subflows.
    pub fn share(&mut self, memory: SharedMemory) {
        self.window.shared = Some(memory);
        if memory.size > self.window.buffer {
            self.window.buffer = memory.size;
            self.window.clamp = self.window.win(memory.size);
        }
    }

    /// Takes note that the window was advertised as the connection's.
    pub fn raise_window(&mut self, window: u64) {
        self.window.offered = window;
    }

    /// Receiver-side round-trip time, zero until measured; advertised segment size; and scaling ratio.
    pub fn shared_measures(&self) -> (Duration, u64, u64) {
        (self.rtt.estimate, self.advertised, self.window.ratio)
    }

    /// Schedules an ACK for a segment that arrived last and that the ACK just sent leaves out.
    pub fn schedule_ack(&mut self, now: Time) -> AckDue {
        self.scheduled = true;
        AckDue::At(self.clock.expiry(now, self.wait))
    }
}
