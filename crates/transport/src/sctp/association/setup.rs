//! Setting up (RFC 9260 section 5.1), and what comes of INIT, INIT ACK and COOKIE ECHO where there is an association
//! already, or half of one (section 5.2): both sides opened at once, a packet is late, or the peer has restarted.

use super::*;

/// What a COOKIE ECHO means to an association (section 5.2.4, table 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A: the peer has restarted.
    Restart,
    /// B: both opened at once, and the peer answered with another tag than that of its own INIT.
    Collide,
    /// D: the cookie is of this very association.
    Confirm,
    /// C: the cookie is of an earlier attempt; or it fits in no way.
    Discard,
}

impl Association {
    /// Section 5.1 A.
    pub(super) fn open(&mut self) {
        // Section 5.4: addresses that the application has named need no confirmation, as with Linux's connectx.
        self.tx.paths.iter_mut().for_each(|path| path.confirmed |= self.config.has_slow_heartbeats());
        self.outbox.push((0, 0, Control::Init(self.own)));
    }

    /// This end forgets the association, as where its host has restarted, and opens another between the same ports, for what
    /// was not sent yet. The peer hears of it from the INIT (section 5.2.2).
    pub(super) fn lose_state(&mut self) {
        self.crash = Time::NEVER;
        if !matches!(self.state, State::Established | State::ShutdownPending) {
            return;
        }
        self.own = self.successor();
        self.peer = Init::default();
        self.peer_shut = false;
        self.state = State::CookieWait;
        let [initial, min, max] = self.config.rto;
        self.rto = RttEstimator::new(initial, min, max, RtoRule::Rfc6298);
        self.timer = Time::NEVER;
        self.outbox.clear();
        self.rx.fall_silent();
        self.tx.stats.reopened += 1;
        self.tx.restart(self.own.tsn);
        self.open();
    }

    /// Sections 5.1 B, 5.2.1 and 5.2.2: whatever the state, nothing is kept but in the cookie.
    pub(super) fn on_init(&mut self, now: Time, path: usize, init: Init) {
        if self.state == State::ShutdownAckSent {
            return self.send(path, Control::ShutdownAck);
        }
        // Section 3.3.2; RFC 4960 has an ABORT here.
        if init.tag == 0 {
            if self.config.semantics != Semantics::Rfc9260 {
                self.outbox.push((path, 0, Control::Abort(false, Some(Cause::InvalidParameter))));
            }
            return;
        }
        // Linux says nothing to the INIT of the association that stands, where section 5.2.2 wants an INIT ACK.
        if self.config.is_linux() && self.is_connected() && init.tag == self.peer.tag {
            return;
        }
        // Section 5.1.2 A: where it comes from is an address of its sender's, listed or not.
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
        // While the association is in the making its INIT holds; once it stands another would need a tag of its own.
        let own = if self.is_connected() { self.successor() } else { self.own };
        // Section 3.3.3: no more streams out than the peer takes.
        let own = Init { preservative: 0, streams: (own.streams.0.min(init.streams.1), own.streams.1), ..own };
        // Nor, with Linux, room for more than it sends (`sctp_process_init`).
        let most = if self.config.is_linux() { own.streams.1.min(init.streams.0) } else { own.streams.1 };
        let own = Init { streams: (own.streams.0, most), ..own };
        let cookie = Cookie::new(own, init, ties, now, self.config.cookie_life, self.secret);
        // Section 3.2.1: parameters that are not known go back, if there is room for them.
        let full = Control::InitAck(Init { unknown: init.unknown, ..own }, Some(cookie));
        let fits = full.bytes() <= self.config.room();
        self.outbox.push((path, init.tag, if fits { full } else { Control::InitAck(own, Some(cookie)) }));
    }

    /// What we would say of ourselves in the association that follows this one, should the peer have restarted.
    fn successor(&mut self) -> Init {
        self.answers += 1;
        let mixed = (self.secret ^ self.answers).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Init { tag: ((mixed >> 32) as u32).max(1), tsn: mixed as u32, ..self.own }
    }

    /// Sections 5.1 C and 5.2.3: nobody else waits for it.
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
        if self.attempts == 0 && !self.config.is_linux() {
            self.rto.sample(now.since(self.asked));
        }
        self.send(path, Control::CookieEcho(cookie));
        if let Some(unknown) = init.unknown {
            self.send(path, Control::Error(Cause::UnrecognisedParameters(unknown)));
        }
        self.start_timer(now);
    }

    /// Sections 3.3.3 and 5.1: the association ends before it began. To a peer that has told no tag an ABORT bears our own;
    /// Linux's has none either.
    fn refuse_init_ack(&mut self, path: usize, tag: u32, cause: Cause) {
        self.failure = Some(Failure::Refused(cause));
        let is_reflected = tag == 0 && !self.config.is_linux();
        let tag = if is_reflected { self.own.tag } else { tag };
        self.outbox.push((path, tag, Control::Abort(is_reflected, Some(cause))));
        self.fail();
    }

    /// Section 5.2.6: the cookie came back too late, so that a new one is asked for, which is to last longer: by the round
    /// trip that was measured and a second at most.
    pub(super) fn on_stale_cookie(&mut self, now: Time, path: usize) {
        if self.state != State::CookieEchoed {
            return;
        }
        self.tx.stats.stale_cookies += 1;
        let longer = (now.since(self.asked) + Duration::from_secs(1)).as_nanos().div_ceil(1_000_000);
        self.own.preservative = u32::try_from(longer).unwrap_or(u32::MAX);
        if self.config.is_linux() {
            // What the peer has said holds for the next attempt (`sctp_process_init`).
            let (out, most) = self.own.streams;
            self.own.streams = (out.min(self.peer.streams.1), most.min(self.peer.streams.0));
        }
        self.state = State::CookieWait;
        self.send(path, Control::Init(self.own));
        self.start_timer(now);
    }

    /// Sections 5.1 D and 5.2.4. False: the packet is of no use.
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

    /// The table, with its letters: whose tags match those of the association, and whose ties. In the making the association
    /// has no tag of the peer's, and the closed one has none at all.
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

    /// Action A: as if the peer had aborted and set up another association, but that what was never sent is kept for it.
    fn restart(&mut self, now: Time, cookie: &Cookie) {
        self.own = Init { tag: cookie.own.tag, tsn: cookie.own.tsn, ..self.own };
        self.peer = cookie.peer;
        self.peer_shut = false;
        self.tx.stats.restarts += 1;
        self.tx.restart(self.own.tsn);
        self.establish(now);
    }

    /// Both sides know each other.
    pub(super) fn establish(&mut self, now: Time) {
        self.tx.notices.tell(if self.is_connected() { Notification::Restart } else { Notification::Up });
        self.state = State::Established;
        self.was_open = true;
        self.crash = self.restart.take().map_or(self.crash, |after| now + after);
        (self.timer, self.guard) = (Time::NEVER, Time::NEVER);
        let extensions = self.own.extensions.and(self.peer.extensions);
        self.rx.open(self.peer.tsn, self.peer.streams.0, extensions.partial);
        self.tell_aborted();
        self.tx.establish(now, self.peer.window, self.peer.streams.1, extensions);
        if self.tx.backlog.streams() > self.peer.streams.1 {
            // Messages are dealt out already: section 5.1.1 leaves it to the upper layer to end what has too few streams.
            self.abort_for(Cause::UserInitiated);
        }
    }
}

/// The type of the parameter that has the cookie.
const STATE_COOKIE: u16 = 7;

/// What is wrong with an INIT or INIT ACK, if anything (sections 3.3.2 and 3.3.3): it has a tag, streams both ways, room for a
/// packet, and no host's name.
fn refusal(init: &Init) -> Option<Cause> {
    let is_valid = init.tag != 0 && init.streams.0 > 0 && init.streams.1 > 0 && init.window >= 1500;
    let invalid = (!is_valid).then_some(Cause::InvalidParameter);
    invalid.or(init.host_name.map(Cause::UnresolvableAddress))
}

/// How late a cookie is, as the error that says so counts: in microseconds.
fn staleness_us(late: Duration) -> u32 {
    u32::try_from(late.as_nanos() / 1000).unwrap_or(u32::MAX)
}
