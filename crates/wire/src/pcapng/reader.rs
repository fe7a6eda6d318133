//! Captures read back: our own, and those of tcpdump and Wireshark in either byte order and with any clock.

use super::{
    BYTE_ORDER, COMMENT, Direction, END_OF_OPTIONS, ENHANCED_PACKET, INTERFACE_DESCRIPTION, INTERFACE_NAME,
    INTERFACE_TIME_OFFSET, INTERFACE_TIME_RESOLUTION, LINKTYPE_RAW, PACKET_FLAGS, SECTION_HEADER,
};
use thiserror::Error;

/// A packet without the time at which it was captured (section 4.4).
const SIMPLE_PACKET: u32 = 3;

/// Longest block in bytes: one that claims to be longer is damaged, and nobody waits for its end.
const LONGEST_BLOCK: usize = 64 << 20;

/// The magic numbers of the older format, in either byte order, with times in microseconds or nanoseconds.
const PCAP: [u32; 4] = [0xa1b2_c3d4, 0xd4c3_b2a1, 0xa1b2_3c4d, 0x4d3c_b2a1];

/// Link types and the bytes of their headers in front of an IP packet, from the registry of link types: raw IP, raw IPv4
/// and IPv6, BSD loopback, Ethernet without tags, Linux cooked captures of the first and second version.
const LINK_HEADERS: [(u16, usize); 7] = [(LINKTYPE_RAW, 0), (228, 0), (229, 0), (0, 4), (1, 14), (113, 16), (276, 20)];

/// Reason for which bytes are not a capture. Positions are bytes from the start of the file.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// The older format.
    #[error("this is a pcap file, not pcapng; `editcap -F pcapng OLD NEW` converts it")]
    Pcap,
    /// Another format.
    #[error("this is not a pcapng file: it does not begin with a section header")]
    NotPcapng,
    /// Neither format, where either would do.
    #[error("this is neither a pcap nor a pcapng file")]
    NotCapture,
    /// The file ends inside a block: its writer was stopped, perhaps.
    #[error("the file ends inside the block that begins at byte {0}")]
    Truncated(usize),
    /// A block contradicts itself.
    #[error("the block that begins at byte {0} is damaged")]
    Damaged(usize),
    /// A packet names an interface that was not described before it.
    #[error("the packet at byte {0} is of an interface that the file does not describe")]
    NoInterface(usize),
    /// A packet of the kind that carries no time.
    #[error("the packet at byte {0} has no time")]
    NoTime(usize),
}

/// A packet as a capture has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// The number of its interface in its section.
    pub interface: u32,
    /// The interface's name, empty if it has none.
    pub interface_name: &'a str,
    /// Link type by the registry, which tells how its bytes begin.
    pub link_type: u16,
    /// Time in nanoseconds since 1970, rounded down from a finer clock.
    pub time_ns: u64,
    /// Sent or received, where the capture says so.
    pub direction: Option<Direction>,
    /// The packet from its link header on, as much as was kept.
    pub bytes: &'a [u8],
    /// Length on the wire in bytes.
    pub original_length: u32,
    /// Comment, which may be empty.
    pub comment: &'a str,
}

impl<'a> Captured<'a> {
    /// Returns the packet from its IP header on, if its link type is known. Its first byte says whether it is IP.
    pub fn ip(&self) -> Option<&'a [u8]> {
        let (_, header) = LINK_HEADERS.iter().find(|(link_type, _)| *link_type == self.link_type)?;
        self.bytes.get(*header..)
    }
}

/// The packets of a file in their order; after an error there are none.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    file: &'a [u8],
    /// Start of the next block.
    at: usize,
    section: Section<'a>,
}

/// What the blocks of a section depend on: their byte order, and the interfaces that were described.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section<'a> {
    big_endian: bool,
    interfaces: Vec<Interface<'a>>,
}

/// A block of a file: its type, its body, and the length of the whole.
pub(crate) struct Block<'b> {
    kind: u32,
    body: &'b [u8],
    pub length: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface<'a> {
    name: &'a str,
    link_type: u16,
    /// Negative powers of ten, or of two with the highest bit set.
    resolution: u8,
    offset_s: i64,
}

impl<'a> Reader<'a> {
    /// Reads a whole file that is in memory.
    ///
    /// # Errors
    /// [`ReadError::Pcap`] and [`ReadError::NotPcapng`]; what else may be wrong is said where it is met.
    pub fn new(file: &'a [u8]) -> Result<Reader<'a>, ReadError> {
        let magic = file.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        match magic {
            Some(SECTION_HEADER) => Ok(Reader { file, at: 0, section: Section::default() }),
            Some(magic) if PCAP.contains(&magic) => Err(ReadError::Pcap),
            _ => Err(ReadError::NotPcapng),
        }
    }

    /// Reads blocks up to and including the next packet.
    fn read(&mut self) -> Result<Option<Captured<'a>>, ReadError> {
        while self.at < self.file.len() {
            let at = self.at;
            let block = self.section.block(&self.file[at..], at)?;
            self.at += block.length;
            if let Some(interface) = self.section.described(&block, at)? {
                self.section.interfaces.push(interface);
            } else if let Some(packet) = self.section.packet_of(&block, at)? {
                return Ok(Some(packet));
            }
        }
        Ok(None)
    }
}

impl<'a> Section<'a> {
    /// Returns the block at the beginning of `rest` (section 3.1), which is at byte `at` of its file.
    pub(crate) fn block<'b>(&mut self, rest: &'b [u8], at: usize) -> Result<Block<'b>, ReadError> {
        // A section header's type is the same in either byte order, and what follows its length tells which it is.
        let order = rest.get(..12).ok_or(ReadError::Truncated(at))?;
        if u32::from_le_bytes([order[0], order[1], order[2], order[3]]) == SECTION_HEADER {
            self.big_endian = match u32::from_le_bytes([order[8], order[9], order[10], order[11]]) {
                BYTE_ORDER => false,
                swapped if swapped.swap_bytes() == BYTE_ORDER => true,
                _ => return Err(ReadError::Damaged(at)),
            };
        }
        let number = |at| self.u32(rest, at);
        let (kind, length) = (number(0).unwrap_or_default(), number(4).unwrap_or_default() as usize);
        if !(12..=LONGEST_BLOCK).contains(&length) || length % 4 != 0 {
            return Err(ReadError::Damaged(at));
        }
        let again = number(length - 4).ok_or(ReadError::Truncated(at))?;
        if again as usize != length {
            return Err(ReadError::Damaged(at));
        }
        if kind == SECTION_HEADER {
            self.interfaces.clear();
        }
        Ok(Block { kind, body: &rest[8..length - 4], length })
    }

    /// Returns the interface that a block describes, if it does.
    fn described<'b>(&self, block: &Block<'b>, at: usize) -> Result<Option<Interface<'b>>, ReadError> {
        if block.kind != INTERFACE_DESCRIPTION {
            return Ok(None);
        }
        self.interface(block.body).map(Some).ok_or(ReadError::Damaged(at))
    }

    /// Returns the packet of a block, if it has one.
    fn packet_of<'b>(&self, block: &Block<'b>, at: usize) -> Result<Option<Captured<'b>>, ReadError>
    where
        'a: 'b,
    {
        match block.kind {
            ENHANCED_PACKET => self.packet(block.body, at).map(Some),
            SIMPLE_PACKET => Err(ReadError::NoTime(at)),
            // Names, statistics, secrets, and whatever is added to the format one day.
            _ => Ok(None),
        }
    }

    /// Section 4.2.
    fn interface<'b>(&self, body: &'b [u8]) -> Option<Interface<'b>> {
        let link_type = self.u16(body, 0)?;
        let mut interface = Interface { name: "", link_type, resolution: 6, offset_s: 0 };
        for (code, value) in self.options(body.get(8..)?) {
            match (code, value) {
                (INTERFACE_NAME, name) => interface.name = std::str::from_utf8(name).unwrap_or_default(),
                (INTERFACE_TIME_RESOLUTION, [resolution]) => interface.resolution = *resolution,
                (INTERFACE_TIME_OFFSET, value) => {
                    let bytes = value.try_into().ok()?;
                    interface.offset_s =
                        if self.big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
                }
                _ => {}
            }
        }
        Some(interface)
    }

    /// Section 4.3.
    fn packet<'b>(&self, body: &'b [u8], at: usize) -> Result<Captured<'b>, ReadError>
    where
        'a: 'b,
    {
        let damaged = ReadError::Damaged(at);
        let number = |at| self.u32(body, at).ok_or(damaged);
        let interface = number(0)?;
        let &Interface { name, link_type, resolution, offset_s } =
            self.interfaces.get(interface as usize).ok_or(ReadError::NoInterface(at))?;
        let ticks = u64::from(number(4)?) << 32 | u64::from(number(8)?);
        let (length, original_length) = (number(12)? as usize, number(16)?);
        let bytes = body[20..].get(..length).ok_or(damaged)?;
        let mut packet = Captured {
            interface,
            interface_name: name,
            link_type,
            time_ns: nanoseconds(ticks, resolution, offset_s).ok_or(damaged)?,
            direction: None,
            bytes,
            original_length,
            comment: "",
        };
        let options = body[20..].get(length.next_multiple_of(4)..).unwrap_or_default();
        for (code, value) in self.options(options) {
            match code {
                // The two lowest bits; 0 is unknown.
                PACKET_FLAGS => {
                    let both = [Direction::Inbound, Direction::Outbound];
                    packet.direction =
                        self.u32(value, 0).and_then(|flags| both.into_iter().find(|d| *d as u32 == flags & 3));
                }
                COMMENT => packet.comment = std::str::from_utf8(value).unwrap_or_default(),
                _ => {}
            }
        }
        Ok(packet)
    }

    /// Codes and values of options (section 3.5), up to their end or to one that cannot be.
    fn options<'b>(&self, mut rest: &'b [u8]) -> impl Iterator<Item = (u16, &'b [u8])> {
        std::iter::from_fn(move || {
            let (code, length) = (self.u16(rest, 0)?, usize::from(self.u16(rest, 2)?));
            let value = rest.get(4..4 + length)?;
            rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
            (code != END_OF_OPTIONS).then_some((code, value))
        })
    }

    fn u16(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn u32(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }
}

impl Section<'static> {
    /// Reads a block of a file of which no more is kept: interfaces have no names.
    pub(crate) fn read<'b>(&mut self, block: &Block<'b>, at: usize) -> Result<Option<Captured<'b>>, ReadError> {
        match self.described(block, at)? {
            Some(interface) => {
                self.interfaces.push(Interface { name: "", ..interface });
                Ok(None)
            }
            None => self.packet_of(block, at),
        }
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Captured<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let packet = self.read();
        if packet.is_err() {
            self.at = self.file.len();
        }
        packet.transpose()
    }
}

/// Ticks of an interface's clock as nanoseconds since 1970, from then on at the earliest.
fn nanoseconds(ticks: u64, resolution: u8, offset_s: i64) -> Option<u64> {
    let (binary, exponent) = (resolution & 0x80 != 0, u32::from(resolution & 0x7f));
    let scaled = i128::from(ticks) * 1_000_000_000;
    let since = if binary { scaled >> exponent } else { scaled / 10_i128.checked_pow(exponent)? };
    let time = since + i128::from(offset_s) * 1_000_000_000;
    u64::try_from(time.max(0)).ok()
}
