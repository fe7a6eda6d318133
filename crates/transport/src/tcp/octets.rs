//! Send sequence space of RFC 9293 section 3.3.1, in 64 bits.

/// Send sequence variables. The SYN is octet 0, data begins at octet 1, and FIN is the octet after the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octets {
    /// First unacknowledged octet (SND.UNA).
    pub una: u64,
    /// Next octet to send (SND.NXT).
    pub nxt: u64,
    /// Octet after the last one that the application has written, FIN not counted.
    pub end: u64,
    /// Whether the application has closed: octet `end` is FIN.
    pub fin: bool,
    /// Octet after the data that left with the SYN.
    pub early: u64,
}

impl Default for Octets {
    fn default() -> Self {
        Octets { una: 1, nxt: 1, end: 1, fin: false, early: 1 }
    }
}

impl Octets {
    /// Octet after the last one to send, including FIN.
    #[inline]
    pub fn finish(&self) -> u64 {
        self.end + u64::from(self.fin)
    }

    /// Whether nothing was sent since the SYN, so that acknowledgements only update the window.
    #[inline]
    pub fn is_unused(&self) -> bool {
        self.nxt == 1
    }

    /// Whether everything written, and FIN, has been acknowledged.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.fin && self.una == self.finish()
    }

    /// Octets written and not yet sent, FIN not counted.
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.end.saturating_sub(self.nxt)
    }
}
