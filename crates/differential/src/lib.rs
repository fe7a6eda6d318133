//! A differential test of our TCP against the Linux kernel's: both play the client of the same short connection, and their
//! segments are compared one by one.
//!
//! A [`Case`] is drawn from a seed: an upload or a download, and what the [peer] does to it. Our TCP and the kernel each meet
//! that peer in a run of their own, in virtual time; [compare] finds where what they send first differs.

pub mod compare;
pub mod peer;

use compare::{Difference, Segment, differences, segments};
use peer::{Habits, Peer, Seen};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use vazao_engine::Stream;
use vazao_network::Host;
use vazao_scenario::{Extensions, HostPlan, Kernel, Options, Scenario, Stopped, run};

/// How often the kernels' timers tick in a second, and so how late ours are told to be.
pub const HZ: u32 = 100;

/// Who plays the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    /// Our machine, told to do as Linux does.
    Ours,
    /// The kernel.
    Linux,
}

/// One connection and its peer.
#[derive(Clone, Debug)]
pub struct Case {
    /// All follows from it.
    pub seed: u64,
    /// What the peer is like.
    pub habits: Habits,
    downloads: bool,
    bytes: u64,
}

impl Case {
    /// The case of a seed.
    pub fn new(seed: u64) -> Case {
        let mut lots = Stream::new(seed, "differential/case");
        let downloads = lots.below(3) == 0;
        let bytes = [1, 1_000, 5_000, 14_480, 40_000, 100_000][lots.below(6) as usize];
        Case { seed, habits: Habits::draw(&mut lots, downloads), downloads, bytes }
    }

    /// Its scenario, in which the other side is no stack of ours either.
    pub fn scenario(&self, player: Player) -> String {
        let client = match player {
            Player::Ours => "vazao",
            Player::Linux => "linux",
        };
        let app = if self.downloads {
            "{ kind = 'download', duration = '100 s' }".to_owned()
        } else {
            format!("{{ kind = 'upload', size = '{} B' }}", self.bytes)
        };
        // Whose data goes the other way has no use for a control.
        let control = match player {
            Player::Ours if !self.downloads => "{ kind = 'reno', profile = 'linux' }",
            _ => "'reno'",
        };
        let ours = match player {
            Player::Ours => format!(
                ", host = 'linux', recovery = 'rack', abc_limit = 1000, bursts = 'deferred', tick = '{} ms'",
                1000 / HZ
            ),
            Player::Linux => String::new(),
        };
        format!(
            "until = '30 s'\n[network]\ntopology = 'point-to-point'\n\
             link = {{ rate = '100 Gbps', delay = '1 us', queue = '10000 packets' }}\n\
             [[flow]]\nstart = '100 ms'\napp = {app}\n\
             transport = {{ kind = 'tcp', cc = {control}, stack = {{ client = '{client}', server = 'linux' }}{ours} }}\n"
        )
    }

    /// What a player sends to the peer.
    ///
    /// # Errors
    /// Why the run failed.
    pub fn play(&self, player: Player, kernel: &Path) -> Result<Vec<Segment>, String> {
        let spec = Kernel { path: kernel.into(), version: "any".into(), config: "".into(), digest: "".into(), hz: HZ };
        let kernels = BTreeMap::from([("6.12".to_owned(), spec)]);
        let extensions = Extensions { kernels, ..Extensions::default() };
        let scenario = Scenario::load_with(&self.scenario(player), "", Vec::new(), Some(self.seed), &extensions)
            .map_err(|error| error.to_string())?;
        let seen = Seen::default();
        let stop = Arc::new(AtomicBool::new(false));
        let start = |plan: &HostPlan| -> Result<Box<dyn Host>, String> {
            if plan.name == "a" {
                return linux(plan, &stop);
            }
            let lots = Stream::new(self.seed, "differential/peer");
            Ok(Box::new(Peer::new(self.habits.clone(), lots, seen.clone())))
        };
        match run(&scenario, &stop, Options { start: Some(&start), ..Options::default() }) {
            Ok(_) => {}
            Err(Stopped::Guest(problem) | Stopped::NotRun(problem)) => return Err(problem),
            Err(other) => return Err(format!("{other:?}")),
        }
        let seen: Mutex<_> = Arc::into_inner(seen).unwrap_or_default();
        Ok(segments(&seen.into_inner().expect("nobody panicked")))
    }

    /// Where our machine does not do as the kernel does.
    ///
    /// # Errors
    /// Why a run failed.
    pub fn judge(&self, kernel: &Path) -> Result<Vec<Difference>, String> {
        let [ours, linux] = [self.play(Player::Ours, kernel)?, self.play(Player::Linux, kernel)?];
        Ok(differences(&ours, &linux))
    }
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
            run_ahead: plan.has_programs,
            files: &[],
            plan: &plan.plan,
        };
        Ok(Box::new(Linux::boot(&boot, PATIENCE, stop).map_err(|error| error.to_string())?))
    }
}
