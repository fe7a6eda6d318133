//! Reports: what the first program of a guest says of its flows. None carries a time: a report is read at the virtual
//! time at which it was printed.

use crate::line::{Coded, Malformed, Words, coded, malformed, push};
use std::fmt;
use std::net::SocketAddrV4;

/// One report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Event at this host's end of a flow.
    Flow {
        /// The flow's number.
        number: u32,
        /// Event.
        event: Event,
    },
    /// A counter of the kernel's at the end, where it is not zero.
    Counter {
        /// The group's name in `/proc/net`, such as `TcpExt`.
        group: String,
        /// The counter's name.
        name: String,
        /// Value.
        value: i64,
    },
    /// The plan could not be carried out.
    Wrong {
        /// Refused thing and reason, in words for the user.
        problem: String,
    },
}
coded!(enum Report {
    "flow" => Flow { number, event },
    "counter" => Counter { group, name, value },
    "wrong" => Wrong { problem }
});

/// Event at one end of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is established, or the program has started.
    Up,
    /// The receiver has read its first byte.
    First,
    /// The receiver has read more.
    Read {
        /// Bytes read since the beginning.
        bytes: u64,
        /// Whether each was the right one.
        intact: bool,
    },
    /// The receiver has read its last byte.
    Last {
        /// Bytes read in all.
        bytes: u64,
        /// Whether each was the right one.
        intact: bool,
        /// Whether the end of the flow has arrived; a receiver of datagrams may have waited for it in vain.
        ended: bool,
    },
    /// The sender has written its last byte.
    Sent {
        /// Bytes written in all.
        bytes: u64,
    },
    /// The kernel was asked for the state of the sender's socket.
    Info(Sample),
    /// End of this side.
    Over(End),
}
coded!(enum Event {
    "up" => Up,
    "first" => First,
    "read" => Read { bytes, intact },
    "last" => Last { bytes, intact, ended },
    "sent" => Sent { bytes },
    "info" => Info(sample),
    "over" => Over(end)
});

/// Ending of one end of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Both ends closed; or the program ended with status 0.
    Closed,
    /// A system call failed.
    Failed {
        /// The error's symbol, such as `ECONNREFUSED`.
        error: String,
        /// The call.
        call: String,
    },
    /// Program ended with another status than 0.
    Exited {
        /// The status.
        status: i32,
    },
    /// A signal ended its program.
    Killed {
        /// The signal's number.
        signal: i32,
    },
}
coded!(enum End {
    "closed" => Closed,
    "failed" => Failed { error, call },
    "exited" => Exited { status },
    "killed" => Killed { signal }
});

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Closed => write!(f, "closed"),
            End::Failed { error, call } => write!(f, "{error} {call}"),
            End::Exited { status } => write!(f, "exit status {status}"),
            End::Killed { signal } => write!(f, "signal {signal}"),
        }
    }
}

/// A kernel's view of a socket, or of one path of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A TCP connection.
    Tcp(TcpInfo),
    /// A subflow of a Multipath TCP connection.
    Subflow {
        /// Own address and port.
        local: SocketAddrV4,
        /// Address and port of the peer.
        peer: SocketAddrV4,
        /// State.
        info: TcpInfo,
    },
    /// An SCTP association as a whole.
    Association {
        /// DATA chunks sent again (`struct sctp_assoc_stats`).
        retransmissions: u64,
    },
    /// One path of an SCTP association (`struct sctp_paddrinfo`).
    Path {
        /// Number, from 0, which is the primary one.
        number: u8,
        /// The congestion window in bytes.
        cwnd: u64,
        /// The smoothed round-trip time in µs; 0 before the first measurement.
        srtt_us: u64,
    },
}
coded!(enum Sample {
    "tcp" => Tcp(info),
    "subflow" => Subflow { local, peer, info },
    "association" => Association { retransmissions },
    "path" => Path { number, cwnd, srtt_us }
});

/// Part of `struct tcp_info` (linux/tcp.h), with its names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The state of congestion control (`enum tcp_ca_state`).
    pub ca_state: u8,
    /// Bytes of a full segment that is sent.
    pub snd_mss: u32,
    /// Segments in flight.
    pub unacked: u32,
    /// Segments that the receiver has acknowledged selectively.
    pub sacked: u32,
    /// Segments that are believed to be lost.
    pub lost: u32,
    /// The smoothed round-trip time in µs; 0 before the first measurement.
    pub rtt_us: u32,
    /// The slow-start threshold in segments.
    pub snd_ssthresh: u32,
    /// The congestion window in segments.
    pub snd_cwnd: u32,
    /// Estimate of the network's reordering in segments.
    pub reordering: u32,
    /// Segments retransmitted.
    pub total_retrans: u32,
    /// Segments sent.
    pub segs_out: u32,
    /// Time in which there was data to send or in flight, in µs.
    pub busy_time_us: u64,
    /// Time in which the receiver's window alone held data back, in µs.
    pub rwnd_limited_us: u64,
    /// Time in which the send buffer alone held data back, in µs.
    pub sndbuf_limited_us: u64,
    /// Payload sent, with retransmissions.
    pub bytes_sent: u64,
    /// Payload retransmitted.
    pub bytes_retrans: u64,
    /// Expiries of the retransmission timer, which kernels before 6.7 do not count here.
    pub total_rto: Option<u32>,
}
coded!(struct TcpInfo {
    ca_state, snd_mss, unacked, sacked, lost, rtt_us, snd_ssthresh, snd_cwnd, reordering, total_retrans, segs_out,
    busy_time_us, rwnd_limited_us, sndbuf_limited_us, bytes_sent, bytes_retrans, total_rto
});
