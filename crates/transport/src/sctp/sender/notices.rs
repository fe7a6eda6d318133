//! Notifications from the sender: path changes, failed messages, sender dry.

use super::Sender;
use crate::sctp::notification::Notification;
use crate::sctp::outstanding::Place;

impl Sender {
    /// Reports changes to the application, if it subscribed.
    #[inline]
    pub fn report_changes(&mut self) {
        if self.notices.is_watched() {
            self.notify_changes();
        }
    }

    #[cold]
    fn notify_changes(&mut self) {
        for (number, path) in self.paths.iter_mut().enumerate() {
            if let Some(change) = path.change(number as u8) {
                self.notices.notify(change);
            }
        }
        if self.is_drained() {
            self.notices.notify_dry(self.backlog.written);
        }
    }

    /// Reports messages that were sent, at least in part, and not acknowledged when the association ends. Unsent
    /// messages are not reported: a greedy source would have too many.
    pub fn notify_unacknowledged(&mut self) {
        if !self.notices.is_watched() {
            return;
        }
        for message in self.unacknowledged() {
            self.notices.notify(Notification::SendFailed(message));
        }
    }

    /// Messages sent at least in part that were neither cumulatively acknowledged nor abandoned.
    pub(super) fn unacknowledged(&self) -> std::collections::BTreeSet<u32> {
        let records = (self.records.first..self.records.next()).map(|tsn| self.records.get(tsn));
        records.filter(|record| record.place != Place::Abandoned).map(|record| record.message).collect()
    }
}
