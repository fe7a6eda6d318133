//! Paths (RFC 9000 sections 8.2 and 9): the client's address changes, by its own will or a NAT's, and the new one is validated.

use super::*;
use crate::quic::identifiers::Identifiers;
use crate::quic::packet::{Address, Datagram};

/// A path on its way to being validated.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// What is to come back (section 8.2.1), how often it was sent, and when it is sent again or given up.
    challenge: u64,
    sent: u32,
    again_at: Time,
    /// Where to go back to.
    before: Address,
}

/// Challenges that are sent before an address is given up.
const CHALLENGES: u32 = 3;

/// What a side knows of the client's addresses.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// Where the client is, as this side knows it.
    pub current: Address,
    pub identifiers: Identifiers,
    trial: Option<Trial>,
    /// Frames that belong to one address: PATH_CHALLENGE and PATH_RESPONSE.
    pub frames: VecDeque<(Address, Frame)>,
    /// The client's: what a NAT has made of each interface's address, and how many addresses there were in all.
    mapped: Vec<u8>,
    addresses: u8,
    /// How many of the changes have happened.
    changed: usize,
    challenges: u64,
    /// The highest number of a packet that was no mere probe of a path (section 9.3).
    highest: u64,
}

impl Paths {
    pub fn new() -> Paths {
        Paths {
            current: Address::default(),
            identifiers: Identifiers::new(),
            trial: None,
            frames: VecDeque::new(),
            mapped: vec![0],
            addresses: 1,
            changed: 0,
            challenges: 0,
            highest: 0,
        }
    }

    /// The address of one of the client's interfaces.
    fn address(&mut self, way: u8) -> Address {
        while self.mapped.len() <= usize::from(way) {
            self.mapped.push(self.addresses);
            self.addresses += 1;
        }
        Address { way, number: self.mapped[usize::from(way)] }
    }
}

impl Connection {
    /// When the next change happens, or a challenge is to be sent again.
    pub(super) fn next_change(&self) -> Time {
        let trial = self.paths.trial.map_or(Time::NEVER, |trial| trial.again_at);
        let change = self.stats.established.filter(|_| self.role == Role::Client && self.progress.confirmed);
        let change = change.and_then(|since| Some(since + self.config.changes.get(self.paths.changed)?.at));
        trial.min(change.unwrap_or(Time::NEVER))
    }

    /// What is due of that.
    pub(super) fn on_change_due(&mut self, now: Time) {
        if self.paths.trial.is_some_and(|trial| trial.again_at <= now) {
            self.challenge_again(now);
        }
        while let Some(change) = self.config.changes.get(self.paths.changed)
            && self.role == Role::Client
            && self.progress.confirmed
            && self.stats.established.is_some_and(|since| since + change.at <= now)
        {
            let (what, way) = (change.what, (change.which - 1) as u8);
            self.paths.changed += 1;
            match what {
                "rebind" => self.rebind(way),
                _ => self.migrate(now, way),
            }
        }
    }

    /// A NAT forgets what it has made of an address, and makes something else of it from now on. Nobody tells the client.
    fn rebind(&mut self, way: u8) {
        self.paths.address(way);
        self.paths.mapped[usize::from(way)] = self.paths.addresses;
        self.paths.addresses += 1;
        if self.paths.current.way == way {
            self.paths.current = self.paths.address(way);
        }
    }

    /// The client goes to another interface (section 9.2): with another identifier, and a path of which nothing is known.
    fn migrate(&mut self, now: Time, way: u8) {
        let before = self.paths.current;
        self.paths.current = self.paths.address(way);
        if before == self.paths.current {
            return;
        }
        self.change_identifier();
        self.start_trial(now, before);
        self.start_anew(now);
        // Something that is no probe has to tell the server, whoever has data to send.
        self.frames.push_back(Frame::Ping);
    }

    /// Whether a datagram reaches this side: a NAT lets nothing in for an address that it has forgotten.
    pub(super) fn reaches(&self, address: Address) -> bool {
        self.role == Role::Server || self.paths.mapped.get(usize::from(address.way)) == Some(&address.number)
    }

    /// A packet of the data space has come from an address. Where it is not the client's so far, and newer than all before, the
    /// client has moved (section 9.3), unless the packet only probes.
    #[inline]
    pub(super) fn heed_address(&mut self, now: Time, datagram: &Datagram, number: u64, frames: &[Frame]) {
        if self.role == Role::Client || number < self.paths.highest {
            return;
        }
        if datagram.address != self.paths.current {
            return self.heed_move(now, datagram, number, frames);
        }
        self.paths.highest = number;
    }

    #[cold]
    fn heed_move(&mut self, now: Time, datagram: &Datagram, number: u64, frames: &[Frame]) {
        let probes = |frame: &Frame| {
            matches!(
                frame,
                Frame::PathChallenge(_) | Frame::PathResponse(_) | Frame::NewConnectionId(..) | Frame::Padding(_)
            )
        };
        if frames.iter().all(probes) || !self.progress.complete {
            return;
        }
        let (before, from) = (self.paths.current, datagram.address);
        self.paths.highest = number;
        self.paths.current = from;
        self.stats.migrations += 1;
        // Section 8.1's limit holds of the new address.
        (self.progress.validated, self.progress.received, self.progress.sent) = (false, u64::from(datagram.bytes), 0);
        if from.way != before.way {
            self.change_identifier();
            self.start_anew(now);
        }
        self.start_trial(now, before);
    }

    /// Another of the peer's identifiers is used from now on.
    fn change_identifier(&mut self) {
        if let Some(old) = self.paths.identifiers.change() {
            self.frames.push_back(Frame::RetireConnectionId(old));
        }
    }

    /// Nothing is known of a new path (section 9.4): what is under way on the old one counts no more.
    fn start_anew(&mut self, now: Time) {
        self.control = (self.config.control)(u64::from(self.config.datagram), self.seed);
        self.follow_control();
        self.recovery.forget_path(self.config.initial_rtt);
        self.path_since = now;
        self.marking = Marking::new(self.config.ecn.unwrap_or_else(|| self.control.wants_marks()));
        (self.cut_at, self.last_cut) = (None, None);
        self.pacer = Pacer::default();
    }

    fn start_trial(&mut self, now: Time, before: Address) {
        let before = self.paths.trial.map_or(before, |trial| trial.before);
        self.paths.trial = Some(Trial { challenge: 0, sent: 0, again_at: now, before });
        self.challenge_again(now);
    }

    /// A challenge is sent, for the first time or again, each with data of its own; or the address is given up for the one before
    /// (section 9.3.2).
    fn challenge_again(&mut self, now: Time) {
        let wait = self.recovery.pto(Space::Data).max(self.config.initial_rtt);
        // One that could not be sent is as good as lost, wherever it was to go.
        self.paths.frames.retain(|(_, frame)| !matches!(frame, Frame::PathChallenge(_)));
        let Some(trial) = &mut self.paths.trial else { return };
        if trial.sent == CHALLENGES {
            let before = trial.before;
            self.paths.trial = None;
            self.paths.current = if self.role == Role::Client { self.paths.address(before.way) } else { before };
            self.progress.validated = true;
            self.start_anew(now);
            self.change_at = self.next_change();
            return;
        }
        self.paths.challenges += 1;
        (trial.challenge, trial.sent, trial.again_at) = (self.paths.challenges, trial.sent + 1, now + wait);
        let frame = Frame::PathChallenge(trial.challenge);
        self.paths.frames.push_back((self.paths.current, frame));
        self.change_at = self.next_change();
    }

    /// Frames that rule paths; `from`: the address that they came from.
    pub(super) fn on_path_ruled(&mut self, now: Time, from: Address, frame: Frame) {
        match frame {
            // Section 8.2.2: answered where it came from.
            Frame::PathChallenge(data) => {
                self.paths.frames.push_back((from, Frame::PathResponse(data)));
            }
            Frame::PathResponse(data) if self.paths.trial.is_some_and(|trial| trial.challenge == data) => {
                self.paths.trial = None;
                self.progress.validated = true;
                self.change_at = self.next_change();
                self.arm(now);
            }
            Frame::NewConnectionId(number, _) => self.paths.identifiers.on_new(number),
            Frame::RetireConnectionId(number) => {
                self.paths.identifiers.on_retired(number);
                self.issue_identifiers();
            }
            _ => {}
        }
    }

    /// The peer gets as many identifiers as it may have.
    pub(super) fn issue_identifiers(&mut self) {
        while let Some(number) = self.paths.identifiers.issue() {
            self.frames.push_back(Frame::NewConnectionId(number, 0));
        }
    }
}
