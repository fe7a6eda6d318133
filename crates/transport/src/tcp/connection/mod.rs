//! One end of a TCP connection: RFC 9293's state machine around a [`Sender`] and a [`Receiver`].

mod incoming;
mod info;
mod outgoing;
mod subflow;

use crate::common::{ByteStream, RtoRule, RttEstimator};
use crate::tcp::config::{Bursting, Config};
use crate::tcp::ecn::EcnReceiver;
use crate::tcp::fast_open::{Cookies, FastOpen};
use crate::tcp::metrics::Metrics;
use crate::tcp::receiver::Receiver;
use crate::tcp::segment::TIMESTAMPS_BYTES;
use crate::tcp::sender::Sender;
use crate::tcp::stats::Stats;
pub use info::CaState;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use vazao_congestion::{CongestionControl, Steering};
use vazao_engine::{Duration, Time, fetch};

/// The states of RFC 9293 section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// Reason that a connection ended other than by a normal close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer sent a reset.
    Reset,
    /// Too many retransmissions without an acknowledgement.
    TimedOut,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Reset => "the connection was reset",
            Failure::TimedOut => "the connection timed out",
        })
    }
}

/// Duration of TIME-WAIT: one minute, where RFC 9293 has 2 MSL, four minutes.
const TIME_WAIT: Duration = Duration::from_secs(60);

/// Maximum SYN retransmissions, as in Linux: about two minutes.
const SYN_RETRIES: u32 = 6;
/// SYN retransmissions before Linux backs off (tcp_syn_linear_timeouts, since 6.5).
const LINEAR_SYN_RETRIES: u32 = 4;

/// Options negotiated in the SYNs.
#[derive(Clone, Copy, Debug, Default)]
struct Negotiated {
    timestamps: bool,
    sack: bool,
    /// SACK blocks that fit in a segment with data and in one without.
    blocks: [u8; 2],
    ecn: bool,
    /// Shift of the windows we send and of those we receive.
    own_scale: u8,
    peer_scale: u8,
}

/// A reset to send: sequence number, acknowledgement number, and whether it belongs to the connection, in which case it
/// carries timestamps (RFC 7323 section 3.2).
#[derive(Clone, Copy, Debug)]
struct Reset {
    sequence: u32,
    acknowledgment: Option<u32>,
    own: bool,
}

impl Reset {
    /// Resets the sender of a segment with an unacceptable acknowledgement.
    fn answer(acknowledgment: u32) -> Reset {
        Reset { sequence: acknowledgment, acknowledgment: None, own: false }
    }
}

/// One end of a TCP connection.
pub struct Connection {
    state: State,
    config: Arc<Config>,
    iss: u32,
    irs: u32,
    negotiated: Negotiated,
    tx: Sender,
    rx: Receiver,
    /// ECN state of the receiving side.
    ecn_echo: EcnReceiver,
    challenged: Option<Time>,
    /// RFC 7323's TS.Recent.
    recent_timestamp: u32,
    /// Whether this is a passive open: a reset in SYN-RECEIVED returns it to LISTEN.
    passive: bool,
    syn_due: bool,
    /// Whether the peer's SYN, or a FIN that crossed ours, must be acknowledged at once without waiting for data.
    immediate_ack_due: bool,
    syn_sent: Option<Time>,
    /// Whether SYN was retransmitted, which makes its round-trip time ambiguous.
    syn_resent: bool,
    reset_due: Option<Reset>,
    time_wait: Time,
    failure: Option<Failure>,
    fast_open: Option<Box<FastOpen>>,
    /// What is remembered of this path, and its number there.
    metrics: Option<(Arc<Metrics>, u16)>,
    /// Whether no segment takes the fast path.
    is_general: bool,
}

impl Connection {
    fn new(config: Arc<Config>, iss: u32, state: State) -> Self {
        let mss = u64::from(config.mss - config.multipath[0]);
        let bounds_variation = config.host.personality().bounds_variation;
        let rule = if bounds_variation { RtoRule::Linux(config.tick) } else { RtoRule::Rfc6298 };
        let rtt = RttEstimator::new(config.initial_rto, config.min_rto, config.max_rto, rule);
        Connection {
            state,
            iss,
            irs: 0,
            negotiated: Negotiated::default(),
            tx: Sender::new(&config, mss, u64::from(iss), config.sack, rtt),
            rx: Receiver::new(&config, [full_segment(&config); 2], mss, 0, config.sack),
            ecn_echo: EcnReceiver::default(),
            challenged: None,
            recent_timestamp: 0,
            passive: state == State::Listen,
            syn_due: state == State::SynSent,
            immediate_ack_due: false,
            syn_sent: None,
            syn_resent: false,
            reset_due: None,
            time_wait: Time::NEVER,
            failure: None,
            fast_open: None,
            metrics: None,
            is_general: false,
            config,
        }
    }

    /// Whether ECN is offered or accepted.
    fn wants_ecn(&self) -> bool {
        self.config.ecn.unwrap_or_else(|| self.tx.window.control.wants_marks())
    }

    /// Opens a connection actively; `iss` is its initial sequence number.
    pub fn connect(config: Arc<Config>, iss: u32) -> Self {
        Connection::new(config, iss, State::SynSent)
    }

    /// Opens a connection passively: it waits for the peer's SYN.
    pub fn listen(config: Arc<Config>, iss: u32) -> Self {
        Connection::new(config, iss, State::Listen)
    }

    /// Enables Fast Open: data in the SYN if the client has the server's cookie (RFC 7413).
    #[must_use]
    pub fn with_fast_open(mut self, cookies: Arc<Cookies>) -> Self {
        self.fast_open = Some(Box::new(FastOpen::new(cookies)));
        self
    }

    /// Starts with what `metrics` remembers of path `number`, and lets it learn at the end.
    #[must_use]
    pub fn with_metrics(mut self, metrics: Option<Arc<Metrics>>, number: u16) -> Self {
        self.metrics = metrics.map(|metrics| (metrics, number));
        self
    }

    /// Has every segment go the general way, which comes to the same as the fast path: for tests that compare them.
    pub fn disable_fast_path(&mut self) {
        self.is_general = true;
    }

    /// Tells the memory of this path how the connection ended.
    fn leave_metrics(&self) {
        if let Some((metrics, number)) = &self.metrics {
            metrics.learn(*number, self.control(), self.ca_state() == CaState::Open);
        }
    }

    /// Whether data may flow before the handshake completes.
    #[cold]
    fn is_open_early(&self) -> bool {
        self.fast_open.as_ref().is_some_and(|fast| match self.state {
            State::SynSent if self.syn_sent.is_none() => fast.has_cookie(),
            State::SynSent => fast.sent.is_some() && !self.syn_resent,
            State::SynReceived => fast.accepted,
            _ => false,
        })
    }

    // ---- queries ------------------------------------------------------------------------------------------------

    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }
    /// Reason of the failure, if the connection failed.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// Whether the connection is finished: both sides closed and everything acknowledged, or failed.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }
    /// Frees memory that is only needed while the connection is busy.
    pub fn shrink(&mut self) {
        self.tx.board.shrink();
    }
    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.tx.stats
    }
    /// Congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.tx.window.cwnd
    }
    /// Congestion control.
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.tx.window.control
    }
    /// Passes what a steered congestion control has seen and answers to a function, which may change its answers.
    pub fn steer(&mut self, see: &mut dyn FnMut(&mut Steering)) {
        let before = self.tx.window.control.cwnd();
        self.tx.window.control.steering().map(see);
        let cwnd = self.tx.window.control.cwnd();
        if cwnd != before {
            self.tx.window.cwnd = cwnd;
        }
    }
    /// Round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.tx.rtt
    }
    /// Bytes sent and not cumulatively acknowledged.
    pub fn flight(&self) -> u64 {
        self.tx.flight()
    }
    /// Bytes of the stream sent at least once.
    pub fn sent_bytes(&self) -> u64 {
        (self.tx.octets.nxt - 1).min(self.tx.octets.end - 1)
    }
    /// Bytes of the stream acknowledged.
    pub fn acknowledged_bytes(&self) -> u64 {
        (self.tx.octets.una - 1).min(self.tx.octets.end - 1)
    }
    /// Whether fast recovery is under way.
    pub fn in_recovery(&self) -> bool {
        self.tx.in_recovery()
    }
    /// Whether losses are being repaired, by fast recovery or after a timeout.
    pub fn is_repairing(&self) -> bool {
        self.tx.is_repairing()
    }

    /// Whether it shares nothing with other connections: no memory of paths, no cookies.
    pub fn is_isolated(&self) -> bool {
        self.metrics.is_none() && self.fast_open.is_none()
    }
    /// Time before which it does not give up, as seen at `now`: the timeouts in a row that are still allowed are no closer
    /// together than the shortest one.
    pub fn stands_until(&self, now: Time) -> Time {
        if self.state != State::Established {
            return now;
        }
        // What waits for reordered data may have the timer expire once sooner.
        let left = self.config.retries.saturating_sub(self.tx.timer.expiries + 1);
        now.saturating_add(self.config.shortest_rto() * u64::from(left))
    }

    /// Aborts the connection and resets the peer, unless there is none or it has closed too (RFC 9293 section 3.10.5).
    pub fn abort(&mut self) {
        use State::{CloseWait, Established, FinWait1, FinWait2, SynReceived};
        if matches!(self.state, SynReceived | Established | FinWait1 | FinWait2 | CloseWait) {
            let (sequence, acknowledgment) = (self.wire_sequence(self.tx.octets.nxt), Some(self.wire_acknowledgment()));
            self.reset_due = Some(Reset { sequence, acknowledgment, own: true });
        }
        self.enter_closed();
    }

    /// Fetches what every event needs into the cache.
    pub fn fetch(&self) {
        fetch(&self.state);
        fetch(&self.recent_timestamp);
        self.tx.fetch();
        self.rx.fetch();
    }

    /// Fetches what its pointers lead to.
    pub fn fetch_parts(&self) {
        self.tx.fetch_parts();
        self.rx.fetch_policy();
    }

    // ---- timers -------------------------------------------------------------------------------------------------

    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.tx.timer.at.min(self.tx.timer.release).min(self.rx.timer()).min(self.time_wait)
    }

    /// Handles every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.time_wait <= now {
            self.enter_closed();
        }
        if self.tx.timer.release <= now {
            self.tx.timer.release = Time::NEVER;
        }
        if self.tx.timer.at > now {
            return; // A delayed acknowledgement, or paced data: `poll_transmit` sees that it is due.
        }
        let syn = matches!(self.state, State::SynSent | State::SynReceived);
        let go_on = if syn { self.on_syn_timeout(now) } else { self.tx.on_timeout(now) };
        if !go_on {
            self.failure = Some(Failure::TimedOut);
            self.abort();
        }
    }

    fn on_syn_timeout(&mut self, now: Time) -> bool {
        self.tx.stats.syn_timeouts += 1;
        let linear = if self.config.host.personality().retries_syn_linearly && self.state == State::SynSent {
            LINEAR_SYN_RETRIES
        } else {
            0
        };
        if self.tx.stats.syn_timeouts > u64::from(linear) {
            self.tx.rtt.back_off();
        }
        self.tx.timer.set(now, self.tx.rtt.rto());
        self.syn_due = true;
        self.syn_resent = true;
        self.tx.stats.syn_timeouts <= u64::from(self.config.retries.min(SYN_RETRIES + linear))
    }

    /// Lets a SYN that an old acknowledgement answered go again after the shortest timeout (TCP_TIMEOUT_MIN), as Linux
    /// does unless it went again before: the reset that leaves now makes room for it.
    fn repeat_refused_syn(&mut self, now: Time) {
        if self.config.host.personality().repeats_refused_syn && !self.syn_resent {
            let least = (self.config.tick * 2).max(Duration::from_millis(2));
            self.tx.timer.set(now, least);
        }
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        (self.tx.timer.at, self.tx.timer.release) = (Time::NEVER, Time::NEVER);
        self.time_wait = Time::NEVER;
        self.syn_due = false;
        self.rx.cancel_ack();
    }

    // ---- sequence numbers: octets count from the SYN (0) in 64 bits; the wire carries 32 ---------------------------

    #[inline]
    fn wire_sequence(&self, octet: u64) -> u32 {
        self.iss.wrapping_add(octet as u32)
    }
    #[inline]
    fn wire_acknowledgment(&self) -> u32 {
        self.irs.wrapping_add(self.rx.nxt as u32)
    }
    /// Returns the octet nearest to `near` with this sequence number, counted from `initial`.
    #[inline]
    fn octet(initial: u32, sequence: u32, near: u64) -> Option<u64> {
        let distance = sequence.wrapping_sub(initial).wrapping_sub(near as u32) as i32;
        near.checked_add_signed(i64::from(distance))
    }
}

/// RFC 7323's timestamp clock: milliseconds, never zero.
#[inline]
pub(crate) fn timestamp(now: Time) -> u32 {
    ((now.as_nanos() / 1_000_000) as u32).wrapping_add(1)
}

/// Bytes of a full segment without options.
fn full_segment(config: &Config) -> u64 {
    u64::from(config.mss) + if config.timestamps { u64::from(TIMESTAMPS_BYTES) } else { 0 }
}

/// Time since a timestamp of ours that the peer echoes, to the millisecond.
#[inline]
fn elapsed(now: Time, echo: u32) -> Duration {
    Duration::from_millis(u64::from(timestamp(now).wrapping_sub(echo)))
}

/// Smallest window scale that can express the largest receive buffer.
fn own_scale(config: &Config) -> u8 {
    let largest = Receiver::largest_buffer(config);
    (0..14).find(|&scale| largest >> scale <= 65_535).unwrap_or(14)
}

impl ByteStream for Connection {
    fn write(&mut self, bytes: u64) -> u64 {
        if self.tx.octets.fin {
            return 0;
        }
        // With bursts the buffer is Linux's, which takes what it has room for from what is written here.
        let room = match self.config.send_buffer.filter(|_| self.config.bursts == Bursting::Off) {
            Some(limit) => limit.saturating_sub(self.tx.octets.end - self.tx.octets.una),
            None => u64::MAX,
        };
        let taken = bytes.min(room);
        self.tx.chronograph.blocked = taken < bytes;
        if taken > 0 {
            self.tx.on_write();
        }
        self.tx.octets.end += taken;
        taken
    }

    fn unsent(&self) -> u64 {
        self.tx.octets.unsent()
    }

    fn discard_unsent(&mut self) -> u64 {
        if !self.tx.octets.fin {
            let early = self.fast_open.as_ref().and_then(|fast| fast.sent).unwrap_or(0);
            self.tx.octets.end = self.tx.taken().max(1 + u64::from(early));
        }
        self.tx.octets.end - 1
    }

    #[inline]
    fn read(&mut self) -> Option<Range<u64>> {
        self.rx.take(u64::MAX)
    }

    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        self.rx.take(limit)
    }

    fn close(&mut self) {
        if self.tx.octets.fin {
            return;
        }
        match self.state {
            State::SynSent | State::SynReceived if self.is_open_early() => {
                // FIN waits for the handshake.
                if let Some(fast) = &mut self.fast_open {
                    fast.closing = true;
                }
            }
            State::Listen | State::SynSent | State::Closed => self.enter_closed(),
            _ => {
                self.tx.octets.fin = true;
                self.advance_close();
            }
        }
    }

    fn is_connected(&self) -> bool {
        match self.state {
            State::Closed | State::Listen => false,
            State::SynSent | State::SynReceived => self.is_open_early(),
            _ => true,
        }
    }

    fn peer_closed(&self) -> bool {
        self.rx.is_drained()
    }
}
