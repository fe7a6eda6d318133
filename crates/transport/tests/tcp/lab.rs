//! Two endpoints joined by a network that loses, delays, reorders, duplicates and corrupts as it is told, in virtual
//! time, with applications at both ends; and what must hold at every event.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use vazao_engine::{Duration, Ecn, Time};
use vazao_transport::Stream;
use vazao_transport::tcp::{Config, Connection, Cookies, Extra, Flags, Host, Segment, State};

/// How a network treats packets, both ways.
#[derive(Clone, Debug)]
pub struct Weather {
    pub seed: u64,
    /// One way, without jitter, in milliseconds.
    pub delay: u64,
    /// Most that a packet may be late, which reorders, in milliseconds.
    pub jitter: u64,
    /// Probability of each fate, in per cent. A corrupted packet fails its checksum at the host: it is a lost one.
    pub loss: u64,
    pub duplication: u64,
    /// Probability, in per cent, that a packet which may be marked is (ECN).
    pub marks: u64,
    /// Nothing passes in these milliseconds.
    pub outages: Vec<Range<u64>>,
    /// After this many packets everything passes, so that every run ends.
    pub calm_after: u64,
}

impl Weather {
    pub fn fair(delay: u64) -> Weather {
        Weather { seed: 0, delay, jitter: 0, loss: 0, duplication: 0, marks: 0, outages: Vec::new(), calm_after: 0 }
    }
}

/// What an application does at its end of the connection.
#[derive(Clone, Debug)]
pub struct Application {
    /// Bytes it sends before it closes.
    pub sends: u64,
    /// It reads at most so many bytes ...
    pub reads: u64,
    /// ... every so many milliseconds; 0: whenever something arrives.
    pub every: u64,
    /// Whether it closes only after its peer has.
    pub closes_second: bool,
}

impl Application {
    pub fn sends(bytes: u64) -> Application {
        Application { sends: bytes, reads: u64::MAX, every: 0, closes_second: false }
    }
}

/// One end.
pub struct End {
    pub tcp: Connection,
    config: Arc<Config>,
    application: Application,
    next_read: Time,
    written: u64,
    pub received: u64,
    closed: bool,
    /// As an observer on its wire sees it: initial sequence number, octets sent at least once (SYN is one), and the
    /// furthest octet that an arrived segment allowed.
    initial: u32,
    sent: u64,
    /// Bytes that went with the SYN.
    early: u64,
    allowed: u64,
    /// The window scale it announced.
    scale: Option<u8>,
    /// Data segments and bytes that the observer saw, and how many of the segments had been sent before.
    segments: u64,
    bytes: u64,
    again: u64,
}

impl End {
    fn new(tcp: Connection, config: Config, initial: u32, application: Application) -> End {
        End {
            tcp,
            config: Arc::new(config),
            application,
            next_read: Time::ZERO,
            written: 0,
            received: 0,
            closed: false,
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

    fn act(&mut self, now: Time) {
        if now >= self.next_read {
            let all = self.application.every == 0;
            if !all {
                self.next_read = now + Duration::from_millis(self.application.every);
            }
            while let Some(range) = self.tcp.read_at_most(self.application.reads) {
                assert_eq!(range.start, self.received, "every byte once and in order");
                self.received = range.end;
                if !all {
                    break;
                }
            }
        }
        if !self.tcp.is_connected() {
            return;
        }
        self.written += self.tcp.write(self.application.sends - self.written);
        let may_close = !self.application.closes_second || self.tcp.peer_closed();
        if self.written == self.application.sends && may_close && !self.closed {
            self.closed = true;
            self.tcp.close();
        }
    }

    /// The connection is over, and whatever it received has been read.
    fn is_done(&self) -> bool {
        self.tcp.is_over() && (self.tcp.peer_closed() || self.tcp.failure().is_some())
    }

    fn next_event(&self) -> Time {
        let reads = if self.application.every > 0 && !self.is_done() { self.next_read } else { Time::NEVER };
        self.tcp.next_timeout().min(reads)
    }

    /// Checks a segment that leaves against what was seen before.
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
            }
            return;
        }
        if segment.span() == 0 || segment.flags.has(Flags::RST) {
            return;
        }
        let end = start + segment.span();
        assert!(start <= self.sent.max(1 + self.early), "no gaps");
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

    /// New data leaves: without SACK, outside recovery, what is in flight fits the congestion window (and the two
    /// segments of limited transmit). One segment may always be in flight.
    fn check_window(&self, segment: &Segment) {
        // F-RTO lets new data out while what the timer marked still counts as in flight.
        let tests = self.config.frto && self.tcp.is_repairing();
        if self.config.sack || self.tcp.in_recovery() || tests {
            return;
        }
        // Linux fills the room of timestamps that the peer declined.
        let spared = self.config.host == Host::Linux && self.config.timestamps && !segment.has_timestamps;
        let mss = u64::from(self.config.mss) + if spared { 12 } else { 0 };
        let limit = self.tcp.control().cwnd().max(mss) + 2 * mss + 1;
        assert!(self.tcp.flight() <= limit, "{} in flight, window {limit}", self.tcp.flight());
    }

    /// A segment arrives: how far it lets this end send.
    fn learn(&mut self, segment: &Segment, peer_scale: Option<u8>) {
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
            // What a SYN offers counts for who answers it with data.
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

/// Both ends and what is under way between them.
pub struct Lab {
    pub ends: [End; 2],
    weather: Weather,
    pub now: Time,
    /// By arrival, then by order of sending: who receives, what.
    flying: BTreeMap<(Time, u64), (usize, Segment, Extra)>,
    packets: u64,
    random: u64,
    pub events: u64,
    /// A digest of everything that was sent, and when.
    pub digest: u64,
}

/// What one end of a lab is: its settings, initial sequence number and application.
pub type Side = (Config, u32, Application);

impl Lab {
    /// The first end opens the connection, the second one waits for it.
    pub fn new(client: Side, server: Side, weather: Weather) -> Lab {
        let second = Connection::listen(Arc::new(server.0.clone()), server.1);
        Lab::with(client, server, second, weather)
    }

    /// Both ends open the connection at once.
    pub fn simultaneous(client: Side, server: Side, weather: Weather) -> Lab {
        let second = Connection::connect(Arc::new(server.0.clone()), server.1);
        Lab::with(client, server, second, weather)
    }

    /// Both ends open fast; the client has the server's cookie already if it is `warm`.
    pub fn with_fast_open(client: Side, server: Side, weather: Weather, warm: bool) -> Lab {
        let cookies = Arc::new(Cookies::new(7.into(), warm));
        let first = Connection::connect(Arc::new(client.0.clone()), client.1).with_fast_open(cookies.clone());
        let second = Connection::listen(Arc::new(server.0.clone()), server.1).with_fast_open(cookies);
        Lab::of(first, client, server, second, weather)
    }

    fn with(client: Side, server: Side, second: Connection, weather: Weather) -> Lab {
        let first = Connection::connect(Arc::new(client.0.clone()), client.1);
        Lab::of(first, client, server, second, weather)
    }

    fn of(first: Connection, client: Side, server: Side, second: Connection, weather: Weather) -> Lab {
        let random = weather.seed;
        let mut lab = Lab {
            ends: [End::new(first, client.0, client.1, client.2), End::new(second, server.0, server.1, server.2)],
            weather,
            now: Time::ZERO,
            flying: BTreeMap::new(),
            packets: 0,
            random,
            events: 0,
            digest: 0,
        };
        lab.serve(0);
        lab.serve(1);
        lab
    }

    /// Runs until both ends are over, nothing is under way, and nothing is going to happen.
    pub fn run(&mut self) {
        while self.step() {}
    }

    /// The next event, whatever it is. False when there is none.
    pub fn step(&mut self) -> bool {
        let arrival = self.flying.first_key_value().map_or(Time::NEVER, |(&(time, _), _)| time);
        let wakes = [self.ends[0].next_event(), self.ends[1].next_event()];
        let next = arrival.min(wakes[0]).min(wakes[1]);
        if next == Time::NEVER || self.is_over() {
            return false;
        }
        assert!(next >= self.now, "time goes on");
        self.now = next;
        if arrival == next {
            self.count();
            let (_, (index, segment, extra)) = self.flying.pop_first().expect("an arrival");
            let scale = self.ends[1 - index].scale;
            let end = &mut self.ends[index];
            end.learn(&segment, scale);
            end.tcp.handle(next, &segment, segment.has_extra.then_some(&extra));
            self.serve(index);
        } else {
            let index = usize::from(wakes[1] == next);
            if self.ends[index].tcp.next_timeout() <= next {
                self.count();
                self.ends[index].tcp.handle_timeout(next);
            }
            self.serve(index);
        }
        true
    }

    /// An event of the protocol, of which a run has a bounded number.
    fn count(&mut self) {
        self.events += 1;
        assert!(self.events < 400_000, "the run ends: {:?}", self.ends.each_ref().map(|end| end.tcp.state()));
    }

    /// Nothing will happen any more. The peer of an end that gave up may never hear of it.
    pub fn is_over(&self) -> bool {
        let failed = self.ends.iter().any(|end| end.tcp.failure().is_some());
        self.flying.is_empty()
            && self.ends.iter().all(|end| end.is_done() || (failed && end.tcp.next_timeout() == Time::NEVER))
    }

    fn serve(&mut self, index: usize) {
        self.ends[index].act(self.now);
        let mut extra = Extra::default();
        let mut burst = 0;
        while let Some(segment) = self.ends[index].tcp.poll_transmit(self.now, &mut extra) {
            burst += 1;
            assert!(burst < 100_000, "a burst ends");
            self.ends[index].observe(&segment, &extra);
            self.digest = mix(self.digest ^ self.now.as_nanos())
                ^ mix(u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgment))
                ^ u64::from(segment.window);
            self.send(1 - index, segment, extra);
        }
        let end = &self.ends[index];
        let stats = end.tcp.stats();
        assert_eq!(stats.misplaced, 0);
        assert_eq!(stats.retransmissions, stats.fast_retransmissions + stats.timeout_retransmissions);
        assert_eq!((stats.retransmissions, stats.bytes), (end.again, end.bytes));
        assert!(end.tcp.control().cwnd() > 0);
    }

    fn send(&mut self, to: usize, mut segment: Segment, extra: Extra) {
        self.packets += 1;
        if segment.ecn == Ecn::Ect0 && self.chance(self.weather.marks) {
            segment.ecn = Ecn::Ce;
        }
        let weather = &self.weather;
        let delay = Duration::from_millis(weather.delay);
        let millis = self.now.as_nanos() / 1_000_000;
        if self.packets > weather.calm_after {
            self.fly(delay, to, segment, extra);
            return;
        }
        let (jitter, loss, duplication) = (weather.jitter * 1_000_000, weather.loss, weather.duplication);
        if weather.outages.iter().any(|outage| outage.contains(&millis)) || self.chance(loss) {
            return;
        }
        for _ in 0..1 + u64::from(self.chance(duplication)) {
            let late = Duration::from_nanos(if jitter > 0 { self.draw() % jitter } else { 0 });
            self.fly(delay + late, to, segment, extra);
        }
    }

    fn fly(&mut self, delay: Duration, to: usize, segment: Segment, extra: Extra) {
        let order = self.packets * 2 + u64::from(self.flying.contains_key(&(self.now + delay, self.packets * 2)));
        self.flying.insert((self.now + delay, order), (to, segment, extra));
    }

    fn chance(&mut self, per_cent: u64) -> bool {
        self.draw() % 100 < per_cent
    }

    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }

    /// Both ends got everything and closed.
    pub fn assert_complete(&self) {
        for (end, peer) in [(&self.ends[0], &self.ends[1]), (&self.ends[1], &self.ends[0])] {
            assert_eq!(end.tcp.failure(), None);
            assert_eq!(end.received, peer.application.sends);
            assert!(matches!(end.tcp.state(), State::TimeWait | State::Closed), "{:?}", end.tcp.state());
            assert_eq!(end.tcp.acknowledged_bytes(), end.application.sends);
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
