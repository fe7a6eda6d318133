//! The structure of capture files, read back by a reader written from the draft alone.

use crate::strategies::{bytes_of, packet};
use proptest::prelude::*;
use std::collections::BTreeMap;
use vazao_wire::pcapng::{self, Direction, Packet};

/// A block: its type and its body.
type Block<'a> = (u32, &'a [u8]);

fn le32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().unwrap())
}

/// Blocks as section 3.1 of the draft has them: type, length, body, length again, all multiples of four.
fn blocks(mut file: &[u8]) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let length = le32(&file[4..]) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(le32(&file[length - 4..]) as usize, length);
        blocks.push((le32(file), &file[8..length - 4]));
        file = &file[length..];
    }
    blocks
}

/// Options as section 3.5 has them, up to the end of options, which must be last.
fn options(mut bytes: &[u8]) -> BTreeMap<u32, &[u8]> {
    let mut options = BTreeMap::new();
    loop {
        let (code, length) = (le32(bytes) & 0xffff, (le32(bytes) >> 16) as usize);
        if code == 0 {
            assert_eq!(bytes.len(), 4, "bytes after the end of options");
            return options;
        }
        options.insert(code, &bytes[4..4 + length]);
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
}

/// A packet with the text and bytes it borrows.
pub fn packets() -> impl Strategy<Value = Vec<(u32, u64, bool, Vec<u8>, u32, String)>> {
    let length = prop_oneof![0usize..70, 1400usize..1600];
    let bytes = length.prop_flat_map(|length| prop::collection::vec(any::<u8>(), length));
    let one = (any::<u32>(), any::<u64>(), any::<bool>(), bytes, any::<u32>(), any::<String>());
    prop::collection::vec(one, 0..20)
}

proptest! {
    #[test]
    fn any_packets_are_read_back(names in prop::collection::vec(any::<String>(), 1..4), snap: u32, packets in packets()) {
        let mut file = Vec::new();
        pcapng::section(&mut file);
        names.iter().for_each(|name| pcapng::interface(name, snap, &mut file));
        for (interface, time_ns, sent, bytes, original_length, comment) in &packets {
            let direction = if *sent { Direction::Outbound } else { Direction::Inbound };
            let (interface, time_ns, original_length) = (*interface, *time_ns, *original_length);
            pcapng::packet(&Packet { interface, time_ns, direction, bytes, original_length, comment }, &mut file);
        }

        let blocks = blocks(&file);
        prop_assert_eq!(blocks.len(), 1 + names.len() + packets.len());
        let (kind, body) = blocks[0];
        prop_assert_eq!((kind, le32(body), &body[4..8]), (0x0a0d_0d0a, 0x1a2b_3c4d, &[1, 0, 0, 0][..]));
        let application = format!("vazao {}", env!("CARGO_PKG_VERSION"));
        prop_assert_eq!(options(&body[16..])[&4], application.as_bytes());

        for ((kind, body), name) in blocks[1..].iter().zip(&names) {
            prop_assert_eq!((*kind, le32(body), le32(&body[4..])), (1, 101, snap));
            let options = options(&body[8..]);
            prop_assert_eq!((options[&2], options[&9]), (name.as_bytes(), &[9][..]));
        }
        for ((kind, body), packet) in blocks[1 + names.len()..].iter().zip(&packets) {
            let (interface, time_ns, sent, bytes, original_length, comment) = packet;
            prop_assert_eq!((*kind, le32(body)), (6, *interface));
            prop_assert_eq!(u64::from(le32(&body[4..])) << 32 | u64::from(le32(&body[8..])), *time_ns);
            prop_assert_eq!((le32(&body[12..]) as usize, le32(&body[16..])), (bytes.len(), *original_length));
            prop_assert_eq!(&body[20..20 + bytes.len()], &bytes[..]);
            let options = options(&body[20 + bytes.len().next_multiple_of(4)..]);
            prop_assert_eq!(le32(options[&2]) & 3, if *sent { 2 } else { 1 });
            prop_assert_eq!(options.get(&1).copied().unwrap_or_default(), comment.as_bytes());
        }
    }
}

proptest! {
    /// Of an IP packet that is cut, the length is what its header tells; of other bytes it is theirs.
    #[test]
    fn a_packet_made_in_its_place_is_cut_as_one_made_before((ip, header, payload) in packet(), keep in 0usize..1600, time_ns: u64, sent: bool, is_ip: bool) {
        let direction = if sent { Direction::Outbound } else { Direction::Inbound };
        let bytes = if is_ip { bytes_of(&ip, &header, &payload) } else { payload.iter().copied().take(3).collect() };
        let mut file = vec![1, 2, 3];
        pcapng::packet_in_place(time_ns, direction, keep, &mut file, |out| out.extend(&bytes));
        let (kept, original_length) = (&bytes[..bytes.len().min(keep)], bytes.len() as u32);
        let mut made_before = vec![1, 2, 3];
        let packet = Packet { interface: 0, time_ns, direction, bytes: kept, original_length, comment: "" };
        pcapng::packet(&packet, &mut made_before);
        prop_assert_eq!(file, made_before);
    }
}

#[test]
fn a_comment_too_long_is_cut_between_characters() {
    let comment = "é".repeat(40_000);
    let mut file = Vec::new();
    pcapng::packet(&Packet { comment: &comment, ..Packet::new(0, 0, Direction::Inbound, &[]) }, &mut file);
    // 65535 is odd, and a character has two bytes.
    assert_eq!(options(&blocks(&file)[0].1[20..])[&1], &comment.as_bytes()[..65534]);
}
