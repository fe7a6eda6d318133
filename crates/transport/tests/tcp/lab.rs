//! Two TCP endpoints in the shared laboratory, and invariants at every event.

pub use crate::application::Application;
use crate::application::User;
use std::sync::Arc;
use vazao_engine::Time;
use vazao_laboratory::{Arrival, Paths, Sent};
pub use vazao_laboratory::{Laboratory, Weather};
use vazao_transport::ByteStream;
use vazao_transport::tcp::{Config, Connection, Cookies, Extra, Flags, Host, Segment, State};

/// Network between the ends: weather, random seed, and the number of packets after which it is fair.
#[derive(Clone, Debug)]
pub struct Between {
    pub weather: Weather,
    pub seed: u64,
    pub calm_after: u64,
}

impl Between {
    pub fn fair(delay: u64) -> Between {
        Between { weather: Weather::fair(delay), seed: 0, calm_after: 0 }
    }
}

/// One endpoint.
pub struct End {
    pub tcp: Connection,
    config: Arc<Config>,
    user: User,
    /// Observer's view of its wire: initial sequence number, octets sent at least once (including SYN), and the
    /// furthest octet allowed by an arrived segment.
    initial: u32,
    sent: u64,
    /// Bytes sent with the SYN.
    early: u64,
    allowed: u64,
    /// Window scale announced.
    scale: Option<u8>,
    /// Data segments and bytes seen by the observer, and number of retransmissions.
    segments: u64,
    bytes: u64,
    again: u64,
}

impl End {
    fn new(tcp: Connection, config: Config, initial: u32, application: Application) -> End {
        End {
            tcp,
            config: Arc::new(config),
            user: User::new(application),
            initial,
            sent: 0,
            early: 0,
            allowed: 0,
            scale: None,
            segments: 0,
            bytes: 0,
            again: 0,
        }
    }

    /// Whether the connection is finished and everything received was read.
    fn is_done(&self) -> bool {
        self.tcp.is_over() && (self.tcp.peer_closed() || self.tcp.failure().is_some())
    }

    /// Checks a departing segment against everything seen before.
    fn observe(&mut self, segment: &Segment, extra: &Extra) {
        let distance = segment.sequence.wrapping_sub(self.initial.wrapping_add(self.sent as u32)) as i32;
        let start = self.sent.saturating_add_signed(i64::from(distance));
        if segment.flags.has(Flags::SYN) {
            self.scale = extra.syn.and_then(|syn| syn.window_scale);
            self.sent = self.sent.max(1);
            if segment.length > 0 {
                assert_eq!(self.early, 0, "data goes with a SYN once");
                self.early = u64::from(segment.length);
                self.bytes += self.early;
                self.sent = 1 + self.early;
            }
            return;
        }
        if segment.span() == 0 || segment.flags.has(Flags::RST) {
            return;
        }
        let end = start + segment.span();
        assert!(start <= self.sent, "no gaps");
        assert!(start + u64::from(segment.length) <= self.allowed, "the receiver's window is kept");
        self.segments += 1;
        self.bytes += u64::from(segment.length);
        if end <= self.sent {
            self.again += 1;
        } else {
            self.check_window(segment);
        }
        self.sent = self.sent.max(end);
    }

    /// Checks new data: without SACK, outside recovery, the flight fits the congestion window (and the two segments of
    /// limited transmit). One segment may always be in flight.
    fn check_window(&self, segment: &Segment) {
        // F-RTO sends new data while segments marked lost by the timer still count as in flight.
        let tests = self.config.frto && self.tcp.is_repairing();
        if self.config.sack || self.tcp.in_recovery() || tests {
            return;
        }
        // Linux uses the space of timestamps that the peer declined.
        let spared = self.config.host == Host::Linux && self.config.timestamps && !segment.has_timestamps;
        let mss = u64::from(self.config.mss) + if spared { 12 } else { 0 };
        // A window that falls gradually is above its control's for a round trip.
        let control = self.tcp.control();
        let window = if control.falls_gradually() { self.tcp.cwnd() } else { control.cwnd() };
        let limit = window.max(mss) + 2 * mss + 1;
        assert!(self.tcp.flight() <= limit, "{} in flight, window {limit}", self.tcp.flight());
    }

    /// Updates how far this end may send from an arriving segment.
    fn learn(&mut self, segment: &Segment, peer_scale: Option<u8>) {
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
            // The window in a SYN applies to an endpoint that answers it with data.
            self.allowed = self.allowed.max(1 + u64::from(segment.window));
        }
        if segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST) {
            let distance = segment.acknowledgment.wrapping_sub(self.initial.wrapping_add(self.sent as u32)) as i32;
            let acknowledged = self.sent.saturating_add_signed(i64::from(distance));
            let scale = match (self.scale, peer_scale) {
                (Some(_), Some(peer)) if !segment.flags.has(Flags::SYN) => peer,
                _ => 0,
            };
            self.allowed = self.allowed.max(acknowledged + (u64::from(segment.window) << scale));
        }
    }
}

/// Both endpoints and the path between them.
pub struct Lab {
    pub ends: [End; 2],
    pub paths: Paths<(Segment, Extra)>,
    /// Digest of everything that was sent, and when.
    pub digest: u64,
}

impl Laboratory for Lab {
    type Packet = (Segment, Extra);

    fn paths(&self) -> &Paths<(Segment, Extra)> {
        &self.paths
    }
    fn paths_mut(&mut self) -> &mut Paths<(Segment, Extra)> {
        &mut self.paths
    }

    fn wake(&self, end: usize) -> Time {
        let end = &self.ends[end];
        end.tcp.next_timeout().min(end.user.next_read(end.is_done()))
    }

    fn handle(&mut self, arrival: Arrival<(Segment, Extra)>) {
        let Arrival { to, ecn, packet: (segment, extra), .. } = arrival;
        let segment = Segment { ecn, ..segment };
        let scale = self.ends[1 - to].scale;
        let end = &mut self.ends[to];
        end.learn(&segment, scale);
        end.tcp.handle(self.paths.now, &segment, segment.has_extra.then_some(&extra));
    }

    fn handle_timeout(&mut self, end: usize) {
        let tcp = &mut self.ends[end].tcp;
        if tcp.next_timeout() <= self.paths.now {
            tcp.handle_timeout(self.paths.now);
        }
    }

    fn serve(&mut self, from: usize) {
        let at = self.paths.now;
        let End { tcp, user, .. } = &mut self.ends[from];
        user.act(at, tcp);
        let mut extra = Extra::default();
        let mut burst = 0;
        while let Some(segment) = self.ends[from].tcp.poll_transmit(at, &mut extra) {
            burst += 1;
            assert!(burst < 100_000, "a burst ends");
            self.ends[from].observe(&segment, &extra);
            self.digest = mix(self.digest ^ at.as_nanos())
                ^ mix(u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgment))
                ^ u64::from(segment.window);
            let sent = Sent { at, from, path: 0, size: 0, ecn: segment.ecn, packet: (segment, extra) };
            self.paths.note(&sent);
            self.paths.send(sent);
        }
        let end = &self.ends[from];
        let stats = end.tcp.stats();
        assert_eq!(stats.misplaced, 0);
        assert_eq!(stats.retransmissions, stats.fast_retransmissions + stats.timeout_retransmissions);
        assert_eq!((stats.retransmissions, stats.bytes), (end.again, end.bytes));
        assert!(end.tcp.control().cwnd() > 0);
    }
}

/// Settings of one endpoint: configuration, initial sequence number and application.
pub type Side = (Config, u32, Application);

impl Lab {
    /// Creates a lab in which the first endpoint opens actively and the second passively.
    pub fn new(client: Side, server: Side, between: Between) -> Lab {
        let second = Connection::listen(Arc::new(server.0.clone()), server.1);
        Lab::with(client, server, second, between)
    }

    /// Creates a lab in which both endpoints open at once.
    pub fn simultaneous(client: Side, server: Side, between: Between) -> Lab {
        let second = Connection::connect(Arc::new(server.0.clone()), server.1);
        Lab::with(client, server, second, between)
    }

    /// Creates a lab with Fast Open; the client has the server's cookie already if `warm`.
    pub fn with_fast_open(client: Side, server: Side, between: Between, warm: bool) -> Lab {
        let cookies = Arc::new(Cookies::new(7.into(), warm));
        let first = Connection::connect(Arc::new(client.0.clone()), client.1).with_fast_open(cookies.clone());
        let second = Connection::listen(Arc::new(server.0.clone()), server.1).with_fast_open(cookies);
        Lab::of(first, client, server, second, between)
    }

    fn with(client: Side, server: Side, second: Connection, between: Between) -> Lab {
        let first = Connection::connect(Arc::new(client.0.clone()), client.1);
        Lab::of(first, client, server, second, between)
    }

    fn of(first: Connection, client: Side, server: Side, second: Connection, between: Between) -> Lab {
        let mut paths = Paths::new(vec![between.weather], between.seed);
        paths.calm_after = between.calm_after;
        let ends = [End::new(first, client.0, client.1, client.2), End::new(second, server.0, server.1, server.2)];
        Lab { ends, paths, digest: 0 }
    }

    /// Runs until both ends are finished and nothing is in flight or pending.
    pub fn run(&mut self) {
        self.run_until(u64::from(u32::MAX), Lab::is_over);
        let states = self.ends.each_ref().map(|end| end.tcp.state());
        assert!(self.paths.events < 400_000, "the run ends sooner: {states:?}");
    }

    /// Whether nothing is pending. The peer of an endpoint that gave up may never learn of it.
    pub fn is_over(&self) -> bool {
        let failed = self.ends.iter().any(|end| end.tcp.failure().is_some());
        self.paths.is_empty()
            && self.ends.iter().all(|end| end.is_done() || (failed && end.tcp.next_timeout() == Time::NEVER))
    }

    /// Asserts that both ends received everything and closed.
    pub fn assert_complete(&self) {
        for (end, peer) in [(&self.ends[0], &self.ends[1]), (&self.ends[1], &self.ends[0])] {
            assert_eq!(end.tcp.failure(), None);
            assert_eq!(end.user.received, peer.user.application.sends);
            assert!(matches!(end.tcp.state(), State::TimeWait | State::Closed), "{:?}", end.tcp.state());
            assert_eq!(end.tcp.acknowledged_bytes(), end.user.application.sends);
            assert_eq!(end.tcp.flight(), 0);
        }
    }
}

/// SplitMix64's output function.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
