//! Handshake of Google's QUIC before TLS 1.3 (*QUIC Crypto*, Langley and Chang, 2013 to 2016). The client's hello,
//! CHLO, is rejected with REJ until it contains the server's configuration and proof; a full CHLO is answered with
//! SHLO. Here these messages go in Initial packets, and the client's data before SHLO in 0-RTT packets. A server that
//! does not support the version of the first CHLO answers with a Version Negotiation packet, which is modelled as a
//! Retry: it keeps no state, and the client starts over.

use super::handshake::{Crypto, Progress};
use super::*;
use crate::quic::config::Handshake;

/// Size of a CHLO, which is padded to limit amplification (kClientHelloMinimumSize).
const CHLO: u64 = 1024;
/// Size of a REJ without the certificates (compressed, as in TLS since): server configuration, RSA-2048 proof, address
/// token, nonce and tags.
const REJ: u64 = 170 + 256 + 60 + 60 + 80;
/// Size of an SHLO: ephemeral key, nonce and transport parameters of the server.
const SHLO: u64 = 220;

impl Progress {
    /// Initial state of Google's handshake, or `None` for another handshake.
    pub(super) fn of_google(config: &Config, is_client: bool) -> Option<Progress> {
        let (early, reject) = match config.handshake {
            Handshake::GoogleEarly => (true, 0),
            google if google.is_google() => (false, REJ + config.certificate),
            _ => return None,
        };
        let mut crypto: [Crypto; 3] = Default::default();
        // All bytes expected until the handshake completes.
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
            asks: !is_client && config.handshake.negotiates_version(),
            hello: CHLO,
            flight: [reject, SHLO],
            ..Progress::default()
        })
    }
}

impl Connection {
    /// Advances the handshake after CRYPTO data has arrived.
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
                if arrived >= reject && !progress.early && progress.crypto[0].out.end <= CHLO {
                    progress.crypto[0].out.end += CHLO;
                    if self.config.handshake != Handshake::GoogleCautious {
                        progress.early = true;
                        progress.sends[2] = true;
                        self.stats.ready = Some(now);
                    }
                }
                if whole {
                    self.progress.early = false;
                    self.finish_google(now);
                    self.confirm();
                    self.send_confirmation();
                }
            }
            Role::Server => {
                if arrived >= CHLO {
                    progress.sends[0] = true;
                    progress.crypto[0].out.end = reject;
                }
                if whole && !progress.complete {
                    // The full CHLO contains the address token.
                    self.paths[0].validated = true;
                    progress.crypto[0].out.end = reject + hello;
                    self.finish_google(now);
                }
            }
        }
    }

    /// Handles SHLO, possibly repeated: any 1-RTT packet confirms it to the server.
    pub(super) fn send_confirmation(&mut self) {
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
