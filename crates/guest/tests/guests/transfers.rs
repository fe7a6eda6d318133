//! What guests send each other arrives, when it should.

use crate::lab::{Wire, kernel, pair, upload};
use vazao_engine::{Duration, Time};

#[test]
fn a_handshake_takes_one_round_trip() {
    let Some(kernel) = kernel() else { return };
    let clock = std::time::Instant::now();
    let wire = Wire::new(10_000_000, Duration::from_millis(50), 84, 0);
    let mut lab = pair(&kernel, &upload(1000, ""), &wire, |_| {});
    println!("booted {:?}", clock.elapsed());
    lab.run(Time::NEVER).unwrap();
    println!("done {:?} {:?} {:016x} {} packets", clock.elapsed(), lab.now, lab.hash, lab.packets);
    println!("{:#?}", lab.reports);
    lab.when(1, "last 1 1000 1");
}

#[test]
fn ten_megabytes() {
    let Some(kernel) = kernel() else { return };
    let clock = std::time::Instant::now();
    let wire = Wire::new(10_000_000, Duration::from_millis(50), 84, 0);
    let mut lab = pair(&kernel, &upload(10_000_000, ""), &wire, |_| {});
    println!("booted {:?}", clock.elapsed());
    lab.run(Time::NEVER).unwrap();
    println!("done {:?} {:?} {:016x} {} packets", clock.elapsed(), lab.now, lab.hash, lab.packets);
    println!("{:?}", lab.when(1, "last 1 10000000 1"));
}
