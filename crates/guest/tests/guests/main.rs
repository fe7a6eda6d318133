//! Guests, joined by links of the tests' own. Skipped where no kernel is named by VAZAO_KERNEL.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
// These tests watch processes of this machine and tell how long they take.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

mod determinism;
mod failures;
mod lab;
mod leftovers;
mod transfers;
mod walls;
