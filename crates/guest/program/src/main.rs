//! The first program of a Linux guest: does what /plan says, reports on the second console, powers the guest off.
//!
//! It is the only file of the guest's initial root beside the plan. It never reads a clock and never polls: it blocks,
//! because only then does virtual time go on at no cost.

mod command;
#[path = "../../../wire/src/content.rs"]
mod content;
mod counters;
mod datagram;
mod failure;
mod flow;
mod info;
mod knobs;
#[cfg_attr(not(test), allow(dead_code, reason = "plans are read here, not written"))]
#[path = "../../../wire/src/line.rs"]
mod line;
mod netlink;
mod network;
mod plan;
mod report;
mod socket;
mod stream;
mod timer;

use crate::flow::Ready;
use crate::info::Samples;
use crate::network::Network;
use crate::plan::Setup;
use crate::report::report;
use std::{fs, thread};

/// Bytes of a flow's stack; a guest has little memory and may have hundreds of flows.
const STACK: usize = 256 * 1024;

fn main() {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        let _ = fs::create_dir(at); // if it was there, all the better
        command::mount(kind, kind, at, 0).expect("a kernel has this file system");
    }
    timer::slack(1); // 50 us by default; 0 would mean that
    report::open().expect("a guest has two consoles");
    let off = match carry_out(&fs::read_to_string("/plan").expect("a guest has a plan")) {
        Ok(off) => off,
        Err(wrong) => {
            report!("wrong {wrong}");
            true
        }
    };
    if off {
        // SAFETY: no pointers are passed.
        unsafe { libc::reboot(libc::RB_POWER_OFF) };
    }
    loop {
        thread::park();
    }
}

/// Sets everything up, runs the flows, reports; whether to power off then.
fn carry_out(text: &str) -> Result<bool, String> {
    let plan = plan::parse(text)?;
    knobs::ample().map_err(|failure| format!("buffers: {failure}"))?;
    let network = Network::new().map_err(|failure| format!("network: {failure}"))?;
    for (statement, setup) in plan.setup {
        apply(&network, setup).map_err(|failure| format!("{statement}: {failure}"))?;
    }
    let flows: Vec<Ready> = plan.flows.into_iter().map(Ready::new).collect::<Result<_, _>>()?;
    let samples = Samples::new(plan.sample).map_err(|failure| format!("sample: {failure}"))?;
    let samples: &'static Samples = Box::leak(Box::new(samples));
    thread::spawn(|| samples.run());
    if let Some(end) = plan.until {
        // A clock has steps of 256 ns: a little earlier, it is not too late.
        thread::spawn(move || samples.last_at(end.saturating_sub(1000)));
    }
    let run = |flow: Ready| thread::Builder::new().stack_size(STACK).spawn(move || flow.run(samples));
    let threads: Vec<_> = flows.into_iter().map(run).collect::<Result<_, _>>().map_err(|e| format!("threads: {e}"))?;
    for thread in threads {
        let _ = thread.join(); // a thread that panics takes the whole guest with it
    }
    counters::report();
    report!("done");
    Ok(plan.off_when_done)
}

fn apply(network: &Network, setup: Setup) -> Result<(), failure::Failure> {
    match setup {
        Setup::Card { number, address, mtu } => network.card(number, address, mtu),
        Setup::Loopback { address } => network.loopback(address),
        Setup::Route(route) => network.route(&route),
        Setup::Sysctl { key, value } => knobs::sysctl(&key, &value),
        Setup::Module { key, value } => knobs::module(&key, &value),
        Setup::MptcpLimits { subflows, accepted } => knobs::mptcp_limits(subflows, accepted),
        Setup::MptcpEndpoint { address, flags } => knobs::mptcp_endpoint(address, flags),
    }
}
