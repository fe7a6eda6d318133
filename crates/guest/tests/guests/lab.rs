//! A network of two-ended links just good enough to join guests: rate, delay, a drop-tail queue and seeded loss. Not
//! Vazão's own, so that the guests are tested by themselves.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration as Wall;
use vazao_engine::{Duration, Time};
use vazao_guest::{Boot, Guest, GuestError};
use vazao_guest_protocol::{Event, Flow, Plan, Report, Role, Setup, Task, decode};

#[path = "plans.rs"]
mod plans;
pub use plans::upload;

pub const PATIENCE: Wall = Wall::from_secs(20);
pub static GO_ON: AtomicBool = AtomicBool::new(false);

/// The kernel that guests are tested with: the file that VAZAO_KERNEL names.
pub fn kernel() -> Option<PathBuf> {
    let skip = |why: &str| {
        println!("skipped: {why}; build a kernel with `vazao kernel build` and name its file in VAZAO_KERNEL");
        None
    };
    match std::env::var_os("VAZAO_KERNEL").map(PathBuf::from) {
        Some(kernel) if kernel.is_file() => Some(kernel),
        Some(kernel) => skip(&format!("VAZAO_KERNEL is {}, which is no file", kernel.display())),
        None => skip("VAZAO_KERNEL is not set"),
    }
}

/// A guest with all defaults.
pub fn boot<'a>(kernel: &'a std::path::Path, number: u32, plan: &'a Plan) -> Boot<'a> {
    let name = ["left", "right", "third"].get(number as usize).unwrap_or(&"other");
    Boot {
        name,
        number,
        kernel,
        memory_mib: 48,
        seed: 7,
        cards: 1,
        moderation: Duration::ZERO,
        checksums: false,
        run_ahead: false,
        files: &[],
        plan,
    }
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Bits a second.
    pub rate: u64,
    pub delay: Duration,
    /// Packets that can wait, with the one being sent.
    pub queue: usize,
    /// Packets lost of 1000.
    pub lost: u64,
    random: u64,
    departures: VecDeque<Time>,
}

impl Wire {
    pub fn new(rate: u64, delay: Duration, queue: usize, lost: u64) -> Wire {
        Wire { rate, delay, queue, lost, random: 0x9e37_79b9_7f4a_7c15, departures: VecDeque::new() }
    }
    /// When a packet sent now arrives, if it does.
    fn carry(&mut self, now: Time, bytes: usize) -> Option<Time> {
        // xorshift64 (Marsaglia 2003)
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        while self.departures.front().is_some_and(|&departure| departure <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() >= self.queue || (self.random >> 11) % 1000 < self.lost {
            return None;
        }
        let start = self.departures.back().map_or(now, |&last| last.max(now));
        let departure = start + Duration::from_nanos(bytes as u64 * 8_000_000_000 / self.rate);
        self.departures.push_back(departure);
        Some(departure + self.delay)
    }
}

/// A place where packets leave and arrive: a guest and its card.
pub type Port = (usize, usize);

/// Guests and the links between them.
pub struct Lab {
    pub guests: Vec<Guest>,
    wires: BTreeMap<Port, (Port, Wire)>,
    events: BTreeMap<(Time, u64), (Port, Vec<u8>)>,
    number: u64,
    pub now: Time,
    /// FNV-1a over each packet's bytes, time and port, where it leaves and where it arrives.
    pub hash: u64,
    pub packets: u64,
    /// Each report, with the guest and the time.
    pub reports: Vec<(Time, usize, Report)>,
}

impl Lab {
    pub fn new(guests: Vec<Guest>) -> Lab {
        let mut lab = Lab {
            guests,
            wires: BTreeMap::new(),
            events: BTreeMap::new(),
            number: 0,
            now: Time::ZERO,
            hash: 0xcbf2_9ce4_8422_2325,
            packets: 0,
            reports: Vec::new(),
        };
        (0..lab.guests.len()).for_each(|guest| lab.take_reports(guest));
        lab
    }
    pub fn join(mut self, a: Port, b: Port, wire: &Wire) -> Lab {
        self.wires.insert(a, (b, wire.clone()));
        self.wires.insert(b, (a, Wire { random: !wire.random, ..wire.clone() }));
        self
    }
    /// Runs until `end`, or until all guests are off.
    pub fn run(&mut self, end: Time) -> Result<(), GuestError> {
        loop {
            let event = self.events.first_key_value().map_or(Time::NEVER, |((time, _), _)| *time);
            let next = self.guests.iter().enumerate().map(|(n, guest)| (guest.next_timeout(), n)).min();
            let (due, guest) = next.unwrap_or((Time::NEVER, 0));
            if event.min(due) > end || event.min(due) == Time::NEVER {
                return Ok(());
            }
            self.now = event.min(due);
            if event <= due {
                let (_, (port, packet)) = self.events.pop_first().expect("it was there");
                self.note(port, &packet);
                self.guests[port.0].handle(self.now, port.1, &packet)?;
                self.guests[port.0].recycle(packet);
            } else {
                let others = self.guests.iter().enumerate().filter(|(n, _)| *n != guest);
                let other = others.map(|(_, guest)| guest.next_timeout()).min().unwrap_or(Time::NEVER);
                let until = event.min(other).min(end);
                let rest = self.guests[guest].run_ahead(due, until, &GO_ON)?;
                assert!(rest == due || rest < until, "{rest:?} with {until:?}");
                self.now = rest;
                self.take_reports(guest);
                self.send(guest);
            }
        }
    }
    fn send(&mut self, guest: usize) {
        while let Some((card, packet)) = self.guests[guest].poll_transmit() {
            self.note((guest, card), &packet);
            let Some((to, wire)) = self.wires.get_mut(&(guest, card)) else { continue };
            if let Some(arrival) = wire.carry(self.now, packet.len()) {
                self.number += 1;
                self.events.insert((arrival, self.number), (*to, packet));
            }
        }
    }
    fn note(&mut self, port: Port, packet: &[u8]) {
        self.packets += 1;
        let head = [self.now.as_nanos().to_le_bytes(), (port.0 as u64).to_le_bytes(), (port.1 as u64).to_le_bytes()];
        for byte in head.as_flattened().iter().chain(packet) {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    fn take_reports(&mut self, guest: usize) {
        let lines = self.guests[guest].reports();
        self.reports.extend(lines.lines().map(|line| (self.now, guest, decode(line).unwrap())));
    }
    /// Returns when a guest's report came.
    pub fn when(&self, guest: usize, report: &Report) -> Time {
        let found = self.reports.iter().find(|(_, from, known)| *from == guest && known == report);
        let Some((time, ..)) = found else {
            let consoles: Vec<String> = self.guests.iter().map(|guest| guest.console()).collect();
            panic!("no {report:?} of guest {guest} among {:#?}; consoles: {consoles:#?}", self.reports);
        };
        *time
    }
}

/// Two guests, booted, joined by `wire`.
pub fn pair(kernel: &std::path::Path, plans: &[Plan; 2], wire: &Wire, change: impl Fn(&mut Boot<'_>)) -> Lab {
    let guests = (0..).zip(plans).map(|(number, plan)| {
        let mut boot = boot(kernel, number, plan);
        change(&mut boot);
        Guest::boot(&boot, PATIENCE, &GO_ON).unwrap_or_else(|error| panic!("{error}"))
    });
    Lab::new(guests.collect()).join((0, 0), (1, 0), wire)
}

/// The receiver's last report of a flow of `size` bytes.
pub fn last(bytes: u64) -> Report {
    Report::Flow { number: 1, event: Event::Last { bytes, intact: true, ended: true } }
}

/// A plan that runs a program at the virtual time 0.
pub fn program(command: &str) -> Plan {
    let flow = Flow { number: 1, role: Role::Client, start: 0, task: Task::Program(command.to_owned()) };
    Plan { flows: vec![flow], ..Plan::default() }
}

/// A plan that only brings an interface up.
pub fn idle() -> Plan {
    let setup = vec![Setup::Interface { number: 0, address: Ipv4Addr::new(10, 0, 0, 1), mtu: 1500 }];
    Plan { setup, ..Plan::default() }
}
