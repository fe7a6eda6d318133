//! The handshake of Google's QUIC before TLS 1.3 (*QUIC Crypto*, Langley and Chang, 2013 to 2016): the client's hello, CHLO, is
//! refused, REJ, until it holds what a server's configuration and its proof say; the answer to a full one is SHLO. All of it
//! goes in Initial packets here, and what the client says before SHLO in 0-RTT packets. A server that does not speak the version
//! of the first CHLO answers with a Version Negotiation packet, which is to it what a Retry is: it keeps nothing of the client,
//! and the client begins again.

use super::handshake::{Crypto, Progress};
use super::*;
use crate::quic::config::Handshake;

/// A CHLO is padded, so that a server that answers with more sends little more (kClientHelloMinimumSize).
const CHLO: u64 = 1024;
/// Beside the certificates (compressed, as TLS has them since): the server's configuration, its proof by RSA of 2048 bits, the
/// address token, a nonce, and tags.
const REJ: u64 = 170 + 256 + 60 + 60 + 80;
/// The server's ephemeral key, its nonce, its transport parameters.
const SHLO: u64 = 220;

impl Progress {
    /// Before anything was said, where the handshake is Google's.
    pub(super) fn of_google(config: &Config, is_client: bool) -> Option<Progress> {
        let (early, reject) = match config.handshake {
            Handshake::Google | Handshake::GoogleNegotiated => (false, REJ + config.certificate),
            Handshake::GoogleEarly => (true, 0),
            _ => return None,
        };
        let mut crypto: [Crypto; 3] = Default::default();
        // All that is to come before the end.
        crypto[0].expected = match (is_client, early) {
            (true, _) => reject + SHLO,
            (false, true) => CHLO,
            (false, false) => 2 * CHLO,
        };
        Some(Progress {
            crypto,
            sends: [is_client, false, is_client && early],
            reads: [true, false, false],
            early: is_client && early,
            asks: !is_client && config.handshake == Handshake::GoogleNegotiated,
            hello: CHLO,
            flight: [reject, SHLO],
            ..Progress::default()
        })
    }
}

impl Connection {
    /// Bytes of the handshake have arrived: what follows.
    pub(super) fn advance_google(&mut self, now: Time) {
        let progress = &mut self.progress;
        if progress.complete {
            return;
        }
        let arrived = progress.crypto[0].inc.order.next;
        let whole = arrived >= progress.crypto[0].expected;
        let [reject, hello] = progress.flight;
        match self.role {
            Role::Client => {
                if arrived >= reject && !progress.early {
                    progress.early = true;
                    progress.sends[2] = true;
                    progress.crypto[0].out.end += CHLO;
                    self.stats.ready = Some(now);
                }
                if whole {
                    self.progress.early = false;
                    self.finish_google(now);
                    self.confirm();
                    self.say_confirmed();
                }
            }
            Role::Server => {
                if arrived >= CHLO {
                    progress.sends[0] = true;
                    progress.crypto[0].out.end = reject;
                }
                if whole && !progress.complete {
                    // The full CHLO holds the address token.
                    self.paths[0].validated = true;
                    progress.crypto[0].out.end = reject + hello;
                    self.finish_google(now);
                }
            }
        }
    }

    /// SHLO has come, perhaps again: whatever goes in a 1-RTT packet tells the server.
    pub(super) fn say_confirmed(&mut self) {
        if self.is_google() && self.role == Role::Client {
            self.frames.push_back(Frame::Ping);
        }
    }

    /// Whether the handshake is Google's.
    pub(super) fn is_google(&self) -> bool {
        self.config.handshake.is_google()
    }

    fn finish_google(&mut self, now: Time) {
        self.progress.complete = true;
        (self.progress.sends[2], self.progress.reads[2]) = (true, true);
        self.establish(now);
    }
}
