//! TLS 1.2 (RFC 5246) and 1.3 (RFC 8446) over a byte stream, modelled by their cost: round trips and bytes. DTLS over
//! SCTP (RFC 6083) is the same with records that are messages: SCTP delivers each once and in order, and its cookie has
//! proved the client's address, so that neither retransmission nor HelloVerifyRequest is needed.
//!
//! Bytes are counted, not moved: the contents of records are kept in a ledger that both ends share.

mod sizes;

use crate::common::ByteStream;
use sizes::{ALERT, Part, Records, parts};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vazao_engine::Time;
use vazao_engine::registry::{Kind, Parameters, choice, parameters};

choice! {
    /// TLS version.
    pub enum Version or "none" {
        /// TLS 1.2.
        V12 = "1.2",
        /// TLS 1.3.
        V13 = "1.3",
    }
}

choice! {
    /// Type of handshake.
    pub enum Handshake {
        /// Full handshake.
        Full = "full",
        /// Resumption: the server sends no certificate.
        Resumed = "resumed",
        /// 0-RTT: the client's data goes with its first message (TLS 1.3).
        Early = "0-rtt",
    }
}

/// Maximum bytes of a handshake message, whose length has 24 bits (RFC 8446 section 4; RFC 5246 section 7.4).
pub const MAX_MESSAGE: u64 = (1 << 24) - 1;

parameters! {
    /// What a user sets of TLS, in the transport below it.
    pub struct Settings {
        pub tls: Option<Version> = Version::KIND, "none", "the TLS over it (RFC 5246, RFC 8446)";
        pub tls_handshake: Handshake = Handshake::KIND, "full",
            "round trips before the client's data: full 2 with TLS 1.2 and 1 with 1.3, resumed 1, 0-rtt (1.3 only) none";
        pub certificate: u64 = Kind::Size(100, MAX_MESSAGE), "3 kB",
            "the server's certificates in a full TLS handshake";
    }
}

parameters! {
    /// What a user sets of DTLS, in the transport below it.
    pub struct DatagramSettings {
        pub dtls: Option<Version> = Version::KIND, "none",
            "the DTLS over it, with a record in each message (RFC 6083, RFC 6347, RFC 9147)";
        pub dtls_handshake: Handshake = Handshake::KIND, "full",
            "round trips before the client's data: full 2 with DTLS 1.2 and 1 with 1.3, resumed 1, 0-rtt (1.3 only) \
             none";
        pub certificate: u64 = Kind::Size(100, MAX_MESSAGE), "3 kB",
            "the server's certificates in a full DTLS handshake";
    }
}

/// TLS configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// TLS version.
    pub version: Version,
    /// Type of handshake.
    pub handshake: Handshake,
    /// Size of the server's Certificate message in bytes.
    pub certificate: u64,
    /// Maximum bytes of data in a record of DTLS; `None`: TLS.
    pub datagram: Option<u64>,
}

impl Config {
    /// Builds the configuration from `parameters`, which were resolved from the [settings](Settings); `None` without
    /// TLS.
    ///
    /// # Errors
    /// Returns a message if TLS 1.2 is combined with early data.
    pub fn new(parameters: &Parameters) -> Result<Option<Config>, &'static str> {
        let Settings { tls, tls_handshake: handshake, certificate } = Settings::from(parameters);
        if (tls, handshake) == (Some(Version::V12), Handshake::Early) {
            return Err("TLS 1.2 has no 0-rtt handshake; write tls = \"1.3\"");
        }
        Ok(tls.map(|version| Config { version, handshake, certificate, datagram: None }))
    }

    /// Likewise for DTLS, from [its settings](DatagramSettings), with records as large as TLS's.
    ///
    /// # Errors
    /// Returns a message if DTLS 1.2 is combined with early data.
    pub fn over_messages(parameters: &Parameters) -> Result<Option<Config>, &'static str> {
        let DatagramSettings { dtls, dtls_handshake: handshake, certificate } = DatagramSettings::from(parameters);
        if (dtls, handshake) == (Some(Version::V12), Handshake::Early) {
            return Err("DTLS 1.2 has no 0-rtt handshake; write dtls = \"1.3\"");
        }
        Ok(dtls.map(|version| Config { version, handshake, certificate, datagram: Some(u64::MAX) }))
    }

    /// Bytes that an encrypted record adds to its data.
    pub fn overhead(&self) -> u64 {
        Records::new(self).overhead()
    }
}

/// Ledger entry for a write in one direction.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: EntryKind,
    /// Position in the lower stream, and of its data in the upper one.
    at: u64,
    plain_at: u64,
    /// Bytes in the lower stream, and bytes of data.
    wire: u64,
    plain: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    Flight,
    Data,
    Alert,
}

/// State of the end of the upper stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Wanted,
    /// The close_notify alert was written.
    Announced,
    Closed,
}

type Ledger = Arc<Mutex<VecDeque<Entry>>>;

fn open(ledger: &Ledger) -> MutexGuard<'_, VecDeque<Entry>> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One endpoint of a TLS connection.
#[derive(Debug)]
pub struct Session {
    records: Records,
    part: Part,
    /// Flights sent and received.
    flights: (usize, usize),
    outgoing: Ledger,
    incoming: Ledger,
    /// Bytes written to the lower and the upper stream.
    written: (u64, u64),
    /// Written bytes that the lower stream has not accepted yet.
    pending: u64,
    /// Bytes read from the lower stream, and bytes of the upper stream decrypted and read.
    taken: u64,
    opened: u64,
    read: u64,
    /// Misplacement in the lower stream, which also applies to the upper one.
    skew: u64,
    ready: Option<Time>,
    end: End,
}

impl Session {
    /// Creates both endpoints of a connection, the client's first.
    pub fn pair(config: Config) -> [Session; 2] {
        let ledgers = [Ledger::default(), Ledger::default()];
        let [client, server] = parts(&config);
        [(client, 0), (server, 1)].map(|(part, side)| Session {
            records: Records::new(&config),
            part,
            flights: (0, 0),
            outgoing: ledgers[side].clone(),
            incoming: ledgers[1 - side].clone(),
            written: (0, 0),
            pending: 0,
            taken: 0,
            opened: 0,
            read: 0,
            skew: 0,
            ready: None,
            end: End::Open,
        })
    }

    /// Time at which data could first be sent.
    pub fn ready(&self) -> Option<Time> {
        self.ready
    }

    /// Bytes of the upper stream that were read.
    pub fn read_bytes(&self) -> u64 {
        self.read
    }

    /// Returns the data in a range of the lower stream that has not been read yet, as ranges of the upper stream.
    pub fn data_in(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let (record, whole) = (self.records.size, self.records.size + self.records.overhead());
        let data = |entry: &Entry| {
            let [start, end] = [range.start, range.end].map(|at| {
                let within = at.clamp(entry.at, entry.at + entry.wire) - entry.at;
                entry.plain_at + (within / whole * record + (within % whole).min(record)).min(entry.plain)
            });
            (start < end && entry.kind == EntryKind::Data).then_some(start..end)
        };
        open(&self.incoming).iter().filter_map(data).collect()
    }

    /// Advances the handshake and writes pending bytes. Call whenever something has happened.
    pub fn pump(&mut self, now: Time, lower: &mut impl ByteStream) {
        if !lower.is_connected() {
            return;
        }
        self.open_up(0, lower);
        while let Some(flight) = self.part.flights.get(self.flights.0).filter(|f| f.after <= self.flights.1) {
            let bytes = flight.bytes;
            self.flights.0 += 1;
            self.enter(EntryKind::Flight, 0, bytes);
        }
        self.flush(lower);
        let (sent, received) = self.part.ready;
        if self.ready.is_none() && self.flights.0 >= sent && self.flights.1 >= received {
            self.ready = Some(now);
        }
    }

    /// Returns the upper stream.
    pub fn over<'a, S: ByteStream>(&'a mut self, lower: &'a mut S) -> Secured<'a, S> {
        Secured { session: self, lower }
    }

    /// Adds a write to the ledger, all of it pending.
    fn enter(&mut self, kind: EntryKind, plain: u64, wire: u64) {
        let (at, plain_at) = self.written;
        open(&self.outgoing).push_back(Entry { kind, at, plain_at, wire, plain });
        self.written = (at + wire, plain_at + plain);
        self.pending += wire;
    }

    /// Writes pending bytes; then closes if requested, after the handshake's last flight, with an alert.
    fn flush(&mut self, lower: &mut impl ByteStream) {
        if self.end == End::Wanted && self.flights.0 == self.part.flights.len() {
            self.end = End::Announced;
            self.enter(EntryKind::Alert, 0, self.records.sealed(ALERT));
        }
        if self.pending > 0 {
            self.pending -= lower.write(self.pending);
            self.end_record(lower);
        }
        if self.end == End::Announced && self.pending == 0 {
            self.end = End::Closed;
            lower.close();
        }
    }

    /// Ends the message of the last record, once it is written.
    fn end_record(&self, lower: &mut impl ByteStream) {
        if self.pending == 0 {
            lower.end_message();
        }
    }

    /// Decrypts records until `wanted` bytes beyond those read are available, or there are no more; other records in
    /// any case.
    fn open_up(&mut self, wanted: u64, lower: &mut impl ByteStream) {
        let ledger = self.incoming.clone();
        let mut entries = open(&ledger);
        while let Some(entry) = entries.front().copied() {
            let done = self.taken - entry.at;
            let (record, whole) = (self.records.size, self.records.size + self.records.overhead());
            let missing = if entry.kind == EntryKind::Data {
                let beyond = (self.read.saturating_add(wanted)).saturating_sub(self.opened);
                if beyond == 0 {
                    return;
                }
                let data = (self.opened - entry.plain_at + beyond).min(entry.plain);
                (data.div_ceil(record) * whole).min(entry.wire) - done
            } else {
                entry.wire - done
            };
            let Some(range) = lower.read_at_most(missing) else { return };
            self.skew += range.start.abs_diff(self.taken);
            self.taken = range.end;
            let done = range.end - entry.at;
            if entry.kind == EntryKind::Data {
                self.opened = entry.plain_at + if done == entry.wire { entry.plain } else { done / whole * record };
            }
            if done == entry.wire {
                self.flights.1 += usize::from(entry.kind == EntryKind::Flight);
                entries.pop_front();
            }
        }
    }
}

/// [`Session`] with its lower stream.
pub struct Secured<'a, S> {
    session: &'a mut Session,
    lower: &'a mut S,
}

impl<S: ByteStream> ByteStream for Secured<'_, S> {
    fn write(&mut self, bytes: u64) -> u64 {
        let session = &mut *self.session;
        session.flush(self.lower);
        if session.ready.is_none() || session.end != End::Open || session.pending > 0 || bytes == 0 {
            return 0;
        }
        let records = session.records;
        let taken = self.lower.write(records.sealed(bytes));
        // A record that has been started is written completely.
        let count = taken.div_ceil(records.size + records.overhead());
        let plain = bytes.min(count.saturating_mul(records.size));
        if plain > 0 {
            session.enter(EntryKind::Data, plain, records.sealed(plain));
            session.pending -= taken;
            session.end_record(self.lower);
        }
        plain
    }

    fn unsent(&self) -> u64 {
        self.session.pending + self.lower.unsent()
    }

    fn discard_unsent(&mut self) -> u64 {
        let session = &mut *self.session;
        let sent = self.lower.discard_unsent();
        session.pending = 0;
        let ledger = session.outgoing.clone();
        let mut entries = open(&ledger);
        while let Some(entry) = entries.back().filter(|entry| entry.kind == EntryKind::Data && entry.at >= sent) {
            session.written = (entry.at, entry.plain_at);
            entries.pop_back();
        }
        if let Some(last) = entries.back_mut() {
            if last.kind == EntryKind::Data {
                let records = session.records;
                let count = (sent - last.at).div_ceil(records.size + records.overhead());
                last.plain = last.plain.min(count * records.size);
                last.wire = records.sealed(last.plain);
            }
            session.written = (last.at + last.wire, last.plain_at + last.plain);
            session.pending = session.written.0.saturating_sub(sent);
        }
        drop(entries);
        session.flush(self.lower);
        session.written.1
    }

    fn read(&mut self) -> Option<Range<u64>> {
        self.read_at_most(u64::MAX)
    }

    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        let session = &mut *self.session;
        session.open_up(limit, self.lower);
        let start = session.read;
        session.read += limit.min(session.opened - start);
        (session.read > start).then_some(start + session.skew..session.read + session.skew)
    }

    fn close(&mut self) {
        if self.session.end == End::Open {
            self.session.end = End::Wanted;
            self.session.flush(self.lower);
        }
    }

    fn is_connected(&self) -> bool {
        self.session.ready.is_some()
    }

    fn peer_closed(&self) -> bool {
        self.lower.peer_closed() && self.session.opened == self.session.read
    }
}
