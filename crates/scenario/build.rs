//! Names the engine's version after its sources: results of one build are never taken for another's.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The crates whose code decides what a run does.
const ENGINE: &[&str] = &[
    "engine",
    "network",
    "congestion",
    "wire",
    "transport",
    "application",
    "guest",
    "guest/program",
    "quinn",
    "scenario",
];

fn main() {
    let crates = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where")).join("..");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in ENGINE {
        let source = crates.join(name).join("src");
        println!("cargo:rerun-if-changed={}", source.display());
        for file in files(&source) {
            for byte in fs::read(file).expect("a source file can be read") {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    println!("cargo:rustc-env=VAZAO_ENGINE_VERSION={}+{:08x}", env!("CARGO_PKG_VERSION"), hash >> 32);
}

/// All files below a directory, in an order that no file system decides.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(directory).expect("sources are there").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
