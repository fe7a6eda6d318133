//! ACK and receive-window rules of the RFCs.

use super::{AckDue, ReceiveState};
use crate::tcp::clock::Clock;
use crate::tcp::config::Config;
use vazao_engine::{Duration, Time};

/// Initial size of an auto-tuned buffer.
const INITIAL_BUFFER: u64 = 128 << 10;

/// Receiver with delayed acknowledgements (RFC 5681 section 4.2) and a window equal to the free buffer space.
pub(crate) struct RfcReceiver {
    clock: Clock,
    buffer: u64,
    tuning: Option<Tuning>,
    /// Maximum size of an auto-tuned buffer.
    limit: u64,
    /// Smallest window increment that the window scale can express.
    granule: u64,
    mss: u64,
    unacknowledged: u32,
    delayed_ack: u32,
    timeout: Duration,
    quick_acks: u32,
}

/// Auto-tuning after Fisk and Feng (dynamic right-sizing, 2001): the buffer holds several times what the application
/// read in the last round-trip time, so that it never limits a sender that doubles its window.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    rtt: Duration,
    since: Time,
    from: u64,
}

impl RfcReceiver {
    pub fn new(config: &Config, mss: u64, scale: u8) -> Self {
        let tuning = Tuning { rtt: Duration::MAX, since: Time::ZERO, from: 1 };
        let limit = config.largest_receive_buffer();
        RfcReceiver {
            clock: Clock::new(config.tick),
            buffer: config.receive_buffer.unwrap_or(INITIAL_BUFFER.min(limit)),
            limit,
            tuning: config.receive_buffer.is_none().then_some(tuning),
            granule: 1 << scale,
            mss,
            unacknowledged: 0,
            delayed_ack: config.delayed_ack,
            timeout: config.delayed_ack_timeout,
            quick_acks: config.quick_acks,
        }
    }

    /// Window advertised in the SYN.
    pub fn first_window(&self) -> u64 {
        self.buffer
    }

    /// Sets the round-trip time of the handshake, the period of auto-tuning.
    pub fn set_rtt(&mut self, rtt: Duration, now: Time) {
        if let Some(tuning) = &mut self.tuning {
            (tuning.rtt, tuning.since) = (rtt, now);
        }
    }

    /// Handles an in-order segment; `at_once` if it filled a hole or was the last.
    #[inline]
    pub fn on_in_order(&mut self, now: Time, state: &ReceiveState, at_once: bool) -> AckDue {
        self.unacknowledged += 1;
        let quick = self.quick_acks > 0;
        self.quick_acks -= u32::from(quick);
        let due = if at_once || quick || self.unacknowledged >= self.delayed_ack {
            AckDue::Now
        } else if state.due == AckDue::Never {
            AckDue::At(self.clock.expiry(now, self.timeout))
        } else {
            state.due
        };
        self.tune(now, state.read);
        due
    }

    #[inline]
    fn tune(&mut self, now: Time, read: u64) {
        let Some(tuning) = &mut self.tuning else { return };
        if now.since(tuning.since) >= tuning.rtt {
            let wanted = 4 * (read - tuning.from);
            (tuning.since, tuning.from) = (now, read);
            self.buffer = self.buffer.max(wanted.min(self.limit));
        }
    }

    /// Minimum movement of the window's right edge: a segment or half the buffer (receiver's silly-window avoidance,
    /// RFC 9293 section 3.8.6.2.2).
    #[inline]
    fn step(&self) -> u64 {
        self.mss.max(self.granule).min(self.buffer / 2)
    }

    /// Records that an acknowledgement leaves; returns the right edge of its window.
    #[inline]
    pub fn on_ack_sent(&mut self, state: &ReceiveState) -> u64 {
        self.unacknowledged = 0;
        let wide = state.read + self.buffer;
        if wide >= state.edge + self.step() { wide } else { state.edge }
    }

    /// Returns whether a read reopens the window enough for a window update: the sender may be waiting.
    #[inline]
    pub fn on_read(&self, state: &ReceiveState) -> bool {
        let step = self.step();
        state.nxt + step.max(self.mss) > state.edge && state.read + self.buffer >= state.edge + step
    }

    /// Schedules an ACK for a segment that arrived last and that the ACK just sent leaves out.
    pub fn schedule_ack(&mut self, now: Time) -> AckDue {
        self.unacknowledged = 1;
        if self.delayed_ack > 1 { AckDue::At(self.clock.expiry(now, self.timeout)) } else { AckDue::Now }
    }
}
