//! Captures read back: what our writer wrote, what tshark's tools wrote, and anything at all.

use crate::capture::packets;
use proptest::prelude::*;
use std::path::PathBuf;
use std::process::Command;
use vazao_wire::pcapng::{self, Direction, Packet, ReadError, Reader};

const EDITCAP: &str = "/usr/bin/editcap";

/// A block in big-endian numbers (section 3.1 of the draft).
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len() as u32).to_be_bytes();
    [&kind.to_be_bytes()[..], &length, body, &length].concat()
}

/// A big-endian section header, then an interface of Ethernet with options, then a packet without any.
fn foreign(options: &[u8], ticks: u64, frame: &[u8; 16]) -> Vec<u8> {
    let section = [&0x1a2b_3c4d_u32.to_be_bytes()[..], &[0, 1, 0, 0], &[0xff; 8]].concat();
    let interface = [&[0, 1, 0, 0, 0, 0, 0, 0][..], options, &[0; 4]].concat();
    let packet = [&[0; 4][..], &ticks.to_be_bytes(), &16_u32.to_be_bytes(), &60_u32.to_be_bytes(), frame].concat();
    [block(0x0a0d_0d0a, &section), block(1, &interface), block(6, &packet)].concat()
}

/// Three packets from one interface.
fn three() -> Vec<u8> {
    let mut file = Vec::new();
    pcapng::section(&mut file);
    pcapng::interface("left1", 0, &mut file);
    for (i, direction) in [Direction::Outbound, Direction::Inbound, Direction::Outbound].into_iter().enumerate() {
        let bytes = vec![0x45; 21 + i];
        let time_ns = 1_700_000_000_123_456_000 + 1_001_000 * i as u64;
        pcapng::packet(&Packet { comment: "é", ..Packet::new(0, time_ns, direction, &bytes) }, &mut file);
    }
    file
}

proptest! {
    #[test]
    fn what_the_writer_wrote_is_read_back(names in prop::collection::vec(any::<String>(), 1..4), packets in packets()) {
        let mut file = Vec::new();
        pcapng::section(&mut file);
        names.iter().for_each(|name| pcapng::interface(name, 0, &mut file));
        for (interface, time_ns, sent, bytes, original_length, comment) in &packets {
            let direction = if *sent { Direction::Outbound } else { Direction::Inbound };
            let interface = *interface % names.len() as u32;
            let (time_ns, original_length) = (*time_ns, *original_length);
            pcapng::packet(&Packet { interface, time_ns, direction, bytes, original_length, comment }, &mut file);
        }

        let read: Vec<_> = Reader::new(&file).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), packets.len());
        for (found, (interface, time_ns, sent, bytes, original_length, comment)) in read.iter().zip(&packets) {
            let interface = *interface as usize % names.len();
            prop_assert_eq!((found.interface as usize, found.interface_name), (interface, &names[interface][..]));
            prop_assert_eq!((found.time_ns, found.original_length), (*time_ns, *original_length));
            prop_assert_eq!(found.direction, Some(if *sent { Direction::Outbound } else { Direction::Inbound }));
            prop_assert_eq!((found.bytes, found.ip()), (&bytes[..], Some(&bytes[..])));
            prop_assert_eq!(found.comment, comment);
        }
    }

    /// Whatever is changed in a file, the reader ends, and says no more after an error.
    #[test]
    fn damage_is_an_error_or_harmless(place: prop::sample::Index, byte: u8, end: prop::sample::Index) {
        let mut file = three();
        let place = place.index(file.len());
        file[place] = byte;
        file.truncate(1 + end.index(file.len()));
        if let Ok(reader) = Reader::new(&file) {
            let read: Vec<_> = reader.collect();
            prop_assert!(read.len() <= 3);
            prop_assert!(read.iter().rev().skip(1).all(Result::is_ok));
        }
    }
}

#[test]
fn times_are_in_the_clock_of_their_interface() {
    // if_tsresol (9) and if_tsoffset (14), section 4.2: 10^-6 s without the former; the highest bit means powers of two.
    let resolution = |value: u8| vec![0, 9, 0, 1, value, 0, 0, 0];
    let offset = |seconds: i64| [&[0, 14, 0, 8][..], &seconds.to_be_bytes()].concat();
    let cases = [
        (vec![], 1_500_001, 1_500_001_000),
        (resolution(3), 1_500, 1_500_000_000),
        (resolution(12), 1_500_999, 1_500),
        (resolution(0x80 | 10), 1_536, 1_500_000_000),
        (offset(10), 1_500_000, 11_500_000_000),
        (offset(-1), 1_500_000, 500_000_000),
        ([resolution(0), offset(-9)].concat(), 8, 0),
    ];
    for (options, ticks, time_ns) in cases {
        let file = foreign(&options, ticks, &[0x45; 16]);
        let packet = Reader::new(&file).unwrap().next().unwrap().unwrap();
        assert_eq!((packet.time_ns, packet.direction), (time_ns, None), "{options:?}");
        // Fourteen bytes of Ethernet, then IP.
        assert_eq!((packet.original_length, packet.ip()), (60, Some(&[0x45; 2][..])));
    }
}

#[test]
fn sections_follow_each_other_in_either_byte_order() {
    let file = [three(), foreign(&[], 7, &[0; 16]), three()].concat();
    let names: Vec<_> = Reader::new(&file).unwrap().map(|packet| packet.unwrap().interface_name).collect();
    assert_eq!(names, ["left1", "left1", "left1", "", "left1", "left1", "left1"]);
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    let error = |file: &[u8]| Reader::new(file).map(|reader| reader.filter_map(Result::err).next());
    assert_eq!(error(b""), Err(ReadError::NotPcapng));
    assert_eq!(error(b"name = \"a scenario\""), Err(ReadError::NotPcapng));
    assert_eq!(error(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]), Err(ReadError::Pcap));
    let whole = three();
    assert_eq!(error(&whole), Ok(None));
    let section = u32::from_le_bytes(whole[4..8].try_into().unwrap()) as usize;
    assert_eq!(error(&whole[..whole.len() - 1]).map(|e| matches!(e, Some(ReadError::Truncated(_)))), Ok(true));
    let interface = u32::from_le_bytes(whole[section + 4..section + 8].try_into().unwrap()) as usize;
    let homeless = [&whole[..section], &whole[section + interface..]].concat();
    assert_eq!(error(&homeless), Ok(Some(ReadError::NoInterface(section))));
    let simple = [&whole[..section], &[3, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0]].concat();
    assert_eq!(error(&simple), Ok(Some(ReadError::NoTime(section))));
}

/// Wireshark's own writer changes the order of options, adds some, and keeps the packets.
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn a_file_that_editcap_wrote_is_read() {
    if !PathBuf::from(EDITCAP).exists() {
        eprintln!("skipped: {EDITCAP} is not installed (package wireshark-common)");
        return;
    }
    let folder = std::env::temp_dir().join(format!("vazao-wire-reader-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (ours, theirs) = (folder.join("ours.pcapng"), folder.join("theirs.pcapng"));
    std::fs::write(&ours, three()).unwrap();
    let comment = "3:reordered";
    let done = Command::new(EDITCAP).args(["-F", "pcapng", "-a", comment]).args([&ours, &theirs]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (before, after) = (three(), std::fs::read(&theirs).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    assert_ne!(before, after);
    let seen = |file| -> Vec<_> {
        let packets = Reader::new(file).unwrap().map(Result::unwrap);
        packets.map(|p| (p.interface_name, p.time_ns, p.direction, p.bytes, p.original_length)).collect()
    };
    assert_eq!(seen(&after), seen(&before));
    assert_eq!(Reader::new(&after).unwrap().last().unwrap().unwrap().comment, "reordered");
}
