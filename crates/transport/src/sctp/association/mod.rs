//! One end of an association: RFC 9260's states (section 4) around a [`Sender`] and a [`Receiver`].

mod incoming;
mod outgoing;
mod setup;

use super::cause::Cause;
use super::chunk::{Addresses, Control, Extensions, Init};
use super::config::{Config, Semantics};
use super::cookie::Cookie;
use super::notification::Notification;
use super::path::Path;
use super::receiver::Receiver;
use super::sender::Sender;
use super::stats::{PathStats, Stats};
use crate::common::{ByteStream, RangeSet, RtoRule, RttEstimator};
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

/// How an association ended, if not by a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer aborted it.
    Aborted,
    /// Nothing was acknowledged however often it was sent again.
    TimedOut,
    /// We aborted it, for what the peer did.
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

/// Streams that Linux asks for, however few are used (`sctp_init_sock`).
const LINUX_STREAMS: u16 = 10;

/// One end of an association.
pub struct Association {
    config: Arc<Config>,
    state: State,
    /// What we say of ourselves, and what the peer does.
    own: Init,
    peer: Init,
    /// Signs cookies: a host's, whatever tag an association of it has.
    secret: u64,
    cookie: Option<Cookie>,
    tx: Sender,
    rx: Receiver,
    /// Chunks that are to leave, and by which path.
    outbox: Vec<(usize, u32, Control)>,
    replies: Replies,
    /// T5-shutdown-guard.
    guard: Time,
    /// T1-init, T1-cookie, T2-shutdown: one of them at a time.
    timer: Time,
    /// How often it has expired, and what it waits at most.
    attempts: u32,
    rto: RttEstimator,
    /// The application has closed.
    closing: bool,
    /// It was set up once, so that `Closed` means over.
    was_open: bool,
    peer_shut: bool,
    failure: Option<Failure>,
    /// When what T1 or T2 waits for was asked for first, and when the association was last called.
    asked: Time,
    clock: Time,
    /// INITs answered since the association stands.
    answers: u64,
    /// How long it is to stand before this end loses its state, and when that is.
    restart: Option<Duration>,
    crash: Time,
}

impl Association {
    fn new(config: Arc<Config>, paths: usize, tag: u32, tsn: u32, state: State) -> Association {
        let seed = u64::from(tag) << 32 | u64::from(tsn);
        let [initial, min, max] = config.rto;
        let window = u32::try_from(config.receive_buffer).unwrap_or(u32::MAX);
        let paths = paths.clamp(1, 8);
        let streams = if config.is_linux() { config.streams.max(LINUX_STREAMS) } else { config.streams };
        Association {
            state,
            // A tag of zero means an INIT (section 3.3.2).
            own: Init {
                tag: tag.max(1),
                window,
                streams: (streams, u16::MAX),
                tsn,
                addresses: Addresses::of_paths(paths),
                extensions: Extensions { partial: config.reliability.is_partial(), interleaving: config.interleaving },
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
            rto: RttEstimator::new(initial, min, max, RtoRule::Rfc6298),
            closing: false,
            was_open: false,
            peer_shut: false,
            failure: None,
            asked: Time::ZERO,
            clock: Time::ZERO,
            answers: 0,
            restart: None,
            crash: Time::NEVER,
            config,
        }
    }

    /// An association that is being opened over as many paths as there are addresses of the peer's, up to eight. `tag`
    /// and `tsn` are its verification tag and first TSN.
    pub fn connect(config: Arc<Config>, paths: usize, tag: u32, tsn: u32) -> Association {
        let mut new = Association::new(config, paths, tag, tsn, State::CookieWait);
        new.restart = new.config.restart;
        new.open();
        new
    }

    /// One that waits for its peer's INIT.
    pub fn listen(config: Arc<Config>, paths: usize, tag: u32, tsn: u32) -> Association {
        Association::new(config, paths, tag, tsn, State::Closed)
    }

    // ---- what the outside can see -------------------------------------------------------------------------------

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }
    /// How it failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// Whether all is done: it was shut down and everything that arrived was read, or it failed.
    pub fn is_over(&self) -> bool {
        let is_shut = (self.was_open || self.closing) && self.rx.unread() == 0;
        self.state == State::Closed && (self.failure.is_some() || is_shut)
    }
    /// Gives back memory that an association needs only while it is busy.
    pub fn shrink(&mut self) {
        self.tx.records.shrink();
    }
    /// What it counted.
    pub fn stats(&self) -> &Stats {
        &self.tx.stats
    }
    /// Its paths, the primary first.
    pub fn paths(&self) -> &[Path] {
        &self.tx.paths
    }
    /// A count of its paths', summed.
    pub fn sum(&self, count: impl Fn(&PathStats) -> u64) -> u64 {
        self.tx.paths.iter().map(|path| count(path.stats())).sum()
    }
    /// Bytes in flight by all paths.
    pub fn flight(&self) -> u64 {
        self.tx.flight
    }
    /// Bytes of messages that were sent at least once.
    pub fn sent_bytes(&self) -> u64 {
        self.tx.backlog.cut
    }
    /// Whether a fast recovery stops a path's window.
    pub fn is_recovering(&self, path: usize) -> bool {
        self.tx.is_recovering(path)
    }

    /// Bytes delivered that the application has not read.
    pub fn unread(&self) -> u64 {
        self.rx.unread()
    }
    /// From now on [`notifications`](Self::notifications) has something to say.
    pub fn watch_notifications(&mut self) {
        self.tx.notices.watch();
    }
    /// What there is to tell the application since it was last asked.
    pub fn notifications(&mut self) -> Vec<Notification> {
        self.tx.notices.take()
    }
    /// From now on [`next_read`](Self::next_read) tells which messages the application has read.
    pub fn watch_messages(&mut self) {
        self.rx.watch_messages();
    }
    /// The next message that the application has read as a whole, by its number among all that the peer's has written.
    pub fn next_read(&mut self) -> Option<u32> {
        self.rx.next_read()
    }

    /// Where partial reliability is used: the numbers of the messages that the peer's application was given, and of those
    /// that were given up here. One may be both.
    pub fn delivered_messages(&self) -> Option<&RangeSet> {
        self.rx.delivered_messages()
    }
    /// See [`delivered_messages`](Self::delivered_messages).
    pub fn abandoned_messages(&self) -> Option<&RangeSet> {
        self.tx.partial.as_ref().map(|partial| &partial.abandoned)
    }
    /// The next message given up of which the peer's application will be given nothing any more, if it was not before.
    pub fn next_settled(&mut self) -> Option<u32> {
        self.tx.partial.as_mut()?.settled.pop_front()
    }

    /// The time is now: for what the application does next.
    pub fn set_clock(&mut self, now: Time) {
        self.clock = now;
    }

    /// Gives the association up and tells the peer.
    pub fn abort(&mut self) {
        self.abort_with(Some(Cause::UserInitiated));
    }

    fn abort_with(&mut self, cause: Option<Cause>) {
        if !matches!(self.state, State::Closed | State::CookieWait) {
            self.send(self.usable_path(), Control::Abort(false, cause));
        }
        self.fail();
    }

    /// The peer did what ends the association.
    fn abort_for(&mut self, cause: Cause) {
        self.failure = Some(Failure::Refused(cause));
        self.abort_with(Some(cause));
    }

    // ---- time ---------------------------------------------------------------------------------------------------

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        let data = if self.has_data_timers() { self.tx.next_timeout() } else { Time::NEVER };
        // Reading what a closed association has left opens a window that nobody is to hear of.
        let answer = if self.state == State::Closed { Time::NEVER } else { self.rx.due() };
        self.timer.min(self.guard).min(answer).min(data).min(self.crash)
    }

    /// Whether data, and with it heartbeats, may be under way.
    fn has_data_timers(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// Handles every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.clock = now;
        if self.crash <= now {
            self.lose_state();
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
        self.part_replies();
        self.tx.look_around();
    }

    /// T1 or T2 expired: what waits for its answer is sent again, by the next path.
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
            State::ShutdownSent => (Control::Shutdown(self.rx.cumulative()), self.config.association_retries),
            _ => (Control::ShutdownAck, self.config.association_retries),
        };
        if self.attempts <= limit {
            self.send(path, chunk);
        }
        self.attempts <= limit
    }

    /// By which path what T1 or T2 guards goes again.
    fn next_path(&self, attempt: u32) -> usize {
        attempt as usize % self.tx.paths.len()
    }

    /// What T1 waits, or T2 for the answer to what went by `path`: each destination has an RTO (section 6.3), which data has
    /// measured by then.
    fn timeout(&mut self, path: usize) -> &mut RttEstimator {
        match self.state {
            State::ShutdownSent | State::ShutdownAckSent => &mut self.tx.paths[path].rtt,
            _ => &mut self.rto,
        }
    }

    /// Starts T1.
    fn start_timer(&mut self, now: Time) {
        self.attempts = 0;
        self.asked = now;
        self.rto.forget_back_off();
        self.timer = now + self.rto.rto();
    }

    /// Starts T2 for what goes by `path`.
    fn start_shutdown_timer(&mut self, now: Time, path: usize) {
        self.attempts = 0;
        self.asked = now;
        self.timer = now + self.timeout(path).rto();
    }

    /// A chunk is to leave, with the peer's tag.
    fn send(&mut self, path: usize, chunk: Control) {
        let tag = if matches!(chunk, Control::Init(_)) { 0 } else { self.peer.tag };
        self.outbox.push((path, tag, chunk));
    }

    /// It ends otherwise than by a shutdown.
    fn fail(&mut self) {
        match self.state {
            State::Closed => {}
            State::CookieWait | State::CookieEchoed => self.tx.notices.tell(Notification::CannotStart),
            _ => self.tx.notices.tell(Notification::Lost),
        }
        self.tx.tell_unacknowledged();
        self.enter_closed();
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        (self.timer, self.guard, self.crash) = (Time::NEVER, Time::NEVER, Time::NEVER);
        self.was_open = true;
        self.rx.fall_silent();
    }

    /// The path that answers are sent by: the one that data came by last. Linux sends them by its active path where that
    /// one is not confirmed, or fails (`sctp_outq_select_transport`).
    fn answer_path(&self) -> usize {
        let is_usable = self.tx.paths[self.rx.path].is_usable() || !self.config.has_slow_heartbeats();
        if is_usable { self.rx.path } else { self.usable_path() }
    }

    /// Goes on with a shutdown where everything was acknowledged (section 9.2).
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
                // Section 9.2: T2 begins anew with all that the peer sends, T5 does not.
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

    /// Section 9.2: from a shutdown on, whoever began it, nothing new is taken; what was taken before is still sent.
    fn takes_data(&self) -> bool {
        let is_over = self.state == State::Closed && self.was_open;
        !(self.closing || self.peer_shut || is_over)
    }

    fn take(&mut self, limit: u64) -> Option<Range<u64>> {
        let waited = self.rx.due() > self.clock;
        let range = self.rx.take(self.clock, limit);
        if waited {
            self.part_replies();
        }
        range
    }

    /// The first path that may be used.
    fn usable_path(&self) -> usize {
        self.tx.paths.iter().position(Path::is_usable).unwrap_or(0)
    }
}

/// Messages have boundaries and streams, which the settings tell; what is read counts their bytes, each once.
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
        self.peer_shut && self.rx.is_drained()
    }
}
