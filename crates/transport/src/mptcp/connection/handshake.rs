//! Handshake options MP_CAPABLE and MP_JOIN (RFC 8684 sections 3.1 and 3.2) and address advertisement (section 3.4).

use super::subflows::MAX_SUBFLOWS;
use super::*;
use crate::mptcp::keys::{Secret, address_hmac, truncate};
use crate::tcp::multipath::{Announced, Multipath, Signal, reason};
use crate::tcp::{Flags, Segment};

impl Connection {
    /// Option of a SYN, or of a SYN-ACK if it `answers`.
    pub(super) fn syn_signal(&self, number: usize, answers: bool) -> Option<Signal> {
        let subflow = &self.subflows[number];
        let (key, checksum) = (self.identity.key, self.checksum);
        if self.mode == Mode::Fallback {
            return None;
        }
        if !subflow.joins {
            return Some(Signal::Capable { key: answers.then_some(key), peer: None, length: None, checksum });
        }
        let pair = self.identity.pairs[usize::from(subflow.tuple.pair)];
        let (backup, nonce) = (subflow.backup, subflow.nonces[0]);
        Some(if answers {
            let [own, peer] = self.secrets(number)?;
            let hmac = truncate(HASH.join_hmac(own, peer));
            Signal::JoinAnswer { backup, address: self.announced(pair.server).identifier, hmac, nonce }
        } else {
            Signal::Join {
                backup,
                address: self.announced(pair.client).identifier,
                token: HASH.token(self.peer_key?),
                nonce,
            }
        })
    }

    /// MP_JOIN option by which the client of a joining subflow proves that it knows the keys.
    pub(super) fn proof(&self, number: usize) -> Option<Signal> {
        let [own, peer] = self.secrets(number)?;
        Some(Signal::JoinProof(HASH.join_hmac(own, peer)))
    }

    /// Keys and nonces of both sides in a subflow's handshake, if known.
    fn secrets(&self, number: usize) -> Option<[Secret; 2]> {
        let [own, peer] = self.subflows[number].nonces;
        Some([Secret { key: self.identity.key, nonce: own }, Secret { key: self.peer_key?, nonce: peer }])
    }

    /// Handles a SYN with MP_JOIN; returns the number of the new subflow, if the SYN is acceptable.
    pub(super) fn admit(&mut self, tuple: Tuple, segment: &Segment, signal: &Option<Signal>) -> Option<usize> {
        let &Some(Signal::Join { backup, token, nonce, .. }) = signal else { return None };
        let is_new = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let is_ours = self.role == Role::Server && token == HASH.token(self.identity.key) && self.peer_key.is_some();
        let is_over = self.closing || self.failure.is_some() || self.mode == Mode::Fallback;
        let is_possible = usize::from(tuple.pair) < self.identity.pairs.len() && self.subflows.len() < MAX_SUBFLOWS;
        if !is_new || !is_ours || is_over || !is_possible {
            return None;
        }
        let tcp = tcp::Connection::listen(self.config.tcp.clone(), self.iss(tuple.port));
        let number = self.add_subflow(tcp, tuple, true);
        let subflow = &mut self.subflows[number];
        subflow.nonces[1] = nonce;
        subflow.backup |= backup;
        self.backups |= backup;
        Some(number)
    }

    /// Processes the option of a handshake segment before TCP does; returns whether TCP may process the segment.
    pub(super) fn handle_handshake(
        &mut self,
        now: Time,
        number: usize,
        segment: &Segment,
        Multipath { dss, signal, .. }: &Multipath,
    ) -> bool {
        let subflow = &self.subflows[number];
        let (syn, ack) = (segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK));
        if segment.flags.has(Flags::RST) || self.mode == Mode::Fallback {
            return true;
        }
        if subflow.joins {
            return self.handle_join(now, number, syn, signal);
        }
        if let &Some(Signal::Capable { checksum, .. }) = signal {
            // Checksums are used if either side requires them (RFC 8684 section 3.1).
            self.checksum |= checksum && syn;
        }
        match *signal {
            Some(Signal::Capable { key: Some(key), .. }) => self.set_peer_key(key),
            Some(Signal::Capable { key: None, .. }) => {}
            // A SYN without the option: the peer does not support it, or a middlebox removed it.
            _ if syn && (ack || self.role == Role::Server) => self.fall_back(),
            // The third ACK and the first data segment were lost; they will be retransmitted.
            _ if self.role == Role::Server && dss.is_some() && self.peer_key.is_none() => return false,
            // A third ACK without any option also means fallback.
            _ if self.role == Role::Server && ack && self.peer_key.is_none() => self.fall_back(),
            _ => {}
        }
        true
    }

    fn handle_join(&mut self, now: Time, number: usize, syn: bool, signal: &Option<Signal>) -> bool {
        if let &Some(Signal::JoinAnswer { backup, nonce, .. }) = signal {
            let subflow = &mut self.subflows[number];
            subflow.nonces[1] = nonce;
            subflow.backup |= backup;
            self.backups |= backup;
        }
        let Some([own, peer]) = self.secrets(number) else { return false };
        let valid = match (*signal, self.role) {
            (Some(Signal::JoinAnswer { hmac, .. }), Role::Client) if syn => hmac == truncate(HASH.join_hmac(peer, own)),
            (Some(Signal::JoinProof(shown)), Role::Server) => {
                // A repeated proof means that the fourth ACK was lost.
                self.subflows[number].tcp.acknowledge_now();
                shown == HASH.join_hmac(peer, own)
            }
            // A retransmitted SYN, or a later segment; nothing is accepted without the proof.
            (Some(Signal::Join { .. }), Role::Server) => true,
            _ => !syn && self.subflows[number].stage != Stage::Opening,
        };
        if !valid {
            self.reset(now, number, Signal::Reset(reason::MPTCP));
        }
        valid
    }

    fn set_peer_key(&mut self, key: u64) {
        if self.peer_key.is_none() {
            self.peer_key = Some(key);
            self.first[1] = HASH.initial_data_sequence(key).wrapping_add(1);
        }
    }

    /// Falls back to plain TCP on the only subflow.
    pub(super) fn fall_back(&mut self) {
        self.mode = Mode::Fallback;
        self.unannounced = 0;
        self.stop_timers();
    }

    /// Falls back to plain TCP on subflow `number` in mid-connection. This requires that it is the only one and that
    /// its octets correspond to the data at a constant offset, both those in flight and those received. Returns whether
    /// it succeeded.
    pub(super) fn fall_back_to(&mut self, number: usize) -> bool {
        let subflow = &self.subflows[number];
        let alone = self.subflows.iter().filter(|subflow| !subflow.is_gone()).count() == 1 && !subflow.is_gone();
        let shifts =
            (subflow.data_offset(self.outbox.una, self.outbox.nxt), self.inbox.data_offset(subflow.tcp.read_octet()));
        let whole = self.outbox.next_reinjection().is_none_or(|piece| self.is_tried_by_all(&piece));
        let (true, (Some(own), Some(peer))) = (alone && whole, shifts) else { return false };
        self.fall_back();
        self.data_offsets = [own, peer];
        self.infinite_mapping_due = self.confirmed;
        true
    }

    /// Subflow of a connection that has fallen back.
    pub(super) fn fallback_subflow(&self) -> usize {
        self.subflows.iter().position(|subflow| !subflow.is_gone()).unwrap_or(0)
    }

    /// Connection-level acknowledgement after a fallback.
    #[cold]
    pub(super) fn infinite_una(&self, number: usize, acknowledgment: u32) -> Option<u64> {
        let octet = self.subflows[number].tcp.sent_octet(acknowledgment);
        Some(self.data_offsets[0].wrapping_add(octet.checked_sub(1)?))
    }

    /// Records that the peer uses Multipath TCP options beyond the handshake.
    pub(super) fn confirm(&mut self, now: Time) {
        if self.confirmed {
            return;
        }
        self.confirmed = true;
        if self.role == Role::Server {
            if self.config.manager.0.announces {
                let servers = self.identity.pairs.iter().fold(0, |all, pair| all | 1_u64 << pair.server);
                self.unannounced = servers & !self.known;
                self.announce(now);
            }
        } else {
            // A server may refuse joins before it has received a DSS option.
            self.subflows[0].tcp.acknowledge_now();
            self.manage_paths();
        }
    }

    /// Address of ours as named in options.
    pub(super) fn announced(&self, number: u8) -> Announced {
        let AddressPair { client, server, .. } = self.identity.pairs[0];
        let first = if self.role == Role::Client { client } else { server };
        Announced { number, identifier: if number == first { 0 } else { number + 1 } }
    }

    /// Advertises the server's other addresses, repeatedly until each was echoed.
    pub(super) fn announce(&mut self, now: Time) {
        self.announce_at = Time::NEVER;
        let Some(by) = self.subflows.iter().position(Subflow::is_open).filter(|_| self.unannounced != 0) else {
            return;
        };
        self.subflows[by].signals.retain(|signal| !matches!(signal, Signal::AddAddress { hmac: Some(_), .. }));
        for number in (0..64_u8).filter(|&number| self.unannounced & 1 << number != 0) {
            let address = self.announced(number);
            let hmac = Some(self.address_proof(Role::Server, address));
            self.subflows[by].signals.push_back(Signal::AddAddress { address, hmac });
        }
        self.subflows[by].tcp.acknowledge_now();
        self.pollable |= 1 << by;
        self.announce_at = now + self.subflows[by].tcp.rtt().rto();
    }

    /// HMAC that authenticates an advertised address (RFC 8684 section 3.4.1).
    fn address_proof(&self, of: Role, address: Announced) -> u64 {
        let (own, peer) = (self.identity.key, self.peer_key.unwrap_or(0));
        let [sender, receiver] = if of == self.role { [own, peer] } else { [peer, own] };
        let ip = self.identity.addresses[of as usize].get(usize::from(address.number)).copied().unwrap_or_default();
        address_hmac(sender, receiver, address.identifier, ip, None)
    }

    /// Processes any other option of the peer. An address with a wrong HMAC is ignored.
    pub(super) fn handle_signal(&mut self, now: Time, number: usize, signal: Signal) {
        match signal {
            Signal::AddAddress { address, hmac: None } => self.unannounced &= !(1 << address.number),
            Signal::AddAddress { address, hmac: Some(hmac) }
                if hmac == self.address_proof(self.role.peer(), address) =>
            {
                if self.role == Role::Client {
                    self.known |= 1 << address.number;
                }
                let subflow = &mut self.subflows[number];
                subflow.signals.push_back(Signal::AddAddress { address, hmac: None });
                subflow.tcp.acknowledge_now();
                self.pollable |= 1 << number;
                self.manage_paths();
            }
            Signal::RemoveAddress(address) => self.forget_address(now, address.number),
            Signal::Priority { backup } => {
                self.subflows[number].backup = backup;
                self.backups |= backup;
                self.refresh(now, number);
            }
            // A repeated proof: the fourth ACK was lost.
            Signal::JoinProof(_) => self.subflows[number].tcp.acknowledge_now(),
            // If sent with a reset, the subflow is closed already.
            Signal::Fail(_) if self.mode == Mode::Multipath && !self.subflows[number].is_gone() => {
                self.on_fail(now, number)
            }
            Signal::FastClose(key) if key == self.identity.key => self.fail(Failure::Reset),
            _ => {}
        }
    }

    /// Handles MP_FAIL: the peer received altered data on the only subflow and has fallen back.
    #[cold]
    fn on_fail(&mut self, now: Time, number: usize) {
        if !self.fall_back_to(number) {
            self.reset(now, number, Signal::Reset(reason::MIDDLEBOX));
        }
    }

    /// Resets the subflows of a peer address that was removed.
    fn forget_address(&mut self, now: Time, address: u8) {
        for number in 0..self.subflows.len() {
            let pair = self.identity.pairs[usize::from(self.subflows[number].tuple.pair)];
            let theirs = if self.role == Role::Client { pair.server } else { pair.client };
            if theirs == address && !self.subflows[number].is_gone() {
                self.reset(now, number, Signal::Reset(reason::UNSPECIFIED));
            }
        }
        if self.role == Role::Client {
            self.known &= !(1 << address);
        }
    }
}
