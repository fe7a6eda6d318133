//! Packets of a recording, and its sections of them.

use super::frames::{self, Frame};
use super::recording::Sections;
use crate::endpoint::dissector::{Dissection, kind};
use std::ops::Range;
use vazao_engine::Time;
use vazao_network::LinkId;

/// Number of no link.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Packet of a recording.
#[derive(Clone)]
pub(super) struct Entry {
    pub time: Time,
    pub flow: u32,
    pub side: u8,
    pub path: u8,
    pub size: u32,
    pub kind: u8,
    pub reason: u8,
    pub data: Option<Range<u64>>,
    pub ack: Option<u64>,
    pub edge: Option<u64>,
    /// First of its SACK blocks, and first byte of its words.
    pub sacks: u32,
    pub text: u32,
    pub gone: Option<Time>,
    pub fate: u8,
    pub link: u32,
    /// Places in the captures at its sender and at its receiver.
    pub sent: Frame,
    pub arrived: Frame,
}

impl Default for Entry {
    fn default() -> Entry {
        Entry {
            time: Time::ZERO,
            flow: 0,
            side: 0,
            path: 0,
            size: 0,
            kind: 0,
            reason: 0,
            data: None,
            ack: None,
            edge: None,
            sacks: 0,
            text: 0,
            gone: None,
            fate: 0,
            link: NOWHERE,
            sent: Frame::default(),
            arrived: Frame::default(),
        }
    }
}

/// Packets of a recording.
#[derive(Default)]
pub(super) struct Packets {
    pub entries: Vec<Entry>,
    /// Ends of links that packets have come to.
    pub hops: Vec<(u32, LinkId, Time)>,
    sacks: Vec<Range<u64>>,
    text: String,
}

/// Returns the number among the reasons of a packet of this kind that was not sent again.
pub(super) fn reason(bits: u8) -> u8 {
    match bits {
        bits if bits & kind::DATA != 0 => 2,
        bits if bits & (kind::OPENS | kind::CLOSES | kind::RESETS | kind::PROBES) != 0 => 0,
        bits => u8::from(bits & kind::ACK != 0),
    }
}

impl Packets {
    /// Adds a packet with what was found in it, whose lists it takes.
    pub fn push(&mut self, entry: Entry, found: &mut Dissection) {
        let (sacks, text) = self.ends();
        let (data, ack, edge) = (found.data.take(), found.ack, found.edge);
        self.entries.push(Entry { kind: found.kind, data, ack, edge, sacks, text, ..entry });
        self.sacks.append(&mut found.sacks);
        self.text.push_str(&found.text);
    }

    /// Adds a packet with the blocks and the words of a packet of others.
    pub fn take(&mut self, entry: Entry, others: &Packets, number: usize) {
        let (sacks, text) = self.ends();
        let own = &others.entries[number];
        let next = others.entries.get(number + 1).map_or_else(|| others.ends(), |next| (next.sacks, next.text));
        self.sacks.extend_from_slice(&others.sacks[own.sacks as usize..next.0 as usize]);
        self.text.push_str(&others.text[own.text as usize..next.1 as usize]);
        self.entries.push(Entry { sacks, text, ..entry });
    }

    /// Returns where the SACK blocks and the words of the next packet begin.
    pub fn ends(&self) -> (u32, u32) {
        (self.sacks.len() as u32, self.text.len() as u32)
    }

    /// Writes the sections of packets and hops.
    pub fn write(&self, sections: &mut Sections) {
        let entries = || self.entries.iter();
        let nanoseconds = |time: Time| time.as_nanos() as f64;
        let optional = |number: Option<u64>| number.map_or(f64::NAN, |number| number as f64);
        sections.f64("packet.time", entries().map(|entry| nanoseconds(entry.time)));
        sections.u32("packet.flow", entries().map(|entry| entry.flow));
        sections.u8("packet.side", entries().map(|entry| entry.side));
        sections.u8("packet.path", entries().map(|entry| entry.path));
        sections.u32("packet.size", entries().map(|entry| entry.size));
        sections.u8("packet.kind", entries().map(|entry| entry.kind));
        sections.u8("packet.reason", entries().map(|entry| entry.reason));
        sections.f64("packet.from", entries().map(|entry| optional(entry.data.as_ref().map(|data| data.start))));
        sections.f64("packet.to", entries().map(|entry| optional(entry.data.as_ref().map(|data| data.end))));
        sections.f64("packet.ack", entries().map(|entry| optional(entry.ack)));
        sections.f64("packet.edge", entries().map(|entry| optional(entry.edge)));
        sections.f64("packet.gone", entries().map(|entry| entry.gone.map_or(f64::NAN, nanoseconds)));
        sections.u8("packet.fate", entries().map(|entry| entry.fate));
        sections.u32("packet.link", entries().map(|entry| entry.link));
        frames::write(sections, "packet.sent", entries().map(|entry| entry.sent));
        frames::write(sections, "packet.arrived", entries().map(|entry| entry.arrived));
        let bounds = |starts: fn(&Entry) -> u32, end: u32| {
            let all: Vec<u32> = entries().map(starts).chain([end]).collect();
            all.into_iter()
        };
        let (sacks, text) = self.ends();
        sections.u32("packet.sacks", bounds(|entry| entry.sacks, sacks));
        sections.f64("sack.from", self.sacks.iter().map(|block| block.start as f64));
        sections.f64("sack.to", self.sacks.iter().map(|block| block.end as f64));
        sections.u32("packet.text", bounds(|entry| entry.text, text));
        sections.u8("text", self.text.bytes());
        sections.u32("hop.packet", self.hops.iter().map(|hop| hop.0));
        sections.u32("hop.link", self.hops.iter().map(|hop| hop.1));
        sections.f64("hop.time", self.hops.iter().map(|hop| nanoseconds(hop.2)));
    }
}
