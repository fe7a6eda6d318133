//! A differential test of our machines against the Linux kernel's: both play the same side of a short connection, and what they
//! send is compared piece by piece.
//!
//! A [`Case`] is drawn from a seed: what the application does, and what the peer does to it. Our machine and the kernel each meet
//! that peer in a run of their own, in virtual time; [`differences`] finds where what they send first differs.

pub mod census;
mod differences;
mod post;
pub mod sctp;
pub mod tcp;

pub use differences::{Class, Difference, Piece, differences};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use vazao_engine::{RandomStream, Time};
use vazao_network::Host;
use vazao_scenario::{Extensions, HostPlan, Kernel, Options, Scenario, Stopped, run};

/// Ticks of the kernels' timers in a second, which set the lateness of ours.
pub const HZ: u32 = 100;

/// Packets that a stack sent, and when they came to the peer.
pub type Seen = Arc<Mutex<Vec<(Time, Vec<u8>)>>>;

/// Player of the side that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    /// Our machine, told to do as Linux does.
    Ours,
    /// The kernel.
    Linux,
}

/// Class of differences between two pieces of a case.
pub type ClassOf<C> = <<C as Case>::Piece as Piece>::Class;

/// One connection and its peer.
pub trait Case: Debug + Sized {
    /// Piece that is compared: a segment or a chunk.
    type Piece: Piece;

    /// Returns the case of a seed.
    fn new(seed: u64) -> Self;

    /// Returns the seed from which all follows.
    fn seed(&self) -> u64;

    /// Returns its scenario, in which the other side is no stack of ours either.
    fn scenario(&self, player: Player) -> String;

    /// Returns which host is judged: 0 opens, 1 listens.
    fn judged(&self) -> u16 {
        0
    }

    /// Returns the other side, whose packets are kept in `seen`.
    fn peer(&self, seen: Seen) -> Box<dyn Host>;

    /// Returns the pieces of packets.
    fn pieces(packets: &[(Time, Vec<u8>)]) -> Vec<Self::Piece>;

    /// Returns the pieces that a player sends to the peer.
    ///
    /// # Errors
    /// Why the run failed.
    fn play(&self, player: Player, kernel: &Path) -> Result<Vec<Self::Piece>, String> {
        let spec = Kernel { path: kernel.into(), version: "any".into(), config: "".into(), digest: "".into(), hz: HZ };
        let kernels = BTreeMap::from([("6.12".to_owned(), spec)]);
        let extensions = Extensions { kernels, ..Extensions::default() };
        let scenario = Scenario::load_with(&self.scenario(player), "", Vec::new(), Some(self.seed()), &extensions)
            .map_err(|error| error.to_string())?;
        let seen = Seen::default();
        let stop = Arc::new(AtomicBool::new(false));
        let judged = ["a", "b"][usize::from(self.judged())];
        let start = |plan: &HostPlan| -> Result<Box<dyn Host>, String> {
            if plan.name == judged {
                return linux(plan, &stop);
            }
            Ok(self.peer(seen.clone()))
        };
        match run(&scenario, &stop, Options { start: Some(&start), ..Options::default() }) {
            Ok(_) => {}
            Err(Stopped::Guest(problem) | Stopped::NotRun(problem)) => return Err(problem),
            Err(other) => return Err(format!("{other:?}")),
        }
        let seen: Mutex<_> = Arc::into_inner(seen).unwrap_or_default();
        Ok(Self::pieces(&seen.into_inner().expect("nobody panicked")))
    }

    /// Returns the differences of our machine from the kernel.
    ///
    /// # Errors
    /// Why a run failed.
    fn judge(&self, kernel: &Path) -> Result<Vec<Difference<ClassOf<Self>>>, String> {
        let [ours, linux] = [self.play(Player::Ours, kernel)?, self.play(Player::Linux, kernel)?];
        Ok(differences(&ours, &linux))
    }
}

fn pick<T: Copy>(draws: &mut RandomStream, choices: &[T]) -> T {
    choices[draws.below(choices.len() as u64) as usize]
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn linux(plan: &HostPlan, stop: &Arc<AtomicBool>) -> Result<Box<dyn Host>, String> {
    guest::start(plan, stop)
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn linux(_: &HostPlan, _: &Arc<AtomicBool>) -> Result<Box<dyn Host>, String> {
    Err("Linux guests run on Linux on x86-64 only".to_owned())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod guest {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;
    use vazao_guest::{Boot, Linux};
    use vazao_network::Host;
    use vazao_scenario::HostPlan;

    const PATIENCE: Duration = Duration::from_secs(60);

    pub fn start(plan: &HostPlan, stop: &Arc<AtomicBool>) -> Result<Box<dyn Host>, String> {
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
            files: &[],
            plan: &plan.plan,
        };
        Ok(Box::new(Linux::boot(&boot, PATIENCE, stop).map_err(|error| error.to_string())?))
    }
}
