//! Columns of `flows`.

use super::{ColumnSpec, Rows, counted, found, measured, row};
use crate::measures::counts::Combine;
use crate::measures::table::{Cell, Row};
use crate::model::flow::FlowSpec;
use crate::model::stack::Stack;
use crate::results::account::Account;
use vazao_engine::{Duration, Histogram, Time};

/// Table of flows.
pub enum Flows {}

impl Rows for Flows {
    type Row<'a> = FlowRow<'a>;
}

/// Source of a row of `flows`.
pub struct FlowRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) number: usize,
    pub(crate) spec: &'a FlowSpec,
    pub(crate) account: &'a Account<'a>,
    /// Time at which it was opened.
    pub(crate) start: Time,
    /// Whether one of our machines sends its data.
    pub(crate) is_ours: bool,
    /// Output of the programs of client and server.
    pub(crate) printed: [Option<String>; 2],
}

impl FlowRow<'_> {
    pub(crate) fn cells(&self) -> Row {
        row(FLOWS, self, &[&self.account.sender.tally, &self.account.arrivals])
    }

    fn since(&self, time: Option<Time>) -> Cell {
        time.map(|time| time.since(self.start).as_secs()).into()
    }

    /// Returns a quantile or the mean of its messages' latencies.
    fn message(&self, what: fn(&Histogram) -> Option<f64>) -> Cell {
        self.account.messages.and_then(what).into()
    }

    /// Returns the end of its first slow start.
    fn slow_start_end(&self) -> Option<Time> {
        let end = self.account.measure.slow_start_end;
        (end != Time::NEVER).then_some(end)
    }

    /// Returns a count of its first slow start, if it has one window: several connections have several.
    fn of_slow_start(&self, count: u64) -> Cell {
        let is_one = self.account.connections.is_none_or(|count| count == 1);
        let has_window = !self.spec.transport.is_datagrams() && is_one;
        self.slow_start_end().filter(|_| has_window).map(|_| count).into()
    }
}

/// Returns one name for both sides if they agree, else both names.
fn stack_name([client, server]: [Stack; 2]) -> String {
    if client == server { client.name().into() } else { format!("{}-{}", client.name(), server.name()) }
}

/// Columns of the table with one row a flow.
pub const FLOWS: &[ColumnSpec<Flows>] = &[
    found("run_id", |flow| flow.id.into(), "the run"),
    found("flow", |flow| (flow.number as u64).into(), "the flow's number, from 0 in the order of the scenario"),
    found(
        "group",
        |flow| (flow.spec.group as u64).into(),
        "number of the `[[flow]]` table that it comes from, from 0; in SQL `flows.group`, as the word alone is one of SQL's",
    ),
    found("transport", |flow| flow.spec.transport.entry.name.into(), "name as in the scenario"),
    found(
        "stack",
        |flow| stack_name(flow.spec.transport.stacks).into(),
        "`vazao`, `linux`, `quinn`, or both sides' names, the client's first: `linux-vazao`",
    ),
    found(
        "cc",
        |flow| flow.spec.transport.control.name.as_str().into(),
        "congestion control, as in the scenario; `none` where there is none",
    ),
    found(
        "recovery",
        |flow| {
            let transport = &flow.spec.transport;
            let recovery = transport.pack().recovery().filter(|_| flow.is_ours);
            recovery.map(|parameter| transport.parameters.text(parameter)).into()
        },
        "loss recovery, as in the scenario; TCP's, NULL where the sender's stack is not ours",
    ),
    found(
        "scheduler",
        |flow| {
            let multipath = flow.spec.transport.multipath.as_ref().filter(|_| flow.is_ours);
            multipath.map(|multipath| multipath.scheduler.name.as_str()).into()
        },
        "packet scheduler, as in the scenario; NULL but for Multipath TCP and Multipath QUIC of ours",
    ),
    found(
        "path_manager",
        |flow| {
            let multipath = flow.spec.transport.multipath.as_ref().filter(|_| flow.is_ours);
            multipath.and_then(|multipath| multipath.path_manager.as_ref()).map(|manager| manager.0.name).into()
        },
        "path manager, as in the scenario; NULL but for Multipath TCP of ours",
    ),
    found("app", |flow| flow.spec.application.0.name.into(), "application, as in the scenario"),
    found("client", |flow| flow.spec.client.as_str().into(), "address of the side that opens the connection"),
    found("server", |flow| flow.spec.server.as_str().into(), "address of the other side"),
    found(
        "connections",
        |flow| flow.account.connections.into(),
        "connections that a page or a video has opened; NULL for other applications, whose flow is one",
    ),
    found(
        "size_class",
        |flow| flow.spec.size_class().into(),
        "`up to 100 kB`, `100 kB to 10 MB` or `above 10 MB`, by the size that was asked for",
    ),
    found(
        "app_bytes",
        |flow| flow.account.app_bytes.into(),
        "data that the receiving application has read; where a guest sends datagrams, of which the last has at least the 8 bytes \
         of its place, up to 7 more than `size`",
    ),
    found("start_s", |flow| flow.start.as_secs().into(), "when the connection was opened"),
    found(
        "first_byte_s",
        |flow| flow.account.first_byte.map(Time::as_secs).into(),
        "when the receiver read the first byte",
    ),
    found(
        "last_byte_s",
        |flow| flow.account.last_byte.map(Time::as_secs).into(),
        "when the receiver read the last byte so far",
    ),
    found(
        "completion_s",
        |flow| flow.since(flow.account.last_byte.filter(|_| flow.account.completed == Some(true))),
        "from `start_s` to the last byte; NULL unless completed",
    ),
    found(
        "goodput_bps",
        |flow| flow.account.rate(flow.start, flow.account.app_bytes).into(),
        "`app_bytes` over the time from `start_s` to `last_byte_s`, handshake included",
    ),
    found(
        "throughput_bps",
        |flow| flow.account.rate(flow.start, flow.account.measure.delivered_bytes).into(),
        "IP bytes of data packets that reached the receiver, those of parity (QUIC's `fec`) among them, over the same time: never \
         below `goodput_bps`",
    ),
    counted("packets_sent", Combine::Sum, "packets that the sender sent, of any kind"),
    counted(
        "packets_lost",
        Combine::Sum,
        "of these, what the network dropped: queues, loss models, damage (`corrupt`), and copies that a link made of them \
         (`duplicate`), so that only there it may be above `packets_sent`. Over udp, datagrams of which no copy came",
    ),
    counted(
        "duplicates",
        Combine::Sum,
        "packets that reached the receiver with nothing new: datagrams a second time, segments without a new byte",
    ),
    counted(
        "reordered",
        Combine::Sum,
        "datagrams that reached the receiver after one sent later (RFC 4737 section 3.3); UDP only",
    ),
    counted(
        "retransmissions",
        Combine::Sum,
        "data segments sent again, for any reason: packets, never more than `packets_sent`, but over sctp chunks, of which a \
         packet bundles several",
    ),
    counted(
        "fast_retransmissions",
        Combine::Sum,
        "of the retransmissions, those that duplicate ACKs or SACK called for",
    ),
    counted("timeout_retransmissions", Combine::Sum, "of the retransmissions, those after a timeout"),
    counted("timeouts", Combine::Sum, "expiries of the retransmission timer with data in flight; a lost SYN is none"),
    counted("recoveries", Combine::Sum, "recovery episodes that duplicate ACKs or SACK started"),
    counted("duplicate_acks", Combine::Sum, "duplicate acknowledgements that the sender received"),
    counted(
        "spurious_retransmissions",
        Combine::Sum,
        "segments sent again that had arrived already, as the receiver reports them (D-SACK, so none without SACK)",
    ),
    counted(
        "spurious_timeouts",
        Combine::Sum,
        "timeouts that proved needless, so that the window was given back (F-RTO, D-SACK, timestamps)",
    ),
    counted("mark_reductions", Combine::Sum, "times that the window came down because a queue marked data (ECN)"),
    measured(
        "busy_s",
        Combine::Sum,
        "time in which the sender had something to send, or data or FIN of its own to be acknowledged (Linux's \
         `tcpi_busy_time`); this and the next two are TCP's, NULL elsewhere",
    ),
    measured(
        "rwnd_limited_s",
        Combine::Sum,
        "of that, time in which it had data that congestion window and pacer would have let out, and the receiver's window alone \
         did not (`tcpi_rwnd_limited`; SndLimTimeRwin of RFC 4898)",
    ),
    counted(
        "reordering",
        Combine::Most,
        "by how many segments the sender believes the network to reorder, at the end (`tcpi_reordering`): 3 at first, and then \
         the most by which something sent once came behind others, as SACK, timestamps and D-SACK show it, 300 at most; of a page \
         or a video the largest of its connections; NULL for those of our recoveries that do not estimate it, which is all but \
         `rack`",
    ),
    counted("parity_packets", Combine::First, "with QUIC's `fec`: packets of parity sent"),
    counted("recovered_packets", Combine::First, "with QUIC's `fec`: packets that the receiver made again from parity"),
    counted(
        "subflows_joined",
        Combine::None,
        "subflows that joined the first; this and the next four are Multipath TCP's, NULL elsewhere",
    ),
    counted("subflows_died", Combine::None, "subflows that died before the end, also without ever having joined"),
    counted(
        "reinjected_bytes",
        Combine::None,
        "data that went by another subflow after a timeout of the one that had it, or after that one died",
    ),
    counted(
        "repeated_bytes",
        Combine::None,
        "data repeated because it kept the receiver's window shut (opportunistic retransmission)",
    ),
    counted(
        "penalties",
        Combine::None,
        "times that a subflow's window was halved because its data kept the receiver's window shut (penalisation)",
    ),
    found(
        "handshake_s",
        |flow| flow.since(flow.account.established),
        "from `start_s` until data might flow at the client: TCP's handshake and TLS's, or QUIC's; none of TCP's where data goes \
         with the SYN (`fast_open`), none of TLS's or QUIC's with `0-rtt`",
    ),
    found(
        "rtt_mean_s",
        |flow| flow.account.sender.rtt.mean().into(),
        "mean of the round-trip times that the sender measured",
    ),
    found("rtt_p50_s", |flow| flow.account.sender.rtt.quantile(0.50).into(), "their median"),
    found("rtt_p95_s", |flow| flow.account.sender.rtt.quantile(0.95).into(), "their 95th percentile"),
    found("rtt_p99_s", |flow| flow.account.sender.rtt.quantile(0.99).into(), "their 99th percentile"),
    found("owd_p50_s", |flow| flow.account.measure.owd.quantile(0.50).into(), "median one-way delay of data packets"),
    found(
        "jitter_s",
        |flow| flow.account.measure.jitter().into(),
        "interarrival jitter of data packets at the end (RFC 3550 section 6.4.1)",
    ),
    found(
        "messages_delivered",
        |flow| flow.account.messages.map(Histogram::count).into(),
        "messages that arrived completely, requests that were answered, objects of a page, segments of a video; NULL for other \
         applications",
    ),
    counted(
        "messages_abandoned",
        Combine::Sum,
        "messages that SCTP gave up (partial reliability, or a `restart`); NULL for other protocols",
    ),
    found(
        "message_latency_mean_s",
        |flow| flow.message(Histogram::mean),
        "mean time from a message's write to the read of its last byte, in order; from a request to the end of its response; of a \
         page or a video from `start_s` to the end of each object, their mean being the ObjectIndex; both ends ours",
    ),
    found("message_latency_p50_s", |flow| flow.message(|all| all.quantile(0.50)), "median of the same times"),
    found("message_latency_p95_s", |flow| flow.message(|all| all.quantile(0.95)), "95th percentile of the same times"),
    found("message_latency_p99_s", |flow| flow.message(|all| all.quantile(0.99)), "99th percentile of the same times"),
    found(
        "startup_s",
        |flow| flow.account.viewing.and_then(|viewing| viewing.startup).map(Duration::as_secs).into(),
        "of a video, as the next four: from `start_s` until it plays; NULL until then, and for other applications",
    ),
    found(
        "stalls",
        |flow| flow.account.viewing.map(|viewing| viewing.stalls).into(),
        "how often it stopped for want of data",
    ),
    found(
        "stalled_s",
        |flow| flow.account.viewing.map(|viewing| viewing.stalled.as_secs()).into(),
        "for how long it stopped in all",
    ),
    found(
        "bitrate_mean_bps",
        |flow| flow.account.viewing.and_then(|viewing| viewing.bitrate).into(),
        "mean of its segments' rates",
    ),
    found(
        "bitrate_switches",
        |flow| flow.account.viewing.map(|viewing| viewing.switches).into(),
        "how often the rate changed",
    ),
    found(
        "slow_start_s",
        |flow| flow.since(flow.slow_start_end()),
        "from `start_s` to the end of the first slow start: the first loss noticed, or the threshold reached; NULL if it never \
         ended",
    ),
    found(
        "slow_start_loss",
        |flow| {
            let measure = &flow.account.measure;
            let part = |_| measure.slow_start_lost as f64 / measure.slow_start_sent.max(1) as f64;
            flow.slow_start_end().map(part).into()
        },
        "`slow_start_lost` over `slow_start_sent`; NULL if slow start never ended",
    ),
    found(
        "slow_start_sent",
        |flow| flow.of_slow_start(flow.account.measure.slow_start_sent),
        "packets sent until the end of the first slow start; NULL if it never ended",
    ),
    found(
        "slow_start_lost",
        |flow| flow.of_slow_start(flow.account.measure.slow_start_lost),
        "how many of those the network dropped, whenever that was; NULL if slow start never ended",
    ),
    found(
        "first_ssthresh_bytes",
        |flow| flow.account.measure.first_ssthresh.map(|bytes| bytes as f64).into(),
        "the threshold with which the first slow start ended",
    ),
    found(
        "cwnd_min_bytes",
        |flow| flow.account.measure.cwnd_min.map(|bytes| bytes as f64).into(),
        "least congestion window after the first slow start",
    ),
    found(
        "bdp_bytes",
        |flow| flow.account.measure.bdp.into(),
        "lowest rate on the data's way times base round-trip time",
    ),
    found(
        "refill_s",
        |flow| {
            let measure = &flow.account.measure;
            measure.refilled.map(|time| time.since(measure.slow_start_end).as_secs()).into()
        },
        "from the end of the first slow start until the window is at least `bdp_bytes`, its losses repaired; NULL if that did not \
         happen",
    ),
    found(
        "recovery_s",
        |flow| flow.account.measure.recovery.map(Duration::as_secs).into(),
        "from the first cut of the window in congestion avoidance until it is as large again and nothing is being repaired; NULL \
         if that did not happen",
    ),
    found(
        "completed",
        |flow| flow.account.completed.into(),
        "everything was sent, read and closed; of datagrams: everything was sent, and something of it arrived; NULL for a flow \
         without an end of its own",
    ),
    found(
        "intact",
        |flow| flow.account.intact.into(),
        "every byte read is the one that belongs there, once and in order, and none more than was written; NULL for programs of a \
         `command`, whose bytes nobody checks",
    ),
    found(
        "failure",
        |flow| flow.account.failure.as_deref().into(),
        "why an end of a flow that is not complete gave up, and which: `client: the connection timed out`, or what a guest's \
         kernel said, such as `client: ECONNREFUSED connect`; of a program its command, its exit status and its last words; NULL \
         if none did",
    ),
    found(
        "client_output",
        |flow| flow.printed[0].clone().into(),
        "what the client's program of a `command` printed; NULL for other applications",
    ),
    found("server_output", |flow| flow.printed[1].clone().into(), "what the server's printed"),
];
