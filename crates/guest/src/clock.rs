//! The clock of a guest: User Mode Linux's "external time travel" (`linux/um_timetravel.h`).
//!
//! The guest requests its next wake-up and waits; told to run, it computes in no time at all until it waits again. Old
//! kernels (6.1) do all of this by messages; newer ones (6.12) share a page of memory, which replaces most of them.

use crate::Problem;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags, ftruncate, memfd_create, open};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// No wake-up at all: later than every time a guest can ask for.
pub(crate) const NEVER: u64 = u64::MAX;
/// The longest wait, in ns, of a guest that is not idle: reading its clock takes 256 ns, some system calls 1 µs, a driver's delay
/// (`udelay`) what the driver says. None in use comes near this.
const DELAY: u64 = 100_000;
/// Least time that means "never" to a kernel.
const FOREVER: u64 = i64::MAX as u64;

// The operations of the protocol.
const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const GET_TIME_OF_DAY: u32 = 8;
const BROADCAST: u32 = 9;

/// One message, in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Message {
    operation: u32,
    sequence: u32,
    time: u64,
}

impl Message {
    const SIZE: usize = 16;

    fn encode(self) -> [u8; Message::SIZE] {
        let mut bytes = [0; Message::SIZE];
        bytes[..4].copy_from_slice(&self.operation.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..].copy_from_slice(&self.time.to_le_bytes());
        bytes
    }
    fn decode(bytes: [u8; Message::SIZE]) -> Message {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Message { operation: word(0), sequence: word(4), time: u64::from(word(12)) << 32 | u64::from(word(8)) }
    }
}

/// Message of a guest's connection.
pub(crate) enum Heard {
    /// A message, which has been answered.
    Message,
    /// The connection is closed: the guest is gone.
    End,
}

/// The clock of one guest.
pub(crate) struct Clock {
    connection: OwnedFd,
    page: Page,
    /// The guest's time, in ns since it was started.
    now: u64,
    /// Guest's wall clock at its start, in ns since 1970.
    epoch: u64,
    /// Time at which the guest wants to run next.
    request: u64,
    asleep: bool,
    sequence: u32,
}

impl Clock {
    /// Makes the clock of the guest at the other end of `connection`. It begins at 0, and the guest's wall clock at `epoch`.
    pub fn new(connection: OwnedFd, epoch: u64, page: Page) -> Clock {
        Clock { connection, page, now: 0, epoch, request: NEVER, asleep: false, sequence: 0 }
    }
    /// Returns when the guest wants to run next, or [`NEVER`].
    pub fn request(&self) -> u64 {
        self.request
    }
    /// Returns whether the guest waits to be told to run.
    pub fn is_asleep(&self) -> bool {
        self.asleep
    }
    /// Returns whether the guest reads the shared page, so that it learns the time without messages.
    pub fn is_shared(&self) -> bool {
        self.page.guest_takes_part()
    }
    /// Sets the time at which the guest is about to be interrupted or to run.
    pub fn set(&mut self, now: u64) {
        self.now = now;
        self.page.set(now);
    }
    /// Allows the guest's clock to go on by itself until just before `until`. Guests without the page ask for each step
    /// anyway.
    pub fn allow(&mut self, until: u64) {
        self.page.allow(until.max(self.now));
    }
    /// Stops a clock that goes on by itself where it is.
    pub fn freeze(&mut self) {
        self.now = self.rest();
        self.page.allow(self.now);
    }
    /// Returns the guest's time when it last sent or waited.
    pub fn rest(&self) -> u64 {
        if self.is_shared() { self.now.max(self.page.time()) } else { self.now }
    }
    /// Returns whether the sleeping guest may be in a delay rather than idle. It then keeps an interrupt for later, and
    /// does not want to run for a second one: whether it does for this one, only it can tell.
    pub fn may_be_delayed(&self) -> bool {
        self.request.saturating_sub(self.now) <= DELAY
    }
    /// Notes that a guest with the shared page has been interrupted: it wants to run now or, if it `answers`, at the time that
    /// it has written there. A guest without the page sends a request.
    pub fn interrupted(&mut self, answers: bool) {
        self.request = if answers { wake_up(self.page.request()) } else { self.now };
    }
    /// Runs the guest at the time that it requested.
    pub fn run(&mut self) -> Result<(), Problem> {
        self.asleep = false;
        self.request = NEVER;
        self.sequence += 1;
        self.send(Message { operation: RUN, sequence: self.sequence, time: self.now }, &[])
    }
    /// Reads one message and answers it.
    pub fn hear(&mut self) -> Result<Heard, Problem> {
        let mut bytes = [0; Message::SIZE];
        match recv(&self.connection, &mut bytes[..], RecvFlags::WAITALL) {
            Ok((Message::SIZE, _)) => {}
            Ok((0, _)) | Err(rustix::io::Errno::CONNRESET) => return Ok(Heard::End),
            Ok((n, _)) => return Err(Problem::clock(format!("a message of {n} bytes"))),
            Err(error) => return Err(Problem::clock(error.to_string())),
        }
        let Message { operation, sequence, time } = Message::decode(bytes);
        let shared = self.is_shared();
        let answer = |time| Message { operation: ACK, sequence, time };
        match operation {
            ACK => return Ok(Heard::Message), // to RUN
            START => return self.start(answer(u64::from(Page::GUEST))).map(|()| Heard::Message),
            REQUEST => self.request = wake_up(time),
            WAIT if shared => {
                self.asleep = true;
                self.request = wake_up(self.page.request());
                return Ok(Heard::Message);
            }
            WAIT => self.asleep = true,
            GET => return self.send(answer(self.now), &[]).map(|()| Heard::Message),
            GET_TIME_OF_DAY => return self.send(answer(self.epoch + self.now), &[]).map(|()| Heard::Message),
            UPDATE if time != self.now => {
                return Err(Problem::clock(format!("it is at {time} ns when it should be at {} ns", self.now)));
            }
            UPDATE | BROADCAST => {}
            other => return Err(Problem::clock(format!("operation {other}"))),
        }
        self.send(answer(0), &[]).map(|()| Heard::Message)
    }
    /// Answers the first message, with the shared page and a log that nobody reads.
    fn start(&mut self, answer: Message) -> Result<(), Problem> {
        let log = open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| Problem::clock(format!("/dev/null: {error}")))?;
        self.page.set(0);
        let file = self.page.file.take().ok_or_else(|| Problem::clock("it started twice"))?;
        self.send(answer, &[file.as_fd(), log.as_fd()])
    }
    fn send(&self, message: Message, files: &[BorrowedFd<'_>]) -> Result<(), Problem> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut with = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            with.push(SendAncillaryMessage::ScmRights(files));
        }
        match sendmsg(&self.connection, &[IoSlice::new(&message.encode())], &mut with, SendFlags::NOSIGNAL) {
            // That the guest is gone is noticed by the next call of `hear`.
            Ok(_) | Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => Ok(()),
            Err(error) => Err(Problem::clock(error.to_string())),
        }
    }
}

impl AsFd for Clock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

fn wake_up(time: u64) -> u64 {
    if time < FOREVER { time } else { NEVER }
}

/// The page that controller and guest share: a header of 4096 bytes, then a slot of 128 bytes for each of them, the
/// controller's (0) and the guest's (1).
pub(crate) struct Page {
    memory: NonNull<u8>,
    /// The page's file, until it has been sent to the guest.
    file: Option<OwnedFd>,
}

impl Page {
    const LENGTH: usize = 4096 + 2 * Page::SLOT;
    const SLOT: usize = 128;
    const CONTROLLER: u16 = 0;
    const GUEST: u16 = 1;
    const VERSION: u32 = 2;
    /// Flag in a slot's first word: its owner reads times from the page.
    const TAKES_PART: u32 = 1;
    /// Flag in a slot's second word: its owner wants to run at the time in its third.
    const WANTS_TO_RUN: u32 = 1;

    /// Makes a page for one guest.
    pub fn new() -> io::Result<Page> {
        let file = memfd_create("time", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, Page::LENGTH as u64)?;
        // SAFETY: a new mapping at an address of the system's choice; the file is as long as the mapping and is never
        // made shorter by anyone but a broken guest, which could only harm this process by stopping it.
        let memory =
            unsafe { mmap(null_mut(), Page::LENGTH, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0)? };
        let memory = NonNull::new(memory.cast()).expect("a mapping is not at address 0");
        let page = Page { memory, file: Some(file) };
        page.u32(0).store(Page::VERSION, Ordering::Relaxed);
        page.u32(4).store(Page::LENGTH as u32, Ordering::Relaxed);
        page.u16(24).store(Page::GUEST, Ordering::Relaxed); // who runs
        page.u16(26).store(2, Ordering::Relaxed); // how many slots there are
        page.u32(slot(Page::CONTROLLER)).store(Page::TAKES_PART, Ordering::Relaxed);
        Ok(page)
    }
    /// Makes a page that no guest accepts: it sends messages instead, as old kernels do.
    #[cfg(test)]
    pub fn unacceptable() -> Page {
        let page = Page::new().expect("memory");
        page.u32(0).store(0, Ordering::Relaxed);
        page
    }
    fn guest_takes_part(&self) -> bool {
        self.u32(slot(Page::GUEST)).load(Ordering::Acquire) & Page::TAKES_PART != 0
    }
    /// Sets the time, beyond which the guest may not run.
    fn set(&self, now: u64) {
        self.u64(8).store(now, Ordering::Release);
        self.u64(16).store(now, Ordering::Release);
    }
    /// Allows the guest to run by itself while its time is less than `until`.
    fn allow(&self, until: u64) {
        self.u64(8).store(until, Ordering::Release);
    }
    /// Returns the time that either side set last.
    fn time(&self) -> u64 {
        self.u64(16).load(Ordering::Acquire)
    }
    /// Returns when the guest wants to run.
    fn request(&self) -> u64 {
        let wants = self.u32(slot(Page::GUEST) + 4).load(Ordering::Acquire) & Page::WANTS_TO_RUN != 0;
        if wants { self.u64(slot(Page::GUEST) + 8).load(Ordering::Acquire) } else { NEVER }
    }
    fn u16(&self, at: usize) -> &AtomicU16 {
        // SAFETY: see `u64`.
        unsafe { AtomicU16::from_ptr(self.memory.as_ptr().add(at).cast()) }
    }
    fn u32(&self, at: usize) -> &AtomicU32 {
        // SAFETY: see `u64`.
        unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(at).cast()) }
    }
    fn u64(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at + 8 <= Page::LENGTH && at.is_multiple_of(8));
        // SAFETY: `at` is one of the constants of this file: within the mapping, which lives as long as `self`, and
        // aligned, as the mapping begins a page. All access on this side is atomic.
        unsafe { AtomicU64::from_ptr(self.memory.as_ptr().add(at).cast()) }
    }
}

/// Returns where a slot begins.
fn slot(owner: u16) -> usize {
    4096 + usize::from(owner) * Page::SLOT
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, to which no reference outlives `self`.
        let unmapped = unsafe { munmap(self.memory.as_ptr().cast(), Page::LENGTH) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn pair() -> (Clock, OwnedFd) {
        let (here, there) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("sockets");
        (Clock::new(here, 1_000, Page::new().expect("memory")), there)
    }
    fn say(guest: &OwnedFd, operation: u32, sequence: u32, time: u64) {
        let bytes = Message { operation, sequence, time }.encode();
        assert_eq!(rustix::io::write(guest, &bytes), Ok(Message::SIZE));
    }
    fn answer(guest: &OwnedFd) -> Option<Message> {
        let mut bytes = [0; Message::SIZE];
        recv(guest, &mut bytes[..], RecvFlags::DONTWAIT).ok().map(|_| Message::decode(bytes))
    }

    /// The layout of `struct um_timetravel_msg`: two 32-bit words and a 64-bit one.
    #[test]
    fn messages_are_laid_out_as_the_header_says() {
        let message = Message { operation: 2, sequence: 0x0102_0304, time: 0x1122_3344_5566_7788 };
        let bytes = message.encode();
        assert_eq!(bytes, [2, 0, 0, 0, 4, 3, 2, 1, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
        assert_eq!(Message::decode(bytes), message);
    }

    #[test]
    fn a_guest_without_the_page_lives_by_messages() {
        let (mut clock, guest) = pair();
        let mut exchange = |operation, sequence, time| {
            say(&guest, operation, sequence, time);
            assert!(matches!(clock.hear(), Ok(Heard::Message)));
            answer(&guest)
        };
        let ack = |sequence, time| Some(Message { operation: ACK, sequence, time });
        assert_eq!(exchange(START, 1, 0), ack(1, 1));
        assert_eq!(exchange(GET_TIME_OF_DAY, 2, 0), ack(2, 1_000));
        assert_eq!(exchange(REQUEST, 3, 256), ack(3, 0));
        assert_eq!(exchange(WAIT, 4, 0), ack(4, 0));
        assert!(clock.is_asleep() && clock.request() == 256);
        clock.set(256);
        clock.run().unwrap();
        assert_eq!(answer(&guest), Some(Message { operation: RUN, sequence: 1, time: 256 }));
        assert!(!clock.is_asleep() && clock.request() == NEVER);
        say(&guest, GET, 5, 0);
        clock.hear().unwrap();
        assert_eq!(answer(&guest), ack(5, 256));
        say(&guest, REQUEST, 6, FOREVER);
        clock.hear().unwrap();
        assert_eq!(clock.request(), NEVER);
        drop(guest);
        assert!(matches!(clock.hear(), Ok(Heard::End)));
    }

    #[test]
    fn a_guest_with_the_page_leaves_its_request_there() {
        let (mut clock, guest) = pair();
        clock.page.u32(4096 + 128).store(1, Ordering::Relaxed); // it takes part
        clock.page.u32(4096 + 128 + 4).store(1, Ordering::Relaxed); // and wants to run
        clock.page.u64(4096 + 128 + 8).store(777, Ordering::Relaxed); // at 777 ns
        say(&guest, WAIT, 1, 0);
        clock.hear().unwrap();
        assert!(clock.is_asleep() && clock.request() == 777);
        assert_eq!(answer(&guest), None, "nothing is answered");
        clock.set(777);
        let page = (clock.page.u64(8).load(Ordering::Relaxed), clock.page.u64(16).load(Ordering::Relaxed));
        assert_eq!(page, (777, 777), "now, and the end of what it may run by itself");
    }

    #[test]
    fn unknown_operations_are_errors() {
        let (mut clock, guest) = pair();
        say(&guest, 99, 1, 0);
        assert!(matches!(clock.hear(), Err(Problem::Protocol { .. })));
    }
}
