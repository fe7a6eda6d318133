//! The TCP header (RFC 9293, section 3.1) and the options of RFC 7323, RFC 2018, RFC 7413 and RFC 8684.
//!
//! Options are laid out as Linux lays them: MSS, SACK-permitted with timestamps, window scale, SACK blocks, each padded
//! in front with NOPs, so that every field is aligned and the whole is a multiple of four bytes; then those of MPTCP.

mod strip;
mod template;

pub use strip::{alter, strip};
pub use template::{Fields, Template};

use crate::checksum::Checksum;
use crate::mptcp::{self, MptcpOption, NoRoom};
use crate::{DecodeError, be16, be32, content, require};
use std::fmt;
use std::ops::{BitOr, BitOrAssign, Range};

/// TCP's protocol number in an IP header.
pub const PROTOCOL: u8 = 6;

/// The length of the header without options, in bytes.
pub const MIN_HEADER_LENGTH: usize = 20;

/// The most bytes that options can have: the data offset counts up to 15 words.
pub const MAX_OPTIONS_LENGTH: usize = 40;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
/// The option kind of window scales.
pub const WINDOW_SCALE: u8 = 3;
/// Kind of SACK-permitted.
pub const SACK_PERMITTED: u8 = 4;
/// Kind of SACK blocks.
pub const SACK: u8 = 5;
/// Kind of timestamps.
pub const TIMESTAMPS: u8 = 8;
/// Kind of Fast Open.
pub const FAST_OPEN: u8 = 34;

/// A set of control bits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronises sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Resets the connection.
    pub const RST: Flags = Flags(0x04);
    /// Hand the data to the application now.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field counts.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent pointer counts.
    pub const URG: Flags = Flags(0x20);
    /// Echo of congestion experienced (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);

    /// Returns whether all of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let set: Vec<&str> = (0..8).filter(|bit| self.0 >> bit & 1 == 1).map(|bit| names[bit]).collect();
        write!(f, "[{}]", set.join(" "))
    }
}

/// One block of received data (RFC 2018, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// The first sequence number of the block.
    pub left: u32,
    /// The sequence number after the last of the block.
    pub right: u32,
}

/// The blocks of a SACK option, at most four, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; SackBlocks::CAPACITY],
    length: u8,
}

impl SackBlocks {
    /// The most blocks that fit into a header with no other option.
    pub const CAPACITY: usize = 4;
    /// No blocks.
    pub const NONE: SackBlocks = SackBlocks { blocks: [SackBlock { left: 0, right: 0 }; 4], length: 0 };

    /// Adds a block behind the others; `false` if there are four already.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let free = self.blocks.get_mut(usize::from(self.length));
        let fits = free.is_some();
        if let Some(free) = free {
            *free = block;
            self.length += 1;
        }
        fits
    }

    /// Returns the blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.length)]
    }

    /// Returns the number of blocks.
    pub const fn len(&self) -> usize {
        self.length as usize
    }

    /// Returns whether there are no blocks.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// The first four blocks are taken.
impl FromIterator<SackBlock> for SackBlocks {
    fn from_iter<I: IntoIterator<Item = SackBlock>>(blocks: I) -> SackBlocks {
        let mut taken = SackBlocks::NONE;
        blocks.into_iter().take(SackBlocks::CAPACITY).for_each(|block| _ = taken.push(block));
        taken
    }
}

/// The Fast Open option of a SYN (RFC 7413, section 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastOpen {
    /// No cookie: the client asks for one.
    Request,
    /// The client has this cookie, or the server grants it.
    Cookie(Cookie),
}

/// A cookie of Fast Open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    bytes: [u8; 16],
    length: u8,
}

impl Cookie {
    /// Creates a cookie of 4 to 16 bytes, an even number of them; others are none (RFC 7413, section 4.1.1).
    pub fn new(cookie: &[u8]) -> Option<Cookie> {
        let valid = cookie.len() >= 4 && cookie.len().is_multiple_of(2);
        let mut bytes = [0; 16];
        bytes.get_mut(..cookie.len()).filter(|_| valid)?.copy_from_slice(cookie);
        Some(Cookie { bytes, length: cookie.len() as u8 })
    }

    /// Returns its bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// The options of a segment. Those of other kinds are skipped when read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The largest segment that the sender of this SYN accepts, in bytes (RFC 9293, section 3.7.1).
    pub mss: Option<u16>,
    /// Window shift of this SYN's sender in bits (RFC 7323, section 2). Kept as received, even
    /// above the 14 that RFC 7323 lets a receiver use.
    pub window_scale: Option<u8>,
    /// Whether the sender of this SYN understands SACK (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// TSval and TSecr (RFC 7323, section 3).
    pub timestamps: Option<(u32, u32)>,
    /// Fast Open.
    pub fast_open: Option<FastOpen>,
    /// Received blocks. Only the first [`max_sack_blocks`](Options::max_sack_blocks) are written.
    pub sack: SackBlocks,
    /// Options of Multipath TCP, which displace SACK blocks. [`push_mptcp`](Options::push_mptcp) adds them; where
    /// others that were set afterwards leave them no room, they are not written.
    pub mptcp: mptcp::Options,
}

impl Options {
    /// Adds an option of Multipath TCP behind those that are there. Call after all others but SACK blocks were set.
    ///
    /// # Errors
    /// [`NoRoom`] if these leave it no room; then nothing changes.
    pub fn push_mptcp(&mut self, option: &MptcpOption) -> Result<(), NoRoom> {
        self.mptcp.push_into(option, MAX_OPTIONS_LENGTH - self.plain_length())
    }

    /// Bytes of everything but SACK blocks.
    const fn fixed_length(&self) -> usize {
        self.plain_length() + self.mptcp_length()
    }

    /// Bytes of MPTCP's options that are written: all or none.
    const fn mptcp_length(&self) -> usize {
        let length = self.mptcp.length();
        if length == 0 {
            return 0;
        }
        if self.plain_length() + length <= MAX_OPTIONS_LENGTH { length } else { 0 }
    }

    /// Bytes of what has a field of its own, but for SACK blocks: at most 40.
    const fn plain_length(&self) -> usize {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let window_scale = if self.window_scale.is_some() { 4 } else { 0 };
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        // With timestamps, SACK-permitted takes the place of their two NOPs.
        let sack_permitted = if self.sack_permitted && timestamps == 0 { 4 } else { 0 };
        let fast_open = match self.fast_open {
            None => 0,
            Some(FastOpen::Request) => 4,
            Some(FastOpen::Cookie(cookie)) => (2 + cookie.length as usize).next_multiple_of(4),
        };
        mss + window_scale + timestamps + sack_permitted + fast_open
    }

    /// Returns the number of SACK blocks that fit beside the other options: 3 beside timestamps, 4 alone.
    pub const fn max_sack_blocks(&self) -> usize {
        (MAX_OPTIONS_LENGTH - self.fixed_length()).saturating_sub(4) / 8
    }

    /// Returns the number of written SACK blocks.
    const fn written_sack_blocks(&self) -> usize {
        if self.sack.is_empty() {
            return 0;
        }
        let (length, most) = (self.sack.len(), self.max_sack_blocks());
        if length < most { length } else { most }
    }

    /// Bytes that these options take in a header, padding included: a multiple of 4, at most 40.
    pub const fn length(&self) -> usize {
        let blocks = self.written_sack_blocks();
        self.fixed_length() + if blocks > 0 { 4 + 8 * blocks } else { 0 }
    }
}

/// A TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The sequence number of the first byte of the payload, or of the SYN.
    pub sequence: u32,
    /// The next sequence number that the sender expects, if ACK is set.
    pub acknowledgment: u32,
    /// Control bits.
    pub flags: Flags,
    /// The window in units of the scale agreed upon, that is, as on the wire.
    pub window: u16,
    /// The urgent pointer.
    pub urgent: u16,
    /// Options.
    pub options: Options,
}

/// Bytes of a header with these options.
pub const fn header_length(options: &Options) -> usize {
    MIN_HEADER_LENGTH + options.length()
}

/// Appends the segment: `header`, then `payload`, with the checksum over both and the
/// [pseudo-header](crate::ipv4::Header::pseudo_header).
pub fn encode(header: &Header, payload: &[u8], pseudo_header: Checksum, out: &mut Vec<u8>) {
    let fill = |place: &mut [u8], _| {
        place.copy_from_slice(payload);
        Checksum::default().update(payload)
    };
    encode_with(header, payload.len(), usize::MAX, fill, pseudo_header, out);
}

/// Appends the segment with the `length` bytes of [`content`] from `offset` on, as much of it as the first `keep` bytes of the
/// segment hold. The checksum of a segment cut so is the sum of the pseudo-header alone, as in captures of Linux where the
/// interface is to add the rest. Returns the whole segment's length.
pub fn encode_content(
    header: &Header,
    (offset, length): (u64, usize),
    keep: usize,
    pseudo_header: Checksum,
    out: &mut Vec<u8>,
) -> usize {
    let fill = |place: &mut [u8], summed: bool| match summed {
        true => Checksum::default().add_little_endian(content::fill_summed(offset, place), length),
        false => {
            content::fill(offset, place);
            Checksum::default()
        }
    };
    encode_with(header, length, keep, fill, pseudo_header, out)
}

/// Appends the segment with a payload that `fill` makes in place and, if it is asked to, sums.
fn encode_with(
    header: &Header,
    length: usize,
    keep: usize,
    fill: impl FnOnce(&mut [u8], bool) -> Checksum,
    pseudo_header: Checksum,
    out: &mut Vec<u8>,
) -> usize {
    let start = out.len();
    let mut fixed = [0; MIN_HEADER_LENGTH];
    fixed[0..2].copy_from_slice(&header.source_port.to_be_bytes());
    fixed[2..4].copy_from_slice(&header.destination_port.to_be_bytes());
    fixed[4..8].copy_from_slice(&header.sequence.to_be_bytes());
    fixed[8..12].copy_from_slice(&header.acknowledgment.to_be_bytes());
    fixed[13] = header.flags.0;
    fixed[14..16].copy_from_slice(&header.window.to_be_bytes());
    fixed[18..20].copy_from_slice(&header.urgent.to_be_bytes());
    out.extend_from_slice(&fixed);
    encode_options(&header.options, out);
    let head = out.len() - start;
    out[start + 12] = (head as u8 / 4) << 4;
    let kept = length.min(keep.saturating_sub(head));
    let with_length = pseudo_header.add_words((head + length) as u64);
    out.resize(start + head + kept, 0);
    let payload = fill(&mut out[start + head..], kept == length);
    let sum = if kept == length {
        with_length.update(&out[start..start + head]).followed_by(payload).finish()
    } else {
        !with_length.finish()
    };
    out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
    head + length
}

/// Reads the segment that `segment` is, from its first to its last byte: its header and where its payload lies.
///
/// Options of unknown kind or wrong size are skipped; what follows an option whose length cannot be is not read.
/// Linux does the same.
///
/// # Errors
/// [`Truncated`](DecodeError::Truncated), [`BadLength`](DecodeError::BadLength) or
/// [`BadChecksum`](DecodeError::BadChecksum).
pub fn decode(segment: &[u8], pseudo_header: Checksum) -> Result<(Header, Range<usize>), DecodeError> {
    require(segment, MIN_HEADER_LENGTH)?;
    let header_length = usize::from(segment[12] >> 4) * 4;
    if header_length < MIN_HEADER_LENGTH {
        return Err(DecodeError::BadLength(header_length));
    }
    require(segment, header_length)?;
    if checksum(segment, pseudo_header) != 0 {
        return Err(DecodeError::BadChecksum);
    }
    let header = Header {
        source_port: be16(segment, 0),
        destination_port: be16(segment, 2),
        sequence: be32(segment, 4),
        acknowledgment: be32(segment, 8),
        flags: Flags(segment[13]),
        window: be16(segment, 14),
        urgent: be16(segment, 18),
        options: decode_options(&segment[MIN_HEADER_LENGTH..header_length]),
    };
    Ok((header, header_length..segment.len()))
}

fn checksum(segment: &[u8], pseudo_header: Checksum) -> u16 {
    pseudo_header.update(&(segment.len() as u32).to_be_bytes()).update(segment).finish()
}

fn encode_options(options: &Options, out: &mut Vec<u8>) {
    if let Some(mss) = options.mss {
        out.extend([MSS, 4]);
        out.extend(mss.to_be_bytes());
    }
    if let Some((value, echo)) = options.timestamps {
        out.extend(if options.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] });
        out.extend([TIMESTAMPS, 10]);
        out.extend(value.to_be_bytes());
        out.extend(echo.to_be_bytes());
    } else if options.sack_permitted {
        out.extend([NOP, NOP, SACK_PERMITTED, 2]);
    }
    if let Some(shift) = options.window_scale {
        out.extend([NOP, WINDOW_SCALE, 3, shift]);
    }
    match options.fast_open {
        None => {}
        Some(FastOpen::Request) => out.extend([FAST_OPEN, 2, NOP, NOP]),
        Some(FastOpen::Cookie(cookie)) => {
            let length = 2 + cookie.as_slice().len();
            out.extend([FAST_OPEN, length as u8]);
            out.extend(cookie.as_slice());
            out.extend(std::iter::repeat_n(NOP, length.next_multiple_of(4) - length));
        }
    }
    let blocks = &options.sack.as_slice()[..options.written_sack_blocks()];
    if !blocks.is_empty() {
        out.extend([NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
    }
    for block in blocks {
        out.extend(block.left.to_be_bytes());
        out.extend(block.right.to_be_bytes());
    }
    if options.mptcp_length() > 0 {
        for option in options.mptcp.raw() {
            out.extend(option);
            out.extend(std::iter::repeat_n(NOP, option.len().next_multiple_of(4) - option.len()));
        }
    }
}

/// Reads the options behind a header of 20 bytes, as far as they are there.
pub fn decode_options(mut rest: &[u8]) -> Options {
    let mut options = Options::default();
    loop {
        rest = match rest {
            [NOP, tail @ ..] => tail,
            [] | [END, ..] | [_] => return options,
            [kind, length, tail @ ..] => {
                let body = usize::from(*length).checked_sub(2);
                let Some((body, tail)) = body.and_then(|length| tail.split_at_checked(length)) else {
                    return options;
                };
                decode_option(*kind, body, &mut options);
                tail
            }
        }
    }
}

fn decode_option(kind: u8, body: &[u8], options: &mut Options) {
    match (kind, body.len()) {
        (MSS, 2) => options.mss = Some(be16(body, 0)),
        (WINDOW_SCALE, 1) => options.window_scale = Some(body[0]),
        (SACK_PERMITTED, 0) => options.sack_permitted = true,
        (TIMESTAMPS, 8) => options.timestamps = Some((be32(body, 0), be32(body, 4))),
        (FAST_OPEN, 0) => options.fast_open = Some(FastOpen::Request),
        (FAST_OPEN, _) => options.fast_open = Cookie::new(body).map(FastOpen::Cookie).or(options.fast_open),
        (SACK, 8 | 16 | 24 | 32) => {
            options.sack = body.chunks(8).map(|b| SackBlock { left: be32(b, 0), right: be32(b, 4) }).collect();
        }
        (mptcp::KIND, _) => options.mptcp.keep_body(body),
        _ => {}
    }
}
