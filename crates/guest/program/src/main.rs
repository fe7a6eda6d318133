//! The first program of a Linux guest: carries out the plan in `/plan`, reports on the second console, and powers the
//! guest off if it is told to.
//!
//! The guest's initial root holds nothing but this program and the plan. The program neither reads a clock nor polls: it
//! blocks, because only then does virtual time go on at no cost.

mod command;
// Only captures sum what they fill in.
#[allow(dead_code)]
#[path = "../../../wire/src/content.rs"]
mod content;
mod counters;
mod datagram;
mod failure;
mod flow;
mod info;
mod knobs;
mod netlink;
mod network;
mod report;
mod samples;
mod socket;
mod stream;
mod timer;

use crate::failure::Failure;
use crate::flow::Ready;
use crate::network::Network;
use crate::report::report;
use crate::samples::Samples;
use std::{fs, thread};
use vazao_guest_protocol::{Plan, Report, Setup, decode};

/// Stack of a flow's thread in bytes: a guest has little memory and may have hundreds of flows.
const STACK: usize = 256 * 1024;

fn main() {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        let _ = fs::create_dir(at); // it may be there already
        command::mount(kind, kind, at, 0).expect("a kernel has this file system");
    }
    timer::slack(1); // 0 would mean the default of 50 µs
    report::open().expect("a guest has two consoles");
    let power_off = match carry_out(&fs::read_to_string("/plan").expect("a guest has a plan")) {
        Ok(power_off) => power_off,
        Err(problem) => {
            report(&Report::Wrong { problem });
            true
        }
    };
    if power_off {
        // SAFETY: no pointers are passed.
        unsafe { libc::reboot(libc::RB_POWER_OFF) };
    }
    loop {
        thread::park();
    }
}

/// Sets everything up, runs the flows and reports. Returns whether to power off then.
fn carry_out(line: &str) -> Result<bool, String> {
    let plan: Plan = decode(line).map_err(|malformed| format!("the plan: {malformed}"))?;
    knobs::ample().map_err(|failure| format!("buffers: {failure}"))?;
    let network = Network::new().map_err(|failure| format!("network: {failure}"))?;
    for setup in &plan.setup {
        apply(&network, setup).map_err(|failure| format!("{setup}: {failure}"))?;
    }
    let flows: Vec<Ready> = plan.flows.into_iter().map(Ready::new).collect::<Result<_, _>>()?;
    let samples = Samples::new(plan.sample).map_err(|failure| format!("sample: {failure}"))?;
    let samples: &'static Samples = Box::leak(Box::new(samples));
    thread::spawn(|| samples.run());
    if let Some(end) = plan.end {
        // The clock has steps of 256 ns: a little earlier is not too late.
        thread::spawn(move || samples.last_at(end.saturating_sub(1000)));
    }
    let run = |flow: Ready| thread::Builder::new().stack_size(STACK).spawn(move || flow.run(samples));
    let threads: Vec<_> = flows.into_iter().map(run).collect::<Result<_, _>>().map_err(|e| format!("threads: {e}"))?;
    for thread in threads {
        let _ = thread.join(); // a thread that panics aborts the whole program
    }
    counters::report();
    Ok(plan.power_off)
}

fn apply(network: &Network, setup: &Setup) -> Result<(), Failure> {
    match setup {
        Setup::Interface { number, address, mtu } => network.interface(*number, *address, *mtu),
        Setup::Segments { interface, most } => network.segments(*interface, *most),
        Setup::Netem { interface, loss, seed } => network.netem(*interface, *loss, *seed),
        Setup::Route(route) => network.route(route),
        Setup::Sysctl { name, value } => knobs::sysctl(name, value),
        Setup::Module { name, value } => knobs::module(name, value),
        Setup::MptcpLimits { subflows, addresses } => knobs::mptcp_limits(*subflows, *addresses),
        Setup::MptcpEndpoint { address, endpoint } => knobs::mptcp_endpoint(*address, *endpoint),
    }
}
