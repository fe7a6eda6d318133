//! Notifications of an association to its application (RFC 6458 section 6.1).

use super::cause::Cause;

/// Notification. Paths identify the peer's addresses; messages are numbered over all that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// SCTP_COMM_UP: the association is established.
    Up,
    /// SCTP_RESTART: the peer has restarted and the association is established again.
    Restart,
    /// SCTP_COMM_LOST: the association failed or was aborted.
    Lost,
    /// SCTP_SHUTDOWN_COMP: the association was shut down.
    ShutdownComplete,
    /// SCTP_CANT_STR_ASSOC: the association could not be set up.
    CannotStart,
    /// SCTP_ADDR_CONFIRMED: the address of a path is confirmed.
    PathConfirmed(u8),
    /// SCTP_ADDR_AVAILABLE: a path works again.
    PathUp(u8),
    /// SCTP_ADDR_UNREACHABLE: a path has failed.
    PathDown(u8),
    /// SCTP_ADDR_POTENTIALLY_FAILED (RFC 7829 section 7.1).
    PathDoubtful(u8),
    /// SCTP_REMOTE_ERROR: the peer sent an ERROR chunk.
    RemoteError(Cause),
    /// SCTP_SEND_FAILED_EVENT: a message was abandoned, or was unacknowledged when the association ended.
    SendFailed(u32),
    /// SCTP_SHUTDOWN_EVENT: the peer sends no more data.
    PeerShutdown,
    /// SCTP_SENDER_DRY_EVENT: everything written was acknowledged.
    SenderDry,
    /// SCTP_PARTIAL_DELIVERY_ABORTED: the rest of a partially delivered message will not come.
    PartialDeliveryAborted(u32),
}

/// Subject of a notification, besides the association itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Path number.
    pub path: u8,
    /// Message number, or error cause code.
    pub number: u32,
}

impl Notification {
    /// Names of all notifications, indexed by [`code`](Self::code).
    pub const NAMES: &[&str] = &[
        "comm-up",
        "restart",
        "comm-lost",
        "shutdown-complete",
        "cannot-start",
        "address-confirmed",
        "address-available",
        "address-unreachable",
        "address-potentially-failed",
        "remote-error",
        "send-failed",
        "shutdown",
        "sender-dry",
        "partial-delivery-aborted",
    ];

    /// Index in [`NAMES`](Self::NAMES).
    pub fn code(self) -> u8 {
        match self {
            Notification::Up => 0,
            Notification::Restart => 1,
            Notification::Lost => 2,
            Notification::ShutdownComplete => 3,
            Notification::CannotStart => 4,
            Notification::PathConfirmed(_) => 5,
            Notification::PathUp(_) => 6,
            Notification::PathDown(_) => 7,
            Notification::PathDoubtful(_) => 8,
            Notification::RemoteError(_) => 9,
            Notification::SendFailed(_) => 10,
            Notification::PeerShutdown => 11,
            Notification::SenderDry => 12,
            Notification::PartialDeliveryAborted(_) => 13,
        }
    }

    /// Subject of the notification.
    pub fn subject(self) -> Subject {
        match self {
            Notification::PathConfirmed(path)
            | Notification::PathUp(path)
            | Notification::PathDown(path)
            | Notification::PathDoubtful(path) => Subject { path, number: 0 },
            Notification::RemoteError(cause) => Subject { path: 0, number: u32::from(cause.code()) },
            Notification::SendFailed(number) | Notification::PartialDeliveryAborted(number) => {
                Subject { path: 0, number }
            }
            _ => Subject::default(),
        }
    }
}

/// Queue of notifications, if the application subscribed.
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    queue: Option<Vec<Notification>>,
    /// Bytes written when the sender was last reported dry.
    dry_at: u64,
}

impl Notices {
    pub fn watch(&mut self) {
        self.queue.get_or_insert_default();
    }
    pub fn is_watched(&self) -> bool {
        self.queue.is_some()
    }
    #[inline]
    pub fn notify(&mut self, what: Notification) {
        if let Some(queue) = &mut self.queue {
            queue.push(what);
        }
    }
    /// Reports once that all `written` bytes were acknowledged.
    pub fn notify_dry(&mut self, written: u64) {
        if written > self.dry_at {
            self.dry_at = written;
            self.notify(Notification::SenderDry);
        }
    }
    pub fn take(&mut self) -> Vec<Notification> {
        self.queue.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
