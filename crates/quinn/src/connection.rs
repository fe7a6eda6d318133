//! One end of a connection: an endpoint of the library's with one connection on it.

use crate::clock::{duration, instant, time};
use crate::content::Content;
use crate::nat::Nat;
use crate::records::Records;
use crate::secrets::Secrets;
use crate::streams::Lanes;
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
use vazao_engine::{Ecn, Histogram, Time};
use vazao_transport::Stream;
use vazao_transport::library::{Datagram, Library, Plan, Report};
use vazao_transport::quic::Address;
use vazao_wire::content;

/// One end of a connection. As a [`Stream`] it is a pair of the library's unidirectional streams, one each way, so that
/// either side may begin.
pub struct Connection {
    is_client: bool,
    endpoint: Endpoint,
    pub(crate) connection: Option<(ConnectionHandle, quinn_proto::Connection)>,
    /// How a client begins; taken when it has.
    begins: Option<ClientConfig>,
    /// Whether a server asks its client to prove its address first.
    asks: bool,
    /// Whether data waits for the end of the handshake: a server's does, as applications have it, unless its client's came
    /// early.
    waits: bool,
    /// Where the client is; a server knows it by what comes.
    nat: Nat,
    chance: vazao_engine::Stream,
    watch: Arc<Mutex<Watch>>,
    secrets: Arc<Secrets>,
    records: Records,
    now: Time,
    due: Time,
    /// What the endpoint itself answers.
    answers: VecDeque<Datagram>,
    out: Outgoing,
    pub(crate) inc: Incoming,
    pub(crate) lanes: Lanes,
    ready: Option<Time>,
    failure: Option<String>,
    over: bool,
}

/// The stream to the peer.
#[derive(Default)]
struct Outgoing {
    id: Option<StreamId>,
    content: Content,
    /// Bytes taken from the application, and of those given to the library: less only where early data was rejected.
    written: u64,
    given: u64,
    closed: bool,
    /// Whether the library knows that it is closed, and that everything was acknowledged.
    finished: bool,
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
    /// A client, which begins as `begins` says with its first call, or else the server that `listens`.
    fn new(plan: &Plan, mut chance: vazao_engine::Stream, role: Role) -> Result<Connection, String> {
        let (side, begins, listens, watch) = match role {
            Role::Client(begins, watch) => (0, Some(begins), None, watch),
            Role::Server(listens, watch) => (1, None, Some(listens), watch),
        };
        let handshake = plan.parameters.text("handshake");
        let datagram = plan.parameters.integer("datagram") as u16;
        let endpoint = chance::with(&mut chance, || {
            Ok::<_, String>(Endpoint::new(config::endpoint(datagram)?, listens, true, None))
        })?;
        Ok(Connection {
            is_client: side == 0,
            endpoint,
            connection: None,
            begins,
            asks: handshake == "retry",
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
            lanes: Lanes::default(),
            ready: None,
            failure: None,
            over: false,
        })
    }

    /// The client's first packet is made.
    fn begin(&mut self, now: Time) {
        let Some(config) = self.begins.take() else { return };
        let endpoint = &mut self.endpoint;
        let connect = || endpoint.connect(instant(now), config, nat::server(), identity::NAME);
        match chance::with(&mut self.chance, connect) {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => self.fail(error.to_string()),
        }
        self.attend(now);
    }

    /// Does what the endpoint makes of a datagram; `buffer` is what it writes its own answers into.
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
            DatagramEvent::Response(transmit) => self.keep(buffer, &transmit),
            DatagramEvent::NewConnection(incoming) if self.connection.is_some() => endpoint.ignore(incoming),
            DatagramEvent::NewConnection(incoming) if self.asks && incoming.may_retry() => {
                let retried = chance::with(&mut self.chance, || endpoint.retry(incoming, &mut buffer));
                if let Ok(transmit) = retried {
                    self.keep(buffer, &transmit);
                }
            }
            DatagramEvent::NewConnection(incoming) => {
                let accept =
                    || endpoint.accept(incoming, instant(now), &mut buffer, None).map_err(|error| error.response);
                match chance::with(&mut self.chance, accept) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(Some(transmit)) => self.keep(buffer, &transmit),
                    Err(None) => {}
                }
            }
        }
    }

    fn keep(&mut self, mut payload: Vec<u8>, transmit: &Transmit) {
        payload.truncate(transmit.size);
        let address = self.client(transmit);
        self.answers.push_back(Datagram { payload, ecn: codepoint(transmit), address });
    }

    /// The client's address of a datagram to be sent: its own, or where the server sends to.
    fn client(&mut self, transmit: &Transmit) -> Address {
        if transmit.destination == nat::server() { self.nat.current() } else { nat::address(transmit.destination) }
    }

    /// Passes on what the connection and its endpoint tell each other, and heeds what the connection tells us.
    fn attend(&mut self, now: Time) {
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
            self.heed(now, event);
        }
        self.open(now);
        self.settle(now);
        self.due = match &mut self.connection {
            Some((_, connection)) => connection.poll_timeout().map_or(Time::NEVER, time).min(self.nat.due()),
            None => Time::NEVER,
        };
    }

    fn heed(&mut self, now: Time, event: Event) {
        let Some((_, connection)) = &mut self.connection else { return };
        if let Event::Connected = event {
            self.waits = false;
            if self.is_client {
                self.nat.begin(now);
            }
        }
        match event {
            // What was sent early is forgotten on both sides: it is given to the library anew.
            Event::Connected if connection.has_0rtt() && !connection.accepted_0rtt() => {
                let Outgoing { content, written, closed, .. } = std::mem::take(&mut self.out);
                self.out = Outgoing { content, written, closed, ..Outgoing::default() };
                self.reopen_lanes();
            }
            Event::ConnectionLost { reason } => {
                // A peer that has heard everything closes, and need not have said that it has. That it closed may be lost, too:
                // it then knows nothing of the connection any more.
                let closed = matches!(reason, ConnectionError::ApplicationClosed(_) | ConnectionError::Reset);
                let quiet = matches!(reason, ConnectionError::TimedOut) && self.out.written == 0;
                if !(self.out.finished && self.inc.ended && (closed || quiet)) {
                    self.failure = Some(reason.to_string());
                }
                self.over = true;
            }
            // An application that only writes does not look for the end of what comes.
            Event::Stream(event @ (StreamEvent::Opened { .. } | StreamEvent::Readable { .. })) => {
                self.take(0);
                self.heed_lane(&event);
            }
            Event::Stream(event @ StreamEvent::Writable { .. }) => self.heed_lane(&event),
            Event::Stream(StreamEvent::Finished { id }) if self.out.id == Some(id) => self.out.acknowledged = true,
            _ => {}
        }
    }

    /// Opens our stream once there may be one: data may flow from then on.
    fn open(&mut self, now: Time) {
        if let (None, false, Some((_, connection))) = (self.out.id, self.waits, &mut self.connection)
            && let Some(id) = connection.streams().open(Dir::Uni)
        {
            self.out.id = Some(id);
            self.ready.get_or_insert(now);
            self.give();
        }
    }

    /// Gives the library again what it has forgotten, and the end if that has come.
    fn give(&mut self) {
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

    /// Closes once everything was said and heard.
    fn settle(&mut self, now: Time) {
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

    /// Takes what has arrived in order, at most `limit` bytes, and checks each; notices the end once nothing is before it.
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
                // There is more than may be taken.
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
        // That its window has moved is told with the next datagram.
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
        self.begin(now);
        if self.due <= now
            && let Some((_, connection)) = &mut self.connection
        {
            chance::with(&mut self.chance, || connection.handle_timeout(instant(now)));
            if self.nat.change(now) {
                connection.local_address_changed();
            }
            self.attend(now);
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
        self.attend(now);
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
            self.attend(now);
            return false;
        };
        payload.truncate(transmit.size);
        (datagram.ecn, datagram.address) = (codepoint(&transmit), self.client(&transmit));
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
            written: self.out.written + self.lanes.given(),
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

impl Stream for Connection {
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

    /// Nothing is taken back: what the library has, it sends.
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
        self.give();
    }

    fn is_connected(&self) -> bool {
        self.ready.is_some() && !self.over
    }

    fn peer_closed(&self) -> bool {
        self.inc.ended
    }
}

/// What an end is, and what is its own alone.
enum Role {
    Client(ClientConfig, Arc<Mutex<Watch>>),
    Server(Arc<quinn_proto::ServerConfig>, Arc<Mutex<Watch>>),
}

/// How a datagram is to be marked.
fn codepoint(transmit: &Transmit) -> Ecn {
    Ecn::from_bits(transmit.ecn.map_or(0, |codepoint| codepoint as u32))
}

/// Both ends of a connection, the client's first.
///
/// # Errors
/// When the library cannot do what the plan asks for; says what.
pub fn pair(plan: &Plan) -> Result<[Connection; 2], String> {
    let handshake = plan.parameters.text("handshake");
    let met = handshake.starts_with("0-rtt");
    let stream = |what: &str| vazao_engine::Stream::new(plan.seed, &format!("quinn/{what}"));
    let watches = [(); 2].map(|()| Arc::new(Mutex::new(Watch::default())));
    let secrets = Arc::new(Secrets::default());
    let records = [(); 2].map(|()| Records::default());
    let client = config::client(config::transport(plan, &watches[0], &records[0])?, secrets.clone(), met)?;
    let certificate = plan.parameters.size("certificate").expect("a size with a default");
    let transport = config::transport(plan, &watches[1], &records[1])?;
    let server = || config::server(transport.clone(), certificate, secrets.clone(), met);
    let listener = || chance::with(&mut stream("keys"), server);
    let mut server = listener()?;
    if met {
        acquaint(plan, [stream("first client"), stream("first server")], client.clone(), server.clone())?;
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

/// A first connection, in no time, from which the client has a ticket and a token.
fn acquaint(
    plan: &Plan,
    [first, second]: [vazao_engine::Stream; 2],
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
