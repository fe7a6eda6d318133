//! Packets in: what each chunk means in each state.

use super::*;
use crate::sctp::chunk::Packet;

impl Association {
    /// Handles a packet that arrived by `path`: from the address that packets of that path go to.
    pub fn handle(&mut self, now: Time, path: usize, packet: &Packet) {
        self.clock = now;
        if !self.is_ours(packet) {
            return self.on_out_of_the_blue(path, packet);
        }
        for chunk in &packet.control {
            self.on_control(now, path, chunk);
        }
        if self.is_connected() && self.state != State::ShutdownAckSent {
            if packet.sack.is_some() {
                self.tx.on_sack(now, packet);
            }
            if packet.forward.is_some() && self.state != State::ShutdownReceived {
                self.rx.on_forward(now, path, packet, &mut self.tx.stats);
            }
            if !packet.data.is_empty() {
                self.on_data(now, path, packet);
            }
        }
        self.advance_shutdown(now);
    }

    /// Section 8.5: the verification tag. An INIT has none; ABORT and SHUTDOWN COMPLETE may bear that of their receiver.
    fn is_ours(&self, packet: &Packet) -> bool {
        match packet.control.first() {
            Some(Control::Init(_)) => packet.tag == 0,
            Some(Control::CookieEcho(cookie)) => packet.tag == cookie.own.tag,
            Some(Control::Abort(true) | Control::ShutdownComplete(true)) => packet.tag == self.peer.tag,
            _ => packet.tag == self.own.tag && !(self.state == State::Closed),
        }
    }

    /// Section 8.4.
    fn on_out_of_the_blue(&mut self, path: usize, packet: &Packet) {
        self.tx.stats.out_of_the_blue += 1;
        // Section 8.5: who has an association says nothing to another tag, but to a SHUTDOWN ACK (section 8.5.1 E), whose
        // sender waits while we set up.
        let waits = matches!(packet.control.first(), Some(Control::ShutdownAck))
            && matches!(self.state, State::CookieWait | State::CookieEchoed);
        if self.state != State::Closed && !waits {
            return;
        }
        match packet.control.first() {
            Some(Control::Abort(_) | Control::ShutdownComplete(_) | Control::CookieAck | Control::StaleCookie(_)) => {}
            Some(Control::ShutdownAck) => self.outbox.push((path, packet.tag, Control::ShutdownComplete(true))),
            _ => self.outbox.push((path, packet.tag, Control::Abort(true))),
        }
    }

    fn on_control(&mut self, now: Time, path: usize, chunk: &Control) {
        match *chunk {
            Control::Init(init) => self.on_init(now, path, init),
            Control::InitAck(init, cookie) => self.on_init_ack(now, path, init, cookie),
            Control::CookieEcho(cookie) => self.on_cookie_echo(now, path, cookie),
            Control::CookieAck if self.state == State::CookieEchoed => self.establish(now),
            Control::StaleCookie(_) if self.state == State::CookieEchoed => {
                // Section 5.2.6: a new one is asked for.
                self.tx.stats.stale_cookies += 1;
                self.state = State::CookieWait;
                self.send(path, Control::Init(self.own));
                self.start_timer(now);
            }
            Control::Heartbeat(probe) => self.send(path, Control::HeartbeatAck(probe)),
            Control::HeartbeatAck(probe) => self.tx.on_heartbeat_ack(now, &probe),
            Control::Shutdown(cumulative) => self.on_shutdown(now, path, cumulative),
            Control::ShutdownAck if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) => {
                self.send(path, Control::ShutdownComplete(false));
                self.peer_shut = true;
                self.enter_closed();
            }
            Control::ShutdownComplete(_) if self.state == State::ShutdownAckSent => self.enter_closed(),
            Control::Abort(_) if !matches!(self.state, State::Closed) => {
                self.failure = Some(Failure::Aborted);
                self.enter_closed();
            }
            _ => {}
        }
    }

    /// Sections 5.1 B, 5.2.1 and 5.2.2: whatever the state, nothing is kept but in the cookie.
    fn on_init(&mut self, now: Time, path: usize, init: Init) {
        if self.state == State::ShutdownAckSent {
            return self.send(path, Control::ShutdownAck);
        }
        if self.is_over() {
            return;
        }
        let cookie = Cookie::new(self.own, init, now, self.config.cookie_life, self.secret);
        self.outbox.push((path, init.tag, Control::InitAck(self.own, cookie)));
    }

    /// Section 5.1 C.
    fn on_init_ack(&mut self, now: Time, path: usize, init: Init, cookie: Cookie) {
        if self.state != State::CookieWait {
            return;
        }
        self.peer = init;
        self.cookie = Some(cookie);
        self.state = State::CookieEchoed;
        if self.attempts == 0 && !self.config.is_linux() {
            self.rto.sample(now.since(self.opened));
        }
        self.send(path, Control::CookieEcho(cookie));
        self.start_timer(now);
    }

    /// Sections 5.1 D and 5.2.4.
    fn on_cookie_echo(&mut self, now: Time, path: usize, cookie: Cookie) {
        if !cookie.is_authentic(self.secret) || (self.state == State::Closed && self.is_over()) {
            return;
        }
        let known = self.is_connected() && cookie.peer.tag == self.peer.tag;
        if let (Some(late), false) = (cookie.staleness(now), known) {
            self.tx.stats.stale_cookies += 1;
            return self.outbox.push((path, cookie.peer.tag, Control::StaleCookie(staleness_us(late))));
        }
        if !self.is_connected() {
            self.peer = cookie.peer;
            self.establish(now);
        }
        if self.peer.tag == cookie.peer.tag {
            self.send(path, Control::CookieAck);
        }
    }

    /// Both sides know each other.
    fn establish(&mut self, now: Time) {
        self.state = State::Established;
        self.was_open = true;
        self.timer = Time::NEVER;
        let extensions = self.own.extensions.and(self.peer.extensions);
        self.rx.open(self.peer.tsn, extensions.partial);
        self.tx.establish(now, self.peer.window, self.peer.streams.1, extensions);
    }

    fn on_data(&mut self, now: Time, path: usize, packet: &Packet) {
        if matches!(self.state, State::ShutdownReceived) {
            return;
        }
        self.rx.on_data(now, path, packet, &mut self.tx.stats);
        if self.state == State::ShutdownSent {
            // Section 9.2: data that crosses the SHUTDOWN is answered by another, and a SACK if there are gaps.
            self.send(path, Control::Shutdown(self.rx.cumulative()));
            self.rx.hurry(now);
            self.start_timer(now);
        }
    }

    /// Section 9.2.
    fn on_shutdown(&mut self, now: Time, path: usize, cumulative: u32) {
        match self.state {
            State::Established | State::ShutdownPending | State::ShutdownReceived => {
                self.state = State::ShutdownReceived;
                self.peer_shut = true;
                self.tx.backlog.close();
                self.tx.on_cumulative(now, cumulative);
            }
            State::ShutdownSent => {
                self.state = State::ShutdownAckSent;
                self.peer_shut = true;
                self.send(path, Control::ShutdownAck);
                self.start_timer(now);
            }
            State::ShutdownAckSent => self.send(path, Control::ShutdownAck),
            _ => {}
        }
    }
}
