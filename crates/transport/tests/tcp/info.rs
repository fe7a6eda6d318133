//! Sender state as defined by Linux's `struct tcp_info`.

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_engine::Duration;
use vazao_transport::tcp::CaState::{Cwr, Disorder, Loss, Open, Recovery};
use vazao_transport::tcp::Recovery::{NewReno, Rack};
use vazao_transport::tcp::{CaState, Config, Pacing};

impl Trace {
    /// Milliseconds busy, and milliseconds limited by the receiver's window.
    fn limited_times(&self) -> [u64; 2] {
        let ms = |span: Duration| span.as_nanos() / 1_000_000;
        [ms(self.tcp.busy_time(self.now)), ms(self.tcp.rwnd_limited(self.now))]
    }

    /// State, segments lost and segments SACKed.
    fn congestion_state(&self) -> (CaState, u64, u64) {
        (self.tcp.ca_state(), self.tcp.lost_segments(), self.tcp.sacked_segments())
    }
}

/// Busy: from the first byte written until everything written has been acknowledged, and again while FIN is not.
#[test]
fn busy_while_data_is_unacknowledged() {
    let mut t = Trace::established(plain());
    t.wait(70);
    assert_eq!(t.limited_times(), [0, 0]);
    t.writes(2_000);
    t.wait(100);
    assert_eq!(t.limited_times(), [100, 0]);
    t.gets("1:1 ack 1001 win 60000");
    t.wait(50);
    t.gets("1:1 ack 2001 win 60000");
    t.wait(500);
    assert_eq!(t.limited_times(), [150, 0], "an application that has nothing to say is none of its business");
    t.closes();
    t.wait(30);
    t.gets("1:1 ack 2002 win 60000");
    t.wait(500);
    assert_eq!(t.limited_times(), [180, 0]);
}

/// tcpi_rwnd_limited: from when the window is used up with more to send until that leaves, however often it opens a
/// little meanwhile; also while it is closed with nothing in flight.
#[test]
fn the_receivers_window_limits_it() {
    let mut t = Trace::established_with(plain(), 2_000);
    assert_eq!(t.writes(7_000).len(), 2);
    t.wait(100);
    assert_eq!(t.gets("1:1 ack 1001 win 2000").len(), 1);
    t.wait(10);
    t.gets("1:1 ack 3001 win 0");
    t.wait(90);
    assert_eq!(t.limited_times(), [200, 200]);
    assert_eq!(t.gets("1:1 ack 3001 win 4000").len(), 4, "that is all");
    t.wait(100);
    assert_eq!(t.limited_times(), [300, 200]);
    t.gets("1:1 ack 7001 win 0");
    t.wait(100);
    assert_eq!(t.limited_times(), [300, 200], "with nothing to send a shut window limits nothing");
}

/// Linux checks the pacer first, then the congestion window: the receiver's window limits only what these would send.
#[test]
fn the_congestion_window_limits_it_first() {
    let mut t = Trace::established_with(Config { control: control("reno", 2, None), ..plain() }, 2_000);
    assert_eq!(t.writes(9_000).len(), 2);
    t.wait(100);
    assert_eq!(t.limited_times(), [100, 0]);
    // Slow start makes it four, of which two are sent.
    t.gets("1:1 ack 1001 win 2000");
    t.gets("1:1 ack 2001 win 2000");
    t.wait(100);
    assert_eq!(t.limited_times(), [200, 100]);
    // A timeout makes it one, which is in flight.
    while t.tcp.ca_state() != Loss {
        t.wait(10);
    }
    let limited = t.limited_times()[1];
    t.wait(100);
    assert_eq!(t.limited_times()[1], limited);

    let mut t = Trace::established_with(Config { pacing: Pacing::On, ..plain() }, 3_000);
    // At 200 % of ten segments in 100 ms they leave 5 ms apart: the window is full after the third, and the fourth
    // would leave after 15 ms.
    assert_eq!(t.writes(9_000).len(), 1);
    t.wait(60);
    assert_eq!(t.tcp.flight(), 3_000);
    assert_eq!(t.limited_times(), [60, 45]);
}

/// tcp_ca_state by hand: no loss, one segment overtaken, three (RFC 6675), the first repaired, all.
#[test]
fn state_in_a_recovery() {
    let mut t = Trace::sender(Rack, 8);
    t.writes_segments(30);
    t.wait(100);
    assert_eq!(t.congestion_state(), (Open, 0, 0));
    t.acks(1, &[(3, 3)]);
    assert_eq!(t.congestion_state(), (Disorder, 0, 1));
    t.acks(1, &[(3, 5)]);
    // 1 and 2 are lost. The retransmission of 1 does not change that before it arrives.
    assert_eq!(t.congestion_state(), (Recovery, 2, 3));
    t.acks(2, &[(3, 6)]);
    assert_eq!(t.congestion_state(), (Recovery, 1, 4));
    t.acks(10, &[]);
    assert_eq!(t.congestion_state(), (Open, 0, 0));
}

/// Without SACK duplicates stand for segments (tcp_add_reno_sack); a timeout forgets them, and marks the whole flight
/// lost.
#[test]
fn state_without_sack() {
    let mut t = Trace::sender(NewReno, 8);
    t.writes_segments(30);
    t.wait(100);
    for seen in [(Disorder, 0, 1), (Disorder, 0, 2), (Recovery, 1, 3), (Recovery, 1, 4)] {
        t.acks(1, &[]);
        assert_eq!(t.congestion_state(), seen);
    }
    let flight = t.tcp.flight();
    t.times_out();
    assert_eq!(t.congestion_state(), (Loss, flight / 1000, 0));
}

/// RFC 3168: a mark reduces the window without losses, over a round trip: until data beyond the flight is acknowledged.
#[test]
fn state_after_a_mark() {
    let config =
        Config { ecn: Some(true), recovery: Rack, sack: true, control: control("reno", 8, Some(8)), ..plain() };
    let mut t = Trace::client(config);
    t.sent();
    t.wait(100);
    t.gets("SYN ECE 0:1 ack 1 win 60000 mss 1000 sackok");
    t.writes_segments(30);
    t.wait(100);
    t.gets("ECE 1:1 ack 2001 win 60000");
    assert_eq!(t.congestion_state(), (Cwr, 0, 0));
    t.wait(100);
    t.gets("1:1 ack 8001 win 60000");
    assert_eq!(t.tcp.ca_state(), Cwr);
    t.gets("1:1 ack 9001 win 60000");
    assert_eq!(t.tcp.ca_state(), Open);
}

/// tcp_check_sack_reordering: number of segments by which an original arrived behind the highest; initially three, as
/// DupThresh.
#[test]
fn how_far_the_network_reorders() {
    let mut t = Trace::sender(Rack, 8);
    assert_eq!(Trace::sender(NewReno, 8).tcp.reordering(), None);
    t.writes_segments(30);
    t.wait(100);
    t.acks(1, &[(2, 2)]);
    t.acks(3, &[]);
    assert_eq!(t.tcp.reordering(), Some(3), "one segment is no news");
    // 3 arrives after 4 to 8.
    t.acks(3, &[(4, 8)]);
    t.acks(9, &[]);
    assert_eq!(t.tcp.reordering(), Some(6));
    // 9 arrives after 10 to 12, which is less.
    t.wait(100);
    t.acks(9, &[(10, 12)]);
    t.acks(13, &[]);
    assert_eq!(t.tcp.reordering(), Some(6));
}

/// A retransmission proves nothing, until a D-SACK says that both copies arrived.
#[test]
fn a_duplicate_report_tells_of_reordering() {
    let mut t = Trace::sender(Rack, 8);
    t.writes_segments(30);
    t.wait(100);
    // 1 and 2 are lost, and are retransmitted as duplicates permit.
    t.acks(1, &[(3, 5)]);
    t.acks(1, &[(3, 6)]);
    t.acks(1, &[(3, 7)]);
    assert_eq!(t.tcp.stats().retransmissions, 2);
    t.acks(1, &[(2, 7)]);
    assert_eq!(t.tcp.reordering(), Some(3));
    t.gets("1:1 ack 1 win 60000 sack 1001:2001 1001:7001");
    assert_eq!(t.tcp.reordering(), Some(6), "2 came behind 7");
}

/// A timestamp from before the retransmission proves reordering too, if it fills a hole and others are left
/// (tcp_try_undo_partial).
#[test]
fn a_timestamp_tells_of_reordering() {
    for (echo, reordering) in [(101, 7), (301, 3)] {
        let config = Config { recovery: Rack, sack: true, timestamps: true, undo: true, ..plain() };
        let mut t = Trace::client(Config { control: control("reno", 8, Some(8)), ..config });
        t.sent();
        t.wait(100);
        t.gets("SYN 0:1 ack 1 mss 1012 sackok wscale 0 ts 500 1");
        t.writes_segments(20);
        t.wait(100);
        // 1 and 2 are lost, and are retransmitted as duplicates permit.
        for last in 5..=7 {
            t.gets(&format!("1:1 ack 1 win 60000 sack 2001:{last}001 ts 600 101"));
        }
        assert_eq!((t.tcp.stats().retransmissions, t.tcp.reordering()), (2, Some(3)));
        t.wait(100);
        t.gets(&format!("1:1 ack 1001 win 60000 sack 2001:7001 ts 700 {echo}"));
        assert_eq!(t.tcp.reordering(), Some(reordering), "an echo of {echo}");
    }
}
