//! Same kernel, same plans, same packets: on a busy machine, as another user, in another folder, beside other runs.

use crate::lab::{Wire, kernel, last, pair, upload};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use vazao_engine::{Duration, Time};

/// A hash over every byte, time and place of an upload with losses.
fn trace() -> Option<u64> {
    let kernel = kernel()?;
    let wire = Wire::new(10_000_000, Duration::from_millis(20), 30, 10);
    let mut lab = pair(&kernel, &upload(300_000), &wire, |_| {});
    lab.run(Time::NEVER).unwrap();
    lab.when(1, &last(300_000));
    assert!(lab.packets > 400);
    Some(lab.hash)
}

/// The run that `in_another_process` has made elsewhere.
#[test]
#[ignore = "a part of in_another_process"]
fn elsewhere() {
    println!("trace {:016x}", trace().unwrap());
}

/// This test program's `elsewhere`, run by way of `through`.
fn in_another_process(through: &[&str], temporary: &std::path::Path) -> String {
    let this = std::env::current_exe().unwrap();
    let mut words = through.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    words.push(this.to_string_lossy().into_owned());
    words.extend(["--ignored", "--exact", "--nocapture", "determinism::elsewhere"].map(str::to_owned));
    let output = Command::new(&words[0]).args(&words[1..]).current_dir("/").env("TMPDIR", temporary).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    text.split_once("trace ").unwrap_or_else(|| panic!("{text}{errors}")).1[..16].to_owned()
}

#[test]
fn runs_are_identical_on_a_busy_machine() {
    let Some(first) = trace() else { return };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let again: Vec<u64> = (0..5).map(|_| trace().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        assert_eq!(again, [first; 5]);
    });
}

#[test]
fn runs_are_identical_side_by_side() {
    let Some(first) = trace() else { return };
    let traces: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| trace().unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(traces, [first; 4]);
}

#[test]
fn runs_are_identical_elsewhere_and_for_others() {
    let Some(first) = trace() else { return };
    let temporary = std::env::temp_dir().join(format!("vazao test of {}, a longer name", std::process::id()));
    std::fs::create_dir(&temporary).unwrap();
    let _ = std::fs::set_permissions(&temporary, std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let mut ways = vec![vec![]];
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    // Only root may become someone else, who may then not be allowed to read the kernel or this program.
    let readable = |file: &std::path::Path| {
        Command::new(nobody[0]).args(&nobody[1..]).args(["test", "-x"]).arg(file).status().is_ok_and(|s| s.success())
    };
    if readable(&kernel().unwrap()) && readable(&std::env::current_exe().unwrap()) {
        ways.push(nobody.to_vec());
    }
    for way in ways {
        assert_eq!(in_another_process(&way, &temporary), format!("{first:016x}"), "{way:?}");
    }
    std::fs::remove_dir(&temporary).expect("nothing is left in it");
}

/// The seed decides what is drawn at random, and so does the guest's number; neither the plan nor the name.
#[test]
fn the_seed_decides_the_contents() {
    let Some(kernel) = kernel() else { return };
    let hash = |seed| {
        let wire = Wire::new(10_000_000, Duration::from_millis(20), 30, 0);
        let mut lab = pair(&kernel, &upload(3000), &wire, |boot| boot.seed = seed);
        lab.run(Time::NEVER).unwrap();
        (lab.hash, lab.when(1, &last(3_000)))
    };
    let (one, other) = (hash(1), hash(2));
    assert_ne!(one.0, other.0, "other sequence numbers");
    assert_eq!(one.1, other.1, "but nothing takes longer");
}
