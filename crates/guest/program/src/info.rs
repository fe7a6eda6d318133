//! Samples of what the kernel knows about an open socket: struct tcp_info and its kin, as lines of `key=value`.
//!
//! Each struct is read at the offsets that the kernel's public headers give it, which never change: later kernels only
//! append. A field that a kernel does not have is left out.

use crate::failure::Failure;
use crate::plan::{Act, Flow, Transport};
use crate::report;
use crate::socket::{self, Socket};
use crate::timer::{self, Ticks};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A number in a struct: its name, where it starts, how many bytes it has, and what one of it is in the name's unit.
type Field = (&'static str, usize, usize, u64);

/// struct tcp_info of linux/tcp.h. Times are in microseconds, rates in bytes a second.
const TCP: &[Field] = &[
    ("state", 0, 1, 1),
    ("ca_state", 1, 1, 1),
    ("retransmits", 2, 1, 1),
    ("backoff", 4, 1, 1),
    ("rto_us", 8, 4, 1),
    ("mss", 16, 4, 1),
    ("unacked", 24, 4, 1),
    ("sacked", 28, 4, 1),
    ("lost", 32, 4, 1),
    ("retrans", 36, 4, 1),
    ("rcv_ssthresh", 64, 4, 1),
    ("srtt_us", 68, 4, 1),
    ("rttvar_us", 72, 4, 1),
    ("ssthresh", 76, 4, 1),
    ("cwnd", 80, 4, 1),
    ("reordering", 88, 4, 1),
    ("rcv_space", 96, 4, 1),
    ("total_retrans", 100, 4, 1),
    ("pacing_rate", 104, 8, 1),
    ("bytes_acked", 120, 8, 1),
    ("bytes_received", 128, 8, 1),
    ("segs_out", 136, 4, 1),
    ("segs_in", 140, 4, 1),
    ("notsent_bytes", 144, 4, 1),
    ("min_rtt_us", 148, 4, 1),
    ("data_segs_in", 152, 4, 1),
    ("data_segs_out", 156, 4, 1),
    ("delivery_rate", 160, 8, 1),
    ("busy_time_us", 168, 8, 1),
    ("rwnd_limited_us", 176, 8, 1),
    ("sndbuf_limited_us", 184, 8, 1),
    ("delivered", 192, 4, 1),
    ("delivered_ce", 196, 4, 1),
    ("bytes_sent", 200, 8, 1),
    ("bytes_retrans", 208, 8, 1),
    ("dsack_dups", 216, 4, 1),
    ("reord_seen", 220, 4, 1),
    ("rcv_ooopack", 224, 4, 1),
    ("snd_wnd", 228, 4, 1),
    ("total_rto", 240, 2, 1),
];
const TCP_SIZE: usize = 248;

/// struct mptcp_info of linux/mptcp.h.
const MPTCP: &[Field] = &[
    ("subflows", 0, 1, 1),
    ("flags", 8, 4, 1),
    ("retransmits", 44, 4, 1),
    ("bytes_retrans", 48, 8, 1),
    ("bytes_sent", 56, 8, 1),
    ("bytes_received", 64, 8, 1),
    ("bytes_acked", 72, 8, 1),
    ("subflows_total", 80, 1, 1),
];

/// struct sctp_status of linux/sctp.h; the windows are bytes, the rest chunks.
const SCTP: &[Field] =
    &[("state", 4, 4, 1), ("rwnd", 8, 4, 1), ("unacked", 12, 2, 1), ("pending", 14, 2, 1), ("mss", 20, 4, 1)];

/// struct sctp_assoc_stats.
const SCTP_COUNTERS: &[Field] = &[
    ("sacks_in", 144, 8, 1),
    ("sacks_out", 152, 8, 1),
    ("packets_out", 160, 8, 1),
    ("packets_in", 168, 8, 1),
    ("total_retrans", 176, 8, 1),
    ("out_of_sequence", 184, 8, 1),
    ("duplicates", 192, 8, 1),
    ("gap_acks", 200, 8, 1),
    ("data_out", 224, 8, 1),
    ("data_in", 232, 8, 1),
    ("control_out", 240, 8, 1),
    ("control_in", 248, 8, 1),
];

/// struct sctp_paddrinfo, without its smoothed RTT: Linux gives that in ticks, not in the milliseconds of RFC 6458.
const SCTP_PATH: &[Field] =
    &[("state", 132, 4, 1), ("cwnd_bytes", 136, 4, 1), ("rto_us", 144, 4, 1000), ("mtu", 148, 4, 1)];

const SOL_SCTP: i32 = 132;
const SCTP_STATUS: i32 = 14;
const SCTP_GET_PEER_ADDR_INFO: i32 = 15;
const SCTP_GET_PEER_ADDRS: i32 = 108;
const SCTP_GET_ASSOC_STATS: i32 = 112;
const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;
/// How many subflows of a connection, or addresses of a peer, are shown.
const PATHS: usize = 16;

/// The sockets whose state is sampled.
pub struct Samples {
    open: Mutex<Vec<Open>>,
    ticks: Ticks,
    interval: Option<u64>,
}

struct Open {
    flow: u32,
    transport: Transport,
    sends: bool,
    socket: Arc<Socket>,
    progress: Arc<Progress>,
}

/// How far a receiver has read.
#[derive(Default)]
pub struct Progress {
    read: AtomicU64,
    /// How much of it was reported.
    told: AtomicU64,
    wrong: AtomicBool,
}

impl Progress {
    /// So many bytes have been read, all of them the right ones or not.
    pub fn note(&self, read: u64, intact: bool) {
        self.read.store(read, Ordering::Relaxed);
        self.wrong.store(!intact, Ordering::Relaxed);
    }
}

impl Samples {
    /// Samples every `interval` ns while a socket is open; never when that is `None`.
    pub fn new(interval: Option<u64>) -> Result<Samples, Failure> {
        Ok(Samples { open: Mutex::new(Vec::new()), ticks: Ticks::new()?, interval })
    }

    /// Takes samples for ever: at once when a socket opens, then at whole multiples of the interval. Waits for ever
    /// where there is none, so that a guest that samples draws the same random numbers as one that does not.
    pub fn run(&self) {
        while self.ticks.wait().is_ok() {
            self.open.lock().expect("no holder panics").iter().for_each(|open| open.report(""));
        }
    }

    /// From now on this socket is sampled.
    pub fn open(&self, flow: &Flow, socket: &Arc<Socket>) -> Result<Arc<Progress>, Failure> {
        let mut open = self.open.lock().expect("no holder panics");
        let progress = Arc::new(Progress::default());
        open.push(Open {
            flow: flow.number,
            transport: flow.transport,
            sends: flow.act == Act::Send,
            socket: Arc::clone(socket),
            progress: Arc::clone(&progress),
        });
        match self.interval {
            Some(interval) if open.len() == 1 => self.ticks.on_the_grid(interval)?,
            _ => {}
        }
        Ok(progress)
    }

    /// A last sample of every socket that is still open at virtual time `end`.
    pub fn last_at(&self, end: u64) {
        timer::sleep_until(end);
        self.open.lock().expect("no holder panics").iter().for_each(|open| open.report(" final=1"));
    }

    /// A last sample of a socket, if it was sampled until now.
    pub fn close(&self, socket: &Arc<Socket>) -> Result<(), Failure> {
        let mut open = self.open.lock().expect("no holder panics");
        let Some(at) = open.iter().position(|open| Arc::ptr_eq(&open.socket, socket)) else { return Ok(()) };
        open.remove(at).report(" final=1");
        if open.is_empty() { self.ticks.stop() } else { Ok(()) }
    }
}

impl Open {
    /// Reports the socket's state, each line with `mark` behind the flow's number. A socket that has lost its state
    /// already gives no line.
    fn report(&self, mark: &str) {
        let (read, wrong) = (self.progress.read.load(Ordering::Relaxed), self.progress.wrong.load(Ordering::Relaxed));
        if read > self.progress.told.swap(read, Ordering::Relaxed) {
            report!("read {} {read} {}", self.flow, u8::from(!wrong));
        }
        // What a receiver's socket says meanwhile, nobody asks.
        if !self.sends && mark.is_empty() {
            return;
        }
        for (path, state) in lines(self.transport, &self.socket).unwrap_or_default() {
            let path = path.map_or_else(String::new, |path| format!(".{path}"));
            report!("info {}{path}{mark}{state}", self.flow);
        }
    }
}

/// What is known about a connection (no number) and about each of its paths.
type Lines = Vec<(Option<usize>, String)>;

fn lines(transport: Transport, socket: &Socket) -> Result<Lines, Failure> {
    match transport {
        Transport::Tcp => {
            let mut state = [0; TCP_SIZE];
            let length = socket.get(libc::IPPROTO_TCP, libc::TCP_INFO, &mut state)?;
            Ok(vec![(None, numbers(&state[..length], TCP))])
        }
        Transport::Mptcp => mptcp(socket),
        Transport::Sctp => sctp(socket),
        Transport::Udp | Transport::Command => Ok(Vec::new()),
    }
}

fn mptcp(socket: &Socket) -> Result<Lines, Failure> {
    let mut state = [0; 128];
    let length = socket.get(SOL_MPTCP, MPTCP_INFO, &mut state)?;
    let mut lines = vec![(None, numbers(&state[..length], MPTCP))];
    let states = subflows(socket, MPTCP_TCPINFO, TCP_SIZE)?;
    let addresses = subflows(socket, MPTCP_SUBFLOW_ADDRS, 256)?;
    for (path, (state, ends)) in states.iter().zip(addresses).enumerate() {
        let end = |at: usize| socket::address(&ends[at..]).map_or_else(|| "?".to_owned(), |end| end.to_string());
        lines.push((Some(path), format!(" local={} peer={}{}", end(0), end(128), numbers(state, TCP))));
    }
    Ok(lines)
}

/// What the kernel says about each subflow, at most `size` bytes of it.
fn subflows(socket: &Socket, option: i32, size: usize) -> Result<Vec<Vec<u8>>, Failure> {
    let mut bytes = [16, 0, 0, size as u32].map(u32::to_ne_bytes).concat();
    bytes.resize(16 + PATHS * size, 0);
    socket.get(SOL_MPTCP, option, &mut bytes)?;
    Ok(elements(&bytes, size))
}

/// The elements behind struct mptcp_subflow_data: its own size, the number of subflows, the size of the kernel's
/// element, the size of ours. They lie as close as the smaller of the two allows.
fn elements(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let header = |at: usize| number(bytes, at, 4).unwrap_or(0) as usize;
    bytes[16..].chunks_exact(header(8).clamp(1, size)).take(header(4)).map(<[u8]>::to_vec).collect()
}

fn sctp(socket: &Socket) -> Result<Lines, Failure> {
    let (mut status, mut counters) = ([0; 176], [0; 256]);
    socket.get(SOL_SCTP, SCTP_STATUS, &mut status)?;
    let length = socket.get(SOL_SCTP, SCTP_GET_ASSOC_STATS, &mut counters)?;
    let mut lines = vec![(None, numbers(&status, SCTP) + &numbers(&counters[..length], SCTP_COUNTERS))];
    // struct sctp_getaddrs: association, number of addresses, the addresses.
    let mut peers = [0; 8 + PATHS * 16];
    socket.get(SOL_SCTP, SCTP_GET_PEER_ADDRS, &mut peers)?;
    let count = number(&peers, 4, 4).unwrap_or(0) as usize;
    for (path, peer) in peers[8..].chunks_exact(16).take(count).enumerate() {
        let mut state = [0; 152];
        state[4..20].copy_from_slice(peer);
        socket.get(SOL_SCTP, SCTP_GET_PEER_ADDR_INFO, &mut state)?;
        let peer = socket::address(peer).map_or_else(|| "?".to_owned(), |peer| peer.to_string());
        let srtt = number(&state, 140, 4).unwrap_or(0) * timer::tick() / 1000;
        lines.push((Some(path), format!(" peer={peer} srtt_us={srtt}{}", numbers(&state, SCTP_PATH))));
    }
    Ok(lines)
}

/// The bytes that fit into a packet of an SCTP association (struct sctp_status, sstat_fragmentation_point).
pub fn sctp_fragment(socket: &Socket) -> Result<usize, Failure> {
    let mut status = [0; 176];
    socket.get(SOL_SCTP, SCTP_STATUS, &mut status)?;
    Ok(number(&status, 20, 4).unwrap_or(0) as usize)
}

/// ` key=value` for each field that `bytes` reach.
fn numbers(bytes: &[u8], fields: &[Field]) -> String {
    let mut text = String::new();
    for &(name, at, width, unit) in fields {
        if let Some(value) = number(bytes, at, width) {
            let _ = write!(text, " {name}={}", value * unit);
        }
    }
    text
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let mut value = [0; 8];
    value[..width].copy_from_slice(bytes.get(at..at + width)?);
    Some(u64::from_le_bytes(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// libc declares the older part of struct tcp_info independently of us.
    #[test]
    fn tcp_info_has_its_fields_where_libc_says() {
        let at = |name: &str| TCP.iter().find(|field| field.0 == name).map(|field| field.1);
        assert_eq!(at("rto_us"), Some(offset_of!(libc::tcp_info, tcpi_rto)));
        assert_eq!(at("mss"), Some(offset_of!(libc::tcp_info, tcpi_snd_mss)));
        assert_eq!(at("unacked"), Some(offset_of!(libc::tcp_info, tcpi_unacked)));
        assert_eq!(at("retrans"), Some(offset_of!(libc::tcp_info, tcpi_retrans)));
        assert_eq!(at("srtt_us"), Some(offset_of!(libc::tcp_info, tcpi_rtt)));
        assert_eq!(at("ssthresh"), Some(offset_of!(libc::tcp_info, tcpi_snd_ssthresh)));
        assert_eq!(at("cwnd"), Some(offset_of!(libc::tcp_info, tcpi_snd_cwnd)));
        assert_eq!(at("total_retrans"), Some(offset_of!(libc::tcp_info, tcpi_total_retrans)));
    }

    #[test]
    fn fields_follow_one_another_without_overlap() {
        for fields in [TCP, MPTCP, SCTP, SCTP_COUNTERS, SCTP_PATH] {
            assert!(fields.windows(2).all(|pair| pair[0].1 + pair[0].2 <= pair[1].1));
        }
    }

    #[test]
    fn elements_of_an_older_kernel_lie_closer() {
        let kernel = |size: u32| [16, 2, size, 6].map(u32::to_ne_bytes).concat();
        let array = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0];
        assert_eq!(elements(&[kernel(4), array.to_vec()].concat(), 6), [[1, 2, 3, 4], [5, 6, 7, 8]]);
        assert_eq!(elements(&[kernel(9), array.to_vec()].concat(), 6), [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]);
    }

    #[test]
    fn a_field_that_the_kernel_does_not_have_is_left_out() {
        let bytes = [1, 0, 0, 0, 2, 1, 0, 0];
        let fields = [("one", 0, 4, 1), ("two", 4, 2, 1000), ("three", 8, 4, 1)];
        assert_eq!(numbers(&bytes, &fields), " one=1 two=258000");
    }
}
