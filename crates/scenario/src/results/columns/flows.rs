//! Columns of `flows`.

use super::columns;
use crate::measures::counts::Count;
use crate::measures::table::Cell;
use crate::model::multipath::MultipathSpec;
use crate::model::scenario::FlowSpec;
use crate::model::stack::Stacks;
use crate::results::account::Account;
use vazao_engine::{Duration, Histogram, Time};
use vazao_transport::common::Limit;

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
    /// Bytes that were read in the window of `measure`, and its length in seconds.
    pub(crate) measured: Option<(u64, f64)>,
    /// Output of the programs of client and server.
    pub(crate) printed: [Option<String>; 2],
}

impl FlowRow<'_> {
    /// Returns its loss recovery, if one of our machines with a choice sends.
    fn recovery(&self) -> Option<&str> {
        let transport = &self.spec.transport;
        transport.pack().recovery.filter(|_| self.is_ours).map(|parameter| transport.parameters.text(parameter))
    }

    /// Returns its settings of several paths, if one of our machines sends.
    fn multipath(&self) -> Option<&MultipathSpec> {
        self.spec.transport.multipath.as_ref().filter(|_| self.is_ours)
    }

    /// Returns the time in which something limited its sender.
    fn limited(&self, limit: Limit) -> Cell {
        self.account.life.map(|life| life.parts[limit as usize].as_secs()).into()
    }

    /// Returns the same, or what a guest's kernel counts of it.
    fn limited_or(&self, limit: Limit, counted: &str) -> Cell {
        match self.account.sender.tally.get(counted) {
            Some(Count::Span(span)) if self.account.life.is_none() => Some(span.as_secs()).into(),
            _ => self.limited(limit),
        }
    }

    /// Returns the part of that time in which its path was busy, if that was asked for.
    fn busy(&self, limit: Limit) -> Cell {
        self.account.life.and_then(|life| life.path).map(|parts| parts[limit as usize].as_secs()).into()
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

    /// Returns the part of its first slow start's packets that were lost.
    fn slow_start_loss(&self) -> Option<f64> {
        let measure = &self.account.measure;
        self.slow_start_end().map(|_| measure.slow_start_lost as f64 / measure.slow_start_sent.max(1) as f64)
    }

    /// Returns a count of its first slow start, if it has one window: several connections have several.
    fn of_slow_start(&self, count: u64) -> Cell {
        let is_one = self.account.connections.is_none_or(|count| count == 1);
        let has_window = !self.spec.transport.is_datagrams() && is_one;
        self.slow_start_end().filter(|_| has_window).map(|_| count).into()
    }
}

/// Returns one name for both sides if they agree, else both names.
fn stack_name([client, server]: Stacks) -> String {
    if client == server { client.name.into() } else { format!("{}-{}", client.name, server.name) }
}

columns! {
    /// Columns of the table with one row a flow.
    FLOWS, Flows, FlowRow: flow =>
    "run_id" = flow.id, "the run";
    "flow" = flow.number as u64, "the flow's number, from 0 in the order of the scenario";
    "group" = flow.spec.group as u64,
        "number of the `[[flow]]` table that it comes from, from 0; in SQL `flows.group`, as the word alone is one of SQL's";
    "transport" = flow.spec.transport.entry.name, "name as in the scenario";
    "stack" = stack_name(flow.spec.transport.stacks),
        "the stack's name as in the scenario, or both sides' names, the client's first: `linux-vazao`";
    "cc" = flow.spec.transport.control.name.as_str(),
        "congestion control, as in the scenario; `none` where there is none";
    "recovery" = flow.recovery(),
        "loss recovery, as in the scenario; TCP's, NULL where the sender's stack is not ours";
    "scheduler" = flow.multipath().map(|multipath| multipath.scheduler.name.as_str()),
        "packet scheduler, as in the scenario; NULL but for Multipath TCP and Multipath QUIC of ours";
    "path_manager" = flow.multipath().and_then(|multipath| Some(multipath.path_manager.as_ref()?.0.name)),
        "path manager, as in the scenario; NULL but for Multipath TCP of ours";
    "app" = flow.spec.app(), "application, as in the scenario";
    "client" = flow.spec.client.as_str(), "address of the side that opens the connection";
    "server" = flow.spec.server.as_str(), "address of the other side";
    "connections" = flow.account.connections,
        "connections that a page or a video has opened; NULL for other applications, whose flow is one";
    "size_class" = flow.spec.size_class(),
        "`up to 100 kB`, `100 kB to 10 MB` or `above 10 MB`, by the size that was asked for";
    "app_bytes" = flow.account.app_bytes,
        "data that the receiving application has read; where a guest sends datagrams, of which the last has at least the 8 bytes \
         of its place, up to 7 more than `size`";
    "start_s" = flow.start.as_secs(), "when the connection was opened";
    "first_byte_s" = flow.account.first_byte.map(Time::as_secs), "when the receiver read the first byte";
    "last_byte_s" = flow.account.last_byte.map(Time::as_secs), "when the receiver read the last byte so far";
    "completion_s" = flow.since(flow.account.last_byte.filter(|_| flow.account.completed == Some(true))),
        "from `start_s` to the last byte; NULL unless completed";
    "goodput_bps" = flow.account.rate(flow.start, flow.account.app_bytes),
        "`app_bytes` over the time from `start_s` to `last_byte_s`, handshake included";
    "measured_bytes" = flow.measured.map(|(bytes, _)| bytes),
        "of `app_bytes` what was read in the window of the scenario's `measure`; NULL without one, or if the run ended before it";
    "measured_goodput_bps" = flow.measured.map(|(bytes, seconds)| 8.0 * bytes as f64 / seconds),
        "`measured_bytes` over all of that window, whether or not the flow was there all the time";
    "throughput_bps" = flow.account.rate(flow.start, flow.account.measure.delivered_bytes),
        "IP bytes of data packets that reached the receiver, those of parity (QUIC's `fec`) among them, over the same time: never \
         below `goodput_bps`";
    "packets_sent" => Counted(Sum), "packets that the sender sent, of any kind";
    "packets_lost" => Counted(Sum),
        "of these, what the network dropped: queues, loss models, damage (`corrupt`), and copies that a link made of them \
         (`duplicate`), so that only there it may be above `packets_sent`. Over udp, datagrams of which no copy came";
    "loss_events" = flow.account.measure.loss_events,
        "loss events: packets lost within a round-trip time of the first of them are one (RFC 5348 section 5.2), by the \
         sender's smoothed round-trip time, of several paths the first one's, or else the path's without queues; \
         `packets_lost / loss_events` is their mean size";
    "duplicates" => Counted(Sum),
        "packets that reached the receiver with nothing new: datagrams a second time, segments or packets of streams without a \
         new byte; over sctp chunks that had come";
    "reordered" => Counted(Sum),
        "datagrams that reached the receiver after one sent later (RFC 4737 section 3.3); UDP only";
    "retransmissions" => Counted(Sum),
        "data segments sent again, for any reason: packets, never more than `packets_sent`, but over sctp chunks, of which a \
         packet bundles several";
    "fast_retransmissions" => Counted(Sum), "of the retransmissions, those that duplicate ACKs or SACK called for, and what the peer did \
         not take of the data with a SYN";
    "timeout_retransmissions" => Counted(Sum), "of the retransmissions, those after a timeout";
    "timeouts" => Counted(Sum), "expiries of the retransmission timer with data in flight; a lost SYN is none";
    "recoveries" => Counted(Sum), "recovery episodes that duplicate ACKs or SACK started";
    "duplicate_acks" => Counted(Sum), "duplicate acknowledgements that the sender received";
    "spurious_retransmissions" => Counted(Sum),
        "segments sent again that had arrived already, as the receiver reports them (D-SACK, so none without SACK); over quic \
         packets declared lost that were acknowledged after all";
    "spurious_timeouts" => Counted(Sum),
        "timeouts that proved needless, so that the window was given back (F-RTO, D-SACK, timestamps)";
    "mark_reductions" => Counted(Sum), "times that the window came down because a queue marked data (ECN)";
    "busy_s" => Measured(Sum),
        "time in which the sender had something to send, or data or FIN of its own to be acknowledged (Linux's \
         `tcpi_busy_time`); this and the next three are TCP's, NULL elsewhere";
    "rwnd_limited_s" => Measured(Sum),
        "of that, time in which it had data that congestion window and pacer would have let out, and the receiver's window alone \
         did not (`tcpi_rwnd_limited`; SndLimTimeRwin of RFC 4898)";
    "sndbuf_limited_s" => Measured(Sum),
        "of that, time in which it had sent all that its send buffer holds, and the congestion window would have let out what the \
         application could not write because the buffer was full (`tcpi_sndbuf_limited`)";
    "life_s" = flow.account.life.map(|life| life.whole.as_secs()),
        "from `start_s` until the sender has sent everything, closed and heard that it arrived, or to the end of the run: the sum of \
         the following `limited_…_s`, of which at every instant one holds; of a page or a video summed over its connections; NULL \
         over udp and icmp, and where a guest, a library or another simulator sends: of those, Linux's TCP alone has two of the parts";
    "limited_handshake_s" = flow.limited(Limit::Handshake), "of `life_s`, time in which data could not flow yet: transport's handshake, and TLS's";
    "limited_application_s" = flow.limited(Limit::Application), "of it, time with nothing to send: all that was written had left";
    "limited_send_buffer_s" = flow.limited_or(Limit::SendBuffer, "sndbuf_limited_s"),
        "of it, time in which all that the send buffer holds had left, and the buffer kept the application from writing more; where \
         Linux's TCP sends, `sndbuf_limited_s`";
    "limited_receive_window_s" = flow.limited_or(Limit::ReceiveWindow, "rwnd_limited_s"),
        "of it, time in which the receiver's window held data back (over quic that of a stream); where Linux's TCP sends, \
         `rwnd_limited_s`";
    "limited_connection_window_s" = flow.limited(Limit::ConnectionWindow),
        "of it, time in which the receiver's window of the whole connection did, over quic and mptcp";
    "limited_slow_start_s" = flow.limited(Limit::SlowStart), "of it, time in which the congestion window did, in slow start";
    "limited_avoidance_s" = flow.limited(Limit::Avoidance), "of it, time in which the congestion window did, otherwise";
    "limited_recovery_s" = flow.limited(Limit::Recovery), "of it, time in which the congestion window did, while losses were repaired";
    "limited_pacing_s" = flow.limited(Limit::Pacing), "of it, time in which the pacer did";
    "limited_timeout_s" = flow.limited(Limit::Timeout),
        "of it, time in which nothing could leave until a retransmission or probe timeout expired: from the sender's last event on";
    "limited_scheduler_s" = flow.limited(Limit::Scheduler),
        "of it, time in which data waited for one path although another one had room, by choice of the scheduler";
    "limited_nagle_s" = flow.limited(Limit::Nagle), "of it, time in which Nagle's algorithm, or a burst to be filled, held data back";
    "path_receive_window_s" = flow.busy(Limit::ReceiveWindow),
        "of `limited_receive_window_s`, time in which the narrowest link of the flow's way was busy, with anybody's packets: the path was \
         the limit, and a larger window would have brought nothing; of several ways the mean, weighted by their narrowest links' \
         rates; this and the next five are recorded with the measure `limit`, NULL without";
    "path_connection_window_s" = flow.busy(Limit::ConnectionWindow), "the same of `limited_connection_window_s`";
    "path_slow_start_s" = flow.busy(Limit::SlowStart), "the same of `limited_slow_start_s`";
    "path_avoidance_s" = flow.busy(Limit::Avoidance), "the same of `limited_avoidance_s`";
    "path_recovery_s" = flow.busy(Limit::Recovery), "the same of `limited_recovery_s`";
    "path_pacing_s" = flow.busy(Limit::Pacing), "the same of `limited_pacing_s`";
    "reordering" => Counted(Most),
        "by how many segments the sender believes the network to reorder, at the end (`tcpi_reordering`): 3 at first, and then \
         the most by which something sent once came behind others, as SACK, timestamps and D-SACK show it, 300 at most; of a page \
         or a video the largest of its connections; NULL for those of our recoveries that do not estimate it, which is all but \
         `rack`";
    "parity_packets" => Counted(First), "with QUIC's `fec`: packets of parity sent";
    "recovered_packets" => Counted(First), "with QUIC's `fec`: packets that the receiver made again from parity";
    "subflows_joined" => Counted(None),
        "subflows that joined the first; this and the next four are Multipath TCP's, NULL elsewhere";
    "subflows_died" => Counted(None), "subflows that died before the end, also without ever having joined";
    "reinjected_bytes" => Counted(None),
        "data that went by another subflow after a timeout of the one that had it, or after that one died";
    "repeated_bytes" => Counted(None),
        "data repeated because it kept the receiver's window shut (opportunistic retransmission)";
    "penalties" => Counted(None),
        "times that a subflow's window was halved because its data kept the receiver's window shut (penalisation)";
    "handshake_s" = flow.since(flow.account.established),
        "from `start_s` until data might flow at the client: TCP's handshake and TLS's, or QUIC's; none of TCP's where data goes \
         with the SYN (`fast_open`), none of TLS's or QUIC's with `0-rtt`";
    "rtt_mean_s" = flow.account.sender.rtt.mean(), "mean of the round-trip times that the sender measured";
    "rtt_p50_s" = flow.account.sender.rtt.quantile(0.50), "their median";
    "rtt_p95_s" = flow.account.sender.rtt.quantile(0.95), "their 95th percentile";
    "rtt_p99_s" = flow.account.sender.rtt.quantile(0.99), "their 99th percentile";
    "rtt_max_s" = flow.account.sender.rtt.max(), "the longest of them, exactly";
    "rtt_min_s" => Measured(First), "of `ping`, as the next two, NULL elsewhere: the shortest round-trip time";
    "rtt_mdev_s" => Measured(First),
        "standard deviation of the round-trip times, as ping tells it: of all of them, not of a sample";
    "replies" => Counted(First), "requests whose reply came; `1 - replies / packets_sent` is ping's loss";
    "owd_p50_s" = flow.account.measure.owd.quantile(0.50), "median one-way delay of data packets";
    "jitter_s" = flow.account.measure.jitter(),
        "interarrival jitter of data packets at the end (RFC 3550 section 6.4.1)";
    "messages_delivered" = flow.account.messages.map(Histogram::count),
        "messages that arrived completely, requests that were answered, objects of a page, segments of a video; NULL for other \
         applications";
    "messages_abandoned" => Counted(Sum),
        "messages that SCTP gave up (partial reliability, or a `restart`); NULL for other protocols";
    "message_latency_mean_s" = flow.message(Histogram::mean),
        "mean time from a message's write to the read of its last byte, in order; from a request to the end of its response; of a \
         page or a video from `start_s` to the end of each object, their mean being the ObjectIndex; both ends ours";
    "message_latency_p50_s" = flow.message(|all| all.quantile(0.50)), "median of the same times";
    "message_latency_p95_s" = flow.message(|all| all.quantile(0.95)), "95th percentile of the same times";
    "message_latency_p99_s" = flow.message(|all| all.quantile(0.99)), "99th percentile of the same times";
    "message_latency_max_s" = flow.message(Histogram::max), "the longest of the same times, exactly";
    "startup_s" = flow.account.viewing.and_then(|viewing| viewing.startup).map(Duration::as_secs),
        "of a video, as the next four: from `start_s` until it plays; NULL until then, and for other applications";
    "stalls" = flow.account.viewing.map(|viewing| viewing.stalls), "how often it stopped for want of data";
    "stalled_s" = flow.account.viewing.map(|viewing| viewing.stalled.as_secs()), "for how long it stopped in all";
    "bitrate_mean_bps" = flow.account.viewing.and_then(|viewing| viewing.bitrate), "mean of its segments' rates";
    "bitrate_switches" = flow.account.viewing.map(|viewing| viewing.switches), "how often the rate changed";
    "slow_start_s" = flow.since(flow.slow_start_end()),
        "from `start_s` to the end of the first slow start: the first loss noticed, or the threshold reached; NULL if it never \
         ended";
    "slow_start_loss" = flow.slow_start_loss(),
        "`slow_start_lost` over `slow_start_sent`; NULL if slow start never ended";
    "slow_start_sent" = flow.of_slow_start(flow.account.measure.slow_start_sent),
        "packets sent until the end of the first slow start; NULL if it never ended";
    "slow_start_lost" = flow.of_slow_start(flow.account.measure.slow_start_lost),
        "how many of those the network dropped, whenever that was; NULL if slow start never ended";
    "first_ssthresh_bytes" = flow.account.measure.first_ssthresh.map(|bytes| bytes as f64),
        "the threshold with which the first slow start ended";
    "cwnd_min_bytes" = flow.account.measure.cwnd_min.map(|bytes| bytes as f64),
        "least congestion window after the first slow start";
    "bdp_bytes" = flow.account.measure.bdp, "lowest rate on the data's way times base round-trip time";
    "refill_s" = flow.account.measure.refilled.map(|time| time.since(flow.account.measure.slow_start_end).as_secs()),
        "from the end of the first slow start until the window is at least `bdp_bytes`, its losses repaired; NULL if that did not \
         happen";
    "recovery_s" = flow.account.measure.recovery.map(Duration::as_secs),
        "from the first cut of the window in congestion avoidance until it is as large again, to a segment, and nothing is being \
         repaired; NULL if that did not happen";
    "completed" = flow.account.completed,
        "everything was sent, read and closed; of datagrams: everything was sent, and something of it arrived; NULL for a flow \
         without an end of its own";
    "intact" = flow.account.intact,
        "every byte read is the one that belongs there, once and in order, and none more than was written; NULL for programs of a \
         `command`, whose bytes nobody checks";
    "failure" = flow.account.failure.as_deref(),
        "why an end of a flow that is not complete gave up, and which: `client: the connection timed out`, or what a guest's \
         kernel said, such as `client: ECONNREFUSED connect`; of a program its command, its exit status and its last words; NULL \
         if none did";
    "client_output" = flow.printed[0].clone(),
        "what the client's program of a `command` printed; NULL for other applications";
    "server_output" = flow.printed[1].clone(), "what the server's printed";
}
