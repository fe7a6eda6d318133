//! Flows over TCP, MPTCP and SCTP: one end writes the content and closes, the other reads, checks and closes.

use crate::content;
use crate::failure::Failure;
use crate::info::{Protocol, sctp_fragment};
use crate::report;
use crate::samples::{Progress, Samples, Subject};
use crate::socket::{SCTP_NODELAY, SOL_SCTP, Socket, sockaddr};
use crate::timer::{Ticks, sleep_for, sleep_until};
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use vazao_guest_protocol::{Act, Event, Messages, Role, Sctp, Transfer, Transport};

/// Bytes of a write or a read where nothing else decides.
const BULK: usize = 256 * 1024;
// linux/sctp.h, not in libc.
const SCTP_CONNECTX: i32 = 110;
const SCTP_EVENT: i32 = 127;
const SCTP_SENDER_DRY_EVENT: u16 = 0x8009;

/// Runs a flow's end.
pub fn run(
    flow: u32,
    transfer: &Transfer,
    role: Role,
    start: u64,
    socket: Socket,
    samples: &Samples,
) -> Result<(), Failure> {
    // The listening socket stays open: further subflows of MPTCP connect to it.
    let (_listening, socket) = match role {
        Role::Client => {
            sleep_until(start);
            connect(transfer, &socket)?;
            (None, socket)
        }
        Role::Server => {
            let accepted = socket.accept()?;
            (Some(socket), accepted)
        }
    };
    report::event(flow, Event::Up);
    let socket = Arc::new(socket);
    socket.linger()?;
    let protocol = match transfer.transport {
        Transport::Mptcp { .. } => Protocol::Mptcp,
        Transport::Sctp(_) => Protocol::Sctp,
        Transport::Tcp { .. } => Protocol::Tcp,
        Transport::Udp { .. } => unreachable!("UDP is no stream"),
    };
    let outcome = match transfer.act {
        Act::Send { size, duration, messages } => {
            samples.open(flow, &socket, Subject::Sender(protocol))?;
            Sender { flow, protocol, size, duration, messages }.run(&socket, samples)
        }
        Act::Receive { size, rate } => {
            let progress = Arc::new(Progress::default());
            samples.open(flow, &socket, Subject::Receiver(Arc::clone(&progress)))?;
            receive(flow, size, rate, &socket, &progress)
        }
    };
    samples.close(&socket)?;
    outcome
}

fn connect(transfer: &Transfer, socket: &Socket) -> Result<(), Failure> {
    match &transfer.transport {
        Transport::Sctp(Sctp { peers, .. }) if !peers.is_empty() => {
            let peer = |address| sockaddr(SocketAddrV4::new(address, transfer.peer.port()));
            let peers: Vec<u8> = peers.iter().flat_map(|address| peer(*address)).collect();
            socket.set(SOL_SCTP, SCTP_CONNECTX, &peers)
        }
        _ => socket.connect(transfer.peer),
    }
}

/// A sender, with the fields of [`Act::Send`].
struct Sender {
    flow: u32,
    protocol: Protocol,
    size: Option<u64>,
    duration: Option<u64>,
    messages: Option<Messages>,
}

impl Sender {
    fn is_sctp(&self) -> bool {
        matches!(self.protocol, Protocol::Sctp)
    }

    /// Writes until the size or the time is reached, closes, and waits until the peer has closed too.
    fn run(&self, socket: &Arc<Socket>, samples: &Samples) -> Result<(), Failure> {
        let message = match self.messages {
            Some(messages) => messages.size.max(1) as usize,
            None if self.is_sctp() => sctp_fragment(socket)?,
            None => BULK,
        };
        let expired = self.deadline(socket);
        let bytes = self.write(socket, message, &expired)?;
        report::event(self.flow, Event::Sent { bytes });
        if self.is_sctp() {
            // Closing ends an association and what the kernel tells of it, so its last sample is taken before, when all has
            // been acknowledged. This delays nothing, as SHUTDOWN waits for the same moment.
            socket.set(SOL_SCTP, SCTP_EVENT, &sctp_event(SCTP_SENDER_DRY_EVENT))?;
            socket.receive(&mut [0; 64])?;
            samples.close(socket)?;
        }
        match socket.shut_down() {
            Err(failure) if !expired.load(Ordering::SeqCst) => Err(failure),
            _ => self.wait_for_close(socket),
        }
    }

    /// Waits until the peer has closed. SCTP has no half-closed associations: closing leaves the socket unconnected.
    fn wait_for_close(&self, socket: &Socket) -> Result<(), Failure> {
        loop {
            match socket.receive(&mut [0; 4096]) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(failure) if self.is_sctp() && failure.code() == "ENOTCONN" => return Ok(()),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Writes the content. Returns its length in bytes.
    fn write(&self, socket: &Socket, message: usize, expired: &AtomicBool) -> Result<u64, Failure> {
        let interval = self.messages.map(|messages| messages.interval.max(1));
        let ticks = interval.map(|interval| Ticks::new().and_then(|ticks| ticks.every(interval).map(|()| ticks)));
        let ticks = ticks.transpose()?;
        // A message that is due at the very end of the flow's time does not belong to it.
        let due_in_time = self.duration.zip(interval).map(|(duration, interval)| duration.div_ceil(interval));
        let most = due_in_time.map_or(u64::MAX, |messages| messages.saturating_mul(message as u64));
        let size = self.size.unwrap_or(u64::MAX).min(most);
        let mut buffer = vec![0; message];
        let (mut written, mut due) = (0, 1);
        while written < size && !expired.load(Ordering::SeqCst) {
            if let Some(ticks) = &ticks {
                while due == 0 {
                    due = ticks.wait()?;
                }
                due -= 1;
            }
            let piece = &mut buffer[..message.min(usize::try_from(size - written).unwrap_or(usize::MAX))];
            if piece.len() as u64 == size - written && self.is_sctp() {
                // Where the application closes after its last message, Nagle does not hold that back; here the socket closes
                // only after its last sample.
                socket.set(SOL_SCTP, SCTP_NODELAY, &1_i32.to_ne_bytes())?;
            }
            content::fill(written, piece);
            match socket.send(piece) {
                Ok(sent) => written += sent as u64,
                Err(failure) if expired.load(Ordering::SeqCst) && failure.code() == "EPIPE" => break,
                Err(failure) => return Err(failure),
            }
        }
        Ok(written)
    }

    /// Starts the flow's time, if it is limited: a thread ends the writing when it is over, even while a write waits.
    /// Returns what becomes true then.
    fn deadline(&self, socket: &Arc<Socket>) -> Arc<AtomicBool> {
        let expired = Arc::new(AtomicBool::new(false));
        if let Some(duration) = self.duration {
            let is_sctp = self.is_sctp();
            let (socket, expired) = (Arc::downgrade(socket), Arc::clone(&expired));
            thread::spawn(move || {
                sleep_for(duration);
                expired.store(true, Ordering::SeqCst);
                // With SCTP, a message that waits for room is still sent: closing would end what the kernel tells, too.
                if !is_sctp && let Some(socket) = socket.upgrade() {
                    let _ = socket.shut_down(); // an error says that the flow is over already
                }
            });
        }
        expired
    }
}

/// Returns struct sctp_event that subscribes the socket's association: association, event, on.
fn sctp_event(event: u16) -> [u8; 8] {
    let [low, high] = event.to_ne_bytes();
    [0, 0, 0, 0, low, high, 1, 0]
}

/// Reads and checks the content until the peer closes.
fn receive(
    flow: u32,
    size: Option<u64>,
    rate: Option<u64>,
    socket: &Socket,
    progress: &Progress,
) -> Result<(), Failure> {
    let pace = rate.map(Pace::new).transpose()?;
    let mut buffer = vec![0; pace.as_ref().map_or(BULK, |pace| pace.piece)];
    let (mut bytes, mut intact, mut complete) = (0, true, false);
    let last = |bytes: u64, intact: bool| report::event(flow, Event::Last { bytes, intact, ended: true });
    loop {
        if let Some(pace) = &pace {
            pace.ticks.wait()?;
        }
        let piece = socket.receive(&mut buffer)?;
        if piece == 0 {
            break;
        }
        if bytes == 0 {
            report::event(flow, Event::First);
        }
        intact &= content::verify(bytes, &buffer[..piece]);
        bytes += piece as u64;
        progress.note(bytes, intact);
        if !complete && size.is_some_and(|size| bytes >= size) {
            complete = true;
            last(bytes, intact);
        }
    }
    if !complete {
        last(bytes, intact);
    }
    Ok(())
}

/// A slow reader's pace: one read of at most `piece` bytes a tick.
struct Pace {
    ticks: Ticks,
    piece: usize,
}

impl Pace {
    /// Reads at most `rate` bytes a second, in a hundred pieces.
    fn new(rate: u64) -> Result<Pace, Failure> {
        let rate = rate.max(1);
        let piece = (rate / 100).clamp(1, BULK as u64);
        let ticks = Ticks::new()?;
        ticks.every(piece * 1_000_000_000 / rate)?;
        Ok(Pace { ticks, piece: piece as usize })
    }
}
