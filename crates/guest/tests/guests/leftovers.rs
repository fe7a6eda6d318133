//! Nothing of a guest is left: no process, no file; whether it is dropped or this process is killed.

use crate::lab::{GO_ON, PATIENCE, boot, kernel};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration as Wall, Instant};
use vazao_engine::Time;
use vazao_guest::Guest;

/// The processes that `parent` and its children have started, as /proc says.
fn descendants(parent: u32) -> Vec<u32> {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let parent_of = |pid| stat(pid)?.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok();
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let pairs: Vec<(u32, u32)> = all.filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let mut found = vec![parent];
    let mut at = 0;
    while at < found.len() {
        let of = found[at];
        found.extend(pairs.iter().filter(|(_, parent)| *parent == of).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}
/// Whether it runs, and has not merely not been waited for.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
fn entries(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// What another process does until it is killed: one guest that idles, then one that computes.
#[test]
#[ignore = "a part of killing_the_run_leaves_nothing"]
fn until_killed() {
    let kernel = kernel().unwrap();
    let _idle = Guest::boot(&boot(&kernel, 0, "card 0 10.0.0.1\n"), PATIENCE, &GO_ON).unwrap();
    let plan = "flow number=1 transport=command role=client start=0 program=while :; do :; done\n";
    let mut busy = Guest::boot(&boot(&kernel, 1, plan), Wall::from_secs(600), &GO_ON).unwrap();
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
    for moment in [Some(5), Some(10), Some(20), Some(35), Some(50), None] {
        let mut run = start_until_killed(&temporary);
        match moment {
            Some(ms) => std::thread::sleep(Wall::from_millis(ms)),
            None => {
                let mut lines = std::io::BufRead::lines(std::io::BufReader::new(run.stdout.take().unwrap()));
                assert!(lines.any(|line| line.unwrap().contains("up")));
                std::thread::sleep(Wall::from_millis(300));
            }
        }
        let started = descendants(run.id());
        assert!(moment.is_some() || started.len() >= 4, "two kernels and their programs: {started:?}");
        run.kill().unwrap();
        run.wait().unwrap();
        let end = Instant::now() + Wall::from_secs(10);
        while let Some(left) = started.iter().find(|pid| runs(**pid)) {
            assert!(Instant::now() < end, "process {left} is left");
            std::thread::sleep(Wall::from_millis(5));
        }
        assert_eq!(entries(&temporary), [""; 0], "files are left");
    }
    std::fs::remove_dir(&temporary).unwrap();
}

#[test]
fn a_dropped_guest_is_gone() {
    let Some(kernel) = kernel() else { return };
    let plan = "flow number=1 transport=command role=client start=0 program=sleep 1000\n";
    let mut boot = boot(&kernel, 0, plan);
    boot.seed = 0x6c65_6674; // by which it is told from the guests of other tests
    let mut guest = Guest::boot(&boot, PATIENCE, &GO_ON).unwrap();
    guest.handle_timeout(Time::ZERO, &GO_ON).unwrap();
    let word = format!("SEED={}", boot.seed);
    let is_ours = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|c| c.contains(&word));
    let main = descendants(std::process::id()).into_iter().find(is_ours).expect("its kernel's process");
    let all = [vec![main], descendants(main)].concat();
    assert!(all.len() >= 2, "a kernel and its program: {all:?}");
    drop(guest);
    assert!(!Path::new(&format!("/proc/{main}")).exists(), "the kernel has been waited for");
    let end = Instant::now() + Wall::from_secs(10); // its children are the system's to wait for
    while let Some(left) = all.iter().find(|pid| runs(**pid)) {
        assert!(Instant::now() < end, "process {left} is left");
    }
}
