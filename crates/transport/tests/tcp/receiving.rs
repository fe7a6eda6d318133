//! Receiving half: acknowledgements and SACK blocks.

use crate::config::plain;
use crate::trace::Trace;
use vazao_transport::ByteStream;
use vazao_transport::tcp::{Config, Host};

const NOTHING: [&str; 0] = [];

/// Receiver with SACK that has everything below `edge`, so that the numbers are those of the RFCs' examples.
fn receiver(edge: u32) -> Trace {
    let mut t = Trace::established(Config { sack: true, delayed_ack: 1, ..plain() });
    assert_eq!(t.gets(&format!("1:{edge} ack 1")), [format!("1:1 ack {edge}")]);
    t
}

/// Delivers the segment of 500 bytes at `start`; returns its acknowledgement.
fn arrives(t: &mut Trace, start: u32) -> String {
    t.gets(&format!("{start}:{} ack 1", start + 500)).concat().split_off("1:1 ".len())
}

// ---- RFC 2018 section 4: eight segments of 500 bytes from 5000 on --------------------------------------------------

#[test]
fn rfc_2018_case_1_the_first_four_arrive() {
    let mut t = receiver(5_000);
    let acks = [5_000, 5_500, 6_000, 6_500].map(|start| arrives(&mut t, start));
    assert_eq!(acks, ["ack 5500", "ack 6000", "ack 6500", "ack 7000"]);
}

#[test]
fn rfc_2018_case_2_the_first_is_lost() {
    let mut t = receiver(5_000);
    for start in (5_500..9_000).step_by(500) {
        assert_eq!(arrives(&mut t, start), format!("ack 5000 sack 5500:{}", start + 500));
    }
}

#[test]
fn rfc_2018_case_3_every_second_is_lost() {
    let mut t = receiver(5_000);
    assert_eq!(arrives(&mut t, 5_000), "ack 5500");
    assert_eq!(arrives(&mut t, 6_000), "ack 5500 sack 6000:6500");
    assert_eq!(arrives(&mut t, 7_000), "ack 5500 sack 7000:7500 6000:6500");
    assert_eq!(arrives(&mut t, 8_000), "ack 5500 sack 8000:8500 7000:7500 6000:6500");
    // The fourth arrives late, then the second.
    assert_eq!(arrives(&mut t, 6_500), "ack 5500 sack 6000:7500 8000:8500");
    assert_eq!(arrives(&mut t, 5_500), "ack 7500 sack 8000:8500");
}

/// "The SACK option SHOULD be filled out by repeating the most recently reported SACK blocks": a block that grows does
/// not displace the others.
#[test]
fn growing_blocks_leave_the_others_reported() {
    let mut t = receiver(5_000);
    arrives(&mut t, 5_500);
    arrives(&mut t, 6_500);
    for start in (7_500..11_000).step_by(500) {
        assert_eq!(arrives(&mut t, start), format!("ack 5000 sack 7500:{} 6500:7000 5500:6000", start + 500));
    }
}

/// The options have room for four blocks, or three beside timestamps (section 3).
#[test]
fn as_many_blocks_as_fit() {
    let mut t = receiver(5_000);
    for start in [5_500, 6_500, 7_500, 8_500] {
        arrives(&mut t, start);
    }
    assert_eq!(arrives(&mut t, 9_500), "ack 5000 sack 9500:10000 8500:9000 7500:8000 6500:7000");

    let mut t = Trace::client(Config { sack: true, timestamps: true, ..plain() });
    t.sent();
    t.gets("SYN 0:1 ack 1 mss 1000 sackok ts 1 1");
    for start in [501, 1_501, 2_501] {
        t.gets(&format!("{start}:{} ack 1 ts 2 1", start + 500));
    }
    assert_eq!(t.gets("3501:4001 ack 1 ts 2 1"), ["1:1 ack 1 sack 3501:4001 2501:3001 1501:2001 ts 1 1"]);
}

// ---- RFC 2883 section 4: duplicates ----------------------------------------------------------------------------------

/// 4.1.1 and 4.1.2: below the acknowledgement; the usual SACK blocks follow.
#[test]
fn rfc_2883_a_duplicate_below_the_acknowledgement() {
    let mut t = receiver(3_000);
    assert_eq!(arrives(&mut t, 3_000), "ack 3500");
    assert_eq!(arrives(&mut t, 3_500), "ack 4000");
    assert_eq!(arrives(&mut t, 3_000), "ack 4000 sack 3000:3500");
    assert_eq!(arrives(&mut t, 4_500), "ack 4000 sack 4500:5000", "reported once");
    assert_eq!(arrives(&mut t, 3_000), "ack 4000 sack 3000:3500 4500:5000");
}

/// 4.1.3: above it; the block that contains it comes second.
#[test]
fn rfc_2883_a_duplicate_above_the_acknowledgement() {
    let mut t = receiver(4_000);
    assert_eq!(arrives(&mut t, 4_500), "ack 4000 sack 4500:5000");
    assert_eq!(arrives(&mut t, 5_000), "ack 4000 sack 4500:5500");
    assert_eq!(arrives(&mut t, 5_000), "ack 4000 sack 5000:5500 4500:5500");
    // Also when another block was the last to grow.
    assert_eq!(arrives(&mut t, 7_000), "ack 4000 sack 7000:7500 4500:5500");
    assert_eq!(arrives(&mut t, 4_500), "ack 4000 sack 4500:5000 4500:5500 7000:7500");
    assert_eq!(t.tcp.stats().duplicates_received, 2);
}

/// 4.2: of a partly new segment, the duplicate part is reported; if there are two such parts, the first.
#[test]
fn rfc_2883_partial_duplicates() {
    let mut t = receiver(1_000);
    assert_eq!(arrives(&mut t, 1_500), "ack 1000 sack 1500:2000");
    assert_eq!(t.gets("1000:2000 ack 1"), ["1:1 ack 2000 sack 1500:2000"]);
    assert_eq!(arrives(&mut t, 2_500), "ack 2000 sack 2500:3000");
    assert_eq!(arrives(&mut t, 3_500), "ack 2000 sack 3500:4000 2500:3000");
    assert_eq!(t.gets("2500:4500 ack 1"), ["1:1 ack 2000 sack 2500:3000 2500:4500"]);
    assert_eq!(t.gets("1500:2500 ack 1"), ["1:1 ack 4500 sack 1500:2000"]);
    assert_eq!(t.tcp.read(), Some(0..4_499));
}

/// A sender counts D-SACKs below the acknowledgement and inside the second block, and no others.
#[test]
fn d_sacks_are_recognised() {
    let mut t = Trace::sender(vazao_transport::tcp::Recovery::Sack, 8);
    t.writes_segments(8);
    for (line, reports) in [
        ("1:1 ack 2001 sack 1:1001", 1),
        ("1:1 ack 2001 sack 3001:4001", 1),
        ("1:1 ack 2001 sack 3001:4001", 1),
        ("1:1 ack 2001 sack 3001:4001 3001:5001", 2),
        ("1:1 ack 2001 sack 5001:6001 3001:5001", 2),
    ] {
        t.gets(line);
        assert_eq!(t.tcp.stats().duplicate_reports, reports, "{line}");
    }
}

// ---- when: RFC 5681 section 4.2 ------------------------------------------------------------------------------------

#[test]
fn every_second_segment_is_acknowledged() {
    let mut t = Trace::established(plain());
    assert_eq!(t.gets("1:1001 ack 1"), NOTHING);
    assert_eq!(t.gets("1001:2001 ack 1"), ["1:1 ack 2001"]);
    assert_eq!(t.gets("2001:3001 ack 1"), NOTHING);
    assert_eq!(t.wait(39), NOTHING);
    assert_eq!(t.wait(1), ["1:1 ack 3001"]);
    assert_eq!(t.wait(1_000), NOTHING);
}

#[test]
fn each_is_acknowledged_where_asked_for() {
    let mut t = Trace::established(Config { delayed_ack: 1, ..plain() });
    assert_eq!(t.gets("1:1001 ack 1"), ["1:1 ack 1001"]);
    assert_eq!(t.gets("1001:2001 ack 1"), ["1:1 ack 2001"]);
}

#[test]
fn the_first_segments_are_acknowledged_at_once() {
    let mut t = Trace::established(Config { quick_acks: 3, ..plain() });
    let answers = [1, 1_001, 2_001, 3_001].map(|start| t.gets(&format!("{start}:{} ack 1", start + 1_000)).len());
    assert_eq!(answers, [1, 1, 1, 0]);
}

/// Out-of-order segments, and those that fill a hole in whole or in part: at once.
#[test]
fn disorder_is_acknowledged_at_once() {
    let mut t = Trace::established(plain());
    assert_eq!(t.gets("1:1001 ack 1"), NOTHING);
    assert_eq!(t.gets("3001:4001 ack 1"), ["1:1 ack 1001"]);
    assert_eq!(t.gets("1001:2001 ack 1"), ["1:1 ack 2001"]);
    assert_eq!(t.gets("2001:3001 ack 1"), ["1:1 ack 4001"]);
    assert_eq!(t.gets("4001:5001 ack 1"), NOTHING);
}

/// Data carries the pending acknowledgement.
#[test]
fn data_acknowledges() {
    let mut t = Trace::established(plain());
    assert_eq!(t.gets("1:1001 ack 1"), NOTHING);
    assert_eq!(t.writes(100), ["1:101 ack 1001"]);
    assert_eq!(t.wait(100), NOTHING);
}

// ---- overlaps, old duplicates ----------------------------------------------------------------------------------------

#[test]
fn overlapping_segments_are_one_stream() {
    let mut t = Trace::established(plain());
    for line in ["1:301 ack 1", "201:401 ack 1", "501:701 ack 1", "601:901 ack 1", "351:551 ack 1", "0:10 ack 1"] {
        t.gets(line);
    }
    assert_eq!(t.tcp.read(), Some(0..900));
    assert_eq!(t.tcp.read(), None);
}

/// Whole duplicates are counted once each, wherever they lie.
#[test]
fn duplicates_are_counted() {
    let mut t = Trace::established(plain());
    t.gets("1:1001 ack 1");
    t.gets("2001:3001 ack 1");
    for (line, count) in [("1:1001 ack 1", 1), ("501:1001 ack 1", 2), ("2001:3001 ack 1", 3), ("1:1501 ack 1", 3)] {
        t.gets(line);
        assert_eq!(t.tcp.stats().duplicates_received, count, "{line}");
    }
}

/// The stamp stands for the payload: a misplaced one is noticed.
#[test]
fn a_payload_at_the_wrong_place_is_noticed() {
    let mut t = Trace::established(plain());
    t.gets("1:1001 ack 1");
    assert_eq!(t.tcp.stats().misplaced, 1, "scripted segments carry no stamp");
}

/// Connection with timestamps, whose peer's clock is at 1000.
fn stamped() -> Trace {
    stamped_by(Host::Rfc)
}

fn stamped_by(host: Host) -> Trace {
    let mut t = Trace::client(Config { timestamps: true, host, ..plain() });
    t.sent();
    assert_eq!(t.gets("SYN 0:1 ack 1 mss 1012 ts 1000 1"), ["1:1 ack 1 ts 1 1000"]);
    t
}

/// RFC 7323 section 5: an old segment whose sequence numbers have wrapped is acknowledged, not accepted. A reset is
/// exempt.
#[test]
fn paws() {
    let mut t = stamped();
    assert_eq!(t.gets("1:1001 ack 1 ts 999 1"), ["1:1 ack 1 ts 1 1000"]);
    assert_eq!(t.tcp.read(), None);
    t.gets("1:1001 ack 1 ts 1000 1");
    assert_eq!(t.tcp.read(), Some(0..1_000));
    // The clock wraps: 2^31 ahead is behind.
    assert_eq!(t.gets("1001:2001 ack 1 ts 2147484649 1").len(), 1);
    assert_eq!(t.tcp.read(), None);
    t.gets("RST 1001:1001 ts 5 0");
    assert!(t.tcp.is_over());
}

/// RFC 7323 section 4.3: a delayed ACK echoes the first segment that it acknowledges, (A); out-of-order or old ones
/// change nothing, (B) and R2.
#[test]
fn the_echoed_timestamp() {
    let mut t = stamped();
    t.gets("1:1001 ack 1 ts 1010 1");
    assert_eq!(t.gets("1001:2001 ack 1 ts 1020 1"), ["1:1 ack 2001 ts 1 1010"]);
    assert_eq!(t.gets("3001:4001 ack 1 ts 1040 1"), ["1:1 ack 2001 ts 1 1010"]);
    assert_eq!(t.gets("2001:3001 ack 1 ts 1030 1"), ["1:1 ack 4001 ts 1 1030"]);
    assert_eq!(t.gets("1:1001 ack 1 ts 1090 1"), ["1:1 ack 4001 ts 1 1030"]);
}

/// Linux accepts a repeated segment that ends where it last acknowledged (tcp_sequence), and echoes it; one that ends
/// earlier is not accepted.
#[test]
fn linux_echoes_the_latest_segment_again() {
    for (host, echoed) in [(Host::Rfc, 1_010), (Host::Linux, 1_090)] {
        let mut t = stamped_by(host);
        t.gets("1:1001 ack 1 ts 1010 1");
        t.gets("1001:2001 ack 1 ts 1020 1");
        t.wait(100);
        let before = t.gets("1:1001 ack 1 ts 1080 1");
        let after = t.gets("1001:2001 ack 1 ts 1090 1");
        let echo = |answer: &[String]| answer[0].rsplit(' ').next().map(str::to_owned);
        assert_eq!([echo(&before), echo(&after)], [1_010, echoed].map(|echo| Some(echo.to_string())), "{host:?}");
    }
}

/// RFC 5961 section 5.2: an acknowledgement of data never sent, or older than the largest window, is not the peer's.
/// The segment is discarded and an ACK sent; its timestamp does not count either, or PAWS would reject the peer from
/// then on.
#[test]
fn a_segment_with_a_strange_acknowledgement_changes_nothing() {
    for strange in [2_000, 2_u32.pow(31), 1_u32.wrapping_sub(60_001), 1_u32.wrapping_sub(2_000_000)] {
        let mut t = stamped();
        assert_eq!(t.gets(&format!("1:1001 ack {strange} ts 900000 1")), ["1:1 ack 1 ts 1 1000"], "{strange}");
        assert_eq!(t.tcp.read(), None);
        t.gets("1:1001 ack 1 ts 1010 1");
        assert_eq!(t.tcp.read(), Some(0..1_000), "{strange}");
    }
}

/// A segment older by no more than the largest window is only late: its data counts. Here that window is 2000 octets,
/// and everything before octet 4001 is acknowledged.
#[test]
fn data_with_an_old_acknowledgement_is_taken() {
    for (old, taken) in [(2_001, Some(0..1_000)), (2_000, None)] {
        let mut t = Trace::established_with(plain(), 2_000);
        t.writes(4_000);
        t.gets("1:1 ack 2001 win 2000");
        t.gets("1:1 ack 4001 win 2000");
        t.gets(&format!("1:1001 ack {old} win 2000"));
        assert_eq!(t.tcp.read(), taken, "{old}");
    }
}

// ---- Linux's receiver (net/ipv4/tcp_input.c) --------------------------------------------------------------------------

/// Receiver with a round-trip time of 100 ms and a fixed buffer.
fn linux_receiver() -> Trace {
    let mut t = Trace::client(Config { sack: true, host: Host::Linux, ..plain() });
    t.sent();
    t.wait(100);
    t.gets("SYN 0:1 ack 1 mss 1000 sackok");
    t
}

/// SACK compression: the first three segments beyond a hole are acknowledged at once, further ones together 1 ms later
/// plus timer slack; without that delay before the receiver has an RTT estimate, for which it needs a window's worth of
/// data without timestamps.
#[test]
fn linux_compresses_sack() {
    let mut t = linux_receiver();
    for end in [2_001, 3_001, 4_001] {
        assert_eq!(t.gets(&format!("{}:{end} ack 1", end - 1_000)), [format!("1:1 ack 1 sack 1001:{end}")]);
    }
    assert_eq!(t.gets("4001:5001 ack 1"), NOTHING);
    assert_eq!(t.gets("5001:6001 ack 1"), NOTHING);
    assert_eq!(t.wait(1), ["1:1 ack 1 sack 1001:6001"]);
    assert_eq!(t.gets("1:1001 ack 1"), ["1:1 ack 6001"]);
    t.tcp.read();
    t.wait(100);
    for start in (6_001..96_001).step_by(1_000) {
        t.gets(&format!("{start}:{} ack 1", start + 1_000));
        t.tcp.read();
    }
    t.wait(100);
    for start in [97_001, 98_001, 99_001, 100_001] {
        t.gets(&format!("{start}:{} ack 1", start + 1_000));
    }
    assert_eq!(t.wait(1), NOTHING);
    assert_eq!(t.wait(1), ["1:1 ack 96001 sack 97001:101001"]);
}

/// With two blocks to report, a new one releases the pending ACK, and waits for the next one itself.
#[test]
fn linux_puts_off_a_new_block() {
    let mut t = linux_receiver();
    let arrives = |t: &mut Trace, start: u32| t.gets(&format!("{start}:{} ack 1", start + 500));
    for start in [1_001, 2_001, 3_001] {
        assert_eq!(arrives(&mut t, start).len(), 1);
    }
    assert_eq!(arrives(&mut t, 4_001), NOTHING);
    assert_eq!(arrives(&mut t, 5_001), ["1:1 ack 1 sack 4001:4501 3001:3501 2001:2501 1001:1501"]);
    assert_eq!(arrives(&mut t, 6_001), NOTHING);
    assert_eq!(arrives(&mut t, 7_001), ["1:1 ack 1 sack 6001:6501 5001:5501 4001:4501 3001:3501"]);
}

/// The end of a burst, which carries PSH, is acknowledged as soon as it is read.
#[test]
fn linux_acknowledges_the_end_of_a_burst() {
    let mut t = linux_receiver();
    assert_eq!(t.gets("PSH 1:1001 ack 1"), NOTHING);
    assert_eq!(t.tcp.read(), Some(0..1_000));
    assert_eq!(t.sent(), ["1:1 ack 1001"]);
    assert_eq!(t.gets("1001:2001 ack 1"), NOTHING);
    assert_eq!(t.tcp.read(), Some(1_000..2_000));
    assert_eq!(t.sent(), NOTHING);
}
