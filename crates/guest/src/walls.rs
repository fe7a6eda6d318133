//! Walls around a guest's process: of this machine's files it may read programs and libraries, and nothing else. The walls
//! are made by Landlock (landlock(7)) around the guest's kernel, so that a program that has broken out of its guest is still
//! within them. A machine whose Linux has no Landlock has no walls; with an older version they are lower.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    Scope, path_beneath_rules,
};
use rustix::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The newest version that is used here. Older ones restrict less.
const VERSION: ABI = ABI::V6;

/// Programs, their libraries, and settings of the machine that they read: no keys, and nothing of any user's.
const READABLE: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/proc/cpuinfo",
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/debian_version",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/iproute2",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/profile",
    "/etc/protocols",
    "/etc/python3",
    "/etc/resolv.conf",
    "/etc/rpc",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
];

/// Makes walls around a process that runs `kernel` and may also read `more`; `None` where the machine cannot make any.
/// Within them a process cannot connect or listen by TCP, nor signal others outside.
pub(crate) fn around(kernel: &Path, more: &[PathBuf]) -> Result<Option<OwnedFd>, RulesetError> {
    // Programs may be executed: the walls remain.
    let handled = AccessFs::from_all(VERSION) & !AccessFs::Execute;
    let readable = READABLE.iter().map(Path::new).chain([kernel]).chain(more.iter().map(PathBuf::as_path));
    let walls = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(handled)?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::ReadFile | AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(["/dev/null"], AccessFs::ReadFile | AccessFs::WriteFile))?;
    Ok(walls.into())
}

/// Returns whether this machine can make walls.
pub fn has_walls() -> bool {
    matches!(around(Path::new("/"), &[]), Ok(Some(_)))
}

/// Access to one more folder, where the guest's memory is: `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
pub(crate) struct Below {
    pub allowed: u64,
    pub folder: i32,
}

impl Below {
    /// `LANDLOCK_RULE_PATH_BENEATH`.
    pub const KIND: libc::c_int = 1;
    /// Allows a folder's files to be written and read.
    pub fn writable(folder: i32) -> Below {
        Below { allowed: (AccessFs::WriteFile | AccessFs::ReadFile).bits(), folder }
    }
}
