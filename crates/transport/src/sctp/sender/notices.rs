//! What a sender has to tell of: paths that change, messages that will not arrive, nothing left to do.

use super::Sender;
use crate::sctp::notification::Notification;
use crate::sctp::outstanding::Place;

impl Sender {
    /// Something has happened: tells what is different now, if someone wants to know.
    #[inline]
    pub fn look_around(&mut self) {
        if self.notices.is_watched() {
            self.tell_changes();
        }
    }

    #[cold]
    fn tell_changes(&mut self) {
        for (number, path) in self.paths.iter_mut().enumerate() {
            if let Some(change) = path.change(number as u8) {
                self.notices.tell(change);
            }
        }
        if self.is_drained() {
            self.notices.tell_dry(self.backlog.written);
        }
    }

    /// The association ends: the messages that were sent, if only in part, and not acknowledged. What was never sent is too
    /// much to tell where a source has no end.
    pub fn tell_unacknowledged(&mut self) {
        if !self.notices.is_watched() {
            return;
        }
        for message in self.unacknowledged() {
            self.notices.tell(Notification::SendFailed(message));
        }
    }

    /// The messages of which something was sent, that was neither acknowledged for good nor given up.
    pub(super) fn unacknowledged(&self) -> std::collections::BTreeSet<u32> {
        let records = (self.records.first..self.records.next()).map(|tsn| self.records.get(tsn));
        records.filter(|record| record.place != Place::Abandoned).map(|record| record.message).collect()
    }
}
