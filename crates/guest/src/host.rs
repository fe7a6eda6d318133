//! A guest as a host of a network.

use crate::{Boot, Guest, GuestError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vazao_engine::Time;
use vazao_network::Host;

/// A Linux kernel as a host.
pub struct Linux {
    guest: Guest,
    stop: Arc<AtomicBool>,
    /// Reports that have not been polled yet.
    lines: VecDeque<String>,
}

impl Linux {
    /// Starts a guest as [`Guest::boot`] does. It fails as soon as `stop` is set.
    ///
    /// # Errors
    /// As [`Guest::boot`].
    pub fn boot(boot: &Boot<'_>, patience: Duration, stop: &Arc<AtomicBool>) -> Result<Linux, GuestError> {
        let guest = Guest::boot(boot, patience, stop)?;
        Ok(Linux { guest, stop: stop.clone(), lines: VecDeque::new() })
    }
}

impl Host for Linux {
    fn next_timeout(&self) -> Time {
        self.guest.next_timeout()
    }
    fn handle_timeout(&mut self, now: Time, until: Time) -> Result<Time, String> {
        self.guest.run_ahead(now, until, &self.stop).map_err(|e| e.to_string())
    }
    fn handle(&mut self, now: Time, interface: usize, packet: &[u8]) -> Result<(), String> {
        self.guest.handle(now, interface, packet).map_err(|e| e.to_string())
    }
    fn poll_transmit(&mut self) -> Option<(usize, Vec<u8>)> {
        self.guest.poll_transmit()
    }
    fn poll_report(&mut self) -> Option<String> {
        if self.lines.is_empty() {
            self.lines.extend(self.guest.reports().lines().map(str::to_owned));
        }
        self.lines.pop_front()
    }
    fn is_off(&self) -> bool {
        self.guest.is_off()
    }
    fn printed(&self) -> String {
        self.guest.printed()
    }
    fn recycle(&mut self, buffer: Vec<u8>) {
        self.guest.recycle(buffer);
    }
}
