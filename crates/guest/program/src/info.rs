//! Kernel's information on an open socket: `struct tcp_info` and its kin.
//!
//! Each struct is read at the offsets that the kernel's public headers give its fields. They never change: later kernels
//! only append.

use crate::failure::Failure;
use crate::socket::{self, SOL_SCTP, Socket};
use crate::timer;
use vazao_guest_protocol::{Sample, TcpInfo};

/// Most subflows of a connection, or addresses of a peer, that are sampled.
const PATHS: usize = 16;
/// Bytes of `struct tcp_info` that are asked for.
const TCP_SIZE: usize = 248;

// linux/sctp.h and linux/mptcp.h, not in libc.
const SCTP_STATUS: i32 = 14;
const SCTP_GET_PEER_ADDR_INFO: i32 = 15;
const SCTP_GET_PEER_ADDRS: i32 = 108;
const SCTP_GET_ASSOC_STATS: i32 = 112;
const SOL_MPTCP: i32 = 284;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;

/// The protocols of which the kernel tells something.
#[derive(Clone, Copy, Debug)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// Multipath TCP.
    Mptcp,
    /// SCTP.
    Sctp,
}

/// Asks the kernel for a socket's state, and that of its paths.
pub fn look(protocol: Protocol, socket: &Socket) -> Result<Vec<Sample>, Failure> {
    match protocol {
        Protocol::Tcp => tcp(socket),
        Protocol::Mptcp => mptcp(socket),
        Protocol::Sctp => sctp(socket),
    }
}

fn tcp(socket: &Socket) -> Result<Vec<Sample>, Failure> {
    let mut state = [0; TCP_SIZE];
    let length = socket.get(libc::IPPROTO_TCP, libc::TCP_INFO, &mut state)?;
    Ok(tcp_info(&state[..length]).map(Sample::Tcp).into_iter().collect())
}

/// Reads `struct tcp_info` of linux/tcp.h.
fn tcp_info(bytes: &[u8]) -> Option<TcpInfo> {
    let word = |at| number(bytes, at, 4).map(|value| value as u32);
    let long = |at| number(bytes, at, 8);
    Some(TcpInfo {
        ca_state: *bytes.get(1)?,
        snd_mss: word(16)?,
        unacked: word(24)?,
        sacked: word(28)?,
        lost: word(32)?,
        rtt_us: word(68)?,
        snd_ssthresh: word(76)?,
        snd_cwnd: word(80)?,
        reordering: word(88)?,
        total_retrans: word(100)?,
        segs_out: word(136)?,
        busy_time_us: long(168)?,
        rwnd_limited_us: long(176)?,
        sndbuf_limited_us: long(184)?,
        bytes_sent: long(200)?,
        bytes_retrans: long(208)?,
        total_rto: number(bytes, 240, 2).map(|value| value as u32),
    })
}

fn mptcp(socket: &Socket) -> Result<Vec<Sample>, Failure> {
    let states = subflows(socket, MPTCP_TCPINFO, TCP_SIZE)?;
    let addresses = subflows(socket, MPTCP_SUBFLOW_ADDRS, 256)?;
    // struct mptcp_subflow_addrs: its own address and its peer's, 128 bytes each.
    let sample = |(state, ends): (&Vec<u8>, &Vec<u8>)| {
        let (local, peer) = (socket::address(ends)?, socket::address(ends.get(128..)?)?);
        Some(Sample::Subflow { local, peer, info: tcp_info(state)? })
    };
    Ok(states.iter().zip(&addresses).filter_map(sample).collect())
}

/// Asks for an array with one element for each subflow, at most `size` bytes of it.
fn subflows(socket: &Socket, option: i32, size: usize) -> Result<Vec<Vec<u8>>, Failure> {
    let mut bytes = [16, 0, 0, size as u32].map(u32::to_ne_bytes).concat();
    bytes.resize(16 + PATHS * size, 0);
    socket.get(SOL_MPTCP, option, &mut bytes)?;
    Ok(elements(&bytes, size))
}

/// Returns the elements behind `struct mptcp_subflow_data`: its own size, the number of subflows, the size of the
/// kernel's element, the size of ours. They lie as close as the smaller of the two allows.
fn elements(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let header = |at: usize| number(bytes, at, 4).unwrap_or(0) as usize;
    bytes[16..].chunks_exact(header(8).clamp(1, size)).take(header(4)).map(<[u8]>::to_vec).collect()
}

fn sctp(socket: &Socket) -> Result<Vec<Sample>, Failure> {
    let mut counters = [0; 256];
    socket.get(SOL_SCTP, SCTP_GET_ASSOC_STATS, &mut counters)?;
    let mut samples = vec![Sample::Association { retransmissions: number(&counters, 176, 8).unwrap_or(0) }];
    // struct sctp_getaddrs: association, number of addresses, the addresses.
    let mut peers = [0; 8 + PATHS * 16];
    socket.get(SOL_SCTP, SCTP_GET_PEER_ADDRS, &mut peers)?;
    let count = number(&peers, 4, 4).unwrap_or(0) as usize;
    for (path, peer) in (0..).zip(peers[8..].chunks_exact(16).take(count)) {
        // struct sctp_paddrinfo: association, address, state, window, smoothed RTT.
        let mut state = [0; 152];
        state[4..20].copy_from_slice(peer);
        socket.get(SOL_SCTP, SCTP_GET_PEER_ADDR_INFO, &mut state)?;
        let field = |at| number(&state, at, 4).unwrap_or(0);
        // Linux gives the smoothed RTT in ticks, not in the milliseconds of RFC 6458.
        samples.push(Sample::Path { number: path, cwnd: field(136), srtt_us: field(140) * timer::tick() / 1000 });
    }
    Ok(samples)
}

/// Returns the bytes that fit into a packet of an SCTP association (`sstat_fragmentation_point` of `struct sctp_status`).
pub fn sctp_fragment(socket: &Socket) -> Result<usize, Failure> {
    let mut status = [0; 176];
    socket.get(SOL_SCTP, SCTP_STATUS, &mut status)?;
    Ok(number(&status, 20, 4).unwrap_or(0) as usize)
}

/// Reads a number of `width` bytes; `None` if the kernel's struct ends before.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let mut value = [0; 8];
    value[..width].copy_from_slice(bytes.get(at..at + width)?);
    Some(u64::from_le_bytes(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// libc declares the older part of `struct tcp_info` independently of us.
    #[test]
    fn tcp_info_has_its_fields_where_libc_says() {
        let mut bytes = [0; TCP_SIZE];
        let places = [
            offset_of!(libc::tcp_info, tcpi_ca_state),
            offset_of!(libc::tcp_info, tcpi_snd_mss),
            offset_of!(libc::tcp_info, tcpi_unacked),
            offset_of!(libc::tcp_info, tcpi_sacked),
            offset_of!(libc::tcp_info, tcpi_lost),
            offset_of!(libc::tcp_info, tcpi_rtt),
            offset_of!(libc::tcp_info, tcpi_snd_ssthresh),
            offset_of!(libc::tcp_info, tcpi_snd_cwnd),
            offset_of!(libc::tcp_info, tcpi_reordering),
            offset_of!(libc::tcp_info, tcpi_total_retrans),
        ];
        for (value, at) in (1..).zip(places) {
            bytes[at] = value;
        }
        let info = tcp_info(&bytes).unwrap();
        let found = [info.snd_mss, info.unacked, info.sacked, info.lost, info.rtt_us, info.snd_ssthresh, info.snd_cwnd];
        assert_eq!((info.ca_state, found), (1, [2, 3, 4, 5, 6, 7, 8]));
        assert_eq!((info.reordering, info.total_retrans), (9, 10));
    }

    #[test]
    fn an_older_kernel_does_not_count_timeouts() {
        assert_eq!(tcp_info(&[1; 232]).unwrap().total_rto, None);
        assert_eq!(tcp_info(&[1; TCP_SIZE]).unwrap().total_rto, Some(0x101));
        assert_eq!(tcp_info(&[1; 104]), None);
    }

    #[test]
    fn elements_of_an_older_kernel_lie_closer() {
        let kernel = |size: u32| [16, 2, size, 6].map(u32::to_ne_bytes).concat();
        let array = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0];
        assert_eq!(elements(&[kernel(4), array.to_vec()].concat(), 6), [[1, 2, 3, 4], [5, 6, 7, 8]]);
        assert_eq!(elements(&[kernel(9), array.to_vec()].concat(), 6), [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]);
    }
}
