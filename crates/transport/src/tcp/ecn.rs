//! Explicit congestion notification (RFC 3168), and DCTCP's precise form of it (RFC 8257).

use super::recovery::Episode;
use super::segment::Flags;
use super::sender::Sender;
use vazao_congestion::Signal;
use vazao_engine::Time;

/// What a sender keeps of ECN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Both sides understand it.
    pub on: bool,
    /// The next new data says that the window was reduced (CWR).
    reduced: bool,
    /// The acknowledgement being handled echoes a mark.
    pub echoed: bool,
    /// An echo asks for no further reduction before something beyond this octet is acknowledged: only then can the
    /// receiver have heard of the last one.
    until: u64,
}

impl Marks {
    /// ECN as the SYNs agreed on it.
    pub fn new(on: bool) -> Self {
        Marks { on, ..Marks::default() }
    }

    /// The window was reduced, for whatever reason, when `nxt` was the next octet to send.
    pub fn on_reduction(&mut self, nxt: u64) {
        self.reduced = self.on;
        self.until = nxt;
    }

    /// New data leaves: whether it is to say that the window was reduced (section 6.1.2: the first after it).
    #[inline]
    pub fn take_reduced(&mut self) -> bool {
        std::mem::take(&mut self.reduced)
    }

    /// Whether a reduction for a mark, or a loss, is younger than a round trip, or an echo asks for one: the window does not
    /// grow.
    #[inline]
    pub fn holds(&self, una: u64) -> bool {
        self.on && (una <= self.until || self.echoed)
    }
}

impl Sender {
    /// Section 6.1.2: an echo is answered as a loss is, at most once a round trip; nothing is sent again.
    /// `before`: what was unacknowledged when the echo came begins there.
    #[cold]
    pub(super) fn on_echo(&mut self, now: Time, before: u64) {
        if self.episode == Episode::None && self.una > self.marks.until {
            let flight = self.nxt - before;
            self.stats.mark_reductions += 1;
            self.marks.on_reduction(self.nxt);
            let from = self.reduces_from(flight);
            self.signal(now, Signal::Mark, flight);
            self.reduce_without_loss(from);
        }
    }
}

/// What a receiver keeps of ECN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Echo {
    on: bool,
    /// Each acknowledgement tells whether what it acknowledges was marked (RFC 8257 section 3.2).
    precise: bool,
    /// What acknowledgements carry now: ECE or nothing.
    pub flags: Flags,
    /// An acknowledgement to send at once, of what came before the state changed: this octet, with these flags.
    owed: Option<(u64, Flags)>,
}

impl Echo {
    /// ECN as the SYNs agreed on it.
    pub fn new(on: bool, precise: bool) -> Self {
        Echo { on, precise, ..Echo::default() }
    }

    /// Data arrives, marked or not, and with these flags; `waiting`: the octet up to which data that came before it has
    /// not been acknowledged.
    #[inline]
    pub fn on_data(&mut self, marked: bool, flags: Flags, waiting: Option<u64>) {
        if !self.on {
            return;
        }
        let seen = self.flags == Flags::ECE;
        if self.precise {
            if marked != seen {
                self.owed = waiting.map(|octet| (octet, self.flags));
                self.flags = if marked { Flags::ECE } else { Flags::default() };
            }
        } else if marked {
            self.flags = Flags::ECE;
        } else if flags.has(Flags::CWR) {
            self.flags = Flags::default();
        }
    }

    /// Whether an acknowledgement is owed.
    #[inline]
    pub fn is_owing(&self) -> bool {
        self.owed.is_some()
    }

    /// The acknowledgement that is owed.
    pub fn take_owed(&mut self) -> Option<(u64, Flags)> {
        self.owed.take()
    }
}
