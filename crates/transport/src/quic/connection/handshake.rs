//! Handshake (RFC 9001), modelled by its cost: round trips, and bytes in each packet number space.

use super::*;
use crate::quic::config::Handshake;
use crate::quic::frame::Frame;
use crate::quic::messages::Messages;
use crate::quic::stream::{Incoming, Outgoing};

/// Bytes of a Retry token or of one from an earlier connection.
pub(super) const TOKEN: u16 = 64;

/// CRYPTO data of a packet number space, outgoing and incoming, and the bytes expected.
#[derive(Clone, Debug, Default)]
pub(super) struct Crypto {
    pub out: Outgoing,
    pub inc: Incoming,
    pub expected: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub crypto: [Crypto; 3],
    /// Spaces with keys for sending, and with keys for receiving.
    pub sends: [bool; 3],
    pub reads: [bool; 3],
    /// Whether the client sends data in 0-RTT packets.
    pub early: bool,
    /// Whether the handshake is complete here, and confirmed (RFC 9001 section 4.1.2).
    pub complete: bool,
    pub confirmed: bool,
    /// Whether a Retry must be sent; bytes of the client's token; whether the server requires one.
    pub retry_due: bool,
    pub token: u16,
    pub asks: bool,
    /// Bytes of the client's two flights, and of the server's.
    pub hello: u64,
    pub finished: u64,
    pub flight: [u64; 2],
    pub started: bool,
}

impl Progress {
    pub fn new(config: &Config, role: Role) -> Progress {
        let is_client = role == Role::Client;
        if let Some(progress) = Progress::of_google(config, is_client) {
            return progress;
        }
        let resumed = config.handshake == Handshake::Early;
        let early = resumed || config.handshake == Handshake::Rejected;
        let messages = Messages::new(config);
        let (hello, finished, flight) = (messages.client_hello, messages.finished, messages.answer());
        let mut crypto: [Crypto; 3] = Default::default();
        crypto[0].expected = if is_client { flight[0] } else { hello };
        crypto[1].expected = if is_client { flight[1] } else { finished };
        Progress {
            crypto,
            sends: [is_client, false, is_client && early],
            reads: [true, false, !is_client && resumed],
            early: is_client && early,
            token: if is_client && config.address_token { TOKEN } else { 0 },
            asks: !is_client && config.handshake == Handshake::Retry,
            hello,
            finished,
            flight,
            ..Progress::default()
        }
    }
}

impl Connection {
    /// Starts the client's first flight.
    pub(super) fn start(&mut self, now: Time) {
        if self.role == Role::Client && !self.progress.started {
            self.progress.started = true;
            self.progress.crypto[0].out.end = self.progress.hello;
            self.idle_at = now + self.config.idle_timeout;
            if self.progress.early {
                self.stats.ready = Some(now);
            }
        }
    }

    /// Whether the server accepts a client's first packet, which may require a token.
    pub(super) fn admits(&mut self, token: u16) -> bool {
        if self.progress.asks && token == 0 {
            self.progress.retry_due = true;
            return false;
        }
        // A token does not validate the client's address after the handshake; version negotiation validates nothing.
        if token > 0 && !self.progress.complete && !self.is_google() {
            self.paths[0].validated = true;
        }
        true
    }

    /// Handles a Retry: the client starts over with the token.
    pub(super) fn on_retry(&mut self, token: u16) {
        if self.role == Role::Client && self.progress.token == 0 && !self.progress.reads[1] {
            self.progress.token = token;
            self.paths[0].recovery.discard(Space::Initial);
            self.progress.crypto[0].out.rewind();
        }
    }

    /// Advances the handshake after CRYPTO data has arrived.
    pub(super) fn advance(&mut self, now: Time) {
        if self.is_google() {
            return self.advance_google(now);
        }
        let progress = &mut self.progress;
        let arrived = |crypto: &Crypto| crypto.expected > 0 && crypto.inc.order.next >= crypto.expected;
        let [hello, rest] = [arrived(&progress.crypto[0]), arrived(&progress.crypto[1])];
        match self.role {
            Role::Client => {
                if hello {
                    (progress.reads[1], progress.sends[1]) = (true, true);
                }
                if rest && !progress.complete {
                    progress.complete = true;
                    progress.crypto[1].out.end = progress.finished;
                    (progress.reads[2], progress.sends[2]) = (true, true);
                    if std::mem::take(&mut progress.early) && self.config.handshake == Handshake::Rejected {
                        self.retransmit_early_data();
                    }
                    self.establish(now);
                }
            }
            Role::Server => {
                if hello && !progress.started {
                    progress.started = true;
                    progress.sends = [true; 3];
                    progress.reads[1] = true;
                    progress.crypto[0].out.end = progress.flight[0];
                    progress.crypto[1].out.end = progress.flight[1];
                    if self.config.handshake == Handshake::Early {
                        self.stats.ready = Some(now);
                    }
                }
                if rest && !self.progress.complete {
                    self.progress.complete = true;
                    self.progress.reads[2] = true;
                    self.establish(now);
                    self.frames.push_back(Frame::HandshakeDone);
                    self.confirm();
                }
            }
        }
    }

    /// Retransmits all data of rejected 0-RTT packets, without a congestion signal.
    fn retransmit_early_data(&mut self) {
        let outstanding = self.paths[0].recovery.space(Space::Data).take_outstanding();
        outstanding.into_iter().for_each(|sent| self.requeue_content(sent));
    }

    pub(super) fn establish(&mut self, now: Time) {
        self.stats.established = Some(now);
        self.issue_identifiers(0);
        self.reserve_paths();
        self.stats.ready.get_or_insert(now);
        let measured = self.is_measured();
        let path = &mut self.paths[0];
        path.control.on_established(Some(path.recovery.rtt.latest()).filter(|_| measured));
        path.follow_control();
    }

    /// Confirms the handshake: the handshake keys are discarded (RFC 9001 section 4.9.2).
    pub(super) fn confirm(&mut self) {
        self.progress.confirmed = true;
        self.change_at = self.next_change();
        if let Some(packets) = self.config.ack_frequency {
            let wait = self.config.max_ack_delay.as_nanos() / 1000;
            self.frames.push_back(Frame::AckFrequency(0, u64::from(packets) - 1, wait));
        }
        self.discard(Space::Initial);
        self.discard(Space::Handshake);
        self.manage_paths(self.last_heard);
    }

    pub(super) fn discard(&mut self, space: Space) {
        let index = space as usize;
        if self.progress.sends[index] || self.progress.reads[index] {
            (self.progress.sends[index], self.progress.reads[index]) = (false, false);
            self.paths[0].recovery.discard(space);
            self.paths[0].acks[index] = Acks::new();
        }
    }
}
