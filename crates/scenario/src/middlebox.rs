//! Middleboxes: what takes options and bits out of the packets that pass it, or alters their payload, of our segments and of
//! guests' bytes alike.
//!
//! The packet keeps its size: where an option was there are NOPs, as Linux's packet filter leaves them (iptables'
//! TCPOPTSTRIP).

use crate::probe::Probe;
use crate::world::{Body, World};
use vazao_engine::registry::{Entry, find};
use vazao_network::impairment::ALTER;
use vazao_network::{Ecn, PacketId};
use vazao_transport::mptcp::Multipath;
use vazao_transport::tcp::{Extra, Flags, SackBlocks, Segment, SynOptions};
use vazao_wire::{ipv4, mptcp, tcp};

/// Something that a middlebox takes out.
pub struct Strip {
    /// TCP option kinds.
    kinds: &'static [u8],
    /// Whether the bits of ECN go, in TCP's header and in IP's.
    ecn: bool,
    /// The same of a segment of ours.
    from: fn(&mut Segment, &mut Extra),
}

const fn option(kinds: &'static [u8], from: fn(&mut Segment, &mut Extra)) -> Strip {
    Strip { kinds, ecn: false, from }
}

/// All that can be taken out. A middlebox is a set of them: bit n stands for the n-th.
pub const STRIPPABLE: &[Entry<Strip>] = &[
    Entry {
        name: "mptcp",
        aliases: &["multipath-tcp"],
        title: "Multipath TCP",
        source: "RFC 8684 section 3.7",
        help: "all its options: connections fall back to TCP, and subflows cannot be joined",
        parameters: &[],
        build: option(&[mptcp::KIND], |_, extra| {
            if let Some(multipath) = &mut extra.multipath {
                // Addresses and ports are no option.
                *multipath = Multipath { tuple: multipath.tuple, ..Multipath::default() };
            }
        }),
    },
    Entry {
        name: "sack",
        aliases: &["selective-acknowledgements"],
        title: "Selective acknowledgements",
        source: "RFC 2018",
        help: "SACK-permitted in SYNs, and the blocks in acknowledgements",
        parameters: &[],
        build: option(&[tcp::SACK_PERMITTED, tcp::SACK], |_, extra| {
            extra.sack = SackBlocks::default();
            change_syn(extra, |syn| syn.sack_permitted = false);
        }),
    },
    Entry {
        name: "timestamps",
        aliases: &[],
        title: "Timestamps",
        source: "RFC 7323 section 3",
        help: "the timestamps of every segment",
        parameters: &[],
        build: option(&[tcp::TIMESTAMPS], |segment, _| {
            (segment.has_timestamps, segment.timestamp, segment.echo) = (false, 0, 0);
        }),
    },
    Entry {
        name: "window-scale",
        aliases: &[],
        title: "Window scale",
        source: "RFC 7323 section 2",
        help: "in SYNs: windows are 65 535 bytes at most. In one direction alone its sender scales what the other does not",
        parameters: &[],
        build: option(&[tcp::WINDOW_SCALE], |_, extra| change_syn(extra, |syn| syn.window_scale = None)),
    },
    Entry {
        name: "fast-open",
        aliases: &[],
        title: "Fast Open",
        source: "RFC 7413",
        help: "cookies and the wish for one: no data with a SYN is taken",
        parameters: &[],
        build: option(&[tcp::FAST_OPEN], |_, extra| change_syn(extra, |syn| syn.fast_open = None)),
    },
    Entry {
        name: "ecn",
        aliases: &[],
        title: "ECN",
        source: "RFC 3168",
        help: "the bits ECE and CWR of TCP, and the codepoint of IP: it cannot be agreed upon, and no mark gets through",
        parameters: &[],
        build: Strip {
            kinds: &[],
            ecn: true,
            from: |segment, _| {
                segment.flags = Flags::from_bits(segment.flags.bits() & !ECN.0);
                segment.ecn = Ecn::NotEct;
            },
        },
    },
];

/// The control bits of ECN.
const ECN: tcp::Flags = tcp::Flags(tcp::Flags::ECE.0 | tcp::Flags::CWR.0);

fn change_syn(extra: &mut Extra, change: impl FnOnce(&mut SynOptions)) {
    if let Some(syn) = &mut extra.syn {
        change(syn);
    }
}

/// The middlebox that takes this out.
///
/// # Errors
/// What is wrong with the name.
pub(crate) fn stripping(name: &str) -> Result<u16, String> {
    let entry = find("strippable option", STRIPPABLE, name)?;
    let number = STRIPPABLE.iter().position(|known| known.name == entry.name).expect("it is one of them");
    Ok(1 << number)
}

/// What a middlebox takes out.
pub(crate) fn stripped(middlebox: u16) -> impl Iterator<Item = &'static Entry<Strip>> {
    STRIPPABLE.iter().enumerate().filter(move |(number, _)| middlebox >> number & 1 == 1).map(|(_, entry)| entry)
}

impl<P: Probe> World<P> {
    /// A packet has come to a middlebox, and goes on.
    #[cold]
    pub fn inspect(&mut self, id: PacketId, middlebox: u16) {
        let alters = middlebox & ALTER != 0;
        let strips = || stripped(middlebox).map(|entry| &entry.build);
        let packet = self.network.packet_mut(id);
        if strips().any(|strip| strip.ecn) {
            packet.set_ecn(Ecn::NotEct);
        }
        match &mut packet.body {
            Body::Tcp(segment) => {
                let mut extra = if segment.has_extra { self.extras.take(segment.extra) } else { Extra::default() };
                strips().for_each(|strip| (strip.from)(segment, &mut extra));
                if alters && segment.length > 0 {
                    segment.stamp ^= 1;
                }
                segment.has_extra = extra != Extra::default();
                if segment.has_extra {
                    segment.extra = self.extras.insert(extra);
                }
            }
            Body::Bytes(frame) => change_bytes(self.guests.frame_mut(*frame), strips(), alters),
            // None has TCP's options, or lets its payload be altered unnoticed.
            Body::Udp(_) | Body::Sctp(_) | Body::Quic(_) | Body::Payload(_) => {}
        }
        let fate = self.network.pass(self.now, id, &mut self.scheduler);
        self.heed_fate(fate);
    }
}

/// The codepoint is not changed here: an IP header gets its own when it arrives.
fn change_bytes(packet: &mut [u8], strips: impl Iterator<Item = &'static Strip>, alters: bool) {
    let Ok((ip, inside)) = ipv4::decode(packet) else { return };
    if ip.protocol == tcp::PROTOCOL {
        for strip in strips {
            let flags = if strip.ecn { ECN } else { tcp::Flags::default() };
            tcp::strip(&mut packet[inside.clone()], strip.kinds, flags);
        }
        if alters {
            tcp::alter(&mut packet[inside]);
        }
    }
}
