//! An unmodified Linux kernel as an endpoint: User Mode Linux whose clock and network cards are here.
//!
//! A [`Guest`] is a process on this machine, but looks like any other endpoint of a simulation: it names its next wake-up,
//! is handed packets, and hands out those it sends. Computing takes no virtual time: between two calls it sleeps, and it sends
//! at the `now` of a call. With the same kernel, the same boot and the same packets at the same times it does the same to the
//! last byte, on any machine and under any load.
//!
//! * `launch` starts the process, shut off from the machine's randomness, and by `walls` from its files; `cpu` chooses
//!   its processor;
//! * `clock` is its clock (`linux/um_timetravel.h`);
//! * `card`, `vhost` and `ring` are its network cards (virtio 1.2, the vhost-user protocol);
//! * `host` makes it a host of a network;
//! * `initrd` is its initial root, and `console` what it prints.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
// A guest is a process of this machine: a wall clock watches it, and it has files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

// The laboratory of the tests is also that of the unit tests.
#[cfg(test)]
extern crate self as vazao_guest;

mod card;
mod clock;
mod console;
mod cpu;
mod error;
mod guest;
mod host;
mod initrd;
mod launch;
mod ring;
mod vhost;
mod walls;

pub use error::{GuestError, Problem};
pub use guest::{Boot, Guest};
pub use host::Linux;
pub use walls::has_walls;

/// The program that a guest's kernel runs first (`program/`): it carries out the plan and reports.
pub const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/program"));
