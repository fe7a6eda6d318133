//! What an association tells its application unasked: the notifications of RFC 6458 section 6.1.

use super::cause::Cause;

/// An event. Paths are those by which the peer's addresses are reached, messages are numbered among all that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// SCTP_COMM_UP: the association stands.
    Up,
    /// SCTP_RESTART: the peer has restarted, and the association stands anew.
    Restart,
    /// SCTP_COMM_LOST: it failed, or was aborted.
    Lost,
    /// SCTP_SHUTDOWN_COMP: it was shut down.
    ShutdownComplete,
    /// SCTP_CANT_STR_ASSOC: it could not be set up.
    CannotStart,
    /// SCTP_ADDR_CONFIRMED: the peer is known to have a path's address.
    PathConfirmed(u8),
    /// SCTP_ADDR_AVAILABLE: a path is well again.
    PathUp(u8),
    /// SCTP_ADDR_UNREACHABLE: a path was given up.
    PathDown(u8),
    /// SCTP_ADDR_POTENTIALLY_FAILED (RFC 7829 section 7.1).
    PathDoubtful(u8),
    /// SCTP_REMOTE_ERROR: the peer complains.
    RemoteError(Cause),
    /// SCTP_SEND_FAILED_EVENT: a message was given up, or was not acknowledged when the association ended.
    SendFailed(u32),
    /// SCTP_SHUTDOWN_EVENT: the peer sends nothing more.
    PeerShutdown,
    /// SCTP_SENDER_DRY_EVENT: everything written was acknowledged.
    SenderDry,
    /// SCTP_PARTIAL_DELIVERY_ABORTED: the rest of a message that was delivered in part will not come.
    PartialDeliveryAborted(u32),
}

/// What a notification is about beside the association itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// A path.
    pub path: u8,
    /// The number of a message, or the code of an error cause.
    pub number: u32,
}

impl Notification {
    /// The names of all, by [`code`](Self::code).
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

    /// Its place among [`NAMES`](Self::NAMES).
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

    /// What it is about.
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

/// Notifications that wait to be read, if someone wants them.
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    queue: Option<Vec<Notification>>,
    /// How much had been written when the sender was said to be dry.
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
    pub fn tell(&mut self, what: Notification) {
        if let Some(queue) = &mut self.queue {
            queue.push(what);
        }
    }
    /// All of `written` bytes were acknowledged, which is said once.
    pub fn tell_dry(&mut self, written: u64) {
        if written > self.dry_at {
            self.dry_at = written;
            self.tell(Notification::SenderDry);
        }
    }
    pub fn take(&mut self) -> Vec<Notification> {
        self.queue.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
