//! Failures are told, with the host's name, what it printed and what to do.

use crate::lab::{GO_ON, PATIENCE, boot, kernel, program};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Wall, Instant};
use vazao_engine::Time;
use vazao_guest::{Guest, GuestError, Problem};
use vazao_guest_protocol::{Event, Plan, Report, Setup, decode};

const SHORT: Wall = Wall::from_millis(500);

/// A file of a few lines that is not a kernel.
pub fn imposter(name: &str, content: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("vazao-test-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}
fn refused(kernel: &Path) -> GuestError {
    let refusal = Guest::boot(&boot(kernel, 0, &Plan::default()), SHORT, &GO_ON);
    refusal.err().expect("it is no kernel")
}

#[test]
fn what_is_no_kernel_is_refused() {
    let missing = refused(Path::new("/nowhere/linux"));
    assert!(matches!(missing.problem, Problem::Start { .. }));
    let text = missing.to_string();
    assert!(text.starts_with("host left: its kernel /nowhere/linux cannot be started: No such file"), "{text}");
    assert!(text.contains("vazao kernel build"), "{text}");
    assert!(matches!(refused(Path::new("/etc/passwd")).problem, Problem::Start { .. }), "not executable");

    let gives_up = imposter("gives-up", "#!/bin/sh\necho no ptrace here\nexit 3\n");
    let error = refused(&gives_up);
    assert!(matches!(&error.problem, Problem::NoStart { how, .. } if how == "exit status 3"), "{error}");
    let text = error.to_string();
    assert!(text.contains("SYS_PTRACE") && text.ends_with("\n  no ptrace here"), "{text}");

    let silent = imposter("silent", "#!/bin/sh\nexec sleep 1000\n");
    let start = Instant::now();
    let error = refused(&silent);
    assert!(matches!(error.problem, Problem::NoClock { seconds: 0.5 }), "{error}");
    assert!((SHORT..SHORT * 4).contains(&start.elapsed()));
    [gives_up, silent].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

/// Boots a guest that runs a program at the virtual time 0, and runs it for a virtual minute.
fn run(kernel: &Path, command: &str, stop: &AtomicBool) -> Result<(), GuestError> {
    let plan = program(command);
    let mut guest = Guest::boot(&boot(kernel, 0, &plan), PATIENCE, &GO_ON)?;
    let mut patient = Instant::now();
    while guest.next_timeout() <= Time::from_nanos(60_000_000_000) {
        guest.handle_timeout(guest.next_timeout(), stop)?;
        if guest.reports().lines().any(|line| matches!(decode(line), Ok(Report::Flow { event: Event::Over(_), .. }))) {
            patient = Instant::now();
        }
        assert!(patient.elapsed() < Wall::from_secs(120), "{}", guest.console());
    }
    Ok(())
}

#[test]
fn a_program_that_prints_without_end_is_stopped() {
    let Some(kernel) = kernel() else { return };
    let error = run(&kernel, "yes it prints", &GO_ON).expect_err("it does not end");
    assert!(matches!(error.problem, Problem::Talks { .. }), "{error}");
    assert!(error.console.ends_with("it prints") || error.console.contains("it prints\n"), "{error}");
}

#[test]
fn a_guest_that_spins_is_given_up_or_stopped() {
    let Some(kernel) = kernel() else { return };
    let plan = program("while :; do :; done");
    let spin = |stop: &AtomicBool| {
        let mut guest = Guest::boot(&boot(&kernel, 0, &plan), Wall::from_secs(2), &GO_ON).unwrap();
        let start = Instant::now();
        let error = loop {
            match guest.handle_timeout(guest.next_timeout(), stop) {
                Ok(()) => assert!(start.elapsed() < Wall::from_secs(30), "{}", guest.console()),
                Err(error) => break error,
            }
        };
        (error, start.elapsed())
    };
    let (error, took) = spin(&GO_ON);
    assert!(matches!(error.problem, Problem::Spins { seconds: 2.0 }) && took >= Wall::from_secs(2), "{error}");

    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Wall::from_millis(700));
            stop.store(true, Ordering::Relaxed);
        });
        let (error, took) = spin(&stop);
        assert!(matches!(error.problem, Problem::Stopped), "{error}");
        assert!(took < Wall::from_secs(2), "{took:?}");
    });
}

#[test]
fn a_guest_with_too_little_memory_says_so() {
    let Some(kernel) = kernel() else { return };
    let plan = Plan::default();
    let mut small = boot(&kernel, 0, &plan);
    small.memory_mib = 10;
    let error = Guest::boot(&small, Wall::from_secs(5), &GO_ON).err().expect("it does not fit");
    assert!(error.to_string().contains("give the host more memory"), "{error}");
    assert!(error.console.contains("physical memory"), "{error}");
}

#[test]
fn a_wrong_plan_is_reported_and_the_guest_is_off() {
    let Some(kernel) = kernel() else { return };
    let setup = vec![Setup::Sysctl { name: "net.ipv4.tcp_nope".into(), value: "1".into() }];
    let plan = Plan { setup, ..Plan::default() };
    let mut guest = Guest::boot(&boot(&kernel, 0, &plan), PATIENCE, &GO_ON).unwrap();
    assert!(guest.is_off() && guest.next_timeout() == Time::NEVER);
    let problem = "sysctl net.ipv4.tcp_nope 1: No such file or directory".to_owned();
    assert_eq!(decode(guest.reports().trim_end()), Ok(Report::Wrong { problem }));
    guest.handle(Time::ZERO, 0, &[0x45; 40]).unwrap();
    assert!(guest.poll_transmit().is_none());
}
