//! Two associations in the shared laboratory, and invariants at every event.

use crate::application::{Application, User};
use std::sync::Arc;
use vazao_engine::registry::{Parameters, Raw};
use vazao_engine::{Ecn, Time};
use vazao_laboratory::{Arrival, Paths, Sent};
pub use vazao_laboratory::{Laboratory, Weather, at};
use vazao_transport::RangeSet;
use vazao_transport::sctp::{Association, Config, Packet, State};

/// Settings by name, as in a scenario; the rest are defaults.
pub fn config(message: Option<u64>, given: &[(&str, Raw)]) -> Config {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Config::from((&Parameters::resolve(Config::PARAMETERS, &given).expect("settings that exist"), message, None))
}

pub fn text(text: &str) -> Raw {
    Raw::Text(text.into())
}

/// One endpoint.
pub struct End {
    pub sctp: Association,
    pub user: User,
    config: Arc<Config>,
}

/// Loss function: decides by the sending endpoint and path.
pub type Losses = dyn FnMut(usize, usize, &Packet) -> bool;

pub struct Lab {
    pub ends: [End; 2],
    pub paths: Paths<Packet>,
    /// Predicate for packets of one endpoint that are lost whatever the weather.
    pub lose: Box<Losses>,
}

impl Laboratory for Lab {
    type Packet = Packet;

    fn paths(&self) -> &Paths<Packet> {
        &self.paths
    }
    fn paths_mut(&mut self) -> &mut Paths<Packet> {
        &mut self.paths
    }

    fn wake(&self, end: usize) -> Time {
        let End { sctp, user, .. } = &self.ends[end];
        sctp.next_timeout().min(user.next_read(sctp.is_over()))
    }

    fn handle(&mut self, arrival: Arrival<Packet>) {
        self.ends[arrival.to].sctp.handle(self.paths.now, arrival.path, &arrival.packet);
    }

    fn handle_timeout(&mut self, end: usize) {
        let sctp = &mut self.ends[end].sctp;
        if sctp.next_timeout() <= self.paths.now {
            sctp.handle_timeout(self.paths.now);
        }
    }

    fn serve(&mut self, from: usize) {
        let at = self.paths.now;
        let End { sctp, user, .. } = &mut self.ends[from];
        sctp.set_clock(at);
        user.act(at, sctp);
        let mut packet = Packet::default();
        while let Some(path) = self.ends[from].sctp.poll_transmit(at, &mut packet) {
            assert!(packet.bytes() + 20 <= 1500, "a packet of {} bytes", packet.bytes());
            assert!(!packet.is_empty());
            let packet = std::mem::take(&mut packet);
            let sent = Sent { at, from, path, size: 0, ecn: Ecn::NotEct, packet };
            self.paths.note(&sent);
            if !(self.lose)(from, path, &sent) {
                self.paths.send(sent);
            }
        }
        self.check();
    }
}

impl Lab {
    /// Creates a lab in which the client sends `sends` bytes and closes.
    pub fn new(config: Config, sends: u64, paths: Vec<Weather>, seed: u64) -> Lab {
        Lab::between(config.clone(), config, sends, paths, seed)
    }

    /// Creates such a lab with separate settings of client and server.
    pub fn between(client: Config, server: Config, sends: u64, paths: Vec<Weather>, seed: u64) -> Lab {
        let [client, server] = [client, server].map(Arc::new);
        let (tag, tsn) = (seed as u32 | 1, (seed.wrapping_mul(0x9e37_79b9)) as u32);
        let first = Association::connect(client.clone(), paths.len(), tag, tsn);
        let second = Association::listen(server.clone(), paths.len(), tag ^ 0xffff, u32::MAX - 3);
        let sends = User::new(Application::sends(sends));
        let stays = User::new(Application { stays: true, ..Application::sends(0) });
        Lab {
            ends: [End { sctp: first, config: client, user: sends }, End { sctp: second, config: server, user: stays }],
            paths: Paths::new(paths, seed),
            lose: Box::new(|_, _, _| false),
        }
    }

    /// Restarts the client without any state: it opens anew, sends everything once more, and closes.
    pub fn restart_client(&mut self) {
        let [tag, tsn] = [0, 1].map(|_| self.paths.random.below(1 << 32) as u32);
        let client = &mut self.ends[0];
        client.sctp = Association::connect(client.config.clone(), self.paths.weather.len(), tag, tsn);
        client.user = User::new(Application { stays: false, ..client.user.application.clone() });
    }

    /// Runs until both ends are finished or nothing is pending; at most `seconds`.
    pub fn run(&mut self, seconds: u64) {
        self.run_until(seconds, |lab| lab.ends.iter().all(|end| end.sctp.is_over()));
        for end in &mut self.ends {
            end.sctp.set_clock(self.paths.now);
            end.user.read_rest(self.paths.now, &mut end.sctp);
        }
    }

    /// Invariants at every event.
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

    /// Asserts that everything arrived once, in order, and that both sides know.
    pub fn assert_delivered(&self, bytes: u64) {
        assert_eq!(self.ends[1].user.received, bytes, "bytes delivered");
        assert_eq!(self.ends[0].sctp.failure(), None);
        assert_eq!(self.ends.each_ref().map(|end| end.sctp.state()), [State::Closed; 2]);
        let messages = self.ends[0].sctp.stats().messages_sent;
        assert_eq!(self.ends[1].sctp.stats().messages_delivered, messages, "messages delivered");
    }

    /// Asserts that every message arrived once, or was reported abandoned, or both, and that both sides know.
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
