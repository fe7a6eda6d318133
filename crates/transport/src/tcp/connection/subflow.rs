//! Operations that Multipath TCP needs on its subflows.

use super::*;
use crate::common::Limit;
use crate::tcp::receiver::SharedMemory;
use crate::tcp::recovery::Episode;
use vazao_congestion::{Sibling, Siblings};

impl Connection {
    /// Whether a segment of new data would leave at once.
    #[inline]
    pub(crate) fn has_room(&self, now: Time) -> bool {
        matches!(self.state, State::Established | State::CloseWait) && !self.tx.octets.fin && self.tx.has_room(now)
    }
    /// Whether a retransmission timeout is being repaired; until then the path is not trusted.
    pub(crate) fn is_after_timeout(&self) -> bool {
        matches!(self.tx.repair.episode, Episode::Restart { .. })
    }
    /// Adds `bytes` to be sent at once. The data is kept at the connection level, so an empty subflow buffer does not
    /// mean that the application has no more.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u64) {
        self.tx.octets.end += bytes;
    }
    /// Records that the application had no data although there was room for more.
    pub(crate) fn note_idle(&mut self) {
        self.tx.on_write();
    }
    /// Bytes estimated to be in the network.
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        self.tx.board.pipe()
    }
    /// Bytes written and not yet sent.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.tx.octets.unsent()
    }
    /// Octet after the last one written; the SYN is octet 0.
    #[inline]
    pub(crate) fn written_octet(&self) -> u64 {
        self.tx.octets.end
    }
    /// First unacknowledged octet.
    #[inline]
    pub(crate) fn acknowledged_octet(&self) -> u64 {
        self.tx.octets.una
    }
    /// Payload bytes of a full segment.
    #[inline]
    pub(crate) fn payload(&self) -> u64 {
        self.tx.peer.mss
    }
    /// Reduces the size of full segments by `bytes`.
    pub(crate) fn shorten_segments(&mut self, bytes: u64) {
        self.tx.peer.shorten_segments(bytes);
    }
    #[inline]
    pub(crate) fn sent_octet(&self, sequence: u32) -> u64 {
        Self::octet(self.iss, sequence, self.tx.octets.nxt).unwrap_or(0)
    }
    #[inline]
    pub(crate) fn arrived_octet(&self, sequence: u32) -> u64 {
        Self::octet(self.irs, sequence, self.rx.nxt).unwrap_or(0)
    }
    pub(crate) fn is_fin_acknowledged(&self) -> bool {
        self.tx.octets.is_finished()
    }
    pub(crate) fn read_octet(&self) -> u64 {
        self.rx.read_octet()
    }
    /// Window scales: of the window that we advertise and of the peer's.
    #[inline]
    pub(crate) fn scales(&self) -> (u8, u8) {
        (self.negotiated.own_scale, self.negotiated.peer_scale)
    }
    /// Sees the receive memory that the subflows share.
    pub(crate) fn share_memory(&mut self, memory: SharedMemory) {
        self.rx.share(memory);
    }
    /// Takes note that the connection's window is advertised in place of its own, which is no wider.
    pub(crate) fn raise_window(&mut self, window: u64) {
        self.rx.raise_window(window);
    }
    /// Receiver-side round-trip time, advertised segment size, and part of the memory that holds data in 256ths.
    pub(crate) fn shared_measures(&self) -> (Duration, u64, u64) {
        self.rx.shared_measures()
    }
    /// Makes an acknowledgement leave at the next opportunity.
    pub(crate) fn acknowledge_now(&mut self) {
        self.rx.acknowledge_now();
    }
    /// Closes the subflow silently: its address is gone, and nothing more is received on it.
    pub(crate) fn close_silently(&mut self) {
        self.failure.get_or_insert(Failure::TimedOut);
        self.enter_closed();
    }
    /// Asks the peer for its window, as with a zero-window probe.
    pub(crate) fn probe(&mut self) {
        self.tx.peer.probe = true;
    }
    /// Forgets that a short segment is unacknowledged, for which Nagle's algorithm would hold back another one.
    #[inline]
    pub(crate) fn forget_short(&mut self) {
        self.tx.short.end = 1;
    }
    /// Records that data is waiting for room in the windows.
    #[inline]
    pub(crate) fn wait_for_room(&mut self, now: Time) {
        self.tx.wait_for_room(now);
    }
    pub(crate) fn limit_cwnd(&mut self, cwnd: u64) {
        self.tx.window.restrict(cwnd, 0);
    }
    /// Returns the limit that its windows are while they have no room.
    pub(crate) fn window_limit(&self, now: Time) -> Limit {
        self.tx.window_limit(now)
    }
    /// State of the other subflows, if the congestion control is coupled.
    pub(crate) fn siblings(&mut self) -> Option<&mut Siblings> {
        self.tx.window.control.siblings()
    }
    /// State of this subflow for the other subflows' congestion controls.
    pub(crate) fn sibling(&mut self) -> Sibling {
        let told = self.siblings().map_or(0.0, |siblings| siblings.told());
        let (cwnd, ssthresh) = (self.tx.window.cwnd as f64, self.tx.window.control.ssthresh() as f64);
        Sibling::new(cwnd, ssthresh, self.tx.rtt.srtt(), told)
    }
}
