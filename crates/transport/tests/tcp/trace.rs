//! One endpoint driven by a script: segments received and sent, written as a protocol trace.
//!
//! Segments are lines in the manner of `tcpdump` and packetdrill, sequence numbers relative to each side's SYN:
//! `SYN 0:1`, `1:1001 ack 1`, `ack 5 win 1000 sack 7:9 11:13`, `FIN 9:10 ack 1`, `RST 1:1`. A segment with options that
//! SYNs carry is written `SYN 0:1 mss 1000 wscale 7 sackok`. Timestamps are `ts 5 3` (value and echo).

use crate::config::{control, plain};
use std::sync::Arc;
use vazao_engine::{Duration, Ecn, Time};
use vazao_transport::ByteStream;
use vazao_transport::tcp::{
    Config, Connection, Cookie, CookieOption, Cookies, Extra, Flags, Metrics, Recovery, Segment, State, SynOptions,
};

/// Segment size in these traces, a round number so that octets can be read as segments.
pub const MSS: u16 = 1000;
/// Initial sequence numbers near the wrap, so that every trace crosses it.
pub const ISS: u32 = u32::MAX - 1500;
pub const IRS: u32 = u32::MAX - 2500;

pub struct Trace {
    pub tcp: Connection,
    pub now: Time,
}

impl Trace {
    pub fn client(config: Config) -> Trace {
        Trace { tcp: Connection::connect(Arc::new(config), ISS), now: Time::ZERO }
    }

    /// Enables Fast Open; the client's cookie is in `cookies`.
    pub fn with_fast_open(self, cookies: &Arc<Cookies>) -> Trace {
        Trace { tcp: self.tcp.with_fast_open(cookies.clone()), now: self.now }
    }

    pub fn server(config: Config) -> Trace {
        Trace { tcp: Connection::listen(Arc::new(config), ISS), now: Time::ZERO }
    }

    /// Client after a handshake of 100 ms, with a peer that offers every option and `window` bytes (unscaled).
    pub fn established_with(config: Config, window: u16) -> Trace {
        Trace::client(config).connected(window)
    }

    /// Client after such a handshake, with what its host remembers of path `number`.
    pub fn remembering(config: Config, metrics: &Arc<Metrics>, number: u16) -> Trace {
        let tcp = Connection::connect(Arc::new(config), ISS).with_metrics(Some(metrics.clone()), number);
        Trace { tcp, now: Time::ZERO }.connected(60_000)
    }

    fn connected(mut self, window: u16) -> Trace {
        self.sent();
        self.wait(100);
        self.receive(&format!("SYN 0:1 ack 1 win {window} mss {MSS} sackok wscale 0"));
        assert_eq!(self.sent(), ["1:1 ack 1"]);
        assert_eq!(self.tcp.state(), State::Established);
        self
    }

    pub fn established(config: Config) -> Trace {
        Trace::established_with(config, 60_000)
    }

    /// Sender in congestion avoidance with a congestion window of `window` segments.
    pub fn sender(recovery: Recovery, window: u64) -> Trace {
        let sack = recovery.is_selective();
        Trace::established(Config { recovery, sack, control: control("reno", window, Some(window)), ..plain() })
    }

    /// Lets `ms` milliseconds pass, including timers that expire.
    pub fn wait(&mut self, ms: u64) -> Vec<String> {
        let end = self.now + Duration::from_millis(ms);
        let mut sent = Vec::new();
        while self.tcp.next_timeout() <= end {
            self.now = self.tcp.next_timeout();
            self.tcp.handle_timeout(self.now);
            sent.extend(self.sent());
        }
        self.now = end;
        sent
    }

    /// Lines of the segments that the endpoint sends now.
    pub fn sent(&mut self) -> Vec<String> {
        let mut extra = Extra::default();
        std::iter::from_fn(|| self.tcp.poll_transmit(self.now, &mut extra).map(|s| show(&s, &extra))).collect()
    }

    /// Segments that the endpoint sends now.
    pub fn segments(&mut self) -> Vec<Segment> {
        std::iter::from_fn(|| self.tcp.poll_transmit(self.now, &mut Extra::default())).collect()
    }

    /// Delivers a segment without polling for an answer.
    pub fn receive(&mut self, line: &str) {
        let (segment, extra) = parse(line);
        self.tcp.handle(self.now, &segment, extra.as_ref());
    }

    /// Delivers a segment; returns the answer.
    pub fn gets(&mut self, line: &str) -> Vec<String> {
        self.receive(line);
        self.sent()
    }

    /// Writes; returns what is sent.
    pub fn writes(&mut self, bytes: u64) -> Vec<String> {
        assert_eq!(self.tcp.write(bytes), bytes);
        self.sent()
    }

    /// Closes; returns what is sent.
    pub fn closes(&mut self) -> Vec<String> {
        self.tcp.close();
        self.sent()
    }

    /// Window of the next acknowledgement, provoked by an out-of-window segment.
    pub fn offered(&mut self) -> u16 {
        self.receive("0:0 ack 1");
        let segment = self.tcp.poll_transmit(self.now, &mut Extra::default()).expect("an answer");
        assert!(self.sent().is_empty());
        segment.window
    }
}

/// Segments by number, for sequences of acknowledgements: segment `n` starts at octet `1 + (n - 1) MSS`.
impl Trace {
    /// Writes `count` segments and returns the numbers of those sent at once.
    pub fn writes_segments(&mut self, count: u64) -> Vec<u64> {
        numbers(&self.writes(count * u64::from(MSS)))
    }

    /// Acknowledges everything before segment `next` and SACKs ranges of segments (first, last); returns what is sent.
    pub fn acks(&mut self, next: u64, sacked: &[(u64, u64)]) -> Vec<u64> {
        let octet = |n: u64| 1 + (n - 1) * u64::from(MSS);
        let mut line = format!("1:1 ack {}", octet(next));
        if !sacked.is_empty() {
            line += " sack";
            for &(first, last) in sacked {
                line += &format!(" {}:{}", octet(first), octet(last + 1));
            }
        }
        numbers(&self.gets(&line))
    }

    /// Expires the retransmission timer; returns what is sent.
    pub fn times_out(&mut self) -> Vec<u64> {
        self.now = self.tcp.next_timeout();
        self.tcp.handle_timeout(self.now);
        numbers(&self.sent())
    }

    pub fn cwnd(&self) -> u64 {
        self.tcp.control().cwnd() / u64::from(MSS)
    }
    pub fn ssthresh(&self) -> u64 {
        self.tcp.control().ssthresh() / u64::from(MSS)
    }
}

/// Segment numbers of these lines.
pub fn numbers(lines: &[String]) -> Vec<u64> {
    let number = |line: &String| {
        let (start, end) = line.split(' ').next()?.split_once(':')?;
        let (start, end): (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
        assert_eq!(end - start, u64::from(MSS), "a full segment: {line}");
        Some((start - 1) / u64::from(MSS) + 1)
    };
    lines.iter().map(|line| number(line).unwrap_or_else(|| panic!("a data segment: {line}"))).collect()
}

/// Line for a segment of the endpoint.
fn show(segment: &Segment, extra: &Extra) -> String {
    let flags = segment.flags;
    let names = [(Flags::SYN, "SYN "), (Flags::FIN, "FIN "), (Flags::RST, "RST ")];
    let echoes = [(Flags::ECE, "ECE "), (Flags::CWR, "CWR ")];
    let mut line: String =
        names.iter().chain(&echoes).filter(|(flag, _)| flags.has(*flag)).map(|(_, name)| *name).collect();
    // A reset that answers a segment without connection has the peer's numbers, so any are possible.
    let start = segment.sequence.wrapping_sub(ISS);
    line += &format!("{start}:{}", u64::from(start) + segment.span());
    if flags.has(Flags::ACK) {
        line += &format!(" ack {}", segment.acknowledgment.wrapping_sub(IRS));
    }
    if segment.has_extra && !extra.sack.as_slice().is_empty() {
        line += " sack";
        for (left, right) in extra.sack.as_slice() {
            line += &format!(" {}:{}", left.wrapping_sub(IRS), right.wrapping_sub(IRS));
        }
    }
    match extra.syn.filter(|_| segment.has_extra).and_then(|syn| syn.fast_open) {
        None => {}
        Some(CookieOption::Request) => line += " cookie 0",
        Some(CookieOption::Cookie(cookie)) => line += &format!(" cookie {}", number_of(cookie)),
    }
    if segment.ecn == Ecn::Ect0 {
        line += " ect";
    }
    if segment.has_timestamps {
        line += &format!(" ts {} {}", segment.timestamp, segment.echo);
    }
    line
}

/// Cookie as a number, of 8 bytes unless followed by the length: `9/4`.
fn number_of(cookie: Cookie) -> String {
    let bytes = cookie.as_slice();
    let number = bytes.iter().fold(0_u128, |number, &byte| number << 8 | u128::from(byte));
    if bytes.len() == 8 { number.to_string() } else { format!("{number}/{}", bytes.len()) }
}

fn of(cookie: &str) -> Cookie {
    let (number, length) = cookie.split_once('/').unwrap_or((cookie, "8"));
    let (number, length): (u128, usize) = (number.parse().expect("a number"), length.parse().expect("a length"));
    Cookie::new(&number.to_be_bytes()[16 - length..]).expect("a cookie of RFC 7413")
}

/// Flag that a word alone stands for.
fn flag(word: &str) -> Option<Flags> {
    Some(match word {
        "SYN" => Flags::SYN,
        "FIN" => Flags::FIN,
        "RST" => Flags::RST,
        "ECE" => Flags::ECE,
        "CWR" => Flags::CWR,
        "PSH" => Flags::PSH,
        _ => return None,
    })
}

/// Segment for the endpoint from a line. The window is 60 000 unless given.
fn parse(line: &str) -> (Segment, Option<Extra>) {
    let mut segment = Segment { window: 60_000, ..Segment::default() };
    let (mut extra, mut syn) =
        (Extra::default(), SynOptions { mss: 536, window_scale: None, sack_permitted: false, fast_open: None });
    let (mut has_options, mut in_sack) = (false, false);
    let mut words = line.split(' ').peekable();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|w| w.parse::<u32>().ok()).expect("a number");
        if let Some((a, b)) = word.split_once(':') {
            let (a, b): (u32, u32) = (a.parse().expect("a number"), b.parse().expect("a number"));
            if in_sack {
                extra.sack.push(ISS.wrapping_add(a), ISS.wrapping_add(b));
            } else {
                segment.sequence = IRS.wrapping_add(a);
                let control = segment.flags.has(Flags::SYN) || segment.flags.has(Flags::FIN);
                segment.length = (b - a - u32::from(control)) as u16;
            }
            continue;
        }
        if let Some(flag) = flag(word) {
            segment.flags = segment.flags.with(flag);
            continue;
        }
        match word {
            "ce" => segment.ecn = Ecn::Ce,
            "ack" => {
                segment.acknowledgment = ISS.wrapping_add(number());
                segment.flags = segment.flags.with(Flags::ACK);
            }
            "ts" => {
                (segment.timestamp, segment.echo) = (number(), number());
                segment.has_timestamps = true;
            }
            "sack" => (in_sack, segment.has_extra) = (true, true),
            "win" => segment.window = number() as u16,
            "mss" => {
                syn.mss = number() as u16;
                (has_options, segment.has_extra) = (true, true);
            }
            "wscale" => syn.window_scale = Some(number() as u8),
            "cookie" => {
                let cookie = words.next().expect("a cookie");
                syn.fast_open =
                    Some(if cookie == "0" { CookieOption::Request } else { CookieOption::Cookie(of(cookie)) });
            }
            "sackok" => syn.sack_permitted = true,
            other => panic!("{other:?} in {line:?}"),
        }
    }
    extra.syn = has_options.then_some(syn);
    (segment, segment.has_extra.then_some(extra))
}
