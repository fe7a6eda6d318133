//! Samples of open sockets, reported at regular times and when a socket closes.

use crate::failure::Failure;
use crate::info::{Protocol, look};
use crate::report;
use crate::socket::Socket;
use crate::timer::{self, Ticks};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use vazao_guest_protocol::Event;

/// The sockets that are sampled.
pub struct Samples {
    open: Mutex<Vec<Open>>,
    ticks: Ticks,
    interval: Option<u64>,
}

/// Subject of an open socket's samples.
pub enum Subject {
    /// A sender: its kernel's view of the connection.
    Sender(Protocol),
    /// A receiver: how far it has read.
    Receiver(Arc<Progress>),
}

struct Open {
    flow: u32,
    socket: Arc<Socket>,
    subject: Subject,
}

/// Progress of a receiver.
#[derive(Default)]
pub struct Progress {
    read: AtomicU64,
    /// Bytes already reported.
    reported: AtomicU64,
    wrong: AtomicBool,
}

impl Progress {
    /// Notes that `read` bytes have been read so far, and whether all were the right ones.
    pub fn note(&self, read: u64, intact: bool) {
        self.read.store(read, Ordering::Relaxed);
        self.wrong.store(!intact, Ordering::Relaxed);
    }
}

impl Samples {
    /// Samples every `interval` ns while a socket is open; without an interval, only at the end.
    pub fn new(interval: Option<u64>) -> Result<Samples, Failure> {
        Ok(Samples { open: Mutex::new(Vec::new()), ticks: Ticks::new()?, interval })
    }

    /// Takes samples for ever: when a first socket opens, then at whole multiples of the interval. Without an interval it
    /// only waits: its thread is there all the same, so that the kernel's random numbers do not depend on sampling.
    pub fn run(&self) {
        while self.ticks.wait().is_ok() {
            self.report_all();
        }
    }

    /// Starts sampling a socket.
    pub fn open(&self, flow: u32, socket: &Arc<Socket>, subject: Subject) -> Result<(), Failure> {
        let mut open = self.open.lock().expect("no holder panics");
        open.push(Open { flow, socket: Arc::clone(socket), subject });
        match self.interval {
            Some(interval) if open.len() == 1 => self.ticks.on_the_grid(interval),
            _ => Ok(()),
        }
    }

    /// Samples every socket that is still open at virtual time `end`.
    pub fn last_at(&self, end: u64) {
        timer::sleep_until(end);
        self.report_all();
    }

    /// Samples a socket for the last time, if it is being sampled.
    pub fn close(&self, socket: &Arc<Socket>) -> Result<(), Failure> {
        let mut open = self.open.lock().expect("no holder panics");
        let Some(at) = open.iter().position(|open| Arc::ptr_eq(&open.socket, socket)) else { return Ok(()) };
        open.remove(at).report();
        if open.is_empty() { self.ticks.stop() } else { Ok(()) }
    }

    fn report_all(&self) {
        self.open.lock().expect("no holder panics").iter().for_each(Open::report);
    }
}

impl Open {
    fn report(&self) {
        let flow = self.flow;
        match &self.subject {
            Subject::Receiver(progress) => {
                let bytes = progress.read.load(Ordering::Relaxed);
                if bytes > progress.reported.swap(bytes, Ordering::Relaxed) {
                    report::event(flow, Event::Read { bytes, intact: !progress.wrong.load(Ordering::Relaxed) });
                }
            }
            // A socket that has lost its state already has nothing to show.
            Subject::Sender(protocol) => {
                for sample in look(*protocol, &self.socket).unwrap_or_default() {
                    report::event(flow, Event::Info(sample));
                }
            }
        }
    }
}
