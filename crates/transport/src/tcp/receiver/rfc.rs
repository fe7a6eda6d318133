//! When the RFCs let a receiver acknowledge, and what it offers to take.

use super::{AckDue, Order};
use crate::tcp::clock::Clock;
use crate::tcp::config::Config;
use std::ops::Range;
use vazao_engine::{Duration, Time};

/// What a buffer that is not given starts with and may grow to.
const BUFFER: Range<u64> = 128 << 10..super::LARGEST_BUFFER;

/// Delayed acknowledgements (RFC 5681 section 4.2) and a window that is what is left of the buffer.
pub(crate) struct RfcReceiver {
    clock: Clock,
    buffer: u64,
    tuning: Option<Tuning>,
    /// The least amount by which an offer differs from the last one: a window scale can express no less.
    granule: u64,
    mss: u64,
    unacknowledged: u32,
    delayed_ack: u32,
    timeout: Duration,
    quick_acks: u32,
}

/// Auto-tuning after Fisk and Feng (dynamic right-sizing, 2001): the buffer holds several times what the application took in
/// the last round-trip time, so that it never limits a sender that doubles its window.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    rtt: Duration,
    since: Time,
    from: u64,
}

impl RfcReceiver {
    pub fn new(config: &Config, mss: u64, scale: u8) -> Self {
        let tuning = Tuning { rtt: Duration::MAX, since: Time::ZERO, from: 1 };
        RfcReceiver {
            clock: Clock::new(config.tick),
            buffer: config.receive_buffer.unwrap_or(BUFFER.start),
            tuning: config.receive_buffer.is_none().then_some(tuning),
            granule: 1 << scale,
            mss,
            unacknowledged: 0,
            delayed_ack: config.delayed_ack,
            timeout: config.delayed_ack_timeout,
            quick_acks: config.quick_acks,
        }
    }

    /// What the SYN offers.
    pub fn first_window(&self) -> u64 {
        self.buffer
    }

    /// The handshake's round-trip time, which paces the tuning.
    pub fn set_rtt(&mut self, rtt: Duration, now: Time) {
        if let Some(tuning) = &mut self.tuning {
            (tuning.rtt, tuning.since) = (rtt, now);
        }
    }

    /// A segment came in order; `at_once`: it filled a hole, or was the last of all.
    #[inline]
    pub fn on_in_order(&mut self, now: Time, order: &Order, at_once: bool) -> AckDue {
        self.unacknowledged += 1;
        let quick = self.quick_acks > 0;
        self.quick_acks -= u32::from(quick);
        let due = if at_once || quick || self.unacknowledged >= self.delayed_ack {
            AckDue::Now
        } else if order.due == AckDue::Never {
            AckDue::At(self.clock.expiry(now, self.timeout))
        } else {
            order.due
        };
        self.tune(now, order.read);
        due
    }

    #[inline]
    fn tune(&mut self, now: Time, read: u64) {
        let Some(tuning) = &mut self.tuning else { return };
        if now.since(tuning.since) >= tuning.rtt {
            let wanted = 4 * (read - tuning.from);
            (tuning.since, tuning.from) = (now, read);
            self.buffer = self.buffer.max(wanted.min(BUFFER.end));
        }
    }

    /// How far the window's right edge moves at least: a segment or half the buffer (receiver's silly-window
    /// avoidance, RFC 9293 section 3.8.6.2.2).
    #[inline]
    fn step(&self) -> u64 {
        self.mss.max(self.granule).min(self.buffer / 2)
    }

    /// An acknowledgement leaves: the edge of the window that it offers.
    #[inline]
    pub fn on_ack_sent(&mut self, order: &Order) -> u64 {
        self.unacknowledged = 0;
        let wide = order.read + self.buffer;
        if wide >= order.edge + self.step() { wide } else { order.edge }
    }

    /// The application took octets; whether the window that the peer knows opens again: a sender may be waiting.
    #[inline]
    pub fn on_read(&self, order: &Order) -> bool {
        let step = self.step();
        order.nxt + step.max(self.mss) > order.edge && order.read + self.buffer >= order.edge + step
    }

    /// An acknowledgement has left that leaves out the segment which came last.
    pub fn acknowledge_later(&mut self, now: Time) -> AckDue {
        self.unacknowledged = 1;
        if self.delayed_ack > 1 { AckDue::At(self.clock.expiry(now, self.timeout)) } else { AckDue::Now }
    }
}
