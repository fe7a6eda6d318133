//! How Linux acknowledges what it receives, and what it offers to take (net/ipv4/tcp_input.c, tcp_output.c and tcp.c, 6.12).

use super::{AckDue, Arrived, Order, Reached};
use crate::tcp::clock::Clock;
use crate::tcp::config::Config;
use std::ops::Range;
use vazao_engine::{Duration, Time};

/// What Linux knows of the receiving side: the connection's `icsk_ack`, `rcvq_space` and the fields around `rcv_ssthresh`.
pub(crate) struct LinuxReceiver {
    clock: Clock,
    delayed_ack: u32,
    most_quick: u64,
    /// What our SYN said a segment may hold, options off (`advmss`), and what the peer's seem to (`rcv_mss`).
    advertised: u64,
    segment: u64,
    /// The last shorter one, which is believed when another follows (`last_seg_size`).
    short: u64,
    window: Window,
    /// The size of a buffer that was given, which counts octets; then nothing is tuned.
    given: Option<u64>,
    tuning: Option<Tuning>,
    rtt: Rtt,
    /// Something came that no acknowledgement has answered.
    scheduled: bool,
    /// Short segments came since: one, or more.
    pushed: u8,
    /// So many acknowledgements leave at once (`quick`), unless both sides talk (`pingpong`).
    quick: u64,
    pingpong: bool,
    /// How long an acknowledgement waits (`ato`); zero before the first data. It begins at, and falls to, `least_wait`.
    wait: Duration,
    least_wait: Duration,
    arrived: Time,
    rto: Duration,
    compression: Option<Compression>,
}

/// The memory that data waits in, and what is offered of it.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// `sk_rcvbuf`, in bytes of memory.
    buffer: u64,
    /// What part of it holds data, in 256ths (`scaling_ratio`).
    ratio: u64,
    /// The most that is offered (`window_clamp`), and the most at present (`rcv_ssthresh`).
    clamp: u64,
    threshold: u64,
    /// What was offered last.
    offered: u64,
    scale: u8,
    /// Segments in order that nobody has read, and segments beyond a hole.
    unread: u64,
    beyond: u64,
}

/// Dynamic right-sizing (`tcp_rcv_space_adjust`): the buffer holds several times what the application took in the last
/// round-trip time, so that it never limits a sender that doubles its window.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    since: Time,
    from: u64,
    most: u64,
}

/// The round-trip time as the receiver sees it (`rcv_rtt_est`): zero until it is measured.
#[derive(Clone, Copy, Debug)]
struct Rtt {
    estimate: Duration,
    /// The time stamp that was echoed last.
    echo: Option<u32>,
    /// Without time stamps: a window's worth of data that was expected then, and its end.
    round: Option<(Time, u64)>,
}

impl Rtt {
    /// A shorter time counts at once; a longer one as an eighth, but not if it may be the sender's pause.
    fn sample(&mut self, rtt: Duration, exact: bool) {
        let rtt = rtt.max(Duration::from_micros(1));
        if self.estimate == Duration::ZERO || rtt < self.estimate {
            self.estimate = rtt;
        } else if exact {
            self.estimate = (self.estimate * 7 + rtt) / 8;
        }
    }
}

/// The compression of SACK (`__tcp_ack_snd_check`): beyond a hole three segments are acknowledged at once, the others together
/// after a twentieth of the round-trip time, but 1 ms or 44 segments at most. What is put off leaves before a block begins
/// that might push another out of the next acknowledgement; that block waits for the one after.
#[derive(Clone, Copy, Debug, Default)]
struct Compression {
    /// What was expected when segments beyond it were last counted; how many were acknowledged at once, and how many wait.
    expected: u64,
    at_once: u32,
    waiting: u32,
}

impl Compression {
    const LONGEST: Duration = Duration::from_millis(1);
    /// How much later the kernel may let the timer expire; if nothing else wakes it, it does.
    const SLACK: Duration = Duration::from_micros(100);
    const RTT_PART: u64 = 20;
    const AT_ONCE: u32 = 3;
    const MOST_WAITING: u32 = 44;
    const BLOCKS: usize = 2;

    /// How long the acknowledgement may wait of a segment that arrived while `expected` was.
    fn wait(&mut self, expected: u64, rtt: Duration) -> Option<Duration> {
        if self.waiting >= Self::MOST_WAITING {
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
        Some(Self::LONGEST.min(rtt / Self::RTT_PART) + Self::SLACK)
    }
}

/// What a buffer that is not given starts with, and what short segments let a window grow towards (`tcp_rmem`). Large ones
/// let it grow as far as the window scale, which Linux goes by `rmem_max`, can express.
const BUFFER: Range<u64> = 128 << 10..6 << 20;
/// A card puts each segment into a part of a page of its own; besides there is what the kernel notes of it, once for those
/// that join.
const HELD: u64 = 1536;
const NOTED: u64 = 640;
/// Before it is known what segments take, half holds data.
const UNKNOWN_RATIO: u64 = 128;
/// Shorter ones let no window grow.
const SHORTEST_GROWTH: u64 = 128;
/// A segment is believed to be this long at most before any came (TCP_MSS_DEFAULT), and never to be shorter than that.
const DEFAULT_SEGMENT: u64 = 536;
const SHORTEST_SEGMENT: u64 = 88;
/// However slow the peer, an acknowledgement waits no longer (TCP_DELACK_MAX, and half a second where nothing was short).
const LONGEST_WAIT: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(500)];

impl Window {
    fn win(&self, memory: u64) -> u64 {
        (memory * self.ratio) >> 8
    }

    /// The memory in use.
    fn used(&self, blocks: u64) -> u64 {
        let noted = blocks + u64::from(self.unread > 0);
        HELD * (self.unread + self.beyond) + NOTED * noted
    }

    fn space(&self, blocks: u64) -> u64 {
        self.win(self.buffer.saturating_sub(self.used(blocks)))
    }

    fn align(&self, window: u64) -> u64 {
        window.next_multiple_of(1 << self.scale)
    }

    /// `__tcp_select_window`, and whether memory is so short that nothing is acknowledged quickly.
    fn choose(&self, segment: u64, blocks: u64) -> (u64, bool) {
        let allowed = self.win(self.buffer);
        let full = self.clamp.min(allowed);
        let segment = segment.min(full);
        let mut free = self.space(blocks);
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

    /// `tcp_grow_window`: a segment of so many octets came; whether there is to be room for more.
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

    /// `__tcp_grow_window`: short segments let the window grow as long as it is small.
    fn part(&self, mut holds: u64, length: u64, segment: u64) -> u64 {
        let mut window = self.win(BUFFER.end) / 2;
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
    /// A receiver whose segments hold `sizes` octets: as the SYN itself says, and with the options that were agreed on; the
    /// third is what it sends.
    pub fn new(config: &Config, sizes: [u64; 3], scale: u8, selective: bool) -> Self {
        let [in_syn, advertised, mss] = sizes;
        let buffer = BUFFER.start;
        let space = config.receive_buffer.unwrap_or((buffer * UNKNOWN_RATIO) >> 8);
        // A whole number of segments, unless it was given.
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
            most_quick: u64::from(config.quick_acks),
            advertised,
            segment,
            short: 0,
            window: Window { buffer, ratio: UNKNOWN_RATIO, clamp, threshold, offered, scale, unread: 0, beyond: 0 },
            given: config.receive_buffer,
            tuning: config.receive_buffer.is_none().then_some(Tuning { since: Time::ZERO, from: 1, most }),
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

    /// Whether what is offered follows from memory, not from a size that was given in octets.
    pub fn accounts_for_memory(&self) -> bool {
        self.given.is_none()
    }

    /// What the SYN offers.
    pub fn first_window(&self) -> u64 {
        self.window.offered
    }

    /// The connection stands: its tuning begins.
    pub fn on_established(&mut self, now: Time) {
        if let Some(tuning) = &mut self.tuning {
            tuning.since = now;
        }
    }

    /// Data came that answers an acknowledgement sent so long ago, at `echo`: the first segment of those that answer it tells
    /// the round-trip time, queues included (`tcp_rcv_rtt_measure_ts`).
    pub fn on_echo(&mut self, length: u64, echo: u32, rtt: Duration) {
        if self.rtt.echo != Some(echo) {
            self.rtt.echo = Some(echo);
            if length >= self.segment {
                self.rtt.sample(rtt, true);
            }
        }
    }

    /// Without time stamps, a window's worth of data takes a round trip at least (`tcp_rcv_rtt_measure`).
    fn measure_round(&mut self, now: Time, nxt: u64) {
        match self.rtt.round {
            Some((_, end)) if nxt < end => return,
            Some((since, _)) => self.rtt.sample(now.since(since), false),
            None => {}
        }
        self.rtt.round = Some((now, nxt + self.window.offered));
    }

    /// Whether there is memory for what came (`tcp_try_rmem_schedule`, `tcp_prune_queue`): a buffer that was not given first
    /// becomes as large as what it holds (`tcp_clamp_window`). If not, no window is offered until some is read.
    pub fn admits(&mut self, blocks: u64) -> bool {
        let window = &mut self.window;
        let used = window.used(blocks);
        if used <= window.buffer || self.given.is_some() {
            return true;
        }
        window.buffer = window.buffer.max(used.min(BUFFER.end));
        let admits = used <= window.buffer;
        if !admits {
            window.threshold = window.clamp.min(2 * self.advertised);
            (window.offered, self.quick, self.scheduled, self.pushed) = (0, 0, false, 0);
        }
        admits
    }

    /// A segment came in order; `fin` if it ends what the peer sends. Where there were holes, `reached` says what lay beyond.
    pub fn on_in_order(
        &mut self,
        now: Time,
        order: &Order,
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
            self.measure_round(now, order.nxt);
            self.note_arrival(now, arrived);
            if arrived.length >= SHORTEST_GROWTH {
                self.grow(arrived.length, HELD, order.blocks);
            }
        }
        self.pingpong |= fin;
        if reached.is_some() && order.blocks == 0 { AckDue::Now } else { self.decide(now, order, arrived) }
    }

    /// A segment came beyond a hole. It may have `joined` another there; `place` is that of its block among those that are
    /// reported, `None` where nothing of it is new. The second is whether the block is to wait for the acknowledgement after.
    pub fn on_out_of_order(
        &mut self,
        now: Time,
        order: &Order,
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
            // What begins a block is not accounted for yet when the window grows.
            let (memory, blocks) = if joined { (HELD, order.blocks) } else { (HELD + NOTED, order.blocks - 1) };
            self.window.beyond += u64::from(joined);
            self.grow(arrived.length, memory, blocks);
            self.window.beyond += u64::from(!joined);
            if place >= Compression::BLOCKS && compression.waiting > 0 {
                return (AckDue::Now, true);
            }
        }
        (self.decide(now, order, arrived), false)
    }

    /// Nothing of a segment was new, or in the window: the peer may have lost acknowledgements (`tcp_enter_quickack_mode`).
    pub fn on_duplicate(&mut self) {
        self.scheduled = true;
        self.pingpong = false;
        self.wait = self.least_wait;
        self.be_quick();
    }

    /// `tcp_measure_rcv_mss`.
    fn measure(&mut self, arrived: &Arrived) {
        let last = std::mem::take(&mut self.short);
        let length = arrived.length;
        if length >= self.segment {
            if length != self.segment {
                let ratio = ((length << 8) / (HELD + NOTED)).max(1);
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
            self.be_quick();
            self.wait = self.least_wait;
        } else if gap <= half {
            self.wait = self.clock.half(self.wait) + half;
        } else if gap < self.wait {
            self.wait = (self.clock.half(self.wait) + gap).min(self.rto);
        } else if gap > self.rto {
            self.be_quick();
        }
    }

    fn be_quick(&mut self) {
        let acks = (self.window.offered / (2 * self.segment)).max(2).min(self.most_quick);
        self.quick = self.quick.max(acks);
    }

    fn grow(&mut self, length: u64, memory: u64, blocks: u64) {
        if self.given.is_none() && self.window.grow(length, memory, blocks, self.advertised, self.segment) {
            self.quick |= 1;
        }
    }

    /// `__tcp_ack_snd_check`.
    fn decide(&mut self, now: Time, order: &Order, arrived: &Arrived) -> AckDue {
        let several = order.nxt - order.acknowledged > self.segment * u64::from(self.delayed_ack - 1);
        let much = several && {
            let window = self.choose(order);
            window >= self.window.offered
        };
        if much || self.quick > 0 && !self.pingpong {
            return AckDue::Now;
        }
        if order.blocks == 0 {
            return self.delay(now, order, arrived);
        }
        let rtt = self.rtt.estimate.min(arrived.srtt);
        match self.compression.as_mut().and_then(|compression| compression.wait(order.nxt, rtt)) {
            Some(wait) => order.due.sooner(AckDue::At(now + wait)),
            None => AckDue::Now,
        }
    }

    /// What there is room for now.
    fn choose(&mut self, order: &Order) -> u64 {
        let Some(size) = self.given else {
            let (window, short) = self.window.choose(self.segment, order.blocks);
            self.quick *= u64::from(!short);
            return window;
        };
        // Its edge moves by a segment or half the buffer at least (RFC 9293 section 3.8.6.2.2).
        let (wide, current) = ((order.read + size).saturating_sub(order.nxt), order.offered());
        let step = self.segment.max(1 << self.window.scale).min(size / 2);
        if wide >= current + step { wide } else { current }
    }

    /// `tcp_send_delayed_ack`.
    fn delay(&self, now: Time, order: &Order, arrived: &Arrived) -> AckDue {
        let mut wait = self.wait;
        if wait > self.least_wait {
            let most = LONGEST_WAIT[usize::from(!self.pingpong && self.pushed == 0)];
            let rtt = if arrived.srtt == Duration::ZERO { most } else { arrived.srtt.max(self.least_wait) };
            wait = wait.min(most).min(rtt);
        }
        let wait = wait.min(LONGEST_WAIT[0]);
        match order.due {
            // It is about to leave anyway.
            AckDue::At(due) if due <= self.clock.expiry(now, self.clock.half(self.clock.half(wait))) => AckDue::Now,
            other => other.sooner(AckDue::At(self.clock.expiry(now, wait))),
        }
    }

    /// An acknowledgement leaves, because it was `overdue` or for another reason: the window to put into it.
    pub fn on_ack_sent(&mut self, overdue: bool, order: &Order) -> u64 {
        if overdue && self.pingpong {
            (self.pingpong, self.wait) = (false, self.least_wait);
        } else if overdue {
            self.wait = (self.wait * 2).min(self.rto);
        }
        let (window, current) = (self.choose(order), order.offered());
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

    /// Data left: a reply to what came shortly before (`tcp_event_data_sent`).
    pub fn on_data_sent(&mut self, now: Time) {
        self.pingpong |= now.since(self.arrived) < self.wait;
    }

    /// The application took octets and left so many; whether that is to be acknowledged (`tcp_cleanup_rbuf`).
    pub fn on_read(&mut self, order: &Order, left: u64, count: u64) -> bool {
        let current = order.offered();
        self.window.unread = (self.window.unread * left).div_ceil(left + count);
        self.tune(self.arrived, order.read);
        if self.scheduled {
            let short = self.pushed == 2 || self.pushed == 1 && !self.pingpong;
            let empty = self.window.unread + self.window.beyond == 0;
            if order.nxt - order.acknowledged > self.segment * u64::from(self.delayed_ack - 1) || short && empty {
                return true;
            }
        }
        if let Some(size) = self.given {
            let step = self.advertised.max(1 << self.window.scale);
            return current < step && order.read + size >= order.nxt + current + step.min(size / 2);
        }
        if 2 * current > self.window.clamp {
            return false;
        }
        let window = self.choose(order);
        window > 0 && window >= 2 * current
    }

    fn tune(&mut self, now: Time, read: u64) {
        let Some(tuning) = &mut self.tuning else { return };
        if self.rtt.estimate == Duration::ZERO || now.since(tuning.since) < self.rtt.estimate {
            return;
        }
        let taken = read - tuning.from;
        (tuning.since, tuning.from) = (now, read);
        if taken <= tuning.most {
            return;
        }
        // Twice that, and twice again in proportion to how much faster it grew than before.
        let twice = 2 * taken + 16 * self.advertised;
        let wanted =
            twice.saturating_add((2.0 * twice as f64 * (taken - tuning.most) as f64 / tuning.most as f64) as u64);
        tuning.most = taken;
        let buffer =
            (wanted.saturating_mul(256) / self.window.ratio).min((super::LARGEST_BUFFER << 8) / self.window.ratio);
        if buffer > self.window.buffer {
            self.window.buffer = buffer;
            self.window.clamp = self.window.win(buffer);
        }
    }

    /// An acknowledgement has left that leaves out the segment which came last.
    pub fn acknowledge_later(&mut self, now: Time) -> AckDue {
        self.scheduled = true;
        AckDue::At(self.clock.expiry(now, self.wait))
    }
}
