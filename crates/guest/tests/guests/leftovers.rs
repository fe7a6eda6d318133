//! Nothing of a guest is left: no process, no file; whether it is dropped or this process is killed.

use crate::lab::{GO_ON, PATIENCE, boot, idle, kernel, program};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration as Wall, Instant};
use vazao_engine::Time;
use vazao_guest::{Boot, Guest};

fn processes() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
/// Whether it runs, and has not merely not been waited for.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
fn entries(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// The processes that run a kernel with this seed, or programs of its.
fn with_seed(seed: u64) -> Vec<u32> {
    let word = format!("SEED={seed}");
    let is_one = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|c| c.contains(&word));
    processes().filter(is_one).filter(|pid| runs(*pid)).collect()
}

/// Body of another process, until it is killed: one guest that idles, then one that computes.
#[test]
#[ignore = "a part of killing_the_run_leaves_nothing"]
fn until_killed() {
    let kernel = kernel().unwrap();
    let seed = std::process::id().into();
    let [idle, busy] = [idle(), program("while :; do :; done")];
    let idle = Boot { seed, ..boot(&kernel, 0, &idle) };
    let busy = Boot { seed, ..boot(&kernel, 1, &busy) };
    let _idle = Guest::boot(&idle, PATIENCE, &GO_ON).unwrap();
    let mut busy = Guest::boot(&busy, Wall::from_secs(600), &GO_ON).unwrap();
    println!("up");
    while busy.handle_timeout(busy.next_timeout(), &GO_ON).is_ok() {}
}

fn start_until_killed(temporary: &Path) -> Child {
    let this = std::env::current_exe().unwrap();
    let words = ["--ignored", "--exact", "--nocapture", "leftovers::until_killed"];
    Command::new(this)
        .args(words)
        .env("TMPDIR", temporary)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killing_the_run_leaves_nothing() {
    let Some(_) = kernel() else { return };
    let temporary = std::env::temp_dir().join(format!("vazao-test-{}-killed", std::process::id()));
    std::fs::create_dir(&temporary).unwrap();
    // At moments of its start, and when both guests are up.
    for moment in (0..60).step_by(4).map(Some).chain([None; 3]) {
        let mut run = start_until_killed(&temporary);
        match moment {
            Some(ms) => std::thread::sleep(Wall::from_millis(ms)),
            None => {
                let mut lines = std::io::BufRead::lines(std::io::BufReader::new(run.stdout.take().unwrap()));
                assert!(lines.any(|line| line.unwrap().contains("up")));
                std::thread::sleep(Wall::from_millis(300));
                let started = with_seed(run.id().into());
                assert!(started.len() >= 4, "two kernels and their programs: {started:?}");
            }
        }
        run.kill().unwrap();
        run.wait().unwrap();
        let end = Instant::now() + Wall::from_secs(10);
        while !with_seed(run.id().into()).is_empty() {
            let left = with_seed(run.id().into());
            assert!(Instant::now() < end, "killed after {moment:?} ms; left are {left:?}");
            std::thread::sleep(Wall::from_millis(5));
        }
        assert_eq!(entries(&temporary), [""; 0], "files are left");
    }
    std::fs::remove_dir(&temporary).unwrap();
}

#[test]
fn a_dropped_guest_is_gone() {
    let Some(kernel) = kernel() else { return };
    let plan = program("sleep 1000");
    let seed = 0x6c65_6674; // by which it is told from the guests of other tests
    let mut guest = Guest::boot(&Boot { seed, ..boot(&kernel, 0, &plan) }, PATIENCE, &GO_ON).unwrap();
    guest.handle_timeout(Time::ZERO, &GO_ON).unwrap();
    assert!(with_seed(seed).len() >= 2, "a kernel and its program");
    drop(guest);
    let end = Instant::now() + Wall::from_secs(10); // what the kernel started dies a little later
    while !with_seed(seed).is_empty() {
        assert!(Instant::now() < end, "left are {:?}", with_seed(seed));
    }
}
