//! Reason why nothing more is sent.

use super::Sender;
use crate::common::Limit;
use crate::sctp::path::Path;

impl Sender {
    /// Reason why no more data is sent now.
    pub fn limit(&self) -> Limit {
        let lost = self.paths.iter().find_map(|path| path.order.marked.first());
        if let Some(&tsn) = lost {
            let is_admitted = self.admits_again(self.records.get(tsn).length);
            return if is_admitted { Limit::Recovery } else { Limit::ReceiveWindow };
        }
        let unsent = self.backlog.written - self.backlog.cut;
        if unsent == 0 {
            return if self.lacks_buffer { Limit::SendBuffer } else { Limit::Application };
        }
        let most = u64::from(self.config.largest_fragment(self.interleaved));
        if !self.admits(unsent.min(self.backlog.message_size()).min(most)) {
            return Limit::ReceiveWindow;
        }
        let is_small = self.config.host().delays_small_messages && self.flight > 0 && unsent < most;
        // Without CMT only one path carries data.
        let most = if self.config.cmt { usize::MAX } else { 1 };
        let mut fastest: Option<(usize, &Path)> = None;
        for (number, path) in self.paths.iter().enumerate().filter(|(_, path)| path.is_usable()).take(most) {
            if path.has_room() {
                return if is_small { Limit::Nagle } else { Limit::Scheduler };
            }
            if fastest.is_none_or(|(_, fastest)| path.rtt.srtt() < fastest.rtt.srtt()) {
                fastest = Some((number, path));
            }
        }
        // Without a usable path, one has to answer again.
        fastest
            .map_or(Limit::Timeout, |(number, path)| Limit::of_window(path.in_slow_start(), self.is_recovering(number)))
    }
}
