//! Names the engine's version after what it is built from: results of one build are never taken for another's.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The crates whose code decides what a run does. The guest's first program is a package of its own.
const ENGINE: &[&str] = &[
    "engine",
    "network",
    "congestion",
    "wire",
    "transport",
    "application",
    "guest",
    "guest/program",
    "guest-protocol",
    "quinn",
    "scenario",
];
/// Sources of each crate.
const PARTS: &[&str] = &["Cargo.toml", "Cargo.lock", "build.rs", "src"];
/// Versions and features of other people's crates, and how all is compiled.
const WORKSPACE: &[&str] = &["Cargo.toml", "Cargo.lock"];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where")).join("../..");
    let parts = ENGINE.iter().flat_map(|name| PARTS.iter().map(move |part| format!("crates/{name}/{part}")));
    let mut digest = Digest::new();
    for part in WORKSPACE.iter().map(|&file| file.to_owned()).chain(parts) {
        let path = root.join(&part);
        if !path.exists() {
            continue;
        }
        println!("cargo:rerun-if-changed={}", path.display());
        for file in files(&path) {
            let name = file.strip_prefix(&root).expect("a file of the workspace");
            digest.update(name.as_os_str().as_encoded_bytes());
            digest.update(&fs::read(&file).expect("a source file can be read"));
        }
    }
    let mut features: Vec<String> =
        env::vars().map(|(name, _)| name).filter(|name| name.starts_with("CARGO_FEATURE_")).collect();
    features.sort();
    features.iter().for_each(|feature| digest.update(feature.as_bytes()));
    println!("cargo:rustc-env=VAZAO_ENGINE_VERSION={}+{:016x}", env!("CARGO_PKG_VERSION"), digest.0);
}

/// FNV-1a (RFC 9923) of a sequence of parts, in 64 bits.
struct Digest(u64);

impl Digest {
    fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a part, after its length, so that where one ends counts too.
    fn update(&mut self, part: &[u8]) {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Returns all files of a directory, or the only one, in an order that no file system decides.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut entries: Vec<_> =
        fs::read_dir(path).expect("sources are there").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    entries.iter().flat_map(|path| files(path)).collect()
}
