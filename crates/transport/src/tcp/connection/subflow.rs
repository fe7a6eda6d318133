//! What Multipath TCP asks of a connection that is one of its subflows.

use super::*;
use crate::tcp::recovery::Episode;
use vazao_congestion::{Sibling, Siblings};

impl Connection {
    /// Whether a segment of new data would leave at once.
    #[inline]
    pub(crate) fn has_room(&self, now: Time) -> bool {
        matches!(self.state, State::Established | State::CloseWait) && !self.tx.fin && self.tx.has_room(now)
    }
    /// Whether a retransmission timeout is being repaired: until then the path is not to be trusted.
    pub(crate) fn is_after_timeout(&self) -> bool {
        matches!(self.tx.episode, Episode::Restart { .. })
    }
    /// Takes what is to leave at once of data that is kept elsewhere: that it has no more does not mean that there is none.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u64) {
        self.tx.end += bytes;
    }
    /// The application has kept it waiting, if there was room for more.
    pub(crate) fn note_idle(&mut self) {
        self.tx.on_write();
    }
    /// Bytes that are believed to be in the network.
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        self.tx.board.pipe()
    }
    /// Bytes written and not sent so far.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.tx.end.saturating_sub(self.tx.nxt)
    }
    /// One beyond the last octet written; the SYN is octet 0.
    #[inline]
    pub(crate) fn written_octet(&self) -> u64 {
        self.tx.end
    }
    /// The first octet not acknowledged.
    #[inline]
    pub(crate) fn acknowledged_octet(&self) -> u64 {
        self.tx.una
    }
    /// Payload bytes of a full segment.
    #[inline]
    pub(crate) fn payload(&self) -> u64 {
        self.tx.mss
    }
    /// Full segments have so many bytes less from now on.
    pub(crate) fn shorten_segments(&mut self, bytes: u64) {
        self.tx.shorten_segments(bytes);
    }
    /// The octet that a segment of ours begins with.
    #[inline]
    pub(crate) fn sent_octet(&self, sequence: u32) -> u64 {
        Self::octet(self.iss, sequence, self.tx.nxt).unwrap_or(0)
    }
    /// The octet that a segment of the peer's begins with.
    #[inline]
    pub(crate) fn arrived_octet(&self, sequence: u32) -> u64 {
        Self::octet(self.irs, sequence, self.rx.nxt).unwrap_or(0)
    }
    /// Whether the peer has acknowledged that it is over on this side.
    pub(crate) fn has_said_farewell(&self) -> bool {
        self.tx.is_finished()
    }
    /// The next octet of the peer's that is read.
    pub(crate) fn read_octet(&self) -> u64 {
        self.rx.read_octet()
    }
    /// How far the window that is offered is shifted, and that which the peer offers.
    #[inline]
    pub(crate) fn scales(&self) -> (u8, u8) {
        (self.agreed.own_scale, self.agreed.peer_scale)
    }
    /// An acknowledgement leaves at the next occasion.
    pub(crate) fn acknowledge_now(&mut self) {
        self.rx.acknowledge_now();
    }
    /// It is over, and nobody is told: what it began at is gone, and nothing more is heard by it.
    pub(crate) fn vanish(&mut self) {
        self.failure.get_or_insert(Failure::TimedOut);
        self.enter_closed();
    }
    /// The peer is asked for its window, as by a zero-window probe.
    pub(crate) fn probe(&mut self) {
        self.tx.probe = true;
    }
    /// Data waits that would leave if there were room.
    #[inline]
    pub(crate) fn wait_for_room(&mut self, now: Time) {
        self.tx.wait_for_room(now);
    }
    /// The window is `cwnd` at most.
    pub(crate) fn restrain(&mut self, cwnd: u64) {
        self.tx.control.restrict(cwnd, 0);
        self.tx.cwnd = self.tx.control.cwnd();
    }
    /// What its control sees of the other paths of its connection, if it wants to.
    pub(crate) fn siblings(&mut self) -> Option<&mut Siblings> {
        self.tx.control.siblings()
    }
    /// As the other paths' controls see it.
    pub(crate) fn sibling(&mut self) -> Sibling {
        let told = self.siblings().map_or(0.0, |siblings| siblings.told());
        let (cwnd, ssthresh) = (self.tx.cwnd as f64, self.tx.control.ssthresh() as f64);
        Sibling { cwnd, ssthresh, srtt: self.tx.rtt.srtt(), told }
    }
}
