//! SCTP association: the states of RFC 9260 section 4 around a [`Sender`] and a [`Receiver`].

mod incoming;
mod limit;
mod outgoing;
mod setup;

use super::cause::Cause;
use super::chunk::Control;
use super::config::Config;
use super::cookie::Cookie;
use super::init::{Addresses, Extensions, Init};
use super::notification::Notification;
use super::path::Path;
use super::receiver::Receiver;
use super::sender::Sender;
use super::stats::{PathStats, Stats};
use crate::common::{ByteStream, RangeSet, RttEstimator};
use outgoing::Replies;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use vazao_engine::{Duration, Time};

/// The states of RFC 9260 section 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum State {
    Closed,
    CookieWait,
    CookieEchoed,
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
}

/// Reason that an association ended other than by a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer aborted it.
    Aborted,
    /// Too many retransmissions without an acknowledgement.
    TimedOut,
    /// We aborted it because of the peer's behaviour.
    Refused(Cause),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Aborted => write!(f, "the association was aborted by its peer"),
            Failure::TimedOut => write!(f, "the association timed out"),
            Failure::Refused(cause) => write!(f, "the association was aborted: {cause}"),
        }
    }
}

/// One endpoint of an association.
pub struct Association {
    config: Arc<Config>,
    state: State,
    /// Parameters of our INIT and of the peer's.
    own: Init,
    peer: Init,
    /// Key that signs cookies; it belongs to the host, not to one association.
    secret: u64,
    cookie: Option<Cookie>,
    tx: Sender,
    rx: Receiver,
    /// Control chunks to send: path, verification tag, chunk.
    outbox: Vec<(usize, u32, Control)>,
    replies: Replies,
    /// T5-shutdown-guard.
    guard: Time,
    /// T1-init, T1-cookie or T2-shutdown: one at a time.
    timer: Time,
    /// Expirations so far, and the timer's RTO.
    attempts: u32,
    rto: RttEstimator,
    closing: bool,
    /// Whether the association was established once, so that `Closed` means over.
    was_open: bool,
    peer_shut_down: bool,
    failure: Option<Failure>,
    /// Time of the first request that T1 or T2 guards, and of the last call.
    requested_at: Time,
    clock: Time,
    /// INITs answered since establishment.
    answers: u64,
    /// Time from establishment until this end loses its state, and when that is.
    restart: Option<Duration>,
    restart_at: Time,
}

impl Association {
    fn new(config: Arc<Config>, paths: usize, tag: u32, tsn: u32, state: State) -> Association {
        let seed = u64::from(tag) << 32 | u64::from(tsn);
        let window = u32::try_from(config.receive_buffer).unwrap_or(u32::MAX);
        let paths = paths.clamp(1, 8);
        let streams = config.streams.max(config.host().min_streams);
        Association {
            state,
            // A tag of zero is reserved for INIT (section 3.3.2).
            own: Init {
                tag: tag.max(1),
                window,
                streams: (streams, config.max_inbound_streams),
                tsn,
                addresses: Addresses::of_paths(paths),
                extensions: Extensions {
                    partial: config.partial_reliability.is_partial(),
                    interleaving: config.interleaving,
                    authentication: config.auth.is_some(),
                },
                ..Init::default()
            },
            peer: Init::default(),
            secret: u64::from(tsn).rotate_left(17) ^ 0x5ec7_e75e_c7e7_5ec7,
            cookie: None,
            tx: Sender::new(&config, paths, tsn, seed),
            rx: Receiver::new(&config),
            outbox: Vec::new(),
            replies: Replies::default(),
            guard: Time::NEVER,
            timer: Time::NEVER,
            attempts: 0,
            rto: config.estimator(),
            closing: false,
            was_open: false,
            peer_shut_down: false,
            failure: None,
            requested_at: Time::ZERO,
            clock: Time::ZERO,
            answers: 0,
            restart: None,
            restart_at: Time::NEVER,
            config,
        }
    }

    /// Opens an association actively over as many paths as the peer has addresses, eight at most. `tag` and `tsn` are
    /// its verification tag and initial TSN.
    pub fn connect(config: Arc<Config>, paths: usize, tag: u32, tsn: u32) -> Association {
        let mut new = Association::new(config, paths, tag, tsn, State::CookieWait);
        new.restart = new.config.restart;
        new.open();
        new
    }

    /// Opens an association passively.
    pub fn listen(config: Arc<Config>, paths: usize, tag: u32, tsn: u32) -> Association {
        Association::new(config, paths, tag, tsn, State::Closed)
    }

    // ---- queries ------------------------------------------------------------------------------------------------

    /// State of the association.
    pub fn state(&self) -> State {
        self.state
    }
    /// Reason of the failure, if the association failed.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// Whether the association is finished: shut down with all received data read, or failed.
    pub fn is_over(&self) -> bool {
        let is_shut = (self.was_open || self.closing) && self.rx.unread() == 0;
        self.state == State::Closed && (self.failure.is_some() || is_shut)
    }
    /// Time before which it does not give up, as seen at `now`; `None`: that is never known. In the shortest RTO T3-rtx of a
    /// path expires once, and a heartbeat goes unanswered twice, since Linux may repeat it after half an RTO; and once more
    /// each, for timers under way. Messages that may be abandoned need not cross the network before it is done.
    pub fn stands_until(&self, now: Time) -> Option<Time> {
        if self.config.partial_reliability.is_partial() || self.config.restart.is_some() {
            return None;
        }
        if self.state != State::Established || self.closing {
            return Some(now);
        }
        let Config { initial_rto, min_rto, max_rto, retries, .. } = *self.config;
        let left = retries.saturating_sub(self.tx.errors) / self.tx.paths.len() as u32;
        Some(now.saturating_add(min_rto.min(max_rto).min(initial_rto) * u64::from(left.saturating_sub(2)) / 3))
    }
    /// Frees memory that is only needed while the association is busy.
    pub fn shrink(&mut self) {
        self.tx.records.shrink();
    }
    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.tx.stats
    }
    /// Paths, the primary one first.
    pub fn paths(&self) -> &[Path] {
        &self.tx.paths
    }
    /// Sum of a counter over all paths.
    pub fn sum(&self, count: impl Fn(&PathStats) -> u64) -> u64 {
        self.tx.paths.iter().map(|path| count(path.stats())).sum()
    }
    /// Bytes in flight on all paths.
    pub fn flight(&self) -> u64 {
        self.tx.flight
    }
    /// Message bytes sent at least once.
    pub fn sent_bytes(&self) -> u64 {
        self.tx.backlog.cut
    }
    /// Whether fast recovery suspends the growth of a path's window.
    pub fn is_recovering(&self, path: usize) -> bool {
        self.tx.is_recovering(path)
    }

    /// Bytes delivered and not yet read.
    pub fn unread(&self) -> u64 {
        self.rx.unread()
    }
    /// Number of ordered messages delivered on each stream, and the bytes that wait there for earlier data.
    pub fn inbound_streams(&self) -> Vec<(u64, u64)> {
        self.rx.streams()
    }
    /// Starts recording [`notifications`](Self::notifications).
    pub fn watch_notifications(&mut self) {
        self.tx.notices.watch();
    }
    /// Takes the notifications recorded since the last call.
    pub fn notifications(&mut self) -> Vec<Notification> {
        self.tx.notices.take()
    }
    /// Starts recording messages for [`next_read`](Self::next_read).
    pub fn watch_messages(&mut self) {
        self.rx.watch_messages();
    }
    /// Number of the next message that the application has read completely, counted over all of the peer's messages.
    pub fn next_read(&mut self) -> Option<u32> {
        self.rx.next_read()
    }

    /// With partial reliability: numbers of the peer's messages delivered here. A message may be both delivered and
    /// abandoned by its sender.
    pub fn delivered_messages(&self) -> Option<&RangeSet> {
        self.rx.delivered_messages()
    }
    /// With partial reliability: numbers of our messages that were abandoned.
    pub fn abandoned_messages(&self) -> Option<&RangeSet> {
        self.tx.partial.as_ref().map(|partial| &partial.abandoned)
    }
    /// Next abandoned message of which nothing more can be delivered to the peer's application.
    pub fn next_settled(&mut self) -> Option<u32> {
        self.tx.partial.as_mut()?.settled.pop_front()
    }

    /// Sets the current time for the application's calls, which do not pass it.
    pub fn set_clock(&mut self, now: Time) {
        self.clock = now;
    }

    /// Aborts the association.
    pub fn abort(&mut self) {
        self.abort_with(Some(Cause::UserInitiated));
    }

    fn abort_with(&mut self, cause: Option<Cause>) {
        if !matches!(self.state, State::Closed | State::CookieWait) {
            self.send(self.usable_path(), Control::Abort(false, cause));
        }
        self.fail();
    }

    /// Aborts because of the peer's behaviour.
    fn abort_for(&mut self, cause: Cause) {
        self.failure = Some(Failure::Refused(cause));
        self.abort_with(Some(cause));
    }

    // ---- timers -------------------------------------------------------------------------------------------------

    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        let data = if self.has_data_timers() { self.tx.next_timeout() } else { Time::NEVER };
        // After a close, reading opens a window that need not be announced.
        let answer = if self.state == State::Closed { Time::NEVER } else { self.rx.due() };
        self.timer.min(self.guard).min(answer).min(data).min(self.restart_at)
    }

    /// Whether data, and therefore heartbeats, may be sent.
    fn has_data_timers(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// Handles every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.clock = now;
        if self.restart_at <= now {
            self.simulate_restart();
        }
        let mut alive = true;
        if self.timer <= now {
            alive = self.on_handshake_timeout(now);
        }
        if self.has_data_timers() {
            alive &= self.tx.handle_timeout(now);
        }
        alive &= self.guard > now;
        if !alive {
            self.failure = Some(Failure::TimedOut);
            self.abort_with(None);
        }
        self.split_replies();
        self.tx.report_changes();
    }

    /// Handles expiry of T1 or T2: retransmits on the next path.
    fn on_handshake_timeout(&mut self, now: Time) -> bool {
        self.attempts += 1;
        self.tx.stats.handshake_timeouts += 1;
        let last = if self.attempts == 1 { self.usable_path() } else { self.next_path(self.attempts - 1) };
        let path = self.next_path(self.attempts);
        self.timeout(last).back_off();
        self.timer = now + self.timeout(path).rto();
        let (chunk, limit) = match self.state {
            State::CookieWait => (Control::Init(self.own), self.config.init_retries),
            State::CookieEchoed => (Control::CookieEcho(self.cookie.expect("it is echoed")), self.config.init_retries),
            State::ShutdownSent => (Control::Shutdown(self.rx.cumulative()), self.config.retries),
            _ => (Control::ShutdownAck, self.config.retries),
        };
        if self.attempts <= limit {
            self.send(path, chunk);
        }
        self.attempts <= limit
    }

    /// Path for a retransmission guarded by T1 or T2.
    fn next_path(&self, attempt: u32) -> usize {
        attempt as usize % self.tx.paths.len()
    }

    /// RTO of T1, or of T2 for `path`: each destination has its own (section 6.3), measured by data by then.
    fn timeout(&mut self, path: usize) -> &mut RttEstimator {
        match self.state {
            State::ShutdownSent | State::ShutdownAckSent => &mut self.tx.paths[path].rtt,
            _ => &mut self.rto,
        }
    }

    fn start_timer(&mut self, now: Time) {
        self.attempts = 0;
        self.requested_at = now;
        self.rto.forget_back_off();
        self.timer = now + self.rto.rto();
    }

    /// Starts T2 for a chunk sent on `path`.
    fn start_shutdown_timer(&mut self, now: Time, path: usize) {
        self.attempts = 0;
        self.requested_at = now;
        self.timer = now + self.timeout(path).rto();
    }

    /// Queues a chunk with the peer's tag.
    fn send(&mut self, path: usize, chunk: Control) {
        let tag = if matches!(chunk, Control::Init(_)) { 0 } else { self.peer.tag };
        self.outbox.push((path, tag, chunk));
    }

    /// Ends the association other than by a shutdown.
    fn fail(&mut self) {
        match self.state {
            State::Closed => {}
            State::CookieWait | State::CookieEchoed => self.tx.notices.notify(Notification::CannotStart),
            _ => self.tx.notices.notify(Notification::Lost),
        }
        self.tx.notify_unacknowledged();
        self.enter_closed();
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        (self.timer, self.guard, self.restart_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        self.was_open = true;
        self.rx.cancel_sack();
    }

    /// Path for replies: the one that data last arrived on. Linux uses its active path instead if that one is
    /// unconfirmed or failing (`sctp_outq_select_transport`).
    fn answer_path(&self) -> usize {
        let is_usable = self.tx.paths[self.rx.path].is_usable() || !self.config.has_slow_heartbeats();
        if is_usable { self.rx.path } else { self.usable_path() }
    }

    /// Advances a shutdown once everything is acknowledged (section 9.2).
    fn advance_shutdown(&mut self, now: Time) {
        if self.closing && self.state == State::Established {
            self.state = State::ShutdownPending;
        }
        if !self.tx.is_drained() {
            return;
        }
        let chunk = match self.state {
            State::ShutdownPending => {
                self.state = State::ShutdownSent;
                // Section 9.2: T2 restarts with each packet from the peer, T5 does not.
                self.guard = now + self.config.shutdown_guard();
                Control::Shutdown(self.rx.cumulative())
            }
            State::ShutdownReceived => {
                self.state = State::ShutdownAckSent;
                Control::ShutdownAck
            }
            _ => return,
        };
        let path = self.usable_path();
        self.send(path, chunk);
        self.start_shutdown_timer(now, path);
    }

    /// Section 9.2: whether new data is accepted; once a shutdown has begun, only data accepted earlier is sent.
    fn takes_data(&self) -> bool {
        let is_over = self.state == State::Closed && self.was_open;
        !(self.closing || self.peer_shut_down || is_over)
    }

    fn take(&mut self, limit: u64) -> Option<Range<u64>> {
        let waited = self.rx.due() > self.clock;
        let range = self.rx.take(self.clock, limit);
        if waited {
            self.split_replies();
        }
        range
    }

    fn usable_path(&self) -> usize {
        self.tx.paths.iter().position(Path::is_usable).unwrap_or(0)
    }
}

/// The configuration determines messages and streams; reads count the bytes of messages, each once.
impl ByteStream for Association {
    fn write(&mut self, bytes: u64) -> u64 {
        if self.takes_data() { self.tx.write(self.clock, bytes) } else { 0 }
    }

    fn begin_message(&mut self, bytes: u64) {
        if self.takes_data() {
            self.tx.backlog.begin_message(bytes);
            self.tx.make_room(bytes);
        }
    }

    fn end_message(&mut self) {
        self.tx.backlog.end_message();
    }

    fn unsent(&self) -> u64 {
        self.tx.backlog.written - self.tx.backlog.cut
    }

    fn discard_unsent(&mut self) -> u64 {
        self.tx.backlog.discard()
    }

    fn read(&mut self) -> Option<Range<u64>> {
        self.take(u64::MAX)
    }

    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        self.take(limit)
    }

    fn close(&mut self) {
        if self.closing {
            return;
        }
        self.closing = true;
        self.tx.backlog.close();
        match self.state {
            State::CookieWait | State::CookieEchoed if !self.was_open => self.fail(),
            State::Closed | State::CookieWait | State::CookieEchoed => {}
            _ => self.advance_shutdown(self.clock),
        }
    }

    fn is_connected(&self) -> bool {
        !matches!(self.state, State::Closed | State::CookieWait | State::CookieEchoed)
    }

    fn peer_closed(&self) -> bool {
        self.peer_shut_down && self.rx.is_drained()
    }
}
