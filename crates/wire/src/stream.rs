//! Capture files of either format, pcap and pcapng, read as their bytes come.
//!
//! ```
//! use vazao_wire::stream::Stream;
//! let mut stream = Stream::default();
//! // The header of a pcap file: microseconds, Ethernet.
//! stream.feed(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
//! assert_eq!(stream.next_packet(), Ok(None));
//! # Ok::<(), vazao_wire::pcapng::ReadError>(())
//! ```

use crate::pcapng::{Captured, ReadError, Section};

/// First bytes of a pcap file: the magic number in either byte order, with the nanoseconds of a tick.
const MAGIC: [([u8; 4], bool, u64); 4] = [
    ([0xd4, 0xc3, 0xb2, 0xa1], false, 1000),
    ([0xa1, 0xb2, 0xc3, 0xd4], true, 1000),
    ([0x4d, 0x3c, 0xb2, 0xa1], false, 1),
    ([0xa1, 0xb2, 0x3c, 0x4d], true, 1),
];

/// First bytes of a pcapng file.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Bytes of a pcap file's header, and of a packet's.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// Most bytes of a packet; one that claims to have more is damaged. Offloading makes packets of 64 KiB, jumbograms are larger.
const LONGEST_PACKET: usize = 16 << 20;

/// What is read, once its first bytes are there.
#[derive(Clone, Debug)]
enum Format {
    Pcap { big_endian: bool, tick_ns: u64, link_type: u16 },
    Pcapng(Section<'static>),
}

/// A capture file whose bytes are [fed](Stream::feed) one piece after the other. It keeps no more than a packet and a piece.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Bytes that have come and whose packets have not been read, from `at` on.
    bytes: Vec<u8>,
    at: usize,
    /// Bytes of the file before `bytes`.
    before: usize,
    format: Option<Format>,
}

impl Stream {
    /// Appends the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.before += self.at;
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next packet; `None`: more bytes are needed, or the file is over.
    ///
    /// # Errors
    /// The file is no capture, or damaged here. Nothing after that can be read.
    pub fn next_packet(&mut self) -> Result<Option<Captured<'_>>, ReadError> {
        if self.format.is_none() {
            let Some(format) = self.begin()? else { return Ok(None) };
            self.format = Some(format);
        }
        let (bytes, before) = (&self.bytes[..], self.before);
        match &mut self.format {
            None => Ok(None),
            Some(Format::Pcap { big_endian, tick_ns, link_type }) => {
                let rest = &bytes[self.at..];
                let packet = older_packet(rest, *big_endian, *tick_ns, *link_type, before + self.at)?;
                self.at += packet.as_ref().map_or(0, |packet| PACKET_HEADER + packet.bytes.len());
                Ok(packet)
            }
            Some(Format::Pcapng(section)) => loop {
                let position = before + self.at;
                let block = match section.block(&bytes[self.at..], position) {
                    Err(ReadError::Truncated(_)) => return Ok(None),
                    block => block?,
                };
                self.at += block.length;
                if let Some(packet) = section.read(&block, position)? {
                    return Ok(Some(packet));
                }
            },
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// [`ReadError::Truncated`] if it ends inside a packet or a block, and what is wrong with an empty one.
    pub fn finish(&self) -> Result<(), ReadError> {
        match (&self.format, self.bytes.len() > self.at) {
            (None, _) => Err(ReadError::NotCapture),
            (Some(_), true) => Err(ReadError::Truncated(self.before + self.at)),
            (Some(_), false) => Ok(()),
        }
    }

    /// Returns the format once enough bytes are there to tell.
    fn begin(&mut self) -> Result<Option<Format>, ReadError> {
        let Some(&first) = self.bytes.first_chunk() else { return Ok(None) };
        if first == SECTION {
            return Ok(Some(Format::Pcapng(Section::default())));
        }
        let known = MAGIC.iter().find(|(magic, ..)| *magic == first);
        let &(_, big_endian, tick_ns) = known.ok_or(ReadError::NotCapture)?;
        if self.bytes.len() < FILE_HEADER {
            return Ok(None);
        }
        // The upper half says whether frames have a check sequence at their end.
        let link_type = number(&self.bytes[20..24], big_endian) as u16;
        self.at = FILE_HEADER;
        Ok(Some(Format::Pcap { big_endian, tick_ns, link_type }))
    }
}

fn number(bytes: &[u8], big_endian: bool) -> u32 {
    let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

/// Returns the first packet of `rest`, at byte `at` of a pcap file, if all of it is there.
fn older_packet(
    rest: &[u8],
    big_endian: bool,
    tick_ns: u64,
    link_type: u16,
    at: usize,
) -> Result<Option<Captured<'_>>, ReadError> {
    let Some(header) = rest.get(..PACKET_HEADER) else { return Ok(None) };
    let [seconds, ticks, kept, original_length] = [0, 4, 8, 12].map(|place| number(&header[place..], big_endian));
    if kept as usize > LONGEST_PACKET {
        return Err(ReadError::Damaged(at));
    }
    let Some(bytes) = rest.get(PACKET_HEADER..PACKET_HEADER + kept as usize) else { return Ok(None) };
    let time_ns = u64::from(seconds) * 1_000_000_000 + u64::from(ticks) * tick_ns;
    let (interface, interface_name, direction, comment) = (0, "", None, "");
    Ok(Some(Captured { interface, interface_name, link_type, time_ns, direction, bytes, original_length, comment }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcapng::{self, Direction, Packet, Reader};
    use proptest::prelude::*;

    /// A pcap file as the format's description has it, in either byte order and with either clock.
    fn older(big_endian: bool, nanoseconds: bool, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let put = |number: u32| if big_endian { number.to_be_bytes() } else { number.to_le_bytes() };
        let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        let version = if big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
        let mut file = [put(magic), version, put(0), put(0), put(65_535), put(1)].concat();
        for (time, bytes) in packets {
            let ticks = (time % 1_000_000_000) as u32 / if nanoseconds { 1 } else { 1000 };
            let length = bytes.len() as u32;
            let header = [(time / 1_000_000_000) as u32, ticks, length, length + 100];
            header.iter().for_each(|&number| file.extend(put(number)));
            file.extend(bytes);
        }
        file
    }

    /// Feeds a file in pieces and returns times, bytes and original lengths of its packets.
    fn packets(file: &[u8], piece: usize) -> Result<Vec<(u64, Vec<u8>, u32)>, ReadError> {
        let mut stream = Stream::default();
        let mut all = Vec::new();
        for piece in file.chunks(piece) {
            stream.feed(piece);
            while let Some(packet) = stream.next_packet()? {
                all.push((packet.time_ns, packet.bytes.to_vec(), packet.original_length));
            }
        }
        stream.finish().map(|()| all)
    }

    proptest! {
        #[test]
        fn a_pcap_file_is_read_in_pieces_of_any_size(
            sent in prop::collection::vec((0..4_000_000_000_u64, prop::collection::vec(any::<u8>(), 0..40)), 0..8),
            big_endian: bool, nanoseconds: bool, piece in 1..60_usize
        ) {
            let sent: Vec<_> = sent.into_iter().map(|(time, bytes)| (time / 1000 * 1000, bytes)).collect();
            let read = packets(&older(big_endian, nanoseconds, &sent), piece).expect("a whole file");
            let expected: Vec<_> = sent.into_iter().map(|(time, b)| (time, b.clone(), b.len() as u32 + 100)).collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn hostile_bytes_are_refused_or_read(begin in 0..3_usize, bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1..99_usize) {
            let head = [&MAGIC[0].0[..], &MAGIC[3].0[..], &SECTION[..]][begin];
            let _ = packets(&[head, &bytes].concat(), piece);
        }
    }

    #[test]
    fn a_pcapng_file_is_read_as_all_at_once() {
        let mut file = Vec::new();
        pcapng::section(&mut file);
        pcapng::interface("a", 0, &mut file);
        for time in 0..20_u64 {
            let bytes = &[time as u8; 33][..];
            pcapng::packet(&Packet::new(0, time * 1_000_001, Direction::Inbound, bytes), &mut file);
        }
        let whole: Vec<_> = Reader::new(&file)
            .expect("pcapng")
            .map(|packet| packet.map(|p| (p.time_ns, p.bytes.to_vec(), p.original_length)))
            .collect::<Result<_, _>>()
            .expect("whole");
        assert_eq!(whole.len(), 20);
        for piece in [1, 7, 64, 10_000] {
            assert_eq!(packets(&file, piece).as_ref(), Ok(&whole));
        }
        assert!(matches!(packets(&file[..file.len() - 3], 50), Err(ReadError::Truncated(_))));
        assert_eq!(packets(b"GIF89a, which is no capture", 50), Err(ReadError::NotCapture));
        assert_eq!(packets(b"", 50), Err(ReadError::NotCapture));
    }
}
