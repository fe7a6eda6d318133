//! Linux kernels as hosts of a scenario, where this machine can run them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use vazao_guest::{Boot, Linux};
use vazao_network::Host;
use vazao_scenario::HostPlan;

/// Longest time for which a guest may compute in silence before it counts as spinning.
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
        checksums: plan.checksums,
        run_ahead: plan.has_programs,
        files: &files,
        plan: &plan.plan,
    };
    Ok(Box::new(Linux::boot(&boot, PATIENCE, stop).map_err(|e| e.to_string())?))
}
