//! Habits of an association's peer, drawn from a seed.

use crate::pick;
use vazao_engine::{Duration, RandomStream};

/// Event that a peer sends once, in or out of season, after so many packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    /// The window that is offered is so large from now on.
    Window(u32),
    /// No window is offered for so long.
    Closed(Duration),
    /// The peer hears nothing for so long.
    Silence(Duration),
    /// Loss of data that gap reports had acknowledged (RFC 9260 section 6.2).
    Renege,
    /// A SACK of long ago, or of what was never sent.
    Wild { ahead: bool },
    /// The peer's application closes.
    Shutdown,
    /// An ABORT with this tag and, perhaps, a cause.
    Abort(Tag, bool),
    /// A chunk that nobody knows, and whether a HEARTBEAT follows it in its packet.
    Unknown { kind: u8, followed: bool },
    /// An ERROR with a cause that nobody knows.
    Error,
    /// A HEARTBEAT with so many bytes, or one with a wrong tag.
    Heartbeat { bytes: u16, tag: Tag },
    /// An INIT: the peer's first one again, or that of a peer that has restarted.
    Init { again: bool },
    /// A chunk without value, where it may not be expected.
    Stray(u8),
    /// An INIT ACK or a COOKIE ECHO that nothing asks for.
    StrayInitAck,
    /// See `StrayInitAck`.
    StrayCookie,
    /// A DATA chunk on a stream that is not there, without payload, or far ahead.
    Data(Odd),
    /// A chunk longer than its packet, or than it may be short, behind a HEARTBEAT.
    Malformed { long: bool },
}

/// A verification tag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tag {
    /// The stack's.
    Right,
    /// The peer's own, with bit T.
    Reflected,
    /// Nobody's.
    Wrong,
}

/// Oddity of a DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Odd {
    Stream,
    Empty,
    Ahead,
}

/// Offers of an INIT or INIT ACK.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub window: u32,
    pub streams: (u16, u16),
    /// Parameters that nobody knows, by type.
    pub unknown: Vec<u16>,
    pub ecn: bool,
    pub partial: bool,
    pub extensions: bool,
    /// Whether its address is listed.
    pub lists: bool,
    pub host_name: bool,
    /// Bytes of its cookie.
    pub cookie: u16,
    pub has_tag: bool,
}

/// Habits of a peer.
#[derive(Clone, Debug)]
pub struct Habits {
    pub(super) offer: Offer,
    /// Window that it offers in the association.
    pub(super) window: u32,
    /// Time from a packet's arrival to that of its answer at the stack, and its variation.
    pub(super) rtt: Duration,
    pub(super) jitter: Duration,
    /// Probabilities that what arrives is lost, and that an answer goes twice.
    pub(super) loss: f64,
    pub(super) repeats: f64,
    /// Every so many packets are acknowledged.
    pub(super) every: u32,
    pub(super) events: Vec<(u32, Event)>,
    /// Bytes that it sends itself, cut, ordered, lost and repeated at random.
    pub(super) sends: u64,
    /// Messages that it sends may have several fragments, streams, and no order.
    pub(super) mixes: bool,
    /// Number of COOKIE ECHOs that are answered with a Stale Cookie.
    pub(super) stale: u32,
    /// Whether its data goes with its COOKIE ACK, or COOKIE ECHO, and comes before the answer to that.
    pub(super) eager: bool,
    /// Time for which an opening peer keeps the cookie, and whether it spoils it.
    pub(super) keeps: Duration,
    pub(super) spoils: bool,
}

fn event(draws: &mut RandomStream) -> Event {
    let ms = Duration::from_millis;
    let tag = |draws: &mut RandomStream| pick(draws, &[Tag::Right, Tag::Right, Tag::Reflected, Tag::Wrong]);
    match draws.below(20) {
        0 => Event::Window(pick(draws, &[0, 500, 1_500, 5_000, 20_000])),
        1 | 2 => Event::Closed(ms(pick(draws, &[50, 400, 1_500]))),
        3 => Event::Silence(ms(pick(draws, &[100, 700, 2_500]))),
        4 => Event::Renege,
        5 => Event::Wild { ahead: draws.below(2) == 0 },
        6 | 7 => Event::Shutdown,
        8 => Event::Abort(tag(draws), draws.below(2) == 0),
        9 | 10 => Event::Unknown { kind: pick(draws, &[0x3a, 0x7a, 0xba, 0xfa]), followed: draws.below(2) == 0 },
        11 => Event::Error,
        12 => Event::Heartbeat { bytes: pick(draws, &[4, 12, 44, 300]), tag: tag(draws) },
        13 | 14 => Event::Init { again: draws.below(2) == 0 },
        // SHUTDOWN ACK, COOKIE ACK, SHUTDOWN COMPLETE, HEARTBEAT ACK.
        15 => Event::Stray(pick(draws, &[8, 11, 14, 5])),
        16 => pick(draws, &[Event::StrayInitAck, Event::StrayCookie]),
        17 | 18 => Event::Data(pick(draws, &[Odd::Stream, Odd::Empty, Odd::Ahead])),
        _ => Event::Malformed { long: draws.below(2) == 0 },
    }
}

impl Habits {
    /// Draws the habits of a peer, which sends data or else receives, and opens or is opened to.
    pub fn draw(draws: &mut RandomStream, sends: bool) -> Habits {
        let rtt = Duration::from_millis(pick(draws, &[1, 7, 23, 60, 150]));
        let window = pick(draws, &[1_500, 4_000, 10_000, 65_535, 65_535, 1_000_000]);
        let odd = draws.below(20);
        let offer = Offer {
            window: if odd == 0 { 1_000 } else { window },
            streams: if odd == 1 { (0, 1) } else { pick(draws, &[(1, 1), (10, 10), (65_535, 65_535)]) },
            unknown: (0..pick(draws, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 2]))
                .map(|_| pick(draws, &[0x3abc, 0x7abc, 0xbabc, 0xfabc]))
                .collect(),
            ecn: draws.below(2) == 0,
            partial: draws.below(2) == 0,
            extensions: draws.below(4) == 0,
            lists: draws.below(3) == 0,
            host_name: odd == 2,
            cookie: if odd == 3 { 0 } else { pick(draws, &[4, 33, 228]) },
            has_tag: odd != 4,
        };
        let events = (0..pick(draws, &[0, 1, 1, 1, 2])).map(|_| {
            let event = event(draws);
            (1 + draws.below(16) as u32, event)
        });
        let events = events.collect();
        Habits {
            offer,
            window,
            rtt,
            jitter: rtt * pick(draws, &[0, 0, 1, 10]) / 10,
            loss: pick(draws, &[0.0, 0.0, 0.02, 0.1, 0.3]),
            repeats: pick(draws, &[0.0, 0.0, 0.05]),
            every: pick(draws, &[1, 2, 2, 3]),
            events,
            sends: if sends { pick(draws, &[1, 3_000, 20_000, 60_000]) } else { 0 },
            mixes: draws.below(3) == 0,
            stale: pick(draws, &[0, 0, 0, 0, 0, 1, 2]),
            eager: draws.below(6) == 0,
            keeps: Duration::from_millis(pick(draws, &[0, 0, 0, 0, 2_500])),
            spoils: draws.below(30) == 0,
        }
    }
}
