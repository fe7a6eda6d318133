//! Explicit congestion notification (RFC 3168) and DCTCP's accurate feedback (RFC 8257).

use super::segment::Flags;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnSender {
    /// Whether ECN was negotiated.
    pub on: bool,
    /// Whether the next new data carries CWR.
    cwr_due: bool,
    /// Whether the acknowledgement being handled carries ECE.
    pub echoed: bool,
    /// ECE causes no reduction until data beyond this octet is acknowledged: the receiver cannot have seen CWR before.
    until: u64,
}

impl EcnSender {
    /// Creates the state as negotiated.
    pub fn new(on: bool) -> Self {
        EcnSender { on, ..EcnSender::default() }
    }

    /// Records a window reduction for any reason; `nxt` is the next octet to send.
    pub fn on_reduction(&mut self, nxt: u64) {
        self.cwr_due = self.on;
        self.until = nxt;
    }

    /// Takes whether new data that leaves now carries CWR (section 6.1.2: the first after a reduction).
    #[inline]
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_due)
    }

    /// Whether ECE calls for a reduction, with everything before `una` acknowledged: not again within a round trip.
    pub fn calls_for_reduction(&self, una: u64) -> bool {
        una > self.until
    }

    /// Whether window growth is suspended: a reduction is less than a round trip old, or the ACK carries ECE.
    #[inline]
    pub fn suspends_growth(&self, una: u64) -> bool {
        self.on && (una <= self.until || self.echoed)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnReceiver {
    on: bool,
    /// Whether each acknowledgement reports exactly the marks of what it acknowledges (RFC 8257 section 3.2).
    precise: bool,
    /// Flags of the current acknowledgements: ECE or none.
    pub flags: Flags,
    /// Immediate acknowledgement of data that arrived before the CE state changed: its octet and flags.
    immediate_ack: Option<(u64, Flags)>,
}

impl EcnReceiver {
    /// Creates the state as negotiated.
    pub fn new(on: bool, precise: bool) -> Self {
        EcnReceiver { on, precise, ..EcnReceiver::default() }
    }

    /// Records arriving data with its marks and flags; earlier data up to `waiting` awaits acknowledgement.
    #[inline]
    pub fn on_data(&mut self, marked: bool, flags: Flags, waiting: Option<u64>) {
        if !self.on {
            return;
        }
        let seen = self.flags == Flags::ECE;
        if self.precise {
            if marked != seen {
                self.immediate_ack = waiting.map(|octet| (octet, self.flags));
                self.flags = if marked { Flags::ECE } else { Flags::default() };
            }
        } else if marked {
            self.flags = Flags::ECE;
        } else if flags.has(Flags::CWR) {
            self.flags = Flags::default();
        }
    }

    /// Whether an immediate acknowledgement is owed.
    #[inline]
    pub fn owes_immediate_ack(&self) -> bool {
        self.immediate_ack.is_some()
    }

    pub fn take_immediate_ack(&mut self) -> Option<(u64, Flags)> {
        self.immediate_ack.take()
    }
}
