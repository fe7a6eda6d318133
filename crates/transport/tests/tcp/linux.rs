//! Where Linux goes its own way: what a guest with Linux 6.12 does on the same wire, by its captures.

use crate::config::plain;
use crate::trace::Trace;
use vazao_engine::Duration;
use vazao_transport::Stream;
use vazao_transport::tcp::{Config, Extra, Failure, Flags, Host, State};

fn linux() -> Config {
    Config { host: Host::Linux, ..plain() }
}

/// tcp_syn_linear_timeouts: four times a second apart, and six times more, backed off. A SYN-ACK is backed off at once.
#[test]
fn a_syn_goes_again_every_second_at_first() {
    let times = |mut t: Trace| {
        let mut times = Vec::new();
        while matches!(t.tcp.state(), State::SynSent | State::SynReceived) {
            t.now = t.tcp.next_timeout();
            t.tcp.handle_timeout(t.now);
            if t.segments().iter().any(|segment| segment.flags.has(Flags::SYN)) {
                times.push(t.now.as_nanos() / 1_000_000_000);
            }
        }
        (times, t.now.as_nanos() / 1_000_000_000)
    };
    let config = || Config { max_rto: Duration::from_secs(120), ..linux() };
    let mut client = Trace::client(config());
    client.sent();
    assert_eq!(times(client), (vec![1, 2, 3, 4, 5, 7, 11, 19, 35, 67], 131));
    let mut server = Trace::server(config());
    server.gets("SYN 0:1 mss 1000");
    assert_eq!(times(server).0, [1, 3, 7, 15, 31, 63]);
}

/// FIN by itself carries no PSH, also when it goes again; the end of the data does, with FIN or without.
#[test]
fn a_fin_by_itself_pushes_nothing() {
    for (host, pushes) in [(Host::Linux, [true, false, false]), (Host::Rfc, [true, true, true])] {
        let mut t = Trace::established_with(Config { host, ..plain() }, 60_000);
        t.tcp.write(500);
        let mut sent = t.segments();
        t.tcp.close();
        sent.extend(t.segments());
        t.receive("1:1 ack 501");
        t.now = t.tcp.next_timeout();
        t.tcp.handle_timeout(t.now);
        sent.extend(t.segments());
        assert_eq!(sent.iter().map(|segment| segment.flags.has(Flags::PSH)).collect::<Vec<_>>(), pushes, "{host:?}");
    }
    let mut t = Trace::established(linux());
    t.tcp.write(500);
    t.tcp.close();
    assert!(t.segments()[0].flags.has(Flags::FIN.with(Flags::PSH)));
}

/// RFC 7323 section 3.2: a reset of a connection that has agreed on timestamps should carry them; Linux's do. What answers
/// a segment of no connection has none.
#[test]
fn a_reset_carries_timestamps() {
    for timestamps in [false, true] {
        let mut t = Trace::client(Config { timestamps, ..plain() });
        t.sent();
        t.gets("SYN 0:1 ack 1 mss 1000 ts 7 1");
        t.wait(20);
        t.tcp.abort();
        assert_eq!(t.sent(), [if timestamps { "RST 1:1 ack 1 ts 21 7" } else { "RST 1:1 ack 1" }]);
        // Data that arrives after that is answered by a reset of its own.
        assert_eq!(t.gets("1:501 ack 1 ts 9 1"), ["RST 1:1"]);
    }
    let mut t = Trace::client(Config { timestamps: true, ..plain() });
    t.sent();
    assert_eq!(t.gets("1:1 ack 300 ts 3 1"), ["RST 300:300"]);
}

/// The payload of a segment is what the peer takes less the options in use: without timestamps 12 bytes more. The size that
/// is offered is the same in every SYN (RFC 6691).
#[test]
fn declined_timestamps_leave_room_for_data() {
    for (host, segment, offered) in [(Host::Linux, 1012, 1012), (Host::Rfc, 1000, 1000)] {
        let config = || Config { host, timestamps: true, ..plain() };
        let mut t = Trace::client(config());
        t.sent();
        t.gets("SYN 0:1 ack 1 mss 1460");
        assert_eq!(t.writes(5_000)[0], format!("1:{} ack 1", 1 + segment));
        let mut t = Trace::client(config());
        t.sent();
        t.gets("SYN 0:1 ack 1 mss 1460 ts 9 1");
        assert_eq!(t.writes(5_000)[0], "1:1001 ack 1 ts 1 9");
        let mut t = Trace::server(config());
        t.receive("SYN 0:1 mss 1460");
        let mut extra = Extra::default();
        t.tcp.poll_transmit(t.now, &mut extra);
        assert_eq!(extra.syn.map(|syn| syn.mss), Some(offered), "{host:?}");
    }
}

/// A FIN that comes again is reported as a duplicate (RFC 2883), but not in TIME-WAIT, where nothing is kept of SACK
/// (tcp_timewait_state_process).
#[test]
fn a_fin_again_is_reported_until_time_wait() {
    for host in [Host::Linux, Host::Rfc] {
        let config = || Config { host, sack: true, ..plain() };
        let mut t = Trace::established(config());
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["1:1 ack 2"]);
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["1:1 ack 2 sack 1:2"], "CLOSE-WAIT");
        t.closes();
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["2:2 ack 2 sack 1:2"], "LAST-ACK");

        let mut t = Trace::established(config());
        t.closes();
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["2:2 ack 2"]);
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["2:2 ack 2 sack 1:2"], "CLOSING");
        t.gets("2:2 ack 2");
        assert_eq!(t.tcp.state(), State::TimeWait);
        let answer = if host == Host::Linux { "2:2 ack 2" } else { "2:2 ack 2 sack 1:2" };
        assert_eq!(t.gets("FIN 1:2 ack 2"), [answer], "TIME-WAIT {host:?}");
        assert_eq!(t.tcp.failure(), None::<Failure>);
    }
}
