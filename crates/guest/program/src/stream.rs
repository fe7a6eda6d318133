//! Flows over TCP, MPTCP and SCTP: one end writes the content and closes, the other reads, checks and closes.

use crate::content;
use crate::failure::Failure;
use crate::flow::{SCTP_NODELAY, SOL_SCTP};
use crate::info::{Progress, Samples, sctp_fragment};
use crate::plan::{Act, Flow, Role, Transport};
use crate::report;
use crate::socket::{Socket, sockaddr};
use crate::timer::{Ticks, sleep_for, sleep_until};
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Bytes of a write or a read where nothing else decides.
const BULK: usize = 256 * 1024;
// linux/sctp.h, not in libc.
const SCTP_CONNECTX: i32 = 110;
const SCTP_EVENT: i32 = 127;
const SCTP_SENDER_DRY_EVENT: u16 = 0x8009;

/// Runs a flow's end.
pub fn run(flow: &Flow, socket: Socket, samples: &Samples) -> Result<(), Failure> {
    // The listening socket stays open: further subflows of MPTCP knock there.
    let (_listening, socket) = match flow.role {
        Role::Client => {
            sleep_until(flow.start.unwrap_or(0));
            connect(flow, &socket)?;
            (None, socket)
        }
        Role::Server => {
            let accepted = socket.accept()?;
            (Some(socket), accepted)
        }
    };
    report!("up {}", flow.number);
    let socket = Arc::new(socket);
    socket.linger()?;
    let progress = samples.open(flow, &socket)?;
    let outcome = match flow.act {
        Act::Send => send(flow, &socket, samples),
        Act::Receive => receive(flow, &socket, &progress),
    };
    samples.close(&socket)?;
    outcome
}

fn connect(flow: &Flow, socket: &Socket) -> Result<(), Failure> {
    if flow.transport != Transport::Sctp || flow.peers.is_empty() {
        return socket.connect(flow.peer);
    }
    let peers = flow.peers.iter().flat_map(|address| sockaddr(SocketAddrV4::new(*address, flow.peer.port())));
    socket.set(SOL_SCTP, SCTP_CONNECTX, &peers.collect::<Vec<u8>>())
}

/// Writes until the size or the time is reached, closes, and waits until the peer has closed too.
fn send(flow: &Flow, socket: &Arc<Socket>, samples: &Samples) -> Result<(), Failure> {
    let message = match flow.message {
        Some(message) => message,
        None if flow.transport == Transport::Sctp => sctp_fragment(socket)?,
        None => BULK,
    };
    let expired = deadline(flow, socket);
    let written = write(flow, socket, message, &expired)?;
    report!("sent {} {written}", flow.number);
    if flow.transport == Transport::Sctp {
        // Closing ends an association and what is known about it, so it is looked at before, when all has been
        // acknowledged. Nothing is sent otherwise than without, as SHUTDOWN waits for the same moment.
        socket.set(SOL_SCTP, SCTP_EVENT, &sctp_event(SCTP_SENDER_DRY_EVENT))?;
        socket.receive(&mut [0; 64])?;
        samples.close(socket)?;
    }
    match socket.shut_down() {
        Err(failure) if !expired.load(Ordering::SeqCst) => Err(failure),
        _ => wait_for_close(flow, socket),
    }
}

/// Waits until the peer has closed. Of SCTP, which has no half-closed connections, that leaves nothing connected.
fn wait_for_close(flow: &Flow, socket: &Socket) -> Result<(), Failure> {
    loop {
        match socket.receive(&mut [0; 4096]) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(failure) if flow.transport == Transport::Sctp && failure.code() == "ENOTCONN" => return Ok(()),
            Err(failure) => return Err(failure),
        }
    }
}

/// Writes the content; how many bytes.
fn write(flow: &Flow, socket: &Socket, message: usize, expired: &AtomicBool) -> Result<u64, Failure> {
    let ticks = flow.interval.map(|interval| Ticks::new().and_then(|ticks| ticks.every(interval).map(|()| ticks)));
    let ticks = ticks.transpose()?;
    // A message that is due at the very end of the flow's time does not belong to it.
    let due_in_time = flow.duration.zip(flow.interval).map(|(duration, interval)| duration.div_ceil(interval.max(1)));
    let most = due_in_time.map_or(u64::MAX, |messages| messages.saturating_mul(message as u64));
    let size = flow.size.unwrap_or(u64::MAX).min(most);
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
        if piece.len() as u64 == size - written && flow.transport == Transport::Sctp {
            // Who closes after the last message does not let Nagle hold it; here something is still looked at before.
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

/// Lets a thread end the writing when the flow's time is over, also while a write waits; whether that has happened.
/// The time counts from now, when the connection stands.
fn deadline(flow: &Flow, socket: &Arc<Socket>) -> Arc<AtomicBool> {
    let expired = Arc::new(AtomicBool::new(false));
    if let Some(duration) = flow.duration {
        let transport = flow.transport;
        let (socket, expired) = (Arc::downgrade(socket), Arc::clone(&expired));
        thread::spawn(move || {
            sleep_for(duration);
            expired.store(true, Ordering::SeqCst);
            // Of SCTP, the message that waits for room is still sent: closing would end what is known as well.
            if transport != Transport::Sctp
                && let Some(socket) = socket.upgrade()
            {
                let _ = socket.shut_down(); // an error says that the flow is over already
            }
        });
    }
    expired
}

/// struct sctp_event that subscribes the socket's association: association, event, on.
fn sctp_event(event: u16) -> [u8; 8] {
    let [low, high] = event.to_ne_bytes();
    [0, 0, 0, 0, low, high, 1, 0]
}

/// Reads and checks the content until the peer closes.
fn receive(flow: &Flow, socket: &Socket, progress: &Progress) -> Result<(), Failure> {
    let pace = flow.read_rate.map(Pace::new).transpose()?;
    let mut buffer = vec![0; pace.as_ref().map_or(BULK, |pace| pace.piece)];
    let (mut got, mut intact, mut complete) = (0, true, false);
    let last = |got: u64, intact: bool| report!("last {} {got} {}", flow.number, u8::from(intact));
    loop {
        if let Some(pace) = &pace {
            pace.ticks.wait()?;
        }
        let piece = socket.receive(&mut buffer)?;
        if piece == 0 {
            break;
        }
        if got == 0 {
            report!("first {}", flow.number);
        }
        intact &= content::verify(got, &buffer[..piece]);
        got += piece as u64;
        progress.note(got, intact);
        if !complete && flow.size.is_some_and(|size| got >= size) {
            complete = true;
            last(got, intact);
        }
    }
    if !complete {
        last(got, intact);
    }
    Ok(())
}

/// A slow reader: one read of at most `piece` bytes a tick.
struct Pace {
    ticks: Ticks,
    piece: usize,
}

impl Pace {
    /// At most `rate` bytes a second, in a hundred pieces.
    fn new(rate: u64) -> Result<Pace, Failure> {
        let piece = (rate / 100).clamp(1, BULK as u64);
        let ticks = Ticks::new()?;
        ticks.every(piece * 1_000_000_000 / rate)?;
        Ok(Pace { ticks, piece: piece as usize })
    }
}
