//! Our SCTP beside the kernel's, chunk by chunk: both are the same end of the same association.

pub mod compare;
pub mod habits;
pub mod peer;
mod write;

use crate::post::Scripted;
use crate::{Player, Seen, pick};
use compare::{Packet, packets};
use habits::Habits;
use peer::Peer;
use vazao_engine::{RandomStream, Time};
use vazao_network::Host;

/// One association and its peer.
#[derive(Clone, Debug)]
pub struct Case {
    seed: u64,
    habits: Habits,
    /// Whether the stack opens, and whether it sends the data.
    opens: bool,
    sends: bool,
    bytes: u64,
    /// Whether messages are written one by one.
    pace: Option<Pace>,
    settings: Settings,
}

/// Messages of so many bytes, every so often.
#[derive(Clone, Debug)]
struct Pace {
    message: u64,
    interval_ms: u64,
    count: u64,
}

/// Settings of both stacks. No path is potentially failed after one timeout: the heartbeats that ask it leave at random times,
/// and what they measure decides on the next timeout.
#[derive(Clone, Debug)]
struct Settings {
    /// Milliseconds.
    initial_rto: u64,
    min_rto: u64,
    cookie_life: u64,
    sack_delay: u64,
    max_burst: u64,
    /// Bytes that a socket may hold, of which half is announced.
    buffer: u64,
}

impl Settings {
    fn draw(draws: &mut RandomStream) -> Settings {
        Settings {
            initial_rto: pick(draws, &[3_000, 3_000, 500]),
            min_rto: pick(draws, &[1_000, 1_000, 400]),
            cookie_life: pick(draws, &[60_000, 60_000, 2_000]),
            sack_delay: pick(draws, &[200, 200, 100]),
            max_burst: pick(draws, &[4, 4, 2]),
            buffer: pick(draws, &[212_992, 212_992, 40_000, 8_000]),
        }
    }

    fn of(&self, player: Player) -> String {
        let Settings { initial_rto, min_rto, cookie_life, sack_delay, max_burst, buffer, .. } = self;
        match player {
            Player::Ours => format!(
                ", semantics = 'linux', cwnd_growth = 'gap-acked', initial_rto = '{initial_rto} ms', min_rto = '{min_rto} ms', \
                 cookie_life = '{cookie_life} ms', delayed_sack_timeout = '{sack_delay} ms', max_burst = {max_burst}, \
                 receive_buffer = '{} B', send_buffer = '121968 B'",
                buffer / 2,
            ),
            Player::Linux => format!(
                ", sysctl = {{ 'net.sctp.rto_initial' = {initial_rto}, 'net.sctp.rto_min' = {min_rto}, \
                 'net.sctp.valid_cookie_life' = {cookie_life}, 'net.sctp.sack_timeout' = {sack_delay}, \
                 'net.sctp.max_burst' = {max_burst}, 'net.core.rmem_default' = {buffer}, 'net.sctp.pf_enable' = 0 }}"
            ),
        }
    }
}

impl crate::Case for Case {
    type Piece = Packet;

    fn new(seed: u64) -> Case {
        let mut draws = RandomStream::new(seed, "differential/sctp/case");
        let (opens, sends) = (draws.below(3) > 0, draws.below(3) > 0);
        let bytes = pick(&mut draws, &[1, 1_000, 5_000, 14_520, 40_000, 100_000]);
        let pace = Pace {
            message: pick(&mut draws, &[100, 700, 3_000, 10_000]),
            interval_ms: pick(&mut draws, &[1, 5, 50]),
            count: pick(&mut draws, &[3, 10, 30]),
        };
        let pace = (draws.below(4) == 0).then_some(pace);
        let settings = Settings::draw(&mut draws);
        Case { seed, habits: Habits::draw(&mut draws, !sends), opens, sends, bytes, pace, settings }
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn judged(&self) -> u16 {
        u16::from(!self.opens)
    }

    fn scenario(&self, player: Player) -> String {
        let own = match player {
            Player::Ours => "vazao",
            Player::Linux => "linux",
        };
        let [client, server] = if self.opens { [own, "linux"] } else { ["linux", own] };
        let Case { bytes, pace, .. } = self;
        let app = match (self.opens, self.sends, pace) {
            (true, true, Some(Pace { message, interval_ms, count })) => format!(
                "{{ kind = 'cbr', message = '{message} B', rate = '{} bps', size = '{} B' }}",
                message * 8000 / interval_ms,
                message * count
            ),
            (true, true, None) => format!("{{ kind = 'upload', size = '{bytes} B', message = '1452 B' }}"),
            (false, true, _) => format!("{{ kind = 'download', size = '{bytes} B', message = '1452 B' }}"),
            (true, false, _) => "{ kind = 'download', duration = '100 s' }".to_owned(),
            (false, false, _) => "{ kind = 'upload', duration = '100 s' }".to_owned(),
        };
        // The second flow keeps the run from ending with the first, whose last packets are still under way then.
        format!(
            "until = '30 s'\n[network]\ntopology = 'point-to-point'\n\
             link = {{ rate = '100 Gbps', delay = '1 us', queue = '10000 packets' }}\n\
             [[flow]]\nstart = '100 ms'\napp = {app}\n\
             transport = {{ kind = 'sctp', stack = {{ client = '{client}', server = '{server}' }}{} }}\n\
             [[flow]]\nstart = '29 s'\napp = {{ kind = 'upload', size = '1 B' }}\ntransport = {{ kind = 'sctp' }}\n",
            self.settings.of(player)
        )
    }

    fn peer(&self, seen: Seen) -> Box<dyn Host> {
        let draws = RandomStream::new(self.seed, "differential/sctp/peer");
        Box::new(Scripted::new(Peer::new(self.habits.clone(), !self.opens, draws), seen))
    }

    fn pieces(seen: &[(Time, Vec<u8>)]) -> Vec<Packet> {
        packets(seen)
    }
}
