//! One end of a connection: an endpoint of the library with a single connection.

mod streams;

use crate::clock::{duration, instant, time};
use crate::content::Content;
use crate::nat::Nat;
use crate::records::Records;
use crate::secrets::Secrets;
use crate::watch::Watch;
use crate::{chance, config, identity, nat};
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, ReadError,
    StreamEvent, StreamId, Transmit, VarInt,
};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use streams::Bidirectional;
use vazao_engine::{Ecn, Histogram, Time};
use vazao_transport::ByteStream;
use vazao_transport::library::{Datagram, Library, Plan, Report};
use vazao_transport::quic::Address;
use vazao_wire::content;

/// One end of a connection. As a [`ByteStream`] it is two unidirectional streams, one each way, so that either side may begin.
pub struct Connection {
    is_client: bool,
    endpoint: Endpoint,
    pub(crate) connection: Option<(ConnectionHandle, quinn_proto::Connection)>,
    /// A client's settings, until it connects.
    client_config: Option<ClientConfig>,
    /// Whether a server validates its client's address first (RFC 9000 section 8.1.2).
    retries: bool,
    /// Whether data waits for the end of the handshake. A server's does, as it is the application's answer, unless the client
    /// sends early data.
    waits: bool,
    /// The client's addresses. A server learns them from what arrives.
    nat: Nat,
    chance: vazao_engine::RandomStream,
    watch: Arc<Mutex<Watch>>,
    secrets: Arc<Secrets>,
    records: Records,
    now: Time,
    due: Time,
    /// Datagrams of the endpoint itself.
    answers: VecDeque<Datagram>,
    out: Outgoing,
    pub(crate) inc: Incoming,
    pub(crate) bidi: Bidirectional,
    ready: Option<Time>,
    failure: Option<String>,
    over: bool,
}

/// The stream to the peer.
#[derive(Default)]
struct Outgoing {
    id: Option<StreamId>,
    content: Content,
    /// Bytes taken from the application, and the part that the library has taken: less only after early data was rejected.
    written: u64,
    given: u64,
    closed: bool,
    /// Whether the library knows that the stream is closed.
    finished: bool,
    /// Whether everything was acknowledged.
    acknowledged: bool,
}

/// The stream from the peer.
#[derive(Default)]
pub(crate) struct Incoming {
    id: Option<StreamId>,
    read: u64,
    ended: bool,
    pub misplaced: u64,
}

impl Connection {
    /// Makes an end. A client connects with the first call of `handle_timeout`.
    fn new(plan: &Plan, mut chance: vazao_engine::RandomStream, role: Role) -> Result<Connection, String> {
        let (side, client_config, server_config, watch) = match role {
            Role::Client(config, watch) => (0, Some(config), None, watch),
            Role::Server(config, watch) => (1, None, Some(config), watch),
        };
        let handshake = plan.parameters.text("handshake");
        let datagram = plan.parameters.integer("datagram") as u16;
        let endpoint = chance::with(&mut chance, || {
            Ok::<_, String>(Endpoint::new(config::endpoint(datagram)?, server_config, true, None))
        })?;
        Ok(Connection {
            is_client: side == 0,
            endpoint,
            connection: None,
            client_config,
            retries: handshake == "retry",
            waits: side == 1 && handshake != "0-rtt",
            nat: Nat::new(plan.parameters.schedule("changes")),
            chance,
            watch,
            secrets: Arc::default(),
            records: Records::default(),
            now: Time::ZERO,
            due: Time::NEVER,
            answers: VecDeque::new(),
            out: Outgoing::default(),
            inc: Incoming::default(),
            bidi: Bidirectional::default(),
            ready: None,
            failure: None,
            over: false,
        })
    }

    /// Connects, if this is a client that has not yet.
    fn connect(&mut self, now: Time) {
        let Some(config) = self.client_config.take() else { return };
        let endpoint = &mut self.endpoint;
        let connect = || endpoint.connect(instant(now), config, nat::server(), identity::NAME);
        match chance::with(&mut self.chance, connect) {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => self.fail(error.to_string()),
        }
        self.handle_events(now);
    }

    /// Handles what the endpoint made of a datagram. Its own answers are in `buffer`.
    fn route(&mut self, now: Time, event: DatagramEvent, mut buffer: Vec<u8>) {
        let endpoint = &mut self.endpoint;
        match event {
            DatagramEvent::ConnectionEvent(handle, event) => {
                if let Some((own, connection)) = &mut self.connection
                    && *own == handle
                {
                    chance::with(&mut self.chance, || connection.handle_event(event));
                }
            }
            DatagramEvent::Response(transmit) => self.queue(buffer, &transmit),
            DatagramEvent::NewConnection(incoming) if self.connection.is_some() => endpoint.ignore(incoming),
            DatagramEvent::NewConnection(incoming) if self.retries && incoming.may_retry() => {
                let retried = chance::with(&mut self.chance, || endpoint.retry(incoming, &mut buffer));
                if let Ok(transmit) = retried {
                    self.queue(buffer, &transmit);
                }
            }
            DatagramEvent::NewConnection(incoming) => {
                let accept =
                    || endpoint.accept(incoming, instant(now), &mut buffer, None).map_err(|error| error.response);
                match chance::with(&mut self.chance, accept) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(Some(transmit)) => self.queue(buffer, &transmit),
                    Err(None) => {}
                }
            }
        }
    }

    fn queue(&mut self, mut payload: Vec<u8>, transmit: &Transmit) {
        payload.truncate(transmit.size);
        let address = self.client_address(transmit);
        self.answers.push_back(Datagram { payload, ecn: codepoint(transmit), address });
    }

    /// Returns the client's address in a datagram to be sent: its own, or where the server sends to.
    fn client_address(&mut self, transmit: &Transmit) -> Address {
        if transmit.destination == nat::server() { self.nat.current() } else { nat::address(transmit.destination) }
    }

    /// Passes events between the connection and its endpoint, and handles those of the application.
    fn handle_events(&mut self, now: Time) {
        let (endpoint, chance) = (&mut self.endpoint, &mut self.chance);
        let Some((handle, connection)) = &mut self.connection else { return };
        chance::with(chance, || {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
        });
        while let Some((_, connection)) = &mut self.connection
            && let Some(event) = connection.poll()
        {
            self.handle_event(now, event);
        }
        self.open(now);
        self.close_if_done(now);
        self.due = match &mut self.connection {
            Some((_, connection)) => connection.poll_timeout().map_or(Time::NEVER, time).min(self.nat.due()),
            None => Time::NEVER,
        };
    }

    fn handle_event(&mut self, now: Time, event: Event) {
        let Some((_, connection)) = &mut self.connection else { return };
        if let Event::Connected = event {
            self.waits = false;
            if self.is_client {
                self.nat.begin(now);
            }
        }
        match event {
            // Rejected early data is forgotten by both sides: it is written again.
            Event::Connected if connection.has_0rtt() && !connection.accepted_0rtt() => {
                let Outgoing { content, written, closed, .. } = std::mem::take(&mut self.out);
                self.out = Outgoing { content, written, closed, ..Outgoing::default() };
                self.reopen_streams();
            }
            Event::ConnectionLost { reason } => {
                // A peer that has received everything closes the connection, perhaps before it has acknowledged all. If its
                // CONNECTION_CLOSE is lost, it answers with a stateless reset or not at all.
                let closed = matches!(reason, ConnectionError::ApplicationClosed(_) | ConnectionError::Reset);
                let quiet = matches!(reason, ConnectionError::TimedOut) && self.out.written == 0;
                if !(self.out.finished && self.inc.ended && (closed || quiet)) {
                    self.failure = Some(reason.to_string());
                }
                self.over = true;
            }
            // An application that only writes never reads, and would miss the end of the peer's stream.
            Event::Stream(event @ (StreamEvent::Opened { .. } | StreamEvent::Readable { .. })) => {
                self.take(0);
                self.handle_bidi_event(&event);
            }
            Event::Stream(event @ StreamEvent::Writable { .. }) => self.handle_bidi_event(&event),
            Event::Stream(StreamEvent::Finished { id }) if self.out.id == Some(id) => self.out.acknowledged = true,
            _ => {}
        }
    }

    /// Opens our stream as soon as the library allows one.
    fn open(&mut self, now: Time) {
        if let (None, false, Some((_, connection))) = (self.out.id, self.waits, &mut self.connection)
            && let Some(id) = connection.streams().open(Dir::Uni)
        {
            self.out.id = Some(id);
            self.ready.get_or_insert(now);
            self.feed_stream();
        }
    }

    /// Passes pending data to the library, and the end of the stream.
    fn feed_stream(&mut self) {
        let out = &mut self.out;
        let (Some(id), Some((_, connection))) = (out.id, &mut self.connection) else { return };
        let mut stream = connection.send_stream(id);
        while out.given < out.written {
            let mut chunk = [out.content.at(out.given, out.written - out.given)];
            match stream.write_chunks(&mut chunk) {
                Ok(taken) => out.given += taken.bytes as u64,
                Err(_) => return,
            }
        }
        if out.closed && !out.finished {
            out.finished = stream.finish().is_ok();
        }
    }

    /// Closes the connection once both streams are over.
    fn close_if_done(&mut self, now: Time) {
        let done = self.out.acknowledged && self.inc.ended;
        if let (true, false, Some((_, connection))) = (done, self.over, &mut self.connection) {
            connection.close(instant(now), VarInt::from_u32(0), Bytes::new());
            self.over = true;
        }
    }

    fn fail(&mut self, why: String) {
        self.failure = Some(why);
        self.over = true;
    }

    /// Reads and checks what has arrived in order, at most `limit` bytes, and notices the end of the stream.
    fn take(&mut self, limit: u64) -> Option<Range<u64>> {
        let Some((_, connection)) = &mut self.connection else { return None };
        let inc = &mut self.inc;
        inc.id = inc.id.or_else(|| connection.streams().accept(Dir::Uni));
        let id = inc.id.filter(|_| !inc.ended)?;
        let start = inc.read;
        let mut stream = connection.recv_stream(id);
        let mut chunks = stream.read(true).ok()?;
        loop {
            let room = usize::try_from(limit - (inc.read - start)).unwrap_or(usize::MAX);
            match chunks.next(room) {
                // There is more, beyond the limit.
                Ok(Some(chunk)) if chunk.bytes.is_empty() => break,
                Ok(Some(chunk)) => {
                    let right = chunk.offset == inc.read && content::verify(chunk.offset, &chunk.bytes);
                    inc.misplaced += u64::from(!right);
                    inc.read += chunk.bytes.len() as u64;
                }
                Ok(None) => {
                    inc.ended = true;
                    break;
                }
                Err(ReadError::Blocked | ReadError::Reset(_)) => break,
            }
        }
        // The next datagram will carry the new window.
        let _ = chunks.finalize();
        (inc.read > start).then_some(start..inc.read)
    }
}

impl Library for Connection {
    fn set_clock(&mut self, now: Time) {
        self.now = now;
    }

    fn next_timeout(&self) -> Time {
        self.due
    }

    fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        self.connect(now);
        if self.due <= now
            && let Some((_, connection)) = &mut self.connection
        {
            chance::with(&mut self.chance, || connection.handle_timeout(instant(now)));
            if self.nat.change(now) {
                connection.local_address_changed();
            }
            self.handle_events(now);
        }
    }

    fn handle(&mut self, now: Time, ecn: Ecn, datagram: &Datagram) {
        self.now = now;
        if self.is_client && !self.nat.admits(datagram.address) {
            return;
        }
        let from = if self.is_client { nat::server() } else { nat::socket(datagram.address) };
        let (ecn, bytes) = (EcnCodepoint::from_bits(ecn as u8), BytesMut::from(&datagram.payload[..]));
        let mut buffer = Vec::new();
        let endpoint = &mut self.endpoint;
        let event =
            chance::with(&mut self.chance, || endpoint.handle(instant(now), from, None, ecn, bytes, &mut buffer));
        if let Some(event) = event {
            self.route(now, event, buffer);
        }
        self.handle_events(now);
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Datagram) -> bool {
        if let Some(answer) = self.answers.pop_front() {
            *datagram = answer;
            return true;
        }
        let Some((_, connection)) = &mut self.connection else { return false };
        let payload = &mut datagram.payload;
        payload.clear();
        let Some(transmit) = chance::with(&mut self.chance, || connection.poll_transmit(instant(now), 1, payload))
        else {
            self.handle_events(now);
            return false;
        };
        payload.truncate(transmit.size);
        (datagram.ecn, datagram.address) = (codepoint(&transmit), self.client_address(&transmit));
        true
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn report(&self) -> Report {
        let watch = self.watch.lock().expect("a watch that does not panic");
        let mut report = Report {
            ready: self.ready,
            latest_rtt: watch.latest,
            flight: watch.flight,
            written: self.out.written + self.bidi.given(),
            cuts: watch.cuts,
            is_repairing: watch.recovering,
            misplaced: self.inc.misplaced,
            ..Report::default()
        };
        if let Some((_, connection)) = &self.connection {
            let stats = connection.stats();
            report.cwnd = stats.path.cwnd;
            report.ssthresh = connection.congestion_state().metrics().ssthresh.filter(|&bytes| bytes < u64::MAX);
            report.srtt = watch.latest.map(|_| duration(stats.path.rtt));
            report.datagrams = stats.udp_tx.datagrams;
            report.lost = stats.path.lost_packets;
            report.stream_frames = stats.frame_rx.stream;
        }
        report
    }

    fn rtt(&self) -> Histogram {
        self.watch.lock().expect("a watch that does not panic").rtt.clone()
    }

    fn take_log(&mut self) -> Vec<u8> {
        self.records.take()
    }

    fn take_secrets(&mut self) -> String {
        self.secrets.take()
    }
}

impl ByteStream for Connection {
    fn write(&mut self, bytes: u64) -> u64 {
        let out = &mut self.out;
        let (Some(id), Some((_, connection))) = (out.id, &mut self.connection) else { return 0 };
        if out.closed || out.given < out.written {
            return 0;
        }
        let mut stream = connection.send_stream(id);
        let before = out.written;
        while out.written - before < bytes {
            let mut chunk = [out.content.at(out.written, bytes - (out.written - before))];
            let Ok(taken) = stream.write_chunks(&mut chunk) else { break };
            out.written += taken.bytes as u64;
        }
        out.given = out.written;
        out.written - before
    }

    /// Discards nothing: what the library has taken, it sends.
    fn discard_unsent(&mut self) -> u64 {
        self.out.written
    }

    fn read(&mut self) -> Option<Range<u64>> {
        self.take(u64::MAX)
    }

    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        self.take(limit)
    }

    fn close(&mut self) {
        self.out.closed = true;
        self.feed_stream();
    }

    fn is_connected(&self) -> bool {
        self.ready.is_some() && !self.over
    }

    fn peer_closed(&self) -> bool {
        self.inc.ended
    }
}

/// Which end of a connection it is, with what only that one has.
enum Role {
    Client(ClientConfig, Arc<Mutex<Watch>>),
    Server(Arc<quinn_proto::ServerConfig>, Arc<Mutex<Watch>>),
}

/// Returns the ECN codepoint of a datagram to be sent.
fn codepoint(transmit: &Transmit) -> Ecn {
    Ecn::from_bits(transmit.ecn.map_or(0, |codepoint| codepoint as u32))
}

/// Makes both ends of a connection, the client first.
///
/// # Errors
/// Setting in the plan that the library does not support.
pub fn pair(plan: &Plan) -> Result<[Connection; 2], String> {
    let handshake = plan.parameters.text("handshake");
    let resumes = handshake.starts_with("0-rtt");
    let stream = |what: &str| vazao_engine::RandomStream::new(plan.seed, &format!("quinn/{what}"));
    let watches = [(); 2].map(|()| Arc::new(Mutex::new(Watch::default())));
    let secrets = Arc::new(Secrets::default());
    let records = [(); 2].map(|()| Records::default());
    let client = config::client(config::transport(plan, &watches[0], &records[0])?, secrets.clone(), resumes)?;
    let certificate = plan.parameters.size("certificate").expect("a size with a default");
    let transport = config::transport(plan, &watches[1], &records[1])?;
    let server = || config::server(transport.clone(), certificate, secrets.clone(), resumes);
    let listener = || chance::with(&mut stream("keys"), server);
    let mut server = listener()?;
    if resumes {
        connect_before(plan, [stream("first client"), stream("first server")], client.clone(), server.clone())?;
        watches.iter().for_each(|watch| *watch.lock().expect("nobody else has it") = Watch::default());
        secrets.take();
        records.iter().for_each(|records| drop(records.take()));
        if handshake != "0-rtt" {
            // A server that has forgotten its tickets takes no early data.
            server = listener()?;
        }
    }
    let [first, second] = watches;
    let mut ends = [
        Connection::new(plan, stream("client"), Role::Client(client, first))?,
        Connection::new(plan, stream("server"), Role::Server(server, second))?,
    ];
    for (end, records) in ends.iter_mut().zip(records) {
        (end.records, end.secrets) = (records, secrets.clone());
    }
    Ok(ends)
}

/// Plays an earlier connection, in no time, from which the client has a ticket and a token.
fn connect_before(
    plan: &Plan,
    [first, second]: [vazao_engine::RandomStream; 2],
    client: ClientConfig,
    server: Arc<quinn_proto::ServerConfig>,
) -> Result<(), String> {
    let mut ends = [
        Connection::new(plan, first, Role::Client(client, Arc::default()))?,
        Connection::new(plan, second, Role::Server(server, Arc::default()))?,
    ];
    let now = Time::ZERO;
    ends[0].handle_timeout(now);
    let mut datagram = Datagram::default();
    let mut quiet = false;
    while !std::mem::replace(&mut quiet, true) {
        for from in 0..2 {
            while ends[from].poll_transmit(now, &mut datagram) {
                ends[1 - from].handle(now, datagram.ecn, &datagram);
                quiet = false;
            }
        }
    }
    match ends.iter().find_map(Library::failure) {
        Some(problem) => Err(format!("the connection before the one that is measured failed: {problem}")),
        None => Ok(()),
    }
}
