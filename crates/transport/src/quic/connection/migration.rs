//! Path validation and migration (RFC 9000 sections 8.2 and 9), caused by the client or by a NAT.

use super::path::Stage;
use super::path::Validation;
use super::*;
use crate::quic::nat::Nat;
use crate::quic::packet::{Address, Datagram};

/// PATH_CHALLENGEs sent before validation fails.
const CHALLENGES: u32 = 3;

/// State of the client's addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses {
    /// NAT in front of the client.
    pub nat: Nat,
    /// Number of address changes applied.
    changed: usize,
    challenges: u64,
    /// Bitmask of the client's interfaces that are gone.
    gone: u64,
}

impl Addresses {
    /// Whether an interface of the client is available, as far as this side knows.
    #[inline]
    pub fn is_available(&self, interface: u8) -> bool {
        self.gone & 1 << interface == 0
    }

    pub fn set_available(&mut self, interface: u8, available: bool) {
        self.gone = self.gone & !(1 << interface) | u64::from(!available) << interface;
    }
}

impl Connection {
    /// Time of the next address change or path challenge.
    pub(super) fn next_change(&self) -> Time {
        let validations = self.paths.iter().filter_map(|path| path.validation);
        let validation = validations.map(|validation| validation.next_challenge).min().unwrap_or(Time::NEVER);
        let change = self.stats.established.filter(|_| self.role == Role::Client && self.progress.confirmed);
        let change = change.and_then(|since| Some(since + self.config.changes.get(self.addresses.changed)?.at));
        validation.min(change.unwrap_or(Time::NEVER)).min(self.next_try())
    }

    /// Handles due address changes and path challenges.
    pub(super) fn on_change_due(&mut self, now: Time) {
        self.manage_paths(now);
        for path in 0..self.paths.len() {
            if self.paths[path].validation.is_some_and(|validation| validation.next_challenge <= now) {
                self.send_challenge(now, path);
            }
        }
        while let Some(change) = self.config.changes.get(self.addresses.changed)
            && self.role == Role::Client
            && self.progress.confirmed
            && self.stats.established.is_some_and(|since| since + change.at <= now)
        {
            let (what, interface) = (change.what, (change.which - 1) as u8);
            self.addresses.changed += 1;
            match what {
                "migrate" => self.migrate(now, interface),
                "remove" => self.remove_interface(now, interface),
                "add" => self.restore_interface(now, interface),
                "backup" => self.set_backup(interface, true),
                "regular" => self.set_backup(interface, false),
                what => self.rebind(interface, what == "rebind_address"),
            }
        }
    }

    /// Rebinds the NAT's mapping of an address; the client is not told.
    fn rebind(&mut self, interface: u8, moves: bool) {
        let address = self.addresses.nat.rebind(interface, moves);
        for path in self.paths.iter_mut().filter(|path| path.address.interface == interface) {
            path.address = address;
        }
    }

    /// Migrates the client to another interface (section 9.2), with another connection ID and an unknown path.
    fn migrate(&mut self, now: Time, interface: u8) {
        let address = self.addresses.nat.of(interface);
        let before = std::mem::replace(&mut self.paths[0].address, address);
        if before == address {
            return;
        }
        self.change_identifier(0);
        self.paths[0].reset_properties(self.seed);
        self.start_validation(now, 0, before);
        // The server must receive a non-probing packet, whichever side has data to send.
        self.frames.push_back(Frame::Ping);
    }

    /// Whether a datagram reaches this side: a NAT blocks datagrams for addresses that it has forgotten.
    pub(super) fn reaches(&self, address: Address) -> bool {
        self.role == Role::Server
            || self.addresses.nat.admits(address) && self.addresses.is_available(address.interface)
    }

    /// Detects migration of the client: a non-probing packet in the data space, newer than all before, arrived from
    /// another address (section 9.3).
    #[inline]
    pub(super) fn check_address(&mut self, now: Time, path: usize, datagram: &Datagram, number: u64, frames: &[Frame]) {
        let known = &mut self.paths[path];
        if self.role == Role::Client || number < known.highest {
            return;
        }
        if datagram.address != known.address {
            return self.on_migration(now, path, datagram, number, frames);
        }
        known.highest = number;
    }

    #[cold]
    fn on_migration(&mut self, now: Time, path: usize, datagram: &Datagram, number: u64, frames: &[Frame]) {
        let probes = |frame: &Frame| {
            matches!(
                frame,
                Frame::PathChallenge(_)
                    | Frame::PathResponse(_)
                    | Frame::NewConnectionId(..)
                    | Frame::PathNewConnectionId { .. }
                    | Frame::Padding(_)
            )
        };
        if frames.iter().all(probes) || !self.progress.complete {
            return;
        }
        let moved = &mut self.paths[path];
        let (before, from) = (moved.address, datagram.address);
        (moved.highest, moved.address) = (number, from);
        self.stats.migrations += 1;
        // A return to a validated address (section 9.3); elsewhere section 8.1's limit applies.
        let returns =
            moved.stage == Stage::Open && moved.validation.is_some_and(|validation| validation.before == from);
        (moved.validated, moved.received, moved.sent) = (returns, u64::from(datagram.bytes), 0);
        if from.interface != before.interface {
            self.change_identifier(path);
        }
        if (from.interface, from.host) != (before.interface, before.host) {
            self.paths[path].reset_properties(self.seed);
        }
        if returns {
            return self.end_validation(path);
        }
        self.start_validation(now, path, before);
        if self.paths[path].stage == Stage::Open {
            self.challenge_previous_address(path);
        }
    }

    /// Completes validation of the client's address.
    pub(super) fn end_validation(&mut self, path: usize) {
        let known = &mut self.paths[path];
        (known.validation, known.validated) = (None, true);
        known.answers.retain(|(_, frame)| !matches!(frame, Frame::PathChallenge(_)));
        self.change_at = self.next_change();
    }

    /// Also validates the previous address, since the migration may be spurious, caused by an attacker who forwards
    /// packets: the client answers there if it has not moved (section 9.3.3).
    fn challenge_previous_address(&mut self, path: usize) {
        let Some(before) = self.paths[path].validation.map(|validation| validation.before) else { return };
        self.addresses.challenges += 1;
        let frame = Frame::PathChallenge(self.addresses.challenges);
        self.paths[path].answers.push_back((before, frame));
    }

    /// Switches to another connection ID of the peer.
    fn change_identifier(&mut self, path: usize) {
        if let Some(old) = self.paths[path].identifiers.change() {
            self.frames.push_back(match path {
                0 => Frame::RetireConnectionId(old),
                _ => Frame::PathRetireConnectionId { path: path as u8, number: old },
            });
        }
    }

    pub(super) fn start_validation(&mut self, now: Time, path: usize, before: Address) {
        let tried = &mut self.paths[path];
        let before = tried.validation.map_or(before, |validation| validation.before);
        tried.validation = Some(Validation { challenge: 0, sent: 0, next_challenge: now, before });
        self.send_challenge(now, path);
    }

    /// Sends the next PATH_CHALLENGE, or, after the last one, reverts to the previous address (section 9.3.2).
    fn send_challenge(&mut self, now: Time, path: usize) {
        let tried = &mut self.paths[path];
        // No more often than an Initial packet (section 8.2.1), and three times as long in all (section 8.2.4).
        let wait = tried.recovery.pto(Space::Data).max(self.config.initial_rtt * 3);
        // A challenge that could not be sent counts as lost.
        tried.answers.retain(|(_, frame)| !matches!(frame, Frame::PathChallenge(_)));
        let Some(validation) = &mut tried.validation else { return };
        if validation.sent == CHALLENGES {
            if tried.stage == Stage::Opening {
                return self.on_unanswered(now, path);
            }
            let before = validation.before;
            tried.validation = None;
            tried.address = if self.role == Role::Client { self.addresses.nat.of(before.interface) } else { before };
            tried.validated = true;
            self.paths[path].reset_properties(self.seed);
            self.change_at = self.next_change();
            return;
        }
        self.addresses.challenges += 1;
        (validation.challenge, validation.sent, validation.next_challenge) =
            (self.addresses.challenges, validation.sent + 1, now + wait);
        let frame = Frame::PathChallenge(validation.challenge);
        tried.answers.push_back((tried.address, frame));
        self.change_at = self.next_change();
    }

    /// Handles frames about a path that came from address `from`.
    pub(super) fn on_path_frame(&mut self, now: Time, path: usize, from: Address, frame: Frame) {
        let ruled = &mut self.paths[path];
        match frame {
            // Answering from an address that the client has left on purpose would link the two (section 9.5).
            Frame::PathChallenge(_) if self.role == Role::Client && from.interface != ruled.address.interface => {}
            // Section 8.2.2: the response goes to the address that the challenge came from.
            Frame::PathChallenge(data) => {
                ruled.answers.push_back((from, Frame::PathResponse(data)));
                if self.role == Role::Client {
                    // Section 9.3.3: a non-probing packet ensures that nobody else is taken for this side.
                    self.frames.push_back(Frame::Ping);
                }
            }
            Frame::PathResponse(data) if ruled.validation.is_some_and(|validation| validation.challenge == data) => {
                self.on_validated(now, path);
            }
            Frame::NewConnectionId(number, _) => self.paths[0].identifiers.on_new(number),
            Frame::RetireConnectionId(number) => {
                self.paths[0].identifiers.on_retired(number);
                self.issue_identifiers(0);
            }
            _ => {}
        }
    }
}
