//! Names the engine's version after what it is built from: results of one build are never taken for another's.

use sha2::{Digest, Sha256};
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
/// Versions and features of other people's crates, and how and by what all is compiled.
const WORKSPACE: &[&str] = &["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"];
/// What cargo gives the compiler besides.
const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where")).join("../..");
    let parts = ENGINE.iter().flat_map(|name| PARTS.iter().map(move |part| format!("crates/{name}/{part}")));
    let mut digest = Sha256::new();
    for part in WORKSPACE.iter().map(|&file| file.to_owned()).chain(parts) {
        let path = root.join(&part);
        if !path.exists() {
            continue;
        }
        println!("cargo:rerun-if-changed={}", path.display());
        for file in files(&path) {
            let name = file.strip_prefix(&root).expect("a file of the workspace");
            update(&mut digest, name.as_os_str().as_encoded_bytes());
            update(&mut digest, &fs::read(&file).expect("a source file can be read"));
        }
    }
    let mut features: Vec<String> =
        env::vars().map(|(name, _)| name).filter(|name| name.starts_with("CARGO_FEATURE_")).collect();
    features.sort();
    features.iter().for_each(|feature| update(&mut digest, feature.as_bytes()));
    println!("cargo:rerun-if-env-changed={FLAGS}");
    update(&mut digest, env::var_os(FLAGS).unwrap_or_default().as_encoded_bytes());
    let short: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=VAZAO_ENGINE_VERSION={}+{short}", env!("CARGO_PKG_VERSION"));
}

/// Adds a part, after its length, so that where one ends counts too.
fn update(digest: &mut Sha256, part: &[u8]) {
    digest.update((part.len() as u64).to_le_bytes());
    digest.update(part);
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
