//! Processing of arriving packets: each chunk by state.

use super::*;
use crate::sctp::chunk::Packet;
use crate::sctp::unknown::Unknown;

impl Association {
    /// Handles a packet that arrived on `path`, that is, from that path's peer address.
    pub fn handle(&mut self, now: Time, path: usize, packet: &Packet) {
        self.clock = now;
        self.receive(now, path, packet);
        self.split_replies();
    }

    fn receive(&mut self, now: Time, path: usize, packet: &Packet) {
        let solitary = packet.control.iter().find(|chunk| chunk.is_solitary());
        if packet.chunks() > 1
            && let Some(chunk) = solitary
        {
            return self.on_bundled(path, packet, chunk);
        }
        if !self.is_ours(packet) {
            return self.on_out_of_the_blue(path, packet);
        }
        for chunk in &packet.control {
            if !self.on_control(now, path, chunk) {
                return;
            }
        }
        if self.is_connected() && self.state != State::ShutdownAckSent {
            if packet.sack.is_some() {
                // The RFC does not say how to handle a SACK for TSNs never sent; existing stacks abort.
                if !self.tx.on_sack(now, packet) {
                    return self.abort_for(Cause::ProtocolViolation);
                }
            }
            if packet.forward.is_some() && self.state != State::ShutdownReceived {
                self.rx.on_forward(now, path, packet, &mut self.tx.stats);
                self.notify_aborted();
            }
            if !packet.data.is_empty() {
                self.on_data(now, path, packet);
            }
        }
        self.advance_shutdown(now);
        if self.config.host().renews_bursts {
            self.tx.refill();
        }
        self.tx.report_changes();
    }

    /// Handles a packet in which other chunks accompany one that must be alone (section 6.10). Section 8.5.1 A has the
    /// packet discarded if that is an INIT; nothing is said of the others.
    fn on_bundled(&mut self, path: usize, packet: &Packet, chunk: &Control) {
        if !self.config.host().aborts_for_bundles || !self.is_ours(packet) {
            return;
        }
        match chunk {
            Control::InitAck(init, _) if self.state == State::CookieWait => {
                self.refuse_init_ack(path, init.tag, Cause::ProtocolViolation);
            }
            Control::ShutdownComplete(_) if self.state == State::ShutdownAckSent => {
                self.abort_for(Cause::ProtocolViolation);
            }
            _ => {}
        }
    }

    /// Section 8.5: checks the verification tag, which is zero in INIT and may be the receiver's in two other chunks.
    fn is_ours(&self, packet: &Packet) -> bool {
        match packet.control.first() {
            Some(Control::Init(_)) => packet.tag == 0,
            Some(Control::CookieEcho(cookie)) => packet.tag == cookie.own.tag,
            Some(Control::Abort(true, _) | Control::ShutdownComplete(true)) => packet.tag == self.peer.tag,
            _ => packet.tag == self.own.tag && !(self.state == State::Closed),
        }
    }

    /// Section 8.4: handles an out-of-the-blue packet.
    fn on_out_of_the_blue(&mut self, path: usize, packet: &Packet) {
        self.tx.stats.out_of_the_blue += 1;
        // Section 8.5: with an association, a packet with another tag is dropped, except a SHUTDOWN ACK during setup
        // (section 8.5.1 E), whose sender is waiting for an answer.
        let waits = matches!(packet.control.first(), Some(Control::ShutdownAck))
            && matches!(self.state, State::CookieWait | State::CookieEchoed);
        if self.state != State::Closed && !waits {
            return;
        }
        if packet.control.iter().any(|chunk| matches!(chunk, Control::Abort(..))) {
            return;
        }
        match packet.control.first() {
            Some(Control::ShutdownComplete(_) | Control::CookieAck | Control::Error(Cause::StaleCookie(_))) => {}
            // Section 5.1.5: its tag does not match its cookie, or the cookie is foreign.
            Some(Control::CookieEcho(_)) => {}
            Some(Control::ShutdownAck) => self.outbox.push((path, packet.tag, Control::ShutdownComplete(true))),
            _ => self.outbox.push((path, packet.tag, Control::Abort(true, None))),
        }
    }

    /// Processes a control chunk; returns false if the rest of the packet must be ignored.
    fn on_control(&mut self, now: Time, path: usize, chunk: &Control) -> bool {
        match *chunk {
            Control::Init(init) => self.on_init(now, path, init),
            Control::InitAck(init, cookie) => self.on_init_ack(now, path, init, cookie),
            Control::CookieEcho(cookie) => return self.on_cookie_echo(now, path, cookie),
            Control::CookieAck if self.state == State::CookieEchoed => self.establish(now),
            Control::Error(cause) => {
                self.tx.notices.notify(Notification::RemoteError(cause));
                if let Cause::StaleCookie(_) = cause {
                    self.on_stale_cookie(now, path);
                }
            }
            // Section 3.2: the two highest bits of the type say how to handle it.
            Control::Unknown(unknown) => {
                let kind = unknown.kind as u8;
                if Unknown::is_reported(kind) {
                    // As much of it as fits after the two headers.
                    let unknown = unknown.within(self.config.room() - 8);
                    let pads = self.config.host().pads_returned_chunk;
                    let unknown = if pads { unknown.with_padding() } else { unknown };
                    self.send(path, Control::Error(Cause::UnrecognisedChunk(unknown)));
                }
                return Unknown::is_skipped(kind);
            }
            // The peer's tag is not known yet, so there is no answer.
            Control::Heartbeat(_) if self.state == State::CookieWait => {}
            Control::Heartbeat(probe) => self.send(path, Control::HeartbeatAck(probe)),
            Control::HeartbeatAck(probe) => self.tx.on_heartbeat_ack(now, &probe),
            Control::Shutdown(cumulative) => self.on_shutdown(now, path, cumulative),
            Control::ShutdownAck if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) => {
                self.send(path, Control::ShutdownComplete(false));
                self.peer_shut_down = true;
                self.complete_shutdown();
            }
            // Section 8.5.1 E: the sender waits for the end of an earlier association.
            Control::ShutdownAck if matches!(self.state, State::CookieWait | State::CookieEchoed) => {
                self.outbox.push((path, self.own.tag, Control::ShutdownComplete(true)));
            }
            Control::ShutdownComplete(_) if self.state == State::ShutdownAckSent => self.complete_shutdown(),
            Control::Abort(..) if !matches!(self.state, State::Closed) => {
                self.failure = Some(Failure::Aborted);
                self.fail();
            }
            _ => {}
        }
        true
    }

    fn on_data(&mut self, now: Time, path: usize, packet: &Packet) {
        if matches!(self.state, State::ShutdownReceived) {
            return;
        }
        if let Some(empty) = packet.data.iter().find(|data| data.length == 0) {
            return self.abort_for(Cause::NoUserData(empty.tsn));
        }
        for stream in self.rx.on_data(now, path, packet, &mut self.tx.stats) {
            self.send(path, Control::Error(Cause::InvalidStream(stream)));
        }
        if self.state == State::ShutdownSent {
            // Section 9.2: data that crosses the SHUTDOWN is answered by another one, and a SACK if there are gaps.
            self.send(path, Control::Shutdown(self.rx.cumulative()));
            self.rx.sack_now(now);
            self.start_shutdown_timer(now, path);
        }
    }

    pub(super) fn notify_aborted(&mut self) {
        while let Some(message) = self.rx.next_aborted() {
            self.tx.notices.notify(Notification::PartialDeliveryAborted(message));
        }
    }

    fn complete_shutdown(&mut self) {
        self.tx.notices.notify(Notification::ShutdownComplete);
        self.enter_closed();
    }

    /// Section 9.2: handles a SHUTDOWN.
    fn on_shutdown(&mut self, now: Time, path: usize, cumulative: u32) {
        match self.state {
            State::Established | State::ShutdownPending | State::ShutdownReceived => {
                self.state = State::ShutdownReceived;
                if !std::mem::replace(&mut self.peer_shut_down, true) {
                    self.tx.notices.notify(Notification::PeerShutdown);
                }
                if self.config.host().ignores_timers_in_shutdown {
                    self.rx.cancel_sack();
                }
                self.tx.backlog.close();
                self.tx.on_cumulative(now, cumulative);
            }
            State::ShutdownSent => {
                self.state = State::ShutdownAckSent;
                self.peer_shut_down = true;
                if self.config.host().ignores_timers_in_shutdown {
                    self.guard = Time::NEVER;
                }
                self.send(path, Control::ShutdownAck);
                self.start_shutdown_timer(now, path);
            }
            State::ShutdownAckSent => self.send(path, Control::ShutdownAck),
            _ => {}
        }
    }
}
