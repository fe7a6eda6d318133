//! Builds the program that a guest's kernel runs first, a package of its own (`program/`), to `$OUT_DIR/program`. It is
//! linked statically, as the guest's initial root holds no libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The sources of the program, from this crate's folder.
const SOURCES: &[&str] = &[
    "program/Cargo.toml",
    "program/Cargo.lock",
    "program/src",
    "../wire/src/content.rs",
    "../guest-protocol/Cargo.toml",
    "../guest-protocol/src",
    "build.rs",
];
/// Settings of the outer build that must not reach the inner one. The linker of a wheel links against an old libc, and cannot
/// link statically.
const UNSET: &[&str] = &[
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_TARGET_DIR",
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "TARGET",
    "PROFILE",
];

fn main() {
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    let program = out.join("program");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|actual| actual == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        fs::copy(build(&out.join("nested")), &program).expect("the program was built");
    } else {
        fs::write(&program, []).expect("OUT_DIR can be written"); // no guests on this platform
    }
}

/// Builds the program below `target` and returns its path.
fn build(target: &Path) -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo says what it is"));
    cargo.args(["build", "--release", "--locked", "--target", TARGET, "--manifest-path", "program/Cargo.toml"]);
    cargo.arg("--target-dir").arg(target).env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static");
    for name in UNSET {
        cargo.env_remove(name);
    }
    let output = cargo.output().expect("cargo can be run");
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        panic!("the guest's program (crates/guest/program) does not build; cargo says:\n{message}");
    }
    target.join(TARGET).join("release/program")
}
