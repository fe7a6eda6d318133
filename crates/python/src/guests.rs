//! Linux kernels as hosts of a scenario, where this machine can run them.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use vazao_engine::Time;
use vazao_guest::{Boot, Guest};
use vazao_network::Host;
use vazao_scenario::HostPlan;

/// How long a guest may compute without a word before it counts as spinning.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Starts the guest that a plan describes.
///
/// # Errors
/// Why it does not start, in words for the user.
pub fn start(plan: &HostPlan, stop: &Arc<AtomicBool>) -> Result<Box<dyn Host>, String> {
    // What programs may read beside what is installed is for the user to say, not for the scenario.
    let said = std::env::var_os("VAZAO_GUEST_FILES").filter(|_| plan.has_programs).unwrap_or_default();
    let files: Vec<PathBuf> = std::env::split_paths(&said).filter(|path| path.is_absolute()).collect();
    let boot = Boot {
        name: &plan.name,
        number: plan.number,
        kernel: &plan.kernel.path,
        memory_mib: plan.memory_mib,
        seed: plan.seed,
        cards: plan.cards,
        moderation: plan.moderation,
        run_ahead: plan.has_programs,
        files: &files,
        plan: &plan.plan,
    };
    let guest = Guest::boot(&boot, PATIENCE, stop).map_err(|e| e.to_string())?;
    Ok(Box::new(Linux { guest, stop: stop.clone(), lines: VecDeque::new() }))
}

/// A Linux kernel as a host.
struct Linux {
    guest: Guest,
    stop: Arc<AtomicBool>,
    /// What it has reported and nobody has heard yet.
    lines: VecDeque<String>,
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
