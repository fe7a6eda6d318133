//! TLS over a stream: what is sent and when, and data passing through once and in order.

use proptest::prelude::*;
use std::ops::Range;
use vazao_engine::Time;
use vazao_transport::ByteStream;
use vazao_transport::tls::{Config, Handshake, Session, Version};

/// One end of a wire: bytes written, sent, received and read. The send buffer may be small.
#[derive(Debug)]
struct End {
    room: u64,
    written: u64,
    sent: u64,
    arrived: u64,
    read: u64,
    closed: bool,
    peer_closed: bool,
}

impl End {
    fn new(room: u64) -> End {
        End { room, written: 0, sent: 0, arrived: 0, read: 0, closed: false, peer_closed: false }
    }
}

impl ByteStream for End {
    fn write(&mut self, bytes: u64) -> u64 {
        assert!(!self.closed);
        let taken = bytes.min(self.room - (self.written - self.sent));
        self.written += taken;
        taken
    }
    fn discard_unsent(&mut self) -> u64 {
        self.written = self.sent;
        self.sent
    }
    fn read(&mut self) -> Option<Range<u64>> {
        self.read_at_most(u64::MAX)
    }
    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        let start = self.read;
        self.read += limit.min(self.arrived - start);
        (self.read > start).then_some(start..self.read)
    }
    fn close(&mut self) {
        self.closed = true;
    }
    fn is_connected(&self) -> bool {
        true
    }
    fn peer_closed(&self) -> bool {
        self.peer_closed && self.read == self.arrived
    }
}

/// Client and server.
struct Pair {
    ends: [End; 2],
    sessions: [Session; 2],
}

impl Pair {
    fn new(version: Version, handshake: Handshake, room: u64) -> Pair {
        Pair::of(version, handshake, None, room)
    }

    /// With records of DTLS, if they have a size.
    fn of(version: Version, handshake: Handshake, datagram: Option<u64>, room: u64) -> Pair {
        let config = Config { version, handshake, certificate: 3_000, datagram };
        Pair { ends: [End::new(room), End::new(room)], sessions: Session::pair(config) }
    }

    fn pump(&mut self) {
        for side in 0..2 {
            self.sessions[side].pump(Time::ZERO, &mut self.ends[side]);
        }
    }

    /// Delivers at most this many bytes of a side to the other.
    fn carry(&mut self, side: usize, most: u64) {
        let [client, server] = &mut self.ends;
        let (from, to) = if side == 0 { (client, server) } else { (server, client) };
        from.sent += most.min(from.written - from.sent);
        to.arrived = from.sent;
        to.peer_closed = from.closed && from.sent == from.written;
    }

    fn over(&mut self, side: usize) -> impl ByteStream + use<'_> {
        self.sessions[side].over(&mut self.ends[side])
    }

    /// Bytes that a side has sent since the last call; all of them are delivered.
    fn says(&mut self, side: usize) -> u64 {
        let before = self.ends[side].sent;
        self.pump();
        self.carry(side, u64::MAX);
        self.ends[side].sent - before
    }

    fn exchange(&mut self, sides: &[usize]) {
        for &side in sides {
            self.says(side);
        }
    }

    fn ready(&self) -> [bool; 2] {
        [0, 1].map(|side| self.sessions[side].ready().is_some())
    }
}

use Handshake::{Early, Full, Resumed};
use Version::{V12, V13};

/// RFC 8448: section 4's ClientHello is a record of 517; its server answers with records of 101 and 102, section 3's
/// sends a ticket of 223; the client's Finished is one of 58.
#[test]
fn a_resumed_tls_1_3_handshake() {
    let mut pair = Pair::new(V13, Resumed, u64::MAX);
    assert_eq!([pair.says(0), pair.says(1), pair.says(0), pair.says(1)], [517, 101 + 102, 58, 223]);
    assert_eq!(pair.ready(), [true, true]);
}

/// Section 4: early data follows the hello at once; EndOfEarlyData, a record of 26, comes before Finished. Six bytes of
/// early data are a record of 28.
#[test]
fn early_data() {
    let mut pair = Pair::new(V13, Early, u64::MAX);
    pair.pump();
    assert_eq!(pair.ready(), [true, false]);
    assert_eq!(pair.over(0).write(6), 6);
    assert_eq!(pair.says(0), 517 + 28);
    pair.pump();
    assert_eq!(pair.over(1).read(), Some(0..6));
    assert_eq!([pair.says(1), pair.says(0)], [203, 26 + 58]);
}

/// Section 3's server: ServerHello in a record of 95; with its certificate of 445 bytes and a signature of 128 the rest
/// is one of 679. Here the certificate has 3000 bytes and the signature 256.
#[test]
fn a_full_tls_1_3_handshake() {
    let mut pair = Pair::new(V13, Full, u64::MAX);
    assert_eq!([pair.says(0), pair.says(1)], [517, 95 + 679 + (3_000 - 445) + (256 - 128)]);
    assert_eq!(pair.ready(), [false, false]);
    assert_eq!(pair.says(0), 58);
    assert_eq!(pair.ready(), [true, false]);
    pair.pump();
    assert_eq!(pair.ready(), [true, true]);
}

/// RFC 5246 section 7.3: the client receives Finished before it sends data, except after a resumption.
#[test]
fn tls_1_2_handshakes() {
    let mut pair = Pair::new(V12, Full, u64::MAX);
    assert_eq!(pair.says(0), 517);
    assert!((3_300..3_600).contains(&pair.says(1)));
    pair.says(0);
    assert_eq!(pair.ready(), [false, false]);
    pair.says(1);
    pair.pump();
    assert_eq!(pair.ready(), [true, true]);

    let mut pair = Pair::new(V12, Resumed, u64::MAX);
    pair.exchange(&[0, 1, 0]);
    assert_eq!(pair.ready(), [true, false]);
    pair.pump();
    assert_eq!(pair.ready(), [true, true]);
}

/// RFC 8446 section 5: records of 2^14 bytes at most, each with a header of 5, a type and a tag of 16; RFC 5288: a nonce of
/// 8 instead of the type. A close is an alert of two bytes.
#[test]
fn records_cost_their_headers() {
    for (version, overhead) in [(V13, 22), (V12, 29)] {
        let mut pair = Pair::new(version, Resumed, u64::MAX);
        for _ in 0..3 {
            pair.exchange(&[0, 1]);
        }
        assert_eq!(pair.over(0).write(1_000_000), 1_000_000);
        assert_eq!(pair.says(0), 1_000_000 + 62 * overhead, "62 records");
        assert_eq!(pair.over(1).read(), Some(0..1_000_000));
        pair.over(0).close();
        assert_eq!(pair.says(0), 2 + overhead);
        pair.pump();
        assert!(pair.over(1).peer_closed());
    }
}

/// RFC 6347: records have headers of 13 bytes, handshake messages of 12, each of which has a record of its own before
/// encryption; RFC 9147: encrypted records have headers of 5, and there is no EndOfEarlyData. Each record is a message.
#[test]
fn datagrams_cost_more() {
    let mut pair = Pair::of(V12, Full, Some(1_000), u64::MAX);
    let mut stream = Pair::new(V12, Full, u64::MAX);
    let costs = [1, 4, 1, 1].map(|messages| messages * 16).into_iter().zip([0, 0, 8 + 8 + 8, 8 + 8 + 8]);
    for (side, (messages, change_and_finished)) in [0, 1, 0, 1].into_iter().zip(costs) {
        assert_eq!(pair.says(side), stream.says(side) + messages + change_and_finished);
    }
    pair.pump();
    assert_eq!(pair.ready(), [true, true]);
    assert_eq!(pair.over(0).write(2_500), 2_500);
    assert_eq!(pair.says(0), 2_500 + 3 * (13 + 8 + 16), "three records");
    pair.pump();
    assert_eq!(pair.over(1).read(), Some(0..2_500));

    let mut pair = Pair::of(V13, Early, Some(1_000), u64::MAX);
    assert_eq!(pair.says(0), 517 + 16);
    assert_eq!(pair.over(0).write(6), 6);
    assert_eq!(pair.says(0), 6 + 5 + 1 + 16);
    assert_eq!([pair.says(1), pair.says(0)], [203 + 16 + 16, 58 + 8]);
}

/// A record is decrypted once it has arrived completely.
#[test]
fn half_a_record_is_nothing() {
    let mut pair = Pair::new(V13, Resumed, u64::MAX);
    for _ in 0..3 {
        pair.exchange(&[0, 1]);
    }
    pair.over(0).write(20_000);
    pair.carry(0, 16_384 + 21);
    assert_eq!(pair.over(1).read(), None);
    pair.carry(0, 1);
    assert_eq!(pair.over(1).read(), Some(0..16_384));
    pair.carry(0, 20_000 - 16_384 + 22);
    assert_eq!(pair.over(1).read(), Some(16_384..20_000));
}

/// Discarding removes whole records; a partially sent record is completed.
#[test]
fn unsent_records_are_discarded() {
    let mut pair = Pair::new(V13, Resumed, u64::MAX);
    for _ in 0..3 {
        pair.exchange(&[0, 1]);
    }
    pair.over(0).write(u64::MAX >> 8);
    pair.carry(0, 3 * (16_384 + 22) + 5);
    assert_eq!(pair.over(0).discard_unsent(), 4 * 16_384);
    pair.says(0);
    assert_eq!(pair.over(1).read(), Some(0..4 * 16_384));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 2, failure_persistence: None, ..ProptestConfig::default() })]

    /// However little the wire accepts and carries at a time, and however little is read, every byte arrives once and
    /// in order in both directions, and both ends see the close.
    #[test]
    fn data_passes_through(
        kind in prop::sample::select(&[(V12, Full), (V12, Resumed), (V13, Full), (V13, Resumed), (V13, Early)][..]),
        // Much data in pieces not too small for the steps available, or little in pieces of any size.
        (most, least) in prop::sample::select(&[(100_000u64, 500u64), (300, 1)][..]),
        datagram in prop::option::of(300u64..20_000), room in 1u64..40_000, sizes in prop::array::uniform2(0u64..100_000),
        steps in prop::collection::vec((0u64..20_000, 1u64..30_000, 1u64..30_000), 1..30),
    ) {
        let mut pair = Pair::of(kind.0, kind.1, datagram, room.max(least));
        let sizes = sizes.map(|size| size % most);
        let (mut written, mut read, mut closed) = ([0, 0], [0, 0], [false, false]);
        for (piece, reads, carries) in steps.iter().map(|s| (s.0.max(least), s.1, s.2.max(least))).cycle().take(40_000) {
            for side in 0..2 {
                pair.pump();
                let mut stream = pair.over(side);
                while let Some(range) = stream.read_at_most(reads) {
                    prop_assert_eq!(range.start, read[1 - side]);
                    prop_assert!(range.end - range.start <= reads);
                    read[1 - side] = range.end;
                }
                if stream.is_connected() && !closed[side] {
                    written[side] += stream.write((piece + 1).min(sizes[side] - written[side]));
                    if written[side] == sizes[side] {
                        stream.close();
                        closed[side] = true;
                    }
                }
                drop(stream);
                pair.carry(side, carries);
            }
            if pair.over(0).peer_closed() && pair.over(1).peer_closed() {
                break;
            }
        }
        prop_assert_eq!((written, read), (sizes, sizes));
        prop_assert!(pair.over(0).peer_closed() && pair.over(1).peer_closed());
    }
}
