//! Hosts that somebody else wrote.

use vazao_engine::Time;

/// A whole host as a machine without a clock of its own: IP packets in and out as bytes, and the time of its next
/// wake-up. An operating system's kernel in virtual time is one; so is a library's stack behind an adapter.
///
/// Each method says in a sentence for the user what went wrong; the run then ends.
#[allow(clippy::missing_errors_doc)]
pub trait Host {
    /// Returns when [`handle_timeout`](Self::handle_timeout) wants to be called.
    fn next_timeout(&self) -> Time;
    /// Runs it through everything that is due at `now`. No event reaches it from outside before `until`, so it may
    /// run ahead, as long as it sends nothing. Returns the time at which it came to rest, before `until` or `now`:
    /// whatever it sent, it sent then.
    fn handle_timeout(&mut self, now: Time, until: Time) -> Result<Time, String>;
    /// Handles an IP packet that arrives at one of its interfaces, counted from 0.
    fn handle(&mut self, now: Time, interface: usize, packet: &[u8]) -> Result<(), String>;
    /// Returns the next IP packet that it has sent, and from which interface; call again until there is none.
    fn poll_transmit(&mut self) -> Option<(usize, Vec<u8>)>;
    /// Returns the next line that it has reported of its programs; call again until there is none.
    fn poll_report(&mut self) -> Option<String>;
    /// Returns whether it has powered off: nothing more will come of it.
    fn is_off(&self) -> bool {
        false
    }
    /// Returns the output of its programs.
    fn printed(&self) -> String {
        String::new()
    }
    /// Takes back the buffer of a packet that has arrived.
    fn recycle(&mut self, _buffer: Vec<u8>) {}
}
