//! Our TCP beside the kernel's, segment by segment: both are the client of the same connection.

pub mod compare;
pub mod peer;

use crate::post::Scripted;
use crate::{HZ, Player, Seen};
use compare::{Segment, segments};
use peer::{Habits, Peer};
use vazao_engine::{RandomStream, Time};
use vazao_network::Host;

/// One connection and its peer.
#[derive(Clone, Debug)]
pub struct Case {
    seed: u64,
    habits: Habits,
    downloads: bool,
    bytes: u64,
}

impl crate::Case for Case {
    type Piece = Segment;

    fn new(seed: u64) -> Case {
        let mut draws = RandomStream::new(seed, "differential/case");
        let downloads = draws.below(3) == 0;
        let bytes = [1, 1_000, 5_000, 14_480, 40_000, 100_000][draws.below(6) as usize];
        Case { seed, habits: Habits::draw(&mut draws, downloads), downloads, bytes }
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn scenario(&self, player: Player) -> String {
        let client = match player {
            Player::Ours => "vazao",
            Player::Linux => "linux",
        };
        let app = if self.downloads {
            "{ kind = 'download', duration = '100 s' }".to_owned()
        } else {
            format!("{{ kind = 'upload', size = '{} B' }}", self.bytes)
        };
        // Whose data goes the other way has no use for a control.
        let control = match player {
            Player::Ours if !self.downloads => "{ kind = 'reno', profile = 'linux' }",
            _ => "'reno'",
        };
        let ours = match player {
            Player::Ours => format!(
                ", host = 'linux', recovery = 'rack', abc_limit = 1000, bursts = 'deferred', nagle = true, tick = '{} ms', \
                 tcp_rmem = '6 MiB'",
                1000 / HZ
            ),
            Player::Linux => String::new(),
        };
        format!(
            "until = '30 s'\n[network]\ntopology = 'point-to-point'\n\
             link = {{ rate = '100 Gbps', delay = '1 us', queue = '10000 packets' }}\n\
             [[flow]]\nstart = '100 ms'\napp = {app}\n\
             transport = {{ kind = 'tcp', cc = {control}, stack = {{ client = '{client}', server = 'linux' }}{ours} }}\n"
        )
    }

    fn peer(&self, seen: Seen) -> Box<dyn Host> {
        Box::new(Scripted::new(Peer::new(self.habits.clone(), RandomStream::new(self.seed, "differential/peer")), seen))
    }

    fn pieces(packets: &[(Time, Vec<u8>)]) -> Vec<Segment> {
        segments(packets)
    }
}
