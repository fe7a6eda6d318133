//! Memory that the events of a sender need.

use super::Sender;
use vazao_engine::fetch;

impl Sender {
    /// Fetches what every event needs into the cache.
    pub fn fetch(&self) {
        fetch(&self.window.cwnd);
        fetch(&self.octets.una);
        fetch(&self.peer.window);
        fetch(&self.timer.at);
        if self.octets.is_unused() {
            return;
        }
        fetch(&self.rtt);
        fetch(&self.chronograph);
        fetch(&self.reduction);
        fetch(&self.undo);
        fetch(&self.repair.episode);
        fetch(&self.usage);
        fetch(&self.stats);
        fetch(&self.stats.rtt);
        self.board.fetch();
    }

    /// Fetches what its pointers lead to.
    pub fn fetch_parts(&self) {
        if self.octets.is_unused() {
            return;
        }
        self.window.control.fetch();
        if let Some(rack_tlp) = &self.rack_tlp {
            fetch(&**rack_tlp);
        }
        self.board.fetch_parts();
        self.stats.rtt.fetch();
    }
}
