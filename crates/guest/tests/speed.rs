//! Speed of guests, in processor time of this process and all it starts: what else a machine does adds little to it.
//!
//! A guest mostly hands frames from process to process and copies them, so a machine's own time for that is measured
//! beside each run ([`slowdown`]), and a slow machine has so much more. Bounds are the promised times and a half.
//! `cargo test --release -p vazao-guest --test speed -- --nocapture` prints both times.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

#[allow(dead_code)] // shared with the other tests
#[path = "guests/lab.rs"]
mod lab;

use lab::{GO_ON, Lab, PATIENCE, Wire, boot, idle, kernel, last, pair, upload};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::hint::black_box;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;
use vazao_engine::{Duration, Time};
use vazao_guest::Guest;

/// Seconds of processor time so far: this process's and that of its ended children (proc(5), in hundredths).
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(11).take(4);
    fields.map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// Seconds of the yardstick on a machine where guests take the promised times.
const YARDSTICK: f64 = 1.0;

/// Slowness of this machine now, as a multiple of [`YARDSTICK`], at least 1. The yardstick does what a guest's work consists
/// of, on one core: it sends 100 000 frames to another process and back, and copies 16 kB for each.
fn slowdown() -> f64 {
    let all = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set(sched_getcpu());
    sched_setaffinity(None, &one).unwrap();
    let before = processor_time();
    let mut echo = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (echo.stdin.take().unwrap(), echo.stdout.take().unwrap());
    let (mut frame, memory, mut copy) = ([7; 1514], vec![1; 64 << 20], [0; 16 << 10]);
    for block in memory.chunks(16 << 10).cycle().take(100_000) {
        to.write_all(&frame).unwrap();
        from.read_exact(&mut frame).unwrap();
        black_box(&mut copy).copy_from_slice(block);
    }
    drop(to);
    assert!(echo.wait().unwrap().success());
    sched_setaffinity(None, &all).unwrap();
    ((processor_time() - before) / YARDSTICK).max(1.0)
}

/// Runs guests to their end and says how long that took, in all. The quickest of up to three runs counts, since others on
/// the machine can only slow a run down (shared caches).
fn measure(name: &str, promised: f64, run: impl Fn() -> Lab) {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let slowdown = slowdown();
        let (start, before) = (Instant::now(), processor_time());
        let Lab { now, packets, .. } = run();
        let (took, used) = (start.elapsed(), processor_time() - before);
        println!(
            "{name}: {took:.3?}, {used:.2} s of processor time on a machine {slowdown:.2} times as slow; \
             {now} of virtual time, {packets} packets"
        );
        least = least.min(used / slowdown);
        if least < 1.5 * promised {
            return;
        }
    }
    panic!("{name} took {least} s, promised were {promised}");
}

/// One test, as processor time is the whole process's.
#[test]
fn guests_are_fast() {
    let Some(kernel) = kernel() else { return };
    let upload_over = |wire: Wire, size: u64, moderation| {
        let mut lab = pair(&kernel, &upload(size), &wire, |boot| {
            (boot.moderation, boot.memory_mib) = (moderation, 256); // with room for the window
        });
        lab.run(Time::NEVER).unwrap();
        lab.when(1, &last(size));
        lab
    };
    let slow = Wire::new(10_000_000, Duration::from_millis(50), 84, 0);
    let fast = Wire::new(1_000_000_000, Duration::from_millis(5), 834, 0);
    measure("boot, 1 kB and power off", 0.1, || upload_over(slow.clone(), 1000, Duration::ZERO));
    measure("10 MB at 10 Mbit/s x 100 ms", 1.5, || upload_over(slow.clone(), 10_000_000, Duration::ZERO));
    let moderation = Duration::from_micros(50);
    measure("200 MB at 1 Gbit/s x 10 ms, 50 us between interrupts", 6.0, || {
        upload_over(fast.clone(), 200_000_000, moderation)
    });
    measure("1000 idle seconds", 0.3, || {
        let guest = Guest::boot(&boot(&kernel, 0, &idle()), PATIENCE, &GO_ON).unwrap();
        let mut lab = Lab::new(vec![guest]);
        lab.run(Time::from_nanos(1_000_000_000_000)).unwrap();
        assert!(!lab.guests[0].is_off());
        lab
    });
}
