use super::*;
use lab::{GO_ON, Lab, PATIENCE, Wire};

#[path = "../../tests/guests/lab.rs"]
#[allow(dead_code, clippy::print_stdout)]
mod lab;

/// Runs an upload of 200 kB over 10 ms each way. Returns how often a packet left or arrived, and a hash of each with its time.
fn trace(kernel: &Path, page: fn() -> std::io::Result<Page>, run_ahead: bool) -> (u64, u64) {
    let plans = lab::upload(200_000);
    let guests = (0..).zip(&plans).map(|(number, plan)| {
        let boot = Boot { moderation: Duration::from_micros(20), run_ahead, ..lab::boot(kernel, number, plan) };
        Guest::boot_on(&boot, page, PATIENCE, &GO_ON).unwrap_or_else(|e| panic!("{e}"))
    });
    let wire = Wire::new(u64::MAX, Duration::from_millis(10), usize::MAX, 0);
    let mut lab = Lab::new(guests.collect()).join((0, 0), (1, 0), &wire);
    lab.run(Time::NEVER).unwrap_or_else(|e| panic!("{e}"));
    lab.when(1, &lab::last(200_000));
    (lab.packets, lab.hash)
}

/// Kernel 6.1 knows messages only, 6.12 both: what it sends must not depend on how it is told the time.
#[test]
fn the_shared_page_and_messages_and_running_ahead_give_the_same_packets() {
    let Some(kernel) = lab::kernel() else { return };
    let shared = trace(&kernel, Page::new, false);
    assert!(shared.0 > 300);
    assert_eq!(shared, trace(&kernel, || Ok(Page::unacceptable()), false));
    assert_eq!(shared, trace(&kernel, Page::new, true));
}
