//! Two endpoints joined by disjoint paths that lose, delay, reorder, duplicate and corrupt as they are told, in virtual
//! time, with applications at both ends; and what must hold at every event.

pub use crate::weather::Weather;
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_engine::registry::{Parameters, Raw};
use vazao_engine::{Duration, Time};
use vazao_transport::sctp::{Association, Config, PARAMETERS, Packet, State};
use vazao_transport::{RangeSet, Stream};

/// Settings by name, as a scenario gives them; the rest are defaults.
pub fn config(message: Option<u64>, given: &[(&str, Raw)]) -> Config {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Config::new(&Parameters::resolve(PARAMETERS, &given).expect("settings that exist"), message, None)
}

pub fn text(text: &str) -> Raw {
    Raw::Text(text.into())
}

/// One end.
pub struct End {
    pub sctp: Association,
    sends: u64,
    written: u64,
    pub received: u64,
    /// It reads so many bytes each 5 ms; none: all at once.
    pub slow: Option<u64>,
    next_read: Time,
    pub closes: bool,
    config: Arc<Config>,
}

impl End {
    fn act(&mut self, now: Time) {
        self.sctp.set_clock(now);
        if now >= self.next_read {
            self.next_read = if self.slow.is_some() { now + Duration::from_millis(5) } else { Time::ZERO };
            if let Some(range) = self.sctp.read_at_most(self.slow.unwrap_or(u64::MAX)) {
                assert_eq!(range.start, self.received, "every byte once");
                self.received = range.end;
            }
        }
        if self.sctp.is_connected() {
            self.written += self.sctp.write(self.sends - self.written);
            if self.closes && self.written == self.sends {
                self.closes = false;
                self.sctp.close();
            }
        }
    }
}

/// Whether a packet is lost: which end sends it, by which path.
pub type Losses = dyn FnMut(usize, usize, &Packet) -> bool;

pub struct Lab {
    pub now: Time,
    pub ends: [End; 2],
    paths: Vec<Weather>,
    /// After so many packets everything passes, so that every run ends.
    pub calm_after: u64,
    random: vazao_engine::Stream,
    under_way: BTreeMap<(Time, u64), (usize, usize, Packet)>,
    pub packets: u64,
    /// Packets of one end that are lost whatever the weather: a predicate.
    pub lose: Box<Losses>,
}

impl Lab {
    /// The client sends so many bytes and closes.
    pub fn new(config: Config, sends: u64, paths: Vec<Weather>, seed: u64) -> Lab {
        Lab::between(config.clone(), config, sends, paths, seed)
    }

    /// The same, with settings of each.
    pub fn between(client: Config, server: Config, sends: u64, paths: Vec<Weather>, seed: u64) -> Lab {
        let [client, server] = [client, server].map(Arc::new);
        let end = |sctp, config, sends, closes| End {
            sctp,
            config,
            sends,
            written: 0,
            received: 0,
            slow: None,
            next_read: Time::ZERO,
            closes,
        };
        let (tag, tsn) = (seed as u32 | 1, (seed.wrapping_mul(0x9e37_79b9)) as u32);
        Lab {
            now: Time::ZERO,
            ends: [
                end(Association::connect(client.clone(), paths.len(), tag, tsn), client, sends, true),
                end(Association::listen(server.clone(), paths.len(), tag ^ 0xffff, u32::MAX - 3), server, 0, false),
            ],
            paths,
            calm_after: u64::MAX,
            random: vazao_engine::Stream::new(seed, "lab"),
            under_way: BTreeMap::new(),
            packets: 0,
            lose: Box::new(|_, _, _| false),
        }
    }

    /// The client loses all that it knows, and opens anew: it sends everything once more, and closes.
    pub fn restart_client(&mut self) {
        let (tag, tsn) = (self.random.below(1 << 32) as u32, self.random.below(1 << 32) as u32);
        let client = &mut self.ends[0];
        client.sctp = Association::connect(client.config.clone(), self.paths.len(), tag, tsn);
        (client.written, client.received, client.closes) = (0, 0, true);
    }

    fn service(&mut self, index: usize) {
        self.ends[index].act(self.now);
        let mut packet = Packet::default();
        while let Some(path) = self.ends[index].sctp.poll_transmit(self.now, &mut packet) {
            assert!(packet.bytes() + 20 <= 1500, "a packet of {} bytes", packet.bytes());
            assert!(!packet.is_empty());
            let packet = std::mem::take(&mut packet);
            self.launch(index, path, packet);
        }
    }

    fn launch(&mut self, from: usize, path: usize, packet: Packet) {
        self.packets += 1;
        if (self.lose)(from, path, &packet) {
            return;
        }
        let calm = self.packets > self.calm_after;
        let arrivals = self.paths[path].arrivals(self.now, calm, false, &mut self.random);
        for ((at, _), copy) in arrivals.into_iter().zip(0..) {
            self.under_way.insert((at, 2 * self.packets + copy), (1 - from, path, packet.clone()));
        }
    }

    /// The next event. False: there is none.
    pub fn step(&mut self) -> bool {
        let arrival = self.under_way.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
        let wake = |end: &End| {
            let read = if end.slow.is_some() && !end.sctp.is_over() { end.next_read } else { Time::NEVER };
            end.sctp.next_timeout().min(read)
        };
        let wakes = [wake(&self.ends[0]), wake(&self.ends[1])];
        let next = arrival.min(wakes[0]).min(wakes[1]);
        if next == Time::NEVER {
            return false;
        }
        self.now = self.now.max(next);
        if arrival == next {
            let (_, (to, path, packet)) = self.under_way.pop_first().expect("an arrival");
            self.ends[to].sctp.handle(self.now, path, &packet);
            self.service(to);
            return true;
        }
        for (i, wake) in wakes.into_iter().enumerate() {
            if wake == next {
                if self.ends[i].sctp.next_timeout() <= self.now {
                    self.ends[i].sctp.handle_timeout(self.now);
                }
                self.service(i);
            }
        }
        true
    }

    /// Runs until both ends are over or nothing happens any more; at most so many seconds.
    pub fn run(&mut self, seconds: u64) {
        self.run_until(seconds, |lab| lab.ends.iter().all(|end| end.sctp.is_over()));
        // What has arrived outlives the association: a slow reader takes the rest.
        for end in &mut self.ends {
            (end.slow, end.next_read) = (None, Time::ZERO);
            end.act(self.now);
        }
    }

    pub fn run_until(&mut self, seconds: u64, mut done: impl FnMut(&Lab) -> bool) {
        (0..2).for_each(|i| self.service(i));
        let mut events = 0_u64;
        while !done(self) && self.now < Time::ZERO + Duration::from_secs(seconds) && self.step() {
            events += 1;
            assert!(events < 2_000_000, "it goes on for ever");
            self.check();
        }
    }

    /// What must hold at every event.
    fn check(&self) {
        for end in &self.ends {
            let flights: u64 = end.sctp.paths().iter().map(|path| path.flight()).sum();
            assert_eq!(flights, end.sctp.flight(), "flights of the paths add up");
            for path in end.sctp.paths() {
                assert!(path.cwnd() >= 1452, "a window of {}", path.cwnd());
            }
            assert_eq!(end.sctp.stats().misplaced, 0, "every message in its place");
        }
    }

    /// Everything arrived once, in order, and both sides know.
    pub fn assert_delivered(&self, bytes: u64) {
        assert_eq!(self.ends[1].received, bytes, "bytes delivered");
        assert_eq!(self.ends[0].sctp.failure(), None);
        assert_eq!(self.ends.each_ref().map(|end| end.sctp.state()), [State::Closed; 2]);
        let messages = self.ends[0].sctp.stats().messages_sent;
        assert_eq!(self.ends[1].sctp.stats().messages_delivered, messages, "messages delivered");
    }

    /// Every message arrived once, or was reported to be given up, or both; and both sides know that there are no more.
    pub fn assert_accounted(&self) {
        let [sender, receiver] = self.ends.each_ref().map(|end| &end.sctp);
        assert_eq!(sender.failure(), None);
        assert_eq!([sender.state(), receiver.state()], [State::Closed; 2]);
        let (delivered, abandoned) = (receiver.delivered_messages(), sender.abandoned_messages());
        let (Some(delivered), Some(abandoned)) = (delivered, abandoned) else { panic!("it is not partially reliable") };
        let count = |set: &RangeSet| set.iter().map(|(start, end)| end - start).sum::<u64>();
        let mut union = delivered.clone();
        abandoned.iter().for_each(|(start, end)| union.insert(start, end, |_, _| {}));
        let stats = sender.stats();
        assert_eq!(count(&union), stats.messages_sent + stats.abandoned_unsent, "messages delivered or given up");
        assert_eq!(count(delivered), receiver.stats().messages_delivered);
        assert_eq!(count(abandoned), stats.messages_abandoned);
    }

    pub fn sender(&self) -> &Association {
        &self.ends[0].sctp
    }
}

pub fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}
