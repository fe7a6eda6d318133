//! Guests' kernels and other simulators as they are installed, and the settings that a flow has for them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use vazao_engine::Duration;
use vazao_guest_protocol::Role;

/// Kernel that has been built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Executable.
    pub path: PathBuf,
    /// Release, and version of the package that it was built from.
    pub version: String,
    /// Digest of its configuration.
    pub config: String,
    /// Digest of the executable.
    pub digest: String,
    /// Timer frequency.
    pub hz: u32,
}

/// Available kernels by their names in scenarios.
pub type Kernels = BTreeMap<String, Kernel>;

/// Simulator other than ours, which runs whole scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulator {
    /// Version by its own account.
    pub version: String,
    /// Digest of the executable.
    pub digest: String,
}

/// Installed simulators by the names of their stacks.
pub type Simulators = BTreeMap<String, Simulator>;

/// Settings of a flow's guests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuestSpec {
    /// Kernel's name, and the kernel if it has been built.
    pub kernel: (String, Option<Kernel>),
    /// Kernel settings below `/proc/sys`, dots for slashes.
    pub sysctl: Vec<(String, String)>,
    /// Parameters of built-in modules, as in `tcp_cubic.hystart`.
    pub module: Vec<(String, String)>,
    /// Longest time for which a card may hold an arrived packet, so that one interrupt serves several.
    pub moderation: Duration,
    /// Time between two samples of the state of a flow's socket.
    pub sample: Duration,
    /// Simulator that plays the flow instead of the world, if it is installed.
    pub simulator: Option<Simulator>,
    /// Data that the kernel cuts into packets only behind the queue of a card.
    pub offloads: Offloads,
    /// Part of what a client's and a server's cards get to send that the kernel's network emulator loses there.
    pub netem: [f64; 2],
}

impl GuestSpec {
    /// Returns the settings of a host that plays one side, as if it played both.
    pub fn at(&self, role: Role) -> GuestSpec {
        GuestSpec { netem: [self.netem[role as usize]; 2], ..self.clone() }
    }
}

/// Data that a kernel hands to a card's queue in pieces of several packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offloads {
    /// None: each packet is queued by itself.
    None,
    #[default]
    /// TCP's, as a kernel does before any card since Linux 4.17.
    Tcp,
    /// SCTP's as well, as before a card that takes data in pieces and computes checksums.
    All,
}

impl Offloads {
    pub(crate) const ALL: [Offloads; 3] = [Offloads::None, Offloads::Tcp, Offloads::All];
    pub(crate) const NAMES: [&'static str; 3] = ["none", "tcp", "all"];
}
