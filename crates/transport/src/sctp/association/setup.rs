//! Association setup (RFC 9260 section 5.1), and unexpected INIT, INIT ACK and COOKIE ECHO chunks (section 5.2):
//! simultaneous setup, delayed packets, and restart of the peer.

use super::*;

/// Action on a COOKIE ECHO (section 5.2.4, table 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A: the peer has restarted.
    Restart,
    /// B: simultaneous setup, in which the peer answered with a tag other than that of its INIT.
    Collide,
    /// D: the cookie belongs to this association.
    Confirm,
    /// C: the cookie belongs to an earlier attempt, or does not match.
    Discard,
}

impl Association {
    /// Section 5.1 A: sends INIT.
    pub(super) fn open(&mut self) {
        // Section 5.4: addresses given by the application need no confirmation, as with Linux's connectx.
        self.tx.paths.iter_mut().for_each(|path| path.confirmed |= self.config.has_slow_heartbeats());
        self.outbox.push((0, 0, Control::Init(self.own)));
    }

    /// Simulates a restart of this host: it forgets the association and opens a new one on the same ports for the
    /// unsent data. The peer learns of it from the INIT (section 5.2.2).
    pub(super) fn simulate_restart(&mut self) {
        self.restart_at = Time::NEVER;
        if !matches!(self.state, State::Established | State::ShutdownPending) {
            return;
        }
        self.own = self.successor();
        self.peer = Init::default();
        self.peer_shut_down = false;
        self.state = State::CookieWait;
        self.rto = self.config.estimator();
        self.timer = Time::NEVER;
        self.outbox.clear();
        self.rx.cancel_sack();
        self.tx.stats.reopened += 1;
        self.tx.restart(self.own.tsn);
        self.open();
    }

    /// Sections 5.1 B, 5.2.1 and 5.2.2: answers an INIT in any state, keeping information only in the cookie.
    pub(super) fn on_init(&mut self, now: Time, path: usize, init: Init) {
        if self.state == State::ShutdownAckSent {
            return self.send(path, Control::ShutdownAck);
        }
        // Section 3.3.2: silently discarded.
        if init.tag == 0 {
            if self.config.host().aborts_untagged_init {
                self.outbox.push((path, 0, Control::Abort(false, Some(Cause::InvalidParameter))));
            }
            return;
        }
        if self.config.host().ignores_repeated_init && self.is_connected() && init.tag == self.peer.tag {
            return;
        }
        // Section 5.1.2 A: the source address belongs to the sender, listed or not.
        let init = Init { addresses: init.addresses.with_path(path), ..init };
        let refusal = match refusal(&init) {
            Some(cause) => Some(cause),
            _ if self.is_over() => Some(Cause::OutOfResource),
            _ if self.peer.tag != 0 && !self.peer.addresses.include(init.addresses) => Some(Cause::NewAddresses),
            _ => None,
        };
        if refusal.is_some() {
            return self.outbox.push((path, init.tag, Control::Abort(false, refusal)));
        }
        let knows_peer = !matches!(self.state, State::Closed | State::CookieWait);
        let ties = if knows_peer { [self.own.tag, self.peer.tag] } else { [0; 2] };
        // During setup our INIT parameters remain valid; an established association needs a new tag for another.
        let own = if self.is_connected() { self.successor() } else { self.own };
        // Section 3.3.3: no more outbound streams than the peer accepts.
        let own = Init { preservative: 0, streams: (own.streams.0.min(init.streams.1), own.streams.1), ..own };
        let adopts = self.config.host().adopts_stream_limits;
        let most = if adopts { own.streams.1.min(init.streams.0) } else { own.streams.1 };
        let own = Init { streams: (own.streams.0, most), ..own };
        let cookie = Cookie::new(own, init, ties, now, self.config.cookie_life, self.secret);
        // Section 3.2.1: unrecognized parameters are reported if they fit.
        let full = Control::InitAck(Init { unknown: init.unknown, ..own }, Some(cookie));
        let fits = full.bytes() <= self.config.room();
        self.outbox.push((path, init.tag, if fits { full } else { Control::InitAck(own, Some(cookie)) }));
    }

    /// INIT parameters for a new association in case the peer has restarted.
    fn successor(&mut self) -> Init {
        self.answers += 1;
        let mixed = (self.secret ^ self.answers).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Init { tag: ((mixed >> 32) as u32).max(1), tsn: mixed as u32, ..self.own }
    }

    /// Sections 5.1 C and 5.2.3: handles an INIT ACK, which is ignored outside COOKIE-WAIT.
    pub(super) fn on_init_ack(&mut self, now: Time, path: usize, init: Init, cookie: Option<Cookie>) {
        if self.state != State::CookieWait {
            return;
        }
        let cookie = match (refusal(&init), cookie) {
            (None, Some(cookie)) => cookie,
            (refusal, _) => {
                return self.refuse_init_ack(path, init.tag, refusal.unwrap_or(Cause::MissingParameter(STATE_COOKIE)));
            }
        };
        self.peer = Init { addresses: init.addresses.with_path(path), ..init };
        self.cookie = Some(cookie);
        self.state = State::CookieEchoed;
        if self.attempts == 0 && !self.config.host().ignores_init_round_trip {
            self.rto.sample(now.since(self.requested_at));
        }
        self.send(path, Control::CookieEcho(cookie));
        if let Some(unknown) = init.unknown {
            self.send(path, Control::Error(Cause::UnrecognisedParameters(unknown)));
        }
        self.start_timer(now);
    }

    /// Sections 3.3.3 and 5.1: aborts because of an invalid INIT ACK. If the peer gave no tag, the ABORT carries our
    /// own, or zero if the host says so.
    pub(super) fn refuse_init_ack(&mut self, path: usize, tag: u32, cause: Cause) {
        self.failure = Some(Failure::Refused(cause));
        let is_reflected = tag == 0 && !self.config.host().aborts_without_tag;
        let tag = if is_reflected { self.own.tag } else { tag };
        self.outbox.push((path, tag, Control::Abort(is_reflected, Some(cause))));
        self.fail();
    }

    /// Section 5.2.6: the cookie arrived too late. Requests a new one whose lifetime is longer by the measured
    /// round-trip time plus at most a second.
    pub(super) fn on_stale_cookie(&mut self, now: Time, path: usize) {
        if self.state != State::CookieEchoed {
            return;
        }
        self.tx.stats.stale_cookies += 1;
        let longer = (now.since(self.requested_at) + Duration::from_secs(1)).as_nanos().div_ceil(1_000_000);
        self.own.preservative = u32::try_from(longer).unwrap_or(u32::MAX);
        if self.config.host().adopts_stream_limits {
            let (out, most) = self.own.streams;
            self.own.streams = (out.min(self.peer.streams.1), most.min(self.peer.streams.0));
        }
        self.state = State::CookieWait;
        self.send(path, Control::Init(self.own));
        self.start_timer(now);
    }

    /// Sections 5.1 D and 5.2.4: handles a COOKIE ECHO; returns false if the packet must be discarded.
    pub(super) fn on_cookie_echo(&mut self, now: Time, path: usize, cookie: Cookie) -> bool {
        if !cookie.is_authentic(self.secret) || self.is_over() {
            return false;
        }
        let action = self.action(&cookie);
        if let Some(late) = cookie.staleness(now)
            && action != Action::Confirm
        {
            self.tx.stats.stale_cookies += 1;
            self.outbox.push((path, cookie.peer.tag, Control::Error(Cause::StaleCookie(staleness_us(late)))));
            return false;
        }
        match action {
            Action::Discard => return false,
            Action::Restart if self.state == State::ShutdownAckSent => {
                self.send(path, Control::ShutdownAck);
                self.outbox.push((path, cookie.peer.tag, Control::Error(Cause::CookieWhileShuttingDown)));
                return false;
            }
            Action::Restart => self.restart(now, &cookie),
            Action::Collide | Action::Confirm if self.is_connected() => self.peer.tag = cookie.peer.tag,
            Action::Collide | Action::Confirm => {
                self.peer = cookie.peer;
                self.establish(now);
            }
        }
        if self.state == State::Closed {
            return false;
        }
        self.send(path, Control::CookieAck);
        true
    }

    /// Looks up table 12 by matching tags and tie-tags. During setup the association has no peer tag, when closed no
    /// tags at all.
    fn action(&self, cookie: &Cookie) -> Action {
        let (local, peer) = (cookie.own.tag == self.own.tag, cookie.peer.tag == self.peer.tag);
        let tied = cookie.ties == [self.own.tag, self.peer.tag];
        match (local, peer, tied) {
            (true, true, _) => Action::Confirm,
            (true, false, _) => Action::Collide,
            (false, false, true) => Action::Restart,
            (false, ..) => Action::Discard,
        }
    }

    /// Action A: as if the peer had aborted and set up a new association, except that unsent data is kept.
    fn restart(&mut self, now: Time, cookie: &Cookie) {
        self.own = Init { tag: cookie.own.tag, tsn: cookie.own.tsn, ..self.own };
        self.peer = cookie.peer;
        self.peer_shut_down = false;
        self.tx.stats.restarts += 1;
        self.tx.restart(self.own.tsn);
        self.establish(now);
    }

    pub(super) fn establish(&mut self, now: Time) {
        self.tx.notices.notify(if self.is_connected() { Notification::Restart } else { Notification::Up });
        self.state = State::Established;
        self.was_open = true;
        self.restart_at = self.restart.take().map_or(self.restart_at, |after| now + after);
        (self.timer, self.guard) = (Time::NEVER, Time::NEVER);
        let extensions = self.own.extensions.and(self.peer.extensions);
        // Section 5.1.1: the peer has as many streams as it wants, but not more than we accept.
        let inbound = self.peer.streams.0.min(self.own.streams.1);
        self.rx.open(self.peer.tsn, inbound, extensions.partial);
        self.notify_aborted();
        self.tx.establish(now, self.peer.window, self.peer.streams.1, extensions);
        if self.tx.backlog.streams() > self.peer.streams.1 {
            // Messages are already assigned to streams; section 5.1.1 lets the upper layer abort with too few streams.
            self.abort_for(Cause::UserInitiated);
        }
    }
}

/// Parameter type of State Cookie.
const STATE_COOKIE: u16 = 7;

/// Error in an INIT or INIT ACK, if any (sections 3.3.2 and 3.3.3): it needs a tag, streams in both directions, a
/// window for a packet, and no host name.
fn refusal(init: &Init) -> Option<Cause> {
    let is_valid = init.tag != 0 && init.streams.0 > 0 && init.streams.1 > 0 && init.window >= 1500;
    let invalid = (!is_valid).then_some(Cause::InvalidParameter);
    invalid.or(init.host_name.map(Cause::UnresolvableAddress))
}

/// Staleness of a cookie in microseconds, as reported in the error cause.
fn staleness_us(late: Duration) -> u32 {
    u32::try_from(late.as_nanos() / 1000).unwrap_or(u32::MAX)
}
